//! Published experiments, run again and judged.
//!
//! Each experiment is a file in `papers/` of the project: what is run, what is measured, and what
//! must come out. A [`Catalogue`] reads them; [`Catalogue::run`] simulates, in parallel, what they
//! need, under all conditions that the documents leave open, and judges the distributions by the
//! ranges of `targets.csv`. Nothing here adjusts anything to pass: a miss is shown as a miss, and
//! what was fitted, follows from a formula, or compares with nothing is counted apart.
//!
//! * [`mod@file`]: the form of the files.
//! * [`axes`]: what a file says once for many, written out.
//! * [`mod@error`]: what is wrong in a file, and where.
//! * [`conditions`]: what the documents leave open, and the sample of it.
//! * [`distribution`]: what came out under all conditions.
//! * [`simulate`]: runs, and the values they come to.
//! * [`measure`]: what can be asked of a run by name.
//! * [`expression`]: the language of the criteria.
//! * [`targets`]: the ranges.
//! * [`judge`]: the verdicts.
//! * [`sensitivity`]: how much verdicts hang on single costs.
//! * [`contradictions`]: where the published documents contradict each other.
//! * [`catalogue`]: all experiments together.
//! * [`embedded`]: those that come with the program.
//! * [`calibration`]: fits a machine's numbers to measurements.
//! * [`text`]: the results for the terminal, and as CSV.
//! * [`page`]: the results as a page for a browser.
//! * [`strip`]: a distribution as a picture.
//! * `filter`: the bar by which readers of the page choose demands.
//! * [`figures`]: the page's figures.

pub mod axes;
pub mod calculators;
pub mod calibration;
pub mod catalogue;
pub mod conditions;
pub mod contradictions;
pub mod cost_change;
pub mod distribution;
pub mod embedded;
pub mod error;
pub mod expression;
pub mod figures;
pub mod file;
mod filter;
pub mod judge;
pub mod measure;
pub mod page;
pub mod sensitivity;
pub mod simulate;
pub mod strip;
pub mod targets;
pub mod text;

pub use catalogue::{Catalogue, Outcome, Outcomes};
pub use judge::{Judged, Verdict};
