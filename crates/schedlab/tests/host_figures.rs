//! Figures of `schedlab host` on a quiet machine: amounts of CPU time, slices, noise, as root and
//! as a user without capabilities. Ignored by default, because they depend on the machine as much
//! as on the program:
//!
//! ```sh
//! cargo test --release -p schedlab --test host_figures -- --ignored --nocapture
//! ```
//!
//! It prints each figure with its bound, and fails if one is missed. Requires Linux 6.12, two CPUs,
//! root, `setpriv`, and a load of less than 1 from other processes.
#![cfg(all(feature = "host", target_os = "linux"))]

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Workloads on one CPU. The last has finite tasks only.
fn workloads() -> Vec<(&'static str, Value)> {
    let hog = json!({"loop": -1, "run": 5000});
    let nap = |run: u64, sleep: u64| json!({"loop": -1, "run": run, "sleep": sleep});
    vec![
        ("hogs-2", json!({"hog": {"instance": 2, "loop": -1, "run": 5000}})),
        ("hogs-nice-0-5", json!({"a": hog, "b": {"priority": 5, "loop": -1, "run": 5000}})),
        ("hog-and-nap", json!({"hog": hog, "nap": nap(1000, 9000)})),
        ("naps", json!({"hog": hog, "a": nap(500, 10_000), "b": nap(3000, 12_000)})),
        (
            "finite",
            json!({
                "hog": hog,
                "a": {"loop": 1, "run": 120_000},
                "b": {"priority": 5, "loop": 40, "run": 5000},
                "c": {"loop": 20, "run": 4000, "sleep": 5000},
            }),
        ),
    ]
}

/// CPU time that a finite task requires, ns.
const FINITE: [(&str, f64); 3] = [("a-0", 120e6), ("b-0", 200e6), ("c-0", 80e6)];

/// Maximum time of a switch that the kernel may charge to a thread other than the one whose slice
/// contains it, ns: interrupt, wakeup, and the switch itself.
const SWITCH_NS: f64 = 10_000.0;

struct Bounds {
    missed: Vec<String>,
}

impl Bounds {
    fn ask(&mut self, what: &str, found: String, holds: bool) {
        println!("{what}: {found}: {}", if holds { "holds" } else { "MISSED" });
        if !holds {
            self.missed.push(format!("{what}: {found}"));
        }
    }
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("schedlab-figures-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a directory for files");
    folder
}

fn output(mut command: Command) -> Output {
    command.output().expect("a running process")
}

fn host(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    command.arg("host").args(args);
    output(command)
}

/// Runs it as a user without any capability.
fn host_as_user(program: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(["--inh-caps=-all", "--bounding-set=-all"])
        .arg(program)
        .arg("host")
        .args(args);
    output(command)
}

fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn placement(document: &Value) -> &Value {
    let all = document["placements"].as_object().expect("placements");
    all.values().next().expect("a placement")
}

