//! Objects that threads share, on futexes: mutexes, conditions, barriers, semaphores, suspensions
//! and timers, with the semantics of rt-app's language in the simulator.
//!
//! Each queue is short and protected by a lock that is held for some tens of ns. Each waiting
//! thread parks on its own word. So the language, and not the kernel's order, decides which thread
//! a release, a post or a signal wakes. Only mutexes with priority inheritance are the kernel's
//! (`FUTEX_LOCK_PI`), because only the kernel can lend a priority.

use crate::sys;
use rustix::thread::futex;
use schedlab_core::{Policy, SchedAttr};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Guarded, MutexGuard, PoisonError};

/// Place where one thread waits until another wakes it.
#[derive(Debug, Default)]
pub struct Park {
    woken: AtomicU32,
    /// Time of the wakeup by the waker's clock, ns.
    woken_ns: AtomicU64,
}

impl Park {
    /// Resets the place before the thread queues itself.
    fn arm(&self) {
        self.woken.store(0, Ordering::Relaxed);
    }

    fn wake(&self) {
        self.woken_ns.store(sys::now_ns(), Ordering::Relaxed);
        self.woken.store(1, Ordering::Release);
        // It is no error if no thread waits there any more: the word holds the state.
        let _ = futex::wake(&self.woken, futex::Flags::PRIVATE, 1);
    }

    /// Waits for the waker, and returns the time of the wakeup, ns. `None`: `until_ns` was reached.
    fn wait(&self, until_ns: u64) -> Option<u64> {
        let until = sys::timespec(until_ns);
        let all = NonZeroU32::MAX;
        while self.woken.load(Ordering::Acquire) == 0 {
            let slept =
                futex::wait_bitset(&self.woken, futex::Flags::PRIVATE, 0, Some(&until), all);
            if slept == Err(rustix::io::Errno::TIMEDOUT) {
                return None;
            }
        }
        Some(self.woken_ns.load(Ordering::Relaxed))
    }
}

/// Place where many threads wait until it is opened, once.
#[derive(Debug, Default)]
pub struct Gate {
    open: AtomicU32,
}

impl Gate {
    /// Opens the gate for threads that wait and threads that arrive later.
    pub fn open(&self) {
        self.open.store(1, Ordering::Release);
        // The largest number that the kernel accepts; it is no error if no thread waits.
        let _ = futex::wake(&self.open, futex::Flags::PRIVATE, i32::MAX as u32);
    }

    /// Waits until the gate is open.
    pub fn pass(&self) {
        while self.open.load(Ordering::Acquire) == 0 {
            // Whatever ended the sleep, the word says whether the gate is open.
            let _ = futex::wait(&self.open, futex::Flags::PRIVATE, 0, None);
        }
    }
}

/// A thread that waits.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// Place where it waits.
    pub park: Arc<Park>,
    /// Its scheduling attributes.
    pub attr: SchedAttr,
    /// Time at which the run, and with it every wait, ends, ns.
    pub until_ns: u64,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// No wait was necessary.
    Not,
    /// It was woken at this time by the waker's clock, ns.
    WokenAt(u64),
    /// It waited, and the kernel does not report when the wait became unnecessary.
    Somehow,
    /// The run is over.
    RunOver,
}

