//! Infers why each sleep ended: [`infer`]. An *edge* is the consequence of another task's work. A
//! sleep that an interrupt ends is either *relative* to its beginning (devices, timers) or
//! *absolute* (a clock, or an event from outside).

use crate::families::{Families, Servers};
use crate::trace::{Burst, Sleep, SleepKind, Task, Trace};
use schedlab_trace::tracepoint::{Context, State};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};

/// Model of arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// A sleep that an interrupt ends takes its time from its own beginning, unless a clock is
    /// recognised.
    #[default]
    Closed,
    /// Every interruptible sleep that an interrupt ends is ended from outside, at its recorded
    /// time.
    Open,
}

/// Number of sleeps of each kind, and findings about tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Sleeps that another task ended.
    pub edge: u64,
    /// The part of `edge` that ended in the context of a soft interrupt.
    pub soft_edge: u64,
    /// Sleeps that a device or a timer ended.
    pub relative: u64,
    /// Sleeps that a clock or an event from outside ended.
    pub absolute: u64,
    /// Sleeps that did not end.
    pub end: u64,
    /// Tasks whose sleeps are ended by a clock.
    pub clocked: u64,
}

/// Infers the kind of every sleep of `trace`. `in_model` states for each task whether it is
/// replayed.
pub fn infer(trace: &mut Trace, in_model: &[bool], arrivals: Arrivals) -> Counts {
    let guessed = (!trace.has_contexts).then(|| ContextGuess::of(trace));
    let pairs = Pairs::of(trace);
    let families = Families::of(trace);
    let servers = Servers::of(trace, &families);
    let mut counts = Counts::default();
    for number in 0..trace.tasks.len() {
        let by = |trace: &Trace, sleep: &Sleep| -> Context {
            match &guessed {
                Some(guessed) => guessed.context(trace, number, sleep),
                None => sleep.context,
            }
        };
        let task = &trace.tasks[number];
        let mut kinds: Vec<(u32, Option<SleepKind>)> = vec![];
        for (at, sleep) in task.ended_sleeps() {
            let context = by(trace, &sleep);
            let vfork = || {
                let waker = sleep.waker.map(|waker| &trace.tasks[waker as usize]);
                waker.is_some_and(|waker| waker.forked_by == Some(number))
            };
            let kind = match sleep.waker {
                None => None,
                Some(waker) if trace.tasks[waker as usize].is_kernel => None,
                Some(_)
                    if guessed.is_some() && sleep.state == State::Uninterruptible && !vfork() =>
                {
                    None
                }
                Some(waker) => {
                    let soft_edge = context == Context::Soft
                        && sleep.state == State::Interruptible
                        && (pairs.pass(number as u32, waker)
                            || servers.serve(number as u32, waker));
                    if context == Context::Task || soft_edge {
                        let inside = in_model[waker as usize];
                        counts.soft_edge += u64::from(soft_edge && inside);
                        Some(if inside { SleepKind::Edge } else { SleepKind::Absolute })
                    } else {
                        None
                    }
                }
            };
            kinds.push((at, kind));
        }
        let clocked = is_clocked(task, &kinds);
        counts.clocked += u64::from(clocked);
        let task = &mut trace.tasks[number];
        for (at, kind) in kinds {
            let Some(state) = task.sleep(at).map(|sleep| sleep.state) else { continue };
            let is_before = at == crate::trace::BEFORE;
            let open = arrivals == Arrivals::Open && state == State::Interruptible;
            let of_interrupt = match state {
                _ if is_before => SleepKind::Absolute,
                State::Uninterruptible => SleepKind::Relative,
                _ if clocked || open => SleepKind::Absolute,
                _ => SleepKind::Relative,
            };
            let kind = kind.unwrap_or(of_interrupt);
            match task.before.as_mut().filter(|_| is_before) {
                Some(before) => before.kind = kind,
                None => task.history.set_kind(at as usize, kind),
            }
        }
        for sleep in task.before.iter().cloned().chain(task.sleeps()) {
            match sleep.kind {
                SleepKind::Edge => counts.edge += 1,
                SleepKind::Relative => counts.relative += 1,
                SleepKind::Absolute => counts.absolute += 1,
                SleepKind::End => counts.end += 1,
            }
        }
    }
    counts
}

