//! Curves: a [`Chart`] drawn as text for a terminal or as SVG.
//!
//! * [`scale`]: where the marks of an axis stand.
//! * [`text`]: lines of braille dots (of `.` in ASCII) with a sign at each point.
//! * [`svg`]: the same as a picture that reads well in colour, printed in grey, on white and on
//!   black.

pub mod scale;
pub mod svg;
pub mod text;

/// What is to be drawn. What of it is not finite is left out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// What goes to the right, with its unit.
    pub x_label: String,
    /// What goes up, with its unit.
    pub y_label: String,
    /// If x is no number but one of these: their names. A point's `x` then is a place in this list.
    pub x_names: Vec<String>,
    /// Whether what is drawn as a picture are bars beside each other rather than curves: where the
    /// names have no order.
    pub bars: bool,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Its points, by rising x.
    pub points: Vec<Point>,
    /// Whether it is from a publication rather than from here: its points are drawn without lines
    /// between them.
    pub published: bool,
}

/// A point of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// The least that was found where `y` is a mean; else `y`.
    pub low: f64,
    /// The most that was found where `y` is a mean; else `y`.
    pub high: f64,
}

impl Point {
    /// A point without a spread.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y, low: y, high: y }
    }

    /// Whether there is a place for it: differences of larger numbers would have none.
    fn is_drawable(&self) -> bool {
        [self.x, self.y, self.low, self.high].iter().all(|value| value.abs() < 1e150)
    }
}

impl Series {
    /// Its points that can be drawn.
    fn drawable(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.is_drawable())
    }
}

impl Chart {
    /// The chart as text for a terminal.
    pub fn to_text(&self, style: crate::Style) -> String {
        text::draw(self, style)
    }

    /// The chart as an SVG document.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(Series::drawable)
    }

    /// The least and the most x; none if there is nothing to draw.
    fn x_range(&self) -> Option<(f64, f64)> {
        if !self.x_names.is_empty() {
            // Half a place is left on both sides.
            return Some((-0.5, self.x_names.len() as f64 - 0.5));
        }
        let (least, most) = range(self.points().map(|point| point.x))?;
        // Half a place on both sides, and enough to make a difference to a large number.
        let half = (least.abs() * 1e-9).max(0.5);
        Some(if least < most { (least, most) } else { (least - half, most + half) })
    }

    /// Where there are marks on the axis to the right, about `most` of them, and what is written
    /// there.
    fn x_marks(&self, range: (f64, f64), most: usize) -> Vec<(f64, String)> {
        if !self.x_names.is_empty() {
            return self
                .x_names
                .iter()
                .enumerate()
                .map(|(place, name)| (place as f64, name.clone()))
                .collect();
        }
        // Between whole numbers there is nothing to be marked.
        let whole = self.points().all(|point| point.x.fract() == 0.0);
        let most = if whole { most.min((range.1 - range.0) as usize) } else { most };
        scale::Ticks::within(range.0, range.1, most).marks().collect()
    }

    /// The least and the most y that must be on the chart. 0 is always there: a small difference is
    /// to look small.
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
