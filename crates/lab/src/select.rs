//! Which schedulers there are, which are meant by a name, and which can run a machine and a load.

use crate::error::Error;
use crate::scx;
use crate::settings::{Axis, KINDS, Setting, in_brackets};
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{BuildConfig, Entry, Origin, Policy, Release, Scheduler, Tunable};
use schedlab_sched::nearest::{Nearest, nearest};
use schedlab_sched::registry::{self, LookupError};
use schedlab_workload::close_names;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// One release of one scheduler, chosen to be run.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The scheduler.
    pub entry: Cow<'static, Entry>,
    /// The release.
    pub release: Cow<'static, Release>,
    /// The policy that it is, if it was loaded from a file.
    pub(crate) policy: Option<Arc<scx::Policy>>,
}

impl PartialEq for Choice {
    fn eq(&self, other: &Choice) -> bool {
        self.entry.name == other.entry.name
            && self.release.version == other.release.version
            && self.policy == other.policy
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
    let first = |entry: &&'static Entry| Choice::of(entry, &entry.releases[0]);
    registry::ALL.iter().map(first).collect()
}

/// The schedulers that Linux had, each in its default release.
pub fn linux() -> Vec<Choice> {
    of_origin(Origin::Linux)
}

/// The main line: what most machines ran, from 2.4 on, and what it was compared with: 2.4, the O(1)
/// scheduler of 2.6, CFS, BFS, EEVDF. Each in its default release.
pub fn main_line() -> Vec<Choice> {
    let is_of_it = |choice: &Choice| MAIN_LINE.contains(&choice.entry.name.as_ref());
    linux().into_iter().filter(is_of_it).collect()
}

/// The newest of the main line: what a recent kernel runs.
pub fn newest() -> Option<Choice> {
    main_line().pop()
}

/// The names of the main line.
const MAIN_LINE: [&str; 5] = ["o_n", "o_1", "cfs", "bfs", "eevdf"];

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
        entry.releases.iter().map(move |release| Choice::of(entry, release))
    };
    registry::ALL.iter().flat_map(of).collect()
}

/// Finds `cfs` or `cfs@2.6.24`, first among `own`.
///
/// # Errors
/// Says what was not found, and what there is.
fn find_among(name: &str, own: &[Choice]) -> Result<Choice, UnknownScheduler> {
    let is_called = |choice: &&Choice| choice.entry.is_called(&choice.release, name);
    own.iter().find(is_called).cloned().map_or_else(|| find(name), Ok)
}

