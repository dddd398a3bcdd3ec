//! Sweeps and points of benchmarks, made by hand: documents, tables, CSV, curves.

use super::*;
use crate::Style;
use serde_json::json;

/// Returns the sweep of two parameters under two schedulers with two seeds.
pub(crate) fn report() -> BenchReport {
    let axis = |name: &str, values: Vec<Value>| Axis {
        name: name.into(),
        about: format!("number of {name}"),
        values,
    };
    let scheduler = |name: &str| BenchScheduler {
        name: name.into(),
        release: "1".into(),
        title: name.into(),
        hz: 100,
        tunables: vec![],
    };
    let figure = |name: &str, unit: &str, value: f64| Figure {
        name: name.into(),
        unit: unit.into(),
        better: Better::Lower,
        value,
    };
    let row = |seed: u64, value: f64| BenchRow {
        seed,
        end: EndState::AllEnded,
        end_ns: 1,
        warning: None,
        printed: format!("Time: {value}\n"),
        figures: vec![figure("time", "s", value)],
        metrics: vec![figure("waiting longest", "ns", value * 1e6)],
    };
    let mut points = vec![];
    for groups in [10, 20] {
        for pipe in [false, true] {
            for scheduler in 0..2 {
                let value =
                    f64::from(groups) * (1.0 + scheduler as f64) + f64::from(u8::from(pipe));
                let rows = vec![row(1, value), row(2, value + 2.0)];
                points.push(BenchPoint::new(vec![json!(groups), json!(pipe)], scheduler, rows));
            }
        }
    }
    BenchReport {
        schema: SCHEMA.into(),
        benchmark: "storm".into(),
        cpus: 1,
        model: "idealised".into(),
        limit_ns: None,
        seeds: vec![1, 2],
        parameters: vec![
            axis("loops", vec![json!(100)]),
            axis("groups", vec![json!(10), json!(20)]),
            axis("pipe", vec![json!(false), json!(true)]),
        ],
        swept: vec![1, 2],
        schedulers: vec![scheduler("slow"), scheduler("slower")],
        points,
    }
}

#[test]
fn runs_are_summed_up() {
    let report = report();
    let time = report.points[0].figure("time").expect("the figure exists");
    assert_eq!((time.count, time.mean, time.min, time.max), (2, 11.0, 10.0, 12.0));
    assert!((time.sd.expect("there are two runs") - 2.0_f64.sqrt()).abs() < 1e-12);
    assert_eq!(report.figure_names(), ["time", "waiting longest"]);
    // A figure is found by its name, a metric also by its id.
    let called = |name| report.figure_called(name);
    assert_eq!(called("time"), Some("time".into()));
    assert_eq!(called("waiting longest"), called("wait_max"));
    assert_eq!(called("wait_max"), Some("waiting longest".into()));
    assert_eq!((called("wait_mean"), called("nothing")), (None, None));
}

#[test]
fn the_document_is_read_as_it_was_written() {
    let report = report();
    let text = report.to_json();
    assert_eq!(BenchReport::from_json(&text).expect("the document is valid"), report);
    assert!(BenchReport::from_json(&text.replace("schedlab-bench/1", "schedlab-bench/9")).is_err());
    assert!(BenchReport::from_json(&text.replace("\"swept\": [", "\"swept\": [7,")).is_err());
}

#[test]
fn a_curve_for_each_scheduler_and_second_value() {
    let report = report();
    let chart = curve::chart(&report, "time").expect("a parameter is swept");
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let expected =
        ["slow@1, pipe false", "slow@1, pipe true", "slower@1, pipe false", "slower@1, pipe true"];
    assert_eq!(names, expected);
    assert_eq!(chart.y_label, "time (s)");
    let points = &chart.series[3].points;
    assert_eq!((points[0].x, points[0].y, points[0].low, points[0].high), (10.0, 22.0, 21.0, 23.0));
    let chart = curve::chart(&report, "waiting longest").expect("a parameter is swept");
    assert_eq!(
        (chart.y_label.as_str(), chart.series[0].points[0].y),
        ("waiting longest (ms)", 11.0)
    );
}

#[test]
fn tables() {
    let report = report();
    let style = Style::plain(80);
    let first: Vec<&BenchPoint> = report.points[..2].iter().collect();
    insta::assert_snapshot!("figures", table::figures(&report, &first, style));
    insta::assert_snapshot!("sweep", table::sweep(&report, "time", style));
}

#[test]
fn spreadsheets_get_a_row_a_figure() {
    let text = csv::figures(&report());
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("loops,groups,pipe,scheduler,release,seed,figure,value,unit"));
    assert_eq!(lines.next(), Some("100,10,false,slow,1,1,time,10,s"));
    assert_eq!(lines.count(), 31);
}