/// Locks a value. No operation under these locks panics halfway, so poison is ignored.
pub fn locked<T>(guarded: &Guarded<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the urgency of a waiter for a mutex; smaller is more urgent. Deadline tasks by relative
/// deadline, real-time tasks by priority, all others equally.
fn urgency(attr: &SchedAttr) -> u64 {
    match attr.policy {
        Policy::Deadline => attr.deadline_ns.min((1 << 63) - 1),
        Policy::Fifo | Policy::RoundRobin => (1 << 63) + 99 - u64::from(attr.rt_priority.min(99)),
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => u64::MAX,
    }
}

#[derive(Debug, Default)]
struct Lock {
    taken: bool,
    tickets: u64,
    waiters: Vec<(u64, u64, Arc<Park>)>,
}

/// A mutex. A release makes it free and wakes the first waiter, by urgency and then by time. The
/// woken thread tries again when it runs; if another thread was faster, it waits at its old place.
#[derive(Debug, Default)]
pub struct Mutex {
    lock: Guarded<Lock>,
    /// The kernel's word, if the mutex inherits priority.
    word: AtomicU32,
    inherits: bool,
}

impl Mutex {
    /// Creates a free mutex.
    pub fn new(inherits: bool) -> Mutex {
        Mutex { inherits, ..Mutex::default() }
    }

    /// Locks the mutex.
    pub fn lock(&self, waiter: &Waiter) -> Waited {
        if self.inherits {
            return self.lock_inheriting(waiter.until_ns);
        }
        let mut ticket = None;
        let mut waited = Waited::Not;
        loop {
            {
                let mut lock = locked(&self.lock);
                if !lock.taken {
                    lock.taken = true;
                    return waited;
                }
                lock.tickets += 1;
                let ticket = *ticket.get_or_insert(lock.tickets);
                waiter.park.arm();
                lock.waiters.push((urgency(&waiter.attr), ticket, waiter.park.clone()));
            }
            waited = match waiter.park.wait(waiter.until_ns) {
                Some(at_ns) => Waited::WokenAt(at_ns),
                None => return Waited::RunOver,
            };
        }
    }

    fn lock_inheriting(&self, until_ns: u64) -> Waited {
        let me = sys::thread_id() as u32;
        let free = self.word.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed);
        if free.is_ok() {
            return Waited::Not;
        }
        let flags = futex::Flags::PRIVATE;
        let until = sys::timespec(until_ns);
        loop {
            match futex::lock_pi2(&self.word, flags, Some(&until)) {
                Ok(()) => return Waited::Somehow,
                Err(rustix::io::Errno::TIMEDOUT) => return Waited::RunOver,
                // Before 5.14: the owner releases it at the end of the run, so this wait also ends.
                Err(rustix::io::Errno::NOSYS) => match futex::lock_pi(&self.word, flags, None) {
                    Ok(()) => return Waited::Somehow,
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    Err(_) => return Waited::RunOver,
                },
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                // The owner ended while holding it: only at the end of the run.
                Err(_) => return Waited::RunOver,
            }
        }
    }

    /// Unlocks the mutex.
    pub fn unlock(&self) {
        if self.inherits {
            let me = sys::thread_id() as u32;
            let alone = self.word.compare_exchange(me, 0, Ordering::Release, Ordering::Relaxed);
            if alone.is_err() {
                let _ = futex::unlock_pi(&self.word, futex::Flags::PRIVATE);
            }
            return;
        }
        let first = {
            let mut lock = locked(&self.lock);
            lock.taken = false;
            let first = (0..lock.waiters.len())
                .min_by_key(|&place| (lock.waiters[place].0, lock.waiters[place].1));
            first.map(|place| lock.waiters.swap_remove(place).2)
        };
        if let Some(first) = first {
            first.wake();
        }
    }
}

/// A condition: a queue in the order of arrival.
#[derive(Debug, Default)]
pub struct Condition(Guarded<VecDeque<Arc<Park>>>);

impl Condition {
    /// Unlocks `mutex`, waits for a signal, and locks it again.
    pub fn wait(&self, mutex: &Mutex, waiter: &Waiter) -> Waited {
        waiter.park.arm();
        locked(&self.0).push_back(waiter.park.clone());
        mutex.unlock();
        let Some(at_ns) = waiter.park.wait(waiter.until_ns) else { return Waited::RunOver };
        match mutex.lock(waiter) {
            Waited::Not => Waited::WokenAt(at_ns),
            other => other,
        }
    }

    /// Wakes the thread that has waited longest.
    pub fn signal(&self) {
        let first = locked(&self.0).pop_front();
        if let Some(first) = first {
            first.wake();
        }
    }

    /// Wakes all threads.
    pub fn broadcast(&self) {
        let all = std::mem::take(&mut *locked(&self.0));
        all.iter().for_each(|park| park.wake());
    }
}

/// A barrier: the last thread to arrive wakes the others, in the order in which they arrived.
#[derive(Debug)]
pub struct Barrier {
    needed: usize,
    come: Guarded<Vec<Arc<Park>>>,
}

