//! sched_ext policies in files as schedulers: `scx:FILE` wherever a scheduler's name may stand.
//!
//! The engine knows a scheduler by a static entry, whose release has a function that makes one and
//! is told nothing but the machine. A file comes with a name. So there is a number of slots, each
//! with a function of its own; a policy is put in one of them until the program ends.
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
use crate::stress::World;
use schedlab_core::{
    BuildConfig, Capabilities, Entry, Origin, Policy, Promises, Release, Scheduler,
};
use schedlab_scx::log::Log;
use schedlab_scx::ops::Callback;
use schedlab_scx::user_half::Script;
use schedlab_scx::{Image, Object, OnEnd, Options, Profile, ScxScheduler, Target};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many policies can be named in one program.
const SLOTS: usize = 64;

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

/// A policy in its slot.
struct Held {
    /// As the user named it: the file.
    file: String,
    /// What belongs to the policy and is no tunable of its, as it stands in brackets.
    fixed: Vec<String>,
    bytes: Arc<[u8]>,
    object: Arc<Object>,
    settings: Arc<[schedlab_scx::Setting]>,
    calls: Arc<[Call]>,
    on_end: OnEnd,
    put_back_ns: u64,
    /// The script of its user half, with the file's name.
    user: Option<(String, Arc<Script>)>,
    expects: Expects,
    promises: Promises,
    images: Vec<(Target, Arc<Image>)>,
    entry: &'static Entry,
}

static ALL: Mutex<Vec<Held>> = Mutex::new(Vec::new());

/// Who is told what policies do.
static LOG: Mutex<Option<Log>> = Mutex::new(None);

fn all() -> MutexGuard<'static, Vec<Held>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Held {
    fn image(&mut self, target: Target) -> Result<Arc<Image>, String> {
        if let Some((_, image)) = self.images.iter().find(|(other, _)| *other == target) {
            return Ok(Arc::clone(image));
        }
        let image = linked(&self.object, target, &self.settings, self.user.as_ref())?;
        let image = Arc::new(image);
        if self.images.len() == IMAGES_KEPT {
            self.images.remove(0);
        }
        self.images.push((target, Arc::clone(&image)));
        Ok(image)
    }

    /// What one of the policy is made of.
    fn parts(&mut self, target: Target) -> Result<Parts, String> {
        let image = self.image(target)?;
        let options = Options {
            on_end: self.on_end,
            put_back_ns: self.put_back_ns,
            promises: self.promises,
            ..Options::default()
        };
        Ok(Parts { image, options, calls: Arc::clone(&self.calls) })
    }
}

/// What a policy is made of, on a machine.
struct Parts {
    image: Arc<Image>,
    options: Options,
    calls: Arc<[Call]>,
}

/// One of the policy in a slot. The slots are not held while it is made: its maps may be large.
fn scheduler(slot: usize, config: &BuildConfig, profile: Profile) -> Result<ScxScheduler, String> {
    let target = Target { cpus: config.topology.cpus(), hz: config.hz };
    let parts = match all().get_mut(slot) {
        Some(held) => held.parts(target)?,
        None => return Err("there is no policy in the slot".into()),
    };
    let Parts { image, options, calls } = parts;
    let mut scheduler = ScxScheduler::new(image, config, Options { profile, ..options });
    let of_preset = match Preset::of(&scheduler.image().name) {
        Some(preset) => preset.calls(scheduler.image(), target.cpus),
        None => vec![],
    };
    // Whoever calls a program for himself does it alone.
    let user = scheduler.image().user.clone();
    let is_own = |name: &String| {
        calls.iter().any(|(other, _)| other == name)
            || user.as_ref().is_some_and(|it| it.calls(name))
    };
    let of_preset = of_preset.into_iter().filter(|(name, _)| !is_own(name));
    for (function, args) in of_preset.chain(calls.iter().cloned()) {
        scheduler.call_first(&function, &args).map_err(|error| error.to_string())?;
    }
    if let Some(log) = LOG.lock().unwrap_or_else(PoisonError::into_inner).clone() {
        scheduler.log_to(log);
    }
    Ok(scheduler)
}

