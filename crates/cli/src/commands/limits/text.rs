//! Results of `schedlab limits` as text for people.

use crate::terminal::counted;
use schedlab_report::Style;
use schedlab_report::format::{duration, per_second};
use schedlab_report::table::rows;
use schedlab_space::limits::{
    Band, Cell, Criterion, Figure, Limit, Limits, Line, RecordedFigures, Times, number, words,
};
use std::fmt::Write as _;

/// Largest width of the curve, in characters, and the smallest with which it is drawn.
const CURVE: (usize, usize) = (32, 10);

/// Width of the other columns.
const OTHERS: usize = 100;

/// Width of the column of a recording's ends.
const ENDS: usize = 20;

/// Factor between the recorded and the replayed p99 from which a warning is given.
const FAR: f64 = 1.5;

/// Part of the machine at which a group that is not limited fills it.
const FULL: f64 = 0.97;

/// Formats all limits.
pub fn text(name: &str, limits: &Limits, style: Style) -> String {
    let mut text = introduction(name, limits, style);
    let scale = Scale::of(limits, style);
    let tables = tables(limits);
    for lines in &tables {
        text.push('\n');
        if tables.len() > 1 {
            let _ = writeln!(text, "{}:", title(lines[0], None, style));
        }
        let (heads, all) = rows_with(limits, lines, scale.as_ref(), style);
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        text.push_str(&rows(&heads, &all, style));
        if limits.lines.len() > 1 {
            for line in lines {
                let _ = writeln!(text, "{}", answer(limits, line));
            }
        }
    }
    text + &conclusion(limits, style)
}

/// Describes the work, and how far a recording can be trusted.
pub fn introduction(name: &str, limits: &Limits, style: Style) -> String {
    let mut text = format!(
        "{name}: limits of {} under {}, {} each\n",
        limits.group,
        limits.scheduler,
        counted(limits.repeat as usize, "run")
    );
    if let Some(recording) = &limits.recording {
        trust(&mut text, limits, recording, style);
    }
    if let Some(line) = limits.lines.first() {
        demand(&mut text, limits, line, style);
    }
    text
}

/// Explains the marks of the table, and gives the answer.
pub fn conclusion(limits: &Limits, style: Style) -> String {
    let mut text = String::new();
    let falls_behind = |line: &Line| shown(limits, line).any(|(cell, _)| !line.keeps_up(cell));
    if limits.lines.iter().any(falls_behind) {
        text.push_str(match &limits.recording {
            None => {
                "* It falls behind: it serves fewer requests than without a limit, and response \
                 times grow with the length of the run.\n"
            }
            Some(_) => {
                "* It falls behind: the recorded work ends later than without a limit, and \
                 response times grow with the length of the recording.\n"
            }
        });
    }
    if limits.lines.iter().any(|line| line.present.is_some()) {
        let from = limits.present_from.as_ref().map_or(String::new(), |it| format!(" ({it})"));
        let _ = writeln!(text, "= The present limit{from}.");
    }
    for message in limits.recording.iter().flat_map(|recording| &recording.report.messages) {
        let _ = writeln!(text, "{}: {}", message.code, message.text);
    }
    text.push('\n');
    verdict(&mut text, limits, style);
    text
}

/// Returns the lines of each table: those that differ only in the number of threads.
pub fn tables(limits: &Limits) -> Vec<Vec<&Line>> {
    let mut tables: Vec<Vec<&Line>> = vec![];
    let key = |line: &Line| (line.cpus, line.period_us, line.burst_us);
    for line in &limits.lines {
        match tables.iter_mut().find(|lines| key(lines[0]) == key(line)) {
            Some(lines) => lines.push(line),
            None => tables.push(vec![line]),
        }
    }
    tables
}

/// States how far the replay of a recording can be trusted.
fn trust(text: &mut String, limits: &Limits, recording: &RecordedFigures, style: Style) {
    let report = &recording.report;
    let _ = writeln!(text, "recording: {}", report.trace_sentence());
    let _ = writeln!(text, "trust: {} ({})", report.grade, report.trust_sentence());
    let _ = writeln!(text, "       {}", report.expected_sentence());
    for caution in cautions(limits, recording, style) {
        let _ = writeln!(text, "{caution}");
    }
}

