//! A policy that was loaded from a file, and the scheduler that runs it.

use super::object::{HZ, bytes_of, decides_in_user_space, linked};
use super::spec::{self, Bracket, Call, PREFIX, RELEASES, parts, with_release};
use crate::choice::{Choice, Chosen, LoadedPolicy};
use crate::error::Error;
use crate::scx_expects::Expects;
use crate::scx_presets::Preset;
use crate::scx_user;
use crate::settings::{Setting, in_brackets};
use schedlab_core::{Build, BuildConfig, Capabilities, Entry, Origin, Promises, Release};
use schedlab_scx::log::Log;
use schedlab_scx::ops::Callback;
use schedlab_scx::user_half::script::Script;
use schedlab_scx::{Classes, Image, Object, OnEnd, Options, Profile, ScxScheduler, Target};
use std::any::Any;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of linked images that a policy keeps: one for each machine.
const IMAGES_KEPT: usize = 4;

/// A policy in a file, with its fixed settings.
#[derive(Debug)]
struct Policy {
    /// File, as the user named it.
    file: String,
    /// Items in brackets that are not tunables of the policy, as written.
    fixed: Vec<String>,
    bytes: Vec<u8>,
    /// `ops.name`.
    name: String,
    object: Object,
    settings: Vec<schedlab_scx::Setting>,
    calls: Vec<Call>,
    on_end: OnEnd,
    put_back_ns: u64,
    /// Script of its user half, with the script's file name.
    user: Option<(String, Arc<Script>)>,
    expects: Expects,
    promises: Promises,
    /// Whether it enforces the limits of groups.
    quotas: bool,
    images: Mutex<Vec<(Target, Arc<Image>)>>,
}

impl PartialEq for Policy {
    fn eq(&self, other: &Policy) -> bool {
        (&self.file, &self.fixed, &self.bytes, &self.user)
            == (&other.file, &other.fixed, &other.bytes, &other.user)
    }
}

/// Log of the policies' actions.
static LOG: Mutex<Option<Log>> = Mutex::new(None);

impl Policy {
    fn image(&self, target: Target) -> Result<Arc<Image>, String> {
        let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, image)) = images.iter().find(|(other, _)| *other == target) {
            return Ok(Arc::clone(image));
        }
        let image = linked(&self.object, target, &self.settings, self.user.as_ref())?;
        let image = Arc::new(image);
        if images.len() == IMAGES_KEPT {
            images.remove(0);
        }
        images.push((target, Arc::clone(&image)));
        Ok(image)
    }

    /// Builds the scheduler, with the class of a release.
    fn scheduler(&self, config: &BuildConfig, profile: Profile) -> Result<ScxScheduler, String> {
        let target = Target { cpus: config.topology.cpus(), hz: config.hz };
        let options = Options {
            on_end: self.on_end,
            put_back_ns: self.put_back_ns,
            promises: self.promises,
            profile,
            ..Options::default()
        };
        let mut scheduler = ScxScheduler::new(self.image(target)?, config, options);
        let of_preset = match Preset::of(&self.name) {
            Some(preset) => preset.calls(scheduler.image(), target.cpus),
            None => vec![],
        };
        // A program that the user half or the user calls is not called for the preset as well.
        let user = scheduler.image().user.clone();
        let is_own = |name: &String| {
            self.calls.iter().any(|(other, _)| other == name)
                || user.as_ref().is_some_and(|it| it.calls(name))
        };
        let of_preset = of_preset.into_iter().filter(|(name, _)| !is_own(name));
        for (function, args) in of_preset.chain(self.calls.iter().cloned()) {
            let called = scheduler.call_first(&function, &args);
            called.map_err(|error| error.in_file(&self.file).to_string())?;
        }
        if let Some(log) = LOG.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            scheduler.log_to(log);
        }
        Ok(scheduler)
    }

    /// Returns the policy as a scheduler, with the class of a release.
    fn choice(self: Arc<Policy>, version: &'static str) -> Choice {
        let profile = if version == RELEASES[0] { Profile::V6_18 } else { Profile::V7_3 };
        let entry = Entry {
            name: self.scheduler_name(1).into(),
            title: format!("sched_ext: {}", self.name).into(),
            summary: format!("the policy in {}", self.file).into(),
            origin: Origin::Own,
            releases: &[],
        };
        let policy = Arc::clone(&self);
        let release = Release {
            version,
            also: &[],
            summary: "the scheduling class of this Linux release, which runs the policy",
            golden: &[],
            hz_default: HZ,
            hz_range: (100, 1000),
            cpus_max: 512,
            policies: schedlab_core::Policy::MAINLINE,
            can: Capabilities { groups: true, quotas: self.quotas, ..Capabilities::BASIC },
            kernel: Some(version),
            build: Build::Loaded(Arc::new(move |config| {
                Ok(Box::new(Classes::new(policy.scheduler(config, profile)?, config)))
            })),
        };
        let (entry, release) = (Cow::Owned(entry), Cow::Owned(release));
        Choice { entry, release, policy: Some(self) }
    }
}

