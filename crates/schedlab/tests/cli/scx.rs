//! sched_ext policies on the command line, as users type them.

use crate::support::{Scratch, schedlab};

const VTIME: &str = "scx:examples/scx/vtime.bpf.o";
const EXTRAS: &str = "scx:crates/scx/tests/objects/extras.bpf.o";
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
    // The fault ends the policy in every world, which counts as a broken rule.
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
    assert!(text.contains("calls scx_bpf_not_there, which the emulated kernel lacks"));
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
    schedlab(&run).error(&["faults_enqueue, insn ", "faults.bpf.c:", "which is unmapped"]);
}

#[test]
fn what_is_no_policy_is_refused() {
    let run = |name: &str| schedlab(&["run", "examples/desktop.json", "-s", name]);
    run("scx:README.md").error(&["README.md: ELF header: this is not an ELF file"]);
    run("scx:nothing.o").error(&["nothing.o: there is no such file"]);
    run("scx:").error(&["scx: needs a file"]);
    // The fault occurs when a machine is made: an ordinary error.
    let zeros = ["0"; 65].join("/");
    let said = run(&format!("{EXTRAS}[call.add_primary={zeros}]"))
        .error(&["extras.bpf.o: 65 arguments of add_primary; the maximum is 64"]);
    assert!(!said.contains("a fault of this program"), "{said}");
    run(&format!("{VTIME}[slice_n=1]")).error(&["did you mean slice_ns?"]);
    run(&format!("{VTIME}[slice_ns]")).error(&["write NAME=VALUE"]);
    let set = ["run", "examples/desktop.json", "-s", "cfs", "--scx-set", "a=1"];
    schedlab(&set).error(&["no scheduler is a sched_ext policy"]);
}

#[test]
fn real_time_and_deadline_tasks_run_above_a_policy() {
    let run = ["run", "examples/realtime-mix.json", "--duration", "2s", "-f", "csv", "-s"];
    let csv = schedlab(&[&run[..], &[&format!("eevdf,{VTIME},{VTIME}@7.3")]].concat()).good();
    for name in ["eevdf,6.18", "scx_vtime,6.18", "scx_vtime,7.3"] {
        assert!(csv.contains(name), "{csv}");
    }
    let stress = ["stress", "--seeds", "12", "-s", VTIME];
    schedlab(&stress).good();
}

#[test]
fn two_files_of_one_name_are_told_apart() {
    let scratch = Scratch::new("scx-names");
    let object = std::fs::read(crate::support::root().join("examples/scx/vtime.bpf.o"))
        .expect("the file exists");
    scratch.file("again.bpf.o", object);
    let both = format!("{VTIME},scx:{}/again.bpf.o,{VTIME}@7.3", scratch.path());
    let run = ["run", "examples/desktop.json", "--duration", "10ms", "-f", "csv", "-s", &both];
    let csv = schedlab(&run).good();
    for name in ["scx_vtime,6.18", "scx_vtime#2,6.18", "scx_vtime,7.3"] {
        assert!(csv.contains(name), "{csv}");
    }
}

#[test]
fn what_is_set_stands_in_heads_json_and_csv() {
    let args = ["run", "examples/desktop.json", "-d", "1", "-s", VTIME];
    let set = ["--scx-set", "slice_ns=0x1e8480", "--scx-set", "fifo=true"];
    let with = |format: &str| schedlab(&[&args[..], &set, &["-f", format]].concat()).good();
    let table = with("table");
    assert!(table.contains("slice_ns=2000000") && table.contains("fifo=1"), "{table}");
    let csv = with("csv");
    assert!(csv.contains("scx_vtime,\"6.18[slice_ns=2000000,fifo=1]\","), "{csv}");
    let json = with("json");
    assert!(json.contains("\"slice_ns\"") && json.contains("2000000"), "{json}");
    let scratch = Scratch::new("scx-config");
    let file = scratch.file("c.toml", "slice_ns = 2000000\nfifo = true\n");
    let config = schedlab(&[&args[..], &["--scx-config", &file, "-f", "csv"]].concat()).good();
    let figures = |csv: &str| {
        let figure = |line: &str| line.rsplit(',').take(3).collect::<Vec<_>>().join(",");
        csv.lines().map(figure).collect::<Vec<_>>()
    };
    assert_eq!(figures(&config), figures(&csv), "the same from a file");
    schedlab(&[&args[..], &["--set", "slice_n=1"]].concat()).error(&["did you mean slice_ns?"]);
    schedlab(&[&args[..], &["--scx-set", "slice_ns=1,2"]].concat()).error(&["write NAME=VALUE"]);
}

