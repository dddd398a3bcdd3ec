//! Predictions beside real measurements: `cargo xtask production`.
//!
//! `examples/production/real.csv` lists settings that were changed on a real machine, and the
//! figures measured after each change. The command predicts each figure from the recording that
//! was made before the change, and prints both as a table in Markdown. With `--check` it fails if
//! an error is larger than the file accepts: the errors as they were, not as they should be.
//! `--list` names another list, with recordings of its own in the same directory.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// The list. The recordings are in the same directory.
const LIST: &str = "examples/production/real.csv";

/// Columns of the list.
const HEAD: &str = "work,facts,change,tasks,figure,unit,real,error_most";

/// Row of the list.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    work: String,
    /// Facts about the recording that it does not show, as options of `schedlab replay`.
    facts: String,
    /// Change, as `schedlab replay --change` accepts it; `none`: no change.
    change: String,
    tasks: String,
    figure: String,
    unit: String,
    /// Measured values, one for each real run, or the ends of their range.
    real: Vec<f64>,
    /// Largest error that `--check` accepts.
    error_most: f64,
}

/// Predicted figure.
#[derive(Debug, Clone, PartialEq)]
struct Predicted {
    median: f64,
    least: f64,
    greatest: f64,
    /// Grade of the replay; `-`: a workload file, which needs no inference.
    grade: String,
}

/// Row with its prediction.
struct Outcome {
    row: Row,
    predicted: Predicted,
}

/// Runs the command.
///
/// # Errors
/// An option or the list is wrong, or the program cannot be run.
pub fn run(arguments: &[&str]) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut check, mut program, mut list) = (false, None, root.join(LIST));
    let mut words = arguments.iter();
    while let Some(&word) = words.next() {
        match word {
            "--check" => check = true,
            "--program" => program = Some(*words.next().ok_or("--program takes a path")?),
            "--list" => list = words.next().ok_or("--list takes a path")?.into(),
            _ => {
                let usage = "cargo xtask production [--check] [--program PATH] [--list FILE.csv]";
                return Err(format!("there is no {word}; usage: {usage}"));
            }
        }
    }
    let name = list.display().to_string();
    let of_list = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    // schedlab runs in another directory.
    let list = list.canonicalize().map_err(|error| of_list(&error))?;
    let text = std::fs::read_to_string(&list).map_err(|error| of_list(&error))?;
    let mut documents = BTreeMap::new();
    let mut results = Vec::new();
    for row in rows(&text).map_err(|error| of_list(&error))? {
        let key = [&row.work, &row.facts, &row.change, &row.tasks].map(String::clone);
        let document = match documents.get(&key) {
            Some(document) => document,
            None => {
                let document = simulate(&root, program, &list.with_file_name(&row.work), &row)?;
                documents.entry(key).or_insert(document)
            }
        };
        let predicted = predicted(document, &row)
            .ok_or_else(|| format!("{}, {}: no {}", row.work, row.change, row.figure))?;
        results.push(Outcome { row, predicted });
    }
    print!("{}", table(&results));
    let wrong: Vec<&Outcome> = results.iter().filter(|result| !result.is_accepted()).collect();
    for result in &wrong {
        println!(
            "larger error than before: {}, {}, {}: {}, accepted {}",
            result.row.work,
            result.row.change,
            result.row.figure,
            result.error_text(),
            result.row.error_most
        );
    }
    Ok(!check || wrong.is_empty())
}

/// Parses the list.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!("line 1: it must be {HEAD}"));
    }
    let row = |(number, line): (usize, &str)| {
        let fields: Vec<&str> = line.split(',').collect();
        let [work, facts, change, tasks, figure, unit, real, most] = fields[..] else {
            return Err(format!("line {}: it is not {HEAD}", number + 2));
        };
        let numbers: Result<Vec<f64>, _> = real.split_whitespace().map(str::parse).collect();
        match (numbers, most.parse()) {
            (Ok(mut real), Ok(error_most)) if !real.is_empty() => {
                real.sort_by(f64::total_cmp);
                let [work, facts, change, tasks, figure, unit] =
                    [work, facts, change, tasks, figure, unit].map(str::to_string);
                Ok(Row { work, facts, change, tasks, figure, unit, real, error_most })
            }
            _ => Err(format!("line {}: a number is wrong", number + 2)),
        }
    };
    lines.enumerate().map(row).collect()
}