impl LoadedPolicy for Policy {
    fn scheduler_name(&self, number: usize) -> String {
        let number = if number == 1 { String::new() } else { format!("#{number}") };
        let with = match self.fixed.as_slice() {
            [] => String::new(),
            fixed => format!("({})", fixed.join(",")),
        };
        format!("scx_{}{number}{with}", self.name)
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn fixed(&self) -> &[String] {
        &self.fixed
    }

    fn expects(&self) -> &Expects {
        &self.expects
    }

    fn is_same(&self, other: &dyn LoadedPolicy) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Policy>().is_some_and(|other| self == other)
    }
}

/// Gives different names to different policies in `chosen` that have the same name.
pub(crate) fn distinguish(chosen: &mut [Chosen]) {
    for at in 1..chosen.len() {
        let (before, rest) = chosen.split_at_mut(at);
        let choice = &mut rest[0].choice;
        let Some(policy) = &choice.policy else { continue };
        let mut number = 1;
        let is_taken = |name: &str| {
            let has_it = |other: &Choice| other.entry.name == name;
            before.iter().any(|one| has_it(&one.choice) && one.choice.policy != choice.policy)
        };
        while is_taken(&policy.scheduler_name(number)) {
            number += 1;
        }
        choice.entry.to_mut().name = policy.scheduler_name(number).into();
    }
}

/// Loads the policy that `spec` names, and returns it with its settings.
///
/// # Errors
/// It cannot be loaded, or a setting is invalid.
pub(crate) fn choose(spec: &str) -> Result<(Choice, Vec<Setting>), String> {
    let Some((file, text)) = parts(spec) else {
        return Err(format!("{spec}: a policy is named scx:FILE"));
    };
    if file.is_empty() {
        return Err("scx: needs a file: -s scx:policy.bpf.o".into());
    }
    let (file, release) = with_release(file);
    let bracket = Bracket::read(text).map_err(|error| format!("{PREFIX}{file}: {error}"))?;
    let own = bracket.own.clone();
    Ok((Arc::new(load(file, bracket)?).choice(release), own))
}

fn load(file: &str, bracket: Bracket) -> Result<Policy, String> {
    let bytes = bytes_of(Path::new(file))?;
    let user = match &bracket.user {
        Some(user) => Some((user.clone(), Arc::new(scx_user::read(Path::new(user))?))),
        None => None,
    };
    let wrong = |error: schedlab_scx::ObjectError| error.to_string();
    let object = Object::read(file, &bytes).map_err(wrong)?;
    // Faults that occur on any machine are reported before anything runs.
    let target = Target { cpus: 1, hz: HZ };
    if let Ok(image) = object.link_as_it_is(target)
        && decides_in_user_space(&image.name)
    {
        return Err(format!(
            "{PREFIX}{file}: {}: this policy decides in user space, in a process that cannot be \
             simulated; a script (--scx-user) can only adjust it",
            image.name
        ));
    }
    let calls = bracket.calls;
    let mut settings = bracket.elements;
    let link = |settings: &[schedlab_scx::Setting]| {
        linked(&object, target, settings, user.as_ref()).or_else(|error| {
            // A script's statement about the fourth CPU is wrong on small machines only.
            let large = Target { cpus: 64, ..target };
            let larger = user.as_ref().map(|user| linked(&object, large, settings, Some(user)));
            larger.and_then(Result::ok).ok_or(error)
        })
    };
    let image = match link(&settings) {
        Ok(image) => image,
        Err(error) if bracket.own.is_empty() => return Err(error),
        // The sizes of maps, for example, may be missing.
        Err(_) => {
            let own = bracket.own.iter().filter(|setting| setting.tunable().is_some());
            let own = own.map(Setting::to_string).collect::<Vec<_>>();
            settings.extend(spec::settings(own.iter().map(String::as_str))?);
            link(&settings)?
        }
    };
    for (function, _) in &calls {
        image.program(function).map_err(|error| error.in_file(file).to_string())?;
    }
    let has = |callback| image.callback(callback).is_some();
    Ok(Policy {
        file: file.into(),
        fixed: bracket.fixed,
        bytes,
        name: image.name.clone(),
        object,
        settings,
        calls,
        on_end: bracket.on_end.unwrap_or_default(),
        put_back_ns: bracket.put_back_ns,
        user,
        expects: bracket.expects,
        promises: bracket.promises,
        quotas: has(Callback::CGROUP_SET_BANDWIDTH),
        images: Mutex::default(),
    })
}

