//! Keys of the language, and the kinds of events.

/// Meaning of a key in a task or phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// One of [`TASK`].
    Task,
    /// `loop`, which tasks and phases have.
    Loop,
    /// One of [`PROPERTIES`].
    Property,
    /// An event.
    Event(Kind),
    /// An unknown key.
    Unknown,
}

/// The kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Run,
    Runtime,
    Sleep,
    Timer,
    Lock,
    Unlock,
    Wait,
    Signal,
    Broad,
    Sync,
    Barrier,
    Suspend,
    Resume,
    ResumeSync,
    SemPost,
    SemWait,
    Yield,
    Fork,
    Thread,
    Exec,
    Mem,
    MemRun,
    IoRun,
}

/// Sections of the file.
pub const SECTIONS: [&str; 3] = ["tasks", "global", "resources"];

/// Keys that tasks have and phases do not.
pub const TASK: [&str; 4] = ["instance", "delay", "session", "phases"];

/// Keys that tasks and phases may have.
pub const PROPERTIES: [&str; 12] = [
    "policy",
    "priority",
    "dl-runtime",
    "dl-deadline",
    "dl-period",
    "slice",
    "clock_read",
    "cpus",
    "nodes_membind",
    "util_min",
    "util_max",
    "taskgroup",
];

/// Prefixes of events' keys. If several fit, the longest counts.
pub const EVENTS: [(&str, Kind); 23] = [
    ("run", Kind::Run),
    ("runtime", Kind::Runtime),
    ("sleep", Kind::Sleep),
    ("timer", Kind::Timer),
    ("lock", Kind::Lock),
    ("unlock", Kind::Unlock),
    ("wait", Kind::Wait),
    ("signal", Kind::Signal),
    ("broad", Kind::Broad),
    ("sync", Kind::Sync),
    ("barrier", Kind::Barrier),
    ("suspend", Kind::Suspend),
    ("resume", Kind::Resume),
    ("resume_sync", Kind::ResumeSync),
    ("sem_post", Kind::SemPost),
    ("sem_wait", Kind::SemWait),
    ("yield", Kind::Yield),
    ("fork", Kind::Fork),
    ("thread", Kind::Thread),
    ("exec", Kind::Exec),
    ("mem", Kind::Mem),
    ("memrun", Kind::MemRun),
    ("iorun", Kind::IoRun),
];

/// Keys of `global` that have an effect here.
pub const GLOBAL: [&str; 5] =
    ["duration", "default_policy", "calibration", "pi_enabled", "cumulative_slack"];

/// Keys of `global` that have an effect only on a real machine.
pub const GLOBAL_CARRIED: [&str; 9] = [
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    // A key of the first version of rt-app. Current versions ignore it, but files still contain it.
    "frag",
];

/// Returns the meaning of `key` in a task or phase.
pub fn classify(key: &str) -> Key {
    if key == "loop" {
        return Key::Loop;
    }
    if TASK.contains(&key) {
        return Key::Task;
    }
    if PROPERTIES.contains(&key) {
        return Key::Property;
    }
    EVENTS
        .iter()
        .filter(|(prefix, _)| key.starts_with(prefix))
        .max_by_key(|(prefix, _)| prefix.len())
        .map_or(Key::Unknown, |&(_, kind)| Key::Event(kind))
}

/// Returns all keys that may have been meant by an unknown key of a task (`phase` false) or phase.
pub fn candidates(phase: bool) -> impl Iterator<Item = &'static str> {
    TASK.into_iter()
        .filter(move |_| !phase)
        .chain(["loop"])
        .chain(PROPERTIES)
        .chain(EVENTS.map(|(prefix, _)| prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins_and_properties_are_exact() {
        for (key, expected) in [
            ("run", Key::Event(Kind::Run)),
            ("run_big", Key::Event(Kind::Run)),
            ("runtime", Key::Event(Kind::Runtime)),
            ("runtime7", Key::Event(Kind::Runtime)),
            ("mem", Key::Event(Kind::Mem)),
            ("memory", Key::Event(Kind::Mem)),
            ("memrun1", Key::Event(Kind::MemRun)),
            ("resume0", Key::Event(Kind::Resume)),
            ("resume_sync0", Key::Event(Kind::ResumeSync)),
            ("sem_wait", Key::Event(Kind::SemWait)),
            ("broadcast", Key::Event(Kind::Broad)),
            ("lock_pages", Key::Event(Kind::Lock)),
            ("priority", Key::Property),
            ("priority0", Key::Unknown),
            ("loop", Key::Loop),
            ("loop0", Key::Unknown),
            ("instance", Key::Task),
            ("rum", Key::Unknown),
            ("", Key::Unknown),
        ] {
            assert_eq!(classify(key), expected, "{key}");
        }
    }
}
