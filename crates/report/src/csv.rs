//! Figures for spreadsheets: comma-separated, one heading line, bare numbers (durations in ns),
//! quoted fields if they contain a comma, a quote or a line break (RFC 4180, except that lines end
//! in a bare newline). A figure that a run lacks is an empty field.

use crate::data::{GroupFigures, Number, Report, RunReport, TaskFigures};
use crate::metrics::{Value, in_csv, value};
use crate::repeated::summary;
use crate::rows::Rows as Shown;
use schedlab_measure::catalogue::Named;

/// Returns [`comparison_of`] with the metrics by which schedulers are compared.
pub fn comparison(report: &Report) -> String {
    comparison_of(report, &Shown::default())
}

/// Returns the metrics of the rows.
fn metrics(report: &Report, shown: &Shown) -> Vec<Named> {
    if shown.are_named() { shown.metrics(report) } else { in_csv(report).collect() }
}

/// Returns one row for each scheduler and figure: `scheduler,release,metric,value,unit`. `shown`
/// names the metrics. By default they are the metrics of [`in_csv`], followed by `group_...:PATH`
/// of each control group. The unit is `ns`, `part`, `1/s`, `index`, `ratio`, `count` or `W`.
///
/// If runs were repeated, a field `run` follows `release`. There is a row for each run, with its
/// seed, and one each for `median`, `min`, `mean`, `max` and `sd` (standard deviation) of all runs.
/// Groups are taken from the first run. If the report is compared with an earlier one, the fields
/// `was`, `difference` and `percent` come last.
pub fn comparison_of(report: &Report, shown: &Shown) -> String {
    let repeated = report.runs.iter().any(|run| !run.summary.is_empty());
    let mut heading = vec!["scheduler", "release"];
    heading.extend(repeated.then_some("run"));
    heading.extend(["metric", "value", "unit"]);
    if report.baseline.is_some() {
        heading.extend(["was", "difference", "percent"]);
    }
    let mut rows = Rows::headed(&heading);
    for (place, run) in report.runs.iter().enumerate() {
        let earlier = report.baseline.as_ref().map(|earlier| earlier.columns.get(place));
        let release = run.scheduler.version();
        let mut push = |which: &str, metric: &str, number: String, unit: &str| {
            let mut row = vec![run.scheduler.name.clone(), release.clone()];
            row.extend(repeated.then(|| which.to_string()));
            row.extend([metric.to_string(), number, unit.to_string()]);
            if let Some(column) = earlier {
                let column = column.and_then(Option::as_ref).filter(|_| MEDIAN.contains(&which));
                let found =
                    column.and_then(|it| it.differences.iter().find(|row| row.metric == metric));
                let number = |number: Option<Number>| optional(number.map(|number| number.0));
                row.push(number(found.map(|row| row.was)));
                row.push(number(found.map(|row| row.difference)));
                row.push(number(found.and_then(|row| row.percent)));
            }
            rows.push(&row);
        };
        for metric in metrics(report, shown) {
            let id = metric.id();
            match summary(run, &metric) {
                None => {
                    let value = value(run, metric);
                    let number = value.map_or(String::new(), Value::number);
                    push("", &id, number, value.map_or("", |value| value.unit().name()));
                }
                Some(row) => {
                    for (run, number) in run.repetitions.iter().zip(&row.values) {
                        let number = optional(number.map(|number| number.0));
                        push(&run.seed.to_string(), &id, number, &row.unit);
                    }
                    let sums = [
                        ("median", Some(row.median)),
                        ("min", Some(row.min)),
                        ("mean", Some(row.mean)),
                        ("max", Some(row.max)),
                        ("sd", row.sd),
                    ];
                    for (which, number) in sums {
                        push(which, &id, optional(number.map(|number| number.0)), &row.unit);
                    }
                }
            }
        }
        if shown.are_named() {
            continue;
        }
        let first = run.repetitions.first().map_or(String::new(), |run| run.seed.to_string());
        for group in &run.groups {
            for (name, value, unit) in group_metrics(group) {
                push(&first, &format!("{name}:{}", group.path), value, unit);
            }
        }
    }
    rows.into_text()
}

/// Rows of a column whose value is compared with an earlier one.
const MEDIAN: [&str; 2] = ["", "median"];

/// Returns the figures of a group, with names and units.
fn group_metrics(group: &GroupFigures) -> Vec<(&'static str, String, &'static str)> {
    let mut metrics = vec![
        ("group_usage", group.usage_ns.to_string(), "ns"),
        ("group_machine_share", optional(group.machine_share), "part"),
    ];
    if let Some(it) = &group.throttling {
        metrics.extend([
            ("group_nr_periods", it.nr_periods.to_string(), "count"),
            ("group_nr_throttled", it.nr_throttled.to_string(), "count"),
            ("group_throttled", it.throttled_ns.to_string(), "ns"),
            ("group_nr_bursts", it.nr_bursts.to_string(), "count"),
            ("group_burst", it.burst_ns.to_string(), "ns"),
        ]);
        let phase = it.period_phase_ns.map(|ns| ("group_period_phase", ns.to_string(), "ns"));
        metrics.extend(phase);
    }
    metrics
}

