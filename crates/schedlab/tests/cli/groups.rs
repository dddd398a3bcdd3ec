//! Control groups and changes to them during a run, as users type them.

use crate::support::{Scratch, schedlab};
use serde_json::Value;

/// Two tasks in each of two groups, for two seconds.
const TWO: &str = r#"{"global": {"duration": 2}, "tasks": {
    "a": {"instance": 2, "loop": -1, "run": 1000, "taskgroup": "/a"},
    "b": {"instance": 2, "loop": -1, "run": 1000, "taskgroup": "/b"}}}"#;

/// Returns the groups of the first run, by path.
fn groups(text: &str) -> Vec<(String, Value)> {
    let report: Value = serde_json::from_str(text).expect("valid JSON");
    let groups = report["runs"][0]["groups"].as_array().expect("there are groups").clone();
    groups
        .into_iter()
        .map(|group| (group["path"].as_str().expect("a path").to_string(), group))
        .collect()
}

fn usage_ms(text: &str) -> Vec<(String, u64)> {
    let usage = |(path, group): (String, Value)| {
        (path, group["usage_ns"].as_u64().expect("a number") / 1_000_000)
    };
    groups(text).into_iter().map(usage).collect()
}

fn of(path: &str, ms: u64) -> (String, u64) {
    (path.to_string(), ms)
}

#[test]
fn cpus_of_groups_are_kept_and_change_in_mid_run() {
    let scratch = Scratch::new("cpuset");
    let two = scratch.file("two.json", TWO);
    let side = scratch.file("my.groups", "/a cpuset.cpus=0\n/b cpuset.cpus=1-2\n");
    for scheduler in ["cfs", "cfs@3.2", "eevdf"] {
        let args = ["run", &two, "-s", scheduler, "--cpus", "4", "-f", "json", "--groups", &side];
        let text = schedlab(&args).good();
        assert_eq!(usage_ms(&text), [of("/a", 2000), of("/b", 4000)], "{scheduler}");
        let percpu = groups(&text)[0].1["usage_percpu_ns"].clone();
        assert_eq!(percpu, serde_json::json!([2_000_000_000u64, 0, 0, 0]), "{scheduler}");
        let at = ["--at", "1s group /b cpuset.cpus=3 cpu.weight=50"];
        let text = schedlab(&[&args[..], &at].concat()).good();
        assert_eq!(usage_ms(&text), [of("/a", 2000), of("/b", 3000)], "{scheduler}");
    }
}

#[test]
fn a_frozen_group_does_nothing_until_it_is_thawed() {
    let scratch = Scratch::new("frozen");
    let two = scratch.file("two.json", TWO);
    let args = ["run", &two, "-s", "cfs", "-f", "json", "--group", "/a:freezer.state=FROZEN"];
    assert_eq!(usage_ms(&schedlab(&args).good()), [of("/a", 0), of("/b", 2000)]);
    for thaw in ["1s group /a cgroup.freeze=0", "1s thaw /a"] {
        let usage = usage_ms(&schedlab(&[&args[..], &["--at", thaw]].concat()).good());
        assert!(usage[0].1.abs_diff(500) < 10 && usage[1].1.abs_diff(1500) < 10, "{usage:?}");
    }
    // Without any other task the run ends, and states why.
    let ends = r#"{"tasks": {"a": {"loop": 2, "run": 1000, "taskgroup": "/a"}, "b": {"loop": 5, "run": 1000}}}"#;
    let ends = scratch.file("ends.json", ends);
    let ran = schedlab(&["run", &ends, "-s", "cfs", "--group", "/a:cgroup.freeze=1"]);
    assert!(ran.stderr.contains("no action continues these: a-0"), "{}", ran.stderr);
    ran.good();
}

