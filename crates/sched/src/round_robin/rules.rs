//! The decision rules of round robin, by number.

use schedlab_core::define_rules;

define_rules! {
    /// All rules.
    pub(super) static RULES {
        1 LARGEST_COUNTER Pick "largest_counter":
            "The runnable task with the largest counter runs, the oldest among equals.";
        2 NEW_ROUND Pick "new_round":
            "All runnable tasks have used up their counters: every task in the ring gets new \
             ticks, and the oldest runnable one runs.";
        3 IDLE Pick "idle": "No task is runnable.";
        4 LARGER_COUNTER Preempt "larger_counter":
            "The woken task's counter exceeds the running task's by more than the release's \
             margin.";
        5 NOT_LARGER Preempt "not_larger":
            "The woken task's counter does not exceed the running task's by more than the \
             release's margin.";
        6 CPU_IDLE Preempt "cpu_idle": "The idle task runs, and looks for work continually.";
        7 PARENT_GIVES_UP Preempt "parent_gives_up":
            "The new task's parent is outside the workload, and gives up the CPU at once.";
        8 CHILD_WAITS Preempt "child_waits":
            "The parent continues to run: a new task is not compared.";
        9 ONLY_CPU SelectCpu "only_cpu": "The machine has one CPU.";
    }
}
