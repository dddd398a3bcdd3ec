//! Changes of a task's attributes, affinity and group.

use crate::act::Act;
use crate::kernel_types::{DEQ_SCHED_CHANGE, ENQ_MOVE, ENQ_NOCLOCK, ENQ_RESTORE, ENQ_SCHED_CHANGE};
use crate::ops::{Callback, Context};
use crate::options::Profile;
use crate::rules;
use crate::task::weight_of;
use schedlab_core::control::ControlError;
use schedlab_core::{CpuId, CpuSet, Errno, Question, SchedAttr};

impl Act<'_> {
    /// Changes a task. During the change the task is off its queue, or stopped.
    fn change(&mut self, row: u32, flags: u64, change: impl FnOnce(&mut Self)) {
        let (deq_flags, flags) = match self.w.profile {
            Profile::V6_18 => (flags, flags),
            Profile::V7_3 => (flags | DEQ_SCHED_CHANGE, flags | ENQ_SCHED_CHANGE),
        };
        let p = self.w.task_address(row);
        let is_runnable = self.w.tasks[row as usize].is_runnable;
        let runs = self.runs(row) && is_runnable;
        if runs {
            if let Some(cpu) = self.w.tasks[row as usize].on_cpu {
                self.charge(cpu);
            }
            self.call(Callback::STOPPING, Context::Other, &[p, 0]);
        } else if is_runnable {
            self.give_back(row, deq_flags);
        }
        if is_runnable {
            self.call(Callback::QUIESCENT, Context::Other, &[p, deq_flags]);
        }
        change(self);
        if !is_runnable {
            return;
        }
        self.call(Callback::RUNNABLE, Context::Other, &[p, flags]);
        let here = self.w.tasks[row as usize].cpu;
        let may_stay = self.w.tasks[row as usize].allowed.contains(CpuId(here));
        if runs && may_stay {
            self.call(Callback::RUNNING, Context::Other, &[p]);
            return;
        }
        if !may_stay {
            let cpus = self.w.nr_cpus();
            let to = self.w.tasks[row as usize].allowed.first(cpus).map_or(here, |cpu| cpu.0);
            self.p.by_rule(Question::Migrate, CpuId(to), rules::TAKEN);
            self.move_task(row, to);
        }
        if runs {
            // It must leave its CPU, but stays current there until the switch.
            self.w.cpus[here as usize].is_curr_gone = true;
            self.p.resched(CpuId(here));
        }
        self.enqueue(row, flags);
        let cpu = self.w.tasks[row as usize].cpu;
        self.look(cpu);
    }

    pub(crate) fn set_attr(&mut self, row: u32, attr: &SchedAttr) {
        self.change(row, ENQ_RESTORE | ENQ_NOCLOCK, |act| {
            act.w.tasks[row as usize].attr = *attr;
            act.w.describe_attr(row);
            let args = [act.w.task_address(row), u64::from(weight_of(attr))];
            act.call(Callback::SET_WEIGHT, Context::Other, &args);
        });
    }

    pub(crate) fn set_affinity(&mut self, row: u32, allowed: &CpuSet) {
        self.change(row, ENQ_RESTORE | ENQ_NOCLOCK, |act| {
            act.w.tasks[row as usize].allowed = allowed.clone();
            act.w.describe_mask(row);
            let args = [act.w.task_address(row), act.w.task_field(row, "cpus_mask")];
            act.call(Callback::SET_CPUMASK, Context::Other, &args);
        });
    }

    pub(crate) fn move_group(&mut self, row: u32, to: u32) -> Result<(), ControlError> {
        let from = self.w.cgroup(self.w.tasks[row as usize].group);
        let args = [self.w.task_address(row), from, self.w.cgroup(to)];
        let result = self.call(Callback::CGROUP_PREP_MOVE, Context::Sleepable, &args);
        if let Some(error) = result.map(|result| result as i32).filter(|&error| error != 0) {
            let message = format!("cgroup_prep_move of the policy returned {error}");
            return Err(Errno::Invalid.because(message).into());
        }
        self.change(row, ENQ_RESTORE | ENQ_MOVE | ENQ_NOCLOCK, |act| {
            act.w.tasks[row as usize].group = to;
            let (at, set) = (act.w.task_field(row, "cgroups"), act.w.css_set(to));
            act.w.vm.memory.write(at, 8, set);
            act.call(Callback::CGROUP_MOVE, Context::Other, &args);
        });
        Ok(())
    }
}
