//! Compares real and simulated runs: an error for each figure of each task, a verdict that takes
//! into account how much real runs differ among themselves, and how well one real run predicts the
//! others (the ceiling).

use super::Thresholds;
use super::document::{Figure, Placement, Spread, ThreadFigures, key_of};
use super::places::Places;
use super::simulate::Outcome;
use schedlab_core::topology::Topology;
use schedlab_measure::histogram::{median_of_sorted, percentile_of_sorted};
use serde::Serialize;
use std::collections::BTreeMap;

/// Smaller counts are not compared, as a difference of one is large.
const COUNT_LEAST: f64 = 20.0;
/// Number of wakeups from which p99 is compared.
const P99_LEAST: f64 = 100.0;

/// Figure that is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// CPU time, as a share of the run.
    Cpu,
    /// Time runnable without a CPU, as a share of the run.
    Waiting,
    /// Number of times that it got a CPU.
    Switches,
    /// Switches at which it slept.
    Voluntary,
    /// Switches at which it was preempted.
    Involuntary,
    /// Median latency of wakeups by timers.
    P50,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// Time of the end, as a share of the run.
    End,
}

impl Metric {
    /// All metrics, in the order of tables.
    pub const ALL: [Metric; 9] = [
        Metric::Cpu,
        Metric::Waiting,
        Metric::Switches,
        Metric::Voluntary,
        Metric::Involuntary,
        Metric::P50,
        Metric::P95,
        Metric::P99,
        Metric::End,
    ];

    /// Returns the name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Metric::Cpu => "CPU time",
            Metric::Waiting => "waiting",
            Metric::Switches => "times scheduled in",
            Metric::Voluntary => "voluntary switches",
            Metric::Involuntary => "involuntary switches",
            Metric::P50 => "wakeup latency, p50",
            Metric::P95 => "wakeup latency, p95",
            Metric::P99 => "wakeup latency, p99",
            Metric::End => "end",
        }
    }

    /// Returns the name in JSON and CSV.
    pub fn id(self) -> &'static str {
        match self {
            Metric::Cpu => "cpu",
            Metric::Waiting => "waiting",
            Metric::Switches => "switches",
            Metric::Voluntary => "voluntary",
            Metric::Involuntary => "involuntary",
            Metric::P50 => "p50",
            Metric::P95 => "p95",
            Metric::P99 => "p99",
            Metric::End => "end",
        }
    }

    fn figure(self) -> Figure {
        match self {
            Metric::Cpu => Figure::Cpu,
            Metric::Waiting => Figure::Waiting,
            Metric::Switches => Figure::ScheduledIn,
            Metric::Voluntary => Figure::Voluntary,
            Metric::Involuntary => Figure::Involuntary,
            Metric::P50 => Figure::P50,
            Metric::P95 => Figure::P95,
            Metric::P99 => Figure::P99,
            Metric::End => Figure::End,
        }
    }

    /// Returns the allowed difference from `real`, for a run of `duration_ns`.
    pub fn allowed(self, real: f64, duration_ns: f64, thresholds: &Thresholds) -> f64 {
        match self {
            Metric::Cpu => duration_ns * thresholds.cpu_percent / 100.0,
            Metric::Waiting => duration_ns * thresholds.waiting_percent / 100.0,
            Metric::End => duration_ns * thresholds.end_percent / 100.0,
            Metric::Switches | Metric::Voluntary | Metric::Involuntary => {
                real * thresholds.switches_percent / 100.0
            }
            Metric::P50 | Metric::P95 | Metric::P99 => {
                (real * thresholds.latency_percent / 100.0).max(thresholds.latency_us * 1000.0)
            }
        }
    }

    /// Returns the error as in tables: in % of the run, in %, or as a ratio.
    fn error(self, real: f64, simulated: f64, duration_ns: f64) -> f64 {
        match self {
            Metric::Cpu | Metric::Waiting | Metric::End => (simulated - real) / duration_ns * 100.0,
            Metric::Switches | Metric::Voluntary | Metric::Involuntary => {
                (simulated - real) / real * 100.0
            }
            Metric::P50 | Metric::P95 | Metric::P99 => simulated / real.max(1.0),
        }
    }

    /// Whether it is judged for a task.
    fn is_judged(self, real: &ThreadFigures, spread: &Spread, duration_ns: f64) -> bool {
        let wakeups = real.figures.get(&Figure::Wakeups).map_or(0.0, |count| count.median);
        match self {
            Metric::Cpu | Metric::Waiting => true,
            // A task that ends with the run has no separate end.
            Metric::End => spread.max < duration_ns,
            Metric::Switches | Metric::Voluntary | Metric::Involuntary => {
                spread.median >= COUNT_LEAST
            }
            Metric::P50 | Metric::P95 => wakeups >= COUNT_LEAST,
            Metric::P99 => wakeups >= P99_LEAST,
        }
    }
}

