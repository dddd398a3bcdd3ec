//! Characters, colours, the axis, lines with colours.

use super::window::Window;
use crate::format::{duration, instant, percent, wrapped};
use crate::{Style, text_width};

/// Maximum width of a lane's label.
pub(super) const LABEL_MAX: usize = 18;
/// Width of the figure after a lane, including the blank before it.
pub(super) const FIGURE: usize = 9;

/// Returns a colour (of the 256). All are distinguishable on black and on white.
pub(super) fn palette(number: usize) -> u8 {
    const COLORS: [u8; 12] = [33, 208, 71, 161, 99, 37, 178, 130, 205, 64, 244, 25];
    COLORS[number % COLORS.len()]
}

impl Style {
    /// Returns shades from full to little.
    pub(super) fn shades(&self) -> [char; 4] {
        if self.unicode { ['█', '▓', '▒', '░'] } else { ['#', '%', '+', ':'] }
    }

    /// Returns the shade for the part of a cell that a task ran: 7/8, 1/2, 1/4, less.
    pub(super) fn shade(&self, ns: u64, full_ns: u64) -> char {
        let [full, most, some, little] = self.shades();
        match ns {
            _ if ns * 8 >= full_ns * 7 => full,
            _ if ns * 2 >= full_ns => most,
            _ if ns * 4 >= full_ns => some,
            _ => little,
        }
    }

    /// Returns the shade for the part of a cell that the letter with the most time had.
    pub(super) fn part(&self, ns: u64, busy_ns: u64, full_ns: u64) -> char {
        let [full, most, shared, little] = self.shades();
        match ns {
            _ if ns * 8 >= full_ns * 7 => full,
            _ if busy_ns * 2 < full_ns => little,
            _ if ns * 2 >= full_ns => most,
            _ => shared,
        }
    }

    /// Returns the mark of a task that ran on CPU 0 (above) or CPU 1 (below), for most of a cell or
    /// less.
    pub(super) fn half(&self, below: bool, most: bool) -> char {
        match (self.unicode, below, most) {
            (true, false, true) => '▀',
            (true, true, true) => '▄',
            (true, false, false) => '▔',
            (true, true, false) => '▁',
            (false, false, true) => '0',
            (false, true, true) => '1',
            (false, false, false) => '\'',
            (false, true, false) => ',',
        }
    }

    pub(super) fn waiting(&self) -> char {
        if self.unicode { '─' } else { '-' }
    }

    pub(super) fn idle(&self) -> char {
        if self.unicode { '·' } else { '.' }
    }
}

/// Returns the line above the picture: run, kind of lanes, length of a column.
pub(super) fn head(window: &Window<'_>, what: &str, cells: usize) -> String {
    let cpus = match window.cpus() {
        1 => "1 CPU".into(),
        cpus => format!("{cpus} CPUs"),
    };
    let column = duration(window.length_ns() / cells as u64, window.style.unicode);
    let parts = [window.run.spec(), cpus, what.into(), format!("one column {column}")];
    let mut text = String::new();
    wrapped(&mut text, &parts, window.style);
    text
}

/// Draws the time axis: a line of labels with the heading of the figures, and a line of marks.
pub(super) fn axis(
    text: &mut String,
    window: &Window<'_>,
    label_width: usize,
    cells: usize,
    heading: &str,
) {
    let unicode = window.style.unicode;
    let step_ns = step_ns(window.length_ns(), cells);
    let (line, mark) = if unicode { ('─', '┬') } else { ('-', '+') };
    let mut labels = vec![' '; cells];
    let mut marks = vec![line; cells];
    let mut free_from = 0;
    let mut at = window.from_ns.checked_next_multiple_of(step_ns);
    while let Some(at_ns) = at.filter(|&at_ns| at_ns < window.to_ns) {
        let cell = window.cell_of(at_ns, cells);
        marks[cell] = mark;
        let label: Vec<char> = instant(at_ns, step_ns, unicode).chars().collect();
        if cell >= free_from && cell + label.len() <= cells {
            labels[cell..cell + label.len()].copy_from_slice(&label);
            free_from = cell + label.len() + 1;
        }
        at = at_ns.checked_add(step_ns);
    }
    let indent = " ".repeat(label_width + 1);
    let labels: String = labels.into_iter().collect();
    text.push_str(&format!("{indent}{labels}{heading:>FIGURE$}\n"));
    let marks: String = marks.into_iter().collect();
    text.push_str(&format!("{indent}{marks}\n"));
}

