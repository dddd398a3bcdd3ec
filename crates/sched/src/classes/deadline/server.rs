//! The fair server (6.12): a deadline reservation for the fair class, so that real-time tasks
//! cannot starve it.
//!
//! Each CPU has a server with 50 ms of each second by default. It is **deferred**: it does not
//! compete at once. The time that the fair class runs anyway is charged to the server, and when
//! that time reaches the budget a new period begins. Only if the fair class is kept waiting until
//! the last moment at which the budget could still be delivered (the deadline less the remaining
//! budget, the *zero-laxity* time), the server enters the tree as a deadline task. When the server
//! is picked, the fair class picks. The server replaced real-time throttling.
//!
//! The kernel keeps its timer running as long as there are fair tasks. Here the timer is set only
//! while a more urgent task has the CPU, which is when it can matter.

use super::cbs::{before, to_ratio};
use super::{DL_TIMER, Deadline, DlEntityId};
use crate::classes::{ClassId, Pid, Rqs};
use schedlab_core::{CpuId, Errno, Platform, TimerKey, TimerPhase, Tunable};

/// The tunables.
pub const TUNABLES: [&str; 2] = ["fair_server_runtime_ns", "fair_server_period_ns"];

/// State of a fair server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// As the server sees it, no fair task is kept waiting.
    #[default]
    Idle,
    /// Its timer is set for the zero-laxity time.
    Deferred,
    /// It is in the tree.
    Competing,
    /// It is out of budget until its deadline, for which its timer is set.
    Throttled,
}

/// The fair server of one CPU. Its runtime and deadline are in the row of the CPU's idle thread,
/// which represents it in the tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct FairServer {
    state: State,
    /// The fair class's run time on this CPU that has been charged so far, ns.
    charged: u64,
}

impl Deadline {
    /// Gives each CPU a server of `runtime_ns` every `period_ns`; `0`: none. They take a part of
    /// the machine's bandwidth.
    ///
    /// # Errors
    /// If that bandwidth is not free. Nothing has changed then.
    pub fn set_fair_server(&mut self, runtime_ns: u64, period_ns: u64) -> Result<(), Errno> {
        let (cpus, online) = (self.rqs.len(), self.admission.cpus());
        let [old, new] = [self.server_bw(), to_ratio(period_ns, runtime_ns)].map(|bw| bw * online);
        if !self.admission.fits(old, new) {
            return Err(Errno::Busy);
        }
        self.admission.replace(old, new);
        self.server_runtime_ns = runtime_ns;
        self.server_period_ns = period_ns;
        // The rows of the idle threads come first.
        for task in &mut self.tasks[..cpus] {
            task.server.dl_runtime = runtime_ns;
            task.server.dl_deadline = period_ns;
            task.server.dl_period = period_ns;
        }
        Ok(())
    }

    /// Returns the bandwidth that each CPU's server takes.
    pub(super) fn server_bw(&self) -> u64 {
        to_ratio(self.server_period_ns, self.server_runtime_ns)
    }

    /// Whether there are servers.
    #[inline]
    pub fn has_fair_server(&self) -> bool {
        self.server_runtime_ns > 0
    }

    /// Whether the server of `cpu` competes, so that the fair class must be charged before the
    /// pick.
    #[inline]
    pub fn fair_server_competes(&self, cpu: CpuId) -> bool {
        self.has_fair_server() && self.servers[cpu.index()].state == State::Competing
    }

    /// Returns the latest time at which `cpu` must serve the fair class.
    fn zero_laxity_ns(&self, rqs: &Rqs, cpu: CpuId) -> u64 {
        let server = &self.tasks[rqs.idle_thread(cpu).index()].server;
        server.deadline.wrapping_sub(server.runtime.max(0) as u64)
    }

    fn server_timer_at(&self, rqs: &Rqs, platform: &mut Platform, cpu: CpuId, at_ns: u64) {
        let key = TimerKey(DL_TIMER + 4 * rqs.idle_thread(cpu).0);
        platform.arm_timer(key, TimerPhase::BeforeWakeups, at_ns);
    }

