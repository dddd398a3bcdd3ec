//! Schedulers by name: lists of them, and the schedulers that a user's names select.

pub use crate::choice::{Choice, Chosen, Needs};
pub use crate::error::UnknownScheduler;
use crate::kernels;
use crate::scheduler_names::{whole_names, with_settings};
use crate::scx::{policy, spec};
use crate::settings::Setting;
use schedlab_core::{Entry, Origin, Release};
use schedlab_sched::nearest::{Nearest, nearest};
use schedlab_sched::registry::{self, LookupError};
use schedlab_workload::close_names;

/// All schedulers in their default releases, in the order in which Linux had them.
pub fn defaults() -> Vec<Choice> {
    let first = |entry: &&'static Entry| Choice::of(entry, &entry.releases[0]);
    registry::ALL.iter().map(first).collect()
}

/// The schedulers that Linux had, each in its default release.
pub fn linux() -> Vec<Choice> {
    of_origin(Origin::Linux)
}

/// The main line: what most machines ran since 2.4, and its main rival. These are 2.4, the O(1)
/// scheduler of 2.6, CFS, BFS and EEVDF, each in its default release.
pub fn main_line() -> Vec<Choice> {
    let is_of_it = |choice: &Choice| MAIN_LINE.contains(&choice.entry.name.as_ref());
    linux().into_iter().filter(is_of_it).collect()
}

/// The newest scheduler of the main line, which recent kernels run.
pub fn newest() -> Option<Choice> {
    main_line().pop()
}

/// Names of the main line.
const MAIN_LINE: [&str; 5] = ["o_n", "o_1", "cfs", "bfs", "eevdf"];

/// The textbook policies, each in its default form.
pub fn textbook() -> Vec<Choice> {
    of_origin(Origin::Textbook)
}

fn of_origin(origin: Origin) -> Vec<Choice> {
    defaults().into_iter().filter(|choice| choice.entry.origin == origin).collect()
}

/// All releases of all schedulers.
pub fn all() -> Vec<Choice> {
    let of = |entry: &&'static Entry| {
        let entry: &'static Entry = entry;
        entry.releases.iter().map(move |release| Choice::of(entry, release))
    };
    registry::ALL.iter().flat_map(of).collect()
}

/// Finds `cfs` or `cfs@2.6.24`, first among `own`.
///
/// # Errors
/// The name is unknown. The message lists the known names.
fn find_among(name: &str, own: &[Choice]) -> Result<Choice, UnknownScheduler> {
    let is_called = |choice: &&Choice| choice.entry.is_called(&choice.release, name);
    own.iter().find(is_called).cloned().map_or_else(|| find(name), Ok)
}

/// The scheduler of a kernel release: `eevdf@6.18` for `6.18.3-lab`. Of the implemented releases,
/// the nearest is taken. For kernels of distributions that differ from their series, such as
/// `4.18.0-348.el8`, that of the distribution is taken.
pub fn of_kernel(release: &str) -> Option<String> {
    let release = kernels::series_of_release(release);
    if let Ok(choice) = find(&format!("cfs@{release}")) {
        return Some(choice.to_string());
    }
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    let numbers: Vec<u32> =
        release[..end].split('.').map_while(|number| number.parse().ok()).collect();
    let (&major, &minor) = (numbers.first()?, numbers.get(1)?);
    let patch = numbers.get(2).copied().unwrap_or(0);
    let name = match (major, minor, patch) {
        (..=1, ..) | (2, ..=5, _) => "o_n",
        (2, 6, ..=22) => "o_1",
        (..=5, ..) | (6, ..=5, _) => "cfs",
        _ => "eevdf",
    };
    let version = match major {
        ..=2 => format!("{major}.{minor}.{patch}"),
        _ => format!("{major}.{minor}"),
    };
    if find(&format!("{name}@{version}")).is_ok() {
        return Some(format!("{name}@{version}"));
    }
    let (entry, _) = registry::find(name).ok()?;
    let nearest = nearest(entry, &version)?;
    Some(format!("{name}@{}", nearest.release.version))
}

/// Finds `cfs` or `cfs@2.6.24`.
///
/// # Errors
/// The name is unknown. The message lists the known names.
pub fn find(name: &str) -> Result<Choice, UnknownScheduler> {
    if spec::is_spec(name) {
        let (choice, set) = policy::choose(name).map_err(UnknownScheduler)?;
        return match set.is_empty() {
            true => Ok(choice),
            false => policy::fixed(&choice, &set).map_err(UnknownScheduler),
        };
    }
    match registry::find(name) {
        Ok((entry, release)) => Ok(Choice::of(entry, release)),
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
            let names: Vec<&str> = registry::ALL.iter().map(|entry| entry.name.as_ref()).collect();
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

/// Returns the schedulers that `names` select, each once, in the order in which they are named. A
/// name is a scheduler with or without a release, a kernel (`ubuntu 24.04`, `6.8.0-45-generic`,
/// `host`: see [`kernels`]), `main`, `linux`, `textbook` or `all`. Schedulers with different
/// settings count as different.
///
/// # Errors
/// The first name that is unknown.
pub fn choose(names: &[impl AsRef<str>]) -> Result<Vec<Chosen>, UnknownScheduler> {
    choose_among(names, &[])
}

/// Like [`choose`], but names may also refer to `own`: schedulers of the caller, which take
/// precedence over the registry.
///
/// # Errors
/// The first name that is unknown.
pub fn choose_among(
    names: &[impl AsRef<str>],
    own: &[Choice],
) -> Result<Vec<Chosen>, UnknownScheduler> {
    let mut chosen: Vec<Chosen> = vec![];
    let mut add = |choice: Choice, named: bool, set: &[Setting]| match chosen
        .iter_mut()
        .find(|other| other.choice == choice && other.set == set)
    {
        Some(other) => {
            other.again |= other.named && named;
            other.named |= named;
        }
        None => chosen.push(Chosen { choice, named, set: set.to_vec(), again: false }),
    };
    for name in whole_names(names) {
        if spec::is_spec(&name) {
            let (choice, set) = policy::choose(&name).map_err(UnknownScheduler)?;
            add(choice, true, &set);
            continue;
        }
        if own.iter().all(|choice| choice.entry.name != name.trim())
            && let Some(kernel) = kernels::find(&name)?
        {
            let Chosen { choice, set, .. } = kernel.chosen();
            add(choice, true, &set);
            continue;
        }
        let (name, set) = with_settings(name.trim())?;
        let many = match name {
            "all" => Some(all()),
            "main" => Some(main_line()),
            "linux" => Some(linux()),
            "textbook" => Some(textbook()),
            _ => None,
        };
        let named = many.is_none();
        let choices = match many {
            Some(many) => many,
            None => vec![find_among(name, own)?],
        };
        for choice in choices {
            add(choice, named, &set);
        }
    }
    policy::distinguish(&mut chosen);
    Ok(chosen)
}

/// Whether kernels of this release have `NI_RANDOM` enabled.
pub fn has_ni_random(kernel: &str) -> bool {
    let end = kernel.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(kernel.len());
    let numbers: Vec<u32> = kernel[..end].split('.').map_while(|part| part.parse().ok()).collect();
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    (at(0), at(1), at(2)) >= (6, 18, 15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::Policy;

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
