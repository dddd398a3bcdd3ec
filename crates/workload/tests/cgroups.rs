//! Files of control groups with any content: the readers always return, and the groups that they
//! read obey the rules. The same properties are the fuzz target `groups`.

use proptest::prelude::*;
use schedlab_core::{CpuSet, Quota};
use schedlab_workload::cgroups::{
    GroupSettings, PERIOD_DEFAULT_US, SHARES_DEFAULT, SHARES_IDLE, cgconfig, cgrules,
};
use schedlab_workload::{Diagnostic, Group, GroupPlan, groups};

/// Number of CPUs of the machine.
const CPUS: u32 = 8;

/// Reads any text. The fuzzer also runs this.
fn read_anything(text: &str) {
    for settings in [groups::parse("any", text), groups::parse_option(text)] {
        check_settings(settings);
    }
    match cgconfig::parse("any", text) {
        Err(error) => check_error(&error, text),
        Ok(config) => {
            check_settings(Ok(config.settings().clone()));
            if let Some(template) = config.template("t/%u") {
                check_settings(Ok(template.settings("/t/anna")));
            }
        }
    }
    match cgrules::parse("any", text) {
        Err(error) => check_error(&error, text),
        Ok(rules) => check_rules(&rules),
    }
}

fn check_settings(settings: Result<GroupSettings, Diagnostic>) {
    match settings.and_then(|settings| GroupPlan::new(&settings, &["/own".into()], CPUS)) {
        Err(error) => {
            let _ = error.to_string();
        }
        Ok(plan) => {
            for (number, group) in plan.groups().iter().enumerate() {
                assert!(group.parent.is_none_or(|parent| parent < number));
                check_group(group, group.parent.map(|parent| &plan.groups()[parent]));
            }
            for note in plan.notes() {
                assert!(note.line() > 0 && !note.to_string().is_empty());
            }
            assert_eq!(plan.groups().iter().filter(|group| group.path == "/own").count(), 1);
        }
    }
}

/// Checks the rules of groups.
fn check_group(group: &Group, parent: Option<&Group>) {
    let above = parent.map_or("", |parent| &parent.path);
    let name = group.path.strip_prefix(above).and_then(|rest| rest.strip_prefix('/'));
    assert!(name.is_some_and(|name| !name.is_empty() && !name.contains('/')), "{}", group.path);
    assert!((2..=262_144).contains(&group.shares));
    assert!(!group.idle || group.shares == SHARES_IDLE);
    assert!((1_000..=1_000_000).contains(&group.quota.period_us));
    if let Some(quota_us) = group.quota.quota_us {
        assert!((1_000..1 << 44).contains(&quota_us) && group.quota.burst_us <= quota_us);
    }
    assert!(group.cpuset.first(CPUS).is_some());
    if let Some(parent) = parent {
        assert!(group.cpuset.iter(CPUS).all(|cpu| parent.cpuset.contains(cpu)));
        assert!(group.cpuset != CpuSet::All || parent.cpuset == CpuSet::All);
        assert!(group.frozen || !parent.frozen);
    }
}

fn check_error(error: &Diagnostic, text: &str) {
    assert!((1..=text.lines().count().max(1) + 1).contains(&error.line()));
    assert!(!error.to_string().is_empty());
}

fn check_rules(rules: &cgrules::Rules) {
    let accounts =
        cgrules::Accounts::default().with_user("anna", 1000, 100).with_group("users", 100);
    for user in ["root", "anna"] {
        let process = cgrules::Process { user, group: None, name: "/bin/make", pid: 1 };
        match rules.classify(&accounts, process) {
            Err(error) => assert!(error.line() > 0),
            Ok(cgrules::Verdict::Move(moves)) => {
                assert!(!moves.is_empty());
                for to in moves {
                    assert!(to.path.is_empty() || to.path.starts_with('/'));
                    assert!(!to.controllers.is_empty());
                }
            }
            Ok(cgrules::Verdict::NoRule | cgrules::Verdict::Ignore) => {}
        }
    }
    let _ = rules.notes(&accounts);
}

