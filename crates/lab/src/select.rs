//! Which schedulers can run a given machine and workload.

use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{BuildConfig, Entry, Origin, Policy, Release, Scheduler};
use schedlab_sched::registry::{self, LookupError};
use schedlab_workload::close_names;
use std::fmt;

/// One release of one scheduler, chosen to be run.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The scheduler.
    pub entry: &'static Entry,
    /// The release.
    pub release: &'static Release,
}

impl PartialEq for Choice {
    fn eq(&self, other: &Choice) -> bool {
        (self.entry.name, self.release.version) == (other.entry.name, other.release.version)
    }
}

impl Eq for Choice {}

impl fmt::Display for Choice {
    /// As users write it: `cfs@2.6.24`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{}@{}", self.entry.name, self.release.version);
        f.pad(&name)
    }
}

/// What a machine and a workload ask of a scheduler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// CPUs.
    pub cpus: u32,
    /// Ticks a second; none = whatever the release's usual build had.
    pub hz: Option<u32>,
    /// Policies that tasks have at some time.
    pub policies: Vec<Policy>,
    /// Task groups other than the root.
    pub groups: bool,
    /// Groups with a limit to their CPU time.
    pub limits: bool,
    /// Affinity: tasks that may not run everywhere.
    pub affinity: bool,
}

/// A name that leads to no scheduler.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct UnknownScheduler(String);

/// Every scheduler in its default release, in the order in which Linux had them.
pub fn defaults() -> Vec<Choice> {
    let first = |entry: &&'static Entry| Choice { entry, release: &entry.releases[0] };
    registry::ALL.iter().map(first).collect()
}

/// The schedulers that Linux had, each in its default release.
pub fn linux() -> Vec<Choice> {
    of_origin(Origin::Linux)
}

/// The policies of the textbooks, each in its default form.
pub fn textbook() -> Vec<Choice> {
    of_origin(Origin::Textbook)
}

fn of_origin(origin: Origin) -> Vec<Choice> {
    defaults().into_iter().filter(|choice| choice.entry.origin == origin).collect()
}

/// Every release of every scheduler.
pub fn all() -> Vec<Choice> {
    let of = |entry: &&'static Entry| {
        let entry: &'static Entry = entry;
        entry.releases.iter().map(move |release| Choice { entry, release })
    };
    registry::ALL.iter().flat_map(of).collect()
}

/// Finds `cfs` or `cfs@2.6.24`.
///
/// # Errors
/// Says what was not found, and what there is.
pub fn find(name: &str) -> Result<Choice, UnknownScheduler> {
    match registry::find(name) {
        Ok((entry, release)) => Ok(Choice { entry, release }),
        Err(LookupError::Release(entry)) => {
            let entry = registry::ALL.iter().find(|other| other.name == entry);
            let known: Vec<&str> = entry.map_or(vec![], |entry| {
                let versions = |release: &'static Release| {
                    std::iter::once(release.version).chain(release.also.iter().copied())
                };
                entry.releases.iter().flat_map(versions).collect()
            });
            Err(UnknownScheduler(format!(
                "there is no release \"{}\" of {}; there are {}",
                name.split_once('@').map_or("", |(_, version)| version),
                name.split('@').next().unwrap_or(name),
                known.join(", ")
            )))
        }
        Err(LookupError::Name) => {
            let bare = name.split('@').next().unwrap_or(name);
            let names: Vec<&str> = registry::ALL.iter().map(|entry| entry.name).collect();
            let close = close_names(bare, names.iter().copied());
            let hint = if close.is_empty() {
                format!("there are {}", names.join(", "))
            } else {
                format!("did you mean {}? (`schedlab list` shows them all)", close.join(" or "))
            };
            Err(UnknownScheduler(format!("there is no scheduler \"{bare}\"; {hint}")))
        }
    }
}

impl Choice {
    /// Why it cannot run what `needs` asks for; none: it can.
    pub fn refuses(&self, needs: &Needs) -> Option<String> {
        let release = self.release;
        let cpus_max = release.cpus_max.min(CPUS_MAX);
        if needs.cpus > cpus_max {
            return Some(match cpus_max {
                1 => "it has only one CPU".into(),
                _ => format!("it has at most {cpus_max} CPUs"),
            });
        }
        let (hz_min, hz_max) = release.hz_range;
        if let Some(hz) = needs.hz
            && !(hz_min..=hz_max).contains(&hz)
        {
            return Some(if hz_min == hz_max {
                format!("it ticks {hz_min} times a second, always")
            } else {
                format!("it ticks {hz_min} to {hz_max} times a second")
            });
        }
        let unknown = |policy: &&Policy| !release.policies.contains(policy);
        if let Some(policy) = needs.policies.iter().find(unknown) {
            return Some(format!("it knows no {}", policy.name()));
        }
        if needs.groups && !release.can.groups {
            return Some("it has no task groups".into());
        }
        if needs.limits && !release.can.quotas {
            return Some("its groups cannot be limited: cfs@3.2 and eevdf have quotas".into());
        }
        if needs.affinity && !release.can.affinity {
            return Some("it has no CPU affinity".into());
        }
        None
    }

    /// Builds it.
    pub fn build(&self, config: &BuildConfig) -> Box<dyn Scheduler> {
        (self.release.build)(config)
    }

    /// How to build it for `needs`, which it does not refuse.
    pub fn build_config(&self, needs: &Needs) -> BuildConfig {
        BuildConfig::flat(needs.cpus, needs.hz.unwrap_or(self.release.hz_default))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_and_releases_say_what_there_is() {
        let message = find("round_robbin").unwrap_err().to_string();
        assert!(message.contains("did you mean round_robin?"), "{message}");
        let message = find("zzz").unwrap_err().to_string();
        assert!(message.contains("there are round_robin"), "{message}");
        let message = find("round_robin@2.0").unwrap_err().to_string();
        assert!(message.contains("there are 1.0, 1.2, 1.2.13"), "{message}");
        assert_eq!(find("round_robin@1.2.13").unwrap().to_string(), "round_robin@1.2");
    }

    #[test]
    fn every_scheduler_belongs_to_a_kernel() {
        let kernel = |name| find(name).unwrap().release.kernel();
        assert_eq!(kernel("cfs@2.6.24"), "2.6.24");
        assert_eq!((kernel("bfs@0.404"), kernel("bfs@0.316")), ("2.6.38", "2.6.33"));
        assert_eq!(
            (kernel("sd"), kernel("rsdl"), kernel("fcfs")),
            ("2.6.22-ck1", "2.6.21", "2.6.22")
        );
    }

    #[test]
    fn what_a_release_lacks_is_refused_with_the_reason() {
        let choice = find("round_robin").unwrap();
        let needs = Needs { cpus: 1, ..Needs::default() };
        assert_eq!(choice.refuses(&needs), None);
        let cases = [
            (Needs { cpus: 2, ..needs.clone() }, "one CPU"),
            (Needs { hz: Some(1000), ..needs.clone() }, "100 times a second"),
            (Needs { policies: vec![Policy::Other, Policy::Fifo], ..needs.clone() }, "SCHED_FIFO"),
            (Needs { groups: true, ..needs.clone() }, "no task groups"),
            (Needs { limits: true, ..needs.clone() }, "cfs@3.2"),
        ];
        for (needs, part) in cases {
            let reason = choice.refuses(&needs).unwrap();
            assert!(reason.contains(part), "{reason}");
        }
    }
}
