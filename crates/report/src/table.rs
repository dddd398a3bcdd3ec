//! Tables for people: schedulers side by side, and the tasks of a run.

use crate::data::{
    DifferenceRow, GroupFigures, Number, Report, RunReport, SettingRow, TaskFigures,
};
use crate::format::{amount, count, duration, filled, percent, signed_duration, wrapped};
use crate::metrics::{Value, best_number, value};
use crate::repeated::{figure, summary};
use crate::rows::Rows;
use crate::{Style, shortened, text_width};
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use schedlab_measure::catalogue::Named;

/// Selection of rows and columns of a comparison.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct View {
    /// Rows.
    pub rows: Rows,
    /// Whether to show only the columns that fit side by side, and list those that are left out.
    /// Otherwise the remaining columns follow below.
    pub only_what_fits: bool,
}

/// Returns the comparison with default rows: [`comparison_of`] with all columns.
pub fn comparison(report: &Report, style: Style) -> String {
    comparison_of(report, &View::default(), style)
}

/// Returns the comparison: a row for each figure, a column for each scheduler with its settings.
/// The best value of a row, if there is one, is bold in a coloured style and has a `*` otherwise.
/// For columns that were run several times the value is the median, with minimum and maximum below
/// it. If the report is compared with an earlier one, the difference follows below.
pub fn comparison_of(report: &Report, view: &View, style: Style) -> String {
    if report.runs.is_empty() {
        return "no runs\n".into();
    }
    // Rows for which no scheduler has a value are left out, unless they were requested.
    let has_value = |metric: &Named| report.runs.iter().any(|run| figure(run, *metric).is_some());
    let metrics = view.rows.metrics(report).into_iter();
    let metrics: Vec<Named> =
        metrics.filter(|metric| view.rows.are_named() || has_value(metric)).collect();
    let labels: Vec<String> = metrics.iter().map(|metric| metric.title()).collect();
    let winners: Vec<Vec<bool>> =
        metrics.iter().map(|metric| winners(report, *metric, style)).collect();
    let heads = heads(report);
    let shown = match view.only_what_fits {
        true => fitting(report, &metrics, &labels, &heads, style),
        false => report.runs.len(),
    };
    let columns: Vec<GridColumn> = report.runs[..shown]
        .iter()
        .enumerate()
        .map(|(place, run)| {
            let bold: Vec<bool> = winners.iter().map(|row| row[place]).collect();
            let cells = cells(report, place, run, &metrics, style);
            marked(GridColumn { head: heads[place].clone(), cells, bold }, style)
        })
        .collect();
    let mut text = grid(&[(String::new(), labels)], &columns, style);
    text.push_str(&legend(report, &winners, style));
    if shown < report.runs.len() {
        let hidden: Vec<String> = report.runs[shown..].iter().map(RunReport::spec).collect();
        text.push_str("columns that did not fit (--columns all, or some by name):\n");
        wrapped(&mut text, &hidden, style);
    }
    text.push_str(&notes(report, style));
    text
}

/// Returns which columns have the best value of a metric. Values that read the same are equally
/// good, because their difference is not shown.
fn winners(report: &Report, metric: Named, style: Style) -> Vec<bool> {
    let values: Vec<_> = report.runs.iter().map(|run| figure(run, metric)).collect();
    let text = |value: &f64| amount(*value, metric.unit().name(), style.unicode);
    let texts: Vec<Option<String>> = values.iter().map(|value| value.as_ref().map(text)).collect();
    let best = best_number(&values, metric.better());
    let Some(place) = best.iter().position(|best| *best) else { return best };
    let reads_best: Vec<bool> = texts.iter().map(|text| *text == texts[place]).collect();
    let all_do = values.iter().zip(&reads_best).all(|(value, best)| *best || value.is_none());
    if all_do { vec![false; values.len()] } else { reads_best }
}

/// Returns the number of columns that fit side by side, at least one.
fn fitting(
    report: &Report,
    metrics: &[Named],
    labels: &[String],
    heads: &[String],
    style: Style,
) -> usize {
    let widths: Vec<usize> = (report.runs.iter().zip(heads).enumerate())
        .map(|(place, (run, head))| {
            let cells = cells(report, place, run, metrics, style);
            widest(cells.iter().flat_map(|cell| cell.lines()).chain(head.lines()))
                + usize::from(!style.color)
        })
        .collect();
    let labels = widest(labels.iter().map(String::as_str)) + MARGIN;
    blocks(&widths, style.columns().saturating_sub(labels))[0].end
}

