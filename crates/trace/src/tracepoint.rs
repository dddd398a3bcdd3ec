//! The kernel's scheduler tracepoints, the common ground of runs and recorded traces: [`Record`],
//! and its consumers: [`Sink`].

use schedlab_core::release;

/// Task as a tracepoint shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskRef<'a> {
    /// Name, as the kernel keeps it.
    pub comm: &'a str,
    /// Number (the kernel's tid); 0 is the idle task of a CPU.
    pub pid: u32,
    /// Priority on the kernel's scale: -1 deadline, 0 to 99 real-time, 100 to 139 nice -20 to 19.
    pub prio: i32,
}

impl TaskRef<'static> {
    /// The idle task.
    pub const IDLE: TaskRef<'static> = TaskRef { comm: "swapper", pid: 0, prio: 120 };
}

/// Kernels with the same numbers of task states.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Era {
    /// 2.6.32 to 3.13.
    Before3_14,
    /// 3.14 to 4.1.
    Since3_14,
    /// 4.2 to 4.7.
    Since4_2,
    /// 4.8 to 4.13.
    Since4_8,
    /// 4.14 and later.
    #[default]
    Since4_14,
}

impl Era {
    /// All eras, in the order of time.
    pub const ALL: [Era; 5] =
        [Era::Before3_14, Era::Since3_14, Era::Since4_2, Era::Since4_8, Era::Since4_14];

    /// Returns the releases of the era, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Era::Before3_14 => "Linux before 3.14",
            Era::Since3_14 => "Linux 3.14 to 4.1",
            Era::Since4_2 => "Linux 4.2 to 4.7",
            Era::Since4_8 => "Linux 4.8 to 4.13",
            Era::Since4_14 => "Linux 4.14 and later",
        }
    }

    /// Returns the era of a kernel release, e.g. `6.18.0-1-amd64`. `None`: the text is not a
    /// release of Linux.
    pub fn of_release(release: &str) -> Option<Era> {
        let mut numbers = release::numbers(release);
        Some(match (numbers.next()?, numbers.next()?) {
            (4, 14..) | (5.., _) => Era::Since4_14,
            (4, 8..) => Era::Since4_8,
            (4, 2..) => Era::Since4_2,
            (3, 14..) | (4, _) => Era::Since3_14,
            _ => Era::Before3_14,
        })
    }
}

/// State in which a task leaves its CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// `R`: still runnable.
    #[default]
    Runnable,
    /// `R+`: still runnable, preempted in the kernel.
    Preempted,
    /// `S`: a sleep that a signal may end.
    Interruptible,
    /// `D`: an uninterruptible sleep.
    Uninterruptible,
    /// `T`: stopped.
    Stopped,
    /// `t`: stopped by a tracer.
    Traced,
    /// `X`: ended, and no parent waits for it.
    Dead,
    /// `Z`: ended.
    Zombie,
    /// `P`: parked.
    Parked,
    /// `I`: an idle kernel thread.
    Idle,
}

impl State {
    const ALL: [(State, u16, &'static str); 10] = [
        (State::Runnable, 0, "R"),
        (State::Preempted, 0x100, "R+"),
        (State::Interruptible, 1, "S"),
        (State::Uninterruptible, 2, "D"),
        (State::Stopped, 4, "T"),
        (State::Traced, 8, "t"),
        (State::Dead, 0x10, "X"),
        (State::Zombie, 0x20, "Z"),
        (State::Parked, 0x40, "P"),
        (State::Idle, 0x80, "I"),
    ];

    fn row(self) -> (State, u16, &'static str) {
        State::ALL.into_iter().find(|row| row.0 == self).unwrap_or(State::ALL[0])
    }

    /// Returns the letters of `prev_state` since 4.14.
    pub fn letters(self) -> &'static str {
        self.row().2
    }

    /// Returns the number in `prev_state` since 4.14.
    pub fn number(self) -> u16 {
        self.row().1
    }

