//! Fork and exit, yield, changes of nice value and policy.

use super::params::{CHILD_PENALTY, EXIT_WEIGHT, MAX_BONUS};
use super::prio::{realtime_prio, static_prio};
use super::releases::{Balancing, ExitRule};
use super::task::{Activated, Pid, State, Task};
use super::{O1, rules};
use crate::classes::load_balance_2_6_22::Walk;
use schedlab_core::{CpuId, CpuSet, Platform, Policy, Question, Rule, SchedAttr, TaskAttr, TaskId};

impl O1 {
    /// Starts a task without a parent: as if forked by a task of bonus 5 that is on no queue, but
    /// with a full slice.
    pub(super) fn fork_from_outside(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        attr: &TaskAttr,
    ) {
        let now = platform.now_ns();
        let mut child = Task {
            cpu: self.start_cpu(attr),
            sleep_avg: self.child_sleep_avg(MAX_BONUS / 2),
            timestamp: now,
            last_ran: now,
            state: State::Running,
            first_time_slice: true,
            ..Task::default()
        };
        self.set_policy(&mut child, &attr.sched);
        child.static_prio = static_prio(attr.sched.nice);
        self.derive_prio(&mut child);
        child.time_slice = self.params.task_timeslice(&child);
        let cpu = child.cpu;
        self.tasks.insert(task, child, attr.allowed.clone(), attr.address_space);
        self.enqueue_runnable(self.tasks.pid(task));
        platform.by_rule(Question::SelectCpu, cpu, rules::LEAST_RUNNING);
        // Whatever runs there.
        platform.by_rule(Question::Preempt, cpu, rules::NEW_TASK);
        platform.resched(cpu);
    }

    /// Returns the allowed CPU with the fewest runnable tasks, the lowest number among equals.
    fn start_cpu(&self, attr: &TaskAttr) -> CpuId {
        let running = self.loads.all_running();
        if attr.allowed == CpuSet::All {
            // Two plain passes are faster than one that examines everything.
            let fewest = running.iter().copied().min().unwrap_or(0);
            let first = running.iter().position(|&count| count == fewest);
            return CpuId(first.unwrap_or(0) as u32);
        }
        let allowed = attr.allowed.iter(self.cpus);
        allowed.min_by_key(|cpu| running[cpu.index()]).unwrap_or(CpuId(0))
    }

    /// `copy_process`, `sched_fork` and `wake_up_new_task`: the running task `parent` makes a copy
    /// of itself.
    ///
    /// The copy inherits everything. If the child is to have other attributes than its parent, it
    /// gets them immediately afterwards, as if by system calls of a program.
    pub(super) fn fork_by_parent(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        attr: &TaskAttr,
        parent: TaskId,
        cpu: CpuId,
    ) {
        let now = platform.now_ns();
        let is_thread = attr.address_space == self.tasks.address_space(parent);
        let parent = self.tasks.pid(parent);
        let (child_cpu, placed) = self.child_cpu(cpu, &attr.allowed);
        let time_slice = self.split_parents_slice(platform, parent, cpu);

        // Both lose the fraction of a step of bonus, the child a little more, so that forking does
        // not multiply bonus.
        let bonus = self.params.bonus(self.tasks[parent].sleep_avg);
        self.tasks[parent].sleep_avg = u64::from(bonus) * self.params.bonus_step_ns;
        let mut child = Task {
            cpu: child_cpu,
            time_slice,
            first_time_slice: true,
            interactive_credit: 0,
            sleep_avg: self.child_sleep_avg(bonus),
            timestamp: now,
            last_ran: now,
            ..self.tasks[parent].clone()
        };
        child.array = None;
        child.state = State::Running;
        child.prio = self.params.effective_prio(&child);
        self.tasks.insert(task, child, attr.allowed.clone(), attr.address_space);
        let child = self.tasks.pid(task);

        platform.by_rule(Question::SelectCpu, child_cpu, placed);
        let runs_on = is_thread && self.params.version.threads_run_on_after_fork;
        if child_cpu != cpu {
            if self.params.version.balancing == Balancing::ByWeight {
                self.shift_timestamp(child, cpu, child_cpu);
            }
            self.enqueue_runnable(child);
            self.check_preempt(platform, child);
        } else if runs_on {
            // No preemption: parent and child share their memory, so there is no gain if the child
            // runs first.
            platform.by_rule(Question::Preempt, cpu, rules::THREAD_WAITS);
            self.enqueue_runnable(child);
        } else {
            self.enqueue_before_parent(child, parent);
            platform.by_rule(Question::Preempt, cpu, rules::CHILD_FIRST);
            platform.resched(cpu);
        }
        self.set_attr_of(platform, child, &attr.sched);
    }

