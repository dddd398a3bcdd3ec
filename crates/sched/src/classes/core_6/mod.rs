//! The core of a 6.x kernel: `schedule()`, wakeups, forks and system calls, and the order in which
//! the classes are asked.
//!
//! The list of classes is deadline, real-time, fair. Differences from the core of 2.6.3x
//! ([`core_2_6`](super::core_2_6)):
//!
//! * A task that blocks leaves its queue at that moment, or, if the fair class delays it, later.
//! * `schedule()` **picks first**. A fair task that is picked while it runs is neither put back nor
//!   set again: its protection and its place stay as they are.
//! * The reschedule request is cleared after the switch, so requests made by the charges of the
//!   pick and of the put are lost.
//! * The stopper, above all classes, moves running tasks. It runs within `schedule()`, before the
//!   pick.
//!
//! | file | contents |
//! |---|---|
//! | this file | the machine, and the calls into a thread's class |
//! | `fair_class` | the interface of the fair class |
//! | `schedule` | `schedule()`: the walk of the class list, and the stopper |
//! | `wakeup` | wakeups and preemption by a task that became runnable |
//! | `placement` | CPUs for tasks that may not stay where they are |
//! | `hooks` | the hooks of the scheduler: forks, ticks, system calls, timers |
//! | `administration` | groups, tunables, CPU hotplug |
//! | `inspect` | queries and consistency checks |
//! | [`rules`] | the decision rules |
//!
//! The fair class is a parameter: [`FairClass6`] is its interface.

use super::deadline::Deadline;
use super::domains::Domains;
use super::rq::prio_of;
use super::rt::{RealTime, RtVersion};
use super::{Class, ClassId, Dequeue, Enqueue, Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform, SchedAttr, Waker};

/// Reservation of the fair servers (6.12 on) on each CPU: runtime and period, ns.
const FAIR_SERVER_NS: (u64, u64) = (50_000_000, 1_000_000_000);

/// A 6.x kernel with the fair class `F`.
#[derive(Debug)]
pub struct Core6<F> {
    /// Threads and runqueues.
    pub core: Rqs,
    /// `SCHED_DEADLINE`.
    pub deadline: Deadline,
    /// `SCHED_FIFO`, `SCHED_RR`.
    pub rt: RealTime,
    /// `SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`.
    pub fair: F,
    /// Tasks that execute another program and continue on another CPU after the stopper of their
    /// CPU has run: the task, its CPU, and the destination.
    execs: Vec<(Pid, CpuId, CpuId)>,
    /// Tasks that were woken before their CPU had switched away from them, and their wakers.
    early_wakeups: Vec<(Pid, Waker)>,
    /// By CPU: the CPU last chosen there for a task that could not stay where it was
    /// (`distribute_cpu_mask_prev`).
    last_fallback: Vec<CpuId>,
}

/// Calls a hook of the class of a thread that is not an idle thread.
macro_rules! class {
    ($self:ident, $class:expr, $hook:ident($($arg:expr),*)) => {
        match $class {
            ClassId::Fair => $self.fair.$hook(&mut $self.core, $($arg),*),
            ClassId::Rt => $self.rt.$hook(&mut $self.core, $($arg),*),
            ClassId::Deadline => $self.deadline.$hook(&mut $self.core, $($arg),*),
            ClassId::Idle => unreachable!("no hook is called for the idle threads"),
        }
    };
}

/// Calls a hook of the class of a thread, if that is the real-time or the deadline class. (The fair
/// class and the idle threads have nothing to do there.)
macro_rules! urgent_class {
    ($self:ident, $class:expr, $hook:ident($($arg:expr),*)) => {
        match $class {
            ClassId::Rt => $self.rt.$hook(&mut $self.core, $($arg),*),
            ClassId::Deadline => $self.deadline.$hook(&mut $self.core, $($arg),*),
            ClassId::Fair | ClassId::Idle => {}
        }
    };
}

// (After the macros, which they use.)
mod administration;
mod fair_class;
mod hooks;
mod inspect;
mod placement;
pub mod rules;
mod schedule;
mod wakeup;

pub use fair_class::FairClass6;

impl<F: FairClass6> Core6<F> {
    /// Creates an idle machine with these domains.
    pub fn with_fair_class(fair: F, domains: Domains, hz: u32) -> Core6<F> {
        let real_time = RtVersion {
            throttling: !fair.has_fair_server(),
            // RT_RUNTIME_SHARE is off since 5.10.
            runtime_share: false,
            push_pull: true,
            stays_over_lesser: true,
            periods_from_start: true,
            throttled_uncounted: true,
        };
        Core6::with_classes(fair, real_time, domains, hz)
    }

