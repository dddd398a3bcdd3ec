//! Fairness of a run: [`Fairness`] follows an ideal machine alongside the real one, and compares.
//!
//! # The fluid machine
//!
//! The ideal machine serves all runnable tasks at the same time, each at a **rate** in proportion
//! to its weight, but none faster than one CPU. With m CPUs, the runnable tasks' weights w_i and
//! their sum W:
//!
//! ```text
//!     r_i = m w_i / W
//!     while some r_i > 1: those get 1; the CPUs that are left are divided among the others
//!                         by weight
//! ```
//!
//! With no more tasks than CPUs, each task thus gets a whole CPU. The time that a task would have
//! had so far is the integral S_i(t) of its rate. The time that it did have is its CPU time c_i(t).
//! Its **lag** is S_i - c_i, positive if time is due to it.
//!
//! Weights follow from nice values as in the kernel (nice 0 = 1024). A task in a group counts with
//! its share of its group's share of what the group's parent has, and so on up, counting only
//! runnable tasks. All schedulers are measured against this one standard, even if they never
//! promised it.
//!
//! # Tasks outside the fluid machine
//!
//! Real-time and deadline tasks have no weight, and no share that could be fair. At every moment
//! the fluid machine has as many CPUs as are *not* running such a task, and shares them among the
//! ordinary tasks. Real-time and deadline tasks have no lag and are in none of the figures. A task
//! that changes its policy counts for the time that it was ordinary.
//!
//! Offline CPUs do not count: the fluid machine has as many CPUs as are online.
//!
//! The lag since the start never forgets. Where tasks sleep, the lag within a burst is more
//! informative: `fairness/bursts.rs`.
//!
//! Affinity is ignored: a task that is bound to a busy CPU is owed what the other tasks get
//! elsewhere.
//!
//! # How it is computed
//!
//! Tasks of one group and one weight have the same rate, so one integral for each such **class** is
//! enough. A task keeps the difference between its own integral and its class's. Rates change only
//! when the set of runnable tasks does (or a real-time task gets or leaves a CPU). Such a change
//! costs O(groups + classes), whatever the number of tasks. A switch costs O(1). Between two of its
//! own switches, a task's lag only rises (waiting) or only falls (running), so sampling it at its
//! switches finds every extreme.
//!
//! Rates are computed in floating point (IEEE double, the same on every machine) and rounded to
//! 2^-56 CPUs. All sums are integers.

mod bursts;
mod fluid;

use crate::histogram::Histogram;
use bursts::Bursts;
pub use fluid::Group;
use fluid::{FluidMachine, SHIFT, to_ns};
use schedlab_core::{Event, GroupId, Observer, Policy, SchedAttr, TaskAttr, TaskId, TaskTable};

/// Weight of each priority: its claim to the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weights {
    /// Weights of nice -20 to 19; that of nice 0 is 1024.
    pub by_nice: [u64; 40],
    /// Weight of `SCHED_IDLE`.
    pub idle: u64,
}

impl Weights {
    /// Converts the tables of the fair classes.
    pub fn new(by_nice: &[u32; 40], idle: u32) -> Weights {
        Weights { by_nice: by_nice.map(u64::from), idle: u64::from(idle) }
    }

    /// Returns the weight of a task with these attributes, at least 1; `None` if it is outside the
    /// fluid machine.
    pub fn of(&self, attr: &SchedAttr) -> Option<u64> {
        match attr.policy {
            Policy::Other | Policy::Batch => {
                let row = (attr.nice.clamp(-20, 19) + 20) as usize;
                Some(self.by_nice[row].max(1))
            }
            Policy::Idle => Some(self.idle.max(1)),
            Policy::Fifo | Policy::RoundRobin | Policy::Deadline | Policy::Iso => None,
        }
    }
}

/// Follows the fluid machine; an observer. Its figures are complete once the run is finished.
#[derive(Clone, Debug)]
pub struct Fairness {
    weights: Weights,
    /// Machine that serves the tasks that are runnable on the real one.
    fluid: FluidMachine,
    /// Machine with the same bursts.
    bursts: Bursts,
    tasks: TaskTable<Account>,
}