/// The function of slot `N`, with the class of 6.18 or a later one.
fn build<const N: usize, const LATER: bool>(config: &BuildConfig) -> Box<dyn Scheduler> {
    let profile = if LATER { Profile::V7_3 } else { Profile::V6_18 };
    match scheduler(N, config, profile) {
        Ok(scheduler) => Box::new(scheduler),
        // The engine catches it where it catches a scheduler that panics.
        Err(message) => std::panic::resume_unwind(Box::new(message)),
    }
}

macro_rules! builders {
    ($($number:literal)*) => { [$([build::<$number, false>, build::<$number, true>]),*] };
}

type Build = fn(&BuildConfig) -> Box<dyn Scheduler>;

static BUILDERS: [[Build; 2]; SLOTS] = builders![
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
];

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
        all.retain(|setting| !script.sets(&setting.what));
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
    let entry = hold(file, bracket)?;
    let known = entry.releases.iter().find(|it| it.version == release);
    let choice = Choice { entry, release: known.unwrap_or(&entry.releases[0]) };
    Ok((choice, own))
}

fn hold(file: &str, bracket: Bracket) -> Result<&'static Entry, String> {
    let bytes = bytes_of(Path::new(file))?;
    let user = match &bracket.user {
        Some(user) => Some((user.clone(), Arc::new(scx_user::read(Path::new(user))?))),
        None => None,
    };
    let mut all = all();
    let fixed = bracket.fixed;
    let is_it = |held: &&mut Held| held.file == file && held.fixed == fixed;
    if let Some(held) = all.iter_mut().find(is_it)
        && *held.bytes == *bytes
        && held.user == user
    {
        return Ok(held.entry);
    }
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
    let held = |entry| Held {
        file: file.into(),
        fixed: fixed.clone(),
        bytes: bytes.into(),
        object: Arc::new(object),
        settings: settings.into(),
        calls: calls.into(),
        on_end: bracket.on_end.unwrap_or_default(),
        put_back_ns: bracket.put_back_ns,
        user: user.clone(),
        expects: bracket.expects.clone(),
        promises: bracket.promises,
        images: vec![],
        entry,
    };
    let name_of = |entry: &Entry| entry.name.split(['(', '#']).next().unwrap_or("").to_string();
    let base = format!("scx_{}", image.name);
    if let Some(old) = all.iter_mut().find(is_it)
        && name_of(old.entry) == base
    {
        // The file was compiled again.
        *old = held(old.entry);
        return Ok(old.entry);
    }
    let slot = all.len();
    let Some(&build) = BUILDERS.get(slot) else {
        return Err(format!("{PREFIX}{file}: {SLOTS} sched_ext policies are the most"));
    };
    let is_taken = |name: &str| all.iter().any(|held| held.entry.name == name);
    let with = match fixed.as_slice() {
        [] => String::new(),
        fixed => format!("({})", fixed.join(",")),
    };
    let mut name = format!("{base}{with}");
    let mut number = 2;
    while is_taken(&name) {
        name = format!("{base}#{number}{with}");
        number += 1;
    }
    // A group's limit is the policy's affair, and only some look after it.
    let quotas = image.callback(Callback::CGROUP_SET_BANDWIDTH).is_some();
    let entry = entry(name, format!("sched_ext: {}", image.name), file, build, quotas);
    all.push(held(entry));
    Ok(entry)
}

