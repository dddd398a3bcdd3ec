//! `struct sched_ext_ops`: the callbacks and numbers of a policy.

/// A callback.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Callback(pub u8);

macro_rules! callbacks {
    ($($number:literal $constant:ident $name:literal;)*) => {
        impl Callback {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: Callback = Callback($number);
            )*
            /// The names of all callbacks, by number.
            pub const NAMES: &[&str] = &[$($name),*];
        }
    };
}

callbacks! {
    0 SELECT_CPU "select_cpu";
    1 ENQUEUE "enqueue";
    2 DEQUEUE "dequeue";
    3 DISPATCH "dispatch";
    4 TICK "tick";
    5 RUNNABLE "runnable";
    6 RUNNING "running";
    7 STOPPING "stopping";
    8 QUIESCENT "quiescent";
    9 YIELD "yield";
    10 CORE_SCHED_BEFORE "core_sched_before";
    11 SET_WEIGHT "set_weight";
    12 SET_CPUMASK "set_cpumask";
    13 UPDATE_IDLE "update_idle";
    14 CPU_ACQUIRE "cpu_acquire";
    15 CPU_RELEASE "cpu_release";
    16 INIT_TASK "init_task";
    17 EXIT_TASK "exit_task";
    18 ENABLE "enable";
    19 DISABLE "disable";
    20 DUMP "dump";
    21 DUMP_CPU "dump_cpu";
    22 DUMP_TASK "dump_task";
    23 CGROUP_INIT "cgroup_init";
    24 CGROUP_EXIT "cgroup_exit";
    25 CGROUP_PREP_MOVE "cgroup_prep_move";
    26 CGROUP_MOVE "cgroup_move";
    27 CGROUP_CANCEL_MOVE "cgroup_cancel_move";
    28 CGROUP_SET_WEIGHT "cgroup_set_weight";
    29 CGROUP_SET_BANDWIDTH "cgroup_set_bandwidth";
    30 CPU_ONLINE "cpu_online";
    31 CPU_OFFLINE "cpu_offline";
    32 INIT "init";
    33 EXIT "exit";
}

impl Callback {
    /// Number of callbacks.
    pub const COUNT: usize = Callback::NAMES.len();

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Callback::NAMES.get(usize::from(self.0)).copied().unwrap_or("?")
    }

    /// Returns the callback with this name.
    pub fn find(name: &str) -> Option<Callback> {
        let number = Callback::NAMES.iter().position(|known| *known == name)?;
        Some(Callback(number as u8))
    }

    /// Names of a callback's arguments, and whether it returns a value. `p` is a task, `cgrp` a
    /// group.
    pub fn signature(self) -> (&'static [&'static str], bool) {
        match self.name() {
            "select_cpu" => (&["p", "prev_cpu", "wake_flags"], true),
            "enqueue" => (&["p", "enq_flags"], false),
            "dequeue" | "quiescent" => (&["p", "deq_flags"], false),
            "dispatch" => (&["cpu", "prev"], false),
            "tick" | "running" | "enable" | "disable" => (&["p"], false),
            "runnable" => (&["p", "enq_flags"], false),
            "stopping" => (&["p", "runnable"], false),
            "yield" => (&["from", "to"], true),
            "core_sched_before" => (&["a", "b"], true),
            "set_weight" => (&["p", "weight"], false),
            "set_cpumask" => (&["p", "cpumask"], false),
            "update_idle" => (&["cpu", "idle"], false),
            "cpu_acquire" | "cpu_release" => (&["cpu", "args"], false),
            "init_task" => (&["p", "args"], true),
            "exit_task" => (&["p", "args"], false),
            "cgroup_init" => (&["cgrp", "args"], true),
            "cgroup_exit" => (&["cgrp"], false),
            "cgroup_prep_move" => (&["p", "from", "to"], true),
            "cgroup_move" | "cgroup_cancel_move" => (&["p", "from", "to"], false),
            "cgroup_set_weight" => (&["cgrp", "weight"], false),
            "cgroup_set_bandwidth" => (&["cgrp", "period_us", "quota_us", "burst_us"], false),
            "cpu_online" | "cpu_offline" => (&["cpu"], false),
            "dump" => (&["ctx"], false),
            "dump_cpu" => (&["ctx", "cpu", "idle"], false),
            "dump_task" => (&["ctx", "p"], false),
            "init" => (&[], true),
            "exit" => (&["info"], false),
            _ => (&[], false),
        }
    }
}

/// Maximum number of arguments of a callback.
pub const ARGS_MAX: usize = 4;

/// Origin of a call to the kernel. It determines what a policy may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// A callback without privileges, or no callback.
    Other,
    /// `init`, `init_task`, `cgroup_init` and similar callbacks, which may sleep.
    Sleepable,
    /// `select_cpu`.
    SelectCpu,
    /// `enqueue`.
    Enqueue,
    /// `dispatch`.
    Dispatch,
    /// `cpu_release`.
    CpuRelease,
}

/// The numbers of `struct sched_ext_ops`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpsNumbers {
    /// `SCX_OPS_*`.
    pub flags: u64,
    /// Maximum wait of a runnable task, ms. 0: the default, 30000, which is also the maximum.
    pub timeout_ms: u64,
    /// Maximum number of tasks that one dispatch may insert. 0: the default, 32.
    pub dispatch_max_batch: u64,
    /// Maximum length of a dump, bytes. 0: the default.
    pub exit_dump_len: u64,
    /// Number of CPU hotplug events before the policy was loaded. It has no effect here.
    pub hotplug_seq: u64,
}

impl OpsNumbers {
    /// Returns the number with this name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "flags" => &mut self.flags,
            "timeout_ms" => &mut self.timeout_ms,
            "dispatch_max_batch" => &mut self.dispatch_max_batch,
            "exit_dump_len" => &mut self.exit_dump_len,
            "hotplug_seq" => &mut self.hotplug_seq,
            _ => return None,
        })
    }

    /// The names of all numbers.
    pub const NAMES: &[&str] =
        &["flags", "timeout_ms", "dispatch_max_batch", "exit_dump_len", "hotplug_seq"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_are_numbered_in_the_order_of_their_names() {
        assert_eq!(Callback::EXIT.name(), "exit");
        assert_eq!(usize::from(Callback::EXIT.0), Callback::COUNT - 1);
        for (number, name) in Callback::NAMES.iter().enumerate() {
            assert_eq!(Callback::find(name), Some(Callback(number as u8)));
        }
        assert_eq!(Callback::find("balance"), None);
    }

    #[test]
    fn numbers_have_names() {
        let mut numbers = OpsNumbers::default();
        for name in OpsNumbers::NAMES {
            *numbers.get_mut(name).expect("the name is known") = 7;
        }
        assert_eq!((numbers.flags, numbers.hotplug_seq), (7, 7));
        assert_eq!(numbers.get_mut("name"), None);
    }
}
