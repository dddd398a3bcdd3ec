//! The decision rules of the fair class up to 3.2, including 2.6.23.
//!
//! Every decision names its rule. [`grounds`](super::grounds) has the evidence.

schedlab_core::define_rules! {
    /// The rules of the fair class: 120 to 199. A pick that passes through groups names the rule
    /// with the largest number, up to [`NEXT_BUDDY`], that decided at any level.
    pub static RULES {
        120 ONLY Pick "only_entity":
            "The entity is the only one in its queue.";
        121 LEFTMOST Pick "leftmost":
            "The entity with the smallest vruntime runs: the leftmost of its queue.";
        122 LAST_BUDDY Pick "last_buddy":
            "The last buddy, which was preempted by a wakeup, runs: it is not ahead of the \
             leftmost entity by more than the wakeup granularity.";
        123 NEXT_BUDDY Pick "next_buddy":
            "The next buddy, which was woken, runs: it is not ahead of the leftmost entity by \
             more than the wakeup granularity.";
        124 CURRENT_STAYS Pick "current_stays":
            "The task that had the CPU still has the smallest vruntime, and keeps it.";
        125 SKIP_BUDDY Pick "skip_buddy":
            "The leftmost entity has yielded and is skipped: the one after it runs, which is not \
             ahead of it by more than the wakeup granularity (3.2).";
        126 LEAST_FAIR_KEY Pick "least_fair_key":
            "The task with the smallest fair_key runs: the one that is owed the most CPU time \
             (2.6.23).";
        127 CURRENT_LEAST_FAIR_KEY Pick "current_least_fair_key":
            "The task that had the CPU still has the smallest fair_key, and keeps it (2.6.23).";

        130 RUNS_ALREADY Preempt "runs_already":
            "The task already has the CPU.";
        131 CLASS_ABOVE Preempt "class_above":
            "A thread of a higher class preempts a fair task.";
        132 THROTTLED_GROUP Preempt "throttled_group":
            "The task is in a throttled group, and cannot run.";
        133 RESCHED_PENDING Preempt "resched_pending":
            "The CPU has already been asked to reschedule.";
        134 BATCH_WAITS Preempt "batch_waits":
            "A SCHED_BATCH task preempts no task.";
        135 IDLE_WAITS Preempt "idle_policy_waits":
            "A SCHED_IDLE task preempts no task.";
        136 IDLE_YIELDS Preempt "idle_policy_gives_way":
            "The current task is SCHED_IDLE and gives way to any other task.";
        137 WAKEUP_SYNC Preempt "wakeup_sync":
            "The wakeup is synchronous, and the feature WAKEUP_SYNC makes it preempt.";
        138 WAKEUP_OVERLAP Preempt "wakeup_overlap":
            "Waker and woken task run side by side only briefly, and the feature WAKEUP_OVERLAP \
             makes such a wakeup preempt.";
        139 WAKEUP_RUNNING Preempt "wakeup_running":
            "The woken task runs for shorter than the current one on average, and the feature \
             WAKEUP_RUNNING makes it the next buddy and lets it preempt.";
        140 NO_WAKEUP_PREEMPT Preempt "no_wakeup_preempt":
            "The feature WAKEUP_PREEMPT is off: no wakeup preempts.";
        141 BEYOND_GRANULARITY Preempt "beyond_wakeup_granularity":
            "The current entity is ahead of the woken one by more than the wakeup granularity: \
             the woken one preempts.";
        142 BEYOND_GRANULARITY_LAST Preempt "beyond_wakeup_granularity_last_buddy":
            "The current entity is ahead of the woken one by more than the wakeup granularity: \
             the woken one preempts, and the current one becomes the last buddy.";
        143 BEYOND_GRANULARITY_ABOVE Preempt "beyond_wakeup_granularity_above":
            "At a level of groups above the one where the two compete, the current group is ahead \
             of the woken one by more than the wakeup granularity: the woken one preempts.";
        144 WITHIN_GRANULARITY Preempt "within_wakeup_granularity":
            "The current entity is ahead of the woken one by no more than the wakeup granularity, \
             and continues to run.";
        145 WITHIN_GRANULARITY_NEXT Preempt "within_wakeup_granularity_next_buddy":
            "The current entity is not ahead by more than the wakeup granularity, and continues to \
             run; the woken one is the next buddy.";
        146 NOT_BEHIND Preempt "not_behind":
            "The woken entity is not behind the current one in virtual time: the current one \
             continues to run.";
        147 START_DEBIT Preempt "start_debit":
            "The new task starts a slice after min_vruntime (START_DEBIT): the current one, which \
             is not ahead of that, continues to run.";
        148 CHILD_RUNS_FIRST Preempt "child_runs_first":
            "The child is to run first (sched_child_runs_first): it swaps virtual times with its \
             parent and preempts it.";
        149 FORK_RESCHEDULES Preempt "fork_reschedules":
            "Every fork makes its CPU reschedule (2.6.24).";
        150 SLICE_OVER Preempt "slice_over":
            "At a tick the current entity has run for longer than its slice.";
        151 FAR_AHEAD Preempt "far_ahead":
            "At a tick the current entity is ahead of the leftmost one by more than its slice.";
        152 HRTICK_OVER Preempt "hrtick_over":
            "The hrtick fired: the slice of the current task is over.";
        153 PRIORITY_LOWERED Preempt "priority_lowered":
            "The current task has become less urgent.";
        154 CLASS_CHANGED Preempt "class_changed":
            "The current task has become a fair task.";
        155 BEYOND_GRANULARITY_KEY Preempt "fair_key_beyond_granularity":
            "The fair_key of the current task is larger than that of the other by more than the \
             granularity: the other preempts (2.6.23).";
        156 WITHIN_GRANULARITY_KEY Preempt "fair_key_within_granularity":
            "The fair_key of the current task is not larger than that of the other by more than \
             the granularity: it continues to run (2.6.23).";

        160 WAKER_HERE SelectCpu "waker_on_previous_cpu":
            "The waker's CPU is the one where the task last ran.";
        161 NOT_AFFINE SelectCpu "not_affine":
            "The task goes to the CPU where it last ran: it may not run on the waker's CPU, or the \
             feature AFFINE_WAKEUPS is off.";
        162 NO_AFFINE_DOMAIN SelectCpu "no_affine_domain":
            "The task goes to the CPU where it last ran: no domain for affine wakeups spans that \
             CPU and the waker's.";
        163 AFFINE_IDLE SelectCpu "affine_no_load":
            "An affine wakeup: the waker's CPU has no load.";
        164 AFFINE_SYNC SelectCpu "affine_sync":
            "An affine wakeup: the waker is about to sleep, and without the waker the task \
             does not upset the balance on its CPU.";
        165 AFFINE_BALANCED SelectCpu "affine_balanced":
            "An affine wakeup: the task does not upset the balance on the waker's CPU.";
        166 AFFINE_LIGHT SelectCpu "affine_light":
            "An affine wakeup: the waker's CPU has no more load than the previous one, and both \
             loads together are no more than its average load of a task.";
        167 PREVIOUS_CPU SelectCpu "previous_cpu":
            "The task goes to the CPU where it last ran: it would upset the balance on the \
             waker's CPU.";
        168 FORK_HERE SelectCpu "fork_here":
            "The child stays on the CPU of the fork: no other group of CPUs is much less loaded, \
             and no CPU of the local group is.";
        169 FORK_IDLEST SelectCpu "fork_idlest":
            "The child goes to the idlest CPU of the idlest group.";
        170 ONE_CPU SelectCpu "one_cpu":
            "The task stays on its CPU (2.6.23 has only one here).";
        171 IDLE_SIBLING SelectCpu "idle_sibling":
            "The chosen CPU is busy, and another one that shares its cache is idle (3.2).";
        172 WAKE_IDLE SelectCpu "wake_idle":
            "The chosen CPU has one task, and another CPU that shares its core or its cache is \
             idle (2.6.24).";

        180 PERIODIC_BUSY Migrate "periodic_balance_busy":
            "Periodic balancing: a CPU that is not idle pulls from the busiest CPU.";
        181 PERIODIC_IDLE Migrate "periodic_balance_idle":
            "Periodic balancing: an idle CPU pulls from the busiest CPU.";
        182 NEWLY_IDLE Migrate "newly_idle_balance":
            "A CPU that is about to go idle pulls from the busiest CPU.";
        183 ACTIVE_BALANCE Migrate "active_balance":
            "Balancing failed several times in a row: the migration thread of the busiest CPU \
             pushes a task to the CPU that requested it.";
    }
}
