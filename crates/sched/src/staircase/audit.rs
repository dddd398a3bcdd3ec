//! Consistency checks: lists against bits, counts and places.

use super::task::ArrayRef;
use super::{MAX_PRIO, Staircase, prio_array};
use alloc::format;
use alloc::string::String;
use schedlab_core::CpuId;

impl Staircase {
    /// Checks that every task is where its record says, and that all counts are right.
    pub(super) fn audit_all(&self) -> Result<(), String> {
        let mut listed = 0;
        for (number, rq) in self.cpus.iter().enumerate() {
            let cpu = CpuId(number as u32);
            let (mut weight, mut idleprio, mut on_cpu) = (0, 0, 0);
            for (object, array) in rq.arrays.iter().enumerate() {
                let Some(levels) = array.occupied() else {
                    return Err(format!(
                        "CPU {number} array {object}: bits and levels differ: {array:?}"
                    ));
                };
                for level in levels {
                    let mut at = array.head(level);
                    while let Some(p) = at {
                        let task = &self.tasks[p];
                        let place = ArrayRef { cpu, object: object as u8 };
                        if !task.queued
                            || task.array != place
                            || task.prio != level
                            || task.cpu != cpu
                        {
                            return Err(format!(
                                "CPU {number} array {object} level {level} holds {p:?}: {task:?}"
                            ));
                        }
                        weight += u64::from(task.load_weight);
                        idleprio += u32::from(level == MAX_PRIO);
                        on_cpu += 1;
                        at = prio_array::next(&self.links, p);
                    }
                }
            }
            listed += on_cpu;
            let load = self.domains.load(cpu);
            let counted = (load.nr_running(), load.raw_weighted_load(), rq.nr_idleprio);
            if counted != (on_cpu, weight, idleprio) {
                return Err(format!(
                    "CPU {number}: counted {counted:?}, found {:?}",
                    (on_cpu, weight, idleprio)
                ));
            }
            if rq.curr.is_some_and(|curr| !self.tasks[curr].queued) {
                return Err(format!("CPU {number}: its running task is not queued"));
            }
        }
        self.domains.audit()?;
        let queued = self.tasks.iter().filter(|task| task.queued).count();
        if queued != listed as usize {
            return Err(format!("{queued} tasks are marked as queued, {listed} are"));
        }
        if let Some((p, task)) =
            self.tasks.enumerate().find(|(_, task)| task.runnable && !task.queued)
        {
            return Err(format!("{p:?} is runnable but not queued: {task:?}"));
        }
        Ok(())
    }
}
