//! libcgroup's `cgrules.conf`: rules that put tasks in groups by user, group and program, as
//! cgclassify 2.0.2 follows them.
//!
//! ```text
//! # who            controllers  destination
//! root:make        cpu          build
//! @students        cpu,cpuset   students/%u
//! %                freezer      all
//! *                *            others
//! ```
//!
//! The **first** rule that fits a process counts, with the `%` lines directly below it, which say
//! more about other controllers. Nothing after them does, not even for controllers that they leave
//! out. A rule for a user or group that does not exist is passed over, and so are its `%` lines. On
//! a real machine the rules act when a process execs or changes its user; here they can be asked
//! when a task is made ([`Rules::classify`]).
//!
//! Who exists, and who is in which group, the caller says: [`Accounts`].

mod accounts;
mod place;
mod template;

pub use accounts::Accounts;

use super::path::normal_path;
use super::settings::Note;
use super::text::{Fault, Text, shown};
use crate::diagnostic::{Diagnostic, Span};
use accounts::{Gid, Uid};

/// The rules of a file.
#[derive(Clone, Debug)]
pub struct Rules {
    text: Text,
    rules: Vec<Rule>,
}

/// A rule with its `%` lines.
#[derive(Clone, Debug)]
struct Rule {
    subject: Subject,
    /// The program; none = any.
    process: Option<String>,
    /// The subject, for notes.
    span: Span,
    /// Whether the process is left where it is.
    ignore: bool,
    moves: Vec<RuleMove>,
}

/// What a rule says about some controllers.
#[derive(Clone, Debug)]
struct RuleMove {
    controllers: Vec<String>,
    destination: String,
    span: Span,
}

/// Whom a rule is for.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Subject {
    User(String),
    Group(String),
    Everyone,
}

/// A process that is to be put in groups.
#[derive(Clone, Copy, Debug)]
pub struct Process<'a> {
    /// The name of its user.
    pub user: &'a str,
    /// The name of its group; none = its user's.
    pub group: Option<&'a str>,
    /// The path of its program, or just the name. (The key of a task.)
    pub name: &'a str,
    /// Its number.
    pub pid: u32,
}

/// Where a process belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No rule fits: it stays where it is.
    NoRule,
    /// A rule says that it stays where it is.
    Ignore,
    /// It moves, for each of these controllers.
    Move(Vec<Move>),
}

/// A move to a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// The controllers as the rule names them; `*` = all.
    pub controllers: Vec<String>,
    /// The group in the form of [`Group::path`](super::Group::path); `""` is the root.
    pub path: String,
    /// If the rule's destination says `%u` or the like: that, e.g. `/students/%u`. Such a group is
    /// made when it is missing, with the settings of the
    /// [template](super::cgconfig::CgConfig::template) of the same name. One that is missing
    /// otherwise is an error.
    pub template: Option<String>,
}

impl Verdict {
    /// The first move for `controller`.
    pub fn destination(&self, controller: &str) -> Option<&Move> {
        let Verdict::Move(moves) = self else { return None };
        let speaks = |name: &String| name == "*" || name == controller;
        moves.iter().find(|to| to.controllers.iter().any(speaks))
    }
}

/// Reads a file.
///
/// # Errors
/// The first thing in it that cannot be understood.
pub fn parse(file: &str, text: &str) -> Result<Rules, Diagnostic> {
    let text = Text::new(file, text)?;
    let mut rules: Vec<Rule> = Vec::new();
    for line in text.text().trim_start_matches('\u{feff}').lines() {
        let line = line.split_once('#').map_or(line, |(line, _)| line);
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            [] => {}
            [who, controllers, destination, ref options @ ..] => {
                let to = rule_move(&text, controllers, destination)?;
                let ignore = ignore(&text, options)?;
                if who == "%" {
                    let Some(rule) = rules.last_mut() else {
                        let fault =
                            Fault::new("`%` goes on with the rule above, and there is none");
                        return Err(fault.at(&text, text.span_of(who), ""));
                    };
                    if ignore {
                        let fault =
                            Fault::new("`ignore` in a line that goes on with the rule above");
                        let fault = fault.with_help("it stands in the rule's first line");
                        return Err(fault.at(&text, text.span_of(options[0]), ""));
                    }
                    rule.moves.push(to);
                } else {
                    rules.push(rule(&text, who, to, ignore)?);
                }
            }
            _ => {
                let fault = Fault::new("a rule has three fields: who, controllers and destination")
                    .with_help("for example `@students cpu students/%u`");
                return Err(fault.at(&text, text.span_of(line.trim()), ""));
            }
        }
    }
    Ok(Rules { text, rules })
}

fn rule(text: &Text, who: &str, to: RuleMove, ignore: bool) -> Result<Rule, Diagnostic> {
    let (name, process) = match who.split_once(':') {
        Some((name, process)) => (name, Some(process)),
        None => (who, None),
    };
    let wrong = |fault: Fault| Err(fault.at(text, text.span_of(who), ""));
    if name == "%" {
        let fault = Fault::new("`%` takes over the program of the rule above");
        return wrong(fault.with_help("write just `%`"));
    }
    if process == Some("") {
        let fault = Fault::new(format!("`{}` names no program", shown(who)));
        return wrong(fault.with_help(format!("for any program write `{}`", shown(name))));
    }
    let subject = match name.strip_prefix('@') {
        _ if name == "*" => Subject::Everyone,
        None if name.is_empty() => {
            return wrong(Fault::new(format!("`{}` names no user", shown(who))));
        }
        None => Subject::User(name.into()),
        Some("") => return wrong(Fault::new(format!("`{}` names no group of users", shown(who)))),
        Some(group) => Subject::Group(group.into()),
    };
    Ok(Rule {
        subject,
        process: process.map(str::to_string),
        span: text.span_of(who),
        ignore,
        moves: vec![to],
    })
}

