//! Task groups: which there are and what weight they have.
//!
//! A workload file names the groups its tasks are in (`"taskgroup": "/tg1/tg11"`); on a real machine somebody has made them
//! and given them weights. Here a file beside the workload says so, in the words of control groups. Either lines,
//!
//! ```text
//! # a path, then any number of settings
//! /tg1          cpu.weight=200
//! /tg1/tg11     cpu.shares=512
//! /empty
//! ```
//!
//! or JSON, `{"/tg1": {"cpu.weight": 200}, "/tg1/tg11": {"cpu.shares": 512}}`. One group can also be given as
//! `/tg1:cpu.weight=200` (an option of the command line).
//!
//! `cpu.shares` is version 1's: 1024 by default, cut to 2 ... 262144 as the kernel does. `cpu.weight` is version 2's: 1 to
//! 10000, 100 by default; the kernel makes it shares by weight x 1024 / 100, rounded to the nearest.

use crate::cursor::Cursor;
use crate::diagnostic::{Diagnostic, Source, Span, did_you_mean};
use crate::json;
use schedlab_sched::GroupId;
use std::collections::HashMap;

/// The weight of a group that nobody has given one, as `cpu.shares`.
pub const SHARES_DEFAULT: u64 = 1024;

/// Groups within each other, at most.
const DEPTH_MAX: usize = 32;

/// What a file or the command line says about groups: paths with their `cpu.shares`, in the order written. A path may come
/// twice; the last counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupSettings {
    settings: Vec<(String, Option<u64>)>,
}

/// A group that is to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its path, e.g. `/tg1/tg11`.
    pub path: String,
    /// The group it is in, by its place in [`GroupPlan::groups`]; none = the root.
    pub parent: Option<usize>,
    /// Its weight as `cpu.shares`, 2 to 262144.
    pub shares: u64,
}

/// The groups of a run, parents before children: first those that settings name, then those that only tasks name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupPlan {
    groups: Vec<Group>,
}

impl GroupSettings {
    /// Adds what `other` says; where both speak, `other` counts.
    pub fn add(&mut self, other: GroupSettings) {
        self.settings.extend(other.settings);
    }
}

impl GroupPlan {
    /// The groups that `settings` and tasks (`paths`, see [`Model::group_paths`](crate::Model::group_paths)) name.
    pub fn new(settings: &GroupSettings, paths: &[String]) -> GroupPlan {
        let mut list = PathList::default();
        for path in settings.settings.iter().map(|(path, _)| path).chain(paths) {
            list.add(path);
        }
        let mut groups: Vec<Group> = Vec::with_capacity(list.paths.len());
        for path in &list.paths {
            let (above, _) = path.rsplit_once('/').expect("paths begin with a slash");
            groups.push(Group {
                parent: list.index.get(above).copied(),
                path: path.clone(),
                shares: SHARES_DEFAULT,
            });
        }
        for (path, shares) in &settings.settings {
            if let (Some(&at), Some(shares)) = (list.index.get(path), *shares) {
                groups[at].shares = shares;
            }
        }
        GroupPlan { groups }
    }

    /// The groups, in the order in which they are to be made.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The numbers of the groups `paths`, if those of the plan have been numbered `ids`.
    ///
    /// # Panics
    /// If a path is not in the plan.
    pub fn ids_of(&self, ids: &[GroupId], paths: &[String]) -> Vec<GroupId> {
        let index: HashMap<&str, GroupId> =
            self.groups.iter().zip(ids).map(|(group, &id)| (group.path.as_str(), id)).collect();
        paths.iter().map(|path| index[path.as_str()]).collect()
    }
}

/// Paths in the order of their first mention, each after those above it.
#[derive(Debug, Default)]
pub(crate) struct PathList {
    paths: Vec<String>,
    index: HashMap<String, usize>,
}

impl PathList {
    /// Adds a normal path and those above it, where they are new. The root is none.
    pub fn add(&mut self, path: &str) {
        if path.is_empty() || self.index.contains_key(path) {
            return;
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.add(above);
        }
        self.index.insert(path.into(), self.paths.len());
        self.paths.push(path.into());
    }

    pub fn into_paths(self) -> Vec<String> {
        self.paths
    }
}

/// The path in the form used here: a slash before every name, none behind; `""` is the root. Or what is wrong with it.
pub(crate) fn normal_path(text: &str) -> Result<String, String> {
    let mut path = String::new();
    let mut depth = 0;
    for name in text.split('/').filter(|name| !name.is_empty()) {
        if name == "." || name == ".." {
            return Err(format!("a group cannot be called `{name}`"));
        }
        if name.chars().any(char::is_control) {
            return Err("a group's name cannot hold control characters".into());
        }
        path.push('/');
        path.push_str(name);
        depth += 1;
    }
    if depth > DEPTH_MAX {
        return Err(format!("groups can be at most {DEPTH_MAX} deep"));
    }
    Ok(path)
}

