//! rt-app's own logs, as files: `run --rt-app-log DIR`.
//!
//! As in rt-app, each thread has a file, `rt-app-KEY-IDX.log`, with a line for every finished round
//! of a phase. Each scheduler has its own directory of files.

use crate::files;
use schedlab_report::{Report, RunReport};
use schedlab_workload::{Log, LogLine};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Checks that logs can be written below `directory`, before minutes of simulation.
///
/// # Errors
/// They cannot be written.
pub fn check(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| cannot(directory, &error))
}

fn cannot(directory: &Path, error: &std::io::Error) -> String {
    format!("--rt-app-log: {}", files::describe_error(directory, error))
}

/// Writes the logs of the runs of `report` below `directory`; with several workloads, below a
/// directory for this one.
///
/// # Errors
/// They cannot be written, or another file would be lost.
pub fn write(
    directory: &Path,
    report: &Report,
    logs: &[Option<Log>],
    several: bool,
) -> Result<(), String> {
    let mut directory = directory.to_path_buf();
    if several {
        directory.push(file_name(&report.workload.name));
    }
    let mut taken = BTreeSet::new();
    for (run, log) in report.runs.iter().zip(logs) {
        let Some(log) = log else { continue };
        let mut name = file_name(&run.spec());
        while !taken.insert(name.clone()) {
            name.push('+');
        }
        write_run(&directory.join(name), run, log)?;
    }
    Ok(())
}

fn write_run(directory: &Path, run: &RunReport, log: &Log) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| cannot(directory, &error))?;
    let mut lines: Vec<&LogLine> = log.lines().iter().collect();
    // Sorted by thread; the lines of a thread stay in the order of their ends.
    lines.sort_by_key(|line| line.task);
    for task in &run.tasks {
        let from = lines.partition_point(|line| line.task.0 < task.task);
        let until = lines.partition_point(|line| line.task.0 <= task.task);
        let mut text = format!("{}\n", LogLine::HEADER);
        for line in &lines[from..until] {
            text.push_str(&format!("{line}\n"));
        }
        let name = format!("rt-app-{}-{}.log", file_name(&task.key), task.task);
        let path = directory.join(name);
        let is_log = |text: &str| text.starts_with("idx ");
        files::check_replaceable(&path, "--rt-app-log", "a log of rt-app", is_log)?;
        files::write_whole(&path, &text)?;
    }
    Ok(())
}

/// Returns `name` without characters that lead to other directories or affect shells and terminals.
fn file_name(name: &str) -> String {
    let allowed = |c: char| c.is_alphanumeric() || "-_.@=+,[]".contains(c);
    let clean: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    // The name is neither `..` nor hidden.
    if clean.starts_with('.') { format!("_{clean}") } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        assert_eq!(file_name("../a b/\u{1b}c"), "_.._a_b__c");
        assert_eq!(file_name("eevdf@6.18[SLICE=1]"), "eevdf@6.18[SLICE=1]");
    }
}
