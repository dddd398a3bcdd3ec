//! A random world: a machine, its settings, and a workload.

use super::structure::Structure;
use schedlab_core::{Policy, Topology};
use schedlab_lab::RunConfig;
use schedlab_lab::select::Needs;
use schedlab_workload::Timetable;
use schedlab_workload::model::Model;
use std::borrow::Cow;
use std::fmt;

/// First seed of the wider kinds of worlds. Worlds of lower seeds stay as they are, because past
/// faults are identified by their seeds.
pub const WIDENED_FROM: u64 = 10_000;

/// Kind of a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Tasks of all kinds, each of which ends.
    Finite,
    /// Tasks of all kinds, some of which never end.
    Endless,
    /// One hog with the machine to itself.
    LoneHog,
    /// Equal hogs on one CPU.
    EqualHogs,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Finite => "tasks that all end",
            Kind::Endless => "tasks of which some never end",
            Kind::LoneHog => "a single hog",
            Kind::EqualHogs => "equal hogs",
        })
    }
}

/// A random world. The same seed and scheduler give the same world.
#[derive(Clone, Debug)]
pub struct World {
    /// Seed of the world.
    pub seed: u64,
    /// Kind of the world.
    pub kind: Kind,
    /// Number of CPUs.
    pub cpus: u32,
    /// Ticks a second.
    pub hz: u32,
    /// Tunables that are set.
    pub tunables: Vec<(Cow<'static, str>, i64)>,
    /// Groups with their shares.
    pub groups: Vec<(String, u64)>,
    /// Other settings of groups, as options: `/g0:cpu.max=20000 50000`.
    pub group_settings: Vec<String>,
    /// Whether groups are limited.
    pub limits: bool,
    /// Structure of the machine. `None`: all CPUs are equally far from each other.
    pub structure: Option<Structure>,
    /// Whether forked tasks inherit their parents' attributes at that time, rather than take the
    /// attributes that their own program states.
    pub forks_inherit: bool,
    /// Changes from outside during the run: lines of a timetable.
    pub changes: Vec<String>,
    /// Programs of the tasks.
    pub model: Model,
    /// Time at which the run stops, ns. In finite worlds it leaves all tasks many times the time
    /// that they need.
    pub until_ns: u64,
}

impl World {
    /// Features that the world requires of a scheduler.
    pub fn needs(&self) -> Needs {
        Needs {
            cpus: self.cpus,
            hz: Some(self.hz),
            policies: self.policies(),
            groups: !self.groups.is_empty(),
            autogroups: false,
            limits: self.limits,
            affinity: false,
        }
    }

    /// Policies that tasks have at any time.
    fn policies(&self) -> Vec<Policy> {
        let mut policies = self.model.policies();
        policies.extend(self.timetable().policies());
        policies
    }

    /// Changes from outside during the run.
    pub fn timetable(&self) -> Timetable {
        let text = self.changes.join("\n");
        Timetable::parse("changes", &text).expect("the generator has parsed each line")
    }

    /// Returns the machine and its settings.
    pub fn config(&self) -> RunConfig {
        let tunable = |(name, value): &(Cow<'static, str>, i64)| (name.to_string(), *value);
        RunConfig {
            hz: Some(self.hz),
            tunables: self.tunables.iter().map(tunable).collect(),
            machine: self.structure.as_ref().map(Structure::description),
            ..RunConfig::flat(self.cpus)
        }
    }

    /// Returns the topology of the machine.
    pub fn topology(&self) -> Topology {
        let structure = self.structure.as_ref();
        structure.map_or(Topology::flat(self.cpus), |structure| structure.topology.clone())
    }

    /// Returns the start of the lone hog, ns.
    pub fn first_start_ns(&self) -> u64 {
        self.model.tasks.first().map_or(0, |task| task.delay_ns)
    }
}
