//! Effects of each [`Step`].

use super::blocked::Blocked;
use super::calls::{copying_ns, futex_ns};
use super::channel::Wakes;
use super::kernel::{Kernel, PendingFork};
use super::limits::THREADS_MAX;
use super::mutex::MutexId;
use super::requests::Place;
use super::script::AddressSpaces;
use super::semaphore::SemaphoreKind;
use super::step::Step;
use super::task::{Attempt, Body, Order, Stage, Task, Timing, Victims, is_asleep};
use super::wait_queue::{Sleeper, SuspensionId};
use crate::error::{Error, Reason};
use schedlab_core::{BlockReason, CpuId, CpuSet, GroupId, SchedAttr, TaskAttr, TaskId};
use schedlab_machine::Op;

/// Interval at which a spinning task tests the lock, ns.
const SPIN_PIECE_NS: u64 = 1_000;

/// Result of a step for the machine, before the program continues.
pub(super) enum Outcome {
    /// Continue at once.
    Done,
    /// Sleep until woken, after its orders.
    Block,
    /// Perform this operation of the machine.
    Op(Op),
}

fn op(op: Op) -> Result<Outcome, Error> {
    Ok(Outcome::Op(op))
}

fn uninterruptible(until_ns: u64) -> Result<Outcome, Error> {
    op(Op::Sleep { until_ns, reason: BlockReason::Uninterruptible })
}

