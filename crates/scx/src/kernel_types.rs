//! The kernel's types as policies see them here: structures with the laboratory's own layout, and
//! the values of enumerators.
//!
//! A policy compiled with CO-RE refers to members by name and receives their offsets when it is
//! loaded, so that nothing depends on the layout of a real kernel. Here members are laid out in the
//! order of the tables below, each aligned to its size. Masks have as many words as the machine
//! needs. A structure or a member that is not in the tables is absent, and a policy that reaches an
//! access to it ends.

use std::collections::BTreeMap;

/// The type of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberType {
    /// An unsigned integer, with its size in bytes. Also flags and booleans.
    U(u32),
    /// A signed integer, with its size in bytes.
    I(u32),
    /// A pointer.
    Ptr,
    /// A set of CPUs, 64 per word.
    Mask,
    /// An array of characters, with its length.
    Chars(u32),
    /// A nested structure, or an array of one of them.
    Struct(&'static str),
}

use MemberType::{Chars, I, Mask, Ptr, Struct, U};

/// The structures: name and members.
static STRUCTS: &[(&str, &[(&str, MemberType)])] = &[
    ("cpumask", &[("bits", Mask)]),
    // Namespaces, credentials, signals: filled in by `objects.rs`.
    ("kuid_t", &[("val", U(4))]),
    ("kgid_t", &[("val", U(4))]),
    (
        "cred",
        &[
            ("uid", Struct("kuid_t")),
            ("gid", Struct("kgid_t")),
            ("suid", Struct("kuid_t")),
            ("sgid", Struct("kgid_t")),
            ("euid", Struct("kuid_t")),
            ("egid", Struct("kgid_t")),
            ("fsuid", Struct("kuid_t")),
            ("fsgid", Struct("kgid_t")),
        ],
    ),
    ("ns_common", &[("inum", U(4))]),
    ("pid_namespace", &[("ns", Struct("ns_common")), ("level", U(4)), ("parent", Ptr)]),
    ("nsproxy", &[("pid_ns_for_children", Ptr)]),
    ("upid", &[("nr", I(4)), ("ns", Ptr)]),
    ("pid", &[("level", U(4)), ("inode", U(8)), ("numbers", Struct("upid"))]),
    ("signal_struct", &[("nr_threads", I(4)), ("flags", U(4)), ("group_exit_code", I(4))]),
    ("bpf_cpumask", &[("cpumask", Struct("cpumask"))]),
    ("thread_info", &[("flags", U(8)), ("cpu", U(4))]),
    ("sched_entity", &[("sum_exec_runtime", U(8))]),
    (
        "sched_ext_entity",
        &[
            ("weight", U(4)),
            ("flags", U(4)),
            ("sticky_cpu", I(4)),
            ("selected_cpu", I(4)),
            ("runnable_at", U(8)),
            ("ddsp_dsq_id", U(8)),
            ("ddsp_enq_flags", U(8)),
            ("slice", U(8)),
            ("dsq_vtime", U(8)),
            ("disallow", U(1)),
        ],
    ),
    (
        "task_struct",
        &[
            ("thread_info", Struct("thread_info")),
            ("__state", U(4)),
            ("flags", U(4)),
            ("on_cpu", I(4)),
            ("on_rq", I(4)),
            ("recent_used_cpu", I(4)),
            ("wakee_flips", U(4)),
            ("prio", I(4)),
            ("static_prio", I(4)),
            ("normal_prio", I(4)),
            ("rt_priority", U(4)),
            ("se", Struct("sched_entity")),
            ("scx", Struct("sched_ext_entity")),
            ("policy", U(4)),
            ("nr_cpus_allowed", I(4)),
            ("cpus_ptr", Ptr),
            ("cpus_mask", Struct("cpumask")),
            ("migration_disabled", U(2)),
            ("mm", Ptr),
            ("pid", I(4)),
            ("tgid", I(4)),
            ("real_parent", Ptr),
            ("parent", Ptr),
            ("group_leader", Ptr),
            ("utime", U(8)),
            ("stime", U(8)),
            ("nvcsw", U(8)),
            ("nivcsw", U(8)),
            ("start_time", U(8)),
            ("cgroups", Ptr),
            ("comm", Chars(16)),
            ("thread_pid", Ptr),
            ("real_cred", Ptr),
            ("cred", Ptr),
            ("nsproxy", Ptr),
            ("signal", Ptr),
        ],
    ),
    ("scx_rq", &[("nr_running", U(4)), ("flags", U(4))]),
    (
        "rq",
        &[
            ("nr_running", U(4)),
            ("cpu", I(4)),
            ("curr", Ptr),
            ("idle", Ptr),
            ("clock", U(8)),
            ("clock_task", U(8)),
            ("clock_pelt", U(8)),
            ("scx", Struct("scx_rq")),
        ],
    ),
    ("css_set", &[("dfl_cgrp", Ptr)]),
    ("cgroup_subsys_state", &[("cgroup", Ptr), ("parent", Ptr)]),
    ("kernfs_node", &[("id", U(8)), ("name", Ptr)]),
    (
        "cgroup",
        &[("self", Struct("cgroup_subsys_state")), ("level", I(4)), ("kn", Ptr), ("dom_cgrp", Ptr)],
    ),
    ("scx_init_task_args", &[("fork", U(1)), ("cgroup", Ptr)]),
    ("scx_exit_task_args", &[("cancelled", U(1))]),
    ("scx_cpu_acquire_args", &[]),
    ("scx_cpu_release_args", &[("reason", U(4)), ("task", Ptr)]),
    (
        "scx_cgroup_init_args",
        &[("weight", U(4)), ("bw_period_us", U(8)), ("bw_quota_us", U(8)), ("bw_burst_us", U(8))],
    ),
    (
        "scx_exit_info",
        &[("kind", I(4)), ("exit_code", I(8)), ("reason", Ptr), ("msg", Ptr), ("dump", Ptr)],
    ),
    (
        "scx_dump_ctx",
        &[
            ("kind", I(4)),
            ("exit_code", I(8)),
            ("reason", Ptr),
            ("at_ns", U(8)),
            ("at_jiffies", U(8)),
        ],
    ),
];