/// Runs schedlab for a row, and returns the answer.
fn simulate(root: &Path, program: Option<&str>, work: &Path, row: &Row) -> Result<Value, String> {
    let mut command = match program {
        Some(program) => Command::new(program),
        None => {
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
            cargo.args(["run", "--quiet", "--release", "-p", "schedlab", "--"]);
            cargo
        }
    };
    if row.work.ends_with(".json") {
        let (group, quota, period) = limit(&row.change)
            .ok_or_else(|| format!("{}: {}: it sets no limit", row.work, row.change))?;
        command.arg("limits").arg(work).args(["--cpus", "2", "--group", group, "--repeat", "20"]);
        command.args(["--quota", &format!("{quota}us"), "--period", &format!("{period}us")]);
    } else {
        command.arg("replay").arg(work).args(["--only", &row.tasks]);
        command.args(row.facts.split_whitespace());
        if row.change != "none" {
            command.args(["--change", &row.change]);
        }
    }
    command.args(["--format", "json"]).current_dir(root).stderr(Stdio::piped());
    let output = command.output().map_err(|error| format!("schedlab: {error}"))?;
    let answer = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&answer).map_err(|_| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("{}, {}: {}: {errors}", row.work, row.change, output.status)
    })
}

/// Returns group, quota and period of `group /box cpu.max=50000 100000`.
fn limit(change: &str) -> Option<(&str, &str, &str)> {
    let (group, limit) = change.strip_prefix("group ")?.split_once(" cpu.max=")?;
    let (quota, period) = limit.split_once(' ')?;
    Some((group, quota, period))
}

/// Returns the number at a path of keys and indices, for example `columns.2.all.end.median`.
fn number(document: &Value, path: &str) -> Option<f64> {
    document.pointer(&format!("/{}", path.replace('.', "/")))?.as_f64()
}

/// Takes the figure of a row from an answer.
fn predicted(document: &Value, row: &Row) -> Option<Predicted> {
    let band = |path: &str, names: [&str; 3], scale: f64| {
        let value = |name: &str| Some(number(document, &format!("{path}.{name}"))? / scale);
        Some([value(names[0])?, value(names[1])?, value(names[2])?])
    };
    let (grade, values) = if row.work.ends_with(".json") {
        let figure = row.figure.strip_suffix(" response")?;
        let path = format!("lines.0.limits.0.figures.{figure}");
        ("-", band(&path, ["median", "min", "max"], scale(&row.unit))?)
    } else {
        // The columns are the recording, its replay, and the replay of the change.
        let column = if row.change == "none" { "columns.1.all" } else { "columns.2.all" };
        let names = ["median", "least", "greatest"];
        let of = |figure: &str, scale| band(&format!("{column}.{figure}"), names, scale);
        let values = match row.figure.as_str() {
            "end" => of("end", scale(&row.unit))?,
            "p50 response" => of("response.p50", scale(&row.unit))?,
            "p99 response" => of("response.p99", scale(&row.unit))?,
            "share" => {
                let run = number(document, &format!("{column}.run.median"))?;
                of("cpu", run / 100.0)?
            }
            "run time change" => {
                let before = number(document, "columns.1.all.run.median")?;
                of("run", before / 100.0)?.map(|percent| percent - 100.0)
            }
            "throttled periods" => {
                let periods = number(document, &format!("{column}.periods.median"))?;
                of("throttled_periods", periods / 100.0)?
            }
            "throttled time" => {
                let (_, _, period) = limit(&row.change)?;
                let period_us: f64 = period.split(' ').next()?.parse().ok()?;
                let periods = number(document, &format!("{column}.periods.median"))?;
                of("throttled", periods * period_us)?
            }
            _ => return None,
        };
        (document["grade"].as_str()?, values)
    };
    let [median, least, greatest] = values;
    Some(Predicted { median, least, greatest, grade: grade.to_string() })
}

/// Returns the number of ns in a unit.
fn scale(unit: &str) -> f64 {
    match unit {
        "s" => 1e9,
        _ => 1e6,
    }
}

/// Returns the middle of sorted values: the median of three, the centre of a range.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

impl Outcome {
    /// Returns the error, in percent of the real figure. The error of a percentage is in points.
    fn error(&self) -> f64 {
        let real = middle(&self.row.real);
        match self.is_percentage() {
            true => self.predicted.median - real,
            false => 100.0 * (self.predicted.median / real - 1.0),
        }
    }

    fn is_percentage(&self) -> bool {
        self.row.unit == "%"
    }

    fn error_text(&self) -> String {
        let unit = if self.is_percentage() { "points" } else { "%" };
        format!("{:+.1} {unit}", self.error())
    }

