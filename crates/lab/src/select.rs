//! Schedulers by name: lists of them, and the schedulers that a user's names select.

pub use crate::choice::{Choice, Chosen, Needs};
pub use crate::error::UnknownScheduler;
use crate::kernels;
pub use crate::lookup::{find, of_kernel};
use crate::scheduler_names::{whole_names, with_settings};
use crate::scx::{policy, spec};
use crate::settings::Setting;
use schedlab_core::{Entry, Origin, release};
use schedlab_sched::registry;

/// Returns all schedulers in their default releases, in the order in which Linux had them.
pub fn defaults() -> Vec<Choice> {
    let first = |entry: &&'static Entry| Choice::of(entry, &entry.releases[0]);
    registry::ALL.iter().map(first).collect()
}

/// Returns the schedulers that Linux had, each in its default release.
pub fn linux() -> Vec<Choice> {
    of_origin(Origin::Linux)
}

/// Returns the main line: what most machines ran since 2.4, and its main rival. These are 2.4, the
/// O(1) scheduler of 2.6, CFS, BFS and EEVDF, each in its default release.
pub fn main_line() -> Vec<Choice> {
    let is_of_it = |choice: &Choice| MAIN_LINE.contains(&choice.entry.name.as_ref());
    linux().into_iter().filter(is_of_it).collect()
}

/// Returns the newest scheduler of the main line, which recent kernels run.
pub fn newest() -> Option<Choice> {
    main_line().pop()
}

/// Names of the main line.
const MAIN_LINE: [&str; 5] = ["o_n", "o_1", "cfs", "bfs", "eevdf"];

/// Returns the textbook policies, each in its default form.
pub fn textbook() -> Vec<Choice> {
    of_origin(Origin::Textbook)
}

fn of_origin(origin: Origin) -> Vec<Choice> {
    defaults().into_iter().filter(|choice| choice.entry.origin == origin).collect()
}

/// Returns all releases of all schedulers.
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
    numbers(kernel) >= (6, 18, 15)
}

/// Whether kernels of this release draw the phase of each group's quota periods. Before, the
/// periods of all groups begin at multiples of the period.
pub(crate) fn draws_quota_phases(kernel: &str) -> bool {
    numbers(kernel) >= (6, 3, 0)
}

/// Returns the numbers of a release such as `6.18.15-arch1`.
fn numbers(kernel: &str) -> (u32, u32, u32) {
    let mut numbers = release::numbers(kernel);
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next())
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
        assert!(message.contains("the schedulers are round_robin"), "{message}");
        let message = find("round_robin@2.0").unwrap_err().to_string();
        assert!(message.contains("the releases are 1.0, 1.2, 1.2.13"), "{message}");
        let message = find("eevdf@6.9").unwrap_err().to_string();
        let nearest = "the nearest is eevdf@6.8 (eevdf@6.9: rules as 6.8; they were not";
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
