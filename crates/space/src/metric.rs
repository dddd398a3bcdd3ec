//! Metrics reported for each run of a sweep: [`RunMetric`].
//!
//! A metric is an expression in the language of [`schedlab_report::expression`], over the metrics
//! of the catalogue and the figures of benchmarks.
//!
//! ```text
//! wakeup_latency_p99                         a metric of the run, by its id
//! key_wakeup_latency_p99(audio)              a metric of a key, a group or a CPU, in parentheses
//! wakeup_latency_p99(audio)                  the same without the prefix
//! p99 wakeup latency of audio                the same in words: a title, and `of`
//! throughput of cc                           jobs of a key, a second
//! figure(time)                               a figure that a benchmark found
//! lag = 2 * burst_lag_max / 1ms              arithmetic, with a name; min(), max(), abs(), sqrt()
//! minimize wait_mean                         the better direction; default: as in the catalogue
//! ```

use super::quantity::{Quantities, Quantity};
use schedlab_lab::run::Run;
use schedlab_measure::Better;
use schedlab_measure::catalogue::Scope;
use schedlab_report::expression::{Expression, Function};
use schedlab_workload::close_names;

/// A metric reported for each run, under a name.
#[derive(Clone, PartialEq, Debug)]
pub struct RunMetric {
    /// Name of the column of results.
    pub name: String,
    /// Which values are better.
    pub better: Better,
    /// Unit. Empty for an expression.
    pub unit: &'static str,
    expression: Expression<Quantity>,
}

impl RunMetric {
    /// Parses `[minimize|maximize] [NAME =] EXPRESSION`.
    ///
    /// # Errors
    /// Description of the fault, and of what would be right.
    pub fn parse(text: &str) -> Result<RunMetric, String> {
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
        let expression = Expression::parse(body, &Quantities)?;
        if !is_number(&expression) {
            return Err(format!("`{body}`: the value of a metric must be a number"));
        }
        let (own, unit) = match &expression {
            Expression::Name(Quantity::Metric(named, _)) => (named.better(), named.unit().name()),
            Expression::Name(Quantity::Throughput(_)) => (Better::Higher, "1/s"),
            _ => (Better::Neither, ""),
        };
        Ok(RunMetric { name: name.into(), better: better.unwrap_or(own), unit, expression })
    }

    /// Returns a metric of the whole run, by its id.
    pub(super) fn of_id(id: &str) -> Option<RunMetric> {
        RunMetric::parse(id).ok()
    }

    /// Returns the value of `run`. `None`: the run has no value.
    pub fn value(&self, run: &Run) -> Option<f64> {
        let value = self.expression.evaluate(&|quantity: &Quantity| quantity.value(run));
        value.and_then(|value| value.number()).ok().filter(|value| value.is_finite())
    }

    /// Returns the message about a figure that `run` does not have, with the figures that it has.
    /// `None`: it has all figures, or might have them under other conditions.
    pub fn unknown_figure(&self, run: &Run) -> Option<String> {
        let known: Vec<&str> = run.findings.figures.iter().map(|it| it.name.as_str()).collect();
        let name = self.figures().into_iter().find(|name| !known.contains(name))?;
        let close = close_names(name, known.iter().copied());
        Some(match close.as_slice() {
            _ if known.is_empty() => format!("figure({name}): the run found no figures"),
            [] => format!("there is no figure({name}); the figures are {}", known.join(", ")),
            close => format!("there is no figure({name}); did you mean {}?", close.join(" or ")),
        })
    }

    /// Returns the message about a task, a group or a figure that a workload with these keys and
    /// groups does not have. `None`: it has all of them.
    pub fn missing(&self, keys: &[String], groups: &[String]) -> Option<String> {
        if self.has_figures() {
            return Some("only a benchmark has figures".into());
        }
        for (scope, name) in self.subjects() {
            let (known, thing): (&[String], _) = match scope {
                Scope::Key if name == "*" => continue,
                Scope::Key => (keys, "task"),
                Scope::Group if name == "/" => continue,
                Scope::Group => (groups, "group"),
                Scope::Cpu if name.parse::<u32>().is_err() => {
                    return Some(format!("{name} is not the number of a CPU"));
                }
                _ => continue,
            };
            if !known.iter().any(|other| other == name) {
                let close = close_names(name, known.iter().map(String::as_str));
                let hint = match close.as_slice() {
                    [] if known.is_empty() => "there are none".into(),
                    [] => format!("the {thing}s are {}", known.join(", ")),
                    close => format!("did you mean {}?", close.join(" or ")),
                };
                return Some(format!("there is no {thing} \"{name}\"; {hint}"));
            }
        }
        None
    }

