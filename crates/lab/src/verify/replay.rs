//! Replays one golden schedule.

use super::compare::{Agreement, Difference, GoldenSlice, agreement, first_difference};
use crate::built::{self, Built};
use crate::compressed::{self, ReadError};
use crate::panics;
use crate::select::Choice;
use schedlab_machine::Config;
use schedlab_measure::SliceRecorder;
use schedlab_sched::registry::{self, BuildConfig};
use schedlab_sched::topology::CPUS_MAX;
use schedlab_sched::{GroupId, Scheduler, TunableError};
use schedlab_workload::golden::{Conventions, GoldenFile, Scenario};
use std::collections::BTreeMap;
use std::path::Path;

/// What came of a golden schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The scheduler, as the file names it.
    pub scheduler: String,
    /// The release whose source was driven.
    pub kernel: String,
    /// How many slices the file has.
    pub slices: usize,
    /// Where the replay first differs.
    pub difference: Option<Difference>,
    /// How much CPU time agrees.
    pub agreement: Agreement,
}

impl Verdict {
    /// Whether every slice agrees.
    pub fn agrees(&self) -> bool {
        self.difference.is_none()
    }
}

/// Why a golden schedule could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Not JSON, or not of the form that it says it has.
    #[error("this is no golden schedule: {0}")]
    Form(String),
    /// Load-tracking vectors, which lie beside the golden schedules but are none.
    #[error("these are load-tracking vectors (pelt-vectors/1), not a schedule")]
    Vectors,
    /// This build has no such scheduler.
    #[error("there is no scheduler {scheduler} of kernel {kernel} in this program")]
    UnknownScheduler {
        /// The scheduler, as the file names it.
        scheduler: String,
        /// The kernel, as the file names it.
        kernel: String,
    },
    /// The scheduler does not run on such a machine, or refuses what is to be set.
    #[error("{0}")]
    Refused(String),
    /// The scheduler, or what drives it, failed.
    #[error("the replay broke down: {0}")]
    Broken(String),
}

/// Replays the golden schedule in a file, plain or compressed.
///
/// # Errors
/// [`GoldenError`].
pub fn verify_file(path: &Path) -> Result<Verdict, GoldenError> {
    verify_bytes(&compressed::read(path, compressed::LIMIT)?)
}

/// Replays the golden schedule that `text` holds.
///
/// # Errors
/// [`GoldenError`].
pub fn verify_bytes(text: &[u8]) -> Result<Verdict, GoldenError> {
    let file = read(text)?;
    let found = registry::find_golden(&file.scheduler, &file.kernel);
    let (entry, release) = found.ok_or_else(|| {
        GoldenError::UnknownScheduler {
            scheduler: file.scheduler.clone(),
            kernel: file.kernel.clone(),
        }
    })?;
    let expected: Vec<GoldenSlice> = file
        .slices
        .iter()
        .map(|(cpu, start_ns, end_ns, task)| GoldenSlice {
            cpu: *cpu,
            start_ns: *start_ns,
            end_ns: *end_ns,
            task: task.clone(),
        })
        .collect();
    let got = panics::caught(|| replay(&file, &Choice { entry, release })).map_err(GoldenError::Broken)??;
    Ok(Verdict {
        slices: expected.len(),
        difference: first_difference(&expected, &got),
        agreement: agreement(&expected, &got),
        scheduler: file.scheduler,
        kernel: file.kernel,
    })
}

fn read(text: &[u8]) -> Result<GoldenFile, GoldenError> {
    const FORMAT: &str = "golden-schedule/1";
    #[derive(serde::Deserialize)]
    struct Head {
        format: Option<String>,
    }
    let form = |error: serde_json::Error| GoldenError::Form(error.to_string());
    let head: Head = serde_json::from_slice(text).map_err(form)?;
    match head.format.as_deref() {
        Some(FORMAT) => serde_json::from_slice(text).map_err(form),
        Some("pelt-vectors/1") => Err(GoldenError::Vectors),
        Some(other) => Err(GoldenError::Form(format!(
            "its \"format\" is \"{other}\", not \"{FORMAT}\""
        ))),
        None => Err(GoldenError::Form(format!(
            "it has no \"format\", which should be \"{FORMAT}\""
        ))),
    }
}

