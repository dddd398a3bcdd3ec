//! Programs that talk to each other: what benchmarks are made of.
//!
//! A [`Program`] is asked for one [`Step`] after another, much as a process issues system calls:
//! run, write to a socket, wait for a child. An [`Os`] keeps what programs share (pipes and
//! sockets, semaphores, mutexes, disks, the process tree) and is the [`Workload`] of the machine.
//!
//! # When a step takes effect
//!
//! A write, a post or a fork burns its CPU cost first and then takes effect, all at one instant; a
//! read or a wait takes effect (or blocks) at once and burns its cost after it has succeeded. So
//! the cost of a message lies on the message's path and never beside it. What blocks is tried again
//! when the task has been woken and runs; no cost is paid twice. Making a channel or a lock costs
//! nothing, nor do exit and waiting for a child.

mod channel;
mod device;
mod lock;
mod part;
mod profile;
mod random;
#[cfg(test)]
mod tests;

pub use channel::{Capacity, ChannelId, Wakes};
pub use device::{CHUNK_KIB, CacheId, DiskId, LogId};
pub use lock::{LatchId, MutexId, SemaphoreId};
pub use part::{Part, PartId};
pub use profile::Profile;
pub use random::Random;

use channel::Channel;
use device::{Disk, Log, PageCache};
use lock::{Latch, Mutex, Semaphore};
use part::Running;
use schedlab_core::{BlockReason, CpuId, CpuSet, GroupId, SchedAttr, TaskAttr, TaskId};
use schedlab_machine::costs::CallCosts;
use schedlab_machine::{NewTask, Op, Workload};

/// A task may take so many steps within one nanosecond; then the run is stopped.
const STEPS_AT_ONE_INSTANT: u32 = 1_000_000;
/// A spinning task looks at the lock again after so long, ns.
const SPIN_PIECE_NS: u64 = 1_000;

/// What a task does.
pub trait Program {
    /// The next step. The task runs at `os.now_ns()`, and all steps before have been done.
    fn next(&mut self, os: &mut Context<'_>) -> Step;
}

/// Closures are programs.
impl<F: FnMut(&mut Context<'_>) -> Step> Program for F {
    fn next(&mut self, os: &mut Context<'_>) -> Step {
        self(os)
    }
}

/// One step of a program.
pub enum Step {
    /// Compute for so long, ns of CPU time; 0 is nothing, [`u64::MAX`] for ever.
    Run(u64),
    /// Compute until the clock shows this time, ns: it ends when the task runs at or after it.
    RunUntil(u64),
    /// Sleep for so long, ns; 0 is nothing.
    Sleep(u64),
    /// Sleep until the clock shows this time, ns.
    SleepUntil(u64),
    /// `sched_yield(2)`.
    Yield,
    /// Write a message of so many bytes.
    Write(ChannelId, u32),
    /// Read a message of so many bytes.
    Read(ChannelId, u32),
    /// Wait until there is something to read, and leave it there.
    Poll(ChannelId),
    /// Add one to a semaphore.
    Post(SemaphoreId),
    /// Take one from a semaphore.
    Wait(SemaphoreId),
    /// Take a mutex, after spinning for so long at most, ns of CPU time, if another has it.
    Lock(MutexId, u64),
    /// Try to take a mutex; [`Context::succeeded`] tells whether it was free.
    TryLock(MutexId),
    /// Let a mutex go.
    Unlock(MutexId),
    /// Wait until a latch is open.
    Pass(LatchId),
    /// Open a latch.
    Open(LatchId),
    /// Have a disk serve a request of so many ns, and wait for it.
    Disk(DiskId, u64),
    /// Commit to a log whose writes take so many ns, and wait until it is written.
    Commit(LogId, u64),
    /// Write [`CHUNK_KIB`] of a file into a page cache, and wait while too much of it is dirty.
    FileWrite(CacheId),
    /// Read [`CHUNK_KIB`] of a file from the disk of a page cache.
    FileRead(CacheId),
    /// Start a child. [`Context::child`] tells its number.
    Fork(Box<Spawn>),
    /// Go over to another program: the cost of `execve(2)`. The program itself goes on as it is.
    Exec,
    /// Wait until a child has ended that was not waited for yet. Nothing if there is none.
    WaitChild,
    /// Give a task (often oneself) other scheduling attributes.
    SetAttr(TaskId, SchedAttr),
    /// Bind a task (often oneself) to CPUs.
    SetAffinity(TaskId, CpuSet),
    /// End the task.
    Exit,
    /// The benchmark is over. That ends the run; where it is a part of several, it ends all tasks
    /// of its part.
    Finish,
}

/// A task to start.
pub struct Spawn {
    /// What it is called in reports; tasks of one name are told together.
    pub name: &'static str,
    /// What it does.
    pub program: Box<dyn Program>,
    /// Its scheduling attributes; none: its parent's.
    pub attr: Option<SchedAttr>,
    /// Where it may run; none: where its parent may.
    pub allowed: Option<CpuSet>,
    /// Its group; none: its parent's.
    pub group: Option<GroupId>,
    /// It shares its parent's address space.
    pub thread: bool,
    /// Its working set, KiB.
    pub footprint_kib: u32,
}

impl Spawn {
    /// A process that inherits everything.
    pub fn new(name: &'static str, program: impl Program + 'static) -> Spawn {
        Spawn {
            name,
            program: Box::new(program),
            attr: None,
            allowed: None,
            group: None,
            thread: false,
            footprint_kib: 0,
        }
    }

