//! Machines described in small files, and those that come with the program.
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
//! A description says how the CPUs hang together ([`Topology`]), and, if the machine was always run
//! so, how many ticks a second it had; and, if it is a modelled machine, what things cost on it
//! ([`CostModel`]). The file's form (`form`) carries a number, so that later ones can hold more.

mod calibrated;
mod form;
mod sections;

pub use calibrated::with_calibrated;

use crate::costs::CostModel;
use schedlab_core::Topology;
use schedlab_core::topology::CPUS_MAX;
use std::fmt;
use std::path::Path;

/// A machine as a file describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Description {
    /// What users call it.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Where that is known from.
    pub source: String,
    /// Its CPUs.
    pub topology: Topology,
    /// Ticks a second, if the machine fixes them.
    pub hz: Option<u32>,
    /// When the first tick falls, ns, less than the time between two; none or 0: after a full
    /// period.
    pub tick_phase_ns: Option<u64>,
    /// What things cost; none: it is an idealised machine.
    pub costs: Option<CostModel>,
    /// The numbers of the cost model as they stand in the file, each with its source.
    pub numbers: Vec<Sourced>,
}

impl Description {
    /// The machine with its first CPUs only, if it is said how many.
    ///
    /// # Errors
    /// If it has not so many.
    pub fn with_first(mut self, cpus: Option<u32>) -> Result<Description, DescriptionError> {
        if let Some(cpus) = cpus {
            let all = self.topology.cpus();
            self.topology = self.topology.first(cpus).ok_or_else(|| DescriptionError {
                file: self.name.clone(),
                place: String::new(),
                message: format!("it has {all} CPUs; {cpus} of them cannot be had"),
            })?;
        }
        Ok(self)
    }
}

/// A number, and where it is from.
#[derive(Clone, PartialEq, Debug)]
pub struct Sourced {
    /// Its place in the file: `costs.kernel.switch`.
    pub key: String,
    /// In the file's unit.
    pub value: f64,
    /// Where it is from; if it was calibrated, on what.
    pub source: String,
    /// It was fitted to measurements: those are no evidence for the model any more.
    pub calibrated: bool,
}

/// Why a description cannot be taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescriptionError {
    /// The file, or what was asked for.
    pub file: String,
    /// Where in it: a line and column (`7:13`), or the path of a key (`topology.regular.cores`).
    /// Empty: the file as a whole.
    pub place: String,
    /// What is wrong, and what would be right.
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

/// The machines that come with the program: name and file.
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

/// The name of the machine on which nothing costs anything: one CPU, or as many as are asked for.
pub const IDEAL: &str = "ideal";

/// What a flat machine is called, before the number of its CPUs.
const FLAT: &str = "flat-";

impl Description {
    /// `cpus` equal CPUs, equally far from each other; None if no machine has so many.
    pub fn flat(cpus: u32) -> Option<Description> {
        (1..=CPUS_MAX).contains(&cpus).then(|| Description {
            name: format!("{FLAT}{cpus}"),
            about: "equal CPUs, equally far from each other".into(),
            source: "nobody's machine: the one of the golden schedules".into(),
            topology: Topology::flat(cpus),
            hz: None,
            tick_phase_ns: None,
            costs: None,
            numbers: vec![],
        })
    }

    /// Reads a description. `file` is what errors call it.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn parse(file: &str, text: &str) -> Result<Description, DescriptionError> {
        form::parse(text).map_err(|(place, message)| DescriptionError {
            file: file.into(),
            place,
            message,
        })
    }
}

/// Reads how CPUs hang together, in the form that the `topology` of a description has.
///
/// # Errors
/// A place in it, and what is wrong there.
pub fn parse_topology(text: &str) -> Result<Topology, (String, String)> {
    form::parse_topology(text)
}

/// The text of a preset's file, to make another of it.
pub fn preset_text(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, text)| *text)
}

/// All machines that come with the program, flat ones apart.
pub fn presets() -> impl Iterator<Item = Description> {
    PRESETS
        .iter()
        .map(|(name, text)| Description::parse(name, text).expect("tests read every preset"))
}

/// Whether `name` is a machine of the program's own: a preset, or `flat-8`. All other names are
/// files'.
pub fn is_built_in(name: &str) -> bool {
    let flat = name.strip_prefix(FLAT).is_some_and(|cpus| cpus.parse::<u32>().is_ok());
    flat || name == IDEAL || preset_text(name).is_some()
}

/// The machine that a user names: a preset, `flat-8`, or a file.
///
/// # Errors
/// If there is none such, the file cannot be read, or it describes no machine.
pub fn find(name: &str) -> Result<Description, DescriptionError> {
    let error =
        |message: String| DescriptionError { file: name.into(), place: String::new(), message };
    if let Some((_, text)) = PRESETS.iter().find(|(preset, _)| *preset == name) {
        return Description::parse(name, text);
    }
    if name == IDEAL {
        let ideal = Description::flat(1).expect("a machine may have one CPU");
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
                "there is no such preset or file; presets are {}, {IDEAL} and {FLAT}N for N equal CPUs",
                names.join(", ")
            )))
        }
        Err(why) => Err(error(format!("cannot be read: {why}"))),
    }
}

#[cfg(test)]
mod tests;
