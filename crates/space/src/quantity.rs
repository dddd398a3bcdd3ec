//! Quantities of a run that the metrics of a sweep refer to, by id or in words: [`Quantity`].

use schedlab_lab::run::Run;
use schedlab_measure::catalogue::{self, Named, Scope};
use schedlab_report::expression::{Input, Value, Vocabulary};
use schedlab_report::metrics::measure;
use schedlab_workload::close_names;

/// Units that may follow a number, with their factors: to ns, or to a part of 1.
const UNITS: [(&str, f64); 6] =
    [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("%", 0.01), ("µs", 1e3)];

/// A quantity of a run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Quantity {
    /// A metric of the catalogue, with the keys, groups or CPUs that it refers to.
    Metric(Named, Vec<String>),
    /// Jobs of a key, a second.
    Throughput(String),
    /// A figure that a benchmark found.
    Figure(String),
}

impl Quantity {
    /// Returns the value in `run`.
    ///
    /// # Errors
    /// The run has no such value.
    pub fn value(&self, run: &Run) -> Result<Value, String> {
        let of_metric = |named: Named, arguments: &[&str]| {
            measure(&run.report, named, arguments).map_err(|error| error.to_string())
        };
        let number = match self {
            Quantity::Metric(named, arguments) => {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                of_metric(*named, &arguments)?
            }
            Quantity::Throughput(key) => {
                let jobs = catalogue::find("key_jobs").ok_or("there is no metric key_jobs")?;
                of_metric(jobs, &[key])? * 1e9 / run.report.end.at_ns as f64
            }
            Quantity::Figure(name) => {
                let found = run.findings.figure(name);
                found.ok_or_else(|| format!("the run found no figure {name}"))?
            }
        };
        Ok(Value::Number(number))
    }
}

/// The quantities, as [`Vocabulary`] of expressions.
pub(crate) struct Quantities;

impl Vocabulary for Quantities {
    type Name = Quantity;

    /// Reads a metric, with its arguments in parentheses or behind `of`.
    fn read(&self, input: &mut Input<'_>) -> Result<Quantity, String> {
        if let Some(c) = input.rest().chars().next().filter(|c| !c.is_ascii_alphabetic()) {
            return Err(input.error(format!("`{c}` does not belong here")));
        }
        // Errors about a name refer to the place at which it begins.
        let start = input.clone();
        let mut words: Vec<&str> = vec![];
        loop {
            input.skip_space();
            let rest = input.rest();
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            if end == 0 {
                break;
            }
            words.push(input.take(end));
            if words.last() == Some(&"of") {
                words.pop();
                let key = argument(input)?;
                return in_words(&start, &words, Some(&key));
            }
        }
        let name = words.join(" ");
        if !input.accept("(") {
            return in_words(&start, &words, None);
        }
        let Some((inner, _)) = input.rest().split_once(')') else {
            return Err(input.error("a `)` is missing"));
        };
        input.take(inner.len() + 1);
        let quotes: &[char] = &['"', '\''];
        let arguments: Vec<String> =
            inner.split(',').map(|it| it.trim().trim_matches(quotes).to_string()).collect();
        if name == "figure" {
            return Ok(Quantity::Figure(inner.trim().trim_matches(quotes).into()));
        }
        let named = metric(&start, &name)?;
        let wanted = named.metric.scope.arguments();
        // `wakeup_latency_p99(audio)` is the metric of a key, as with `of`.
        if let ([], [of]) = (wanted, arguments.as_slice())
            && !of.is_empty()
            && let Ok(found) = in_words(&start, &[&name], Some(of))
        {
            return Ok(found);
        }
        if wanted.len() != arguments.len() || arguments.iter().any(String::is_empty) {
            let wanted = wanted.join(", ");
            return Err(start.error(match wanted.is_empty() {
                true => format!("{name} is a metric of the whole run; leave the parentheses out"),
                false => format!("write it as {name}({wanted})"),
            }));
        }
        Ok(Quantity::Metric(named, arguments))
    }

    fn units(&self) -> &[(&'static str, f64)] {
        &UNITS
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

/// Reads the argument behind `of`: a word, or any text in quotes.
fn argument(input: &mut Input<'_>) -> Result<String, String> {
    for quote in ['"', '\''] {
        if input.accept(&quote.to_string()) {
            let Some((inner, _)) = input.rest().split_once(quote) else {
                return Err(input.error("a quote is missing"));
            };
            input.take(inner.len() + 1);
            return Ok(inner.into());
        }
    }
    input.skip_space();
    let is_part = |c: char| !c.is_whitespace() && !"+*)(,<>=".contains(c);
    let rest = input.rest();
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    if end == 0 {
        return Err(input.error("after `of`, a task, a group or a CPU is missing"));
    }
    Ok(input.take(end).into())
}

/// Finds a metric in words: its id or title, with a statistic before or behind.
fn in_words(input: &Input<'_>, words: &[&str], of: Option<&str>) -> Result<Quantity, String> {
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
            return Ok(Quantity::Metric(named, of.into_iter().map(String::from).collect()));
        }
    }
    if let (Some(key), "throughput", [Scope::Key]) = (of, name.as_str(), wanted) {
        return Ok(Quantity::Throughput(key.into()));
    }
    let scope = wanted.last().copied().unwrap_or(Scope::Run);
    if let Ok(named) = metric(input, &name.replace(' ', "_")) {
        let (id, arguments) = (named.id(), named.metric.scope.arguments().join(", "));
        return Err(input.error(match arguments.is_empty() {
            true => format!("{id} is a metric of the whole run, not of {}", scope.title()),
            false => format!(
                "{id} is a metric of {}; write it as {id}({arguments})",
                named.metric.scope.title()
            ),
        }));
    }
    let every: Vec<Named> = catalogue::every().filter(|it| it.metric.scope == scope).collect();
    let ids: Vec<String> = every.iter().map(Named::id).collect();
    let joined = name.replace(' ', "_");
    let close = close_names(&joined, ids.iter().map(String::as_str));
    let hint = match close.as_slice() {
        [] => "docs/metrics.md and `schedlab explain-metric` list all metrics".into(),
        close => format!("did you mean {}?", close.join(" or ")),
    };
    let what = format!("there is no metric \"{name}\" of {}; {hint}", scope.title());
    Err(input.error(what))
}

/// Finds a metric by id.
fn metric(input: &Input<'_>, id: &str) -> Result<Named, String> {
    catalogue::find(id).filter(|it| it.metric.scope != Scope::Task).ok_or_else(|| {
        let ids: Vec<String> = catalogue::every().map(|named| named.id()).collect();
        let close = close_names(id, ids.iter().map(String::as_str));
        let hint = match close.as_slice() {
            [] => "docs/metrics.md lists all metrics".into(),
            close => format!("did you mean {}?", close.join(" or ")),
        };
        input.error(format!("there is no metric \"{id}\"; {hint}"))
    })
}
