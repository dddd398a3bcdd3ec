//! Users of tasks. A workload does not specify users. A file next to it or options do:
//!
//! ```text
//! # tasks       user, and the user's groups
//! video,audio   anna
//! make-*        bob/1001:students/500,audio
//! backup        1002
//! ```
//!
//! Tasks are named by keys, separated by commas, or by patterns. A user is a name, a name and a
//! number, or a number. Users without a number get one from 1000 on, in the order of their first
//! mention; `root` has 0. The first group is the user's own. Without one, the group has the name
//! and the number of the user. Tasks that are not mentioned belong to root. Later lines take
//! precedence.

use super::cgrules::Accounts;
use super::text::{Fault, Text, shown};
use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::model::Model;
use crate::pattern::matches;
use std::collections::BTreeMap;

/// Number of the first user without one.
const FIRST_UID: u32 = 1000;

/// Users, and the tasks that belong to them.
#[derive(Clone, Debug, Default)]
pub struct Users {
    lines: Vec<Line>,
}

/// User of some tasks.
#[derive(Clone, Debug)]
struct Line {
    text: Text,
    /// Tasks with their positions.
    tasks: Vec<(String, Span)>,
    user: Name,
    groups: Vec<Name>,
}

/// A user or a group of users, with its number if given.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Name {
    name: String,
    number: Option<u32>,
}

/// A user with a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    /// Name; if only a number was given, that.
    pub name: String,
    /// Number.
    pub uid: u32,
}

impl Users {
    /// Reads a file: tasks and their user, one line each.
    ///
    /// # Errors
    /// The first line with an error.
    pub fn parse(file: &str, text: &str) -> Result<Users, Diagnostic> {
        let text = Text::new(file, text)?;
        let mut users = Users::default();
        for line in text.text().trim_start_matches('\u{feff}').lines() {
            let line = line.split_once('#').map_or(line, |(line, _)| line).trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [tasks, user] => users.lines.push(Line::read(&text, tasks, user)?),
                _ => {
                    let fault = Fault::new("a line has two fields: tasks and user")
                        .with_help("for example `video,audio anna` or `make-* bob/1001:students`");
                    return Err(fault.at(&text, text.span_of(line), ""));
                }
            }
        }
        Ok(users)
    }

    /// Reads one line from the command line: `TASKS=USER`.
    ///
    /// # Errors
    /// If it has an error.
    pub fn parse_option(text: &str) -> Result<Users, Diagnostic> {
        let text = Text::new("option --user", text)?;
        let option = text.text();
        let Some((tasks, user)) = option.split_once('=') else {
            let fault = Fault::new(format!("`{}` is not a task with its user", shown(option)))
                .with_help("for example `video=anna` or `make-*=bob/1001:students`");
            return Err(fault.at(&text, text.span_of(option), ""));
        };
        Ok(Users { lines: vec![Line::read(&text, tasks, user)?] })
    }

    /// Adds the lines of `other`, which take precedence.
    pub fn add(&mut self, other: Users) {
        self.lines.extend(other.lines);
    }

    /// Whether no user is named.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Checks that every task that is named exists in `model`.
    ///
    /// # Errors
    /// The first unknown task.
    pub fn check(&self, model: &Model) -> Result<(), Diagnostic> {
        for line in &self.lines {
            for (pattern, span) in &line.tasks {
                let mut keys = model.tasks.iter().map(|task| task.key.as_str());
                if !keys.any(|key| matches(pattern, key)) {
                    let known = model.tasks.iter().map(|task| task.key.as_str());
                    let help = did_you_mean(pattern, known);
                    let fault =
                        Fault { message: format!("unknown task `{}`", shown(pattern)), help };
                    return Err(fault.at(&line.text, *span, ""));
                }
            }
        }
        Ok(())
    }

    /// Returns the user of a task.
    pub fn user_of(&self, key: &str) -> User {
        let line =
            self.lines.iter().rev().find(|line| line.tasks.iter().any(|(it, _)| matches(it, key)));
        let name = line.map_or("root", |line| line.user.name.as_str());
        User { name: name.into(), uid: self.uids().get(name).copied().unwrap_or(0) }
    }

    /// Returns all users that are named, and root.
    pub fn accounts(&self) -> Accounts {
        let uids = self.uids();
        let mut gids: BTreeMap<&str, u32> = BTreeMap::from([("root", 0)]);
        for group in self.lines.iter().flat_map(|line| &line.groups) {
            if let Some(gid) = group.number {
                gids.insert(&group.name, gid);
            }
        }
        let mut accounts = Accounts::default();
        for line in &self.lines {
            let uid = uids[line.user.name.as_str()];
            let mut numbers = Vec::new();
            for group in &line.groups {
                // A group without a number gets that of a user with the same name, or the next free
                // one.
                let next = next_gid(&gids);
                let of_user = uids.get(group.name.as_str()).copied();
                numbers.push(*gids.entry(&group.name).or_insert(of_user.unwrap_or(next)));
            }
            if numbers.is_empty() {
                numbers.push(*gids.entry(&line.user.name).or_insert(uid));
                accounts = accounts.with_group(&line.user.name, numbers[0]);
            }
            for (group, &gid) in line.groups.iter().zip(&numbers) {
                accounts = accounts.with_group(&group.name, gid).with_member(uid, gid);
            }
            accounts = accounts.with_user(&line.user.name, uid, numbers[0]);
        }
        accounts
    }

    /// Returns the numbers of the users.
    fn uids(&self) -> BTreeMap<&str, u32> {
        let mut uids: BTreeMap<&str, u32> = BTreeMap::from([("root", 0)]);
        let users = || self.lines.iter().map(|line| &line.user);
        for user in users() {
            let number = user.number.or_else(|| user.name.parse().ok());
            if let Some(uid) = number {
                uids.insert(&user.name, uid);
            }
        }
        for user in users() {
            if !uids.contains_key(user.name.as_str()) {
                let free = (FIRST_UID..).find(|uid| uids.values().all(|other| other != uid));
                uids.insert(&user.name, free.unwrap_or(FIRST_UID));
            }
        }
        uids
    }
}