    /// With these scheduling attributes.
    pub fn attr(self, attr: SchedAttr) -> Spawn {
        Spawn { attr: Some(attr), ..self }
    }

    /// At this nice value.
    pub fn nice(self, nice: i32) -> Spawn {
        self.attr(SchedAttr::nice(nice))
    }

    /// On these CPUs only.
    pub fn on(self, allowed: CpuSet) -> Spawn {
        Spawn { allowed: Some(allowed), ..self }
    }

    /// In this group.
    pub fn group(self, group: GroupId) -> Spawn {
        Spawn { group: Some(group), ..self }
    }

    /// As a thread of its parent's process, if `thread`.
    pub fn thread(self, thread: bool) -> Spawn {
        Spawn { thread, ..self }
    }

    /// With a working set of so many KiB.
    pub fn footprint_kib(self, footprint_kib: u32) -> Spawn {
        Spawn { footprint_kib, ..self }
    }
}

/// Why a run ended before its time.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Ended {
    /// A program said that the benchmark is over.
    #[error("the benchmark is over")]
    Finished,
    /// A program does step after step and no time passes.
    #[error("{name} (task {task}) took {STEPS_AT_ONE_INSTANT} steps at {at_ns} ns without using time", task = task.0)]
    NoTime {
        /// Who.
        task: TaskId,
        /// What it is called.
        name: &'static str,
        /// When, ns.
        at_ns: u64,
    },
}

/// What a program sees of the world when it is asked for its next step.
pub struct Context<'a> {
    /// By the clock of its part.
    now_ns: u64,
    task: TaskId,
    cpu: CpuId,
    succeeded: bool,
    child: Option<TaskId>,
    objects: &'a mut Objects,
    random: &'a mut Random,
}

impl Context<'_> {
    /// What the clock shows, ns since the start of the run (of its [`Part`]).
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The task itself.
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// The CPU that it runs on.
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Whether the last [`Step::TryLock`] got the mutex.
    pub fn succeeded(&self) -> bool {
        self.succeeded
    }

    /// The last child that it started.
    pub fn child(&self) -> Option<TaskId> {
        self.child
    }

    /// The task's own stream of random draws.
    pub fn random(&mut self) -> &mut Random {
        self.random
    }

    /// What programs share, to make more of it.
    pub fn objects(&mut self) -> &mut Objects {
        self.objects
    }
}

/// What programs share.
#[derive(Clone, Debug)]
pub struct Objects {
    profile: Profile,
    channels: Vec<Channel>,
    semaphores: Vec<Semaphore>,
    mutexes: Vec<Mutex>,
    latches: Vec<Latch>,
    disks: Vec<Disk>,
    logs: Vec<Log>,
    caches: Vec<PageCache>,
}

impl Objects {
    fn new(profile: Profile) -> Objects {
        Objects {
            profile,
            channels: vec![],
            semaphores: vec![],
            mutexes: vec![],
            latches: vec![],
            disks: vec![],
            logs: vec![],
            caches: vec![],
        }
    }

