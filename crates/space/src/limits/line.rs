//! Limits that differ in the quota: [`Line`], its cells, and what the least limit must hold.

use super::aim::Aim;
use super::figures::{Band, Figure, Figures};
use super::limit::Limit;

/// Largest 99th percentile at the knee, in proportion to that without a limit.
pub const KNEE: f64 = 1.1;

/// Smallest throughput, in proportion to that without a limit, of a group that keeps up.
pub const KEEPS_UP: f64 = 0.98;

/// Latest end of recorded work that keeps up, in proportion to that without a limit. Its last
/// requests may be throttled, so it is later than the rate alone would make it.
const LATEST: f64 = 1.05;

/// A limit, and its runs.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The limit.
    pub limit: Limit,
    /// Figures of each run, by seed.
    pub runs: Vec<Figures>,
}

impl Cell {
    /// Returns the band of a figure. `None`: no run has it.
    pub fn band(&self, figure: Figure) -> Option<Band> {
        Band::of(self.runs.iter().filter_map(|run| run.get(figure)))
    }

    /// Whether no run was throttled.
    pub fn is_never_throttled(&self) -> bool {
        self.runs.iter().all(|run| run.stats.nr_throttled == 0)
    }

    /// Returns the number of runs that hold all of `aims`.
    pub fn holding(&self, aims: &[Aim]) -> usize {
        self.runs.iter().filter(|run| aims.iter().all(|aim| aim.holds(run))).count()
    }

    pub(super) fn median(&self, figure: Figure) -> Option<f64> {
        self.band(figure).map(|band| band.median)
    }
}

/// Limits that differ in the quota only.
#[derive(Clone, Debug)]
pub struct Line {
    /// Number of CPUs.
    pub cpus: u32,
    /// Whether the work was recorded: it ends when all of it is done.
    pub is_recorded: bool,
    /// Number of threads of the task whose number varies. `None`: it does not.
    pub threads: Option<u32>,
    /// Period, us.
    pub period_us: u64,
    /// Burst, us.
    pub burst_us: u64,
    /// Runs without a limit.
    pub unlimited: Cell,
    /// Runs under the present limit, if there is one.
    pub present: Option<Cell>,
    /// Limits, the least first.
    pub cells: Vec<Cell>,
    /// Place in `cells` of the smallest limit that meets the aims, or of the knee.
    pub least: Option<usize>,
}

/// Condition that a limit must hold.
#[derive(Clone, PartialEq, Debug)]
pub enum Criterion {
    /// These aims, in every run.
    Aims(Vec<Aim>),
    /// The median of the 99th percentiles is at most [`KNEE`] times that without a limit, and
    /// recorded work keeps up.
    Knee,
    /// No run is throttled, because the group has no requests.
    NeverThrottled,
}

impl Criterion {
    /// Whether `cell`, a limit of `line`, holds it.
    pub fn holds(&self, cell: &Cell, line: &Line) -> bool {
        match self {
            Criterion::Aims(aims) => cell.holding(aims) == cell.runs.len(),
            Criterion::NeverThrottled => cell.is_never_throttled(),
            Criterion::Knee => {
                let p99_ns = |cell: &Cell| cell.median(Figure::P99);
                let both = p99_ns(cell).zip(p99_ns(&line.unlimited));
                // Where clients wait for answers, the response times of a recording that falls
                // behind may be short.
                both.is_some_and(|(ns, of)| ns <= KNEE * of)
                    && (!line.is_recorded || line.keeps_up(cell))
            }
        }
    }
}

impl Line {
    /// Returns the place of the smallest limit that meets `criterion`, as all larger ones do.
    pub(super) fn least(&self, criterion: &Criterion) -> Option<usize> {
        let holds = |cell: &&Cell| criterion.holds(cell, self);
        let holding = self.cells.iter().rev().take_while(holds).count();
        (holding > 0).then(|| self.cells.len() - holding)
    }

    /// Whether `cell` does as many requests as the group does without a limit, or recorded work
    /// ends about as early.
    pub fn keeps_up(&self, cell: &Cell) -> bool {
        let figure = if self.is_recorded { Figure::End } else { Figure::Throughput };
        let both = cell.median(figure).zip(self.unlimited.median(figure));
        both.is_none_or(|(value, of)| match self.is_recorded {
            true => value <= LATEST * of,
            false => value >= KEEPS_UP * of,
        })
    }
}
