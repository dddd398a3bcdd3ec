//! fiftyp: nine processes that each compute half the time (after the 2012 rewrite for tests of
//! ARM's schedulers).
//!
//! The parent measures how long a sleep of 7 ms takes. Each process then computes for that long
//! and sleeps for 7 ms, in alternation. Together they request 4.5 CPUs. The O(1) scheduler's
//! estimator mistakes tasks that sleep half the time for interactive ones. A fair scheduler gives
//! each process its share, and each concurrent loop as well.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, MS_NS, SECOND_NS};
use schedlab_measure::Moments;
use schedlab_workload::programs::{Context, Kernel, Program, Spawn, Step};
use std::fmt::Write;

/// The benchmark that this module describes.
pub struct Fiftyp;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole(
        "processes",
        (1, 100_000),
        "9",
        "processes (the real program intends ten and starts nine)",
    )
    .positional(),
    Parameter::whole("sleep", (1, 100_000), "7", "sleep between two bursts, ms"),
    units::seconds("60"),
    units::hogs("0"),
];

#[derive(Clone, Copy)]
struct Options {
    processes: u64,
    sleep_ns: u64,
    length_ns: u64,
}

impl Benchmark for Fiftyp {
    fn name(&self) -> &'static str {
        "fiftyp"
    }

    fn about(&self) -> &'static str {
        "processes that compute half the time: evenness of their CPU time, and time left for others"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let options = Options {
            processes: values.whole("processes"),
            sleep_ns: values.whole("sleep") * MS_NS,
            length_ns: values.whole("seconds") * SECOND_NS,
        };
        os.start(0, Spawn::new("parent", parent(options)));
        units::start_hogs(os, values.whole("hogs"));
        // A process that starts ends when its time is up. One that never gets a CPU does not end.
        let forks_ns = options.processes * conditions.costs.fork_ns;
        let limit_ns = options.length_ns + 2 * options.sleep_ns + forks_ns;
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(findings) })
    }
}

/// Measures a sleep and starts the processes.
fn parent(options: Options) -> impl Program + 'static {
    let (mut asleep_ns, mut burn_ns, mut made) = (None, 0, 0);
    move |os: &mut Context<'_>| {
        let Some(since_ns) = asleep_ns else {
            asleep_ns = Some(os.now_ns());
            return Step::Sleep(options.sleep_ns);
        };
        if made == 0 {
            burn_ns = os.now_ns() - since_ns;
        }
        made += 1;
        if made > options.processes {
            return Step::Exit;
        }
        Step::Fork(Box::new(Spawn::new("fiftyp", process(options, burn_ns))))
    }
}

fn process(options: Options, burn_ns: u64) -> impl Program + 'static {
    let (mut start_ns, mut burns) = (None, false);
    move |os: &mut Context<'_>| {
        let start_ns = *start_ns.get_or_insert(os.now_ns());
        burns = !burns;
        match burns {
            true if os.now_ns() - start_ns >= options.length_ns => Step::Exit,
            true => Step::Run(burn_ns),
            false => Step::Sleep(options.sleep_ns),
        }
    }
}

fn findings(end: &End<'_>) -> Findings {
    let mut printed = String::new();
    let mut cpu = Moments::default();
    for (task, stats) in units::named(end, "fiftyp") {
        let _ = writeln!(printed, "pid {}: {:.3} s of CPU time", task.0, stats.cpu_ns as f64 / 1e9);
        cpu.note(stats.cpu_ns);
    }
    let longest_s = |name| units::longest_wait_ns(end, name) as f64 / 1e9;
    let figures = vec![
        Figure::lower("spread of CPU time", "% of mean", units::spread_percent(&cpu)),
        Figure::plain("mean CPU time", "s", units::mean(&cpu) / 1e9),
        Figure::lower("longest wait", "s", longest_s("fiftyp")),
        Figure::plain("CPU time of all", "%", units::share_percent(end, "fiftyp")),
        Figure::higher("CPU time of the loops beside", "%", units::share_percent(end, units::HOG)),
        Figure::lower("longest wait of a loop beside", "s", longest_s(units::HOG)),
    ];
    Findings { printed, figures, ..Findings::default() }
}
