//! The state that the core of a kernel with scheduling classes keeps: threads, runqueues, and the
//! thread that runs on each CPU.
//!
//! This module makes no decisions. All classes share one [`Rqs`], which every hook of a class
//! receives.
//!
//! # Threads
//!
//! A [`Pid`] names any thread that the kernel schedules: the idle thread of each CPU, the migration
//! thread of each CPU, and the tasks of the machine, all numbered in one sequence. A runqueue
//! therefore always has a current thread, and a reschedule request always has a thread to which it
//! belongs.
//!
//! # The reschedule request belongs to the thread
//!
//! `TIF_NEED_RESCHED` is a flag *of the running thread*, not of the CPU. `schedule()` clears it at
//! its beginning, for the thread from which it switches. If the thread is marked afterwards, while
//! it is being switched out, the mark stays on it, even while it sleeps, and makes it reschedule at
//! once when it is next switched to.

use super::domains::Domains;
use alloc::vec::Vec;
use schedlab_core::{CpuId, CpuSet, Platform, Policy, SchedAttr, TaskId, Who};

/// Any thread that a CPU can run, by number: first the idle threads by CPU, then the migration
/// threads by CPU, then the machine's tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pid(pub u32);

impl Pid {
    /// Returns the number as an index into a table of threads.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A member of the list of scheduling classes, the most urgent last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum ClassId {
    /// `idle_sched_class`: the idle threads.
    #[default]
    Idle,
    /// `fair_sched_class`: `SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`.
    Fair,
    /// `rt_sched_class`: `SCHED_FIFO`, `SCHED_RR`.
    Rt,
    /// `dl_sched_class`: `SCHED_DEADLINE`.
    Deadline,
}

impl ClassId {
    /// Returns the class of a policy.
    pub const fn of(policy: Policy) -> ClassId {
        match policy {
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => ClassId::Fair,
            Policy::Fifo | Policy::RoundRobin => ClassId::Rt,
            Policy::Deadline => ClassId::Deadline,
        }
    }
}

/// Returns the kernel's internal priority. Smaller is more urgent: -1 deadline, 0..=98 real-time,
/// 100..=139 fair, 140 idle threads.
pub const fn prio_of(attr: &SchedAttr) -> i16 {
    match attr.policy {
        Policy::Deadline => -1,
        Policy::Fifo | Policy::RoundRobin => 99 - attr.rt_priority as i16,
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => 120 + attr.nice as i16,
    }
}

/// The internal priority of an idle thread.
pub const IDLE_PRIO: i16 = 140;

/// The properties of a thread that every decision needs.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// The CPU whose runqueue it belongs to, or last belonged to.
    pub cpu: CpuId,
    /// Number of the machine's CPUs on which it may run.
    pub nr_cpus_allowed: u32,
    /// Internal priority ([`prio_of`]).
    pub prio: i16,
    /// Its class.
    pub class: ClassId,
    /// Its policy.
    pub policy: Policy,
    /// Whether it is awake: `TASK_RUNNING`.
    pub runnable: bool,
    /// Whether it is on a runqueue, waiting or running. A thread that has just blocked remains so
    /// until its CPU's `schedule()`.
    pub on_rq: bool,
    /// `TIF_NEED_RESCHED`.
    pub need_resched: bool,
    /// Whether it has called `execve(2)` and sleeps until its CPU's migration thread has moved it
    /// (2.6.24 to 2.6.32).
    pub execs: bool,
    /// CPU time used under a real-time policy since it received one, ns. (The fair class keeps the
    /// rest. This is added to it when the task becomes an ordinary one.)
    pub rt_sum_exec: u64,
}

impl Default for Thread {
    fn default() -> Thread {
        Thread {
            cpu: CpuId(0),
            nr_cpus_allowed: 0,
            prio: 0,
            class: ClassId::default(),
            policy: Policy::default(),
            runnable: false,
            on_rq: false,
            need_resched: false,
            execs: false,
            rt_sum_exec: 0,
        }
    }
}