/// `SCX_SLICE_DFL`: the default slice, ns.
pub const SLICE_DFL: u64 = 20_000_000;
/// `SCX_SLICE_INF`: an infinite slice.
pub const SLICE_INF: u64 = u64::MAX;
/// `SCX_DSQ_FLAG_BUILTIN`: the queue is built in.
pub const DSQ_BUILTIN: u64 = 1 << 63;
/// `SCX_DSQ_GLOBAL`.
pub const DSQ_GLOBAL: u64 = DSQ_BUILTIN | 1;
/// `SCX_DSQ_LOCAL`.
pub const DSQ_LOCAL: u64 = DSQ_BUILTIN | 2;
/// `SCX_DSQ_LOCAL_ON`.
pub const DSQ_LOCAL_ON: u64 = DSQ_BUILTIN | 1 << 62;
/// `SCX_ENQ_WAKEUP`.
pub const ENQ_WAKEUP: u64 = 1;
/// The update of the clock may be left out. Set in every activation and change of attributes.
pub const ENQ_NOCLOCK: u64 = 8;
/// A change of attributes: the task comes back as it went (`ENQUEUE_RESTORE`, `DEQUEUE_SAVE`).
pub const ENQ_RESTORE: u64 = 2;
/// A change of attributes may move the task (`ENQUEUE_MOVE`, `DEQUEUE_MOVE`).
pub const ENQ_MOVE: u64 = 4;
/// `SCX_ENQ_HEAD`.
pub const ENQ_HEAD: u64 = 0x10000;
/// `SCX_ENQ_CPU_SELECTED`.
pub const ENQ_CPU_SELECTED: u64 = 0x10_0000;
/// `SCX_ENQ_PREEMPT`.
pub const ENQ_PREEMPT: u64 = 1 << 32;
/// Linux 7.3: a new task is enqueued. (Read from a trace of 7.3.4, like the next two.)
pub const ENQ_INITIAL: u64 = 0x8_0000;
/// Linux 7.3: a task is dequeued for a change of its attributes.
pub const DEQ_SCHED_CHANGE: u64 = 1 << 33;
/// Linux 7.3: a task is enqueued again after a change of its attributes.
pub const ENQ_SCHED_CHANGE: u64 = 1 << 60;
/// `SCX_CPU_PREEMPT_RT`: a real-time task takes the CPU.
pub const CPU_PREEMPT_RT: u64 = 0;
/// `SCX_CPU_PREEMPT_DL`: a deadline task takes the CPU.
pub const CPU_PREEMPT_DL: u64 = 1;
/// `SCX_ENQ_REENQ`.
pub const ENQ_REENQ: u64 = 1 << 40;
/// `SCX_ENQ_LAST`.
pub const ENQ_LAST: u64 = 1 << 41;
/// `SCX_ENQ_DSQ_PRIQ`: set by the insertion by vtime.
pub const ENQ_DSQ_PRIQ: u64 = 1 << 57;
/// `SCX_DEQ_SLEEP`.
pub const DEQ_SLEEP: u64 = 1;
/// `SCX_WAKE_FORK`.
pub const WAKE_FORK: u64 = 4;
/// `SCX_WAKE_TTWU`.
pub const WAKE_TTWU: u64 = 8;
/// `SCX_WAKE_SYNC`.
pub const WAKE_SYNC: u64 = 16;
/// `SCX_KICK_IDLE`.
pub const KICK_IDLE: u64 = 1;
/// `SCX_KICK_PREEMPT`.
pub const KICK_PREEMPT: u64 = 2;
/// `SCX_OPS_KEEP_BUILTIN_IDLE`.
pub const OPS_KEEP_BUILTIN_IDLE: u64 = 1;
/// `SCX_OPS_ENQ_LAST`.
pub const OPS_ENQ_LAST: u64 = 2;
/// `SCX_OPS_SWITCH_PARTIAL`.
pub const OPS_SWITCH_PARTIAL: u64 = 8;
/// `SCX_OPS_ENQ_EXITING`.
pub const OPS_ENQ_EXITING: u64 = 4;
/// `SCX_OPS_BUILTIN_IDLE_PER_NODE`.
pub const OPS_IDLE_PER_NODE: u64 = 64;
/// `SCX_TASK_QUEUED` in `scx.flags`.
pub const TASK_QUEUED: u32 = 1;
/// `SCX_TASK_DEQD_FOR_SLEEP` in `scx.flags`.
pub const TASK_DEQD_FOR_SLEEP: u32 = 8;
/// `SCX_EXIT_UNREG_BPF`: the policy ended itself with `scx_bpf_exit`.
pub const EXIT_UNREG_BPF: u64 = 65;
/// `SCX_EXIT_UNREG_KERN`: the kernel unloaded the policy.
pub const EXIT_UNREG_KERN: u64 = 66;
/// `SCX_ECODE_ACT_RESTART`: the policy should be loaded again.
pub const ECODE_ACT_RESTART: u64 = 1 << 48;
/// `SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG`: a CPU went offline or online, and the policy
/// should be loaded again.
pub const ECODE_HOTPLUG: u64 = ECODE_ACT_RESTART | 1 << 32;
/// `SCX_EXIT_ERROR`: the class ended the policy.
pub const EXIT_ERROR: u64 = 1024;
/// `SCX_EXIT_ERROR_BPF`: the policy ended itself with `scx_bpf_error`.
pub const EXIT_ERROR_BPF: u64 = 1025;
/// `SCX_EXIT_ERROR_STALL`: the watchdog ended the policy.
pub const EXIT_ERROR_STALL: u64 = 1026;