    /// Returns the CPU of a child whose parent runs on `cpu`, and the rule.
    fn child_cpu(&self, cpu: CpuId, allowed: &CpuSet) -> (CpuId, Rule) {
        if self.params.version.balancing == Balancing::ByWeight {
            let idlest = self.domains.idlest(cpu, Walk::Fork, allowed);
            if idlest != cpu {
                return (idlest, rules::IDLEST_NODE);
            }
        }
        if allowed.contains(cpu) {
            (cpu, rules::PARENTS_CPU)
        } else {
            // The child's affinity differs from its parent's.
            (allowed.first(self.cpus).unwrap_or(cpu), rules::AFFINITY_FORCED)
        }
    }

    /// Divides the rest of the parent's slice between parent and child. Returns the child's part.
    fn split_parents_slice(&mut self, platform: &mut Platform, parent: Pid, cpu: CpuId) -> u32 {
        let whole = self.tasks[parent].time_slice;
        self.tasks[parent].time_slice = whole / 2;
        if whole / 2 == 0 {
            // The parent gave away its last jiffy: it pays for it now, and expires. In 2.6.0 it
            // pays with a whole tick, in which the CPU may balance.
            self.tasks[parent].time_slice = 1;
            if self.params.version.last_jiffy_costs_a_tick {
                self.scheduler_tick(platform, cpu);
            } else {
                self.charge_tick(platform, cpu, parent);
            }
        }
        whole.div_ceil(2)
    }

    /// Queues the child before its parent, so that it runs first: it is likely to `exec`, and pages
    /// that the parent writes until then would have to be copied.
    fn enqueue_before_parent(&mut self, child: Pid, parent: Pid) {
        let Task { cpu, prio, array, .. } = self.tasks[parent];
        let Some(array) = array else {
            return self.enqueue_runnable(child);
        };
        self.tasks[child].prio = prio;
        self.rqs[cpu.index()].array_mut(array).enqueue_before(&mut self.tasks, child, parent);
        self.tasks[child].array = Some(array);
        self.count_in(child);
    }

    /// Returns the estimate of a child whose parent has `bonus`, ns: 95 percent of the bonus, in
    /// whole steps.
    fn child_sleep_avg(&self, bonus: u32) -> u64 {
        u64::from(bonus * CHILD_PENALTY / 100) * self.params.bonus_step_ns
    }

    /// `sched_exit`: a child that dies in its first slice returns the rest of it, and a child with
    /// a lower estimate lowers its parent's.
    pub(super) fn sched_exit(&mut self, child: Pid, parent: Pid) {
        let (child, parent_now) = (&self.tasks[child], &self.tasks[parent]);
        let (gives_back, most) = match self.params.version.exit {
            ExitRule::UpToMaxTimeslice => (true, self.params.max_timeslice),
            ExitRule::SameCpu => (child.cpu == parent_now.cpu, self.params.task_timeslice(child)),
        };
        let time_slice = if child.first_time_slice && gives_back {
            (parent_now.time_slice + child.time_slice).min(most)
        } else {
            parent_now.time_slice
        };
        let mut sleep_avg = parent_now.sleep_avg;
        if child.sleep_avg < sleep_avg {
            sleep_avg =
                sleep_avg / (EXIT_WEIGHT + 1) * EXIT_WEIGHT + child.sleep_avg / (EXIT_WEIGHT + 1);
        }
        let parent = &mut self.tasks[parent];
        parent.time_slice = time_slice;
        parent.sleep_avg = sleep_avg;
    }

