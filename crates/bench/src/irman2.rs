//! irman2: a ring in which one process always runs, and each appears to sleep (Davide Libenzi,
//! 2003).
//!
//! A token circulates among 40 processes. The process that gets the token burns until 300 ms of the
//! wall clock have passed, and then passes the token on. So each process sleeps for 11.7 s and runs
//! for 0.3 s, one process at any time. A concurrent loop competes for the CPU. Under the O(1)
//! scheduler the running process is always at the best priority, and the loop starves. Since the
//! burn is measured by the clock, sharing the CPU does not make a turn longer.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, MS_NS, SECOND_NS};
use schedlab_workload::programs::{ChannelId, Context, Kernel, Program, Spawn, Step};

/// The benchmark that this module describes.
pub struct Irman2;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("processes", (1, 100_000), "40", "processes in the ring").short('n'),
    Parameter::whole("active", (0, 100_000), "1", "tokens in circulation").short('a'),
    Parameter::whole(
        "burn",
        (1, 1_000_000),
        "300",
        "time that the owner of a token burns, ms of the clock",
    )
    .short('b'),
    units::seconds("120"),
    units::hogs("1"),
];

#[derive(Clone, Copy)]
struct Options {
    processes: usize,
    active: usize,
    burn_ns: u64,
    hogs: u64,
}

impl Benchmark for Irman2 {
    fn name(&self) -> &'static str {
        "irman2"
    }

    fn about(&self) -> &'static str {
        "a ring of long sleepers of which one always runs: what is left for a concurrent loop"
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
            processes: values.whole("processes") as usize,
            active: values.whole("active") as usize,
            burn_ns: values.whole("burn") * MS_NS,
            hogs: values.whole("hogs"),
        };
        if options.active > options.processes {
            return Err(BadValue::new("active", "there are more tokens than processes"));
        }
        os.start(0, Spawn::new("parent", parent(options)));
        let limit_ns = values.whole("seconds") * SECOND_NS;
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(findings) })
    }
}

/// Starts the loop and the ring, and puts the tokens into the pipes.
fn parent(options: Options) -> impl Program + 'static {
    let mut pipes: Vec<ChannelId> = vec![];
    let (mut hogs, mut made, mut tokens) = (0, 0, 0);
    move |os: &mut Context<'_>| {
        if pipes.is_empty() {
            pipes = (0..options.processes).map(|_| os.objects().pipe()).collect();
        }
        if hogs < options.hogs {
            hogs += 1;
            // A loop computes piece after piece without a pause.
            return Step::Fork(Box::new(Spawn::new(units::HOG, units::hog())));
        }
        if made < options.processes {
            let to = (made + options.active.max(1)) % options.processes;
            let process = process(options, pipes[made], pipes[to]);
            made += 1;
            return Step::Fork(Box::new(Spawn::new("irman2", process)));
        }
        if tokens < options.active {
            tokens += 1;
            return Step::Write(pipes[tokens - 1], 1);
        }
        Step::Exit
    }
}

fn process(options: Options, from: ChannelId, to: ChannelId) -> impl Program + 'static {
    let mut step = 0;
    move |os: &mut Context<'_>| {
        step = step % 3 + 1;
        match step {
            1 => Step::Read(from, 1),
            2 => Step::RunUntil(os.now_ns() + options.burn_ns),
            _ => Step::Write(to, 1),
        }
    }
}

fn findings(end: &End<'_>) -> Findings {
    let hog_percent = units::share_percent(end, units::HOG);
    let ring_percent = units::share_percent(end, "irman2");
    let longest_s = units::longest_wait_ns(end, units::HOG) as f64 / 1e9;
    let turns: u64 = units::named(end, "irman2").map(|(_, stats)| stats.wakeups).sum();
    let printed = format!(
        "the loop got {hog_percent:.2} % of the CPU time and waited up to {longest_s:.3} s; the ring got {ring_percent:.2} %\n"
    );
    let figures = vec![
        Figure::higher("CPU time of the loop", "%", hog_percent),
        Figure::lower("longest wait of the loop", "s", longest_s),
        Figure::plain("CPU time of the ring", "%", ring_percent),
        Figure::plain("wakeups in the ring", "", turns as f64),
    ];
    Findings { printed, figures, ..Findings::default() }
}
