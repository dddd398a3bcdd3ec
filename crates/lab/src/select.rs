//! Which schedulers there are, which are meant by a name, and which can run a machine and a load.

use crate::error::Error;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{BuildConfig, Entry, Origin, Policy, Release, Scheduler, Tunable};
use schedlab_sched::nearest::{Nearest, nearest};
use schedlab_sched::registry::{self, LookupError};
use schedlab_workload::close_names;
use std::collections::BTreeSet;
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
            let (bare, version) = name.split_once('@').unwrap_or((name, ""));
            let nearest = entry.and_then(|entry| nearest(entry, version)).map_or(
                String::new(),
                |Nearest { release, differs }| {
                    let like = release.version;
                    format!(
                        "; the nearest is {bare}@{like} ({bare}@{version}: rules as {like}; \
                         {differs})"
                    )
                },
            );
            Err(UnknownScheduler(format!(
                "there is no release \"{version}\" of {bare}{nearest}; there are {}",
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

/// A scheduler that a user asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// Which.
    pub choice: Choice,
    /// Whether by its own name, rather than as one of many.
    pub named: bool,
    /// Tunables to set for it alone: `eevdf[DELAY_DEQUEUE=0]`.
    pub set: Settings,
    /// It was named so again: it is run once all the same.
    pub again: bool,
}

/// `eevdf[DELAY_DEQUEUE=0,base_slice_ns=3000000]` as the name and what is set; without brackets
/// nothing is.
fn with_settings(name: &str) -> Result<(&str, Settings), UnknownScheduler> {
    let is_name = |bare: &str| {
        bare.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.' | '-'))
    };
    let Some((bare, rest)) = name.split_once('[').filter(|(bare, _)| is_name(bare)) else {
        return Ok((name, vec![]));
    };
    let wrong = |what: &str| {
        UnknownScheduler(format!("{name}: {what}; write it as {bare}[NAME=VALUE,...]"))
    };
    let inner = rest.strip_suffix(']').ok_or_else(|| wrong("there is no ] at the end"))?;
    let mut set: Settings = vec![];
    for setting in inner.split(',') {
        let (key, value) =
            setting.trim().split_once('=').ok_or_else(|| wrong("a setting has no ="))?;
        let value = value.parse().map_err(|_| wrong("a value is not a whole number"))?;
        if set.iter().any(|(other, _)| other == key) {
            return Err(wrong("a tunable is set twice"));
        }
        set.push((key.into(), value));
    }
    Ok((bare, set))
}

/// As it stands behind a scheduler's name; empty if nothing is set.
pub fn settings_text(set: &[(String, i64)]) -> String {
    if set.is_empty() {
        return String::new();
    }
    let set: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("[{}]", set.join(","))
}

/// The names in `names`, of which those with brackets may have been cut at the commas in them.
fn whole_names(names: &[impl AsRef<str>]) -> Vec<String> {
    let mut whole: Vec<String> = vec![];
    for name in names {
        let name = name.as_ref();
        match whole.last_mut() {
            Some(last) if last.contains('[') && !last.contains(']') => {
                last.push(',');
                last.push_str(name);
            }
            _ => whole.push(name.into()),
        }
    }
    whole
}

/// The schedulers that `names` stand for, each once, in the order in which they are named: names
/// and releases, `linux`, `textbook` or `all`. One that is given settings of its own is another
/// than without.
///
/// # Errors
/// The first name that means nothing.
pub fn choose(names: &[impl AsRef<str>]) -> Result<Vec<Chosen>, UnknownScheduler> {
    let mut chosen: Vec<Chosen> = vec![];
    for name in whole_names(names) {
        let (name, set) = with_settings(name.trim())?;
        let many = match name {
            "all" => Some(all()),
            "linux" => Some(linux()),
            "textbook" => Some(textbook()),
            _ => None,
        };
        let named = many.is_none();
        let choices = match many {
            Some(many) => many,
            None => vec![find(name)?],
        };
        for choice in choices {
            match chosen.iter_mut().find(|other| other.choice == choice && other.set == set) {
                Some(other) => {
                    other.again |= other.named && named;
                    other.named |= named;
                }
                None => chosen.push(Chosen { choice, named, set: set.clone(), again: false }),
            }
        }
    }
    Ok(chosen)
}

/// Those of `chosen` that can run `what`, and a note about the others, which are left out.
///
/// # Errors
/// One that was named cannot, or nobody can.
pub fn runnable_schedulers(
    chosen: &[Chosen],
    what: &str,
    refuses: impl Fn(&Choice) -> Option<String>,
) -> Result<(Vec<Chosen>, Vec<String>), Error> {
    let mut choices = vec![];
    let mut notes = vec![];
    let mut left_out = LeftOut::default();
    for chosen in chosen {
        match refuses(&chosen.choice) {
            None => {
                if chosen.again {
                    let set = settings_text(&chosen.set);
                    notes.push(format!(
                        "{}{set} is named twice; it is run once (to compare settings: \
                         {}[NAME=VALUE])",
                        chosen.choice, chosen.choice.entry.name
                    ));
                }
                choices.push(chosen.clone());
            }
            Some(why) if chosen.named => {
                return Err(Error::Plan(format!("{} cannot run {what}: {why}", chosen.choice)));
            }
            Some(why) => left_out.add(chosen.choice, why),
        }
    }
    if choices.is_empty() {
        return Err(Error::Plan(format!("no scheduler can run {what}: {left_out}")));
    }
    if !left_out.by_reason.is_empty() {
        notes.push(format!("left out: {left_out}"));
    }
    Ok((choices, notes))
}

/// Schedulers that cannot run a load, by the reason why.
#[derive(Default)]
struct LeftOut {
    by_reason: Vec<(String, Vec<Choice>)>,
}

impl LeftOut {
    fn add(&mut self, choice: Choice, why: String) {
        match self.by_reason.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, choices)) => choices.push(choice),
            None => self.by_reason.push((why, vec![choice])),
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (why, choices)) in self.by_reason.iter().enumerate() {
            let names: Vec<String> = choices.iter().map(Choice::to_string).collect();
            let separator = if number > 0 { "; " } else { "" };
            write!(f, "{separator}{} ({why})", names.join(", "))?;
        }
        Ok(())
    }
}

