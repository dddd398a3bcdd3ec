//! A thread of the workload: executes its script on the host, instruction by instruction, as the
//! simulator's kernel of programs does.

use crate::burn::Burner;
use crate::job::{Groups, Thread as Record};
use crate::sync::{
    Barrier, Condition, Gate, Mutex, Park, Semaphore, Suspended, Timer, Waited, Waiter, locked,
};
use crate::sys::{self, SwitchRing};
use schedlab_core::{CpuSet, Policy, SchedAttr};
use schedlab_workload::programs::{Instr, Scripts};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as Guarded};

/// Work between two readings of the clock in a `runtime` event, ns.
const RUNTIME_PIECE_NS: u64 = 32_000;
/// Pages of a thread's ring: 1024 switches.
const RING_PAGES: usize = 8;
/// Maximum number of latencies kept for each thread.
pub const LATENCIES_MAX: usize = 1_000_000;
/// Maximum number of threads, including forked ones.
pub const THREADS_MAX: usize = 4_000;
/// Size of a thread's stack, bytes.
const STACK: usize = 64 * 1024;

/// State shared by all threads of a run.
#[derive(Debug)]
pub struct Shared {
    /// The scripts that threads execute.
    pub scripts: Scripts,
    /// CPUs of threads that may use all.
    pub cpus: Vec<u32>,
    /// Number of the machine's CPUs.
    pub machine_cpus: u32,
    /// Groups of the threads.
    pub groups: Groups,
    /// Whether switches may be recorded.
    pub records: bool,
    /// Where they may not: length from which a gap counts as time without a CPU, ns.
    pub gap_ns: u64,
    /// Start of the run, ns; `0`: not known yet.
    pub start_ns: AtomicU64,
    /// End of the run, ns; `u64::MAX`: when its last task has ended.
    pub end_ns: AtomicU64,
    /// Gate at which threads wait until the start of the run is known or cancelled.
    pub begins: Gate,
    /// Number of threads that are ready to begin, or failed to get ready.
    pub ready: AtomicUsize,
    /// Number of threads that exist.
    pub alive: AtomicUsize,
    /// Number of threads created so far.
    pub made: AtomicUsize,
    /// Measurements of the threads that have ended, with their numbers.
    pub records_done: Guarded<Vec<(usize, Record)>>,
    /// The first failure.
    pub failure: Guarded<Option<String>>,
    instances: Vec<AtomicU32>,
    mutexes: Vec<Mutex>,
    conditions: Vec<Condition>,
    barriers: Vec<Barrier>,
    semaphores: Vec<Semaphore>,
    suspended: Suspended,
    timers: Vec<Timer>,
}

impl Shared {
    /// Creates the state for a workload.
    pub fn new(scripts: Scripts, cpus: Vec<u32>, machine_cpus: u32, groups: Groups) -> Shared {
        let inherits = scripts.inherit;
        Shared {
            cpus,
            machine_cpus,
            groups,
            records: true,
            gap_ns: u64::MAX,
            start_ns: AtomicU64::new(0),
            end_ns: AtomicU64::new(u64::MAX),
            begins: Gate::default(),
            ready: AtomicUsize::new(0),
            alive: AtomicUsize::new(0),
            made: AtomicUsize::new(0),
            records_done: Guarded::default(),
            failure: Guarded::default(),
            instances: scripts.scripts.iter().map(|_| AtomicU32::new(0)).collect(),
            mutexes: scripts.mutexes.iter().map(|_| Mutex::new(inherits)).collect(),
            conditions: scripts.conditions.iter().map(|_| Condition::default()).collect(),
            barriers: scripts.barriers.iter().map(|barrier| Barrier::new(barrier.needed)).collect(),
            semaphores: scripts.semaphores.iter().map(|_| Semaphore::default()).collect(),
            suspended: Suspended::default(),
            timers: (0..scripts.timers).map(|_| Timer::default()).collect(),
            scripts,
        }
    }

