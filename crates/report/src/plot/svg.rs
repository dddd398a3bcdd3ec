//! A chart as SVG.
//!
//! Nothing is filled behind it and all text is of a grey that reads on white and on black; curves
//! differ by colour, by the dashes of their lines and by the shapes of their points, so that they
//! can be told apart when printed in grey.

use super::scale::Ticks;
use super::{Chart, Point, Series};
use crate::text_width;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
/// Where the curves are.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 736.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 388.0;
/// The legend, below.
const LEGEND_TOP: f64 = 456.0;
const LEGEND_LINE: f64 = 20.0;
/// How wide a letter is at most, about.
const LETTER: f64 = 7.0;

const GREY: &str = "#777";
/// Colours that those who see colours otherwise can tell apart, too (after Okabe and Ito, of even
/// brightness).
const COLORS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#b8509b", "#c08a00", "#3a9fd6", "#8c564b", "#7f7fdb"];
const DASHES: [&str; 5] = ["", "7 4", "2 3", "10 3 2 3", "4 2"];
const SHAPES: usize = 7;

/// The document.
pub fn draw(chart: &Chart) -> String {
    let legend = Legend::of(chart);
    let height = LEGEND_TOP + LEGEND_LINE * legend.lines as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"{GREY}\">\n<title>{}</title>\n",
        escaped(&chart.title)
    );
    text(
        &mut svg,
        (WIDTH / 2.0, 24.0),
        "middle\" font-size=\"16\" font-weight=\"bold",
        &chart.title,
    );
    match (chart.x_range(), chart.y_range()) {
        (Some(x), Some(y)) => {
            let ticks = Ticks::around(y.0, y.1, 6);
            let place = Place { x, y: (ticks.low(), ticks.high()) };
            axes(&mut svg, chart, &place, ticks);
            for (number, series) in chart.series.iter().enumerate().rev() {
                curve(&mut svg, &place, number, series);
            }
        }
        _ => text(&mut svg, (WIDTH / 2.0, (TOP + BOTTOM) / 2.0), "middle", "nothing to draw"),
    }
    legend.draw(&mut svg, chart);
    svg.push_str("</svg>\n");
    svg
}

/// Where on the picture values are.
struct Place {
    x: (f64, f64),
    y: (f64, f64),
}

impl Place {
    fn x(&self, x: f64) -> f64 {
        LEFT + (x - self.x.0) / (self.x.1 - self.x.0) * (RIGHT - LEFT)
    }

    fn y(&self, y: f64) -> f64 {
        BOTTOM - (y - self.y.0) / (self.y.1 - self.y.0) * (BOTTOM - TOP)
    }
}