/// Column of the table of tasks.
type Column = (&'static str, fn(&TaskFigures) -> String);

/// Columns after `scheduler` and `release`: the fields of the JSON document, under its names.
const TASK_COLUMNS: &[Column] = &[
    ("task", |task| task.task.to_string()),
    ("name", |task| task.name.clone()),
    ("key", |task| task.key.clone()),
    ("group", |task| task.group.clone()),
    ("policy", |task| task.policy.clone()),
    ("nice", |task| task.nice.to_string()),
    ("rt_priority", |task| task.rt_priority.to_string()),
    ("start_ns", |task| optional(task.start_ns)),
    ("first_run_ns", |task| optional(task.first_run_ns)),
    ("end_ns", |task| optional(task.end_ns)),
    ("turnaround_ns", |task| optional(task.turnaround_ns)),
    ("cpu_ns", |task| task.cpu_ns.to_string()),
    ("wait_ns", |task| task.wait_ns.to_string()),
    ("wait_max_ns", |task| task.wait_max_ns.to_string()),
    ("wait_open_ns", |task| task.wait_open_ns.to_string()),
    ("blocked_ns", |task| task.blocked_ns.to_string()),
    ("loops", |task| task.loops.to_string()),
    ("jobs", |task| task.jobs.to_string()),
    ("periods", |task| task.periods.to_string()),
    ("missed_periods", |task| task.missed_periods.to_string()),
    ("wakeups", |task| task.wakeups.to_string()),
    ("latency_count", |task| task.latency_count.to_string()),
    ("latency_mean_ns", |task| optional(task.latency_mean_ns)),
    ("latency_p99_ns", |task| optional(task.latency_p99_ns)),
    ("latency_max_ns", |task| optional(task.latency_max_ns)),
    ("switches_in", |task| task.switches_in.to_string()),
    ("switches_voluntary", |task| task.switches_voluntary.to_string()),
    ("switches_involuntary", |task| task.switches_involuntary.to_string()),
    ("migrations_queue", |task| task.migrations_queue.to_string()),
    ("migrations_cpu", |task| task.migrations_cpu.to_string()),
    ("share_ns", |task| optional(task.share_ns)),
    ("owed_max_ns", |task| optional(task.owed_max_ns)),
    ("ahead_max_ns", |task| optional(task.ahead_max_ns)),
    ("lag_end_ns", |task| optional(task.lag_end_ns)),
    ("burst_lag_max_ns", |task| optional(task.burst_lag_max_ns)),
    ("due_ns", |task| optional(task.due_ns)),
];

/// Returns one row for each scheduler and task: `scheduler`, `release`, and the fields that a task
/// has in the JSON document, under the same names.
pub fn tasks(report: &Report) -> String {
    let names: Vec<&str> = TASK_COLUMNS.iter().map(|&(name, _)| name).collect();
    let mut rows = Rows::headed(&[&["scheduler", "release"], names.as_slice()].concat());
    let all = |run: &RunReport, task: &TaskFigures| -> Vec<String> {
        let scheduler = [run.scheduler.name.clone(), run.scheduler.version()];
        let figures = TASK_COLUMNS.iter().map(|(_, figure)| figure(task));
        scheduler.into_iter().chain(figures).collect()
    };
    for run in &report.runs {
        for task in &run.tasks {
            rows.push(&all(run, task));
        }
    }
    rows.into_text()
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// Rows of comma-separated values.
pub struct Rows(::csv::Writer<Vec<u8>>);

impl Rows {
    /// Creates rows with this heading line.
    pub fn headed(heading: &[impl AsRef<str>]) -> Rows {
        let mut rows = Rows(::csv::Writer::from_writer(vec![]));
        rows.push(heading);
        rows
    }

    /// Adds a row with as many fields as the heading has.
    pub fn push(&mut self, fields: &[impl AsRef<str>]) {
        let fields = fields.iter().map(|field| field.as_ref().as_bytes());
        self.0.write_record(fields).expect("rows of equal length can be written to memory");
    }

    /// Returns the text, each line ending in a newline.
    pub fn into_text(self) -> String {
        let bytes = self.0.into_inner().expect("writing to memory does not fail");
        String::from_utf8(bytes).expect("strings are UTF-8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut rows = Rows::headed(&["a", "b,c", "say \"hi\"", ""]);
        rows.push(&["", " x ", "line\nbreak", "#"]);
        assert_eq!(rows.into_text(), "a,\"b,c\",\"say \"\"hi\"\"\",\n, x ,\"line\nbreak\",#\n");
    }
}