/// Agreement of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The medians agree within the threshold.
    Met,
    /// The simulated median lies among the real runs, widened by the threshold.
    WithinItsRange,
    /// Neither of both.
    Missed,
}

impl Verdict {
    /// Returns the name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::WithinItsRange => "within its range",
            Verdict::Missed => "missed",
        }
    }
}

/// A figure of a task, real and simulated.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedFigure {
    /// The metric.
    pub metric: Metric,
    /// Smallest, median and largest value of the real runs; ns, or a count.
    pub real: [u64; 3],
    /// Smallest, median and largest value of the simulated runs. The middle value of a latency is
    /// the quantile over the wakeups of all runs.
    pub simulated: [u64; 3],
    /// Error in % of the run's length (times), in % (counts), or simulated / real (latencies).
    pub error: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the real runs differ among themselves by more than the threshold.
    pub differs: bool,
    /// Whether the ranges overlap, each widened by the threshold.
    pub overlap: bool,
    /// Number of real runs that are within the threshold of the median of the others, and number of
    /// real runs.
    pub ceiling: (u64, u64),
}

/// A task, real and simulated.
#[derive(Clone, Debug, Serialize)]
pub struct TaskRow {
    /// Name.
    pub name: String,
    /// Figures that exist on both sides.
    pub figures: Vec<ComparedFigure>,
}

impl TaskRow {
    /// Returns the figure for `metric`.
    pub fn figure(&self, metric: Metric) -> Option<&ComparedFigure> {
        self.figures.iter().find(|one| one.metric == metric)
    }
}

/// Figures of the simulated runs by task: values by run, and the quantiles over the wakeups of all
/// runs.
type Simulated = BTreeMap<String, BTreeMap<Figure, (Vec<f64>, Option<f64>)>>;

fn simulated(outcomes: &[Outcome], duration_ns: u64) -> Simulated {
    let mut all: Simulated = BTreeMap::new();
    let mut pooled: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for outcome in outcomes {
        for (name, task) in &outcome.tasks {
            let mut latencies = task.latencies_ns.clone();
            pooled.entry(name.clone()).or_default().extend(&latencies);
            latencies.sort_unstable();
            let row = all.entry(name.clone()).or_default();
            let mut put = |figure, value: Option<u64>| {
                if let Some(value) = value {
                    row.entry(figure).or_default().0.push(value as f64);
                }
            };
            put(Figure::Cpu, Some(task.cpu_ns));
            put(Figure::Waiting, Some(task.waiting_ns));
            put(Figure::ScheduledIn, Some(task.scheduled_in));
            put(Figure::Voluntary, Some(task.voluntary));
            put(Figure::Involuntary, Some(task.involuntary));
            put(Figure::End, Some(task.end_ns.unwrap_or(duration_ns).min(duration_ns)));
            put(Figure::Wakeups, Some(latencies.len() as u64));
            for (figure, part) in QUANTILES {
                put(figure, percentile_of_sorted(&latencies, part, 100));
            }
        }
    }
    for (name, mut latencies) in pooled {
        latencies.sort_unstable();
        for (figure, part) in QUANTILES {
            let value = percentile_of_sorted(&latencies, part, 100).map(|ns| ns as f64);
            if let Some(row) = all.get_mut(&name).and_then(|task| task.get_mut(&figure)) {
                row.1 = value;
            }
        }
    }
    all
}

const QUANTILES: [(Figure, u64); 3] = [(Figure::P50, 50), (Figure::P95, 95), (Figure::P99, 99)];

/// Returns the number of real runs within the threshold of the median of the others, and number of
/// real runs.
fn ceiling(metric: Metric, each: &[f64], duration_ns: f64, thresholds: &Thresholds) -> (u64, u64) {
    if each.len() < 2 {
        return (0, 0);
    }
    let mut near = 0;
    for (left_out, value) in each.iter().enumerate() {
        let mut rest: Vec<f64> = each.to_vec();
        rest.remove(left_out);
        rest.sort_unstable_by(f64::total_cmp);
        let of_rest = median_of_sorted(&rest).unwrap_or(*value);
        let allowed = metric.allowed(of_rest, duration_ns, thresholds);
        near += u64::from((value - of_rest).abs() <= allowed);
    }
    (near, each.len() as u64)
}

