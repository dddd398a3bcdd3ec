//! sched_ext policies in files as schedulers: `scx:FILE` wherever a scheduler's name may stand.
//!
//! `scx:FILE[NAME=VALUE,...]` sets variables, `ops.FIELD` and `map.NAME.max_entries`, which are
//! tunables of the policy; `call.FUNCTION=1/2/3` runs a `syscall` program of the object before the
//! policy begins; `on_error=fallback` lets a run go on when the policy has ended;
//! `put_back_ns=30000` lets CPUs not see at once what others put back; `user=FILE.toml` is the
//! script of its user half; `expects.cpus=4` and `promise.wait_ns=N` are for random worlds.

use crate::compressed;
use crate::error::Error;
use crate::scx_expects::{self, Expects};
use crate::scx_presets::Preset;
use crate::scx_user;
use crate::select::{Choice, Chosen};
use crate::settings::{self, Setting};
use schedlab_core::{Build, BuildConfig, Capabilities, Entry, Origin, Promises, Release};
use schedlab_scx::log::Log;
use schedlab_scx::ops::Callback;
use schedlab_scx::user_half::script::Script;
use schedlab_scx::{Classes, Image, Object, OnEnd, Options, Profile, ScxScheduler, Target};
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Ticks a second, unless the user says otherwise.
const HZ: u32 = 250;

/// What users write before the file.
pub const PREFIX: &str = "scx:";

/// The largest object that is read, bytes.
const SIZE_MAX: u64 = 256 << 20;

/// So many linked images of a policy are kept: one for each machine.
const IMAGES_KEPT: usize = 4;

/// A program of the object that is run before the policy begins, with its arguments.
type Call = (String, Vec<i32>);

/// A policy in a file, with all that is set once and for all.
#[derive(Debug)]
pub struct Policy {
    /// As the user named it: the file.
    file: String,
    /// What belongs to the policy and is no tunable of its, as it stands in brackets.
    fixed: Vec<String>,
    bytes: Vec<u8>,
    /// `ops.name`.
    name: String,
    object: Object,
    settings: Vec<schedlab_scx::Setting>,
    calls: Vec<Call>,
    on_end: OnEnd,
    put_back_ns: u64,
    /// The script of its user half, with the file's name.
    user: Option<(String, Arc<Script>)>,
    expects: Expects,
    promises: Promises,
    /// Whether it looks after the limits of groups.
    quotas: bool,
    images: Mutex<Vec<(Target, Arc<Image>)>>,
}

impl PartialEq for Policy {
    fn eq(&self, other: &Policy) -> bool {
        (&self.file, &self.fixed, &self.bytes, &self.user)
            == (&other.file, &other.fixed, &other.bytes, &other.user)
    }
}

