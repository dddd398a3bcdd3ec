//! Machines described in small files, and presets that come with the program.
//!
//! ```
//! use schedlab_machine::description;
//!
//! let machine = description::find("z800-2x6").unwrap();
//! assert_eq!((machine.topology.cpus(), machine.topology.nodes()), (12, 2));
//! let mistake = description::find("z800").unwrap_err();
//! assert!(mistake.to_string().starts_with("z800: there is no such preset or file"));
//! ```
//!
//! A description specifies the topology of the CPUs ([`Topology`]). It may also specify the tick
//! rate, if the machine was always run with that rate, and the costs of operations ([`CostModel`]),
//! for a modelled machine. The format of the file (`form`) carries a number, so that later formats
//! can hold more.

mod calibrated;
mod form;
mod mistake;
mod sections;

pub use calibrated::with_calibrated;

use crate::costs::CostModel;
use schedlab_core::Topology;
use schedlab_core::topology::CPUS_MAX;
use std::fmt;
use std::path::Path;

/// A machine described by a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Description {
    /// Name of the machine for users.
    pub name: String,
    /// One-line description.
    pub about: String,
    /// Source of the description.
    pub source: String,
    /// CPUs of the machine.
    pub topology: Topology,
    /// Ticks per second, if the machine fixes them.
    pub hz: Option<u32>,
    /// Time of the first tick, ns, less than the time between two ticks. `None` or `0`: after a
    /// full period.
    pub tick_phase_ns: Option<u64>,
    /// Costs of operations. `None`: it is an idealised machine.
    pub costs: Option<CostModel>,
    /// Numbers of the cost model as in the file, each with its source.
    pub numbers: Vec<Sourced>,
}

impl Description {
    /// Returns the machine with its first `cpus` CPUs only. `None`: with all.
    ///
    /// # Errors
    /// If it has fewer CPUs.
    pub fn with_first(mut self, cpus: Option<u32>) -> Result<Description, DescriptionError> {
        if let Some(cpus) = cpus {
            let all = self.topology.cpus();
            self.topology = self.topology.first(cpus).ok_or_else(|| DescriptionError {
                file: self.name.clone(),
                place: String::new(),
                message: format!("it has {all} CPUs, so {cpus} cannot be used"),
            })?;
        }
        Ok(self)
    }
}

/// A number and its source.
#[derive(Clone, PartialEq, Debug)]
pub struct Sourced {
    /// Key in the file: `costs.kernel.switch`.
    pub key: String,
    /// Value in the file's unit.
    pub value: f64,
    /// Its source, or for a calibrated number the measurements.
    pub source: String,
    /// Whether it was fitted to measurements. Those measurements then no longer support the model.
    pub calibrated: bool,
}

/// Reason why a description is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescriptionError {
    /// The file, or the requested name.
    pub file: String,
    /// Position in the file: a line and column (`7:13`), or the path of a key
    /// (`topology.regular.cores`). Empty: the file as a whole.
    pub place: String,
    /// The error, and how to correct it.
    pub message: String,
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DescriptionError { file, place, message } = self;
        if place.is_empty() {
            write!(f, "{file}: {message}")
        } else {
            write!(f, "{file}:{place}: {message}")
        }
    }
}

impl std::error::Error for DescriptionError {}

/// Presets that come with the program: name and file.
const PRESETS: &[(&str, &str)] = &[
    ("laptop", include_str!("../../presets/laptop.json")),
    ("laptop-2020s", include_str!("../../presets/laptop-2020s.json")),
    ("z800-2x6", include_str!("../../presets/z800-2x6.json")),
    ("pentium3-1000x1", include_str!("../../presets/pentium3-1000x1.json")),
    ("pentium3-850x2", include_str!("../../presets/pentium3-850x2.json")),
    ("pentium3-700x4", include_str!("../../presets/pentium3-700x4.json")),
    ("pentium3-700x8", include_str!("../../presets/pentium3-700x8.json")),
    ("emulated-icount", include_str!("../../presets/emulated-icount.json")),
    ("server-2node", include_str!("../../presets/server-2node.json")),
];

/// Name of the machine on which everything is free: one CPU, or the requested number.
pub const IDEAL: &str = "ideal";

/// Prefix of the names of flat machines, before the number of CPUs.
const FLAT: &str = "flat-";

impl Description {
    /// Returns a machine of `cpus` equal CPUs, equally far from each other. `None`: no machine has
    /// that number.
    pub fn flat(cpus: u32) -> Option<Description> {
        (1..=CPUS_MAX).contains(&cpus).then(|| Description {
            name: format!("{FLAT}{cpus}"),
            about: "equal CPUs, equally far from each other".into(),
            source: "no real machine: that of the golden schedules".into(),
            topology: Topology::flat(cpus),
            hz: None,
            tick_phase_ns: None,
            costs: None,
            numbers: vec![],
        })
    }

    /// Reads a description. `file` names it in errors.
    ///
    /// # Errors
    /// The error in the text, and its position.
    pub fn parse(file: &str, text: &str) -> Result<Description, DescriptionError> {
        form::parse(text).map_err(|(place, message)| DescriptionError {
            file: file.into(),
            place,
            message,
        })
    }
}

/// Reads the topology of CPUs, in the format of the `topology` section of a description.
///
/// # Errors
/// A position in it, and the error there.
pub fn parse_topology(text: &str) -> Result<Topology, (String, String)> {
    form::parse_topology(text)
}

/// Returns the text of a preset's file, as a template for another.
pub fn preset_text(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, text)| *text)
}

/// Returns all presets, without flat machines.
pub fn presets() -> impl Iterator<Item = Description> {
    PRESETS
        .iter()
        .map(|(name, text)| Description::parse(name, text).expect("every preset can be read"))
}

/// Whether `name` is a built-in machine: a preset, or `flat-8`. All other names are files.
pub fn is_built_in(name: &str) -> bool {
    let flat = name.strip_prefix(FLAT).is_some_and(|cpus| cpus.parse::<u32>().is_ok());
    flat || name == IDEAL || preset_text(name).is_some()
}

/// Returns the machine that `name` names: a preset, `flat-8`, or a file.
///
/// # Errors
/// If it does not exist, the file cannot be read, or it describes no machine.
pub fn find(name: &str) -> Result<Description, DescriptionError> {
    let error =
        |message: String| DescriptionError { file: name.into(), place: String::new(), message };
    if let Some((_, text)) = PRESETS.iter().find(|(preset, _)| *preset == name) {
        return Description::parse(name, text);
    }
    if name == IDEAL {
        let ideal = Description::flat(1).expect("a machine can have one CPU");
        return Ok(Description { name: IDEAL.into(), ..ideal });
    }
    if let Some(cpus) = name.strip_prefix(FLAT).and_then(|cpus| cpus.parse().ok()) {
        return Description::flat(cpus)
            .ok_or_else(|| error(format!("a machine has 1 to {CPUS_MAX} CPUs, not {cpus}")));
    }
    match std::fs::read_to_string(Path::new(name)) {
        Ok(text) => Description::parse(name, &text),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            let names: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
            Err(error(format!(
                "there is no such preset or file; the presets are {}, {IDEAL} and {FLAT}N for N equal CPUs",
                names.join(", ")
            )))
        }
        Err(why) => Err(error(format!("cannot be read: {why}"))),
    }
}

#[cfg(test)]
mod tests;
