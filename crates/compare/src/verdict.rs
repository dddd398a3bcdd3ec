//! Demands on the model, and whether they are met: bounds on the number of figures that are met,
//! relative to how well real runs predict each other.

use super::document::{Facts, Placement};
use super::judge::{Metric, PlacesRow, Total};
use super::{ClassTotals, PlacementComparison};
use schedlab_measure::histogram::median_of_sorted;
use serde::Serialize;

/// Number of percentage points by which a bound may be missed where real runs are no better.
const BELOW_CEILING: f64 = 5.0;

/// Minimum number of CPU changes for their number to be significant.
const MOVES_LEAST: u64 = 10;

/// Minimum number of choices for their share to be significant.
const CHOICES_LEAST: u64 = 50;

/// Class of measurements that are judged together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// All tasks on one CPU of a real machine.
    OneCpu,
    /// Several CPUs of a real machine.
    SeveralCpus,
    /// One CPU of an emulated machine, without noise.
    EmulatedOneCpu,
    /// Several CPUs of an emulated machine, without noise.
    EmulatedSeveralCpus,
}

impl Class {
    /// All classes, in the order of tables.
    pub const ALL: [Class; 4] =
        [Class::OneCpu, Class::SeveralCpus, Class::EmulatedOneCpu, Class::EmulatedSeveralCpus];

    pub(super) fn of(facts: &Facts, placement: &Placement) -> Class {
        match (facts.emulated, placement.cpus.len()) {
            (false, 1) => Class::OneCpu,
            (false, _) => Class::SeveralCpus,
            (true, 1) => Class::EmulatedOneCpu,
            (true, _) => Class::EmulatedSeveralCpus,
        }
    }

    /// Returns the name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Class::OneCpu => "one CPU",
            Class::SeveralCpus => "several CPUs",
            Class::EmulatedOneCpu => "one CPU, emulated",
            Class::EmulatedSeveralCpus => "several CPUs, emulated",
        }
    }
}

/// A demand on the model.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Class of the measurements.
    pub class: Class,
    /// Description.
    pub what: String,
    /// Number of tasks, placements or choices.
    pub count: u64,
    /// Value that was found.
    pub found: f64,
    /// The bound.
    pub bound: f64,
    /// Whether `bound` is a minimum, rather than a maximum.
    pub at_least: bool,
    /// Unit of value and bound.
    pub unit: &'static str,
    /// Whether the demand is met.
    pub holds: bool,
}

/// Collects the demands on a class.
struct Checks {
    class: Class,
    list: Vec<Check>,
}

impl Checks {
    fn at_least(&mut self, what: impl Into<String>, count: u64, found: f64, bound: f64) {
        self.put(what.into(), count, found, bound, true, "%");
    }

    fn at_most(
        &mut self,
        what: impl Into<String>,
        count: u64,
        found: f64,
        bound: f64,
        unit: &'static str,
    ) {
        self.put(what.into(), count, found, bound, false, unit);
    }

    fn put(
        &mut self,
        what: String,
        count: u64,
        found: f64,
        bound: f64,
        at_least: bool,
        unit: &'static str,
    ) {
        if count == 0 {
            return;
        }
        let holds = if at_least { found >= bound } else { found <= bound };
        let class = self.class;
        self.list.push(Check { class, what, count, found, bound, at_least, unit, holds });
    }

    /// Demands that a share of all p95 and p99 is met, and optionally that it is not far below
    /// their ceiling. They are judged together, as there are few p99 alone.
    fn tails_met(&mut self, p95: Option<&Total>, p99: Option<&Total>, bound: f64, ceiling: bool) {
        let none = Total::default();
        let (p95, p99) = (p95.unwrap_or(&none), p99.unwrap_or(&none));
        let both = Total {
            tasks: p95.tasks + p99.tasks,
            met: p95.met + p99.met,
            ceiling: (p95.ceiling.0 + p99.ceiling.0, p95.ceiling.1 + p99.ceiling.1),
            ..none
        };
        let found = both.percent(both.met);
        self.at_least("wakeup latency, p95 and p99 met", both.tasks, found, bound);
        if let (true, Some(ceiling)) = (ceiling, both.ceiling_percent()) {
            let what = "wakeup latency, p95 and p99 met, against the ceiling";
            self.at_least(what, both.tasks, found, ceiling - BELOW_CEILING);
        }
    }

    /// Demands that a share of the tasks meets a metric, and optionally that it is not far below
    /// the ceiling.
    fn met(&mut self, total: Option<&Total>, metric: Metric, bound: Option<f64>, ceiling: bool) {
        let Some(total) = total else { return };
        let found = total.percent(total.met);
        let title = metric.title();
        if let Some(bound) = bound {
            self.at_least(format!("{title} met"), total.tasks, found, bound);
        }
        if let (true, Some(ceiling)) = (ceiling, total.ceiling_percent()) {
            let bound = ceiling - BELOW_CEILING;
            self.at_least(format!("{title} met, against the ceiling"), total.tasks, found, bound);
        }
    }
}

