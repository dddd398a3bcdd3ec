//! What is told of each run: expressions over the metrics of the catalogue and the figures of
//! benchmarks, [`Told`].
//!
//! ```text
//! wakeup_latency_p99                         a metric of the run, by its id
//! key_wakeup_latency_p99(audio)              one of a key, a group or a CPU: named in parentheses
//! p99 wakeup latency of audio                the same in words: a title, and `of`
//! throughput of cc                           jobs of a key, a second
//! figure(time)                               what a benchmark found
//! lag = 2 * burst_lag_max / 1ms              arithmetic, with a name; min(), max(), abs(), sqrt()
//! minimize wait_mean                         with what is better; default: as the catalogue says
//! ```

use schedlab_lab::run::Run;
use schedlab_measure::Better;
use schedlab_measure::catalogue::{self, Named, Scope};
use schedlab_report::metrics::{MeasureError, measure};
use schedlab_workload::close_names;

/// What is told of each run, under a name.
#[derive(Clone, PartialEq, Debug)]
pub struct Told {
    /// The column of results.
    pub name: String,
    /// Which value is better.
    pub better: Better,
    /// Its unit; empty where it is an expression.
    pub unit: &'static str,
    expression: Expression,
}

#[derive(Clone, PartialEq, Debug)]
enum Expression {
    Number(f64),
    Metric(Named, Vec<String>),
    /// Jobs of a key, a second.
    Throughput(String),
    Figure(String),
    Negated(Box<Expression>),
    Joined(Box<Expression>, char, Box<Expression>),
    Call(Function, Vec<Expression>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    Min,
    Max,
    Abs,
    Sqrt,
}

const FUNCTIONS: [(&str, Function); 4] = [
    ("min", Function::Min),
    ("max", Function::Max),
    ("abs", Function::Abs),
    ("sqrt", Function::Sqrt),
];

/// Units that may follow a number, and what they come to in ns, or as a part of 1.
const UNITS: [(&str, f64); 6] =
    [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("%", 0.01), ("µs", 1e3)];

/// Parentheses within each other, at most.
const DEPTH_MAX: usize = 50;

impl Told {
    /// Reads `[minimize|maximize] [NAME =] EXPRESSION`.
    ///
    /// # Errors
    /// What is wrong with it and what would be right.
    pub fn parse(text: &str) -> Result<Told, String> {
        let text = text.trim();
        let (better, rest) = match text.split_once(char::is_whitespace) {
            Some(("minimize" | "minimise", rest)) => (Some(Better::Lower), rest.trim()),
            Some(("maximize" | "maximise", rest)) => (Some(Better::Higher), rest.trim()),
            _ => (None, text),
        };
        let (name, body) = match rest.split_once('=') {
            Some((name, body)) => (name.trim(), body.trim()),
            None => (rest, rest),
        };
        if name.is_empty() || body.is_empty() {
            return Err(format!("`{text}`: write it as EXPRESSION, or NAME = EXPRESSION"));
        }
        let mut reader = Reader { text: body, rest: body, depth: 0 };
        let expression = reader.sum()?;
        reader.space();
        if !reader.rest.is_empty() {
            return Err(reader.error(&format!("`{}` means nothing here", reader.rest)));
        }
        let (own, unit) = match &expression {
            Expression::Metric(named, _) => (named.better(), named.unit().name()),
            Expression::Throughput(_) => (Better::Higher, "1/s"),
            _ => (Better::Neither, ""),
        };
        Ok(Told { name: name.into(), better: better.unwrap_or(own), unit, expression })
    }

    /// A metric of the whole run by its id.
    pub(super) fn of_id(id: &str) -> Option<Told> {
        Told::parse(id).ok()
    }

    /// The value of `run`; none if it has none.
    pub fn value(&self, run: &Run) -> Option<f64> {
        self.expression.value(run).ok().filter(|value| value.is_finite())
    }

    /// Why `run` has no value, and which are there; none: it has, or might under other conditions.
    pub fn unknown_figure(&self, run: &Run) -> Option<String> {
        let mut names = vec![];
        self.expression.figures(&mut names);
        let known: Vec<&str> = run.findings.figures.iter().map(|it| it.name.as_str()).collect();
        let name = names.into_iter().find(|name| !known.contains(name))?;
        let close = close_names(name, known.iter().copied());
        Some(match close.as_slice() {
            _ if known.is_empty() => format!("figure({name}): the run found no figures"),
            [] => format!("there is no figure({name}); there are {}", known.join(", ")),
            close => format!("there is no figure({name}); did you mean {}?", close.join(" or ")),
        })
    }

