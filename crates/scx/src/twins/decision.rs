//! Records that a twin writes at each event, as its ring buffer holds them.

use std::fmt;

/// Name of the map that records are written to.
pub const MAP: &str = "decisions";

/// Setting with which a policy writes them.
pub const SETTING: &str = "log_decisions";

/// Size of a record, bytes.
pub const LEN: usize = 80;

/// Maximum number of CPUs of a log: sets of CPUs are words of 64 bits.
pub const CPUS_MAX: u32 = 64;

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EventKind {
    /// The policy was loaded.
    Init,
    /// A task became known to the policy.
    InitTask,
    /// A task woke up or started: it waits for a CPU.
    Wake,
    /// A task returned to the queue after it was put away or changed.
    Enqueue,
    /// A tick found a task running.
    Tick,
    /// A running task went to sleep.
    Block,
    /// A running task yielded.
    Yield,
    /// A task's nice value changed.
    Nice,
    /// The decision which task runs next on the CPU.
    Pick,
    /// A task starts to run or continues.
    Run,
    /// A task left the policy: it ended, or became a real-time task.
    Leave,
    /// A task no longer exists.
    Exit,
}

impl EventKind {
    /// All kinds, in the order of their numbers in records.
    pub const ALL: [EventKind; 12] = [
        EventKind::Init,
        EventKind::InitTask,
        EventKind::Wake,
        EventKind::Enqueue,
        EventKind::Tick,
        EventKind::Block,
        EventKind::Yield,
        EventKind::Nice,
        EventKind::Pick,
        EventKind::Run,
        EventKind::Leave,
        EventKind::Exit,
    ];

    /// Returns its word in a log.
    pub const fn name(self) -> &'static str {
        match self {
            EventKind::Init => "init",
            EventKind::InitTask => "init_task",
            EventKind::Wake => "wake",
            EventKind::Enqueue => "enqueue",
            EventKind::Tick => "tick",
            EventKind::Block => "block",
            EventKind::Yield => "yield",
            EventKind::Nice => "nice",
            EventKind::Pick => "pick",
            EventKind::Run => "run",
            EventKind::Leave => "leave",
            EventKind::Exit => "exit",
        }
    }

    pub(super) fn find(name: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|event| event.name() == name)
    }
}

/// State of a task at a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskState {
    /// Its nice value, -20 to 19.
    pub nice: i32,
    /// Its scheduling policy, as numbered by `sched_setscheduler(2)`.
    pub policy: u32,
    /// Its address space. 0: none, a kernel thread.
    pub mm: u64,
    /// Its affinity, one bit per CPU.
    pub allowed: u64,
    /// The CPU that it belongs to.
    pub on: u32,
}

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Its number. A gap means lost records.
    pub number: u64,
    /// Time as the policy saw it, ns.
    pub at_ns: u64,
    /// Ticks as the policy saw them.
    pub jiffies: u64,
    /// The acting CPU.
    pub cpu: u32,
    /// Kind of the event.
    pub event: EventKind,
    /// The process that it refers to. For a pick: the process that runs next; 0: none. (An init
    /// from a ring buffer has the number of CPUs here. The
    /// [`Collector`](super::collector::Collector) moves it to the header of the log.)
    pub pid: u32,
    /// For the birth of a task: its parent, if it inherits. For a pick: the process that ran
    /// before. Else 0. (For an init from a ring buffer: ticks per second.)
    pub other: u32,
    /// CPUs that the policy asked to reschedule, one bit each.
    pub asks: u64,
    /// The task. `None` if the record refers to no task, or does not describe it (a pick).
    pub task: Option<TaskState>,
}

/// Reads consecutive numbers of a record.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    fn i32(&mut self) -> Option<i32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_le_bytes(*first))
    }

    fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.i32()?).ok()
    }
}

