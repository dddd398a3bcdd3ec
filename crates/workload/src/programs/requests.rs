//! Response times of requests: [`Requests`].
//!
//! A request is the work that a script's thread does between two places at which it waits for more.
//! These are its timers. A thread without timers waits for a semaphore, a condition or a resume. A
//! thread without those sleeps. A thread that never waits has one request, its whole life, if that
//! has an end.
//!
//! A request is due when its timer expires (even if the thread is late), when its semaphore is
//! posted (even if all threads are busy), or when its thread is signalled, resumed, or at the end
//! of its sleep. It is done at the end of the last work before the next such place. Other
//! waits (mutexes, barriers, disks, the weaker of the places above) are part of it.

use super::script::{Instr, RequestFilter, Scripts};
use crate::group_path::is_within;
use schedlab_core::TaskId;
use std::collections::VecDeque;

/// Maximum number of posts of a semaphore that are waiting to be taken and whose times are known.
const POSTS_MAX: usize = 1 << 16;

/// A request of a script's thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The thread. A post that no thread has taken yet has that of the semaphore's first thread.
    pub task: TaskId,
    /// Time at which it was due, ns.
    pub due_ns: u64,
    /// Time at which it was done, ns, or at which the run ended.
    pub done_ns: u64,
}

impl Request {
    /// Returns the response time, ns.
    pub fn response_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.due_ns)
    }
}

/// Places at which a thread waits for its next request, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    /// It ends.
    Exit,
    /// A sleep.
    Sleep,
    /// A semaphore, a condition, or being suspended.
    Wait,
    /// A timer.
    Timer,
}

/// When the request of a thread was due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    /// The thread waits, and no request is due.
    Never,
    /// At the start of the thread.
    Start,
    /// At this time, ns.
    At(u64),
}

/// Current request of a thread.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// Place that ends it. `None`: the thread is not recorded.
    place: Option<Place>,
    due: Due,
    /// End of its last work so far, ns.
    done_ns: Option<u64>,
    /// Period after which the thread's next request is due, whatever the thread does, ns.
    /// `0`: there is no such period.
    period_ns: u64,
}

impl Current {
    const UNRECORDED: Current =
        Current { place: None, due: Due::Never, done_ns: None, period_ns: 0 };
}

/// Times of posts that are waiting to be taken.
#[derive(Clone, Debug)]
struct Posts {
    times: VecDeque<u64>,
    /// Number of later posts whose times are unknown.
    lost: u64,
    /// A recorded script that waits for the semaphore. `None`: there is none.
    script: Option<u32>,
}

/// Requests of a run. The first requests are kept, up to a maximum, and the rest are counted.
#[derive(Clone, Debug)]
pub struct Requests {
    list: Vec<Request>,
    most: usize,
    left_out: u64,
    /// By script: the place that ends its requests. `None`: it is not recorded.
    places: Vec<Option<Place>>,
    /// By thread.
    current: Vec<Current>,
    /// By semaphore of the scripts.
    posts: Vec<Posts>,
}

/// Returns the place at which the threads of a script wait for requests. `None`: they have none.
fn place_of(scripts: &Scripts, script: usize) -> Option<Place> {
    let script = &scripts.scripts[script];
    let place = |instr: &Instr| match instr {
        Instr::Timer { .. } => Place::Timer,
        Instr::SemWait { .. } | Instr::Suspend { .. } | Instr::Wait { .. } => Place::Wait,
        Instr::Sleep { .. } => Place::Sleep,
        _ => Place::Exit,
    };
    let strongest = script.code.iter().map(place).max().unwrap_or(Place::Exit);
    let is_endless =
        script.rounds == u64::MAX || script.phases.iter().any(|phase| phase.rounds == u64::MAX);
    (strongest > Place::Exit || !is_endless).then_some(strongest)
}

impl Requests {
    pub(super) fn new(filter: &RequestFilter, scripts: &Scripts) -> Requests {
        let group = filter.group.trim_end_matches('/');
        let place = |number: usize| {
            let path = &scripts.groups[scripts.scripts[number].group as usize];
            is_within(path, group).then(|| place_of(scripts, number)).flatten()
        };
        let places: Vec<Option<Place>> = (0..scripts.scripts.len()).map(place).collect();
        let waits_for = |script: usize, semaphore: u32| {
            let waits = |instr: &Instr| *instr == Instr::SemWait { semaphore };
            places[script] == Some(Place::Wait) && scripts.scripts[script].code.iter().any(waits)
        };
        let posts = |semaphore: usize| {
            let script = (0..places.len()).find(|&script| waits_for(script, semaphore as u32));
            let room = if script.is_some() { POSTS_MAX } else { 0 };
            Posts {
                times: VecDeque::with_capacity(room),
                lost: 0,
                script: script.map(|script| script as u32),
            }
        };
        let posts = (0..scripts.semaphores.len()).map(posts).collect();
        Requests {
            list: Vec::with_capacity(filter.most),
            most: filter.most,
            left_out: 0,
            places,
            current: Vec::with_capacity(scripts.initial_threads()),
            posts,
        }
    }

