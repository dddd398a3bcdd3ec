//! What threads wait for, mutexes apart: conditions, barriers, semaphores, suspension, timers and
//! the I/O device.

use super::{Blocked, Order, Stage, Vm};
use crate::program::{Compiled, Instr, NONE};
use schedlab_machine::Op;
use std::collections::VecDeque;

/// A timer that has not been used.
const UNUSED: u64 = u64::MAX;

/// Queues and counters.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// For each condition who waits, the longest-waiting first.
    conditions: Vec<VecDeque<u32>>,
    /// For each barrier who has come, in that order.
    pub(super) barriers: Vec<Vec<u32>>,
    semaphores: Vec<Semaphore>,
    /// For each name that someone resumes, who is suspended under it; see [`Sleeper`].
    suspended: Vec<VecDeque<Sleeper>>,
    /// Counts suspensions.
    tickets: u64,
    /// When each timer expires next.
    timers: Vec<u64>,
    /// The same of the threads' own, one thread after the other.
    unique_timers: Vec<u64>,
    /// When the I/O device will have done all that it was asked.
    io_free_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct Semaphore {
    posts: u64,
    waiters: VecDeque<u32>,
}

/// A thread that was suspended. It is still, if it has the same ticket: one that was resumed under
/// its other name stays in the queue until it comes to the front or the queue is cleared up.
#[derive(Clone, Copy, Debug)]
struct Sleeper {
    thread: u32,
    ticket: u64,
}

impl Waiting {
    pub fn new(code: &Compiled) -> Waiting {
        Waiting {
            conditions: vec![VecDeque::new(); code.conditions.len()],
            barriers: vec![Vec::new(); code.barriers.len()],
            semaphores: code.semaphores.iter().map(|_| Semaphore::default()).collect(),
            suspended: vec![VecDeque::new(); code.suspensions.len()],
            tickets: 0,
            timers: vec![UNUSED; code.timers.len()],
            unique_timers: Vec::new(),
            io_free_ns: 0,
        }
    }

    /// Makes room for a thread's own timers; where they begin.
    pub fn new_thread(&mut self, timers: u32) -> u32 {
        let begin = self.unique_timers.len();
        self.unique_timers.resize(begin + timers as usize, UNUSED);
        begin as u32
    }

    /// A thread that waited for `blocked` was killed. (Those that wait for mutexes, or are
    /// suspended, are passed over when their turn comes.)
    pub fn forget(&mut self, thread: u32, blocked: Blocked) {
        let others = |&other: &u32| other != thread;
        match blocked {
            Blocked::Condition(condition) => self.conditions[condition as usize].retain(others),
            Blocked::Barrier(barrier) => self.barriers[barrier as usize].retain(others),
            Blocked::Semaphore(semaphore) => {
                self.semaphores[semaphore as usize].waiters.retain(others)
            }
            Blocked::No | Blocked::Mutex(_) | Blocked::Suspended => {}
        }
    }

    /// A request that keeps the device busy for `device_ns`: when it will be done. One after the
    /// other, as they come.
    pub fn io_request(&mut self, now_ns: u64, device_ns: u64) -> u64 {
        self.io_free_ns = self.io_free_ns.max(now_ns).saturating_add(device_ns);
        self.io_free_ns
    }
}

impl Vm {
    /// Executes an event in which threads have to do with each other.
    pub(super) fn synchronise(&mut self, now_ns: u64, number: u32, instr: Instr) -> Option<Op> {
        match instr {
            // A thread that is blocked in these two stays at them: it has a mutex to take when it
            // is woken.
            Instr::Lock { mutex } => return self.lock(now_ns, number, mutex),
            Instr::Wait { condition, mutex } => return self.wait(now_ns, number, condition, mutex),
            _ => self.go_on(number),
        }
        match instr {
            Instr::Unlock { mutex } => self.release(number, mutex),
            Instr::Signal { condition } => self.signal(condition, 1),
            Instr::Broad { condition } => self.signal(condition, usize::MAX),
            Instr::Barrier { barrier } => return self.barrier(now_ns, number, barrier),
            Instr::SemPost { semaphore } => self.sem_post(semaphore),
            Instr::SemWait { semaphore } => return self.sem_wait(now_ns, number, semaphore),
            Instr::Suspend { key, name } => return Some(self.suspend(now_ns, number, [key, name])),
            Instr::Resume { name, sync } => self.resume(name, sync),
            Instr::SuspendOnce => return self.suspend_once(now_ns, number),
            Instr::ResumeThread { thread, sync } => self.resume_thread(thread, sync),
            other => unreachable!("{other:?} concerns nobody else"),
        }
        None
    }

    /// `timer`: sleeps until the next expiry, unless that has passed.
    pub(super) fn timer(&mut self, now_ns: u64, number: u32, instr: Instr) -> Option<Op> {
        let Instr::Timer { timer, unique, absolute, period_ns } = instr else {
            unreachable!("{instr:?} is no timer")
        };
        let thread = &mut self.threads[number as usize];
        thread.pc += 1;
        let expiry = if unique {
            &mut self.waiting.unique_timers[(thread.unique_timers + timer) as usize]
        } else {
            &mut self.waiting.timers[timer as usize]
        };
        if *expiry == UNUSED {
            *expiry = thread.start_ns;
        }
        let expires_ns = expiry.saturating_add(period_ns).min(i64::MAX as u64);
        *expiry = if expires_ns < now_ns && !absolute { now_ns } else { expires_ns };
        if let Some(log) = &mut self.log {
            log.timer(number, period_ns, expires_ns as i64 - now_ns as i64);
        }
        if expires_ns <= now_ns {
            return None;
        }
        thread.stage = Stage::Timer;
        thread.since_ns = expires_ns;
        Some(self.sleep(number, expires_ns))
    }

