//! The expression language of this project: arithmetic, comparisons and functions over named
//! values. Published experiments state their demands in it.
//!
//! ```text
//! time.o_n.8.200 > time.o_n.4.200
//! slope([50, 100, 150, 200], time.o_1.1.*) >= 0.85
//! falling(time.o_1.*.100) and max(gap.*) < 5
//! ```
//!
//! An [`Expression`] is parsed once, and evaluated with any values. The language does not know what
//! a name means: a [`Vocabulary`] reads names, and the caller of [`Expression::evaluate`] supplies
//! their values.
//!
//! A comparison may have several parts: `a < b <= c` is true if both are. `and` and `or` join
//! truths, `and` binds more tightly; both sides are always evaluated. Brackets enclose a list.
//! Functions of numbers and lists, whose items count as arguments: `min`, `max`, `mean`, `sum`,
//! `count`, `variance` (divisor n - 1), `sd`, `cv` (sd / mean), `population_variance`, `rising` and
//! `falling` (strictly, in order). Of two lists: `slope` (least squares of the logarithms of the
//! second list against the logarithms of the first), `r2` (of a straight line through both lists).
//! Of numbers: `abs`, `sqrt`, `ratio(a, b)` (the larger over the smaller).

use crate::metrics::{mean, sample_variance, variance};
use std::fmt;

/// A parsed expression over names of type `N`.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression<N> {
    /// A number.
    Number(f64),
    /// A named value.
    Name(N),
    /// A list, written out.
    List(Vec<Expression<N>>),
    /// The negative of a number.
    Negated(Box<Expression<N>>),
    /// Two numbers joined by an operator.
    Arithmetic(Box<Expression<N>>, Operator, Box<Expression<N>>),
    /// A chain of comparisons; at least one.
    Comparison(Box<Expression<N>>, Vec<(Relation, Expression<N>)>),
    /// `and` of at least two.
    All(Vec<Expression<N>>),
    /// `or` of at least two.
    Any(Vec<Expression<N>>),
    /// A function applied to arguments.
    Call(Function, Vec<Expression<N>>),
}

/// An arithmetic operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

/// A relation between two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `<`
    Below,
    /// `>`
    Above,
}

impl Relation {
    const ALL: [(&'static str, Relation); 5] = [
        ("<=", Relation::AtMost),
        (">=", Relation::AtLeast),
        ("==", Relation::Equal),
        ("<", Relation::Below),
        (">", Relation::Above),
    ];

    fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Relation::AtMost => a <= b,
            Relation::AtLeast => a >= b,
            Relation::Equal => a == b,
            Relation::Below => a < b,
            Relation::Above => a > b,
        }
    }
}

/// A function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Function {
    Min,
    Max,
    Sum,
    Count,
    Mean,
    Variance,
    PopulationVariance,
    Sd,
    Cv,
    Rising,
    Falling,
    Abs,
    Sqrt,
    Ratio,
    Slope,
    R2,
}

/// The functions by name, with the number of arguments that each takes; `None`: one or more.
const FUNCTIONS: [(&str, Function, Option<usize>); 16] = [
    ("min", Function::Min, None),
    ("max", Function::Max, None),
    ("sum", Function::Sum, None),
    ("count", Function::Count, None),
    ("mean", Function::Mean, None),
    ("variance", Function::Variance, None),
    ("population_variance", Function::PopulationVariance, None),
    ("sd", Function::Sd, None),
    ("cv", Function::Cv, None),
    ("rising", Function::Rising, None),
    ("falling", Function::Falling, None),
    ("abs", Function::Abs, Some(1)),
    ("sqrt", Function::Sqrt, Some(1)),
    ("ratio", Function::Ratio, Some(2)),
    ("slope", Function::Slope, Some(2)),
    ("r2", Function::R2, Some(2)),
];

impl Function {
    /// Returns the name by which expressions call it.
    pub fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|(_, function, _)| *function == self).map_or("", |row| row.0)
    }

    /// Returns the value of the function for these numbers.
    fn of_numbers(self, list: &[f64]) -> Value {
        Value::Number(match self {
            Function::Min => list.iter().copied().fold(f64::INFINITY, f64::min),
            Function::Max => list.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Function::Sum => list.iter().sum(),
            Function::Count => list.len() as f64,
            Function::Mean => mean(list),
            Function::Variance => sample_variance(list),
            Function::PopulationVariance => variance(list, 0.0),
            Function::Sd => sample_variance(list).sqrt(),
            Function::Cv => sample_variance(list).sqrt() / mean(list),
            Function::Abs => list[0].abs(),
            Function::Sqrt => list[0].sqrt(),
            Function::Ratio => (list[0] / list[1]).max(list[1] / list[0]),
            Function::Rising => {
                return Value::Truth(list.windows(2).all(|pair| pair[0] < pair[1]));
            }
            Function::Falling => {
                return Value::Truth(list.windows(2).all(|pair| pair[0] > pair[1]));
            }
            Function::Slope | Function::R2 => f64::NAN,
        })
    }
}

