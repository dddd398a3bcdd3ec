//! Counters of the kernel, derived from tracepoints: [`Counters`].

use crate::tracepoint::{NewTask, Record, Sink, State, Tracepoint};

/// Counters of CPUs and tasks.
#[derive(Clone, Debug)]
pub struct Counters {
    pub(super) cpus: Vec<CpuCounts>,
    tasks: Vec<TaskCounts>,
}

/// Counters of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CpuCounts {
    pub switches: u64,
    /// Switches to the idle task.
    pub goidle: u64,
    /// Wakeups that were handled on it.
    pub ttwu_count: u64,
    /// The part of `ttwu_count` in which the task was in the CPU's own queue.
    pub ttwu_local: u64,
    /// CPU time of completed slices, ns.
    pub cpu_ns: u64,
    /// Time that tasks had waited when they got the CPU, ns.
    pub delay_ns: u64,
    /// Number of times that a task got the CPU.
    pub pcount: u64,
    /// Tasks that went into an uninterruptible sleep here, minus those that were woken here.
    pub uninterruptible: i64,
    /// Current task, and since when it has run.
    pub running: Option<(u32, u64)>,
}

/// Counters of a task.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TaskCounts {
    pub tgid: u32,
    pub parent: u32,
    pub cpu: u32,
    pub start_ns: u64,
    pub exec_ns: u64,
    pub exec_start_ns: u64,
    pub wait_ns: u64,
    pub wait_max_ns: u64,
    pub waits: u64,
    pub sleep_ns: u64,
    pub sleep_max_ns: u64,
    pub block_ns: u64,
    pub block_max_ns: u64,
    pub switches_in: u64,
    pub voluntary: u64,
    pub involuntary: u64,
    pub migrations: u64,
    pub wakeups: u64,
    pub wakeups_local: u64,
    pub wakeups_migrate: u64,
    pub on_cpu: Option<u64>,
    pub waits_since: Option<u64>,
    pub sleeps_since: Option<u64>,
    pub is_blocked: bool,
}

impl TaskCounts {
    /// Returns the time on CPUs until `now_ns`.
    pub fn exec_until(&self, now_ns: u64) -> u64 {
        self.exec_ns + self.on_cpu.map_or(0, |since_ns| now_ns - since_ns)
    }

    /// Returns the time runnable without a CPU until `now_ns`.
    pub fn wait_until(&self, now_ns: u64) -> u64 {
        self.wait_ns + self.waits_since.map_or(0, |since_ns| now_ns - since_ns)
    }
}

impl Counters {
    /// Creates the counters of a machine with `cpus` CPUs.
    pub fn new(cpus: u32) -> Counters {
        Counters { cpus: vec![CpuCounts::default(); cpus as usize], tasks: Vec::new() }
    }

    /// Returns the counters of a task.
    pub(super) fn task(&self, pid: u32) -> TaskCounts {
        self.tasks.get(pid as usize).copied().unwrap_or_default()
    }

    fn slot(&mut self, pid: u32) -> &mut TaskCounts {
        if pid as usize >= self.tasks.len() {
            self.tasks.resize(pid as usize + 1, TaskCounts::default());
        }
        &mut self.tasks[pid as usize]
    }

    fn cpu(&mut self, cpu: u32) -> &mut CpuCounts {
        if cpu as usize >= self.cpus.len() {
            self.cpus.resize(cpu as usize + 1, CpuCounts::default());
        }
        &mut self.cpus[cpu as usize]
    }

    fn left(&mut self, at_ns: u64, cpu: u32, pid: u32, state: State) {
        let task = self.slot(pid);
        let ran_ns = task.on_cpu.take().map_or(0, |since_ns| at_ns - since_ns);
        task.exec_ns += ran_ns;
        if state.is_runnable() {
            task.involuntary += 1;
            task.waits_since = Some(at_ns);
        } else {
            task.voluntary += 1;
            task.is_blocked = state == State::Uninterruptible;
            task.sleeps_since = (!state.is_gone()).then_some(at_ns);
        }
        let counts = self.cpu(cpu);
        counts.cpu_ns += ran_ns;
        counts.uninterruptible += i64::from(state == State::Uninterruptible);
    }

    fn came(&mut self, at_ns: u64, cpu: u32, pid: u32) {
        let task = self.slot(pid);
        let waited_ns = task.waits_since.take().map_or(0, |since_ns| at_ns - since_ns);
        task.wait_ns += waited_ns;
        task.wait_max_ns = task.wait_max_ns.max(waited_ns);
        task.waits += 1;
        task.switches_in += 1;
        (task.on_cpu, task.exec_start_ns, task.cpu) = (Some(at_ns), at_ns, cpu);
        let counts = self.cpu(cpu);
        counts.delay_ns += waited_ns;
        counts.pcount += 1;
    }

    /// Enqueues `pid` on `target`. It was woken on `by`.
    fn woken(&mut self, at_ns: u64, by: u32, pid: u32, target: u32, is_new: bool) {
        let task = self.slot(pid);
        if is_new {
            task.start_ns = at_ns;
        }
        let slept_ns = task.sleeps_since.take().map_or(0, |since_ns| at_ns - since_ns);
        let was_blocked = std::mem::take(&mut task.is_blocked);
        if was_blocked {
            task.block_ns += slept_ns;
            task.block_max_ns = task.block_max_ns.max(slept_ns);
        } else {
            task.sleep_ns += slept_ns;
            task.sleep_max_ns = task.sleep_max_ns.max(slept_ns);
        }
        if task.on_cpu.is_none() {
            task.waits_since = Some(at_ns);
        }
        task.cpu = target;
        if is_new {
            return;
        }
        task.wakeups += 1;
        task.wakeups_local += u64::from(by == target);
        let counts = self.cpu(by);
        counts.ttwu_count += 1;
        counts.ttwu_local += u64::from(by == target);
        self.cpu(target).uninterruptible -= i64::from(was_blocked);
    }
}

impl Sink for Counters {
    fn task(&mut self, _at_ns: u64, new: &NewTask<'_>) {
        let task = self.slot(new.pid);
        (task.tgid, task.parent) = (new.tgid, new.parent);
    }

    fn record(&mut self, record: &Record<'_>) {
        let &Record { at_ns, cpu, tracepoint, .. } = record;
        match tracepoint {
            Tracepoint::Switch { prev, prev_state, next } => {
                let counts = self.cpu(cpu);
                counts.switches += 1;
                counts.goidle += u64::from(next.pid == 0);
                counts.running = (next.pid != 0).then_some((next.pid, at_ns));
                if prev.pid != 0 {
                    self.left(at_ns, cpu, prev.pid, prev_state);
                }
                if next.pid != 0 {
                    self.came(at_ns, cpu, next.pid);
                }
            }
            Tracepoint::Wakeup { task, target_cpu } => {
                self.woken(at_ns, cpu, task.pid, target_cpu.unwrap_or(cpu), false);
            }
            Tracepoint::WakeupNew { task, target_cpu } => {
                self.woken(at_ns, cpu, task.pid, target_cpu.unwrap_or(cpu), true);
            }
            Tracepoint::Migrate { task, dest_cpu, .. } => {
                let task = self.slot(task.pid);
                task.migrations += 1;
                task.wakeups_migrate += u64::from(task.sleeps_since.is_some());
                task.cpu = dest_cpu;
            }
            Tracepoint::Waking { .. }
            | Tracepoint::Fork { .. }
            | Tracepoint::Exec { .. }
            | Tracepoint::Exit { .. }
            | Tracepoint::Runtime { .. } => {}
        }
    }
}
