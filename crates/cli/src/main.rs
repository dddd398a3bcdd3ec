//! The program `schedlab`.

use schedlab_machine::{Config, Machine};
use schedlab_measure::SliceRecorder;
use schedlab_sched::GroupId;
use schedlab_sched::registry::{self, BuildConfig};
use schedlab_workload::golden::{Conventions, GoldenFile, Scenario};
use std::collections::BTreeMap;
use std::path::Path;

fn verify(path: &Path) -> Result<bool, String> {
    let text = std::fs::read(path).map_err(|e| e.to_string())?;
    let file: GoldenFile = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    let (_, release) = registry::find_golden(&file.scheduler, &file.kernel).ok_or("no such scheduler")?;
    let build = BuildConfig::flat(file.machine.cpus, file.machine.hz);
    let mut config = Config::idealised(file.machine.cpus, file.machine.hz);
    config.reap = false;
    let mut conventions = Conventions::default();
    let mut tunables = vec![];
    for (name, value) in &file.tunables {
        let value = value.as_i64().ok_or("tunable")?;
        match name.as_str() {
            "in_interrupt" => config.wake_from_interrupt = value != 0,
            "sleep_uninterruptible" => conventions.uninterruptible = value != 0,
            _ => tunables.push((name.clone(), value)),
        }
    }
    match file.scheduler.as_str() {
        "eevdf" | "deadline" => conventions.act_before_wake = true,
        "cfs" => conventions.yield_goes_on = true,
        _ => {}
    }
    let registry::Build::Ordinary(make) = release.build else {
        return Err("clairvoyant".into());
    };
    if file.notes.contains("subtree minima are always exact") {
        tunables.push(("exact_min_slice".into(), 1));
    }
    if file.notes.contains("no deadline server") || file.notes.contains("no fair server") {
        tunables.push(("fair_server_runtime_ns".into(), 0));
    }
    let mut scheduler = make(&build);
    let mut platform = build.platform();
    let mut groups: BTreeMap<String, GroupId> = BTreeMap::new();
    for (name, value) in &tunables {
        scheduler
            .set_tunable(&mut platform, name, *value)
            .map_err(|e| format!("{name}={value}: {e:?}"))?;
    }
    for (path, value) in &file.groups {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let parent = if parent.is_empty() {
            GroupId::ROOT
        } else {
            groups[parent]
        };
        let shares = value["shares"].as_u64().unwrap_or(1024);
        groups.insert(path.clone(), scheduler.group_new(&mut platform, parent, shares)?);
    }
    assert!(platform.timer_orders.is_empty());
    let scenario = Scenario::new(&file, &groups, conventions);
    let names = scenario.names();
    let mut machine = Machine::new(config, scheduler, scenario, SliceRecorder::new());
    let Ok(_) = machine.run(file.end_ns);
    let (_, _, recorder) = machine.into_parts();
    let slices = recorder.into_slices();
    let ours: Vec<_> = slices
        .iter()
        .map(|s| (s.cpu.0, s.start_ns, s.end_ns, names[s.task.index()].clone()))
        .collect();
    if ours == file.slices {
        return Ok(true);
    }
    let at = ours
        .iter()
        .zip(&file.slices)
        .position(|(a, b)| a != b)
        .unwrap_or(ours.len().min(file.slices.len()));
    println!(
        "{}: slice {at} of {}: expected {:?}, got {:?}",
        path.display(),
        file.slices.len(),
        file.slices.get(at),
        ours.get(at)
    );
    Ok(false)
}

fn walk(path: &Path, out: &mut Vec<std::path::PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path)
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        entries.sort();
        for entry in entries {
            walk(&entry, out);
        }
    } else if path.extension().is_some_and(|e| e == "json") {
        out.push(path.to_path_buf());
    }
}

fn main() {
    let mut files = vec![];
    for arg in std::env::args().skip(2) {
        walk(Path::new(&arg), &mut files);
    }
    let mut good = 0;
    for file in &files {
        let result = std::panic::catch_unwind(|| verify(file));
        match result {
            Ok(Ok(true)) => good += 1,
            Ok(Ok(false)) => {}
            Ok(Err(e)) => println!("{}: {e}", file.display()),
            Err(_) => println!("{}: panicked", file.display()),
        }
    }
    println!("{good} of {} agree", files.len());
}
