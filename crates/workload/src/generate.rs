//! Generates workloads: simple ones for benchmarks, and random ones that use the whole language for
//! stress and property tests.
//!
//! The result depends on the arguments only. A workload can be saved with
//! [`rt_app::write`](crate::rt_app::write), and loaded again.

mod world;

use crate::model::{Action, Event, Global, Loops, Model, Phase, Properties, Task};
use schedlab_machine::order::SplitMix64;
pub use world::{Limits, world};

/// Returns `n` tasks of nice value `nice` that compute forever. The run is endless: set a limit.
pub fn hogs(n: u32, nice: i32) -> Model {
    let mut hog = flat_task("hog", n, vec![event("run", Action::Run(10_000 * US))]);
    hog.properties.priority = Some(nice);
    model("hogs", vec![hog])
}

/// Returns `n` tasks that alternately compute for `run_us` and sleep for `sleep_us`. The run is
/// endless: set a limit.
pub fn sleepers(n: u32, run_us: u64, sleep_us: u64) -> Model {
    let events =
        vec![event("run", Action::Run(run_us * US)), event("sleep", Action::Sleep(sleep_us * US))];
    model("sleepers", vec![flat_task("sleeper", n, events)])
}

/// Returns `n` tasks in a mix as on a machine in use. Of ten, about one is a hog, four are
/// interactive (short bursts, long sleeps), four alternate between work and sleep, and one is
/// periodic. Nice values range from -5 to 10. Starts are spread over the first 100 ms. The run is
/// endless: set a limit.
pub fn mix(n: u32, seed: u64) -> Model {
    let mut random = SplitMix64::new(seed);
    let tasks = (0..n).map(|number| {
        let kind = number % 10;
        let (key, events) = match kind {
            0 => ("hog", vec![event("run", Action::Run(between(&mut random, 5_000, 50_000) * US))]),
            1..=4 => (
                "person",
                vec![
                    event("run", Action::Run(between(&mut random, 100, 3_000) * US)),
                    event("sleep", Action::Sleep(between(&mut random, 20_000, 300_000) * US)),
                ],
            ),
            5..=8 => (
                "worker",
                vec![
                    event("run", Action::Run(between(&mut random, 1_000, 30_000) * US)),
                    event("sleep", Action::Sleep(between(&mut random, 1_000, 30_000) * US)),
                ],
            ),
            _ => {
                let period_us = between(&mut random, 5, 50) * 1_000;
                let period_ns = period_us * US;
                let timer = Action::Timer { name: "unique".into(), period_ns, absolute: false };
                let run_us = between(&mut random, period_us / 20, period_us / 4);
                ("beat", vec![event("run", Action::Run(run_us * US)), event("timer", timer)])
            }
        };
        let mut task = flat_task(&format!("{key}{number}"), 1, events);
        task.delay_ns = random.below(100_000) * US;
        task.properties.priority = Some(random.below(16) as i32 - 5);
        task
    });
    model("mix", tasks.collect())
}

/// One microsecond, ns.
const US: u64 = 1_000;

/// Draws a number from `least` to `most`.
fn between(random: &mut SplitMix64, least: u64, most: u64) -> u64 {
    least + random.below(most.saturating_sub(least) + 1)
}

fn event(key: &str, action: Action) -> Event {
    Event { key: key.into(), action }
}

fn flat_task(key: &str, instances: u32, events: Vec<Event>) -> Task {
    Task {
        key: key.into(),
        instances,
        delay_ns: 0,
        loops: Loops::Forever,
        properties: Properties::default(),
        phases: vec![Phase { events, ..Phase::default() }],
        session: None,
        flat: true,
    }
}

fn model(name: &str, tasks: Vec<Task>) -> Model {
    Model { name: name.into(), global: Global::default(), tasks }
}
