//! Kernels by the names that people know: distributions, and releases as `uname -r` prints them.
//!
//! A name selects the scheduler of the kernel's release, or of the nearest release that is
//! implemented, with the HZ and the preemption model of the distribution. The known and unknown
//! facts about backports are stated with it.
//!
//! The series, HZ and preemption models of the distributions are recollected, not read from their
//! packages. `-s host` reads them from the running machine.

use crate::choice::{Choice, Chosen, Needs};
pub use crate::distributions::{DISTRIBUTIONS, Distribution};
use crate::distributions::{distribution_of, distribution_of_release, series_of};
use crate::error::UnknownScheduler;
use crate::lookup;
use crate::settings::Setting;
use std::fs;

/// A kernel that a name selected.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name of the column: `ubuntu 24.04`, `5.14.0-427.el9`, `host 6.18.44`.
    pub title: String,
    /// The scheduler.
    pub choice: Choice,
    /// HZ and tunables that are set.
    pub set: Vec<Setting>,
    /// Explanation of the choice.
    pub note: String,
}

impl Kernel {
    /// Returns the column of this kernel.
    pub fn chosen(&self) -> Chosen {
        let label = Setting::Kernel { title: self.title.clone() };
        let set = std::iter::once(label).chain(self.set.iter().cloned()).collect();
        Chosen { choice: self.choice.clone(), named: true, set, again: false }
    }
}

/// Finds the kernel that `name` names: a distribution (`ubuntu 24.04`, `ubuntu24.04`, `noble`), a
/// release as `uname -r` prints it (`6.8.0-45-generic`), or `host`. `None`: it is no such name.
///
/// # Errors
/// It is such a name, but no scheduler of it is known.
pub fn find(name: &str) -> Result<Option<Kernel>, UnknownScheduler> {
    let name = name.trim();
    if name == "host" {
        return host().map(Some);
    }
    if let Some(found) = distribution_of(name) {
        return Ok(Some(found.kernel(found.name.into())?));
    }
    if !name.starts_with(|c: char| c.is_ascii_digit()) || !name.contains('.') {
        return Ok(None);
    }
    of_release(name).map(Some)
}

/// Returns the kernel with a release as `uname -r` prints it.
fn of_release(release: &str) -> Result<Kernel, UnknownScheduler> {
    if let Some(distribution) = distribution_of_release(release) {
        return distribution.kernel(release.into());
    }
    let choice = scheduler_of(release)?;
    let note = format!("{release}: {}", nearness(series_of(release).unwrap_or(release), &choice));
    Ok(Kernel { title: release.into(), choice, set: vec![], note })
}

impl Distribution {
    /// Returns the kernel of the distribution, as a column called `title`.
    ///
    /// # Errors
    /// No scheduler of it is known.
    pub fn kernel(&self, title: String) -> Result<Kernel, UnknownScheduler> {
        let choice = scheduler_of(self.series)?;
        let mut set = vec![Setting::Hz { hz: self.hz }];
        if has_preempt(&choice) {
            let value = self.build.preempt();
            set.push(Setting::Tunable { name: "preempt".into(), value });
        }
        let nearness = nearness(self.series, &choice);
        let (hz, build, differs) = (self.hz, self.build.name(), self.differs);
        let of = if title == self.name { String::new() } else { format!(" ({})", self.name) };
        let note = format!(
            "{title}{of}: {nearness}; HZ {hz}, preemption {build}; {differs} (HZ and preemption \
             model are stated from memory, not read)"
        );
        Ok(Kernel { title, choice, set, note })
    }
}

/// Returns the statement of the release that stands for a series.
fn nearness(series: &str, choice: &Choice) -> String {
    match choice.release.is_called(series) {
        true => format!("Linux {series}, {choice}"),
        false => format!("Linux {series} is not implemented; {choice} is the nearest"),
    }
}

/// Returns the scheduler of a kernel series, or the nearest one.
fn scheduler_of(series: &str) -> Result<Choice, UnknownScheduler> {
    let name = lookup::of_kernel(series).ok_or_else(|| {
        UnknownScheduler(format!("there is no scheduler of kernel \"{series}\" here"))
    })?;
    lookup::find(&name)
}

/// Whether the release has the tunable `preempt`.
fn has_preempt(choice: &Choice) -> bool {
    let config = choice.build_config(&Needs { cpus: 1, ..Needs::default() });
    let has = |name: &str| name == "preempt";
    choice.build(&config).is_ok_and(|scheduler| {
        scheduler.inspect().tunables().iter().any(|tunable| has(&tunable.name))
    })
}