/// Returns all demands on the model for which there are data.
pub(super) fn checks(placements: &[PlacementComparison], totals: &[ClassTotals]) -> Vec<Check> {
    let mut all = vec![];
    for of_class in totals {
        let mut checks = Checks { class: of_class.class, list: vec![] };
        let total = |metric: Metric| of_class.metrics.get(&metric);
        let own: Vec<&PlacementComparison> =
            placements.iter().filter(|answer| answer.class == of_class.class).collect();
        match of_class.class {
            Class::OneCpu => {
                checks.met(total(Metric::Cpu), Metric::Cpu, Some(99.0), false);
                checks.met(total(Metric::Waiting), Metric::Waiting, Some(97.0), false);
                checks.met(total(Metric::Switches), Metric::Switches, Some(90.0), false);
                checks.tails_met(total(Metric::P95), total(Metric::P99), 85.0, true);
            }
            Class::SeveralCpus => {
                checks.met(total(Metric::Cpu), Metric::Cpu, None, true);
                if let Some(total) = total(Metric::Cpu) {
                    let found = total.percent(total.overlap);
                    checks.at_least("CPU time: ranges overlap", total.tasks, found, 90.0);
                }
                checks.met(total(Metric::P99), Metric::P99, None, true);
            }
            Class::EmulatedOneCpu => {
                let errors = |metric: Metric| -> Vec<f64> {
                    let tasks = own.iter().flat_map(|answer| &answer.tasks);
                    let mut errors: Vec<f64> =
                        tasks.filter_map(|task| Some(task.figure(metric)?.error.abs())).collect();
                    errors.sort_unstable_by(f64::total_cmp);
                    errors
                };
                let cpu = errors(Metric::Cpu);
                if let Some(&worst) = cpu.last() {
                    let what = "CPU time: the largest error, of the run";
                    checks.at_most(what, cpu.len() as u64, worst, 0.5, "%");
                }
                let switches = errors(Metric::Switches);
                if let (Some(&worst), Some(median)) = (switches.last(), median_of_sorted(&switches))
                {
                    let count = switches.len() as u64;
                    checks.at_most(
                        "times scheduled in: the largest error",
                        count,
                        worst,
                        10.0,
                        "%",
                    );
                    checks.at_most("times scheduled in: the median error", count, median, 2.0, "%");
                }
                checks.tails_met(total(Metric::P95), total(Metric::P99), 90.0, false);
            }
            Class::EmulatedSeveralCpus => several_emulated(&mut checks, &own),
        }
        all.append(&mut checks.list);
    }
    all
}

fn several_emulated(checks: &mut Checks, own: &[&PlacementComparison]) {
    /// Tolerance, as a share of the run.
    const SHARES: f64 = 0.05;
    let (mut near, mut all) = (0, 0);
    for answer in own {
        for &(real, simulated) in &answer.sorted_cpu_ns {
            all += 1;
            let off = (real as f64 - simulated as f64).abs();
            near += u64::from(off <= SHARES * answer.duration_ns as f64);
        }
    }
    let percent = near as f64 / all.max(1) as f64 * 100.0;
    checks.at_least("CPU times of like tasks, sorted, within 5 % of the run", all, percent, 85.0);
    let placed: Vec<(&PlacementComparison, &PlacesRow)> =
        own.iter().filter_map(|answer| Some((*answer, answer.places.as_ref()?))).collect();
    for (answer, row) in &placed {
        let name = &answer.name;
        if row.real_hog_moves >= MOVES_LEAST {
            let (real, simulated) = (row.real.hog_moves_a_second, row.simulated.hog_moves_a_second);
            let factor = (real / simulated.max(1e-9)).max(simulated / real);
            let bound = if row.equal_weights { 1.5 } else { 2.0 };
            let what = format!("{name}: hogs' CPU changes, factor");
            checks.at_most(what, row.real_hog_moves, factor, bound, "");
        }
        let off = (row.simulated.busy_cpus / row.real.busy_cpus.max(1e-9) - 1.0).abs() * 100.0;
        checks.at_most(format!("{name}: busy CPUs, error"), 1, off, 3.0, "%");
        const DOUBLED: f64 = 5.0;
        if row.real.doubled > 0.0 || row.simulated.doubled > 0.0 {
            let longer = (row.simulated.doubled - row.real.doubled) * 100.0;
            let what = format!("{name}: two tasks on a core beside an idle core, longer by");
            checks.at_most(what, 1, longer, DOUBLED, " points");
        }
        const CHOICES: f64 = 10.0;
        let (real, simulated) = (&row.real, &row.simulated);
        for (what, real, simulated) in [
            ("kept the last CPU, which idled", real.kept_last, simulated.kept_last),
            ("took an idle CPU near the last", real.took_near, simulated.took_near),
            ("took a core idle as a whole", real.took_core, simulated.took_core),
        ] {
            if real.0 >= CHOICES_LEAST && simulated.0 >= CHOICES_LEAST {
                let off = (real.1 - simulated.1).abs() * 100.0;
                let what = format!("{name}: wakeups that {what}, off by");
                checks.at_most(what, real.0, off, CHOICES, " points");
            }
        }
    }
}