/// State of a task.
#[derive(Clone, Debug, Default)]
struct Account {
    /// `None`: it is outside the fluid machine, or has not been born.
    class: Option<u32>,
    group: u32,
    known: bool,
    runnable: bool,
    /// Service that it would have got, 2^-56 ns. While it is runnable, less its class's service.
    share: i128,
    /// CPU time as an ordinary task, up to its last switch, ns.
    cpu_ns: u64,
    /// Time since which it has had its CPU, ns.
    running: Option<u64>,
    owed_max_ns: i64,
    ahead_max_ns: i64,
    lag_end_ns: i64,
}

/// Figures of a task against the fluid machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskFairness {
    /// CPU time that it had as an ordinary task, ns.
    pub cpu_ns: u64,
    /// Time that the fluid machine would have given it, ns.
    pub share_ns: u64,
    /// Maximum time that it was owed, ns.
    pub owed_max_ns: u64,
    /// Maximum time that it was ahead, ns.
    pub ahead_max_ns: u64,
    /// Its lag at the end of the run, ns; positive: owed.
    pub lag_end_ns: i64,
    /// Largest |lag| within any of its bursts, ns.
    pub burst_lag_max_ns: u64,
    /// Time that was due to it in its bursts, as their lags count it, ns. `None` if it was never
    /// runnable for any time.
    pub due_ns: Option<i64>,
}

/// Fairness of a whole run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FairnessReport {
    /// Jain's index over CPU time / what the fluid machine would have given. It credits a task that
    /// slept with no more than it asked for. `None` if no ordinary task was ever runnable.
    pub jain_by_share: Option<f64>,
    /// Jain's index over CPU time / weight (in groups: its part of the machine if all tasks of the
    /// run were always runnable). A task that slept counts as one that was given little. `None` if
    /// no ordinary task had CPU time.
    pub jain_by_weight: Option<f64>,
    /// Jain's index over min(1, CPU time / what was due) of the tasks that were runnable for any
    /// time; 1 where nothing was due. `None` if there are none.
    pub jain_backlogged: Option<f64>,
    /// Largest |lag| of any task at any time, ns.
    pub lag_max_ns: u64,
    /// Maximum time that any task was owed, ns, and the task (the first with that value).
    pub owed_max: Option<(u64, TaskId)>,
    /// Maximum time that any task was ahead, ns, and the task.
    pub ahead_max: Option<(u64, TaskId)>,
    /// Maximum time that any task was owed at the end, ns, and the task.
    pub owed_end: Option<(u64, TaskId)>,
}

/// Returns Jain's index: (sum x)^2 / (n sum x^2), from 1/n (one has all) to 1 (all have the same).
/// `None` if there are no values, or all are 0.
pub fn jain(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    // If all are equal, rounding must not raise it above 1.
    (squares > 0.0).then(|| (sum * sum / (count * squares)).min(1.0))
}

impl Fairness {
    /// Creates an observer of a machine with `cpus` CPUs. `groups[i]` is group i + 1 (without the
    /// root). Room for `tasks` tasks is allocated in advance.
    ///
    /// # Panics
    /// If a group's parent does not come before it.
    pub fn new(cpus: u32, weights: Weights, groups: &[Group], tasks: usize) -> Fairness {
        let mut table = TaskTable::new();
        if let Some(last) = tasks.checked_sub(1) {
            table.insert(TaskId(last as u32), Account::default());
        }
        Fairness {
            weights,
            fluid: FluidMachine::new(cpus, groups),
            bursts: Bursts::new(cpus, groups, tasks),
            tasks: table,
        }
    }

    /// Returns the largest |lag| of every burst that took any time, ns.
    pub fn burst_lags(&self) -> &Histogram {
        &self.bursts.lags
    }

