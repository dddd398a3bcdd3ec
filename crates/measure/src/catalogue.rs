//! All metrics: [`ALL`], with id, title, unit, definition, which value is better, scope and help.
//!
//! This is the one vocabulary of the comparison table, CSV, the JSON document, sweeps and their
//! `--figure`, and published experiments. A metric has one [`id`](Metric::id), which never changes.
//! The other names that users may write are aliases and are also listed here: the field of the JSON
//! document, the [`title`](Metric::title) as a benchmark's `--figure`, the word of a paper file.
//! `docs/metrics.md` is generated from this list.
//!
//! `schedlab-report::metrics` computes the value of each metric for a given run.
//!
//! Some metrics are distributions: each [`Statistic`] of a distribution is a separate metric, such
//! as `wakeup_latency_p99`, which [`find`] finds.

use serde::{Deserialize, Serialize};

/// Which of two values of a metric is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Better {
    /// The lower one.
    #[serde(rename = "less")]
    Lower,
    /// The higher one.
    #[serde(rename = "more")]
    Higher,
    /// Neither: it depends on the purpose.
    #[serde(rename = "neither")]
    Neither,
}

impl Better {
    /// Returns the name in documents: `less`, `more`, `neither`.
    pub const fn name(self) -> &'static str {
        match self {
            Better::Lower => "less",
            Better::Higher => "more",
            Better::Neither => "neither",
        }
    }
}

/// The unit of a metric's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds of simulated time.
    Ns,
    /// Nanoseconds squared, of variances.
    NsSquared,
    /// A part of a whole, 0 to 1.
    Part,
    /// Ratio of two values.
    Ratio,
    /// Events per second of simulated time.
    PerSecond,
    /// An index, 0 to 1.
    Index,
    /// A count.
    Count,
    /// Joules.
    Joules,
    /// Watts.
    Watts,
}

impl Unit {
    /// Returns the symbol: `ns`, `ns^2`, `part`, `ratio`, `1/s`, `index`, `count`, `J`, `W`.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::NsSquared => "ns^2",
            Unit::Part => "part",
            Unit::Ratio => "ratio",
            Unit::PerSecond => "1/s",
            Unit::Index => "index",
            Unit::Count => "count",
            Unit::Joules => "J",
            Unit::Watts => "W",
        }
    }
}

/// Subject of a metric, and thus the arguments that it needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// The whole run.
    Run,
    /// One CPU; argument: its number.
    Cpu,
    /// The tasks of one key together. Argument: the key. `*` means all tasks.
    Key,
    /// The tasks of two keys, one divided by the other. Arguments: two keys.
    KeyPair,
    /// A control group with all its descendants. Argument: its path.
    Group,
    /// One task.
    Task,
}

impl Scope {
    /// All scopes, in the order of the documentation.
    pub const ALL: [Scope; 6] =
        [Scope::Run, Scope::Cpu, Scope::Key, Scope::KeyPair, Scope::Group, Scope::Task];

    /// Returns placeholders of the arguments, one word each.
    pub const fn arguments(self) -> &'static [&'static str] {
        match self {
            Scope::Run => &[],
            Scope::Cpu => &["N"],
            Scope::Key => &["KEY"],
            Scope::KeyPair => &["KEY", "KEY"],
            Scope::Group => &["PATH"],
            Scope::Task => &["TASK"],
        }
    }

    /// Returns a heading: `the run`.
    pub const fn title(self) -> &'static str {
        match self {
            Scope::Run => "the run",
            Scope::Cpu => "a CPU",
            Scope::Key => "the tasks of a key",
            Scope::KeyPair => "the tasks of two keys",
            Scope::Group => "a control group",
            Scope::Task => "a task",
        }
    }
}

/// A number that summarises a distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Statistic {
    /// Number of values.
    Count,
    /// Sum of the values.
    Sum,
    /// Smallest value.
    Min,
    /// Mean, rounded down to a whole ns.
    Mean,
    /// Median: the 50th percentile by nearest rank, like all that follow.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// Largest value.
    Max,
    /// Standard deviation with divisor n.
    SdPopulation,
    /// Standard deviation with divisor n - 1.
    SdSample,
}

impl Statistic {
    /// All statistics.
    pub const ALL: [Statistic; 12] = [
        Statistic::Count,
        Statistic::Sum,
        Statistic::Min,
        Statistic::Mean,
        Statistic::P50,
        Statistic::P90,
        Statistic::P95,
        Statistic::P99,
        Statistic::P999,
        Statistic::Max,
        Statistic::SdPopulation,
        Statistic::SdSample,
    ];

    /// Returns the suffix of the id.
    pub const fn id(self) -> &'static str {
        match self {
            Statistic::Count => "count",
            Statistic::Sum => "sum",
            Statistic::Min => "min",
            Statistic::Mean => "mean",
            Statistic::P50 => "p50",
            Statistic::P90 => "p90",
            Statistic::P95 => "p95",
            Statistic::P99 => "p99",
            Statistic::P999 => "p999",
            Statistic::Max => "max",
            Statistic::SdPopulation => "sd_population",
            Statistic::SdSample => "sd_sample",
        }
    }

    /// Returns the suffix of the title.
    pub const fn title(self) -> &'static str {
        match self {
            Statistic::P50 => "median",
            Statistic::P999 => "p99.9",
            Statistic::SdPopulation => "standard deviation (divisor n)",
            Statistic::SdSample => "standard deviation (divisor n - 1)",
            other => other.id(),
        }
    }

    /// Returns the definition, as a formula.
    pub const fn definition(self) -> &'static str {
        match self {
            Statistic::Count => "n, the number of values",
            Statistic::Sum => "sum of the values",
            Statistic::Min => "the smallest value",
            Statistic::Mean => "sum / n, rounded down",
            Statistic::P50 => "nearest rank: the k-th smallest, k = ceil(0.5 n)",
            Statistic::P90 => "nearest rank, k = ceil(0.9 n)",
            Statistic::P95 => "nearest rank, k = ceil(0.95 n)",
            Statistic::P99 => "nearest rank, k = ceil(0.99 n)",
            Statistic::P999 => "nearest rank, k = ceil(0.999 n)",
            Statistic::Max => "the largest value",
            Statistic::SdPopulation => "sqrt(sum (x - mean)^2 / n)",
            Statistic::SdSample => "sqrt(sum (x - mean)^2 / (n - 1)); none for n < 2",
        }
    }
}

