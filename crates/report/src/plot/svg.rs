//! Chart as SVG.
//!
//! The background is transparent and all text has a grey that is legible on white and on black.
//! Curves differ by colour, by the dashes of their lines and by the shapes of their points, so that
//! they remain distinguishable when printed in grey.

use super::scale::Ticks;
use super::{Chart, Point, Series};
use crate::text_width;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
/// Area of the curves.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 736.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 388.0;
/// The legend, below.
const LEGEND_TOP: f64 = 456.0;
const LEGEND_LINE: f64 = 20.0;
/// Approximate maximum width of a letter.
const LETTER: f64 = 7.0;

const GREY: &str = "#777";
/// Colours that colour-blind readers can also distinguish (after Okabe and Ito, of even
/// brightness).
const COLORS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#b8509b", "#c08a00", "#3a9fd6", "#8c564b", "#7f7fdb"];
const DASHES: [&str; 5] = ["", "7 4", "2 3", "10 3 2 3", "4 2"];
const SHAPES: usize = 7;

/// Attributes of an element, by name.
type Attributes<'a> = &'a [(&'a str, &'a str)];

/// Document that is being written. All text in it goes through [`escaped`].
struct Svg(String);

impl Svg {
    /// Begins an element.
    fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        self.tag(name, attributes);
        self.0.push('>');
    }

    /// Ends the element and the line.
    fn close(&mut self, name: &str) {
        let _ = writeln!(self.0, "</{name}>");
    }

    /// Writes an element without contents.
    fn empty(&mut self, name: &str, attributes: Attributes<'_>) {
        self.tag(name, attributes);
        self.0.push_str("/>\n");
    }

    /// Writes an element with text.
    fn words(&mut self, name: &str, attributes: Attributes<'_>, words: &str) {
        self.open(name, attributes);
        self.0.push_str(&escaped(words));
        self.close(name);
    }

    fn tag(&mut self, name: &str, attributes: Attributes<'_>) {
        let _ = write!(self.0, "<{name}");
        for (name, value) in attributes {
            let _ = write!(self.0, " {name}=\"{}\"", escaped(value));
        }
    }
}

/// Returns the document.
pub fn draw(chart: &Chart) -> String {
    let legend = Legend::of(chart);
    let height = LEGEND_TOP + LEGEND_LINE * legend.lines as f64;
    let mut svg = Svg(String::new());
    let (width, height) = (WIDTH.to_string(), height.to_string());
    let attributes = [
        ("xmlns", "http://www.w3.org/2000/svg"),
        ("width", &width),
        ("height", &height),
        ("viewBox", &format!("0 0 {width} {height}")),
        ("role", "img"),
        ("font-family", "Helvetica, Arial, sans-serif"),
        ("font-size", "13"),
        ("fill", GREY),
    ];
    svg.open("svg", &attributes);
    svg.0.push('\n');
    svg.words("title", &[], &chart.title);
    let large = [("font-size", "16"), ("font-weight", "bold")];
    text(&mut svg, (WIDTH / 2.0, 24.0), "middle", &large, &chart.title);
    match (chart.x_range(), chart.y_range()) {
        (Some(x), Some(y)) => {
            let ticks = Ticks::around(y.0, y.1, 6);
            let place = Place { x, y: (ticks.low(), ticks.high()) };
            axes(&mut svg, chart, &place, ticks);
            for (number, series) in chart.series.iter().enumerate().rev() {
                if chart.bars {
                    bars(&mut svg, &place, (number, chart.series.len()), series);
                } else {
                    curve(&mut svg, &place, number, series);
                }
            }
        }
        _ => {
            text(&mut svg, (WIDTH / 2.0, (TOP + BOTTOM) / 2.0), "middle", &[], "nothing to draw");
        }
    }
    legend.draw(&mut svg, chart);
    svg.close("svg");
    svg.0
}

/// Positions of values on the picture.
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

/// Returns a length in hundredths, without trailing zeros.
fn length(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Writes one piece of text. `anchor` is `start`, `middle` or `end`.
fn text(svg: &mut Svg, (x, y): (f64, f64), anchor: &str, more: Attributes<'_>, words: &str) {
    let (x, y) = (length(x), length(y));
    let place = [("x", x.as_str()), ("y", &y), ("text-anchor", anchor)];
    svg.words("text", &[&place, more].concat(), words);
}

fn line(svg: &mut Svg, from: (f64, f64), to: (f64, f64), paint: Attributes<'_>) {
    let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(length);
    let ends = [("x1", x1.as_str()), ("y1", &y1), ("x2", &x2), ("y2", &y2)];
    svg.empty("line", &[&ends, paint].concat());
}

/// Returns the corners of a `polyline` or a `polygon`.
fn corners(of: impl Iterator<Item = (f64, f64)>) -> String {
    let corners: Vec<String> = of.map(|(x, y)| format!("{},{}", length(x), length(y))).collect();
    corners.join(" ")
}

fn axes(svg: &mut Svg, chart: &Chart, place: &Place, ticks: Ticks) {
    let faint = [("stroke", GREY), ("stroke-opacity", "0.25")];
    let solid = [("stroke", GREY)];
    for (at, label) in ticks.marks() {
        let y = place.y(at);
        line(svg, (LEFT, y), (RIGHT, y), &faint);
        text(svg, (LEFT - 8.0, y + 4.0), "end", &[], &label);
    }
    for (at, label) in chart.x_marks(place.x, 8) {
        let x = place.x(at);
        line(svg, (x, BOTTOM), (x, BOTTOM + 5.0), &solid);
        text(svg, (x, BOTTOM + 20.0), "middle", &[], &label);
    }
    line(svg, (LEFT, TOP), (LEFT, BOTTOM), &solid);
    line(svg, (LEFT, BOTTOM), (RIGHT, BOTTOM), &solid);
    text(svg, ((LEFT + RIGHT) / 2.0, BOTTOM + 42.0), "middle", &[], &chart.x_label);
    let middle = (TOP + BOTTOM) / 2.0;
    let turn = format!("rotate(-90 18 {})", length(middle));
    text(svg, (18.0, middle), "middle", &[("transform", &turn)], &chart.y_label);
}

fn color(number: usize) -> &'static str {
    COLORS[number % COLORS.len()]
}