    /// Makes a channel that holds so much.
    pub fn channel(&mut self, capacity: Capacity) -> ChannelId {
        self.channels.push(Channel::new(capacity));
        ChannelId(self.channels.len() as u32 - 1)
    }

    /// Makes a pipe as the release has them.
    pub fn pipe(&mut self) -> ChannelId {
        self.channel(self.profile.pipe)
    }

    /// Makes one direction of a socket pair as the release has them.
    pub fn socket(&mut self) -> ChannelId {
        self.channel(self.profile.socket)
    }

    /// Makes a semaphore that holds `count`.
    pub fn semaphore(&mut self, count: u64) -> SemaphoreId {
        self.semaphores.push(Semaphore { count, ..Semaphore::default() });
        SemaphoreId(self.semaphores.len() as u32 - 1)
    }

    /// Makes a free mutex. One that `hands_on` goes to the task that has waited longest; of one
    /// that does not, whoever comes first after it was let go has it.
    pub fn mutex(&mut self, hands_on: bool) -> MutexId {
        self.mutexes.push(Mutex { hands_on, ..Mutex::default() });
        MutexId(self.mutexes.len() as u32 - 1)
    }

    /// Makes a closed latch.
    pub fn latch(&mut self) -> LatchId {
        self.latches.push(Latch::default());
        LatchId(self.latches.len() as u32 - 1)
    }

    /// Makes an idle disk.
    pub fn disk(&mut self) -> DiskId {
        self.disks.push(Disk::default());
        DiskId(self.disks.len() as u32 - 1)
    }

    /// Makes a log.
    pub fn log(&mut self) -> LogId {
        self.logs.push(Log::default());
        LogId(self.logs.len() as u32 - 1)
    }

    /// Makes a page cache of which `dirty_limit_kib` may be dirty, with a disk that takes
    /// `chunk_ns` for [`CHUNK_KIB`].
    pub fn page_cache(&mut self, dirty_limit_kib: u64, chunk_ns: u64) -> CacheId {
        self.caches.push(PageCache::new(dirty_limit_kib, chunk_ns));
        CacheId(self.caches.len() as u32 - 1)
    }
}

/// Where a task is in its present step.
enum Stage {
    /// Its program is to be asked.
    Between,
    /// The step's cost has been burnt; now it takes effect.
    Effect(Step),
    /// It was blocked, and tries again.
    Again(Step),
    /// It spins for a lock, for so long yet, ns.
    Spin(MutexId, u64),
    /// Its part is over: it kills these, the last one first, and ends.
    Kill(Vec<TaskId>),
    /// It has ended.
    Over,
}

/// What the task does for the machine before its program goes on.
enum Outcome {
    /// Go on at once.
    Done,
    /// Tell the machine.
    Tell(Op),
}

struct Task {
    name: &'static str,
    part: PartId,
    program: Option<Box<dyn Program>>,
    stage: Stage,
    attr: TaskAttr,
    footprint_kib: u32,
    random: Random,
    /// Whom it is about to wake, the next one last.
    to_wake: Vec<TaskId>,
    /// How it wakes them.
    sync: bool,
    /// What it has yet to burn for the step that took effect, ns.
    owes_ns: u64,
    succeeded: bool,
    child: Option<TaskId>,
    parent: Option<TaskId>,
    /// Children that are alive.
    children: u32,
    /// Children that have ended and were not waited for.
    zombies: u32,
    waits_for_child: bool,
}

/// The operating system that programs see, and the programs: a [`Workload`].
pub struct Os {
    costs: CallCosts,
    seed: u64,
    objects: Objects,
    tasks: Vec<Task>,
    /// At least one. The last one is that of tasks that are now started.
    parts: Vec<Running>,
    initial: Vec<NewTask>,
    /// The child whose fork has been told to the machine.
    forking: Option<(Box<Spawn>, TaskAttr)>,
    address_spaces: u32,
    steps: u32,
    steps_at_ns: u64,
}

