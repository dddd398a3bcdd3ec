//! Description files of format 1.

use super::Description;
use super::mistake::Mistake;
use super::sections::{self, Cache, Costs, Draws};
use schedlab_core::Topology;
use schedlab_core::topology::{CPUS_MAX, Place, TopologyError};
use serde::Deserialize;

/// Format that is read here.
const FORMAT: u64 = 1;
/// Ticks per second that a machine can have.
const HZ: std::ops::RangeInclusive<u32> = 1..=10_000;

/// First key of every format.
#[derive(Deserialize)]
struct AnyForm {
    format: Option<u64>,
}

/// A description file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "format")]
    _format: u64,
    name: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    source: String,
    hz: Option<u32>,
    tick_phase_us: Option<f64>,
    topology: Shape,
    costs: Option<Costs>,
    #[serde(default)]
    caches: Vec<Cache>,
    power: Option<Draws>,
}

/// Topology of the CPUs: one of `flat`, `regular` and `cpus`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    /// Number of equal CPUs.
    flat: Option<u32>,
    /// A machine of equal parts.
    regular: Option<Regular>,
    /// List of all CPUs.
    cpus: Option<Vec<Cpu>>,
    /// Distances from each node to each node.
    #[serde(default)]
    distances: Vec<Vec<u32>>,
}

/// A machine of equal parts. Each number counts the parts of one part of the level above.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Regular {
    #[serde(default = "one")]
    nodes: u32,
    #[serde(default = "one")]
    packages: u32,
    #[serde(default = "one")]
    caches: u32,
    #[serde(default = "one")]
    cores: u32,
    #[serde(default = "one")]
    threads: u32,
    #[serde(default)]
    numbering: Numbering,
}

fn one() -> u32 {
    1
}

/// Numbering of CPUs.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Numbering {
    /// The first threads of all cores, then the second threads: siblings are i and i + cores.
    #[default]
    SiblingsApart,
    /// The threads of one core after the other: siblings are 2i and 2i + 1.
    SiblingsTogether,
    /// Like `SiblingsApart`, but the cores of the packages alternate: with two packages, package 0
    /// has the even numbers.
    PackagesAlternate,
}

/// Position of a CPU.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cpu {
    core: u32,
    cache: Option<u32>,
    #[serde(default)]
    package: u32,
    #[serde(default)]
    node: u32,
}

/// Reads the text of a file.
pub(super) fn parse(text: &str) -> Result<Description, Mistake> {
    if text.trim().is_empty() {
        let message = "the file is empty; a machine begins with {\"format\": 1, \"name\": \"...\"";
        return Err((String::new(), message.into()));
    }
    let any: AnyForm = serde_json::from_str(text).map_err(mistake_of)?;
    match any.format {
        Some(FORMAT) => {}
        Some(other) => {
            let message =
                format!("format {other} is unknown; this program reads \"format\": {FORMAT}");
            return Err(("format".into(), message));
        }
        None => {
            let message = format!("the format is missing; begin with \"format\": {FORMAT}");
            return Err(("format".into(), message));
        }
    }
    let file: File = serde_json::from_str(text).map_err(mistake_of)?;
    if file.name.trim().is_empty() {
        return Err(("name".into(), "is empty; give the machine a name".into()));
    }
    if file.name.chars().any(char::is_control) {
        return Err(("name".into(), "has control characters; a name is one line of text".into()));
    }
    if let Some(hz) = file.hz
        && !HZ.contains(&hz)
    {
        let message = format!("{hz} ticks per second; give {} to {}", HZ.start(), HZ.end());
        return Err(("hz".into(), message));
    }
    let tick_phase_ns = file.tick_phase_us.map(|us| (us * 1000.0).round() as u64);
    if file.tick_phase_us.is_some_and(|us| !(0.0..1e6).contains(&us)) {
        let message = "out of range; give 0 or more, less than the time between two ticks";
        return Err(("tick_phase_us".into(), message.into()));
    }
    let (costs, numbers) = match sections::read(file.costs, file.caches, file.power)? {
        Some((model, numbers)) => (Some(model), numbers),
        None => (None, vec![]),
    };
    Ok(Description {
        costs,
        numbers,
        name: file.name,
        about: file.about,
        source: file.source,
        topology: file.topology.build()?,
        hz: file.hz,
        tick_phase_ns,
    })
}

/// Reads the text of a `topology` section.
pub(super) fn parse_topology(text: &str) -> Result<Topology, Mistake> {
    serde_json::from_str::<Shape>(text).map_err(mistake_of)?.build()
}