    /// Records a failure, and ends the run.
    pub fn fail(&self, why: String) {
        locked(&self.failure).get_or_insert(why);
        self.end_ns.store(0, Ordering::Release);
        self.begins.open();
    }

    /// Starts the run at `start_ns`.
    pub fn begin(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Release);
        self.begins.open();
    }

    /// Names of the first few threads that have begun and not ended.
    pub fn unfinished(&self) -> String {
        const SHOWN: usize = 5;
        let done = locked(&self.records_done);
        let done: std::collections::BTreeSet<&str> =
            done.iter().map(|(_, record)| &*record.name).collect();
        let all = self.scripts.scripts.iter().zip(&self.instances).flat_map(|(script, made)| {
            (0..made.load(Ordering::Relaxed)).map(|number| format!("{}-{number}", script.name))
        });
        let left: Vec<String> = all.filter(|name| !done.contains(&**name)).collect();
        let shown: Vec<String> = left.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
        let more = left.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", shown.join(", "))
    }

    fn set_of(&self, set: &CpuSet) -> Vec<u32> {
        match set {
            CpuSet::All => self.cpus.clone(),
            set => set.iter(self.machine_cpus).map(|cpu| cpu.0).collect(),
        }
    }

    fn directory(&self, group: u32) -> Option<&Path> {
        let path = &self.scripts.groups[group as usize];
        match path.is_empty() {
            true => self.groups.load.as_deref(),
            false => self.groups.paths.get(path).map(std::path::PathBuf::as_path),
        }
    }
}

/// When a thread begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begins {
    /// It is ready before the run, and wakes at the script's delay.
    Asleep,
    /// It begins at once. This is the time of the clock, ns.
    Now(u64),
    /// It begins after a sleep until this time, ns.
    At(u64),
}

/// Creates a thread that executes a script.
///
/// # Errors
/// There are too many threads, or the kernel refuses another one.
pub fn spawn(shared: &Arc<Shared>, script: u32, begins: Begins) -> Result<(), String> {
    let number = shared.made.fetch_add(1, Ordering::Relaxed);
    let name = &shared.scripts.scripts[script as usize].name;
    if number >= THREADS_MAX {
        return Err(format!(
            "task `{name}` would be thread number {}; a host runs at most {THREADS_MAX}",
            number + 1
        ));
    }
    let instance = shared.instances[script as usize].fetch_add(1, Ordering::Relaxed);
    let name = format!("{name}-{instance}");
    shared.alive.fetch_add(1, Ordering::AcqRel);
    let (inner, its_name) = (shared.clone(), name.clone());
    // The kernel shows 15 bytes of the name.
    let shown: String = name.chars().filter(|c| *c != '\0').take(15).collect();
    let made = std::thread::Builder::new().name(shown).stack_size(STACK).spawn(move || {
        let is_over = AliveGuard(&inner);
        let mut thread = Thread::new(&inner, its_name, script);
        if let Err(why) = thread.live(begins) {
            inner.fail(why);
        }
        let record = thread.into_record();
        locked(&inner.records_done).push((number, record));
        drop(is_over);
    });
    // The thread ends by itself. The run waits for all threads.
    made.map(drop).map_err(|error| {
        shared.alive.fetch_sub(1, Ordering::AcqRel);
        format!("thread `{name}` cannot be created: {error}")
    })
}

/// Counts the thread as ended when dropped, however it ended.
struct AliveGuard<'a>(&'a Shared);

impl Drop for AliveGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail("a thread of the runner panicked".into());
        }
        self.0.alive.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Figures in `/proc/.../schedstat` of a thread.
#[derive(Clone, Copy, Default, Debug)]
struct SchedStat {
    cpu_ns: u64,
    delay_ns: u64,
    times: u64,
}

