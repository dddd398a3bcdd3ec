//! Which figures are shown: those that schedulers are compared by, or those that a user names.

use crate::data::Report;
use crate::metrics::compared;
use schedlab_measure::catalogue::{self, Named, Scope, Statistic};

/// The rows of a comparison.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rows {
    /// Those that were named; empty: what schedulers are compared by.
    named: Vec<Named>,
}

/// A name that is no row, and what may have been meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoRow {
    /// It is a distribution: here are its statistics.
    Distribution(Vec<String>),
    /// It is not of a whole run, but of this.
    Scope(&'static str),
    /// Nobody knows it.
    Unknown,
}

impl Rows {
    /// Those with these ids or titles, in this order.
    ///
    /// # Errors
    /// The first name that is none.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Rows, (&'a str, NoRow)> {
        let mut named = vec![];
        for name in names {
            let found = find(name).map_err(|why| (name, why))?;
            if !named.contains(&found) {
                named.push(found);
            }
        }
        Ok(Rows { named })
    }

    /// The metrics, for `report`.
    pub fn metrics(&self, report: &Report) -> Vec<Named> {
        if self.named.is_empty() { compared(report).collect() } else { self.named.clone() }
    }

    /// Whether the user named them.
    pub fn are_named(&self) -> bool {
        !self.named.is_empty()
    }
}

/// All names that rows have: ids, then titles.
pub fn names() -> Vec<String> {
    let all = || catalogue::every().filter(|named| named.metric.scope == Scope::Run);
    all().map(|named| named.id()).chain(all().map(|named| named.title())).collect()
}

fn find(name: &str) -> Result<Named, NoRow> {
    let found = catalogue::find(name).or_else(|| catalogue::find_title(name));
    if let Some(named) = found {
        return match named.metric.scope {
            Scope::Run => Ok(named),
            other => Err(NoRow::Scope(other.title())),
        };
    }
    let is_it = |metric: &&catalogue::Metric| {
        metric.distribution
            && metric.scope == Scope::Run
            && (metric.id == name || metric.title == name)
    };
    match catalogue::ALL.iter().find(is_it) {
        Some(metric) => {
            let id = |statistic: Statistic| format!("{}_{}", metric.id, statistic.id());
            Err(NoRow::Distribution(Statistic::ALL.into_iter().map(id).collect()))
        }
        None => Err(NoRow::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_id_and_by_title() {
        let rows =
            Rows::named(["wakeup_latency_p99", "CPU use", "cpu_use"]).expect("all are there");
        let ids: Vec<String> = rows.named.iter().map(Named::id).collect();
        assert_eq!(ids, ["wakeup_latency_p99", "cpu_use"]);
        let why = |name| Rows::named([name]).expect_err("it is none").1;
        assert_eq!(why("nothing"), NoRow::Unknown);
        assert_eq!(why("cpu_busy"), NoRow::Scope("a CPU"));
        let NoRow::Distribution(of) = why("wakeup_latency") else { panic!("it is one") };
        assert!(of.contains(&"wakeup_latency_max".to_string()));
        assert!(!names().is_empty() && names().iter().all(|name| find(name).is_ok()));
    }
}
