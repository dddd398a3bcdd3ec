//! libcgroup's `cgrules.conf`: rules that assign tasks to groups by user, group and program, as
//! cgclassify 2.0.2 applies them.
//!
//! ```text
//! # subject        controllers  destination
//! root:make        cpu          build
//! @students        cpu,cpuset   students/%u
//! %                freezer      all
//! *                *            others
//! ```
//!
//! The **first** rule that matches a process counts, with the `%` lines directly below it, which
//! add further controllers. Nothing after them counts, not even for controllers that they leave
//! out. A rule for a user or group that does not exist is ignored, together with its `%` lines. On
//! a real machine the rules act when a process execs or changes its user. Here they are applied
//! when a task is created ([`Rules::classify`]).
//!
//! Users and the members of groups come from the caller: [`Accounts`].

mod accounts;
mod place;
mod template;

pub use accounts::Accounts;

use super::settings::Note;
use super::text::{Fault, Text, shown};
use crate::diagnostic::{Diagnostic, Span};
use crate::group_path::normal_path;
use accounts::{Gid, Uid};

/// Rules of a file.
#[derive(Clone, Debug)]
pub struct Rules {
    text: Text,
    rules: Vec<Rule>,
}

/// A rule with its `%` lines.
#[derive(Clone, Debug)]
struct Rule {
    subject: Subject,
    /// Program; `None`: any.
    process: Option<String>,
    /// Subject, for notes.
    span: Span,
    /// Whether the process is left in its groups.
    ignore: bool,
    moves: Vec<RuleMove>,
}

/// Destination of a rule for some controllers.
#[derive(Clone, Debug)]
struct RuleMove {
    controllers: Vec<String>,
    destination: String,
    span: Span,
}

/// Subject of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Subject {
    User(String),
    Group(String),
    Any,
}

/// A process that is to be assigned to groups.
#[derive(Clone, Copy, Debug)]
pub struct Process<'a> {
    /// Name of its user.
    pub user: &'a str,
    /// Name of its group; `None`: its user's.
    pub group: Option<&'a str>,
    /// Path of its program, or just the name. (The key of a task.)
    pub name: &'a str,
    /// Number of the process.
    pub pid: u32,
}

/// Groups of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No rule matches: it stays in its groups.
    NoRule,
    /// A rule leaves it in its groups.
    Ignore,
    /// It moves, for each of these controllers.
    Move(Vec<Move>),
}

/// A move to a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// Controllers as named by the rule; `*`: all.
    pub controllers: Vec<String>,
    /// Group in the format of [`Group::path`](super::Group::path); `""` is the root.
    pub path: String,
    /// Destination of the rule, if it contains a placeholder such as `%u`, for example
    /// `/students/%u`. Such a group is created when it is missing, with the settings of the
    /// [template](super::cgconfig::CgConfig::template) of the same name. Any other missing group is
    /// an error.
    pub template: Option<String>,
}

impl Verdict {
    /// Returns the first move for `controller`.
    pub fn destination(&self, controller: &str) -> Option<&Move> {
        let Verdict::Move(moves) = self else { return None };
        let speaks = |name: &String| name == "*" || name == controller;
        moves.iter().find(|to| to.controllers.iter().any(speaks))
    }
}

/// Reads a file.
///
/// # Errors
/// The first error in it.
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
                        let fault = Fault::new("`%` continues the rule above, but there is none");
                        return Err(fault.at(&text, text.span_of(who), ""));
                    };
                    if ignore {
                        let fault = Fault::new("`ignore` in a line that continues the rule above");
                        let fault = fault.with_help("write it in the first line of the rule");
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
        let fault = Fault::new("`%` uses the program of the rule above");
        return wrong(fault.with_help("write just `%`"));
    }
    if process == Some("") {
        let fault = Fault::new(format!("`{}` names no program", shown(who)));
        return wrong(fault.with_help(format!("for any program write `{}`", shown(name))));
    }
    let subject = match name.strip_prefix('@') {
        _ if name == "*" => Subject::Any,
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
        let fault = Fault::new(format!("`{}` is not a list of controllers", shown(controllers)))
            .with_help("write them like `cpu,cpuset`, without blanks; `*` means all");
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
                    "that option is from libcgroup 3; these are the rules of 2.0.2, which has only `ignore`",
                ),
                _ => fault.with_help("the only option is `ignore`"),
            };
            Err(fault.at(text, text.span_of(first), ""))
        }
    }
}

impl Rules {
    /// Returns the groups of a process.
    ///
    /// # Errors
    /// If its user or group is not among the accounts, or if a destination with its placeholders
    /// filled in is not a path.
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

    /// Returns notes on rules that are ignored because their users or groups do not exist.
    pub fn notes(&self, accounts: &Accounts) -> Vec<Note> {
        let passed_over = |rule: &&Rule| match &rule.subject {
            Subject::User(name) => accounts.user(name).is_none(),
            Subject::Group(name) => accounts.group(name).is_none(),
            Subject::Any => false,
        };
        let note = |rule: &Rule| {
            let message = match &rule.subject {
                Subject::Group(name) => {
                    format!("the rule is ignored: there is no group of users `{name}`")
                }
                Subject::User(name) => {
                    format!("the rule is ignored: there is no user `{name}`")
                }
                Subject::Any => unreachable!("a rule for all users always applies"),
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
            Subject::Any => true,
            Subject::User(name) => accounts.user(name).is_some_and(|(other, _)| other == uid),
            Subject::Group(name) => accounts
                .group(name)
                .is_some_and(|other| other == gid || accounts.is_member(uid, other)),
        }
    }

    /// Matches the full name, its last component, or the beginning of the full name before a `*`.
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
