//! The decision rules of MuQSS, by number.

use schedlab_core::define_rules;

define_rules! {
    /// All rules.
    pub(super) static RULES {
        1 EARLIEST_DEADLINE Pick "earliest_deadline":
            "Of the first tasks of all queues that may run on this CPU, this one has the earliest \
             virtual deadline.";
        2 REAL_TIME Pick "real_time": "The first task of the best real-time level runs.";
        3 ISOCHRONOUS Pick "isochronous":
            "The first SCHED_ISO task runs: no real-time task waits, and the share of such tasks is \
             not used up.";
        4 IDLE_PRIORITY Pick "idle_priority":
            "Only SCHED_IDLEPRIO tasks wait for this CPU: the one with the earliest deadline runs.";
        5 PREEMPTING Pick "preempting":
            "This task asked the CPU to reschedule, and is the best found so far: further queues \
             are not looked at.";
        6 IDLE Pick "idle": "No task is found that may run on this CPU.";
        7 HELD_BACK Pick "held_back":
            "Tasks wait, but none may run beside the task on a sibling thread.";
        8 LAST_CPU_IDLE Preempt "last_cpu_idle": "The CPU that the task belongs to is idle.";
        9 BEST_IDLE Preempt "best_idle":
            "Of the idle CPUs this one is the nearest to the CPU that the task belongs to; those \
             whose cache is idle, too, come first.";
        10 LATER_DEADLINE Preempt "later_deadline":
            "No CPU is idle, and this is the nearest CPU whose task is less entitled than the \
             woken one (a worse level, or a later deadline).";
        11 NOT_EARLIER Preempt "not_earlier":
            "No running task is less entitled: the task waits.";
        12 IDLE_POLICY Preempt "idle_policy": "A SCHED_IDLEPRIO task preempts no other.";
        13 SYNC_WAKEUP Preempt "sync_wakeup":
            "No CPU is idle, and the waker is about to leave its CPU to the task.";
        14 STILL_CURRENT Preempt "still_current":
            "The task was woken before its CPU had switched away from it: the wakeup waits until \
             then.";
        15 PARENT_ASKED Preempt "parent_asked":
            "No CPU is idle for the child: its parent's CPU reschedules.";
        16 SIBLING_FIRST Preempt "sibling_first":
            "The best idle CPU is not asked: the task may not run beside the one on a sibling \
             thread.";
        17 SIBLING_CHECKED Preempt "sibling_checked":
            "The task of this CPU may not run beside the one that a sibling thread has taken.";
        18 IDLE_CPU SelectCpu "idle_cpu": "The task goes to the idle CPU that was asked.";
        19 FEWEST_RUNNING SelectCpu "fewest_running":
            "No CPU is idle: the task goes to the CPU with the fewest runnable tasks, the nearest \
             among equals.";
        20 FEWEST_TASKS SelectCpu "fewest_tasks":
            "A task without a parent starts on the allowed CPU with the fewest tasks.";
        21 PARENTS_CPU SelectCpu "parents_cpu": "A child starts on its parent's CPU.";
        22 AFFINITY_FORCED SelectCpu "affinity_forced":
            "The child may not run on its parent's CPU: it starts on the lowest CPU that it may \
             use.";
        23 LAST_CPU SelectCpu "last_cpu":
            "The task is still the current one of its CPU.";
        24 TAKEN Migrate "taken_from_queue":
            "A CPU other than the one that the task belonged to has taken it from a queue.";
        25 WAKE_PLACEMENT Migrate "wake_placement": "The wakeup has chosen another CPU.";
        26 CPUS_ALLOWED Migrate "cpus_allowed":
            "Affinity forbids the queued task its CPU: it moves to the lowest CPU that it may use.";
    }
}