/// Who is told what policies do.
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

    /// One of it, with the class of a release.
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
        // Whoever calls a program for himself does it alone.
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

    /// What a scheduler is called that is this policy: of several of a name the `number`th.
    fn name(&self, number: usize) -> String {
        let number = if number == 1 { String::new() } else { format!("#{number}") };
        let with = match self.fixed.as_slice() {
            [] => String::new(),
            fixed => format!("({})", fixed.join(",")),
        };
        format!("scx_{}{number}{with}", self.name)
    }

    /// It as a scheduler, with the class of a release.
    fn choice(self: Arc<Policy>, version: &'static str) -> Choice {
        let profile = if version == RELEASES[0] { Profile::V6_18 } else { Profile::V7_3 };
        let entry = Entry {
            name: self.name(1).into(),
            title: format!("sched_ext: {}", self.name).into(),
            summary: format!("the policy in {}", self.file).into(),
            origin: Origin::Own,
            releases: &[],
        };
        let policy = Arc::clone(&self);
        let release = Release {
            version,
            also: &[],
            summary: "the class of this Linux round the policy",
            golden: &[],
            hz_default: HZ,
            hz_range: (100, 1000),
            cpus_max: 512,
            policies: &schedlab_core::Policy::ALL,
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

/// Tells those of `chosen` apart that are different policies of one name.
pub(crate) fn tell_apart(chosen: &mut [Chosen]) {
    for at in 1..chosen.len() {
        let (before, rest) = chosen.split_at_mut(at);
        let choice = &mut rest[0].choice;
        let Some(policy) = &choice.policy else { continue };
        let mut number = 1;
        let is_taken = |name: &str| {
            let has_it = |other: &Choice| other.entry.name == name;
            before.iter().any(|one| has_it(&one.choice) && one.choice.policy != choice.policy)
        };
        while is_taken(&policy.name(number)) {
            number += 1;
        }
        choice.entry.to_mut().name = policy.name(number).into();
    }
}

/// Reads an object.
///
/// # Errors
/// It cannot be read, or is no policy.
pub fn read(path: &Path) -> Result<Object, String> {
    let file = path.display().to_string();
    Object::read(&file, &bytes_of(path)?).map_err(|error| error.to_string())
}

/// Policies, by `ops.name`, whose tasks wait for a process that says who runs next.
const IN_USER_SPACE: [&str; 2] = ["userland", "rustland"];

/// Whether a policy of this name decides in user space.
fn decides_in_user_space(name: &str) -> bool {
    IN_USER_SPACE.iter().any(|known| {
        let rest = name.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    })
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    compressed::read(path, SIZE_MAX).map_err(|error| format!("{}: {error}", path.display()))
}

/// The releases of the class, the default one first.
const RELEASES: [&str; 2] = ["6.18", "7.3"];

/// `FILE@7.3` as the file and the release.
fn with_release(file: &str) -> (&str, &'static str) {
    let named = |release: &&&'static str| {
        file.strip_suffix(**release).is_some_and(|file| file.ends_with('@'))
    };
    match RELEASES.iter().find(named) {
        Some(release) => (&file[..file.len() - release.len() - 1], release),
        None => (file, RELEASES[0]),
    }
}

/// Settings, as users write them.
///
/// # Errors
/// The first that is none.
pub fn settings<'a>(
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<schedlab_scx::Setting>, String> {
    let all = texts.into_iter().filter(|text| !text.trim().is_empty());
    all.map(|text| schedlab_scx::Setting::read(text).map_err(|error| error.to_string())).collect()
}

/// Links an object for a machine of so many CPUs.
///
/// # Errors
/// It cannot run there, or a setting cannot be made.
pub fn link(
    object: &Object,
    cpus: u32,
    settings: &[schedlab_scx::Setting],
) -> Result<Image, String> {
    linked(object, Target { cpus, hz: HZ }, settings, None)
}

/// The same with the script of a user half.
///
/// # Errors
/// As of [`link`], and what the script asks for is not there.
pub fn link_with(
    object: &Object,
    cpus: u32,
    settings: &[schedlab_scx::Setting],
    user: &Path,
) -> Result<Image, String> {
    let script = (user.display().to_string(), Arc::new(scx_user::read(user)?));
    linked(object, Target { cpus, hz: HZ }, settings, Some(&script))
}

/// The same; what is known of the policy is set first.
fn linked(
    object: &Object,
    target: Target,
    settings: &[schedlab_scx::Setting],
    user: Option<&(String, Arc<Script>)>,
) -> Result<Image, String> {
    let described = |error: schedlab_scx::ObjectError| error.in_file(&object.file).to_string();
    let mut image = object.link_as_it_is(target).map_err(described)?;
    if let Some((file, script)) = user {
        script.prepare(&mut image).map_err(|error| error.in_file(file).to_string())?;
    }
    let mut all = Preset::of(&image.name).map_or(vec![], |it| it.settings(&image, target.cpus));
    if let Some((_, script)) = user {
        // What a script sets counts more.
        all.retain(|setting| !script.sets(&setting.target));
    }
    all.extend(settings.iter().cloned());
    image.set(&all).map_err(described)?;
    Ok(image)
}

/// Whether this names a policy in a file.
pub fn is_spec(name: &str) -> bool {
    name.trim_start().starts_with(PREFIX)
}

/// Whether `name`, cut at a comma, goes on behind it: its brackets are open.
pub(crate) fn is_open(name: &str) -> bool {
    name.matches('[').count() > name.matches(']').count()
}

/// `scx:FILE[NAME=VALUE,...]` taken apart: the file and what stands in brackets.
fn parts(spec: &str) -> Option<(&str, &str)> {
    let rest = spec.trim().strip_prefix(PREFIX)?;
    Some(match rest.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((file, settings)) => (file, settings),
        None => (rest, ""),
    })
}

/// What stands in the brackets behind a policy's file, sorted.
#[derive(Default)]
struct Bracket {
    /// Tunables, nice values of tasks, weights of groups.
    own: Vec<Setting>,
    /// Elements of arrays, calls, what an end means: as they are written.
    fixed: Vec<String>,
    elements: Vec<schedlab_scx::Setting>,
    calls: Vec<Call>,
    on_end: Option<OnEnd>,
    put_back_ns: u64,
    user: Option<String>,
    expects: Expects,
    promises: Promises,
}

