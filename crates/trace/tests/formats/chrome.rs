//! Chrome JSON, read by a JSON parser.

use crate::each;
use serde_json::Value;
use std::collections::BTreeMap;

/// Converts microseconds with three decimals to ns.
fn ns(value: &Value) -> u64 {
    (value.as_f64().expect("a number") * 1000.0).round() as u64
}

#[test]
fn chromes_json_says_what_the_run_says() {
    each("out.json", |traced| {
        let text = std::fs::read_to_string(&traced.path).expect("it is text");
        let trace: Value = serde_json::from_str(&text).expect("it is JSON");
        let events = trace["traceEvents"].as_array().expect("a list");
        let mut cpu_ns: BTreeMap<u64, u64> = BTreeMap::new();
        let mut turns: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut begun, mut ended) = (vec![], vec![]);
        let mut lengths: BTreeMap<&str, u64> = BTreeMap::new();
        for event in events {
            match event["ph"].as_str().expect("a type") {
                "X" => {
                    let pid = event["args"]["pid"].as_u64().expect("a pid");
                    *cpu_ns.entry(pid).or_default() += ns(&event["dur"]);
                    *turns.entry(pid).or_default() += 1;
                }
                "s" => begun.push(event["id"].as_u64()),
                "f" => ended.push(event["id"].as_u64()),
                "C" => {
                    let length = event["args"]["tasks"].as_u64().expect("a length");
                    lengths.insert(event["name"].as_str().expect("a name"), length);
                }
                "M" => {}
                other => panic!("{other}"),
            }
        }
        let report = &traced.truth.report;
        for task in &report.tasks {
            let pid = u64::from(task.task + 1);
            let counted = (cpu_ns.get(&pid).copied(), turns.get(&pid).copied());
            let counted = (counted.0.unwrap_or(0), counted.1.unwrap_or(0));
            assert_eq!(counted, (task.cpu_ns, task.switches_in), "{}", task.name);
        }
        assert!(ended.iter().all(|id| begun.contains(id)), "every flow that ends has begun");
        if report.tasks.iter().any(|task| task.name == "pong-0") {
            assert!(!ended.is_empty(), "ping wakes pong");
        }
        assert_eq!(lengths.len(), report.machine.cpus as usize);
    });
}
