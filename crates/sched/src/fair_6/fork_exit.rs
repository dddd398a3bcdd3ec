//! New threads, dead threads, and tasks that change their group.

use super::class::{Fair, FairTask};
use super::flags::Attach;
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, GroupId};

impl<R: PickRule> Fair<R> {
    /// Registers a new thread, of any class.
    pub(super) fn task_born(&mut self, pid: Pid, group: GroupId, cpu: CpuId) {
        if self.tasks.len() <= pid.index() {
            self.tasks.resize(pid.index() + 1, FairTask::default());
            self.entity_of.resize(pid.index() + 1, None);
        }
        let e = self.new_task_entity(pid, group, cpu);
        self.info[e].recent_used_cpu = cpu;
        // Its utilisation has not been estimated yet.
        self.info[e].avg_renewed = true;
        self.entity_of[pid.index()] = Some(e);
        self.tasks[pid.index()] = FairTask { group, ..FairTask::default() };
    }

    /// `task_dead_fair`: a dead task has left its CPU; its averages leave its queue.
    pub(super) fn dead_task_left(&mut self, rqs: &Rqs, task: Pid) {
        if rqs.task(task).is_some() && self.tasks[task.index()].dead {
            self.remove_load_avg(self.se_of(task));
        }
    }

    /// Releases a dead task. Of it only the place on the queue is kept, while its dequeue is
    /// delayed.
    pub(super) fn release(&mut self, task: Pid) {
        let Some(row) = self.tasks.get_mut(task.index()) else {
            // The thread ended before it was born.
            return;
        };
        row.reaped = true;
        if let Some(e) = self.entity_of[task.index()]
            && !self.se[e].on_rq
        {
            self.entity_of[task.index()] = None;
            self.free.push(e);
        }
    }

    /// `sched_move_task`, middle part: `task`, which is off its queue, now belongs to `group`.
    pub(super) fn change_group(&mut self, rqs: &Rqs, now_ns: u64, task: Pid, group: GroupId) {
        let e = self.se_of(task);
        let attached =
            self.info[e].avg.last_update_time != 0 || self.version.attaches_outside_queueing();
        if self.tracks_load() && attached {
            self.update_load_avg(now_ns, e, Attach::Detach);
            self.propagate_upward(now_ns, e);
        }
        self.info[e].avg.last_update_time = 0;
        self.set_task_rq(task, group, rqs.cpu_of(task));
        self.update_load_avg(now_ns, e, Attach::Attach);
        self.propagate_upward(now_ns, e);
    }
}
