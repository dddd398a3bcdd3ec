//! `schedlab limits`, as users type it.

use crate::support::{Scratch, schedlab};
use serde_json::Value;

const SERVER: &str = "examples/server-limited.json";

fn limits<'a>(options: &[&'a str]) -> Vec<&'a str> {
    [&["limits", SERVER, "--group", "/box", "--repeat", "3"], options].concat()
}

/// A recorded server and its client, in the group /redis.
const REDIS: &str = "examples/traces/redis.xz";

fn recorded<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let usual = ["limits", REDIS, "--group", "/redis", "--repeat", "2", "--quota", "0.3cpu,2cpu"];
    [&usual, options].concat()
}

fn json(options: &[&str]) -> Value {
    let text = schedlab(&limits(&[options, &["--format", "json"]].concat())).good();
    serde_json::from_str(&text).expect("valid JSON")
}

#[test]
fn the_least_limit_that_holds_an_aim_is_found_and_said_in_the_words_of_each_place() {
    let text = schedlab(&limits(&["--aim", "p99 < 50ms"])).good();
    assert!(
        text.starts_with("examples/server-limited.json: limits of /box under eevdf@"),
        "{text}"
    );
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with("> ")).collect();
    assert!(marked.len() == 1 && marked[0].contains("3 of 3"), "{text}");
    let cpus: f64 = marked[0].split_whitespace().nth(1).expect("a limit").parse().expect("CPUs");
    let quota_us = (cpus * 100_000.0).round();
    for part in [
        "The smallest limit that meets p99 < 50ms in all 3 runs: 0.",
        &format!("cgroup v2    cpu.max: {quota_us} 100000"),
        "systemd      CPUQuota=",
        "Docker       --cpus 0.",
        "Kubernetes   resources.limits.cpu: ",
        "kubelet's default period",
    ] {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
}

#[test]
fn the_figures_are_there_for_programs() {
    let found = json(&["--quota", "0.4cpu,1cpu", "--period", "50ms,100ms", "--burst", "0,10ms"]);
    assert_eq!(
        (&found["schema"], &found["criterion"]),
        (&"schedlab-limits/1".into(), &"knee".into())
    );
    let lines = found["lines"].as_array().expect("lines");
    assert_eq!(lines.len(), 4);
    assert_eq!((&lines[3]["period_us"], &lines[3]["burst_us"]), (&100_000.into(), &10_000.into()));
    let tight = &lines[0]["limits"][0];
    assert_eq!((&tight["limit"]["quota_us"], &tight["keeps_up"]), (&20_000.into(), &false.into()));
    let at = |cell: &Value, figure: &str| cell["figures"][figure]["median"].as_f64().expect("one");
    let unlimited = &lines[0]["unlimited"];
    assert!(at(tight, "p99") > 5.0 * at(unlimited, "p99"), "{tight}");
    assert!(at(tight, "throttled") > 0.9 && at(unlimited, "throttled") == 0.0);
    assert!((0.3..0.7).contains(&at(unlimited, "cpus")), "{unlimited}");
    let csv = schedlab(&limits(&["--quota", "50ms", "--format", "csv"])).stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 3, "{csv}");
    let head = "machine_cpus,threads,period_us,burst_us,quota_us,limit_cpus,holds,keeps_up,p50,";
    assert!(rows[0].starts_with(head), "{csv}");
    assert!(rows[2].starts_with("2,,100000,0,50000,0.5,"), "{csv}");
}

#[test]
fn an_aim_that_no_limit_holds_is_status_1() {
    let options = ["--quota", "50ms", "--aim", "p99 < 1ms"];
    let outcome = schedlab(&limits(&options));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, ""));
    let said = "No limit that was tried meets p99 < 1ms in all 3 runs.\n\
                Nor does the group without a limit.\n";
    assert!(outcome.stdout.ends_with(said), "{}", outcome.stdout);
    // Without an aim there is nothing to miss.
    let text = schedlab(&limits(&["--quota", "50ms"])).good();
    assert!(text.contains("No limit that was tried keeps the p99 within 10 %"), "{text}");
}