    /// Whether the middle of the real figures is in the predicted band.
    fn is_inside(&self) -> bool {
        (self.predicted.least..=self.predicted.greatest).contains(&middle(&self.row.real))
    }

    fn is_accepted(&self) -> bool {
        self.error().abs() <= self.row.error_most
    }
}

/// Formats a number with three significant digits.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// Formats the table and the sums.
fn table(results: &[Outcome]) -> String {
    let mut out = String::from(
        "| work | change | tasks: figure | predicted (least to most) | real | error | in band | \
         grade |\n|---|---|---|---|---|---|---|---|\n",
    );
    for result in results {
        let Outcome { row, predicted } = result;
        let real = match row.real[..] {
            [one] => short(one),
            [.., last] => format!("{} to {}", short(row.real[0]), short(last)),
            [] => String::new(),
        };
        let tasks = if row.tasks == "all" { String::new() } else { format!("{}: ", row.tasks) };
        out += &format!(
            "| {} | {} | {tasks}{} | {} ({} to {}) {} | {real} {} | {} | {} | {} |\n",
            row.work,
            row.change,
            row.figure,
            short(predicted.median),
            short(predicted.least),
            short(predicted.greatest),
            row.unit,
            row.unit,
            result.error_text(),
            if result.is_inside() { "yes" } else { "no" },
            predicted.grade,
        );
    }
    for (is_percentage, unit) in [(false, "%"), (true, "points")] {
        let mut of_kind: Vec<&Outcome> =
            results.iter().filter(|result| result.is_percentage() == is_percentage).collect();
        of_kind.sort_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
        let errors: Vec<f64> = of_kind.iter().map(|result| result.error().abs()).collect();
        let Some(worst) = of_kind.last() else { continue };
        let kind = if is_percentage { "percentages" } else { "times" };
        out += &format!(
            "\n{} {kind}: error {:.1} {unit} in the median, {:.1} {unit} at most ({}, {}, {}); \
             {} of {} real figures in the predicted band\n",
            of_kind.len(),
            middle(&errors),
            worst.error().abs(),
            worst.row.work,
            worst.row.change,
            worst.row.figure,
            of_kind.iter().filter(|result| result.is_inside()).count(),
            of_kind.len(),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: &str, real: &[f64]) -> Row {
        Row {
            work: "a.xz".into(),
            facts: String::new(),
            change: "none".into(),
            tasks: "x".into(),
            figure: "end".into(),
            unit: unit.into(),
            real: real.to_vec(),
            error_most: 10.0,
        }
    }

    #[test]
    fn the_list_is_read() {
        let list = format!("{HEAD}\na.xz,,none,x,end,s,3 1.5,10\n");
        assert_eq!(rows(&list), Ok(vec![row("s", &[1.5, 3.0])]));
        assert!(rows("work\n").is_err());
        assert!(rows(&format!("{HEAD}\na.xz,,none,x,end,s,,10\n")).is_err());
        assert!(rows(&format!("{HEAD}\na.xz,,none,x,end,s,1,\n")).is_err());
        let change = "group /a/box cpu.max=80000 100000";
        assert_eq!(limit(change), Some(("/a/box", "80000", "100000")));
    }

    #[test]
    fn figures_are_taken_from_the_columns() {
        let column = |end| {
            format!(
                r#"{{"all": {{"end": {{"median": {end}e9, "least": 1e9, "greatest": 4e9}},
                    "run": {{"median": {end}e9, "least": 1e9, "greatest": 4e9}}}}}}"#
            )
        };
        let text = format!(
            r#"{{"grade": "fair", "columns": [{}, {}, {}]}}"#,
            column(1),
            column(2),
            column(3)
        );
        let document = serde_json::from_str(&text).expect("valid JSON");
        let of = |row: &Row| predicted(&document, row).expect("a figure");
        let end = of(&row("s", &[2.5]));
        assert_eq!((end.median, end.least, end.greatest), (2.0, 1.0, 4.0));
        let result = Outcome { row: row("s", &[2.5]), predicted: end };
        assert_eq!(result.error_text(), "-20.0 %");
        assert!(result.is_inside() && !result.is_accepted());
        let mut changed = row("%", &[40.0]);
        changed.change = "nice x 5".into();
        changed.figure = "run time change".into();
        let change = of(&changed);
        assert_eq!((change.median, change.least), (50.0, -50.0));
        let result = Outcome { row: changed, predicted: change };
        assert_eq!(result.error_text(), "+10.0 points");
        assert!(result.is_accepted());
        assert_eq!((middle(&[1.0, 2.0, 9.0]), middle(&[1.0, 2.0])), (2.0, 1.5));
    }
}