/// The enumerators that policies use, with their values.
static ENUMERATORS: &[(&str, u64)] = &[
    ("SCX_SLICE_DFL", SLICE_DFL),
    ("SCX_SLICE_INF", SLICE_INF),
    ("SCX_DSQ_FLAG_BUILTIN", DSQ_BUILTIN),
    ("SCX_DSQ_FLAG_LOCAL_ON", 1 << 62),
    ("SCX_DSQ_INVALID", DSQ_BUILTIN),
    ("SCX_DSQ_GLOBAL", DSQ_GLOBAL),
    ("SCX_DSQ_LOCAL", DSQ_LOCAL),
    ("SCX_DSQ_LOCAL_ON", DSQ_LOCAL_ON),
    ("SCX_DSQ_LOCAL_CPU_MASK", 0xffff_ffff),
    ("SCX_ENQ_WAKEUP", ENQ_WAKEUP),
    ("SCX_ENQ_HEAD", ENQ_HEAD),
    ("SCX_ENQ_CPU_SELECTED", ENQ_CPU_SELECTED),
    ("SCX_ENQ_PREEMPT", ENQ_PREEMPT),
    ("SCX_ENQ_REENQ", ENQ_REENQ),
    ("SCX_CPU_PREEMPT_RT", CPU_PREEMPT_RT),
    ("SCX_CPU_PREEMPT_DL", CPU_PREEMPT_DL),
    ("SCX_CPU_PREEMPT_STOP", 2),
    ("SCX_CPU_PREEMPT_UNKNOWN", 3),
    ("SCX_ENQ_LAST", ENQ_LAST),
    ("SCX_ENQ_CLEAR_OPSS", 1 << 56),
    ("SCX_ENQ_DSQ_PRIQ", ENQ_DSQ_PRIQ),
    ("SCX_DEQ_SLEEP", DEQ_SLEEP),
    ("SCX_DEQ_CORE_SCHED_EXEC", 1 << 32),
    ("SCX_WAKE_FORK", WAKE_FORK),
    ("SCX_WAKE_TTWU", WAKE_TTWU),
    ("SCX_WAKE_SYNC", WAKE_SYNC),
    ("SCX_KICK_IDLE", KICK_IDLE),
    ("SCX_KICK_PREEMPT", KICK_PREEMPT),
    ("SCX_KICK_WAIT", 4),
    ("SCX_PICK_IDLE_CORE", 1),
    ("SCX_PICK_IDLE_IN_NODE", 2),
    ("SCX_OPS_KEEP_BUILTIN_IDLE", OPS_KEEP_BUILTIN_IDLE),
    ("SCX_OPS_ENQ_LAST", OPS_ENQ_LAST),
    ("SCX_OPS_ENQ_EXITING", OPS_ENQ_EXITING),
    ("SCX_OPS_SWITCH_PARTIAL", OPS_SWITCH_PARTIAL),
    ("SCX_OPS_ENQ_MIGRATION_DISABLED", 16),
    ("SCX_OPS_ALLOW_QUEUED_WAKEUP", 32),
    ("SCX_OPS_BUILTIN_IDLE_PER_NODE", OPS_IDLE_PER_NODE),
    ("SCX_TASK_QUEUED", TASK_QUEUED as u64),
    ("SCX_TASK_DEQD_FOR_SLEEP", TASK_DEQD_FOR_SLEEP as u64),
    ("SCX_EXIT_NONE", 0),
    ("SCX_EXIT_UNREG", 64),
    ("SCX_EXIT_UNREG_BPF", EXIT_UNREG_BPF),
    ("SCX_EXIT_UNREG_KERN", EXIT_UNREG_KERN),
    ("SCX_EXIT_ERROR", EXIT_ERROR),
    ("SCX_EXIT_ERROR_BPF", EXIT_ERROR_BPF),
    ("SCX_EXIT_ERROR_STALL", EXIT_ERROR_STALL),
    ("SCX_ECODE_RSN_HOTPLUG", 1 << 32),
    ("SCX_ECODE_ACT_RESTART", 1 << 48),
    ("SCX_CPUPERF_ONE", 1024),
];