    /// Returns the requests that were done, in that order.
    pub fn done(&self) -> &[Request] {
        &self.list
    }

    /// Returns the number of requests that were done and not kept, or whose due time is unknown.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Whether any script has requests that are recorded.
    pub fn has_any(&self) -> bool {
        self.places.iter().any(Option::is_some)
    }

    /// Adds a thread of a script. `None`: it is a program.
    pub(super) fn new_thread(&mut self, script: Option<u32>) {
        let place = script.and_then(|script| self.places[script as usize]);
        self.current.push(match place {
            Some(_) => Current { place, due: Due::Start, ..Current::UNRECORDED },
            None => Current::UNRECORDED,
        });
    }

    /// Handles the arrival of a thread, which began at `start_ns`, at a place where it may wait.
    /// `worked`: it has worked since the last arrival.
    pub(super) fn reach(
        &mut self,
        thread: u32,
        place: Place,
        now_ns: u64,
        start_ns: u64,
        worked: bool,
    ) {
        let current = &mut self.current[thread as usize];
        let Some(own) = current.place else { return };
        if worked {
            current.done_ns = Some(now_ns);
        }
        if place < own && place != Place::Exit {
            return;
        }
        let due = std::mem::replace(&mut current.due, Due::Never);
        let Some(done_ns) = current.done_ns.take() else { return };
        let due_ns = match due {
            Due::Start => start_ns,
            Due::At(due_ns) => due_ns,
            Due::Never => {
                self.left_out += 1;
                return;
            }
        };
        if self.list.len() >= self.most {
            self.left_out += 1;
            return;
        }
        self.list.push(Request { task: TaskId(thread), due_ns, done_ns });
    }

    /// Sets the time at which the next request of a thread is due, which it awaits at `place`.
    #[inline]
    pub(super) fn set_due(&mut self, thread: u32, place: Place, due_ns: u64) {
        let current = &mut self.current[thread as usize];
        if current.place == Some(place) {
            current.due = Due::At(due_ns);
        }
    }

    /// Sets the period after which the request after the next is due.
    pub(super) fn set_period(&mut self, thread: u32, period_ns: u64) {
        self.current[thread as usize].period_ns = period_ns;
    }

    /// Records a post, which is handed to `thread` or waits to be taken.
    pub(super) fn post(&mut self, semaphore: u32, now_ns: u64, thread: Option<u32>) {
        if let Some(thread) = thread {
            return self.set_due(thread, Place::Wait, now_ns);
        }
        let Some(posts) = self.posts.get_mut(semaphore as usize) else { return };
        if posts.lost > 0 || posts.times.len() >= posts.times.capacity() {
            // Without a thread that is recorded the times are not needed.
            posts.lost += u64::from(posts.script.is_some());
        } else {
            posts.times.push_back(now_ns);
        }
    }

    /// Gives `thread` the post that has waited longest.
    pub(super) fn take_post(&mut self, semaphore: u32, thread: u32) {
        let Some(posts) = self.posts.get_mut(semaphore as usize) else { return };
        match posts.times.pop_front() {
            Some(due_ns) => self.set_due(thread, Place::Wait, due_ns),
            None => posts.lost = posts.lost.saturating_sub(1),
        }
    }

    /// Stops recording a thread.
    pub(super) fn forget(&mut self, thread: u32) {
        self.current[thread as usize] = Current::UNRECORDED;
    }

    /// Returns the requests that are due and not done at `now_ns`, at which they are taken to be
    /// done. `start_ns` returns the start of a thread, and whether it has worked since its last
    /// arrival.
    pub(super) fn unfinished(
        &self,
        now_ns: u64,
        start_ns: impl Fn(u32) -> (u64, bool),
    ) -> Vec<Request> {
        let mut all = vec![];
        for (thread, current) in self.current.iter().enumerate() {
            if current.place.is_none_or(|place| place == Place::Exit) {
                continue;
            }
            let (start_ns, worked) = start_ns(thread as u32);
            let due_ns = match current.due {
                Due::Never => continue,
                Due::Start => start_ns,
                Due::At(due_ns) => due_ns,
            };
            let request = |due_ns| Request { task: TaskId(thread as u32), due_ns, done_ns: now_ns };
            let mut due_ns = due_ns;
            if let (Some(done_ns), false) = (current.done_ns, worked) {
                // It only sleeps before the next.
                all.push(Request { done_ns, ..request(due_ns) });
            } else if due_ns < now_ns {
                all.push(request(due_ns));
            }
            // The ones that the thread has not come to.
            while current.period_ns > 0 && all.len() < self.most {
                due_ns = due_ns.saturating_add(current.period_ns);
                if due_ns >= now_ns {
                    break;
                }
                all.push(request(due_ns));
            }
        }
        for posts in self.posts.iter().filter(|posts| posts.script.is_some()) {
            let first = self.current.iter().position(|current| current.place == Some(Place::Wait));
            let task = TaskId(first.unwrap_or(0) as u32);
            let waiting = posts.times.iter();
            all.extend(waiting.map(|&due_ns| Request { task, due_ns, done_ns: now_ns }));
        }
        all
    }
}