/// The attributes that a thread's owner has set. They are read less often than [`Thread`].
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Policy and priorities.
    pub attr: SchedAttr,
    /// The CPUs on which it may run.
    pub allowed: CpuSet,
    /// Its address space.
    pub address_space: u32,
}

/// The part of a runqueue that all classes share. ([`Rqs::nr_running`] has the number of its
/// threads.)
#[derive(Clone, Debug)]
pub struct Rq {
    /// The machine's time as this CPU last read it, ns. It is read at wakeups, ticks, `schedule()`
    /// and before balancing.
    pub clock: u64,
    /// The running thread, or the idle thread.
    pub curr: Pid,
    /// Whether a class requests its `post_schedule` hook after the switch.
    pub post_schedule: bool,
    /// Whether active balancing is in progress: the migration thread is to push a task to
    /// `push_cpu`.
    pub active_balance: bool,
    /// The CPU that the migration thread pushes to.
    pub push_cpu: CpuId,
    /// Whether its migration thread has work and waits to run. In the meantime, 6.x counts it among
    /// the threads.
    pub stopper_waits: bool,
    /// Tasks that must leave this CPU, with the destination of each. The migration thread moves
    /// them.
    pub migration_queue: Vec<(Pid, CpuId)>,
    /// Decaying sum of the time spent on real-time tasks, ns.
    pub rt_avg: u64,
    /// Time up to which `rt_avg` has been decayed, ns.
    pub age_stamp: u64,
}

/// Threads, runqueues and domains, which all classes share.
#[derive(Clone, Debug)]
pub struct Rqs {
    cpus: u32,
    /// Runqueues by CPU.
    pub rqs: Vec<Rq>,
    /// By CPU: number of threads of all classes on its runqueue, waiting or running, except threads
    /// of throttled groups. Changed by [`Rqs::add_nr_running`] and [`Rqs::sub_nr_running`].
    pub nr_running: Vec<u32>,
    /// The CPUs with more than one thread, which could give one away, 64 per word.
    overcommitted: Vec<u64>,
    /// Number of those CPUs.
    overcommitted_count: u32,
    /// The CPUs with no thread on their runqueues, 64 per word.
    vacant: Vec<u64>,
    /// The CPUs whose [`nr_running`](Rqs::nr_running) or current thread has changed since
    /// [`take_changed`](Rqs::take_changed), 64 per word.
    changed: Vec<u64>,
    /// The CPUs that reschedule when they next enter the kernel (`TIF_NEED_RESCHED_LAZY`), 64 per
    /// word.
    lazy: Vec<u64>,
    /// Whether any CPU does.
    any_lazy: bool,
    /// By [`Pid`].
    pub threads: Vec<Thread>,
    /// By [`Pid`].
    pub settings: Vec<Settings>,
    /// The scheduling domains.
    pub domains: Domains,
    /// By CPU: whether it is online.
    is_online: Vec<bool>,
    /// Number of CPUs online.
    online_cpus: u32,
    /// The CPU on which the kernel is acting (`smp_processor_id()`).
    pub this_cpu: CpuId,
    /// Whether the kernel acts there for something other than one of its threads (a parent outside
    /// the machine's workload).
    pub external: bool,
    /// Whether a CPU's clock is read only when the kernel acts on that CPU (2.6.24).
    pub own_clocks_only: bool,
    /// `sched_time_avg` / 2 in ns: half-life of [`Rq::rt_avg`].
    pub rt_avg_period_ns: u64,
    /// Tasks that a class other than the fair one has moved, and their previous CPUs. The core
    /// reports them to the fair class.
    pub moved: Vec<(Pid, CpuId)>,
}

