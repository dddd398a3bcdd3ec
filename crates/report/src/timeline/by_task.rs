//! Timeline with one lane per task or key.

use super::style::{FIGURE, LABEL_MAX, Line, axis, figure, head, padded, palette};
use super::window::{Owners, Window};
use crate::data::{SliceRow, SpanRow};
use crate::format::{percent, wrapped};
use crate::text_width;

/// Maximum number of lanes.
pub(super) const LANES_MAX: usize = 24;

/// Activity in one cell, ns.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// Running time, on CPUs with even and with odd number.
    ran: [u64; 2],
    /// Running or waiting time.
    wanted: u64,
}

/// Returns the activity in each cell of each lane, and the busy time of all CPUs together in each
/// cell.
fn fill(
    window: &Window<'_>,
    owners: &Owners,
    lanes: &[usize],
    cells: usize,
) -> (Vec<Vec<Cell>>, Vec<u64>) {
    let mut lane_of = vec![None; owners.len()];
    for (lane, &owner) in lanes.iter().enumerate() {
        lane_of[owner] = Some(lane);
    }
    let lane_of_task = |task: u32| owners.of(task).and_then(|owner| lane_of[owner]);
    let mut filled = vec![vec![Cell::default(); cells]; lanes.len()];
    let mut busy = vec![0; cells];
    for &SliceRow(cpu, start_ns, end_ns, task) in window.slices {
        let lane = lane_of_task(task);
        window.spread(start_ns, end_ns, cells, |cell, ns| {
            busy[cell] += ns;
            if let Some(lane) = lane {
                filled[lane][cell].ran[cpu as usize % 2] += ns;
            }
        });
    }
    for &SpanRow(start_ns, end_ns, task) in window.spans {
        if let Some(lane) = lane_of_task(task) {
            window.spread(start_ns, end_ns, cells, |cell, ns| filled[lane][cell].wanted += ns);
        }
    }
    (filled, busy)
}

pub(super) fn draw(window: &Window<'_>, owners: &Owners) -> String {
    let style = window.style;
    let lanes = owners.busiest(LANES_MAX);
    let label_max = LABEL_MAX.min(style.columns() / 4);
    let labels: Vec<String> =
        lanes.iter().map(|&owner| owners.label(owner, label_max, style)).collect();
    let widths = labels.iter().map(|label| text_width(label));
    let label_width = widths.max().unwrap_or(0).max("idle".len());
    let cells = window.cells_beside(label_width + 1 + FIGURE);
    let (filled, busy) = fill(window, owners, &lanes, cells);

    let mut text = head(window, &format!("one lane per {}", owners.kind), cells);
    axis(&mut text, window, label_width, cells, "of a CPU");
    for (lane, &owner) in lanes.iter().enumerate() {
        let mut line = Line::new(style);
        line.plain(&padded(&labels[lane], label_width + 1));
        // The lane of a key is full when its tasks have all the CPUs that they could use.
        let most = window.cpus().min(owners.tasks[owner] as u64);
        for (cell, &did) in filled[lane].iter().enumerate() {
            match mark(window, did, window.cell_ns(cell, cells), most) {
                (mark, true) => line.put(mark, Some(palette(owner))),
                (mark, false) => line.put(mark, None),
            }
        }
        line.plain(&figure(window.part(owners.cpu_ns[owner])));
        line.end(&mut text);
    }
    idle_lane(&mut text, window, label_width, &busy);
    left_out(&mut text, window, owners, &lanes);
    legend(&mut text, window, owners);
    text
}

/// Returns the mark of a cell of `cell_ns`, in which its owner could have had `most` CPUs, and
/// whether the owner ran at all.
fn mark(window: &Window<'_>, did: Cell, cell_ns: u64, most: u64) -> (char, bool) {
    let style = window.style;
    let [even, odd] = did.ran;
    let ran_ns = even + odd;
    if ran_ns == 0 {
        let waits = 2 * did.wanted >= cell_ns;
        return (if waits { style.waiting() } else { ' ' }, false);
    }
    if window.cpus() == 2 && most == 1 {
        return (style.half(odd > even, 2 * ran_ns >= cell_ns), true);
    }
    (style.shade(ran_ns, cell_ns * most), true)
}

/// Draws the lowest lane: cells in which at least one CPU was idle for half the time.
fn idle_lane(text: &mut String, window: &Window<'_>, label_width: usize, busy: &[u64]) {
    let mut line = Line::new(window.style);
    line.plain(&padded("idle", label_width + 1));
    let mut all_idle_ns = 0;
    for (cell, busy_ns) in busy.iter().enumerate() {
        let cell_ns = window.cell_ns(cell, busy.len());
        let idle_ns = cell_ns * window.cpus() - busy_ns;
        all_idle_ns += idle_ns;
        line.put(if 2 * idle_ns >= cell_ns { window.style.idle() } else { ' ' }, None);
    }
    line.plain(&figure(window.part(all_idle_ns)));
    line.end(text);
}

/// Lists the owners without a lane.
fn left_out(text: &mut String, window: &Window<'_>, owners: &Owners, lanes: &[usize]) {
    let count = owners.len() - lanes.len();
    if count > 0 {
        let shown_ns: u64 = lanes.iter().map(|&owner| owners.cpu_ns[owner]).sum();
        let rest_ns = owners.cpu_ns.iter().sum::<u64>() - shown_ns;
        let rest = percent(window.part(rest_ns));
        let count = owners.count_text(count);
        text.push_str(&format!(
            "left out: {count} with the least CPU time, {rest} of a CPU together\n"
        ));
    }
}

fn legend(text: &mut String, window: &Window<'_>, owners: &Owners) {
    let style = window.style;
    let two = window.cpus() == 2;
    let mut marks = Vec::new();
    if two {
        let [upper, lower] = [false, true].map(|below| style.half(below, true));
        marks.push(format!("{upper} on CPU 0, {lower} on CPU 1"));
        let [upper, lower] = [false, true].map(|below| style.half(below, false));
        marks.push(format!("{upper} {lower} less than half of the column"));
    }
    if !two || owners.tasks.iter().any(|&tasks| tasks > 1) {
        let shades: String = style.shades().into_iter().collect();
        let where_ = if two { " on both" } else { "" };
        marks.push(format!("{shades} running{where_}, from all of the column to little of it"));
    }
    if !window.spans.is_empty() {
        marks.push(format!("{} waiting", style.waiting()));
        marks.push("blank: asleep".into());
    }
    marks.push(format!("{} CPU idle", style.idle()));
    text.push('\n');
    wrapped(text, &marks, style);
}
