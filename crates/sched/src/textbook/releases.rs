//! The policies of the textbooks, each as a set of rules, and their entries in the registry.

use super::Textbook;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::{Build, BuildConfig, Capabilities, Entry, Origin, Policy, Release, Scheduler};

/// The order of waiting tasks. Ties go to the one that joined first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderBy {
    /// The time of joining only.
    Arrival,
    /// The length of the next burst.
    Burst,
    /// The rest of the burst.
    Remaining,
    /// (waited + burst) / burst, largest first.
    ResponseRatio,
    /// Priority (nice + 20, where smaller is better), improved by aging.
    Priority,
    /// Level of feedback.
    Level,
    /// The task's class.
    Class,
}

/// Effect of the end of a slice and of a burst under feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feedback {
    /// No effect.
    None,
    /// One level down when a slice is used up, and one level up for a burst that ends before that.
    /// Slices double from level to level.
    Doubling,
    /// One level down when the allotment is used up, over any number of turns. At intervals all
    /// tasks return to the top.
    Teaching,
    /// One level down when a slice is used up while another task is ready, and never up. Slices
    /// double (Stallings's FB(2^i)).
    Stallings,
    /// Like [`Stallings`](Feedback::Stallings), with equal slices at all levels (Stallings's
    /// FB(1)).
    StallingsEqual,
}

/// A policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The order of waiting tasks.
    pub order_by: OrderBy,
    /// Whether bursts are estimated from earlier ones, not announced.
    pub predicted: bool,
    /// Whether a strictly better arrival preempts.
    pub preemptive: bool,
    /// Feedback.
    pub feedback: Feedback,
    /// Whether classes take turns by fixed parts of a cycle.
    pub sliced_classes: bool,
    /// Default quantum, ns. `0`: none.
    pub quantum_ns: u64,
    /// Default number of levels of feedback.
    pub levels: u32,
}

const PLAIN: Rules = Rules {
    order_by: OrderBy::Arrival,
    predicted: false,
    preemptive: false,
    feedback: Feedback::None,
    sliced_classes: false,
    quantum_ns: 0,
    levels: 1,
};

const MS: u64 = 1_000_000;

impl Rules {
    /// Whether it must know the lengths of bursts in advance.
    pub const fn is_clairvoyant(&self) -> bool {
        let by_length =
            matches!(self.order_by, OrderBy::Burst | OrderBy::Remaining | OrderBy::ResponseRatio);
        by_length && !self.predicted
    }
}

const fn by(order_by: OrderBy, preemptive: bool, predicted: bool) -> Rules {
    Rules { order_by, preemptive, predicted, ..PLAIN }
}

/// First come, first served.
pub const FCFS_RULES: Rules = PLAIN;
/// Shortest job first.
pub const SJF_RULES: Rules = by(OrderBy::Burst, false, false);
/// Shortest remaining time first.
pub const SRTF_RULES: Rules = by(OrderBy::Remaining, true, false);
/// Highest response ratio next.
pub const HRRN_RULES: Rules = by(OrderBy::ResponseRatio, false, false);
/// Priority. The running task is never preempted.
pub const PRIORITY_RULES: Rules = by(OrderBy::Priority, false, false);
/// Priority, preemptive.
pub const PRIORITY_PREEMPTIVE_RULES: Rules = by(OrderBy::Priority, true, false);
/// Round robin.
pub const RR_RULES: Rules = Rules { quantum_ns: 10 * MS, ..PLAIN };
/// Multilevel queue, better classes first.
pub const MLQ_RULES: Rules = Rules { quantum_ns: 10 * MS, ..by(OrderBy::Class, true, false) };
/// Multilevel queue, classes by time slices.
pub const MLQ_SLICED_RULES: Rules = Rules { sliced_classes: true, ..MLQ_RULES };
/// Multilevel feedback, slices doubling.
pub const MLFQ_RULES: Rules = Rules {
    feedback: Feedback::Doubling,
    quantum_ns: 10 * MS,
    levels: 8,
    ..by(OrderBy::Level, true, false)
};
/// Multilevel feedback as usually taught.
pub const MLFQ_TEACHING_RULES: Rules =
    Rules { feedback: Feedback::Teaching, levels: 3, ..MLFQ_RULES };
/// Stallings's feedback, equal slices.
pub const FB1_RULES: Rules = Rules { feedback: Feedback::StallingsEqual, ..FB_RULES };
/// Stallings's feedback, slices doubling.
pub const FB_RULES: Rules =
    Rules { feedback: Feedback::Stallings, preemptive: false, ..MLFQ_RULES };

const ORDINARY: &[Policy] = &[Policy::Other, Policy::Batch, Policy::Idle];

/// Makes a scheduler.
type Make = fn(&BuildConfig) -> Box<dyn Scheduler>;

const fn release(version: &'static str, summary: &'static str, build: Make) -> Release {
    with(Capabilities { nohz: true, ..Capabilities::BASIC }, version, summary, build)
}

/// Returns a release that receives the lengths of bursts in advance.
const fn clairvoyant(version: &'static str, summary: &'static str, build: Make) -> Release {
    let can = Capabilities { nohz: true, clairvoyant: true, ..Capabilities::BASIC };
    with(can, version, summary, build)
}