impl Os {
    /// An empty one. `seed` is that of all random draws.
    pub fn new(profile: Profile, costs: CallCosts, seed: u64) -> Os {
        Os {
            costs,
            seed,
            objects: Objects::new(profile),
            tasks: vec![],
            parts: vec![Running::new(Part::default())],
            initial: vec![],
            forking: None,
            address_spaces: 0,
            steps: 0,
            steps_at_ns: 0,
        }
    }

    /// What programs share, to make some of it before the run.
    pub fn objects(&mut self) -> &mut Objects {
        &mut self.objects
    }

    /// What calls cost.
    pub fn costs(&self) -> &CallCosts {
        &self.costs
    }

    /// A task that starts at `start_ns` by the clock of its part. All must be there before the run
    /// begins.
    pub fn start(&mut self, start_ns: u64, spawn: Spawn) -> TaskId {
        let id = self.last_part();
        let part = &self.parts[id.index()].part;
        let start_ns = part.start_ns.saturating_add(start_ns);
        let (sched, allowed, group) = (part.attr, part.allowed.clone(), part.group);
        let attr = TaskAttr {
            sched: spawn.attr.unwrap_or(sched),
            allowed: spawn.allowed.clone().unwrap_or(allowed),
            group: spawn.group.unwrap_or(group),
            address_space: self.address_space(None),
        };
        self.initial.push(NewTask { attr: attr.clone(), start_ns });
        self.add(spawn, attr, None, id)
    }

