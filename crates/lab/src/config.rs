//! The machine of a run and what is set about it: [`RunConfig`].

use crate::catch_panic;
use crate::select::{Choice, Needs};
use schedlab_core::{BuildConfig, Tunable};
use schedlab_machine::costs::CostModel;
use schedlab_machine::description::Description;
use schedlab_workload::Start;

/// What a workload or a benchmark runs on, but for the scheduler.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// CPUs, 1 to 4096; those of `machine`, if there is one.
    pub cpus: u32,
    /// What the CPUs are; none: they are all equal, and equally far from each other.
    pub machine: Option<Description>,
    /// What things cost; none: nothing does. (A benchmark's own calls cost what its specification
    /// says even then.)
    pub costs: Option<CostModel>,
    /// Whether idle CPUs go without ticks, where things cost something; none: as each release has
    /// it.
    pub nohz: Option<bool>,
    /// Ticks a second; none: what each release had in its usual build.
    pub hz: Option<u32>,
    /// For each CPU how much after the full 1/HZ seconds it ticks, ns, each less than 1/HZ; empty:
    /// all together, at the full 1/HZ seconds.
    pub tick_offsets_ns: Vec<u64>,
    /// When the first tick falls, ns, less than 1/HZ; 0: after the first full 1/HZ seconds.
    pub tick_phase_ns: u64,
    /// Whether a tick's softirq (balancing) runs when the other CPUs have rescheduled, as where it
    /// takes its time, and not within the tick.
    pub late_softirqs: bool,
    /// How a workload's tasks begin.
    pub start: Start,
    /// Of what is random. Of a workload it is the order of simultaneous events; none: the golden
    /// order. Of a benchmark it is all that its programs draw; none: as 1.
    pub seed: Option<u64>,
    /// Whether each task of a workload begins up to a tick later, by the seed.
    pub late_starts: bool,
    /// When the run is stopped at the latest, ns, in place of what a workload says.
    pub limit_ns: Option<u64>,
    /// The scheduler's tunables to set, in this order.
    pub tunables: Vec<(String, i64)>,
    /// Whether observers get the grounds of every decision
    /// ([`Event::Decided`](schedlab_core::Event::Decided)).
    pub reasons: bool,
}

impl RunConfig {
    /// A machine of equal CPUs on which nothing costs anything, and nothing is set.
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

    /// The machine described, with all of its CPUs, its HZ and what things cost on it.
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

    /// What it asks of a scheduler, whatever the load.
    pub fn needs(&self) -> Needs {
        Needs { cpus: self.cpus, hz: self.hz, ..Needs::default() }
    }

    /// How to build `choice` for it.
    pub fn build_config(&self, choice: &Choice) -> BuildConfig {
        let mut build = choice.build_config(&self.needs());
        if let Some(machine) = &self.machine {
            build.topology.clone_from(&machine.topology);
        }
        build
    }

    /// The tunables of `choice` on this machine. One that cannot even be made for it has none;
    /// whoever runs it is told why.
    pub fn tunables_of(&self, choice: &Choice) -> Vec<Tunable> {
        let tunables = || {
            let built = choice.build(&self.build_config(choice));
            built.map_or(vec![], |scheduler| scheduler.inspect().tunables())
        };
        catch_panic(tunables).unwrap_or_default()
    }

    /// What reports call the machine.
    pub fn model_name(&self) -> String {
        let kind = if self.costs.is_some() { "modelled" } else { "idealised" };
        match &self.machine {
            Some(machine) => format!("{kind} {}", machine.name),
            None => kind.into(),
        }
    }
}
