//! Settings of the columns of a comparison: which scheduler takes which tunables, and which can run
//! the load.

use crate::choice::{Choice, Chosen, Needs};
use crate::error::Error;
use crate::select::all;
use crate::settings::{Axis, Setting};
use schedlab_core::{Difference, RULE_PREFIX, Tunable};
use schedlab_workload::close_names;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// Maximum number of columns that lists of values may make. Each column has a run or more.
pub(crate) const COLUMNS_MAX: usize = 256;

/// Combines each of `chosen` with each combination of the values of `axes`, if it has such
/// tunables. The values of the first axis change last. Returns notes about schedulers that lack a
/// tunable. Settings of one scheduler take precedence over settings of all.
///
/// # Errors
/// There are too many columns, no scheduler has the tunable, or a scheduler lacks a tunable that is
/// set for it alone.
pub(crate) fn columns(
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
            "--set: {} make {} columns with {}; at most {COLUMNS_MAX} are allowed: give fewer values",
            lists.join(" times "),
            of_one.saturating_mul(chosen.len()),
            match chosen.len() {
                1 => "one scheduler".into(),
                many => format!("{many} schedulers"),
            }
        )));
    }
    let mut all: Vec<Chosen> = vec![];
    // Schedulers without a tunable, by tunable.
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
            // A setting of this scheduler alone replaces the axis.
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
            format!("{names}: run unchanged, as {name} is not a tunable of {it}")
        } else {
            format!("left out: {names} ({name} is not a tunable of {it})")
        });
    }
    if all.is_empty() {
        let message = "--set: no scheduler has all of these tunables; give each list to the \
                       schedulers that have it, as in cfs:sched_latency_ns=6e6";
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

/// Returns the schedulers of `chosen` that can run `what`, and a note about those left out.
///
/// # Errors
/// A scheduler that was named cannot run it, or no scheduler can.
pub(crate) fn runnable_schedulers(
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
                        "{chosen} is named twice; it runs once (to compare settings: \
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

/// Schedulers that cannot run a load, by reason.
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
pub(crate) type Settings = Vec<(String, i64)>;

/// Returns the settings of each scheduler, and notes about schedulers that lack a tunable. Settings
/// of all schedulers come first, where the scheduler has such a tunable. Its own settings follow,
/// all of which it has (see [`columns`]).
///
/// # Errors
/// No scheduler has a tunable of that name.
pub(crate) fn tunables_for(
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

/// Returns the settings that are made for all schedulers.
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
            notes.push(format!("{name} is not a tunable of {}", without.join(", ")));
        }
    }
    let own = |known: &Vec<Cow<'static, str>>| {
        let has = |(name, _): &&(String, i64)| known.iter().any(|known| known == name);
        set.iter().filter(has).cloned().collect()
    };
    Ok((known.iter().map(own).collect(), notes))
}

/// Reports that `choices`, with the tunables `known`, lack a tunable: suggests the nearest name
/// that they have, and the releases that have the tunable.
fn unknown_tunable(name: &str, choices: &[Choice], known: &[Vec<Cow<'static, str>>]) -> String {
    let is_rule = |name: &str| name.starts_with(RULE_PREFIX);
    let all = known.iter().flatten().map(Cow::as_ref);
    let names: BTreeSet<&str> = all.filter(|known| is_rule(known) == is_rule(name)).collect();
    let of = match choices {
        [one] => one.to_string(),
        _ => "any of the schedulers".into(),
    };
    if is_rule(name) {
        return unknown_rule(name, &of, choices, &names);
    }
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
        "it has no tunables".into()
    } else {
        format!("the tunables are {}", names.into_iter().collect::<Vec<_>>().join(", "))
    };
    format!("{name} is not a tunable of {of}; {hint}")
}

/// Reports that `choices` cannot switch a difference between releases.
fn unknown_rule(name: &str, of: &str, choices: &[Choice], names: &BTreeSet<&str>) -> String {
    let rule = name.strip_prefix(RULE_PREFIX).unwrap_or(name);
    let has = |choice: &Choice| {
        let scheduler = choice.build(&choice.build_config(&Needs { cpus: 1, ..Needs::default() }));
        let is_it = |difference: &Difference| difference.name == rule;
        scheduler.is_ok_and(|scheduler| scheduler.inspect().differences().iter().any(is_it))
    };
    if choices.iter().any(has) {
        return format!("{name} cannot be switched alone: {of} is built for it");
    }
    let hint = match close_names(name, names.iter().copied()).as_slice() {
        [] if names.is_empty() => "its rules cannot be switched".into(),
        [] => "`schedlab bisect` shows the rules that differ between two releases".into(),
        close => format!("did you mean {}?", close.join(" or ")),
    };
    format!("{name} is not a rule of {of}; {hint}")
}

/// Releases that have a tunable, as text, and whether there are several.
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
