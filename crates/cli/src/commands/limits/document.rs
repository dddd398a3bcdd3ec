//! Results of `schedlab limits` for programs.

use schedlab_space::limits::{
    Cell, Criterion, Figure, Figures, Limit, Limits, Line, RecordedFigures, Times, words,
};
use serde_json::{Map, Value, json};

/// Returns all figures as JSON.
pub fn json(name: &str, limits: &Limits) -> Value {
    let (criterion, aims) = match &limits.criterion {
        Criterion::Aims(aims) => ("aims", aims.iter().map(ToString::to_string).collect()),
        Criterion::Knee => ("knee", vec![]),
        Criterion::NeverThrottled => ("never throttled", vec![]),
    };
    json!({
        "schema": "schedlab-limits/1",
        "workload": name,
        "group": limits.group,
        "scheduler": limits.scheduler,
        "repeat": limits.repeat,
        "criterion": criterion,
        "aims": aims,
        "threads_of": limits.threads_of,
        "present_from": limits.present_from,
        "recording": limits.recording.as_ref().map(recording),
        "best": limits.best().map(|(line, cell)| json!({
            "cpus": line.cpus,
            "limit": limit(&cell.limit),
            "words": words(&cell.limit).into_iter().map(|it| json!({
                "place": it.place, "lines": it.lines, "notes": it.notes,
            })).collect::<Vec<_>>(),
        })),
        "lines": limits.lines.iter().map(|it| line(limits, it)).collect::<Vec<_>>(),
    })
}

/// Returns how far a recording can be trusted, and its figures.
fn recording(recording: &RecordedFigures) -> Value {
    let RecordedFigures { report, times, figures, names, poor } = recording;
    let all: Map<String, Value> = Figure::ALL
        .iter()
        .map(|&figure| (figure.name().to_string(), json!(figures.get(figure))))
        .collect();
    json!({
        "grade": report.grade,
        "e_end": report.e_end,
        "e_wait": report.e_wait,
        "expected_end": report.expected_end,
        "expected_wait": report.expected_wait,
        "tasks": names,
        "poor": poor,
        "times": match times {
            Times::Responses => "response",
            Times::RoundTrips => "round-trip",
        },
        "figures": all,
        "requests": figures.done,
    })
}

fn limit(limit: &Limit) -> Value {
    json!({
        "quota_us": limit.quota_us,
        "period_us": limit.period_us,
        "burst_us": limit.burst_us,
        "cpus": limit.quota_us.map(|_| limit.cpus()),
    })
}

fn line(limits: &Limits, line: &Line) -> Value {
    json!({
        "cpus": line.cpus,
        "threads": line.threads,
        "period_us": line.period_us,
        "burst_us": line.burst_us,
        "unlimited": cell(limits, line, &line.unlimited),
        "present": line.present.as_ref().map(|it| cell(limits, line, it)),
        "least": line.least,
        "limits": line.cells.iter().map(|it| cell(limits, line, it)).collect::<Vec<_>>(),
    })
}

fn cell(limits: &Limits, line: &Line, cell: &Cell) -> Value {
    let bands: Map<String, Value> = Figure::ALL
        .iter()
        .map(|&figure| {
            let band = cell.band(figure);
            let band = band.map(|it| json!({"min": it.min, "median": it.median, "max": it.max}));
            (figure.name().to_string(), json!(band))
        })
        .collect();
    let sum = |of: fn(&Figures) -> u64| cell.runs.iter().map(of).sum::<u64>();
    json!({
        "limit": limit(&cell.limit),
        "holds": limits.criterion.holds(cell, line),
        "keeps_up": line.keeps_up(cell),
        "figures": bands,
        "requests": sum(|run| run.done),
        "unfinished": sum(|run| run.unfinished),
        "nr_periods": sum(|run| run.stats.nr_periods),
        "nr_throttled": sum(|run| run.stats.nr_throttled),
        "throttled_ns": sum(|run| run.stats.throttled_ns),
    })
}

/// Returns a row for each limit as CSV. Times of response are in ns.
pub fn csv(limits: &Limits) -> String {
    let mut heads: Vec<String> = [
        "machine_cpus",
        "threads",
        "period_us",
        "burst_us",
        "quota_us",
        "limit_cpus",
        "holds",
        "keeps_up",
    ]
    .map(String::from)
    .into();
    for figure in Figure::ALL {
        heads.extend(["", "_min", "_max"].map(|part| format!("{}{part}", figure.name())));
    }
    let mut text = heads.join(",") + "\n";
    let optional = |value: Option<String>| value.unwrap_or_default();
    for line in &limits.lines {
        for cell in std::iter::once(&line.unlimited).chain(&line.present).chain(&line.cells) {
            let quota_us = cell.limit.quota_us;
            let (period_us, burst_us) = match quota_us {
                Some(_) => (cell.limit.period_us, cell.limit.burst_us),
                None => (line.period_us, line.burst_us),
            };
            let mut row = vec![
                line.cpus.to_string(),
                optional(line.threads.map(|threads| threads.to_string())),
                period_us.to_string(),
                burst_us.to_string(),
                optional(quota_us.map(|us| us.to_string())),
                optional(quota_us.map(|_| cell.limit.cpus().to_string())),
                limits.criterion.holds(cell, line).to_string(),
                line.keeps_up(cell).to_string(),
            ];
            for figure in Figure::ALL {
                let band = cell.band(figure);
                let parts =
                    [band.map(|it| it.median), band.map(|it| it.min), band.map(|it| it.max)];
                row.extend(parts.map(|value| optional(value.map(|value| value.to_string()))));
            }
            text.push_str(&row.join(","));
            text.push('\n');
        }
    }
    text
}