fn replay(file: &GoldenFile, choice: &Choice) -> Result<Vec<GoldenSlice>, GoldenError> {
    let refused = |message: String| Err(GoldenError::Refused(message));
    let release = choice.release;
    let (cpus, hz) = (file.machine.cpus, file.machine.hz);
    let cpus_max = release.cpus_max.min(CPUS_MAX);
    if !(1..=cpus_max).contains(&cpus) {
        return refused(format!(
            "its machine has {cpus} CPUs; this scheduler runs on 1 to {cpus_max}"
        ));
    }
    let (hz_min, hz_max) = release.hz_range;
    if !(hz_min..=hz_max).contains(&hz) {
        return refused(format!(
            "its machine ticks {hz} times a second; this scheduler takes {hz_min} to {hz_max}"
        ));
    }
    let build = BuildConfig::flat(cpus, hz);
    let mut config = Config::idealised(cpus, hz);
    config.reap = false;
    let mut conventions = Conventions::default();
    let mut tunables = vec![];
    for (name, value) in &file.tunables {
        let Some(value) = value.as_i64() else {
            return refused(format!("the tunable {name} is {value}, not a whole number"));
        };
        match name.as_str() {
            "in_interrupt" => config.wake_from_interrupt = value != 0,
            "sleep_uninterruptible" => conventions.uninterruptible = value != 0,
            _ => tunables.push((name.as_str(), value)),
        }
    }
    match file.scheduler.as_str() {
        "eevdf" | "deadline" => conventions.act_before_wake = true,
        "cfs" => conventions.yield_goes_on = true,
        _ => {}
    }
    let mut scheduler = Built::new(choice, &build);
    let told_the_future = scheduler.is_clairvoyant();
    let mut platform = build.platform();
    for (name, value) in tunables {
        if let Err(error) = scheduler.set_tunable(&mut platform, name, value) {
            return refused(format!("the tunable {name}={value}: {}", explain(&error)));
        }
    }
    let mut groups: BTreeMap<String, GroupId> = BTreeMap::new();
    for (path, value) in &file.groups {
        let above = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let parent = match above {
            "" => GroupId::ROOT,
            above => match groups.get(above) {
                Some(&group) => group,
                None => return refused(format!("the group {path} stands before its parent")),
            },
        };
        let shares = value["shares"].as_u64().unwrap_or(1024);
        match scheduler.group_new(&mut platform, parent, shares) {
            Ok(group) => groups.insert(path.clone(), group),
            Err(message) => return refused(format!("the group {path}: {message}")),
        };
    }
    let scenario = Scenario::new(file, &groups, conventions);
    let names = scenario.names();
    let mut machine = built::machine(config, scheduler, told_the_future, scenario, SliceRecorder::new());
    let Ok(_) = machine.run(file.end_ns);
    let (_, _, recorder) = machine.into_parts();
    Ok(recorder
        .into_slices()
        .iter()
        .map(|slice| GoldenSlice {
            cpu: slice.cpu.0,
            start_ns: slice.start_ns,
            end_ns: slice.end_ns,
            task: names[slice.task.index()].clone(),
        })
        .collect())
}

fn explain(error: &TunableError) -> String {
    match error {
        TunableError::Unknown { known } if known.is_empty() => "this scheduler has no tunables".into(),
        TunableError::Unknown { known } => format!("there is none of that name, only {}", known.join(", ")),
        TunableError::Range { min, max } => format!("it must be {min} to {max}"),
        TunableError::Refused(message) => message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
        let mut file = serde_json::json!({
            "format": "golden-schedule/1",
            "kernel": "1.0",
            "scheduler": "round_robin",
            "machine": {"cpus": 1, "hz": 100, "topology": "flat"},
            "tunables": {},
            "groups": {},
            "scenario": {"global": {"duration": 1}, "tasks": {"hog": {"run": 10000, "loop": 5}}},
            "slices": [[0, 0, 50_000_000, "hog-0"]],
            "tasks": {},
            "end_ns": 1_000_000_000,
            "notes": ""
        });
        change(&mut file);
        serde_json::to_vec(&file).unwrap()
    }

    #[test]
    fn a_schedule_that_is_met_agrees() {
        let verdict = verify_bytes(&golden(|_| {})).unwrap();
        assert!(verdict.agrees());
        assert_eq!((verdict.slices, verdict.agreement.share()), (1, 1.0));
    }

    #[test]
    fn a_schedule_that_is_not_met_says_where_and_by_how_much() {
        let verdict = verify_bytes(&golden(|file| file["slices"][0][2] = 40_000_000.into())).unwrap();
        assert_eq!(
            verdict.difference.unwrap().to_string(),
            "slice 0: expected hog-0 on CPU 0 from 0 to 40000000 ns, got hog-0 on CPU 0 from 0 to 50000000 ns"
        );
        assert_eq!(verdict.agreement.share(), 0.8);
    }

    #[test]
    fn what_cannot_be_replayed_is_an_error_that_says_why() {
        let cases: [(Vec<u8>, &str); 8] = [
            (b"{".to_vec(), "EOF while parsing"),
            (b"[]".to_vec(), "this is no golden schedule"),
            (golden(|file| file["format"] = "x".into()), "its \"format\" is \"x\""),
            (golden(|file| file["kernel"] = "0.1".into()), "no scheduler round_robin of kernel 0.1"),
            (golden(|file| file["machine"]["cpus"] = 2.into()), "has 2 CPUs"),
            (golden(|file| file["machine"]["hz"] = 0.into()), "ticks 0 times"),
            (golden(|file| file["tunables"]["x"] = 1.into()), "no tunables"),
            (golden(|file| file["groups"]["/g"]["shares"] = 1.into()), "no task groups"),
        ];
        for (text, part) in cases {
            let message = verify_bytes(&text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