/// Whether a clock ends the sleeps of `task` that an interrupt ends.
fn is_clocked(task: &Task, kinds: &[(u32, Option<SleepKind>)]) -> bool {
    // `kinds` has the same sleeps in the same order.
    let ended = task.ended_sleeps().zip(kinds).filter(|(_, (_, kind))| kind.is_none());
    let ended = ended.map(|(sleep, _)| sleep);
    let ended = ended.filter(|(_, sleep)| sleep.state != State::Uninterruptible);
    let (mut wakes, mut lengths) = (vec![], vec![]);
    for (at, sleep) in ended {
        let wake_ns = sleep.wake_ns.unwrap_or(sleep.at_ns);
        wakes.push(wake_ns);
        if at != crate::trace::BEFORE {
            lengths.push(wake_ns - sleep.at_ns);
        }
    }
    has_clock(&wakes, &lengths)
}

/// Returns twice the median, which is a whole number.
fn median2(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    match values.len() {
        0 => 0,
        count if count % 2 == 1 => 2 * values[count / 2],
        count => values[count / 2 - 1] + values[count / 2],
    }
}

/// Returns four times the median absolute deviation: both medians are doubled.
fn mad4(values: impl Iterator<Item = i64>) -> u64 {
    let mut doubled: Vec<i64> = values.map(|value| 2 * value).collect();
    doubled.sort_unstable();
    let middle = match doubled.len() {
        0 => return 0,
        count if count % 2 == 1 => doubled[count / 2],
        count => i64::midpoint(doubled[count / 2 - 1], doubled[count / 2]),
    };
    median2(&mut doubled.iter().map(|value| value.abs_diff(middle)).collect::<Vec<u64>>())
}

/// Returns twice the period of `wakes` if they have one: there are at least six, and four fifths of
/// the steps between them are near a multiple of their median.
pub fn grid(wakes: &[u64]) -> Option<u64> {
    if wakes.len() < 6 {
        return None;
    }
    let steps: Vec<u64> = wakes.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
    let period2 = median2(&mut steps.clone());
    if period2 < 2 * 200_000 {
        return None;
    }
    let tolerance2 = (2 * 80_000).max(period2 / 50);
    let near = |step: &&u64| distance2(**step, period2).unsigned_abs() <= tolerance2;
    let near = steps.iter().filter(near).count();
    (near * 5 >= steps.len() * 4).then_some(period2)
}

/// Returns twice the distance of `step` from the nearest multiple, at least one, of half of
/// `period2`.
fn distance2(step: u64, period2: u64) -> i64 {
    let times = ((2 * step + period2 / 2) / period2).max(1);
    (2 * step) as i64 - (times * period2) as i64
}

/// Whether a clock causes the wakeups at these times: they have a grid, and are nearer to it than
/// the lengths of the sleeps are to each other.
pub fn has_clock(wakes: &[u64], lengths: &[u64]) -> bool {
    let Some(period2) = grid(wakes) else { return false };
    let steps = wakes.windows(2).map(|two| distance2(two[1] - two[0], period2));
    // The distances are doubled.
    mad4(steps) < 2 * mad4(lengths.iter().map(|&length| length as i64))
}

/// Number of times that each task was current when soft interrupts woke others.
struct Pairs {
    /// By sleeper and waker.
    by_waker: HashMap<(u32, u32), u64>,
    /// By sleeper.
    all: HashMap<u32, u64>,
    /// CPU time of each task, ns.
    cpu_ns: Vec<u64>,
    busy_ns: u64,
}

impl Pairs {
    fn of(trace: &Trace) -> Pairs {
        let (mut by_waker, mut all) = (HashMap::new(), HashMap::new());
        for (number, task) in trace.tasks.iter().enumerate() {
            for (_, sleep) in task.ended_sleeps() {
                if let Some(waker) = sleep.waker
                    && sleep.context == Context::Soft
                    && sleep.state == State::Interruptible
                {
                    *by_waker.entry((number as u32, waker)).or_default() += 1;
                    *all.entry(number as u32).or_default() += 1;
                }
            }
        }
        let cpu_ns: Vec<u64> = trace.tasks.iter().map(Task::cpu_ns).collect();
        let busy_ns = cpu_ns.iter().sum();
        Pairs { by_waker, all, cpu_ns, busy_ns }
    }

