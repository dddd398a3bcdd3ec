//! Wakeup: a task enters the runqueue, and at most one CPU is asked to reschedule.

use super::task::State;
use super::{OrderN, rules};
use alloc::vec;
use alloc::vec::Vec;
use schedlab_core::topology::LevelKind;
use schedlab_core::{CpuId, Platform, Question, Rule, TaskId, Topology};

/// 2.2: number of ticks by which a woken task must exceed the waker's current task to request its
/// CPU.
const WAKEUP_MARGIN_2_2: i32 = 3;

/// By CPU: the other half of its hyper-threaded core, where cores have two CPUs. (2.4 supports
/// no others.) Empty if there is no such level.
pub(super) fn siblings(topology: &Topology) -> Vec<Option<CpuId>> {
    let Some(cores) = topology.levels().iter().find(|level| level.kind == LevelKind::Smt) else {
        return Vec::new();
    };
    let mut members: Vec<(u32, CpuId)> =
        topology.iter().map(|cpu| (cores.span_of[cpu.index()], cpu)).collect();
    members.sort_unstable();
    let mut siblings = vec![None; members.len()];
    for core in members.chunk_by(|a, b| a.0 == b.0) {
        if let &[(_, one), (_, other)] = core {
            siblings[one.index()] = Some(other);
            siblings[other.index()] = Some(one);
        }
    }
    siblings
}

impl OrderN {
    /// `try_to_wake_up`: makes `p` runnable. `here` is the CPU on which the wakeup is executed.
    ///
    /// A wakeup changes no counter and gives no bonus. Sleepers are favoured only because they kept
    /// their ticks, and continued to get new ones in each epoch.
    pub(super) fn try_to_wake_up(
        &mut self,
        platform: &mut Platform,
        p: TaskId,
        here: CpuId,
        sync: bool,
    ) {
        self.tasks[p].state = State::Running;
        if self.run_queue.contains(p) {
            // It has not reached schedule() yet and is still its CPU's current task.
            let cpu = self.tasks[p].processor;
            platform.by_rule(Question::Preempt, cpu, rules::STILL_CURRENT);
            return;
        }
        self.enqueue(p);
        platform.work.enqueues += 1;
        if !self.version.looks_at_all_cpus {
            self.reschedule_idle_2_2(platform, p, here);
        } else if !(sync && self.may_run(p, here)) {
            // After a synchronous wakeup the waker sleeps at once, and its CPU then walks the
            // runqueue in any case.
            self.reschedule_idle(platform, p);
        } else {
            platform.by_rule(Question::Preempt, here, rules::SYNC_WAKEUP);
        }
    }

    /// Finds a CPU for `p`, which waits in the runqueue, and asks it to reschedule. At most one CPU
    /// is asked, and `p` is not bound to it: the first CPU that walks the runqueue may take it.
    /// O(CPUs).
    ///
    /// The order is: the CPU on which it ran last, if that is idle; else the CPU that has been idle
    /// longest; else the CPU whose current task is most inferior to `p`; else none.
    ///
    /// The request is a flag, not a reservation. A CPU that was asked *is* idle until it has
    /// switched. A second task that wakes in the meantime may also ask it, and wait while another
    /// CPU is idle.
    ///
    /// (A UP build only compares `p` with the one current task, which is equivalent there.)
    pub(super) fn reschedule_idle(&self, platform: &mut Platform, p: TaskId) {
        let last = self.tasks[p].processor;
        if self.is_idle(last) && self.may_run(p, last) {
            Self::ask(platform, last, rules::LAST_CPU_IDLE);
            return;
        }
        let mut idle_longest: Option<(u64, CpuId)> = None;
        let mut most_inferior: (i32, Option<CpuId>) = (0, None);
        platform.work.queues += self.cpus.len() as u64;
        for number in 0..self.cpus.len() as u32 {
            let cpu = CpuId(number);
            if !self.may_run(p, cpu) {
                continue;
            }
            let Some(current) = self.cpus[cpu.index()].current else {
                if self.has_idle_sibling(cpu) {
                    Self::ask(platform, cpu, rules::IDLE_CORE);
                    return;
                }
                let since_ns = self.cpus[cpu.index()].last_schedule_ns;
                if idle_longest.is_none_or(|(longest_ns, _)| since_ns < longest_ns) {
                    idle_longest = Some((since_ns, cpu));
                }
                continue;
            };
            if idle_longest.is_none() {
                let difference = self.preemption_goodness(current, p, cpu);
                if difference > most_inferior.0 {
                    most_inferior = (difference, Some(cpu));
                }
            }
        }
        let (difference, inferior) = most_inferior;
        if let Some((_, cpu)) = idle_longest {
            Self::ask(platform, cpu, rules::IDLE_LONGEST);
        } else if let Some(cpu) = inferior {
            platform.because(Question::Preempt, cpu, rules::MOST_INFERIOR, move |evidence| {
                evidence.term("preemption_goodness", difference.into());
            });
            platform.resched(cpu);
        } else {
            platform.by_rule(Question::Preempt, last, rules::NOT_BETTER);
        }
    }

