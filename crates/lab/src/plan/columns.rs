//! Selects the columns of a prepared plan that a user names.

use super::prepare::{Contender, Prepared};
use crate::error::Error;
use crate::scheduler_names::whole_names;
use crate::select::{self, Choice};
use crate::settings::{KINDS, Setting};
use schedlab_workload::close_names;

/// Columns that a name selects.
struct ColumnPattern {
    /// One of these schedulers. Empty: any.
    choices: Vec<Choice>,
    /// Whether any release matches.
    any_release: bool,
    /// All of these settings.
    set: Vec<Setting>,
}

impl ColumnPattern {
    fn fits(&self, one: &Contender) -> bool {
        let is_choice = |choice: &Choice| {
            *choice == one.choice || self.any_release && choice.entry.name == one.choice.entry.name
        };
        let has = |setting: &Setting| {
            let tunable = |(name, value): (&str, i64)| {
                one.tunables.iter().any(|(other, is)| other == name && *is == value)
            };
            one.own.contains(setting) || setting.tunable().is_some_and(tunable)
        };
        (self.choices.is_empty() || self.choices.iter().any(is_choice)) && self.set.iter().all(has)
    }
}

/// Parses `cfs`, `cfs@2.6.24`, `cfs:NAME=VALUE`, `NAME=VALUE`, a scheduler's title, or `linux`.
fn pattern(name: &str) -> Result<ColumnPattern, Error> {
    let is_kind = |kind: &&str| name.strip_prefix(kind).is_some_and(|rest| rest.starts_with(':'));
    let bare_setting = name.contains('=') && !name.contains([':', '[']);
    if bare_setting || KINDS.iter().any(is_kind) {
        let setting = Setting::parse(name).map_err(Error::Plan)?;
        return Ok(ColumnPattern { choices: vec![], any_release: false, set: vec![setting] });
    }
    // A list cuts a title at its commas, so each of its parts selects the scheduler.
    let is_titled = |choice: &Choice| {
        choice.entry.title.split(',').any(|part| part.trim().eq_ignore_ascii_case(name))
    };
    let titled: Vec<Choice> = select::defaults().into_iter().filter(is_titled).collect();
    if !titled.is_empty() {
        return Ok(ColumnPattern { choices: titled, any_release: true, set: vec![] });
    }
    let chosen = select::choose(&[name])?;
    let set = chosen.first().map_or(vec![], |one| one.set.clone());
    let choices = chosen.into_iter().map(|one| one.choice).collect();
    Ok(ColumnPattern { choices, any_release: !name.contains('@'), set })
}

impl Prepared {
    /// Keeps only the columns that `names` name, in that order. A name is a scheduler's name or
    /// title, with or without its release and settings, or settings alone.
    ///
    /// # Errors
    /// A name that no column has.
    pub fn keep_columns(&mut self, names: &[impl AsRef<str>]) -> Result<(), Error> {
        let mut kept: Vec<Contender> = vec![];
        for name in whole_names(names) {
            let name = name.trim();
            let there = || self.schedulers().iter();
            let all = || there().map(Contender::to_string).collect::<Vec<_>>();
            let pattern = pattern(name).map_err(|error| {
                let names: Vec<&str> = there().map(|one| one.choice.entry.name.as_ref()).collect();
                match close_names(name, names.iter().copied()).first() {
                    Some(close) => {
                        Error::Plan(format!("no column is {name}; did you mean {close}?"))
                    }
                    None => Error::Plan(format!("{error}; the columns are {}", all().join(", "))),
                }
            })?;
            let found: Vec<Contender> = there().filter(|one| pattern.fits(one)).cloned().collect();
            if found.is_empty() {
                let all = all().join(", ");
                return Err(Error::Plan(format!("no column is {name}; the columns are {all}")));
            }
            kept.extend(found.into_iter().filter(|one| !kept.contains(one)).collect::<Vec<_>>());
        }
        self.replace_columns(kept);
        Ok(())
    }
}
