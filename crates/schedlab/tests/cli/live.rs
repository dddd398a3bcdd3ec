//! Policies of a running kernel: twins, and messages where no kernel is available.

use crate::support::{Scratch, schedlab};

/// Workload in which no run ends at the time of a tick.
const WORKLOAD: &str = r#"{ "global": { "duration": 2 }, "tasks": {
    "hog": { "loop": -1, "run": 1000003 },
    "video": { "loop": -1, "run": 7303, "sleep": 25711 },
    "audio": { "loop": -1, "run": 507, "sleep": 9391, "priority": -5 } } }"#;

#[test]
fn twins_are_their_originals() {
    let scratch = Scratch::new("twins");
    let workload = format!("{}/w.json", scratch.path());
    std::fs::write(&workload, WORKLOAD).expect("the file can be written");
    for (object, with) in [("goodness", "o_n@2.4.19"), ("o_1", "o_1@2.6.0"), ("bfs", "bfs@0.404")] {
        let object = format!("examples/scx/{object}.bpf.o");
        let text = schedlab(&["scx", "twin", &object, "--with", with, &workload]).good();
        assert!(text.contains("all the same"), "{text}");
    }
}

#[test]
fn the_first_difference_is_shown_from_both_sides() {
    let scratch = Scratch::new("no-twins");
    let workload = format!("{}/w.json", scratch.path());
    std::fs::write(&workload, WORKLOAD).expect("the file can be written");
    let object = "examples/scx/vtime.bpf.o";
    let run = schedlab(&["scx", "twin", object, "--with", "bfs@0.404", &workload]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    for part in ["is not bfs@0.404 here: turn ", "\nscx_vtime@6.18\n", "\nbfs@0.404\n", "enqueue"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
}

#[test]
fn without_the_loader_live_says_how_to_get_it() {
    // (If it is installed, it is given an unknown policy.)
    let run = schedlab(&["live", "no-such-policy"]);
    assert_eq!(run.status, 2, "{}", run.stderr);
    let is_told = run.stderr.contains("cargo install --path live");
    assert!(is_told || run.stderr.contains("no-such-policy"), "{}", run.stderr);
}

/// Logs written by Linux 7.3.4 in QEMU, on one CPU: `tests/kernel/run.sh` makes others.
#[test]
fn the_originals_decide_as_the_twins_did_in_a_kernel() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../scx/tests/kernel");
    for (policy, original) in
        [("goodness", "o_n@2.4.19"), ("o_1", "o_1@2.6.0"), ("bfs", "bfs@0.404")]
    {
        let log = format!("{directory}/{policy}.log.gz");
        let run = schedlab(&["live", "--replay", &log]);
        // Differences that sched_ext forces: docs/live-kernel.md.
        let status = if policy == "o_1" { 0 } else { 1 };
        assert_eq!(run.status, status, "{} {}", run.stdout, run.stderr);
        let said = format!("decisions of {original} that agree with {policy}");
        assert!(run.stdout.contains(&said), "{}", run.stdout);
        let (_, counts) = run.stdout.split_once(&said).expect("the policy is known");
        let shares: Vec<f64> =
            counts.split('(').filter_map(|part| part.split_once(" %)")?.0.parse().ok()).collect();
        assert!(shares.len() == 2 && shares.iter().all(|share| *share > 99.7), "{counts}");
    }
    // Another scheduler would have decided differently, and continues nevertheless.
    let log = format!("{directory}/goodness.log.gz");
    for other in ["o_1@2.6.0", "bfs@0.404", "cfs", "eevdf"] {
        let run = schedlab(&["scx", "replay", &log, "--with", other, "--show", "1"]);
        assert_eq!(run.status, 1, "{} {}", run.stdout, run.stderr);
        for part in ["1. difference at record ", "  goodness     ", "  the last records:\n    "] {
            assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
        }
    }
}

#[test]
fn logs_of_the_laboratory_are_replayed() {
    let scratch = Scratch::new("decisions");
    let workload = format!("{}/w.json", scratch.path());
    let log = format!("{}/d.log", scratch.path());
    std::fs::write(&workload, WORKLOAD).expect("the file can be written");
    let policy = "scx:examples/scx/goodness.bpf.o[at_tail=1]";
    let args = ["scx", "log", &workload, "-s", policy, "--format", "decisions"];
    let text = schedlab(&args).good();
    let head = "schedlab-decisions 1\npolicy goodness\nkernel schedlab's laboratory\nhz 250\ncpus 1\n\
                set at_tail=1\n\n";
    assert!(text.starts_with(head), "{}", &text[..200]);
    std::fs::write(&log, &text).expect("the file can be written");
    let agreement = schedlab(&["scx", "replay", &log]).good();
    assert!(agreement.contains("decisions of o_n@2.4.22 that agree with goodness"), "{agreement}");
    // Queueing at the other end makes a difference.
    let run = schedlab(&["scx", "replay", &log, "--with", "o_n@2.4.19"]);
    assert_eq!(run.status, 1, "{}", run.stdout);

    let replace = |from: &str, to: &str| {
        std::fs::write(&log, text.replacen(from, to, 1)).expect("the file can be written");
        schedlab(&["scx", "replay", &log])
    };
    let wrong = [
        ("hz 250", "hz often", "d.log:4: hz is a number from"),
        ("policy goodness", "policy mine", "--with o_n@2.4.19"),
        (" init 0", " inti 0", "d.log:8: \"inti\" is not an event"),
        (
            "hz 250",
            "hz 24",
            "o_n@2.4.22 cannot make the decisions of the log: it ticks 100 to 4096",
        ),
    ];
    for (from, to, part) in wrong {
        let run = replace(from, to);
        assert_eq!(run.status, 2, "{}", run.stdout);
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let run = schedlab(&["live", "--replay", "no-such.log"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("no-such.log"), "{}", run.stderr);
    let vtime = "scx:examples/scx/vtime.bpf.o";
    let run = schedlab(&["scx", "log", &workload, "-s", vtime, "--format", "decisions"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("log_decisions"), "{}", run.stderr);
}
