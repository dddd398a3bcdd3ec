//! What the algorithm promises, and checks of its books.

use super::OrderN;
use super::task::{State, Task};
use alloc::string::String;
use alloc::vec;
use schedlab_core::{Load, Promises, TaskId};

impl OrderN {
    /// The most ticks that a task can have saved up when the best slice among the tasks is that of
    /// `nice_min`.
    ///
    /// An epoch leaves at most 2 * slice - 1 if there was not more before; forking only divides; a
    /// dead child's ticks are taken over up to `MAX_COUNTER`.
    fn most_ticks(&self, nice_min: i32) -> i32 {
        let saved = 2 * self.slice(nice_min) - 1;
        if self.version.keeps_the_sum { saved.max(self.max_counter()) } else { saved }
    }

    /// On one CPU:
    ///
    /// * It never idles beside a waiting task: a woken task always beats the idle task.
    /// * `wait_ns`. As long as a waiting task has ticks no epoch can begin, each tick takes one
    ///   from some other task (at most one for nothing, in 2.2), and when those are used up it is
    ///   the best. If it has no ticks itself, the others' must first be used up once more, for the
    ///   epoch that gives it some. The bound counts every task of that time, dead ones too: a
    ///   newcomer from outside brings its slice along, and an endless stream of newcomers starves
    ///   all others.
    /// * `hog_spread_ns`. Two hogs of equal nice value get the same ticks in each epoch, and both
    ///   have used up all they had when it ends: they are apart by what they began with, and a
    ///   slice. (Where nothing but hogs runs. The tick is charged to the current task: tasks that
    ///   run between ticks can take more from one hog's time than from the other's.)
    ///
    /// On several CPUs it promises nothing. Two tasks that wake at once can ask the same idle CPU,
    /// and one of them waits beside another idle one until some CPU calls `schedule`, which a
    /// real-time task need never do. And a task that is bound to a CPU can wait for ever: epochs
    /// that another CPU begins refill the task that runs on this one, and a task that still has
    /// ticks is not compared with any other.
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
            // There is one queue for all CPUs. (And only then: two that wake at the same nanosecond
            // may both choose the same CPU to preempt; one of them waits, although another CPU runs
            // something less urgent.)
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
            queued_on[self.tasks[task].processor.index()] += 1;
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
        // One that has stopped being runnable stays in the runqueue until its CPU reschedules.
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