/// Returns the settings that every column has by itself. They do not distinguish columns and are in
/// no column's heading. A single column has none.
fn set_everywhere(report: &Report) -> Vec<&SettingRow> {
    let [first, others @ ..] = report.runs.as_slice() else { return vec![] };
    let has = |setting: &&SettingRow| others.iter().all(|run| run.scheduler.set.contains(setting));
    first.scheduler.set.iter().filter(|_| !others.is_empty()).filter(has).collect()
}

/// Returns the settings that are the same for all columns, which are shown above them. A setting
/// that some column overrides is not included. The other columns have it in their headings.
pub fn set_for_all(report: &Report) -> Vec<&SettingRow> {
    let is_overridden = |setting: &&SettingRow| overrides(report, setting);
    let of_run = report.workload.set.iter().filter(|setting| !is_overridden(setting));
    of_run.chain(set_everywhere(report)).collect()
}

/// Whether a column overrides what is set for the whole run.
fn overrides(report: &Report, setting: &SettingRow) -> bool {
    let sets = |run: &RunReport| run.scheduler.set.iter().any(|own| own.name == setting.name);
    report.runs.iter().any(sets)
}

/// Returns the headings of the columns: scheduler, release, and the settings that distinguish
/// columns.
fn heads(report: &Report) -> Vec<String> {
    /// A longer setting takes two lines.
    const WIDEST: usize = 22;
    let everywhere = set_everywhere(report);
    let line = |setting: &SettingRow| {
        let text = setting.to_string();
        match text.rsplit_once('=') {
            Some((name, value)) if text.len() > WIDEST => format!("\n{name}\n={value}"),
            _ => format!("\n{text}"),
        }
    };
    let head = |run: &RunReport| {
        let own = |name: &str| run.scheduler.set.iter().any(|own| own.name == name);
        // A setting that the release lacks was not set.
        let has = |name: &str| {
            name.contains(':') || run.tunables.iter().any(|tunable| tunable.name == name)
        };
        let of_run = report.workload.set.iter().filter(|setting| {
            overrides(report, setting) && !own(&setting.name) && has(&setting.name)
        });
        let set = run.scheduler.set.iter().chain(of_run);
        let set: String = set.filter(|setting| !everywhere.contains(setting)).map(line).collect();
        format!("{}\n{}{set}", run.scheduler.name, run.scheduler.release)
    };
    report.runs.iter().map(head).collect()
}

/// Returns the cells of a column.
fn cells(
    report: &Report,
    place: usize,
    run: &RunReport,
    metrics: &[Named],
    style: Style,
) -> Vec<String> {
    let column = report.baseline.as_ref().map(|earlier| earlier.columns.get(place));
    let cell = |metric: &Named| {
        let mut text = match summary(run, metric) {
            None if run.summary.is_empty() => cell_text(value(run, *metric), style),
            None => none_text(style).into(),
            Some(row) => {
                let amount = |number: Number| amount(number.0, &row.unit, style.unicode);
                let mut text = amount(row.median);
                let (least, most) = (amount(row.min), amount(row.max));
                if least != most {
                    text.push_str(&format!("\n{}", range(&least, &most)));
                }
                text
            }
        };
        if let Some(column) = column {
            let id = metric.id();
            let found = column
                .and_then(Option::as_ref)
                .and_then(|column| column.differences.iter().find(|row| row.metric == id));
            text.push('\n');
            text.push_str(&found.map_or(none_text(style).into(), |row| difference(row, style)));
        }
        text
    };
    metrics.iter().map(cell).collect()
}

/// Returns `1.20 ms..3.00 ms`. A common unit is written once: `1.20..3.00 ms`.
fn range(least: &str, most: &str) -> String {
    match (least.split_once(' '), most.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}..{most}"),
        _ => format!("{least}..{most}"),
    }
}

/// Returns `+1.20 ms, +10.8 %`; `=` if there is no difference.
fn difference(row: &DifferenceRow, style: Style) -> String {
    let by = row.difference.0;
    if by == 0.0 {
        return "=".into();
    }
    let sign = if by < 0.0 { '-' } else { '+' };
    let size = match row.unit.as_str() {
        // Percents of a percentage are misleading: these are percentage points.
        "part" => return format!("{sign}{:.1} points", by.abs() * 100.0),
        unit => amount(by.abs(), unit, style.unicode),
    };
    match row.percent {
        Some(percent) => format!("{sign}{size}, {:+.1} %", percent.0),
        None => format!("{sign}{size}"),
    }
}

