//! The decision rules of the core of a 6.x kernel, before and after it asks the classes.

schedlab_core::define_rules! {
    /// The rules of the core: 1 to 39.
    pub static RULES {
        1 IDLE Pick "idle":
            "No class has a runnable task: the idle thread runs.";
        2 FAIR_SERVER Pick "fair_server":
            "The fair server has the earliest deadline: the fair class picks although more \
             urgent tasks wait.";
        5 CLASS_ABOVE Preempt "class_above":
            "The class of the task stands above that of the current one: it preempts.";
        6 CLASS_BELOW Preempt "class_below":
            "The class of the task stands below that of the current one: it waits.";
        7 IDLE_CPU Preempt "cpu_idle":
            "The CPU is idle: the task runs at once.";
        10 FEWEST_RUNNABLE SelectCpu "fewest_runnable":
            "A task without a parent starts on the allowed CPU with the fewest runnable tasks.";
        11 PARENT_CPU SelectCpu "parent_cpu":
            "A real-time or deadline child starts on the CPU of its parent.";
        12 AFFINITY_FORCED SelectCpu "affinity_forced":
            "The task may not run on the CPU that was chosen: it goes to the first that it may \
             run on.";
        13 STILL_CURRENT SelectCpu "still_current":
            "The task is woken before its CPU has switched away from it: it stays there.";
        20 WAKE_PLACEMENT Migrate "wake_placement":
            "The task wakes on a CPU other than the one where it slept.";
        21 AFFINITY Migrate "affinity":
            "The task may no longer run where it is queued (sched_setaffinity).";
        22 HOTPLUG Migrate "hotplug":
            "The CPU of the task has gone offline.";
    }
}