/// Returns the value of an enumerator. `None` if the emulated kernel has none with this name.
pub fn enumerator(name: &str) -> Option<u64> {
    ENUMERATORS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// A member with its offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: MemberType,
    /// Its offset, bytes.
    pub offset: u32,
}

/// The layout of a structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Its size, bytes.
    pub size: u32,
    /// Its members.
    pub fields: Vec<Field>,
}

/// The kernel's types, laid out for a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelTypes {
    structs: BTreeMap<&'static str, Layout>,
    /// Number of 64-bit words of a mask.
    mask_words: u32,
}

impl KernelTypes {
    /// Lays out the types for a machine of `cpus` CPUs.
    pub fn new(cpus: u32) -> KernelTypes {
        let mut types =
            KernelTypes { structs: BTreeMap::new(), mask_words: cpus.max(1).div_ceil(64) };
        for (name, _) in STRUCTS {
            types.lay_out(name);
        }
        types
    }

    /// Returns the number of 64-bit words of a mask.
    pub fn mask_words(&self) -> u32 {
        self.mask_words
    }

    /// Lays out a structure, after those nested in it. Returns its size.
    fn lay_out(&mut self, name: &'static str) -> u32 {
        if let Some(layout) = self.structs.get(name) {
            return layout.size;
        }
        let members = STRUCTS.iter().find(|(known, _)| *known == name).map_or(&[][..], |row| row.1);
        let (mut at, mut fields) = (0_u32, vec![]);
        for &(name, ty) in members {
            let (size, align) = match ty {
                Struct(inner) => (self.lay_out(inner), 8),
                Chars(len) => (len, 8),
                ty => (self.size(ty), self.size(ty).min(8)),
            };
            let offset = at.next_multiple_of(align);
            fields.push(Field { name, ty, offset });
            at = offset + size;
        }
        let size = at.next_multiple_of(8);
        self.structs.insert(name, Layout { size, fields });
        size
    }