    /// Asks `cpu` to reschedule, by rule `rule`.
    #[inline]
    fn ask(platform: &mut Platform, cpu: CpuId, rule: Rule) {
        platform.by_rule(Question::Preempt, cpu, rule);
        platform.resched(cpu);
    }

    /// Returns the amount by which `p` is better on `cpu` than the task that runs there. The
    /// running task always has the bonuses for the CPU and for its address space: coming from
    /// another CPU, `p` must be ahead by more than 16.
    fn preemption_goodness(&self, current: TaskId, p: TaskId, cpu: CpuId) -> i32 {
        let mm = self.cpus[cpu.index()].active_mm;
        self.goodness(&self.run_queue[p], cpu, mm)
            - self.goodness(&self.run_queue[current], cpu, mm)
    }

    #[inline]
    fn is_idle(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].current.is_none()
    }

    /// Whether `cpu` is half of a hyper-threaded core whose other half is idle.
    #[inline]
    fn has_idle_sibling(&self, cpu: CpuId) -> bool {
        self.siblings
            .get(cpu.index())
            .is_some_and(|sibling| sibling.is_some_and(|sibling| self.is_idle(sibling)))
    }

    /// 2.2: `p` is compared with the task that the waking CPU runs. If it does not get that CPU it
    /// may get another one that is idle, but not a busy one.
    ///
    /// (The kernel skips the search for an idle CPU if the current task's average slice is short
    /// and both tasks hold the big kernel lock. Tasks here never hold it.)
    pub(super) fn reschedule_idle_2_2(&self, platform: &mut Platform, p: TaskId, here: CpuId) {
        let woken = &self.tasks[p];
        let current = self.cpus[here.index()].current;
        let counter = match current {
            Some(current) => self.tasks[current].counter,
            None => self.cpus[here.index()].idle_counter,
        };
        if woken.policy.is_realtime() {
            Self::ask(platform, here, rules::REAL_TIME_WAKEUP);
            return;
        }
        let explain = |platform: &mut Platform, cpu, rule| {
            platform.because(Question::Preempt, cpu, rule, |evidence| {
                evidence.term("counter", woken.counter.into());
                evidence.term("current_counter", counter.into());
            });
        };
        if woken.counter > counter + WAKEUP_MARGIN_2_2 {
            explain(platform, here, rules::MORE_TICKS);
            platform.resched(here);
            return;
        }
        let idles_elsewhere = |&cpu: &CpuId| cpu != here && self.is_idle(cpu);
        let cpus = self.cpus.len() as u32;
        let found = (woken.placed.then_some(woken.processor))
            .filter(idles_elsewhere)
            .or_else(|| (0..cpus).rev().map(CpuId).find(idles_elsewhere));
        if let Some(cpu) = found {
            explain(platform, cpu, rules::IDLE_ELSEWHERE);
            platform.resched(cpu);
        } else {
            explain(platform, here, rules::NOT_MORE_TICKS);
        }
    }
}