#[test]
fn files_name_objects_beside_them() {
    let scratch = Scratch::new("scx-beside");
    let object = std::fs::read(crate::support::root().join("examples/scx/vtime.bpf.o"))
        .expect("the file exists");
    let work = std::fs::read(crate::support::root().join("examples/desktop.json"))
        .expect("the file exists");
    scratch.file("own.bpf.o", object);
    scratch.file("w.json", work);
    let sweep = "workload = \"w.json\"\nschedulers = [\"scx:own.bpf.o\"]\nduration = 1\n\
                 metrics = [\"throughput\"]\n[[axis]]\nname = \"set.slice_ns\"\n\
                 values = [\"1ms\", \"20ms\"]\n";
    let sweep = scratch.file("s.toml", sweep);
    let csv = schedlab(&["sweep", &sweep, "-f", "csv"]).good();
    assert_eq!(csv.lines().filter(|line| line.contains("scx_vtime")).count(), 2, "{csv}");
    let plan = format!("{}/plan.json", scratch.path());
    let own = format!("scx:{}/own.bpf.o[fifo=true]", scratch.path());
    let args = ["run", "examples/desktop.json", "-d", "1", "-s", &own, "--plan-out", &plan];
    schedlab(&args).good();
    // As an author would write it.
    let text = std::fs::read_to_string(&plan).expect("the file was written");
    let whole = format!("scx:{}/own.bpf.o", scratch.path());
    assert!(text.contains(&whole), "{text}");
    std::fs::write(&plan, text.replace(&whole, "scx:own.bpf.o")).expect("the file can be written");
    assert!(schedlab(&["run", &plan]).good().contains("fifo=1"));
}

#[test]
fn a_policy_stands_wherever_a_scheduler_may() {
    let replayed = ["replay", "examples/traces/sleepers.xz", "--seeds", "1", "-s", VTIME];
    let text = schedlab(&[&replayed[..], &["--scx-set", "slice_ns=3ms"]].concat()).good();
    assert!(text.contains("scx_vtime@6.18"), "{text}");
    let bench = ["bench", "hackbench", "--groups", "1", "--scheduler", VTIME];
    let text = schedlab(&[&bench[..], &["--scx-set", "slice_ns=3ms"]].concat()).good();
    assert!(text.contains("scx_vtime(slice_ns=3000000)"), "{text}");
    let explain = ["explain", "examples/desktop.json", "-s", VTIME, "--worst", "1", "-d", "1"];
    assert!(schedlab(&explain).good().contains("scx_vtime@6.18"));
    let measured = "examples/live/hog-vs-inter-1ms-9ms.json.xz";
    let compare = ["compare", measured, "--runs", "3", "--placement", "cpu0", "--scheduler", VTIME];
    let ran = schedlab(&[&compare[..], &["--scx-set", "slice_ns=3ms"]].concat());
    assert!(ran.stdout.contains("scx_vtime(slice_ns=3000000)"), "{}{}", ran.stdout, ran.stderr);
    let later = format!("{VTIME}@7.3");
    let text = schedlab(&["run", "examples/desktop.json", "-d", "1", "-s", &later]).good();
    assert!(text.contains("7.3"), "{text}");
    schedlab(&["verify", VTIME]).error(&["schedlab stress -s scx:examples/scx/vtime.bpf.o"]);
}