impl Kernel {
    /// Makes `step` take effect, or blocks. The task has no orders left from an earlier step.
    #[inline(always)]
    pub(super) fn effect(
        &mut self,
        now_ns: u64,
        number: u32,
        cpu: CpuId,
        step: Step,
    ) -> Result<Outcome, Error> {
        let this = &mut self.tasks[number as usize];
        let objects = &mut self.objects;
        match step {
            Step::Run(0) | Step::Sleep(0) => {}
            Step::Exec => return op(Op::Exec),
            Step::Run(ns) => return op(Op::Run { ns }),
            Step::RunUntil(until_ns) => {
                if until_ns > now_ns {
                    return op(Op::RunUntil { until_ns });
                }
            }
            Step::Sleep(ns) => return op(self.sleep(number, now_ns.saturating_add(ns))),
            Step::SleepUntil(until_ns) => {
                if until_ns > now_ns {
                    return op(self.sleep(number, until_ns));
                }
            }
            Step::Timer { timer, period_ns, absolute } => {
                let timer = &mut objects.timers[timer.0 as usize];
                let expires_ns = timer.next(now_ns, this.start_ns, period_ns, absolute);
                this.periods += 1;
                this.missed_periods += u64::from(expires_ns < now_ns);
                if let Some(log) = &mut self.log {
                    log.timer(number, period_ns, expires_ns as i64 - now_ns as i64);
                }
                if let Some(requests) = &mut self.requests {
                    let worked = std::mem::take(&mut this.worked);
                    requests.reach(number, Place::Timer, now_ns, this.start_ns, worked);
                    requests.set_due(number, Place::Timer, expires_ns);
                    requests.set_period(number, if absolute { period_ns } else { 0 });
                }
                if expires_ns > now_ns {
                    this.timing = Timing::Timer;
                    this.since_ns = expires_ns;
                    return op(self.sleep(number, expires_ns));
                }
            }
            Step::Yield if self.conventions.yield_goes_on => return op(Op::YieldAndGoOn),
            Step::Yield => return op(Op::Yield),
            Step::Write(id, bytes) => {
                let channel = &mut objects.channels[id.0 as usize];
                if !channel.write(bytes) {
                    channel.writers.push(number);
                    return self.block_in(now_ns, number, Blocked::Write(id.0), step);
                }
                channel.written_on = cpu;
                if channel.readers.is_empty() && channel.pollers.is_empty() {
                    return Ok(Outcome::Done);
                }
                let sync = if channel.is_socket() {
                    objects.profile.socket_sync
                } else {
                    objects.profile.pipe_sync
                };
                // In the kernel, pollers and readers are in one list. No program here has both on
                // one channel.
                if let [reader] = channel.readers[..]
                    && channel.pollers.is_empty()
                {
                    channel.readers.clear();
                    return op(self.wake(number, reader, sync));
                }
                let wakes = objects.profile.channel_wake;
                wake_side(&mut self.tasks, number, &mut channel.readers, wakes, sync);
                wake_side(&mut self.tasks, number, &mut channel.pollers, Wakes::All, sync);
            }
            Step::Read(id, bytes) => {
                let costs = &self.costs;
                let channel = &mut objects.channels[id.0 as usize];
                let Some(room) = channel.read(bytes, objects.profile.channel_wake) else {
                    channel.readers.push(number);
                    return self.block_in(now_ns, number, Blocked::Read(id.0), step);
                };
                let mut ns = match channel.is_socket() {
                    true => costs.socket_read_ns,
                    false => costs.pipe_read_ns,
                } + copying_ns(costs, bytes);
                if channel.written_on != cpu {
                    ns += costs.message_remote_ns;
                }
                if costs.message_bus_ns > 0 {
                    let from_ns = self.bus_free_at_ns.max(now_ns);
                    self.bus_free_at_ns = from_ns + costs.message_bus_ns;
                    ns += from_ns - now_ns;
                }
                if !room || channel.writers.is_empty() {
                    return if ns > 0 { op(Op::Run { ns }) } else { Ok(Outcome::Done) };
                }
                this.owes_ns = ns;
                let wakes = objects.profile.channel_wake;
                wake_side(&mut self.tasks, number, &mut channel.writers, wakes, false);
            }
            Step::Poll(id) => {
                let channel = &mut objects.channels[id.0 as usize];
                if !channel.readable() {
                    channel.pollers.push(number);
                    return self.block_in(now_ns, number, Blocked::Poll(id.0), step);
                }
            }
            Step::Post(id) => {
                let first = objects.semaphores[id.0 as usize].post();
                if let Some(requests) = &mut self.requests {
                    requests.post(id.0, now_ns, first);
                }
                if let Some(first) = first {
                    return op(self.wake(number, first, false));
                }
            }
            Step::Wait(id) => {
                let semaphore = &mut objects.semaphores[id.0 as usize];
                let kind = semaphore.kind;
                let takes = semaphore.take();
                if let Some(requests) = &mut self.requests {
                    let worked = std::mem::take(&mut this.worked);
                    requests.reach(number, Place::Wait, now_ns, this.start_ns, worked);
                    if takes {
                        requests.take_post(id.0, number);
                    }
                }
                if takes {
                    let ns = futex_ns(&self.costs, kind == SemaphoreKind::Syscall);
                    return if ns > 0 { op(Op::Run { ns }) } else { Ok(Outcome::Done) };
                }
                semaphore.waiters.push_back(number);
                let blocked = Blocked::Semaphore(id.0);
                if kind == SemaphoreKind::Syscall {
                    return self.block_in(now_ns, number, blocked, step);
                }
                self.owe_futex(number, true);
                return self.block(now_ns, number, blocked);
            }
            Step::Lock(id, spin_ns) => return self.lock(now_ns, number, id, spin_ns),
            Step::TryLock(id) => {
                let succeeded = self.try_lock(number, id);
                self.tasks[number as usize].own.succeeded = succeeded;
            }
            Step::Unlock(id) => self.release(number, id),
            Step::WaitCondition(condition, mutex) => {
                this.attempt = Attempt::Signalled;
                this.defer(Step::Lock(mutex, 0));
                self.await_request(now_ns, number, Place::Wait);
                self.release(number, mutex);
                self.objects.conditions[condition.0 as usize].push_back(number);
                return self.block(now_ns, number, Blocked::Condition(condition.0));
            }
            Step::Signal(id) => {
                if let Some(first) = objects.conditions[id.0 as usize].pop_front() {
                    if let Some(requests) = &mut self.requests {
                        requests.set_due(first, Place::Wait, now_ns);
                    }
                    return op(self.wake(number, first, false));
                }
            }
            Step::Broadcast(id) => {
                while let Some(first) = self.objects.conditions[id.0 as usize].pop_front() {
                    if let Some(requests) = &mut self.requests {
                        requests.set_due(first, Place::Wait, now_ns);
                    }
                    self.unblock(number, first, false);
                }
            }
            Step::Barrier(id) => {
                let barrier = &mut objects.barriers[id.0 as usize];
                if !barrier.arrive(number) {
                    return self.block(now_ns, number, Blocked::Barrier(id.0));
                }
                let mut come = std::mem::take(&mut barrier.come);
                for other in come.drain(..) {
                    self.unblock(number, other, false);
                }
                // The list keeps its capacity.
                self.objects.barriers[id.0 as usize].come = come;
            }
            Step::Pass(id) => {
                let latch = &mut objects.latches[id.0 as usize];
                if !latch.open {
                    latch.waiters.push(number);
                    return self.block_in(now_ns, number, Blocked::Latch(id.0), step);
                }
            }
            Step::Open(id) => {
                let latch = &mut objects.latches[id.0 as usize];
                latch.open = true;
                wake_side(&mut self.tasks, number, &mut latch.waiters, Wakes::All, false);
            }
            Step::Suspend(names) => {
                self.tickets += 1;
                this.ticket = self.tickets;
                self.owe_futex(number, true);
                let sleeper = Sleeper { task: number, ticket: self.tickets };
                let tasks = &self.tasks;
                for name in names.into_iter().filter(|&name| name != SuspensionId::NONE) {
                    let suspended = &mut self.objects.suspensions[name.0 as usize];
                    suspended.queue(sleeper, tasks.len(), |sleeper| is_asleep(tasks, sleeper));
                }
                self.await_request(now_ns, number, Place::Wait);
                return self.block(now_ns, number, Blocked::Suspended);
            }
            Step::Resume { name, sync } => {
                while let Some(sleeper) = self.objects.suspensions[name.0 as usize]
                    .pop(|sleeper| is_asleep(&self.tasks, sleeper))
                {
                    if let Some(requests) = &mut self.requests {
                        requests.set_due(sleeper, Place::Wait, now_ns);
                    }
                    self.unblock(number, sleeper, sync);
                }
            }
            Step::Park => {
                if this.tokens == 0 {
                    self.owe_futex(number, true);
                    return self.block(now_ns, number, Blocked::Suspended);
                }
                this.tokens -= 1;
            }
            Step::Unpark { task: other, sync } => {
                let parked = &mut self.tasks[other.index()];
                if parked.blocked == Blocked::Suspended {
                    return op(self.wake(number, other.0, sync));
                }
                parked.tokens = if self.conventions.one_resume { 1 } else { parked.tokens + 1 };
            }
            Step::Disk(id, service_ns) => {
                this.after_run = false;
                return uninterruptible(objects.disks[id.0 as usize].request(now_ns, service_ns));
            }
            Step::Commit(id, service_ns) => {
                return uninterruptible(objects.logs[id.0 as usize].commit(now_ns, service_ns));
            }
            Step::FileWrite(id) => {
                if let Some(again_ns) = objects.caches[id.0 as usize].write(now_ns) {
                    this.defer(step);
                    return uninterruptible(again_ns);
                }
            }
            Step::FileRead(id) => {
                let done_ns = objects.caches[id.0 as usize].read(now_ns);
                let owes_ns = self.chunk_cpu_ns();
                self.tasks[number as usize].owes_ns = owes_ns;
                return uninterruptible(done_ns);
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
                self.forking = Some(PendingFork::Program(spawn, attr.clone()));
                return op(Op::Fork { attr: Box::new(attr), inherits: false, delay_ns: 0 });
            }
            Step::ForkScript { script, thread } => {
                let space = this.attr.address_space;
                if self.tasks.len() >= THREADS_MAX {
                    let reason = Reason::TooManyThreads { most: THREADS_MAX };
                    return Err(self.stop(now_ns, number, reason));
                }
                let delay_ns = self.scripts.scripts[script as usize].delay_ns;
                let mut attr = self.script_attr(script);
                // A forked process has its parent's memory only if the file states this.
                if thread || self.conventions.address_spaces == AddressSpaces::PerTask {
                    attr.address_space = space;
                }
                let start_ns = now_ns.saturating_add(delay_ns);
                self.forking = Some(PendingFork::Script(script, attr.clone(), start_ns));
                let inherits = self.conventions.forks_inherit;
                return op(Op::Fork { attr: Box::new(attr), inherits, delay_ns });
            }
            Step::WaitChild => {
                if this.zombies > 0 {
                    this.zombies -= 1;
                } else if this.children > 0 {
                    return self.block_in(now_ns, number, Blocked::Child, step);
                }
            }
            Step::SetAttr(target, attr) => {
                return Ok(self.set_attr(number, target, *attr).map_or(Outcome::Done, Outcome::Op));
            }
            Step::SetAffinity(target, allowed) => return op(self.set_affinity(target, *allowed)),
            Step::SetGroup(target, group) => return op(self.set_group(target, group)),
            Step::Exit => self.exit(now_ns, number),
            Step::Finish => {
                let part = this.part;
                self.parts[part.index()].is_over(now_ns);
                if self.parts.len() == 1 {
                    return Err(self.stop(now_ns, number, Reason::Finished));
                }
                let mut others = self.living(part);
                others.retain(|&other| other.0 != number);
                others.reverse();
                self.tasks[number as usize].stage = Stage::Kill(Box::new(Victims(others)));
            }
        }
        Ok(Outcome::Done)
    }