/// Returns all tasks of `placement` that are also in the simulation.
pub fn tasks(placement: &Placement, outcomes: &[Outcome], thresholds: &Thresholds) -> Vec<TaskRow> {
    let duration_ns = placement.duration_ns as f64;
    let simulated = simulated(outcomes, placement.duration_ns);
    let row = |(name, real): &(String, ThreadFigures)| {
        let found = simulated.get(name)?;
        let mut figures = vec![];
        for metric in Metric::ALL {
            let Some(spread) = real.figures.get(&metric.figure()) else { continue };
            if !metric.is_judged(real, spread, duration_ns) {
                continue;
            }
            let Some((values, pooled)) = found.get(&metric.figure()) else { continue };
            let Some(range) = Spread::of(values) else { continue };
            let simulated = pooled.unwrap_or(range.median);
            figures.push(compare(metric, spread, &range, simulated, duration_ns, thresholds));
        }
        Some(TaskRow { name: name.clone(), figures })
    };
    placement.tasks.iter().filter_map(row).collect()
}

fn compare(
    metric: Metric,
    real: &Spread,
    range: &Spread,
    simulated: f64,
    duration_ns: f64,
    thresholds: &Thresholds,
) -> ComparedFigure {
    let allowed = metric.allowed(real.median, duration_ns, thresholds);
    let verdict = if (simulated - real.median).abs() <= allowed {
        Verdict::Met
    } else if (real.min - allowed..=real.max + allowed).contains(&simulated) {
        Verdict::WithinItsRange
    } else {
        Verdict::Missed
    };
    let whole = |value: f64| value.round().max(0.0) as u64;
    ComparedFigure {
        metric,
        real: [real.min, real.median, real.max].map(whole),
        simulated: [range.min.min(simulated), simulated, range.max.max(simulated)].map(whole),
        error: metric.error(real.median, simulated, duration_ns),
        verdict,
        differs: real.max - real.min > allowed,
        overlap: range.min - allowed <= real.max + allowed
            && real.min - allowed <= range.max + allowed,
        ceiling: ceiling(metric, &real.each, duration_ns, thresholds),
    }
}

/// Totals of a metric over tasks.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Total {
    /// Number of tasks for which it was judged.
    pub tasks: u64,
    /// Number of tasks that met it.
    pub met: u64,
    /// Number of tasks that met it, or were within the range of the real runs.
    pub within: u64,
    /// Number of tasks whose ranges overlap, each widened by the threshold.
    pub overlap: u64,
    /// Number of tasks whose real runs differ among themselves by more than the threshold.
    pub differ: u64,
    /// Number of real runs that the others predict, and number of real runs.
    pub ceiling: (u64, u64),
}

impl Total {
    /// Adds a figure.
    pub fn add(&mut self, one: &ComparedFigure) {
        self.tasks += 1;
        self.met += u64::from(one.verdict == Verdict::Met);
        self.within += u64::from(one.verdict != Verdict::Missed);
        self.overlap += u64::from(one.overlap);
        self.differ += u64::from(one.differs);
        self.ceiling.0 += one.ceiling.0;
        self.ceiling.1 += one.ceiling.1;
    }

    /// Returns the percentage of the tasks.
    pub fn percent(&self, part: u64) -> f64 {
        part as f64 / self.tasks.max(1) as f64 * 100.0
    }

    /// Returns the percentage to which a real run predicts the others. `None`: there was only one.
    pub fn ceiling_percent(&self) -> Option<f64> {
        (self.ceiling.1 > 0).then(|| self.ceiling.0 as f64 / self.ceiling.1 as f64 * 100.0)
    }
}