/// The scheduler of a kernel of this release: `eevdf@6.18` of `6.18.3-lab`; of those that are here
/// the nearest.
pub fn of_kernel(release: &str) -> Option<String> {
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
/// Says what was not found, and what there is.
pub fn find(name: &str) -> Result<Choice, UnknownScheduler> {
    if scx::is_spec(name) {
        let (choice, set) = scx::choose(name).map_err(UnknownScheduler)?;
        return match set.is_empty() {
            true => Ok(choice),
            false => scx::fixed(&choice, &set).map_err(UnknownScheduler),
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

/// A scheduler that a user asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// Which.
    pub choice: Choice,
    /// Whether by its own name, rather than as one of many.
    pub named: bool,
    /// What is set for it alone: `eevdf[DELAY_DEQUEUE=0]`, or `eevdf:DELAY_DEQUEUE=0`.
    pub set: Vec<Setting>,
    /// It was named so again: it is run once all the same.
    pub again: bool,
}

impl fmt::Display for Chosen {
    /// As users write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.choice, in_brackets(&self.set))
    }
}

/// Where in `text` a scheduler's name ends and its settings begin, if it has any.
fn settings_at(text: &str) -> Option<usize> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.' | '-');
    let at = text.find(['[', ':'])?;
    (at > 0 && text[..at].chars().all(is_name)).then_some(at)
}

/// `eevdf[DELAY_DEQUEUE=0,base_slice_ns=3000000]` or `eevdf:DELAY_DEQUEUE=0,base_slice_ns=3ms` as
/// the name and what is set; without either nothing is.
fn with_settings(name: &str) -> Result<(&str, Vec<Setting>), UnknownScheduler> {
    let Some(at) = settings_at(name) else {
        if name.contains('=') {
            return Err(UnknownScheduler(format!(
                "{name}: whose setting is this? It stands behind a scheduler's name and a colon, \
                 as in cfs:{name}; --set {name} holds for all"
            )));
        }
        return Ok((name, vec![]));
    };
    let (bare, rest) = (&name[..at], &name[at + 1..]);
    let wrong = |what: &str| {
        UnknownScheduler(format!(
            "{name}: {what}; write it as {bare}:NAME=VALUE,... or {bare}[NAME=VALUE,...]"
        ))
    };
    let inner = if name[at..].starts_with('[') {
        rest.strip_suffix(']').ok_or_else(|| wrong("there is no ] at the end"))?
    } else {
        rest
    };
    let mut set: Vec<Setting> = vec![];
    for setting in inner.split(',').map(str::trim) {
        if !setting.contains('=') {
            let list = match set.last() {
                Some(last) if !setting.is_empty() => format!(
                    " (several values make columns by --set {}={},{setting})",
                    last.name(),
                    last.value()
                ),
                _ => String::new(),
            };
            return Err(wrong(&format!("a setting has no =: \"{setting}\"{list}")));
        }
        let setting = Setting::parse(setting).map_err(|what| wrong(&what))?;
        if set.iter().any(|other| other.name() == setting.name()) {
            return Err(wrong(&format!("{} is set twice", setting.name())));
        }
        set.push(setting);
    }
    Ok((bare, set))
}

/// Whether `part`, which stands behind a comma, goes on with the settings of the scheduler before
/// it: `b=2` of `cfs:a=1,b=2`, and not `o_1:a=1`.
fn goes_on(part: &str) -> bool {
    let part = part.trim();
    let Some(equals) = part.find('=') else {
        // A value of a list, which does not belong there: said where settings are read.
        return part.starts_with(|c: char| c.is_ascii_digit());
    };
    match settings_at(part).filter(|at| *at < equals) {
        None => true,
        Some(at) => KINDS.contains(&&part[..at]) && part[at..].starts_with(':'),
    }
}

/// The names in `names`, of which those with settings may have been cut at the commas in them.
pub fn whole_names(names: &[impl AsRef<str>]) -> Vec<String> {
    let mut whole: Vec<String> = vec![];
    for name in names {
        let name = name.as_ref();
        match whole.last_mut() {
            Some(last) if is_open(last, name) => {
                last.push(',');
                last.push_str(name);
            }
            _ => whole.push(name.into()),
        }
    }
    whole
}

/// Whether `part` belongs to the settings of `name`, before it.
fn is_open(name: &str, part: &str) -> bool {
    if scx::is_spec(name) {
        return scx::is_open(name);
    }
    match settings_at(name).map(|at| &name[at..]) {
        Some(settings) if settings.starts_with('[') => !settings.contains(']'),
        Some(_) => goes_on(part),
        None => false,
    }
}

/// The schedulers that `names` stand for, each once, in the order in which they are named: names
/// and releases, `main`, `linux`, `textbook` or `all`. One that is given settings of its own is
/// another than without.
///
/// # Errors
/// The first name that means nothing.
pub fn choose(names: &[impl AsRef<str>]) -> Result<Vec<Chosen>, UnknownScheduler> {
    choose_among(names, &[])
}

/// The same, where names may also be of `own`: schedulers of the caller's own, which stand before
/// those of the registry.
///
/// # Errors
/// The first name that means nothing.
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
        if scx::is_spec(&name) {
            let (choice, set) = scx::choose(&name).map_err(UnknownScheduler)?;
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
    scx::tell_apart(&mut chosen);
    Ok(chosen)
}

/// So many columns at most come of several values; each has a run or more.
pub const COLUMNS_MAX: usize = 256;

/// Each of `chosen` with each combination of the values of `axes` (of the first axis the values
/// change last), so far as it has such tunables; with notes about those that have not. What is set
/// for one alone counts before what is set for all.
///
/// # Errors
/// There would be too many columns; nobody, or not the one for which it is set, has the tunable.
pub fn columns(
    chosen: Vec<Chosen>,
    axes: &[Axis],
    tunables: impl Fn(&Choice) -> Vec<Tunable>,
) -> Result<(Vec<Chosen>, Vec<String>), Error> {
    let axes: Vec<&Axis> = axes.iter().filter(|axis| axis.common().is_none()).collect();
    let of_one = axes.iter().map(|axis| axis.values.len()).product::<usize>();
    let sets_tunables = |set: &[Setting]| set.iter().any(|it| it.tunable().is_some());
    if axes.is_empty() && !chosen.iter().any(|one| sets_tunables(&one.set)) {
        return Ok((chosen, vec![]));
    }
    if !axes.is_empty() && of_one.saturating_mul(chosen.len()) > COLUMNS_MAX {
        let lists: Vec<String> =
            axes.iter().map(|it| format!("{} values of {}", it.values.len(), it.name)).collect();
        return Err(Error::Plan(format!(
            "--set: {} make {} columns with {}; there can be {COLUMNS_MAX}: give fewer values",
            lists.join(" times "),
            of_one.saturating_mul(chosen.len()),
            match chosen.len() {
                1 => "one scheduler".into(),
                many => format!("{many} schedulers"),
            }
        )));
    }
    let mut all: Vec<Chosen> = vec![];
    // Who has no such tunable, by tunable.
    let mut without: Vec<(String, Vec<Choice>)> = vec![];
    let mut asked: Vec<Choice> = vec![];
    for one in chosen {
        let known: Vec<Cow<'static, str>> =
            tunables(&one.choice).iter().map(|tunable| tunable.name.clone()).collect();
        let lacks = |setting: &Setting| {
            setting.tunable().is_some_and(|(name, _)| !known.iter().any(|known| known == name))
        };
        asked.push(one.choice.clone());
        if let Some(unknown) = one.set.iter().find(|setting| lacks(setting)) {
            let name = unknown.name();
            if one.named {
                return Err(Error::Plan(unknown_tunable(
                    &name,
                    std::slice::from_ref(&one.choice),
                    &[known],
                )));
            }
            lacking(&mut without, name, one.choice.clone());
            continue;
        }
        let mut combined = vec![one.set.clone()];
        for axis in &axes {
            // What is set for it alone is no choice any more.
            if one.set.iter().any(|setting| setting.name() == axis.name) {
                continue;
            }
            let mut values: Vec<&Option<Setting>> = axis.values.iter().collect();
            if axis.values.iter().flatten().any(lacks) {
                lacking(&mut without, axis.name.clone(), one.choice.clone());
                values.retain(|value| value.is_none());
            }
            let with = |set: &Vec<Setting>| {
                let with = |value: &&Option<Setting>| set.iter().cloned().chain((*value).clone());
                values.iter().map(|value| with(value).collect()).collect::<Vec<Vec<Setting>>>()
            };
            combined = combined.iter().flat_map(with).collect();
        }
        for set in combined {
            let is_there = |other: &Chosen| other.choice == one.choice && other.set == set;
            if !all.iter().any(is_there) {
                all.push(Chosen { set, ..one.clone() });
            }
        }
    }
    let mut notes = vec![];
    for (name, choices) in &without {
        if asked.iter().all(|choice| choices.contains(choice)) {
            let known: Vec<Vec<Cow<'static, str>>> = asked
                .iter()
                .map(|choice| tunables(choice).iter().map(|tunable| tunable.name.clone()).collect())
                .collect();
            return Err(Error::Plan(unknown_tunable(name, &asked, &known)));
        }
        let names: Vec<String> = choices.iter().map(Choice::to_string).collect();
        let it = if names.len() == 1 { "it" } else { "them" };
        let names = names.join(", ");
        let as_is = axes.iter().any(|axis| axis.name == *name && axis.values.contains(&None));
        notes.push(if as_is {
            format!("{names}: only as it is, {name} is no tunable of {it}")
        } else {
            format!("left out: {names} ({name} is no tunable of {it})")
        });
    }
    if all.is_empty() {
        let message = "--set: no scheduler has all of these tunables; give each list to those \
                       that have it, as in cfs:sched_latency_ns=6e6";
        return Err(Error::Plan(message.into()));
    }
    Ok((all, notes))
}

fn lacking(without: &mut Vec<(String, Vec<Choice>)>, name: String, choice: Choice) {
    match without.iter_mut().find(|(other, _)| *other == name) {
        Some((_, choices)) if choices.contains(&choice) => {}
        Some((_, choices)) => choices.push(choice),
        None => without.push((name, vec![choice])),
    }
}

/// Those of `chosen` that can run `what`, and a note about the others, which are left out.
///
/// # Errors
/// One that was named cannot, or nobody can.
pub fn runnable_schedulers(
    chosen: &[Chosen],
    what: &str,
    refuses: impl Fn(&Chosen) -> Option<String>,
) -> Result<(Vec<Chosen>, Vec<String>), Error> {
    let mut choices = vec![];
    let mut notes = vec![];
    let mut left_out = LeftOut::default();
    for chosen in chosen {
        match refuses(chosen) {
            None => {
                if chosen.again {
                    notes.push(format!(
                        "{chosen} is named twice; it is run once (to compare settings: \
                         {}:NAME=VALUE)",
                        chosen.choice.entry.name
                    ));
                }
                choices.push(chosen.clone());
            }
            Some(why) if chosen.named => {
                return Err(Error::Plan(format!("{chosen} cannot run {what}: {why}")));
            }
            Some(why) => left_out.add(chosen, why),
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
    by_reason: Vec<(String, Vec<String>)>,
}

impl LeftOut {
    fn add(&mut self, chosen: &Chosen, why: String) {
        let name = chosen.to_string();
        match self.by_reason.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(name),
            None => self.by_reason.push((why, vec![name])),
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (why, names)) in self.by_reason.iter().enumerate() {
            let separator = if number > 0 { "; " } else { "" };
            write!(f, "{separator}{} ({why})", names.join(", "))?;
        }
        Ok(())
    }
}

/// Tunables to set: names and values.
pub type Settings = Vec<(String, i64)>;

/// For each scheduler the settings that it has a tunable for, then its own (which it has: see
/// [`columns`]), and notes about those who have none.
///
/// # Errors
/// A setting that none has a tunable for.
pub fn tunables_for(
    chosen: &[Chosen],
    tunables: impl Fn(&Choice) -> Vec<Tunable>,
    set: &[(String, i64)],
) -> Result<(Vec<Settings>, Vec<String>), Error> {
    let mut choices: Vec<Choice> = vec![];
    for one in chosen {
        if !choices.contains(&one.choice) {
            choices.push(one.choice.clone());
        }
    }
    let (common, notes) = common_tunables(&choices, &tunables, set)?;
    let of = |one: &Chosen| {
        let place = choices.iter().position(|choice| *choice == one.choice);
        let mut settings = place.map_or(vec![], |place| common[place].clone());
        for (name, value) in one.set.iter().filter_map(Setting::tunable) {
            settings.retain(|(other, _)| other != name);
            settings.push((name.into(), value));
        }
        settings
    };
    Ok((chosen.iter().map(of).collect(), notes))
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
    let names =
        |choice: &Choice| tunables(choice).iter().map(|tunable| tunable.name.clone()).collect();
    let known: Vec<Vec<Cow<'static, str>>> = choices.iter().map(names).collect();
    let mut notes = vec![];
    for (name, _) in set {
        let without: Vec<String> = choices
            .iter()
            .zip(&known)
            .filter(|(_, known)| !known.iter().any(|known| known == name))
            .map(|(choice, _)| choice.to_string())
            .collect();
        if without.len() == choices.len() {
            return Err(Error::Plan(unknown_tunable(name, choices, &known)));
        }
        if !without.is_empty() {
            notes.push(format!("{name} is no tunable of {}", without.join(", ")));
        }
    }
    let own = |known: &Vec<Cow<'static, str>>| {
        let has = |(name, _): &&(String, i64)| known.iter().any(|known| known == name);
        set.iter().filter(has).cloned().collect()
    };
    Ok((known.iter().map(own).collect(), notes))
}

/// That `choices`, whose tunables are `known`, have none of that name: the nearest name that they
/// have, and who has it.
fn unknown_tunable(name: &str, choices: &[Choice], known: &[Vec<Cow<'static, str>>]) -> String {
    let names: BTreeSet<&str> = known.iter().flatten().map(Cow::as_ref).collect();
    let of = match choices {
        [one] => one.to_string(),
        _ => "any of the schedulers".into(),
    };
    let (has, others) = who_has(name);
    let close = close_names(name, names.iter().copied());
    let hint = if !has.is_empty() {
        let nearest = match close.first() {
            Some(close) => format!("; the nearest here is {close}"),
            None => String::new(),
        };
        format!("{has} {} it{nearest}", if others { "have" } else { "has" })
    } else if !close.is_empty() {
        format!("did you mean {}?", close.join(" or "))
    } else if names.is_empty() {
        "there are none".into()
    } else {
        format!("there are {}", names.into_iter().collect::<Vec<_>>().join(", "))
    };
    format!("{name} is no tunable of {of}; {hint}")
}

/// The releases that have a tunable, as text, and whether there are several.
fn who_has(name: &str) -> (String, bool) {
    const MOST: usize = 6;
    let has = |choice: &Choice| {
        let scheduler = choice.build(&choice.build_config(&Needs { cpus: 1, ..Needs::default() }));
        let has = |it: &Tunable| it.name == name;
        scheduler.is_ok_and(|scheduler| scheduler.inspect().tunables().iter().any(has))
    };
    let having: Vec<String> = all().iter().filter(|it| has(it)).map(Choice::to_string).collect();
    let more = match having.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = &having[..having.len().min(MOST)];
    (format!("{}{more}", first.join(", ")), having.len() > 1)
}

impl Choice {
    /// A release of a scheduler that is part of the program.
    pub fn of(entry: &'static Entry, release: &'static Release) -> Choice {
        Choice { entry: Cow::Borrowed(entry), release: Cow::Borrowed(release), policy: None }
    }

    /// A scheduler that was loaded while the program runs. `entry` lists no releases.
    pub fn loaded(entry: Entry, release: Release) -> Choice {
        Choice { entry: Cow::Owned(entry), release: Cow::Owned(release), policy: None }
    }

    /// Why it cannot run what `needs` asks for; none: it can.
    pub fn refuses(&self, needs: &Needs) -> Option<String> {
        let release = &self.release;
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
    ///
    /// # Errors
    /// It is a policy in a file, which cannot run on such a machine: the file, and what is wrong.
    pub fn build(&self, config: &BuildConfig) -> Result<Box<dyn Scheduler>, Error> {
        self.release.build(config).map_err(Error::Plan)
    }

    /// How to build it for `needs`, which it does not refuse.
    pub fn build_config(&self, needs: &Needs) -> BuildConfig {
        BuildConfig::flat(needs.cpus, needs.hz.unwrap_or(self.release.hz_default))
    }
}

/// Whether kernels of this release have `NI_RANDOM` on.
pub fn has_ni_random(kernel: &str) -> bool {
    let end = kernel.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(kernel.len());
    let numbers: Vec<u32> = kernel[..end].split('.').map_while(|part| part.parse().ok()).collect();
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    (at(0), at(1), at(2)) >= (6, 18, 15)
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
