//! Selection of figures that are shown: those by which schedulers are compared, or those that a
//! user names.

use crate::data::Report;
use crate::metrics::compared;
use schedlab_measure::catalogue::{self, Named, Scope, Statistic};

/// Rows of a comparison.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rows {
    /// Metrics that the user named. Empty: those by which schedulers are compared.
    named: Vec<Named>,
}

/// Reason why a name is not a row, with suggestions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoRow {
    /// It is a distribution. Its statistics are listed.
    Distribution(Vec<String>),
    /// Its scope is not the whole run, but this one.
    Scope(&'static str),
    /// The name is unknown.
    Unknown,
}

impl Rows {
    /// Returns the rows with these ids or titles, in this order.
    ///
    /// # Errors
    /// The first name that is not a row.
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

    /// Returns the metrics, for `report`.
    pub fn metrics(&self, report: &Report) -> Vec<Named> {
        if self.named.is_empty() { compared(report).collect() } else { self.named.clone() }
    }

    /// Whether the user named the metrics.
    pub fn are_named(&self) -> bool {
        !self.named.is_empty()
    }
}

/// Returns all names of rows: ids, then titles.
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
            Rows::named(["wakeup_latency_p99", "CPU use", "cpu_use"]).expect("all names are rows");
        let ids: Vec<String> = rows.named.iter().map(Named::id).collect();
        assert_eq!(ids, ["wakeup_latency_p99", "cpu_use"]);
        let why = |name| Rows::named([name]).expect_err("the name is not a row").1;
        assert_eq!(why("nothing"), NoRow::Unknown);
        assert_eq!(why("cpu_busy"), NoRow::Scope("a CPU"));
        let NoRow::Distribution(of) = why("wakeup_latency") else {
            panic!("wakeup_latency is a distribution")
        };
        assert!(of.contains(&"wakeup_latency_max".to_string()));
        assert!(!names().is_empty() && names().iter().all(|name| find(name).is_ok()));
    }
}