/// Reads a file of groups, in either form.
///
/// # Errors
/// The first thing in it that cannot be understood.
pub fn parse(file: &str, text: &str) -> Result<GroupSettings, Diagnostic> {
    let source = Source { name: file, text };
    let begins = text.trim_start_matches('\u{feff}').trim_start();
    // A `/` begins a path in one form, a comment in the other; `//` and `/*` are no paths.
    if begins.starts_with('{') || begins.starts_with("//") || begins.starts_with("/*") {
        from_json(source)
    } else {
        from_lines(source)
    }
}

/// Reads one group as the command line has it: `/tg1:cpu.weight=200`, or just `/tg1`.
///
/// # Errors
/// If it cannot be understood.
pub fn parse_option(text: &str) -> Result<GroupSettings, Diagnostic> {
    let source = Source { name: "option --group", text };
    let (path, setting) = match text.rsplit_once(':') {
        Some((path, setting)) => (path, Some(setting)),
        None => (text, None),
    };
    let spot = |part: &str| span_of(text, part);
    let path = group_path(path).map_err(|message| {
        source.error(spot(path), String::new(), message).with_help("for example `/tg1:cpu.weight=200`")
    })?;
    let shares = match setting {
        None => None,
        Some(setting) => Some(shares_of(setting).map_err(|fault| fault.at(source, spot(setting), &path))?),
    };
    Ok(GroupSettings { settings: vec![(path, shares)] })
}

/// A path that is not the root's.
fn group_path(text: &str) -> Result<String, String> {
    if !text.starts_with('/') {
        return Err(format!("`{text}` is no group: a path begins with `/`"));
    }
    match normal_path(text)? {
        root if root.is_empty() => Err("the root group has no weight".into()),
        path => Ok(path),
    }
}

/// What is wrong with a setting, and what would be right.
#[derive(Debug)]
struct Fault {
    message: String,
    help: Option<String>,
}

impl Fault {
    fn new(message: String, help: impl Into<Option<String>>) -> Fault {
        Fault { message, help: help.into() }
    }

    fn at(self, source: Source<'_>, span: Span, path: &str) -> Diagnostic {
        source.error(span, path.into(), self.message).with_help_if(self.help)
    }
}

/// The shares that `cpu.weight=200` or `cpu.shares=512` gives; or what is wrong, and what would be right.
pub(crate) fn setting_shares(setting: &str) -> Result<u64, (String, Option<String>)> {
    shares_of(setting).map_err(|fault| (fault.message, fault.help))
}

fn shares_of(setting: &str) -> Result<u64, Fault> {
    let Some((key, value)) = setting.split_once('=') else {
        return Err(Fault::new(
            format!("`{setting}` is no setting"),
            "for example `cpu.weight=200` or `cpu.shares=512`".to_string(),
        ));
    };
    let number: i64 = value
        .trim()
        .parse()
        .map_err(|_| Fault::new(format!("`{}` must be a whole number, found `{value}`", key.trim()), None))?;
    shares(key.trim(), number)
}

/// The shares that a key with a value gives.
fn shares(key: &str, value: i64) -> Result<u64, Fault> {
    match key {
        "cpu.weight" if (1..=10_000).contains(&value) => Ok((value as u64 * 1024 + 50) / 100),
        "cpu.weight" => Err(Fault::new(format!("`cpu.weight` must be from 1 to 10000, found {value}"), None)),
        "cpu.shares" if value >= 0 => Ok(value.clamp(2, 262_144) as u64),
        "cpu.shares" => {
            Err(Fault::new(format!("`cpu.shares` must be from 2 to 262144, found {value}"), None))
        }
        _ => Err(Fault::new(
            format!("unknown setting `{key}`"),
            did_you_mean(key, ["cpu.weight", "cpu.shares"])
                .or_else(|| Some("`cpu.weight` and `cpu.shares` are understood".into())),
        )),
    }
}

fn from_lines(source: Source<'_>) -> Result<GroupSettings, Diagnostic> {
    let mut settings = Vec::new();
    for line in source.text.trim_start_matches('\u{feff}').lines() {
        let line = line.split_once('#').map_or(line, |(line, _)| line);
        let mut words = line.split_whitespace();
        let Some(word) = words.next() else { continue };
        let spot = |word| span_of(source.text, word);
        let path = group_path(word).map_err(|message| source.error(spot(word), String::new(), message))?;
        let mut weight = None;
        for word in words {
            weight = Some(shares_of(word).map_err(|fault| fault.at(source, spot(word), &path))?);
        }
        settings.push((path, weight));
    }
    Ok(GroupSettings { settings })
}

