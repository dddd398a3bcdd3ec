//! Costs on this machine that a program can observe. Each figure is the median of several
//! repetitions, on threads in the heavily weighted group.

use crate::costs::{Costs, Latency};
use crate::figures::median;
use crate::job::Groups;
use crate::sys;
use crate::this_thread::{gaps, join_group, urgent};
use crate::tick;
use rustix::thread::futex;
use std::io::{Read, Write};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Length from which a gap is not an interrupt but another task's time slice, ns.
const TURN_NS: u64 = 100_000;

/// Returns the median of repeated measurements, with fractions of ns.
fn repeated(
    repetitions: u32,
    mut measure: impl FnMut() -> Result<f64, String>,
) -> Result<f64, String> {
    let thousandths: Result<Vec<u64>, String> =
        (0..repetitions).map(|_| measure().map(|ns| (ns * 1000.0).max(0.0) as u64)).collect();
    Ok(median(&thousandths?).unwrap_or(0) as f64 / 1000.0)
}

/// Returns the mean duration of one of `count` calls, ns.
fn each(count: u32, mut call: impl FnMut()) -> f64 {
    let from_ns = sys::now_ns();
    (0..count).for_each(|_| call());
    (sys::now_ns() - from_ns) as f64 / f64::from(count)
}

/// Calls `f` on a new thread in the group, on `cpu`.
fn on<T: Send>(
    cpu: u32,
    groups: &Groups,
    f: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    std::thread::scope(|scope| scope.spawn(|| settled(cpu, groups).and_then(|()| f())).join())
        .unwrap_or_else(|_| Err("a measuring thread panicked".into()))
}

fn settled(cpu: u32, groups: &Groups) -> Result<(), String> {
    join_group(groups)?;
    sys::set_affinity(&[cpu]).map_err(|error| format!("CPU {cpu}: {error}"))?;
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))
        .map_err(|error| format!("the timer slack cannot be set: {error}"))
}

/// Measures all costs on the first of `cpus`, and wakeups of another CPU on the second.
///
/// # Errors
/// A thread cannot be made or placed.
pub fn costs(cpus: &[u32], repetitions: u32, groups: &Groups) -> Result<Costs, String> {
    let &cpu = cpus.first().ok_or("there is no CPU")?;
    let other = cpus.get(1).copied();
    let alone = |call: fn(), count: u32| {
        on(cpu, groups, || repeated(repetitions, || Ok(each(count, call))))
    };
    let (found, interrupted) = on(cpu, groups, || {
        let (gaps, from_ns, to_ns) = gaps(200_000_000 * u64::from(repetitions).min(5));
        let lost_ns: u64 = gaps
            .iter()
            .map(|gap| gap.end_ns - gap.start_ns)
            .filter(|&length_ns| length_ns < TURN_NS)
            .sum();
        Ok((tick::find(&gaps, from_ns, to_ns, None), lost_ns as f64 / (to_ns - from_ns) as f64))
    })?;
    Ok(Costs {
        repetitions,
        clock: alone(
            || {
                std::hint::black_box(sys::now_ns());
            },
            1_000_000,
        )?,
        null_call: alone(
            || {
                std::hint::black_box(sys::parent_process());
            },
            200_000,
        )?,
        yield_alone: alone(rustix::thread::sched_yield, 100_000)?,
        yield_between_two: repeated(repetitions, || yield_between_two(cpu, groups))?,
        futex_hop: repeated(repetitions, || futex_hop(cpu, groups))?,
        pipe_hop: repeated(repetitions, || pipe_hop(cpu, groups))?,
        timer_latency: timer_latency(cpu, groups, repetitions, true)?,
        idle_timer_latency: timer_latency(cpu, groups, repetitions, false)?,
        wake_remote_call: match other {
            Some(other) => Some(repeated(repetitions, || Ok(wake_remote(cpu, other, groups)?.0))?),
            None => None,
        },
        wake_remote_latency: match other {
            Some(other) => {
                let mut all = vec![];
                for _ in 0..repetitions {
                    all.extend(wake_remote(cpu, other, groups)?.1);
                }
                Latency::new("nice 0", all)
            }
            None => None,
        },
        tick: found,
        interrupted,
    })
}

