//! Checks that memory stays flat when policies and schedulers are made and dropped many times.
//!
//! One test in its own file: other tests of the same process would also change its memory.

use schedlab_core::{BuildConfig, CpuId, Parent, Scheduler, TaskAttr, TaskId};
use schedlab_sched::registry;
use schedlab_scx::{Image, Object, Options, ScxScheduler, Target};
use std::fs;
use std::sync::Arc;

/// Number of instances that are made and dropped between the two measurements.
const INSTANCES: u32 = 20_000;

/// Number of instances that are made and dropped before the first measurement.
const WARM_UP: u32 = 2_000;

/// Maximum growth between the measurements, pages. A leak of one page for every 78 instances
/// exceeds it.
const GROWTH_MAX: u64 = 256;

const CPUS: u32 = 2;
const HZ: u32 = 250;

/// Returns the resident memory of this process, pages. `None`: the system has no
/// `/proc/self/statm`.
fn resident_pages() -> Option<u64> {
    let sizes = fs::read_to_string("/proc/self/statm").ok()?;
    sizes.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Forks two tasks, picks one of them and lets it tick.
fn run_briefly(scheduler: &mut dyn Scheduler, config: &BuildConfig) {
    let mut platform = config.platform();
    for task in [TaskId(0), TaskId(1)] {
        scheduler.fork(&mut platform, task, &TaskAttr::default(), Parent::External);
    }
    let picked = scheduler.schedule(&mut platform, CpuId(0));
    assert!(picked.is_some(), "a new task runs on CPU 0");
    platform.set_now_ns(4_000_000);
    scheduler.tick(&mut platform, CpuId(0));
}

/// Checks that `instance`, called again and again, keeps memory flat.
fn check(name: &str, mut instance: impl FnMut()) {
    (0..WARM_UP).for_each(|_| instance());
    let before = resident_pages();
    (0..INSTANCES).for_each(|_| instance());
    let Some((before, after)) = before.zip(resident_pages()) else {
        eprintln!("SKIPPED: no /proc/self/statm on this system, memory of {name} is not checked");
        return;
    };
    let growth = after.saturating_sub(before);
    assert!(
        growth <= GROWTH_MAX,
        "{name}: {INSTANCES} instances grew memory from {before} to {after} pages; \
         the maximum growth is {GROWTH_MAX} pages"
    );
}

#[test]
fn instances_made_and_dropped_keep_memory_flat() {
    let config = BuildConfig::flat(CPUS, HZ);
    let bytes = include_bytes!("../../../examples/scx/vtime.bpf.o");
    let object = Object::read("vtime.bpf.o", bytes);
    let image: Result<Image, _> =
        object.and_then(|object| object.link(Target { cpus: CPUS, hz: HZ }, &[]));
    let image = Arc::new(image.unwrap_or_else(|error| panic!("{error}")));
    check("the policy vtime", || {
        let mut policy = ScxScheduler::new(Arc::clone(&image), &config, Options::default());
        run_briefly(&mut policy, &config);
    });
    let (_, release) = registry::find("eevdf").expect("the registry has eevdf");
    check("the scheduler eevdf", || {
        let mut scheduler = release.build(&config).expect("the release supports the machine");
        run_briefly(&mut *scheduler, &config);
    });
}
