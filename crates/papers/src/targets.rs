//! Accepted ranges for the numbers of the published experiments: `targets.csv`.

use crate::error::{At, Error};

/// A row.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The experiment's id.
    pub id: String,
    /// The case.
    pub case: String,
    /// The quantity.
    pub quantity: String,
    /// Its unit; empty for pure numbers.
    pub unit: String,
    /// The minimum; `None`: no bound.
    pub low: Option<f64>,
    /// The maximum; `None`: no bound.
    pub high: Option<f64>,
    /// The published number; empty if the criterion is a rule.
    pub published: String,
}

const HEAD: &str = "id,case,quantity,unit,low,high,published";

/// Parses the file.
///
/// # Errors
/// The line and the mistake.
pub fn parse(text: &str) -> Result<Vec<Row>, Error> {
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some(HEAD) {
        return Err(Error::new(format!("the first line is not `{HEAD}`")).at("line 1"));
    }
    lines.enumerate().map(|(number, line)| row(line).at(format!("line {}", number + 2))).collect()
}

fn row(line: &str) -> Result<Row, Error> {
    let fields = fields(line)?;
    let count = fields.len();
    let [id, case, quantity, unit, low, high, published]: [String; 7] =
        fields.try_into().map_err(|_| Error::new(format!("{count} fields instead of 7")))?;
    let bound = |text: &str| match text {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(Error::new(format!("\"{text}\" is not a number"))),
        },
    };
    let (low, high) = (bound(&low)?, bound(&high)?);
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        return Err(format!("low is {low} and high {high}: low must not exceed high").into());
    }
    Ok(Row { low, high, id, case, quantity, unit, published })
}

/// Splits at commas that are not within quotation marks.
fn fields(line: &str) -> Result<Vec<String>, Error> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().expect("the list is never empty").push(c),
        }
    }
    if quoted { Err("a quotation mark is not closed".into()) } else { Ok(fields) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_open_ranges_and_quoted_commas() {
        let text = format!(
            "{HEAD}\nHB-1,a case,slope,,1.3,,1.429\nIB-0,\"exec 99 ms, enough\",nice_add,,0,0,\n"
        );
        let rows = parse(&text).expect("the text is well formed");
        assert_eq!((rows[0].low, rows[0].high), (Some(1.3), None));
        assert_eq!((rows[1].case.as_str(), rows[1].published.as_str()), ("exec 99 ms, enough", ""));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        assert!(parse("id\n").is_err());
        let why = |row: &str| {
            parse(&format!("{HEAD}\n{row}\n")).expect_err("the row is malformed").to_string()
        };
        assert_eq!(why("a,b"), "line 2: 2 fields instead of 7");
        assert_eq!(why("a,b,c,,x,,"), "line 2: \"x\" is not a number");
        assert!(parse(&format!("{HEAD}\na,\"b\n")).is_err());
    }
}
