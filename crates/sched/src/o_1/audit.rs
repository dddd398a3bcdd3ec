//! Consistency checks: lists against bits, counts, weights and the tasks' own records.

use super::O1;
use super::releases::Balancing;
use super::task::{ArrayId, State};
use alloc::format;
use alloc::string::String;
use schedlab_core::CpuId;

impl O1 {
    /// Checks all derived state.
    pub(super) fn audit_all(&self) -> Result<(), String> {
        for cpu in (0..self.cpus).map(CpuId) {
            self.audit_queue(cpu)?;
        }
        let queued: u32 = self.loads.all_running().iter().sum();
        let marked = self.tasks.iter().filter(|(_, task)| task.is_queued()).count();
        if marked != queued as usize {
            return Err(format!("{marked} tasks are marked as queued, {queued} are"));
        }
        self.loads.audit()?;
        self.domains.audit()?;
        for (p, task) in self.tasks.iter() {
            if task.sleep_avg > self.params.ns_max_sleep_avg || task.interactive_credit.abs() > 101
            {
                return Err(format!("{p:?} is out of bounds: {task:?}"));
            }
            if task.state == State::Running && !task.is_queued() {
                return Err(format!("{p:?} is runnable and on no queue: {task:?}"));
            }
        }
        Ok(())
    }

    /// Checks one queue.
    fn audit_queue(&self, cpu: CpuId) -> Result<(), String> {
        let rq = &self.rqs[cpu.index()];
        let (mut running, mut weight) = (0, 0);
        let mut curr_found = rq.curr.is_none();
        for id in [ArrayId::Zero, ArrayId::One] {
            rq.array(id)
                .audit(&self.tasks, |p, prio| {
                    let task = &self.tasks[p];
                    if task.cpu != cpu || task.array != Some(id) || task.prio != prio {
                        return Err(format!("list {prio} of array {id:?} holds {p:?}: {task:?}"));
                    }
                    if task.state != State::Running && rq.curr != Some(p) {
                        return Err(format!("{p:?} is queued, but its state is {:?}", task.state));
                    }
                    curr_found |= rq.curr == Some(p);
                    running += 1;
                    weight += u64::from(task.load_weight);
                    Ok(())
                })
                .map_err(|error| format!("CPU {}: {error}", cpu.0))?;
        }
        let counted = self.loads.nr_running(cpu);
        if running != counted {
            return Err(format!("CPU {}: {running} tasks are queued, counted {counted}", cpu.0));
        }
        let load = self.domains.load(cpu);
        if self.params.version.balancing == Balancing::ByWeight
            && (running, weight) != (load.nr_running(), load.raw_weighted_load())
        {
            return Err(format!(
                "CPU {}: {running} tasks of weight {weight} are queued, counted {load:?}",
                cpu.0
            ));
        }
        if !curr_found {
            return Err(format!("CPU {}: its current task {:?} is not queued", cpu.0, rq.curr));
        }
        Ok(())
    }
}
