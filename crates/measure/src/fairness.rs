//! How fair a run was: [`Fairness`] follows an ideal machine beside the real one, and compares.
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
//! So where there are no more tasks than CPUs, each gets a whole one. What a task would have got so
//! far is the integral S_i(t) of its rate; what it did get is its CPU time c_i(t); its **lag** is
//! S_i - c_i, positive if it is owed time.
//!
//! Weights are those of the kernel's nice values (nice 0 = 1024). A task in a group counts with its
//! share of its group's share of what the group's parent has, and so on up, counting only those
//! that are runnable. All schedulers are held to this one standard, also those that never promised
//! it.
//!
//! # Who stands outside
//!
//! Real-time and deadline tasks have no weight, and no share that could be fair. They take what
//! they take: at every moment the fluid machine has as many CPUs as are *not* running such a task
//! just then, and shares those among the ordinary ones. They have no lag, and are in none of the
//! figures. A task that changes its policy is counted for the time that it was ordinary.
//!
//! Affinity is left out of account: a task that is tied to a busy CPU is owed what the others give
//! away elsewhere.
//!
//! # How it is computed
//!
//! Tasks of one group and one weight have the same rate, so one integral for each such **class**
//! will do; a task keeps the difference between its own and its class's. Rates change only when the
//! set of runnable tasks does (or a real-time task gets or leaves a CPU): O(groups + classes) then,
//! whatever the number of tasks, and O(1) for a switch. Between two switches of its own a task's
//! lag only rises (waiting) or only falls (running), so looking at it at its switches finds every
//! extreme.
//!
//! Rates are computed in floating point (IEEE double, the same on every machine) and rounded to
//! 2^-56 CPUs; everything that is summed up is an integer.

use schedlab_core::{Event, GroupId, Observer, Policy, SchedAttr, TaskAttr, TaskId, TaskTable};

/// Rates and service are kept in units of 2^-56 CPUs and 2^-56 ns.
const SHIFT: u32 = 56;
/// One whole CPU.
const ONE: u64 = 1 << SHIFT;

/// What share of the machine each priority is entitled to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weights {
    /// The weights of nice -20 to 19; that of nice 0 is 1024.
    pub by_nice: [u64; 40],
    /// The weight of `SCHED_IDLE`.
    pub idle: u64,
}

impl Weights {
    /// From the tables of the fair classes.
    pub fn new(by_nice: &[u32; 40], idle: u32) -> Weights {
        Weights { by_nice: by_nice.map(u64::from), idle: u64::from(idle) }
    }

    /// The weight of a task with these attributes, at least 1. None if it stands outside.
    pub fn of(&self, attr: &SchedAttr) -> Option<u64> {
        match attr.policy {
            Policy::Other | Policy::Batch => {
                let row = (attr.nice.clamp(-20, 19) + 20) as usize;
                Some(self.by_nice[row].max(1))
            }
            Policy::Idle => Some(self.idle.max(1)),
            Policy::Fifo | Policy::RoundRobin | Policy::Deadline => None,
        }
    }
}

/// A task group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The group that it is in; made before it.
    pub parent: GroupId,
    /// Its weight among the tasks and groups beside it; 1024 = a task of nice 0.
    pub shares: u64,
}

/// Follows the fluid machine; an observer. Its figures are complete once the run is finished.
#[derive(Clone, Debug)]
pub struct Fairness {
    cpus: u64,
    weights: Weights,
    /// The groups by number; the first is the root.
    groups: Vec<GroupState>,
    classes: Vec<Class>,
    tasks: TaskTable<Account>,
    /// Runnable ordinary tasks.
    active: u64,
    /// CPUs that run tasks which stand outside.
    taken: u64,
    /// Up to when the classes' service has been summed up, ns.
    at_ns: u64,
    /// Whether something changed since the rates were computed.
    stale: bool,
}