impl Bracket {
    fn read(text: &str) -> Result<Bracket, String> {
        let mut bracket = Bracket::default();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            if let Some(function) = name.strip_prefix("call.") {
                bracket.calls.push((function.into(), arguments(item, value)?));
            } else if name == "user" {
                if value.is_empty() {
                    return Err("user= names the script of its user half, user=FILE.toml".into());
                }
                bracket.user = Some(value.into());
            } else if let Some(name) = name.strip_prefix("expects.") {
                bracket.expects.add(name, value)?;
            } else if let Some(name) = name.strip_prefix("promise.") {
                scx_expects::promise(&mut bracket.promises, name, value)?;
            } else if name == "put_back_ns" {
                let ns = value.parse().ok().filter(|ns| *ns < 1_000_000_000_u64);
                bracket.put_back_ns = ns.ok_or_else(|| {
                    format!("{item}: it is a time in ns, less than a second, as put_back_ns=30000")
                })?;
            } else if name == "on_error" {
                bracket.on_end = Some(match value {
                    "stop" => OnEnd::Stop,
                    "fallback" => OnEnd::GoOn,
                    _ => return Err(format!("{item}: write on_error=stop or on_error=fallback")),
                });
            } else if name.contains('[') || !item.contains('=') {
                let element = schedlab_scx::Setting::read(item);
                bracket.elements.push(element.map_err(|error| error.to_string())?);
            } else {
                let setting = Setting::parse(&decimal(item, name, value))?;
                if bracket.own.iter().any(|other| other.name() == setting.name()) {
                    bracket.own.retain(|other| other.name() != setting.name());
                }
                bracket.own.push(setting);
                continue;
            }
            bracket.fixed.push(item.into());
        }
        Ok(bracket)
    }
}

/// `true`, `false` and `0xff` as the numbers that they are; others as they stand. Numbers of 64
/// bits without a sign that are too large become those with a sign of the same bits.
fn decimal(item: &str, name: &str, value: &str) -> String {
    let value = value.trim();
    let number = match value {
        "true" => Some(1),
        "false" => Some(0),
        _ => match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => value.parse::<u64>().ok(),
        },
    };
    number.map_or_else(|| item.into(), |number| format!("{name}={}", number as i64))
}

/// `1/2/-3`: the arguments of a program that is called, 32 bits each.
fn arguments(item: &str, text: &str) -> Result<Vec<i32>, String> {
    let words = text.split('/').map(str::trim).filter(|word| !word.is_empty());
    let number = |word: &str| {
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok().map(|value| value as i32),
            None => word.parse::<i32>().ok().or_else(|| word.parse::<u32>().ok().map(|n| n as i32)),
        };
        parsed.ok_or_else(|| {
            format!("{item}: \"{word}\" is no number of 32 bits; write call.FUNCTION=1/2/3")
        })
    };
    words.map(number).collect()
}