impl Barrier {
    /// Creates a barrier for this number of threads.
    pub fn new(needed: usize) -> Barrier {
        Barrier { needed, come: Guarded::default() }
    }

    /// Arrives at the barrier.
    pub fn arrive(&self, waiter: &Waiter) -> Waited {
        let others = {
            let mut come = locked(&self.come);
            if come.len() + 1 < self.needed {
                waiter.park.arm();
                come.push(waiter.park.clone());
                None
            } else {
                Some(std::mem::take(&mut *come))
            }
        };
        match others {
            Some(others) => {
                others.iter().for_each(|park| park.wake());
                Waited::Not
            }
            None => waiter.park.wait(waiter.until_ns).map_or(Waited::RunOver, Waited::WokenAt),
        }
    }
}

/// A semaphore: a post goes to the thread that has waited longest, or is kept.
#[derive(Debug, Default)]
pub struct Semaphore(Guarded<(u64, VecDeque<Arc<Park>>)>);

impl Semaphore {
    /// Posts once.
    pub fn post(&self) {
        let first = {
            let mut state = locked(&self.0);
            let first = state.1.pop_front();
            state.0 += u64::from(first.is_none());
            first
        };
        if let Some(first) = first {
            first.wake();
        }
    }

    /// Waits for a post.
    pub fn wait(&self, waiter: &Waiter) -> Waited {
        {
            let mut state = locked(&self.0);
            if state.0 > 0 {
                state.0 -= 1;
                return Waited::Not;
            }
            waiter.park.arm();
            state.1.push_back(waiter.park.clone());
        }
        waiter.park.wait(waiter.until_ns).map_or(Waited::RunOver, Waited::WokenAt)
    }
}

/// Suspended threads, each under one or two names, the longest-suspended first.
#[derive(Debug, Default)]
pub struct Suspended(Guarded<VecDeque<([u32; 2], Arc<Park>)>>);

impl Suspended {
    /// Suspends the calling thread until it is resumed under one of the names.
    pub fn suspend(&self, names: [u32; 2], waiter: &Waiter) -> Waited {
        waiter.park.arm();
        locked(&self.0).push_back((names, waiter.park.clone()));
        waiter.park.wait(waiter.until_ns).map_or(Waited::RunOver, Waited::WokenAt)
    }

    /// Wakes all threads that are suspended under the name.
    pub fn resume(&self, name: u32) {
        let mut woken = vec![];
        locked(&self.0).retain(|(names, park)| {
            let meant = names.contains(&name);
            if meant {
                woken.push(park.clone());
            }
            !meant
        });
        woken.iter().for_each(|park| park.wake());
    }
}

/// A periodic timer. Each expiry is one period after the last; the first one is a period after the
/// start of the thread that uses the timer first. A missed expiry moves to the present, unless the
/// use is `absolute`.
#[derive(Debug, Default)]
pub struct Timer(Guarded<Option<u64>>);