#[derive(Clone, Debug)]
struct GroupState {
    parent: usize,
    shares: u64,
    /// The weights of its runnable tasks, and of the groups in it that have any.
    active_weight: u64,
    /// What part of the machine it is entitled to at present.
    part: f64,
}

/// The tasks of one group and one weight.
#[derive(Clone, Debug)]
struct Class {
    group: usize,
    weight: u64,
    /// How many of them are runnable.
    active: u64,
    /// What one of them would have got, had it been runnable all the time, as of
    /// [`Fairness::at_ns`]; 2^-56 ns.
    service: i128,
    /// What each runnable one gets at present, 2^-56 CPUs.
    rate: u64,
    /// Whether that is a whole CPU, as its part of the machine is worth more.
    full: bool,
    /// What part of the machine each runnable one is entitled to at present.
    part: f64,
}

/// What is kept of a task.
#[derive(Clone, Debug, Default)]
struct Account {
    /// None: it stands outside, or has not come into being.
    class: Option<u32>,
    group: u32,
    known: bool,
    runnable: bool,
    /// What it would have got, 2^-56 ns; while it is runnable, less its class's service.
    share: i128,
    /// CPU time that it had as an ordinary task, up to its last switch, ns.
    cpu_ns: u64,
    /// Since when it has had its CPU, ns.
    running: Option<u64>,
    owed_max_ns: i64,
    ahead_max_ns: i64,
    lag_end_ns: i64,
}

/// How a task fared against the fluid machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskFairness {
    /// CPU time that it had as an ordinary task, ns.
    pub cpu_ns: u64,
    /// What the fluid machine would have given it, ns.
    pub share_ns: u64,
    /// The most that it was owed at any time, ns.
    pub owed_max_ns: u64,
    /// The most that it was ahead at any time, ns.
    pub ahead_max_ns: u64,
    /// Its lag when the run ended, ns; positive = owed.
    pub lag_end_ns: i64,
}

/// How fair a whole run was.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FairnessReport {
    /// Jain's index over CPU time / what the fluid machine would have given. It credits a task that
    /// slept with no more than it asked for. None if no ordinary task was ever runnable.
    pub jain_by_share: Option<f64>,
    /// Jain's index over CPU time / weight (in groups: its part of the machine, were all tasks of
    /// the run runnable all the time). A task that slept counts as one that was given little. None
    /// if no ordinary task had CPU time.
    pub jain_by_weight: Option<f64>,
    /// The largest |lag| of any task at any time, ns.
    pub lag_max_ns: u64,
    /// The most that any task was owed at any time, ns, and who (the first to be so).
    pub owed_max: Option<(u64, TaskId)>,
    /// The most that any task was ahead at any time, ns, and who.
    pub ahead_max: Option<(u64, TaskId)>,
    /// The most that any task was owed at the end, ns, and who.
    pub owed_end: Option<(u64, TaskId)>,
}

/// Jain's index: (sum x)^2 / (n sum x^2), from 1/n (one has all) to 1 (all have the same). None if
/// there are no values, or all are 0.
pub fn jain(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    // Where all are equal, rounding must not make it more than even.
    (squares > 0.0).then(|| (sum * sum / (count * squares)).min(1.0))
}

impl Fairness {
    /// For a machine of `cpus` CPUs. `groups[i]` is group i + 1 (the root is not among them). There
    /// is room for `tasks` tasks before more has to be made.
    ///
    /// # Panics
    /// If a group's parent does not come before it.
    pub fn new(cpus: u32, weights: Weights, groups: &[Group], tasks: usize) -> Fairness {
        let group_state = |parent: usize, shares: u64| GroupState {
            parent,
            shares: shares.max(1),
            active_weight: 0,
            part: 0.0,
        };
        let mut states = vec![group_state(0, 1024)];
        for group in groups {
            assert!(group.parent.index() < states.len(), "a group's parent is made before it");
            states.push(group_state(group.parent.index(), group.shares));
        }
        let mut table = TaskTable::new();
        if let Some(last) = tasks.checked_sub(1) {
            table.insert(TaskId(last as u32), Account::default());
        }
        Fairness {
            cpus: u64::from(cpus),
            weights,
            groups: states,
            classes: Vec::new(),
            tasks: table,
            active: 0,
            taken: 0,
            at_ns: 0,
            stale: false,
        }
    }