    /// Takes the mutex, spins for it, or waits for it.
    fn lock(
        &mut self,
        now_ns: u64,
        number: u32,
        id: MutexId,
        spin_ns: u64,
    ) -> Result<Outcome, Error> {
        let succeeds = self.try_lock(number, id);
        let this = &mut self.tasks[number as usize];
        let attempt = std::mem::take(&mut this.attempt);
        if succeeds {
            if self.objects.mutexes[id.0 as usize].kind.is_futex() {
                self.owe_futex(number, attempt != Attempt::First);
            }
            return Ok(Outcome::Done);
        }
        if spin_ns > 0 {
            let piece_ns = spin_ns.min(SPIN_PIECE_NS);
            this.defer(Step::Lock(id, spin_ns - piece_ns));
            return op(Op::Run { ns: piece_ns });
        }
        this.attempt = Attempt::Again;
        this.defer(Step::Lock(id, 0));
        self.wait_for_mutex(now_ns, number, id, attempt == Attempt::Again);
        Ok(Outcome::Block)
    }

    /// Sets attributes. `None`: the operations of the machine are among the orders of `actor`.
    pub(super) fn set_attr(&mut self, actor: u32, task: TaskId, attr: SchedAttr) -> Option<Op> {
        self.tasks[task.index()].attr.sched = attr;
        if !self.objects.inherits {
            return Some(Op::SetAttr { task, attr });
        }
        self.priority_changed(actor, task.0);
        None
    }