impl Rqs {
    /// Creates the initial state, in which all CPUs idle.
    pub fn new(domains: Domains) -> Rqs {
        let cpus = domains.cpus();
        let mut threads = Vec::with_capacity(2 * cpus as usize + 64);
        for cpu in 0..cpus {
            threads.push(Thread {
                cpu: CpuId(cpu),
                nr_cpus_allowed: 1,
                prio: IDLE_PRIO,
                class: ClassId::Idle,
                runnable: true,
                on_rq: true,
                ..Thread::default()
            });
        }
        for cpu in 0..cpus {
            threads.push(Thread {
                cpu: CpuId(cpu),
                nr_cpus_allowed: 1,
                prio: 0,
                class: ClassId::Rt,
                policy: Policy::Fifo,
                ..Thread::default()
            });
        }
        // Idle and migration threads run only on their own CPUs: balancers that move real-time
        // tasks see the latter on the queue.
        let bound =
            |thread: &Thread| Settings { allowed: CpuSet::only(thread.cpu), ..Settings::default() };
        let settings = threads.iter().map(bound).collect();
        Rqs {
            cpus,
            rqs: (0..cpus).map(Rq::idle).collect(),
            nr_running: alloc::vec![0; cpus as usize],
            overcommitted: alloc::vec![0; (cpus as usize).div_ceil(64)],
            overcommitted_count: 0,
            vacant: alloc::vec![u64::MAX; (cpus as usize).div_ceil(64)],
            changed: alloc::vec![0; (cpus as usize).div_ceil(64)],
            lazy: alloc::vec![0; (cpus as usize).div_ceil(64)],
            any_lazy: false,
            threads,
            settings,
            domains,
            is_online: alloc::vec![true; cpus as usize],
            online_cpus: cpus,
            this_cpu: CpuId(0),
            external: false,
            own_clocks_only: false,
            rt_avg_period_ns: 500_000_000,
            moved: Vec::with_capacity(64),
        }
    }

    /// Returns the number of CPUs.
    #[inline]
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Returns the number of CPUs online.
    #[inline]
    pub fn online_cpus(&self) -> u32 {
        self.online_cpus
    }

    /// Whether `cpu` is online.
    #[inline]
    pub fn is_online(&self, cpu: CpuId) -> bool {
        self.is_online[cpu.index()]
    }

    /// Sets `cpu` online or offline (a change of its state). The domains follow.
    pub fn set_online(&mut self, cpu: CpuId, online: bool) {
        self.is_online[cpu.index()] = online;
        self.online_cpus = if online { self.online_cpus + 1 } else { self.online_cpus - 1 };
        self.domains.rebuild(|cpu| self.is_online[cpu.index()]);
    }

    /// Returns the idle thread of `cpu`.
    #[inline]
    pub fn idle_thread(&self, cpu: CpuId) -> Pid {
        Pid(cpu.0)
    }

    /// Returns the migration thread of `cpu`.
    #[inline]
    pub fn migration_thread(&self, cpu: CpuId) -> Pid {
        Pid(self.cpus + cpu.0)
    }

    /// Returns the thread of `task`.
    #[inline]
    pub fn pid(&self, task: TaskId) -> Pid {
        Pid(2 * self.cpus + task.0)
    }

    /// Returns the task of `pid`. `None` for idle and migration threads.
    #[inline]
    pub fn task(&self, pid: Pid) -> Option<TaskId> {
        pid.0.checked_sub(2 * self.cpus).map(TaskId)
    }

    /// Returns the name of `pid` in an account of a decision.
    pub fn who(&self, pid: Pid) -> Who {
        match self.task(pid) {
            Some(task) => Who::Task(task),
            None if self.is_idle_thread(pid) => Who::Kernel("idle"),
            None => Who::Kernel("migration"),
        }
    }

    /// Whether `pid` is a migration thread.
    #[inline]
    pub fn is_migration_thread(&self, pid: Pid) -> bool {
        (self.cpus..2 * self.cpus).contains(&pid.0)
    }

    /// Whether `pid` is an idle thread.
    #[inline]
    pub fn is_idle_thread(&self, pid: Pid) -> bool {
        pid.0 < self.cpus
    }

    /// Returns the thread's row.
    #[inline]
    pub fn thread(&self, pid: Pid) -> &Thread {
        &self.threads[pid.index()]
    }