const fn with(
    can: Capabilities,
    version: &'static str,
    summary: &'static str,
    build: Make,
) -> Release {
    Release {
        version,
        also: &[],
        summary,
        golden: &[],
        hz_default: 1000,
        hz_range: (1, 10_000),
        cpus_max: schedlab_core::topology::CPUS_MAX,
        policies: ORDINARY,
        can,
        // Where something depends on the surrounding kernel, 2.6.22 is assumed.
        kernel: Some("2.6.22"),
        build: Build::Ordinary(build),
    }
}

fn make(config: &BuildConfig, rules: Rules) -> Box<Textbook> {
    Box::new(Textbook::new(config.topology.cpus(), rules))
}

/// First come, first served.
pub static FCFS: Entry = Entry {
    name: Cow::Borrowed("fcfs"),
    title: Cow::Borrowed("First come, first served"),
    summary: Cow::Borrowed("the task that has waited longest runs until it blocks"),
    origin: Origin::Textbook,
    releases: &[release("textbook", "no preemption, no quantum", |config| {
        make(config, FCFS_RULES)
    })],
};

/// Shortest job first.
pub static SJF: Entry = Entry {
    name: Cow::Borrowed("sjf"),
    title: Cow::Borrowed("Shortest job first"),
    summary: Cow::Borrowed("the shortest next burst runs until it blocks"),
    origin: Origin::Textbook,
    releases: &[
        clairvoyant("clairvoyant", "receives the lengths of bursts in advance", |config| {
            make(config, SJF_RULES)
        }),
        release("predicted", "estimates bursts from earlier ones", |config| {
            make(config, Rules { predicted: true, ..SJF_RULES })
        }),
    ],
};

/// Shortest remaining time first.
pub static SRTF: Entry = Entry {
    name: Cow::Borrowed("srtf"),
    title: Cow::Borrowed("Shortest remaining time first"),
    summary: Cow::Borrowed(
        "as sjf, but a burst shorter than the rest of the running one preempts it",
    ),
    origin: Origin::Textbook,
    releases: &[
        clairvoyant("clairvoyant", "receives the lengths of bursts in advance", |config| {
            make(config, SRTF_RULES)
        }),
        release("predicted", "estimates bursts from earlier ones", |config| {
            make(config, Rules { predicted: true, ..SRTF_RULES })
        }),
    ],
};

/// Highest response ratio next.
pub static HRRN: Entry = Entry {
    name: Cow::Borrowed("hrrn"),
    title: Cow::Borrowed("Highest response ratio next"),
    summary: Cow::Borrowed("the largest (waited + burst) / burst runs until it blocks"),
    origin: Origin::Textbook,
    releases: &[
        clairvoyant("clairvoyant", "receives the lengths of bursts in advance", |config| {
            make(config, HRRN_RULES)
        }),
        release("predicted", "estimates bursts from earlier ones", |config| {
            make(config, Rules { predicted: true, ..HRRN_RULES })
        }),
    ],
};

/// Priority.
pub static PRIORITY: Entry = Entry {
    name: Cow::Borrowed("priority"),
    title: Cow::Borrowed("Priority"),
    summary: Cow::Borrowed(
        "the best nice value runs; aging, and a quantum within a priority, on request",
    ),
    origin: Origin::Textbook,
    releases: &[
        release("preemptive", "a better arrival preempts", |config| {
            make(config, PRIORITY_PREEMPTIVE_RULES)
        }),
        release("cooperative", "the running task continues until it blocks", |config| {
            make(config, PRIORITY_RULES)
        }),
    ],
};

/// Round robin.
pub static RR: Entry = Entry {
    name: Cow::Borrowed("rr"),
    title: Cow::Borrowed("Round robin (textbook)"),
    summary: Cow::Borrowed("one queue; at the end of its quantum a task goes to the tail"),
    origin: Origin::Textbook,
    releases: &[release("textbook", "one common queue", |config| make(config, RR_RULES))],
};

/// Multilevel queue.
pub static MLQ: Entry = Entry {
    name: Cow::Borrowed("mlq"),
    title: Cow::Borrowed("Multilevel queue"),
    summary: Cow::Borrowed(
        "SCHED_OTHER by round robin before SCHED_BATCH before SCHED_IDLE first come, first \
              served",
    ),
    origin: Origin::Textbook,
    releases: &[
        release("fixed", "a class runs only when all better ones are empty", |config| {
            make(config, MLQ_RULES)
        }),
        release("sliced", "classes take turns by parts of a cycle", |config| {
            make(config, MLQ_SLICED_RULES)
        }),
    ],
};

/// Multilevel feedback queue.
pub static MLFQ: Entry = Entry {
    name: Cow::Borrowed("mlfq"),
    title: Cow::Borrowed("Multilevel feedback queue"),
    summary: Cow::Borrowed("tasks that use up their slices sink; better levels run first"),
    origin: Origin::Textbook,
    releases: &[
        release(
            "doubling",
            "down for a used slice, up for a short burst; slices double",
            |config| make(config, MLFQ_RULES),
        ),
        release(
            "teaching",
            "an allotment per level, and all tasks return to the top at intervals",
            |config| make(config, MLFQ_TEACHING_RULES),
        ),
        release("fb1", "Stallings's FB(1): as fb, with equal slices", |config| {
            make(config, FB1_RULES)
        }),
        release("fb", "Stallings's FB(2^i): down when others are ready, never up", |config| {
            make(config, FB_RULES)
        }),
    ],
};