#[test]
fn limits_and_idle_change_in_mid_run_and_are_told_of() {
    let scratch = Scratch::new("limit");
    let two = scratch.file("two.json", TWO);
    let side = scratch.file("day.timetable", "at 1s group /a cpu.max=20000 100000\n");
    let args = ["run", &two, "--timetable", &side, "-s"];
    let text = schedlab(&[&args[..], &["cfs@3.2", "-f", "json"]].concat()).good();
    let [(_, a), (_, b)] = &groups(&text)[..] else { panic!("{text}") };
    assert!(a["throttling"]["nr_throttled"].as_u64() >= Some(9), "{a}");
    assert!(a["throttling"]["throttled_ns"].as_u64() > Some(500_000_000), "{a}");
    assert_eq!(b["throttling"]["nr_periods"], 0, "{b}");
    assert!((0.34..0.36).contains(&a["machine_share"].as_f64().expect("a part")), "{a}");
    let text = schedlab(&[&args[..], &["cfs@3.2,eevdf"]].concat()).good();
    assert!(text.contains("of the machine") && text.contains("throttled, of periods"), "{text}");
    let csv = schedlab(&[&args[..], &["eevdf", "-f", "csv"]].concat()).good();
    assert!(
        csv.contains("eevdf,6.18,group_usage:/a,") && csv.contains(",group_nr_throttled:/a,"),
        "{csv}"
    );
    schedlab(&[&args[..], &["cfs"]].concat()).error(&["its groups cannot be limited"]);
    // A scheduler without idle groups is noted, and uses the minimum weight.
    let idle = ["run", &two, "--at", "1s group /a cpu.idle=1", "-f", "json", "-s"];
    let ran = schedlab(&[&idle[..], &["cfs"]].concat());
    assert!(ran.stderr.contains("it has weight 3"), "{}", ran.stderr);
    let [(_, a), (_, b)] = &usage_ms(&ran.good())[..] else { panic!("two groups") };
    assert!((500..510).contains(a) && *b > 1490, "{a} {b}");
    let [(_, a), (_, b)] = &usage_ms(&schedlab(&[&idle[..], &["eevdf"]].concat()).good())[..]
    else {
        panic!("two groups")
    };
    assert!((500..520).contains(a) && *b > 1480, "{a} {b}");
    // A change that the kernel refuses at that time is a warning, and the run continues.
    let at = [
        "run",
        &two,
        "-s",
        "eevdf",
        "--at",
        "1s group /a cpu.max=20000",
        "--at",
        "1.5s group /a cpu.max.burst=30000",
    ];
    let ran = schedlab(&at);
    assert!(
        ran.stderr.contains("EINVAL: a burst of 30000 us is more than the quota"),
        "{}",
        ran.stderr
    );
    ran.good();
}

#[test]
fn wrong_changes_of_groups_are_pointed_at() {
    let scratch = Scratch::new("wrong");
    let two = scratch.file("two.json", TWO);
    for (action, parts) in [
        ("group /a cpuset.cpus=3", &["option --at:1:13", "there is no CPU 3", "only CPU 0"][..]),
        ("group /a cpuset.cpus=0-x", &["`0-x` is not a list of CPUs", "^^^^^^^^^^^^^^^"]),
        ("group /a cpu.max=500", &["at least 1000", "option --at:1:13"]),
        ("group /a cpu.max=5000 7", &["the period in `cpu.max` must be from 1000", "5000 7\n"]),
        ("group /a cpu.idle=2", &["`cpu.idle` must be 0 or 1"]),
        ("group /a cpu.mox=2", &["unknown setting `cpu.mox`", "did you mean `cpu.max`?"]),
        ("group /a cpu.uclamp.min=5", &["`cpu.uclamp.min` has no effect"]),
        ("group /a", &["a setting such as `cpu.weight=200` is missing"]),
        ("group / cpuset.cpus=0", &["the root group has no settings"]),
        ("group /c cpuset.cpus=0", &["unknown group `/c`"]),
    ] {
        schedlab(&["run", &two, "-s", "cfs", "--at", &format!("1s {action}")]).error(parts);
    }
    schedlab(&["run", &two, "-s", "cfs", "--group", "/a:cpuset.cpus=4"])
        .error(&["there is no CPU 4", "option --group:1:4"]);
}

const THREE: &str = r#"{"global": {"duration": 2}, "tasks": {
    "make-1": {"loop": -1, "run": 1000}, "video": {"loop": -1, "run": 1000}, "rest": {"loop": -1, "run": 1000}}}"#;