impl Timer {
    /// Returns the time of the next expiry, ns.
    pub fn next(&self, now_ns: u64, start_ns: u64, period_ns: u64, absolute: bool) -> u64 {
        let mut last = locked(&self.0);
        let expires_ns = last.unwrap_or(start_ns).saturating_add(period_ns).min(i64::MAX as u64);
        *last = Some(if expires_ns < now_ns && !absolute { now_ns } else { expires_ns });
        expires_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Time after which a hanging test ends, and fails.
    const LONG_NS: u64 = 60_000_000_000;

    fn waiter() -> Waiter {
        let until_ns = sys::now_ns() + LONG_NS;
        Waiter { park: Arc::default(), attr: SchedAttr::default(), until_ns }
    }

    /// Waits until `there` returns `true`.
    fn until(there: impl Fn() -> bool) {
        while !there() {
            thread::yield_now();
        }
    }

    #[test]
    fn a_mutex_goes_to_the_most_urgent_and_then_to_who_came_first() {
        let mutex = Mutex::new(false);
        assert_eq!(mutex.lock(&waiter()), Waited::Not);
        let order = Guarded::new(vec![]);
        thread::scope(|scope| {
            let priorities = [0, 0, 10, 50];
            for (number, priority) in priorities.into_iter().enumerate() {
                let (mutex, order) = (&mutex, &order);
                scope.spawn(move || {
                    let attr = match priority {
                        0 => SchedAttr::default(),
                        _ => SchedAttr::realtime(Policy::Fifo, priority),
                    };
                    let waited = mutex.lock(&Waiter { attr, ..waiter() });
                    assert!(matches!(waited, Waited::WokenAt(_)), "{waited:?}");
                    order.lock().unwrap().push(number);
                    mutex.unlock();
                });
                until(|| locked(&mutex.lock).waiters.len() == number + 1);
            }
            mutex.unlock();
        });
        assert_eq!(order.into_inner().unwrap(), [3, 2, 0, 1]);
    }

    #[test]
    fn a_mutex_that_inherits_excludes_too() {
        let mutex = Mutex::new(true);
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        assert_ne!(mutex.lock(&waiter()), Waited::RunOver);
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        mutex.unlock();
                    }
                });
            }
        });
    }

    #[test]
    fn a_post_is_kept_or_goes_to_the_first() {
        let semaphore = Semaphore::default();
        semaphore.post();
        assert_eq!(semaphore.wait(&waiter()), Waited::Not);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| semaphore.wait(&waiter()));
            until(|| locked(&semaphore.0).1.len() == 1);
            semaphore.post();
            // It was handed over: no other thread has it.
            let late = Waiter { until_ns: 0, ..waiter() };
            assert_eq!(semaphore.wait(&late), Waited::RunOver);
            assert!(matches!(waiting.join().unwrap(), Waited::WokenAt(_)));
        });
    }

    #[test]
    fn the_last_at_a_barrier_wakes_the_others_and_it_is_ready_again() {
        let barrier = Barrier::new(3);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        assert_ne!(barrier.arrive(&waiter()), Waited::RunOver);
                    }
                });
            }
        });
        assert!(locked(&barrier.come).is_empty());
    }

    #[test]
    fn a_signal_wakes_one_and_a_broadcast_all() {
        let (mutex, condition) = (Mutex::new(false), Condition::default());
        let woken = AtomicU32::new(0);
        condition.signal(); // No thread waits: the signal is lost.
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    mutex.lock(&waiter());
                    assert_ne!(condition.wait(&mutex, &waiter()), Waited::RunOver);
                    woken.fetch_add(1, Ordering::SeqCst);
                    mutex.unlock();
                });
            }
            until(|| locked(&condition.0).len() == 3);
            condition.signal();
            until(|| woken.load(Ordering::SeqCst) == 1);
            assert_eq!(locked(&condition.0).len(), 2);
            condition.broadcast();
        });
        assert_eq!(woken.into_inner(), 3);
    }

    #[test]
    fn a_resume_wakes_all_of_that_name_and_is_lost_without() {
        let suspended = Suspended::default();
        suspended.resume(7);
        thread::scope(|scope| {
            let by_key = scope.spawn(|| suspended.suspend([7, u32::MAX], &waiter()));
            let by_name = scope.spawn(|| suspended.suspend([1, 7], &waiter()));
            let other = scope.spawn(|| suspended.suspend([1, 2], &waiter()));
            until(|| locked(&suspended.0).len() == 3);
            suspended.resume(7);
            assert_ne!(by_key.join().unwrap(), Waited::RunOver);
            assert_ne!(by_name.join().unwrap(), Waited::RunOver);
            assert_eq!(locked(&suspended.0).len(), 1);
            suspended.resume(2);
            assert_ne!(other.join().unwrap(), Waited::RunOver);
        });
    }

    #[test]
    fn a_missed_expiry_moves_to_the_present_or_stays() {
        let relative = Timer::default();
        assert_eq!(relative.next(50, 0, 100, false), 100);
        assert_eq!(relative.next(350, 0, 100, false), 200);
        assert_eq!(relative.next(360, 0, 100, false), 450);
        let absolute = Timer::default();
        assert_eq!(absolute.next(50, 0, 100, true), 100);
        assert_eq!(absolute.next(350, 0, 100, true), 200);
        assert_eq!(absolute.next(360, 0, 100, true), 300);
    }
}
