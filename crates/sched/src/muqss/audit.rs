//! Consistency checks: queues, counts and CPUs against the tasks' own records.

use super::Muqss;
use super::levels::PRIO_LIMIT;
use alloc::format;
use alloc::string::String;
use schedlab_core::CpuId;

impl Muqss {
    /// Checks that every task is where its record says, and that all counts are right.
    pub(super) fn audit_all(&self) -> Result<(), String> {
        self.queues.audit()?;
        let mut tasks = alloc::vec![0; self.cpus.len()];
        let mut active = alloc::vec![0; self.cpus.len()];
        for (task, row) in self.tasks.iter() {
            let queued = self.queues.is_queued(task);
            if queued && (row.on_cpu || !row.runnable) || row.runnable && !queued && !row.on_cpu {
                return Err(format!(
                    "task {}: queued {queued}, runnable {}, on a CPU {}",
                    task.0, row.runnable, row.on_cpu
                ));
            }
            if row.on_cpu != (self.cpus[row.cpu.index()].curr == Some(task)) {
                return Err(format!(
                    "task {}: its record disagrees with what CPU {} runs",
                    task.0, row.cpu.0
                ));
            }
            tasks[row.cpu.index()] += u32::from(row.runnable);
            active[row.cpu.index()] += i32::from(queued || row.on_cpu);
        }
        for (number, cpu) in self.cpus.iter().enumerate() {
            if (cpu.tasks, cpu.nr_running) != (tasks[number], active[number]) {
                return Err(format!(
                    "CPU {number}: counts {} tasks and {} active ones, has {} and {}",
                    cpu.tasks, cpu.nr_running, tasks[number], active[number]
                ));
            }
            let idles = self.idle.contains(CpuId(number as u32));
            if idles != cpu.curr.is_none() || idles != (self.running[number].rq_prio == PRIO_LIMIT)
            {
                return Err(format!("CPU {number}: the idle map disagrees with its current task"));
            }
        }
        for leader in (0..self.cpus.len() as u32).map(CpuId) {
            let wrong = self
                .queues
                .iter(leader)
                .find(|&(_, task)| self.nearness.leader(self.tasks[task].cpu) != leader);
            if let Some((_, task)) = wrong {
                return Err(format!("task {} is in the queue of CPU {}", task.0, leader.0));
            }
        }
        Ok(())
    }
}
