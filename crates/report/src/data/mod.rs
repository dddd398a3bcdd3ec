//! A run as data: the contents of the JSON document (`docs/json-schema.md` describes every field),
//! from which tables, timelines and CSV are made.
//!
//! Plain data, independent of how a run is made. Times are integers in ns. Floating-point numbers
//! are ratios and rates only, rounded to six decimals by [`ratio`].

mod baseline;
mod cpu;
mod end;
mod energy;
mod fairness;
mod group;
mod intervals;
mod kernel;
mod repetition;
mod run;
mod spread;
mod task;
mod totals;

pub use baseline::{Baseline, ColumnDifferences, DifferenceRow};
pub use cpu::CpuFigures;
pub use end::{End, EndState};
pub use energy::{EnergyFigures, IdleRow};
pub use fairness::FairnessFigures;
pub use group::{GroupFigures, ThrottleFigures};
pub use intervals::{SliceRow, SpanRow};
pub use kernel::{KernelFigures, KindRow};
pub use repetition::{Number, RepetitionRow, SummaryRow};
pub use run::{
    IdleExitFigures, MachineInfo, RefusalRow, Report, RunReport, SCHEMA, SchedulerInfo, SettingRow,
    SettingValue, TunableValue, WorkloadInfo,
};
pub use spread::{BucketRow, RatioSpread, Spread};
pub use task::{KeyFigures, TaskFigures};
pub use totals::Totals;

