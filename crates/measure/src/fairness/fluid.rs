//! The fluid machine itself: [`FluidMachine`], which knows classes of tasks but no tasks.

use schedlab_core::GroupId;

/// Rates and service are kept in units of 2^-56 CPUs and 2^-56 ns.
pub(super) const SHIFT: u32 = 56;
/// One whole CPU.
pub(super) const ONE: u64 = 1 << SHIFT;

/// A task group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Group that contains it; created before it.
    pub parent: GroupId,
    /// Its weight among its sibling tasks and groups; 1024 is the weight of a task at nice 0.
    pub shares: u64,
}

/// Converts 2^-56 ns to ns, rounding to the nearest.
pub(super) fn to_ns(fine: i128) -> i128 {
    (fine + (1 << (SHIFT - 1))) >> SHIFT
}

#[derive(Clone, Debug)]
struct GroupState {
    parent: usize,
    shares: u64,
    /// Total weight of its active tasks, and of the groups in it that have active tasks.
    active_weight: u64,
    /// Part of the machine to which it is currently entitled.
    part: f64,
}

/// The tasks of one group and one weight.
#[derive(Clone, Debug)]
pub(super) struct Class {
    group: usize,
    pub weight: u64,
    /// Number of its active tasks.
    pub active: u64,
    /// Service of a task of the class that had always been active, as of [`FluidMachine::at_ns`];
    /// 2^-56 ns.
    pub service: i128,
    /// Current rate of each active task, 2^-56 CPUs.
    pub rate: u64,
    /// Whether the rate is capped at one CPU, because its part of the machine exceeds that.
    full: bool,
    /// Part of the machine to which each active task is currently entitled.
    pub part: f64,
}

/// Serves all active tasks at once.
#[derive(Clone, Debug)]
pub(super) struct FluidMachine {
    cpus: u64,
    /// Groups by number, the root first.
    groups: Vec<GroupState>,
    pub classes: Vec<Class>,
    /// Number of active tasks.
    pub active: u64,
    /// Number of CPUs that run tasks outside the fluid machine.
    taken: u64,
    /// Time up to which the classes' service has been summed up, ns.
    pub at_ns: u64,
    /// Whether the rates have to be recomputed.
    pub stale: bool,
}

impl FluidMachine {
    /// Creates a machine of `cpus` CPUs. `groups[i]` is group i + 1.
    ///
    /// # Panics
    /// If a group's parent does not come before it.
    pub fn new(cpus: u32, groups: &[Group]) -> FluidMachine {
        let group_state = |parent: usize, shares: u64| GroupState {
            parent,
            shares: shares.max(1),
            active_weight: 0,
            part: 0.0,
        };
        let mut states = vec![group_state(GroupId::ROOT.index(), 1024)];
        for group in groups {
            assert!(group.parent.index() < states.len(), "a group's parent must come before it");
            states.push(group_state(group.parent.index(), group.shares));
        }
        FluidMachine {
            cpus: u64::from(cpus),
            groups: states,
            classes: Vec::new(),
            active: 0,
            taken: 0,
            at_ns: 0,
            stale: false,
        }
    }

    /// Returns the same machine at time 0, without tasks.
    pub fn emptied(&self) -> FluidMachine {
        let mut groups = self.groups.clone();
        groups.iter_mut().for_each(|group| group.active_weight = 0);
        let mut classes = self.classes.clone();
        classes.iter_mut().for_each(|class| class.active = 0);
        FluidMachine { groups, classes, active: 0, taken: 0, at_ns: 0, stale: false, ..*self }
    }

    /// Sums up the service since the last call, up to `now_ns`. To be called before any change.
    pub fn advance(&mut self, now_ns: u64) {
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

    /// Returns the service of a class up to `now_ns`, 2^-56 ns. Requires current rates, or that no
    /// time has passed.
    #[inline]
    pub fn service_at(&self, now_ns: u64, class: u32) -> i128 {
        let class = &self.classes[class as usize];
        class.service + i128::from(class.rate) * i128::from(now_ns - self.at_ns)
    }

    /// Recomputes the rates if something has changed.
    pub fn refresh_rates(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let mut left = self.cpus.saturating_sub(self.taken);
        if self.active <= left {
            self.classes.iter_mut().for_each(|class| class.rate = ONE);
            return;
        }
        self.entitle();
        // Total part of the machine of the classes that are not capped at a CPU.
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

    /// Divides the machine among groups and classes, by the weights of the active tasks.
    pub fn entitle(&mut self) {
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

    /// Returns the class of `weight` in `group`, and creates it if needed.
    pub fn class(&mut self, group: usize, weight: u64) -> u32 {
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

    /// Adds an active task to `class`.
    pub fn add(&mut self, class: u32) {
        let class = &mut self.classes[class as usize];
        class.active += 1;
        let (mut group, mut weight) = (class.group, class.weight);
        self.active += 1;
        self.stale = true;
        // A group counts in its parent as soon as it contains an active task.
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

    /// Removes an active task from `class`.
    pub fn remove(&mut self, class: u32) {
        let class = &mut self.classes[class as usize];
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

    /// Adds or removes a CPU.
    pub fn change_cpus(&mut self, comes: bool) {
        self.cpus = if comes { self.cpus + 1 } else { self.cpus.saturating_sub(1) };
        self.stale = true;
    }

    /// Records that a task outside the fluid machine gets a CPU, or leaves it.
    pub fn take_cpu(&mut self, takes: bool) {
        self.taken = if takes { self.taken + 1 } else { self.taken - 1 };
        self.stale = true;
    }
}
