//! Chart as text.

use super::scale::Ticks;
use super::{Chart, Point, Series};
use crate::format::wrapped;
use crate::{Style, text_width};

/// Number of lines of text for the curves.
const ROWS: usize = 18;
/// Maximum number of columns of text for the chart.
const COLUMNS_MAX: usize = 100;
/// Number of dots in a character.
const DOTS_ACROSS: usize = 2;
const DOTS_DOWN: usize = 4;

/// Colours (of the 256) that are distinguishable on black and on white.
const COLORS: [u8; 10] = [33, 208, 71, 161, 99, 37, 178, 130, 205, 64];
const SIGNS: [char; 10] = ['●', '■', '▲', '◆', '○', '□', '△', '◇', '✕', '✚'];
const SIGNS_ASCII: [char; 10] = ['o', 'x', '#', '*', '+', '@', '%', '=', '&', '$'];

fn sign(series: usize, style: Style) -> char {
    if style.unicode {
        SIGNS[series % SIGNS.len()]
    } else {
        SIGNS_ASCII[series % SIGNS_ASCII.len()]
    }
}

fn colored(text: &str, series: usize, style: Style) -> String {
    if style.color {
        format!("\x1b[38;5;{}m{text}\x1b[0m", COLORS[series % COLORS.len()])
    } else {
        text.into()
    }
}

/// Character of the chart.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// Its dots, in the encoding of a braille character.
    dots: u8,
    /// Sign of a point in it.
    sign: Option<char>,
    /// Series that determines the colour.
    series: usize,
}

/// Area of the curves.
struct Canvas {
    columns: usize,
    cells: Vec<Cell>,
    x: (f64, f64),
    y: (f64, f64),
}

impl Canvas {
    /// Returns the dot of a point, counted from the left and from above.
    fn dot(&self, x: f64, y: f64) -> (usize, usize) {
        let place = |value: f64, (least, most): (f64, f64), dots: usize| {
            let part = ((value - least) / (most - least)).clamp(0.0, 1.0);
            (part * (dots - 1) as f64).round() as usize
        };
        let rows = ROWS * DOTS_DOWN;
        (place(x, self.x, self.columns * DOTS_ACROSS), rows - 1 - place(y, self.y, rows))
    }

    fn set(&mut self, (across, down): (usize, usize), series: usize) {
        const BITS: [[u8; DOTS_ACROSS]; DOTS_DOWN] =
            [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let cell = &mut self.cells[down / DOTS_DOWN * self.columns + across / DOTS_ACROSS];
        cell.dots |= BITS[down % DOTS_DOWN][across % DOTS_ACROSS];
        cell.series = series;
    }

    fn line(&mut self, from: (usize, usize), to: (usize, usize), series: usize) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        let between = |from: usize, to: usize, step: usize| {
            // Rounded to the nearest.
            (from * (steps - step) * 2 + to * step * 2 + steps) / (steps * 2)
        };
        for step in 0..=steps {
            self.set((between(from.0, to.0, step), between(from.1, to.1, step)), series);
        }
    }

    fn draw(&mut self, number: usize, series: &Series, style: Style) {
        let points: Vec<&Point> = series.drawable().collect();
        if !series.published {
            for pair in points.windows(2) {
                let (from, to) = (self.dot(pair[0].x, pair[0].y), self.dot(pair[1].x, pair[1].y));
                self.line(from, to, number);
            }
        }
        for point in points {
            let (low, high) = (self.dot(point.x, point.low), self.dot(point.x, point.high));
            if low != high {
                self.line(low, high, number);
            }
            let (across, down) = self.dot(point.x, point.y);
            let cell = &mut self.cells[down / DOTS_DOWN * self.columns + across / DOTS_ACROSS];
            (cell.sign, cell.series) = (Some(sign(number, style)), number);
        }
    }