    /// Records that `task` becomes runnable.
    fn activate(&mut self, now_ns: u64, task: TaskId) {
        self.fluid.advance(now_ns);
        let account = &mut self.tasks[task];
        debug_assert!(!account.runnable);
        account.runnable = true;
        let Some(class) = account.class else { return };
        account.share -= self.fluid.classes[class as usize].service;
        self.fluid.add(class);
    }

    /// Records that `task` stops being runnable.
    fn deactivate(&mut self, now_ns: u64, task: TaskId) {
        self.fluid.advance(now_ns);
        let account = &mut self.tasks[task];
        if !std::mem::take(&mut account.runnable) {
            return;
        }
        let Some(class) = account.class else { return };
        account.share += self.fluid.classes[class as usize].service;
        self.fluid.remove(class);
    }

    /// Returns what the fluid machine has given `task` up to `now_ns`, 2^-56 ns.
    fn share_of(&mut self, now_ns: u64, task: TaskId) -> i128 {
        self.fluid.refresh_rates();
        let account = &self.tasks[task];
        match account.class {
            Some(class) if account.runnable => account.share + self.fluid.service_at(now_ns, class),
            _ => account.share,
        }
    }

    /// Samples the lag of `task`. Its CPU time must be up to date.
    fn look(&mut self, now_ns: u64, task: TaskId) {
        if self.tasks[task].class.is_none() {
            return;
        }
        let share = self.share_of(now_ns, task);
        let account = &mut self.tasks[task];
        let lag_ns = to_ns(share - (i128::from(account.cpu_ns) << SHIFT)) as i64;
        account.lag_end_ns = lag_ns;
        account.owed_max_ns = account.owed_max_ns.max(lag_ns);
        account.ahead_max_ns = account.ahead_max_ns.max(-lag_ns);
    }

    /// Records that `task` gets a CPU.
    fn take_cpu(&mut self, now_ns: u64, task: TaskId) {
        self.look(now_ns, task);
        self.bursts.take_cpu(now_ns, task);
        self.tasks[task].running = Some(now_ns);
        if self.tasks[task].class.is_none() {
            self.fluid.advance(now_ns);
            self.fluid.take_cpu(true);
        }
    }

    /// Records that `task` leaves its CPU.
    fn leave_cpu(&mut self, now_ns: u64, task: TaskId) {
        let account = &mut self.tasks[task];
        let Some(since_ns) = account.running.take() else {
            return;
        };
        self.bursts.leave_cpu(now_ns, task);
        if account.class.is_some() {
            account.cpu_ns += now_ns - since_ns;
            self.look(now_ns, task);
        } else {
            self.fluid.advance(now_ns);
            self.fluid.take_cpu(false);
        }
    }

    /// Gives `task` another weight or group from now on.
    fn reclass(&mut self, now_ns: u64, task: TaskId, group: u32, weight: Option<u64>) {
        let class = weight.map(|weight| self.fluid.class(group as usize, weight));
        self.bursts.make_room(task);
        let account = &mut self.tasks[task];
        account.group = group;
        account.known = true;
        if account.class == class {
            return;
        }
        let (runnable, running) = (account.runnable, account.running.is_some());
        if running {
            self.leave_cpu(now_ns, task);
        }
        if runnable {
            self.deactivate(now_ns, task);
        }
        self.tasks[task].class = class;
        self.bursts.reclass(now_ns, task, weight.map(|weight| (group as usize, weight)));
        if runnable {
            self.activate(now_ns, task);
            self.bursts.begin(now_ns, task);
        }
        if running {
            self.take_cpu(now_ns, task);
        }
    }

    /// Returns the figures of `task`; `None` if it was never an ordinary task.
    pub fn task(&self, task: TaskId) -> Option<TaskFairness> {
        if task.index() >= self.tasks.len() {
            return None;
        }
        let account = &self.tasks[task];
        account.class?;
        let (burst_lag_max_ns, due_ns) = self.bursts.of(task);
        Some(TaskFairness {
            cpu_ns: account.cpu_ns,
            share_ns: to_ns(account.share) as u64,
            owed_max_ns: account.owed_max_ns as u64,
            ahead_max_ns: account.ahead_max_ns as u64,
            lag_end_ns: account.lag_end_ns,
            burst_lag_max_ns,
            due_ns,
        })
    }

