//! The machine of a plan: [`MachineSpec`].

use super::{Source, is_default};
use crate::compressed::{self, ReadError};
use crate::config::RunConfig;
use crate::error::Error;
use crate::machines;
use schedlab_core::topology::CPUS_MAX;
use schedlab_machine::costs::CostModel;
use schedlab_machine::description::{self, Description, DescriptionError};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Maximum HZ.
const HZ_MAX: u32 = 10_000;

/// Machine of a plan.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MachineSpec {
    /// Description of the machine. `None`: equal CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<MachineSource>,
    /// Number of CPUs; for a described machine, the number of its first CPUs to use. `None`: all of
    /// them, or the number that the workload names, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Ticks a second. `None`: as the description states, or as in the usual build of each release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// Whether nothing costs anything, even if the description states costs.
    #[serde(skip_serializing_if = "is_default")]
    pub no_costs: bool,
    /// Costs of single operations, ns: `["switch", 1500.0]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<(String, f64)>,
    /// Whether idle CPUs stop their ticks, if operations have costs. `None`: as in each release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nohz: Option<bool>,
    /// Time of the first tick, ns, less than the time between two ticks. `None`: as the description
    /// states, or after a full period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_phase_ns: Option<u64>,
}

/// Source of a machine's description.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MachineSource {
    /// A description in the program: a preset, or `flat-8`.
    Preset(String),
    /// A description in the plan.
    File(Source),
}

impl MachineSource {
    /// Finds the machine that a user names: a preset, `flat-8`, or a file, which is read. `None`:
    /// `ideal`, which stands for no machine in particular.
    ///
    /// # Errors
    /// There is no such machine, or the file cannot be read.
    pub fn find(name: &str) -> Result<Option<MachineSource>, DescriptionError> {
        if name == description::IDEAL {
            return Ok(None);
        }
        let path = Path::new(name);
        if !description::is_built_in(name) && path.exists() {
            let failed = |error: ReadError| DescriptionError {
                file: name.into(),
                place: String::new(),
                message: format!("cannot be read: {error}"),
            };
            let bytes = compressed::read(path, compressed::LIMIT).map_err(failed)?;
            let text = compressed::as_text(&bytes).map_err(failed)?.to_string();
            return Ok(Some(MachineSource::File(Source { file: name.into(), text })));
        }
        // Reports an error if there is none.
        machines::find(name)?;
        Ok(Some(MachineSource::Preset(name.into())))
    }

    fn description(&self) -> Result<Description, DescriptionError> {
        match self {
            MachineSource::Preset(name) => {
                if !description::is_built_in(name) {
                    // A plan is self-contained: it reads no files.
                    return Err(DescriptionError {
                        file: name.clone(),
                        place: String::new(),
                        message: "there is no such preset; `schedlab list --machines` shows them"
                            .into(),
                    });
                }
                machines::find(name)
            }
            MachineSource::File(Source { file, text }) => machines::parse(file, text),
        }
    }
}

impl MachineSpec {
    /// Builds the machine. If neither plan nor description states the number of CPUs, it is `cpus`.
    ///
    /// # Errors
    /// The description or a cost is invalid, or CPUs or HZ are out of range.
    pub(crate) fn resolve(&self, cpus: u32) -> Result<RunConfig, Error> {
        in_range("cpus", self.cpus, CPUS_MAX)?;
        in_range("hz", self.hz, HZ_MAX)?;
        let machine = match &self.description {
            Some(source) => Some(source.description()?.with_first(self.cpus)?),
            None => None,
        };
        let known = machine.as_ref().map(|machine| machine.topology.cpus());
        Ok(RunConfig {
            hz: self.hz.or(machine.as_ref().and_then(|machine| machine.hz)),
            costs: self.cost_model(machine.as_ref())?,
            nohz: self.nohz,
            tick_phase_ns: self
                .tick_phase_ns
                .or(machine.as_ref().and_then(|machine| machine.tick_phase_ns))
                .unwrap_or(0),
            machine,
            ..RunConfig::flat(self.cpus.or(known).unwrap_or(cpus))
        })
    }

    /// Whether the number of CPUs is known without the load.
    pub(super) fn names_cpus(&self) -> bool {
        self.cpus.is_some() || self.description.is_some()
    }

    /// Costs from the description, with the single costs that were set.
    fn cost_model(&self, machine: Option<&Description>) -> Result<Option<CostModel>, Error> {
        if self.no_costs && !self.costs.is_empty() {
            let message = "machine: no_costs and costs contradict each other; leave one out";
            return Err(Error::Plan(message.into()));
        }
        let mut costs = machine.and_then(|machine| machine.costs.clone());
        costs = costs.filter(|_| !self.no_costs);
        for (name, ns) in &self.costs {
            let costs = costs.get_or_insert_default();
            machines::set_cost(costs, name, *ns)
                .map_err(|message| Error::Plan(format!("--cost {name}: {message}")))?;
        }
        Ok(costs)
    }
}

fn in_range(what: &str, value: Option<u32>, most: u32) -> Result<(), Error> {
    match value {
        Some(value) if !(1..=most).contains(&value) => {
            Err(Error::Plan(format!("machine.{what} is {value}; it must be 1 to {most}")))
        }
        _ => Ok(()),
    }
}
