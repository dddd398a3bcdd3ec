//! The choice of a CPU for a task that wakes or starts.

use super::entity::Node;
use super::ranking::Ranking;
use super::{ProjectC, rules};
use schedlab_core::{CpuId, Platform, Rule};

impl<R: Ranking> ProjectC<R> {
    /// `select_task_rq`: the nearest CPU of those that idle, or else of those where `node` would
    /// preempt, or else of those that it may use. The task's last CPU has no precedence.
    pub(super) fn select_task_rq(&mut self, platform: &mut Platform, node: Node) -> CpuId {
        let (cpu, rule) = self.choose(platform, node);
        self.explain_choice(platform, node, cpu, rule);
        cpu
    }

    fn choose(&mut self, platform: &mut Platform, node: Node) -> (CpuId, Rule) {
        let task = &self.entities[node];
        let (from, allowed) = (task.cpu, &task.allowed);
        platform.work.queues += 1;
        if self.masks.all_are_pairs() {
            let idle = self.masks.sg_idle.words();
            if let Some(cpu) = self.levels.best(from, |word| idle[word] & allowed.word(word)) {
                return (cpu, rules::IDLE_CORE);
            }
        }
        let idle = self.masks.idle.words();
        if let Some(cpu) = self.levels.best(from, |word| idle[word] & allowed.word(word)) {
            return (cpu, rules::IDLE_CPU);
        }
        let level = self.level_on(node, from);
        let allowed = &self.entities[node].allowed;
        let worse = self.masks.preemptible(level).words();
        platform.work.queues += u64::from(platform.cpus());
        if let Some(cpu) = self.levels.best(from, |word| worse[word] & allowed.word(word)) {
            return (cpu, rules::PREEMPTIBLE);
        }
        let nearest = self.levels.best(from, |word| allowed.word(word));
        (nearest.unwrap_or(from), rules::NEAREST)
    }
}