/// Number of turns of each thread in a pair.
const TURNS: u32 = 50_000;

/// Runs a pair of threads on one CPU. Returns the mean duration of their turns, ns.
fn pair(
    cpu: u32,
    groups: &Groups,
    first: impl FnOnce() -> Result<(), String> + Send,
    second: impl FnOnce() -> Result<(), String> + Send,
) -> Result<f64, String> {
    let ready = AtomicU32::new(0);
    let span_ns = AtomicU64::new(0);
    let (ready, span_ns) = (&ready, &span_ns);
    std::thread::scope(|scope| {
        let begin = move || {
            ready.fetch_add(1, Ordering::AcqRel);
            while ready.load(Ordering::Acquire) < 2 {
                rustix::thread::sched_yield();
            }
        };
        let first = scope.spawn(move || {
            // A thread that fails releases the other one, which ends by itself.
            let settled = settled(cpu, groups);
            begin();
            settled?;
            let from_ns = sys::now_ns();
            let done = first();
            span_ns.store(sys::now_ns() - from_ns, Ordering::Relaxed);
            done
        });
        let second = scope.spawn(move || {
            let settled = settled(cpu, groups);
            begin();
            settled?;
            second()
        });
        let panicked = |_| "a measuring thread panicked".to_string();
        first.join().map_err(panicked)??;
        second.join().map_err(panicked)??;
        Ok(span_ns.load(Ordering::Relaxed) as f64 / f64::from(2 * TURNS))
    })
}

fn yield_between_two(cpu: u32, groups: &Groups) -> Result<f64, String> {
    let yields = || {
        (0..TURNS).for_each(|_| rustix::thread::sched_yield());
        Ok(())
    };
    pair(cpu, groups, yields, yields)
}

/// Waits until `word` differs from `value`. Returns `false` after two seconds.
fn await_change(word: &AtomicU32, value: u32) -> bool {
    let until = sys::timespec(sys::now_ns() + 2_000_000_000);
    let all = NonZeroU32::MAX;
    while word.load(Ordering::Acquire) == value {
        let slept = futex::wait_bitset(word, futex::Flags::PRIVATE, value, Some(&until), all);
        if slept == Err(rustix::io::Errno::TIMEDOUT) {
            return false;
        }
    }
    true
}

fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

fn futex_hop(cpu: u32, groups: &Groups) -> Result<f64, String> {
    let turn = AtomicU32::new(0);
    let side = |mine: u32| {
        let turn = &turn;
        move || {
            for _ in 0..TURNS {
                if !await_change(turn, 1 - mine) {
                    return Err("the other thread of a pair did not answer".into());
                }
                turn.store(1 - mine, Ordering::Release);
                wake(turn);
            }
            Ok(())
        }
    };
    pair(cpu, groups, side(0), side(1))
}

fn pipe_hop(cpu: u32, groups: &Groups) -> Result<f64, String> {
    let make = || std::io::pipe().map_err(|error| format!("a pipe cannot be made: {error}"));
    let ((from_a, to_b), (from_b, to_a)) = (make()?, make()?);
    let side = |mut read: std::io::PipeReader, mut write: std::io::PipeWriter, starts: bool| {
        move || {
            let mut byte = [0];
            let failed = |error: std::io::Error| format!("a pipe fails: {error}");
            for _ in 0..TURNS {
                if starts {
                    write.write_all(&byte).map_err(failed)?;
                }
                read.read_exact(&mut byte).map_err(failed)?;
                if !starts {
                    write.write_all(&byte).map_err(failed)?;
                }
            }
            Ok(())
        }
    };
    pair(cpu, groups, side(from_b, to_b, true), side(from_a, to_a, false))
}