    /// Sums up what the fluid machine has given since the last time, up to `now_ns`. To be called
    /// before anything changes.
    fn advance(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.at_ns;
        if passed_ns == 0 {
            return;
        }
        self.refresh_rates();
        for class in &mut self.classes {
            class.service += (u128::from(class.rate) * u128::from(passed_ns)) as i128;
        }
        self.at_ns = now_ns;
    }

    /// Computes the rates if something has changed.
    fn refresh_rates(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let mut left = self.cpus.saturating_sub(self.taken);
        if self.active <= left {
            self.classes.iter_mut().for_each(|class| class.rate = ONE);
            return;
        }
        self.entitle();
        // What part of the machine those are entitled to who have not been found to be worth more
        // than a CPU.
        let mut parts = 1.0;
        loop {
            let a_part = left as f64 / parts;
            let mut full = 0;
            for class in self.classes.iter_mut().filter(|class| class.active > 0 && !class.full) {
                let rate = class.part * a_part;
                if rate > 1.0 {
                    class.full = true;
                    class.rate = ONE;
                    full += class.active;
                } else {
                    class.rate = (rate * ONE as f64) as u64;
                }
            }
            if full == 0 {
                return;
            }
            left -= full;
            let others = self.classes.iter().filter(|class| class.active > 0 && !class.full);
            parts = others.map(|class| class.part * class.active as f64).sum();
        }
    }

    /// Divides the machine among groups and classes, by the weights of what is runnable.
    fn entitle(&mut self) {
        self.groups[0].part = 1.0;
        for number in 1..self.groups.len() {
            let parent = &self.groups[self.groups[number].parent];
            let a_weight = parent.part / parent.active_weight as f64;
            let group = &mut self.groups[number];
            group.part = if group.active_weight > 0 { group.shares as f64 * a_weight } else { 0.0 };
        }
        for class in &mut self.classes {
            let group = &self.groups[class.group];
            class.part = class.weight as f64 * group.part / group.active_weight as f64;
            class.full = false;
        }
    }

    /// The class of `weight` in `group`; made if there is none.
    fn class(&mut self, group: usize, weight: u64) -> u32 {
        let found =
            self.classes.iter().position(|class| class.group == group && class.weight == weight);
        found.unwrap_or_else(|| {
            self.classes.push(Class {
                group,
                weight,
                active: 0,
                service: 0,
                rate: 0,
                full: false,
                part: 0.0,
            });
            self.classes.len() - 1
        }) as u32
    }

    /// `task` becomes runnable.
    fn activate(&mut self, now_ns: u64, task: TaskId) {
        self.advance(now_ns);
        let account = &mut self.tasks[task];
        debug_assert!(!account.runnable);
        account.runnable = true;
        let Some(class) = account.class else { return };
        let class = &mut self.classes[class as usize];
        account.share -= class.service;
        class.active += 1;
        let (mut group, mut weight) = (class.group, class.weight);
        self.active += 1;
        self.stale = true;
        // A group counts in its parent as soon as anything in it does.
        loop {
            let state = &mut self.groups[group];
            let was_empty = state.active_weight == 0;
            state.active_weight += weight;
            if group == 0 || !was_empty {
                return;
            }
            (group, weight) = (state.parent, state.shares);
        }
    }

