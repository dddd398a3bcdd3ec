//! Lag where tasks sleep, against a fluid machine with the same bursts.
//!
//! A **burst** is a period in which a task is runnable: from start or wakeup to the next time it
//! blocks or ends. The lag since the start of the run counts what the fluid machine gives while the
//! task is runnable on the *real* machine. A task that sleeps and is served promptly is therefore
//! ahead a little more with every burst, without limit, and ever more time is due to the tasks that
//! share the machine with it. The machine of this file has the same bursts instead, as in the
//! literature on fair queueing (generalised processor sharing): each burst begins when it begins on
//! the real machine, and is served until it has had the same CPU time as on the real machine.
//!
//! ```text
//!     a burst begins                the task is on the machine; lag = 0 unless it was still on it
//!     time passes                   lag += (rate - 1 if it runs in reality) x time
//!     it ends, and lag < 0          the task has been served early: it stays on the
//!                                   machine until lag = 0 (as Linux 6.12 delays a dequeue)
//!     it ends, and lag >= 0         it leaves. Its lag goes to the tasks that stay, in
//!                                   proportion to their rates, as far as they are ahead together
//! ```
//!
//! The last clause: the machine learns the length of a burst only when the burst ends on the real
//! machine, and serves the task until then. If it has served the task too much, it took that time
//! from the other tasks, and they get it back. If a CPU idled while the task waited, no task is
//! ahead because of that, and no task gets anything.
//!
//! The lag is sampled whenever the task changes from waiting to running or back, and when the burst
//! or the run ends. (If it changes back in the same nanosecond, nothing has happened.) The
//! lags of tasks that leave in a nanosecond are handed on, at its end, to the tasks on the machine
//! then. A task that stays leaves in the first nanosecond at which it has been served.

use super::fluid::{FluidMachine, Group, SHIFT, to_ns};
use crate::histogram::Histogram;
use schedlab_core::{TaskId, TaskTable};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Follows the machine with the same bursts.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    machine: FluidMachine,
    tasks: TaskTable<Row>,
    /// By class, the tasks that stay: the service at which they leave, the task, and the number of
    /// its sleep. Entries of tasks that have woken since are skipped.
    stays: Vec<BinaryHeap<Reverse<(i128, u32, u32)>>>,
    /// Time at which the first of them leaves, ns, if the rates are current.
    next_leaves_ns: u64,
    /// Sum of the lags of tasks that left at `left_at_ns`, if not yet handed on, 2^-56 ns.
    left: i128,
    left_at_ns: u64,
    /// Of all tasks on the machine: the sums of [`Row::base`] (2^-56 ns), of CPU time up to the
    /// last switch (ns), and of the start times of the running tasks (ns), and their number.
    base_sum: i128,
    cpu_sum_ns: u64,
    since_sum_ns: i128,
    running: u64,
    /// Largest |lag| of each burst, ns.
    pub lags: Histogram,
}

/// Whether a task is on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Off,
    /// It is in a burst.
    Runnable,
    /// It sleeps, and has not been served yet.
    Stays,
}

/// State of a task.
#[derive(Clone, Debug, Default)]
struct Row {
    /// `None`: it is outside the fluid machine.
    class: Option<u32>,
    state: State,
    /// Number of times that it stayed or came back.
    sleep: u32,
    /// Its lag less its class's service, plus its CPU time; 2^-56 ns.
    base: i128,
    /// CPU time up to its last switch, ns.
    cpu_ns: u64,
    /// Time since which it has had its CPU in a burst, ns.
    running: Option<u64>,
    /// Whether its burst is over although it is its CPU's current task.
    paused: bool,
    /// Whether it has a CPU and is outside the fluid machine.
    outside: bool,
    /// Time since which it has been in its burst, ns.
    since_ns: u64,
    /// Its class's service when the burst began, or when it joined that class.
    service: i128,
    /// Largest |lag| of the burst, ns.
    lag_max_ns: u64,
    /// Last change from waiting to running or back, ns, and its |lag| then, if that is not in
    /// `lag_max_ns` yet.
    turned: Option<(u64, u64)>,
    /// Largest |lag| of all bursts that are over, ns.
    all_max_ns: u64,
    /// Service in the bursts that are over, 2^-56 ns.
    due: i128,
    /// Whether a burst that is over took any time.
    any: bool,
}

