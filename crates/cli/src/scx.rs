//! sched_ext policies as schedulers of the registry's kind: `scx:FILE` wherever a scheduler's name
//! may stand.
//!
//! The engine knows a scheduler by a static entry, whose release has a function that makes one and
//! is told nothing but the machine. A file comes with the command line. So there is a number of
//! slots, each with a function of its own; a policy is put in one of them until the program ends.

use crate::files;
use schedlab_core::{BuildConfig, Capabilities, Entry, Origin, Policy, Release, Scheduler};
use schedlab_lab::select::Choice;
use schedlab_scx::{Image, Object, Options, ScxScheduler, Setting, Target};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// So many policies can be named in one command.
const SLOTS: usize = 16;

/// Ticks a second, unless the user says otherwise.
const HZ: u32 = 250;

/// What users write before the file.
const PREFIX: &str = "scx:";

/// A policy in its slot.
struct Held {
    /// As the user named it: `scx:FILE`, with settings in brackets.
    spec: String,
    object: Arc<Object>,
    settings: Arc<[Setting]>,
    entry: &'static Entry,
}

static ALL: Mutex<Vec<Held>> = Mutex::new(Vec::new());

/// The function of slot `N`.
fn build<const N: usize>(config: &BuildConfig) -> Box<dyn Scheduler> {
    let held = ALL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let held = held.get(N).map(|held| (Arc::clone(&held.object), Arc::clone(&held.settings)));
    let target = Target { cpus: config.topology.cpus(), hz: config.hz };
    let image = match held {
        Some((object, settings)) => object.link(target, &settings).map_err(|e| e.to_string()),
        None => Err("there is no policy in the slot".into()),
    };
    match image {
        Ok(image) => Box::new(ScxScheduler::new(Arc::new(image), config, Options::default())),
        // The engine catches it where it catches a scheduler that panics.
        Err(message) => std::panic::resume_unwind(Box::new(message)),
    }
}

macro_rules! builders {
    ($($number:literal)*) => { [$(build::<$number>),*] };
}

type Build = fn(&BuildConfig) -> Box<dyn Scheduler>;

static BUILDERS: [Build; SLOTS] = builders![0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15];

/// Reads an object.
///
/// # Errors
/// It cannot be read, or is no policy.
pub fn read(path: &Path) -> Result<Object, String> {
    let file = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| files::describe_error(path, &error))?;
    Object::read(&file, &bytes).map_err(|error| error.to_string())
}

/// Settings, as users write them.
///
/// # Errors
/// The first that is none.
pub fn settings<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<Setting>, String> {
    let all = texts.into_iter().filter(|text| !text.trim().is_empty()).map(Setting::read);
    all.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// Links an object for a machine of so many CPUs.
///
/// # Errors
/// It cannot run there, or a setting cannot be made.
pub fn link(object: &Object, cpus: u32, settings: &[Setting]) -> Result<Image, String> {
    object.link(Target { cpus, hz: HZ }, settings).map_err(|error| error.to_string())
}

/// `scx:FILE[NAME=VALUE,...]` taken apart: the file and what is set.
fn parts(spec: &str) -> Option<(&str, &str)> {
    let rest = spec.strip_prefix(PREFIX)?;
    match rest.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((file, settings)) => Some((file, settings)),
        None => Some((rest, "")),
    }
}

/// Adds settings to the names that are policies.
///
/// # Errors
/// There is no policy that they could be for.
pub fn with_settings(names: Vec<String>, set: &[String]) -> Result<Vec<String>, String> {
    if set.is_empty() {
        return Ok(names);
    }
    let mut any = false;
    let add = |name: String| match parts(&name) {
        None => name,
        Some((file, before)) => {
            any = true;
            let before = Some(before).filter(|before| !before.is_empty());
            let all: Vec<&str> = before.into_iter().chain(set.iter().map(String::as_str)).collect();
            format!("{PREFIX}{file}[{}]", all.join(","))
        }
    };
    let names = schedlab_lab::select::whole_names(&names).into_iter().map(add).collect();
    match any {
        true => Ok(names),
        false => Err("--scx-set: no scheduler is a sched_ext policy (-s scx:FILE)".into()),
    }
}

