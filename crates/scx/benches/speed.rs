//! Speed of a policy, including the simulator: callbacks and instructions per second.
//!
//! `cargo bench -p schedlab-scx`: 20 s of 116 tasks (a quarter hogs, the others mostly asleep) on 8
//! CPUs under `examples/scx/vtime.bpf.o`. The target is a million callbacks a second.

#[path = "../tests/support/mod.rs"]
mod support;

use schedlab_scx::OnEnd;
use std::time::Instant;
use support::{MS, SECOND, Script, run, scheduler};

fn main() {
    const CPUS: u32 = 8;
    let tasks = || -> Vec<Script> {
        let task = |number: u64| match number % 4 {
            0 => Script::hog((number % 20) as i32 - 10),
            _ => Script::sleeper(MS / 2 + number * 1_000, 20 * MS + number * 10_000),
        };
        (0..116).map(task).collect()
    };
    for _ in 0..3 {
        let policy = scheduler("vtime", CPUS, &[], OnEnd::Stop);
        let begun = Instant::now();
        let ran = run(policy, CPUS, tasks(), 20 * SECOND);
        let seconds = begun.elapsed().as_secs_f64();
        let counts = ran.scheduler().counts();
        let calls: u64 = counts.callbacks.iter().map(|one| one.calls).sum();
        let insns: u64 = counts.callbacks.iter().map(|one| one.insns).sum();
        println!(
            "{seconds:.2} s: {calls} callbacks ({:.1} million a second), {:.1} million \
             instructions, {} switches",
            calls as f64 / seconds / 1e6,
            insns as f64 / 1e6,
            counts.switches
        );
    }
}
