//! Figures of benchmarks for spreadsheets.

use super::{BenchReport, written};
use crate::csv::Rows;

/// Returns one row for each run and figure: all parameters of the benchmark under their names, then
/// `scheduler,release,seed,figure,value,unit`. The benchmark's own figures come first, in its own
/// units. The others are in `ns`, `part`, `index` or `count`.
pub fn figures(report: &BenchReport) -> String {
    let names = report.parameters.iter().map(|axis| axis.name.as_str());
    let columns = ["scheduler", "release", "seed", "figure", "value", "unit"];
    let mut rows = Rows::headed(&names.chain(columns).collect::<Vec<&str>>());
    for point in &report.points {
        let scheduler = &report.schedulers[point.scheduler];
        let value = |place| report.value(point, place).map_or(String::new(), written);
        let values: Vec<String> = (0..report.parameters.len()).map(value).collect();
        for run in &point.runs {
            for figure in run.all() {
                let mut fields = values.clone();
                fields.extend([
                    scheduler.name.clone(),
                    scheduler.release.clone(),
                    run.seed.to_string(),
                ]);
                fields.extend([figure.name.clone(), figure.value.to_string(), figure.unit.clone()]);
                rows.push(&fields);
            }
        }
    }
    rows.into_text()
}