/// Entries live as long as the program; there are at most [`SLOTS`].
fn entry(
    name: String,
    title: String,
    file: &str,
    build: [Build; 2],
    quotas: bool,
) -> &'static Entry {
    let release = |version: &'static str, build: Build| Release {
        version,
        also: &[],
        summary: "the class of this Linux round the policy",
        golden: &[],
        hz_default: HZ,
        hz_range: (100, 1000),
        cpus_max: 512,
        policies: &[Policy::Other, Policy::Batch, Policy::Idle],
        can: Capabilities { groups: true, quotas, ..Capabilities::BASIC },
        kernel: Some(version),
        build,
    };
    Box::leak(Box::new(Entry {
        name: Box::leak(name.into_boxed_str()),
        title: Box::leak(title.into_boxed_str()),
        summary: Box::leak(format!("the policy in {file}").into_boxed_str()),
        origin: Origin::Own,
        releases: Box::leak(Box::new([
            release(RELEASES[0], build[0]),
            release(RELEASES[1], build[1]),
        ])),
    }))
}

/// The policy that is held under this name of a scheduler: `scx_vtime`, `scx_vtime@6.18`.
pub(crate) fn held(name: &str) -> Option<Choice> {
    let all = all();
    all.iter().find_map(|held| {
        let entry = held.entry;
        let release = entry.releases.iter().find(|release| entry.is_called(release, name))?;
        Some(Choice { entry, release })
    })
}

/// Whether a scheduler is a policy in a file.
pub fn is_policy(choice: &Choice) -> bool {
    choice.entry.origin == Origin::Own
        && all().iter().any(|held| std::ptr::eq(held.entry, choice.entry))
}

/// What a policy asks of the machine that a random world breaks; none: nothing.
pub fn broken_by(choice: &Choice, world: &World) -> Option<String> {
    let all = all();
    let held = all.iter().find(|held| std::ptr::eq(held.entry, choice.entry))?;
    held.expects.broken_by(world)
}

/// What users write for a policy with `own` set: `scx:FILE[...]`. None: it is none.
pub fn spec(choice: &Choice, own: &[Setting]) -> Option<String> {
    let all = all();
    let held = all.iter().find(|held| std::ptr::eq(held.entry, choice.entry))?;
    let items: Vec<String> =
        held.fixed.iter().cloned().chain(own.iter().map(Setting::to_string)).collect();
    let brackets = if items.is_empty() { String::new() } else { format!("[{}]", items.join(",")) };
    let release = match choice.release.version {
        version if version == RELEASES[0] => String::new(),
        version => format!("@{version}"),
    };
    Some(format!("{PREFIX}{}{release}{brackets}", held.file))
}

/// The same policy with tunables set once and for all: for those who run it without settings of a
/// scheduler's own (benchmarks, random worlds).
///
/// # Errors
/// One cannot be set.
pub fn fixed(choice: &Choice, own: &[Setting]) -> Result<Choice, String> {
    let (file, mut bracket) = {
        let all = all();
        let held = all.iter().find(|held| std::ptr::eq(held.entry, choice.entry));
        let held = held.ok_or_else(|| format!("{choice} is no sched_ext policy"))?;
        (held.file.clone(), Bracket::read(&held.fixed.join(","))?)
    };
    for setting in own {
        if setting.tunable().is_none() {
            return Err(format!("{setting}: only what is the policy's own can be set here"));
        }
        let text = setting.to_string();
        let element = schedlab_scx::Setting::read(&text).map_err(|error| error.to_string())?;
        bracket.elements.push(element);
        bracket.fixed.push(text);
    }
    let entry = hold(&file, bracket)?;
    let same = entry.releases.iter().find(|it| it.version == choice.release.version);
    Ok(Choice { entry, release: same.unwrap_or(&entry.releases[0]) })
}

/// The same of those among `chosen` that are policies.
///
/// # Errors
/// A setting of one cannot be made.
pub fn all_fixed(chosen: &[Chosen]) -> Result<Vec<Chosen>, Error> {
    let one = |one: &Chosen| match one.set.is_empty() || !is_policy(&one.choice) {
        true => Ok(one.clone()),
        false => {
            let choice = fixed(&one.choice, &one.set).map_err(Error::Plan)?;
            Ok(Chosen { choice, set: vec![], ..one.clone() })
        }
    };
    chosen.iter().map(one).collect()
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