impl SchedStat {
    fn read(file: &mut File) -> io::Result<SchedStat> {
        let mut text = String::with_capacity(80);
        file.rewind()?;
        file.read_to_string(&mut text)?;
        let mut numbers = text.split_ascii_whitespace().map(|word| word.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        Ok(SchedStat { cpu_ns: next(), delay_ns: next(), times: next() })
    }
}

/// Explains the kernel's refusal of attributes, where the error alone does not.
fn why_not(attr: &SchedAttr, error: &io::Error) -> &'static str {
    match (attr.policy, error.raw_os_error()) {
        (Policy::Deadline, Some(libc::EBUSY)) => {
            "; the kernel admits deadline tasks only as long as all of them together, including \
             other users' tasks, fit into its share of the CPUs (kernel.sched_rt_runtime_us of each \
             kernel.sched_rt_period_us): give it a smaller `dl-runtime`, or fewer instances"
        }
        _ => "",
    }
}

/// Reason why a thread stops.
enum Stop {
    /// The run is over.
    RunOver,
    Failed(String),
}

type Step = Result<(), Stop>;

struct Thread {
    shared: Arc<Shared>,
    script: u32,
    record: Record,
    burner: Burner,
    waiter: Waiter,
    /// Time at which it began, ns.
    start_ns: u64,
    /// Time at which the run ends, ns.
    until_ns: u64,
    own_timers: Vec<Timer>,
    held: Vec<u32>,
    // Current values, as indices into the lists of the scripts.
    attr: u32,
    cpus: u32,
    group: u32,
}

impl Thread {
    fn new(shared: &Arc<Shared>, name: String, number: u32) -> Thread {
        let script = &shared.scripts.scripts[number as usize];
        Thread {
            record: Record { name, ..Record::default() },
            burner: Burner::new(None, shared.gap_ns),
            waiter: Waiter {
                park: Arc::<Park>::default(),
                attr: shared.scripts.attrs[script.attr as usize],
                until_ns: u64::MAX,
            },
            start_ns: 0,
            until_ns: u64::MAX,
            own_timers: (0..script.unique_timers).map(|_| Timer::default()).collect(),
            held: vec![],
            attr: script.attr,
            cpus: script.cpus,
            group: script.group,
            script: number,
            shared: shared.clone(),
        }
    }

    fn live(&mut self, begins: Begins) -> Result<(), String> {
        self.record.tid = sys::thread_id() as u32;
        let prepared = self.prepare();
        if begins == Begins::Asleep {
            self.shared.ready.fetch_add(1, Ordering::AcqRel);
        }
        let mut schedstat = prepared?;
        let due_ns = match begins {
            Begins::Now(at_ns) | Begins::At(at_ns) => at_ns,
            Begins::Asleep => self.await_start()?,
        };
        self.until_ns = self.shared.end_ns.load(Ordering::Acquire);
        self.waiter.until_ns = self.until_ns;
        // Only now, so that an urgent thread does not keep others from getting ready.
        self.set_attr(self.attr).map_err(|stop| self.why(stop))?;
        let before = (sys::switches_of_this_thread(), {
            self.burner.restart();
            SchedStat::read(&mut schedstat)
        });
        let before = (before.0, before.1.map_err(|error| self.cannot("read schedstat", &error))?);
        if !matches!(begins, Begins::Now(_)) {
            sys::sleep_until(due_ns.min(self.until_ns));
        }
        let began_ns = sys::now_ns();
        self.start_ns = due_ns;
        self.record.start_latency_ns = began_ns.saturating_sub(due_ns);
        let outcome = if due_ns < self.until_ns { self.execute() } else { Ok(()) };
        let ended_ns = sys::now_ns();
        // This call makes the kernel charge the thread, so that schedstat is current.
        sys::thread_cpu_ns();
        let after = SchedStat::read(&mut schedstat);
        let after = after.map_err(|error| self.cannot("read schedstat", &error))?;
        let switches = sys::switches_of_this_thread();
        for mutex in std::mem::take(&mut self.held) {
            self.shared.mutexes[mutex as usize].unlock();
        }
        self.burner.catch_up();
        self.burner.slices.close(ended_ns);
        let record = &mut self.record;
        record.cpu_ns = after.cpu_ns - before.1.cpu_ns;
        record.burned_ns = self.burner.burned_ns;
        record.run_delay_ns = after.delay_ns - before.1.delay_ns;
        record.times_scheduled_in = after.times - before.1.times;
        record.voluntary_switches = switches.voluntary - before.0.voluntary;
        record.involuntary_switches = switches.involuntary - before.0.involuntary;
        record.end_ns = ended_ns.saturating_sub(self.shared.start_ns.load(Ordering::Acquire));
        match outcome {
            Ok(()) | Err(Stop::RunOver) => Ok(()),
            Err(stop) => Err(self.why(stop)),
        }
    }