/// Whether a scheduler is a policy in a file.
pub fn is_policy(choice: &Choice) -> bool {
    choice.policy.is_some()
}

/// Assumptions of a policy about machine and workload. `None`: `choice` is not a policy.
pub fn expects_of(choice: &Choice) -> Option<&Expects> {
    Some(choice.policy.as_ref()?.expects())
}

/// Returns the name that users write for a policy with `own` set: `scx:FILE[...]`. `None`: it is
/// not a policy.
pub fn spec(choice: &Choice, own: &[Setting]) -> Option<String> {
    let policy = choice.policy.as_ref()?;
    let items: Vec<String> =
        policy.fixed().iter().cloned().chain(own.iter().map(Setting::to_string)).collect();
    let brackets = if items.is_empty() { String::new() } else { format!("[{}]", items.join(",")) };
    let release = match choice.release.version {
        version if version == RELEASES[0] => String::new(),
        version => format!("@{version}"),
    };
    Some(format!("{PREFIX}{}{release}{brackets}", policy.file()))
}

/// Returns the policy with tunables fixed, for callers without settings of each scheduler
/// (benchmarks, random worlds).
///
/// # Errors
/// A tunable cannot be set.
pub fn fixed(choice: &Choice, own: &[Setting]) -> Result<Choice, String> {
    let Some(policy) = &choice.policy else {
        return Err(format!("{choice} is not a sched_ext policy"));
    };
    let mut bracket = Bracket::read(&policy.fixed().join(","))?;
    for setting in own {
        if setting.tunable().is_none() {
            return Err(format!("{setting}: only tunables of the policy can be set here"));
        }
        let text = setting.to_string();
        let element = schedlab_scx::Setting::read(&text).map_err(|error| error.to_string())?;
        bracket.elements.push(element);
        bracket.fixed.push(text);
    }
    Ok(Arc::new(load(policy.file(), bracket)?).choice(choice.release.version))
}

/// Fixes the settings of the policies among `chosen` (see [`fixed`]).
///
/// # Errors
/// A setting of a policy cannot be made.
pub fn all_fixed(chosen: &[Chosen]) -> Result<Vec<Chosen>, Error> {
    let one = |one: &Chosen| -> Result<Chosen, Error> {
        if one.set.is_empty() || !is_policy(&one.choice) {
            return Ok(one.clone());
        }
        let choice = fixed(&one.choice, &one.set).map_err(Error::Plan)?;
        Ok(Chosen { choice, set: vec![], ..one.clone() })
    };
    let mut all = chosen.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    distinguish(&mut all);
    Ok(all)
}

/// Sets the log of policies that are loaded from now on. `None`: their actions are not logged.
pub fn log_all(log: Option<Log>) {
    *LOG.lock().unwrap_or_else(PoisonError::into_inner) = log;
}

/// Returns the name of a column's scheduler, with its settings in brackets, as
/// [`select::choose`](crate::select::choose) reads it.
pub fn written(choice: &Choice, own: &[Setting]) -> String {
    match spec(choice, own) {
        Some(spec) => spec,
        None => format!("{choice}{}", in_brackets(own)),
    }
}