    /// Parses the letters of any release. A combination counts as its first letter; letters without
    /// a later counterpart (`W`, `K`, `N`, `x`) are sleeps or an end.
    pub fn of_letters(letters: &str) -> Option<State> {
        let known = State::ALL.into_iter().find(|row| row.2 == letters);
        known.map(|row| row.0).or_else(|| match letters.as_bytes().first()? {
            b'R' => Some(State::Preempted),
            b'S' | b'W' => Some(State::Interruptible),
            b'D' | b'K' | b'N' => Some(State::Uninterruptible),
            b'T' => Some(State::Stopped),
            b't' => Some(State::Traced),
            b'X' | b'x' => Some(State::Dead),
            b'Z' => Some(State::Zombie),
            b'P' => Some(State::Parked),
            b'I' => Some(State::Idle),
            _ => None,
        })
    }

    /// Returns the state for a number in `prev_state` of 4.14 and later.
    pub fn of_number(number: u64) -> Option<State> {
        let lowest = if number == 0 { 0 } else { 1 << number.trailing_zeros().min(15) };
        State::ALL.into_iter().find(|row| u64::from(row.1) == lowest).map(|row| row.0)
    }

    /// Returns the state for a number in `prev_state` of a kernel of that era.
    pub fn of_number_in(era: Era, number: u64) -> Option<State> {
        let lowest = number & number.wrapping_neg();
        match era {
            Era::Since4_14 => State::of_number(number),
            _ if number == 0 => Some(State::Runnable),
            // A task leaves its CPU as preempted: the bit above all states of its era.
            Era::Since4_8 if number & 0x1800 != 0 => Some(State::Preempted),
            Era::Since4_2 if number & 0x800 != 0 => Some(State::Preempted),
            Era::Since3_14 if number & 0x400 != 0 => Some(State::Preempted),
            // A sleep that does not count for the load.
            Era::Since4_2 | Era::Since4_8 if number & !0x2 == 0x400 => Some(State::Idle),
            _ => match (lowest, era) {
                (1 | 0x100, _) => Some(State::Interruptible),
                (2 | 0x80, _) => Some(State::Uninterruptible),
                (4, _) => Some(State::Stopped),
                (8, _) => Some(State::Traced),
                (0x10, Era::Since4_2 | Era::Since4_8)
                | (0x20, Era::Before3_14 | Era::Since3_14) => Some(State::Dead),
                (0x20, Era::Since4_2 | Era::Since4_8) | (0x10, _) => Some(State::Zombie),
                (0x40, _) => Some(State::Dead),
                (0x200, _) => Some(State::Parked),
                _ => None,
            },
        }
    }

    /// Whether the task stays on its runqueue.
    pub fn is_runnable(self) -> bool {
        matches!(self, State::Runnable | State::Preempted)
    }

    /// Whether the task has ended.
    pub fn is_gone(self) -> bool {
        matches!(self, State::Dead | State::Zombie)
    }
}