impl Bursts {
    pub fn new(cpus: u32, groups: &[Group], tasks: usize) -> Bursts {
        let mut table = TaskTable::new();
        if let Some(last) = tasks.checked_sub(1) {
            table.insert(TaskId(last as u32), Row::default());
        }
        Bursts {
            machine: FluidMachine::new(cpus, groups),
            tasks: table,
            stays: Vec::new(),
            next_leaves_ns: u64::MAX,
            left: 0,
            left_at_ns: 0,
            base_sum: 0,
            cpu_sum_ns: 0,
            since_sum_ns: 0,
            running: 0,
            lags: Histogram::new(),
        }
    }

    /// Makes room for `task`.
    pub fn make_room(&mut self, task: TaskId) {
        if task.index() >= self.tasks.len() {
            self.tasks.insert(task, Row::default());
        }
    }

    /// Returns the largest |lag| of `task` in any burst, ns, and the total that was due to it, ns;
    /// `None` if it was never runnable for any time.
    pub fn of(&self, task: TaskId) -> (u64, Option<i64>) {
        let row = &self.tasks[task];
        (row.all_max_ns, row.any.then(|| to_ns(row.due) as i64))
    }

    /// Processes the machine up to `now_ns`: tasks that stayed and have been served leave.
    #[inline]
    fn catch_up(&mut self, now_ns: u64) {
        if now_ns > self.machine.at_ns
            && (self.left != 0 || self.machine.stale || self.next_leaves_ns <= now_ns)
        {
            self.catch_up_slowly(now_ns);
        }
    }

    fn catch_up_slowly(&mut self, now_ns: u64) {
        while now_ns > self.machine.at_ns {
            if self.left != 0 && self.left_at_ns < now_ns {
                self.hand_on();
            }
            if self.machine.stale {
                self.machine.refresh_rates();
                self.plan_next();
            }
            if self.next_leaves_ns > now_ns {
                return;
            }
            self.machine.advance(self.next_leaves_ns);
            self.let_go();
        }
    }

    /// Catches up and sums up. To be called before any change.
    fn advance(&mut self, now_ns: u64) {
        self.catch_up(now_ns);
        self.machine.advance(now_ns);
    }

    /// Computes when the next of the staying tasks leaves.
    fn plan_next(&mut self) {
        let Bursts { machine, tasks, stays, .. } = self;
        let mut next_ns = u64::MAX;
        for (class, stays) in machine.classes.iter().zip(stays) {
            while stays
                .peek()
                .is_some_and(|Reverse((_, task, sleep))| tasks[TaskId(*task)].sleep != *sleep)
            {
                stays.pop();
            }
            if let Some(Reverse((service, ..))) = stays.peek()
                && class.rate > 0
            {
                let missing = (service - class.service).max(0);
                let rate = i128::from(class.rate);
                let wait_ns = u64::try_from((missing + rate - 1) / rate).unwrap_or(u64::MAX);
                next_ns = next_ns.min(machine.at_ns.saturating_add(wait_ns));
            }
        }
        self.next_leaves_ns = next_ns;
    }

    /// Removes the staying tasks that have been served by now.
    fn let_go(&mut self) {
        for class in 0..self.stays.len() {
            let service = self.machine.classes[class].service;
            while let Some(&Reverse((target, task, sleep))) = self.stays[class].peek() {
                let task = TaskId(task);
                let is_gone = self.tasks[task].sleep != sleep;
                if !is_gone && target > service {
                    break;
                }
                self.stays[class].pop();
                if !is_gone {
                    self.leave(task, service - target);
                }
            }
        }
        self.plan_next();
    }

    /// Removes `task`, which is not running, with this lag, at the machine's time.
    fn leave(&mut self, task: TaskId, lag: i128) {
        let row = &mut self.tasks[task];
        row.state = State::Off;
        row.sleep = row.sleep.wrapping_add(1);
        self.base_sum -= row.base;
        self.cpu_sum_ns -= row.cpu_ns;
        if let Some(class) = row.class {
            self.machine.remove(class);
        }
        self.left += lag;
        self.left_at_ns = self.machine.at_ns;
    }

    /// Adds `task` with this lag.
    fn join(&mut self, task: TaskId, class: u32, lag: i128) {
        let service = self.machine.classes[class as usize].service;
        let row = &mut self.tasks[task];
        row.class = Some(class);
        row.base = lag + (i128::from(row.cpu_ns) << SHIFT) - service;
        row.service = service;
        self.base_sum += row.base;
        self.cpu_sum_ns += row.cpu_ns;
        self.machine.add(class);
    }