fn rule_move(text: &Text, controllers: &str, destination: &str) -> Result<RuleMove, Diagnostic> {
    let names: Vec<String> = controllers.split(',').map(str::to_string).collect();
    if names.iter().any(String::is_empty) {
        let fault = Fault::new(format!("`{}` is no list of controllers", shown(controllers)))
            .with_help("they are written like `cpu,cpuset`, without blanks; `*` is all");
        return Err(fault.at(text, text.span_of(controllers), ""));
    }
    let span = text.span_of(destination);
    template::check(destination)
        .and_then(|()| normal_path(destination).map_err(Fault::new))
        .map_err(|fault| fault.at(text, span, ""))?;
    Ok(RuleMove { controllers: names, destination: destination.into(), span })
}

fn ignore(text: &Text, options: &[&str]) -> Result<bool, Diagnostic> {
    match options {
        [] => Ok(false),
        ["ignore"] => Ok(true),
        [first, ..] => {
            let fault = Fault::new(format!("unknown option `{}`", shown(first)));
            let fault = match *first {
                "ignore_rt" | "ignore,ignore_rt" => fault.with_help(
                    "that is libcgroup 3's; these rules are those of 2.0.2, which has `ignore`",
                ),
                _ => fault.with_help("the only option is `ignore`"),
            };
            Err(fault.at(text, text.span_of(first), ""))
        }
    }
}

impl Rules {
    /// Where a process belongs.
    ///
    /// # Errors
    /// If its user or group is not among the accounts, or if a destination with its names filled in
    /// is no path.
    pub fn classify(
        &self,
        accounts: &Accounts,
        process: Process<'_>,
    ) -> Result<Verdict, Diagnostic> {
        let unknown =
            |message: String| Diagnostic::without_source(self.text.name(), process.name, message);
        let Some((uid, own_gid)) = accounts.user(process.user) else {
            return Err(unknown(format!("there is no user `{}`", shown(process.user))));
        };
        let gid = match process.group {
            None => own_gid,
            Some(name) => accounts
                .group(name)
                .ok_or_else(|| unknown(format!("there is no group of users `{}`", shown(name))))?,
        };
        let fits =
            |rule: &&Rule| rule.is_for(accounts, uid, gid) && rule.is_for_program(process.name);
        match self.rules.iter().find(fits) {
            None => Ok(Verdict::NoRule),
            Some(rule) if rule.ignore => Ok(Verdict::Ignore),
            Some(rule) => {
                let moves = rule.moves.iter().map(|to| self.fill(accounts, to, process, uid, gid));
                Ok(Verdict::Move(moves.collect::<Result<_, _>>()?))
            }
        }
    }

    /// Rules that are passed over because nobody is called so.
    pub fn notes(&self, accounts: &Accounts) -> Vec<Note> {
        let passed_over = |rule: &&Rule| match &rule.subject {
            Subject::User(name) => accounts.user(name).is_none(),
            Subject::Group(name) => accounts.group(name).is_none(),
            Subject::Everyone => false,
        };
        let note = |rule: &Rule| {
            let message = match &rule.subject {
                Subject::Group(name) => {
                    format!("the rule is passed over: there is no group of users `{name}`")
                }
                Subject::User(name) => {
                    format!("the rule is passed over: there is no user `{name}`")
                }
                Subject::Everyone => unreachable!("there is always someone"),
            };
            Note::new(&self.text, rule.span, message)
        };
        self.rules.iter().filter(passed_over).map(note).collect()
    }

    fn fill(
        &self,
        accounts: &Accounts,
        to: &RuleMove,
        process: Process<'_>,
        uid: Uid,
        gid: Gid,
    ) -> Result<Move, Diagnostic> {
        let values = template::Values {
            user: process.user,
            uid,
            group: accounts.name_of(gid),
            gid,
            process: process.name,
            pid: process.pid,
        };
        let filled = values.fill(&to.destination);
        let path = normal_path(&filled)
            .map_err(|message| Fault::new(message).at(&self.text, to.span, ""))?;
        let template = template::is_template(&to.destination).then_some(to.destination.as_str());
        Ok(Move {
            controllers: to.controllers.clone(),
            path,
            template: template.and_then(|template| normal_path(template).ok()),
        })
    }
}

impl Rule {
    fn is_for(&self, accounts: &Accounts, uid: Uid, gid: Gid) -> bool {
        match &self.subject {
            Subject::Everyone => true,
            Subject::User(name) => accounts.user(name).is_some_and(|(other, _)| other == uid),
            Subject::Group(name) => accounts
                .group(name)
                .is_some_and(|other| other == gid || accounts.is_member(uid, other)),
        }
    }

    /// The full name, its last component, or the beginning of the full name before a `*`.
    fn is_for_program(&self, name: &str) -> bool {
        match &self.process {
            None => true,
            Some(wanted) => {
                wanted == name
                    || wanted == last_component(name)
                    || wanted.strip_suffix('*').is_some_and(|prefix| name.starts_with(prefix))
            }
        }
    }
}

fn last_component(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