/// Contents of a tracepoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tracepoint<'a> {
    /// `sched_switch`.
    Switch {
        /// Previous task.
        prev: TaskRef<'a>,
        /// State in which it leaves.
        prev_state: State,
        /// Next task.
        next: TaskRef<'a>,
    },
    /// `sched_waking`: a wakeup begins, in the context of its waker.
    Waking {
        /// Task that is woken.
        task: TaskRef<'a>,
        /// CPU on which it last ran. `None`: the trace does not state it.
        target_cpu: Option<u32>,
    },
    /// `sched_wakeup`: the task has been enqueued.
    Wakeup {
        /// Task that was woken.
        task: TaskRef<'a>,
        /// CPU of the queue. `None`: the trace does not state it.
        target_cpu: Option<u32>,
    },
    /// `sched_wakeup_new`: a new task has been enqueued.
    WakeupNew {
        /// The new task.
        task: TaskRef<'a>,
        /// CPU of the queue. `None`: the trace does not state it.
        target_cpu: Option<u32>,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// Task that is migrated.
        task: TaskRef<'a>,
        /// CPU of the old queue.
        orig_cpu: u32,
        /// CPU of the new queue.
        dest_cpu: u32,
    },
    /// `sched_process_fork`.
    Fork {
        /// Parent.
        parent: TaskRef<'a>,
        /// Child.
        child: TaskRef<'a>,
    },
    /// `sched_process_exec`.
    Exec {
        /// Path of the program.
        filename: &'a str,
        /// Pid of the task.
        pid: u32,
    },
    /// `sched_process_exit`.
    Exit {
        /// Task that exits.
        task: TaskRef<'a>,
    },
    /// `sched_stat_runtime`: time that the scheduler charges to a task. A run has no such events.
    Runtime {
        /// Task that is charged.
        task: TaskRef<'a>,
        /// Time, ns.
        runtime_ns: u64,
    },
}

impl Tracepoint<'_> {
    /// Returns the kernel's name of the tracepoint.
    pub fn name(&self) -> &'static str {
        match self {
            Tracepoint::Switch { .. } => "sched_switch",
            Tracepoint::Waking { .. } => "sched_waking",
            Tracepoint::Wakeup { .. } => "sched_wakeup",
            Tracepoint::WakeupNew { .. } => "sched_wakeup_new",
            Tracepoint::Migrate { .. } => "sched_migrate_task",
            Tracepoint::Fork { .. } => "sched_process_fork",
            Tracepoint::Exec { .. } => "sched_process_exec",
            Tracepoint::Exit { .. } => "sched_process_exit",
            Tracepoint::Runtime { .. } => "sched_stat_runtime",
        }
    }
}

/// Context in which a tracepoint was hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Context {
    /// Context of the current task.
    Task,
    /// Context of a soft interrupt.
    Soft,
    /// Context of a hard or non-maskable interrupt.
    Hard,
    /// The trace does not record it.
    #[default]
    Unknown,
}

impl Context {
    /// Returns the context for the third of ftrace's flags.
    pub fn of_flag(flag: u8) -> Context {
        match flag {
            b'.' => Context::Task,
            b's' => Context::Soft,
            b'h' | b'H' | b'z' | b'Z' => Context::Hard,
            _ => Context::Unknown,
        }
    }

    /// Returns the third of ftrace's flags.
    pub fn flag(self) -> char {
        match self {
            Context::Task | Context::Unknown => '.',
            Context::Soft => 's',
            Context::Hard => 'h',
        }
    }

    /// Returns the context for `common_flags` of a binary record.
    pub fn of_common_flags(flags: u8) -> Context {
        if flags & 0x08 != 0 || flags & 0x40 != 0 {
            Context::Hard
        } else if flags & 0x10 != 0 {
            Context::Soft
        } else {
            Context::Task
        }
    }

    /// Returns the part of `common_flags` of a binary record that describes the context.
    pub fn common_flags(self) -> u8 {
        match self {
            Context::Task | Context::Unknown => 0,
            Context::Soft => 0x10,
            Context::Hard => 0x08,
        }
    }

    /// Whether the context is certainly an interrupt, so that the current task is not involved.
    pub fn is_interrupt(self) -> bool {
        matches!(self, Context::Soft | Context::Hard)
    }
}

/// Tracepoint that was hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Time, ns.
    pub at_ns: u64,
    /// CPU.
    pub cpu: u32,
    /// Current task of the CPU.
    pub current: TaskRef<'a>,
    /// Context.
    pub context: Context,
    /// Contents.
    pub tracepoint: Tracepoint<'a>,
}

/// Properties of a task at its first appearance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewTask<'a> {
    /// Number.
    pub pid: u32,
    /// Process: number of the first task with the same address space.
    pub tgid: u32,
    /// Parent; 0: none.
    pub parent: u32,
    /// Full name.
    pub name: &'a str,
    /// Number of the task group; 0: the root.
    pub group: u32,
}