    /// Like [`with_fair_class`](Core6::with_fair_class), with another real-time class.
    pub fn with_classes(fair: F, real_time: RtVersion, domains: Domains, hz: u32) -> Core6<F> {
        let cpus = domains.cpus();
        let mut deadline = Deadline::new(cpus);
        if fair.has_fair_server() {
            let fits = deadline.set_fair_server(FAIR_SERVER_NS.0, FAIR_SERVER_NS.1);
            debug_assert!(fits.is_ok(), "5 % of an empty machine");
        }
        let rt = RealTime::new(real_time, cpus, hz);
        Core6 {
            core: Rqs::new(domains),
            deadline,
            rt,
            fair,
            execs: Vec::with_capacity(16),
            early_wakeups: Vec::with_capacity(16),
            last_fallback: alloc::vec![CpuId(0); cpus as usize],
        }
    }

    #[inline]
    fn class_of(&self, pid: Pid) -> ClassId {
        self.core.thread(pid).class
    }

    /// Implements `activate_task`. The fair and the deadline class maintain `nr_running`
    /// themselves, because they may throttle a task.
    fn activate(&mut self, platform: &mut Platform, pid: Pid, why: Enqueue) {
        let cpu = self.core.cpu_of(pid);
        let class = self.class_of(pid);
        class!(self, class, enqueue_task(platform, cpu, pid, why));
        match class {
            ClassId::Rt if self.rt.counts(cpu) => {
                self.fair.add_nr_running(&mut self.core, cpu, 1);
            }
            ClassId::Deadline => self.fair.note_overload(&self.core, cpu),
            ClassId::Rt | ClassId::Fair | ClassId::Idle => {}
        }
        self.core.thread_mut(pid).on_rq = true;
    }

    /// Implements `deactivate_task`. Returns `false` if the fair class has delayed the dequeue.
    fn deactivate(&mut self, platform: &mut Platform, pid: Pid, why: Dequeue) -> bool {
        let cpu = self.core.cpu_of(pid);
        let class = self.class_of(pid);
        let left = class!(self, class, dequeue_task(platform, cpu, pid, why));
        if class == ClassId::Fair {
            return left;
        }
        if class == ClassId::Rt && self.rt.counts(cpu) {
            self.core.sub_nr_running(cpu, 1);
        }
        self.core.thread_mut(pid).on_rq = false;
        true
    }

    fn put_prev(&mut self, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if self.class_of(pid) != ClassId::Idle {
            class!(self, self.class_of(pid), put_prev_task(platform, cpu, pid));
        }
    }

    fn set_next(&mut self, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if self.class_of(pid) != ClassId::Idle {
            class!(self, self.class_of(pid), set_curr_task(platform, cpu, pid));
        }
    }

    /// Reports tasks that another class has moved to the fair class.
    #[inline]
    fn report_moves(&mut self) {
        while let Some((pid, _)) = self.core.moved.pop() {
            let to = self.core.cpu_of(pid);
            self.fair.came_to_cpu(pid, to);
            self.fair.note_overload(&self.core, to);
        }
    }

    /// Changes the attributes of `pid`: takes it off its queue, changes it, and puts it back. If
    /// `pid` runs, it starts a new protection.
    fn change(
        &mut self,
        platform: &mut Platform,
        pid: Pid,
        why: Dequeue,
        change: impl FnOnce(&mut Self, &mut Platform),
    ) {
        let cpu = self.core.cpu_of(pid);
        let queued = self.core.thread(pid).on_rq;
        let running = self.core.is_running(pid);
        self.core.update_rq_clock(platform, cpu);
        if queued {
            self.deactivate(platform, pid, why);
        }
        if running {
            self.put_prev(platform, cpu, pid);
        }
        let class = self.class_of(pid);
        change(self, platform);
        if queued {
            self.activate(platform, pid, Enqueue::Restored);
        }
        if running {
            self.fair.class_switch(platform.now_ns(), cpu, class, self.class_of(pid));
            self.set_next(platform, cpu, pid);
        }
    }

    /// Stores the attributes of `pid`, which is on no queue.
    fn set_params(&mut self, platform: &mut Platform, pid: Pid, attr: &SchedAttr) {
        self.core.settings[pid.index()].attr = *attr;
        let thread = self.core.thread_mut(pid);
        thread.policy = attr.policy;
        thread.class = ClassId::of(attr.policy);
        thread.prio = prio_of(attr);
        self.fair.set_load_weight(&mut self.core, platform, pid, attr);
    }
}
