//! Published experiments, run again and judged.
//!
//! Each experiment is a file in `papers/` of the project: the runs, the measured values, and the
//! demands. A [`Catalogue`] reads the files. [`Catalogue::run`] runs the required simulations in
//! parallel, under all conditions that the documents leave open, and judges the distributions by
//! the ranges of `targets.csv`. No result is adjusted so that a demand is met: a miss is shown as a
//! miss, and values that were fitted, follow from a formula, or have nothing to compare with are
//! counted separately.
//!
//! * [`mod@file`]: the format of the files.
//! * [`axes`]: values that a file lists once for many runs or criteria.
//! * [`mod@error`]: mistakes in a file, with their places.
//! * [`conditions`]: details that the documents leave open, and a sample of them.
//! * [`distribution`]: values under all conditions.
//! * [`simulate`]: simulations, and the values that they give. [`calculators`]: rules that are
//!   computed without one.
//! * [`measure`]: quantities of a run by name.
//! * [`expression`]: measured values by name, and expressions over them.
//! * [`targets`]: the ranges.
//! * [`judge`]: the verdicts.
//! * [`sensitivity`]: how far verdicts depend on single costs; [`cost_change`]: a changed cost.
//! * [`contradictions`]: contradictions in the published documents.
//! * [`catalogue`]: all experiments together.
//! * [`embedded`]: the experiments that are part of the program.
//! * [`calibration`]: fits a machine's numbers to measurements.
//! * [`text`]: results for the terminal, and as CSV.
//! * [`page`]: results as a page for a browser.
//! * [`strip`]: a distribution as a picture.
//! * `filter`: the bar with which readers of the page select demands.
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