/// Returns the attributes of the line of a curve.
fn stroke(number: usize) -> Vec<(&'static str, &'static str)> {
    let mut paint = vec![("stroke", color(number)), ("stroke-width", "2"), ("fill", "none")];
    let dashes = DASHES[number % DASHES.len()];
    if !dashes.is_empty() {
        paint.push(("stroke-dasharray", dashes));
    }
    paint
}

fn curve(svg: &mut Svg, place: &Place, number: usize, series: &Series) {
    let points: Vec<&Point> = series.drawable().collect();
    svg.open("g", &[]);
    svg.words("title", &[], &series.name);
    if !series.published && points.len() > 1 {
        let corners = corners(points.iter().map(|point| (place.x(point.x), place.y(point.y))));
        svg.empty("polyline", &[&[("points", corners.as_str())], &stroke(number)[..]].concat());
    }
    for point in points {
        let x = place.x(point.x);
        if point.low < point.high {
            let paint = [("stroke", color(number))];
            let (low, high) = (place.y(point.low), place.y(point.high));
            line(svg, (x, low), (x, high), &paint);
            for end in [low, high] {
                line(svg, (x - 4.0, end), (x + 4.0, end), &paint);
            }
        }
        shape(svg, (x, place.y(point.y)), number, series.published);
    }
    svg.close("g");
}

/// Draws the bars of the series with this number out of `of` series. Bars of one name are adjacent;
/// a fifth of the space separates one name's bars from the next.
fn bars(svg: &mut Svg, place: &Place, (number, of): (usize, usize), series: &Series) {
    let room = place.x(1.0) - place.x(0.0);
    let width = room * 0.8 / of as f64;
    svg.open("g", &[]);
    svg.words("title", &[], &series.name);
    for point in series.drawable() {
        let left = place.x(point.x) - room * 0.4 + width * number as f64;
        let (top, bottom) = (place.y(point.y.max(0.0)), place.y(point.y.min(0.0)));
        bar(svg, number, (left, top), (width * 0.9, bottom - top));
    }
    svg.close("g");
}

/// Draws a bar, paler where colours repeat.
fn bar(svg: &mut Svg, number: usize, (x, y): (f64, f64), (width, height): (f64, f64)) {
    let [x, y, width, height] = [x, y, width, height].map(length);
    let opacity = if number < COLORS.len() { "1" } else { "0.55" };
    let place = [("x", x.as_str()), ("y", &y), ("width", &width), ("height", &height)];
    svg.empty(
        "rect",
        &[&place[..], &[("fill", color(number)), ("fill-opacity", opacity)]].concat(),
    );
}

/// Draws the shape of a point. Published points are hollow.
fn shape(svg: &mut Svg, (x, y): (f64, f64), number: usize, hollow: bool) {
    let color = color(number);
    let fill = if hollow { "none" } else { color };
    let paint = [("fill", fill), ("stroke", color), ("stroke-width", "1.5")];
    let around: &[(f64, f64)] = match number % SHAPES {
        0 => {
            let (x, y) = (length(x), length(y));
            let circle = [("cx", x.as_str()), ("cy", &y), ("r", "4")];
            return svg.empty("circle", &[circle, paint].concat());
        }
        1 => &[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)],
        2 => &[(0.0, -5.0), (4.8, 3.4), (-4.8, 3.4)],
        3 => &[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)],
        4 => &[(0.0, 5.0), (4.8, -3.4), (-4.8, -3.4)],
        5 => &[(-5.0, -1.6), (5.0, -1.6), (5.0, 1.6), (-5.0, 1.6)],
        _ => &[(-1.6, -5.0), (1.6, -5.0), (1.6, 5.0), (-1.6, 5.0)],
    };
    let corners = corners(around.iter().map(|(right, down)| (x + right, y + down)));
    svg.empty("polygon", &[&[("points", corners.as_str())], &paint[..]].concat());
}

/// Names of the curves in columns of equal width.
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

    fn draw(&self, svg: &mut Svg, chart: &Chart) {
        for (number, series) in chart.series.iter().enumerate() {
            let x = LEFT + self.column_width * (number % self.columns) as f64;
            let y = LEGEND_TOP + LEGEND_LINE * (number / self.columns) as f64 - 4.0;
            if chart.bars {
                bar(svg, number, (x + 8.0, y - 6.0), (12.0, 12.0));
                text(svg, (x + 36.0, y + 4.0), "start", &[], &series.name);
                continue;
            }
            if !series.published {
                line(svg, (x, y), (x + 28.0, y), &stroke(number));
            }
            shape(svg, (x + 14.0, y), number, series.published);
            text(svg, (x + 36.0, y + 4.0), "start", &[], &series.name);
        }
    }
}
