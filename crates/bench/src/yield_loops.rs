//! yield: the switches per second of tasks that call `sched_yield` in a loop, as in the
//! announcement of the O(1) scheduler (2002).

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, SECOND_NS};
use schedlab_measure::Moments;
use schedlab_workload::programs::{Context, Kernel, Spawn, Step};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct YieldLoops;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("tasks", (1, 100_000), "4", "tasks").positional(),
    units::seconds("1"),
    units::hogs("0"),
];

impl Benchmark for YieldLoops {
    fn name(&self) -> &'static str {
        "yield"
    }

    fn about(&self) -> &'static str {
        "tasks that yield in a loop: switches per second"
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
        let yields = Rc::new(RefCell::new(vec![0u64; tasks]));
        for number in 0..tasks {
            let yields = yields.clone();
            let program = move |_: &mut Context<'_>| {
                yields.borrow_mut()[number] += 1;
                Step::Yield
            };
            os.start(0, Spawn::new("yield", program));
        }
        units::start_hogs(os, values.whole("hogs"));
        let limit_ns = values.whole("seconds") * SECOND_NS;
        let finish = move |end: &End<'_>| findings(&yields.borrow(), end);
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(finish) })
    }
}

fn findings(yields: &[u64], end: &End<'_>) -> Findings {
    let seconds = end.now_ns as f64 / 1e9;
    let switches: u64 = end.stats.cpus().iter().map(|cpu| cpu.switches).sum();
    let each: Moments = yields.iter().copied().collect();
    let mut printed = String::new();
    for (number, count) in yields.iter().enumerate() {
        let _ = writeln!(printed, "task {number}: {:.0} yields/sec", *count as f64 / seconds);
    }
    let _ = writeln!(printed, "{:.0} context switches/sec", switches as f64 / seconds);
    let figures = vec![
        Figure::higher("switches a second", "1/s", switches as f64 / seconds),
        Figure::higher("yields a second", "1/s", each.sum as f64 / seconds),
        Figure::lower("spread of yields", "% of mean", units::spread_percent(&each)),
        Figure::higher("CPU time of the loops beside", "%", units::share_percent(end, units::HOG)),
    ];
    Findings { printed, figures, ..Findings::default() }
}
