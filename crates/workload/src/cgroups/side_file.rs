//! Files and options that define groups and their settings.
//!
//! A file contains either lines,
//!
//! ```text
//! # a path, then any number of settings
//! /tg1          cpu.weight=200 cpuset.cpus=0-3
//! /tg1/tg11     cpu.max=50000 100000
//! /empty
//! ```
//!
//! or JSON, `{"/tg1": {"cpu.weight": 200}, "/tg1/tg11": {"cpu.max": "50000 100000"}}`. A value
//! extends to the next word that contains a `=`, and may be in double quotes. Settings are named
//! like the files of a control group, or like systemd's settings. A path may also be the name of
//! one of systemd's slices, `user-1000.slice`.
//!
//! A `cgconfig.conf` is also accepted: no other format begins with the name of one of its sections.

use super::cgconfig::{self, CgConfig};
use super::settings::{GroupSettings, Setting};
use super::systemd::slice_path;
use super::text::{Fault, Text, shown};
use super::write::Version;
use crate::cursor::Cursor;
use crate::diagnostic::{Diagnostic, Span};
use crate::group_path::normal_path;
use crate::json::{self, Kind};
use std::sync::Arc;

/// Reads a file of groups in any format: lines, JSON or `cgconfig.conf`.
///
/// # Errors
/// The first syntax error. (Conflicts are found by [`GroupPlan::new`](super::GroupPlan::new).)
pub fn parse(file: &str, text: &str) -> Result<GroupSettings, Diagnostic> {
    match Form::of(text) {
        Form::CgConfig => cgconfig::parse(file, text).map(CgConfig::into_settings),
        Form::Json => settled(from_json(&Text::new(file, text)?)?),
        Form::Lines => settled(from_lines(&Text::new(file, text)?)?),
    }
}

/// Resolves names that both versions have to version 2, unless the file is of version 1.
fn settled(mut settings: GroupSettings) -> Result<GroupSettings, Diagnostic> {
    settings.settle_version(Version::V2);
    Ok(settings)
}

/// Format of a file of groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Lines,
    Json,
    CgConfig,
}

impl Form {
    fn of(text: &str) -> Form {
        let text = text.trim_start_matches('\u{feff}');
        // A `/` begins a path in one format and a comment in the other; `//` and `/*` are not
        // paths.
        if ["{", "//", "/*"].iter().any(|sign| text.trim_start().starts_with(sign)) {
            return Form::Json;
        }
        let mut lines = text.lines().map(str::trim_start);
        let first = lines.find(|line| !(line.is_empty() || line.starts_with('#')));
        let word = first.unwrap_or_default().split([' ', '\t', '{']).next().unwrap_or_default();
        if cgconfig::SECTIONS.contains(&word) || text.starts_with('*') {
            Form::CgConfig
        } else {
            Form::Lines
        }
    }
}

/// Reads one group from the command line: `/tg1:cpu.weight=200`, or just `/tg1`. Several settings
/// are separated by blanks.
///
/// # Errors
/// If it has an error.
pub fn parse_option(text: &str) -> Result<GroupSettings, Diagnostic> {
    let text = Text::new("option --group", text)?;
    let option = text.text();
    let before_value = option.find('=').unwrap_or(option.len());
    let (path, settings_at) = match option[..before_value].rfind(':') {
        Some(colon) => (&option[..colon], colon + 1),
        None => (option, option.len()),
    };
    let mut settings = GroupSettings::default();
    let group = group_path(path).map_err(|message| {
        let help = "for example `/tg1:cpu.weight=200`";
        let fault = Fault::new(message).with_help(help);
        fault.at(&text, text.span_of(path), "")
    })?;
    words(&text, &group, &option[settings_at..], &mut settings)?;
    settled(settings)
}

/// Reads a path other than the root's.
fn group_path(text: &str) -> Result<Arc<str>, String> {
    let slice = slice_path(text);
    let path = slice.as_deref().unwrap_or(text);
    if !path.starts_with('/') {
        return Err(format!("`{}` is not a group: a path begins with `/`", shown(text)));
    }
    match normal_path(path)? {
        root if root.is_empty() => Err("the root group has no weight".into()),
        path => Ok(path.into()),
    }
}

fn from_lines(text: &Text) -> Result<GroupSettings, Diagnostic> {
    let mut settings = GroupSettings::default();
    for line in text.text().trim_start_matches('\u{feff}').lines() {
        let line = line.split_once('#').map_or(line, |(line, _)| line).trim();
        let (path, rest) =
            line.split_once(char::is_whitespace).unwrap_or((line, &line[line.len()..]));
        if path.is_empty() {
            continue;
        }
        let group = group_path(path)
            .map_err(|message| Fault::new(message).at(text, text.span_of(path), ""))?;
        words(text, &group, rest, &mut settings)?;
    }
    Ok(settings)
}

