//! `--machine`, as users type it.

use crate::support::{Scratch, schedlab};

#[test]
fn machines_are_listed_and_domains_shown() {
    let machines = schedlab(&["list", "--machines"]).good();
    for name in ["laptop", "z800-2x6", "pentium3-700x8", "server-2node", "flat-N"] {
        assert!(machines.contains(&format!("{name}: ")), "{machines}");
    }
    let domains = schedlab(&["list", "cfs,o_n", "--machine", "z800-2x6"]).good();
    assert!(domains.contains("cfs@2.6.32\nMC: min_interval 1 max_interval 4 ms"), "{domains}");
    assert!(domains.contains("\n  0-11: 0-5 | 6-11\n"), "{domains}");
    assert!(domains.contains("\nno domains: "), "{domains}");
}

#[test]
fn a_workload_runs_on_a_described_machine() {
    let run = |more: &[&str]| {
        let usual = [
            "run",
            "examples/server.json",
            "--scheduler",
            "cfs",
            "--duration",
            "0.1",
            "--format",
            "json",
        ];
        let args: Vec<&str> = usual.iter().chain(more).copied().collect();
        schedlab(&args)
    };
    let is = |report: &str, model: &str, costs: bool| {
        let head = &report[..report.len().min(2000)];
        assert!(report.contains(&format!("\"model\": \"{model}\"")), "{head}");
        assert_eq!(report.contains("\"kernel_ns\": "), costs, "{head}");
        assert_eq!(report.contains("\"mean_watts\": "), costs, "{head}");
    };
    is(&run(&["--machine", "z800-2x6"]).good(), "modelled z800-2x6", true);
    is(&run(&["--machine", "z800-2x6", "--no-costs"]).good(), "idealised z800-2x6", false);
    is(&run(&["--machine", "ideal"]).good(), "idealised", false);
    let dear = ["--machine", "z800-2x6", "--nohz", "off", "--cost", "tick=50000"];
    assert_ne!(run(&dear).good(), run(&dear[..4]).good());
    run(&["--machine", "z800-2x6", "--cost", "swatch=3"])
        .error(&["--cost swatch: there is no cost swatch"]);
    run(&["--machine", "z800-2x6", "--cost", "switch"]).error(&["it must be NAME=NS"]);
}

#[test]
fn mistakes_are_told() {
    let run = |machine: &str| schedlab(&["run", "examples/server.json", "--machine", machine]);
    run("z801").error(&[
        "z801: there is no such preset or file; the presets are laptop, laptop-2020s, z800-2x6",
    ]);
    run("Cargo.toml").error(&["Cargo.toml:1:"]);
    schedlab(&["run", "examples/server.json", "--machine", "laptop", "--cpus", "17"])
        .error(&["laptop: it has 16 CPUs, so 17 cannot be used"]);
    let cost = |cost: &str| {
        schedlab(&[
            "run",
            "examples/server.json",
            "--scheduler",
            "cfs",
            "--machine",
            "laptop",
            "--cost",
            cost,
        ])
    };
    cost("nope.scan=5").error(&["--cost nope.scan: there is no scheduler nope"]);
    cost("tick=1e9").error(&["cfs@2.6.32: ", "a tick costs 1000000", "no task would ever run"]);
    let scratch = Scratch::new("machine-mistakes");
    for (text, part) in [
        ("null", "1:4: invalid type: null, expected a machine"),
        (
            r#"{"format": 1, "name": "a", "hz": -1, "topology": {"flat": 2}}"#,
            "expected a whole number, 0 or more",
        ),
        (
            r#"{"format": 1, "name": "a\nb", "topology": {"flat": 2}}"#,
            "name: has control characters",
        ),
    ] {
        run(&scratch.file("wrong.json", text)).error(&["wrong.json:", part]);
    }
}

#[test]
fn a_machine_may_be_ones_own_file() {
    let scratch = Scratch::new("machine");
    let file = scratch.file(
        "pair.json",
        r#"{"format": 1, "name": "pair", "hz": 100, "topology": {"regular": {"threads": 2}}}"#,
    );
    let domains = schedlab(&["list", "cfs", "--machine", &file]).good();
    assert!(domains.contains("\nSMT: ") && domains.contains("\n  0-1: 0 | 1\n"), "{domains}");
    let report = schedlab(&[
        "run",
        "examples/desktop.json",
        "--scheduler",
        "cfs",
        "--machine",
        &file,
        "--duration",
        "0.1",
        "--format",
        "json",
    ]);
    let report = report.good();
    assert!(
        report.contains("\"model\": \"idealised pair\"") && report.contains("\"hz\": 100"),
        "{report}"
    );
    let wrong =
        scratch.file("wrong.json", r#"{"format": 1, "name": "wrong", "topology": {"cpus": []}}"#);
    let list = schedlab(&["list", "--machine", &wrong]);
    list.error(&["wrong.json:topology.cpus: a machine has 1 to 4096 CPUs, not 0"]);
    schedlab(&["list", "--machine", &scratch.path()]).error(&["cannot be read"]);
}

#[test]
fn every_file_is_read_by_the_reader_that_has_a_limit() {
    let scratch = Scratch::new("machine-limit");
    let binary = scratch.file("binary", [0xff, 0xfe]);
    for command in [
        &["run", "examples/desktop.json", "--machine", &binary][..],
        &["bench", "mix", "--file", &binary],
        &["calibrate", &binary],
    ] {
        schedlab(command).error(&["binary: ", "it is not text (byte 0 is not UTF-8)"]);
    }
}