/// Pieces of files, and some that do not belong there.
#[rustfmt::skip]
const WORDS: [&str; 58] = [
    " ", " ", " ", " ", "\n", "\n", "\t", "\"", "#", "*", "%", "@", ":", "=", "=", ";", "{", "}", "{", "}", ",", "-", "/", "\\%",
    "a-b.slice", "..", ".", "é", "\u{0}", "\u{feff}", "1", "0", "-1", "1000", "50000", "100000", "50%", "99999999999999999999",
    "0-3", "2-5,7", "max", "idle", "FROZEN", "10ms", "group", "template", "perm", "task", "admin", "cpu", "cpuset", "root", "t/%u",
    "group t/%u { cpu { } }", "group a { cpu { cpu.shares = 5; } }", "template t/%u { cpu { cpu.shares = 5; } }",
    "* cpu,cpuset t/%u\n", "@users:make * a ignore\n",
];

const PATHS: [&str; 5] = ["/a", "/a/b", "/a/b/c", "/d", "a-b.slice"];

#[rustfmt::skip]
const SETTINGS: [&str; 20] = [
    "cpu.weight=200", "cpu.shares=0", "cpu.weight.nice=5", "cpu.idle=1", "cpu.idle=0", "cpu.max=50000 100000", "cpu.max=max",
    "cpu.max.burst=60000", "cpu.cfs_quota_us=50000", "cpu.cfs_quota_us=-1", "cpu.cfs_period_us=1000", "cpuset.cpus=0-2,5",
    "cpuset.cpus=2", "cpuset.cpus=", "cgroup.freeze=1", "freezer.state=THAWED", "CPUQuota=20%", "CPUQuotaPeriodSec=20ms",
    "AllowedCPUs=0 1", "memory.max=1",
];

#[test]
fn texts_that_once_needed_care() {
    for text in [
        "",
        "\u{feff}",
        "#",
        "/",
        "//",
        "/a",
        "/a =",
        "/a cpu.max=",
        "/a cpu.max=\"",
        "/a cpu.max=\"\"",
        "/a:",
        ":",
        "=",
        "a:=",
        "/a é=é",
        "/a cpuset.cpus=0-4294967295",
        "/a CPUQuota=1000000%",
        "/a CPUQuota=1000000% CPUQuotaPeriodSec=1",
        "/a cpu.cfs_quota_us=-9223372036854775808",
        "group",
        "group g",
        "group g {",
        "group \"\" { cpu { } }",
        "group g { cpu { \"\" = \"\"; } }",
        "template \"\" { cpu { } }",
        "group . { cpuset { cpuset.mems = 0; } }",
        "*",
        "\"",
        "\"\n\"",
        "% % %",
        "* * %",
        "* * \\",
        "* * %u",
        "é é é",
        "* * \\é%p",
        "user-.slice",
        "-.slice",
        ".slice",
        "a-b-.slice",
        "{\"/a\": {\"\": \"\"}}",
        "{\"x.slice\": {\"CPUWeight\": \"idle\"}}",
    ] {
        read_anything(text);
    }
}

#[test]
fn long_input_takes_time_in_proportion() {
    let many = |line: &dyn Fn(u32) -> String| (0..30_000).map(line).collect::<String>();
    for text in [
        many(&|n| format!("/g{n} cpuset.cpus=0-3 cpu.cfs_quota_us=5000 memory.max=1\n")),
        many(&|n| format!("/a/b/c/d/e/f/g/h/i{n} cpu.cfs_quota_us=5000\n")),
        many(&|_| "/a cpu.cfs_quota_us=5000\n/a/b cpuset.cpus=0\n".into()),
        format!("/a {}", many(&|_| "cpu.weight=5 ".into())),
        format!("/a cpu.max={}", "1 ".repeat(200_000)),
        format!("/a cpuset.cpus={}0", "0-7,".repeat(100_000)),
        format!(
            "/a cpuset.cpus={}0",
            (0..4096).step_by(2).map(|n| format!("{n},")).collect::<String>()
        ),
        "/".repeat(300_000),
        "/x".repeat(200_000),
        format!("{}.slice", "a-".repeat(200_000)),
        format!("{}a.slice", "a-".repeat(200_000)),
        many(&|n| format!("group g{n} {{ cpu {{ cpu.shares = {n}; }} memory {{ x = 1; }} }}\n")),
        many(&|n| format!("template t{n} {{ cpu {{ cpu.shares = 5; }} }}\n")),
        format!("group g {{ {} }}", many(&|n| format!("\"name=x{n}\" {{ }}"))),
        "#".repeat(300_000),
        "# x\n".repeat(100_000),
        " ".repeat(300_000),
        "\"".repeat(300_001),
        "{".repeat(300_000),
        many(&|n| format!("user{n} cpu a\n")),
        format!("root cpu a\n{}", "% cpuset %u\n".repeat(30_000)),
        format!("* {} a", "c,".repeat(100_000) + "c"),
        format!("* cpu {}", "%u".repeat(100_000)),
        format!("* cpu {}", "\\".repeat(200_000)),
    ] {
        read_anything(&text);
    }
}

