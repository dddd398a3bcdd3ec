//! What was before the trace: the machine had been running, and nobody noted how it stood.
//!
//! Tasks that all came to their queues in the first nanosecond would be alike: one virtual time,
//! one deadline, load averages of new tasks, and CPUs that balance in step. On the recorded machine
//! they were not. So each run begins some time before the trace does, with the tasks that were
//! there: those that wanted a CPU when the trace began come one after another and compete, and the
//! others sleep. When they come and how long that lasts is drawn by the seed, and so is how the
//! machine stands when the trace begins.

use super::columns::Runner;
use super::{Begin, Prepared};
use crate::error::Error;
use crate::session::Shared;
use schedlab_machine::SplitMix64;
use schedlab_replay::program::EarlyTask;
use schedlab_replay::stats::StatsObserver;
use std::collections::HashMap;

/// Within so long those come that want a CPU, ns.
const COME_NS: u64 = 200_000_000;

/// So long they compete when all have come, ns: six half-lives of the load averages.
const COMPETE_NS: u64 = 200_000_000;

/// So much more at most, ns, by the seed.
const MORE_NS: u64 = 100_000_000;

/// What goes before a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Lead {
    /// For how long, ns: whole ticks, so that the trace's own come when they did.
    pub ns: u64,
    /// Who competes for the CPUs meanwhile.
    pub early: Vec<EarlyTask>,
}

impl Lead {
    /// That of a run of `column` with this seed: nothing if no task wanted a CPU when the trace
    /// began, or on a machine of other CPUs, which was not there before.
    ///
    /// # Errors
    /// A run that broke down.
    pub fn new(prepared: &Prepared, column: &Runner, seed: u64) -> Result<Lead, Error> {
        let running = column.workload.running_before(&prepared.trace);
        let is_fresh = prepared.replay.begin == Begin::Fresh;
        if is_fresh || running.is_empty() || column.config.cpus != prepared.trace.cpus {
            return Ok(Lead::default());
        }
        // What varies the work draws from the seed itself.
        let mut random = SplitMix64::new(!seed);
        let hz = column.config.hz.unwrap_or(prepared.setup.hz);
        let tick_ns = 1_000_000_000 / u64::from(hz);
        let least_ns = COME_NS + COMPETE_NS;
        let ns = (least_ns + random.below(MORE_NS)).div_ceil(tick_ns) * tick_ns;
        let comes = |place| EarlyTask { place, from_ns: random.below(COME_NS), done_ns: 0 };
        let early: Vec<EarlyTask> = running.into_iter().map(comes).collect();
        let mut lead = Lead { ns, early };
        // What they compute until then the scheduler decides: they are run alone first.
        let experiment = column.led(&prepared.trace, &lead, true, |ns| ns)?;
        let keys = lead.early.iter().map(|one| column.workload.tasks[one.place].key.as_str());
        let numbers: HashMap<&str, usize> = keys.enumerate().map(|(at, key)| (key, at)).collect();
        let watcher = Shared::new(StatsObserver::default());
        let mut session = experiment.unmeasured_session(&experiment.config, &column.choice, 0)?;
        session.observe(watcher.clone());
        session.exhaust(ns)?;
        let end_ns = session.now_ns();
        let done = session.kernel().threads().filter_map(|thread| {
            let &number = numbers.get(thread.key)?;
            Some((number, watcher.borrow().cpu_ns(thread.task, end_ns)))
        });
        let done: Vec<(usize, u64)> = done.collect();
        for (number, done_ns) in done {
            lead.early[number].done_ns = done_ns;
        }
        Ok(lead)
    }
}
