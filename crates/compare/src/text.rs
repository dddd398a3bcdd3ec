//! The comparison as text for people: a table for each placement, totals with the ceiling, and the
//! demands on the model. The same text as Markdown, and every figure as CSV.

use super::judge::{ComparedFigure, Metric, PlacesRow, Verdict};
use super::verdict::Check;
use super::{Comparison, PlacementComparison};
use schedlab_report::Style;
use schedlab_report::csv::Rows;
use std::fmt::Write as _;

/// Format of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// For people: aligned columns.
    Plain(Style),
    /// Markdown.
    Markdown,
}

/// Writes a table whose first column is left-aligned and whose others are right-aligned.
fn table(out: &mut String, form: Form, heads: &[&str], rows: &[Vec<String>]) {
    match form {
        Form::Plain(style) => out.push_str(&schedlab_report::table::rows(heads, rows, style)),
        Form::Markdown => {
            let mut line = |cells: &[&str]| {
                let _ = writeln!(out, "| {} |", cells.join(" | "));
            };
            line(heads);
            let to_the_right = heads.iter().skip(1).map(|_| "---:");
            line(&std::iter::once("---").chain(to_the_right).collect::<Vec<_>>());
            for row in rows {
                line(&row.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
    }
}

/// Writes a note: a line, or an item of a list.
fn remark(out: &mut String, form: Form, text: &str) {
    /// Width of documents.
    const WIDTH: usize = 100;
    if form != Form::Markdown {
        let _ = writeln!(out, "{text}");
        return;
    }
    let mut line = String::from("*");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{line}");
            line = String::from(" ");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}

/// Returns a latency in short form.
fn latency(ns: u64) -> String {
    match ns {
        ..=999_999 => format!("{:.1}", ns as f64 / 1e3),
        _ => format!("{:.0}", ns as f64 / 1e3),
    }
}

fn mark(one: &ComparedFigure) -> &'static str {
    match (one.verdict, one.differs) {
        (Verdict::Met, false) => "",
        (Verdict::Met, true) => "~",
        (Verdict::WithinItsRange, _) => "~",
        (Verdict::Missed, false) => "!",
        (Verdict::Missed, true) => "!~",
    }
}

fn cells(answer: &PlacementComparison, task: &super::TaskRow) -> Vec<String> {
    let of = |metric: Metric| task.figure(metric);
    let percent = |ns: u64| ns as f64 / answer.duration_ns as f64 * 100.0;
    let mut row = vec![task.name.clone()];
    match of(Metric::Cpu) {
        Some(one) => {
            row.push(format!("{:.2}", percent(one.real[1])));
            row.push(format!("{:.2}", percent(one.simulated[1])));
            row.push(format!("{:+.2}{}", one.error, mark(one)));
        }
        None => row.extend(["-", "-", "-"].map(String::from)),
    }
    row.push(
        of(Metric::Waiting).map_or("-".into(), |one| format!("{:+.2}{}", one.error, mark(one))),
    );
    row.push(of(Metric::Switches).map_or("-".into(), |one| {
        format!("{} -> {} {:+.1}{}", one.real[1], one.simulated[1], one.error, mark(one))
    }));
    for metric in [Metric::P50, Metric::P95, Metric::P99] {
        row.push(of(metric).map_or("-".into(), |one| {
            format!("{} -> {}{}", latency(one.real[1]), latency(one.simulated[1]), mark(one))
        }));
    }
    row
}

/// Writes the table of a placement.
fn placement(out: &mut String, form: Form, answer: &PlacementComparison) {
    let title = format!("{}, {}", answer.name, answer.placement);
    let facts = format!(
        "Linux {} and {} on {}, {} real and {} simulated runs of {:.3} s",
        answer.kernel,
        answer.scheduler,
        answer.machine,
        answer.runs[0],
        answer.runs[1],
        answer.duration_ns as f64 / 1e9
    );
    match form {
        Form::Plain(_) => {
            let _ = writeln!(out, "{title}: {facts}");
        }
        Form::Markdown => {
            let _ = writeln!(out, "### {title}\n\n{facts}.\n");
        }
    }
    let heads =
        ["task", "CPU %", "sim", "error", "waiting", "scheduled in", "p50 us", "p95 us", "p99 us"];
    let rows: Vec<Vec<String>> = answer.tasks.iter().map(|task| cells(answer, task)).collect();
    table(out, form, &heads, &rows);
    if form == Form::Markdown {
        out.push('\n');
    }
    if let Some(row) = &answer.places {
        remark(out, form, &format!("places: {}", places(row)));
    }
    let [least, median, most] = answer.foreign.map(|share| share * 100.0);
    let noise = format!(
        "noise: other programs had {median:.2} % of the CPUs ({least:.2} to {most:.2} in {} runs), steal up \
         to {:.2} %; simulated: {}",
        answer.runs[0],
        answer.steal * 100.0,
        answer.noise
    );
    remark(out, form, &noise);
    for note in &answer.notes {
        remark(out, form, &format!("why: {note}"));
    }
    out.push('\n');
}

fn places(row: &PlacesRow) -> String {
    let (real, simulated) = (&row.real, &row.simulated);
    let mut parts = vec![
        format!(
            "CPU changes a second {:.0} -> {:.0} (of hogs {:.1} -> {:.1})",
            real.moves_a_second,
            simulated.moves_a_second,
            real.hog_moves_a_second,
            simulated.hog_moves_a_second
        ),
        format!("busy CPUs {:.2} -> {:.2}", real.busy_cpus, simulated.busy_cpus),
    ];
    if real.doubled > 0.0 || simulated.doubled > 0.0 {
        let [least, most] = row.spread.doubled.map(|share| share * 100.0);
        parts.push(format!(
            "two tasks on a core beside an idle core {:.1} -> {:.1} % of the time ({least:.1} to \
             {most:.1} in 8 of 10 runs)",
            real.doubled * 100.0,
            simulated.doubled * 100.0
        ));
    }
    let spread = &row.spread;
    for (what, of_real, of_simulated, spread) in [
        ("kept the idle last CPU", real.kept_last, simulated.kept_last, spread.kept_last),
        ("took an idle CPU nearby", real.took_near, simulated.took_near, spread.took_near),
        ("took an idle core", real.took_core, simulated.took_core, spread.took_core),
    ] {
        if of_real.0 > 0 {
            let runs = spread.map_or(String::new(), |[least, most]| {
                format!("{:.0} to {:.0} in 8 of 10 runs, ", least * 100.0, most * 100.0)
            });
            parts.push(format!(
                "wakeups that {what} {:.0} -> {:.0} % ({runs}of {})",
                of_real.1 * 100.0,
                of_simulated.1 * 100.0,
                of_real.0
            ));
        }
    }
    parts.join("; ")
}

/// Totals of all classes, and the demands on the model.
fn summary(out: &mut String, form: Form, answer: &Comparison) {
    let percent = |value: f64| format!("{value:.1} %");
    for of_class in &answer.totals {
        let title = of_class.class.title();
        let count = of_class.placements;
        let word = if count == 1 { "placement" } else { "placements" };
        match form {
            Form::Plain(_) => {
                let _ = writeln!(out, "{title} ({count} {word}):");
            }
            Form::Markdown => {
                let _ = writeln!(out, "### All of {title} ({count} {word})\n");
            }
        }
        let rows: Vec<Vec<String>> = of_class
            .metrics
            .iter()
            .map(|(metric, total)| {
                vec![
                    metric.title().into(),
                    total.tasks.to_string(),
                    percent(total.percent(total.met)),
                    percent(total.percent(total.within)),
                    total.ceiling_percent().map_or("-".into(), percent),
                    percent(total.percent(total.differ)),
                ]
            })
            .collect();
        let heads = ["", "tasks", "met", "or within its range", "ceiling", "real runs differ"];
        table(out, form, &heads, &rows);
        out.push('\n');
    }
    let rows: Vec<Vec<String>> = answer.checks.iter().map(check).collect();
    if form == Form::Markdown {
        out.push_str("### Demands on the model\n\n");
    }
    table(out, form, &["demand", "of", "found", "bound", ""], &rows);
    out.push('\n');
}

fn check(check: &Check) -> Vec<String> {
    let sign = if check.at_least { "at least" } else { "at most" };
    vec![
        format!("{}: {}", check.class.title(), check.what),
        check.count.to_string(),
        format!("{:.2}{}", check.found, spaced(check.unit)),
        format!("{sign} {:.1}{}", check.bound, spaced(check.unit)),
        if check.holds { "holds".into() } else { "MISSED".into() },
    ]
}

fn spaced(unit: &str) -> String {
    if unit == "%" { " %".into() } else { unit.into() }
}

/// Returns the comparison as text. `tasks`: with a table for each placement.
pub fn text(answer: &Comparison, form: Form, tasks: bool) -> String {
    let mut out = String::new();
    if tasks {
        for one in &answer.placements {
            placement(&mut out, form, one);
        }
    }
    summary(&mut out, form, answer);
    for what in &answer.left_out {
        remark(&mut out, form, &format!("left out: {what}"));
    }
    if tasks && form != Form::Markdown {
        let _ = writeln!(
            out,
            "marks: ! missed, ~ the real runs themselves differ by more than the threshold; errors \
             of CPU time and waiting in % of the run, of counts in %"
        );
    }
    let missed: Vec<&Check> = answer.checks.iter().filter(|check| !check.holds).collect();
    let _ = match missed.len() {
        0 => writeln!(out, "verdict: all {} bounds hold", answer.checks.len()),
        count => writeln!(out, "verdict: {count} of {} bounds are missed", answer.checks.len()),
    };
    out
}

/// Returns every figure of every task, one line each.
pub fn csv(answer: &Comparison) -> String {
    let mut rows = Rows::headed(&[
        "file",
        "workload",
        "placement",
        "task",
        "metric",
        "real_min",
        "real_median",
        "real_max",
        "simulated_min",
        "simulated_median",
        "simulated_max",
        "error",
        "verdict",
        "real_runs_differ",
    ]);
    for one in &answer.placements {
        for task in &one.tasks {
            for figure in &task.figures {
                let of = [&one.file, &one.name, &one.placement, &task.name].map(String::clone);
                let counts = figure.real.into_iter().chain(figure.simulated);
                let row: Vec<String> = of
                    .into_iter()
                    .chain([figure.metric.id().to_string()])
                    .chain(counts.map(|count| count.to_string()))
                    .chain([
                        figure.error.to_string(),
                        figure.verdict.title().into(),
                        figure.differs.to_string(),
                    ])
                    .collect();
                rows.push(&row);
            }
        }
    }
    rows.into_text()
}
