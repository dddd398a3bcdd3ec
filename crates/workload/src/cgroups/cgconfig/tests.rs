//! libcgroup's configuration files: accepted and refused input.

use super::super::{Group, GroupPlan, Note};
use super::*;

fn read(text: &str) -> CgConfig {
    parse("cgconfig.conf", text).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    let error = parse("f", text).expect_err(text);
    format!("{}:{} {}", error.line(), error.column(), error.message())
}

fn groups(text: &str) -> Vec<Group> {
    let plan =
        GroupPlan::new(read(text).settings(), &[], 8).unwrap_or_else(|error| panic!("{error}"));
    plan.groups().to_vec()
}

/// Example from the manual.
const MANUAL: &str = r#"
mount { cpu = /sys/fs/cgroup/cpu; cpuacct = /sys/fs/cgroup/cpu; }
group daemons/www {
    perm { task { uid = root; gid = web; fperm = 770; }  admin { uid = root; gid = root; dperm = 775; fperm = 744; } }
    cpu { cpu.shares = "500"; cpu.cfs_quota_us = 50000; }
}
template students/%u { cpu { cpu.shares = 256; } }
"#;

#[test]
fn the_example_of_the_manual() {
    let groups = groups(MANUAL);
    let [daemons, www] = &groups[..] else { panic!("{groups:?}") };
    assert_eq!((daemons.path.as_str(), daemons.shares), ("/daemons", 1024));
    assert_eq!(
        (www.path.as_str(), www.shares, www.quota.quota_us),
        ("/daemons/www", 500, Some(50_000))
    );
    let notes: Vec<String> = read(MANUAL).settings().notes().iter().map(Note::to_string).collect();
    assert_eq!(
        notes,
        [
            "cgconfig.conf:2: `mount` has no effect: all groups are in one tree here",
            "cgconfig.conf:4: `perm` has no effect: owners and modes are not simulated",
        ]
    );
}

#[test]
fn templates_are_kept() {
    let config = read(MANUAL);
    let template = config.template("students/%u").unwrap();
    assert_eq!(template.path(), "/students/%u");
    let plan = GroupPlan::new(&template.settings("/students/anna"), &[], 1).unwrap();
    let anna = plan.groups().last().unwrap();
    assert_eq!((anna.path.as_str(), anna.shares), ("/students/anna", 256));
    assert!(config.template("students").is_none());
    assert!(config.template("..").is_none());
}

/// Measured with cgconfigparser 2.0.2, which accepts these.
#[test]
fn what_is_accepted() {
    for text in [
        "",
        "# only a comment",
        "group g { cpu { } }",
        "group \"group\" { cpu { } }",
        "group \"a b\" { cpu { cpu.shares = \"7\"; } }",
        "group g { cpu { } } group g { cpu { } }",
        "group g { cpu { } cpuset { cpuset.cpus = 0-1; } }",
        "  # indented comment\ngroup g { cpu { } }",
        "* a comment\ngroup g {\n# inside\ncpu { } }",
        "group g { perm { task { uid = 0; } admin { gid = 0; } } }",
        "group g { perm { admin { } task { } } cpu { } }",
        "default { perm { task { fperm = 770; } admin { dperm = 775; } } }",
        "mount { \"cpu,nodev\" = /a; \"name=x\" = \"/b\"; }",
        "namespace { cpu = /a; }",
        "systemd { slice = a; scope = b; setdefault = yes; pid = 5; }",
        "group . { cpu { cpu.rt_runtime_us = 5; } }",
        "group g { memory { memory.limit_in_bytes = 5; } \"name=x\" { } }",
        "group\tg{cpu{cpu.shares=5;cpu.shares=6;}}",
    ] {
        read(text);
    }
}