/// The policy that `spec` names, read and held, and what is set for it.
///
/// # Errors
/// It cannot be loaded, a setting is none, or there are too many policies.
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
    // What is wrong on any machine is said before anything runs.
    let target = Target { cpus: 1, hz: HZ };
    if let Ok(image) = object.link_as_it_is(target)
        && decides_in_user_space(&image.name)
    {
        return Err(format!(
            "{PREFIX}{file}: {}: this policy decides in user space, by a process that cannot be \
             played here; a script (--scx-user) can only adjust",
            image.name
        ));
    }
    let calls = bracket.calls;
    let mut settings = bracket.elements;
    let link = |settings: &[schedlab_scx::Setting]| {
        linked(&object, target, settings, user.as_ref()).or_else(|error| {
            // What a script says of the fourth CPU is wrong on small machines only.
            let large = Target { cpus: 64, ..target };
            let larger = user.as_ref().map(|user| linked(&object, large, settings, Some(user)));
            larger.and_then(Result::ok).ok_or(error)
        })
    };
    let image = match link(&settings) {
        Ok(image) => image,
        Err(error) if bracket.own.is_empty() => return Err(error),
        // Sizes of maps, say, may be what is missing.
        Err(_) => {
            let own = bracket.own.iter().filter(|setting| setting.tunable().is_some());
            let own = own.map(Setting::to_string).collect::<Vec<_>>();
            settings.extend(self::settings(own.iter().map(String::as_str))?);
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

/// The assumptions of a policy about machine and workload. `None`: `choice` is no policy.
pub fn expects_of(choice: &Choice) -> Option<&Expects> {
    Some(&choice.policy.as_ref()?.expects)
}

/// What users write for a policy with `own` set: `scx:FILE[...]`. None: it is none.
pub fn spec(choice: &Choice, own: &[Setting]) -> Option<String> {
    let policy = choice.policy.as_ref()?;
    let items: Vec<String> =
        policy.fixed.iter().cloned().chain(own.iter().map(Setting::to_string)).collect();
    let brackets = if items.is_empty() { String::new() } else { format!("[{}]", items.join(",")) };
    let release = match choice.release.version {
        version if version == RELEASES[0] => String::new(),
        version => format!("@{version}"),
    };
    Some(format!("{PREFIX}{}{release}{brackets}", policy.file))
}

/// The same policy with tunables set once and for all: for those who run it without settings of a
/// scheduler's own (benchmarks, random worlds).
///
/// # Errors
/// One cannot be set.
pub fn fixed(choice: &Choice, own: &[Setting]) -> Result<Choice, String> {
    let Some(policy) = &choice.policy else {
        return Err(format!("{choice} is no sched_ext policy"));
    };
    let mut bracket = Bracket::read(&policy.fixed.join(","))?;
    for setting in own {
        if setting.tunable().is_none() {
            return Err(format!("{setting}: only what is the policy's own can be set here"));
        }
        let text = setting.to_string();
        let element = schedlab_scx::Setting::read(&text).map_err(|error| error.to_string())?;
        bracket.elements.push(element);
        bracket.fixed.push(text);
    }
    Ok(Arc::new(load(&policy.file, bracket)?).choice(choice.release.version))
}

/// The same of those among `chosen` that are policies.
///
/// # Errors
/// A setting of one cannot be made.
pub fn all_fixed(chosen: &[Chosen]) -> Result<Vec<Chosen>, Error> {
    let one = |one: &Chosen| -> Result<Chosen, Error> {
        if one.set.is_empty() || !is_policy(&one.choice) {
            return Ok(one.clone());
        }
        let choice = fixed(&one.choice, &one.set).map_err(Error::Plan)?;
        Ok(Chosen { choice, set: vec![], ..one.clone() })
    };
    let mut all = chosen.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    tell_apart(&mut all);
    Ok(all)
}

/// The names in `names`; files of policies that lie beside the file that names them are named from
/// here. Others are left as they are: seen from the present directory.
pub fn beside(names: &[String], file: &str) -> Vec<String> {
    let Some(directory) = Path::new(file).parent().filter(|it| !it.as_os_str().is_empty()) else {
        return names.to_vec();
    };
    let named = |name: String| {
        let Some((object, _)) = parts(&name) else { return name };
        let (object, _) = with_release(object);
        let here = |file: &str| {
            let there = directory.join(file);
            let is_beside = Path::new(file).is_relative() && there.is_file();
            is_beside.then(|| there.display().to_string())
        };
        let mut named = match here(object) {
            Some(there) => name.replacen(object, &there, 1),
            None => name.clone(),
        };
        let script = parts(&name).map_or("", |(_, settings)| settings);
        let script = script.split(',').find_map(|item| item.trim().strip_prefix("user="));
        if let Some((script, there)) = script.and_then(|script| Some((script, here(script)?))) {
            named = named.replacen(&format!("user={script}"), &format!("user={there}"), 1);
        }
        named
    };
    crate::select::whole_names(names).into_iter().map(named).collect()
}

/// Tells `log` what policies do that are made from now on; none: nobody.
pub fn log_all(log: Option<Log>) {
    *LOG.lock().unwrap_or_else(PoisonError::into_inner) = log;
}

/// The settings in a file in TOML: `slice_ns = 5000000`, `weights = [1, 2]`, `"ops.flags" = 2`, as
/// they stand in brackets.
///
/// # Errors
/// It is no TOML, or something in it is no number.
pub fn config(file: &str, text: &str) -> Result<Vec<String>, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| format!("{file}: {error}"))?;
    let mut settings = vec![];
    for (name, value) in &table {
        add_value(&mut settings, name, value).map_err(|what| format!("{file}: {what}"))?;
    }
    Ok(settings)
}