/// Converts an error of the JSON reader.
fn mistake_of(error: serde_json::Error) -> Mistake {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let mut message = text.strip_suffix(&place).unwrap_or(&text).to_string();
    // The reader uses the names of Rust types.
    const NUMBER: &str = "a number with its source: {\"value\": 5, \"source\": \"...\"}";
    for (type_name, plain) in [
        ("struct AnyForm", "a machine: {\"format\": 1, ...}"),
        ("struct File", "a machine: {\"format\": 1, ...}"),
        ("struct Number", NUMBER),
        ("struct Shape", "a topology: {\"flat\": 4}"),
        ("struct Regular", "numbers of parts: {\"packages\": 2, \"cores\": 4}"),
        ("struct Cpu", "a CPU's place: {\"core\": 0, \"package\": 0}"),
        ("struct Costs", "costs: {\"kernel\": {...}}"),
        ("struct Cache", "a cache: {\"of\": \"core\", \"size_kib\": {...}, \"refill_kib\": {...}}"),
        ("struct Draws", "power: {\"base_watts\": {...}, ...}"),
        ("struct Idle", "an idle state: {\"name\": \"C1\", ...}"),
        ("enum Numbering", "siblings_apart, siblings_together or packages_alternate"),
        ("a sequence", "a list"),
        ("a map", "an object"),
        ("u32", "a whole number, 0 or more"),
        ("u64", "a whole number, 0 or more"),
        ("f64", "a number"),
    ] {
        if let Some(before) = message.find(&format!("expected {type_name}")) {
            message.replace_range(before + "expected ".len().., plain);
        }
    }
    (format!("{}:{}", error.line(), error.column()), message)
}

impl Shape {
    fn build(self) -> Result<Topology, Mistake> {
        let (key, places) = match (self.flat, self.regular, self.cpus) {
            (Some(cpus), None, None) => ("topology.flat", flat(cpus)?),
            (None, Some(regular), None) => ("topology.regular", regular.places()?),
            (None, None, Some(cpus)) => {
                ("topology.cpus", cpus.into_iter().map(Cpu::place).collect())
            }
            (None, None, None) => {
                let message = "no CPUs; give \"flat\": N, \"regular\": {...} or \"cpus\": [...]";
                return Err(("topology".into(), message.into()));
            }
            _ => {
                let message =
                    "more than one of \"flat\", \"regular\" and \"cpus\"; give one of them";
                return Err(("topology".into(), message.into()));
            }
        };
        Topology::new(places, &self.distances).map_err(|error| {
            let key = match error {
                TopologyError::DistanceTable { .. } | TopologyError::Distance { .. } => {
                    "topology.distances"
                }
                _ => key,
            };
            (key.into(), error.to_string())
        })
    }
}

/// Returns equal CPUs, each in a package of its own.
fn flat(cpus: u32) -> Result<Vec<Place>, Mistake> {
    if !(1..=CPUS_MAX).contains(&cpus) {
        let message = format!("a machine has 1 to {CPUS_MAX} CPUs, not {cpus}");
        return Err(("topology.flat".into(), message));
    }
    Ok((0..cpus).map(|cpu| Place { core: cpu, cache: cpu, package: cpu, node: 0 }).collect())
}

impl Regular {
    fn places(&self) -> Result<Vec<Place>, Mistake> {
        let counts = [
            ("nodes", self.nodes),
            ("packages", self.packages),
            ("caches", self.caches),
            ("cores", self.cores),
            ("threads", self.threads),
        ];
        let mut cpus: u64 = 1;
        for (key, count) in counts {
            cpus = cpus.saturating_mul(count.into());
            if count == 0 || cpus > CPUS_MAX.into() {
                let message = if count == 0 {
                    "is 0; give at least 1".into()
                } else {
                    format!("{count} makes more than {CPUS_MAX} CPUs, the maximum")
                };
                return Err((format!("topology.regular.{key}"), message));
            }
        }
        let cpus = cpus as u32;
        let cores = cpus / self.threads;
        let cores_of_package = self.caches * self.cores;
        let packages = self.nodes * self.packages;
        let core_of = |cpu: u32| match self.numbering {
            Numbering::SiblingsApart => cpu % cores,
            Numbering::SiblingsTogether => cpu / self.threads,
            Numbering::PackagesAlternate => {
                let turn = cpu % cores;
                turn % packages * cores_of_package + turn / packages
            }
        };
        let place = |core: u32| {
            let package = core / cores_of_package;
            Place { core, cache: core / self.cores, package, node: package / self.packages }
        };
        Ok((0..cpus).map(core_of).map(place).collect())
    }
}

impl Cpu {
    /// Places a CPU. A CPU without a given cache shares none with other cores. (Such caches get
    /// numbers that no file uses.)
    fn place(self) -> Place {
        Place {
            core: self.core,
            cache: self.cache.unwrap_or(u32::MAX - self.core),
            package: self.package,
            node: self.node,
        }
    }
}