    /// Does everything that takes time and needs no privileges, before the run begins.
    fn prepare(&mut self) -> Result<File, String> {
        // 1 ns, so that sleeps end on time.
        let slack = std::num::NonZeroU64::new(1);
        rustix::thread::set_current_timer_slack(slack)
            .map_err(|error| self.cannot("set the timer slack", &error.into()))?;
        self.set_group(self.group).map_err(|stop| self.why(stop))?;
        self.set_cpus(self.cpus).map_err(|stop| self.why(stop))?;
        if self.shared.records {
            // If memory for a ring is short, a small one is sufficient.
            let ring = SwitchRing::open(RING_PAGES).or_else(|_| SwitchRing::open(1));
            self.burner = Burner::new(ring.ok(), self.shared.gap_ns);
        }
        self.record.wake_latencies_ns.reserve(1024);
        self.record.due_ns.reserve(1024);
        File::open("/proc/thread-self/schedstat").map_err(|error| {
            format!("/proc/thread-self/schedstat: {error}; the kernel must provide scheduling statistics")
        })
    }

    /// Waits until the start of the run is known. Returns the start of the thread, ns.
    fn await_start(&self) -> Result<u64, String> {
        loop {
            let start_ns = self.shared.start_ns.load(Ordering::Acquire);
            if start_ns != 0 {
                let script = &self.shared.scripts.scripts[self.script as usize];
                return Ok(start_ns.saturating_add(script.delay_ns));
            }
            if self.shared.end_ns.load(Ordering::Acquire) == 0 {
                return Err("another thread could not get ready".into());
            }
            // The threads sleep instead of polling: thousands of polling threads would leave no
            // time to create the rest of them.
            self.shared.begins.pass();
        }
    }

    fn cannot(&self, what: &str, error: &io::Error) -> String {
        format!("thread `{}` cannot {what}: {error}", self.record.name)
    }

    fn why(&self, stop: Stop) -> String {
        match stop {
            Stop::RunOver => format!("the run was over before `{}` began", self.record.name),
            Stop::Failed(why) => why,
        }
    }

    fn into_record(self) -> Record {
        let Thread { mut record, burner, shared, .. } = self;
        let start_ns = shared.start_ns.load(Ordering::Acquire);
        record.gaps = burner.gaps;
        record.lost_switches = burner.slices.lost;
        if burner.has_ring() {
            let mut slices = burner.slices.done;
            for slice in &mut slices {
                slice.start_ns = slice.start_ns.saturating_sub(start_ns);
                slice.end_ns = slice.end_ns.saturating_sub(start_ns);
            }
            slices.retain(|slice| slice.end_ns > 0);
            record.slices = Some(slices);
        }
        for due_ns in &mut record.due_ns {
            *due_ns = due_ns.saturating_sub(start_ns);
        }
        record
    }

    fn set_attr(&mut self, attr: u32) -> Step {
        let wanted: SchedAttr = self.shared.scripts.attrs[attr as usize];
        // A forked thread sets its own attributes. Without this flag, deadline tasks may not fork.
        let script = &self.shared.scripts.scripts[self.script as usize];
        let forks = script.code.iter().any(|instr| matches!(instr, Instr::Fork { .. }));
        sys::set_attr(&wanted, forks).map_err(|error| {
            let what = format!("have {}", crate::refusals::describe(&wanted));
            Stop::Failed(self.cannot(&what, &error) + why_not(&wanted, &error))
        })?;
        self.waiter.attr = wanted;
        self.attr = attr;
        Ok(())
    }