#[test]
#[ignore = "it measures the machine; see the head of the file"]
fn figures_of_a_quiet_machine() {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|one| one.parse().ok()).unwrap_or(f64::MAX);
    if load >= 1.0 && std::env::var_os("SCHEDLAB_FIGURES").is_none_or(|it| it != "anyway") {
        println!(
            "SKIPPED, LOUDLY: the load of this machine is {load}, and these figures require a quiet \
             one (below 1); SCHEDLAB_FIGURES=anyway measures nevertheless"
        );
        return;
    }
    let folder = folder();
    let mut bounds = Bounds { missed: vec![] };
    for (name, tasks) in workloads() {
        let path = folder.join(format!("{name}.json"));
        let file = json!({"global": {"duration": 2}, "tasks": tasks}).to_string();
        fs::write(&path, file).expect("the file is written");
        let path = path.display().to_string();
        let ran = host(&[&path, "--cpus", "0", "--runs", "5", "--tries", "5", "--format", "json"]);
        let measured = document(&ran);
        let of = placement(&measured);
        let runs = of["repetitions"].as_array().expect("repetitions");
        let quiet = runs.iter().filter(|run| run["quiet"] == true).count();
        bounds.ask(&format!("{name}: quiet runs"), format!("{quiet} of 5 (3)"), quiet >= 3);
        // Slices belong to one run, and are compared with its account. The kernel charges the time
        // of a wakeup before the switch to the waking thread; bounds are therefore wider for single
        // threads that sleep often than for all together.
        let trace = &of["trace"];
        let place = trace["repetition"].as_u64().expect("the trace is of a run") as usize;
        let account =
            |task: &str| runs[place]["tasks"][task]["cpu_ns"].as_f64().expect("an account");
        let mut by_task = std::collections::BTreeMap::<String, (f64, f64)>::new();
        for slice in trace["slices"].as_array().expect("slices") {
            let length = slice[2].as_f64().expect("an end") - slice[1].as_f64().expect("a start");
            let of_task = by_task.entry(slice[3].as_str().expect("a name").into()).or_default();
            *of_task = (of_task.0 + length, of_task.1 + 1.0);
        }
        for (task, &(sum_ns, slices)) in &by_task {
            let cpu_ns = account(task);
            let bound = 0.5 + SWITCH_NS * slices / cpu_ns * 100.0;
            let off = (sum_ns / cpu_ns - 1.0).abs() * 100.0;
            let what = format!("{name}: slices of {task} against schedstat");
            bounds.ask(&what, format!("{off:.2} % off ({bound:.2})"), off <= bound);
        }
        let sum_ns: f64 = by_task.values().map(|&(sum_ns, _)| sum_ns).sum();
        let cpu_ns: f64 = by_task.keys().map(|task| account(task)).sum();
        let off = (sum_ns / cpu_ns - 1.0).abs() * 100.0;
        let what = format!("{name}: all slices against schedstat");
        bounds.ask(&what, format!("{off:.2} % off (0.5)"), off <= 0.5);
        if name == "finite" {
            for (task, wanted) in FINITE {
                let of_task = |figure: &str| {
                    of["tasks"][task][figure]["median"].as_f64().expect("CPU time") / 1e6
                };
                let (burned, charged) = (of_task("burned_ns"), of_task("cpu_ns"));
                let bound = 0.03 + wanted / 1e9;
                let off = (burned - wanted / 1e6).abs();
                let found = format!(
                    "{off:.3} ms off {} ms ({bound:.3}); the kernel charged {charged:.3} ms",
                    wanted / 1e6
                );
                bounds.ask(&format!("{name}: CPU time of {task}"), found, off <= bound);
            }
        }
    }
    // As a user without capabilities, who may not be able to read the build directory.
    let program = folder.join("schedlab");
    fs::copy(env!("CARGO_BIN_EXE_schedlab"), &program).expect("the program is copied");
    let probe = document(&host_as_user(&program, &["--probe", "--format", "json"]));
    let right = |what: &str| {
        let rights = probe["rights"].as_array().expect("rights");
        rights.iter().any(|right| right["what"] == what && right["yes"] == true)
    };
    for (what, wanted) in [
        ("nice upwards", true),
        ("SCHED_BATCH", true),
        ("custom slice of a fair task", true),
        ("switches of own threads", true),
        ("nice downwards", false),
        ("SCHED_FIFO", false),
        ("SCHED_DEADLINE", false),
    ] {
        let is = right(what);
        bounds.ask(&format!("user: {what}"), is.to_string(), is == wanted);
    }
    let hogs = folder.join("hogs-nice-0-5.json").display().to_string();
    let ran = host_as_user(&program, &[&hogs, "--runs", "1", "--tries", "1", "--format", "json"]);
    let slices = placement(&document(&ran))["trace"]["slices"].as_array().map_or(0, Vec::len);
    bounds.ask("user: slices of hogs of nice 0 and 5", slices.to_string(), slices > 0);
    let fifo = folder.join("fifo.json");
    let text = r#"{"tasks": {"F": {"policy": "SCHED_FIFO", "priority": 5, "loop": 1, "run": 5}}}"#;
    fs::write(&fifo, text).expect("the file is written");
    let ran = host_as_user(&program, &[&fifo.display().to_string()]);
    let said = String::from_utf8_lossy(&ran.stderr);
    let holds = ran.status.code() == Some(2) && said.contains("setcap cap_sys_nice+ep");
    bounds.ask("user: FIFO is refused with the way out", ran.status.to_string(), holds);
    fs::remove_dir_all(&folder).expect("the directory can be removed");
    assert_eq!(bounds.missed, Vec::<String>::new());
}