    fn pass(&self, sleeper: u32, waker: u32) -> bool {
        let of_pair = self.by_waker.get(&(sleeper, waker)).copied().unwrap_or(0);
        let all = self.all.get(&sleeper).copied().unwrap_or(0);
        passes(of_pair, all, self.cpu_ns[waker as usize], self.busy_ns)
    }
}

/// Whether a sleeper waited for a task. The sleeper was woken `all` times in soft context,
/// `of_pair` of them while that task was current. The task has `cpu_ns` of the total CPU time
/// `busy_ns`.
pub fn passes(of_pair: u64, all: u64, cpu_ns: u64, busy_ns: u64) -> bool {
    // Compares the share of wakeups with max(1/4, min(9/10, 3u)), in whole numbers.
    let busy = u128::from(busy_ns.max(1));
    let needed = (3 * u128::from(cpu_ns) * 20).clamp(5 * busy, 18 * busy);
    of_pair >= 3 && u128::from(of_pair) * 20 * busy >= u128::from(all) * needed
}

/// Number of wakeups of a sleeper from which chance is recognised.
const CHANCE_WAKEUPS: u64 = 20;

/// Whether a task with `cpu_ns` of the CPUs' time `capacity_ns` was current in `count` of `all`
/// wakeups of a sleeper by chance: not more often than expected by three standard deviations.
pub fn is_chance(count: u64, all: u64, cpu_ns: u64, capacity_ns: u64) -> bool {
    let capacity = u128::from((capacity_ns / 1000).max(1));
    let expected = u128::from(all) * u128::from(cpu_ns / 1000);
    let excess = (u128::from(count) * capacity).saturating_sub(expected);
    // In units of wakeups, the variance is at most what is expected.
    excess * excess <= 9 * expected * capacity
}

/// Basis on which contexts of wakeups are guessed when the trace does not record them.
struct ContextGuess {
    /// CPU time of each task, ns.
    cpu_ns: Vec<u64>,
    busy_ns: u64,
    /// Time of all CPUs, ns.
    capacity_ns: u64,
    timer_like: Vec<bool>,
    /// All pairs of waker and sleeper, and the pairs with wakeups across CPUs.
    pairs: HashSet<(u32, u32)>,
    across: HashSet<(u32, u32)>,
    /// Number of wakeups of each pair on the same CPU, and number of all wakeups of a sleeper on
    /// the same CPU or without a waker.
    same: HashMap<(u32, u32), u64>,
    all_same: HashMap<u32, u64>,
    /// The part of `all_same` in which no related task was current: neither a child, a parent or a
    /// sibling, nor a task of the same name.
    foreign: HashMap<u32, u64>,
}

/// Whether one of the tasks forked the other, or a third task both.
fn are_kin(trace: &Trace, one: usize, other: usize) -> bool {
    let forked_by = |task: usize| trace.tasks[task].forked_by;
    forked_by(one) == Some(other)
        || forked_by(other) == Some(one)
        || forked_by(one).is_some() && forked_by(one) == forked_by(other)
}

fn is_across(sleep: &Sleep) -> bool {
    sleep.last_cpu.is_some_and(|last| last != sleep.cpu)
}

impl ContextGuess {
    fn of(trace: &Trace) -> ContextGuess {
        let cpu_ns: Vec<u64> = trace.tasks.iter().map(Task::cpu_ns).collect();
        let mut this = ContextGuess {
            busy_ns: cpu_ns.iter().sum(),
            cpu_ns,
            capacity_ns: u64::from(trace.cpus) * trace.span_ns,
            timer_like: trace.tasks.iter().map(is_timer_like).collect(),
            pairs: HashSet::new(),
            across: HashSet::new(),
            same: HashMap::new(),
            all_same: HashMap::new(),
            foreign: HashMap::new(),
        };
        for (number, task) in trace.tasks.iter().enumerate() {
            let number = number as u32;
            for (_, sleep) in task.ended_sleeps() {
                let is_across = is_across(&sleep);
                if let Some(waker) = sleep.waker {
                    this.pairs.insert((waker, number));
                    if is_across {
                        this.across.insert((waker, number));
                    } else {
                        *this.same.entry((waker, number)).or_default() += 1;
                    }
                }
                if sleep.waker.is_none() || !is_across {
                    *this.all_same.entry(number).or_default() += 1;
                    let is_related = |waker: usize| {
                        trace.tasks[waker].name == task.name
                            || are_kin(trace, number as usize, waker)
                    };
                    if !sleep.waker.is_some_and(|waker| is_related(waker as usize)) {
                        *this.foreign.entry(number).or_default() += 1;
                    }
                }
            }
        }
        this
    }