    /// `wait`: gives the mutex up and waits for the condition; once signalled, takes the mutex
    /// again.
    fn wait(&mut self, now_ns: u64, number: u32, condition: u32, mutex: u32) -> Option<Op> {
        match self.threads[number as usize].stage {
            Stage::Signalled | Stage::Retry => self.lock(now_ns, number, mutex),
            _ => {
                self.release(number, mutex);
                self.waiting.conditions[condition as usize].push_back(number);
                Some(self.block(now_ns, number, Blocked::Condition(condition)))
            }
        }
    }

    /// `signal`, `broad`: wakes the `most` longest-waiting.
    fn signal(&mut self, condition: u32, most: usize) {
        for _ in 0..most {
            let Some(number) = self.waiting.conditions[condition as usize].pop_front() else {
                return;
            };
            self.threads[number as usize].stage = Stage::Signalled;
            self.unblock(number, false);
        }
    }

    /// Whether an event that lets others go on finds somebody to wake.
    pub(super) fn has_whom_to_wake(&mut self, instr: Instr) -> bool {
        match instr {
            Instr::Unlock { mutex } => self.is_wanted(mutex),
            Instr::Signal { condition } | Instr::Broad { condition } => {
                !self.waiting.conditions[condition as usize].is_empty()
            }
            Instr::SemPost { semaphore } => {
                !self.waiting.semaphores[semaphore as usize].waiters.is_empty()
            }
            Instr::Resume { name, .. } => {
                let mut sleepers = self.waiting.suspended[name as usize].iter();
                sleepers.any(|&sleeper| is_asleep(&self.threads, sleeper))
            }
            Instr::ResumeThread { thread, .. } => {
                self.threads[thread as usize].blocked == Blocked::Suspended
            }
            _ => false,
        }
    }

    /// `barrier`: waits for the others, or wakes them.
    fn barrier(&mut self, now_ns: u64, number: u32, barrier: u32) -> Option<Op> {
        let needed = self.code.barriers[barrier as usize].needed;
        let come = &mut self.waiting.barriers[barrier as usize];
        if come.len() + 1 < needed {
            come.push(number);
            return Some(self.block(now_ns, number, Blocked::Barrier(barrier)));
        }
        let mut come = std::mem::take(come);
        for &number in &come {
            self.unblock(number, false);
        }
        come.clear();
        self.waiting.barriers[barrier as usize] = come;
        None
    }

    /// `sem_post`: the longest-waiting gets the post; if nobody waits it is stored.
    fn sem_post(&mut self, semaphore: u32) {
        let semaphore = &mut self.waiting.semaphores[semaphore as usize];
        match semaphore.waiters.pop_front() {
            Some(number) => self.unblock(number, false),
            None => semaphore.posts += 1,
        }
    }

    /// `sem_wait`: takes a post, or waits for one.
    fn sem_wait(&mut self, now_ns: u64, number: u32, semaphore: u32) -> Option<Op> {
        let state = &mut self.waiting.semaphores[semaphore as usize];
        if state.posts > 0 {
            state.posts -= 1;
            self.owe(number, false);
            return None;
        }
        state.waiters.push_back(number);
        self.owe(number, true);
        Some(self.block(now_ns, number, Blocked::Semaphore(semaphore)))
    }

    /// `suspend`: under up to two names.
    fn suspend(&mut self, now_ns: u64, number: u32, names: [u32; 2]) -> Op {
        self.waiting.tickets += 1;
        let ticket = self.waiting.tickets;
        self.threads[number as usize].ticket = ticket;
        self.owe(number, true);
        for name in names {
            if name != NONE {
                self.queue_sleeper(name, Sleeper { thread: number, ticket });
            }
        }
        self.block(now_ns, number, Blocked::Suspended)
    }

    fn queue_sleeper(&mut self, name: u32, sleeper: Sleeper) {
        let threads = &self.threads;
        let queue = &mut self.waiting.suspended[name as usize];
        // More than there are threads, and the queue is full: so some have been resumed under their
        // other names.
        if queue.len() > threads.len() && queue.len() == queue.capacity() {
            queue.retain(|&sleeper| is_asleep(threads, sleeper));
        }
        queue.push_back(sleeper);
    }

    /// `resume`: wakes all who are suspended under a name.
    fn resume(&mut self, name: u32, sync: bool) {
        while let Some(sleeper) = self.waiting.suspended[name as usize].pop_front() {
            if is_asleep(&self.threads, sleeper) {
                self.unblock(sleeper.thread, sync);
            }
        }
    }

    /// The golden schedules' `suspend`: goes on if a resume came before.
    fn suspend_once(&mut self, now_ns: u64, number: u32) -> Option<Op> {
        let thread = &mut self.threads[number as usize];
        if thread.tokens > 0 {
            thread.tokens -= 1;
            return None;
        }
        self.owe(number, true);
        Some(self.block(now_ns, number, Blocked::Suspended))
    }

    /// The golden schedules' `resume`: one that is not suspended will pass its next `suspend`.
    fn resume_thread(&mut self, number: u32, sync: bool) {
        let thread = &mut self.threads[number as usize];
        if thread.blocked == Blocked::Suspended {
            thread.blocked = Blocked::No;
            self.orders.push_back(Order::Wake { thread: number, sync });
        } else {
            thread.tokens += 1;
        }
    }
}

fn is_asleep(threads: &[super::Thread], sleeper: Sleeper) -> bool {
    let thread = &threads[sleeper.thread as usize];
    thread.blocked == Blocked::Suspended && thread.ticket == sleeper.ticket
}