/// Returns the warnings about a replay that cannot be trusted.
fn cautions(limits: &Limits, recording: &RecordedFigures, style: Style) -> Vec<String> {
    const NAMED_MAX: usize = 5;
    let mut cautions = vec![];
    let line = limits.lines.first();
    // The group's own limit was in force during the recording.
    let own = line.and_then(|line| line.present.as_ref()).filter(|_| limits.present_from.is_none());
    let row = if own.is_some() { "=" } else { "none" };
    let whose = match recording.poor.as_slice() {
        _ if recording.report.grade == "poor" => Some("as a whole".into()),
        [] => None,
        names => {
            let more = match names.len().saturating_sub(NAMED_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Some(format!("for {}{more}", names[..names.len().min(NAMED_MAX)].join(", ")))
        }
    };
    if let Some(whose) = whose {
        cautions.push(format!(
            "POOR: without any change, the replay differs considerably from the recording \
             {whose}. Compare the rows `{row}` and `recorded`, and do not rely on differences \
             smaller than between these two rows."
        ));
    }
    let line = line.filter(|line| line.cpus == recording.report.trace.cpus);
    let replayed = line.map(|line| own.unwrap_or(&line.unlimited));
    let replayed = replayed.and_then(|cell| cell.band(Figure::P99));
    if let Some((band, recorded)) = replayed.zip(recording.figures.get(Figure::P99)) {
        let ratio = band.median / recorded.max(1.0);
        if !(1.0 / FAR..=FAR).contains(&ratio) {
            let time = |ns: f64| duration(ns.round() as u64, style.unicode);
            cautions.push(format!(
                "POOR: the p99 is {} in the replay (row `{row}`), and was {} in the recording. Rely \
                 on throttling and ends, not on p99.",
                time(band.median),
                time(recorded)
            ));
        }
    }
    cautions
}

/// Describes the group without a limit.
fn demand(text: &mut String, limits: &Limits, line: &Line, style: Style) {
    let median = |figure| line.unlimited.band(figure).map(|band: Band| band.median);
    let cpus = median(Figure::Cpus).unwrap_or(0.0);
    let _ = write!(text, "Without a limit {} uses {} CPUs on average", limits.group, number(cpus));
    match (median(Figure::Throughput), median(Figure::P99)) {
        (Some(rate), Some(p99_ns)) => {
            let p99 = duration(p99_ns.round() as u64, style.unicode);
            let rate = per_second(rate);
            let _ = match times(limits) {
                Times::Responses if limits.recording.is_some() => {
                    writeln!(text, ". There are {rate} requests, with a p99 of {p99}.")
                }
                Times::Responses => {
                    writeln!(text, " and serves requests at {rate}, with a p99 of {p99}.")
                }
                Times::RoundTrips => {
                    writeln!(text, ". There are {rate} round trips, with a p99 of {p99}.")
                }
            };
            if cpus >= FULL * f64::from(line.cpus) {
                let _ = writeln!(
                    text,
                    "Caution: the machine of {} is full even without a limit; more CPUs (--cpus) \
                     would change the answer.",
                    counted(line.cpus as usize, "CPU")
                );
            }
        }
        _ if limits.recording.is_some() => {
            text.push_str(". Too few requests of its tasks are known for response times.\n");
        }
        _ => text.push_str(
            ". Its tasks have no requests (timers, sleeps or waits), so there are no response \
             times.\n",
        ),
    }
}

/// Returns the times that are taken as response times.
fn times(limits: &Limits) -> Times {
    limits.recording.as_ref().map_or(Times::Responses, |recording| recording.times)
}

/// Describes what the limits of a line have in common. `threads_of`: also the number of its
/// threads.
pub fn title(line: &Line, threads_of: Option<&str>, style: Style) -> String {
    let time = |us: u64| duration(us * 1000, style.unicode);
    let threads = match line.threads.zip(threads_of) {
        Some((threads, of)) => format!("{} of {of}, ", counted(threads as usize, "thread")),
        None => String::new(),
    };
    let cpus = counted(line.cpus as usize, "CPU");
    let burst = match line.burst_us {
        0 => "no burst".into(),
        burst_us => format!("burst {}", time(burst_us)),
    };
    format!("{threads}{cpus}, periods of {}, {burst}", time(line.period_us))
}

/// Returns the heads and rows of lines, without a curve.
pub fn rows_of(limits: &Limits, lines: &[&Line], style: Style) -> (Vec<String>, Vec<Vec<String>>) {
    rows_with(limits, lines, Scale::of(limits, style).as_ref(), style)
}

/// Returns the heads and rows of lines, a row for each limit.
fn rows_with(
    limits: &Limits,
    lines: &[&Line],
    scale: Option<&Scale>,
    style: Style,
) -> (Vec<String>, Vec<Vec<String>>) {
    let table = Table { limits, scale, style };
    let mut rows_of_all = vec![];
    for line in lines {
        rows_of_all.extend(shown(limits, line).map(|(cell, mark)| table.row(line, cell, mark)));
    }
    if let Some(recording) = &limits.recording {
        let limit = Limit::NONE;
        let cell = Cell { limit, runs: vec![recording.figures.clone()] };
        let mut row = table.row(lines[0], &cell, ' ');
        row[0] = "  recorded".into();
        row[1] = String::new();
        rows_of_all.push(row);
    }
    (table.heads(), rows_of_all)
}

/// Returns the limits of a line that are shown, with their marks. With several numbers of threads,
/// the limits on the way to the answer are left out.
fn shown<'a>(limits: &Limits, line: &'a Line) -> impl Iterator<Item = (&'a Cell, char)> {
    let are_all = limits.threads_of.is_none() || limits.are_given;
    let cells = line.cells.iter().enumerate();
    let marked = cells.map(|(at, cell)| (cell, if Some(at) == line.least { '>' } else { ' ' }));
    let present = line.present.iter().map(|cell| (cell, '='));
    marked
        .filter(move |(_, mark)| are_all || *mark == '>')
        .chain(present)
        .chain(std::iter::once((&line.unlimited, ' ')))
}