    /// Returns the sum of the lags of all tasks on the machine, at its own time.
    fn lag_sum(&self) -> i128 {
        let served = self.machine.classes.iter();
        let served: i128 = served.map(|class| class.service * i128::from(class.active)).sum();
        let now = i128::from(self.machine.at_ns) * i128::from(self.running);
        let cpu = i128::from(self.cpu_sum_ns) + now - self.since_sum_ns;
        served + self.base_sum - (cpu << SHIFT)
    }

    /// Hands the lags of tasks that have left on to the tasks on the machine.
    fn hand_on(&mut self) {
        let left = std::mem::take(&mut self.left);
        if self.machine.active == 0 {
            return;
        }
        let others = self.lag_sum();
        let gift = if left > 0 { left.min((-others).max(0)) } else { left.max((-others).min(0)) };
        if gift == 0 {
            return;
        }
        self.machine.refresh_rates();
        let on = || self.machine.classes.iter().filter(|class| class.active > 0);
        let rates: i128 = on().map(|class| i128::from(class.rate) * i128::from(class.active)).sum();
        if rates > 0 {
            let of_rate = gift as f64 / rates as f64;
            for class in self.machine.classes.iter_mut().filter(|class| class.active > 0) {
                class.service += (class.rate as f64 * of_rate) as i128;
            }
        }
        self.plan_next();
    }

    /// Returns the lag of `task`, 2^-56 ns; `None`: it is in no burst.
    fn lag(&mut self, now_ns: u64, task: TaskId) -> Option<i128> {
        if self.tasks[task].state != State::Runnable {
            return None;
        }
        self.catch_up(now_ns);
        let row = &self.tasks[task];
        let service = self.machine.service_at(now_ns, row.class?);
        let cpu_ns = row.cpu_ns + row.running.map_or(0, |since_ns| now_ns - since_ns);
        Some(service + row.base - (i128::from(cpu_ns) << SHIFT))
    }

    /// Samples the lag of `task`, which changes from waiting to running or back.
    #[inline]
    fn look(&mut self, now_ns: u64, task: TaskId) {
        let Some(lag) = self.lag(now_ns, task) else { return };
        let row = &mut self.tasks[task];
        row.turned = match row.turned {
            Some((at_ns, _)) if at_ns == now_ns => None,
            turned => {
                row.lag_max_ns = row.lag_max_ns.max(turned.map_or(0, |(_, lag_ns)| lag_ns));
                Some((now_ns, to_ns(lag).unsigned_abs() as u64))
            }
        };
    }

    /// Begins a burst of `task`, which has become runnable.
    pub fn begin(&mut self, now_ns: u64, task: TaskId) {
        let Some(class) = self.tasks[task].class else { return };
        self.advance(now_ns);
        match self.tasks[task].state {
            State::Runnable => return,
            State::Off => {
                self.join(task, class, 0);
            }
            State::Stays => {
                let row = &mut self.tasks[task];
                row.sleep = row.sleep.wrapping_add(1);
                row.service = self.machine.classes[class as usize].service;
            }
        }
        let row = &mut self.tasks[task];
        row.state = State::Runnable;
        (row.since_ns, row.lag_max_ns, row.turned) = (now_ns, 0, None);
        // It may not have left the CPU on which it went to sleep.
        self.go_on_running(now_ns, task);
    }

    /// Ends the burst of `task`, which has blocked or ended.
    pub fn end(&mut self, now_ns: u64, task: TaskId) {
        if self.tasks[task].state != State::Runnable {
            return;
        }
        self.advance(now_ns);
        let Some(lag) = self.close(now_ns, task) else { return };
        // It no longer runs, although it is its CPU's current task for the rest of this nanosecond.
        self.pause_running(now_ns, task);
        if lag >= 0 {
            self.leave(task, lag);
            return;
        }
        let Some(class) = self.tasks[task].class else { return };
        let service = self.machine.classes[class as usize].service - lag;
        let row = &mut self.tasks[task];
        row.state = State::Stays;
        row.sleep = row.sleep.wrapping_add(1);
        self.stays[class as usize].push(Reverse((service, task.0, row.sleep)));
        self.plan_next();
    }