    fn row(&self, row: usize, style: Style) -> String {
        let mut text = String::new();
        for cell in &self.cells[row * self.columns..(row + 1) * self.columns] {
            let shown = match (cell.sign, cell.dots) {
                (Some(sign), _) => sign,
                (None, 0) => {
                    text.push(' ');
                    continue;
                }
                (None, dots) if style.unicode => {
                    char::from_u32(0x2800 + u32::from(dots)).unwrap_or('.')
                }
                (None, _) => '.',
            };
            text.push_str(&colored(&shown.to_string(), cell.series, style));
        }
        text
    }
}

/// Returns the chart, at most 100 columns wide.
pub fn draw(chart: &Chart, style: Style) -> String {
    let (Some(x), Some(y)) = (chart.x_range(), chart.y_range()) else {
        return format!("{}\nnothing to draw\n", chart.title);
    };
    let ticks = Ticks::around(y.0, y.1, 6);
    let labels: Vec<(f64, String)> = ticks.marks().collect();
    let indent = labels.iter().map(|(_, label)| label.len()).max().unwrap_or(0);
    // The axis takes two columns, and the last label may extend a little further.
    let columns = style.columns().min(COLUMNS_MAX) - indent - 4;
    let cells = vec![Cell::default(); columns * ROWS];
    let mut canvas = Canvas { columns, cells, x, y: (ticks.low(), ticks.high()) };
    // The first series come out on top.
    for (number, series) in chart.series.iter().enumerate().rev() {
        canvas.draw(number, series, style);
    }
    let mut text = format!("{}\n{}\n", chart.title, chart.y_label);
    let (wall, mark) = if style.unicode { ('│', '┤') } else { ('|', '+') };
    for row in 0..ROWS {
        let here = |(at, _): &&(f64, String)| canvas.dot(x.0, *at).1 / DOTS_DOWN == row;
        let (label, wall) =
            labels.iter().find(here).map_or(("", wall), |(_, label)| (label.as_str(), mark));
        let line = format!("{label:>indent$} {wall}{}", canvas.row(row, style));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    x_axis(&mut text, chart, &canvas, indent, style);
    let legend = |(number, series): (usize, &Series)| {
        format!("{} {}", colored(&sign(number, style).to_string(), number, style), series.name)
    };
    let legend: Vec<String> = chart.series.iter().enumerate().map(legend).collect();
    wrapped(&mut text, &legend, style);
    text
}

fn x_axis(text: &mut String, chart: &Chart, canvas: &Canvas, indent: usize, style: Style) {
    const ROOM_FOR_LABEL: usize = 10;
    let (corner, line, mark) = if style.unicode { ('└', '─', '┬') } else { ('+', '-', '+') };
    let marks = chart.x_marks(canvas.x, (canvas.columns / ROOM_FOR_LABEL).max(2));
    let mut axis = vec![line; canvas.columns];
    // There are two more columns for labels than for the axis: one before it, and one after it.
    let mut labels = vec![' '; canvas.columns + 3];
    let mut free_from = 0;
    for (at, label) in marks {
        let column = canvas.dot(at, canvas.y.0).0 / DOTS_ACROSS;
        axis[column] = mark;
        let label: Vec<char> = label.chars().collect();
        let from = (column + 1)
            .saturating_sub(label.len() / 2)
            .min(labels.len().saturating_sub(label.len()));
        if from >= free_from && from + label.len() <= labels.len() {
            labels[from..from + label.len()].copy_from_slice(&label);
            free_from = from + label.len() + 1;
        }
    }
    let axis: String = axis.into_iter().collect();
    text.push_str(&format!("{} {corner}{axis}\n", " ".repeat(indent)));
    let labels: String = labels.into_iter().collect();
    text.push_str(&format!("{} {}\n", " ".repeat(indent), labels.trim_end()));
    let before = indent + 2 + canvas.columns.saturating_sub(text_width(&chart.x_label)) / 2;
    text.push_str(&format!("{}{}\n", " ".repeat(before), chart.x_label));
}