/// The value of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A list of numbers.
    List(Vec<f64>),
    /// True or false.
    Truth(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "the number {number}"),
            Value::List(list) => write!(f, "a list of {}", list.len()),
            Value::Truth(truth) => write!(f, "{truth}"),
        }
    }
}

impl Value {
    /// Returns the number. A list of one number counts as that number.
    ///
    /// # Errors
    /// The value is not a number.
    pub fn number(self) -> Result<f64, String> {
        match self {
            Value::Number(value) => Ok(value),
            Value::List(list) if list.len() == 1 => Ok(list[0]),
            other => Err(format!("{other} where a number is needed")),
        }
    }

    /// Returns the truth.
    ///
    /// # Errors
    /// The value is neither true nor false.
    pub fn truth(self) -> Result<bool, String> {
        match self {
            Value::Truth(value) => Ok(value),
            other => Err(format!("{other} where true or false is needed")),
        }
    }
}

/// The names that expressions may use.
pub trait Vocabulary {
    /// A name.
    type Name;

    /// Reads the name at which `input` stands, and whatever belongs to it.
    ///
    /// # Errors
    /// No name begins there, or the name is unknown.
    fn read(&self, input: &mut Input<'_>) -> Result<Self::Name, String>;

    /// Units that may follow a number, with their factors. Of units that begin alike, the longer
    /// comes first.
    fn units(&self) -> &[(&'static str, f64)] {
        &[]
    }
}

/// The text of an expression, and how far it has been read.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

impl<'a> Input<'a> {
    /// Returns the text that has not been read yet.
    pub fn rest(&self) -> &'a str {
        self.rest
    }

    /// Reads up to `bytes` further, and returns that part.
    pub fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// Skips white space.
    pub fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Reads `sign` if it comes next.
    pub fn accept(&mut self, sign: &str) -> bool {
        self.skip_space();
        let behind = self.rest.strip_prefix(sign);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    /// Describes a mistake at the place that was read up to.
    pub fn error(&self, message: impl fmt::Display) -> String {
        let read = self.text[..self.text.len() - self.rest.len()].trim_end();
        match read {
            "" => format!("`{}`: {message}", self.text),
            read => format!("`{}`, after `{read}`: {message}", self.text),
        }
    }

    /// Reads the word `word` if it comes next and no longer word begins with it.
    fn accept_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let behind = self.rest.strip_prefix(word);
        let behind = behind.filter(|rest| !rest.starts_with(is_word_part));
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }
}

fn is_word_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '@')
}

/// Maximum depth to which parentheses, brackets and signs are nested.
const DEPTH_MAX: usize = 100;