    /// Returns what `task` is owed now, ns; negative: it is ahead. `now_ns` is not before the last
    /// event. `None` if it has no lag, or is not runnable.
    pub fn lag_ns(&mut self, now_ns: u64, task: TaskId) -> Option<i64> {
        let account = (task.index() < self.tasks.len()).then(|| &self.tasks[task])?;
        account.class.filter(|_| account.runnable)?;
        let cpu_ns = account.cpu_ns + account.running.map_or(0, |since_ns| now_ns - since_ns);
        let share = self.share_of(now_ns, task);
        Some(to_ns(share - (i128::from(cpu_ns) << SHIFT)) as i64)
    }

    /// Returns the fairness of the run. Visits every task.
    pub fn report(&self) -> FairnessReport {
        let ordinary = || {
            let all = self.tasks.iter();
            all.filter_map(|(task, _)| Some((task, self.task(task)?)))
        };
        let by_share = ordinary()
            .filter(|(_, fared)| fared.share_ns > 0)
            .map(|(_, fared)| fared.cpu_ns as f64 / fared.share_ns as f64);
        let parts = self.static_parts();
        let by_weight = ordinary().map(|(task, fared)| {
            let class = self.tasks[task].class.expect("an ordinary task has a class");
            fared.cpu_ns as f64 / parts[class as usize]
        });
        let backlogged = ordinary().filter_map(|(_, fared)| {
            let (cpu_ns, due_ns) = (fared.cpu_ns as f64, fared.due_ns? as f64);
            Some(if cpu_ns >= due_ns { 1.0 } else { cpu_ns / due_ns })
        });
        let owed_max = first_largest(ordinary().map(|(task, fared)| (fared.owed_max_ns, task)));
        let ahead_max = first_largest(ordinary().map(|(task, fared)| (fared.ahead_max_ns, task)));
        let owed_end = ordinary().map(|(task, fared)| (fared.lag_end_ns.max(0) as u64, task));
        FairnessReport {
            jain_by_share: jain(by_share),
            jain_by_weight: jain(by_weight),
            jain_backlogged: jain(backlogged),
            lag_max_ns: owed_max.max(ahead_max).map_or(0, |(lag_ns, _)| lag_ns),
            owed_max,
            ahead_max,
            owed_end: first_largest(owed_end),
        }
    }

    /// Returns, by class, the part of the machine to which one of its tasks would be entitled if
    /// all tasks of the run were runnable.
    fn static_parts(&self) -> Vec<f64> {
        let mut all = self.fluid.emptied();
        for (_, account) in self.tasks.iter() {
            if let Some(class) = account.class {
                all.add(class);
            }
        }
        all.entitle();
        all.classes.iter().map(|class| class.part).collect()
    }
}

/// Returns the largest figure with its task, the first among equals; `None` if all are 0.
fn first_largest(figures: impl Iterator<Item = (u64, TaskId)>) -> Option<(u64, TaskId)> {
    figures
        .filter(|&(figure, _)| figure > 0)
        .max_by_key(|&(figure, task)| (figure, std::cmp::Reverse(task)))
}