/// Reads `NAME=VALUE NAME=VALUE ...`, a slice of `text`.
fn words(
    text: &Text,
    group: &Arc<str>,
    line: &str,
    settings: &mut GroupSettings,
) -> Result<(), Diagnostic> {
    settings.group(group);
    let mut rest = line.trim();
    while !rest.is_empty() {
        let word = rest.split_whitespace().next().unwrap_or_default();
        let Some((name, _)) = word.split_once('=') else {
            let fault = Fault::new(format!("`{}` is not a setting", shown(word)))
                .with_help("for example `cpu.weight=200` or `cpu.shares=512`");
            return Err(fault.at(text, text.span_of(word), group));
        };
        // The value ends where the next word with a `=` begins.
        let next = rest[word.len()..]
            .split_whitespace()
            .find(|word| word.contains('='))
            .map(|next| (text.span_of(next).start - text.span_of(rest).start) as usize);
        let setting = rest[..next.unwrap_or(rest.len())].trim_end();
        rest = next.map_or("", |next| &rest[next..]);
        let value = setting[name.len() + 1..].trim();
        let unquoted =
            value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        let span = text.span_of(setting);
        settings.set(group, Setting::read(text, group, (name, span), (unquoted, span))?);
    }
    Ok(())
}

fn from_json(text: &Text) -> Result<GroupSettings, Diagnostic> {
    let source = text.source();
    let value = json::parse(source)?;
    let root = Cursor::root(source, &value);
    let mut settings = GroupSettings::default();
    for member in root.object()? {
        let object = root.member(member);
        let group = group_path(object.key()).map_err(|message| object.key_error(message))?;
        settings.group(&group);
        for member in object.object()? {
            let name = (&*member.key, member.key_span);
            let span = member.value.span;
            let value = match &member.value.kind {
                Kind::String(value) => value,
                Kind::Integer(_) | Kind::Number => at(text, span),
                _ => {
                    let message = format!("`{}` must be a number or a string", shown(&member.key));
                    return Err(object.member(member).error(message));
                }
            };
            settings.set(&group, Setting::read(text, &group, name, (value, span))?);
        }
    }
    Ok(settings)
}

fn at(text: &Text, span: Span) -> &str {
    &text.text()[span.start as usize..span.end as usize]
}

#[cfg(test)]
mod tests {
    use super::super::{Group, GroupPlan};
    use super::*;
    use schedlab_core::GroupId;

    fn plan(settings: &GroupSettings, paths: &[&str]) -> Vec<(String, Option<usize>, u64)> {
        let paths: Vec<String> = paths.iter().map(|&path| path.into()).collect();
        let plan = GroupPlan::new(settings, &paths, 8).unwrap();
        let row = |group: &Group| (group.path.clone(), group.parent, group.shares);
        plan.groups().iter().map(row).collect()
    }

    #[test]
    fn both_forms_say_the_same() {
        let lines = "# groups\n/a cpu.weight=200\n\n/a/b  cpu.shares=512 cpu.max=2000 5000 # half\n/empty\n";
        let json = r#"// groups
            {"/a": {"cpu.weight": 200}, "/a/b/": {"cpu.shares": "512", "cpu.max": "2000 5000",}, "/empty": {}}"#;
        let lines = GroupPlan::new(&parse("g", lines).unwrap(), &[], 1).unwrap();
        assert_eq!(lines, GroupPlan::new(&parse("g", json).unwrap(), &[], 1).unwrap());
    }

    #[test]
    fn groups_of_settings_come_before_those_of_tasks() {
        let settings = parse("g", "/a cpu.weight=200\n/a/b cpu.shares=512\n/empty").unwrap();
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
        assert!(settings.names("/a") && settings.names("/a/b") && settings.names(""));
        assert!(!settings.names("/a/c") && !settings.names("/emp"));
    }

    #[test]
    fn a_value_goes_on_to_the_next_setting() {
        for text in [
            "/a cpu.max=20000 50000 cpu.weight=300",
            "/a cpu.max=\"20000 50000\" cpu.weight=\"300\"",
            "\u{feff}/a\tcpu.weight=300\tcpu.max= 20000 50000",
        ] {
            let plan = GroupPlan::new(&parse("g", text).unwrap(), &[], 1).unwrap();
            let group = &plan.groups()[0];
            assert_eq!(
                (group.quota.quota_us, group.quota.period_us, group.shares),
                (Some(20_000), 50_000, 3072),
                "{text}"
            );
        }
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let mut settings = parse("g", "/a cpu.weight=200").unwrap();
        settings.add(parse_option("/a:cpu.shares=77").unwrap());
        settings.add(parse_option("/z").unwrap());
        settings.add(parse_option("/x:y:cpu.weight=300 cpu.max=5000 10000").unwrap());
        assert_eq!(
            plan(&settings, &[]),
            [("/a".into(), None, 77), ("/z".into(), None, 1024), ("/x:y".into(), None, 3072)]
        );
    }