#[test]
fn rules_put_tasks_in_groups_by_user_and_program() {
    let scratch = Scratch::new("cgrules");
    let three = scratch.file("three.json", THREE);
    let config = scratch.file(
        "cgconfig.conf",
        "group build { cpu { cpu.shares = 512; } }\ntemplate students/%u { cpu { cpu.shares = 256; } }\n",
    );
    let rules = scratch.file(
        "cgrules.conf",
        "root:make-* cpu build\n@students cpu students/%u\n% freezer all\n* * others\n",
    );
    let args = [
        "run",
        &three,
        "-s",
        "cfs",
        "-f",
        "json",
        "--groups",
        &config,
        "--cgrules",
        &rules,
        "--group",
    ];
    let more = ["/others:cpu.shares=512", "--user", "video=anna:students"];
    let ran = schedlab(&[&args[..], &more].concat());
    assert!(
        ran.stderr.contains("cgrules.conf:3: `/all` for freezer has no effect"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("no rule uses it"), "{}", ran.stderr);
    let text = ran.good();
    let report: Value = serde_json::from_str(&text).expect("valid JSON");
    let tasks = report["runs"][0]["tasks"].as_array().expect("there are tasks").clone();
    let of_task = |task: &Value| task["group"].as_str().expect("a path").to_string();
    assert_eq!(
        tasks.iter().map(of_task).collect::<Vec<_>>(),
        ["/build", "/students/anna", "/others"]
    );
    // A group that is never made, and invalid users.
    schedlab(&[&args[..args.len() - 1], &["--user", "video=anna:students"]].concat()).error(&[
        "cgrules.conf:4:5 (rest)",
        "there is no such group",
        "--group /others",
    ]);
    let wrong = |user| schedlab(&["run", &three, "-s", "cfs", "--user-groups", "--user", user]);
    wrong("vidio=anna").error(&[
        "unknown task `vidio`",
        "option --user:1:1",
        "did you mean `video`?",
    ]);
    wrong("video").error(&["`video` is not a task with its user"]);
    wrong("video=anna/x").error(&["option --user:1:7", "the number in `anna/x` is invalid"]);
    schedlab(&["run", &three, "--cgrules", "nowhere"]).error(&["nowhere: there is no such file"]);
    let bad = scratch.file("bad.conf", "root cpu\n");
    schedlab(&["run", &three, "--cgrules", &bad])
        .error(&["bad.conf:1:1", "a rule has three fields"]);
}

#[test]
fn every_user_has_a_group() {
    let scratch = Scratch::new("users");
    let three = scratch.file("three.json", THREE);
    let users = scratch.file("users", "# who\nvideo anna\nrest bob/1005\n");
    let args = ["run", &three, "-f", "json", "--user-groups", "--users", &users, "-s"];
    let text = schedlab(&[&args[..], &["cfs"]].concat()).good();
    let shares: Vec<(String, u64)> =
        usage_ms(&text).into_iter().map(|(path, ms)| (path, (ms + 5) / 10)).collect();
    // Root weighs twice as much.
    assert_eq!(shares, [of("/uid-0", 100), of("/uid-1000", 50), of("/uid-1005", 50)]);
    let at = ["cfs", "--at", "1s group /uid-1005 cpu.shares=2048"];
    let [(_, root), (_, anna), (_, bob)] =
        &usage_ms(&schedlab(&[&args[..], &at].concat()).good())[..]
    else {
        panic!("three groups")
    };
    assert!(
        root.abs_diff(900) < 10 && anna.abs_diff(450) < 10 && bob.abs_diff(650) < 10,
        "{root} {anna} {bob}"
    );
    let ran = schedlab(&[&args[..], &["eevdf"]].concat());
    assert!(ran.stderr.contains("no groups by user in these releases"), "{}", ran.stderr);
    ran.good();
    schedlab(&["run", "examples/nested-groups.json", "--user-groups", "-s", "cfs"])
        .error(&["groups by user or control groups, not both"]);
}

/// `nice` counts only within a session.
#[test]
fn sessions_have_autogroups_on_request() {
    let scratch = Scratch::new("autogroup");
    let work = scratch.file(
        "two.json",
        r#"{"global": {"duration": 4}, "tasks": {
            "a": {"session": "tty1", "loop": -1, "run": 10000},
            "b": {"session": "tty2", "priority": 19, "loop": -1, "run": 10000}}}"#,
    );
    let (a, b) = ("/autogroup-tty1", "/autogroup-tty2");
    for scheduler in ["cfs@3.2", "cfs@6.1", "eevdf@6.18", "eevdf@7.3"] {
        let args = ["run", &work, "-s", scheduler, "-f", "json", "--autogroup"];
        let usage = usage_ms(&schedlab(&args).good());
        assert_eq!(usage.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), [a, b]);
        assert!(usage.iter().all(|(_, ms)| ms.abs_diff(2000) <= 2), "{scheduler}: {usage:?}");
        // The nice value of an autogroup has the weight of a task's: 1024 to 335.
        let nice = ["--group", "/autogroup-tty2:cpu.weight.nice=5"];
        let usage = usage_ms(&schedlab(&[&args[..], &nice].concat()).good());
        let ms = |path| usage.iter().find(|(other, _)| other == path).map_or(0, |(_, ms)| *ms);
        assert!(ms(b).abs_diff(4000 * 335 / 1359) <= 12, "{scheduler}: {usage:?}");
    }
    let old = schedlab(&["run", &work, "-s", "cfs@2.6.32", "--autogroup"]);
    assert_eq!(old.status, 2);
    assert!(old.stderr.contains("no autogroups: kernels have them since 2.6.38"), "{}", old.stderr);
    let without = schedlab(&["run", &work, "-s", "eevdf"]);
    assert!(without.stderr.contains("matter only with --autogroup"), "{}", without.stderr);
    let both = schedlab(&["run", &work, "-s", "eevdf", "--autogroup", "--user-groups"]);
    assert_eq!(both.status, 2);
}