    /// `task` stops being runnable.
    fn deactivate(&mut self, now_ns: u64, task: TaskId) {
        self.advance(now_ns);
        let account = &mut self.tasks[task];
        if !std::mem::take(&mut account.runnable) {
            return;
        }
        let Some(class) = account.class else { return };
        let class = &mut self.classes[class as usize];
        account.share += class.service;
        class.active -= 1;
        let (mut group, mut weight) = (class.group, class.weight);
        self.active -= 1;
        self.stale = true;
        loop {
            let state = &mut self.groups[group];
            state.active_weight -= weight;
            if group == 0 || state.active_weight > 0 {
                return;
            }
            (group, weight) = (state.parent, state.shares);
        }
    }

    /// What the fluid machine has given `task` up to `now_ns`, 2^-56 ns.
    fn share_of(&mut self, now_ns: u64, task: TaskId) -> i128 {
        self.refresh_rates();
        let account = &self.tasks[task];
        match account.class {
            Some(class) if account.runnable => {
                let class = &self.classes[class as usize];
                let since_ns = now_ns - self.at_ns;
                account.share + class.service + i128::from(class.rate) * i128::from(since_ns)
            }
            _ => account.share,
        }
    }

    /// Looks at the lag of `task`, whose CPU time is up to date.
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

    /// `task` gets a CPU.
    fn take_cpu(&mut self, now_ns: u64, task: TaskId) {
        self.look(now_ns, task);
        self.tasks[task].running = Some(now_ns);
        if self.tasks[task].class.is_none() {
            self.advance(now_ns);
            self.taken += 1;
            self.stale = true;
        }
    }

    /// `task` leaves its CPU.
    fn leave_cpu(&mut self, now_ns: u64, task: TaskId) {
        let account = &mut self.tasks[task];
        let Some(since_ns) = account.running.take() else {
            return;
        };
        if account.class.is_some() {
            account.cpu_ns += now_ns - since_ns;
            self.look(now_ns, task);
        } else {
            self.advance(now_ns);
            self.taken -= 1;
            self.stale = true;
        }
    }

    /// `task` has another weight, or is in another group, from now on.
    fn reclass(&mut self, now_ns: u64, task: TaskId, group: u32, weight: Option<u64>) {
        let class = weight.map(|weight| self.class(group as usize, weight));
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
        if runnable {
            self.activate(now_ns, task);
        }
        if running {
            self.take_cpu(now_ns, task);
        }
    }

    /// How `task` fared. None if it was never an ordinary task.
    pub fn task(&self, task: TaskId) -> Option<TaskFairness> {
        if task.index() >= self.tasks.len() {
            return None;
        }
        let account = &self.tasks[task];
        account.class?;
        Some(TaskFairness {
            cpu_ns: account.cpu_ns,
            share_ns: to_ns(account.share) as u64,
            owed_max_ns: account.owed_max_ns as u64,
            ahead_max_ns: account.ahead_max_ns as u64,
            lag_end_ns: account.lag_end_ns,
        })
    }

    /// What `task` is owed now, ns; less than 0: it is ahead. `now_ns` is not before the last
    /// event. None if it has no lag, or is not runnable.
    pub fn lag_ns(&mut self, now_ns: u64, task: TaskId) -> Option<i64> {
        let account = (task.index() < self.tasks.len()).then(|| &self.tasks[task])?;
        account.class.filter(|_| account.runnable)?;
        let cpu_ns = account.cpu_ns + account.running.map_or(0, |since_ns| now_ns - since_ns);
        let share = self.share_of(now_ns, task);
        Some(to_ns(share - (i128::from(cpu_ns) << SHIFT)) as i64)
    }