/// A table of limits.
struct Table<'a> {
    limits: &'a Limits,
    scale: Option<&'a Scale>,
    style: Style,
}

impl Table<'_> {
    fn time(&self, ns: f64) -> String {
        duration(ns.round() as u64, self.style.unicode)
    }

    /// Returns the scale of the curve, if there is space for it.
    fn curve(&self) -> Option<&Scale> {
        self.scale.filter(|scale| scale.width >= CURVE.1)
    }

    fn has_aims(&self) -> bool {
        matches!(self.limits.criterion, Criterion::Aims(_))
    }

    fn heads(&self) -> Vec<String> {
        let mut heads = vec!["  limit", "quota"];
        heads.extend(self.limits.threads_of.is_some().then_some("threads"));
        heads.push("throttled");
        let curve = self.curve();
        let curve = curve.map(|it| format!("{} to {}", self.time(it.least), self.time(it.most)));
        if self.scale.is_some() {
            heads.extend(["p50", "p99 (min to max)"]);
            heads.extend(curve.as_deref());
        } else {
            heads.push("CPUs used");
        }
        if self.limits.recording.is_some() {
            heads.push("end (min to max)");
        } else if self.scale.is_some() {
            heads.push("requests");
        }
        heads.extend(self.has_aims().then_some("aim met"));
        heads.into_iter().map(String::from).collect()
    }

    fn row(&self, line: &Line, cell: &Cell, mark: char) -> Vec<String> {
        let time = |ns: f64| self.time(ns);
        let is_limited = cell.limit.quota_us.is_some();
        let mut row = vec![format!("{mark} {}", cell.limit)];
        row.push(match cell.limit.quota_us {
            Some(us) if cell.limit.period_us != line.period_us => {
                format!("{}/{}", time(us as f64 * 1e3), time(cell.limit.period_us as f64 * 1e3))
            }
            Some(us) => time(us as f64 * 1e3),
            None => "max".into(),
        });
        row.extend(line.threads.map(|threads| threads.to_string()));
        row.push(match is_limited {
            true => cell.band(Figure::Throttled).map_or("-".into(), |band| {
                spread(band, |part| format!("{} %", percent(part)), percent)
            }),
            false => String::new(),
        });
        let behind = if line.keeps_up(cell) { "" } else { " *" };
        if self.scale.is_some() {
            let p50 = cell.band(Figure::P50);
            row.push(p50.map_or("-".into(), |band| time(band.median)));
            let p99 = cell.band(Figure::P99);
            row.push(p99.map_or("-".into(), |band| spread(band, time, time)));
            if let Some(scale) = self.curve() {
                row.push(p99.map_or(String::new(), |band| scale.draw(band, self.style)));
            }
        } else {
            let cpus = cell.band(Figure::Cpus);
            row.push(cpus.map_or("-".into(), |band| number(band.median)));
        }
        if self.limits.recording.is_some() {
            let end = cell.band(Figure::End);
            row.push(end.map_or("-".into(), |it| format!("{}{behind}", spread(it, time, time))));
        } else if self.scale.is_some() {
            let rate = cell.band(Figure::Throughput);
            row.push(rate.map_or("-".into(), |it| format!("{}{behind}", per_second(it.median))));
        }
        if let Criterion::Aims(aims) = &self.limits.criterion {
            row.push(match is_limited {
                true => format!("{} of {}", cell.holding(aims), cell.runs.len()),
                false => String::new(),
            });
        }
        row
    }
}

/// Formats a part as a percentage, with a decimal if it is small.
fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if part == 0.0 || percent >= 9.95 { format!("{percent:.0}") } else { format!("{percent:.1}") }
}

/// Formats a band: the median, and least and most if they differ.
fn spread(band: Band, median: impl Fn(f64) -> String, end: impl Fn(f64) -> String) -> String {
    let (least, middle, most) = (end(band.min), median(band.median), end(band.max));
    if least == most { middle } else { format!("{middle} ({least} to {most})") }
}

/// Logarithmic scale of the curve.
struct Scale {
    least: f64,
    most: f64,
    /// Bound of an aim for the figure, ns.
    bound: Option<f64>,
    /// Width, in characters.
    width: usize,
}