    pub(super) fn set_affinity(&mut self, task: TaskId, allowed: CpuSet) -> Op {
        self.tasks[task.index()].attr.allowed = allowed.clone();
        Op::SetAffinity { task, allowed }
    }

    pub(super) fn set_group(&mut self, task: TaskId, group: GroupId) -> Op {
        self.tasks[task.index()].attr.group = group;
        Op::SetGroup { task, group }
    }

    /// Ends a task, and wakes its parent if the parent waits for that.
    pub(super) fn exit(&mut self, now_ns: u64, number: u32) {
        self.await_request(now_ns, number, Place::Exit);
        let this = &mut self.tasks[number as usize];
        this.stage = Stage::Over;
        // The counts of a script are read after the run.
        if matches!(this.body, Body::Program(_)) {
            this.body = Body::Over;
        }
        self.parts[this.part.index()].task_ends(now_ns);
        if let Some(parent) = this.parent {
            let parent_task = &mut self.tasks[parent.index()];
            parent_task.children -= 1;
            parent_task.zombies += 1;
            if parent_task.blocked == Blocked::Child {
                self.unblock(number, parent.0, false);
            }
        }
    }

    pub(super) fn sleep(&mut self, number: u32, until_ns: u64) -> Op {
        self.tasks[number as usize].after_run = false;
        Op::Sleep {
            until_ns,
            reason: if self.conventions.uninterruptible {
                BlockReason::Uninterruptible
            } else {
                BlockReason::Interruptible
            },
        }
    }

    /// Blocks the task until it is woken.
    #[inline]
    fn block(&mut self, now_ns: u64, number: u32, blocked: Blocked) -> Result<Outcome, Error> {
        self.tasks[number as usize].block(now_ns, blocked);
        Ok(Outcome::Block)
    }

    /// Blocks the task, which tries `step` again when it is woken.
    #[inline]
    fn block_in(
        &mut self,
        now_ns: u64,
        number: u32,
        blocked: Blocked,
        step: Step,
    ) -> Result<Outcome, Error> {
        let this = &mut self.tasks[number as usize];
        this.defer(step);
        this.block(now_ns, blocked);
        Ok(Outcome::Block)
    }

    /// Ends the wait of `number`. `actor`, which has no orders, wakes it now.
    #[inline]
    fn wake(&mut self, actor: u32, number: u32, sync: bool) -> Op {
        debug_assert!(self.tasks[actor as usize].orders.is_empty());
        self.tasks[number as usize].blocked = Blocked::No;
        Op::Wake { task: TaskId(number), sync }
    }

    /// Ends the wait of `number`. `actor` wakes it.
    #[inline]
    pub(super) fn unblock(&mut self, actor: u32, number: u32, sync: bool) {
        self.tasks[number as usize].blocked = Blocked::No;
        self.tasks[actor as usize].order_wake(number, sync);
    }

    #[inline]
    pub(super) fn op(&self, order: Order) -> Op {
        match order {
            Order::Wake { task, sync } => Op::Wake { task: TaskId(task), sync },
            Order::Attr { task } => Op::SetAttr { task: TaskId(task), attr: self.effective(task) },
            Order::ReadClock => Op::ReadClock,
            Order::Block { reason } => Op::Block { reason },
        }
    }
}

/// Makes `actor` wake the tasks of `side` that are to be woken.
#[inline(never)]
fn wake_side(tasks: &mut [Task], actor: u32, side: &mut Vec<u32>, wakes: Wakes, sync: bool) {
    if side.is_empty() {
        return;
    }
    let mut wake = |number: u32| {
        tasks[number as usize].blocked = Blocked::No;
        tasks[actor as usize].order_wake(number, sync);
    };
    match wakes {
        // The most recently queued task is last in the list, and is woken first.
        Wakes::All => side.drain(..).rev().for_each(&mut wake),
        Wakes::One => wake(side.remove(0)),
    }
}
