//! massive_intr: the evenness of the progress of many processes that work for 8 ms and sleep for 1
//! ms (Satoru Takeuchi, 2007).
//!
//! All processes begin at one signal and count their rounds until the time is over. Under the O(1)
//! scheduler a few were repeatedly re-inserted into the active array because of their bonus, and
//! the others never ran.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, MS_NS, SECOND_NS};
use schedlab_core::{SchedAttr, TaskId};
use schedlab_measure::Moments;
use schedlab_workload::programs::{Context, Kernel, LatchId, Program, Spawn, Step};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct MassiveIntr;

/// Time that a process sleeps before it waits for the signal, ns.
const BEFORE_SIGNAL_NS: u64 = 200 * MS_NS;
/// Time from the last fork to the signal of the parent, ns. That of the real program is unknown.
const SIGNAL_AFTER_NS: u64 = SECOND_NS;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("nproc", (1, 100_000), "200", "processes").positional(),
    Parameter::whole("runtime", (1, 100_000), "60", "duration of counting, s").positional(),
    Parameter::whole("work", (1, 100_000), "8", "work of a round, ms (WORK_MSECS of the source)"),
    Parameter::whole(
        "sleep",
        (0, 100_000),
        "1",
        "sleep of a round, ms (SLEEP_MSECS of the source)",
    ),
    Parameter::whole(
        "nice",
        (0, 19),
        "0",
        "nice value of all (the real program is started with nice(1))",
    ),
    units::hogs("0"),
];

#[derive(Clone, Copy)]
struct Options {
    nproc: u64,
    runtime_s: u64,
    work_ns: u64,
    sleep_ns: u64,
    signal: LatchId,
}

/// Rounds of each process, in the order in which they were started.
type Counts = Rc<RefCell<Vec<(TaskId, u64)>>>;

impl Benchmark for MassiveIntr {
    fn name(&self) -> &'static str {
        "massive_intr"
    }

    fn about(&self) -> &'static str {
        "processes that work 8 ms and sleep 1 ms: how much their numbers of rounds differ"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        _: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let options = Options {
            nproc: values.whole("nproc"),
            runtime_s: values.whole("runtime"),
            work_ns: values.whole("work") * MS_NS,
            sleep_ns: values.whole("sleep") * MS_NS,
            signal: os.objects().latch(),
        };
        let counts = Counts::default();
        let parent = parent(options, counts.clone());
        os.start(
            0,
            Spawn::new("massive_intr", parent).attr(SchedAttr::nice(values.whole("nice") as i32)),
        );
        let hogs = values.whole("hogs");
        units::start_hogs(os, hogs);
        // A starved process ends when the others have left. Then it has one round to finish.
        let rounds_ns = options.nproc * (options.work_ns + options.sleep_ns) * (1 + hogs);
        let limit_ns = 2 * options.runtime_s * SECOND_NS + 60 * SECOND_NS + rounds_ns;
        let finish = move |end: &End<'_>| findings(&counts.borrow(), end);
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(finish) })
    }
}

fn parent(options: Options, counts: Counts) -> impl Program + 'static {
    let mut step = 0;
    move |_: &mut Context<'_>| {
        step += 1;
        match step - 1 {
            made if made < options.nproc => {
                Step::Fork(Box::new(Spawn::new("worker", worker(options, counts.clone()))))
            }
            made if made == options.nproc => Step::Sleep(SIGNAL_AFTER_NS),
            made if made == options.nproc + 1 => Step::Open(options.signal),
            made if made < 2 * options.nproc + 2 => Step::WaitChild,
            _ => Step::Finish,
        }
    }
}

enum Stage {
    Born,
    Signal,
    Start,
    Work,
    Sleep,
    Count,
}

fn worker(options: Options, counts: Counts) -> impl Program + 'static {
    let (mut stage, mut place, mut start_s) = (Stage::Born, 0, 0);
    move |os: &mut Context<'_>| {
        loop {
            match stage {
                Stage::Born => {
                    place = counts.borrow().len();
                    counts.borrow_mut().push((os.task(), 0));
                    stage = Stage::Signal;
                    return Step::Sleep(BEFORE_SIGNAL_NS);
                }
                Stage::Signal => {
                    stage = Stage::Start;
                    return Step::Pass(options.signal);
                }
                Stage::Start => {
                    start_s = os.now_ns() / SECOND_NS;
                    stage = Stage::Work;
                }
                Stage::Work => {
                    // The clock that it reads has a resolution of whole seconds.
                    if os.now_ns() / SECOND_NS - start_s >= options.runtime_s {
                        return Step::Exit;
                    }
                    stage = Stage::Sleep;
                    return Step::Run(options.work_ns);
                }
                Stage::Sleep => {
                    stage = Stage::Count;
                    return Step::Sleep(options.sleep_ns);
                }
                Stage::Count => {
                    counts.borrow_mut()[place].1 += 1;
                    stage = Stage::Work;
                }
            }
        }
    }
}

fn findings(counts: &[(TaskId, u64)], end: &End<'_>) -> Findings {
    let mut printed = String::new();
    for (task, count) in counts {
        let _ = writeln!(printed, "{:06}\t{count:08}", task.0);
    }
    let rounds: Moments = counts.iter().map(|&(_, count)| count).collect();
    let mut cpu: Vec<u64> = units::named(end, "worker").map(|(_, stats)| stats.cpu_ns).collect();
    cpu.sort_unstable_by(|a, b| b.cmp(a));
    let all_ns = cpu.iter().sum::<u64>().max(1) as f64;
    let luckiest = |count: usize| 100.0 * cpu.iter().take(count).sum::<u64>() as f64 / all_ns;
    let figures = vec![
        Figure::lower("spread of rounds", "% of mean", units::spread_percent(&rounds)),
        Figure::higher("mean rounds", "", units::mean(&rounds)),
        Figure::higher(
            "fewest rounds",
            "",
            if rounds.count == 0 { 0.0 } else { rounds.min as f64 },
        ),
        Figure::lower("most rounds", "", rounds.max as f64),
        Figure::lower("CPU time of the luckiest 4", "%", luckiest(4)),
        Figure::lower("CPU time of the luckiest 8", "%", luckiest(8)),
        Figure::lower("longest wait", "s", units::longest_wait_ns(end, "worker") as f64 / 1e9),
    ];
    Findings { printed, figures, ..Findings::default() }
}