/// Returns the CPU time of like tasks, sorted. Which task had most is random, but how much the
/// first, second ... had is not. Pairs of real and simulated time, ns.
pub fn sorted_shares(placement: &Placement, outcomes: &[Outcome]) -> Vec<(f64, f64)> {
    let key = |name: &str| key_of(name).to_string();
    let mut real: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, task) in &placement.tasks {
        if let Some(cpu) = task.figures.get(&Figure::Cpu) {
            real.entry(key(name)).or_default().push(cpu.median);
        }
    }
    // Batches have as many simulated runs as there were real ones: the median of more runs is
    // nearer to the centre.
    let mut batches: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
    for batch in outcomes.chunks(placement.runs.max(1) as usize) {
        let mut of_task: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (name, task) in batch.iter().flat_map(|outcome| &outcome.tasks) {
            of_task.entry(name).or_default().push(task.cpu_ns as f64);
        }
        let mut of_key: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (name, mut values) in of_task {
            values.sort_unstable_by(f64::total_cmp);
            of_key.entry(key(name)).or_default().extend(median_of_sorted(&values));
        }
        for (key, mut values) in of_key {
            values.sort_unstable_by(f64::total_cmp);
            batches.entry(key).or_default().push(values);
        }
    }
    let mut pairs = vec![];
    for (key, mut values) in real {
        values.sort_unstable_by(f64::total_cmp);
        let Some(simulated) = batches.get(&key) else { continue };
        for (rank, value) in values.into_iter().enumerate() {
            let mut at: Vec<f64> =
                simulated.iter().filter_map(|batch| batch.get(rank).copied()).collect();
            at.sort_unstable_by(f64::total_cmp);
            pairs.extend(median_of_sorted(&at).map(|simulated| (value, simulated)));
        }
    }
    pairs
}

/// Figures of places from real and simulated traces.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PlacesRow {
    /// Figures of the real trace.
    pub real: PlaceFigures,
    /// Figures of all simulated traces.
    pub simulated: PlaceFigures,
    /// Spread between single simulated runs.
    pub spread: PlaceSpreads,
    /// Whether all tasks that never sleep have equal weights.
    pub equal_weights: bool,
    /// CPU changes of such tasks in the real trace.
    pub real_hog_moves: u64,
}

/// The 10th and the 90th percentile of figures of places over the simulated runs. Where a few
/// microseconds decide which of several arrangements a run settles in, they are far apart, and no
/// run has the mean. They are not judged (bounds apply to the mean), but every form of the
/// comparison shows them, so that its reader sees whether any run has the mean.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PlaceSpreads {
    /// Share of the time with two busy threads on a core and another core idle.
    pub doubled: [f64; 2],
    /// Share of the wakeups that kept the idle last CPU, for runs with at least 10 such wakeups.
    pub kept_last: Option<[f64; 2]>,
    /// Share of the wakeups that took an idle CPU near it, for runs with at least 10 such wakeups.
    pub took_near: Option<[f64; 2]>,
    /// Share of the wakeups that took an idle core, for runs with at least 10 such wakeups.
    pub took_core: Option<[f64; 2]>,
}

impl PlaceSpreads {
    fn of(runs: &[Places]) -> PlaceSpreads {
        const CHOICES_LEAST: u64 = 10;
        let shares = |choices: fn(&Places) -> (u64, u64)| {
            let enough = runs.iter().map(choices).filter(|(all, _)| *all >= CHOICES_LEAST);
            middle(enough.map(|(all, those)| those as f64 / all as f64).collect())
        };
        PlaceSpreads {
            doubled: middle(runs.iter().map(|run| run.doubled).collect()).unwrap_or([0.0; 2]),
            kept_last: shares(|run| run.last_idle),
            took_near: shares(|run| run.near_idle),
            took_core: shares(|run| run.core_idle),
        }
    }
}

/// Returns the 10th and the 90th percentile.
fn middle(mut values: Vec<f64>) -> Option<[f64; 2]> {
    values.sort_unstable_by(f64::total_cmp);
    let most = values.len().checked_sub(1)?;
    let at = |share: f64| values[(share * most as f64).round() as usize];
    Some([at(0.1), at(0.9)])
}

/// Figures of places.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PlaceFigures {
    /// CPU changes a second of tasks that never sleep.
    pub hog_moves_a_second: f64,
    /// CPU changes a second of all tasks.
    pub moves_a_second: f64,
    /// CPUs that the workload keeps busy.
    pub busy_cpus: f64,
    /// Share of the time with two busy threads on a core and another core idle.
    pub doubled: f64,
    /// Wakeups that found their last CPU idle, and the share that kept it.
    pub kept_last: (u64, f64),
    /// Wakeups that found it busy and one near it idle, and the share that took such a one.
    pub took_near: (u64, f64),
    /// Wakeups that found it busy and an idle core near it, and the share that took such a core.
    pub took_core: (u64, f64),
}