/// Account by which a task's lag is measured: the CPU time that is due to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LagAccount {
    /// Account of the ideal machine, which serves all runnable tasks simultaneously in proportion
    /// to their weights: the same measure for every scheduler.
    Fluid,
    /// Account of the scheduler itself, in its own virtual time.
    Scheduler,
}

impl LagAccount {
    /// Both accounts.
    pub const ALL: [LagAccount; 2] = [LagAccount::Fluid, LagAccount::Scheduler];

    /// Returns the word used in names of counters.
    pub fn name(self) -> &'static str {
        match self {
            LagAccount::Fluid => "fluid schedule",
            LagAccount::Scheduler => "scheduler's own",
        }
    }
}

/// Consumer of tracepoints, in the order of time. Methods have defaults that do nothing, except
/// [`Sink::record`].
pub trait Sink {
    /// A task appears for the first time; its records follow.
    fn task(&mut self, at_ns: u64, task: &NewTask<'_>) {
        let _ = (at_ns, task);
    }

    /// A tracepoint is hit.
    fn record(&mut self, record: &Record<'_>);

    /// The number of runnable tasks on `cpu` changes, including the running one.
    fn queue_length(&mut self, at_ns: u64, cpu: u32, tasks: u32) {
        let _ = (at_ns, cpu, tasks);
    }

    /// Reports the CPU time that is due to `task` (positive) or that it has received in excess
    /// (negative), ns, on the given account.
    fn lag(&mut self, at_ns: u64, task: TaskRef<'_>, account: LagAccount, lag_ns: i64) {
        let _ = (at_ns, task, account, lag_ns);
    }

    /// `pid` moves to another task group.
    fn group(&mut self, at_ns: u64, pid: u32, group: u32) {
        let _ = (at_ns, pid, group);
    }

    /// Events of `cpu` (`None`: of some CPU) were lost before this time; `events` is their number,
    /// if known.
    fn lost(&mut self, at_ns: u64, cpu: Option<u32>, events: Option<u64>) {
        let _ = (at_ns, cpu, events);
    }

    /// `cpu` goes online or offline. A run reports this at time 0 for every CPU, so that CPUs that
    /// idle from the beginning are known. A trace does not.
    fn online(&mut self, at_ns: u64, cpu: u32, online: bool) {
        let _ = (at_ns, cpu, online);
    }

    /// The run is over. The remaining switches are to the idle task and only end what still runs;
    /// the scheduler made none of them.
    fn closing(&mut self, at_ns: u64) {
        let _ = at_ns;
    }

    /// The trace is over.
    fn finish(&mut self, at_ns: u64) {
        let _ = at_ns;
    }
}

impl Sink for () {
    fn record(&mut self, _record: &Record<'_>) {}
}

impl<A: Sink, B: Sink> Sink for (A, B) {
    fn task(&mut self, at_ns: u64, task: &NewTask<'_>) {
        self.0.task(at_ns, task);
        self.1.task(at_ns, task);
    }

    fn record(&mut self, record: &Record<'_>) {
        self.0.record(record);
        self.1.record(record);
    }

    fn queue_length(&mut self, at_ns: u64, cpu: u32, tasks: u32) {
        self.0.queue_length(at_ns, cpu, tasks);
        self.1.queue_length(at_ns, cpu, tasks);
    }

    fn lag(&mut self, at_ns: u64, task: TaskRef<'_>, account: LagAccount, lag_ns: i64) {
        self.0.lag(at_ns, task, account, lag_ns);
        self.1.lag(at_ns, task, account, lag_ns);
    }

    fn group(&mut self, at_ns: u64, pid: u32, group: u32) {
        self.0.group(at_ns, pid, group);
        self.1.group(at_ns, pid, group);
    }

