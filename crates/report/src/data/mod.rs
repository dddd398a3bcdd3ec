//! A run as data: what the JSON document holds (`docs/json-schema.md` describes every field), and
//! what tables, timelines and CSV are made from.
//!
//! Plain data: nothing here knows how a run came about. Times are integers in ns. Floating-point
//! numbers are ratios and rates only, rounded to six decimals by [`ratio`].

mod cpu;
mod energy;
mod fairness;
mod group;
mod intervals;
mod kernel;
mod run;
mod spread;
mod task;
mod totals;

pub use cpu::CpuFigures;
pub use energy::{EnergyFigures, IdleRow};
pub use fairness::FairnessFigures;
pub use group::{GroupFigures, ThrottleFigures};
pub use intervals::{SliceRow, SpanRow};
pub use kernel::{KernelFigures, KindRow};
pub use run::{
    End, EndState, MachineInfo, Report, RunReport, SCHEMA, SchedulerInfo, TunableValue,
    WorkloadInfo,
};
pub use spread::{BucketRow, Spread};
pub use task::{KeyFigures, TaskFigures};
pub use totals::Totals;

/// `value` rounded to six decimals, so that the last bits of a division are in no document.
pub fn ratio(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of so many CPUs and so long, in which nothing happened to these tasks; the key is the
    /// name up to the dash.
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
            },
            machine: MachineInfo { cpus, hz: 100, model: "idealised".into() },
            tunables: vec![],
            seed: None,
            end: End { state: EndState::TimeUp, at_ns: end_ns },
            totals: Totals::default(),
            kernel: None,
            energy: None,
            fairness: None,
            wakeup_latency: Spread::default(),
            wakeup_latency_histogram: vec![],
            start_latency: Spread::default(),
            burst_response: Spread::default(),
            turnaround: Spread::default(),
            cpu_time: Spread::default(),
            cpus: (0..cpus).map(|cpu| CpuFigures { cpu, ..CpuFigures::default() }).collect(),
            keys: vec![],
            groups: vec![],
            tasks: names.iter().enumerate().map(task).collect(),
            slices: None,
            spans: None,
        }
    }

    /// A run in which everything was measured, on a modelled machine: no field is absent.
    pub fn full_run() -> RunReport {
        let spread: Spread = [1, 2, 4].into_iter().collect();
        let mut run = empty_run(2, 100, &["a-0", "b-0"]);
        run.tunables = vec![TunableValue { name: "some".into(), value: 1 }];
        run.seed = Some(1);
        run.totals = Totals {
            cpu_use: Some(0.5),
            throughput_per_s: Some(0.5),
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
        run.kernel = Some(KernelFigures {
            kernel_ns: 1,
            with_task_ns: 1,
            idle_ns: 1,
            kinds: kinds.into_iter().map(kind).collect(),
            interrupts: 1,
            contended: 1,
            cpus_ns: vec![1, 1],
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
            lag_max_ns: 1,
            owed_max_ns: 1,
            owed_max_task: Some(0),
            ahead_max_ns: 1,
            ahead_max_task: Some(1),
            owed_end_ns: 1,
            owed_end_task: Some(0),
        });
        let whole = [
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
                latency_max_ns: Some(1),
                share_ns: Some(1),
                owed_max_ns: Some(1),
                ahead_max_ns: Some(1),
                lag_end_ns: Some(0),
                ..task.clone()
            };
        }
        run.slices = Some(vec![SliceRow(0, 1, 2, 0)]);
        run.spans = Some(vec![SpanRow(0, 2, 0)]);
        run
    }
}
