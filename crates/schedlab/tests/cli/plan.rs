//! `--plan-out` and the commands that run a plan, as users type them.

use crate::support::{Scratch, schedlab};

/// Returns the output of `command`, and that of the plan that it writes.
fn both(scratch: &Scratch, command: &[&str], runs: &[&str], shown: &[&str]) -> [String; 2] {
    let plan = format!("{}/plan.json", scratch.path());
    let direct = schedlab(&[command, shown].concat()).good();
    let written = schedlab(&[command, shown, &["--plan-out", &plan]].concat());
    assert!(written.stderr.contains("nothing was run"), "{}", written.stderr);
    assert_eq!(written.good(), "");
    let plan = [plan.as_str()];
    [direct, schedlab(&[runs, &plan, shown].concat()).good()]
}

#[test]
fn a_plan_gives_the_same_bytes_as_its_command() {
    let scratch = Scratch::new("plan-same");
    let groups = [
        ["run", "examples/nested-groups.json", "--groups", "examples/nested-groups.groups"],
        ["--group", "/alice:cpu.shares=512", "--scheduler", "cfs,eevdf"],
        ["--set", "sched_latency_ns=6000000", "--cost", "switch=1500.7"],
        ["--duration", "1", "--seed", "3"],
    ]
    .concat();
    for shown in [&["--tasks", "--timeline"][..], &["--format", "json"]] {
        let [direct, planned] = both(&scratch, &groups, &["run"], shown);
        assert_eq!(direct, planned);
    }
    let machine = ["run", "examples/server.json", "--machine", "z800-2x6", "--duration", "0.2"];
    let [direct, planned] = both(&scratch, &machine, &["run"], &["--format", "csv"]);
    assert_eq!(direct, planned);
    let bench = ["bench", "hackbench", "--groups", "1,2", "--loops", "3", "--repeat", "2"];
    let [direct, planned] = both(&scratch, &bench, &["bench", "plan"], &["--format", "json"]);
    assert_eq!(direct, planned);
    let members = ["bench", "mix", "editor --time 1", "web=hackbench 1 --loops 2 --affinity 0+1"];
    let mix = [&members[..], &["--cpus", "2", "--scheduler", "o_1,cfs"]].concat();
    let [direct, planned] = both(&scratch, &mix, &["bench", "plan"], &[]);
    assert_eq!(direct, planned);
}

#[test]
fn a_machine_file_stands_in_the_plan() {
    let scratch = Scratch::new("plan-machine");
    let text = r#"{"format": 1, "name": "box", "about": "a box", "source": "a test",
        "topology": {"regular": {"cores": 2}}}"#;
    let machine = scratch.file("box.json", text);
    let plan = format!("{}/plan.json", scratch.path());
    let command = ["run", "examples/desktop.json", "-s", "o_1", "--machine", &machine];
    let direct = schedlab(&command).good();
    schedlab(&[&command[..], &["--plan-out", &plan]].concat()).good();
    std::fs::remove_file(&machine).expect("the file exists");
    assert_eq!(schedlab(&["run", &plan]).good(), direct);
}

#[test]
fn options_that_contradict_a_plan_are_refused_and_others_are_not() {
    let scratch = Scratch::new("plan-beside");
    let (plan, bench) =
        (format!("{}/plan.json", scratch.path()), format!("{}/bench.json", scratch.path()));
    schedlab(&["run", "examples/desktop.json", "-s", "o_1", "--plan-out", &plan]).good();
    schedlab(&["bench", "hackbench", "1", "--plan-out", &bench]).good();
    for option in [&["--cpus", "2"][..], &["--seed", "1"], &["--at", "1s stop x"], &["-s", "cfs"]] {
        let message = schedlab(&[&["run", &plan][..], option].concat()).error(&[]);
        assert!(message.contains("is a plan, which describes the whole run"), "{message}");
    }
    let message = schedlab(&["bench", "plan", &bench, "--repeat", "1"]).error(&[]);
    assert!(message.contains("--repeat cannot change it"), "{message}");
    schedlab(&["run", &plan, "--format", "csv", "--tasks"]).good();
    let message = schedlab(&["run", &bench]).error(&[]);
    assert!(message.contains("schedlab bench plan"), "{message}");
    let message = schedlab(&["bench", "plan", &plan]).error(&[]);
    assert!(message.contains("schedlab run"), "{message}");
}

#[test]
fn what_is_wrong_with_a_plan_is_reported_with_its_place() {
    let scratch = Scratch::new("plan-wrong");
    let run = |text: &str| schedlab(&["run", &scratch.file("p.json", text)]).error(&[]);
    let message = run("{\n\"schedlab_plan\": 1,\n\"lod\": 3}");
    assert!(message.contains("p.json:3:5: unknown field `lod`"), "{message}");
    let message = run("{\"schedlab_plan\": 9}");
    assert!(message.contains("a plan of version 9; this program reads version 1"), "{message}");
    let nowhere = format!("{}/none.json", scratch.path());
    let two = ["run", "examples/desktop.json", "examples/server.json", "--plan-out", &nowhere];
    let message = schedlab(&two).error(&[]);
    assert!(message.contains("a plan holds one workload"), "{message}");
    let wrong = ["run", "examples/desktop.json", "-s", "cfz", "--plan-out", &nowhere];
    assert!(schedlab(&wrong).error(&[]).contains("did you mean cfs"));
}

#[test]
fn a_mistake_in_a_plan_is_reported_with_the_plans_name() {
    let scratch = Scratch::new("plan-named");
    let plan = format!("{}/p.json", scratch.path());
    let at = ["--at", "1s renice * 5"];
    let run = ["run", "examples/desktop.json", "-s", "o_1", "--plan-out", &plan];
    schedlab(&[&run[..], &at].concat()).good();
    let text = std::fs::read_to_string(&plan).expect("the file was written");
    for (from, to, part) in [
        ("o_1@2.6.0", "o_2", "p.json: there is no scheduler \"o_2\""),
        ("1s renice", "1s renise", "in the plan "),
        // No name in a file can control the terminal.
        ("o_1@2.6.0", "o\\u001b[31m", "no scheduler \"o\\u{1b}[31m\""),
    ] {
        let wrong = scratch.file("p.json", text.replace(from, to));
        let message = schedlab(&["run", &wrong]).error(&[part, "p.json"]);
        assert!(!message.contains('\x1b'), "{message}");
    }
    let bench = format!("{}/b.json", scratch.path());
    schedlab(&["bench", "hackbench", "1", "--plan-out", &bench]).good();
    let text = std::fs::read_to_string(&bench).expect("the file was written");
    let wrong = scratch.file("b.json", text.replace("\"groups\"", "\"grups\""));
    schedlab(&["bench", "plan", &wrong]).error(&["b.json: --grups: hackbench has no such"]);
}

#[test]
fn what_is_not_a_plan_is_not_written_over() {
    let scratch = Scratch::new("plan-over");
    let text = std::fs::read_to_string(crate::support::root().join("examples/desktop.json"));
    let text = text.expect("the file exists");
    let workload = scratch.file("w.json", &text);
    for command in [&["run", workload.as_str(), "-s", "o_1"][..], &["bench", "hackbench", "1"]] {
        let command = [command, &["--plan-out", &workload]].concat();
        schedlab(&command).error(&["w.json exists and is not a plan"]);
        assert_eq!(std::fs::read_to_string(&workload).expect("the file exists"), text);
    }
    let plan = scratch.file("p.json", "");
    for _ in 0..2 {
        schedlab(&["run", &workload, "-s", "o_1", "--plan-out", &plan]).good();
    }
    schedlab(&["run", &plan]).good();
}
