//! Response times of requests, in the same terms for a trace and for a run: [`of_trace`],
//! [`of_run`].
//!
//! A request arrives when a sleep ends, and is answered when the task next sleeps. In a run, a
//! request may arrive while its task still serves an earlier one; it then waits from its arrival. A
//! *round trip* is followed through wakeups: a task wakes another, and what that causes (by further
//! wakeups, in any number of tasks) wakes the first task again.

use crate::ahead::Stretch;
use crate::program::{Step, Workload};
use crate::trace::{SleepKind, Trace};
use std::collections::HashMap;

/// Requests of a task: response times and round trips, ns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Responses {
    /// From the arrival of each request to the next sleep of the task.
    pub served: Vec<u64>,
    /// From each wakeup of another task to the wakeup of this task that it caused.
    pub round_trips: Vec<u64>,
}

/// Request as it was served: a burst of a task.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    /// Time of the arrival, ns. `None`: the burst was not begun by a wakeup.
    arrival_ns: Option<u64>,
    /// Time at which the task slept again, ns.
    end_ns: Option<u64>,
    /// Index of the task and of its burst that caused the arrival.
    by: Option<(u32, u32)>,
}

/// Returns the requests of each task from its bursts.
fn collect(bursts: &[Vec<Served>]) -> Vec<Responses> {
    let mut all = vec![Responses::default(); bursts.len()];
    let mut order: Vec<(u64, u32, u32)> = vec![];
    let mut origins: Vec<Vec<Option<(u32, u64)>>> = vec![];
    for (task, own) in bursts.iter().enumerate() {
        origins.push(vec![None; own.len()]);
        for (number, burst) in own.iter().enumerate() {
            let Some(arrival_ns) = burst.arrival_ns else { continue };
            order.push((arrival_ns, task as u32, number as u32));
            if let Some(end_ns) = burst.end_ns {
                all[task].served.push(end_ns.saturating_sub(arrival_ns));
            }
        }
    }
    order.sort_unstable();
    for (arrival_ns, task, number) in order {
        let burst = bursts[task as usize][number as usize];
        let Some((waker, of_waker)) = burst.by else { continue };
        let origin = origins[waker as usize].get(of_waker as usize).copied().flatten();
        let (first, since_ns) = origin.unwrap_or((waker, arrival_ns));
        if first == task {
            all[task as usize].round_trips.push(arrival_ns.saturating_sub(since_ns));
        } else {
            origins[task as usize][number as usize] = Some((first, since_ns));
        }
    }
    all
}

/// Returns the requests of each task of `trace`. `is_known` states for each task whether its
/// requests can be found in a run, too.
pub fn of_trace(trace: &Trace, is_known: &[bool]) -> Vec<Responses> {
    let mut bursts: Vec<Vec<Served>> = vec![];
    for (number, task) in trace.tasks.iter().enumerate() {
        if !is_known[number] {
            bursts.push(vec![]);
            continue;
        }
        let sleeps = task.before.iter().cloned().map(Some);
        let first = sleeps.chain((task.before.is_none()).then_some(None));
        let sleeps = first.chain(task.sleeps().map(Some));
        let own = task.bursts().zip(sleeps).map(|(burst, before)| {
            let by = before.as_ref().filter(|sleep| sleep.kind == SleepKind::Edge);
            let by = by.and_then(|sleep| sleep.waker).map(|waker| {
                let of_waker = &trace.tasks[waker as usize];
                (waker, of_waker.burst_at(burst.wake_ns).unwrap_or(u32::MAX))
            });
            Served {
                arrival_ns: before.map(|_| burst.wake_ns).filter(|_| burst.is_woken),
                end_ns: burst.state.filter(|state| !state.is_gone()).map(|_| burst.end_ns),
                by,
            }
        });
        bursts.push(own.collect());
    }
    collect(&bursts)
}

/// Whether the requests of a program can be found in a run: whether the points of its work at which
/// it sleeps are known.
pub fn is_known(steps: &[Step]) -> bool {
    !steps.iter().any(|step| matches!(step, Step::Runtime(_)))
}