    /// Returns the size of a type, bytes.
    pub fn size(&self, ty: MemberType) -> u32 {
        match ty {
            U(bytes) | I(bytes) | Chars(bytes) => bytes,
            Ptr => 8,
            Mask => 8 * self.mask_words,
            Struct(name) => self.structs.get(name).map_or(0, |layout| layout.size),
        }
    }

    /// Returns a structure by its name.
    pub fn structure(&self, name: &str) -> Option<&Layout> {
        self.structs.get(name)
    }

    /// Returns a structure by its name, with the name's entry in the tables.
    pub(crate) fn structure_with_name(&self, name: &str) -> Option<(&&'static str, &Layout)> {
        self.structs.get_key_value(name)
    }

    /// Returns a member of a structure.
    pub fn field(&self, structure: &str, name: &str) -> Option<Field> {
        let layout = self.structs.get(structure)?;
        layout.fields.iter().find(|field| field.name == name).copied()
    }

    /// Returns the offset of a member that is known to exist. Nested members are separated by dots:
    /// `scx.slice`.
    ///
    /// # Panics
    /// If the tables above lack it. That is a bug of this crate, which its tests would show.
    pub(crate) fn offset(&self, structure: &'static str, path: &str) -> u32 {
        let (mut within, mut offset) = (structure, 0);
        for name in path.split('.') {
            let Some(field) = self.field(within, name) else {
                panic!("the tables lack {structure}.{path}");
            };
            offset += field.offset;
            if let Struct(inner) = field.ty {
                within = inner;
            }
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_do_not_overlap_and_are_aligned() {
        for cpus in [1, 64, 65, 4096] {
            let types = KernelTypes::new(cpus);
            for (name, _) in STRUCTS {
                let layout = types.structure(name).expect("the structure is laid out");
                let mut end = 0;
                for field in &layout.fields {
                    assert!(field.offset >= end, "{name}.{} overlaps", field.name);
                    let size = types.size(field.ty);
                    assert!(size > 0, "{name}.{} has no size", field.name);
                    assert_eq!(field.offset % size.next_power_of_two().min(8), 0);
                    end = field.offset + size;
                }
                assert!(end <= layout.size);
            }
        }
    }

    #[test]
    fn masks_are_as_wide_as_the_machine() {
        assert_eq!(KernelTypes::new(64).size(Struct("cpumask")), 8);
        assert_eq!(KernelTypes::new(65).size(Struct("bpf_cpumask")), 16);
        assert_eq!(KernelTypes::new(4096).size(Struct("cpumask")), 512);
    }

    #[test]
    fn paths_lead_into_inner_structures() {
        let types = KernelTypes::new(4);
        let scx = types.field("task_struct", "scx").expect("the member exists").offset;
        let slice = types.field("sched_ext_entity", "slice").expect("the member exists").offset;
        assert_eq!(types.offset("task_struct", "scx.slice"), scx + slice);
        assert_eq!(types.field("task_struct", "nonsense"), None);
    }

    #[test]
    fn enumerators_have_the_values_of_the_specification() {
        assert_eq!(enumerator("SCX_DSQ_LOCAL"), Some((1 << 63) + 2));
        assert_eq!(enumerator("SCX_DSQ_LOCAL_ON"), Some((1 << 63) + (1 << 62)));
        assert_eq!(enumerator("SCX_SLICE_DFL"), Some(20_000_000));
        assert_eq!(enumerator("SCX_ENQ_LAST"), Some(1 << 41));
        assert_eq!(enumerator("SCX_NONSENSE"), None);
    }
}
