//! test-starve: a task that repeatedly sleeps for a second, and a partner that never sleeps (after
//! David Mosberger).
//!
//! The listing is lost. Early 2.5 could leave one of the two in the expired array indefinitely.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, SECOND_NS, US_NS};
use schedlab_workload::programs::{Context, Kernel, Spawn, Step};

/// The benchmark that this module describes.
pub struct TestStarve;

/// CPU time of a round of the sleeper's loop, ns.
const ROUND_NS: u64 = 2 * US_NS;

const PARAMETERS: &[Parameter] = &[units::seconds("60"), units::hogs("1")];

impl Benchmark for TestStarve {
    fn name(&self) -> &'static str {
        "test-starve"
    }

    fn about(&self) -> &'static str {
        "a task that calls sleep(1) in a loop beside one that never sleeps: how long each waits"
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
        let mut works = false;
        let sleeper = move |_: &mut Context<'_>| {
            works = !works;
            if works { Step::Run(ROUND_NS) } else { Step::Sleep(SECOND_NS) }
        };
        os.start(0, Spawn::new("sleeper", sleeper));
        units::start_hogs(os, values.whole("hogs"));
        let limit_ns = values.whole("seconds") * SECOND_NS;
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(findings) })
    }
}

fn findings(end: &End<'_>) -> Findings {
    let rounds: u64 = units::named(end, "sleeper").map(|(_, stats)| stats.voluntary).sum();
    let longest_s = |name| units::longest_wait_ns(end, name) as f64 / 1e9;
    let (sleeper_s, partner_s) = (longest_s("sleeper"), longest_s(units::HOG));
    let printed = format!(
        "the sleeper slept {rounds} times and waited up to {sleeper_s:.6} s for the CPU, its partner up to {partner_s:.6} s\n"
    );
    let figures = vec![
        Figure::lower("longest wait of the sleeper", "s", sleeper_s),
        Figure::lower("longest wait of its partner", "s", partner_s),
        Figure::higher("sleeps", "", rounds as f64),
        Figure::higher("CPU time of the partner", "%", units::share_percent(end, units::HOG)),
    ];
    Findings { printed, figures, ..Findings::default() }
}