/// Returns the time at which a task with these stretches had received `cpu_ns`.
fn reached(stretches: &[Stretch], cpu_ns: u64) -> Option<u64> {
    let after =
        stretches.partition_point(|&(from_ns, to_ns, before)| before + (to_ns - from_ns) < cpu_ns);
    let &(from_ns, _, before_ns) = stretches.get(after)?;
    Some(from_ns + cpu_ns.saturating_sub(before_ns))
}

/// Returns the time at which a task that had received `cpu_ns` was next given a CPU.
fn begun(stretches: &[Stretch], cpu_ns: u64) -> Option<u64> {
    let after = stretches.partition_point(|&(_, _, before_ns)| before_ns < cpu_ns);
    stretches.get(after).map(|&(from_ns, ..)| from_ns)
}

/// Run of a workload.
pub struct Run<'a> {
    /// The workload, without the lead time.
    pub workload: &'a Workload,
    /// Length of each [`Step::Run`] in the order of tasks and steps, ns.
    pub lengths: &'a [u64],
    /// Stretches of CPU time of each task since the beginning of the trace, by place.
    pub stretches: Vec<&'a [Stretch]>,
}

/// Returns the requests of each task of the run, by place.
pub fn of_run(run: &Run<'_>) -> Vec<Responses> {
    let mut bursts: Vec<Vec<Served>> = vec![];
    // Posts of each semaphore: time, task and burst. Waits for it: task, and the burst after it.
    let mut posts: HashMap<u32, Vec<(u64, u32, u32)>> = HashMap::new();
    let mut waits: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
    let mut lengths = run.lengths.iter().copied();
    // Times at which forked tasks started. A task is forked by an earlier one.
    let mut born_ns = vec![None; run.workload.tasks.len()];
    for (place, program) in run.workload.tasks.iter().enumerate() {
        let stretches = run.stretches[place];
        let mut cpu_ns = 0;
        // A task's timers count from its start.
        let mut clock_ns = born_ns[place].unwrap_or(program.delay_ns);
        let mut own = vec![Served::default()];
        let is_known = is_known(&program.steps);
        // Whether the task has computed since its last sleep.
        let mut has_run = false;
        for &step in program.steps.iter() {
            let at_ns = || match has_run {
                true => reached(stretches, cpu_ns),
                false => begun(stretches, cpu_ns),
            };
            let number = own.len() as u32 - 1;
            let (ended_ns, arrival_ns) = match step {
                Step::Run(_) => {
                    cpu_ns += lengths.next().unwrap_or_default();
                    has_run = true;
                    continue;
                }
                Step::Fork(child) => {
                    if let Some(born_ns) = born_ns.get_mut(child as usize) {
                        *born_ns = at_ns();
                    }
                    continue;
                }
                Step::Post(semaphore) => {
                    if let Some(at_ns) = at_ns().filter(|_| is_known) {
                        posts.entry(semaphore).or_default().push((at_ns, place as u32, number));
                    }
                    continue;
                }
                Step::Wait(semaphore) if !run.workload.tokens.contains(&semaphore) => {
                    waits.entry(semaphore).or_default().push((place as u32, number + 1));
                    (at_ns(), None)
                }
                Step::Sleep(ns) => (at_ns(), at_ns().map(|at_ns| at_ns + ns)),
                Step::Timer(ns) => {
                    clock_ns = clock_ns.saturating_add(ns);
                    (at_ns(), Some(clock_ns))
                }
                _ => continue,
            };
            if let Some(burst) = own.last_mut() {
                burst.end_ns = ended_ns;
            }
            own.push(Served { arrival_ns, ..Served::default() });
            has_run = false;
        }
        bursts.push(if is_known { own } else { vec![] });
    }
    for (semaphore, waits) in waits {
        let Some(posts) = posts.get_mut(&semaphore) else { continue };
        posts.sort_unstable();
        for (&(place, number), &(at_ns, waker, of_waker)) in waits.iter().zip(posts.iter()) {
            if let Some(burst) = bursts[place as usize].get_mut(number as usize) {
                (burst.arrival_ns, burst.by) = (Some(at_ns), Some((waker, of_waker)));
            }
        }
    }
    collect(&bursts)
}