impl Decision {
    /// Reads a record of the ring buffer. `None`: the bytes are not a record.
    pub fn from_bytes(bytes: &[u8]) -> Option<Decision> {
        if bytes.len() != LEN {
            return None;
        }
        let mut bytes = Bytes(bytes);
        let [number, at_ns, jiffies] = [bytes.u64()?, bytes.u64()?, bytes.u64()?];
        let [mm, allowed, asks] = [bytes.u64()?, bytes.u64()?, bytes.u64()?];
        let event = *EventKind::ALL.get(bytes.u32()? as usize)?;
        let [cpu, pid, other] = [bytes.u32()?, bytes.u32()?, bytes.u32()?];
        let (nice, policy, on) = (bytes.i32()?, bytes.u32()?, bytes.u32()?);
        let has_task = !matches!(event, EventKind::Init | EventKind::Pick);
        let task = has_task.then_some(TaskState { nice, policy, mm, allowed, on });
        let decision = Decision { number, at_ns, jiffies, cpu, event, pid, other, asks, task };
        decision.check(CPUS_MAX).ok().map(|()| decision)
    }

    /// Checks that its numbers are possible.
    pub(super) fn check(&self, cpus: u32) -> Result<(), String> {
        let none_beyond = |set: u64| cpus >= 64 || set >> cpus == 0;
        if self.cpu >= cpus {
            return Err(format!("CPU {}: there are CPUs 0 to {}", self.cpu, cpus - 1));
        }
        if !none_beyond(self.asks) {
            return Err(format!("asks={:#x}: there are CPUs 0 to {}", self.asks, cpus - 1));
        }
        let Some(task) = self.task else { return Ok(()) };
        if !(-20..=19).contains(&task.nice) {
            return Err(format!("nice={}: it is -20 to 19", task.nice));
        }
        if task.on >= cpus {
            return Err(format!("on={}: there are CPUs 0 to {}", task.on, cpus - 1));
        }
        if self.pid == 0 {
            return Err(format!("{}: it refers to a task, whose pid is not 0", self.event.name()));
        }
        // A kernel also sets bits of CPUs that do not exist.
        if cpus < 64 && task.allowed & ((1 << cpus) - 1) == 0 || task.allowed == 0 {
            return Err(format!("allowed={:#x}: it must contain one of the CPUs", task.allowed));
        }
        Ok(())
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { number, at_ns, jiffies, cpu, pid, other, asks, .. } = self;
        write!(f, "{number} {at_ns} {jiffies} {cpu} {} {pid}", self.event.name())?;
        if let Some(TaskState { nice, policy, mm, allowed, on }) = self.task {
            write!(f, " nice={nice} policy={policy} mm={mm} allowed={allowed:#x} on={on}")?;
        }
        if *other != 0 {
            write!(
                f,
                " {}={other}",
                if self.event == EventKind::Pick { "prev" } else { "parent" }
            )?;
        }
        if *asks != 0 {
            write!(f, " asks={asks:#x}")?;
        }
        Ok(())
    }
}

/// Reads a record from a ring buffer's entry in the laboratory's log
/// ([`Entry::text`](crate::log::Entry)). `None` if the entry belongs to another ring buffer.
pub fn from_ring(text: &str) -> Option<Decision> {
    let digits = text.strip_prefix(MAP)?.strip_prefix(": ")?.rsplit(' ').next()?;
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    Decision::from_bytes(&bytes?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twins::collector::Spaces;

    #[test]
    fn records_are_read_from_bytes() {
        let mut bytes = vec![0; LEN];
        for (at, value) in [(0, 12_u64), (8, 5000), (16, 70), (24, 0xffff), (32, 3), (40, 1)] {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        for (at, value) in [(48, 2_i32), (52, 1), (56, 44), (60, 43), (64, -3), (72, 1)] {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let digits = crate::format::hex_digits(&bytes);
        let decision =
            from_ring(&format!("decisions: {LEN} bytes {digits}")).expect("the bytes are a record");
        assert_eq!(Some(decision), Decision::from_bytes(&bytes));
        let decision = Spaces::default().number(decision);
        let expected = "12 5000 70 1 wake 44 nice=-3 policy=0 mm=1 allowed=0x3 on=1 parent=43 \
                        asks=0x1";
        assert_eq!(decision.to_string(), expected);
        assert_eq!(Decision::from_bytes(&bytes[1..]), None, "too short");
        bytes[48] = 12;
        assert_eq!(Decision::from_bytes(&bytes), None, "an unknown event");
        assert_eq!(from_ring("other: 80 bytes 00"), None);
    }
}