/// A word of paper files for a metric.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PaperWord {
    /// The word, followed by a second one for a kind of kernel time.
    pub word: &'static str,
    /// Unit of its values in paper files. Empty for pure numbers.
    pub unit: &'static str,
    /// Size of that unit in the metric's own unit.
    pub per: f64,
}

/// A metric.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Metric {
    /// Name in CSV, sweeps and every program: lower case, words joined by `_`. Never changes.
    pub id: &'static str,
    /// Name in tables, and as a benchmark's `--figure`.
    pub title: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Which value is better.
    pub better: Better,
    /// Subject.
    pub scope: Scope,
    /// Definition, as a formula in words.
    pub definition: &'static str,
    /// Interpretation, and names elsewhere. Empty where the definition is enough.
    pub help: &'static str,
    /// Whether it is a distribution. Then each [`Statistic`] is a metric, and the distribution
    /// itself is not.
    pub distribution: bool,
    /// Field of a run in the JSON document, `[]` for each entry of a list. Empty: none. Of a
    /// distribution: the object whose fields are its statistics.
    pub json: &'static str,
    /// Word of paper files.
    pub paper: Option<PaperWord>,
    /// Worked example (of a distribution: of its values). Empty where the definition needs none.
    pub example: &'static str,
}

/// A metric that was found by its name: one of [`ALL`], or a statistic of one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Named {
    /// The metric.
    pub metric: &'static Metric,
    /// Statistic of a distribution. `None` if it is no distribution.
    pub statistic: Option<Statistic>,
}

impl Named {
    /// Returns its id: `wakeup_latency_p99`.
    pub fn id(&self) -> String {
        match self.statistic {
            Some(statistic) => format!("{}_{}", self.metric.id, statistic.id()),
            None => self.metric.id.into(),
        }
    }

    /// Returns its title: `wakeup latency p99`.
    pub fn title(&self) -> String {
        match self.statistic {
            Some(statistic) => format!("{} {}", self.metric.title, statistic.title()),
            None => self.metric.title.into(),
        }
    }

    /// Returns the unit of its values.
    pub fn unit(&self) -> Unit {
        match self.statistic {
            Some(Statistic::Count) => Unit::Count,
            _ => self.metric.unit,
        }
    }

    /// Returns which value is better.
    pub fn better(&self) -> Better {
        match self.statistic {
            Some(Statistic::Count) => Better::Neither,
            _ => self.metric.better,
        }
    }
}

/// Returns the metric with this id: `switches`, `wakeup_latency_p99`.
pub fn find(id: &str) -> Option<Named> {
    ALL.iter().find_map(|metric| {
        let rest = id.strip_prefix(metric.id)?;
        if !metric.distribution {
            return rest.is_empty().then_some(Named { metric, statistic: None });
        }
        let rest = rest.strip_prefix('_')?;
        let statistic = Statistic::ALL.into_iter().find(|statistic| statistic.id() == rest)?;
        Some(Named { metric, statistic: Some(statistic) })
    })
}

/// Returns the metric of the whole run with this title, as a benchmark's `--figure` names it:
/// `wakeup latency p99`.
pub fn find_title(title: &str) -> Option<Named> {
    every().find(|named| named.metric.scope == Scope::Run && named.title() == title)
}

/// Returns the metric with this word of paper files: `cpu-share`, `kernel spin`.
pub fn find_paper_word(word: &str) -> Option<(&'static Metric, PaperWord)> {
    ALL.iter().find_map(|metric| {
        metric.paper.filter(|paper| paper.word == word).map(|paper| (metric, paper))
    })
}

/// Iterates over every metric. Each statistic of a distribution counts as one.
pub fn every() -> impl Iterator<Item = Named> {
    ALL.iter().flat_map(|metric| {
        let whole = (!metric.distribution).then_some(Named { metric, statistic: None });
        let statistics = Statistic::ALL.into_iter().filter(|_| metric.distribution);
        whole
            .into_iter()
            .chain(statistics.map(move |statistic| Named { metric, statistic: Some(statistic) }))
    })
}

/// Ids of the metrics in comparisons of schedulers, in the order of the table.
pub const COMPARED: &[&str] = &[
    "cpu_use",
    "throughput",
    "turnaround_mean",
    "turnaround_max",
    "wakeup_latency_p50",
    "wakeup_latency_p99",
    "wakeup_latency_max",
    "wait_mean",
    "wait_max",
    "slowdown_p50",
    "slowdown_p99",
    "missed_periods",
    "burst_lag_p99",
    "burst_lag_max",
    "jain_backlogged",
    "switches_voluntary",
    "switches_involuntary",
    "migrations_queue",
    "migrations_cpu",
];

/// Ids of the additional metrics in CSV: figures that are of little use where tasks sleep.
pub const BESIDES_IN_CSV: &[&str] =
    &["jain_by_weight", "jain_by_share", "lag_max", "owed_max", "owed_end"];

/// Ids of the additional metrics in comparisons on modelled machines.
pub const COMPARED_IF_MODELLED: &[&str] = &["kernel_time", "kernel_spin", "power_mean"];

/// Creates a metric without aliases.
const fn metric(
    scope: Scope,
    id: &'static str,
    title: &'static str,
    unit: Unit,
    better: Better,
    definition: &'static str,
    help: &'static str,
) -> Metric {
    Metric {
        id,
        title,
        unit,
        better,
        scope,
        definition,
        help,
        distribution: false,
        json: "",
        paper: None,
        example: "",
    }
}

impl Metric {
    /// Adds its field of the JSON document.
    const fn json(mut self, field: &'static str) -> Metric {
        self.json = field;
        self
    }

    /// Makes it a distribution, with its object in the JSON document.
    const fn distribution(mut self, object: &'static str) -> Metric {
        self.distribution = true;
        self.json = object;
        self
    }

    /// Adds a worked example.
    const fn example(mut self, example: &'static str) -> Metric {
        self.example = example;
        self
    }

    /// Adds its word of paper files, with values in the metric's own unit.
    const fn paper(mut self, word: &'static str) -> Metric {
        let unit = match self.unit {
            Unit::Joules => "J",
            Unit::Watts => "W",
            _ => "",
        };
        self.paper = Some(PaperWord { word, unit, per: 1.0 });
        self
    }