fn from_json(source: Source<'_>) -> Result<GroupSettings, Diagnostic> {
    let value = json::parse(source)?;
    let root = Cursor::root(source, &value);
    let mut settings = Vec::new();
    for member in root.object()? {
        let group = root.member(member);
        let path = group_path(group.key()).map_err(|message| group.key_error(message))?;
        let mut weight = None;
        for member in group.object()? {
            let setting = group.member(member);
            let number = setting.integer("a whole number", i64::MIN..=i64::MAX);
            weight = Some(match shares(setting.key(), number.as_ref().map_or(1, |&number| number)) {
                Ok(shares) => number.map(|_| shares)?,
                Err(Fault { message, help }) => {
                    let error = if message.starts_with("unknown") {
                        setting.key_error(message)
                    } else {
                        setting.error(message)
                    };
                    return Err(error.with_help_if(help));
                }
            });
        }
        settings.push((path, weight));
    }
    Ok(GroupSettings { settings })
}

/// Where `part`, a slice of `text`, stands in it.
fn span_of(text: &str, part: &str) -> Span {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize) as u32;
    Span { start, end: start + part.len() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(settings: &GroupSettings, paths: &[&str]) -> Vec<(String, Option<usize>, u64)> {
        let paths: Vec<String> = paths.iter().map(|&path| path.into()).collect();
        let plan = GroupPlan::new(settings, &paths);
        plan.groups.into_iter().map(|group| (group.path, group.parent, group.shares)).collect()
    }

    #[test]
    fn both_forms_say_the_same() {
        let lines = "# groups\n/a cpu.weight=200\n\n/a/b  cpu.shares=512 # half\n/empty\n";
        let json = r#"// groups
            {"/a": {"cpu.weight": 200}, "/a/b/": {"cpu.shares": 512,}, "/empty": {}}"#;
        let settings = parse("g", lines).unwrap();
        assert_eq!(settings, parse("g", json).unwrap());
        assert_eq!(
            plan(&settings, &["/a", "/c/d"]),
            [
                ("/a".into(), None, 2048),
                ("/a/b".into(), Some(0), 512),
                ("/empty".into(), None, 1024),
                ("/c".into(), None, 1024),
                ("/c/d".into(), Some(3), 1024),
            ]
        );
    }

    #[test]
    fn weights_become_shares_as_the_kernel_rounds_them() {
        for (weight, expected) in [(1, 10), (100, 1024), (33, 338), (150, 1536), (10_000, 102_400)] {
            assert_eq!(shares("cpu.weight", weight).unwrap(), expected, "weight {weight}");
        }
        for (given, expected) in [(0, 2), (2, 2), (500, 500), (262_145, 262_144)] {
            assert_eq!(shares("cpu.shares", given).unwrap(), expected);
        }
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let mut settings = parse("g", "/a cpu.weight=200").unwrap();
        settings.add(parse_option("/a:cpu.shares=77").unwrap());
        settings.add(parse_option("/z").unwrap());
        assert_eq!(plan(&settings, &[]), [("/a".into(), None, 77), ("/z".into(), None, 1024)]);
    }

    #[test]
    fn errors() {
        let text = |error: Diagnostic| format!("{}:{} {}", error.line(), error.column(), error.message());
        for (file, expected) in [
            ("/a cpu.weight=0", "1:4 `cpu.weight` must be from 1 to 10000, found 0"),
            ("/a\n /b cpu.shares=-1", "2:5 `cpu.shares` must be from 2 to 262144, found -1"),
            ("/a cpu.weigth=5", "1:4 unknown setting `cpu.weigth`"),
            ("/a cpu.weight", "1:4 `cpu.weight` is no setting"),
            ("/a cpu.weight=x", "1:4 `cpu.weight` must be a whole number, found `x`"),
            ("tg1 cpu.weight=5", "1:1 `tg1` is no group: a path begins with `/`"),
            ("/ cpu.weight=5", "1:1 the root group has no weight"),
            ("/a/../b cpu.weight=5", "1:1 a group cannot be called `..`"),
            ("{\"/a\": {\"cpu.weight\": \"x\"}}", "1:23 `cpu.weight` must be a whole number, found a string"),
            ("{\"/a\": {\"cpu.max\": 5}}", "1:9 unknown setting `cpu.max`"),
            ("{\"/a\": 5}", "1:8 `/a` must be an object, found 5"),
        ] {
            assert_eq!(text(parse("g", file).unwrap_err()), expected, "{file}");
        }
        let error = parse_option("/a:cpu.wieght=2").unwrap_err();
        assert_eq!(error.help(), Some("did you mean `cpu.weight`?"));
        assert_eq!(error.column(), 4);
    }

    #[test]
    fn numbers_of_groups_follow_the_plan() {
        let paths = ["/b".to_string(), "/a".to_string()];
        let plan = GroupPlan::new(&parse("g", "/a").unwrap(), &paths);
        let ids = plan.ids_of(&[GroupId(7), GroupId(9)], &paths);
        assert_eq!(ids, [GroupId(9), GroupId(7)]);
    }
}
