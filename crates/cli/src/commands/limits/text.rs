//! Results of `schedlab limits` as text for people.

use crate::terminal::counted;
use schedlab_report::Style;
use schedlab_report::format::{duration, per_second};
use schedlab_report::table::rows;
use schedlab_space::limits::{Band, Cell, Criterion, Figure, Limits, Line, number, words};
use std::fmt::Write as _;

/// Largest width of the curve, in characters, and the smallest with which it is drawn.
const CURVE: (usize, usize) = (32, 10);

/// Width of the other columns.
const OTHERS: usize = 100;

/// Part of the machine at which a group that is not limited fills it.
const FULL: f64 = 0.97;

/// Formats all limits.
pub fn text(name: &str, limits: &Limits, style: Style) -> String {
    let mut text = format!(
        "{name}: limits of {} under {}, {} each\n",
        limits.group,
        limits.scheduler,
        counted(limits.repeat as usize, "run")
    );
    if let Some(line) = limits.lines.first() {
        demand(&mut text, limits, line, style);
    }
    let scale = Scale::of(limits, style);
    for line in &limits.lines {
        text.push('\n');
        if limits.lines.len() > 1 {
            let _ = writeln!(text, "{}:", title(line, style));
        }
        text.push_str(&table(limits, line, scale.as_ref(), style));
        if limits.lines.len() > 1 {
            let _ = writeln!(text, "{}", answer(limits, line));
        }
    }
    if limits.lines.iter().any(|line| line.cells.iter().any(|cell| !line.keeps_up(cell))) {
        let _ = writeln!(
            text,
            "* It falls behind: it serves fewer requests than without a limit, and response times \
             grow with the length of the run."
        );
    }
    text.push('\n');
    verdict(&mut text, limits, style);
    text
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
            let _ = writeln!(text, " and serves requests at {rate}, with a p99 of {p99}.");
            if cpus >= FULL * f64::from(line.cpus) {
                let _ = writeln!(
                    text,
                    "Caution: the machine of {} is full even without a limit; more CPUs (--cpus) \
                     would change the answer.",
                    counted(line.cpus as usize, "CPU")
                );
            }
        }
        _ => text.push_str(
            ". Its tasks have no requests (timers, sleeps or waits), so there are no response \
             times.\n",
        ),
    }
}

/// Describes what the limits of a line have in common.
fn title(line: &Line, style: Style) -> String {
    let time = |us: u64| duration(us * 1000, style.unicode);
    let cpus = counted(line.cpus as usize, "CPU");
    match line.burst_us {
        0 => format!("{cpus}, periods of {}, no burst", time(line.period_us)),
        burst_us => {
            format!("{cpus}, periods of {}, burst {}", time(line.period_us), time(burst_us))
        }
    }
}

/// Formats the limits of a line, one row each.
fn table(limits: &Limits, line: &Line, scale: Option<&Scale>, style: Style) -> String {
    let mut lines = vec![];
    let time = |ns: f64| duration(ns.round() as u64, style.unicode);
    let has_requests = scale.is_some();
    let has_curve = scale.is_some_and(|scale| scale.width >= CURVE.1);
    for (place, cell) in line
        .cells
        .iter()
        .enumerate()
        .map(|(place, cell)| (Some(place), cell))
        .chain(std::iter::once((None, &line.unlimited)))
    {
        let mark = if place.is_some() && place == line.least { ">" } else { " " };
        let mut row = vec![format!("{mark} {}", cell.limit)];
        row.push(match place {
            Some(_) => time(cell.limit.quota_us.unwrap_or(0) as f64 * 1e3),
            None => "max".into(),
        });
        row.push(match place {
            Some(_) => cell.band(Figure::Throttled).map_or("-".into(), |band| {
                spread(band, |part| format!("{} %", percent(part)), percent)
            }),
            None => String::new(),
        });
        if has_requests {
            let p50 = cell.band(Figure::P50);
            row.push(p50.map_or("-".into(), |band| time(band.median)));
            let p99 = cell.band(Figure::P99);
            row.push(p99.map_or("-".into(), |band| spread(band, time, time)));
            if has_curve {
                let curve = scale.zip(p99).map(|(scale, band)| scale.draw(band, style));
                row.push(curve.unwrap_or_default());
            }
            let rate = cell.band(Figure::Throughput);
            let behind = if line.keeps_up(cell) { "" } else { " *" };
            row.push(rate.map_or("-".into(), |it| format!("{}{behind}", per_second(it.median))));
        } else {
            let cpus = cell.band(Figure::Cpus);
            row.push(cpus.map_or("-".into(), |band| number(band.median)));
        }
        if let (Criterion::Aims(aims), Some(_)) = (&limits.criterion, place) {
            row.push(format!("{} of {}", cell.holding(aims), cell.runs.len()));
        } else if matches!(limits.criterion, Criterion::Aims(_)) {
            row.push(String::new());
        }
        lines.push(row);
    }
    let curve_head = scale
        .map_or(String::new(), |scale| format!("{} to {}", time(scale.least), time(scale.most)));
    let mut heads = vec!["  limit", "quota", "throttled"];
    match has_requests {
        true => {
            heads.extend(["p50", "p99 (min to max)"]);
            heads.extend(has_curve.then_some(curve_head.as_str()));
            heads.push("requests");
        }
        false => heads.push("CPUs used"),
    }
    if matches!(limits.criterion, Criterion::Aims(_)) {
        heads.push("aim met");
    }
    rows(&heads, &lines, style)
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
            let Line { unlimited, cells, .. } = line;
            let all = std::iter::once(unlimited).chain(cells);
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
        let width = style.width.saturating_sub(OTHERS).min(CURVE.0);
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
        Criterion::Knee => "keeps the p99 within 10 % of that without a limit".into(),
        Criterion::NeverThrottled => "never throttles it".into(),
    }
}

/// Returns the answer of a line.
fn answer(limits: &Limits, line: &Line) -> String {
    match line.least {
        Some(place) => {
            format!("The smallest that {}: {}.", criterion(limits), line.cells[place].limit)
        }
        None => format!("None {}.", criterion(limits)),
    }
}

/// Writes the least limit in the words of each place.
fn verdict(text: &mut String, limits: &Limits, style: Style) {
    let Some((line, cell)) = limits.best() else {
        let _ = writeln!(text, "No limit that was tried {}.", criterion(limits));
        let holds = |line: &Line| limits.criterion.holds(&line.unlimited, &line.unlimited);
        if !limits.lines.iter().any(holds) {
            let _ = writeln!(text, "Nor does the group without a limit.");
        } else {
            let _ = writeln!(text, "The group without a limit does: try larger quotas (--quota).");
        }
        return;
    };
    let of_all = if limits.lines.len() > 1 {
        format!(", the smallest of all ({})", title(line, style))
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