    fn set_cpus(&mut self, set: u32) -> Step {
        let cpus = self.shared.set_of(&self.shared.scripts.cpu_sets[set as usize]);
        sys::set_affinity(&cpus).map_err(|error| {
            Stop::Failed(self.cannot(&format!("be bound to CPUs {cpus:?}"), &error))
        })?;
        self.cpus = set;
        Ok(())
    }

    fn set_group(&mut self, group: u32) -> Step {
        if let Some(directory) = self.shared.directory(group) {
            self.shared.groups.join(directory).map_err(|error| {
                Stop::Failed(self.cannot(&format!("be moved to {}", directory.display()), &error))
            })?;
        }
        self.group = group;
        Ok(())
    }

    /// Executes the script, until its end or the end of the run.
    fn execute(&mut self) -> Step {
        let shared = self.shared.clone();
        let script = &shared.scripts.scripts[self.script as usize];
        let (mut pc, mut phase_round, mut round) = (0_usize, 0_u64, 0_u64);
        loop {
            let instr = script.code[pc];
            pc += 1;
            match instr {
                Instr::Begin { .. } => {}
                Instr::End { phase } => {
                    self.record.phase_loops += 1;
                    let phase = &script.phases[phase as usize];
                    phase_round += 1;
                    if phase_round < phase.rounds {
                        pc = phase.begin as usize;
                    } else {
                        phase_round = 0;
                    }
                    // Every loop ends with the run.
                    self.check_time()?;
                }
                Instr::Round => {
                    round += 1;
                    if round < script.rounds {
                        pc = script.again as usize;
                    }
                    self.check_time()?;
                }
                Instr::Exit => return Ok(()),
                Instr::Sched { first, later } => {
                    let attr = if round == 0 { first } else { later };
                    if attr != self.attr {
                        self.set_attr(attr)?;
                    }
                }
                Instr::Cpus { set } if set == self.cpus => {}
                Instr::Cpus { set } => self.set_cpus(set)?,
                Instr::Group { group } if group == self.group => {}
                Instr::Group { group } => self.set_group(group)?,
                Instr::Run { ns } | Instr::Work { ns } => self.burn(ns)?,
                Instr::RunReading { ns, every_ns } => self.burn_reading(ns, every_ns)?,
                Instr::Runtime { ns } => self.runtime(ns)?,
                Instr::Sleep { ns: 0 } => {}
                Instr::Sleep { ns } => self.sleep_until(sys::now_ns().saturating_add(ns))?,
                Instr::Until { ns } => {
                    let start_ns = shared.start_ns.load(Ordering::Acquire);
                    self.sleep_until(start_ns.saturating_add(ns))?;
                }
                Instr::Timer { timer, unique, absolute, period_ns } => {
                    let timers = if unique { &self.own_timers } else { &shared.timers };
                    let now_ns = sys::now_ns();
                    let timer = &timers[timer as usize];
                    let due_ns = timer.next(now_ns, self.start_ns, period_ns, absolute);
                    if due_ns > now_ns {
                        self.sleep_until(due_ns)?;
                    }
                }
                Instr::Lock { mutex } => {
                    let waited = shared.mutexes[mutex as usize].lock(&self.waiter);
                    self.waited(waited)?;
                    self.held.push(mutex);
                }
                Instr::Unlock { mutex } => {
                    shared.mutexes[mutex as usize].unlock();
                    self.held.retain(|&held| held != mutex);
                }
                Instr::Wait { condition, mutex } => {
                    self.held.retain(|&held| held != mutex);
                    let condition = &shared.conditions[condition as usize];
                    let waited = condition.wait(&shared.mutexes[mutex as usize], &self.waiter);
                    self.waited(waited)?;
                    self.held.push(mutex);
                }
                Instr::Signal { condition } => shared.conditions[condition as usize].signal(),
                Instr::Broad { condition } => shared.conditions[condition as usize].broadcast(),
                Instr::Barrier { barrier } => {
                    let waited = shared.barriers[barrier as usize].arrive(&self.waiter);
                    self.waited(waited)?;
                }
                Instr::Suspend { key, name } => {
                    let waited = shared.suspended.suspend([key, name], &self.waiter);
                    self.waited(waited)?;
                }
                Instr::Resume { name, .. } => shared.suspended.resume(name),
                Instr::SemPost { semaphore } => shared.semaphores[semaphore as usize].post(),
                Instr::SemWait { semaphore } => {
                    let waited = shared.semaphores[semaphore as usize].wait(&self.waiter);
                    self.waited(waited)?;
                }
                Instr::Yield => {
                    rustix::thread::sched_yield();
                    self.burner.catch_up();
                }
                Instr::Fork { program, .. } => self.fork(program)?,
                // Refused before the run.
                Instr::Exec | Instr::Io { .. } | Instr::Park | Instr::Unpark { .. } => {
                    return Err(Stop::Failed(format!(
                        "thread `{}`: a host cannot execute {instr:?}",
                        self.record.name
                    )));
                }
            }
        }
    }