/// Number of sleeps in each repetition of a timer's measurement.
const SLEEPS: u32 = 200;

/// Measures the latencies of absolute sleeps, over a thread that computes or on an idle CPU.
fn timer_latency(
    cpu: u32,
    groups: &Groups,
    repetitions: u32,
    over_a_hog: bool,
) -> Result<Option<Latency>, String> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let hog = over_a_hog.then(|| {
            scope.spawn(|| {
                let settled = settled(cpu, groups);
                while settled.is_ok() && !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                settled
            })
        });
        let sleeper = scope.spawn(|| {
            let settled = settled(cpu, groups);
            let of = urgent(false);
            let mut values = vec![];
            if settled.is_ok() {
                for number in 0..SLEEPS * repetitions {
                    // Irregular, so that it does not synchronise with the tick.
                    let due_ns = sys::now_ns() + 1_000_000 + u64::from(number * 7919 % 400_000);
                    sys::sleep_until(due_ns);
                    values.push(sys::now_ns() - due_ns);
                }
            }
            over.store(true, Ordering::Relaxed);
            settled.map(|()| Latency::new(&of, values))
        });
        let panicked = |_| "a measuring thread panicked".to_string();
        let latency = sleeper.join().map_err(panicked)?;
        if let Some(hog) = hog {
            hog.join().map_err(panicked)??;
        }
        latency
    })
}

/// Measures wakeups of an idle thread on another CPU: the cost of the call beyond one that wakes no
/// thread, and the times until the woken thread runs, ns.
fn wake_remote(cpu: u32, other: u32, groups: &Groups) -> Result<(f64, Vec<u64>), String> {
    let (go, over) = (AtomicU32::new(0), AtomicBool::new(false));
    let (sent_ns, latency_ns) = (AtomicU64::new(0), AtomicU64::new(0));
    let unused = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            settled(other, groups)?;
            let mut seen = 0;
            while !over.load(Ordering::Acquire) {
                if await_change(&go, seen) {
                    let now_ns = sys::now_ns();
                    seen = go.load(Ordering::Acquire);
                    latency_ns.store(
                        now_ns - sent_ns.load(Ordering::Acquire).min(now_ns),
                        Ordering::Release,
                    );
                }
            }
            Ok::<(), String>(())
        });
        let waker = scope.spawn(|| {
            let settled = settled(cpu, groups);
            let (mut calls, mut latencies) = (vec![], vec![]);
            if settled.is_ok() {
                let idle = each(10_000, || wake(&unused));
                for _ in 0..SLEEPS {
                    std::thread::sleep(Duration::from_micros(300));
                    latency_ns.store(0, Ordering::Release);
                    let from_ns = sys::now_ns();
                    sent_ns.store(from_ns, Ordering::Release);
                    go.fetch_add(1, Ordering::AcqRel);
                    wake(&go);
                    calls.push((sys::now_ns() - from_ns).saturating_sub(idle as u64));
                    std::thread::sleep(Duration::from_micros(300));
                    match latency_ns.load(Ordering::Acquire) {
                        0 => {}
                        ns => latencies.push(ns),
                    }
                }
            }
            over.store(true, Ordering::Release);
            go.fetch_add(1, Ordering::AcqRel);
            wake(&go);
            settled.map(|()| (median(&calls).unwrap_or(0) as f64, latencies))
        });
        let panicked = |_| "a measuring thread panicked".to_string();
        let measured = waker.join().map_err(panicked)?;
        sleeper.join().map_err(panicked)??;
        measured
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_give_their_median() {
        let mut values = [9.0, 1.5, 3.25].into_iter();
        assert_eq!(repeated(3, || Ok(values.next().unwrap())), Ok(3.25));
        assert_eq!(repeated(3, || Err("no".into())), Err("no".to_string()));
    }
}
