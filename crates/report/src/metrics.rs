//! Which figures schedulers are compared by: [`COMPARED`], used by the table and by CSV alike.

use crate::format;
use crate::model::{Report, RunReport};
use schedlab_machine::costs::Overhead;
use serde::{Deserialize, Serialize};

/// A figure of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A duration, ns.
    Duration(u64),
    /// A part of the whole, 0 to 1.
    Part(f64),
    /// Events a second.
    PerSecond(f64),
    /// An index from 0 to 1.
    Index(f64),
    /// How many.
    Count(u64),
    /// Power, W.
    Watts(f64),
}

/// Which of two values one would rather have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The smaller one.
    Less,
    /// The larger one.
    More,
    /// It depends on what one wants.
    Neither,
}

/// A figure to compare by.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// What it is called in CSV; never changes.
    pub id: &'static str,
    /// Its heading in the table; those of several rows that belong together share it.
    pub group: &'static str,
    /// Its label under that heading; empty if it is the only one.
    pub label: &'static str,
    /// Which is the better value.
    pub better: Better,
    /// Its value; none if the run has none.
    pub of: fn(&RunReport) -> Option<Value>,
}

impl Metric {
    /// Heading and label in one.
    pub fn title(&self) -> String {
        match self.label {
            "" => self.group.into(),
            label => format!("{} {label}", self.group),
        }
    }
}

impl Value {
    /// As people read it.
    pub fn text(self, unicode: bool) -> String {
        match self {
            Value::Duration(ns) => format::duration(ns, unicode),
            Value::Part(part) => format::percent(part),
            Value::PerSecond(rate) => format::per_second(rate),
            Value::Index(index) => format!("{index:.4}"),
            Value::Count(count) => format::count(count),
            Value::Watts(watts) => format!("{watts:.2} W"),
        }
    }

    /// As a spreadsheet reads it: a bare number in the [`unit`](Value::unit).
    pub fn number(self) -> String {
        match self {
            Value::Duration(number) | Value::Count(number) => number.to_string(),
            Value::Part(number)
            | Value::PerSecond(number)
            | Value::Index(number)
            | Value::Watts(number) => number.to_string(),
        }
    }

    /// The unit of [`number`](Value::number): `ns`, `part`, `1/s`, `index`, `count` or `W`.
    pub fn unit(self) -> &'static str {
        match self {
            Value::Duration(_) => "ns",
            Value::Part(_) => "part",
            Value::PerSecond(_) => "1/s",
            Value::Index(_) => "index",
            Value::Count(_) => "count",
            Value::Watts(_) => "W",
        }
    }

    /// The [`number`](Value::number) as one.
    pub fn as_f64(self) -> f64 {
        match self {
            Value::Duration(number) | Value::Count(number) => number as f64,
            Value::Part(number)
            | Value::PerSecond(number)
            | Value::Index(number)
            | Value::Watts(number) => number,
        }
    }
}

/// For each value whether it is the best of them. None is where all that are there are equal, or it
/// cannot be said.
pub fn best(values: &[Option<Value>], better: Better) -> Vec<bool> {
    let numbers = || values.iter().flatten().map(|value| value.as_f64());
    let (least, most) = numbers()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), number| {
            (least.min(number), most.max(number))
        });
    let best = match better {
        Better::Less => least,
        Better::More => most,
        Better::Neither => return vec![false; values.len()],
    };
    values
        .iter()
        .map(|value| least < most && value.is_some_and(|value| value.as_f64() == best))
        .collect()
}

