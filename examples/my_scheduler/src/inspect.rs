//! Information about the scheduler: its rules, its candidates and its promises.

use crate::my_scheduler::{MyScheduler, QUANTUM_NS};
use crate::rules::RULES;
use schedlab::scheduler::{Candidate, CpuId, Inspect, Load, Promises, RuleDoc};

impl Inspect for MyScheduler {
    fn rules(&self) -> Vec<&'static RuleDoc> {
        RULES.iter().collect()
    }

    /// The queue from its front, then the current task.
    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let order = self.queue.iter().copied().chain(self.can_go_on(cpu)).zip(0..);
        out.extend(order.map(|(task, place)| Candidate::task(task, [place, 0, 0, 0])));
    }

    fn promises(&self, load: &Load) -> Promises {
        Promises {
            idle_beside_waiting_ns: Some(0),
            wait_ns: Some(u64::from(load.tasks) * 2 * QUANTUM_NS),
            hog_spread_ns: Some(4 * QUANTUM_NS),
            ..Promises::default()
        }
    }
}
