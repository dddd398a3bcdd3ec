//! The hooks of the fair class of 2.6.23.

use super::{Entity, WaitRuntime};
use crate::cfs::load_weight::LoadWeight;
use crate::cfs::rules;
use crate::classes::rt::RealTime;
use crate::classes::{
    Challenge, Class, ClassId, Dequeue, Enqueue, FairClass, Pid, Rqs, Select, core_2_6,
};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::Load as Workload;
use schedlab_core::{
    Candidate, CpuId, Parent, Platform, Policy, Promises, Question, RuleDoc, SchedAttr, TaskAttr,
    Tunable, TunableError,
};

impl Class for WaitRuntime {
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        _: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        self.enqueue_entity(rqs, cpu, pid, why == Enqueue::Wakeup);
        rqs.add_nr_running(cpu, 1);
    }

    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        _: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Dequeue,
    ) -> bool {
        self.dequeue_entity(rqs, cpu, pid, why == Dequeue::Sleep);
        rqs.sub_nr_running(cpu, 1);
        true
    }

    fn yield_task(&mut self, rqs: &mut Rqs, _: &mut Platform, cpu: CpuId, pid: Pid) {
        if !self.tunables.compat_yield {
            self.dequeue_entity(rqs, cpu, pid, false);
            self.enqueue_entity(rqs, cpu, pid, false);
            return;
        }
        let Some(rightmost) = self.timeline.rightmost().filter(|last| last.pid() != pid) else {
            return;
        };
        self.update_curr(rqs, cpu);
        let key = self.nodes.key(rightmost).wrapping_add(1);
        self.timeline_remove(pid);
        self.timeline_insert(pid, key);
    }

    fn check_preempt_curr(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        _: Challenge,
    ) {
        let thread = rqs.thread(pid);
        if thread.class == ClassId::Rt {
            platform.by_rule(Question::Preempt, cpu, rules::CLASS_ABOVE);
            self.update_curr(rqs, cpu);
            rqs.resched_curr(platform, cpu);
            return;
        }
        let gran = if thread.policy == Policy::Batch {
            self.tunables.batch_wakeup_granularity_ns
        } else {
            self.tunables.wakeup_granularity_ns
        };
        let rule = match self.curr {
            Some(curr) if curr == pid => rules::RUNS_ALREADY,
            Some(curr) if self.is_preempted_by(curr, pid, gran) => {
                rqs.resched_curr(platform, cpu);
                rules::BEYOND_GRANULARITY_KEY
            }
            _ => rules::WITHIN_GRANULARITY_KEY,
        };
        platform.because(Question::Preempt, cpu, rule, |out| self.account_of_check(pid, gran, out));
    }

    fn pick_next_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        let pid = self.timeline.leftmost()?.pid();
        let rule = if self.nr_running == 1 {
            rules::ONLY
        } else if pid == rqs.curr(cpu) {
            rules::CURRENT_LEAST_FAIR_KEY
        } else {
            rules::LEAST_FAIR_KEY
        };
        platform.because(Question::Pick, cpu, rule, |out| self.account_of_pick(rqs, out));
        self.set_curr_task(rqs, platform, cpu, pid);
        Some(pid)
    }

    fn put_prev_task(&mut self, rqs: &mut Rqs, _: &mut Platform, cpu: CpuId, pid: Pid) {
        if self.entities[pid.index()].on_rq {
            self.update_curr(rqs, cpu);
            let now = self.fair_clock;
            self.entity(pid).wait_start_fair = now;
        }
        self.curr = None;
    }

    fn set_curr_task(&mut self, rqs: &mut Rqs, _: &mut Platform, cpu: CpuId, pid: Pid) {
        self.wait_end(pid);
        let clock = rqs.clock(cpu);
        let entity = self.entity(pid);
        entity.exec_start = clock;
        entity.prev_sum_exec = entity.sum_exec;
        self.curr = Some(pid);
    }

    fn select_task_rq(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        _: Select,
    ) -> CpuId {
        let cpu = rqs.cpu_of(pid);
        platform.by_rule(Question::SelectCpu, cpu, rules::ONE_CPU);
        cpu
    }

    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.dequeue_entity(rqs, cpu, pid, false);
        self.enqueue_entity(rqs, cpu, pid, false);
        let first = self.timeline.leftmost().map_or(pid, |first| first.pid());
        let gran = self.granularity();
        if first != pid && self.is_preempted_by(pid, first, gran) {
            let rule = rules::BEYOND_GRANULARITY_KEY;
            platform.because(Question::Preempt, cpu, rule, |out| {
                self.account_of_check(first, gran, out);
            });
            rqs.resched_curr(platform, cpu);
        }
    }

    /// With `sched_child_runs_first` a child that shares nothing with its parent is placed just
    /// ahead of the running task, and then owes half a granularity.
    fn task_new(&mut self, rqs: &mut Rqs, _: &mut Platform, cpu: CpuId, pid: Pid, parent: Parent) {
        let curr = match parent {
            Parent::External => None,
            Parent::Task { task, cpu: parent_cpu } => {
                let parent = rqs.pid(task);
                let shares = self.entities[parent.index()].address_space
                    == self.entities[pid.index()].address_space;
                self.curr.filter(|_| self.tunables.child_runs_first && parent_cpu == cpu && !shares)
            }
        };
        rqs.add_nr_running(cpu, 1);
        let Some(curr) = curr else {
            self.enqueue_entity(rqs, cpu, pid, false);
            return;
        };
        self.update_curr(rqs, cpu);
        let now = self.fair_clock;
        self.entity(pid).wait_start_fair = now;
        let gran = self.granularity();
        let key = self.entities[curr.index()]
            .fair_key
            .wrapping_sub(self.niced(curr, gran))
            .wrapping_sub(1);
        if self.tunables.start_debit {
            self.entity(pid).wait_runtime = -((gran / 2) as i64);
        }
        self.timeline_insert(pid, key);
    }

    fn switched_to(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.prio_changed(rqs, platform, cpu, pid, i16::MIN);
    }

    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        old_prio: i16,
    ) {
        let curr = rqs.curr(cpu);
        if curr == pid {
            if rqs.thread(pid).prio > old_prio {
                platform.by_rule(Question::Preempt, cpu, rules::PRIORITY_LOWERED);
                rqs.resched_curr(platform, cpu);
            }
            return;
        }
        match rqs.thread(curr).class {
            ClassId::Fair => self.check_preempt_curr(rqs, platform, cpu, pid, Challenge::Other),
            ClassId::Idle => {
                platform.by_rule(Question::Preempt, cpu, core_2_6::IDLE_GIVES_WAY);
                rqs.resched_curr(platform, cpu);
            }
            ClassId::Rt | ClassId::Deadline => {}
        }
    }
}

