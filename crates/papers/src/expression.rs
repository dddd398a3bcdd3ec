//! The small language in which criteria are written: arithmetic, comparisons and a few functions
//! over measured values.
//!
//! ```text
//! time.o_n.8.200 > time.o_n.4.200
//! slope([50, 100, 150, 200], time.o_1.1.*) >= 0.85
//! falling(time.o_1.*.100) and max(gap.*) < 5
//! ```
//!
//! A name is what a run's file calls a value; with a `*` it is the list of all values whose names
//! match, in the order in which they were measured. `and` and `or` join truths. Functions of lists:
//! `min`, `max`, `mean`, `sum`, `count`, `variance` (divisor n - 1), `sd`, `cv` (sd / mean),
//! `population_variance`, `rising`, `falling` (strictly, in order), `slope` (least squares of the
//! logarithms of the second list against those of the first), `r2` (of a straight line through both
//! lists); of numbers: `abs`, `ratio(a, b)` (the larger over the smaller).

use crate::error::Error;
use schedlab_report::metrics::{mean, sample_variance, variance};
use std::collections::HashMap;

/// Named values, in the order in which they were measured.
#[derive(Clone, Debug, Default)]
pub struct ValuesByName {
    values: Vec<(String, f64)>,
    /// Where each name stands. Only looked up, never walked.
    places: HashMap<String, usize>,
}

impl ValuesByName {
    /// Adds a value.
    ///
    /// # Errors
    /// There is one of that name.
    pub fn add(&mut self, name: String, value: f64) -> Result<(), Error> {
        if self.places.insert(name.clone(), self.values.len()).is_some() {
            return Err(Error::new(format!("two values are called {name}")));
        }
        self.values.push((name, value));
        Ok(())
    }

    /// All of them, in the order in which they were measured.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.values.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// The one of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.places.get(name).map(|&place| self.values[place].1)
    }

    fn matching(&self, pattern: &str) -> Vec<f64> {
        self.values
            .iter()
            .filter(|(name, _)| matches(pattern, name))
            .map(|(_, value)| *value)
            .collect()
    }
}

/// Whether `name` is one that `pattern`, in which `*` stands for anything without a dot, means.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (patterns, names) = (pattern.split('.'), name.split('.'));
    patterns.clone().count() == names.clone().count()
        && patterns.zip(names).all(|(pattern, name)| pattern == "*" || pattern == name)
}

/// The names of values in `text`; none if it means nothing.
pub fn names(text: &str) -> Vec<String> {
    let tokens = tokens(text).unwrap_or_default();
    let is_call = |place: usize| tokens.get(place + 1) == Some(&Token::Sign("("));
    let name = |(place, token): (usize, &Token)| match token {
        Token::Name(name) if !is_call(place) && !matches!(name.as_str(), "and" | "or") => {
            Some(name.clone())
        }
        _ => None,
    };
    tokens.iter().enumerate().filter_map(name).collect()
}

/// What an expression comes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// A number.
    Number(f64),
    /// A list of numbers.
    List(Vec<f64>),
    /// True or false.
    Truth(bool),
}

type Evaluated = Result<Outcome, Error>;

/// Evaluates a text that must come to a number.
///
/// # Errors
/// It means nothing, or no number.
pub fn number(text: &str, values: &ValuesByName) -> Result<f64, Error> {
    match evaluate(text, values)? {
        Outcome::Number(value) => Ok(value),
        Outcome::List(list) if list.len() == 1 => Ok(list[0]),
        other => Err(Error::new(format!("`{text}` comes to {other:?}, which is no number"))),
    }
}

/// Evaluates a text that must come to true or false.
///
/// # Errors
/// It means nothing, or is neither.
pub fn truth(text: &str, values: &ValuesByName) -> Result<bool, Error> {
    match evaluate(text, values)? {
        Outcome::Truth(value) => Ok(value),
        other => {
            Err(Error::new(format!("`{text}` comes to {other:?}, which is neither true nor false")))
        }
    }
}