    /// Returns the context in which a sleep of this task ended.
    fn context(&self, trace: &Trace, number: usize, sleep: &Sleep) -> Context {
        let Some(waker) = sleep.waker else { return Context::Hard };
        let (sleeper, task) = (number as u32, &trace.tasks[number]);
        let kin = are_kin(trace, number, waker as usize);
        let count = self.same.get(&(waker, sleeper)).copied().unwrap_or(0);
        let all = self.all_same.get(&sleeper).copied().unwrap_or(0);
        let cpu_ns = self.cpu_ns[waker as usize];
        // Without wakeups over unrelated tasks, there is no sign of interrupts.
        let foreign = self.foreign.get(&sleeper).copied().unwrap_or(0);
        let chance = || {
            all >= CHANCE_WAKEUPS
                && 4 * foreign >= all
                && is_chance(count, all, cpu_ns, self.capacity_ns)
        };
        let often = || {
            let share = 3 * u128::from(self.cpu_ns[waker as usize]);
            count >= 3 && u128::from(count) * u128::from(self.busy_ns) > share * u128::from(all)
        };
        let is_task = is_across(sleep)
            || !(self.timer_like[number]
                || sleep.state == State::Idle
                || task.is_kernel
                || chance())
                && (self.across.contains(&(waker, sleeper))
                    || self.pairs.contains(&(sleeper, waker))
                    || kin
                    || often());
        if is_task { Context::Task } else { Context::Hard }
    }
}

/// Whether the sleeps of `task` look like a timer's.
fn is_timer_like(task: &Task) -> bool {
    let mut lengths: Vec<u64> = task
        .ended_sleeps()
        .filter(|(at, _)| *at != crate::trace::BEFORE)
        .filter_map(|(_, sleep)| Some(sleep.wake_ns? - sleep.at_ns))
        .collect();
    if lengths.len() < 5 {
        return false;
    }
    let median2 = median2(&mut lengths);
    let tolerance2 = (2 * 100_000).max(median2 * 3 / 100);
    let near = lengths.iter().filter(|&&length| (2 * length).abs_diff(median2) <= tolerance2);
    let alike = median2 > 2 * 100_000 && near.count() * 10 >= lengths.len() * 7;
    let wakes: Vec<u64> = task.ended_sleeps().filter_map(|(_, sleep)| sleep.wake_ns).collect();
    alike || grid(&wakes).is_some()
}

/// Whether `bursts` continue until a certain wall time has passed, regardless of how much of it
/// they compute.
pub fn is_wall_loop(bursts: impl Iterator<Item = Burst>) -> bool {
    let ended = |burst: &Burst| burst.state.is_some() && burst.first_ns.is_some();
    let both: Vec<(u64, u64)> = bursts
        .filter(ended)
        .map(|burst| (burst.end_ns - burst.first_ns.unwrap_or(burst.end_ns), burst.cpu_ns))
        .collect();
    if both.len() < 6 {
        return false;
    }
    let middle2 = median2(&mut both.iter().map(|&(wall, _)| wall).collect::<Vec<u64>>());
    if middle2 < 2 * 200_000 {
        return false;
    }
    let lost = |&(wall, cpu): &(u64, u64)| wall.saturating_sub(cpu);
    let much = 50_000.max(middle2 * 3 / 100);
    let preempted: Vec<u64> =
        both.iter().filter(|it| lost(it) > much).map(|&(wall, _)| wall).collect();
    let mut whole: Vec<u64> =
        both.iter().filter(|it| lost(it) * 200 < middle2).map(|&(_, cpu)| cpu).collect();
    if preempted.len() < 2 || whole.len() < 2 {
        return false;
    }
    let work2 = median2(&mut whole);
    let mut off: Vec<u64> = preempted.iter().map(|&wall| (2 * wall).abs_diff(work2)).collect();
    // `off` is doubled, and so is its median.
    median2(&mut off) < 2 * (work2 / 20 + 2 * 20_000)
}
