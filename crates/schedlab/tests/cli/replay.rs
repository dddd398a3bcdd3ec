//! `schedlab replay`, as users type it.

use std::path::PathBuf;
use std::process::{Command, Output};

fn replay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .arg("replay")
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("the program starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const DESK: &str = "examples/traces/desk.xz";

#[test]
fn a_recording_under_other_schedulers() {
    let output = replay(&[DESK, "-s", "eevdf,cfs,bfs", "--change", "nice hog +10", "--seeds", "2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = text(&output);
    for wanted in ["recorded", "replayed (eevdf@6.18)", "cfs@2.6.32", "bfs@0.404", "trust: "] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(text.contains("changes from the third column on: nice hog +10"), "{text}");
    // The groups are in a file named after the trace.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("groups from examples/traces/desk.groups"), "{said}");
    assert!(!text.contains("C: cgroups are not in a trace"), "{text}");
    let without = replay(&[DESK, "--groups", "none", "--seeds", "2"]);
    assert_eq!(without.status.code(), Some(0), "{without:?}");
    assert!(String::from_utf8_lossy(&without.stdout).contains("C: cgroups are not in a trace"));
    assert!(without.stderr.is_empty(), "{without:?}");
}

#[test]
fn the_answer_as_json_and_the_work_as_a_file() {
    let output = replay(&[DESK, "--seeds", "2", "--format", "json", "--only", "hog,video"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    assert_eq!(answer["columns"].as_array().map(Vec::len), Some(2));
    assert_eq!(answer["groups"].as_array().map(Vec::len), Some(2));
    assert_eq!(answer["e_cpu"], 0.0);
    let file: PathBuf = std::env::temp_dir().join(format!("replay-{}.json", std::process::id()));
    let name = file.display().to_string();
    let output = replay(&[DESK, "--write", &name, "--anonymize"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let written = std::fs::read_to_string(&file).expect("the file exists");
    assert!(!written.contains("hog") && written.contains("sem_post"));
    std::fs::remove_file(&file).expect("the file can be removed");
}

#[test]
fn mistakes_are_told() {
    for (arguments, wanted) in [
        (&["examples/desktop.json"][..], "sched_switch"),
        (&["no-such-file"], "no-such-file"),
        (&[DESK, "--only", "hogg"], "did you mean hog?"),
        (&[DESK, "--set", "nice:hog=5"], "--change"),
        (&[DESK, "--change", "renice hog 50"], "from -20 to 19"),
        (&[DESK, "--try", "nice hog +5; renice hog 50"], "from -20 to 19"),
        (&[DESK, "--set", "quota:/dask=50ms"], "did you mean /desk?"),
        (&[DESK, "--set", "quota:/desk=50ms/2s"], "1ms to 1s"),
    ] {
        let output = replay(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(wanted), "{arguments:?}: {said}");
    }
}

/// Makes a temporary directory.
fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("replay-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("the file can be written");
    path
}

#[test]
fn the_page_has_what_was_recorded_above_the_alternatives() {
    let here = directory("page");
    let (page, plot) = (here.join("r.html"), here.join("r.svg"));
    let (of_page, of_plot) = (page.display().to_string(), plot.display().to_string());
    let output = replay(&[
        DESK,
        "-s",
        "cfs",
        "--change",
        "nice hog +10",
        "--seeds",
        "2",
        "--report",
        &of_page,
        "--plot",
        &of_plot,
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let html = std::fs::read_to_string(&page).expect("the file exists");
    for wanted in [
        "<section id=\"answer\">",
        "class=\"alike\"",
        "\"spec\":\"recorded\"",
        "\"spec\":\"replayed (eevdf@6.18)\"",
        "\"spec\":\"cfs@2.6.32, nice hog +10\"",
        "Changes from the third column on: nice hog +10.",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
    let svg = std::fs::read_to_string(&plot).expect("the file exists");
    assert!(svg.starts_with("<svg") && svg.contains("replayed (eevdf@6.18)"));
    // The same trace makes the same bytes.
    let again = here.join("again.html").display().to_string();
    replay(&[DESK, "-s", "cfs", "--change", "nice hog +10", "--seeds", "2", "--report", &again]);
    assert!(html == std::fs::read_to_string(&again).expect("the file exists"));
    let refused = replay(&[DESK, "--report", DESK]);
    assert_eq!(refused.status.code(), Some(2), "a trace is not overwritten: {refused:?}");
    std::fs::remove_dir_all(&here).expect("the file can be removed");
}

#[test]
fn it_is_explained_behind_whom_tasks_wait() {
    let output = replay(&[
        DESK,
        "-s",
        "cfs",
        "--seeds",
        "2",
        "--explain",
        "--only",
        "descendants of desk.sh",
    ]);
    let text = text(&output);
    assert!(text.contains("video waits ") && text.contains(" less behind hog"), "{text}");
}

/// The side file of `schedlab record` is used.
#[test]
fn what_was_noted_beside_the_trace_holds() {
    let here = directory("side");
    let trace = here.join("own.xz");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::fs::copy(format!("{root}/{DESK}"), &trace).expect("the file can be written");
    let side = here.join("own.xz.side.json");
    let noted = |kernel: &str| {
        format!(
            r#"{{"schema": "schedlab-side/1", "kernel": "{kernel}", "cpus": [{{"cpu": 0}}, {{"cpu": 1}}],
            "tunables": {{"base_slice_ns": 2800000, "sched_domain": "text"}},
            "groups": {{"v1:/desk": {{"cpu.shares": 262144, "cpu.cfs_quota_us": -1}}}},
            "tasks": [
              {{"tid": 31309, "comm": "desk.sh", "policy": "other", "allowed": "0-1",
                "groups": ["v1:/desk/inner", "v2:/x"]}},
              {{"tid": 28574, "policy": "batch", "allowed": "1", "groups": ["v1:/", "v2:/"]}}]}}"#
        )
    };
    std::fs::write(&side, noted("6.12.3-lab")).expect("the file can be written");
    let own = trace.display().to_string();
    let run = |more: &[&str]| {
        let mut arguments = vec![own.as_str(), "--seeds", "2", "--format", "json"];
        arguments.extend(more);
        let output = replay(&arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
        (answer, said)
    };
    let (with, said) = run(&["-s", "cfs@2.6.32"]);
    assert!(
        said.contains("own.xz.side.json, which is next to the trace")
            && said.contains("--side none"),
        "{said}"
    );
    assert_eq!(with["columns"][1]["name"], "eevdf@6.12");
    let codes = |answer: &serde_json::Value| -> String {
        let all = answer["messages"].as_array().expect("messages").iter();
        all.filter_map(|message| message["code"].as_str().map(String::from)).collect()
    };
    assert!(!codes(&with).contains('C'), "the groups are known: {}", codes(&with));
    let (without, said) = run(&["--side", "none"]);
    assert!(said.is_empty(), "{said}");
    assert_eq!(without["columns"][1]["name"], "eevdf@6.18");
    assert!(codes(&without).contains('C'));
    // The groups decide which tasks wait: tasks of the desk hardly wait for the others.
    let wait = |answer: &serde_json::Value, name: &str| {
        let groups = answer["groups"].as_array().expect("groups");
        let at = groups.iter().position(|group| group["name"] == name).expect("the entry exists");
        answer["columns"][1]["groups"][at]["wait"]["median"].as_f64().expect("a number")
    };
    assert!(wait(&with, "video") < 0.7 * wait(&without, "video"));
    let named = side.display().to_string();
    let (same, _) = run(&["--side", &named, "-s", "cfs@2.6.32"]);
    assert_eq!(same["columns"], with["columns"]);
    // The workload file contains the values of the side file.
    let work = here.join("work.json").display().to_string();
    assert_eq!(replay(&[&own, "--write", &work]).status.code(), Some(0));
    let work = std::fs::read_to_string(&work).expect("the file exists");
    assert!(work.contains("\"taskgroup\": \"/desk\"") && work.contains("SCHED_BATCH"));
    for (text, wanted) in [
        (noted("6.12").replace("side/1", "side/9"), "\"schema\" is \"schedlab-side/9\""),
        (noted("6.12").replace("\"tid\": 28574, ", ""), "tasks[1].tid"),
        ("{\"schema\": ".into(), "1:"),
    ] {
        std::fs::write(&side, text).expect("the file can be written");
        let output = replay(&[&own]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("own.xz.side.json:") && said.contains(wanted), "{said}");
    }
    std::fs::remove_dir_all(&here).expect("the file can be removed");
}

/// A limit, and no task, is the cause of the waits that it adds.
#[test]
fn waits_for_a_limit_are_explained_by_the_limit() {
    let box_of_hog =
        ["--change", "move hog to /box", "--change", "group /box cpu.max=20000 100000"];
    let output = replay(&[&[DESK, "--seeds", "2", "--explain"], &box_of_hog[..]].concat());
    let answer = text(&output);
    let (_, line) = answer.split_once("\n  hog waits ").expect("hog waits longer");
    let line = line.lines().next().unwrap_or_default();
    assert!(
        line.contains(" ms longer: ") && line.contains("throttled by the limit of /box"),
        "{line}"
    );
    assert!(!line.contains("more behind"), "{line}");
}

/// Autogroups of the side file are groups of the replay, from 2.6.38 on.
#[test]
fn sessions_of_the_side_file_are_groups() {
    let here = directory("sessions");
    let trace = here.join("own.xz");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::fs::copy(format!("{root}/{DESK}"), &trace).expect("the file can be written");
    let side = r#"{"schema": "schedlab-side/1", "kernel": "6.12.3", "hz": 250,
        "tunables": {"sched_autogroup_enabled": 1}, "groups": {"v1:/": {"cpu.shares": 1024}},
        "tasks": [
          {"tid": 31309, "comm": "desk.sh", "policy": "other", "session": 7, "autogroup": 5,
            "autogroup_nice": -2, "groups": ["v1:/"]},
          {"tid": 28574, "policy": "other", "session": 9, "autogroup": 6, "autogroup_nice": 0,
            "groups": ["v1:/"]}]}"#;
    std::fs::write(here.join("own.xz.side.json"), side).expect("the file can be written");
    let own = trace.display().to_string();
    let run = |more: &[&str]| {
        let mut arguments = vec![own.as_str(), "--seeds", "1"];
        arguments.extend(more);
        let output = replay(&arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        text(&output)
    };
    let answer = run(&["-s", "cfs@2.6.32"]);
    assert!(answer.contains("S: autogroup is on") && answer.contains("as recorded"), "{answer}");
    assert!(answer.contains("cfs@2.6.32 has no autogroups"), "{answer}");
    assert!(!answer.contains("A: assumed"), "the kernel and HZ are known: {answer}");
    let work = here.join("work.json").display().to_string();
    assert_eq!(replay(&[&own, "--write", &work]).status.code(), Some(0));
    let work = std::fs::read_to_string(&work).expect("the file exists");
    assert!(work.contains("\"taskgroup\": \"/autogroup-5\""));
    // Without a side file, a change of nice values may have no effect.
    let answer = run(&["--side", "none", "--change", "nice hog +5"]);
    assert!(
        answer.contains("S: kernels of desktops") && answer.contains("`nice hog +5`"),
        "{answer}"
    );
    assert!(!run(&["--side", "none"]).contains("S: "));
    std::fs::remove_dir_all(&here).expect("the directory can be removed");
}

/// Recordings of all tools, with gaps and without contexts.
#[test]
fn every_recording_is_told_of() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces");
    let mut count = 0;
    for file in std::fs::read_dir(directory).expect("the directory exists") {
        let path = file.expect("a readable entry").path();
        if path.extension().is_none_or(|ending| ending != "xz") {
            continue;
        }
        let output = Command::new(env!("CARGO_BIN_EXE_schedlab"))
            .args(["trace", "info"])
            .arg(&path)
            .output()
            .expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = text(&output);
        assert!(said.contains("sched_switch") && said.contains("span"), "{said}");
        count += 1;
    }
    assert!(count >= 8, "{count}");
}

#[test]
fn limits_and_sets_of_changes_are_columns() {
    let arguments =
        [DESK, "--set", "quota:/desk=20ms/100ms,80ms/100ms", "--seeds", "2", "--format", "json"];
    let output = replay(&arguments);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    let columns = answer["columns"].as_array().expect("columns");
    let names: Vec<&str> = columns.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(
        names[2..],
        ["eevdf@6.18[quota:/desk=20ms/100ms]", "eevdf@6.18[quota:/desk=80ms/100ms]"]
    );
    let throttled = |column: usize| columns[column]["all"]["throttled"]["median"].as_f64();
    assert!(throttled(2) > throttled(3) && throttled(3) > Some(0.0), "{names:?}");
    assert_eq!(columns[1]["all"]["throttled"], serde_json::Value::Null);
    let common = replay(&[DESK, "--set", "quota:/desk=20ms", "--seeds", "2"]);
    assert!(text(&common).contains("from the third column on: quota:/desk=20ms"), "{common:?}");

    let arguments = [DESK, "--try", "nice hog +10", "--try", "nice hog +5; chrt video idle"];
    let output = replay(&[&arguments[..], &["--seeds", "2", "--format", "json"]].concat());
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    let columns = answer["columns"].as_array().expect("columns");
    assert_eq!(columns.len(), 4);
    assert_eq!(columns[2]["name"], "eevdf@6.18, nice hog +10");
    assert_eq!(columns[3]["name"], "eevdf@6.18, nice hog +5; chrt video idle");
}

#[test]
fn the_groups_are_written_next_to_the_work() {
    let here = directory("groups");
    let work = here.join("work.json").display().to_string();
    let output = replay(&[DESK, "--write", &work]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let groups = std::fs::read_to_string(here.join("work.json.groups")).expect("the file exists");
    assert!(groups.contains("/desk") && groups.contains("cpu.shares=262144"), "{groups}");
    let file = here.join("work.json.groups").display().to_string();
    let run = Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .args(["run", &work, "--groups", &file, "--duration", "1"])
        .output()
        .expect("the program starts");
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    // A file that is not its own stays.
    std::fs::write(&file, "/mine cpu.weight=50\n").expect("the file can be written");
    let refused = replay(&[DESK, "--write", &work]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    std::fs::remove_dir_all(&here).expect("the directory can be removed");
}
