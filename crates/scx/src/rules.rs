//! The rules by which the class decides. A policy's own decisions have no rules.

schedlab_core::define_rules! {
    /// Rules of the class, from 121 on, after the rules of the classes above.
    pub static RULES {
        121 KEEPS Pick "keeps": "The current task has slice left: it continues.";
        122 NEW_SLICE Pick "new_slice": "The policy gave the current task a new slice in dispatch.";
        123 LOCAL Pick "local": "The first task of the CPU's local queue runs.";
        124 GLOBAL Pick "global": "The local queue is empty: the first task of the global one \
                         runs.";
        125 NO_OTHER Pick "no_other": "No other task can run: the current task continues.";
        126 IDLE Pick "idle": "No task can run: the CPU idles.";
        127 CUTS_SLICE Preempt "cuts_slice": "The policy inserts with PREEMPT: the slice ends.";
        128 WAITS Preempt "waits": "The class has no wakeup preemption: the task waits.";
        129 SELECTED SelectCpu "selected": "select_cpu chose the CPU.";
        130 BUILT_IN SelectCpu "built_in": "The built-in search for an idle CPU chose it.";
        131 ONE_CPU SelectCpu "one_cpu": "The task may use one CPU only.";
        132 TAKEN Migrate "taken": "The CPU of the local queue that the task entered takes it.";
    }
}
