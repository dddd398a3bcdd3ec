//! Presentation of a run for people: tables, timelines, JSON, CSV. Pure functions from data to
//! text.
//!
//! * [`data`]: a run as data, from which everything below is made. (`schedlab-lab` makes it from
//!   the results of observers.)
//! * [`json`]: the data as a document, `schedlab-run/1`: writer and reader.
//! * [`metrics`]: the figures by which schedulers are compared, with names and units.
//! * [`repeated`]: figures over several runs of one column; [`baseline`]: differences from earlier
//!   results.
//! * [`rows`]: selection of the figures that are shown.
//! * [`table`]: the comparison, with one column for each scheduler, and the table of tasks.
//! * [`timeline`]: slices of tasks, drawn as text.
//! * [`mod@bench`]: results of benchmarks as data (`schedlab-bench/1`), tables, CSV and curves.
//! * [`picture`]: the main charts of a comparison as one SVG.
//! * [`plot`]: curves, as text and as SVG.
//! * [`csv`]: the figures for spreadsheets.
//! * [`html`]: a run as a page for a browser.
//! * [`mod@format`]: formatting of numbers.

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

/// Capabilities of the place where the text is shown. The caller determines them; nothing here
/// does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Columns of text, at least 40 (fewer are taken as 40).
    pub width: usize,
    /// Whether escape sequences for bold and colour are understood: a terminal, and not a file or a
    /// pipe.
    pub color: bool,
    /// Whether block characters and µ may be used. If not, everything is ASCII (except names that
    /// are not).
    pub unicode: bool,
}

impl Style {
    /// Returns a style for plain text of `width` columns, with block characters.
    pub fn plain(width: usize) -> Style {
        Style { width, color: false, unicode: true }
    }

    pub(crate) fn columns(&self) -> usize {
        self.width.max(40)
    }
}

/// Returns the number of terminal columns that `text` takes.
pub fn text_width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// Returns `name` in at most `width` columns, without anything that moves a terminal's cursor.
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

/// Example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