impl From<Places> for PlaceFigures {
    fn from(places: Places) -> PlaceFigures {
        let seconds = (places.window_ns as f64 / 1e9).max(1e-9);
        let share = |(all, those): (u64, u64)| (all, those as f64 / all.max(1) as f64);
        PlaceFigures {
            hog_moves_a_second: places.hog_moves as f64 / seconds,
            moves_a_second: places.moves as f64 / seconds,
            busy_cpus: places.busy_cpus,
            doubled: places.doubled,
            kept_last: share(places.last_idle),
            took_near: share(places.near_idle),
            took_core: share(places.core_idle),
        }
    }
}

/// Figures of places from the traces of `placement`. `None`: the real runs have no trace, or there
/// is one CPU.
pub fn places(
    placement: &Placement,
    outcomes: &[Outcome],
    topology: &Topology,
    equal_weights: bool,
) -> Option<PlacesRow> {
    let trace = placement.trace.as_ref().filter(|trace| !trace.intervals.is_empty())?;
    if placement.cpus.len() < 2 {
        return None;
    }
    let real = Places::of(trace, topology);
    let each: Vec<Places> =
        outcomes.iter().map(|outcome| Places::of(&outcome.trace, topology)).collect();
    Some(PlacesRow {
        real: real.into(),
        simulated: Places::sum(&each).into(),
        spread: PlaceSpreads::of(&each),
        equal_weights,
        real_hog_moves: real.hog_moves,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: f64 = 1e9;

    fn spread(values: &[f64]) -> Spread {
        Spread::of(values).expect("the list is not empty")
    }

    #[test]
    fn cpu_time_is_judged_by_parts_of_the_run() {
        let thresholds = Thresholds::default();
        let judge = |real: &[f64], simulated: f64| {
            let range = spread(&[simulated]);
            compare(Metric::Cpu, &spread(real), &range, simulated, T, &thresholds)
        };
        let met = judge(&[5.0e8, 5.01e8, 5.02e8], 5.1e8);
        assert_eq!((met.verdict, met.differs), (Verdict::Met, false));
        assert!((met.error - 0.9).abs() < 1e-9);
        // The real runs differ by 10 %, so values between them are not errors.
        let within = judge(&[4.0e8, 4.2e8, 5.0e8], 4.9e8);
        assert_eq!((within.verdict, within.differs), (Verdict::WithinItsRange, true));
        assert_eq!(judge(&[4.0e8, 4.2e8, 5.0e8], 5.2e8).verdict, Verdict::Missed);
    }

    #[test]
    fn latencies_are_met_within_a_quarter_or_50_us() {
        let thresholds = Thresholds::default();
        let judge = |real: f64, simulated: f64| {
            let range = spread(&[simulated]);
            compare(Metric::P99, &spread(&[real]), &range, simulated, T, &thresholds).verdict
        };
        assert_eq!(judge(10_000.0, 59_000.0), Verdict::Met);
        assert_eq!(judge(10_000.0, 61_000.0), Verdict::Missed);
        assert_eq!(judge(4e6, 4.9e6), Verdict::Met);
        assert_eq!(judge(4e6, 5.1e6), Verdict::Missed);
    }

    #[test]
    fn runs_that_settle_differently_are_far_apart() {
        let run = |took: u64, doubled: f64| Places {
            near_idle: (100, took),
            last_idle: (9, 9),
            doubled,
            ..Places::default()
        };
        let runs: Vec<Places> =
            (0..11).map(|run_no| run(10 + 8 * run_no, 0.01 * run_no as f64)).collect();
        let spread = PlaceSpreads::of(&runs);
        assert_eq!(spread.took_near, Some([0.18, 0.82]));
        assert_eq!(spread.doubled, [0.01, 0.09]);
        assert_eq!(spread.kept_last, None, "too few choices");
    }

    #[test]
    fn the_ceiling_is_how_well_a_run_foretells_the_others() {
        let thresholds = Thresholds::default();
        let of = |each: &[f64]| ceiling(Metric::Cpu, each, T, &thresholds);
        assert_eq!(of(&[5.0e8, 5.01e8, 5.02e8]), (3, 3));
        // The third run is far from the median of the others; the first two are far from the
        // medians that include it.
        assert_eq!(of(&[5.0e8, 5.0e8, 6.0e8]), (0, 3));
        assert_eq!(of(&[5.0e8]), (0, 0));
    }
}