    /// Charges the server: the fair class has run for `exec_ns` on `cpu` in total.
    pub fn fair_server_charge(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        exec_ns: u64,
    ) {
        let FairServer { state, charged } = &mut self.servers[cpu.index()];
        let delta_ns = exec_ns - core::mem::replace(charged, exec_ns);
        let server = &mut self.tasks[rqs.idle_thread(cpu).index()].server;
        server.runtime -= delta_ns as i64;
        if server.runtime > 0 {
            return;
        }
        match state {
            // The fair class has used its budget without competing.
            State::Idle | State::Deferred => server.renew(platform.now_ns()),
            State::Competing => {
                *state = State::Throttled;
                let deadline = server.deadline;
                self.server_leaves_tree(rqs, cpu);
                self.server_timer_at(rqs, platform, cpu, deadline);
                rqs.resched_curr(platform, cpu);
            }
            State::Throttled => {}
        }
    }

    /// Limits the time for which waiting fair tasks may be kept waiting by a more urgent task that
    /// has `cpu`.
    pub fn fair_server_defer(&mut self, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) {
        if self.servers[cpu.index()].state != State::Idle {
            return;
        }
        let server = &self.tasks[rqs.idle_thread(cpu).index()].server;
        if server.is_unset() || before(self.zero_laxity_ns(rqs, cpu), platform.now_ns()) {
            self.tasks[rqs.idle_thread(cpu).index()].server.renew(platform.now_ns());
        }
        self.servers[cpu.index()].state = State::Deferred;
        self.server_timer_at(rqs, platform, cpu, self.zero_laxity_ns(rqs, cpu));
    }

    /// Handles the expiry of the server's timer.
    pub(super) fn fair_server_timer(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        fair_waits: bool,
    ) {
        let now_ns = platform.now_ns();
        let pid = rqs.idle_thread(cpu);
        match self.servers[cpu.index()].state {
            State::Deferred => {
                let at_ns = self.zero_laxity_ns(rqs, cpu);
                if !fair_waits || rqs.thread(rqs.curr(cpu)).class < ClassId::Rt {
                    self.servers[cpu.index()].state = State::Idle;
                } else if before(now_ns, at_ns) {
                    // In the meantime, time was charged to it.
                    self.server_timer_at(rqs, platform, cpu, at_ns);
                } else {
                    self.servers[cpu.index()].state = State::Competing;
                    self.server_joins_tree(cpu, pid);
                    rqs.resched_curr(platform, cpu);
                }
            }
            State::Throttled => {
                let server = &mut self.tasks[pid.index()].server;
                server.replenish(now_ns);
                self.servers[cpu.index()].state = State::Idle;
                if fair_waits {
                    self.fair_server_defer(rqs, platform, cpu);
                }
            }
            State::Idle | State::Competing => {}
        }
    }

    /// Stops the server of `cpu`, which was picked although the fair class has no task.
    pub fn fair_server_stop(&mut self, rqs: &Rqs, cpu: CpuId) {
        self.server_leaves_tree(rqs, cpu);
        self.servers[cpu.index()].state = State::Idle;
    }

    fn server_joins_tree(&mut self, cpu: CpuId, pid: Pid) {
        let task = &mut self.tasks[pid.index()];
        task.queued = true;
        let rq = &mut self.rqs[cpu.index()];
        self.nodes.insert(&mut rq.tree, DlEntityId::of(pid), task.server.deadline);
        rq.nr_running += 1;
        self.earliest_changed(cpu);
    }

    fn server_leaves_tree(&mut self, rqs: &Rqs, cpu: CpuId) {
        let pid = rqs.idle_thread(cpu);
        self.tasks[pid.index()].queued = false;
        let rq = &mut self.rqs[cpu.index()];
        self.nodes.remove(&mut rq.tree, DlEntityId::of(pid));
        rq.nr_running -= 1;
        self.earliest_changed(cpu);
    }

    /// Returns the tunables with their values.
    pub fn fair_server_tunables(&self) -> [Tunable; 2] {
        [
            Tunable {
                name: TUNABLES[0].into(),
                value: self.server_runtime_ns as i64,
                range: (0, self.server_period_ns as i64),
                help: "runtime guaranteed to the fair class in each period on each CPU, ns; \
                       0 = nothing",
            },
            Tunable {
                name: TUNABLES[1].into(),
                value: self.server_period_ns as i64,
                range: (100_000.max(self.server_runtime_ns as i64), 1 << 32),
                help: "period of the fair server, ns",
            },
        ]
    }
}
