//! A distribution as a strip: a stroke for the value under each condition, the accepted range
//! behind the strokes, the median and the published number above them.

use crate::judge::Judged;
use std::fmt::Write;

const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 22.0;
const MARGIN: f64 = 6.0;

/// Returns the strip of a demand as SVG. `None` if it is not about a number, or all values are
/// equal.
pub fn strip(judged: &Judged) -> Option<String> {
    let values = judged.values.as_ref().filter(|values| !values.is_single())?;
    let published: Option<f64> = judged.published.parse().ok();
    let shown = values.sorted().iter().copied().chain(published);
    let shown: Vec<f64> = shown
        .chain(judged.range.0)
        .chain(judged.range.1)
        .filter(|value| value.is_finite())
        .collect();
    let least = shown.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = most - least;
    if span.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) || !span.is_finite() {
        return None;
    }
    let x = |value: f64| MARGIN + (value - least) / span * (WIDTH - 2.0 * MARGIN);
    let mut svg = format!(
        "<svg class=\"strip\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\" aria-label=\"{} values from {} to {}\">\n",
        values.sorted().len(),
        crate::text::number(values.least()),
        crate::text::number(values.most()),
    );
    let from = judged.range.0.map_or(0.0, x);
    let to = judged.range.1.map_or(WIDTH, x);
    let mut put = |text: String| writeln!(svg, "{text}").expect("writing to a string cannot fail");
    if judged.range != (None, None) {
        put(format!(
            "<rect class=\"right\" x=\"{from:.1}\" y=\"7\" width=\"{:.1}\" height=\"14\"/>",
            (to - from).max(1.0)
        ));
    }
    for value in values.sorted().iter().filter(|value| value.is_finite()) {
        let x = x(*value);
        put(format!("<path class=\"one\" d=\"M{x:.1} 9V19\"/>"));
    }
    let median = values.median();
    if median.is_finite() {
        let x = x(median);
        put(format!("<path class=\"median\" d=\"M{x:.1} 6V21\"/>"));
    }
    if let Some(published) = published {
        let x = x(published);
        put(format!("<circle class=\"published\" cx=\"{x:.1}\" cy=\"3.5\" r=\"2.5\"/>"));
    }
    svg.push_str("</svg>");
    Some(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;
    use crate::judge::Verdict;

    fn judged(values: &[f64], published: &str) -> Judged {
        Judged {
            says: String::new(),
            published: published.into(),
            values: Some(Distribution::new(values)),
            unit: String::new(),
            range: (Some(0.0), Some(5.0)),
            holds: vec![],
            verdict: Verdict::HardMet,
            splits: vec![],
            otherwise: vec![],
            because: String::new(),
        }
    }

    /// The range from 0 to 10 covers 208 points: 5 lies halfway.
    #[test]
    fn every_value_has_its_stroke_at_its_place() {
        let svg = strip(&judged(&[0.0, 5.0, 10.0], "10")).expect("the values differ");
        assert_eq!(svg.matches("class=\"one\"").count(), 3);
        for part in [
            "<path class=\"one\" d=\"M6.0 9V19\"/>",
            "<path class=\"median\" d=\"M110.0 6V21\"/>",
            "<circle class=\"published\" cx=\"214.0\"",
            "<rect class=\"right\" x=\"6.0\" y=\"7\" width=\"104.0\"",
        ] {
            assert!(svg.contains(part), "no {part} in {svg}");
        }
    }

    #[test]
    fn a_single_value_has_no_strip() {
        assert_eq!(strip(&judged(&[2.0, 2.0], "1")), None);
        let svg = strip(&judged(&[1.0, 2.0, f64::NAN], "about 1")).expect("the values differ");
        assert_eq!(svg.matches("class=\"one\"").count(), 2);
        assert!(!svg.contains("circle") && !svg.contains("NaN"));
    }
}
