//! Measured costs as the simulator's description of a machine (`docs/machines.md`).

use crate::costs::{Costs, Latency};
use crate::facts::{Facts, Place};
use serde_json::{Map, Value, json};

/// Describes the host as a machine file. `latencies`: includes the tables of quantiles
/// `timer_latency` and `idle_timer_latency` next to `costs.kernel`.
pub fn machine_file(name: &str, facts: &Facts, costs: &Costs, latencies: bool) -> Value {
    let source = format!("measured on this host, median of {} repetitions", costs.repetitions);
    let mut kernel = Map::new();
    let set = |list: &mut Map<String, Value>, name: &str, ns: f64, how: &str| {
        let value = (ns.max(0.0) * 10.0).round() / 10.0;
        list.insert(name.into(), json!({"value": value, "source": format!("{source}: {how}")}));
    };
    let pick = costs.yield_alone - costs.null_call;
    let switch = costs.yield_between_two - costs.yield_alone;
    let wakeup = costs.futex_hop - costs.yield_between_two - costs.null_call;
    set(&mut kernel, "clock", costs.clock, "a reading of the clock without a system call");
    set(&mut kernel, "pick", pick, "a sched_yield alone, less a system call without work");
    set(&mut kernel, "switch", switch, "a sched_yield between two threads, less one alone");
    let how = "a futex wakeup on one CPU until the woken thread runs, less such a sched_yield and a \
               system call";
    set(&mut kernel, "wakeup", wakeup, how);
    if let Some(tick) = &costs.tick {
        let how = "the gap that a tick makes in a loop that reads the clock, entry and exit of the \
                   interrupt included";
        set(&mut kernel, "tick", tick.gap_p50_ns as f64, how);
    }
    if let Some(call) = costs.wake_remote_call {
        let how = "a futex wakeup of a thread on another, idle CPU, less one that wakes no thread and \
                   less `wakeup`";
        set(&mut kernel, "ipi_send", call - wakeup.max(0.0), how);
    }
    let mut calls = Map::new();
    set(&mut calls, "clock", costs.clock, "a reading of the clock without a system call");
    set(&mut calls, "futex", costs.null_call, "a system call without work");
    set(&mut calls, "yield", costs.null_call, "a system call without work");
    let pipe = (costs.pipe_hop - wakeup.max(0.0) - pick.max(0.0) - switch.max(0.0)) / 2.0;
    let how = "half of a byte's transfer through a pipe, less wakeup, pick and switch";
    set(&mut calls, "pipe_write", pipe, how);
    set(&mut calls, "pipe_read", pipe, how);
    let mut all = json!({"kernel": kernel, "calls": calls});
    if latencies {
        for (name, latency) in latency_tables(costs) {
            all[name] = latency;
        }
    }
    let mut file = json!({
        "format": 1,
        "name": name,
        "about": format!("{} under Linux {}", facts.topology(), facts.release),
        "source": "measured by `schedlab host --measure`",
    });
    if let Some((hz, _)) = facts.hz.clone().or(costs.tick.map(|tick| (tick.hz, String::new()))) {
        file["hz"] = json!(hz);
    }
    file["topology"] = json!({"cpus": topology(&facts.places)});
    file["costs"] = all;
    file
}

/// Whether a thread with this scheduling preempts a hog at once after its sleep. Otherwise the
/// table also contains time slices of the hog, which are not lateness of the timer.
fn is_urgent(latency: &Latency) -> bool {
    latency.of.starts_with("fifo")
}

/// Returns the reason why there is no table of timers on busy CPUs, if there is none.
pub fn missing_table(costs: &Costs) -> Option<String> {
    let latency = costs.timer_latency.as_ref().filter(|latency| !is_urgent(latency))?;
    Some(format!(
        "no timer_latency: the thread that slept was not a real-time one ({}), so that it also \
         waited for the other's turn; run as root, or `sudo setcap cap_sys_nice+ep` on the program",
        latency.of
    ))
}