    fn lost(&mut self, at_ns: u64, cpu: Option<u32>, events: Option<u64>) {
        self.0.lost(at_ns, cpu, events);
        self.1.lost(at_ns, cpu, events);
    }

    fn online(&mut self, at_ns: u64, cpu: u32, online: bool) {
        self.0.online(at_ns, cpu, online);
        self.1.online(at_ns, cpu, online);
    }

    fn closing(&mut self, at_ns: u64) {
        self.0.closing(at_ns);
        self.1.closing(at_ns);
    }

    fn finish(&mut self, at_ns: u64) {
        self.0.finish(at_ns);
        self.1.finish(at_ns);
    }
}

impl<T: Sink> Sink for Option<T> {
    fn task(&mut self, at_ns: u64, task: &NewTask<'_>) {
        if let Some(sink) = self {
            sink.task(at_ns, task);
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        if let Some(sink) = self {
            sink.record(record);
        }
    }

    fn queue_length(&mut self, at_ns: u64, cpu: u32, tasks: u32) {
        if let Some(sink) = self {
            sink.queue_length(at_ns, cpu, tasks);
        }
    }

    fn lag(&mut self, at_ns: u64, task: TaskRef<'_>, account: LagAccount, lag_ns: i64) {
        if let Some(sink) = self {
            sink.lag(at_ns, task, account, lag_ns);
        }
    }

    fn group(&mut self, at_ns: u64, pid: u32, group: u32) {
        if let Some(sink) = self {
            sink.group(at_ns, pid, group);
        }
    }

    fn lost(&mut self, at_ns: u64, cpu: Option<u32>, events: Option<u64>) {
        if let Some(sink) = self {
            sink.lost(at_ns, cpu, events);
        }
    }

    fn online(&mut self, at_ns: u64, cpu: u32, online: bool) {
        if let Some(sink) = self {
            sink.online(at_ns, cpu, online);
        }
    }

    fn closing(&mut self, at_ns: u64) {
        if let Some(sink) = self {
            sink.closing(at_ns);
        }
    }

    fn finish(&mut self, at_ns: u64) {
        if let Some(sink) = self {
            sink.finish(at_ns);
        }
    }
}

impl<T: Sink + ?Sized> Sink for Box<T> {
    fn task(&mut self, at_ns: u64, task: &NewTask<'_>) {
        (**self).task(at_ns, task);
    }

    fn record(&mut self, record: &Record<'_>) {
        (**self).record(record);
    }

    fn queue_length(&mut self, at_ns: u64, cpu: u32, tasks: u32) {
        (**self).queue_length(at_ns, cpu, tasks);
    }

    fn lag(&mut self, at_ns: u64, task: TaskRef<'_>, account: LagAccount, lag_ns: i64) {
        (**self).lag(at_ns, task, account, lag_ns);
    }

    fn group(&mut self, at_ns: u64, pid: u32, group: u32) {
        (**self).group(at_ns, pid, group);
    }

    fn lost(&mut self, at_ns: u64, cpu: Option<u32>, events: Option<u64>) {
        (**self).lost(at_ns, cpu, events);
    }

    fn online(&mut self, at_ns: u64, cpu: u32, online: bool) {
        (**self).online(at_ns, cpu, online);
    }

    fn closing(&mut self, at_ns: u64) {
        (**self).closing(at_ns);
    }

    fn finish(&mut self, at_ns: u64) {
        (**self).finish(at_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_they_are_written() {
        for (state, number, letters) in State::ALL {
            assert_eq!(State::of_letters(letters), Some(state));
            assert_eq!(State::of_number(number.into()), Some(state));
        }
        assert_eq!(State::of_letters("D|K"), Some(State::Uninterruptible));
        assert_eq!(State::of_letters(""), None);
        assert_eq!(State::of_letters("?"), None);
        assert_eq!(State::of_number(u64::MAX), Some(State::Interruptible));
        assert_eq!(State::of_number(1 << 40), None);
    }
}
