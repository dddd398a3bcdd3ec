//! A run drawn as text: time goes to the right, and every lane is a line.
//!
//! # Lanes
//!
//! On one or two CPUs with few tasks, a lane is a **task**: it shows when the task ran, waited and
//! slept. With too many tasks for that, a lane is all tasks of a key. On more CPUs, or with too
//! many keys, a lane is a **CPU** (or several neighbouring CPUs, if there are many), and letters
//! show the tasks that had it, or the keys if there are more tasks than letters.
//!
//! # Cells
//!
//! A cell is one column of one lane: a stretch of time of equal length. In the lane of a task its
//! darkness shows how much of that time the task ran. A line means that it waited for a CPU, a
//! blank that it slept or did not exist. With two CPUs the upper half of the line is CPU 0, the
//! lower half CPU 1, so that migrations are visible.
//!
//! In the lane of a CPU a cell shows the letter with the most time in it. A letter appears where
//! this changes, in lower case where the CPU idled for more than half of the cell. The cells after
//! it are darker the more of the cell that letter had.
//!
//! * `window`: the stretch of time, its cells, and the owners of its time.
//! * `by_task`, `by_cpu`: the two kinds of picture.
//! * `style`: characters, colours, the axis.

mod by_cpu;
mod by_task;
mod style;
mod window;

use crate::Style;
use crate::data::RunReport;
use crate::format::duration;
use std::fmt;
use window::{Owners, Window};

/// Meaning of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lanes {
    /// Whatever is most legible: see the module.
    #[default]
    Auto,
    /// A task; or a key, if there are too many tasks.
    Tasks,
    /// A CPU, or several neighbouring CPUs.
    Cpus,
}

/// Options of a timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimelineOptions {
    /// Meaning of a lane.
    pub lanes: Lanes,
    /// Beginning of the window, ns. `None`: the beginning of the run.
    pub from_ns: Option<u64>,
    /// End of the window, ns. `None`, or later than the end of the run: the end of the run.
    pub to_ns: Option<u64>,
}

/// Reason why there is nothing to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TimelineError {
    /// The slices of the run were not recorded.
    NotRecorded,
    /// The window is empty, or begins after the end of the run.
    Window {
        /// End of the run, ns.
        end_ns: u64,
    },
}

impl fmt::Display for TimelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimelineError::NotRecorded => write!(f, "the slices of this run were not recorded"),
            TimelineError::Window { end_ns } => write!(
                f,
                "nothing to draw in that window: the run went from 0 to {}",
                duration(*end_ns, true)
            ),
        }
    }
}

impl std::error::Error for TimelineError {}

/// Draws a run. The text ends in a newline.
///
/// # Errors
/// There is nothing to draw.
pub fn draw(
    run: &RunReport,
    options: TimelineOptions,
    style: Style,
) -> Result<String, TimelineError> {
    let window = Window::new(run, options.from_ns, options.to_ns, style)?;
    let tasks = Owners::by_task(&window);
    let keys = Owners::by_key(&window);
    let fits = |owners: &Owners| owners.len() <= by_task::LANES_MAX;
    let by_task = match options.lanes {
        Lanes::Auto => run.machine.cpus <= 2 && (fits(&tasks) || fits(&keys)),
        Lanes::Tasks => true,
        Lanes::Cpus => false,
    };
    Ok(if by_task {
        by_task::draw(&window, if fits(&tasks) { &tasks } else { &keys })
    } else {
        let letters_do = tasks.len() <= by_cpu::LETTERS;
        by_cpu::draw(&window, if letters_do { &tasks } else { &keys })
    })
}