    /// How fair the run was. Looks at every task.
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
        let owed_max = first_largest(ordinary().map(|(task, fared)| (fared.owed_max_ns, task)));
        let ahead_max = first_largest(ordinary().map(|(task, fared)| (fared.ahead_max_ns, task)));
        let owed_end = ordinary().map(|(task, fared)| (fared.lag_end_ns.max(0) as u64, task));
        FairnessReport {
            jain_by_share: jain(by_share),
            jain_by_weight: jain(by_weight),
            lag_max_ns: owed_max.max(ahead_max).map_or(0, |(lag_ns, _)| lag_ns),
            owed_max,
            ahead_max,
            owed_end: first_largest(owed_end),
        }
    }

    /// For each class what part of the machine one of its tasks would be entitled to if all tasks
    /// of the run were runnable.
    fn static_parts(&self) -> Vec<f64> {
        let mut all = self.clone_without_tasks();
        for (number, (_, account)) in self.tasks.iter().enumerate() {
            if account.class.is_some() {
                let task = TaskId(number as u32);
                all.tasks.insert(task, Account { class: account.class, ..Account::default() });
                all.activate(0, task);
            }
        }
        all.entitle();
        all.classes.iter().map(|class| class.part).collect()
    }

    /// The same machine at time 0, with nothing on it.
    fn clone_without_tasks(&self) -> Fairness {
        let mut groups = self.groups.clone();
        groups.iter_mut().for_each(|group| group.active_weight = 0);
        let mut classes = self.classes.clone();
        classes.iter_mut().for_each(|class| class.active = 0);
        Fairness {
            cpus: self.cpus,
            weights: self.weights.clone(),
            groups,
            classes,
            tasks: TaskTable::new(),
            active: 0,
            taken: 0,
            at_ns: 0,
            stale: false,
        }
    }
}

/// The largest of all figures with its task, the first among equals; none if all are 0.
fn first_largest(figures: impl Iterator<Item = (u64, TaskId)>) -> Option<(u64, TaskId)> {
    figures
        .filter(|&(figure, _)| figure > 0)
        .max_by_key(|&(figure, task)| (figure, std::cmp::Reverse(task)))
}

/// From 2^-56 ns to ns, to the nearest.
fn to_ns(fine: i128) -> i128 {
    (fine + (1 << (SHIFT - 1))) >> SHIFT
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
            let weight = class.map(|class| self.classes[class as usize].weight);
            self.reclass(now_ns, task, group.0, weight);
        }
    }

    fn started(&mut self, now_ns: u64, task: TaskId) {
        self.activate(now_ns, task);
    }

    fn woken(&mut self, now_ns: u64, task: TaskId) {
        self.activate(now_ns, task);
    }

    fn blocked(&mut self, now_ns: u64, task: TaskId) {
        self.deactivate(now_ns, task);
    }

    fn killed(&mut self, now_ns: u64, task: TaskId) {
        if task.index() < self.tasks.len() && self.tasks[task].known {
            self.look(now_ns, task);
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

    fn finished(&mut self, now_ns: u64) {
        self.advance(now_ns);
        for task in 0..self.tasks.len() {
            let task = TaskId(task as u32);
            self.leave_cpu(now_ns, task);
            self.look(now_ns, task);
            // From here on the account holds all of the task's share.
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

    /// Weights by nice value that are easy on the eye: nice n weighs n, for n from 1 on; nice 0
    /// weighs 1024.
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

    /// All tasks, by weight and group, start at 0.
    fn machine(cpus: u32, groups: &[Group], tasks: &[(i32, u32)]) -> Fairness {
        let mut fairness = Fairness::new(cpus, plain_weights(), groups, 0);
        for (number, &(weight, group)) in tasks.iter().enumerate() {
            let task = TaskId(number as u32);
            fairness.on(0, Event::Born { task, parent: None, attr: &attr(weight, group) });
            fairness.on(0, Event::started(task, CpuId(0)));
        }
        fairness
    }

    /// What each task has been given after a second, ns.
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
        // With two CPUs the first gets one of them, the others share the second.
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
        // Shared 0..100 and 300..400; in between the whole machine was taken.
        let (a, b) = (fairness.task(a).unwrap(), fairness.task(TaskId(1)).unwrap());
        assert_eq!((a.cpu_ns, a.share_ns), (200, 100));
        assert_eq!((b.cpu_ns, b.share_ns), (0, 100));
    }

    /// The definition, task by task: rates in CPUs.
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