    /// Adds its word of paper files, with values in seconds.
    const fn paper_s(mut self, word: &'static str) -> Metric {
        self.paper = Some(PaperWord { word, unit: "s", per: 1e9 });
        self
    }

    /// Adds its word of paper files, with values in milliseconds.
    const fn paper_ms(mut self, word: &'static str) -> Metric {
        self.paper = Some(PaperWord { word, unit: "ms", per: 1e6 });
        self
    }

    /// Adds its word of paper files, with values in seconds squared.
    const fn paper_s2(mut self, word: &'static str) -> Metric {
        self.paper = Some(PaperWord { word, unit: "s²", per: 1e18 });
        self
    }
}

impl Metric {
    /// Returns the places where it appears, with its names there: `JSON ...; table, CSV; papers
    /// ...`. Empty if it is available in programs only.
    pub fn places(&self) -> String {
        let mut places = vec![];
        if !self.json.is_empty() {
            places.push(format!("JSON `{}`", self.json));
        }
        let listed = |list: &[&str]| {
            list.iter().any(|id| find(id).is_some_and(|named| named.metric.id == self.id))
        };
        if listed(COMPARED) {
            places.push("table, CSV, sweeps".into());
        }
        if listed(COMPARED_IF_MODELLED) {
            places.push("table, CSV (modelled machines)".into());
        }
        if listed(BESIDES_IN_CSV) {
            places.push("CSV".into());
        }
        if self.scope == Scope::Group && self.json.ends_with(|last: char| last != ']') {
            places.push(format!("CSV `{}:PATH`", self.id));
        }
        if let Some(paper) = self.paper {
            let arguments = self.scope.arguments().join(" ");
            let word = format!("{} {arguments}", paper.word);
            let unit =
                if paper.unit.is_empty() { String::new() } else { format!(", {}", paper.unit) };
            places.push(format!("papers `{}`{unit}", word.trim_end()));
        }
        places.join("; ")
    }
}

use Better::{Higher, Lower, Neither};
use Scope::{Cpu, Group, Key, KeyPair, Run, Task};
use Unit::{Count, Index, Joules, Ns, NsSquared, Part, PerSecond, Ratio, Watts};