impl Observer for Fairness {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Born { task, attr, .. } => self.born(now_ns, task, attr),
            Event::AttrChanged { task, attr } => self.attr_changed(now_ns, task, attr),
            Event::GroupChanged { task, group } => self.group_changed(now_ns, task, group),
            Event::Started { task, .. } => self.started(now_ns, task),
            Event::Woken { task, .. } => self.woken(now_ns, task),
            Event::Blocked { task, .. } => self.blocked(now_ns, task),
            Event::Killed { task } => self.killed(now_ns, task),
            Event::Switched { prev, next, .. } => self.switched(now_ns, prev, next),
            Event::Online { online, .. } => self.online_changed(now_ns, online),
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl Fairness {
    fn born(&mut self, now_ns: u64, task: TaskId, attr: &TaskAttr) {
        if task.index() >= self.tasks.len() {
            self.tasks.insert(task, Account::default());
        }
        let weight = self.weights.of(&attr.sched);
        self.reclass(now_ns, task, attr.group.0, weight);
    }

    fn attr_changed(&mut self, now_ns: u64, task: TaskId, attr: &SchedAttr) {
        let weight = self.weights.of(attr);
        self.reclass(now_ns, task, self.tasks[task].group, weight);
    }

    fn group_changed(&mut self, now_ns: u64, task: TaskId, group: GroupId) {
        if task.index() < self.tasks.len() && self.tasks[task].known {
            let class = self.tasks[task].class;
            let weight = class.map(|class| self.fluid.classes[class as usize].weight);
            self.reclass(now_ns, task, group.0, weight);
        }
    }

    fn started(&mut self, now_ns: u64, task: TaskId) {
        self.activate(now_ns, task);
        self.bursts.begin(now_ns, task);
    }

    fn woken(&mut self, now_ns: u64, task: TaskId) {
        self.activate(now_ns, task);
        self.bursts.begin(now_ns, task);
    }

    fn blocked(&mut self, now_ns: u64, task: TaskId) {
        self.bursts.end(now_ns, task);
        self.deactivate(now_ns, task);
    }

    fn killed(&mut self, now_ns: u64, task: TaskId) {
        if task.index() < self.tasks.len() && self.tasks[task].known {
            self.look(now_ns, task);
            self.bursts.end(now_ns, task);
            self.deactivate(now_ns, task);
        }
    }

    fn switched(&mut self, now_ns: u64, prev: Option<TaskId>, next: Option<TaskId>) {
        if let Some(task) = prev {
            self.leave_cpu(now_ns, task);
        }
        if let Some(task) = next {
            self.take_cpu(now_ns, task);
        }
    }

    /// Records that a CPU goes online or offline.
    #[cold]
    fn online_changed(&mut self, now_ns: u64, online: bool) {
        self.fluid.advance(now_ns);
        self.fluid.change_cpus(online);
        self.bursts.change_cpus(now_ns, online);
    }

    fn finished(&mut self, now_ns: u64) {
        self.fluid.advance(now_ns);
        for task in 0..self.tasks.len() {
            let task = TaskId(task as u32);
            self.leave_cpu(now_ns, task);
            self.look(now_ns, task);
            self.bursts.finish(now_ns, task);
            // From here on the account holds the task's whole share.
            self.deactivate(now_ns, task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use schedlab_core::{BlockReason, CpuId, Waker};

    const SECOND: u64 = 1_000_000_000;

    /// Returns simple weights by nice value: nice n weighs n for n from 1, and nice 0 weighs 1024.
    fn plain_weights() -> Weights {
        let mut by_nice = [1; 40];
        by_nice[20] = 1024;
        for nice in 1..20 {
            by_nice[20 + nice] = nice as u64;
        }
        Weights { by_nice, idle: 3 }
    }

    fn attr(nice: i32, group: u32) -> TaskAttr {
        TaskAttr { sched: SchedAttr::nice(nice), group: GroupId(group), ..TaskAttr::default() }
    }

    /// Returns a machine whose tasks, given by weight and group, all start at 0.
    fn machine(cpus: u32, groups: &[Group], tasks: &[(i32, u32)]) -> Fairness {
        let mut fairness = Fairness::new(cpus, plain_weights(), groups, 0);
        for (number, &(weight, group)) in tasks.iter().enumerate() {
            let task = TaskId(number as u32);
            fairness.on(0, Event::Born { task, parent: None, attr: &attr(weight, group) });
            fairness.on(0, Event::started(task, CpuId(0)));
        }
        fairness
    }

    /// Returns what each task has been given after a second, ns.
    fn after_a_second(mut fairness: Fairness) -> Vec<u64> {
        fairness.on(SECOND, Event::Finished);
        let tasks: Vec<TaskId> = fairness.tasks.iter().map(|(task, _)| task).collect();
        tasks.iter().map(|&task| fairness.task(task).unwrap().share_ns).collect()
    }

    fn flat(weights: &[i32]) -> Vec<(i32, u32)> {
        weights.iter().map(|&weight| (weight, 0)).collect()
    }

    #[test]
    fn nobody_is_served_faster_than_by_one_cpu() {
        let given = |cpus, weights: &[i32]| after_a_second(machine(cpus, &[], &flat(weights)));
        assert_eq!(given(2, &[3, 1, 1]), [SECOND, SECOND / 2, SECOND / 2]);
        let half = SECOND / 2;
        assert_eq!(given(4, &[8, 4, 1, 1, 1, 1]), [SECOND, SECOND, half, half, half, half]);
        assert_eq!(given(3, &[19, 1, 1]), [SECOND; 3]);
        assert_eq!(given(1, &[3, 1]), [SECOND * 3 / 4, SECOND / 4]);
    }

    #[test]
    fn a_cpu_that_is_off_line_serves_nobody() {
        // Each of two tasks of the same weight has a CPU, and half of one while the other CPU is
        // offline.
        let mut fairness = machine(2, &[], &flat(&[0, 0]));
        let online = |online| Event::Online { cpu: CpuId(1), online };
        fairness.on(SECOND / 4, online(false));
        fairness.on(SECOND * 3 / 4, online(true));
        assert_eq!(after_a_second(fairness), [SECOND * 3 / 4; 2]);
        // One task has the remaining CPU all the time. It is ahead by half that time, and the other
        // is owed that much, in the burst as well.
        let mut fairness = machine(2, &[], &flat(&[0, 0]));
        fairness.on(0, online(false));
        fairness.on(0, Event::switched(CpuId(0), None, false, Some(TaskId(0))));
        fairness.on(SECOND, Event::Finished);
        let fared = [0, 1].map(|task| fairness.task(TaskId(task)).unwrap());
        assert_eq!(fared.map(|fared| fared.lag_end_ns), [-500_000_000, 500_000_000]);
        assert_eq!(fared.map(|fared| fared.burst_lag_max_ns), [SECOND / 2; 2]);
    }

    #[test]
    fn a_task_in_a_group_has_its_share_of_the_groups_share() {
        // Root: a task of 1024, and group 1 of 1024 with a task of 1 and group 2 of 3 with two
        // tasks.
        let groups = [
            Group { parent: GroupId::ROOT, shares: 1024 },
            Group { parent: GroupId(1), shares: 3 },
        ];
        let tasks = [(0, 0), (1, 1), (5, 2), (5, 2)];
        assert_eq!(
            after_a_second(machine(1, &groups, &tasks)),
            [SECOND / 2, SECOND / 8, SECOND * 3 / 16, SECOND * 3 / 16]
        );
        // With two CPUs the first task gets one of them, and the others share the second.
        assert_eq!(
            after_a_second(machine(2, &groups, &tasks)),
            [SECOND, SECOND / 4, SECOND * 3 / 8, SECOND * 3 / 8]
        );
    }

    #[test]
    fn an_empty_group_takes_nothing() {
        let groups = [Group { parent: GroupId::ROOT, shares: 1024 }];
        let mut fairness = machine(1, &groups, &[(0, 0), (7, 1)]);
        fairness.on(SECOND / 2, Event::blocked(TaskId(1), CpuId(0), BlockReason::Interruptible));
        assert_eq!(after_a_second(fairness), [SECOND * 3 / 4, SECOND / 4]);
    }

    /// Hogs of equal weight take turns on one CPU.
    fn round_robin(tasks: u32, quantum_ns: u64, rounds: u32) -> FairnessReport {
        let mut fairness = machine(1, &[], &flat(&vec![0; tasks as usize]));
        let mut now_ns = 0;
        let mut prev = None;
        for turn in 0..tasks * rounds {
            let next = Some(TaskId(turn % tasks));
            fairness.on(now_ns, Event::switched(CpuId(0), prev, true, next));
            prev = next;
            now_ns += quantum_ns;
        }
        fairness.on(now_ns, Event::Finished);
        fairness.report()
    }

    #[test]
    fn lags_of_hogs_that_take_turns() {
        let quantum_ns = 12_000;
        let two = round_robin(2, quantum_ns, 3);
        assert_eq!(two.lag_max_ns, quantum_ns / 2);
        assert_eq!(two.owed_max, Some((quantum_ns / 2, TaskId(1))));
        assert_eq!(two.ahead_max, Some((quantum_ns / 2, TaskId(0))));
        assert_eq!(
            (two.owed_end, two.jain_by_share, two.jain_by_weight),
            (None, Some(1.0), Some(1.0))
        );
        // The last of n is owed (n - 1) q / n when its turn comes.
        for tasks in [3, 5, 6] {
            let report = round_robin(tasks, quantum_ns, 2);
            let owed_ns = quantum_ns * u64::from(tasks - 1) / u64::from(tasks);
            assert_eq!(report.owed_max, Some((owed_ns, TaskId(tasks - 1))));
        }
    }

    #[test]
    fn one_who_never_runs_is_owed_all_its_share() {
        let mut fairness = machine(1, &[], &flat(&[0, 0]));
        fairness.on(0, Event::switched(CpuId(0), None, false, Some(TaskId(0))));
        fairness.on(SECOND, Event::Finished);
        let report = fairness.report();
        assert_eq!(report.owed_end, Some((SECOND / 2, TaskId(1))));
        assert_eq!((report.jain_by_share, report.jain_by_weight), (Some(0.5), Some(0.5)));
    }

    #[test]
    fn jains_index() {
        let of = |values: &[f64]| jain(values.iter().copied());
        assert_eq!(of(&[1.0; 4]), Some(1.0));
        assert_eq!(of(&[4.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(of(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
        assert_eq!((of(&[]), of(&[0.0, 0.0])), (None, None));
    }

    #[test]
    fn jains_index_is_over_time_by_weight() {
        // Weights 2 : 1, and times 2 : 1.
        let mut fairness = machine(1, &[], &flat(&[2, 1]));
        fairness.on(0, Event::switched(CpuId(0), None, false, Some(TaskId(0))));
        fairness.on(200, Event::switched(CpuId(0), Some(TaskId(0)), true, Some(TaskId(1))));
        fairness.on(300, Event::Finished);
        let report = fairness.report();
        assert_eq!((report.jain_by_share, report.jain_by_weight), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn a_real_time_task_takes_what_it_takes() {
        // Two CPUs, three ordinary tasks, and one real-time task that holds a CPU from 0.2 to 0.6
        // s.
        let mut fairness = machine(2, &[], &flat(&[0, 0, 0, 0]));
        let rt = TaskId(4);
        let tenth = SECOND / 10;
        let realtime =
            TaskAttr { sched: SchedAttr::realtime(Policy::Fifo, 50), ..TaskAttr::default() };
        fairness.on(tenth, Event::Born { task: rt, parent: None, attr: &realtime });
        fairness.on(tenth, Event::started(rt, CpuId(0)));
        fairness.on(2 * tenth, Event::switched(CpuId(0), None, false, Some(rt)));
        fairness.on(6 * tenth, Event::blocked(rt, CpuId(0), BlockReason::Interruptible));
        fairness.on(6 * tenth, Event::switched(CpuId(0), Some(rt), false, None));
        fairness.on(SECOND, Event::Finished);
        // 2 CPUs for 0.6 s and 1 for 0.4 s, among four.
        assert_eq!(fairness.task(TaskId(0)).unwrap().share_ns, 4 * tenth);
        assert_eq!(fairness.task(rt), None);
    }

    #[test]
    fn renicing_counts_from_then_on() {
        let mut fairness = machine(1, &[], &flat(&[1, 1]));
        fairness.on(SECOND / 2, Event::AttrChanged { task: TaskId(0), attr: &SchedAttr::nice(3) });
        assert_eq!(
            after_a_second(fairness),
            [SECOND / 4 + SECOND * 3 / 8, SECOND / 4 + SECOND / 8]
        );
    }

    #[test]
    fn a_running_task_that_becomes_real_time_leaves_the_account() {
        let mut fairness = machine(1, &[], &flat(&[0, 0]));
        let a = TaskId(0);
        fairness.on(0, Event::switched(CpuId(0), None, false, Some(a)));
        fairness
            .on(100, Event::AttrChanged { task: a, attr: &SchedAttr::realtime(Policy::Fifo, 1) });
        fairness.on(300, Event::AttrChanged { task: a, attr: &SchedAttr::nice(0) });
        fairness.on(400, Event::Finished);
        // Shared 0..100 and 300..400; in between the real-time task had the whole machine.
        let (a, b) = (fairness.task(a).unwrap(), fairness.task(TaskId(1)).unwrap());
        assert_eq!((a.cpu_ns, a.share_ns), (200, 100));
        assert_eq!((b.cpu_ns, b.share_ns), (0, 100));
    }

    /// Computes the rates in CPUs by the definition, task by task.
    fn rates(cpus: usize, weights: &[u64], runnable: &[bool]) -> Vec<f64> {
        let mut rates = vec![0.0; weights.len()];
        let mut open: Vec<usize> = (0..weights.len()).filter(|&task| runnable[task]).collect();
        let mut left = cpus as f64;
        if open.len() <= cpus {
            open.iter().for_each(|&task| rates[task] = 1.0);
            return rates;
        }
        loop {
            let sum: u64 = open.iter().map(|&task| weights[task]).sum();
            let rate = |task: usize| left * weights[task] as f64 / sum as f64;
            let full: Vec<usize> = open.iter().copied().filter(|&task| rate(task) > 1.0).collect();
            if full.is_empty() {
                open.iter().for_each(|&task| rates[task] = rate(task));
                return rates;
            }
            full.iter().for_each(|&task| rates[task] = 1.0);
            open.retain(|task| !full.contains(task));
            left -= full.len() as f64;
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition_task_by_task(
            cpus in 1usize..5,
            weights in prop::collection::vec(1u64..20, 1..9),
            steps in prop::collection::vec((1u64..1_000_000, 0usize..9), 1..60),
        ) {
            let nices: Vec<i32> = weights.iter().map(|&weight| weight as i32).collect();
            let mut fairness = machine(cpus as u32, &[], &flat(&nices));
            let mut runnable = vec![true; weights.len()];
            let mut given = vec![0.0; weights.len()];
            let mut now_ns = 0;
            for (passed_ns, task) in steps {
                for (sum, rate) in given.iter_mut().zip(rates(cpus, &weights, &runnable)) {
                    *sum += rate * passed_ns as f64;
                }
                now_ns += passed_ns;
                let number = task % weights.len();
                let task = TaskId(number as u32);
                if runnable[number] {
                    fairness.on(now_ns, Event::blocked(task, CpuId(0), BlockReason::Interruptible));
                } else {
                    let waker = Waker::Interrupt { cpu: CpuId(0) };
                    fairness.on(now_ns, Event::woken(task, CpuId(0), waker));
                }
                runnable[number] = !runnable[number];
            }
            fairness.on(now_ns, Event::Finished);
            for (number, given) in given.iter().enumerate() {
                let ours = fairness.task(TaskId(number as u32)).unwrap().share_ns;
                prop_assert!(
                    (ours as f64 - given).abs() <= 1.0,
                    "task {number}: {ours}, by definition {given}"
                );
            }
        }
    }
}