#[test]
fn a_run_goes_on_when_a_policy_has_ended_if_that_is_wanted() {
    let scratch = Scratch::new("scx-fallback");
    let dump = format!("{}/dump.txt", scratch.path());
    let args = ["run", "examples/desktop.json", "-d", "1", "-s", FAULTS, "--scx-set", "fault=4"];
    let more = ["--scx-on-error", "fallback", "--scx-dump", &dump];
    let ran = schedlab(&[&args[..], &more].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let warning = "ended at 0 ns in enqueue: invalid DSQ ID 0x0000000000000063; from then on";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    let dump = std::fs::read_to_string(&dump).expect("the file was written");
    assert!(dump.starts_with("DEBUG DUMP\n"), "{dump}");
}

#[test]
fn every_callback_is_logged() {
    let args = ["scx", "log", "examples/desktop.json", "-s", VTIME, "-d", "8ms", "-c", "2"];
    let text = schedlab(&args).good();
    for part in [
        "   0.000000000    0 init                           4   = 0\n",
        "   0.000000000    0 select_cpu           1000     24  prev_cpu=0 wake_flags=0x4 = 0\n",
        "\ncallbacks                   calls instructions      mean     most\n",
        "\nkernel functions\n",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let args = ["scx", "log", "examples/scx/vtime.bpf.o", "examples/desktop.json", "-d", "8ms"];
    let csv = schedlab(&[&args[..], &["--callback", "enqueue", "-f", "csv"]].concat()).good();
    assert!(csv.starts_with("time_ns,cpu,callback,pid,arguments,result,instructions\n"));
    assert!(csv.lines().skip(1).all(|line| line.contains(",enqueue,")), "{csv}");
    schedlab(&["scx", "log", "examples/desktop.json", "-s", "cfs"]).error(&["name a policy"]);
    schedlab(&[&args[..], &["--callback", "wakeup"]].concat()).error(&["there is no callback"]);
    let ended = ["scx", "log", "examples/desktop.json", "-s", FAULTS, "--scx-set", "fault=4"];
    let ran = schedlab(&ended);
    assert_eq!(ran.status, 2);
    assert!(ran.stdout.contains("DEBUG DUMP") && ran.stdout.contains("enqueue"), "{}", ran.stdout);
}

#[test]
fn programs_of_user_space_are_run_first() {
    let extras = "scx:crates/scx/tests/objects/extras.bpf.o";
    let args = ["scx", "log", "examples/desktop.json", "-s", extras, "-d", "1ms"];
    let calls = ["--scx-call", "add_primary=3,-1", "--callback", "syscall,ringbuf"];
    let text = schedlab(&[&args[..], &calls].concat()).good();
    assert!(text.contains("syscall") && text.contains("add_primary(3, -1)"), "{text}");
    assert!(text.contains("events: 16 bytes 0100000000000000e803"), "{text}");
    let unknown = schedlab(&[&args[..], &["--scx-call", "add=1"]].concat());
    unknown.error(&["no program add of section syscall; the programs are add_primary, refuse"]);
    let refused = schedlab(&[&args[..], &["--scx-call", "refuse"]].concat());
    refused.error(&["refuse returned -22"]);
}

#[test]
fn objects_are_counted() {
    let paths = ["scx", "census", "examples/scx", "crates/scx/tests/objects"];
    let text = schedlab(&paths).good();
    let row = text.lines().find(|line| line.starts_with("vtime.bpf.o")).expect("the entry exists");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[6..8], ["yes", "yes"], "{text}");
    let csv = schedlab(&[&paths[..], &["-f", "csv"]].concat()).good();
    assert!(csv.lines().any(|line| line.contains("extras.bpf.o,extras,")), "{csv}");
    schedlab(&["scx", "census", "docs"]).error(&["no sched_ext policy among 0 objects"]);
    schedlab(&["scx", "census", "nowhere"]).error(&["nowhere"]);
}

#[test]
fn instructions_cost_what_the_user_says() {
    let args = ["run", "examples/desktop.json", "-d", "1", "-f", "csv", "-s", VTIME];
    let free = schedlab(&args).good();
    let dear = schedlab(&[&args[..], &["--scx-insn", "1000"]].concat()).good();
    let same = schedlab(&[&args[..], &["--cost", "scx.insn=1000"]].concat()).good();
    assert_ne!(free, dear);
    assert_eq!(dear, same);
    let calls = schedlab(&[&args[..], &["--cost", "scx.kfunc=9000"]].concat()).good();
    assert!(calls != free && calls != dear);
    // Other schedulers execute no instructions.
    let args = ["run", "examples/desktop.json", "-d", "1", "-f", "csv", "-s", "cfs"];
    let nothing = schedlab(&[&args[..], &["--cost", "scx.insn=0"]].concat()).good();
    let dear = schedlab(&[&args[..], &["--cost", "scx.insn=1000"]].concat()).good();
    assert_eq!(nothing, dear);
}

#[test]
fn what_is_known_of_a_policy_is_done_by_itself() {
    let preset = "scx:crates/scx/tests/objects/preset.bpf.o";
    let object = &preset["scx:".len()..];
    let text = schedlab(&["scx", "show", object, "--cpus", "3"]).good();
    assert!(text.contains("nr_cpu_ids           3 (u32, 4 B)"), "{text}");
    assert!(text.contains("smt_enabled          0 (bool, 1 B)"), "{text}");
    let log = ["scx", "log", "examples/desktop.json", "-s", preset, "-d", "1ms", "-c", "3"];
    let text = schedlab(&[&log[..], &["--callback", "syscall"]].concat()).good();
    let calls: Vec<&str> =
        (text.lines()).filter_map(|line| Some(line.split_once("enable_primary_cpu")?.1)).collect();
    assert_eq!(calls, ["(-1)", "(0)", "(1)", "(2)"], "{text}");
    // The setting of the user takes precedence.
    let own = schedlab(&[&log[..], &["--scx-set", "nr_cpu_ids=2"]].concat());
    own.error(&["scx: policy bpfland_0_lab ended at 0 ns in init: init returned -22"]);
    let own = schedlab(&[&log[..], &["--scx-call", "enable_primary_cpu=0"]].concat());
    own.error(&["init returned -22"]);
}

const HALF: &str = "scx:crates/scx/tests/objects/half.bpf.o";
const SCRIPT: &str = "crates/scx/tests/objects/half.toml";

#[test]
fn a_user_half_is_played_by_a_script() {
    let run = ["run", "examples/desktop.json", "-d", "1", "-c", "2", "-s", HALF];
    schedlab(&run).error(&["map table: max_entries is 0"]);
    let text = schedlab(&[&run[..], &["--scx-user", SCRIPT]].concat()).good();
    assert!(text.contains("scx_half"), "{text}");
    let brackets = format!("{HALF}[user={SCRIPT}]");
    let same = schedlab(&["run", "examples/desktop.json", "-d", "1", "-c", "2", "-s", &brackets]);
    assert_eq!(text, same.good());
    let log = ["scx", "log", "examples/desktop.json", "-s", HALF, "--scx-user", SCRIPT];
    let log = [&log[..], &["-c", "2", "-d", "1", "--callback", "user"]].concat();
    let log = schedlab(&log).good();
    for part in [
        "0.100000000    0 user",
        "set slice_ns = 4000000",
        "delete domains[99], which does not exist",
    ] {
        assert!(log.contains(part), "no {part:?} in: {log}");
    }
    let show = ["scx", "show", "crates/scx/tests/objects/half.bpf.o", "--scx-user", SCRIPT];
    assert!(schedlab(&show).good().contains("groups[2]            QUEUE, max_entries 2"));
}

#[test]
fn a_script_that_is_wrong_is_refused_with_its_place() {
    let scratch = Scratch::new("scx-user");
    let mut number = 0;
    let mut with = |text: &str, parts: &[&str]| {
        number += 1;
        let file = scratch.file(&format!("u{number}.toml"), text);
        let run = ["run", "examples/desktop.json", "-d", "1", "-s", HALF, "--scx-user", &file];
        let place = format!("u{number}.toml: ");
        schedlab(&run).error(&[&[place.as_str()][..], parts].concat());
    };
    with("x =", &["TOML parse error at line 1"]);
    with("[sets]\nx = 1", &["sets: there is no such key; did you mean set?"]);
    with("[set]\nslice_n = 1", &["slice_n: there is no variable slice_n; did you mean slice_ns?"]);
    with(
        "[set]\nlacks = 99999999999",
        &["lacks has 32 bits: the range is -2147483648 to 4294967295"],
    );
    with("[set]\nlacks = 1.5", &["set: lacks: a float"]);
    with("[resize]\nof_cpu = 99999999999", &["resize: of_cpu: 99999999999 elements of 8 bytes"]);
    with("[[entry]]\nmap = \"table\"\nkey = 0\nvalue = \"1 +\"", &["[[entry]] 1: ", "ends where"]);
    with(
        "[[action]]\nevery = \"1ms\"\nread = [\"x\"]",
        &["[[action]] 1: read \"x\": there is no variable x"],
    );
    let run = |option: &[&str], scheduler: &str| {
        schedlab(&[&["run", "examples/desktop.json", "-s", scheduler], option].concat())
    };
    run(&["--scx-user", "nothing.toml"], HALF).error(&["nothing.toml: there is no such file"]);
    run(&["--scx-user", "a,b.toml"], HALF).error(&["must not contain commas or brackets"]);
    run(&["--scx-user", SCRIPT], "cfs").error(&["--scx-user: no scheduler is a sched_ext policy"]);
}

#[test]
fn a_policy_is_loaded_again_when_a_cpu_goes() {
    let scratch = Scratch::new("scx-again");
    let timetable = scratch.file("t", "at 300ms offline cpu 1\nat 600ms online cpu 1\n");
    let run = ["run", "examples/desktop.json", "-d", "1", "-c", "2", "-s", VTIME];
    let ran = schedlab(&[&run[..], &["--timetable", &timetable]].concat());
    let said = "scx: policy vtime was loaded again, as its user half would load it, 2 times, first \
                at 300000000 ns: cpu 1 going offline, exiting scheduler";
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains(said), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn worlds_that_are_not_as_a_policy_asks_do_not_count() {
    // The fault ends it in every world; none has 500 CPUs.
    let spec = format!("{FAULTS}[fault=4]");
    let stress = |expects: &str| {
        schedlab(&["stress", "--seeds", "5", "-s", &spec, "--scx-expects", expects])
    };
    let ran = stress("cpus=500,smt=no");
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("5 worlds are outside its requirements; failures in 5 of them do"));
    assert_eq!(stress("cpus=1..512").status, 1);
    let one = ["stress", "--seed", "0", "-s", &spec, "--scx-expects", "cpus=500"];
    let one = schedlab(&one).good();
    assert!(one.contains("It requires cpus=500..500: this does not count."), "{one}");
    stress("cpu=1").error(&["expects cpu=1: the assumptions are cpus=4"]);
    stress("smt=yes").error(&["write smt=no"]);
}

#[test]
fn a_policy_is_held_to_what_it_promises() {
    let stress = |promise: &str| {
        schedlab(&["stress", "--seeds", "20", "-s", VTIME, "--scx-promise", promise])
    };
    let broken = stress("wait_ns=1000000");
    assert_eq!(broken.status, 1, "{}{}", broken.stdout, broken.stderr);
    assert!(broken.stdout.contains("the promised maximum is 1000000 ns"), "{}", broken.stdout);
    assert_eq!(stress("wait_ns=60000000000").status, 0);
    stress("wait_ns=1s").error(&["promise wait_ns=1s: write a time in ns"]);
    stress("speed=1").error(&["the promises are wait_ns=N"]);
}