fn escaped(text: &str) -> String {
    let clean = text.chars().filter(|c| !c.is_control());
    let mut out = String::new();
    for c in clean {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// A length in hundredths, without needless zeros.
fn length(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Writes one piece of text. `anchor` is `start`, `middle` or `end`, and may bring further
/// attributes.
fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let (x, y) = (length(x), length(y));
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(words)
    );
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), attributes: &str) {
    let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(length);
    let _ = writeln!(svg, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {attributes}/>");
}

fn axes(svg: &mut String, chart: &Chart, place: &Place, ticks: Ticks) {
    let faint = format!("stroke=\"{GREY}\" stroke-opacity=\"0.25\"");
    let solid = format!("stroke=\"{GREY}\"");
    for (at, label) in ticks.marks() {
        let y = place.y(at);
        line(svg, (LEFT, y), (RIGHT, y), &faint);
        text(svg, (LEFT - 8.0, y + 4.0), "end", &label);
    }
    for (at, label) in chart.x_marks(place.x, 8) {
        let x = place.x(at);
        line(svg, (x, BOTTOM), (x, BOTTOM + 5.0), &solid);
        text(svg, (x, BOTTOM + 20.0), "middle", &label);
    }
    line(svg, (LEFT, TOP), (LEFT, BOTTOM), &solid);
    line(svg, (LEFT, BOTTOM), (RIGHT, BOTTOM), &solid);
    text(svg, ((LEFT + RIGHT) / 2.0, BOTTOM + 42.0), "middle", &chart.x_label);
    let middle = length((TOP + BOTTOM) / 2.0);
    let turned = format!("middle\" transform=\"rotate(-90 18 {middle})");
    text(svg, (18.0, (TOP + BOTTOM) / 2.0), &turned, &chart.y_label);
}

fn stroke(number: usize) -> String {
    let color = COLORS[number % COLORS.len()];
    let dashes = DASHES[number % DASHES.len()];
    let dashes =
        if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
    format!("stroke=\"{color}\" stroke-width=\"2\" fill=\"none\"{dashes}")
}

fn curve(svg: &mut String, place: &Place, number: usize, series: &Series) {
    let points: Vec<&Point> = series.drawable().collect();
    let _ = writeln!(svg, "<g><title>{}</title>", escaped(&series.name));
    if !series.published && points.len() > 1 {
        let corners: Vec<String> = points
            .iter()
            .map(|point| format!("{},{}", length(place.x(point.x)), length(place.y(point.y))))
            .collect();
        let _ = writeln!(svg, "<polyline points=\"{}\" {}/>", corners.join(" "), stroke(number));
    }
    for point in points {
        let x = place.x(point.x);
        if point.low < point.high {
            let color = format!("stroke=\"{}\"", COLORS[number % COLORS.len()]);
            let (low, high) = (place.y(point.low), place.y(point.high));
            line(svg, (x, low), (x, high), &color);
            for end in [low, high] {
                line(svg, (x - 4.0, end), (x + 4.0, end), &color);
            }
        }
        shape(svg, (x, place.y(point.y)), number, series.published);
    }
    svg.push_str("</g>\n");
}

/// The sign of a point. Published ones are hollow.
fn shape(svg: &mut String, (x, y): (f64, f64), number: usize, hollow: bool) {
    let color = COLORS[number % COLORS.len()];
    let fill = if hollow { "none" } else { color };
    let paint = format!("fill=\"{fill}\" stroke=\"{color}\" stroke-width=\"1.5\"");
    let polygon = |svg: &mut String, corners: &[(f64, f64)]| {
        let corners: Vec<String> = corners
            .iter()
            .map(|(right, down)| format!("{},{}", length(x + right), length(y + down)))
            .collect();
        let _ = writeln!(svg, "<polygon points=\"{}\" {paint}/>", corners.join(" "));
    };
    match number % SHAPES {
        0 => {
            let (x, y) = (length(x), length(y));
            let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"4\" {paint}/>");
        }
        1 => polygon(svg, &[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)]),
        2 => polygon(svg, &[(0.0, -5.0), (4.8, 3.4), (-4.8, 3.4)]),
        3 => polygon(svg, &[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)]),
        4 => polygon(svg, &[(0.0, 5.0), (4.8, -3.4), (-4.8, -3.4)]),
        5 => polygon(svg, &[(-5.0, -1.6), (5.0, -1.6), (5.0, 1.6), (-5.0, 1.6)]),
        _ => polygon(svg, &[(-1.6, -5.0), (1.6, -5.0), (1.6, 5.0), (-1.6, 5.0)]),
    }
}

/// The names of the curves in columns of equal width.
struct Legend {
    column_width: f64,
    columns: usize,
    lines: usize,
}

impl Legend {
    fn of(chart: &Chart) -> Legend {
        const SAMPLE: f64 = 52.0;
        let widest = chart.series.iter().map(|series| text_width(&series.name)).max().unwrap_or(0);
        let column_width = widest as f64 * LETTER + SAMPLE;
        let columns = (((RIGHT - LEFT) / column_width) as usize).max(1);
        Legend { column_width, columns, lines: chart.series.len().div_ceil(columns) }
    }

    fn draw(&self, svg: &mut String, chart: &Chart) {
        for (number, series) in chart.series.iter().enumerate() {
            let x = LEFT + self.column_width * (number % self.columns) as f64;
            let y = LEGEND_TOP + LEGEND_LINE * (number / self.columns) as f64 - 4.0;
            if !series.published {
                line(svg, (x, y), (x + 28.0, y), &stroke(number));
            }
            shape(svg, (x + 14.0, y), number, series.published);
            text(svg, (x + 36.0, y + 4.0), "start", &series.name);
        }
    }
}