/// Evaluates a text.
///
/// # Errors
/// It means nothing.
pub fn evaluate(text: &str, values: &ValuesByName) -> Evaluated {
    let tokens = tokens(text)?;
    let mut reader = Reader { text, tokens: &tokens, at: 0, depth: 0, values };
    let result = reader.either()?;
    match reader.peek() {
        None => Ok(result),
        Some(token) => Err(reader.error(&format!("ends before {token:?}"))),
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Number(f64),
    Name(String),
    Sign(&'static str),
}

const SIGNS: &[&str] = &["<=", ">=", "==", "<", ">", "+", "-", "*", "/", "(", ")", "[", "]", ","];

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '@')
}

fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    let mut tokens = vec![];
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
            let number = rest[..end].parse();
            let number =
                number.map_err(|_| Error::new(format!("`{}` is no number", &rest[..end])))?;
            tokens.push(Token::Number(number));
            rest = &rest[end..];
        } else if is_name_part(first) {
            // A star within a name stands right after a dot; elsewhere it multiplies.
            let mut end = 0;
            for c in rest.chars() {
                if is_name_part(c) || (c == '*' && rest[..end].ends_with('.')) {
                    end += c.len_utf8();
                } else {
                    break;
                }
            }
            tokens.push(Token::Name(rest[..end].into()));
            rest = &rest[end..];
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else {
            return Err(Error::new(format!("`{text}`: `{first}` means nothing here")));
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    /// How many parentheses, brackets and signs it is in.
    depth: usize,
    values: &'a ValuesByName,
}

/// Nobody nests more than this.
const DEPTH_MAX: usize = 100;

impl Reader<'_> {
    fn error(&self, message: &str) -> Error {
        Error::new(format!("`{}` {message}", self.text))
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn accept(&mut self, sign: &str) -> bool {
        let is_it = match self.peek() {
            Some(Token::Sign(other)) => *other == sign,
            Some(Token::Name(name)) => name == sign,
            _ => false,
        };
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, sign: &str) -> Result<(), Error> {
        if self.accept(sign) { Ok(()) } else { Err(self.error(&format!("lacks a `{sign}`"))) }
    }

    fn as_number(&self, value: Outcome) -> Result<f64, Error> {
        match value {
            Outcome::Number(value) => Ok(value),
            Outcome::List(list) if list.len() == 1 => Ok(list[0]),
            other => Err(self.error(&format!("needs a number where {other:?} stands"))),
        }
    }

    fn as_truth(&self, value: Outcome) -> Result<bool, Error> {
        match value {
            Outcome::Truth(value) => Ok(value),
            other => Err(self.error(&format!("needs true or false where {other:?} stands"))),
        }
    }

    fn either(&mut self) -> Evaluated {
        let mut left = self.both()?;
        while self.accept("or") {
            let right = self.both()?;
            left = Outcome::Truth(self.as_truth(left)? | self.as_truth(right)?);
        }
        Ok(left)
    }

    fn both(&mut self) -> Evaluated {
        let mut left = self.comparison()?;
        while self.accept("and") {
            let right = self.comparison()?;
            left = Outcome::Truth(self.as_truth(left)? & self.as_truth(right)?);
        }
        Ok(left)
    }

    /// `a < b <= c` is true if both are.
    fn comparison(&mut self) -> Evaluated {
        let mut left = self.sum()?;
        let mut all = None;
        while let Some(sign) =
            ["<=", ">=", "==", "<", ">"].into_iter().find(|sign| self.accept(sign))
        {
            let right = self.sum()?;
            let (a, b) = (self.as_number(left)?, self.as_number(right)?);
            let holds = match sign {
                "<=" => a <= b,
                ">=" => a >= b,
                "<" => a < b,
                ">" => a > b,
                _ => a == b,
            };
            all = Some(all.unwrap_or(true) && holds);
            left = Outcome::Number(b);
        }
        Ok(all.map_or(left, Outcome::Truth))
    }

    fn sum(&mut self) -> Evaluated {
        let mut left = self.product()?;
        loop {
            let sign = if self.accept("+") {
                1.0
            } else if self.accept("-") {
                -1.0
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = Outcome::Number(self.as_number(left)? + sign * self.as_number(right)?);
        }
    }

    fn product(&mut self) -> Evaluated {
        let mut left = self.factor()?;
        loop {
            if self.accept("*") {
                let right = self.factor()?;
                left = Outcome::Number(self.as_number(left)? * self.as_number(right)?);
            } else if self.accept("/") {
                let right = self.factor()?;
                left = Outcome::Number(self.as_number(left)? / self.as_number(right)?);
            } else {
                return Ok(left);
            }
        }
    }

    fn factor(&mut self) -> Evaluated {
        if self.depth == DEPTH_MAX {
            return Err(Error::new(format!("an expression is nested more than {DEPTH_MAX} deep")));
        }
        self.depth += 1;
        let value = self.factor_within();
        self.depth -= 1;
        value
    }

    fn factor_within(&mut self) -> Evaluated {
        if self.accept("-") {
            let value = self.factor()?;
            return Ok(Outcome::Number(-self.as_number(value)?));
        }
        if self.accept("(") {
            let value = self.either()?;
            self.expect(")")?;
            return Ok(value);
        }
        if self.accept("[") {
            return Ok(Outcome::List(self.items("]")?));
        }
        match self.peek().cloned() {
            Some(Token::Number(value)) => {
                self.at += 1;
                Ok(Outcome::Number(value))
            }
            Some(Token::Name(name)) => {
                self.at += 1;
                if self.accept("(") { self.call(&name) } else { self.value(&name) }
            }
            _ => Err(self.error("lacks a value")),
        }
    }

    /// Values up to `end`, lists among them written out.
    fn items(&mut self, end: &str) -> Result<Vec<f64>, Error> {
        let mut items = vec![];
        while !self.accept(end) {
            match self.either()? {
                Outcome::List(list) => items.extend(list),
                other => items.push(self.as_number(other)?),
            }
            if !self.accept(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }

    fn value(&self, name: &str) -> Evaluated {
        if !name.contains('*') {
            let value = self.values.get(name);
            return value
                .map(Outcome::Number)
                .ok_or_else(|| self.error(&format!("names {name}, which nobody measured")));
        }
        let list = self.values.matching(name);
        if list.is_empty() {
            return Err(self.error(&format!("names {name}, and nothing measured has such a name")));
        }
        Ok(Outcome::List(list))
    }

    fn call(&mut self, function: &str) -> Evaluated {
        if matches!(function, "slope" | "r2") {
            let lists = [self.list_of(function)?, self.list_of(function)?];
            self.expect(")")?;
            let [x, y] = lists;
            if x.len() != y.len() || x.len() < 2 {
                return Err(self.error(&format!(
                    "gives {function} lists of {} and {}",
                    x.len(),
                    y.len()
                )));
            }
            return Ok(Outcome::Number(if function == "slope" {
                log_slope(&x, &y)
            } else {
                r2(&x, &y)
            }));
        }
        let list = self.items(")")?;
        if list.is_empty() {
            return Err(self.error(&format!("gives {function} nothing")));
        }
        let number = |value| Ok(Outcome::Number(value));
        match function {
            "min" => number(list.iter().copied().fold(f64::INFINITY, f64::min)),
            "max" => number(list.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            "sum" => number(list.iter().sum()),
            "count" => number(list.len() as f64),
            "mean" => number(mean(&list)),
            "variance" => number(sample_variance(&list)),
            "population_variance" => number(variance(&list, 0.0)),
            "sd" => number(sample_variance(&list).sqrt()),
            "cv" => number(sample_variance(&list).sqrt() / mean(&list)),
            "rising" => Ok(Outcome::Truth(list.windows(2).all(|pair| pair[0] < pair[1]))),
            "falling" => Ok(Outcome::Truth(list.windows(2).all(|pair| pair[0] > pair[1]))),
            "abs" if list.len() == 1 => number(list[0].abs()),
            "ratio" if list.len() == 2 => number((list[0] / list[1]).max(list[1] / list[0])),
            _ => Err(self.error(&format!(
                "calls {function}, which there is not, or not with so many values"
            ))),
        }
    }

    /// One argument that is a list.
    fn list_of(&mut self, function: &str) -> Result<Vec<f64>, Error> {
        let value = self.either()?;
        self.accept(",");
        match value {
            Outcome::List(list) => Ok(list),
            other => Err(self.error(&format!("gives {function} {other:?} where a list belongs"))),
        }
    }
}

/// The sums of products of deviations from the means: xx, xy, yy.
fn products(x: &[f64], y: &[f64]) -> (f64, f64, f64) {
    let (mean_x, mean_y) = (mean(x), mean(y));
    x.iter().zip(y).fold((0.0, 0.0, 0.0), |(xx, xy, yy), (x, y)| {
        let (dx, dy) = (x - mean_x, y - mean_y);
        (xx + dx * dx, xy + dx * dy, yy + dy * dy)
    })
}

fn log_slope(x: &[f64], y: &[f64]) -> f64 {
    let logs = |list: &[f64]| list.iter().map(|value| libm::log(*value)).collect::<Vec<f64>>();
    let (xx, xy, _) = products(&logs(x), &logs(y));
    xy / xx
}

fn r2(x: &[f64], y: &[f64]) -> f64 {
    let (xx, xy, yy) = products(x, y);
    xy * xy / (xx * yy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> ValuesByName {
        let mut values = ValuesByName::default();
        let times = [("50", 15.52), ("100", 37.63), ("150", 74.34), ("200", 110.62)];
        for (groups, time) in times {
            values.add(format!("time.o_n.{groups}"), time).unwrap();
        }
        values.add("a".into(), 2.0).unwrap();
        values
    }

    #[test]
    fn sums_and_comparisons() {
        let values = values();
        assert_eq!(number("1 + 2 * -3 - (4 - 6) / a", &values), Ok(-4.0));
        assert_eq!(truth("1 < a <= 2 and a == 2", &values), Ok(true));
        assert_eq!(truth("1 > a or 0 > 1", &values), Ok(false));
        assert_eq!(number("time.o_n.50 / 2", &values), Ok(7.76));
        assert_eq!(number("2*a", &values), Ok(4.0));
    }

    /// The published exponent of these times is 1.43.
    #[test]
    fn functions_of_lists() {
        let values = values();
        let slope = number("slope([50, 100, 150, 200], time.o_n.*)", &values).unwrap();
        assert!((slope - 1.429).abs() < 0.001, "{slope}");
        assert_eq!(truth("rising(time.o_n.*) and count(time.o_n.*) == 4", &values), Ok(true));
        assert_eq!(number("variance(1, 2, 3, 4)", &values), Ok(5.0 / 3.0));
        assert_eq!(number("ratio(2, 8)", &values), Ok(4.0));
        assert_eq!(number("r2([1, 2, 3], [2, 4, 6])", &values), Ok(1.0));
        assert_eq!(number("max(time.o_n.*, 500)", &values), Ok(500.0));
    }

    #[test]
    fn names_are_found_and_functions_are_none() {
        let text = "max(a.*, b.1) < 2 and ratio(c, 3) > 1 or (d) > 0";
        assert_eq!(names(text), ["a.*", "b.1", "c", "d"]);
        assert_eq!(names("a ; b"), Vec::<String>::new());
    }

    #[test]
    fn nonsense_is_told() {
        let values = values();
        for (text, part) in [
            ("b", "names b, which nobody measured"),
            ("b.*", "nothing measured has such a name"),
            ("1 +", "lacks a value"),
            ("(1", "lacks a `)`"),
            ("1 2", "ends before"),
            ("1 < 2 < ", "lacks a value"),
            ("nothing(1)", "calls nothing"),
            ("slope([1], [2])", "lists of 1 and 1"),
            ("slope(1, 2)", "where a list belongs"),
            ("a ; b", "means nothing here"),
            ("1.2.3", "is no number"),
            ("max()", "gives max nothing"),
            ("(1 < 2) + 1", "needs a number"),
            ("1 and 2", "needs true or false"),
        ] {
            let error = evaluate(text, &values).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(truth("a", &values).is_err() && number("a < 1", &values).is_err());
    }
}
