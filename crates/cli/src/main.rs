//! The program `schedlab`.

use schedlab_machine::{Config, Machine};
use schedlab_measure::SliceRecorder;
use schedlab_sched::GroupId;
use schedlab_sched::registry::{self, BuildConfig};
use schedlab_workload::golden::GoldenSlice;
use schedlab_workload::{Conventions, GoldenFile};
use std::path::Path;

fn verify(path: &Path) -> Result<bool, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let file = GoldenFile::parse(&path.display().to_string(), &text).map_err(|e| e.to_string())?;
    let (_, release) = registry::find_golden(&file.scheduler, &file.kernel).ok_or("no such scheduler")?;
    let build = BuildConfig::flat(file.cpus, file.hz);
    let mut config = Config::idealised(file.cpus, file.hz);
    config.reap = false;
    let mut conventions = Conventions::default();
    let mut tunables = vec![];
    for &(ref name, value) in &file.tunables {
        match name.as_str() {
            "in_interrupt" => config.wake_from_interrupt = value != 0,
            "sleep_uninterruptible" => conventions.uninterruptible = value != 0,
            _ => tunables.push((name.clone(), value)),
        }
    }
    match file.scheduler.as_str() {
        "eevdf" | "deadline" => {
            conventions.exit_from_sleep = true;
            conventions.renice_before_wake = true;
        }
        "cfs" => {
            conventions.yield_goes_on = true;
            conventions.renice_only_running = true;
        }
        _ => {}
    }
    let registry::Build::Ordinary(make) = release.build else {
        return Err("clairvoyant".into());
    };
    let mut scheduler = make(&build);
    let mut platform = build.platform();
    for (name, value) in &tunables {
        scheduler
            .set_tunable(&mut platform, name, *value)
            .map_err(|e| format!("{name}={value}: {e:?}"))?;
    }
    let mut groups: Vec<GroupId> = vec![];
    for group in &file.groups {
        let parent = group.parent.map_or(GroupId::ROOT, |at| groups[at]);
        groups.push(scheduler.group_new(&mut platform, parent, group.shares)?);
    }
    assert!(platform.timer_orders.is_empty());
    let workload = file.workload(&groups, conventions).map_err(|e| e.to_string())?;
    let mut machine = Machine::new(config, scheduler, workload, SliceRecorder::new());
    machine.run(file.end_ns).map_err(|e| e.to_string())?;
    let (_, _, recorder) = machine.into_parts();
    let slices = recorder.into_slices();
    let ours: Vec<_> = slices
        .iter()
        .map(|s| GoldenSlice {
            cpu: s.cpu,
            start_ns: s.start_ns,
            end_ns: s.end_ns,
            task: s.task,
        })
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