impl FairClass for WaitRuntime {
    fn thread_born(&mut self, rqs: &Rqs, pid: Pid, attr: &TaskAttr, _parent: Parent) {
        if self.entities.len() <= pid.index() {
            self.entities.resize(rqs.threads.len(), Entity::default());
            self.nodes.make_room(rqs.threads.len());
        }
        self.entities[pid.index()] = Entity {
            load: LoadWeight::of_task(&attr.sched, true),
            address_space: attr.address_space,
            ..Entity::default()
        };
    }

    /// Clears the debt to a task whose weight changes.
    fn attr_changed(&mut self, rqs: &Rqs, pid: Pid, _old: &SchedAttr) {
        let entity = &mut self.entities[pid.index()];
        entity.load = LoadWeight::of_task(&rqs.settings[pid.index()].attr, true);
        entity.wait_runtime = 0;
    }

    fn task_moved(&mut self, _: &Rqs, _: Pid, _: CpuId) {
        unreachable!("this release is for one CPU")
    }

    fn update_cpu_load(&mut self, _: &Rqs, _: CpuId) {}

    fn trigger_load_balance(&mut self, _: &mut Rqs, _: &mut RealTime, _: &mut Platform, _: CpuId) {}

    fn idle_balance(&mut self, _: &mut Rqs, _: &mut RealTime, _: &mut Platform, _: CpuId) {}

    fn active_load_balance(&mut self, _: &mut Rqs, _: &mut RealTime, _: &mut Platform, _: CpuId) {}

    fn tunables(&self, _: &Rqs) -> Vec<Tunable> {
        self.tunables.list()
    }

    fn set_tunable(&mut self, _: &mut Rqs, name: &str, value: i64) -> Result<(), TunableError> {
        self.tunables.write(name, value);
        Ok(())
    }

    fn promises(&self, _: &Rqs, _load: &Workload) -> Promises {
        Promises::default()
    }

    fn rules(&self) -> &'static [RuleDoc] {
        rules::RULES
    }

    fn candidates(&self, rqs: &Rqs, _: CpuId, out: &mut Vec<Candidate>) {
        self.candidates_fair(rqs, out);
    }

    fn audit(&self, _: &Rqs) -> Result<(), String> {
        let queued = self.nodes.audit(&self.timeline)?;
        let load: u64 = self
            .entities
            .iter()
            .filter(|entity| entity.on_rq)
            .map(|entity| entity.load.weight)
            .sum();
        if queued as u64 != self.nr_running || load != self.load {
            return Err(alloc::format!(
                "counted {} entities of weight {}, found {queued} of {load}",
                self.nr_running,
                self.load
            ));
        }
        let limit = self.tunables.runtime_limit_ns as i64;
        if let Some(entity) = self.entities.iter().find(|entity| entity.wait_runtime.abs() > limit)
        {
            return Err(alloc::format!("wait_runtime {} is beyond the limit", entity.wait_runtime));
        }
        Ok(())
    }
}