    /// `sched_yield`: moves `p` behind all others, into the expired array. A real-time task moves
    /// behind the others of its priority.
    pub(super) fn sched_yield(&mut self, platform: &mut Platform, cpu: CpuId, p: Pid) {
        let rq = &self.rqs[cpu.index()];
        let array = match self.tasks[p].array {
            Some(array) if self.tasks[p].is_rt() => array,
            _ => rq.expired(),
        };
        platform.work.requeue();
        self.move_to(p, array);
        platform.resched(cpu);
    }

    /// Gives `p` the policy and the nice value of `attr`, where they differ from its own: by
    /// `setscheduler`, then `set_user_nice`, which are separate system calls.
    pub(super) fn set_attr_of(&mut self, platform: &mut Platform, p: Pid, attr: &SchedAttr) {
        let task = &self.tasks[p];
        if task.policy != attr.policy || u32::from(task.rt_priority) != attr.rt_priority {
            self.setscheduler(platform, p, attr);
        }
        if self.tasks[p].static_prio != static_prio(attr.nice) {
            self.set_user_nice(platform, p, attr.nice);
        }
    }

    /// Implements `sched_setscheduler`, even if `p` already has that policy and priority. `p`
    /// leaves its list and moves to the tail of the active array (`SCHED_BATCH`: of expired), with
    /// the slice it had.
    pub(super) fn setscheduler(&mut self, platform: &mut Platform, p: Pid, attr: &SchedAttr) {
        let was_queued = self.tasks[p].is_queued();
        if was_queued {
            self.deactivate_task(p);
        }
        let mut task = self.tasks[p].clone();
        let old_prio = task.prio;
        self.set_policy(&mut task, attr);
        if !attr.policy.is_realtime() {
            task.prio = task.static_prio;
            if !self.params.version.setscheduler_drops_bonus {
                task.prio = self.params.effective_prio(&task);
            }
            if self.params.version.batch && attr.policy == Policy::Batch {
                // (The priority keeps the old bonus until it is next computed.)
                task.sleep_avg = 0;
            }
        }
        task.load_weight = self.params.load_weight(&task);
        let new_prio = task.prio;
        self.tasks[p] = task;
        if was_queued {
            self.enqueue_runnable(p);
            if !self.is_current(p) {
                self.check_preempt(platform, p);
            } else if new_prio > old_prio {
                platform.resched(self.tasks[p].cpu);
            }
        }
    }

    fn set_user_nice(&mut self, platform: &mut Platform, p: Pid, nice: i32) {
        let queued_in = self.tasks[p].array;
        if self.tasks[p].is_rt() {
            // This takes effect only when it is no longer a real-time task.
            self.tasks[p].static_prio = static_prio(nice);
            return;
        }
        if queued_in.is_some() {
            self.deactivate_task(p);
        }
        let task = &mut self.tasks[p];
        let old_prio = task.prio;
        task.static_prio = static_prio(nice);
        task.prio = if self.params.version.nice_drops_bonus {
            task.static_prio
        } else {
            self.params.effective_prio(task)
        };
        task.load_weight = self.params.load_weight(task);
        let (cpu, new_prio) = (task.cpu, task.prio);
        if let Some(array) = queued_in {
            self.enqueue_task(p, array);
            self.count_in(p);
            if new_prio < old_prio || (new_prio > old_prio && self.is_current(p)) {
                platform.resched(cpu);
            }
        }
    }

    /// Sets the policy and real-time priority and, for a real-time task, the priority that follows
    /// from them.
    fn set_policy(&self, task: &mut Task, attr: &SchedAttr) {
        task.policy = attr.policy;
        task.rt_priority = attr.rt_priority.min(99) as u8;
        if attr.policy.is_realtime() {
            task.prio = realtime_prio(task.rt_priority);
        }
    }

    /// Derives the remaining values of a new task.
    fn derive_prio(&self, task: &mut Task) {
        if !task.policy.is_realtime() {
            task.prio = task.static_prio;
            task.prio = self.params.effective_prio(task);
        }
        task.load_weight = self.params.load_weight(task);
        task.activated = Activated::No;
    }
}