/// The manual's examples are valid, and its error is the one that is printed.
#[test]
fn examples_of_the_manual() {
    let manual = include_str!("../../../docs/groups.md");
    let blocks: Vec<&str> = manual.split("```").skip(1).step_by(2).collect();
    let mut read = 0;
    for block in blocks {
        let (language, text) = block.split_once('\n').unwrap();
        if text.starts_with("error:") {
            let error =
                groups::parse("box.groups", "\n/b cpu.weight=20000 cpu.idle=0").unwrap_err();
            assert_eq!(error.to_string(), text.trim_end());
        } else if text.contains("@students") {
            cgrules::parse("manual", text).unwrap_or_else(|error| panic!("{error}"));
        } else if text.contains("\"tasks\"") {
            let target = schedlab_workload::Target { cpus: CPUS, limited: false };
            schedlab_workload::rt_app::load("manual", text, &target)
                .unwrap_or_else(|error| panic!("{error}"));
        } else if text.contains("# tasks ") {
            groups::Users::parse("manual", text).unwrap_or_else(|error| panic!("{error}"));
        } else if language != "sh" {
            let settings = groups::parse("manual", text).unwrap_or_else(|error| panic!("{error}"));
            GroupPlan::new(&settings, &[], CPUS).unwrap_or_else(|error| panic!("{error}"));
        } else {
            continue;
        }
        read += 1;
    }
    assert_eq!(read, 10);
}

/// Settings of a group, and the resulting group.
fn settings_of_a_group() -> impl Strategy<Value = (String, Group)> {
    let weight = prop::option::of(1..=10_000u64);
    let limit = prop::option::of((1_000..=10_000_000u64, 1_000..=1_000_000u64));
    (weight, limit, any::<bool>(), any::<bool>(), 0..=100u64).prop_map(
        |(weight, limit, idle, frozen, burst)| {
            let mut text = "/g".to_string();
            let mut group = Group {
                path: "/g".into(),
                parent: None,
                shares: SHARES_DEFAULT,
                idle,
                quota: Quota {
                    quota_us: None,
                    period_us: PERIOD_DEFAULT_US,
                    burst_us: 0,
                    phase_us: None,
                },
                cpuset: CpuSet::All,
                own_cpus: None,
                frozen,
                own_frozen: frozen,
                notes: Vec::new(),
            };
            if let Some(weight) = weight {
                text += &format!(" cpu.weight={weight}");
                group.shares = (weight as f64 * 10.24).round() as u64;
            }
            if let Some((quota_us, period_us)) = limit {
                group.quota.quota_us = Some(quota_us);
                group.quota.period_us = period_us;
                group.quota.burst_us = quota_us * burst / 100;
                text += &format!(
                    " cpu.max={quota_us} {period_us} cpu.max.burst={}",
                    group.quota.burst_us
                );
            }
            if idle {
                text += " cpu.idle=1";
                group.shares = SHARES_IDLE;
            }
            text += &format!(" cgroup.freeze={}", u8::from(frozen));
            (text, group)
        },
    )
}

fn any_word() -> impl Strategy<Value = &'static str> {
    let words = || prop::sample::select(&WORDS[..]);
    prop_oneof![
        words(),
        words(),
        prop::sample::select(&PATHS[..]),
        prop::sample::select(&SETTINGS[..])
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        read_anything(&text);
    }

    #[test]
    fn any_words(words in prop::collection::vec(any_word(), 0..60)) {
        read_anything(&words.concat());
    }

    #[test]
    fn any_settings(
        lines in prop::collection::vec(
            (
                prop::sample::select(&PATHS[..]),
                prop::collection::vec(prop::sample::select(&SETTINGS[..]), 0..6),
            ),
            0..8,
        ),
    ) {
        let text: String = lines.iter().map(|(path, settings)| format!("{path} {}\n", settings.join(" "))).collect();
        read_anything(&text);
    }

    #[test]
    fn what_is_written_is_there((text, expected) in settings_of_a_group()) {
        let plan = GroupPlan::new(&groups::parse("g", &text).unwrap(), &[], CPUS).unwrap();
        prop_assert_eq!(&plan.groups()[0], &expected, "{}", text);
    }
}