/// All metrics, by scope.
pub const ALL: &[Metric] = &[
    metric(
        Run,
        "length",
        "length of the run",
        Ns,
        Neither,
        "when the run ended; it began at 0",
        "The time limit, or when the last task ended.",
    )
    .json("end.at_ns")
    .paper_s("ended-by"),
    metric(
        Run,
        "busy",
        "CPU time of all CPUs",
        Ns,
        Neither,
        "sum over CPUs of the time with a task as current",
        "Busy and idle time add up to CPUs x length of the run, less the time offline.",
    )
    .json("totals.busy_ns")
    .paper_s("busy"),
    metric(
        Run,
        "idle",
        "idle time of all CPUs",
        Ns,
        Neither,
        "sum over CPUs of the time online with the idle task as current",
        "Idle time while tasks wait is a balancing fault.",
    )
    .json("totals.idle_ns"),
    metric(
        Run,
        "cpu_use",
        "CPU use",
        Part,
        Neither,
        "busy / (busy + idle)",
        "The textbooks' CPU utilisation, including time in the kernel.",
    )
    .json("totals.cpu_use")
    .example(
        "2 CPUs offer 20 s in 10 s. If tasks were current for 15 s of them, 75 % were used.",
    ),
    metric(
        Run,
        "tasks_started",
        "tasks started",
        Count,
        Neither,
        "number of tasks that were born",
        "",
    )
    .json("totals.tasks_started"),
    metric(Run, "tasks_ended", "tasks ended", Count, Neither, "number of tasks that ended", "")
        .json("totals.tasks_ended"),
    metric(
        Run,
        "loops_finished",
        "loops finished",
        Count,
        Neither,
        "sum over tasks of the loops of their programs that they finished",
        "rt-app's loops.",
    )
    .json("totals.loops_finished"),
    metric(
        Run,
        "jobs",
        "jobs",
        Count,
        Higher,
        "sum over tasks of max(rounds, 1 if it ended), rounds = the finished rounds of its phases \
         whose `loop` is not 1; if it has none, its finished loops",
        "Pieces of work done.",
    )
    .json("totals.jobs")
    .paper("jobs")
    .example(
        "A task with one phase, `loop` 10 at the task: 10 loops, 10 jobs. A task whose phase \
         has `loop` -1 of its own never finishes a loop of the task; after 300 rounds of the \
         phase it has done 300 jobs. A task that ends without a loop has done 1.",
    ),
    metric(
        Run,
        "throughput",
        "throughput",
        PerSecond,
        Higher,
        "jobs / length of the run",
        "The textbooks' throughput.",
    )
    .json("totals.throughput_per_s")
    .example(
        "Tasks finished 5,200 jobs in a run of 5 s: 1,040 /s.",
    ),
    metric(
        Run,
        "wait",
        "waiting",
        Ns,
        Lower,
        "sum over tasks of the time runnable without a CPU",
        "The run delay of schedstat, all tasks together.",
    )
    .json("totals.wait_ns"),
    metric(
        Run,
        "wait_mean",
        "waiting per task",
        Ns,
        Lower,
        "waiting of all tasks / tasks started, rounded down",
        "The textbooks' mean waiting time.",
    )
    .json("totals.wait_mean_ns")
    .example(
        "4 tasks were runnable without a CPU for 2 s together: 500 ms each.",
    ),
    metric(
        Run,
        "wait_max",
        "waiting longest",
        Ns,
        Lower,
                "the longest single wait: from when a task is runnable without a CPU until it runs, or is \
         no longer runnable",
        "A wait that was not over when the run ended counts up to then. An interval without \
         length that leaves the task runnable ends no wait: it did not run. wait_max of \
         /proc/PID/sched, over all tasks, except that a kernel ends a wait with any interval.",
    )
    .json("totals.wait_max_ns")
    .example(
        "A task is preempted at 3.0 s and next has a CPU at 3.4 s, and no task ever waits \
         longer: 400 ms.",
    ),
    metric(
        Run,
        "waiting_at_end",
        "tasks waiting at the end",
        Count,
        Lower,
        "number of tasks that were waiting when the run ended",
        "Their last wakeups have no latency.",
    )
    .json("totals.waiting_at_end"),
    metric(
        Run,
        "wakeups",
        "wakeups",
        Count,
        Neither,
        "number of wakeups, without starts",
        "nr_wakeups of /proc/PID/sched, over all tasks.",
    )
    .json("totals.wakeups"),
    metric(
        Run,
        "switches",
        "switches",
        Count,
        Neither,
        "number of context switches of all CPUs, including those to and from idle",
        "nr_switches, as vmstat shows it.",
    )
    .json("totals.switches")
    .paper("switches"),
    metric(
        Run,
        "switches_per_cpu_s",
        "switches per CPU and second",
        PerSecond,
        Neither,
        "switches / (CPUs x length of the run)",
        "",
    )
    .paper("switches-per-cpu-s"),
    metric(
        Run,
        "switches_voluntary",
        "switches voluntary",
        Count,
        Neither,
        "times a task left its CPU because it blocked or ended",
        "voluntary_ctxt_switches.",
    )
    .json("totals.switches_voluntary")
    .example(
        "A task runs, sleeps, is woken, runs, and ends: 2.",
    ),
    metric(
        Run,
        "switches_involuntary",
        "switches involuntary",
        Count,
        Neither,
        "times a task left its CPU although it was runnable: preempted, or it yielded",
        "nonvoluntary_ctxt_switches.",
    )
    .json("totals.switches_involuntary")
    .example(
        "A task's slice is over twice, then it sleeps: 2.",
    ),
    metric(
        Run,
        "migrations_queue",
        "migrations of queue",
        Count,
        Neither,
        "moves of a task from one CPU's runqueue to another's",
        "With one runqueue for all CPUs there are none.",
    )
    .json("totals.migrations_queue")
    .example(
        "A balancer moves a waiting task from CPU 0 to CPU 1 and back before it runs: 2.",
    ),
    metric(
        Run,
        "migrations_cpu",
        "migrations of CPU",
        Count,
        Neither,
        "times a task was given another CPU than its last one",
        "A task that is moved away and back between two intervals has none.",
    )
    .json("totals.migrations_cpu")
    .paper("migrations")
    .example(
        "A task that ran on CPU 0 next runs on CPU 1, then on CPU 0: 2.",
    ),
    metric(Run, "ticks", "ticks", Count, Neither, "number of timer ticks of all CPUs", "")
        .json("totals.ticks"),
    metric(
        Run,
        "wakeup_latency",
        "wakeup latency",
        Ns,
        Lower,
        "from a wakeup to the moment the task next has a CPU, even for no time; one value per \
         wakeup",
        "The wu_lat of rt-app, and the delay of perf sched latency, \
         which counts from preemptions too.",
    )
    .distribution("wakeup_latency")
    .example(
        "A timer wakes a task at 10.000 ms. The CPU is busy until 10.800 ms, and the task runs \
         from then on: 800 us. Woken with an idle CPU on an idealised machine: 0.",
    ),
    metric(
        Run,
        "start_latency",
        "start latency",
        Ns,
        Lower,
        "first time on a CPU - start, one value per task",
        "The textbooks' response time of a batch task.",
    )
    .distribution("start_latency")
    .example(
        "A task starts at 1.0 s and first has a CPU at 1.2 s: 200 ms.",
    ),
    metric(
        Run,
        "burst_response",
        "burst response",
        Ns,
        Lower,
        "from a wakeup to the next time the task blocks or ends, one value per wakeup",
        "The response time of an interactive task.",
    )
    .distribution("burst_response")
    .example(
        "Woken at 10 ms, waits 1 ms, runs 2 ms, is preempted for 3 ms, runs 1 ms, sleeps at 17 \
         ms: 7 ms.",
    ),
    metric(
        Run,
        "slowdown",
        "slowdown",
        Ratio,
        Lower,
        "response / demand of a burst; the burst lasts from start or wakeup to the next time the \
         task blocks or ends, response = its length, demand = CPU time in it; rounded down to a \
         thousandth, one value per burst",
        "At least 1: 1 = it never waited. All tasks, including real-time and deadline tasks. A burst \
         without CPU time has none, nor has one that was not over when the run ended: a task that \
         never sleeps has one value, if it ends. Without such bursts there is no value. The time \
         that a kernel took while the task was current counts as demand.",
    )
    .distribution("slowdown")
    .example(
        "Woken at 10 ms, waits 1 ms, runs 2 ms, is preempted for 3 ms, runs 1 ms, sleeps at 17 \
         ms. It needed 3 ms of CPU time and took 7: 2.33. Served at once and never preempted: \
         1. A burst of 1 us that waits 200 us for the CPU has 201.",
    ),
    metric(
        Run,
        "idle_exit",
        "idle exit in wakeup latency",
        Ns,
        Lower,
        "the part of a wakeup latency in which the CPU that the task then ran on, or the one that \
         had the interrupt, was leaving an idle state; one value per wakeup latency",
        "On machines whose idle states take time to leave.",
    )
    .distribution("idle_exit")
    .example(
        "A timer wakes a task on a CPU in a deep idle state. Leaving it takes 200 us, the \
         interrupt and the switch 1 us: 200 of the 201 us of latency are idle exit.",
    ),
    metric(
        Run,
        "wakeup_latency_p50_idle_exit",
        "idle exit in the median wakeup latency",
        Ns,
        Lower,
        "mean of `idle_exit` over the latencies in the same histogram bucket as the median",
        "",
    )
    .json("idle_exit_of.p50_ns"),
    metric(
        Run,
        "wakeup_latency_p99_idle_exit",
        "idle exit in the p99 of wakeup latency",
        Ns,
        Lower,
        "mean of `idle_exit` over the latencies in the same histogram bucket as the p99",
        "",
    )
    .json("idle_exit_of.p99_ns"),
    metric(
        Run,
        "wakeup_latency_max_idle_exit",
        "idle exit in the largest wakeup latency",
        Ns,
        Lower,
        "mean of `idle_exit` over the latencies in the same histogram bucket as the largest",
        "",
    )
    .json("idle_exit_of.max_ns"),
    metric(
        Run,
        "burst_lag",
        "fairness lag",
        Ns,
        Lower,
        "the largest abs(lag) of a burst, sampled when the task changes from waiting to running or \
         back and when the burst or the run ends; lag = what a fluid machine with the same bursts \
         has given it, minus its CPU time; one value per burst of any length",
        "How far a task was from its share while it was runnable; behind and ahead count alike. \
         A burst lasts from start or wakeup to the next time the task blocks or ends, or to the \
         end of the run. The lag is 0 when a burst begins, unless the task was ahead when it went \
         to sleep and the fluid machine has not caught up since. docs/json-schema.md, `fairness`, \
         describes all of it, with groups and affinity. Ordinary tasks only.",
    )
    .distribution("burst_lag")
    .example(
        "A hog and a sleeper of equal weight on one CPU. The sleeper wakes, runs 10 ms at once and \
         sleeps. The fluid machine has given each 5 ms by then: the sleeper is 5 ms ahead, the hog \
         5 ms behind. 5 ms for this burst. In the next 10 ms the hog runs alone, and the fluid \
         machine runs the rest of the sleeper's burst alongside it: they are even. If the hog had \
         kept the CPU for 100 ms first, the sleeper would have been 50 ms behind: 50 ms.",
    ),
    metric(
        Run,
        "jain_backlogged",
        "fairness Jain, runnable",
        Index,
        Higher,
        "(sum x)^2 / (n sum x^2), x = min(1, CPU time / due) over tasks; due = what the fluid \
         machine of `burst_lag` gave it while it was runnable; x = 1 where nothing was due",
        "1 = all had the same part of what was due to them, 1/n = one task had it all. Promptness \
         is not penalised: a task that had more than was due counts as one that had exactly that. \
         Ordinary tasks that were runnable for any time; no value without any.",
    )
    .json("fairness.jain_backlogged")
    .example(
        "A hog and a sleeper of equal weight on one CPU. The sleeper needs 1 ms and has to \
         wait 99 ms for it, every time: half of 100 ms was due to it, and it had 1/50 of that. \
         The hog had all that was due to it. (1 + 0.02)^2 / (2 x (1 + 0.0004)) = 0.52. With \
         the sleeper served at once: 1.",
    ),
    metric(
        Run,
        "periods",
        "periods",
        Count,
        Neither,
        "times that tasks reached a timer",
        "rt-app's `timer` events.",
    )
    .json("totals.periods"),
    metric(
        Run,
        "missed_periods",
        "missed periods",
        Count,
        Lower,
        "times that tasks reached a timer that had already expired",
        "No value if there are no periods.",
    )
    .json("totals.missed_periods")
    .example(
        "A task's timer has a period of 10 ms, and the task works 8 ms in each. Once it has to \
         wait 3 ms: it reaches its timer 11 ms after the last expiry, 1 ms late. 1 missed.",
    ),
    metric(
        Run,
        "turnaround",
        "turnaround",
        Ns,
        Lower,
        "end - start, one value per task that ended",
        "",
    )
    .distribution("turnaround")
    .example(
        "A task starts at 2 s, needs 1 s of CPU time, and ends at 5 s because it shared the \
         CPU: 3 s.",
    ),
    metric(
        Run,
        "cpu_time",
        "CPU time per task",
        Ns,
        Neither,
        "time on a CPU, one value per task that started",
        "",
    )
    .distribution("cpu_time"),
    metric(
        Run,
        "jain_by_weight",
        "fairness Jain, by weight",
        Index,
        Higher,
        "(sum x)^2 / (n sum x^2), x = CPU time / weight, over all ordinary tasks",
        "Jain's index: 1 = even, 1/n = one task has all. In groups, x is over the task's part of the \
         machine if all tasks were always runnable. A task that slept counts as one that was given \
         little.",
    )
    .json("fairness.jain_by_weight")
    .example(
        "Two tasks of equal weight; one runs 9 s, the other sleeps most of the time and runs 1 \
         s: (9 + 1)^2 / (2 x (81 + 1)) = 0.61, although no task took anything from it.",
    ),
    metric(
        Run,
        "jain_by_share",
        "fairness Jain, by share",
        Index,
        Higher,
        "(sum x)^2 / (n sum x^2), x = CPU time / ideal fluid share, over tasks with a share",
        "As above, but a task is measured by what it could use.",
    )
    .json("fairness.jain_by_share")
    .example(
        "A hog, and a sleeper that is served at once for 1 ms of every 10. When both are \
         runnable, half of the CPU is due to each, so the sleeper had 2 x its share, and the \
         hog 0.95 x: (2 + 0.95)^2 / (2 x (4 + 0.9)) = 0.89, although no task ever waited long.",
    ),
    metric(
        Run,
        "lag_max",
        "fairness largest lag since the start",
        Ns,
        Lower,
        "max over tasks and time of abs(fluid share so far - CPU time so far)",
        "The lag of the fluid machine (docs/json-schema.md, `fairness`).",
    )
    .json("fairness.lag_max_ns")
    .example(
        "A hog, and a sleeper that is served at once for 1 ms of every 10. Each time the hog \
         is owed 0.5 ms more, and never gets it back, because the sleeper never waits: 500 ms \
         after 10 s.",
    ),
    metric(
        Run,
        "owed_max",
        "fairness most owed since the start",
        Ns,
        Lower,
        "max over tasks and time of (fluid share so far - CPU time so far)",
        "The most that a task was behind. A task that sleeps and is served promptly is ahead a \
         little more every time, and its neighbours ever more behind: see `burst_lag`.",
    )
    .json("fairness.owed_max_ns")
    .example(
        "A hog, and a sleeper that is served at once for 1 ms of every 10. Each time the hog \
         is owed 0.5 ms more, and never gets it back, because the sleeper never waits: 500 ms \
         after 10 s.",
    ),
    metric(
        Run,
        "ahead_max",
        "fairness most ahead since the start",
        Ns,
        Lower,
        "max over tasks and time of (CPU time so far - fluid share so far)",
        "The most that a task was ahead.",
    )
    .json("fairness.ahead_max_ns"),
    metric(
        Run,
        "owed_end",
        "fairness lag at end",
        Ns,
        Lower,
        "max over tasks of the lag at the end of the run, or of the task if earlier",
        "",
    )
    .json("fairness.owed_end_ns")
    .example(
        "As `owed_max`, at the end of the run.",
    ),
    metric(
        Run,
        "kernel_time",
        "kernel time",
        Ns,
        Lower,
        "sum over CPUs of the time in scheduling code, including waits for locks but not leaving idle \
         states",
        "On modelled machines. It is part of tasks' CPU time or of idle time.",
    )
    .json("kernel.kernel_ns")
    .example(
        "1,000 context switches of 2 us each and 1,000 ticks of 1 us: 3 ms, whether a task was \
         current or the CPU idled.",
    ),
    metric(
        Run,
        "kernel_with_task",
        "kernel time with a task",
        Ns,
        Lower,
        "kernel time, including leaving idle states, that counts as CPU time of tasks",
        "",
    )
    .json("kernel.with_task_ns"),
    metric(
        Run,
        "kernel_idle",
        "kernel time while idle",
        Ns,
        Lower,
        "kernel time, including leaving idle states, that counts as idle time",
        "",
    )
    .json("kernel.idle_ns"),
    metric(
        Run,
        "kernel_pick",
        "kernel time picking",
        Ns,
        Lower,
        "kernel time of all CPUs in schedule(), queueing and dequeueing, trees, bitmaps, \
         free locks",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel pick"),
    metric(
        Run,
        "kernel_scan",
        "kernel time scanning",
        Ns,
        Lower,
        "kernel time of all CPUs in linear scans of the runqueue, and recalculation loops",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel scan"),
    metric(
        Run,
        "kernel_spin",
        "kernel time spinning",
        Ns,
        Lower,
        "kernel time of all CPUs waiting for locks that other CPUs held",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel spin")
    .example(
        "Two CPUs take one runqueue's lock at once; each holds it for 1 us: one of them spins for \
         1 us.",
    ),
    metric(
        Run,
        "kernel_switch",
        "kernel time switching",
        Ns,
        Lower,
        "kernel time of all CPUs in context switches",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel switch"),
    metric(
        Run,
        "kernel_refill",
        "kernel time refilling caches",
        Ns,
        Lower,
        "kernel time of all CPUs in filling caches after a switch, and moving to another CPU",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel refill"),
    metric(
        Run,
        "kernel_wakeup",
        "kernel time waking",
        Ns,
        Lower,
        "kernel time of all CPUs in wakeups and the scheduler's part of forks",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel wakeup"),
    metric(
        Run,
        "kernel_tick",
        "kernel time ticks",
        Ns,
        Lower,
        "kernel time of all CPUs in timer ticks",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel tick"),
    metric(
        Run,
        "kernel_interrupt",
        "kernel time interrupts",
        Ns,
        Lower,
        "kernel time of all CPUs in interrupts: timers that wake tasks, and those from other \
         CPUs",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel interrupt"),
    metric(
        Run,
        "kernel_balance",
        "kernel time balancing",
        Ns,
        Lower,
        "kernel time of all CPUs in load balancing, and looking for a CPU",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel balance"),
    metric(
        Run,
        "kernel_awaken",
        "kernel time leaving idle states",
        Ns,
        Lower,
        "kernel time of all CPUs leaving idle states",
        "",
    )
    .json("kernel.kinds[].ns")
    .paper_s("kernel awaken"),
    metric(
        Run,
        "kernel_interrupts",
        "inter-processor interrupts",
        Count,
        Neither,
        "number of inter-processor interrupts",
        "",
    )
    .json("kernel.interrupts"),
    metric(
        Run,
        "kernel_contended",
        "locks found held",
        Count,
        Lower,
        "times that a runqueue lock was found held",
        "",
    )
    .json("kernel.contended"),
    metric(
        Run,
        "energy",
        "energy",
        Joules,
        Lower,
        "integral of the machine's power over the run",
        "On machines whose power is known.",
    )
    .json("energy.joules")
    .paper("joules"),
    metric(Run, "power_mean", "mean power", Watts, Lower, "energy / length of the run", "")
        .json("energy.mean_watts")
        .paper("watts")
    .example(
        "A machine draws 500 J in a run of 5 s: 100 W.",
    ),
    metric(
        Run,
        "idle_states",
        "time in idle states",
        Ns,
        Neither,
        "sum over CPUs of the time in idle states",
        "The JSON document has it by state.",
    )
    .json("energy.idle[].ns"),
    metric(
        Run,
        "idle_wakeups",
        "wakeups of idle CPUs",
        Count,
        Lower,
        "times that an idle CPU left its idle state",
        "",
    )
    .json("energy.wakeups"),
    metric(
        Run,
        "cpu_busy_spread",
        "spread of CPU time over CPUs",
        Ns,
        Lower,
        "max over CPUs of busy time - min over CPUs of busy time",
        "How evenly work is balanced.",
    )
    .paper_s("cpu-busy-spread"),
    metric(Cpu, "cpu_busy", "CPU time", Ns, Neither, "time with a task as current", "")
        .json("cpus[].busy_ns")
        .paper_s("cpu-busy"),
    metric(Cpu, "cpu_idle", "idle time", Ns, Neither, "time online with the idle task as current", "")
        .json("cpus[].idle_ns"),
    metric(
        Cpu,
        "cpu_switches",
        "switches",
        Count,
        Neither,
        "context switches on it, including those to and from idle",
        "",
    )
    .json("cpus[].switches"),
    metric(Cpu, "cpu_ticks", "ticks", Count, Neither, "timer ticks on it", "").json("cpus[].ticks"),
    metric(Cpu, "cpu_kernel_time", "kernel time", Ns, Lower, "kernel time on it", "")
        .json("kernel.cpus_ns[]"),
    metric(Key, "key_tasks", "tasks", Count, Neither, "number of tasks of the key", "")
        .json("keys[].tasks"),
    metric(Key, "key_cpu", "CPU time", Ns, Neither, "sum of the tasks' CPU time", "")
        .json("keys[].cpu_ns")
        .paper_s("cpu"),
    metric(
        Key,
        "key_cpu_share",
        "share of CPU time",
        Part,
        Neither,
        "sum of the tasks' CPU time / CPU time of all tasks",
        "",
    )
    .paper("cpu-share"),
    metric(
        Key,
        "key_cpu_min",
        "least CPU time",
        Ns,
        Neither,
        "min over the tasks of their CPU time",
        "",
    )
    .paper_s("cpu-min"),
    metric(
        Key,
        "key_cpu_max",
        "most CPU time",
        Ns,
        Neither,
        "max over the tasks of their CPU time",
        "",
    )
    .paper_s("cpu-max"),
    metric(
        Key,
        "key_cpu_variance",
        "variance of CPU time",
        NsSquared,
        Lower,
        "sum (x - mean)^2 / (n - 1), x = a task's CPU time",
        "The sample variance, as in published tables.",
    )
    .paper_s2("cpu-variance"),
    metric(
        Key,
        "key_turnaround_mean",
        "mean turnaround",
        Ns,
        Lower,
        "mean over the tasks that ended of end - start",
        "",
    )
    .paper_s("turnaround-mean"),
    metric(
        Key,
        "key_turnaround_min",
        "least turnaround",
        Ns,
        Lower,
        "min over the tasks that ended of end - start",
        "",
    )
    .paper_s("turnaround-min"),
    metric(
        Key,
        "key_turnaround_max",
        "most turnaround",
        Ns,
        Lower,
        "max over the tasks that ended of end - start",
        "",
    )
    .paper_s("turnaround-max"),
    metric(
        Key,
        "key_turnaround_variance",
        "variance of turnaround",
        NsSquared,
        Lower,
        "sum (x - mean)^2 / (n - 1), x = end - start of a task that ended",
        "",
    )
    .paper_s2("turnaround-variance"),
    metric(
        Key,
        "key_end",
        "end of the last",
        Ns,
        Lower,
        "max over the tasks that ended of their end",
        "The makespan, if all started at 0.",
    )
    .paper_s("end"),
    metric(
        Key,
        "key_wait",
        "waiting",
        Ns,
        Lower,
        "sum of the tasks' time runnable without a CPU",
        "",
    )
    .json("keys[].wait_ns"),
    metric(
        Key,
        "key_wait_max",
        "longest wait",
        Ns,
        Lower,
        "max over the tasks of their longest single wait",
        "",
    )
    .json("keys[].wait_max_ns")
    .paper_s("wait-max"),
    metric(
        Key,
        "key_latency_mean",
        "mean of tasks' mean wakeup latency",
        Ns,
        Lower,
        "mean over the tasks with wakeups of each one's mean wakeup latency",
        "Each task counts the same, however often it was woken; `wakeup_latency_mean` is the \
         mean over wakeups.",
    )
    .paper_ms("latency-mean"),
    metric(
        Key,
        "key_latency_max",
        "largest wakeup latency",
        Ns,
        Lower,
        "max over the tasks of their largest wakeup latency",
        "",
    )
    .paper_ms("latency-max"),
    metric(
        Key,
        "key_migrations_max",
        "most migrations",
        Count,
        Lower,
        "max over the tasks of their CPU migrations",
        "",
    )
    .paper("migrations-max"),
    metric(Key, "key_jobs", "jobs", Count, Higher, "sum of the tasks' jobs", "")
        .json("keys[].jobs"),
    metric(
        Key,
        "key_wakeup_latency",
        "wakeup latency",
        Ns,
        Lower,
        "from a wakeup to the moment the task next has a CPU, even for no time; one value per \
         wakeup",
        "Percentiles for the first 256 keys only.",
    )
    .distribution("keys[].wakeup_latency"),
    metric(
        KeyPair,
        "key_cpu_ratio",
        "ratio of CPU time",
        Ratio,
        Neither,
        "CPU time of the first key's tasks / CPU time of the second key's",
        "",
    )
    .paper("cpu-ratio"),
    metric(
        Group,
        "group_usage",
        "CPU time",
        Ns,
        Neither,
        "CPU time of all tasks while they were in it or below it",
        "cpuacct.usage; usage_usec of cpu.stat.",
    )
    .json("groups[].usage_ns"),
    metric(
        Group,
        "group_usage_percpu",
        "CPU time by CPU",
        Ns,
        Neither,
        "CPU time on each CPU of all tasks while they were in it or below it",
        "cpuacct.usage_percpu.",
    )
    .json("groups[].usage_percpu_ns[]"),
    metric(
        Group,
        "group_machine_share",
        "share of the machine",
        Part,
        Neither,
        "CPU time of the group / (CPUs x length of the run)",
        "",
    )
    .json("groups[].machine_share"),
    metric(
        Group,
        "group_cpu_share",
        "share of CPU time",
        Part,
        Neither,
        "CPU time of the tasks born in it or below it / CPU time of all tasks",
        "",
    )
    .paper("group-share"),
    metric(
        Group,
        "group_end",
        "end of the last",
        Ns,
        Lower,
        "max over its tasks that ended of their end",
        "",
    )
    .paper_s("group-end"),
    metric(
        Group,
        "group_turnaround_mean",
        "mean turnaround",
        Ns,
        Lower,
        "mean over its tasks that ended of end - start",
        "",
    )
    .paper_s("group-turnaround-mean"),
    metric(
        Group,
        "group_nr_periods",
        "periods",
        Count,
        Neither,
        "quota periods that have ended",
        "nr_periods of cpu.stat.",
    )
    .json("groups[].throttling.nr_periods"),
    metric(
        Group,
        "group_nr_throttled",
        "throttled periods",
        Count,
        Lower,
        "quota periods in which it was throttled",
        "nr_throttled of cpu.stat.",
    )
    .json("groups[].throttling.nr_throttled"),
    metric(
        Group,
        "group_throttled",
        "throttled time",
        Ns,
        Lower,
        "sum over CPUs of the time for which its queue was throttled",
        "throttled_usec of cpu.stat.",
    )
    .json("groups[].throttling.throttled_ns"),
    metric(
        Group,
        "group_nr_bursts",
        "bursts",
        Count,
        Neither,
        "quota periods in which it used more than its quota, from saved time",
        "nr_bursts of cpu.stat.",
    )
    .json("groups[].throttling.nr_bursts"),
    metric(
        Group,
        "group_burst",
        "burst time",
        Ns,
        Neither,
        "sum over those periods of its use beyond the quota",
        "burst_usec of cpu.stat.",
    )
    .json("groups[].throttling.burst_ns"),
    metric(
        Group,
        "group_period_phase",
        "phase of the periods",
        Ns,
        Neither,
        "time of a refill modulo the period, where it has a limit",
        "",
    )
    .json("groups[].throttling.period_phase_ns"),
    metric(Task, "task_start", "start", Ns, Neither, "time of its birth", "")
        .json("tasks[].start_ns"),
    metric(
        Task,
        "task_first_run",
        "first time on a CPU",
        Ns,
        Neither,
        "time at which it first had a CPU",
        "",
    )
    .json("tasks[].first_run_ns"),
    metric(Task, "task_end", "end", Ns, Neither, "time of its end", "").json("tasks[].end_ns"),
    metric(
        Task,
        "task_turnaround",
        "turnaround",
        Ns,
        Lower,
        "end - start = CPU time + waiting + blocked time",
        "",
    )
    .json("tasks[].turnaround_ns"),
    metric(
        Task,
        "task_cpu",
        "CPU time",
        Ns,
        Neither,
        "time on a CPU",
        "sum_exec_runtime; the first number of /proc/PID/schedstat.",
    )
    .json("tasks[].cpu_ns"),
    metric(
        Task,
        "task_wait",
        "waiting",
        Ns,
        Lower,
        "time runnable without a CPU",
        "run_delay; the second number of /proc/PID/schedstat.",
    )
    .json("tasks[].wait_ns"),
    metric(
        Task,
        "task_wait_max",
        "longest wait",
        Ns,
        Lower,
        "the longest single wait: from when it is runnable without a CPU until it runs, or is no \
         longer runnable; an interval without length that leaves it runnable ends none",
        "wait_max of /proc/PID/sched, except that a kernel ends a wait with any interval.",
    )
    .json("tasks[].wait_max_ns"),
    metric(
        Task,
        "task_wait_open",
        "wait at the end",
        Ns,
        Lower,
        "length of its last wait if it was not over when the run ended; 0 = it was not waiting",
        "",
    )
    .json("tasks[].wait_open_ns"),
    metric(Task, "task_blocked", "blocked time", Ns, Neither, "time asleep or stopped", "")
        .json("tasks[].blocked_ns"),
    metric(
        Task,
        "task_loops",
        "loops",
        Count,
        Neither,
        "loops of its program that it finished",
        "",
    )
    .json("tasks[].loops"),
    metric(
        Task,
        "task_jobs",
        "jobs",
        Count,
        Higher,
        "max(rounds, 1 if it ended), rounds = the finished rounds of its phases whose `loop` is \
         not 1; if it has none, its finished loops",
        "",
    )
    .json("tasks[].jobs"),
    metric(
        Task,
        "task_periods",
        "periods",
        Count,
        Neither,
        "times it reached a timer",
        "rt-app's `timer` events.",
    )
    .json("tasks[].periods"),
    metric(
        Task,
        "task_missed_periods",
        "missed periods",
        Count,
        Lower,
        "times it reached a timer that had already expired",
        "Its slack was negative in rt-app's log. A timer that expires in the same nanosecond is \
         met.",
    )
    .json("tasks[].missed_periods"),
    metric(Task, "task_wakeups", "wakeups", Count, Neither, "times it was woken", "")
        .json("tasks[].wakeups"),
    metric(
        Task,
        "task_latency_count",
        "wakeups with a latency",
        Count,
        Neither,
        "wakeups after which it had a CPU before the run ended",
        "",
    )
    .json("tasks[].latency_count"),
    metric(
        Task,
        "task_latency_mean",
        "mean wakeup latency",
        Ns,
        Lower,
        "sum of its wakeup latencies / their number, rounded down",
        "Avg delay of perf sched latency, without preemptions.",
    )
    .json("tasks[].latency_mean_ns"),
    metric(
        Task,
        "task_latency_p99",
        "p99 of wakeup latency",
        Ns,
        Lower,
        "nearest rank among its wakeup latencies: the k-th smallest, k = ceil(0.99 n)",
        "Less than 0.4 % above the exact value. None for tasks beyond the first 256, and for \
         forked tasks.",
    )
    .json("tasks[].latency_p99_ns"),
    metric(
        Task,
        "task_latency_max",
        "largest wakeup latency",
        Ns,
        Lower,
        "max of its wakeup latencies",
        "Max delay of perf sched latency, without preemptions.",
    )
    .json("tasks[].latency_max_ns"),
    metric(
        Task,
        "task_switches_in",
        "times on a CPU",
        Count,
        Neither,
        "times it was given a CPU",
        "pcount; the third number of /proc/PID/schedstat.",
    )
    .json("tasks[].switches_in"),
    metric(
        Task,
        "task_switches_voluntary",
        "voluntary switches",
        Count,
        Neither,
        "times it left its CPU because it blocked or ended",
        "voluntary_ctxt_switches.",
    )
    .json("tasks[].switches_voluntary"),
    metric(
        Task,
        "task_switches_involuntary",
        "involuntary switches",
        Count,
        Neither,
        "times it left its CPU although it was runnable",
        "nonvoluntary_ctxt_switches.",
    )
    .json("tasks[].switches_involuntary"),
    metric(
        Task,
        "task_migrations_queue",
        "migrations of queue",
        Count,
        Neither,
        "moves from one CPU's runqueue to another's",
        "",
    )
    .json("tasks[].migrations_queue"),
    metric(
        Task,
        "task_migrations_cpu",
        "migrations of CPU",
        Count,
        Neither,
        "times it was given another CPU than its last one",
        "",
    )
    .json("tasks[].migrations_cpu"),
    metric(
        Task,
        "task_share",
        "fluid share",
        Ns,
        Neither,
        "integral of its rate on the fluid machine",
        "None for real-time and deadline tasks; the same holds for the metrics below.",
    )
    .json("tasks[].share_ns"),
    metric(
        Task,
        "task_owed_max",
        "most owed since the start",
        Ns,
        Lower,
        "max over time of (fluid share so far - CPU time so far)",
        "",
    )
    .json("tasks[].owed_max_ns"),
    metric(
        Task,
        "task_ahead_max",
        "most ahead since the start",
        Ns,
        Lower,
        "max over time of (CPU time so far - fluid share so far)",
        "",
    )
    .json("tasks[].ahead_max_ns"),
    metric(
        Task,
        "task_lag_end",
        "lag at the end",
        Ns,
        Neither,
        "fluid share - CPU time at the end; positive = it is owed",
        "",
    )
    .json("tasks[].lag_end_ns"),
    metric(
        Task,
        "task_burst_lag_max",
        "largest lag",
        Ns,
        Lower,
        "max over its bursts of the burst's largest abs(lag)",
        "See `burst_lag`.",
    )
    .json("tasks[].burst_lag_max_ns"),
    metric(
        Task,
        "task_due",
        "due while runnable",
        Ns,
        Neither,
        "what the fluid machine of `burst_lag` gave it while it was runnable",
        "None if it was never runnable for any time.",
    )
    .json("tasks[].due_ns"),
];