/// Bursts of 2.5 ms under a limit of 1 ms in 100 ms, with ticks every 4 ms. As measured on 6.18.44:
/// the group is throttled when its task sleeps, which counts as two periods, and no time, because
/// no task is there that could run. Kernels before 6.6 count the time.
#[test]
fn a_group_without_tasks_is_throttled_for_no_time() {
    let scratch = Scratch::new("empty");
    let work = scratch.file(
        "bursts.json",
        r#"{"tasks": {"p": {"taskgroup": "/box", "loop": 14, "run": 2500, "sleep": 449500}}}"#,
    );
    for (scheduler, counts) in
        [("cfs@3.2", true), ("cfs@6.1", true), ("eevdf@6.12", false), ("eevdf@6.18", false)]
    {
        let limit = ["--hz", "250", "--group", "/box:cpu.max=1000 100000"];
        let args = [&["run", &work, "-s", scheduler, "-f", "json"], &limit[..]].concat();
        let throttling = groups(&schedlab(&args).good())[0].1["throttling"].clone();
        assert_eq!(throttling["nr_throttled"], 28, "{scheduler}: {throttling}");
        let ns = throttling["throttled_ns"].as_u64().expect("a number");
        assert_eq!(ns > 2_000_000_000, counts, "{scheduler}: {throttling}");
        assert_eq!(ns == 0, !counts, "{scheduler}: {throttling}");
    }
}

/// A task that computes 2 ms of each 19 ms beside two hogs, and reads its own CPU clock as it does
/// so. Each reading charges it, so that its slice ends between ticks, too (since 3.18).
#[test]
fn a_reading_of_the_own_cpu_clock_can_end_a_slice() {
    let scratch = Scratch::new("clock");
    let preemptions = |scheduler: &str, reads: &str| {
        let text = format!(
            r#"{{"global": {{"duration": 4}}, "tasks": {{
                "per": {{{reads} "loop": -1, "run": 2000,
                    "timer": {{"ref": "unique", "period": 19013, "mode": "absolute"}}}},
                "hog": {{"instance": 2, "loop": -1, "run": 10000}}}}}}"#
        );
        let work = scratch.file("per.json", &text);
        let args = ["run", &work, "-s", scheduler, "--hz", "250", "-f", "json"];
        let report: Value = serde_json::from_str(&schedlab(&args).good()).expect("valid JSON");
        let tasks = report["runs"][0]["tasks"].as_array().expect("there are tasks").clone();
        let per = tasks.iter().find(|task| task["name"] == "per-0").expect("it is in the report");
        per["switches_involuntary"].as_u64().expect("a number")
    };
    for scheduler in ["eevdf@6.6", "eevdf@6.18"] {
        let (without, with) =
            (preemptions(scheduler, ""), preemptions(scheduler, r#""clock_read": 20,"#));
        assert!(with > 150 && with > 3 * without, "{scheduler}: {without} {with}");
    }
    for scheduler in ["o_1", "cfs@3.2", "cfs@3.10"] {
        let (without, with) =
            (preemptions(scheduler, ""), preemptions(scheduler, r#""clock_read": 20,"#));
        assert_eq!(without, with, "{scheduler}");
    }
}