    #[test]
    fn slices_and_their_settings() {
        let text =
            "user-1000.slice CPUWeight=200 CPUQuota=20% AllowedCPUs=0 2-3\nb.slice CPUWeight=idle";
        let plan = GroupPlan::new(&parse("g", text).unwrap(), &[], 4).unwrap();
        let [_, user, b] = plan.groups() else { panic!("{plan:?}") };
        assert_eq!(user.path, "/user.slice/user-1000.slice");
        assert_eq!(
            (user.shares, user.quota.quota_us, user.quota.period_us),
            (2048, Some(20_000), 100_000)
        );
        assert_eq!(user.cpuset.iter(8).map(|cpu| cpu.0).collect::<Vec<_>>(), [0, 2, 3]);
        assert!(b.idle);
    }

    #[test]
    fn a_cgconfig_file_is_known_by_its_first_word() {
        for text in [
            "group a { cpu { cpu.shares = 5; } }",
            "# groups\n\n  mount{ cpu = /x; } group a { cpu { cpu.shares = 5; } }",
            "* groups\ngroup a { cpu { cpu.shares = 5; } }",
        ] {
            assert_eq!(plan(&parse("g", text).unwrap(), &[]), [("/a".into(), None, 5)], "{text}");
        }
        let settings = parse("g", "group a { cpu { } }\ntemplate b/%u { cpu { } }").unwrap();
        let notes: Vec<String> = settings.notes().iter().map(|note| note.to_string()).collect();
        assert_eq!(notes, ["g:2: the template `/b/%u` has no effect: no rule uses it"]);
        assert_eq!(Form::of("groups.slice CPUWeight=5"), Form::Lines);
        assert_eq!(Form::of("/group cpu.weight=5"), Form::Lines);
        assert_eq!(Form::of(""), Form::Lines);
    }

    #[test]
    fn errors() {
        let text =
            |error: Diagnostic| format!("{}:{} {}", error.line(), error.column(), error.message());
        for (file, expected) in [
            ("/a cpu.weight=0", "1:4 `cpu.weight` must be from 1 to 10000, found 0"),
            ("/a\n /b cpu.shares=-1", "2:5 `cpu.shares` must be from 2 to 262144, found -1"),
            ("/a cpu.idle=0 cpu.weigth=5", "1:15 unknown setting `cpu.weigth`"),
            ("/a cpu.weight", "1:4 `cpu.weight` is not a setting"),
            ("/a cpu.weight=x", "1:4 `cpu.weight` must be a whole number, found `x`"),
            ("/a cpu.weight=5 6", "1:4 `cpu.weight` must be a whole number, found `5 6`"),
            ("/a =5", "1:4 unknown setting ``"),
            ("tg1 cpu.weight=5", "1:1 `tg1` is not a group: a path begins with `/`"),
            ("/ cpu.weight=5", "1:1 the root group has no weight"),
            ("-.slice CPUWeight=5", "1:1 the root group has no weight"),
            ("/a/../b cpu.weight=5", "1:1 a group cannot be called `..`"),
            (
                "{\"/a\": {\"cpu.weight\": \"x\"}}",
                "1:23 `cpu.weight` must be a whole number, found `x`",
            ),
            (
                "{\"/a\": {\"cpu.weight\": 1.5}}",
                "1:23 `cpu.weight` must be a whole number, found `1.5`",
            ),
            ("{\"/a\": {\"cpu.idle\": true}}", "1:21 `cpu.idle` must be a number or a string"),
            ("{\"/a\": {\"cpu.mox\": 5}}", "1:9 unknown setting `cpu.mox`"),
            ("{\"/a\": 5}", "1:8 `/a` must be an object, found 5"),
            ("{\"a\": {}}", "1:2 `a` is not a group: a path begins with `/`"),
        ] {
            assert_eq!(text(parse("g", file).unwrap_err()), expected, "{file}");
        }
        let error = parse_option("/a:cpu.wieght=2").unwrap_err();
        assert_eq!(error.help(), Some("did you mean `cpu.weight`?"));
        assert_eq!(error.column(), 4);
        assert_eq!(
            text(parse_option("a:cpu.weight=2").unwrap_err()),
            "1:1 `a` is not a group: a path begins with `/`"
        );
        assert_eq!(text(parse_option("/a:rubbish").unwrap_err()), "1:4 `rubbish` is not a setting");
    }

    #[test]
    fn errors_show_the_line() {
        let error =
            parse("box.groups", "/a cpu.weight=200\n/b cpu.weight=20000 cpu.idle=0\n").unwrap_err();
        let expected = [
            "error: `cpu.weight` must be from 1 to 10000, found 20000",
            "  --> box.groups:2:4 (/b)",
            "   |",
            " 2 | /b cpu.weight=20000 cpu.idle=0",
            "   |    ^^^^^^^^^^^^^^^^",
        ];
        assert_eq!(error.to_string(), expected.join("\n"));
    }

    #[test]
    fn numbers_of_groups_follow_the_plan() {
        let paths = ["/b".to_string(), "/a".to_string()];
        let plan = GroupPlan::new(&parse("g", "/a").unwrap(), &paths, 1).unwrap();
        let ids = plan.ids_of(&[GroupId(7), GroupId(9)], &paths);
        assert_eq!(ids, [GroupId(9), GroupId(7)]);
    }
}