fn add_value(settings: &mut Vec<String>, name: &str, value: &toml::Value) -> Result<(), String> {
    match value {
        toml::Value::Integer(number) => settings.push(format!("{name}={number}")),
        toml::Value::Boolean(truth) => settings.push(format!("{name}={}", u8::from(*truth))),
        toml::Value::String(text) => settings.push(format!("{name}={text}")),
        toml::Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                add_value(settings, &format!("{name}[{place}]"), value)?;
            }
        }
        toml::Value::Table(inner) => {
            for (part, value) in inner {
                add_value(settings, &format!("{name}.{part}"), value)?;
            }
        }
        other => {
            let kind = other.type_str();
            return Err(format!("{name} is a {kind}; a setting is a whole number, true or false"));
        }
    }
    Ok(())
}

/// Settings added to the names that are policies.
///
/// # Errors
/// There is no policy that they could be for: the option is named.
pub fn with_settings(
    names: Vec<String>,
    set: &[String],
    option: &str,
) -> Result<Vec<String>, String> {
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
    let names = crate::select::whole_names(&names).into_iter().map(add).collect();
    match any {
        true => Ok(names),
        false => Err(format!("{option}: no scheduler is a sched_ext policy (-s scx:FILE)")),
    }
}

/// The names of schedulers, with what is set in brackets, of a column that is a policy.
pub(crate) fn written(choice: &Choice, own: &[Setting]) -> String {
    match spec(choice, own) {
        Some(spec) => spec,
        None => format!("{choice}{}", settings::in_brackets(own)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_that_decide_in_user_space_are_known() {
        for name in ["userland", "rustland_1.0.2", "rustland.x"] {
            assert!(decides_in_user_space(name), "{name}");
        }
        assert!(!decides_in_user_space("userlands") && !decides_in_user_space("vtime"));
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parts("cfs"), None);
        assert_eq!(parts("scx:a/b.bpf.o"), Some(("a/b.bpf.o", "")));
        assert_eq!(parts("scx:b.o[x=1,y[2]=3]"), Some(("b.o", "x=1,y[2]=3")));
        assert!(is_open("scx:b.o[x=1") && !is_open("scx:b.o[x=1,y[2]=3]"));
    }

    #[test]
    fn settings_go_to_policies_alone() {
        let names = || vec!["cfs".to_string(), "scx:b.o".into(), "scx:c.o[x=1]".into()];
        let set = ["y=2".to_string()];
        let expected = ["cfs", "scx:b.o[y=2]", "scx:c.o[x=1,y=2]"];
        let with = |names, set| with_settings(names, set, "--scx-set");
        assert_eq!(with(names(), &set).as_deref(), Ok(&expected.map(String::from)[..]));
        assert_eq!(with(names(), &[]), Ok(names()));
        assert!(with(vec!["cfs".into()], &set).is_err());
    }

    #[test]
    fn settings_are_read_from_files() {
        let text = "slice_ns = 5\nfifo = true\nweights = [1, -2]\n\"ops.flags\" = 2\n[map.q]\n\
                    max_entries = 7\n";
        let expected = [
            "fifo=1",
            "map.q.max_entries=7",
            "ops.flags=2",
            "slice_ns=5",
            "weights[0]=1",
            "weights[1]=-2",
        ];
        let mut read = config("c.toml", text).unwrap_or_default();
        read.sort();
        assert_eq!(read, expected);
        assert!(
            config("c.toml", "x = 1.5").is_err_and(|error| error.contains("c.toml: x is a float"))
        );
    }

    #[test]
    fn what_stands_in_brackets_is_sorted() {
        let bracket = Bracket::read("x=5ms,t[3]=-1,call.init=1/-2,on_error=fallback").err();
        assert!(bracket.is_some_and(|error| error.contains("unit of time")));
        let read = Bracket::read("x_ns=5ms,t[3]=-1,call.init=1/-2,on_error=fallback");
        let Ok(bracket) = read else { panic!("it is in order") };
        assert_eq!(bracket.own.len(), 1);
        let numbers = Bracket::read("a=true,b=0xff,c=18446744073709551615");
        let numbers = numbers.map(|it| it.own.iter().map(Setting::to_string).collect::<Vec<_>>());
        assert_eq!(numbers, Ok(["a=1", "b=255", "c=-1"].map(String::from).to_vec()));
        assert_eq!(bracket.calls, [("init".to_string(), vec![1, -2])]);
        assert_eq!(bracket.on_end, Some(OnEnd::GoOn));
        assert_eq!(bracket.fixed, ["t[3]=-1", "call.init=1/-2", "on_error=fallback"]);
        assert!(Bracket::read("on_error=perhaps").is_err());
        assert!(Bracket::read("call.a=x").is_err_and(|error| error.contains("call.FUNCTION")));
        assert!(Bracket::read("slice").is_err_and(|error| error.contains("NAME=VALUE")));
    }
}
