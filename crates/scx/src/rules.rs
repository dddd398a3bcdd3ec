//! The rules by which the class decides; what the policy decides it does not explain.

schedlab_core::define_rules! {
    /// How the class decides.
    pub static RULES {
        1 KEEPS Pick "keeps": "The current task has slice left: it goes on.";
        2 NEW_SLICE Pick "new_slice": "The policy gave the current task a new slice in dispatch.";
        3 LOCAL Pick "local": "The first task of the CPU's local queue runs.";
        4 GLOBAL Pick "global": "The local queue is empty: the first task of the global one runs.";
        5 NOBODY_ELSE Pick "nobody_else": "Nobody else can run: the current task goes on.";
        6 IDLE Pick "idle": "Nobody can run: the CPU idles.";
        7 CUTS_SLICE Preempt "cuts_slice": "The policy inserts with PREEMPT: the slice ends.";
        8 WAITS Preempt "waits": "The class has no wakeup preemption: the task waits.";
        9 SELECTED SelectCpu "selected": "select_cpu chose the CPU.";
        10 BUILT_IN SelectCpu "built_in": "The built-in search for an idle CPU chose it.";
        11 ONE_CPU SelectCpu "one_cpu": "The task may use one CPU only.";
        12 TAKEN Migrate "taken": "The CPU whose local queue it came to takes it.";
        13 ABOVE Pick "above": "A class above has the CPU.";
    }
}
