//! The decision rules of BFS, by number, and the candidates of a CPU's pick.

use super::grq::{IDLE_PRIO, MAX_RT_PRIO, NORMAL_PRIO};
use super::releases::{Affinity, Clock};
use super::{Bfs, Task};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, TaskId, define_rules};

define_rules! {
    /// All rules.
    pub(super) static RULES {
        1 EARLIEST_DEADLINE Pick "earliest_deadline":
            "Of all queued tasks the one with the earliest virtual deadline, as seen by this \
             CPU, runs.";
        2 FIRST_OVERDUE Pick "first_overdue":
            "The first task in the queue whose deadline has passed runs (0.316).";
        3 REAL_TIME Pick "real_time": "The first task of the best real-time level runs.";
        4 IDLE_PRIORITY Pick "idle_priority":
            "Only SCHED_IDLEPRIO tasks are queued for this CPU: the one with the earliest \
             deadline runs.";
        5 ALONE Pick "alone":
            "Nothing is queued: the running task continues, and its CPU keeps the copy of its \
             deadline (0.404).";
        6 IDLE Pick "idle": "No task is queued that may run on this CPU.";
        7 LAST_CPU_IDLE Preempt "last_cpu_idle": "The CPU on which the task ran last is idle.";
        8 NEAREST_IDLE Preempt "nearest_idle":
            "Of the idle CPUs this is the nearest to the one on which the task ran last.";
        9 LATEST_DEADLINE Preempt "latest_deadline":
            "No CPU is idle, and this one's task is the least entitled of the machine (the worst \
             level, the latest deadline), and less entitled than the woken one.";
        10 NOT_EARLIER Preempt "not_earlier":
            "No running task is less entitled (a worse level, or a later deadline): the task \
             waits.";
        11 IDLE_POLICY Preempt "idle_policy": "A SCHED_IDLEPRIO task preempts no other (0.404).";
        12 SYNC_WAKEUP Preempt "sync_wakeup":
            "No CPU is idle, and the waker is about to leave its CPU to the task.";
        13 STILL_CURRENT Preempt "still_current":
            "The task was woken before its CPU had switched away from it: it never left the CPU.";
        14 CHILD_ASKS Preempt "child_asks":
            "No CPU is idle for the child, which has its own memory: its parent's CPU reschedules.";
        15 LAST_CPU SelectCpu "last_cpu":
            "There is one queue for all CPUs; the task belongs to the CPU on which it ran last \
             until another takes it.";
        16 FEWEST_TASKS SelectCpu "fewest_tasks":
            "A task without a parent starts on the allowed CPU with the fewest tasks.";
        17 PARENTS_CPU SelectCpu "parents_cpu": "A child starts on its parent's CPU.";
        18 AFFINITY_FORCED SelectCpu "affinity_forced":
            "The child may not run on its parent's CPU: it starts on the lowest CPU that it may \
             use.";
        19 TAKEN Migrate "taken_from_queue":
            "A CPU other than its last one has taken the task from the one queue.";
        20 CPUS_ALLOWED Migrate "cpus_allowed":
            "Affinity forbids the queued task its last CPU: it moves to the lowest CPU that it \
             may use.";
    }
}

impl Bfs {
    /// Lists the tasks that `cpu` could run at `jiffies`: the queued ones, and the running one as
    /// it would be after a switch away from it. Each is ranked by level, by whether it is overdue,
    /// by its deadline as seen by the CPU, and by its place in the list.
    #[cold]
    #[inline(never)]
    pub(super) fn list_candidates(&self, cpu: CpuId, jiffies: u64, out: &mut Vec<Candidate>) {
        let mut levels: Vec<(u8, i64)> = Vec::new();
        for level in (0..MAX_RT_PRIO).chain([NORMAL_PRIO, IDLE_PRIO]) {
            let mut place = 0;
            self.queue.for_each(level, |task| {
                if self.tasks[task].allowed.contains(cpu) {
                    out.push(self.ranked(task, cpu, &self.tasks[task], place, jiffies));
                }
                place += 1;
            });
            levels.push((level, place));
        }
        let Some(curr) = self.cpus[cpu.index()].curr else { return };
        let row = &self.tasks[curr];
        if row.on_cpu && row.runnable && row.allowed.contains(cpu) {
            let last = levels.iter().find(|&&(level, _)| level == row.prio);
            let put_away = self.as_put_away(cpu, curr, jiffies);
            let place = last.map_or(0, |&(_, place)| place);
            out.push(self.ranked(curr, cpu, &put_away, place, jiffies));
        }
    }

    /// Returns the record of the running task as it would be if its CPU switched away from it now.
    fn as_put_away(&self, cpu: CpuId, curr: TaskId, jiffies: u64) -> Task {
        let mut row = self.tasks[curr].clone();
        row.time_slice = self.cpus[cpu.index()].rq_time_slice;
        row.deadline = self.running[cpu.index()].rq_deadline;
        if self.version.needs_refill(row.time_slice, row.policy) {
            let now = match self.version.clock {
                Clock::Jiffies => jiffies as i64,
                Clock::Niffies => self.niffies as i64,
            };
            row.time_slice = self.slice;
            row.deadline = now + self.deadline_distance(row.nice);
        }
        row
    }

    fn ranked(&self, task: TaskId, cpu: CpuId, row: &Task, place: i64, jiffies: u64) -> Candidate {
        let offset = match self.version.affinity {
            Affinity::CacheDistance => self.cache_distance(task, cpu),
            Affinity::Sticky if row.sticky && row.cpu != cpu => self.longest_deadline(),
            Affinity::Sticky => 0,
        };
        let effective = row.deadline + offset;
        let level = i64::from(row.prio);
        let overdue = self.version.takes_first_overdue && effective < jiffies as i64;
        let rank = if row.prio < MAX_RT_PRIO {
            [level, 0, 0, place]
        } else if overdue {
            [level, -1, 0, place]
        } else {
            [level, 0, effective, place]
        };
        let (deadline, offset_term) = match self.version.clock {
            Clock::Jiffies => ("deadline_jiffies", "cache_distance_jiffies"),
            Clock::Niffies => ("deadline_ns", "sticky_offset_ns"),
        };
        Candidate::task(task, rank)
            .with("prio", level)
            .with(deadline, row.deadline)
            .with(offset_term, offset)
            .with("time_slice", row.time_slice.into())
            .with("nice", row.nice.into())
    }
}