    /// How many tasks there are or were.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// What `task` is called.
    pub fn name(&self, task: TaskId) -> &'static str {
        self.tasks[task.index()].name
    }

    /// What `task` was born with.
    pub fn attr(&self, task: TaskId) -> &TaskAttr {
        &self.tasks[task.index()].attr
    }

    /// In what step the tasks are that are asleep: for a run that is stuck.
    pub fn who_waits(&self) -> Vec<(TaskId, &'static str, &'static str)> {
        let waiting = |(number, task): (usize, &Task)| {
            let what = match &task.stage {
                Stage::Again(step) => match step {
                    Step::Read(..) => "to read",
                    Step::Write(..) => "to write",
                    Step::Poll(_) => "for something to read",
                    Step::Wait(_) => "for a semaphore",
                    Step::Lock(..) => "for a mutex",
                    Step::Pass(_) => "for a latch",
                    Step::WaitChild => "for a child",
                    _ => return None,
                },
                _ => return None,
            };
            Some((TaskId(number as u32), task.name, what))
        };
        self.tasks.iter().enumerate().filter_map(waiting).collect()
    }

    fn address_space(&mut self, shared: Option<u32>) -> u32 {
        shared.unwrap_or_else(|| {
            self.address_spaces += 1;
            self.address_spaces
        })
    }

    fn add(
        &mut self,
        spawn: Spawn,
        attr: TaskAttr,
        parent: Option<TaskId>,
        part: PartId,
    ) -> TaskId {
        let number = TaskId(self.tasks.len() as u32);
        let within = self.parts[part.index()].task_comes();
        self.tasks.push(Task {
            name: spawn.name,
            part,
            program: Some(spawn.program),
            stage: Stage::Between,
            attr,
            footprint_kib: spawn.footprint_kib,
            random: Random::new(part.seed(self.seed), within),
            to_wake: vec![],
            sync: false,
            owes_ns: 0,
            succeeded: false,
            child: None,
            parent,
            children: 0,
            zombies: 0,
            waits_for_child: false,
        });
        number
    }

    /// What `task` must burn before `step` takes effect, ns.
    fn cost_before(&self, step: &Step) -> u64 {
        let costs = &self.costs;
        match step {
            Step::Write(channel, bytes)
                if self.objects.channels[channel.0 as usize].is_socket() =>
            {
                costs.socket_write_ns + copying_ns(costs, *bytes)
            }
            Step::Write(_, bytes) => costs.pipe_write_ns + copying_ns(costs, *bytes),
            Step::Post(_) | Step::Open(_) => costs.futex_ns,
            Step::TryLock(_) => costs.try_lock_ns,
            Step::Fork(_) => costs.fork_ns,
            Step::Exec => costs.exec_ns,
            Step::Yield => costs.yield_ns,
            Step::FileWrite(_) => self.chunk_cpu_ns(),
            _ => 0,
        }
    }

    /// The cost of copying a chunk of a file to or from the page cache, ns.
    fn chunk_cpu_ns(&self) -> u64 {
        CHUNK_KIB / 4 * self.costs.block_io_ns
    }

    fn no_time_passes(&mut self, now_ns: u64, task: TaskId) -> Result<(), Ended> {
        if now_ns != self.steps_at_ns {
            self.steps_at_ns = now_ns;
            self.steps = 0;
        }
        self.steps += 1;
        if self.steps < STEPS_AT_ONE_INSTANT {
            return Ok(());
        }
        Err(Ended::NoTime { task, name: self.name(task), at_ns: now_ns })
    }

    /// Asks the program of `task`.
    fn ask(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) -> Step {
        let this = &mut self.tasks[task.index()];
        let start_ns = self.parts[this.part.index()].part.start_ns;
        let mut program = this.program.take().expect("a task that runs has a program");
        let mut context = Context {
            now_ns: now_ns - start_ns,
            task,
            cpu,
            succeeded: this.succeeded,
            child: this.child,
            objects: &mut self.objects,
            random: &mut this.random,
        };
        let step = program.next(&mut context);
        this.program = Some(program);
        match step {
            Step::RunUntil(until_ns) => Step::RunUntil(until_ns.saturating_add(start_ns)),
            Step::SleepUntil(until_ns) => Step::SleepUntil(until_ns.saturating_add(start_ns)),
            step => step,
        }
    }

    /// `step` takes effect, or blocks.
    fn effect(
        &mut self,
        now_ns: u64,
        task: TaskId,
        cpu: CpuId,
        step: Step,
    ) -> Result<Outcome, Ended> {
        let tell = |op| Ok(Outcome::Tell(op));
        let this = &mut self.tasks[task.index()];
        let objects = &mut self.objects;
        match step {
            Step::Run(0) | Step::Sleep(0) | Step::Exec => {}
            Step::Run(ns) => return tell(Op::Run { ns }),
            Step::RunUntil(until_ns) => {
                if until_ns > now_ns {
                    return tell(Op::RunUntil { until_ns });
                }
            }
            Step::Sleep(ns) => {
                return tell(sleep(now_ns.saturating_add(ns), BlockReason::Interruptible));
            }
            Step::SleepUntil(until_ns) => {
                if until_ns > now_ns {
                    return tell(sleep(until_ns, BlockReason::Interruptible));
                }
            }
            Step::Yield => return tell(Op::Yield),
            Step::Write(id, bytes) => {
                let channel = &mut objects.channels[id.0 as usize];
                if !channel.write(bytes) {
                    channel.writers.push(task);
                    return Ok(this.block_in(Step::Write(id, bytes)));
                }
                channel.written_on = cpu;
                this.sync = if channel.is_socket() {
                    objects.profile.socket_sync
                } else {
                    objects.profile.pipe_sync
                };
                // In the kernel pollers and readers stand in one list. No program here has both on
                // one channel.
                wake_side(&mut this.to_wake, &mut channel.pollers, Wakes::All);
                wake_side(&mut this.to_wake, &mut channel.readers, objects.profile.channel_wake);
            }
            Step::Read(id, bytes) => {
                let costs = &self.costs;
                let channel = &mut objects.channels[id.0 as usize];
                let Some(room) = channel.read(bytes, objects.profile.channel_wake) else {
                    channel.readers.push(task);
                    return Ok(this.block_in(Step::Read(id, bytes)));
                };
                if room {
                    this.sync = false;
                    wake_side(
                        &mut this.to_wake,
                        &mut channel.writers,
                        objects.profile.channel_wake,
                    );
                }
                this.owes_ns = match channel.is_socket() {
                    true => costs.socket_read_ns,
                    false => costs.pipe_read_ns,
                } + copying_ns(costs, bytes);
                if channel.written_on != cpu {
                    this.owes_ns += costs.message_remote_ns;
                }
            }
            Step::Poll(id) => {
                let channel = &mut objects.channels[id.0 as usize];
                if !channel.readable() {
                    channel.pollers.push(task);
                    return Ok(this.block_in(Step::Poll(id)));
                }
            }
            Step::Post(id) => {
                this.sync = false;
                this.to_wake.extend(objects.semaphores[id.0 as usize].post());
            }
            Step::Wait(id) => {
                let semaphore = &mut objects.semaphores[id.0 as usize];
                if !semaphore.take() {
                    semaphore.waiters.push_back(task);
                    return Ok(this.block_in(Step::Wait(id)));
                }
                this.owes_ns = self.costs.futex_ns;
            }
            Step::Lock(id, spin_ns) => {
                let mutex = &mut objects.mutexes[id.0 as usize];
                if !mutex.take(task) {
                    if spin_ns > 0 {
                        let piece_ns = spin_ns.min(SPIN_PIECE_NS);
                        this.stage = Stage::Spin(id, spin_ns - piece_ns);
                        return tell(Op::Run { ns: piece_ns });
                    }
                    mutex.waiters.push_back(task);
                    return Ok(this.block_in(Step::Lock(id, 0)));
                }
            }
            Step::TryLock(id) => this.succeeded = objects.mutexes[id.0 as usize].take(task),
            Step::Unlock(id) => {
                this.sync = false;
                this.to_wake.extend(objects.mutexes[id.0 as usize].release());
            }
            Step::Pass(id) => {
                let latch = &mut objects.latches[id.0 as usize];
                if !latch.open {
                    latch.waiters.push(task);
                    return Ok(this.block_in(Step::Pass(id)));
                }
            }
            Step::Open(id) => {
                let latch = &mut objects.latches[id.0 as usize];
                latch.open = true;
                this.sync = false;
                wake_side(&mut this.to_wake, &mut latch.waiters, Wakes::All);
            }
            Step::Disk(id, service_ns) => {
                let done_ns = objects.disks[id.0 as usize].request(now_ns, service_ns);
                return tell(sleep(done_ns, BlockReason::Uninterruptible));
            }
            Step::Commit(id, service_ns) => {
                let done_ns = objects.logs[id.0 as usize].commit(now_ns, service_ns);
                return tell(sleep(done_ns, BlockReason::Uninterruptible));
            }
            Step::FileWrite(id) => {
                if let Some(again_ns) = objects.caches[id.0 as usize].write(now_ns) {
                    this.stage = Stage::Effect(Step::FileWrite(id));
                    return tell(sleep(again_ns, BlockReason::Uninterruptible));
                }
            }
            Step::FileRead(id) => {
                let done_ns = objects.caches[id.0 as usize].read(now_ns);
                this.owes_ns = CHUNK_KIB / 4 * self.costs.block_io_ns;
                return tell(sleep(done_ns, BlockReason::Uninterruptible));
            }
            Step::Fork(spawn) => {
                let parent = &this.attr;
                let (sched, allowed, group, space) =
                    (parent.sched, parent.allowed.clone(), parent.group, parent.address_space);
                let attr = TaskAttr {
                    sched: spawn.attr.unwrap_or(sched),
                    allowed: spawn.allowed.clone().unwrap_or(allowed),
                    group: spawn.group.unwrap_or(group),
                    address_space: self.address_space(spawn.thread.then_some(space)),
                };
                self.forking = Some((spawn, attr.clone()));
                return tell(Op::Fork { attr: Box::new(attr), delay_ns: 0 });
            }
            Step::WaitChild => {
                if this.zombies > 0 {
                    this.zombies -= 1;
                } else if this.children > 0 {
                    this.waits_for_child = true;
                    return Ok(this.block_in(Step::WaitChild));
                }
            }
            Step::SetAttr(whom, attr) => {
                self.tasks[whom.index()].attr.sched = attr;
                return tell(Op::SetAttr { task: whom, attr });
            }
            Step::SetAffinity(whom, allowed) => {
                self.tasks[whom.index()].attr.allowed = allowed.clone();
                return tell(Op::SetAffinity { task: whom, allowed });
            }
            Step::Exit => {
                this.stage = Stage::Over;
                this.program = None;
                self.parts[this.part.index()].task_ends(now_ns);
                if let Some(parent) = this.parent {
                    let parent_task = &mut self.tasks[parent.index()];
                    parent_task.children -= 1;
                    parent_task.zombies += 1;
                    if std::mem::take(&mut parent_task.waits_for_child) {
                        let this = &mut self.tasks[task.index()];
                        this.sync = false;
                        this.to_wake.push(parent);
                    }
                }
            }
            Step::Finish => {
                let part = this.part;
                self.parts[part.index()].is_over(now_ns);
                if self.parts.len() == 1 {
                    return Err(Ended::Finished);
                }
                let mut others = self.living(part);
                others.retain(|&other| other != task);
                others.reverse();
                self.tasks[task.index()].stage = Stage::Kill(others);
            }
        }
        Ok(Outcome::Done)
    }
}

