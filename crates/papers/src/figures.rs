//! The figures of an experiment: simulated values as curves, published values as points.

use crate::error::{At, Error};
use crate::expression::{self, ValuesByName};
use crate::file::{Figure, Series};
use schedlab_report::expression::Value;
use schedlab_report::plot::{self, Chart, Point};

/// Makes all checks of a figure that are possible before anything is simulated.
///
/// # Errors
/// The series and the mistake.
pub fn check(figure: &Figure) -> Result<(), Error> {
    for series in &figure.series {
        let wrong = |what: &str| Err(Error::new(what).at(place(figure, series)));
        match (&series.y, series.published.len()) {
            (None, 0) => return wrong("needs a `y`, or `published` numbers"),
            (Some(_), 1..) => {
                return wrong("has a `y` and `published`; give only one of them");
            }
            (None, count) if count != series.x.len() => {
                return wrong(&format!("{count} published numbers at {} places", series.x.len()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the chart of a figure. The reduced form leaves out points that were not simulated.
///
/// # Errors
/// The series and the mistake.
pub fn chart(figure: &Figure, values: &ValuesByName, reduced: bool) -> Result<Chart, Error> {
    check(figure)?;
    let drawn = |series: &Series| {
        let points = match &series.y {
            None => Ok(pairs(&series.x, &series.published)),
            Some(y) if reduced => Ok(simulated_of(series, y, values)),
            Some(y) => simulated(series, y, values),
        };
        let mut points = points.at(place(figure, series))?;
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Ok(plot::Series { name: series.name.clone(), points, published: series.y.is_none() })
    };
    Ok(Chart {
        title: figure.title.clone(),
        x_label: figure.x.clone(),
        y_label: figure.y.clone(),
        bars: false,
        x_names: vec![],
        series: figure.series.iter().map(drawn).collect::<Result<_, Error>>()?,
    })
}

/// Returns the place of a series, for messages.
fn place(figure: &Figure, series: &Series) -> String {
    format!("figure \"{}\", series \"{}\"", figure.title, series.name)
}

fn pairs(x: &[f64], y: &[f64]) -> Vec<Point> {
    x.iter().zip(y).map(|(x, y)| Point::new(*x, *y)).collect()
}

fn simulated(series: &Series, y: &str, values: &ValuesByName) -> Result<Vec<Point>, Error> {
    let heights = match expression::evaluate(y, values)? {
        Value::List(list) => list,
        Value::Number(number) => vec![number],
        Value::Truth(_) => return Err(format!("`{y}` is not a list of numbers").into()),
    };
    if heights.len() != series.x.len() {
        return Err(
            format!("`{y}` gives {} numbers for {} places", heights.len(), series.x.len()).into()
        );
    }
    Ok(pairs(&series.x, &heights))
}

/// Returns the points of the series that were simulated: `time.*` measured as `time.50` and
/// `time.200` has points at 50 and 200, and of a list `[a, b, c]` those items that can be evaluated
/// have points.
fn simulated_of(series: &Series, y: &str, values: &ValuesByName) -> Vec<Point> {
    let y = y.trim();
    let listed = items(y).filter(|items| items.len() == series.x.len());
    if let Some(items) = listed {
        let point =
            |(x, item): (&f64, &str)| Some(Point::new(*x, expression::number(item, values).ok()?));
        return series.x.iter().zip(items).filter_map(point).collect();
    }
    let star = y.split('.').position(|part| part == "*");
    let places: Option<Vec<Point>> = star.and_then(|star| {
        let named = values.iter().filter(|(name, _)| expression::matches(y, name));
        let place =
            |name: &str| name.split('.').nth(star)?.parse().ok().filter(|x| series.x.contains(x));
        named.map(|(name, value)| Some(Point::new(place(name)?, value))).collect()
    });
    places.unwrap_or_else(|| simulated(series, y, values).unwrap_or_default())
}

/// Returns the items of a list written out, each an expression.
fn items(list: &str) -> Option<Vec<&str>> {
    let within = list.strip_prefix('[')?.strip_suffix(']')?;
    let (mut items, mut depth, mut start) = (vec![], 0, 0);
    for (at, c) in within.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&within[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&within[start..]);
    Some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> ValuesByName {
        let mut values = ValuesByName::default();
        for (name, value) in [("t.50", 1.0), ("t.200", 4.0), ("u.a", 5.0), ("u.b", 6.0)] {
            values.add(name.into(), value).expect("the names differ");
        }
        values
    }

    fn drawn(series: &str, reduced: bool) -> Result<Vec<(f64, f64)>, Error> {
        let text = format!("title = \"T\"\nx = \"\"\ny = \"\"\n[[series]]\nname = \"s\"\n{series}");
        let figure: Figure = toml::from_str(&text).expect("the text is well formed");
        let chart = chart(&figure, &values(), reduced)?;
        Ok(chart.series[0].points.iter().map(|point| (point.x, point.y)).collect())
    }

    #[test]
    fn simulated_and_published_points_are_drawn_by_rising_x() {
        assert_eq!(drawn("x = [50, 200]\ny = \"t.*\"", false), Ok(vec![(50.0, 1.0), (200.0, 4.0)]));
        assert_eq!(
            drawn("x = [2, 1]\npublished = [3, 4]", false),
            Ok(vec![(1.0, 4.0), (2.0, 3.0)])
        );
        assert_eq!(
            drawn("x = [1, 2]\ny = \"[u.b, 1 + u.a]\"", false),
            Ok(vec![(1.0, 6.0), (2.0, 6.0)])
        );
    }

    #[test]
    fn the_reduced_form_shows_the_points_that_there_are_at_their_places() {
        assert_eq!(
            drawn("x = [50, 100, 200]\ny = \"t.*\"", true),
            Ok(vec![(50.0, 1.0), (200.0, 4.0)])
        );
        assert_eq!(drawn("x = [1, 2]\ny = \"u.*\"", true), Ok(vec![(1.0, 5.0), (2.0, 6.0)]));
        assert_eq!(drawn("x = [1, 2, 3]\ny = \"u.*\"", true), Ok(vec![]));
        assert_eq!(drawn("x = [1, 2]\ny = \"nothing.*\"", true), Ok(vec![]));
        let written_out = "x = [1, 2, 3]\ny = \"[max(t.50, t.200), t.100, t.200]\"";
        assert_eq!(drawn(written_out, true), Ok(vec![(1.0, 4.0), (3.0, 4.0)]));
    }

    #[test]
    fn mistakes_name_the_series() {
        for (series, part) in [
            ("x = [1]", "needs a `y`"),
            ("x = [1]\ny = \"u.a\"\npublished = [1]", "only one of them"),
            ("x = [1, 2]\npublished = [1]", "1 published numbers at 2 places"),
            ("x = [1]\ny = \"u.*\"", "2 numbers for 1 places"),
            ("x = [1]\ny = \"u.a < 1\"", "not a list of numbers"),
            ("x = [1]\ny = \"w\"", "no measured value is called w"),
        ] {
            let error = drawn(series, false).expect_err(series).to_string();
            assert!(
                error.starts_with("figure \"T\", series \"s\": ") && error.contains(part),
                "{error}"
            );
        }
    }
}