/// Measured for most of these with cgconfigparser 2.0.2, which refuses them.
#[test]
fn what_is_refused() {
    for (text, expected) in [
        (
            "GROUP g { cpu { } }",
            "1:1 expected a section (`group`, `template`, `mount` ...), found `GROUP`",
        ),
        ("group g { }", "1:11 expected a controller, found `}`"),
        ("group group { cpu { } }", "1:7 expected a name, found `group`"),
        ("group { cpu { } }", "1:7 expected a name, found `{`"),
        ("group g { cpu { cpu.shares = 5 } }", "1:32 expected `;`, found `}`"),
        (
            "group g { cpu { cpu.shares = 5; }",
            "1:34 expected a controller or `}`, found the end of the file",
        ),
        (
            "group g { cpu { } perm { task { } admin { } } }",
            "1:19 expected a controller, found `perm`",
        ),
        ("group g { perm { task { } } cpu { } }", "1:27 expected `admin`, found `}`"),
        ("group g { perm { admin { } } cpu { } }", "1:28 expected `task`, found `}`"),
        ("group g { perm { } }", "1:18 expected `task` or `admin`, found `}`"),
        ("group g { perm { task { } task { } } }", "1:27 expected `admin`, found `task`"),
        ("group g { perm { task { dperm = 1; } admin { } } }", "1:25 unknown key `dperm`"),
        ("group g { cpu { } cpu { } }", "1:19 the controller `cpu` is repeated"),
        ("group g { cpu { } } # comment", "1:21 a comment after other text"),
        (" * comment", "1:2 `*` is not allowed here"),
        ("group a:b { cpu { } }", "1:8 `:` is not allowed here"),
        ("group g { cpu { cpu.shares = +5; } }", "1:30 `+` is not allowed here"),
        ("group $x { cpu { } }", "1:7 `$` is not allowed here"),
        ("group é { cpu { } }", "1:7 `é` is not allowed here"),
        ("group \"a { cpu { } }", "1:7 this string is not closed"),
        ("group g { cpu { cpu.share = 5; } }", "1:17 unknown setting `cpu.share`"),
        ("group g { cpu { CPUWeight = 5; } }", "1:17 unknown setting `CPUWeight`"),
        ("group g { cpu { cpuset.cpus = 0; } }", "1:17 `cpu` has no parameter `cpuset.cpus`"),
        ("group g { cpus { } }", "1:11 there is no controller `cpus`"),
        (
            "group g {\n cpu {\n  cpu.shares = -1; } }",
            "3:3 `cpu.shares` must be from 2 to 262144, found -1",
        ),
        ("group . { cpu { cpu.shares = 5; } }", "1:17 the root group has no `cpu.shares`"),
        ("group ../x { cpu { } }", "1:7 a group cannot be called `..`"),
        ("template t { perm { task { } admin { } } }", "1:42 expected a controller, found `}`"),
        ("default { }", "1:11 expected `perm`, found `}`"),
        (
            "mount { cpu = /a; } namespace { cpu = /b; }",
            "1:33 `cpu` is listed under both `mount` and `namespace`",
        ),
        ("systemd { slicer = a; }", "1:11 unknown key `slicer`"),
        ("}", "1:1 expected a section (`group`, `template`, `mount` ...), found `}`"),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
    let error = parse("f", "group group { cpu { } }").unwrap_err();
    assert_eq!(error.help(), Some("to use it as a name, put it in quotes: `\"group\"`"));
    let error = parse("f", "GROUP g { cpu { } }").unwrap_err();
    assert_eq!(error.help(), Some("did you mean `group`?"));
}

#[test]
fn parameters_are_written_in_the_order_in_which_they_stand() {
    let text = "group g { cpu { cpu.cfs_quota_us = 5000; cpu.cfs_burst_us = 5000; } }
        group g { cpu { cpu.shares = 9; } }";
    let group = &groups(text)[0];
    assert_eq!((group.shares, group.quota.quota_us, group.quota.burst_us), (9, Some(5_000), 5_000));
    let text = "group g { cpu {\n cpu.cfs_quota_us = 5000;\n cpu.cfs_burst_us = 5001; } }";
    let error = GroupPlan::new(read(text).settings(), &[], 1).unwrap_err();
    assert_eq!((error.line(), error.path()), (3, "/g"));
}

/// Names that both versions have are version 1's, unless the file has names of version 2.
#[test]
fn the_version_is_the_older_one() {
    let text =
        "group a { cpuset { cpuset.cpus = 0-1; } } group a/b { cpuset { cpuset.cpus = 1-2; } }";
    assert!(GroupPlan::new(read(text).settings(), &[], 8).is_err());
    let text = format!("{text} template x {{ cpu {{ cpu.weight = 5; }} }}");
    let plan = GroupPlan::new(read(&text).settings(), &[], 8).unwrap();
    let b: Vec<u32> = plan.groups()[1].cpuset.iter(8).map(|cpu| cpu.0).collect();
    assert_eq!(b, [1]);
    assert_eq!(plan.groups().len(), 2);
}

#[test]
fn other_controllers_are_noted() {
    let config = read(
        "group g { memory { memory.limit_in_bytes = 5; memory.x = y; } freezer { freezer.state = FROZEN; } }",
    );
    assert_eq!(config.settings().notes().len(), 1);
    assert!(GroupPlan::new(config.settings(), &[], 1).unwrap().groups()[0].frozen);
}
