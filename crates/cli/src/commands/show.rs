//! Output of `schedlab run`: as a table, JSON or CSV, on standard output or in a file, alone or
//! against an earlier result.

use crate::args::RunArgs;
use crate::files::{self, NewFile};
use crate::options::RunFormat;
use crate::terminal::{Output, complain, style, style_of_file};
use crate::{Failure, Status};
use schedlab_report::json::ReadError;
use schedlab_report::rows::{self, NoRow, Rows};
use schedlab_report::table::View;
use schedlab_report::{
    Report, RunReport, Style, TimelineOptions, baseline, csv, json, table, timeline,
};
use schedlab_workload::close_names;
use std::io::Write;
use std::path::Path;

/// Output options, read and checked before anything runs.
pub struct TableOptions {
    /// Format.
    pub format: RunFormat,
    /// Columns to show; empty: all.
    pub columns: Vec<String>,
    /// Whether to show all columns, even if they do not fit side by side.
    all_columns: bool,
    rows: Rows,
    /// Results to compare with, and their file.
    earlier: Option<(Vec<Report>, String)>,
}

impl TableOptions {
    /// Reads the options.
    pub fn new(args: &RunArgs) -> Result<TableOptions, Failure> {
        let format = args.format.unwrap_or_else(|| match args.output.as_deref().map(ending) {
            Some("json") => RunFormat::Json,
            Some("csv") => RunFormat::Csv,
            _ => RunFormat::Table,
        });
        if !args.rows.is_empty() {
            let instead = match format {
                RunFormat::Json => "a JSON document contains all figures",
                RunFormat::Csv if args.tasks => "with --tasks CSV has a row for each task",
                _ => "",
            };
            if !instead.is_empty() {
                return Err(Failure::Message(format!("--rows: {instead}; leave it out")));
            }
        }
        if args.baseline.is_some() && format == RunFormat::Csv && args.tasks {
            let message = "--baseline: only figures of whole runs are compared, and with \
                           --tasks CSV has a row for each task; leave one of them out";
            return Err(Failure::Message(message.into()));
        }
        if args.timeline
            && let (from_ns, Some(to_ns)) = (args.from.unwrap_or(0), args.to)
            && from_ns >= to_ns
        {
            return Err(Failure::Message(format!(
                "--from {}, --to {}: the interval is empty; --to must be later than --from",
                schedlab_report::format::duration(from_ns, false),
                schedlab_report::format::duration(to_ns, false)
            )));
        }
        if let Some(path) = &args.output {
            files::check(path)?;
            check_ours(path)?;
        }
        let all_columns = args.columns.iter().any(|name| name.trim() == "all");
        let columns = if all_columns { vec![] } else { args.columns.clone() };
        let earlier = match &args.baseline {
            Some(path) => Some((read_earlier(path)?, path.display().to_string())),
            None => None,
        };
        Ok(TableOptions { format, columns, all_columns, rows: read_rows(&args.rows)?, earlier })
    }

    /// Prints the results, into the file if there is one.
    pub fn print(
        &self,
        args: &RunArgs,
        reports: &mut [Report],
        output: &mut Output,
    ) -> Result<Status, Failure> {
        self.compare(reports)?;
        let Some(path) = &args.output else {
            let only_what_fits =
                output.is_terminal() && !self.all_columns && self.columns.is_empty();
            return self.print_to(args, reports, style(), only_what_fits, output);
        };
        let (new, file) = NewFile::create(path)?;
        let mut output = Output::file(file);
        let written = self
            .print_to(args, reports, style_of_file(), false, &mut output)
            .and_then(|status| Ok(output.flush().map(|()| status)?));
        match written {
            Ok(status) => {
                new.finish()?;
                Ok(status)
            }
            Err(Failure::Output(error)) => {
                Err(Failure::Message(format!("{}: cannot be written: {error}", path.display())))
            }
            Err(failure) => Err(failure),
        }
    }

    fn print_to(
        &self,
        args: &RunArgs,
        reports: &[Report],
        style: Style,
        only_what_fits: bool,
        output: &mut Output,
    ) -> Result<Status, Failure> {
        match self.format {
            RunFormat::Json => print_json(args, reports, output).map(|()| Status::Good),
            RunFormat::Csv => self.print_csv(args, reports, output).map(|()| Status::Good),
            RunFormat::Table => {
                let view = View { rows: self.rows.clone(), only_what_fits };
                print_tables(args, reports, &view, style, output)
            }
        }
    }

