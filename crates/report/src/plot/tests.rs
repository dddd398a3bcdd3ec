//! Charts as text and as SVG.

use super::*;
use crate::Style;

fn chart() -> Chart {
    let of = |name: &str, published: bool, y: fn(f64) -> f64| Series {
        name: name.into(),
        points: [50.0, 100.0, 150.0, 200.0].map(|x| Point::new(x, y(x))).to_vec(),
        published,
    };
    Chart {
        title: "time by groups".into(),
        x_label: "groups".into(),
        y_label: "time (s)".into(),
        bars: false,
        x_names: vec![],
        series: vec![
            of("parabola", false, |x| x * x / 1000.0),
            of("line", false, |x| x / 20.0),
            of("measured", true, |x| x / 10.0),
        ],
    }
}

#[test]
fn a_chart_in_a_terminal() {
    insta::assert_snapshot!(chart().to_text(Style::plain(80)));
}

#[test]
fn a_chart_where_there_is_only_ascii() {
    let text = chart().to_text(Style { unicode: false, ..Style::plain(80) });
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

#[test]
fn a_chart_fits_where_it_is_shown_and_is_plain_without_colour() {
    for width in [40, 80, 100, 200] {
        let text = chart().to_text(Style::plain(width));
        assert!(text.lines().all(|line| crate::text_width(line) <= width), "{width}:\n{text}");
        assert!(!text.contains('\x1b'));
    }
    let colored = chart().to_text(Style { color: true, ..Style::plain(80) });
    assert!(colored.contains("\x1b[38;5;33m"));
}

#[test]
fn a_chart_as_a_picture() {
    let mut chart = chart();
    chart.series[1].points[2] = Point { x: 150.0, y: 7.5, low: 5.0, high: 12.0 };
    insta::assert_snapshot!(chart.to_svg());
}

#[test]
fn names_do_not_break_the_document() {
    let mut chart = chart();
    chart.title = "a < b & \"c\"\x07".into();
    assert!(chart.to_svg().contains("<title>a &lt; b &amp; &quot;c&quot;</title>"));
}

#[test]
fn x_may_be_words_and_points_may_be_missing() {
    let mut chart = chart();
    chart.x_names = vec!["pipe".into(), "socket".into()];
    chart.series.truncate(1);
    chart.series[0].points = vec![Point::new(0.0, 3.0), Point::new(1.0, f64::NAN)];
    let text = chart.to_text(Style::plain(60));
    assert!(text.contains("pipe") && text.contains("socket"), "{text}");
    assert_eq!(text.matches('●').count(), 2, "a point and its legend:\n{text}");
    chart.series[0].points.remove(0);
    assert!(chart.to_text(Style::plain(60)).contains("nothing to draw"));
    assert!(chart.to_svg().contains("nothing to draw"));
}

#[test]
fn whole_numbers_are_marked_at_whole_numbers() {
    let mut chart = chart();
    chart.series.truncate(1);
    chart.series[0].points = vec![Point::new(1.0, 3.0), Point::new(2.0, 4.0), Point::new(3.0, 6.0)];
    let marks: Vec<String> =
        chart.x_marks((1.0, 3.0), 8).into_iter().map(|(_, label)| label).collect();
    assert_eq!(marks, ["1", "2", "3"]);
}

#[test]
fn numbers_beyond_all_measure_are_left_out() {
    let points = [(1.0, 1e308), (2.0, -1e308), (-1e308, 1.0), (f64::NAN, 1.0), (1e17, 3.0)];
    let points = points.map(|(x, y)| Point::new(x, y)).to_vec();
    let series = vec![Series { name: "a".into(), points, published: false }];
    let chart = Chart { series, ..chart() };
    assert_eq!(chart.points().count(), 1);
    assert!(
        chart.to_text(crate::Style { width: 80, color: false, unicode: true }).lines().count() < 40
    );
    assert!(chart.to_svg().ends_with("</svg>\n"));
}

/// 0 and the maximum are the ends of the axis: bars start at 0 and are next to each other.
#[test]
fn bars_stand_beside_each_other_as_high_as_they_are() {
    let series = |name: &str, y: [f64; 2]| Series {
        name: name.into(),
        points: vec![Point::new(0.0, y[0]), Point::new(1.0, y[1])],
        published: false,
    };
    let chart = Chart {
        x_names: vec!["one".into(), "two".into()],
        series: vec![series("a", [10.0, 5.0]), series("b", [0.0, 10.0])],
        bars: true,
        ..Chart::default()
    };
    let svg = chart.to_svg();
    let attribute = |rect: &str, name: &str| -> f64 {
        let value = rect.split(&format!(" {name}=\"")).nth(1).and_then(|it| it.split('"').next());
        value.expect("the bar has the attribute").parse().expect("the attribute is a number")
    };
    let rects: Vec<&str> = svg.split("<rect").skip(1).collect();
    assert_eq!(rects.len(), 4 + 2, "four bars and two samples");
    // The last series is drawn first.
    let (b, a) = (&rects[..2], &rects[2..4]);
    let height = |rect: &str| attribute(rect, "height");
    assert_eq!((height(b[0]), height(a[0]), height(b[1])), (0.0, height(b[1]), height(a[0])));
    assert!((height(a[1]) * 2.0 - height(a[0])).abs() < 0.02);
    let bottom = |rect: &str| attribute(rect, "y") + height(rect);
    assert!((bottom(a[0]) - bottom(b[1])).abs() < 0.02);
    assert!(attribute(a[0], "x") + attribute(a[0], "width") < attribute(b[0], "x"));
    assert!(!svg.contains("<polyline"));
}