impl Scale {
    /// Returns the scale of all 99th percentiles. `None`: there are no requests.
    fn of(limits: &Limits, style: Style) -> Option<Scale> {
        let cells = |line: &Line| -> Vec<Band> {
            let Line { unlimited, cells, present, .. } = line;
            let all = std::iter::once(unlimited).chain(present).chain(cells);
            all.filter_map(|cell: &Cell| cell.band(Figure::P99)).collect()
        };
        let bands: Vec<Band> = limits.lines.iter().flat_map(cells).collect();
        let least = bands.iter().map(|band| band.min).fold(f64::INFINITY, f64::min).max(1.0);
        let most = bands.iter().map(|band| band.max).fold(0.0, f64::max).max(least);
        let bound = match &limits.criterion {
            Criterion::Aims(aims) => aims.iter().find(|aim| aim.figure == Figure::P99),
            _ => None,
        };
        let bound = bound.map(|aim| aim.bound);
        let others = OTHERS + if limits.recording.is_some() { ENDS } else { 0 };
        let width = style.width.saturating_sub(others).min(CURVE.0);
        (!bands.is_empty()).then_some(Scale { least, most, bound, width })
    }

    /// Returns the column of a value.
    fn column(&self, value: f64) -> usize {
        if self.most <= self.least {
            return 0;
        }
        let part = (value.max(self.least) / self.least).ln() / (self.most / self.least).ln();
        (part.min(1.0) * (self.width - 1) as f64).round() as usize
    }

    /// Draws a band, its median, and the bound of the aim.
    fn draw(&self, band: Band, style: Style) -> String {
        let [median, along, bound] =
            if style.unicode { ['●', '─', '┆'] } else { ['o', '-', '|'] };
        let mut drawn = vec![' '; self.width];
        if let Some(ns) = self.bound.filter(|ns| (self.least..=self.most).contains(ns)) {
            drawn[self.column(ns)] = bound;
        }
        drawn[self.column(band.min)..=self.column(band.max)].fill(along);
        drawn[self.column(band.median)] = median;
        drawn.into_iter().collect()
    }
}

/// States the criterion.
fn criterion(limits: &Limits) -> String {
    match &limits.criterion {
        Criterion::Aims(aims) => {
            let aims: Vec<String> = aims.iter().map(ToString::to_string).collect();
            format!(
                "meets {} in all {}",
                aims.join(" and "),
                counted(limits.repeat as usize, "run")
            )
        }
        Criterion::Knee if limits.recording.is_some() => {
            "keeps up, with a p99 within 10 % of that without a limit".into()
        }
        Criterion::Knee => "keeps the p99 within 10 % of that without a limit".into(),
        Criterion::NeverThrottled => "never throttles it".into(),
    }
}

/// Returns the answer of a line.
fn answer(limits: &Limits, line: &Line) -> String {
    let threads = line.threads.map(|count| format!("With {}: ", counted(count as usize, "thread")));
    let (the, none) = if threads.is_some() { ("the", "none") } else { ("The", "None") };
    let threads = threads.unwrap_or_default();
    match line.least {
        Some(place) => {
            format!(
                "{threads}{the} smallest that {}: {}.",
                criterion(limits),
                line.cells[place].limit
            )
        }
        None => format!("{threads}{none} {}.", criterion(limits)),
    }
}

/// Writes the least limit in the words of each place.
fn verdict(text: &mut String, limits: &Limits, style: Style) {
    let Some((line, cell)) = limits.best() else {
        let _ = writeln!(text, "No limit that was tried {}.", criterion(limits));
        let holds = |line: &Line| limits.criterion.holds(&line.unlimited, line);
        if !limits.lines.iter().any(holds) {
            let _ = writeln!(text, "Nor does the group without a limit.");
        } else {
            let _ = writeln!(text, "The group without a limit does: try larger quotas (--quota).");
        }
        return;
    };
    let of_all = if limits.lines.len() > 1 {
        format!(", the smallest of all ({})", title(line, limits.threads_of.as_deref(), style))
    } else {
        String::new()
    };
    let _ =
        writeln!(text, "The smallest limit that {}{of_all}: {}.", criterion(limits), cell.limit);
    let _ = writeln!(text, "Set it as:");
    for words in words(&cell.limit) {
        let place = match words.place {
            "cgroup" => "cgroup v2",
            "docker" => "Docker",
            "oci" => "OCI runtime",
            "kubernetes" => "Kubernetes",
            place => place,
        };
        for (number, line) in words.lines.iter().enumerate() {
            let _ = writeln!(text, "  {:<12} {line}", if number == 0 { place } else { "" });
        }
        for note in &words.notes {
            let _ = writeln!(text, "  {:<12} ({note})", "");
        }
    }
}