    /// Adds to each report the differences from the earlier result of the same workload, or from
    /// the only earlier one, and notes where the two are not of the same run.
    fn compare(&self, reports: &mut [Report]) -> Result<(), Failure> {
        let Some((all, file)) = &self.earlier else { return Ok(()) };
        for report in reports {
            let name = &report.workload.name;
            let same = all.iter().find(|earlier| earlier.workload.name == *name);
            let only = || match all.as_slice() {
                [one] => Some(one),
                _ => None,
            };
            let Some(earlier) = same.or_else(only) else {
                let names: Vec<&str> =
                    all.iter().map(|earlier| earlier.workload.name.as_str()).collect();
                return Err(Failure::Message(format!(
                    "--baseline: {file} has no result of {name}; it has {}",
                    names.join(", ")
                )));
            };
            let compared = baseline::compare(report, earlier, file);
            for mismatch in &compared.mismatches {
                complain(&format!("note: {file} has different conditions: {mismatch}"));
            }
            report.baseline = Some(compared);
        }
        Ok(())
    }

    /// Prints the comparison as CSV. With several files, the first column names the file.
    fn print_csv(
        &self,
        args: &RunArgs,
        reports: &[Report],
        output: &mut Output,
    ) -> Result<(), Failure> {
        for (number, report) in reports.iter().enumerate() {
            let text = match args.tasks {
                true => csv::tasks(report),
                false => csv::comparison_of(report, &self.rows),
            };
            if args.files.len() == 1 {
                output.write_all(text.as_bytes())?;
                break;
            }
            let name = format!("\"{}\"", report.workload.name.replace('"', "\"\""));
            for (row, line) in text.lines().enumerate() {
                match (row, number) {
                    (0, 0) => writeln!(output, "workload,{line}")?,
                    (0, _) => {}
                    _ => writeln!(output, "{name},{line}")?,
                }
            }
        }
        Ok(())
    }
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// Checks that only an earlier result would be overwritten.
fn check_ours(path: &Path) -> Result<(), Failure> {
    let there = path.metadata().is_ok_and(|there| there.is_file() && there.len() > 0);
    if !there || files::begins(path, is_result) {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "--output: {} exists and is not a result of `schedlab run`, so it is not overwritten; name \
         another file",
        path.display()
    )))
}

/// Returns whether a file with this beginning is a result of `schedlab run`: JSON, CSV or a table.
fn is_result(head: &str) -> bool {
    let json = head.trim_start_matches(['[', ' ', '\n']);
    let line = head.lines().next().unwrap_or_default();
    let is_heading = || {
        let cpus = line.rsplit_once(" on ").map_or("", |(_, cpus)| cpus);
        let rest = cpus.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < cpus.len() && (rest.starts_with(" CPU, ") || rest.starts_with(" CPUs, "))
    };
    // A document of a later schema belongs to a later program.
    json.starts_with("{\n  \"schema\": \"schedlab-run/1\"")
        || ["scheduler,release,", "workload,scheduler,release,"]
            .iter()
            .any(|it| line.starts_with(it))
        || is_heading()
}

fn read_rows(names: &[String]) -> Result<Rows, Failure> {
    let names = || names.iter().map(|name| name.trim());
    Rows::named(names()).map_err(|(name, why)| {
        let why = match why {
            NoRow::Distribution(of) => {
                format!("\"{name}\" is a distribution; name one of {}", of.join(", "))
            }
            NoRow::Scope(of) => format!(
                "\"{name}\" is not a figure of the whole run, but of {of}; --tasks and --format \
                 json show it"
            ),
            NoRow::Unknown => {
                let all = rows::names();
                let close = close_names(name, all.iter().map(String::as_str));
                let hint = match close.as_slice() {
                    [] => "docs/metrics.md lists them".into(),
                    close => format!("did you mean {}?", close.join(" or ")),
                };
                format!("there is no figure \"{name}\"; {hint}")
            }
        };
        Failure::Message(format!("--rows: {why}"))
    })
}

