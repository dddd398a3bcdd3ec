//! The machine of a run and its settings: [`RunConfig`].

use crate::catch_panic;
use crate::select::{Choice, Needs};
use schedlab_core::{BuildConfig, Difference, RULE_PREFIX, Tunable};
use schedlab_machine::costs::CostModel;
use schedlab_machine::description::Description;
use schedlab_workload::Start;

/// Machine and settings of a workload or a benchmark, without a scheduler.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// Number of CPUs, 1 to 4096. If there is a `machine`, its number of CPUs.
    pub cpus: u32,
    /// Description of the machine. `None`: all CPUs are equal, and equally far from each other.
    pub machine: Option<Description>,
    /// Costs of operations. `None`: nothing costs anything. (A benchmark's own calls cost what its
    /// specification states even then.)
    pub costs: Option<CostModel>,
    /// Whether idle CPUs stop their ticks, if operations have costs. `None`: as in each release.
    pub nohz: Option<bool>,
    /// Ticks a second. `None`: the value of each release's usual build.
    pub hz: Option<u32>,
    /// Delay of each CPU's ticks after the full 1/HZ seconds, ns, each less than 1/HZ. Empty: all
    /// CPUs tick together at the full 1/HZ seconds.
    pub tick_offsets_ns: Vec<u64>,
    /// Time of the first tick, ns, less than 1/HZ. `0`: after the first full 1/HZ seconds.
    pub tick_phase_ns: u64,
    /// Whether a tick's softirq (balancing) runs after the other CPUs have rescheduled, as where it
    /// takes time, rather than within the tick.
    pub late_softirqs: bool,
    /// How a workload's tasks begin.
    pub start: Start,
    /// Seed of everything random: for a workload, the order of simultaneous events (`None`: the
    /// golden order); for a benchmark, all random draws of its programs (`None`: 1).
    pub seed: Option<u64>,
    /// Whether each task of a workload begins up to a tick later, by the seed.
    pub late_starts: bool,
    /// Time at which the run stops at the latest, ns. It replaces the duration of a workload.
    pub limit_ns: Option<u64>,
    /// Tunables of the scheduler to set, in this order.
    pub tunables: Vec<(String, i64)>,
    /// Whether observers receive the grounds of every decision
    /// ([`Event::Decided`](schedlab_core::Event::Decided)).
    pub reasons: bool,
}

impl RunConfig {
    /// Returns a machine of equal CPUs, without costs and settings.
    pub fn flat(cpus: u32) -> RunConfig {
        RunConfig {
            cpus,
            machine: None,
            costs: None,
            nohz: None,
            hz: None,
            tick_offsets_ns: vec![],
            tick_phase_ns: 0,
            late_softirqs: false,
            start: Start::Fork,
            seed: None,
            late_starts: false,
            limit_ns: None,
            tunables: vec![],
            reasons: false,
        }
    }

    /// Returns the described machine, with all of its CPUs, its HZ and its costs.
    pub fn described(machine: Description) -> RunConfig {
        RunConfig {
            costs: machine.costs.clone(),
            hz: machine.hz,
            tick_phase_ns: machine.tick_phase_ns.unwrap_or(0),
            cpus: machine.topology.cpus(),
            machine: Some(machine),
            ..RunConfig::flat(1)
        }
    }

    /// Features that it requires of a scheduler, whatever the load.
    pub fn needs(&self) -> Needs {
        Needs { cpus: self.cpus, hz: self.hz, ..Needs::default() }
    }

    /// Returns the configuration to build `choice` for it.
    pub fn build_config(&self, choice: &Choice) -> BuildConfig {
        let mut build = choice.build_config(&self.needs());
        if let Some(machine) = &self.machine {
            build.topology.clone_from(&machine.topology);
        }
        build
    }

    /// Tunables of `choice` on this machine. A scheduler that cannot be built for it has none. A
    /// run reports the reason.
    pub fn tunables_of(&self, choice: &Choice) -> Vec<Tunable> {
        let tunables = || {
            let built = choice.build(&self.build_config(choice));
            built.map_or(vec![], |scheduler| scheduler.inspect().tunables())
        };
        catch_panic(tunables).unwrap_or_default()
    }

    /// Like [`tunables_of`](RunConfig::tunables_of), with the switches of single differences
    /// between releases ([`RULE_PREFIX`]), which no kernel has.
    pub fn settings_of(&self, choice: &Choice) -> Vec<Tunable> {
        let switch = |difference: Difference| Tunable {
            name: format!("{RULE_PREFIX}{}", difference.name).into(),
            value: i64::from(difference.is_on),
            range: (0, 1),
            help: difference.text,
        };
        let differences = self.differences_of(choice).into_iter();
        let switches = differences.filter(|difference| difference.can_switch).map(switch);
        self.tunables_of(choice).into_iter().chain(switches).collect()
    }

    /// Differences of `choice` from its other releases, as it has them.
    pub fn differences_of(&self, choice: &Choice) -> Vec<Difference> {
        let differences = || {
            let built = choice.build(&self.build_config(choice));
            built.map_or(vec![], |scheduler| scheduler.inspect().differences())
        };
        catch_panic(differences).unwrap_or_default()
    }

    /// Returns the name of the machine in reports.
    pub fn model_name(&self) -> String {
        let kind = if self.costs.is_some() { "modelled" } else { "idealised" };
        match &self.machine {
            Some(machine) => format!("{kind} {}", machine.name),
            None => kind.into(),
        }
    }
}