    /// Records the burst of `task`, which ends here, and returns its lag.
    fn close(&mut self, now_ns: u64, task: TaskId) -> Option<i128> {
        let lag = self.lag(now_ns, task)?;
        let row = &mut self.tasks[task];
        let service = self.machine.service_at(now_ns, row.class?);
        let turned = row.turned.take().map_or(0, |(_, lag_ns)| lag_ns);
        let at_end_ns = to_ns(lag).unsigned_abs() as u64;
        row.lag_max_ns = row.lag_max_ns.max(turned).max(at_end_ns);
        row.due += service - row.service;
        row.service = service;
        if row.since_ns < now_ns {
            row.any = true;
            row.all_max_ns = row.all_max_ns.max(row.lag_max_ns);
            self.lags.note(row.lag_max_ns);
        }
        Some(lag)
    }

    /// Ends the burst of `task` with the run.
    pub fn finish(&mut self, now_ns: u64, task: TaskId) {
        self.close(now_ns, task);
    }

    /// Brings the CPU time of `task` up to date, and stops counting it as running.
    fn pause_running(&mut self, now_ns: u64, task: TaskId) {
        let row = &mut self.tasks[task];
        let Some(since_ns) = row.running.take() else { return };
        let passed_ns = now_ns - since_ns;
        row.cpu_ns += passed_ns;
        if row.state == State::Runnable {
            self.cpu_sum_ns += passed_ns;
            self.since_sum_ns -= i128::from(since_ns);
            self.running -= 1;
        }
        row.paused = true;
    }

    /// Counts a paused task as running again, because it is in a burst.
    fn go_on_running(&mut self, now_ns: u64, task: TaskId) {
        if std::mem::take(&mut self.tasks[task].paused) {
            self.run(now_ns, task);
        }
    }

    fn run(&mut self, now_ns: u64, task: TaskId) {
        self.tasks[task].running = Some(now_ns);
        self.since_sum_ns += i128::from(now_ns);
        self.running += 1;
    }

    /// Adds or removes a CPU.
    pub fn change_cpus(&mut self, now_ns: u64, comes: bool) {
        self.advance(now_ns);
        self.machine.change_cpus(comes);
    }

    /// Records that `task` gets a CPU.
    pub fn take_cpu(&mut self, now_ns: u64, task: TaskId) {
        self.look(now_ns, task);
        let row = &mut self.tasks[task];
        if row.class.is_none() {
            row.outside = true;
            self.advance(now_ns);
            self.machine.take_cpu(true);
        } else if row.state == State::Runnable {
            self.run(now_ns, task);
        }
    }

    /// Records that `task` leaves its CPU.
    pub fn leave_cpu(&mut self, now_ns: u64, task: TaskId) {
        self.catch_up(now_ns);
        self.pause_running(now_ns, task);
        let row = &mut self.tasks[task];
        row.paused = false;
        if std::mem::take(&mut row.outside) {
            self.advance(now_ns);
            self.machine.take_cpu(false);
            return;
        }
        self.look(now_ns, task);
    }

    /// Moves `task`, which has no CPU now, to another class, or outside the fluid machine.
    pub fn reclass(&mut self, now_ns: u64, task: TaskId, to: Option<(usize, u64)>) {
        self.make_room(task);
        self.advance(now_ns);
        let class = to.map(|(group, weight)| self.machine.class(group, weight));
        self.stays.resize_with(self.machine.classes.len(), BinaryHeap::new);
        let state = self.tasks[task].state;
        if self.tasks[task].class == class {
            return;
        }
        if state == State::Off {
            self.tasks[task].class = class;
            return;
        }
        let old = self.tasks[task].class;
        let lag = old.map_or(0, |old| {
            let row = &self.tasks[task];
            let service = self.machine.classes[old as usize].service;
            service + row.base - (i128::from(row.cpu_ns) << SHIFT)
        });
        let Some(class) = class else {
            if state == State::Runnable {
                self.close(now_ns, task);
            }
            self.leave(task, lag);
            self.tasks[task].class = None;
            return;
        };
        if let Some(old) = old {
            let row = &mut self.tasks[task];
            row.due += if state == State::Runnable {
                self.machine.classes[old as usize].service - row.service
            } else {
                0
            };
        }
        self.leave(task, 0);
        self.join(task, class, lag);
        self.tasks[task].state = state;
        if state == State::Stays {
            let service = self.machine.classes[class as usize].service - lag;
            let sleep = self.tasks[task].sleep;
            self.stays[class as usize].push(Reverse((service, task.0, sleep)));
        }
    }
}