    /// Returns the keys, groups and CPUs to which the metric refers.
    fn subjects(&self) -> Vec<(Scope, &str)> {
        let mut found: Vec<(Scope, &str)> = vec![];
        self.expression.for_each_name(&mut |quantity| match quantity {
            Quantity::Metric(named, arguments) => {
                let scope = match named.metric.scope {
                    Scope::KeyPair => Scope::Key,
                    other => other,
                };
                found.extend(arguments.iter().map(|argument| (scope, argument.as_str())));
            }
            Quantity::Throughput(key) => found.push((Scope::Key, key)),
            Quantity::Figure(_) => {}
        });
        found
    }

    /// Whether the metric contains a figure of a benchmark.
    pub(super) fn has_figures(&self) -> bool {
        !self.figures().is_empty()
    }

    fn figures(&self) -> Vec<&str> {
        let mut names = vec![];
        self.expression.for_each_name(&mut |quantity| {
            if let Quantity::Figure(name) = quantity {
                names.push(name.as_str());
            }
        });
        names
    }
}

/// Whether the value of an expression is a number, rather than a list or a truth.
fn is_number(expression: &Expression<Quantity>) -> bool {
    match expression {
        Expression::Number(_) | Expression::Name(_) => true,
        Expression::Negated(part) => is_number(part),
        Expression::Arithmetic(left, _, right) => is_number(left) && is_number(right),
        Expression::Call(Function::Rising | Function::Falling, _) => false,
        Expression::Call(_, arguments) => arguments.iter().all(|argument| match argument {
            Expression::List(items) => items.iter().all(is_number),
            other => is_number(other),
        }),
        Expression::List(_)
        | Expression::Comparison(..)
        | Expression::All(_)
        | Expression::Any(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RunMetric {
        RunMetric::parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_metric_is_named_by_id_or_in_words() {
        let id = read("key_wakeup_latency_p99(audio)").expression;
        for text in ["p99 wakeup latency of audio", "wakeup latency p99 of 'audio'"] {
            assert_eq!(read(text).expression, id, "{text}");
        }
        assert_eq!(read("wakeup latency p99").expression, read("wakeup_latency_p99").expression);
        assert_eq!(read("wakeup_latency_p99(audio)").expression, id);
        assert_eq!(read("throughput of cc").unit, "1/s");
        assert_eq!(read("throughput of cc").better, Better::Higher);
        assert_eq!(read("jobs of cc").expression, read("key_jobs(cc)").expression);
    }

    #[test]
    fn names_and_wishes_stand_before() {
        let metric = read("maximize share = 100 * key_cpu_share(a) / 50 %");
        assert_eq!((metric.name.as_str(), metric.better), ("share", Better::Higher));
        assert_eq!(read("wait_mean").better, Better::Lower);
        assert_eq!(read("wait_mean / 1ms").name, "wait_mean / 1ms");
    }

    #[test]
    fn what_means_nothing_is_told_with_what_would() {
        let refused = |text: &str, part: &str| {
            let error = RunMetric::parse(text).expect_err(text);
            assert!(error.contains(part), "no \"{part}\" in: {error}");
        };
        refused("wakeup_latency_p98", "did you mean wakeup_latency_p9");
        refused("2 * key_jobs(a) + jobz", "after `2 * key_jobs(a) +`: there is no metric \"jobz\"");
        refused("key_wakeup_latency_p99", "write it as key_wakeup_latency_p99(KEY)");
        refused("key_jobs()", "key_jobs(KEY)");
        refused("wait_mean(a)", "leave the parentheses out");
        refused("wait_mean +", "a value is missing");
        refused("(wait_mean", "a `)` is missing");
        refused("wait_mean ]", "does not belong here");
        refused("", "EXPRESSION");
        refused("abs(1, 2)", "takes one value");
        refused(&"(".repeat(1000), "nested more than");
        refused("wait_mean < 5", "must be a number");
        refused("rising(1, 2)", "must be a number");
        refused("jobs of", "is missing");
    }
}