/// Reads the results in a file: one, or a list.
fn read_earlier(path: &Path) -> Result<Vec<Report>, Failure> {
    let source = files::read(path)?;
    let text = source.text.trim_start_matches('\u{feff}').trim_start();
    let wrong = |error: ReadError| {
        Failure::Message(format!(
            "--baseline: {}: {error}; `schedlab run ... --output FILE.json` writes one",
            source.file
        ))
    };
    let all: Vec<Report> = if text.starts_with('[') {
        let all: Vec<serde_json::Value> =
            serde_json::from_str(text).map_err(|error| wrong(ReadError::Form(error)))?;
        let read = |one: serde_json::Value| json::from_json(&one.to_string()).map_err(wrong);
        all.into_iter().map(read).collect::<Result<_, _>>()?
    } else {
        vec![json::from_json(text).map_err(wrong)?]
    };
    if let Some(empty) = all.iter().find(|report| report.runs.is_empty()) {
        return Err(Failure::Message(format!(
            "--baseline: {}: its `runs` of {} is empty, so there is nothing to compare with; \
             `schedlab run ... --output FILE.json` writes a result",
            source.file, empty.workload.name
        )));
    }
    if all.is_empty() {
        return Err(Failure::Message(format!(
            "--baseline: {}: it contains no result",
            source.file
        )));
    }
    Ok(all)
}

/// Prints one document; with several files, an array of documents.
fn print_json(args: &RunArgs, reports: &[Report], output: &mut Output) -> Result<(), Failure> {
    if let ([report], [_]) = (reports, &*args.files) {
        json::write_json(report, output.documents())?;
        return Ok(());
    }
    writeln!(output, "[")?;
    for (number, report) in reports.iter().enumerate() {
        if number > 0 {
            writeln!(output, ",")?;
        }
        json::write_json(report, output.documents())?;
    }
    writeln!(output, "]")?;
    Ok(())
}

fn print_tables(
    args: &RunArgs,
    reports: &[Report],
    view: &View,
    style: Style,
    output: &mut Output,
) -> Result<Status, Failure> {
    let mut status = Status::Good;
    for (number, report) in reports.iter().enumerate() {
        if number > 0 {
            writeln!(output)?;
        }
        writeln!(output, "{}", heading(report))?;
        output.write_styled(&table::comparison_of(report, view, style))?;
        // Figures requested by name are all shown.
        let groups = match view.rows.are_named() {
            true => String::new(),
            false => table::groups(report, style),
        };
        if !groups.is_empty() {
            write!(output, "\n{groups}")?;
        }
        for run in &report.runs {
            if args.tasks {
                writeln!(output, "\n{}", run.spec())?;
                output.write_styled(&table::tasks(run, style, None))?;
            }
            if args.timeline {
                writeln!(output)?;
                match drawn(args, run, style) {
                    Ok(picture) => output.write_styled(&picture)?,
                    Err(message) => {
                        output.flush()?;
                        complain(&format!("{}: {message}", run.spec()));
                        status = Status::Error;
                    }
                }
            }
        }
    }
    Ok(status)
}

fn drawn(args: &RunArgs, run: &RunReport, style: Style) -> Result<String, String> {
    let options =
        TimelineOptions { from_ns: args.from, to_ns: args.to, ..TimelineOptions::default() };
    timeline::draw(run, options, style).map_err(|error| format!("--timeline: {error}"))
}

fn heading(report: &Report) -> String {
    let cpus = match report.runs.first().map_or(1, |run| run.machine.cpus) {
        1 => "1 CPU".into(),
        cpus => format!("{cpus} CPUs"),
    };
    let set = table::set_for_all(report).into_iter();
    let set: String = set.map(|set| format!(", {set}")).collect();
    format!(
        "{} on {cpus}, {}{set}",
        report.workload.name,
        schedlab_report::format::duration(report.workload.duration_ns, false)
    )
}

#[cfg(test)]
mod tests {
    use super::is_result;

    #[test]
    fn results_are_known_by_their_beginning() {
        for head in [
            "{\n  \"schema\": \"schedlab-run/1\",",
            "[\n{\n  \"schema\": \"schedlab-run/1\",",
            "scheduler,release,metric,value,unit\n",
            "workload,scheduler,release,task,name",
            "a on b.json on 12 CPUs, 10.0 s\n",
            "w.json on 1 CPU, 1.00 s, nice:hog=5\n",
        ] {
            assert!(is_result(head), "{head}");
        }
        for head in [
            "{\n  \"schema\": \"schedlab-run/2\",",
            "{\"tasks\": {}}",
            "#!/bin/sh\n",
            "on CPUs, ",
            "x on CPUs, 3",
            "scheduler\n",
        ] {
            assert!(!is_result(head), "{head}");
        }
    }
}