/// Returns an unused group number: the one after the highest or, if there is none, the first free
/// one.
fn next_gid(gids: &BTreeMap<&str, u32>) -> u32 {
    const FIRST_GID: u32 = FIRST_UID * 10;
    let greatest = gids.values().copied().max().unwrap_or(0).max(FIRST_GID);
    greatest.checked_add(1).unwrap_or_else(|| {
        let free = (FIRST_GID + 1..).find(|gid| gids.values().all(|other| other != gid));
        free.expect("there are more numbers than groups")
    })
}

impl Line {
    fn read(text: &Text, tasks: &str, user: &str) -> Result<Line, Diagnostic> {
        let wrong = |part: &str, message: String| {
            let fault = Fault::new(message).with_help(
                "tasks and their user, for example `video,audio` and `anna` or `bob/1001:students`",
            );
            fault.at(text, text.span_of(part), "")
        };
        let mut patterns = Vec::new();
        for task in tasks.split(',') {
            if task.is_empty() {
                return Err(wrong(tasks, "a task has no name".into()));
            }
            patterns.push((task.to_string(), text.span_of(task)));
        }
        let name = |word: &str| -> Result<Name, Diagnostic> {
            let (name, number) = match word.split_once('/') {
                Some((name, number)) => (name, Some(number)),
                None => (word, None),
            };
            let number = match number.map(str::parse) {
                None => None,
                Some(Ok(number)) => Some(number),
                Some(Err(_)) => {
                    return Err(wrong(word, format!("the number in `{}` is invalid", shown(word))));
                }
            };
            if name.is_empty() || name.contains(':') {
                return Err(wrong(word, format!("`{}` is not a name", shown(word))));
            }
            Ok(Name { name: name.into(), number })
        };
        let (user, groups) = match user.split_once(':') {
            Some((user, groups)) => (user, groups.split(',').map(name).collect::<Result<_, _>>()?),
            None => (user, Vec::new()),
        };
        Ok(Line { text: text.clone(), tasks: patterns, user: name(user)?, groups })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_numbers() {
        let users =
            Users::parse("u", "a,b anna\nmake-* bob/1000:students # him\nc 77\nd root\n").unwrap();
        let of = |key: &str| {
            let user = users.user_of(key);
            (user.name, user.uid)
        };
        assert_eq!(of("a"), ("anna".into(), 1001), "1000 is bob's");
        assert_eq!(of("make-3"), ("bob".into(), 1000));
        assert_eq!(of("c"), ("77".into(), 77));
        assert_eq!((of("d"), of("else")), (("root".into(), 0), ("root".into(), 0)));
    }

    #[test]
    fn the_greatest_number_of_all_leaves_others_for_the_next_group() {
        assert_eq!(next_gid(&BTreeMap::from([("root", 0)])), 10_001);
        assert_eq!(next_gid(&BTreeMap::from([("all", 20_000)])), 20_001);
        assert_eq!(next_gid(&BTreeMap::from([("all", u32::MAX), ("a", 10_001)])), 10_002);
        let users = Users::parse("u", "a anna/1:all/4294967295,students,guests\n").unwrap();
        // Adding 1 to it overflows.
        drop(users.accounts());
    }

    #[test]
    fn what_is_no_user() {
        let wrong = |text: &str| {
            let error = Users::parse("u", text).expect_err(text);
            format!("{}:{} {}", error.line(), error.column(), error.message())
        };
        assert_eq!(wrong("a anna\nvideo"), "2:1 a line has two fields: tasks and user");
        assert_eq!(wrong("a,,b anna"), "1:1 a task has no name");
        assert_eq!(wrong("a anna/x"), "1:3 the number in `anna/x` is invalid");
        assert_eq!(wrong("a :students"), "1:3 `` is not a name");
        let error = Users::parse_option("video").expect_err("no user");
        assert_eq!(error.message(), "`video` is not a task with its user");
    }
}