    /// Returns the thread's row.
    #[inline]
    pub fn thread_mut(&mut self, pid: Pid) -> &mut Thread {
        &mut self.threads[pid.index()]
    }

    /// Returns the CPU whose runqueue `pid` belongs to.
    #[inline]
    pub fn cpu_of(&self, pid: Pid) -> CpuId {
        self.threads[pid.index()].cpu
    }

    /// Returns the thread that runs on `cpu`.
    #[inline]
    pub fn curr(&self, cpu: CpuId) -> Pid {
        self.rqs[cpu.index()].curr
    }

    /// Whether `pid` occupies its CPU (even if it has blocked and has not yet been switched out).
    #[inline]
    pub fn is_running(&self, pid: Pid) -> bool {
        self.curr(self.cpu_of(pid)) == pid
    }

    /// Whether `pid` may run on `cpu`.
    #[inline]
    pub fn is_allowed(&self, pid: Pid, cpu: CpuId) -> bool {
        self.threads[pid.index()].nr_cpus_allowed == self.cpus
            || self.settings[pid.index()].allowed.contains(cpu)
    }

    /// Returns the clock of `cpu` as last read, ns.
    #[inline]
    pub fn clock(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu.index()].clock
    }

    /// `update_rq_clock`: lets `cpu` read the time. Where a CPU reads [only its own
    /// clock](Rqs::own_clocks_only), nothing happens for another CPU.
    #[inline]
    pub fn update_rq_clock(&mut self, platform: &mut Platform, cpu: CpuId) {
        if self.own_clocks_only && cpu != self.this_cpu {
            return;
        }
        platform.work.clock_reads += 1;
        self.rqs[cpu.index()].clock = platform.now_ns();
    }

    /// `resched_task(rq->curr)`: marks the thread that runs on `cpu` and asks the CPU to
    /// reschedule.
    #[inline]
    pub fn resched_curr(&mut self, platform: &mut Platform, cpu: CpuId) {
        let curr = self.curr(cpu);
        self.threads[curr.index()].need_resched = true;
        platform.resched(cpu);
    }

    /// `resched_curr_lazy` for a CPU on which the kernel does not act: `cpu` gets no interrupt, and
    /// reschedules when it next enters the kernel.
    #[cold]
    pub fn resched_at_entry(&mut self, cpu: CpuId) {
        self.lazy[cpu.index() / 64] |= 1 << (cpu.0 % 64);
        self.any_lazy = true;
    }

    /// `cpu` enters the kernel, and reschedules if that was put off until now.
    #[inline]
    pub fn enter_kernel(&mut self, platform: &mut Platform, cpu: CpuId) {
        if self.any_lazy {
            self.resched_if_put_off(platform, cpu);
        }
    }

    #[cold]
    fn resched_if_put_off(&mut self, platform: &mut Platform, cpu: CpuId) {
        if self.lazy[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1 {
            self.forget_put_off(cpu);
            self.resched_curr(platform, cpu);
        }
    }

    /// `cpu` reschedules, whatever the reason.
    #[inline]
    pub fn reschedules(&mut self, cpu: CpuId) {
        if self.any_lazy {
            self.forget_put_off(cpu);
        }
    }

    #[cold]
    fn forget_put_off(&mut self, cpu: CpuId) {
        self.lazy[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
        self.any_lazy = self.lazy.iter().any(|&word| word != 0);
    }

    /// Whether the thread that runs on `cpu` is marked.
    #[inline]
    pub fn resched_pending(&self, cpu: CpuId) -> bool {
        self.threads[self.curr(cpu).index()].need_resched
    }

    /// `need_resched()`: whether the thread for which the kernel is acting is marked.
    #[inline]
    pub fn need_resched_here(&self) -> bool {
        !self.external && self.resched_pending(self.this_cpu)
    }

    /// Adds a number of threads to the runqueue of `cpu`.
    #[inline]
    pub fn add_nr_running(&mut self, cpu: CpuId, count: u32) {
        self.changed[cpu.index() / 64] |= 1 << (cpu.0 % 64);
        let nr_running = &mut self.nr_running[cpu.index()];
        let before = core::mem::replace(nr_running, *nr_running + count);
        if before == 0 && count > 0 {
            self.vacant[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
        }
        if before <= 1 && before + count > 1 {
            self.overcommitted[cpu.index() / 64] |= 1 << (cpu.0 % 64);
            self.overcommitted_count += 1;
        }
    }

    /// Removes a number of threads from the runqueue of `cpu`.
    #[inline]
    pub fn sub_nr_running(&mut self, cpu: CpuId, count: u32) {
        self.changed[cpu.index() / 64] |= 1 << (cpu.0 % 64);
        let nr_running = &mut self.nr_running[cpu.index()];
        let before = core::mem::replace(nr_running, *nr_running - count);
        if before > 0 && before == count {
            self.vacant[cpu.index() / 64] |= 1 << (cpu.0 % 64);
        }
        if before > 1 && before - count <= 1 {
            self.overcommitted[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
            self.overcommitted_count -= 1;
        }
    }

    /// Records that `curr` occupies `cpu` from now on.
    #[inline]
    pub fn set_curr(&mut self, cpu: CpuId, curr: Pid) {
        self.changed[cpu.index() / 64] |= 1 << (cpu.0 % 64);
        self.rqs[cpu.index()].curr = curr;
    }

    /// Returns which of the 64 CPUs from `64 * word` on may have changed their number of threads or
    /// their current thread since the last call. Bit 0 is the first CPU.
    #[inline]
    pub fn take_changed(&mut self, word: usize) -> u64 {
        core::mem::take(&mut self.changed[word])
    }

    /// Whether [`take_changed`](Rqs::take_changed) would return `cpu`.
    pub fn is_changed(&self, cpu: CpuId) -> bool {
        self.changed[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }

    /// Whether any CPU has more than one thread.
    #[inline]
    pub fn any_overcommitted(&self) -> bool {
        self.overcommitted_count > 0
    }

    /// Returns the CPUs from `from` to `until` - 1 that have more than one thread, ascending.
    #[inline]
    pub fn overcommitted(&self, from: u32, until: u32) -> impl Iterator<Item = CpuId> + '_ {
        members(&self.overcommitted, from, until)
    }

    /// Returns the CPUs from `from` to `until` - 1 that have no thread on their runqueues,
    /// ascending. (The last one may still be about to leave.)
    #[inline]
    pub fn vacant(&self, from: u32, until: u32) -> impl Iterator<Item = CpuId> + '_ {
        members(&self.vacant, from, until)
    }

    /// Sets the CPU on which the kernel acts from now on.
    #[inline]
    pub fn act_on(&mut self, cpu: CpuId) {
        self.this_cpu = cpu;
        self.external = false;
    }

    /// Assigns `pid`, which is on no runqueue, to `to`. Returns its previous CPU.
    #[inline]
    pub fn set_cpu(&mut self, platform: &mut Platform, pid: Pid, to: CpuId) -> CpuId {
        let from = self.cpu_of(pid);
        self.threads[pid.index()].cpu = to;
        if let Some(task) = self.task(pid) {
            platform.migrated(task, from, to);
        }
        from
    }

    /// Does the same as [`set_cpu`](Rqs::set_cpu), for a class other than the fair one: the core
    /// reports the move to the fair class, which tracks the CPU of every task.
    pub fn set_cpu_and_report(&mut self, platform: &mut Platform, pid: Pid, to: CpuId) {
        let from = self.set_cpu(platform, pid, to);
        self.moved.push((pid, from));
    }

    /// `sched_avg_update`: decays the average of real-time work of `cpu`.
    pub fn rt_avg_decay(&mut self, cpu: CpuId) {
        let period = self.rt_avg_period_ns;
        let rq = &mut self.rqs[cpu.index()];
        while rq.clock.wrapping_sub(rq.age_stamp) as i64 > period as i64 {
            rq.age_stamp += period;
            rq.rt_avg /= 2;
        }
    }

    /// The part of the recent time of `cpu` that more urgent tasks than fair ones have used, of
    /// 1024 (`scale_rt_capacity` from 4.3 to 4.18).
    pub fn rt_avg_part(&self, cpu: CpuId) -> u64 {
        let rq = &self.rqs[cpu.index()];
        let period = self.rt_avg_period_ns;
        let (mut used, mut age) = (rq.rt_avg, rq.clock.wrapping_sub(rq.age_stamp));
        while used > 0 && age as i64 > period as i64 {
            age -= period;
            used /= 2;
        }
        used * 1024 / (period + age)
    }

    /// `sched_rt_avg_update`: records that `cpu` has spent `delta_ns` on a real-time task.
    pub fn rt_avg_add(&mut self, cpu: CpuId, delta_ns: u64) {
        self.rqs[cpu.index()].rt_avg += delta_ns;
        self.rt_avg_decay(cpu);
    }

    /// Makes room for the thread of `task` and for the threads before it.
    pub fn make_room(&mut self, task: TaskId) {
        let rows = self.pid(task).index() + 1;
        if self.threads.len() < rows {
            self.threads.resize(rows, Thread::default());
            self.settings.resize(rows, Settings::default());
        }
    }
}

/// Returns the members of a set of CPUs from `from` to `until` - 1, ascending.
#[inline]
fn members(set: &[u64], from: u32, until: u32) -> impl Iterator<Item = CpuId> + '_ {
    let mut word = from as usize / 64;
    let mut bits = set.get(word).copied().unwrap_or(0) & (u64::MAX << (from % 64));
    core::iter::from_fn(move || {
        while bits == 0 {
            word += 1;
            bits = *set.get(word)?;
        }
        let cpu = word as u32 * 64 + bits.trailing_zeros();
        bits &= bits - 1;
        (cpu < until).then_some(CpuId(cpu))
    })
}

impl Rq {
    fn idle(cpu: u32) -> Rq {
        Rq {
            clock: 0,
            curr: Pid(cpu),
            post_schedule: false,
            active_balance: false,
            push_cpu: CpuId(0),
            stopper_waits: false,
            migration_queue: Vec::new(),
            rt_avg: 0,
            age_stamp: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::Topology;

    #[test]
    fn changes_are_told_once() {
        let mut rqs = Rqs::new(crate::cfs::domains(&Topology::flat(70)));
        (0..2).for_each(|word| _ = rqs.take_changed(word));
        rqs.add_nr_running(CpuId(3), 1);
        rqs.add_nr_running(CpuId(65), 1);
        assert!(rqs.is_changed(CpuId(3)) && !rqs.is_changed(CpuId(4)));
        assert_eq!([rqs.take_changed(0), rqs.take_changed(1)], [1 << 3, 1 << 1]);
        assert_eq!([rqs.take_changed(0), rqs.take_changed(1)], [0, 0]);
    }

    #[test]
    fn cpus_with_more_than_one_thread_are_known() {
        let mut rqs = Rqs::new(crate::cfs::domains(&Topology::flat(70)));
        let found = |rqs: &Rqs| rqs.overcommitted(0, 70).map(|cpu| cpu.0).collect::<Vec<_>>();
        assert!(!rqs.any_overcommitted());
        rqs.add_nr_running(CpuId(3), 1);
        assert!(!rqs.any_overcommitted() && found(&rqs).is_empty());
        rqs.add_nr_running(CpuId(3), 1);
        rqs.add_nr_running(CpuId(69), 2);
        assert!(rqs.any_overcommitted());
        assert_eq!(found(&rqs), [3, 69]);
        rqs.sub_nr_running(CpuId(69), 2);
        rqs.sub_nr_running(CpuId(3), 1);
        assert!(!rqs.any_overcommitted() && found(&rqs).is_empty());
    }
}