/// Marks the best cell of each row. Without colour, it gets a mark, and all others a blank.
fn marked(mut column: GridColumn, style: Style) -> GridColumn {
    if style.color {
        return column;
    }
    let with = |text: &str, mark: char| {
        let mut lines = text.lines().enumerate();
        let line = |(number, line): (usize, &str)| {
            format!("{line}{}", if number == 0 { mark } else { BLANK })
        };
        let first = lines.next().map(line).unwrap_or_default();
        lines.map(line).fold(first, |text, line| text + "\n" + &line)
    };
    column.head = with(&column.head, BLANK);
    for (cell, bold) in column.cells.iter_mut().zip(&column.bold) {
        *cell = with(cell, if *bold { '*' } else { BLANK });
    }
    column
}

/// Keeps the place of a mark.
const BLANK: char = ' ';

/// Returns the meaning of the marks and lines in the cells.
fn legend(report: &Report, winners: &[Vec<bool>], style: Style) -> String {
    let mut text = String::new();
    if !style.color && winners.iter().flatten().any(|best| *best) {
        text.push_str("* best of the row\n");
    }
    if let Some(run) = report.runs.iter().find(|run| run.repetitions.len() > 1) {
        let (first, last) = (&run.repetitions[0], &run.repetitions[run.repetitions.len() - 1]);
        let mut sentence = format!(
            "{} runs each, seeds {} to {}: the median, and below it minimum..maximum. The \
             seed of a run determines the order of simultaneous events",
            run.repetitions.len(),
            first.seed,
            last.seed
        );
        if report.workload.late_starts {
            sentence.push_str(", and tasks begin up to a tick later");
        }
        let limits = |group: &GroupFigures| {
            group.throttling.as_ref().is_some_and(|it| it.period_phase_ns.is_some())
        };
        if run.groups.iter().any(limits) {
            sentence.push_str(", and the phase of a limit's periods");
        }
        sentence.push('.');
        let words: Vec<String> = sentence.split(' ').map(String::from).collect();
        filled(&mut text, &words, style);
    }
    if let Some(earlier) = &report.baseline {
        text.push_str(&format!("last line: the difference from {}\n", earlier.file));
    }
    text
}

/// Column of a [`grid`].
pub(crate) struct GridColumn {
    /// Heading, of one or more lines.
    pub head: String,
    /// Cells, one for each row.
    pub cells: Vec<String>,
    /// Cells that are bold where there is colour.
    pub bold: Vec<bool>,
}

/// Returns a table of a column of labels (heading and a label for each row), and further columns.
/// If they do not all fit side by side, they come in several blocks with the same labels.
pub(crate) fn grid(
    labels: &[(String, Vec<String>)],
    columns: &[GridColumn],
    style: Style,
) -> String {
    let label_width = |(head, cells): &(String, Vec<String>)| {
        widest(cells.iter().map(String::as_str).chain(head.lines())) + MARGIN
    };
    let labels_width: usize = labels.iter().map(label_width).sum();
    let widths: Vec<usize> = columns
        .iter()
        .map(|column| {
            widest(column.cells.iter().flat_map(|cell| cell.lines()).chain(column.head.lines()))
        })
        .collect();
    let mut text = String::new();
    for block in blocks(&widths, style.columns().saturating_sub(labels_width)) {
        if !text.is_empty() {
            text.push('\n');
        }
        let mut table = new_table(style);
        let heads = block.clone().map(|column| right(Cell::new(&columns[column].head)));
        table.set_header(labels.iter().map(|(head, _)| Cell::new(head)).chain(heads));
        for row in 0..labels.first().map_or(0, |(_, cells)| cells.len()) {
            let cells = block.clone().map(|column| {
                let cell = right(Cell::new(&columns[column].cells[row]));
                let bold = style.color && columns[column].bold[row];
                if bold { emphasised(cell) } else { cell }
            });
            table.add_row(labels.iter().map(|(_, cells)| Cell::new(&cells[row])).chain(cells));
        }
        push_table(&mut text, table);
    }
    text
}

/// Makes a cell bold and green.
#[cfg(feature = "terminal")]
fn emphasised(cell: Cell) -> Cell {
    cell.add_attribute(comfy_table::Attribute::Bold).fg(comfy_table::Color::DarkGreen)
}

/// Returns a cell unchanged: no terminal shows it in bold.
#[cfg(not(feature = "terminal"))]
fn emphasised(cell: Cell) -> Cell {
    cell
}

