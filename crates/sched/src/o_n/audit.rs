//! Guarantees of the algorithm, and consistency checks.

use super::OrderN;
use super::task::{State, Task};
use alloc::string::String;
use alloc::vec;
use schedlab_core::{Load, Promises, TaskId};

impl OrderN {
    /// Returns the most ticks that a task can have when the best slice among the tasks is that of
    /// `nice_min`.
    ///
    /// An epoch leaves at most 2 * slice - 1 if there were not more before. Forking only divides. A
    /// dead child's ticks are added up to `MAX_COUNTER`.
    fn most_ticks(&self, nice_min: i32) -> i32 {
        let saved = 2 * self.slice(nice_min) - 1;
        if self.version.keeps_the_sum { saved.max(self.max_counter()) } else { saved }
    }

    /// On one CPU:
    ///
    /// * It is never idle while a task waits: a woken task always beats the idle task.
    /// * `wait_ns`. As long as a waiting task has ticks, no epoch can begin. Each tick takes one
    ///   from some other task (in 2.2 at most one is taken for nothing), and when those are used up
    ///   the waiting task is the best. If it has no ticks itself, the others' ticks must first be
    ///   used up once more, for the epoch that gives it some. The bound counts every task of that
    ///   time, dead ones included: a new task from outside the workload brings its slice along, and
    ///   an endless stream of new tasks starves all others.
    /// * `hog_spread_ns`. Two CPU-bound tasks with equal nice values get the same ticks in each
    ///   epoch, and both have used up all their ticks when it ends. They differ by at most their
    ///   initial difference and a slice. (This holds where only CPU-bound tasks run. The tick is
    ///   charged to the current task: tasks that run between ticks can take more from one CPU-bound
    ///   task's time than from the other's.)
    ///
    /// On several CPUs nothing is guaranteed. Two tasks that wake at once can ask the same idle
    /// CPU, and one of them waits while another CPU is idle until some CPU calls `schedule`, which
    /// a CPU that runs a real-time task need never do. And a task that is bound to a CPU can wait
    /// indefinitely: epochs that another CPU begins refill the task that runs on this one, and a
    /// task that still has ticks is not compared with any other.
    pub(super) fn promises_under(&self, load: &Load) -> Promises {
        if self.cpus.len() > 1 {
            return Promises::default();
        }
        let tick_ns = 1_000_000_000_u64.div_ceil(u64::from(self.hz));
        let tasks = u64::from(load.tasks).max(self.tasks.len() as u64);
        let each = self.most_ticks(load.nice_min) as u64 + 1;
        Promises {
            idle_beside_waiting_ns: Some(0),
            wait_ns: Some((2 * tasks * each + 1) * tick_ns),
            hog_spread_ns: Some(2 * each * tick_ns),
            // There is one queue for all CPUs. (This holds only on one CPU: two tasks that wake at
            // the same nanosecond may both choose the same CPU to preempt. One of them then waits,
            // although another CPU runs something less urgent.)
            real_time_first: true,
        }
    }

    /// Checks the runqueue against the tasks, the tasks against the CPUs, and the counts against
    /// both.
    pub(super) fn audit_all(&self) -> Result<(), String> {
        self.run_queue.audit()?;
        for (task, row) in self.tasks.iter() {
            self.audit_task(task, row)?;
        }
        let mut queued_on = vec![0; self.cpus.len()];
        for task in self.run_queue.iter() {
            if self.tasks[task].placed {
                queued_on[self.tasks[task].processor.index()] += 1;
            }
            if self.run_queue[task] != self.queued(task) {
                return Err(alloc::format!(
                    "the runqueue holds {:?}, not {:?}",
                    self.run_queue[task],
                    self.queued(task)
                ));
            }
        }
        if queued_on != self.queued_on {
            return Err(alloc::format!(
                "the runqueue has {queued_on:?} tasks by CPU, counted were {:?}",
                self.queued_on
            ));
        }
        let busy = self.cpus.iter().filter(|cpu| cpu.current.is_some()).count();
        if busy != self.busy_cpus {
            return Err(alloc::format!("{busy} CPUs are busy, counted were {}", self.busy_cpus));
        }
        for (number, &task) in self.task_list.iter().enumerate() {
            if self.rest[task].list_index != number || self.tasks[task].state == State::Gone {
                return Err(alloc::format!("task {} is wrong in the task list", task.0));
            }
        }
        Ok(())
    }

    fn audit_task(&self, task: TaskId, row: &Task) -> Result<(), String> {
        let current = row.on_cpu;
        if current != (self.cpus[row.processor.index()].current == Some(task)) {
            return Err(alloc::format!(
                "task {}: on a CPU {current}, but CPU {} runs {:?}",
                task.0,
                row.processor.0,
                self.cpus[row.processor.index()].current
            ));
        }
        // A task that is no longer runnable stays in the runqueue until its CPU reschedules.
        let queued = self.run_queue.contains(task);
        if queued != (row.state == State::Running || current) {
            return Err(alloc::format!(
                "task {} is {:?}, {} a CPU and {} the runqueue",
                task.0,
                row.state,
                if current { "on" } else { "not on" },
                if queued { "in" } else { "not in" }
            ));
        }
        if !(0..=self.most_ticks(-20)).contains(&row.counter) {
            return Err(alloc::format!("task {} has {} ticks", task.0, row.counter));
        }
        if row.yielded && !current {
            return Err(alloc::format!("task {} has yielded without running", task.0));
        }
        Ok(())
    }
}
