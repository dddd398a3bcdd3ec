//! `schedlab bench`, as users type it.

use crate::support::{Scratch, command, ran, schedlab};
use serde_json::Value;

/// A benchmark that takes no time, and two schedulers.
const SMALL: [&str; 6] = ["bench", "hackbench", "--fds=2", "--loops=4", "--scheduler", "o_n,o_1"];

/// Runs it with `more`, with the characters of `locale`.
fn run_in(locale: &str, more: &[&str]) -> crate::support::Outcome {
    let mut command = command(&[&SMALL, more].concat());
    ran(command.env("LC_ALL", locale).env("COLUMNS", "80").output().expect("the program starts"))
}

fn run(more: &[&str]) -> crate::support::Outcome {
    run_in("C", more)
}

#[test]
fn one_point_prints_what_the_real_program_prints_and_a_table() {
    let text = run(&["3"]).good();
    for part in [
        "-- o_n@2.4.19 ---",
        "Running in process mode with 3 groups using 4 file descriptors each (== 12 tasks)",
        "Each sender will pass 4 messages of 100 bytes\nTime: 0.0",
        "hackbench on 1 CPU (idealised)",
        "messages a second",
        "switches voluntary",
        "wakeup latency p99",
        "CPU use",
    ] {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
    assert_eq!(text.matches("Running in").count(), 2);
}

#[test]
fn all_schedulers_of_linux_that_can_run_it_are_the_default() {
    let ran = schedlab(&["bench", "hackbench", "1", "--fds=2", "--loops=4", "--cpus=2"]);
    assert!(
        ran.stderr.contains("left out: round_robin@1.0 (it has only one CPU)"),
        "{}",
        ran.stderr
    );
    let text = ran.good();
    assert!(text.contains("eevdf") && !text.contains("fcfs"), "{text}");
}

#[test]
fn a_sweep_is_a_table_and_a_curve_in_eighty_columns() {
    let text = run_in("C.UTF-8", &["--groups", "5..20:5"]).good();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in
        ["hackbench on 1 CPU (idealised): time", "groups  ", "● o_n@2.4.19   ■ o_1@2.6.0", "┤"]
    {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
    let ascii = run(&["--groups", "5..20:5", "--figure", "time per message"]).good();
    assert!(ascii.is_ascii() && ascii.contains("o o_n@2.4.19   x o_1@2.6.0"), "{ascii}");
    assert!(ascii.contains("time per message (us)"), "{ascii}");
}

#[test]
fn a_sweep_can_be_a_picture() {
    let scratch = Scratch::new("bench-plot");
    let file = format!("{}/plot.svg", scratch.path());
    run(&["--groups", "1,2", "--pipe=false,true", "--plot", &file]).good();
    let svg = std::fs::read_to_string(file).expect("the picture was drawn");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<polyline").count(), 4);
    assert!(svg.contains(">o_1@2.6.0, pipe true</text>"));
}

#[test]
fn json_and_csv_tell_everything() {
    let report: Value = serde_json::from_str(
        &run(&["--groups", "1,2", "--repeat=3", "--seed=7", "--format=json"]).good(),
    )
    .expect("valid JSON");
    assert_eq!(report["schema"], "schedlab-bench/1");
    assert_eq!(report["seeds"], serde_json::json!([7, 8, 9]));
    assert_eq!(report["points"].as_array().map(Vec::len), Some(4));
    let point = &report["points"][3];
    assert_eq!((&point["values"][0], &point["scheduler"]), (&2.into(), &1.into()));
    assert_eq!(point["figures"][0]["name"], "time");
    assert_eq!(point["figures"][0]["count"], 3);
    assert!(point["runs"][2]["printed"].as_str().is_some_and(|text| text.contains("Time: ")));
    let csv = run(&["--groups", "1,2", "--format=csv"]).good();
    assert!(csv.starts_with("groups,fds,loops,"), "{csv}");
    assert!(csv.contains(
        "scheduler,release,seed,figure,value,unit\n1,2,4,100,false,false,false,o_n,2.4.19,1,time,0.0"
    ));
}

#[test]
fn interrupted_or_on_one_core_it_gives_the_same_bytes() {
    let scratch = Scratch::new("bench-resume");
    let file = format!("{}/results", scratch.path());
    let sweep = ["--groups", "1..6", "--repeat=2", "--format=json"];
    let with = |more: &[&str]| run(&[&sweep, more].concat());
    let expected = with(&["--cores=1"]).good();
    assert_eq!(with(&["--cores=3", "--save", &file]).good(), expected);
    let text = std::fs::read_to_string(&file).expect("the results were saved");
    assert_eq!(text.lines().count(), 1 + 24);
    std::fs::write(&file, &text[..text.len() / 2]).expect("the file can be cut off");
    assert_eq!(with(&["--resume", &file]).good(), expected);
    assert_eq!(std::fs::read_to_string(&file).expect("the file exists").lines().count(), 1 + 24);
    assert_eq!(with(&["--resume", &file]).good(), expected);
    with(&["--save", &file]).error(&["exists already; continue it with --resume"]);
    with(&["--resume", &file, "--cpus=2"])
        .error(&["results of another sweep", "number of CPUs is 1, not 2"]);
    with(&["--resume", "no/such/file"]).error(&["no/such/file: "]);
    let other = scratch.file("letter", "Dear all,\n");
    with(&["--resume", &other]).error(&["line 1: this is not a result of a sweep"]);
}

#[test]
fn what_cannot_be_done_is_said() {
    schedlab(&["bench", "hackbanch"]).error(&["hackbanch", "hackbench"]);
    run(&["--groups", "0"]).error(&["'--groups <N,...>'", "0 is out of range; give 1 to 10000"]);
    run(&["--groups", "9..3"]).error(&["\"9..3\" is descending; a range is FROM..TO:STEP"]);
    schedlab(&["bench", "hackbench", "--groups=10000", "--fds=1000"])
        .error(&["more than 1000000 tasks"]);
    run(&["--cpus", "3", "--machine", "flat-2"])
        .error(&["flat-2: it has 2 CPUs, so 3 cannot be used"]);
    run(&["--machine", "nowhere"]).error(&["nowhere"]);
    run(&["--set", "sched_latency_ns=1"])
        .error(&["sched_latency_ns is not a tunable of any of the schedulers"]);
    run(&["--plot", "x.svg"]).error(&["--plot: there is only one point"]);
    run(&["--groups=1,2", "--plot", "no/such/directory/x.svg"])
        .error(&["no/such/directory/x.svg: the directory no/such/directory does not exist"]);
    run(&["--groups=1,2", "--plot", "examples"]).error(&["examples: this is a directory"]);
    run(&["--figure", "tme"]).error(&["there is no figure \"tme\"; did you mean \"time\"?"]);
    run(&["--groups=1,2", "--duration=0.000001"]).error(&["ended before they had a result"]);
    run(&["--groups=1..2000", "--datasize=1..2000"]).error(&["4000000 runs are more than"]);
    let one_cpu = ["bench", "hackbench", "--scheduler", "round_robin", "--cpus", "2"];
    schedlab(&one_cpu).error(&["round_robin@1.0 cannot run hackbench: it has only one CPU"]);
}

#[test]
fn the_help_tells_all_parameters_with_their_defaults() {
    let all = schedlab(&["bench", "--help"]).good();
    assert!(all.contains("hackbench") && all.contains("A storm of messages"), "{all}");
    let one = schedlab(&["bench", "hackbench", "--help"]).good();
    for part in [
        "-g, --groups <N,...>",
        "[default: 10]",
        "-T, --threads",
        "--scheduler <NAME,...>",
        "--plot <FILE.svg|png>",
    ] {
        assert!(one.contains(part), "no \"{part}\" in:\n{one}");
    }
}