/// Rounds `value` to six decimals, so that no document contains the last bits of a division.
pub fn ratio(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Returns a run of this length on this number of CPUs in which nothing happened to these
    /// tasks. The key is the name up to the dash.
    pub fn empty_run(cpus: u32, end_ns: u64, names: &[&str]) -> RunReport {
        let task = |(number, name): (usize, &&str)| TaskFigures {
            task: number as u32,
            name: name.to_string(),
            key: name.split('-').next().unwrap_or_default().into(),
            policy: "SCHED_OTHER".into(),
            ..TaskFigures::default()
        };
        RunReport {
            scheduler: SchedulerInfo {
                name: "some".into(),
                release: "1".into(),
                title: "Some scheduler".into(),
                set: vec![],
            },
            machine: MachineInfo { cpus, hz: 100, model: "idealised".into() },
            tunables: vec![],
            seed: None,
            end: End { state: EndState::TimeUp, at_ns: end_ns },
            totals: Totals::default(),
            kernel: None,
            energy: None,
            fairness: None,
            refused: 0,
            refusals: vec![],
            wakeup_latency: Spread::default(),
            wakeup_latency_histogram: vec![],
            start_latency: Spread::default(),
            idle_exit: None,
            idle_exit_of: None,
            burst_response: Spread::default(),
            slowdown: RatioSpread::default(),
            burst_lag: Spread::default(),
            turnaround: Spread::default(),
            cpu_time: Spread::default(),
            cpus: (0..cpus).map(|cpu| CpuFigures { cpu, ..CpuFigures::default() }).collect(),
            keys: vec![],
            groups: vec![],
            tasks: names.iter().enumerate().map(task).collect(),
            slices: None,
            spans: None,
            repetitions: vec![],
            summary: vec![],
        }
    }

    /// Collects the fields of the objects in `value`, each with the name of its object.
    fn fields(value: &serde_json::Value, object: &str, found: &mut BTreeSet<(String, String)>) {
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(name, value)| {
                found.insert((object.into(), name.clone()));
                fields(value, name, found);
            }),
            serde_json::Value::Array(list) => {
                list.iter().for_each(|value| fields(value, object, found));
            }
            _ => {}
        }
    }

    /// Returns the part of docs/json-schema.md on the fields of an object of the document.
    fn section<'a>(docs: &'a str, object: &str) -> &'a str {
        let heading = match object {
            "run" => "\n## Run\n".into(),
            "wakeup_latency" | "start_latency" | "burst_response" | "turnaround" | "cpu_time"
            | "idle_exit" | "idle_exit_of" | "slowdown" | "burst_lag" => "\n### Spread\n".into(),
            // These are described in one line, where the field itself is.
            "scheduler" | "machine" | "tunables" | "end" | "set" => "\n## Run\n".into(),
            "kinds" => "\n### `kernel`\n".into(),
            "idle" => "\n### `energy`\n".into(),
            "throttling" => "\n### `groups`\n".into(),
            object => format!("\n### `{object}`\n"),
        };
        let start = docs.find(&heading).unwrap_or_else(|| panic!("no section {heading}"));
        let rest = &docs[start + heading.len()..];
        rest.find("\n#").map_or(rest, |end| &rest[..end])
    }

    #[test]
    fn every_field_is_documented_in_the_section_of_its_object() {
        let docs = include_str!("../../../../docs/json-schema.md");
        let mut found = BTreeSet::new();
        let run = serde_json::to_value(full_run()).expect("reports serialise");
        fields(&run, "run", &mut found);
        for (object, name) in &found {
            // `{name, value}` is the notation for lists of small objects.
            let section = section(docs, object);
            let stands = [format!("`{name}`"), format!("{{{name},"), format!(", {name}}}")];
            assert!(
                stands.iter().any(|stands| section.contains(stands)),
                "`{name}` of `{object}` is not in docs/json-schema.md"
            );
        }
        // Every field that the tables of the document name exists.
        let rows = docs.split("# The JSON document `schedlab-bench/1`").next().unwrap_or_default();
        let rows = rows.split("\n## CSV").next().unwrap_or_default();
        let rows = rows.lines().skip_while(|line| *line != "## Run");
        for row in rows.filter(|line| line.starts_with("| `")) {
            let names = row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2);
            for name in names {
                assert!(
                    found.iter().any(|(_, field)| field == name),
                    "the document has no `{name}`"
                );
            }
        }
    }

    /// Returns a run in which everything was measured, on a modelled machine: no field is absent.
    pub fn full_run() -> RunReport {
        let spread: Spread = [1, 2, 4].into_iter().collect();
        let mut run = empty_run(2, 100, &["a-0", "b-0"]);
        run.tunables = vec![TunableValue { name: "some".into(), value: 1 }];
        run.seed = Some(1);
        run.totals = Totals {
            cpu_use: Some(0.5),
            throughput_per_s: Some(0.5),
            periods: 2,
            missed_periods: 1,
            wait_mean_ns: Some(1),
            ..Totals::default()
        };
        let kinds = [
            "pick",
            "scan",
            "spin",
            "switch",
            "refill",
            "wakeup",
            "tick",
            "interrupt",
            "balance",
            "awaken",
        ];
        let kind = |kind: &str| KindRow { kind: kind.into(), ns: 1 };
        run.scheduler.set =
            vec![SettingRow { name: "some".into(), value: SettingValue::Number(1) }];
        run.repetitions = vec![RepetitionRow { seed: 1, state: EndState::TimeUp, at_ns: 100 }];
        let one = Number(1.0);
        run.summary = vec![SummaryRow {
            metric: "busy".into(),
            unit: "ns".into(),
            count: 1,
            min: one,
            median: one,
            mean: one,
            max: one,
            sd: Some(one),
            values: vec![Some(one)],
        }];
        run.kernel = Some(KernelFigures {
            kernel_ns: 1,
            with_task_ns: 1,
            idle_ns: 1,
            kinds: kinds.into_iter().map(kind).collect(),
            interrupts: 1,
            contended: 1,
            cpus_ns: vec![1, 1],
            charged: vec![],
        });
        run.energy = Some(EnergyFigures {
            joules: 1.0,
            mean_watts: 1.0,
            idle: vec![IdleRow { state: "C1".into(), ns: 1 }],
            wakeups: 1,
        });
        run.fairness = Some(FairnessFigures {
            jain_by_share: Some(1.0),
            jain_by_weight: Some(1.0),
            jain_backlogged: Some(1.0),
            lag_max_ns: 1,
            owed_max_ns: 1,
            owed_max_task: Some(0),
            ahead_max_ns: 1,
            ahead_max_task: Some(1),
            owed_end_ns: 1,
            owed_end_task: Some(0),
        });
        run.refused = 1;
        run.refusals = vec![RefusalRow {
            at_ns: 1,
            task: 0,
            asked: "SCHED_DEADLINE".into(),
            errno: "EBUSY".into(),
            policy: "SCHED_OTHER".into(),
        }];
        let ratio = |ratio| Some(ratio);
        run.slowdown = RatioSpread {
            count: 3,
            sum: 4.0,
            min: ratio(1.0),
            mean: ratio(1.333),
            p50: ratio(1.0),
            p90: ratio(2.0),
            p95: ratio(2.0),
            p99: ratio(2.0),
            p999: ratio(2.0),
            max: ratio(2.0),
            sd_population: ratio(0.5),
            sd_sample: ratio(0.6),
        };
        run.idle_exit = Some(spread);
        run.idle_exit_of =
            Some(IdleExitFigures { p50_ns: Some(1), p99_ns: Some(1), max_ns: Some(1) });
        let whole = [
            &mut run.burst_lag,
            &mut run.wakeup_latency,
            &mut run.start_latency,
            &mut run.burst_response,
            &mut run.turnaround,
            &mut run.cpu_time,
        ];
        whole.into_iter().for_each(|it| *it = spread);
        run.wakeup_latency_histogram = vec![BucketRow(1, 1, 1)];
        let key = |key: &str| KeyFigures {
            key: key.into(),
            tasks: 1,
            cpu_ns: 1,
            wait_ns: 1,
            wait_max_ns: 1,
            jobs: 1,
            wakeup_latency: spread,
        };
        run.keys = vec![key("a"), key("b")];
        run.groups = vec![GroupFigures {
            path: "/g".into(),
            usage_ns: 1,
            usage_percpu_ns: vec![1, 0],
            machine_share: Some(0.005),
            throttling: Some(ThrottleFigures {
                period_phase_ns: Some(12_000_000),
                nr_periods: 1,
                nr_throttled: 1,
                throttled_ns: 1,
                nr_bursts: 1,
                burst_ns: 1,
            }),
        }];
        for task in &mut run.tasks {
            *task = TaskFigures {
                group: "/g".into(),
                start_ns: Some(0),
                first_run_ns: Some(1),
                end_ns: Some(2),
                turnaround_ns: Some(2),
                cpu_ns: 1,
                latency_count: 1,
                latency_mean_ns: Some(1),
                latency_p99_ns: Some(1),
                latency_max_ns: Some(1),
                share_ns: Some(1),
                owed_max_ns: Some(1),
                ahead_max_ns: Some(1),
                lag_end_ns: Some(0),
                burst_lag_max_ns: Some(1),
                due_ns: Some(1),
                ..task.clone()
            };
        }
        run.slices = Some(vec![SliceRow(0, 1, 2, 0)]);
        run.spans = Some(vec![SpanRow(0, 2, 0)]);
        run
    }
}
