//! Policies of a running kernel: twins, and what is said where a kernel cannot be had.

#[allow(dead_code)]
mod support;

use support::{Scratch, schedlab};

/// No run ends in the nanosecond of a tick.
const WORKLOAD: &str = r#"{ "global": { "duration": 2 }, "tasks": {
    "hog": { "loop": -1, "run": 1000003 },
    "video": { "loop": -1, "run": 7303, "sleep": 25711 },
    "audio": { "loop": -1, "run": 507, "sleep": 9391, "priority": -5 } } }"#;

#[test]
fn twins_are_their_originals() {
    let scratch = Scratch::new("twins");
    let workload = format!("{}/w.json", scratch.path());
    std::fs::write(&workload, WORKLOAD).expect("it can be written");
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
    std::fs::write(&workload, WORKLOAD).expect("it can be written");
    let object = "examples/scx/vtime.bpf.o";
    let run = schedlab(&["scx", "twin", object, "--with", "bfs@0.404", &workload]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    for part in ["is not bfs@0.404 here: turn ", "\nscx_vtime@6.18\n", "\nbfs@0.404\n", "enqueue"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
}

#[test]
fn without_the_loader_live_says_how_to_get_it() {
    // (Where it is installed, it is asked for what is no policy.)
    let run = schedlab(&["live", "no-such-policy"]);
    assert_eq!(run.status, 2, "{}", run.stderr);
    let told = run.stderr.contains("cargo install --path live");
    assert!(told || run.stderr.contains("no-such-policy"), "{}", run.stderr);
}
