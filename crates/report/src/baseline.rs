//! Differences between a result and an earlier one: [`compare`].

use crate::data::{Baseline, ColumnDifferences, DifferenceRow, Report, RunReport};
use crate::format::{amount, count};
use crate::repeated::figure;
use schedlab_measure::catalogue::{self, Scope};

/// Compares `report` with an earlier result, which was read from `file`. A column is compared with
/// the column of the same scheduler, release and settings; if the earlier result has only one
/// column, all columns are compared with that one.
pub fn compare(report: &Report, earlier: &Report, file: &str) -> Baseline {
    let of = |run: &RunReport| -> Option<ColumnDifferences> {
        let same = |other: &&RunReport| other.spec() == run.spec();
        let only = || match earlier.runs.as_slice() {
            [one] => Some(one),
            _ => None,
        };
        let other = earlier.runs.iter().find(same).or_else(only)?;
        Some(ColumnDifferences { scheduler: other.spec(), differences: differences(run, other) })
    };
    let columns: Vec<Option<ColumnDifferences>> = report.runs.iter().map(of).collect();
    let mismatches = mismatches(report, earlier, &columns);
    Baseline { file: file.into(), mismatches, columns }
}

fn differences(run: &RunReport, other: &RunReport) -> Vec<DifferenceRow> {
    let all = catalogue::every().filter(|named| named.metric.scope == Scope::Run);
    let row = |metric| {
        let (is, was) = (figure(run, metric)?, figure(other, metric)?);
        let difference = is - was;
        let percent = (was != 0.0).then(|| (100.0 * difference / was).into());
        let unit = metric.unit().name().into();
        (is.is_finite() && was.is_finite()).then(|| DifferenceRow {
            metric: metric.id(),
            unit,
            was: was.into(),
            is: is.into(),
            difference: difference.into(),
            percent,
        })
    };
    all.filter_map(row).collect()
}

/// Returns a sentence for each difference in the conditions of the runs.
fn mismatches(
    report: &Report,
    earlier: &Report,
    columns: &[Option<ColumnDifferences>],
) -> Vec<String> {
    let mut all = vec![];
    let mut differ = |what: &str, was: String, is: String| {
        if was != is {
            all.push(format!("{what}: was {was}, is {is}"));
        }
    };
    let (was, is) = (&earlier.workload, &report.workload);
    differ("workload", was.name.clone(), is.name.clone());
    differ(
        "length",
        amount(was.duration_ns as f64, "ns", false),
        amount(is.duration_ns as f64, "ns", false),
    );
    let set = |info: &crate::WorkloadInfo| {
        let set: Vec<String> = info.set.iter().map(ToString::to_string).collect();
        if set.is_empty() { "nothing".into() } else { set.join(" ") }
    };
    differ("set for all", set(was), set(is));
    let starts = |late: bool| if late { "drawn" } else { "as written" }.to_string();
    differ("starts", starts(was.late_starts), starts(is.late_starts));
    for (run, column) in report.runs.iter().zip(columns) {
        let Some(column) = column else {
            all.push(format!("{}: the earlier result lacks this column", run.spec()));
            continue;
        };
        let Some(other) = earlier.runs.iter().find(|other| other.spec() == column.scheduler) else {
            continue;
        };
        let mut differ = |what: &str, was: String, is: String| {
            let sentence = format!("{what}: was {was}, is {is}");
            if was != is && !all.contains(&sentence) {
                all.push(sentence);
            }
        };
        if other.spec() != run.spec() {
            differ("scheduler", other.spec(), run.spec());
        }
        differ("CPUs", other.machine.cpus.to_string(), run.machine.cpus.to_string());
        differ("machine", other.machine.model.clone(), run.machine.model.clone());
        differ("ticks a second", other.machine.hz.to_string(), run.machine.hz.to_string());
        differ("seeds", seeds(other), seeds(run));
        let tasks = |run: &RunReport| {
            let keys = run.keys.iter().map(|key| format!("{} {}", count(key.tasks), key.key));
            keys.collect::<Vec<_>>().join(", ")
        };
        differ("tasks", tasks(other), tasks(run));
    }
    all
}

/// Returns the seeds of a column, from the first to the last.
fn seeds(run: &RunReport) -> String {
    match (run.repetitions.as_slice(), run.seed) {
        ([first, .., last], _) => format!("{} to {}", first.seed, last.seed),
        (_, Some(seed)) => seed.to_string(),
        (_, None) => "none".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkloadInfo;
    use crate::data::tests::empty_run;

    fn report(busy: &[(&str, u64)]) -> Report {
        let run = |(release, busy_ns): &(&str, u64)| {
            let mut run = empty_run(1, 100, &["a-0"]);
            run.scheduler.release = (*release).into();
            run.totals.busy_ns = *busy_ns;
            run
        };
        let info =
            WorkloadInfo { name: "w".into(), duration_ns: 100, set: vec![], late_starts: false };
        Report::new(info, busy.iter().map(run).collect())
    }

    fn busy(column: &Option<ColumnDifferences>) -> (f64, f64, Option<f64>) {
        let column = column.as_ref().expect("the column was compared");
        let row = column
            .differences
            .iter()
            .find(|row| row.metric == "busy")
            .expect("both results have the metric");
        (row.was.0, row.difference.0, row.percent.map(|percent| percent.0))
    }

    #[test]
    fn columns_are_compared_with_their_own() {
        let earlier = report(&[("1", 50), ("2", 0)]);
        let mut now = report(&[("2", 30), ("1", 40), ("3", 1)]);
        let compared = compare(&now, &earlier, "b.json");
        assert_eq!(busy(&compared.columns[0]), (0.0, 30.0, None));
        assert_eq!(busy(&compared.columns[1]), (50.0, -10.0, Some(-20.0)));
        assert_eq!(compared.columns[2], None);
        assert_eq!(compared.mismatches, ["some@3: the earlier result lacks this column"]);
        now.runs.truncate(2);
        now.workload.name = "v".into();
        now.runs[0].machine.cpus = 2;
        let compared = compare(&now, &earlier, "b.json");
        assert_eq!(compared.mismatches, ["workload: was w, is v", "CPUs: was 1, is 2"]);
    }

    #[test]
    fn one_earlier_column_is_what_all_are_compared_with() {
        let compared = compare(&report(&[("2", 30), ("1", 40)]), &report(&[("1", 50)]), "b.json");
        assert_eq!(busy(&compared.columns[0]), (50.0, -20.0, Some(-40.0)));
        assert_eq!(busy(&compared.columns[1]), (50.0, -10.0, Some(-20.0)));
        assert_eq!(compared.mismatches, ["scheduler: was some@1, is some@2"]);
    }
}
