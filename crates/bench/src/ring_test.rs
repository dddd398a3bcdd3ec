//! ring-test: processes in a ring, connected by pipes, pass a token as fast as possible.
//!
//! It shows the cost of wakeups. All processes appear interactive, because each sleeps nearly all
//! the time.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, SECOND_NS};
use schedlab_workload::programs::{ChannelId, Context, Kernel, Program, Spawn, Step};
use std::cell::Cell;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct RingTest;

/// Size of the token, bytes.
const TOKEN_BYTES: u32 = 4;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("tasks", (1, 100_000), "10", "processes in the ring").positional(),
    units::seconds("5"),
    units::hogs("0"),
];

impl Benchmark for RingTest {
    fn name(&self) -> &'static str {
        "ring-test"
    }

    fn about(&self) -> &'static str {
        "a token in a ring of processes: hops per second"
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
        let tasks = values.whole("tasks") as usize;
        let pipes: Vec<ChannelId> = (0..tasks).map(|_| os.objects().pipe()).collect();
        let hops = Rc::new(Cell::new(0));
        for number in 0..tasks {
            let (from, to) = (pipes[number], pipes[(number + 1) % tasks]);
            os.start(0, Spawn::new("ring", process(number == 0, from, to, hops.clone())));
        }
        units::start_hogs(os, values.whole("hogs"));
        let limit_ns = values.whole("seconds") * SECOND_NS;
        let finish = move |end: &End<'_>| findings(tasks, hops.get(), end);
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(finish) })
    }
}

/// Passes the token on. The first process starts with it.
fn process(
    first: bool,
    from: ChannelId,
    to: ChannelId,
    hops: Rc<Cell<u64>>,
) -> impl Program + 'static {
    let mut has_it = first;
    move |_: &mut Context<'_>| {
        has_it = !has_it;
        if has_it {
            return Step::Read(from, TOKEN_BYTES);
        }
        hops.set(hops.get() + 1);
        Step::Write(to, TOKEN_BYTES)
    }
}

fn findings(tasks: usize, hops: u64, end: &End<'_>) -> Findings {
    let seconds = end.now_ns as f64 / 1e9;
    let a_second = hops as f64 / seconds;
    let hop_us = if hops == 0 { 0.0 } else { end.now_ns as f64 / 1e3 / hops as f64 };
    let printed = format!("{tasks} tasks: {hops} hops in {seconds:.3} s, {hop_us:.3} us each\n");
    let figures = vec![
        Figure::higher("hops a second", "1/s", a_second),
        Figure::lower("time of a hop", "us", hop_us),
        Figure::higher("CPU time of the loops beside", "%", units::share_percent(end, units::HOG)),
        Figure::lower(
            "longest wait in the ring",
            "us",
            units::longest_wait_ns(end, "ring") as f64 / 1e3,
        ),
    ];
    Findings { printed, figures, ..Findings::default() }
}