#[test]
fn runs_with_the_same_seed_are_the_same_on_any_number_of_cores() {
    let one = schedlab(&limits(&["--quota", "60ms", "--format", "csv", "--cores", "1"])).stdout;
    let two = schedlab(&limits(&["--quota", "60ms", "--format", "csv", "--cores", "2"])).stdout;
    assert_eq!(one, two);
}

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    let scratch = Scratch::new("limits-wrong");
    let line = "x-1 [000] d..2. 1.000000: sched_switch: prev_comm=x prev_pid=1 prev_prio=120 \
                prev_state=S ==> next_comm=y next_pid=2 next_prio=120\n";
    let trace = scratch.file("trace.txt", line.repeat(3));
    for (arguments, parts) in [
        (vec!["limits", SERVER, "--group", "/bx"], &["no group /bx", "did you mean /box?"][..]),
        (vec!["limits", SERVER, "--group", "/"], &["the root group has no limit", "/box"]),
        (vec!["limits", SERVER], &["--group"]),
        (limits(&["--aim", "p98 < 5ms"]), &["unknown figure \"p98\"", "p99 < 50ms"]),
        (limits(&["--quota", "20"]), &["\"20\" is not a quota", "0.5cpu"]),
        (limits(&["--period", "2s"]), &["1ms to 1s"]),
        (limits(&["-s", "o_1"]), &["o_1"]),
        (limits(&["-s", "cfs@2.6.32"]), &["limit"]),
        (vec!["limits", &trace, "--group", "/box"], &["no sched_waking"]),
        (limits(&["--change", "move hog /box"]), &["--change is for recordings"]),
        (limits(&["--times", "round-trip"]), &["--times round-trip is for recordings"]),
        (limits(&["--threads", "clients=2"]), &["no task of /box is named clients", "worker"]),
        (limits(&["--threads", "0"]), &["no list of numbers of threads", "1..32"]),
        (limits(&["--container", "web"]), &["--resources"]),
        (vec!["limits", REDIS, "--group", "/"], &["the root group has no limit", "/redis"]),
        (vec!["limits", REDIS, "--group", "/x", "--side", "none"], &["no group /x", "/redis"]),
        (recorded(&["--threads", "2"]), &["--threads: a recording has the threads"]),
        (recorded(&["--only", "rediss"]), &["--only rediss", "redis-server"]),
        (recorded(&["-s", "bfs"]), &["bfs"]),
        (recorded(&["--groups", "none"]), &["no task is in a group", "--groups"]),
    ] {
        schedlab(&arguments).error(parts);
    }
}