/// Returns the kernel of this machine: its release, and its HZ, preemption model and base slice
/// where they can be read.
fn host() -> Result<Kernel, UnknownScheduler> {
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_string());
    let release = read("/proc/sys/kernel/osrelease").ok_or_else(|| {
        let why = "/proc/sys/kernel/osrelease cannot be read; name a kernel, such as 6.8";
        UnknownScheduler(format!("host: {why}"))
    })?;
    let choice = scheduler_of(&release)?;
    let config = read(&format!("/boot/config-{release}")).unwrap_or_default();
    let option = |name: &str| {
        let value = config.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.map(str::to_string)
    };
    let mut set = vec![];
    let mut known = vec![];
    let mut unknown = vec![];
    match option("CONFIG_HZ").and_then(|hz| hz.parse().ok()) {
        Some(hz) => {
            known.push(format!("HZ {hz}"));
            set.push(Setting::Hz { hz });
        }
        None => unknown.push("HZ"),
    }
    if has_preempt(&choice) {
        let version = read("/proc/sys/kernel/version").unwrap_or_default();
        let modes = read("/sys/kernel/debug/sched/preempt").unwrap_or_default();
        let (value, name) = if modes.contains("(lazy)") || version.contains("PREEMPT_LAZY") {
            (3, "lazily preemptible")
        } else if version.contains("PREEMPT") {
            (2, "preemptible")
        } else {
            (1, "voluntary")
        };
        known.push(format!("{name} kernel"));
        set.push(Setting::Tunable { name: "preempt".into(), value });
    }
    match read("/sys/kernel/debug/sched/base_slice_ns").and_then(|ns| ns.parse().ok()) {
        Some(value) if choice.entry.name == "eevdf" => {
            known.push(format!("base slice {value} ns"));
            set.push(Setting::Tunable { name: "base_slice_ns".into(), value });
        }
        _ => unknown.push("the base slice"),
    }
    let series = series_of(&release).unwrap_or(&release).to_string();
    let unknown = match unknown.is_empty() {
        true => String::new(),
        false => format!("; not readable here: {}", unknown.join(" and ")),
    };
    let note = format!(
        "host {release}: {}; {}{unknown}",
        nearness(&series, &choice),
        if known.is_empty() { "nothing else is known".into() } else { known.join(", ") }
    );
    Ok(Kernel { title: format!("host {release}"), choice, set, note })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(name: &str) -> Option<String> {
        find(name).expect("the kernel has a scheduler").map(|it| it.choice.entry.name.to_string())
    }

    #[test]
    fn distributions_are_found_however_they_are_written() {
        for name in ["ubuntu 24.04", "Ubuntu24.04", "ubuntu-24.04", "noble"] {
            let found = find(name).unwrap().expect("the distribution is known");
            assert_eq!(
                (found.title.as_str(), found.choice.entry.name.as_ref()),
                ("ubuntu 24.04", "eevdf")
            );
            assert!(found.set.contains(&Setting::Hz { hz: 1000 }), "{:?}", found.set);
        }
        assert_eq!(scheduler("rhel9").as_deref(), Some("cfs"));
        assert_eq!(scheduler("debian12").as_deref(), Some("cfs"));
        for name in ["eevdf", "eevdf@6.18", "cfs:a=1", "nothing", "main"] {
            assert_eq!(scheduler(name), None, "{name}");
        }
    }

    #[test]
    fn releases_are_understood_as_uname_prints_them() {
        let of = |release| distribution_of_release(release).map(|it| it.name);
        assert_eq!(of("6.8.0-45-generic"), Some("ubuntu 24.04"));
        assert_eq!(of("5.14.0-427.13.1.el9_4.x86_64"), Some("rhel 9"));
        assert_eq!(of("6.1.0-28-amd64"), Some("debian 12"));
        assert_eq!(of("5.10.223-211.872.amzn2.x86_64"), Some("amazon 2"));
        assert_eq!(of("6.18.3-lab"), None);
        assert_eq!(series_of("6.18.3-lab"), Some("6.18"));
        assert_eq!(series_of("6.18-rc1"), Some("6.18"));
        let found = find("6.18.3-lab").unwrap().expect("it is a release");
        assert_eq!((found.choice.to_string().as_str(), found.set.len()), ("eevdf@6.18", 0));
    }

    #[test]
    fn every_distribution_has_a_scheduler_and_a_name_of_its_own() {
        let mut names = std::collections::BTreeSet::new();
        for distribution in DISTRIBUTIONS {
            let kernel = distribution.kernel(distribution.name.into());
            let kernel = kernel.expect("the distribution has a scheduler");
            assert!(kernel.note.contains(distribution.series), "{}", kernel.note);
            for name in std::iter::once(&distribution.name).chain(distribution.also) {
                assert!(names.insert(*name), "{name} is given twice");
                assert!(lookup::find(name).is_err(), "{name} is a scheduler, too");
            }
        }
    }
}