/// Returns the control groups: a row for each group's part of the machine, and more rows for its
/// quota if it was ever throttled; a column for each scheduler. Empty if there are no groups.
pub fn groups(report: &Report, style: Style) -> String {
    let Some(longest) = report.runs.iter().map(|run| &run.groups).max_by_key(|groups| groups.len())
    else {
        return String::new();
    };
    let of =
        |run: &RunReport, path: &str| run.groups.iter().find(|group| group.path == path).cloned();
    let mut labels: Vec<String> = Vec::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for group in longest {
        let found: Vec<Option<GroupFigures>> =
            report.runs.iter().map(|run| of(run, &group.path)).collect();
        let mut add = |label: String, text: &dyn Fn(&GroupFigures) -> Option<String>| {
            let text = |group: &Option<GroupFigures>| {
                group.as_ref().and_then(text).unwrap_or_else(|| none_text(style).into())
            };
            labels.push(label);
            rows.push(found.iter().map(text).collect());
        };
        add(shortened(&group.path, GROUP_WIDTH, style), &|group| group.machine_share.map(percent));
        let limited = |group: &GroupFigures| {
            let of = group.throttling.as_ref();
            of.is_some_and(|it| it.nr_throttled > 0 || it.period_phase_ns.is_some())
        };
        if found.iter().flatten().any(limited) {
            add("  throttled, of periods".into(), &|group| {
                let it = group.throttling.as_ref()?;
                Some(format!("{} of {}", count(it.nr_throttled), count(it.nr_periods)))
            });
            add("  throttled, all CPUs".into(), &|group| {
                Some(duration(group.throttling.as_ref()?.throttled_ns, style.unicode))
            });
            add("  phase of the periods".into(), &|group| {
                Some(duration(group.throttling.as_ref()?.period_phase_ns?, style.unicode))
            });
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let label_width = widest(labels.iter().map(String::as_str));
    let column = |run: usize| rows.iter().map(move |row| row[run].as_str());
    let heads = heads(report);
    let widths: Vec<usize> = (heads.iter().enumerate())
        .map(|(number, head)| widest(column(number)).max(widest(head.lines())))
        .collect();
    let mut text = String::new();
    for block in blocks(&widths, style.columns().saturating_sub(label_width + MARGIN)) {
        if !text.is_empty() {
            text.push('\n');
        }
        let mut table = new_table(style);
        let heads = block.clone().map(|run| Cell::new(&heads[run]));
        table.set_header(
            std::iter::once(Cell::new("group,\nof the machine")).chain(heads.map(right)),
        );
        for (label, row) in labels.iter().zip(&rows) {
            let cells = block.clone().map(|run| right(Cell::new(&row[run])));
            table.add_row(std::iter::once(Cell::new(label)).chain(cells));
        }
        push_table(&mut text, table);
    }
    text
}

/// Length at which paths are cut.
const GROUP_WIDTH: usize = 28;

/// Returns what the figures do not show: tasks with unusually long waits when the run ended, which
/// latencies do not include.
fn notes(report: &Report, style: Style) -> String {
    let mut phrases = vec![];
    for run in report.runs.iter().filter(|run| run.totals.waiting_at_end > 0) {
        let longest_ns = run.tasks.iter().map(|task| task.wait_open_ns).max().unwrap_or(0);
        if run.wakeup_latency.max_ns.is_none_or(|max_ns| longest_ns > max_ns)
            && longest_ns == run.totals.wait_max_ns
        {
            phrases.push(format!("{} {}", run.spec(), duration(longest_ns, style.unicode)));
        }
    }
    let mut text = String::new();
    if !phrases.is_empty() {
        text.push_str("longest waits still open at the end:\n");
        wrapped(&mut text, &phrases, style);
    }
    let phrases: Vec<String> =
        report.runs.iter().filter_map(|run| idle_exits(run, style)).collect();
    if !phrases.is_empty() {
        text.push_str("wakeup latency, of which leaving idle states (median, p99, max):\n");
        wrapped(&mut text, &phrases, style);
    }
    let none_done = report.runs.iter().filter(|run| run.totals.jobs == 0 && run.totals.busy_ns > 0);
    let phrases: Vec<String> = none_done.map(RunReport::spec).collect();
    if !phrases.is_empty() {
        text.push_str("no task has finished a whole round (throughput counts those):\n");
        wrapped(&mut text, &phrases, style);
    }
    let refused = report.runs.iter().filter(|run| run.refused > 0);
    let phrases: Vec<String> =
        refused.map(|run| format!("{} {}", run.spec(), count(run.refused))).collect();
    if !phrases.is_empty() {
        text.push_str("refused requests of tasks (a policy, an affinity ...):\n");
        wrapped(&mut text, &phrases, style);
    }
    text
}

/// Returns the part of a run's wakeup latencies that was spent leaving idle states, if it is a
/// tenth or more of a latency that the table shows.
fn idle_exits(run: &RunReport, style: Style) -> Option<String> {
    let (of, latency) = (run.idle_exit_of?, run.wakeup_latency);
    let parts =
        [(of.p50_ns, latency.p50_ns), (of.p99_ns, latency.p99_ns), (of.max_ns, latency.max_ns)];
    let counts = |(part, whole): &(Option<u64>, Option<u64>)| {
        part.zip(*whole).is_some_and(|(part, whole)| part > 0 && part >= whole / 10)
    };
    parts.iter().any(counts).then(|| {
        let text = |(part, _): &(Option<u64>, Option<u64>)| {
            part.map_or(none_text(style).into(), |part| duration(part, style.unicode))
        };
        format!("{} {}", run.spec(), parts.iter().map(text).collect::<Vec<_>>().join(", "))
    })
}

/// Blanks next to a column, left and right together.
const MARGIN: usize = 2;

/// Divides columns of these widths into blocks that fit into `room`, with at least one column per
/// block.
fn blocks(widths: &[usize], room: usize) -> Vec<std::ops::Range<usize>> {
    let mut blocks = Vec::new();
    let mut from = 0;
    let mut used = 0;
    for (column, width) in widths.iter().enumerate() {
        if column > from && used + width + MARGIN > room {
            blocks.push(from..column);
            (from, used) = (column, 0);
        }
        used += width + MARGIN;
    }
    blocks.push(from..widths.len());
    blocks
}

fn cell_text(value: Option<Value>, style: Style) -> String {
    value.map_or(none_text(style).into(), |value| value.text(style.unicode))
}

pub(crate) fn none_text(style: Style) -> &'static str {
    if style.unicode { "–" } else { "-" }
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(text_width).max().unwrap_or(0)
}

fn right(cell: Cell) -> Cell {
    cell.set_alignment(CellAlignment::Right)
}

/// Creates a table with a line under its head and no other borders.
fn new_table(style: Style) -> Table {
    let line = if style.unicode { '─' } else { '-' };
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill(line)));
    // The caller knows the capabilities of the terminal.
    #[cfg(feature = "terminal")]
    table.force_no_tty();
    #[cfg(feature = "terminal")]
    if style.color {
        table.enforce_styling();
    }
    table
}

