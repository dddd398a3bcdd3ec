//! Main charts of a comparison as one picture, for papers and slides: [`draw`].

use crate::data::{Report, RunReport, Spread};
use crate::plot::{Chart, Point, Series, svg};
use crate::{Style, shortened};
use std::fmt::Write;

/// Mark in every picture, by which it is recognised.
pub const MARK: &str = "<!-- schedlab -->";

/// Statistic of a distribution.
type Statistic = fn(&Spread) -> Option<u64>;

/// Percentiles of a latency that are drawn.
const PERCENTILES: [(&str, Statistic); 6] = [
    ("p50", |spread| spread.p50_ns),
    ("p90", |spread| spread.p90_ns),
    ("p95", |spread| spread.p95_ns),
    ("p99", |spread| spread.p99_ns),
    ("p99.9", |spread| spread.p999_ns),
    ("max", |spread| spread.max_ns),
];

/// Maximum width of the names of programs, columns.
const KEY_WIDTH: usize = 24;

/// Maximum number of programs that are drawn, those with the most CPU time first.
const PROGRAMS_MOST: usize = 10;

/// Draws wakeup latencies by percentile, and the CPU share of each program, as SVG.
pub fn draw(report: &Report) -> String {
    let charts = [latency(report), shares(report)];
    let drawn: Vec<String> = charts.iter().map(svg::draw).collect();
    // Each chart is a separate document. The charts are placed one below another in a single one.
    let heights: Vec<f64> = drawn.iter().map(|text| attribute(text, "height")).collect();
    let width = drawn.iter().map(|text| attribute(text, "width")).fold(0.0, f64::max);
    let height: f64 = heights.iter().sum();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n{MARK}\n"
    );
    let mut top = 0.0;
    for (picture, height) in drawn.iter().zip(heights) {
        let _ = writeln!(text, "<g transform=\"translate(0 {top})\">\n{picture}</g>");
        top += height;
    }
    text.push_str("</svg>\n");
    text
}

/// Returns a number among the attributes of the first element.
fn attribute(text: &str, name: &str) -> f64 {
    let rest = text.split(&format!(" {name}=\"")).nth(1).unwrap_or_default();
    rest.split('"').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

fn latency(report: &Report) -> Chart {
    let series = |run: &RunReport| Series {
        name: run.spec(),
        points: (PERCENTILES.iter().enumerate())
            .filter_map(|(place, (_, of))| {
                let ns = of(&run.wakeup_latency)?;
                Some(Point::new(place as f64, ns as f64 / 1e6))
            })
            .collect(),
        published: false,
    };
    Chart {
        title: format!("{}: wakeup latency", report.workload.name),
        x_label: "percentile".into(),
        y_label: "ms".into(),
        bars: false,
        x_names: PERCENTILES.iter().map(|(name, _)| name.to_string()).collect(),
        series: report.runs.iter().map(series).collect(),
    }
}

fn shares(report: &Report) -> Chart {
    let used = |run: &RunReport, key: &str| -> u64 {
        run.keys.iter().filter(|it| it.key == key).map(|it| it.cpu_ns).sum()
    };
    let mut keys: Vec<(u64, &str)> = vec![];
    for key in report.runs.iter().flat_map(|run| &run.keys) {
        if !keys.iter().any(|(_, known)| *known == key.key) {
            keys.push((report.runs.iter().map(|run| used(run, &key.key)).sum(), &key.key));
        }
    }
    keys.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    keys.truncate(PROGRAMS_MOST);
    let series = |run: &RunReport| {
        let all_ns = (run.end.at_ns as f64 * f64::from(run.machine.cpus)).max(1.0);
        let point = |(place, (_, key)): (usize, &(u64, &str))| {
            Point::new(place as f64, 100.0 * used(run, key) as f64 / all_ns)
        };
        let points = keys.iter().enumerate().map(point).collect();
        Series { name: run.spec(), points, published: false }
    };
    let style = Style::plain(0);
    Chart {
        title: "CPU share by program".into(),
        x_label: "program".into(),
        y_label: "% of the machine".into(),
        bars: true,
        x_names: keys.iter().map(|(_, key)| shortened(key, KEY_WIDTH, style)).collect(),
        series: report.runs.iter().map(series).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::WorkloadInfo;
    use crate::data::tests::full_run;

    #[test]
    fn the_charts_stand_below_each_other_and_names_are_escaped() {
        let mut run = full_run();
        run.keys[0].key = format!("<b>{}", "x".repeat(100_000));
        let workload = WorkloadInfo {
            name: "a & b".into(),
            duration_ns: 100,
            set: vec![],
            late_starts: false,
        };
        let text = draw(&Report::new(workload, vec![run]));
        assert!(text.starts_with("<svg") && text.contains(MARK));
        assert!(text.contains("a &amp; b: wakeup latency") && text.contains("&lt;b&gt;"));
        assert!(!text.contains("<b>"));
        assert!(text.len() < 50_000, "long names are cut: {}", text.len());
        let heights: Vec<f64> =
            text.split("<svg").skip(1).map(|part| attribute(part, "height")).collect();
        assert_eq!(heights.len(), 3);
        assert_eq!(heights[0], heights[1] + heights[2]);
    }
}
