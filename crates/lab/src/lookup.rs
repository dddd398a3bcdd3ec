//! Schedulers by name and release: `cfs@2.6.24`, and the scheduler of a kernel's release.

use crate::choice::Choice;
use crate::distributions;
use crate::error::UnknownScheduler;
use crate::scx::{policy, spec};
use schedlab_core::Release;
use schedlab_sched::nearest::{Nearest, nearest};
use schedlab_sched::registry::{self, LookupError};
use schedlab_workload::close_names;

/// Returns the scheduler of a kernel release: `eevdf@6.18` for `6.18.3-lab`. Of the implemented
/// releases, the nearest is taken. For kernels of distributions that differ from their series, such
/// as `4.18.0-348.el8`, that of the distribution is taken.
pub fn of_kernel(release: &str) -> Option<String> {
    let release = distributions::series_of_release(release);
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
                "there is no release \"{version}\" of {bare}{nearest}; the releases are {}",
                known.join(", ")
            )))
        }
        Err(LookupError::Name) => {
            let bare = name.split('@').next().unwrap_or(name);
            let names: Vec<&str> = registry::ALL.iter().map(|entry| entry.name.as_ref()).collect();
            let close = close_names(bare, names.iter().copied());
            let hint = if close.is_empty() {
                format!("the schedulers are {}", names.join(", "))
            } else {
                format!("did you mean {}? (`schedlab list` shows them all)", close.join(" or "))
            };
            Err(UnknownScheduler(format!("there is no scheduler \"{bare}\"; {hint}")))
        }
    }
}
