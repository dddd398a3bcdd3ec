//! chew: an endless loop that reads the clock. The loop measures how long it is kept from the CPU,
//! and how long it runs in between.
//!
//! A gap of more than 1 ms between two readings counts as a period off the CPU.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, MS_NS, SECOND_NS, US_NS};
use schedlab_core::{SchedAttr, TaskId};
use schedlab_measure::Histogram;
use schedlab_workload::programs::{Context, Kernel, Program, Spawn, Step};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct Chew;

/// Time between two readings of the clock, ns: the precision with which running times are known.
const PIECE_NS: u64 = 50 * US_NS;
/// Gap from which on a period counts as off the CPU, ns.
const GAP_NS: u64 = MS_NS;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("processes", (1, 10_000), "2", "number of processes").positional(),
    Parameter::whole("nice", (0, 19), "0", "nice value (it is started with nice(1))"),
    units::seconds("10"),
    units::hogs("0"),
];

/// Period off the CPU.
struct Gap {
    task: TaskId,
    out_ns: u64,
    ran_ns: u64,
}

impl Benchmark for Chew {
    fn name(&self) -> &'static str {
        "chew"
    }

    fn about(&self) -> &'static str {
        "loops that read the clock: how long they are off the CPU, and how long they run in between"
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
        let gaps = Rc::new(RefCell::new(vec![]));
        let nice = values.whole("nice") as i32;
        for _ in 0..values.whole("processes") {
            os.start(0, Spawn::new("chew", process(gaps.clone())).attr(SchedAttr::nice(nice)));
        }
        units::start_hogs(os, values.whole("hogs"));
        let limit_ns = values.whole("seconds") * SECOND_NS;
        let finish = move |end: &End<'_>| findings(nice, &gaps.borrow(), end);
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(finish) })
    }
}

fn process(gaps: Rc<RefCell<Vec<Gap>>>) -> impl Program + 'static {
    // Time of the last reading, and beginning of the present period on the CPU.
    let (mut last_ns, mut since_ns) = (None, 0);
    move |os: &mut Context<'_>| {
        let now_ns = os.now_ns();
        match last_ns {
            None => since_ns = now_ns,
            Some(last_ns) if now_ns - last_ns > GAP_NS => {
                // The piece of work between the two readings was also done.
                let out_ns = now_ns - last_ns - PIECE_NS;
                gaps.borrow_mut().push(Gap {
                    task: os.task(),
                    out_ns,
                    ran_ns: now_ns - since_ns - out_ns,
                });
                since_ns = now_ns;
            }
            Some(_) => {}
        }
        last_ns = Some(now_ns);
        Step::Run(PIECE_NS)
    }
}

fn findings(nice: i32, gaps: &[Gap], end: &End<'_>) -> Findings {
    let mut printed = String::new();
    let (mut out, mut ran) = (Histogram::new(), Histogram::new());
    for gap in gaps {
        let load = 100 * gap.ran_ns / (gap.ran_ns + gap.out_ns).max(1);
        let _ = writeln!(
            printed,
            "pid {}, prio {nice:3}, out for {:4} ms, ran for {:4} ms, load {load:3}%",
            gap.task.0,
            gap.out_ns / MS_NS,
            gap.ran_ns / MS_NS,
        );
        out.note(gap.out_ns);
        ran.note(gap.ran_ns);
    }
    let ms = |ns: f64| ns / 1e6;
    let percentile = |of: &Histogram, percent| ms(of.percentile(percent, 100).unwrap_or(0) as f64);
    let figures = vec![
        Figure::lower("longest time off the CPU", "ms", ms(out.moments().max as f64)),
        Figure::lower("median time off the CPU", "ms", percentile(&out, 50)),
        Figure::lower("99th percentile of times off the CPU", "ms", percentile(&out, 99)),
        Figure::lower("mean time off the CPU", "ms", ms(units::mean(out.moments()))),
        Figure::plain("mean time on the CPU", "ms", ms(units::mean(ran.moments()))),
        Figure::plain("times off the CPU", "", gaps.len() as f64),
        // A task that never came back has no gap to show.
        Figure::lower("longest wait", "ms", ms(units::longest_wait_ns(end, "chew") as f64)),
    ];
    Findings { printed, figures, ..Findings::default() }
}
