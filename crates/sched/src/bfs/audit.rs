//! Consistency checks: queue, counts and CPUs against the tasks' own records.

use super::Bfs;
use super::grq::PRIO_LIMIT;
use alloc::format;
use alloc::string::String;
use schedlab_core::CpuId;

impl Bfs {
    /// Checks that every task is where its record says, and that all counts are right.
    pub(super) fn audit_all(&self) -> Result<(), String> {
        self.queue.audit()?;
        let mut tasks = alloc::vec![0; self.cpus.len()];
        let mut active = 0;
        for (task, row) in self.tasks.iter() {
            let queued = self.queue.is_queued(task);
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
            active += u32::from(queued || row.on_cpu);
        }
        if active != self.nr_running {
            return Err(format!(
                "nr_running is {}, but {active} tasks are active",
                self.nr_running
            ));
        }
        for (number, cpu) in self.cpus.iter().enumerate() {
            if cpu.tasks != tasks[number] {
                return Err(format!(
                    "CPU {number}: counts {} tasks, has {}",
                    cpu.tasks, tasks[number]
                ));
            }
            let idles = self.idle_map.contains(CpuId(number as u32));
            if idles != cpu.curr.is_none() || idles != (self.running[number].rq_prio == PRIO_LIMIT)
            {
                return Err(format!("CPU {number}: the idle map disagrees with its current task"));
            }
        }
        Ok(())
    }
}
