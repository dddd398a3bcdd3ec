//! Files about control groups, and assignments of tasks to users.

use super::{Reader, Shape, text};
use schedlab_workload::Diagnostic;
use schedlab_workload::cgroups::{
    Group, GroupPlan, GroupSettings, Users, cgconfig, cgrules, parse, parse_option,
};

/// Number of CPUs of the machine.
const CPUS: u32 = 8;

pub(super) const GROUPS: Reader = Reader {
    name: "groups",
    about: "groups: side files in the kernel's, systemd's and JSON's words, and the option --group",
    read: read_groups,
    words: &[
        "/a",
        "/a/b",
        "/own/c",
        "cpu.shares=",
        "cpu.weight=",
        "cpu.weight.nice=",
        "cpu.idle=",
        "cpu.max=",
        "cpu.max=\"50000 100000\"",
        "max 100000",
        "cpu.max.burst=",
        "cpu.cfs_quota_us=",
        "cpu.cfs_period_us=",
        "cpu.cfs_burst_us=",
        "cpu.rt_runtime_us=",
        "cpuset.cpus=",
        "cpuset.mems=",
        "cpuset.cpus.partition=root",
        "cgroup.freeze=1",
        "freezer.state=FROZEN",
        "memory.max=",
        "io.weight=",
        "cpu.uclamp.min=",
        "CPUWeight=",
        "CPUShares=",
        "CPUQuota=20%",
        "CPUQuotaPeriodSec=10ms",
        "AllowedCPUs=",
        "StartupCPUWeight=",
        "[Slice]",
        "[Service]",
        "[Unit]",
        "0-3",
        "0,2-3",
        "0-6:2",
        "max",
        "idle",
        "# ",
        "\n",
        ":",
        "{ \"/a\": { \"cpu.shares\": 5 } }",
        "\"cpu.max\": \"50000 100000\"",
    ],
    most: 600,
};

fn read_groups(input: &[u8]) -> Shape {
    let text = text(input);
    let read = |settings: Result<GroupSettings, Diagnostic>| match settings {
        Ok(settings) => check_settings(&settings),
        Err(error) => Shape::refused(error),
    };
    read(parse("fuzz", &text)).and(read(parse_option(&text)))
}

/// Checks that the settings keep the rules of groups.
fn check_settings(settings: &GroupSettings) -> Shape {
    match GroupPlan::new(settings, &["/own".into()], CPUS) {
        Ok(plan) => {
            for (number, group) in plan.groups().iter().enumerate() {
                assert!(group.parent.is_none_or(|parent| parent < number));
                check_group(group, group.parent.map(|parent| &plan.groups()[parent]));
            }
            for note in plan.notes() {
                assert!(note.line() > 0 && !note.to_string().is_empty());
            }
            Shape::taken((plan.groups().len() * 8 + plan.notes().take(7).count()) as u64)
        }
        Err(error) => Shape::refused(error),
    }
}

fn check_group(group: &Group, parent: Option<&Group>) {
    assert!((2..=262_144).contains(&group.shares));
    assert!((1_000..=1_000_000).contains(&group.quota.period_us));
    if let Some(quota_us) = group.quota.quota_us {
        assert!((1_000..1 << 44).contains(&quota_us) && group.quota.burst_us <= quota_us);
    }
    assert!(group.cpuset.first(CPUS).is_some());
    if let Some(parent) = parent {
        assert!(group.path.starts_with(&parent.path));
        assert!(group.cpuset.iter(CPUS).all(|cpu| parent.cpuset.contains(cpu)));
        assert!(group.frozen || !parent.frozen);
    }
}

pub(super) const CGCONFIG: Reader = Reader {
    name: "cgconfig",
    about: "libcgroup's cgconfig.conf",
    read: read_cgconfig,
    words: &[
        "group ",
        "template ",
        "mount ",
        "default ",
        "namespace ",
        "perm ",
        "task ",
        "admin ",
        "uid = ",
        "gid = ",
        "fperm = ",
        "dperm = ",
        "cpu ",
        "cpuset ",
        "cpuacct ",
        "memory ",
        "freezer ",
        "{",
        "}",
        ";",
        "=",
        "cpu.shares = 100;",
        "cpu.cfs_quota_us = 5000;",
        "cpuset.cpus = \"0-3\";",
        "\"%u\"",
        "t/%u",
        "%g",
        "%p",
        ".",
        "a/b",
        "# ",
        "\n",
        "\"",
        "'",
    ],
    most: 800,
};

fn read_cgconfig(input: &[u8]) -> Shape {
    match cgconfig::parse("fuzz", &text(input)) {
        Ok(config) => {
            let settings = check_settings(config.settings());
            match config.template("t/%u") {
                Some(template) => settings.and(check_settings(&template.settings("/t/anna"))),
                None => settings,
            }
        }
        Err(error) => Shape::refused(error),
    }
}

pub(super) const CGRULES: Reader = Reader {
    name: "cgrules",
    about: "libcgroup's cgrules.conf",
    read: read_cgrules,
    words: &[
        "anna",
        "@users",
        "root",
        "*",
        "%",
        "anna:make",
        "*:/bin/make",
        "@users:b*",
        "cpu",
        "cpu,cpuset",
        "/a/%u",
        "%U",
        "%g",
        "%G",
        "%p",
        "%P",
        "\\%",
        "ignore",
        "ignore_rt",
        "\t",
        " ",
        "\n",
        "# ",
        "\"",
        "/",
    ],
    most: 600,
};

fn read_cgrules(input: &[u8]) -> Shape {
    let rules = match cgrules::parse("fuzz", &text(input)) {
        Ok(rules) => rules,
        Err(error) => return Shape::refused(error),
    };
    let accounts =
        cgrules::Accounts::default().with_user("anna", 1000, 100).with_group("users", 100);
    let mut shape = Shape::taken(0);
    for user in ["root", "anna"] {
        let process = cgrules::Process { user, group: None, name: "/bin/make", pid: 1 };
        match rules.classify(&accounts, process) {
            Ok(cgrules::Verdict::Move(moves)) => {
                assert!(!moves.is_empty());
                for to in &moves {
                    assert!(to.path.is_empty() || to.path.starts_with('/'));
                }
                shape = shape.and(Shape::taken(moves.len() as u64));
            }
            Ok(_) => shape = shape.and(Shape::taken(0)),
            Err(error) => shape = shape.and(Shape::refused(error)),
        }
    }
    drop(rules.notes(&accounts));
    shape
}

pub(super) const USERS: Reader = Reader {
    name: "users",
    about: "users of tasks: files and the option --user",
    read: read_users,
    words: &[
        "a",
        "b-*",
        "a,b",
        "anna",
        "bob/1001",
        ":students/500,audio",
        "root",
        "1002",
        "/",
        ":",
        ",",
        "=",
        "# ",
        "\n",
        " ",
        "4294967295",
        "0",
        "*",
    ],
    most: 400,
};

fn read_users(input: &[u8]) -> Shape {
    let text = text(input);
    let option = Shape::of(Users::parse_option(&text));
    let file = match Users::parse("fuzz", &text) {
        Err(error) => Shape::refused(error),
        Ok(users) => {
            drop((users.user_of("a"), users.user_of("b-1"), users.accounts()));
            Shape::taken(u64::from(users.is_empty()))
        }
    };
    option.and(file)
}