/// Returns the distance between the marks of the axis: 1, 2 or 5 times a power of ten ns, and at
/// least ten cells, so that labels have room.
fn step_ns(length_ns: u64, cells: usize) -> u64 {
    const ROOM: u128 = 10;
    let least_ns = (u128::from(length_ns) * ROOM).div_ceil(cells as u128);
    let mut power: u128 = 1;
    loop {
        for factor in [1, 2, 5] {
            if factor * power >= least_ns {
                return (factor * power).min(u128::from(u64::MAX)) as u64;
            }
        }
        power *= 10;
    }
}

/// Returns the figure after a lane.
pub(super) fn figure(part: f64) -> String {
    format!("{:>FIGURE$}", percent(part))
}

/// Pads `text` with blanks to `width` columns.
pub(super) fn padded(text: &str, width: usize) -> String {
    let blanks = width.saturating_sub(text_width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Writes phrases in the largest number of columns of equal width that fit.
pub(super) fn columns(text: &mut String, phrases: &[String], style: Style) {
    const GAP: usize = 3;
    let widest = phrases.iter().map(|phrase| text_width(phrase)).max();
    let width = widest.unwrap_or(0) + GAP;
    let per_line = ((style.columns() + GAP) / width).max(1);
    for line in phrases.chunks(per_line) {
        let line: String = line.iter().map(|phrase| padded(phrase, width)).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Line of text with colours.
pub(super) struct Line {
    text: String,
    color: bool,
    present: Option<u8>,
}

impl Line {
    pub fn new(style: Style) -> Line {
        Line { text: String::new(), color: style.color, present: None }
    }

    fn set(&mut self, color: Option<u8>) {
        if self.color && self.present != color {
            match color {
                Some(color) => self.text.push_str(&format!("\x1b[38;5;{color}m")),
                None => self.text.push_str("\x1b[0m"),
            }
            self.present = color;
        }
    }

    /// Writes one character.
    pub fn put(&mut self, c: char, color: Option<u8>) {
        self.set(color);
        self.text.push(c);
    }

    /// Writes text without colour.
    pub fn plain(&mut self, text: &str) {
        self.set(None);
        self.text.push_str(text);
    }

    /// Adds the line to `text`.
    pub fn end(mut self, text: &mut String) {
        self.set(None);
        text.push_str(self.text.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::RunReport;

    /// Returns a run of this length on this number of CPUs in which nothing happened to these
    /// tasks. The key is the name up to the dash.
    pub fn run_with(cpus: u32, end_ns: u64, names: &[&str]) -> RunReport {
        let mut run = crate::data::tests::empty_run(cpus, end_ns, names);
        run.slices = Some(vec![]);
        run
    }

    #[test]
    fn marks_are_far_enough_apart_for_their_labels() {
        assert_eq!(step_ns(2_000_000_000, 64), 500_000_000);
        assert_eq!(step_ns(2_000_000_000, 184), 200_000_000);
        assert_eq!(step_ns(1_000, 10), 1_000);
        assert_eq!(step_ns(1, 1), 10);
    }

    #[test]
    fn colours_are_switched_only_where_they_change() {
        let mut text = String::new();
        let mut line = Line::new(Style { color: true, ..Style::plain(80) });
        line.plain("a ");
        line.put('x', Some(33));
        line.put('y', Some(33));
        line.put(' ', None);
        line.end(&mut text);
        assert_eq!(text, "a \x1b[38;5;33mxy\x1b[0m\n");
    }

    #[test]
    fn an_axis_of_a_window_is_marked_at_round_times() {
        let run = run_with(1, 3_000_000_000, &[]);
        let style = Style::plain(80);
        let window = Window::new(&run, Some(950_000_000), Some(1_250_000_000), style).unwrap();
        let mut text = String::new();
        axis(&mut text, &window, 3, 30, "busy");
        assert_eq!(
            text,
            "         1 s       1.1 s     1.2 s     busy\n\
             \x20   ─────┬─────────┬─────────┬────\n"
        );
    }
}