impl<N> Expression<N> {
    /// Parses the whole of `text`.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(
        text: &str,
        vocabulary: &impl Vocabulary<Name = N>,
    ) -> Result<Expression<N>, String> {
        let mut parser = Parser { input: Input { text, rest: text, depth: 0 }, vocabulary };
        let expression = parser.any()?;
        parser.input.skip_space();
        match parser.input.rest {
            "" => Ok(expression),
            rest => Err(parser.input.error(format!("`{rest}` does not belong here"))),
        }
    }

    /// Evaluates the expression; `value_of` supplies the values of names.
    ///
    /// # Errors
    /// A name has no value, or a value is of the wrong kind.
    pub fn evaluate(
        &self,
        value_of: &impl Fn(&N) -> Result<Value, String>,
    ) -> Result<Value, String> {
        let number = |part: &Expression<N>| part.evaluate(value_of)?.number();
        let truths = |parts: &[Expression<N>]| -> Result<Vec<bool>, String> {
            parts.iter().map(|part| part.evaluate(value_of)?.truth()).collect()
        };
        Ok(match self {
            Expression::Number(value) => Value::Number(*value),
            Expression::Name(name) => value_of(name)?,
            Expression::List(items) => Value::List(flattened(items, value_of)?),
            Expression::Negated(part) => Value::Number(-number(part)?),
            Expression::Arithmetic(left, operator, right) => {
                let (left, right) = (number(left)?, number(right)?);
                Value::Number(match operator {
                    Operator::Plus => left + right,
                    Operator::Minus => left - right,
                    Operator::Times => left * right,
                    Operator::Over => left / right,
                })
            }
            Expression::Comparison(first, others) => {
                let mut left = number(first)?;
                let mut all = true;
                for (relation, right) in others {
                    let right = number(right)?;
                    all &= relation.holds(left, right);
                    left = right;
                }
                Value::Truth(all)
            }
            Expression::All(parts) => Value::Truth(truths(parts)?.iter().all(|holds| *holds)),
            Expression::Any(parts) => Value::Truth(truths(parts)?.iter().any(|holds| *holds)),
            Expression::Call(function @ (Function::Slope | Function::R2), arguments) => {
                let list = |part: &Expression<N>| match part.evaluate(value_of)? {
                    Value::List(list) => Ok(list),
                    other => Err(format!("{}() takes lists, not {other}", function.name())),
                };
                let (x, y) = (list(&arguments[0])?, list(&arguments[1])?);
                if x.len() != y.len() || x.len() < 2 {
                    return Err(format!(
                        "{}() takes two lists of the same length, at least 2; these have {} and {}",
                        function.name(),
                        x.len(),
                        y.len()
                    ));
                }
                Value::Number(match function {
                    Function::Slope => log_slope(&x, &y),
                    _ => r2(&x, &y),
                })
            }
            Expression::Call(function, arguments) => {
                let list = flattened(arguments, value_of)?;
                let takes = FUNCTIONS.iter().find(|row| row.1 == *function).and_then(|row| row.2);
                if list.is_empty() || takes.is_some_and(|takes| takes != list.len()) {
                    let name = function.name();
                    return Err(format!("{name}() does not take {} values", list.len()));
                }
                function.of_numbers(&list)
            }
        })
    }

    /// Calls `visit` with every name in the expression, in the order of the text.
    pub fn for_each_name<'a>(&'a self, visit: &mut impl FnMut(&'a N)) {
        match self {
            Expression::Number(_) => {}
            Expression::Name(name) => visit(name),
            Expression::Negated(part) => part.for_each_name(visit),
            Expression::Arithmetic(left, _, right) => {
                left.for_each_name(visit);
                right.for_each_name(visit);
            }
            Expression::Comparison(first, others) => {
                first.for_each_name(visit);
                others.iter().for_each(|(_, part)| part.for_each_name(visit));
            }
            Expression::List(parts)
            | Expression::All(parts)
            | Expression::Any(parts)
            | Expression::Call(_, parts) => {
                parts.iter().for_each(|part| part.for_each_name(visit));
            }
        }
    }
}

/// Returns the numbers of these expressions, the items of lists among them.
fn flattened<N>(
    parts: &[Expression<N>],
    value_of: &impl Fn(&N) -> Result<Value, String>,
) -> Result<Vec<f64>, String> {
    let mut numbers = vec![];
    for part in parts {
        match part.evaluate(value_of)? {
            Value::List(list) => numbers.extend(list),
            other => numbers.push(other.number()?),
        }
    }
    Ok(numbers)
}

struct Parser<'a, V> {
    input: Input<'a>,
    vocabulary: &'a V,
}

type Parsed<N> = Result<Expression<N>, String>;