impl Task {
    /// Sleeps, and tries `step` again when it is woken.
    fn block_in(&mut self, step: Step) -> Outcome {
        self.stage = Stage::Again(step);
        Outcome::Tell(Op::Block { reason: BlockReason::Interruptible })
    }
}

/// The cost of copying what a message has above 100 bytes, ns.
fn copying_ns(costs: &CallCosts, bytes: u32) -> u64 {
    u64::from(bytes.saturating_sub(100)) * costs.copy_kib_ns / 1024
}

fn sleep(until_ns: u64, reason: BlockReason) -> Op {
    Op::Sleep { until_ns, reason }
}

/// Moves those of `side` that are to be woken to `to_wake`, whose last is woken next.
fn wake_side(to_wake: &mut Vec<TaskId>, side: &mut Vec<TaskId>, wakes: Wakes) {
    if side.is_empty() {
        return;
    }
    match wakes {
        // The most recently queued is last in the list, and is woken first.
        Wakes::All => to_wake.append(side),
        Wakes::One => to_wake.push(side.remove(0)),
    }
}

impl Workload for Os {
    type Error = Ended;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        std::mem::take(&mut self.initial)
    }

    fn next(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) -> Result<Op, Ended> {
        loop {
            let this = &mut self.tasks[task.index()];
            if let Some(other) = this.to_wake.pop() {
                return Ok(Op::Wake { task: other, sync: this.sync });
            }
            if this.owes_ns > 0 {
                return Ok(Op::Run { ns: std::mem::take(&mut this.owes_ns) });
            }
            let step = match std::mem::replace(&mut this.stage, Stage::Between) {
                Stage::Effect(step) | Stage::Again(step) => step,
                Stage::Spin(mutex, left_ns) => Step::Lock(mutex, left_ns),
                Stage::Kill(mut others) => match others.pop() {
                    Some(other) => {
                        this.stage = Stage::Kill(others);
                        return Ok(Op::Kill { task: other });
                    }
                    None => Step::Exit,
                },
                Stage::Over => return Ok(Op::Exit),
                Stage::Between => {
                    self.no_time_passes(now_ns, task)?;
                    let step = self.ask(now_ns, task, cpu);
                    let ns = self.cost_before(&step);
                    if ns > 0 {
                        self.tasks[task.index()].stage = Stage::Effect(step);
                        return Ok(Op::Run { ns });
                    }
                    step
                }
            };
            if let Outcome::Tell(op) = self.effect(now_ns, task, cpu, step)? {
                return Ok(op);
            }
        }
    }

    /// A write that wakes many walks the whole wait queue.
    fn in_a_call(&self, task: TaskId) -> bool {
        !self.tasks[task.index()].to_wake.is_empty()
    }

    fn footprint_kib(&self, task: TaskId) -> u32 {
        self.tasks[task.index()].footprint_kib
    }

    /// Whoever waits for it is killed as well: only whole parts are.
    fn killed(&mut self, now_ns: u64, task: TaskId) {
        let this = &mut self.tasks[task.index()];
        this.stage = Stage::Over;
        // It may have been about to end by itself.
        if this.program.take().is_some() {
            self.parts[this.part.index()].task_ends(now_ns);
        }
    }

    fn forked(&mut self, _now_ns: u64, parent: TaskId, child: TaskId) {
        let (spawn, attr) = self.forking.take().expect("a fork was told to the machine");
        let part = self.tasks[parent.index()].part;
        let number = self.add(*spawn, attr, Some(parent), part);
        debug_assert_eq!(number, child);
        let parent = &mut self.tasks[parent.index()];
        parent.children += 1;
        parent.child = Some(child);
    }
}
