//! Timeline with one lane per CPU, or per group of neighbouring CPUs.

use super::style::{FIGURE, LABEL_MAX, Line, axis, columns, figure, head, padded, palette};
use super::window::{Owners, Window};
use crate::data::SliceRow;
use crate::format::{percent, wrapped};

/// Maximum number of lanes; with more CPUs, a lane represents several.
const LANES_MAX: usize = 32;
/// Maximum number of owners with their own letter.
pub(super) const LETTERS: usize = 26;
/// Letter of all other owners.
const OTHERS: char = '*';

/// Assignment of letters to owners.
struct Letters {
    /// Owners with their own letter, in order.
    named: Vec<usize>,
    /// Index of the letter of each owner; owners without one share the last.
    place_of: Vec<usize>,
    /// Number of letters, including that of the others.
    count: usize,
}

impl Letters {
    /// Assigns the first letters to the owners with the most time.
    fn new(owners: &Owners) -> Letters {
        let all_fit = owners.len() <= LETTERS;
        let named = owners.busiest(if all_fit { LETTERS } else { LETTERS - 1 });
        let mut place_of = vec![named.len(); owners.len()];
        for (place, &owner) in named.iter().enumerate() {
            place_of[owner] = place;
        }
        Letters { count: named.len() + usize::from(!all_fit), named, place_of }
    }

    fn letter(&self, place: usize) -> char {
        if place < self.named.len() { (b'A' + place as u8) as char } else { OTHERS }
    }
}

/// Division of the CPUs among the lanes.
struct Division {
    cpus: usize,
    per_lane: usize,
}

impl Division {
    fn new(cpus: usize) -> Division {
        Division { cpus, per_lane: cpus.div_ceil(LANES_MAX) }
    }

    fn lanes(&self) -> usize {
        self.cpus.div_ceil(self.per_lane)
    }

    /// Returns the first and the last CPU of a lane.
    fn range(&self, lane: usize) -> (usize, usize) {
        let first = lane * self.per_lane;
        (first, (first + self.per_lane).min(self.cpus) - 1)
    }

    fn label(&self, lane: usize) -> String {
        match self.range(lane) {
            (first, last) if first == last => format!("CPU {first}"),
            (first, last) => format!("CPU {first}-{last}"),
        }
    }
}

pub(super) fn draw(window: &Window<'_>, owners: &Owners) -> String {
    let style = window.style;
    let division = Division::new(window.cpus() as usize);
    let label_widths = (0..division.lanes()).map(|lane| division.label(lane).len());
    let label_width = label_widths.max().unwrap_or(0);
    let cells = window.cells_beside(label_width + 1 + FIGURE);
    let letters = Letters::new(owners);

    // CPU time by lane, cell and letter, ns.
    let mut had = vec![vec![0; cells * letters.count]; division.lanes()];
    for &SliceRow(cpu, start_ns, end_ns, task) in window.slices {
        if let Some(owner) = owners.of(task) {
            let lane = &mut had[cpu as usize / division.per_lane];
            let place = letters.place_of[owner];
            window.spread(start_ns, end_ns, cells, |cell, ns| {
                lane[cell * letters.count + place] += ns
            });
        }
    }

    let what = match division.per_lane {
        1 => format!("one lane per CPU, letter per {}", owners.kind),
        several => format!("{several} CPUs per lane, letter per {}", owners.kind),
    };
    let mut text = head(window, &what, cells);
    axis(&mut text, window, label_width, cells, "busy");
    for (lane, had) in had.iter().enumerate() {
        let mut line = Line::new(style);
        line.plain(&padded(&division.label(lane), label_width + 1));
        let (first, last) = division.range(lane);
        let cpus = (last - first + 1) as u64;
        draw_lane(&mut line, window, &letters, cells, had, cpus);
        line.plain(&figure(window.part(had.iter().sum()) / cpus as f64));
        line.end(&mut text);
    }
    legend(&mut text, window, owners, &letters);
    text
}

/// Draws the cells of a lane of `cpus` CPUs.
fn draw_lane(
    line: &mut Line,
    window: &Window<'_>,
    letters: &Letters,
    cells: usize,
    had: &[u64],
    cpus: u64,
) {
    let style = window.style;
    let mut before = None;
    for cell in 0..cells {
        let full_ns = window.cell_ns(cell, cells) * cpus;
        let had = &had[cell * letters.count..(cell + 1) * letters.count];
        let busy_ns: u64 = had.iter().sum();
        // The letter with the most time, the first among equals.
        let most = (0..letters.count).rev().max_by_key(|&place| had[place]);
        let most = most.filter(|_| busy_ns > 0);
        match most {
            None => line.put(style.idle(), None),
            Some(place) if before == most => {
                line.put(style.part(had[place], busy_ns, full_ns), Some(palette(place)));
            }
            Some(place) => {
                let letter = letters.letter(place);
                let mostly_idle = 2 * busy_ns < full_ns;
                let letter = if mostly_idle { letter.to_ascii_lowercase() } else { letter };
                line.put(letter, Some(palette(place)));
            }
        }
        before = most;
    }
}

fn legend(text: &mut String, window: &Window<'_>, owners: &Owners, letters: &Letters) {
    let style = window.style;
    let of_machine = |ns: u64| percent(window.part(ns) / window.cpus() as f64);
    let mut legend: Vec<String> = Vec::new();
    for (place, &owner) in letters.named.iter().enumerate() {
        let label = owners.label(owner, LABEL_MAX, style);
        legend.push(format!(
            "{} {label} {}",
            letters.letter(place),
            of_machine(owners.cpu_ns[owner])
        ));
    }
    let others = owners.len() - letters.named.len();
    if others > 0 {
        let named_ns: u64 = letters.named.iter().map(|&owner| owners.cpu_ns[owner]).sum();
        let rest_ns = owners.cpu_ns.iter().sum::<u64>() - named_ns;
        legend.push(format!("{OTHERS} {} more {}", owners.count_text(others), of_machine(rest_ns)));
    }
    text.push('\n');
    columns(text, &legend, style);
    let [full, most, shared, little] = style.shades();
    let marks = [
        format!("{full} all of the column"),
        format!("{most} most of it"),
        format!("{shared} shared with others"),
        format!("{little} or small letter: mostly idle"),
        format!("{} idle", style.idle()),
    ];
    wrapped(text, &marks, style);
}
