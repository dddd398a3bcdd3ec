//! Load-tracking vectors (`pelt-vectors/1`): states, steps, and the averages of the kernel's own
//! code.

use schedlab_lab::compressed;
use schedlab_sched::classes::pelt::Average;
use serde_json::Value;
use std::path::Path;

/// Returns the first step at which our averages differ from the kernel's, if any.
pub fn difference(path: &Path) -> Option<String> {
    let bytes = compressed::read(path, compressed::LIMIT).expect("the file is readable");
    let file: Value = serde_json::from_slice(&bytes).expect("the file is JSON");
    let initial = &file["initial"];
    let of = |name: &str| initial[name].as_u64().expect("the initial state has every figure");
    let mut average = Average {
        last_update_time: of("last_update_time"),
        load_sum: of("load_sum"),
        runnable_sum: of("runnable_sum"),
        util_sum: of("util_sum") as u32,
        period_contrib: of("period_contrib") as u32,
        load_avg: of("load_avg"),
        runnable_avg: of("runnable_avg"),
        util_avg: of("util_avg"),
    };
    let steps = file["steps"].as_array().expect("the file has steps");
    assert!(!steps.is_empty(), "{} has no steps", path.display());
    for (number, step) in steps.iter().enumerate() {
        let row: Vec<u64> = step
            .as_array()
            .expect("a step is a row")
            .iter()
            .map(|figure| figure.as_u64().expect("a row has figures"))
            .collect();
        let [now_ns, load, runnable, running, weight, expected @ ..] = &row[..] else {
            panic!("{}: step {number} is too short", path.display());
        };
        let renewed = average.update(*now_ns, *load, *runnable, *running != 0, *weight);
        let ours = [
            u64::from(renewed),
            average.last_update_time,
            u64::from(average.period_contrib),
            average.load_sum,
            average.runnable_sum,
            u64::from(average.util_sum),
            average.load_avg,
            average.runnable_avg,
            average.util_avg,
        ];
        if ours != expected {
            return Some(format!("step {number}: {ours:?} instead of {expected:?}"));
        }
    }
    None
}
