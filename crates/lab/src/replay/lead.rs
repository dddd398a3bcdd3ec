//! The time before the trace: the machine had been running, and its state was not recorded.
//!
//! If all tasks arrived in the first nanosecond, they would be alike: one virtual time, one
//! deadline, load averages of new tasks, and CPUs that balance in step. On the recorded machine
//! they were not. So each run begins some time before the trace, with the tasks that existed then.
//! Tasks that were runnable when the trace began arrive one after another and compete; the others
//! sleep. The seed determines when they arrive and how long this lasts, and with it the state of
//! the machine when the trace begins.

use super::runner::Runner;
use super::{Begin, Prepared};
use crate::error::Error;
use crate::session::Shared;
use schedlab_machine::SplitMix64;
use schedlab_replay::program::EarlyTask;
use schedlab_replay::stats::StatsObserver;
use std::collections::HashMap;

/// Time within which the runnable tasks arrive, ns.
const COME_NS: u64 = 200_000_000;

/// Time for which they compete after all have arrived, ns: six half-lives of the load averages.
const COMPETE_NS: u64 = 200_000_000;

/// Maximum additional time, by the seed, ns.
const MORE_NS: u64 = 100_000_000;

/// Time and tasks that precede a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Lead {
    /// Length, ns: whole ticks, so that the trace's own ticks fall where they did.
    pub ns: u64,
    /// Tasks that compete for the CPUs during that time.
    pub early: Vec<EarlyTask>,
}

impl Lead {
    /// Creates the lead of a run of `column` with this seed. It is empty if no task was runnable
    /// when the trace began, and on a machine with another number of CPUs, which did not run
    /// before.
    ///
    /// # Errors
    /// A run broke down.
    pub fn new(prepared: &Prepared, column: &Runner, seed: u64) -> Result<Lead, Error> {
        let running = column.workload.running_before(&prepared.trace);
        let is_fresh = prepared.replay.begin == Begin::Fresh;
        if is_fresh || running.is_empty() || column.config.cpus != prepared.trace.cpus {
            return Ok(Lead::default());
        }
        // The seed itself varies the work.
        let mut random = SplitMix64::new(!seed);
        let hz = column.config.hz.unwrap_or(prepared.setup.hz);
        let tick_ns = 1_000_000_000 / u64::from(hz);
        let least_ns = COME_NS + COMPETE_NS;
        let ns = (least_ns + random.below(MORE_NS)).div_ceil(tick_ns) * tick_ns;
        let comes = |place| EarlyTask { place, from_ns: random.below(COME_NS), done_ns: 0 };
        let early: Vec<EarlyTask> = running.into_iter().map(comes).collect();
        let mut lead = Lead { ns, early };
        // The scheduler decides how much they compute until then, so the lead first runs alone.
        let experiment = column.led(&prepared.trace, lead.ns, &lead.early, true, |ns| ns)?;
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