#[test]
fn a_recording_is_replayed_under_limits_with_its_trust() {
    let outcome = schedlab(&recorded(&["--aim", "end < 1s"]));
    assert!(
        outcome.stderr.contains("groups from examples/traces/redis.groups"),
        "{}",
        outcome.stderr
    );
    let text = outcome.stdout;
    for part in [
        "examples/traces/redis.xz: limits of /redis under eevdf@6.18, 2 runs each",
        "trust: ",
        "is off by",
        "  none ",
        "  recorded ",
        "end (min to max)",
        "in all 2 runs: 2.00 CPU",
    ] {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
    let text = schedlab(&recorded(&["--format", "json", "--only", "redis-server"])).good();
    let found: Value = serde_json::from_str(&text).expect("valid JSON");
    let recording = &found["recording"];
    assert!(["close", "fair", "poor"].contains(&recording["grade"].as_str().expect("a grade")));
    assert_eq!(recording["tasks"], serde_json::json!(["redis-server"]));
    let line = &found["lines"][0];
    let end = |cell: &Value| cell["figures"]["end"]["median"].as_f64().expect("an end");
    let (tight, loose) = (&line["limits"][0], &line["limits"][1]);
    assert!(end(tight) > 1.5 * end(loose), "{tight}");
    assert!(tight["nr_throttled"].as_u64() > Some(10), "{tight}");
    assert_eq!((&tight["keeps_up"], &loose["nr_throttled"]), (&false.into(), &0.into()));
    // The phases of the periods and the lengths of the work are drawn by the seed.
    let figures = &tight["figures"]["end"];
    assert_ne!(figures["min"], figures["max"], "{figures}");
    let recorded_end = recording["figures"]["end"].as_f64().expect("an end");
    assert!((end(&line["unlimited"]) / recorded_end - 1.0).abs() < 0.3, "{line}");
}

#[test]
fn tasks_of_a_recording_can_be_put_into_a_group() {
    let options = [
        &["limits", "examples/traces/desk.xz", "--group", "/box", "--repeat", "2"][..],
        &["--change", "move hog /box", "--quota", "50ms", "--format", "json"],
    ];
    let text = schedlab(&options.concat()).good();
    let found: Value = serde_json::from_str(&text).expect("valid JSON");
    assert_eq!(found["recording"]["tasks"], serde_json::json!(["hog"]));
    assert!(found["lines"][0]["limits"][0]["nr_throttled"].as_u64() > Some(5), "{found}");
}

#[test]
fn the_present_limit_is_read_from_a_deployment_or_a_compose_file() {
    let scratch = Scratch::new("limits-resources");
    let deployment = scratch.file(
        "deploy.yaml",
        "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        \
         resources:\n          limits: {cpu: 550m}\n",
    );
    let compose = scratch.file("compose.yaml", "services:\n  a: {cpus: 0.5}\n  b: {image: x}\n");
    let present = |options: &[&str]| json(&[&["--quota", "1cpu"], options].concat());
    let found = present(&["--resources", &deployment]);
    let limit = &found["lines"][0]["present"];
    assert_eq!(limit["limit"]["quota_us"], 55_000, "{found}");
    assert_eq!(found["present_from"], format!("{deployment}:8"));
    assert!(limit["figures"]["throttled"]["median"].as_f64() > Some(0.5), "{limit}");
    let found = present(&["--resources", &compose, "--container", "a"]);
    assert_eq!(found["lines"][0]["present"]["limit"]["quota_us"], 50_000);
    let text = schedlab(&limits(&["--quota", "1cpu", "--resources", &deployment])).good();
    assert!(text.lines().any(|line| line.starts_with("= 0.55 CPU")), "{text}");
    let without = ["--quota", "1cpu", "--resources", &compose, "--container", "b"];
    let outcome = schedlab(&limits(&without));
    assert!(outcome.stderr.contains("compose.yaml:3: b has no CPU limit"), "{}", outcome.stderr);
    let wrong = scratch.file("wrong.yaml", "services:\n  a:\n    cpus: much\n");
    schedlab(&limits(&["--resources", &wrong]))
        .error(&["wrong.yaml:3: container a: cpus is \"much\""]);
    schedlab(&limits(&["--resources", &compose])).error(&["a (line 2)", "--container"]);
}

#[test]
fn numbers_of_threads_are_rows() {
    let found = json(&["--quota", "60ms", "--threads", "1..4"]);
    let lines = found["lines"].as_array().expect("lines");
    let threads: Vec<&Value> = lines.iter().map(|line| &line["threads"]).collect();
    assert_eq!(threads, [&Value::from(1), &2.into(), &4.into()]);
    assert_eq!(found["threads_of"], "worker");
    let text = schedlab(&limits(&["--quota", "60ms", "--threads", "worker=1,2"])).good();
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("60.0 ms")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(text.contains("threads") && text.contains("With 2 threads: "), "{text}");
}

#[test]
fn the_page_has_the_curves_the_table_and_the_answer() {
    let scratch = Scratch::new("limits-page");
    let page = format!("{}/limits.html", scratch.path());
    schedlab(&limits(&["--quota", "60ms,70ms,90ms", "--report", &page])).good();
    let html = std::fs::read_to_string(&page).expect("the page exists");
    for part in [
        "p99 by limit",
        "throttled periods by limit",
        "<svg",
        "0.60 CPU",
        "Without a limit /box uses",
        "resources.limits.cpu",
    ] {
        assert!(html.contains(part), "no \"{part}\"");
    }
    let other = scratch.file("other.html", "mine");
    schedlab(&limits(&["--report", &other])).error(&["--report", "other.html"]);
}

#[test]
fn what_would_set_the_varied_limit_under_all_limits_is_refused() {
    let is_varied = "the limit of /box is what is varied";
    for option in ["quota:/box=20ms", "burst:/box=30ms", "quota_phase:/box=0ms"] {
        schedlab(&limits(&["--quota", "60ms", "--set", option])).error(&["--set ", is_varied]);
    }
    for scheduler in ["eevdf:quota:/box=20ms", "eevdf[base_slice_ns=3ms,burst:/box=20ms]"] {
        schedlab(&limits(&["--quota", "60ms", "--scheduler", scheduler]))
            .error(&["--scheduler", is_varied]);
    }
    let change = "group /redis cpu.max=20000 100000";
    schedlab(&recorded(&["--change", change])).error(&["--change 'group /redis", "is varied"]);
}

#[test]
fn what_leaves_no_limit_or_no_work_is_refused() {
    schedlab(&limits(&["--quota", "0.5ms"])).error(&["no limit is left to try", "500 us"]);
    schedlab(&limits(&["--duration", "0"])).error(&["/box: no task of the group uses CPU time"]);
}

#[test]
fn maps_merged_many_times_and_keys_that_stand_twice_end_at_once() {
    let scratch = Scratch::new("limits-yaml");
    let mut text = String::from("a0: &a0 {k: 1}\n");
    for level in 1..40 {
        let merged = vec![format!("*a{}", level - 1); 9].join(", ");
        text += &format!("a{level}: &a{level} {{<<: [{merged}], k{level}: 1}}\n");
    }
    text += "services: {web: {<<: *a39, image: web}}\n";
    let file = scratch.file("bomb.yaml", &text);
    let read = |file: &str| schedlab(&limits(&["--quota", "75ms", "--resources", file]));
    read(&file).good();
    let file = scratch.file("twice.yaml", "services:\n  web:\n    cpus: 0.5\n    cpus: 0.6\n");
    read(&file).error(&["twice.yaml", "4", "`cpus` stands twice"]);
}