    fn check_time(&self) -> Step {
        let over = sys::now_ns() >= self.until_ns
            // The run ended before the sleep did.
            || self.shared.end_ns.load(Ordering::Relaxed) == 0;
        if over { Err(Stop::RunOver) } else { Ok(()) }
    }

    fn burn(&mut self, ns: u64) -> Step {
        if ns == 0 || self.burner.burn(ns, self.until_ns) { Ok(()) } else { Err(Stop::RunOver) }
    }

    /// Works for `ns`, and reads the thread's CPU clock after every `every_ns` of it.
    fn burn_reading(&mut self, ns: u64, every_ns: u64) -> Step {
        let mut left_ns = ns;
        while left_ns > 0 {
            let piece_ns = left_ns.min(every_ns);
            self.burn(piece_ns)?;
            let _ = sys::thread_cpu_ns();
            left_ns -= piece_ns;
        }
        Ok(())
    }

    /// Works until the wall time is over.
    fn runtime(&mut self, ns: u64) -> Step {
        let since_ns = sys::now_ns();
        while sys::now_ns() - since_ns < ns {
            self.burn(RUNTIME_PIECE_NS)?;
        }
        Ok(())
    }

    fn sleep_until(&mut self, due_ns: u64) -> Step {
        sys::sleep_until(due_ns.min(self.until_ns));
        let now_ns = sys::now_ns();
        self.burner.catch_up();
        if due_ns >= self.until_ns {
            return Err(Stop::RunOver);
        }
        if self.record.wake_latencies_ns.len() < LATENCIES_MAX {
            self.record.wake_latencies_ns.push(now_ns.saturating_sub(due_ns));
            self.record.due_ns.push(due_ns);
        }
        self.check_time()
    }

    fn waited(&mut self, waited: Waited) -> Step {
        let now_ns = sys::now_ns();
        self.burner.catch_up();
        match waited {
            Waited::Not | Waited::Somehow => Ok(()),
            Waited::RunOver => Err(Stop::RunOver),
            Waited::WokenAt(at_ns) => {
                if self.record.wait_latencies_ns.len() < LATENCIES_MAX {
                    self.record.wait_latencies_ns.push(now_ns.saturating_sub(at_ns));
                }
                Ok(())
            }
        }
    }

    fn fork(&mut self, program: u32) -> Step {
        let now_ns = sys::now_ns();
        let delay_ns = self.shared.scripts.scripts[program as usize].delay_ns;
        let begins = match delay_ns {
            0 => Begins::Now(now_ns),
            _ => Begins::At(now_ns.saturating_add(delay_ns)),
        };
        spawn(&self.shared, program, begins).map_err(Stop::Failed)
    }
}