/// Adds a table without the blanks at both ends of its lines.
fn push_table(text: &mut String, mut table: Table) {
    if let Some(labels) = table.column_mut(0) {
        labels.set_padding((0, 1));
    }
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Returns rows of texts under their heads: the first column aligned left, the others right.
pub fn rows(heads: &[&str], rows: &[Vec<String>], style: Style) -> String {
    let cell = |(column, text): (usize, &str)| match column {
        0 => Cell::new(text),
        _ => right(Cell::new(text)),
    };
    let mut table = new_table(style);
    table.set_header(heads.iter().copied().enumerate().map(cell));
    for row in rows {
        table.add_row(row.iter().map(String::as_str).enumerate().map(cell));
    }
    let mut text = String::new();
    push_table(&mut text, table);
    text
}

/// Column of the table of tasks.
struct Column {
    head: &'static str,
    /// Priority when there is little room: columns with the highest rank are dropped first.
    rank: u32,
    of: fn(&TaskFigures, &RunReport, bool) -> Option<String>,
}

const TASK_COLUMNS: &[Column] = &[
    Column { head: "CPU", rank: 0, of: |task, _, unicode| Some(duration(task.cpu_ns, unicode)) },
    Column {
        head: "% of\none",
        rank: 4,
        of: |task, run, _| {
            (run.end.at_ns > 0).then(|| percent(task.cpu_ns as f64 / run.end.at_ns as f64))
        },
    },
    Column {
        head: "fluid\nshare",
        rank: 6,
        of: |task, _, unicode| Some(duration(task.share_ns?, unicode)),
    },
    Column {
        head: "largest\nlag",
        rank: 5,
        of: |task, _, unicode| Some(duration(task.burst_lag_max_ns?, unicode)),
    },
    Column {
        head: "lag at\nend",
        rank: 7,
        of: |task, _, unicode| Some(signed_duration(task.lag_end_ns?, unicode)),
    },
    Column {
        head: "waited",
        rank: 1,
        of: |task, _, unicode| Some(duration(task.wait_ns, unicode)),
    },
    Column {
        head: "longest\nwait",
        rank: 3,
        of: |task, _, unicode| Some(duration(task.wait_max_ns, unicode)),
    },
    Column {
        head: "latency\nmean",
        rank: 8,
        of: |task, _, unicode| Some(duration(task.latency_mean_ns?, unicode)),
    },
    Column {
        head: "latency\np99",
        rank: 8,
        of: |task, _, unicode| Some(duration(task.latency_p99_ns?, unicode)),
    },
    Column {
        head: "latency\nmax",
        rank: 2,
        of: |task, _, unicode| Some(duration(task.latency_max_ns?, unicode)),
    },
    Column {
        head: "turn-\naround",
        rank: 2,
        of: |task, _, unicode| Some(duration(task.turnaround_ns?, unicode)),
    },
    Column {
        head: "missed\nperiods",
        rank: 6,
        of: |task, run, _| {
            let any = run.totals.missed_periods > 0 && task.periods > 0;
            any.then(|| format!("{} of {}", count(task.missed_periods), count(task.periods)))
        },
    },
    Column { head: "jobs", rank: 6, of: |task, _, _| Some(count(task.jobs)) },
    Column {
        head: "switches\nvol.",
        rank: 9,
        of: |task, _, _| Some(count(task.switches_voluntary)),
    },
    Column {
        head: "switches\ninvol.",
        rank: 4,
        of: |task, _, _| Some(count(task.switches_involuntary)),
    },
    Column {
        head: "refused",
        rank: 3,
        of: |task, run, _| (run.refused > 0).then(|| count(task.refused)),
    },
    Column {
        head: "policy",
        rank: 3,
        of: |task, run, _| (run.refused > 0).then(|| task.policy.clone()),
    },
    Column { head: "moves\nof CPU", rank: 8, of: |task, _, _| Some(count(task.migrations_cpu)) },
];

/// Returns the tasks of one run, one row each, with as many columns as fit (none that would be
/// empty). At most `rows` tasks are shown, if given, followed by the number of those left out.
pub fn tasks(run: &RunReport, style: Style, rows: Option<usize>) -> String {
    let shown = &run.tasks[..rows.unwrap_or(usize::MAX).min(run.tasks.len())];
    let names: Vec<String> =
        shown.iter().map(|task| shortened(&task.name, NAME_WIDTH, style)).collect();
    let mut room =
        style.columns().saturating_sub(widest(names.iter().map(String::as_str)) + MARGIN);

    // The most important columns get room first. They are shown in their own order.
    let mut by_rank: Vec<usize> = (0..TASK_COLUMNS.len()).collect();
    by_rank.sort_by_key(|&column| TASK_COLUMNS[column].rank);
    let mut columns: Vec<Option<Vec<String>>> = vec![None; TASK_COLUMNS.len()];
    for column in by_rank {
        let Column { head, of, .. } = TASK_COLUMNS[column];
        let values: Vec<Option<String>> =
            shown.iter().map(|task| of(task, run, style.unicode)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let texts: Vec<String> =
            values.into_iter().map(|value| value.unwrap_or(none_text(style).into())).collect();
        let width = widest(texts.iter().map(String::as_str).chain(head.lines())) + MARGIN;
        if width <= room {
            room -= width;
            columns[column] = Some(texts);
        }
    }

    let mut table = new_table(style);
    let kept = || {
        TASK_COLUMNS
            .iter()
            .zip(&columns)
            .filter_map(|(column, texts)| Some((column, texts.as_ref()?)))
    };
    let heads = kept().map(|(column, _)| right(Cell::new(column.head)));
    table.set_header(std::iter::once(Cell::new("task")).chain(heads));
    for (row, name) in names.iter().enumerate() {
        let cells = kept().map(|(_, texts)| right(Cell::new(&texts[row])));
        table.add_row(std::iter::once(Cell::new(name)).chain(cells));
    }
    let mut text = String::new();
    push_table(&mut text, table);
    if shown.len() < run.tasks.len() {
        let left_out = count((run.tasks.len() - shown.len()) as u64);
        text.push_str(&format!("and {left_out} more tasks\n"));
    }
    text
}

/// Length at which names are cut.
const NAME_WIDTH: usize = 20;