/// What schedulers are compared by, in the order of the table.
pub const COMPARED: &[Metric] = &[
    Metric {
        id: "cpu_use",
        group: "CPU use",
        label: "",
        better: Better::Neither,
        of: |run| run.totals.cpu_use.map(Value::Part),
    },
    Metric {
        id: "throughput",
        group: "throughput",
        label: "",
        better: Better::More,
        of: |run| run.totals.throughput_per_s.map(Value::PerSecond),
    },
    Metric {
        id: "turnaround_mean",
        group: "turnaround",
        label: "mean",
        better: Better::Less,
        of: |run| run.turnaround.mean_ns.map(Value::Duration),
    },
    Metric {
        id: "turnaround_max",
        group: "turnaround",
        label: "max",
        better: Better::Less,
        of: |run| run.turnaround.max_ns.map(Value::Duration),
    },
    Metric {
        id: "wakeup_latency_p50",
        group: "wakeup latency",
        label: "median",
        better: Better::Less,
        of: |run| run.wakeup_latency.p50_ns.map(Value::Duration),
    },
    Metric {
        id: "wakeup_latency_p99",
        group: "wakeup latency",
        label: "p99",
        better: Better::Less,
        of: |run| run.wakeup_latency.p99_ns.map(Value::Duration),
    },
    Metric {
        id: "wakeup_latency_max",
        group: "wakeup latency",
        label: "max",
        better: Better::Less,
        of: |run| run.wakeup_latency.max_ns.map(Value::Duration),
    },
    Metric {
        id: "wait_mean",
        group: "waiting",
        label: "per task",
        better: Better::Less,
        of: |run| run.totals.wait_mean_ns.map(Value::Duration),
    },
    Metric {
        id: "wait_max",
        group: "waiting",
        label: "longest",
        better: Better::Less,
        of: |run| Some(Value::Duration(run.totals.wait_max_ns)),
    },
    Metric {
        id: "jain_by_weight",
        group: "fairness",
        label: "Jain, by weight",
        better: Better::More,
        of: |run| run.fairness.as_ref()?.jain_by_weight.map(Value::Index),
    },
    Metric {
        id: "jain_by_share",
        group: "fairness",
        label: "Jain, by share",
        better: Better::More,
        of: |run| run.fairness.as_ref()?.jain_by_share.map(Value::Index),
    },
    Metric {
        id: "owed_max",
        group: "fairness",
        label: "largest lag",
        better: Better::Less,
        of: |run| Some(Value::Duration(run.fairness.as_ref()?.owed_max_ns)),
    },
    Metric {
        id: "owed_end",
        group: "fairness",
        label: "lag at end",
        better: Better::Less,
        of: |run| Some(Value::Duration(run.fairness.as_ref()?.owed_end_ns)),
    },
    Metric {
        id: "switches_voluntary",
        group: "switches",
        label: "voluntary",
        better: Better::Neither,
        of: |run| Some(Value::Count(run.totals.switches_voluntary)),
    },
    Metric {
        id: "switches_involuntary",
        group: "switches",
        label: "involuntary",
        better: Better::Neither,
        of: |run| Some(Value::Count(run.totals.switches_involuntary)),
    },
    Metric {
        id: "migrations_queue",
        group: "migrations",
        label: "of queue",
        better: Better::Neither,
        of: |run| Some(Value::Count(run.totals.migrations_queue)),
    },
    Metric {
        id: "migrations_cpu",
        group: "migrations",
        label: "of CPU",
        better: Better::Neither,
        of: |run| Some(Value::Count(run.totals.migrations_cpu)),
    },
];

/// What schedulers are compared by on modelled machines besides.
pub const MODELLED: &[Metric] = &[
    Metric {
        id: "kernel_time",
        group: "kernel time",
        label: "",
        better: Better::Less,
        of: |run| Some(Value::Duration(run.kernel.as_ref()?.kernel_ns)),
    },
    Metric {
        id: "kernel_spin",
        group: "kernel time",
        label: "spinning",
        better: Better::Less,
        of: |run| Some(Value::Duration(run.kernel.as_ref()?.ns(Overhead::Spin))),
    },
    Metric {
        id: "power_mean",
        group: "mean power",
        label: "",
        better: Better::Less,
        of: |run| Some(Value::Watts(run.energy.as_ref()?.mean_watts)),
    },
];

/// What the runs of `report` are compared by: of machines on which nothing costs anything, not what
/// it costs.
pub fn compared(report: &Report) -> impl Iterator<Item = &'static Metric> {
    let modelled = report.runs.iter().any(|run| run.kernel.is_some());
    COMPARED.iter().chain(MODELLED.iter().filter(move |_| modelled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_told_only_where_there_is_a_difference() {
        let ns = |values: &[u64]| -> Vec<_> {
            values.iter().map(|&ns| Some(Value::Duration(ns))).collect()
        };
        assert_eq!(best(&ns(&[3, 1, 2, 1]), Better::Less), [false, true, false, true]);
        assert_eq!(best(&ns(&[3, 1]), Better::More), [true, false]);
        assert_eq!(best(&ns(&[3, 1]), Better::Neither), [false, false]);
        assert_eq!(best(&ns(&[2, 2]), Better::Less), [false, false]);
        assert_eq!(best(&[None, Some(Value::Count(1))], Better::Less), [false, false]);
    }

    #[test]
    fn ids_differ() {
        let mut ids: Vec<_> = COMPARED.iter().chain(MODELLED).map(|metric| metric.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), COMPARED.len() + MODELLED.len());
    }
}
