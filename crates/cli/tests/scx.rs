//! sched_ext policies on the command line, typed as users type them.

#[allow(dead_code)]
mod support;

use support::{Scratch, schedlab};

const VTIME: &str = "scx:examples/scx/vtime.bpf.o";
const FAULTS: &str = "scx:crates/scx/tests/objects/faults.bpf.o";

#[test]
fn a_policy_stands_beside_other_schedulers() {
    let args = ["run", "examples/desktop.json", "-d", "1", "-s"];
    let named = format!("eevdf,{VTIME}");
    let text = schedlab(&[&args[..], &[&named]].concat()).good();
    let header = text.lines().nth(1).expect("a header");
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["eevdf", "scx_vtime"], "{text}");
    assert_eq!(text, schedlab(&[&args[..], &[&named]].concat()).good(), "the same again");
}

#[test]
fn settings_make_other_columns() {
    let both = format!("{VTIME},{VTIME}[slice_ns=2000000,fifo=true]");
    let args = ["run", "examples/desktop.json", "-d", "1", "-s"];
    let text = schedlab(&[&args[..], &[&both]].concat()).good();
    assert!(text.contains("slice_ns=2000000"), "{text}");
    let csv = schedlab(&[&args[..], &[VTIME, "--set", "slice_ns=1ms,2ms", "-f", "csv"]].concat());
    let csv = csv.good();
    for column in ["6.18[slice_ns=1000000]", "6.18[slice_ns=2000000]"] {
        assert!(csv.contains(&format!("scx_vtime,{column},throughput")), "{csv}");
    }
    let one = schedlab(&[&args[..], &[VTIME]].concat()).good();
    let set = [&args[..], &[VTIME, "--scx-set", "slice_ns=2000000"]].concat();
    assert_ne!(one, schedlab(&set).good());
}

#[test]
fn a_plan_names_the_file_again() {
    let scratch = Scratch::new("scx-plan");
    let plan = format!("{}/plan.json", scratch.path());
    let args = ["run", "examples/desktop.json", "-d", "1", "-s", VTIME];
    let set = ["--scx-set", "fifo=true"];
    schedlab(&[&args[..], &set, &["--plan-out", &plan]].concat()).good();
    let direct = schedlab(&[&args[..], &set].concat()).good();
    assert_eq!(direct, schedlab(&["run", &plan]).good());
}

#[test]
fn random_worlds_find_no_broken_rule() {
    let text = schedlab(&["stress", "--seeds", "100", "-s", VTIME]).good();
    let row: Vec<&str> = text.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert_eq!((row[0], row[1], row[3]), ("scx_vtime@6.18", "100", "0"), "{text}");
}

#[test]
fn a_broken_world_is_named_with_the_file() {
    // The fault ends the policy in every world, which the rules count as broken.
    let spec = format!("{FAULTS}[fault=4]");
    let ran = schedlab(&["stress", "--seeds", "1", "-s", &spec]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let again = format!("schedlab stress --scheduler '{spec}' --seed 0");
    assert!(ran.stdout.contains(&again), "{}", ran.stdout);
}

#[test]
fn what_is_in_a_policy_is_shown() {
    let text = schedlab(&["scx", "show", "examples/scx/vtime.bpf.o"]).good();
    for part in [
        "sched_ext policy vtime",
        "enqueue              vtime_enqueue (",
        "slice_ns             20000000 (u64, 8 B)",
        "scx_bpf_dsq_insert_vtime",
    ] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
    let features = ["scx", "show", "crates/scx/tests/objects/features.bpf.o"];
    let text =
        schedlab(&[&features[..], &["--scx-set", "map.pairs.max_entries=7"]].concat()).good();
    assert!(text.contains("pairs                HASH, max_entries 7"), "{text}");
    assert!(text.contains("calls scx_bpf_not_there, which the kernel played here has not"));
}

#[test]
fn a_policy_that_ends_says_why_and_where() {
    let run = ["run", "examples/desktop.json", "-s", FAULTS, "--scx-set", "fault=4"];
    let said = schedlab(&run).error(&[
        "scx: policy faults ended at 0 ns in enqueue: invalid DSQ ID 0x0000000000000063",
        "the last callbacks:",
    ]);
    assert!(!said.contains("a fault of this program"), "{said}");
    let run = ["run", "examples/desktop.json", "-s", FAULTS, "--scx-set", "fault=12"];
    schedlab(&run).error(&["faults_enqueue, insn ", "faults.bpf.c:", "where there is no memory"]);
}

#[test]
fn what_is_no_policy_is_refused() {
    let run = |name: &str| schedlab(&["run", "examples/desktop.json", "-s", name]);
    run("scx:README.md").error(&["README.md: ELF header: this is no ELF file"]);
    run("scx:nothing.o").error(&["nothing.o: there is no such file"]);
    run("scx:").error(&["scx: needs a file"]);
    run(&format!("{VTIME}[slice_n=1]")).error(&["did you mean slice_ns?"]);
    run(&format!("{VTIME}[slice_ns]")).error(&["write NAME=VALUE"]);
    let set = ["run", "examples/desktop.json", "-s", "cfs", "--scx-set", "a=1"];
    schedlab(&set).error(&["no scheduler is a sched_ext policy"]);
}