/// Returns the tables of quantiles, by their keys.
pub fn latency_tables(costs: &Costs) -> Vec<(&'static str, Value)> {
    let table = |latency: &Latency| json!(latency.quantiles);
    let over_a_hog = costs.timer_latency.as_ref().filter(|latency| is_urgent(latency));
    [("timer_latency", over_a_hog), ("idle_timer_latency", costs.idle_timer_latency.as_ref())]
        .into_iter()
        .filter_map(|(name, latency)| Some((name, table(latency?))))
        .collect()
}

/// Describes each CPU, with numbers that are unique on the whole machine.
fn topology(places: &[Place]) -> Vec<Value> {
    // Numbers are assigned in the order of first occurrence.
    fn number<T: PartialEq>(seen: &mut Vec<T>, of: T) -> usize {
        seen.iter().position(|one| *one == of).unwrap_or_else(|| {
            seen.push(of);
            seen.len() - 1
        })
    }
    let (mut cores, mut caches, mut packages, mut nodes) = (vec![], vec![], vec![], vec![]);
    let place = |place: &Place| {
        json!({
            "core": number(&mut cores, (place.package, place.core)),
            "cache": number(&mut caches, place.cache),
            "package": number(&mut packages, place.package),
            "node": number(&mut nodes, place.node),
        })
    };
    places.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusals::tests::root;
    use crate::tick::Tick;
    use schedlab_machine::description::Description;

    fn costs() -> Costs {
        let quantiles = vec![(0.0, 2500), (0.5, 5000), (1.0, 60_000)];
        let latency = Latency { of: "fifo 90".into(), count: 1000, quantiles };
        Costs {
            repetitions: 5,
            clock: 18.6,
            null_call: 88.0,
            yield_alone: 190.0,
            yield_between_two: 560.0,
            futex_hop: 900.0,
            pipe_hop: 1220.0,
            timer_latency: Some(latency.clone()),
            idle_timer_latency: Some(latency),
            wake_remote_call: Some(13_000.0),
            wake_remote_latency: None,
            tick: Some(Tick {
                hz: 250,
                phase_ns: 1,
                seen: 1.0,
                gap_p50_ns: 25_000,
                gap_p99_ns: 45_000,
            }),
            interrupted: 0.02,
        }
    }

    #[test]
    fn the_simulator_reads_what_was_measured() {
        let mut facts = root().facts;
        facts.places.push(Place { cpu: 2, core: 1, cache: 7, package: 1, node: 3 });
        let file = machine_file("host", &facts, &costs(), false);
        let machine =
            Description::parse("host.json", &file.to_string()).expect("the file is well formed");
        assert_eq!((machine.hz, machine.topology.cpus()), (Some(250), 3));
        let kernel = &file["costs"]["kernel"];
        assert_eq!(kernel["pick"]["value"], 102.0);
        assert_eq!(kernel["switch"]["value"], 370.0);
        assert_eq!(kernel["wakeup"]["value"], 252.0);
        assert_eq!(kernel["ipi_send"]["value"], 12_748.0);
        assert_eq!(file["costs"]["calls"]["pipe_read"]["value"], 248.0);
    }

    #[test]
    fn what_comes_out_below_nothing_costs_nothing() {
        let noisy = Costs { yield_between_two: 100.0, pipe_hop: 0.0, ..costs() };
        let file = machine_file("host", &root().facts, &noisy, false);
        assert_eq!(file["costs"]["kernel"]["switch"]["value"], 0.0);
        assert!(Description::parse("host.json", &file.to_string()).is_ok());
    }

    #[test]
    fn tables_of_latencies_stand_beside_the_costs() {
        let file = machine_file("host", &root().facts, &costs(), true);
        assert_eq!(file["costs"]["timer_latency"][1], json!([0.5, 5000]));
        assert_eq!(file["costs"]["idle_timer_latency"][2], json!([1.0, 60_000]));
    }
}
