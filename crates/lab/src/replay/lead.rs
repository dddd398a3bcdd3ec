//! What was before the trace: the machine had been running, and nobody noted how it stood.
//!
//! Tasks that all came to their queues in the first nanosecond would be alike: one virtual time,
//! one deadline, load averages of new tasks, CPUs that balance in step. On the recorded machine they
//! were not. So each run begins some time before the trace does, with the tasks that were there:
//! those that wanted a CPU compete for it, and the others sleep. How long that lasts is drawn by the
//! seed, as it decides how the machine stands when the trace begins.

use super::Prepared;
use super::columns::Runner;
use crate::error::Error;
use crate::run::Plain;
use schedlab_core::{Event, Observer};
use schedlab_machine::SplitMix64;
use schedlab_replay::program::Early;
use schedlab_replay::seen::Watcher;
use std::collections::HashMap;

/// The least time before the trace, ns.
const LEAST_NS: u64 = 200_000_000;

/// So much more at most, ns, by the seed.
const MORE_NS: u64 = 100_000_000;

/// What goes before a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Lead {
    /// For how long, ns: whole ticks, so that the trace's own come when they did.
    pub ns: u64,
    /// Who competes for the CPUs meanwhile.
    pub early: Vec<Early>,
}

impl Lead {
    /// That of a run of `column` with this seed: nothing if no task wanted a CPU when the trace
    /// began.
    ///
    /// # Errors
    /// A run that broke down.
    pub fn new(prepared: &Prepared, column: &Runner, seed: u64) -> Result<Lead, Error> {
        let trace = &prepared.trace;
        let running = column.workload.running_before(trace);
        if running.is_empty() || std::env::var("NOLEAD").is_ok() {
            return Ok(Lead::default());
        }
        let env = |n: &str, d: u64| std::env::var(n).map_or(d, |s| s.parse::<u64>().unwrap() * 1_000_000);
        let tick_ns = 1_000_000_000 / u64::from(prepared.setup.hz);
        let mut random = SplitMix64::new(!seed);
        let more_ns = random.below(env("MORE", MORE_NS).max(1));
        let ns = (env("LEAST", LEAST_NS) + more_ns).div_ceil(tick_ns) * tick_ns;
        // One comes after another, so that the CPUs do not balance in step.
        let spread = env("SPREAD", 200_000_000).max(1);
        let starts = |place| Early { place, from_ns: random.below(spread), done_ns: 0 };
        let early: Vec<Early> = running.into_iter().map(starts).collect();
        let mut lead = Lead { ns, early };
        let experiment = column.led(prepared, &lead, true, |ns| ns)?;
        let keys = lead.early.iter().map(|one| column.workload.tasks[one.place].key.as_str());
        let numbers: HashMap<&str, usize> = keys.enumerate().map(|(at, key)| (key, at)).collect();
        let look = |machine: &mut Plain<Watcher>| {
            let end_ns = machine.now_ns();
            let threads = machine.workload().threads();
            let done = threads.filter_map(|thread| {
                let &number = numbers.get(thread.key)?;
                Some((number, machine.observer().cpu_ns(thread.task, end_ns)))
            });
            done.collect()
        };
        let (done_ns, _): (Vec<(usize, u64)>, _) = experiment.stop_between(
            &experiment.config,
            &column.choice,
            ns,
            Watcher::default(),
            (&[], |_| {}),
            look,
        )?;
        for (number, done_ns) in done_ns {
            lead.early[number].done_ns = done_ns;
        }
        Ok(lead)
    }
}

/// Tells another observer what happens since so long after the run began, as if it began then: who
/// came before comes in the first nanosecond.
#[derive(Clone, Debug)]
pub(super) struct Since<O> {
    pub lead_ns: u64,
    pub observer: O,
}

impl<O: Observer> Observer for Since<O> {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        self.observer.on(now_ns.saturating_sub(self.lead_ns), event);
    }
}
