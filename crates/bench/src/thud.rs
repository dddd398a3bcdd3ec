//! thud: processes that sleep until they count as interactive, and then burn until they no longer
//! do.
//!
//! The listing is lost. This program follows descriptions from 2003: all processes sleep for 6 s
//! together, then each burns 3 s of CPU time, and so on. Under the O(1) scheduler a burst begins at
//! the best dynamic priority and goes back into the active array, so all others stand still until
//! the credit is used up.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, MS_NS, SECOND_NS};
use schedlab_workload::programs::{Context, Kernel, Program, Spawn, Step};
use std::fmt::Write;

/// The benchmark that this module describes.
pub struct Thud;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("processes", (1, 100_000), "3", "processes").positional(),
    Parameter::whole("sleep", (1, 1_000_000), "6000", "sleep before a burst, ms"),
    Parameter::whole("burn", (1, 1_000_000), "3000", "CPU time of a burst, ms"),
    units::seconds("60"),
    units::hogs("1"),
];

impl Benchmark for Thud {
    fn name(&self) -> &'static str {
        "thud"
    }

    fn about(&self) -> &'static str {
        "long sleeps and long bursts: how long a burst keeps others from the CPU"
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
        let (sleep_ns, burn_ns) = (values.whole("sleep") * MS_NS, values.whole("burn") * MS_NS);
        for _ in 0..values.whole("processes") {
            os.start(0, Spawn::new("thud", process(sleep_ns, burn_ns)));
        }
        units::start_hogs(os, values.whole("hogs"));
        let limit_ns = values.whole("seconds") * SECOND_NS;
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(findings) })
    }
}

fn process(sleep_ns: u64, burn_ns: u64) -> impl Program + 'static {
    let mut burns = true;
    move |_: &mut Context<'_>| {
        burns = !burns;
        if burns { Step::Run(burn_ns) } else { Step::Sleep(sleep_ns) }
    }
}

fn findings(end: &End<'_>) -> Findings {
    let mut printed = String::new();
    for name in ["thud", units::HOG] {
        for (task, stats) in units::named(end, name) {
            let (cpu_s, wait_s) = (stats.cpu_ns as f64 / 1e9, stats.wait_max_ns as f64 / 1e9);
            let _ = writeln!(
                printed,
                "{name} {}: {cpu_s:.3} s of CPU time, longest wait {wait_s:.3} s",
                task.0
            );
        }
    }
    let longest_s = |name| units::longest_wait_ns(end, name) as f64 / 1e9;
    let figures = vec![
        Figure::lower("longest wait of a loop beside", "s", longest_s(units::HOG)),
        Figure::higher("CPU time of the loops beside", "%", units::share_percent(end, units::HOG)),
        Figure::plain("CPU time of thud", "%", units::share_percent(end, "thud")),
        Figure::lower("longest wait of thud", "s", longest_s("thud")),
    ];
    Findings { printed, figures, ..Findings::default() }
}