/// Tunables to set: names and values.
pub type Settings = Vec<(String, i64)>;

/// For each scheduler the settings that it has a tunable for, then its own, and notes about those
/// who have none.
///
/// # Errors
/// A setting that none has a tunable for; one of a scheduler's own that it has none for.
pub fn tunables_for(
    chosen: &[Chosen],
    tunables: impl Fn(&Choice) -> Vec<Tunable>,
    set: &[(String, i64)],
) -> Result<(Vec<Settings>, Vec<String>), Error> {
    let choices: Vec<Choice> = chosen.iter().map(|chosen| chosen.choice).collect();
    let (mut all, notes) = common_tunables(&choices, &tunables, set)?;
    for (chosen, settings) in chosen.iter().zip(&mut all) {
        if chosen.set.is_empty() {
            continue;
        }
        let known: Vec<&'static str> =
            tunables(&chosen.choice).iter().map(|tunable| tunable.name).collect();
        for (name, value) in &chosen.set {
            if !known.contains(&name.as_str()) {
                let known = [known];
                return Err(Error::Plan(unknown_tunable(name, &[chosen.choice], &known)));
            }
            settings.retain(|(other, _)| other != name);
            settings.push((name.clone(), *value));
        }
    }
    Ok((all, notes))
}

/// What is set for all.
fn common_tunables(
    choices: &[Choice],
    tunables: impl Fn(&Choice) -> Vec<Tunable>,
    set: &[(String, i64)],
) -> Result<(Vec<Settings>, Vec<String>), Error> {
    if set.is_empty() {
        return Ok((vec![vec![]; choices.len()], vec![]));
    }
    let names = |choice: &Choice| tunables(choice).iter().map(|tunable| tunable.name).collect();
    let known: Vec<Vec<&'static str>> = choices.iter().map(names).collect();
    let mut notes = vec![];
    for (name, _) in set {
        let without: Vec<String> = choices
            .iter()
            .zip(&known)
            .filter(|(_, known)| !known.contains(&name.as_str()))
            .map(|(choice, _)| choice.to_string())
            .collect();
        if without.len() == choices.len() {
            return Err(Error::Plan(unknown_tunable(name, choices, &known)));
        }
        if !without.is_empty() {
            notes.push(format!("{name} is no tunable of {}", without.join(", ")));
        }
    }
    let own = |known: &Vec<&'static str>| {
        let has = |(name, _): &&(String, i64)| known.contains(&name.as_str());
        set.iter().filter(has).cloned().collect()
    };
    Ok((known.iter().map(own).collect(), notes))
}

fn unknown_tunable(name: &str, choices: &[Choice], known: &[Vec<&'static str>]) -> String {
    let names: BTreeSet<&'static str> = known.iter().flatten().copied().collect();
    let of = match choices {
        [one] => one.to_string(),
        _ => "any of the schedulers".into(),
    };
    let close = close_names(name, names.iter().copied());
    let hint = if !close.is_empty() {
        format!("did you mean {}?", close.join(" or "))
    } else if names.is_empty() {
        "there are none".into()
    } else {
        format!("there are {}", names.into_iter().collect::<Vec<_>>().join(", "))
    };
    format!("{name} is no tunable of {of}; {hint}")
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
        let message = find("eevdf@6.8").unwrap_err().to_string();
        let nearest = "the nearest is eevdf@6.6 (eevdf@6.8: rules as 6.6; delayed dequeue";
        assert!(message.contains(nearest), "{message}");
        let message = find("fcfs@6.8").unwrap_err().to_string();
        assert!(!message.contains("nearest"), "{message}");
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