impl<V: Vocabulary> Parser<'_, V> {
    /// Parses `a or b or c`.
    fn any(&mut self) -> Parsed<V::Name> {
        let first = self.all()?;
        let mut parts = vec![first];
        while self.input.accept_word("or") {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::Any(parts) })
    }

    /// Parses `a and b and c`.
    fn all(&mut self) -> Parsed<V::Name> {
        let first = self.comparison()?;
        let mut parts = vec![first];
        while self.input.accept_word("and") {
            parts.push(self.comparison()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::All(parts) })
    }

    /// Parses `a < b <= c`.
    fn comparison(&mut self) -> Parsed<V::Name> {
        let first = self.sum()?;
        let mut others = vec![];
        while let Some((_, relation)) =
            Relation::ALL.into_iter().find(|(sign, _)| self.input.accept(sign))
        {
            others.push((relation, self.sum()?));
        }
        Ok(if others.is_empty() { first } else { Expression::Comparison(Box::new(first), others) })
    }

    fn sum(&mut self) -> Parsed<V::Name> {
        let mut left = self.product()?;
        loop {
            let operator = if self.input.accept("+") {
                Operator::Plus
            } else if self.input.accept("-") {
                Operator::Minus
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = Expression::Arithmetic(Box::new(left), operator, Box::new(right));
        }
    }

    fn product(&mut self) -> Parsed<V::Name> {
        let mut left = self.factor()?;
        loop {
            let operator = if self.input.accept("*") {
                Operator::Times
            } else if self.input.accept("/") {
                Operator::Over
            } else {
                return Ok(left);
            };
            let right = self.factor()?;
            left = Expression::Arithmetic(Box::new(left), operator, Box::new(right));
        }
    }

    fn factor(&mut self) -> Parsed<V::Name> {
        if self.input.depth == DEPTH_MAX {
            // Without the text, which is long.
            return Err(format!("an expression is nested more than {DEPTH_MAX} levels deep"));
        }
        self.input.depth += 1;
        let factor = self.factor_inside();
        self.input.depth -= 1;
        factor
    }

    fn factor_inside(&mut self) -> Parsed<V::Name> {
        if self.input.accept("-") {
            return Ok(Expression::Negated(Box::new(self.factor()?)));
        }
        if self.input.accept("(") {
            let inside = self.any()?;
            return match self.input.accept(")") {
                true => Ok(inside),
                false => Err(self.input.error("a `)` is missing")),
            };
        }
        if self.input.accept("[") {
            return Ok(Expression::List(self.items("]")?));
        }
        self.input.skip_space();
        match self.input.rest.chars().next() {
            None => Err(self.input.error("a value is missing")),
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(_) => match self.function() {
                Some((name, function, takes)) => self.call(name, function, takes),
                None => self.vocabulary.read(&mut self.input).map(Expression::Name),
            },
        }
    }

    /// Reads the name of a function and the parenthesis behind it, if they come next.
    fn function(&mut self) -> Option<(&'static str, Function, Option<usize>)> {
        let rest = self.input.rest;
        let end = rest.find(|c| !is_word_part(c)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let known = FUNCTIONS.into_iter().find(|(known, ..)| *known == name)?;
        self.input.rest = behind.trim_start().strip_prefix('(')?;
        Some(known)
    }

    fn call(&mut self, name: &str, function: Function, takes: Option<usize>) -> Parsed<V::Name> {
        let arguments = self.items(")")?;
        if arguments.is_empty() {
            return Err(self.input.error(format!("{name}() needs a value")));
        }
        // A list counts as its items. Of two lists there must be two.
        let is_of_lists = matches!(function, Function::Slope | Function::R2);
        if let Some(takes) = takes
            && (arguments.len() > takes || is_of_lists && arguments.len() < takes)
        {
            let values = match takes {
                1 => "one value",
                _ if is_of_lists => "two lists",
                _ => "two values",
            };
            return Err(self.input.error(format!("{name}() takes {values}")));
        }
        Ok(Expression::Call(function, arguments))
    }

    /// Expressions separated by commas, up to `end`.
    fn items(&mut self, end: &str) -> Result<Vec<Expression<V::Name>>, String> {
        let mut items = vec![];
        while !self.input.accept(end) {
            items.push(self.any()?);
            if !self.input.accept(",") {
                if !self.input.accept(end) {
                    return Err(self.input.error(format!("a `{end}` is missing")));
                }
                break;
            }
        }
        Ok(items)
    }

    fn number(&mut self) -> Parsed<V::Name> {
        // `1e6` and `1.5e-3`, but not the e of a word.
        let bytes = self.input.rest.as_bytes();
        let mut end = 0;
        while end < bytes.len() {
            let next = bytes.get(end + 1);
            let is_exponent = matches!(bytes[end], b'e' | b'E')
                && next.is_some_and(|next| next.is_ascii_digit() || b"+-".contains(next));
            if !(bytes[end].is_ascii_digit() || bytes[end] == b'.' || is_exponent) {
                break;
            }
            end += if is_exponent { 2 } else { 1 };
        }
        let digits = &self.input.rest[..end];
        let number: f64 =
            digits.parse().map_err(|_| self.input.error(format!("`{digits}` is not a number")))?;
        self.input.rest = &self.input.rest[end..];
        let behind = self.input.rest.trim_start();
        let unit = self.vocabulary.units().iter().find(|(unit, _)| {
            behind.strip_prefix(unit).is_some_and(|rest| !rest.starts_with(is_word_part))
        });
        let Some((unit, factor)) = unit else { return Ok(Expression::Number(number)) };
        self.input.rest = &behind[unit.len()..];
        Ok(Expression::Number(number * factor))
    }
}

/// Returns the sums of products of deviations from the means: xx, xy, yy.
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

    /// Names of one letter: `a` is 1, `b` is 2, and so on; `x` has no value, `l` is a list.
    struct Letters;

    impl Vocabulary for Letters {
        type Name = char;

        fn read(&self, input: &mut Input<'_>) -> Result<char, String> {
            match input.rest().chars().next() {
                Some(letter @ 'a'..='z') => {
                    input.take(1);
                    Ok(letter)
                }
                _ => Err(input.error("no name begins here")),
            }
        }

        fn units(&self) -> &[(&'static str, f64)] {
            &[("ms", 1e6), ("s", 1e9), ("%", 0.01)]
        }
    }

    fn evaluate(text: &str) -> Result<Value, String> {
        Expression::parse(text, &Letters)?.evaluate(&|name| match name {
            'x' => Err("x has no value".into()),
            'l' => Ok(Value::List(vec![1.0, 2.0, 4.0])),
            letter => Ok(Value::Number(f64::from(*letter as u8 - b'a' + 1))),
        })
    }

    fn number(text: &str) -> f64 {
        evaluate(text).and_then(Value::number).unwrap_or_else(|error| panic!("{error}"))
    }

    fn truth(text: &str) -> bool {
        evaluate(text).and_then(Value::truth).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        assert_eq!(number("1 + 2 * -3 - (4 - 6) / b"), -4.0);
        assert_eq!(number("2*b - 1"), 3.0);
        assert!(truth("1 < b <= 2 and b == 2"));
        assert!(!truth("1 > b or 0 > 1"));
        assert!(truth("a > b and a > c or a < b"));
        assert!(!truth("a > b and (a > c or a < b)"));
    }

    #[test]
    fn numbers_may_have_exponents_and_units() {
        assert_eq!(number("1.5e-3 * 2E3"), 3.0);
        assert_eq!(number("3 ms / 1s"), 0.003);
        assert_eq!(number("50 % * 4"), 2.0);
        assert!(evaluate("1 second").is_err());
    }

    #[test]
    fn lists_count_as_their_items() {
        assert_eq!(number("sum(l, [1, c], 2,)"), 13.0);
        assert_eq!(number("max(l, 3) + count([l, l])"), 10.0);
        assert_eq!(number("variance(1, 2, 3, 4)"), 5.0 / 3.0);
        assert_eq!(number("ratio(2, 8) + ratio([8, 2])"), 8.0);
        assert_eq!(number("sqrt(d) + abs(-2)"), 4.0);
        assert_eq!(number("r2([1, 2, 3], [2, 4, 6])"), 1.0);
        assert!(truth("rising(l)") && !truth("falling(l)"));
    }

    #[test]
    fn names_come_in_the_order_of_the_text() {
        let expression = Expression::parse("max(a, b) < c and [d] == e or -f > 1", &Letters);
        let mut names = String::new();
        expression.expect("the text is well formed").for_each_name(&mut |name| names.push(*name));
        assert_eq!(names, "abcdef");
    }

    #[test]
    fn mistakes_name_the_place() {
        for (text, part) in [
            ("x", "x has no value"),
            ("1 +", "after `1 +`: a value is missing"),
            ("(1", "a `)` is missing"),
            ("[1, 2", "a `]` is missing"),
            ("1 2", "after `1`: `2` does not belong here"),
            ("1 < 2 < ", "a value is missing"),
            ("slope([1], [2])", "these have 1 and 1"),
            ("slope(1, 2)", "takes lists, not the number 1"),
            ("slope(l)", "takes two lists"),
            ("a ; b", "`; b` does not belong here"),
            ("1.2.3", "`1.2.3` is not a number"),
            ("max()", "max() needs a value"),
            ("abs(1, 2)", "abs() takes one value"),
            ("ratio(l)", "ratio() does not take 3 values"),
            ("(1 < 2) + 1", "true where a number is needed"),
            ("1 and 2", "the number 1 where true or false is needed"),
            ("?", "no name begins here"),
        ] {
            let error = evaluate(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        let deep = "(".repeat(1000);
        assert!(evaluate(&deep).expect_err("too deep").contains("nested more than 100"));
    }
}
