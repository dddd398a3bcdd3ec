//! What people read of a run: tables, timelines, JSON, CSV. Pure functions from data to text.
//!
//! * [`data`]: a run as data. Everything below is made from it. (`schedlab-lab` makes it of what
//!   observers saw.)
//! * [`json`]: that data as a document, `schedlab-run/1`, and back.
//! * [`metrics`]: which figures schedulers are compared by, with names and units.
//! * [`expression`]: arithmetic and comparisons over named values, as text.
//! * [`repeated`]: figures over several runs of one column; [`baseline`]: against earlier ones.
//! * [`rows`]: which figures are shown.
//! * [`table`]: the comparison, one column a scheduler, and the table of tasks.
//! * [`timeline`]: who ran where, drawn as text.
//! * [`mod@bench`]: what benchmarks found, as data (`schedlab-bench/1`), tables, CSV and curves.
//! * [`picture`]: the main charts of a comparison as one SVG.
//! * [`plot`]: curves, as text and as SVG.
//! * [`csv`]: the figures for spreadsheets.
//! * [`html`]: a run as a page for a browser.
//! * [`mod@format`]: how numbers are written.

pub mod baseline;
pub mod bench;
pub mod csv;
pub mod data;
pub mod expression;
pub mod format;
pub mod html;
pub mod json;
pub mod metrics;
pub mod picture;
pub mod plot;
pub mod repeated;
pub mod rows;
pub mod table;
pub mod timeline;

pub use data::{MachineInfo, Report, RunReport, SchedulerInfo, WorkloadInfo};
pub use timeline::{Lanes, TimelineOptions};

/// What the place where the text is shown can do. The caller knows; nothing here looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Columns of text, at least 40 (less is taken as 40).
    pub width: usize,
    /// Whether escape sequences for bold and colour are understood: a terminal, and not a file or a
    /// pipe.
    pub color: bool,
    /// Whether block characters and µ may be used. If not, all is ASCII (but for names that are
    /// not).
    pub unicode: bool,
}

impl Style {
    /// Plain text of `width` columns, with block characters.
    pub fn plain(width: usize) -> Style {
        Style { width, color: false, unicode: true }
    }

    pub(crate) fn columns(&self) -> usize {
        self.width.max(40)
    }
}

/// How many columns of a terminal `text` takes.
pub fn text_width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// `name` in at most `width` columns, with nothing in it that moves a terminal's cursor.
pub fn shortened(name: &str, width: usize, style: Style) -> String {
    let clean: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    if text_width(&clean) <= width {
        return clean;
    }
    let mut short = String::new();
    for c in clean.chars() {
        short.push(c);
        if text_width(&short) >= width {
            short.pop();
            break;
        }
    }
    short.push(if style.unicode { '…' } else { '~' });
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_by_the_columns_that_they_take() {
        let short = |name| shortened(name, 6, Style::plain(80));
        assert_eq!(short("worker"), "worker");
        assert_eq!(short("workers"), "worke…");
        assert_eq!(short("日本語タスク"), "日本…");
        assert_eq!(short("a\x1b[1m"), "a?[1m");
    }
}

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
