//! `schedlab papers`.

use crate::args::PapersArgs;
use crate::terminal::{Output, Progress, complain, style};
use crate::{Failure, Status};
use schedlab_lab::parallel;
use schedlab_papers::{Catalogue, Outcome, Verdict, embedded, text};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Runs published experiments again and judges them.
pub fn papers(args: &PapersArgs, output: &mut Output) -> Result<Status, Failure> {
    let catalogue = match &args.from {
        Some(directory) => read(directory)?,
        None => embedded::catalogue().map_err(|error| error.to_string())?,
    };
    let chosen = catalogue.choose(&args.ids).map_err(|error| error.to_string())?;
    if args.list {
        for file in chosen {
            writeln!(output, "{:10} {}", file.id, file.title)?;
        }
        return Ok(Status::Good);
    }
    let threads = args.threads.unwrap_or_else(parallel::cores);
    let mut progress = None;
    let outcomes = catalogue.run(&chosen, args.reduced, threads, |_, of| {
        progress.get_or_insert_with(|| Progress::new(of as u64, "simulations")).step(|| true)
    });
    drop(progress);
    let outcomes = outcomes.map_err(|error| error.to_string())?;
    let style = style();
    for outcome in &outcomes {
        let width = style.width.try_into().unwrap_or(u16::MAX);
        writeln!(output, "{}", text::experiment(outcome, width, style.unicode))?;
    }
    writeln!(output, "{}", text::summary(&outcomes))?;
    if let Some(directory) = &args.report {
        write_report(directory, &outcomes).map_err(|error| format!("{}: {error}", directory.display()))?;
        complain(&format!("note: the tables are in {}", directory.display()));
    }
    let missed =
        |outcome: &Outcome| outcome.judged.iter().any(|judged| judged.verdict == Verdict::HardMissed);
    Ok(if outcomes.iter().any(missed) { Status::Bad } else { Status::Good })
}

/// Reads the experiments of a directory, in the order of their names, and its `data/targets.csv`.
fn read(directory: &Path) -> Result<Catalogue, Failure> {
    let told = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let mut paths = vec![];
    for entry in fs::read_dir(directory).map_err(|error| told(directory, error))? {
        let path = entry.map_err(|error| told(directory, error))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        let directory = directory.display();
        return Err(Failure::Message(format!("{directory}: there is no experiment (*.toml) in it")));
    }
    let mut files = vec![];
    for path in &paths {
        let text = fs::read_to_string(path).map_err(|error| told(path, error))?;
        files.push((path.display().to_string(), text));
    }
    let targets = directory.join("data/targets.csv");
    let rows = fs::read_to_string(&targets).map_err(|error| told(&targets, error))?;
    let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let catalogue = Catalogue::read(files, (&targets.display().to_string(), &rows));
    catalogue.map_err(|error| Failure::Message(error.to_string()))
}

fn write_report(directory: &Path, outcomes: &[Outcome]) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("verdicts.csv"), text::verdicts_csv(outcomes))?;
    for outcome in outcomes {
        fs::write(directory.join(format!("{}.csv", outcome.file.id)), text::values_csv(outcome))?;
    }
    Ok(())
}