/// Replaces the names of policies by those under which they are held, and reads and holds them; the
/// entries of all of them.
///
/// # Errors
/// A policy cannot be loaded, or there are too many.
pub fn hold(names: &[String]) -> Result<(Vec<String>, Vec<&'static Entry>), String> {
    let mut replaced = vec![];
    let mut entries: Vec<&'static Entry> = vec![];
    for name in schedlab_lab::select::whole_names(names) {
        match parts(name.trim()) {
            None => replaced.push(name),
            Some((file, set)) => {
                let entry = hold_one(name.trim(), file, set)?;
                replaced.push(entry.name.into());
                if !entries.iter().any(|other| other.name == entry.name) {
                    entries.push(entry);
                }
            }
        }
    }
    Ok((replaced, entries))
}

fn hold_one(spec: &str, file: &str, set: &str) -> Result<&'static Entry, String> {
    if file.is_empty() {
        return Err("scx: needs a file: -s scx:policy.bpf.o".into());
    }
    let held = |all: &[Held]| all.iter().find(|held| held.spec == spec).map(|held| held.entry);
    let lock = || ALL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(entry) = held(&lock()) {
        return Ok(entry);
    }
    let object = read(Path::new(file))?;
    let settings = settings(set.split(','))?;
    // What is wrong on any machine is said before anything runs.
    let image = link(&object, 1, &settings)?;
    let mut all = lock();
    let slot = all.len();
    let Some(&build) = BUILDERS.get(slot) else {
        return Err(format!("{spec}: {SLOTS} sched_ext policies are the most in one command"));
    };
    let is_taken = |name: &str| all.iter().any(|held| held.entry.name == name);
    let mut name = format!("scx_{}", image.name);
    let mut number = 2;
    while is_taken(&name) {
        name = format!("scx_{}_{number}", image.name);
        number += 1;
    }
    let entry = entry(name, format!("sched_ext: {}", image.name), file, build);
    let (object, settings) = (Arc::new(object), settings.into());
    all.push(Held { spec: spec.into(), object, settings, entry });
    Ok(entry)
}

/// Entries live as long as the program; there are at most [`SLOTS`].
fn entry(name: String, title: String, file: &str, build: Build) -> &'static Entry {
    let release = Release {
        version: "6.18",
        also: &[],
        summary: "the class of Linux 6.18 round the policy",
        golden: &[],
        hz_default: HZ,
        hz_range: (100, 1000),
        cpus_max: 512,
        policies: &[Policy::Other, Policy::Batch, Policy::Idle],
        can: Capabilities { groups: true, ..Capabilities::BASIC },
        kernel: Some("6.18"),
        build,
    };
    Box::leak(Box::new(Entry {
        name: Box::leak(name.into_boxed_str()),
        title: Box::leak(title.into_boxed_str()),
        summary: Box::leak(format!("the policy in {file}").into_boxed_str()),
        origin: Origin::Own,
        releases: Box::leak(Box::new([release])),
    }))
}

/// What a user types for a choice: a policy by its file, in quotes if it has settings.
pub fn named(choice: &Choice) -> String {
    let mut name = [choice.to_string()];
    as_written(&mut name);
    let [name] = name;
    if name.contains('[') { format!("'{name}'") } else { name }
}

/// Names under which policies are held, as the user wrote them: for plans that are written down.
pub fn as_written(names: &mut [String]) {
    let all = ALL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for name in names {
        let bare = name.split('@').next().unwrap_or(name);
        if let Some(held) = all.iter().find(|held| held.entry.name == bare) {
            *name = held.spec.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parts("cfs"), None);
        assert_eq!(parts("scx:a/b.bpf.o"), Some(("a/b.bpf.o", "")));
        assert_eq!(parts("scx:b.o[x=1,y[2]=3]"), Some(("b.o", "x=1,y[2]=3")));
        assert_eq!(parts("scx:b.o[x=1,z=3]"), Some(("b.o", "x=1,z=3")));
    }

    #[test]
    fn settings_go_to_policies_alone() {
        let names = || vec!["cfs".to_string(), "scx:b.o".into(), "scx:c.o[x=1]".into()];
        let set = ["y=2".to_string()];
        let expected = ["cfs", "scx:b.o[y=2]", "scx:c.o[x=1,y=2]"];
        assert_eq!(with_settings(names(), &set).as_deref(), Ok(&expected.map(String::from)[..]));
        assert_eq!(with_settings(names(), &[]), Ok(names()));
        assert!(with_settings(vec!["cfs".into()], &set).is_err());
    }
}