    /// The keys, groups and CPUs that it names.
    pub(super) fn named(&self) -> Vec<(Scope, &str)> {
        let mut found = vec![];
        self.expression.named(&mut found);
        found
    }

    /// Whether a figure of a benchmark is in it.
    pub(super) fn has_figures(&self) -> bool {
        let mut names = vec![];
        self.expression.figures(&mut names);
        !names.is_empty()
    }
}

impl Expression {
    fn value(&self, run: &Run) -> Result<f64, MeasureError> {
        let all = |list: &[Expression]| -> Result<Vec<f64>, MeasureError> {
            list.iter().map(|one| one.value(run)).collect()
        };
        Ok(match self {
            Expression::Number(number) => *number,
            Expression::Metric(named, arguments) => {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                measure(&run.report, *named, &arguments)?
            }
            Expression::Throughput(key) => {
                let jobs = catalogue::find("key_jobs").ok_or(MeasureError::NoValue)?;
                let jobs = measure(&run.report, jobs, &[key])?;
                jobs * 1e9 / run.report.end.at_ns as f64
            }
            Expression::Figure(name) => run.findings.figure(name).ok_or(MeasureError::NoValue)?,
            Expression::Negated(one) => -one.value(run)?,
            Expression::Joined(left, sign, right) => {
                let (left, right) = (left.value(run)?, right.value(run)?);
                match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
            Expression::Call(function, arguments) => {
                let values = all(arguments)?;
                match function {
                    Function::Min => values.into_iter().fold(f64::INFINITY, f64::min),
                    Function::Max => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
                    Function::Abs => values.first().map_or(f64::NAN, |value| value.abs()),
                    Function::Sqrt => values.first().map_or(f64::NAN, |value| value.sqrt()),
                }
            }
        })
    }

    fn parts(&self) -> Vec<&Expression> {
        match self {
            Expression::Negated(one) => vec![one],
            Expression::Joined(left, _, right) => vec![left, right],
            Expression::Call(_, list) => list.iter().collect(),
            _ => vec![],
        }
    }

    fn named<'a>(&'a self, found: &mut Vec<(Scope, &'a str)>) {
        match self {
            Expression::Metric(named, arguments) => {
                let scope = match named.metric.scope {
                    Scope::KeyPair => Scope::Key,
                    other => other,
                };
                found.extend(arguments.iter().map(|argument| (scope, argument.as_str())));
            }
            Expression::Throughput(key) => found.push((Scope::Key, key)),
            other => other.parts().into_iter().for_each(|part| part.named(found)),
        }
    }

    fn figures<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Expression::Figure(name) => found.push(name),
            other => other.parts().into_iter().for_each(|part| part.figures(found)),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

impl Reader<'_> {
    fn error(&self, message: &str) -> String {
        match self.text.len() - self.rest.len() {
            0 => format!("`{}`: {message}", self.text),
            at => format!("`{}`, behind `{}`: {message}", self.text, &self.text[..at]),
        }
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn sign(&mut self, signs: &[char]) -> Option<char> {
        self.space();
        let sign = self.rest.chars().next().filter(|c| signs.contains(c))?;
        self.rest = &self.rest[sign.len_utf8()..];
        Some(sign)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            left = Expression::Joined(Box::new(left), sign, Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.one()?;
        while let Some(sign) = self.sign(&['*', '/']) {
            left = Expression::Joined(Box::new(left), sign, Box::new(self.one()?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("`{}` is nested too deep", self.text));
        }
        let one = self.one_uncounted();
        self.depth -= 1;
        one
    }

    fn one_uncounted(&mut self) -> Result<Expression, String> {
        if self.sign(&['-']).is_some() {
            return Ok(Expression::Negated(Box::new(self.one()?)));
        }
        if self.sign(&['(']).is_some() {
            let inner = self.sum()?;
            return match self.sign(&[')']) {
                Some(_) => Ok(inner),
                None => Err(self.error("a ) is missing")),
            };
        }
        self.space();
        match self.rest.chars().next() {
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.words(),
            Some(c) => Err(self.error(&format!("`{c}` means nothing here"))),
            None => Err(self.error("something is missing")),
        }
    }

    fn number(&mut self) -> Result<Expression, String> {
        // 1e6 and 1.5e-3, but not the e of a word.
        let bytes = self.rest.as_bytes();
        let mut end = 0;
        while end < bytes.len() {
            let exponent = matches!(bytes[end], b'e' | b'E')
                && bytes.get(end + 1).is_some_and(|it| it.is_ascii_digit() || b"+-".contains(it));
            if !(bytes[end].is_ascii_digit() || bytes[end] == b'.' || exponent) {
                break;
            }
            end += if exponent { 2 } else { 1 };
        }
        let text = &self.rest[..end];
        let number: f64 =
            text.parse().map_err(|_| self.error(&format!("`{text}` is no number")))?;
        self.rest = &self.rest[end..];
        let behind = self.rest.trim_start();
        let unit = UNITS.iter().find(|(unit, _)| {
            behind.strip_prefix(unit).is_some_and(|rest| !rest.starts_with(is_word))
        });
        let Some((unit, of)) = unit else { return Ok(Expression::Number(number)) };
        self.rest = &behind[unit.len()..];
        Ok(Expression::Number(number * of))
    }

    /// A metric or a function, with what stands in parentheses behind it or follows `of`.
    fn words(&mut self) -> Result<Expression, String> {
        let mut words: Vec<&str> = vec![];
        loop {
            self.space();
            let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
            if end == 0 {
                break;
            }
            words.push(&self.rest[..end]);
            self.rest = &self.rest[end..];
            if words.last() == Some(&"of") {
                words.pop();
                let key = self.argument()?;
                return self.in_words(&words, Some(&key));
            }
        }
        let name = words.join(" ");
        if self.sign(&['(']).is_none() {
            return self.in_words(&words, None);
        }
        if let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
            let mut arguments = vec![self.sum()?];
            while self.sign(&[',']).is_some() {
                arguments.push(self.sum()?);
            }
            if self.sign(&[')']).is_none() {
                return Err(self.error("a ) is missing"));
            }
            let single = matches!(function, Function::Abs | Function::Sqrt);
            if single && arguments.len() != 1 {
                return Err(self.error(&format!("{name}() takes one value")));
            }
            return Ok(Expression::Call(*function, arguments));
        }
        let Some((inner, behind)) = self.rest.split_once(')') else {
            return Err(self.error("a ) is missing"));
        };
        self.rest = behind;
        let quotes: &[char] = &['"', '\''];
        let arguments: Vec<String> =
            inner.split(',').map(|it| it.trim().trim_matches(quotes).to_string()).collect();
        if name == "figure" {
            return Ok(Expression::Figure(inner.trim().trim_matches(quotes).into()));
        }
        let named = self.metric(&name)?;
        let wanted = named.metric.scope.arguments();
        if wanted.len() != arguments.len() || arguments.iter().any(String::is_empty) {
            let wanted = wanted.join(", ");
            return Err(self.error(&match wanted.is_empty() {
                true => format!("{name} is of the whole run; leave the parentheses out"),
                false => format!("write it as {name}({wanted})"),
            }));
        }
        Ok(Expression::Metric(named, arguments))
    }

    /// What stands behind `of`: a word, or anything in quotes.
    fn argument(&mut self) -> Result<String, String> {
        self.space();
        if let Some(quote) = self.sign(&['"', '\'']) {
            let Some((inner, behind)) = self.rest.split_once(quote) else {
                return Err(self.error("a quote is missing"));
            };
            self.rest = behind;
            return Ok(inner.into());
        }
        let is_part = |c: char| !c.is_whitespace() && !"+*)(,<>=".contains(c);
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.error("of what? A task, a group or a CPU is missing"));
        }
        let word = self.rest[..end].to_string();
        self.rest = &self.rest[end..];
        Ok(word)
    }

    /// A metric in words: its id or title, a statistic before it or behind.
    fn in_words(&self, words: &[&str], of: Option<&str>) -> Result<Expression, String> {
        let name = words.join(" ");
        let wanted: &[Scope] = match of {
            None => &[Scope::Run],
            Some(path) if path.starts_with('/') => &[Scope::Group],
            Some(number) if number.bytes().all(|c| c.is_ascii_digit()) => &[Scope::Cpu, Scope::Key],
            Some(_) => &[Scope::Key],
        };
        let mut turned = words.to_vec();
        if !turned.is_empty() {
            turned.rotate_left(1);
        }
        let turned = turned.join(" ");
        for scope in wanted {
            let prefix = match scope {
                Scope::Key => "key_",
                Scope::Group => "group_",
                Scope::Cpu => "cpu_",
                _ => "",
            };
            let fits = |named: &Named| {
                let (id, title) = (named.id(), named.title());
                let bare = id.strip_prefix(prefix).unwrap_or(&id);
                named.metric.scope == *scope
                    && [&name, &turned]
                        .into_iter()
                        .any(|name| *name == id || *name == title || name.replace(' ', "_") == bare)
            };
            if let Some(named) = catalogue::every().find(fits) {
                return Ok(Expression::Metric(named, of.into_iter().map(String::from).collect()));
            }
        }
        if let (Some(key), "throughput", [Scope::Key]) = (of, name.as_str(), wanted) {
            return Ok(Expression::Throughput(key.into()));
        }
        let scope = wanted.last().copied().unwrap_or(Scope::Run);
        if let Ok(named) = self.metric(&name.replace(' ', "_")) {
            let (id, arguments) = (named.id(), named.metric.scope.arguments().join(", "));
            return Err(self.error(&match arguments.is_empty() {
                true => format!("{id} is of the whole run, not of {}", scope.title()),
                false => format!("of what? Write it as {id}({arguments})"),
            }));
        }
        let every: Vec<Named> = catalogue::every().filter(|it| it.metric.scope == scope).collect();
        let ids: Vec<String> = every.iter().map(Named::id).collect();
        let joined = name.replace(' ', "_");
        let close = close_names(&joined, ids.iter().map(String::as_str));
        let hint = match close.as_slice() {
            [] => "docs/metrics.md and `schedlab explain-metric` have them all".into(),
            close => format!("did you mean {}?", close.join(" or ")),
        };
        Err(format!("`{}`: there is no metric \"{name}\" of {}; {hint}", self.text, scope.title()))
    }

    fn metric(&self, id: &str) -> Result<Named, String> {
        catalogue::find(id).filter(|it| it.metric.scope != Scope::Task).ok_or_else(|| {
            let ids: Vec<String> = catalogue::every().map(|named| named.id()).collect();
            let close = close_names(id, ids.iter().map(String::as_str));
            let hint = match close.as_slice() {
                [] => "docs/metrics.md has them all".into(),
                close => format!("did you mean {}?", close.join(" or ")),
            };
            format!("`{}`: there is no metric \"{id}\"; {hint}", self.text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Told {
        Told::parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_metric_is_named_by_id_or_in_words() {
        let id = read("key_wakeup_latency_p99(audio)").expression;
        for text in ["p99 wakeup latency of audio", "wakeup latency p99 of 'audio'"] {
            assert_eq!(read(text).expression, id, "{text}");
        }
        assert_eq!(read("wakeup latency p99").expression, read("wakeup_latency_p99").expression);
        assert_eq!(read("throughput of cc").unit, "1/s");
        assert_eq!(read("throughput of cc").better, Better::Higher);
        assert_eq!(read("jobs of cc").expression, read("key_jobs(cc)").expression);
    }

    #[test]
    fn names_and_wishes_stand_before() {
        let told = read("maximize share = 100 * key_cpu_share(a) / 50 %");
        assert_eq!((told.name.as_str(), told.better), ("share", Better::Higher));
        assert_eq!(read("wait_mean").better, Better::Lower);
        assert_eq!(read("wait_mean / 1ms").name, "wait_mean / 1ms");
    }

    #[test]
    fn what_means_nothing_is_told_with_what_would() {
        let told = |text: &str, part: &str| {
            let error = Told::parse(text).expect_err(text);
            assert!(error.contains(part), "no \"{part}\" in: {error}");
        };
        told("wakeup_latency_p98", "did you mean wakeup_latency_p9");
        told("key_wakeup_latency_p99", "Write it as key_wakeup_latency_p99(KEY)");
        told("key_jobs()", "key_jobs(KEY)");
        told("wait_mean(a)", "leave the parentheses out");
        told("wait_mean +", "something is missing");
        told("(wait_mean", "a ) is missing");
        told("wait_mean ]", "means nothing here");
        told("", "EXPRESSION");
        told("abs(1, 2)", "takes one value");
        told(&"(".repeat(1000), "nested too deep");
        told("jobs of", "of what?");
    }
}
