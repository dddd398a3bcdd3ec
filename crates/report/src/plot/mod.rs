//! Curves: a [`Chart`] drawn as text for a terminal or as SVG.
//!
//! * [`scale`]: positions of the marks of an axis.
//! * [`text`]: lines of braille dots (of `.` in ASCII) with a sign at each point.
//! * [`svg`]: a picture that is legible in colour, printed in grey, on white and on black.

pub mod scale;
pub mod svg;
pub mod text;

/// Chart to draw. Points that are not finite are left out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub x_label: String,
    /// Label of the vertical axis, with its unit.
    pub y_label: String,
    /// Names of the horizontal positions if x is not a number. The `x` of a point then is an index
    /// into this list.
    pub x_names: Vec<String>,
    /// Whether the picture has bars next to each other instead of curves, for names without an
    /// order.
    pub bars: bool,
    /// Curves, in the order of the legend.
    pub series: Vec<Series>,
}

/// Curve of a chart.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points, by ascending x.
    pub points: Vec<Point>,
    /// Whether the curve is from a publication: its points are drawn without lines between them.
    pub published: bool,
}

/// Point of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// Minimum if `y` is a mean; otherwise `y`.
    pub low: f64,
    /// Maximum if `y` is a mean; otherwise `y`.
    pub high: f64,
}

impl Point {
    /// Returns a point without a range.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y, low: y, high: y }
    }

    /// Whether the point can be drawn: differences between larger numbers would not be
    /// representable.
    fn is_drawable(&self) -> bool {
        [self.x, self.y, self.low, self.high].iter().all(|value| value.abs() < 1e150)
    }
}

impl Series {
    /// Returns the points that can be drawn.
    fn drawable(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.is_drawable())
    }
}

impl Chart {
    /// Returns the chart as text for a terminal.
    pub fn to_text(&self, style: crate::Style) -> String {
        text::draw(self, style)
    }

    /// Returns the chart as an SVG document.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(Series::drawable)
    }

    /// Returns the smallest and the largest x. `None`: there is nothing to draw.
    fn x_range(&self) -> Option<(f64, f64)> {
        if !self.x_names.is_empty() {
            // Half a position is left free on both sides.
            return Some((-0.5, self.x_names.len() as f64 - 0.5));
        }
        let (least, most) = range(self.points().map(|point| point.x))?;
        // Half a position on both sides, and enough to differ from a large number.
        let half = (least.abs() * 1e-9).max(0.5);
        Some(if least < most { (least, most) } else { (least - half, most + half) })
    }

    /// Returns about `most` marks of the horizontal axis with their labels.
    fn x_marks(&self, range: (f64, f64), most: usize) -> Vec<(f64, String)> {
        if !self.x_names.is_empty() {
            return self
                .x_names
                .iter()
                .enumerate()
                .map(|(place, name)| (place as f64, name.clone()))
                .collect();
        }
        // There are no marks between whole numbers.
        let whole = self.points().all(|point| point.x.fract() == 0.0);
        let most = if whole { most.min((range.1 - range.0) as usize) } else { most };
        scale::Ticks::within(range.0, range.1, most).marks().collect()
    }

    /// Returns the smallest and the largest y of the chart. 0 is always included: a small
    /// difference must look small.
    fn y_range(&self) -> Option<(f64, f64)> {
        let (least, most) =
            range(self.points().flat_map(|point| [point.low, point.high, point.y]))?;
        let (least, most) = (least.min(0.0), most.max(0.0));
        Some(if least < most { (least, most) } else { (0.0, 1.0) })
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((least, most)) => Some((f64::min(least, value), f64::max(most, value))),
    })
}

#[cfg(test)]
mod tests;
