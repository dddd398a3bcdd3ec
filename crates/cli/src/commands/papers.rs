//! `schedlab papers`.

use crate::args::PapersArgs;
use crate::files::{check, check_replaceable, describe_error, write_whole};
use crate::page::open;
use crate::terminal::{Output, Progress, complain, style};
use crate::{Failure, Status};
use schedlab_lab::parallel;
use schedlab_papers::page::Page;
use schedlab_papers::{Catalogue, Outcome, Outcomes, embedded, text};
use std::fs;
use std::io::{ErrorKind, Write};
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
    if args.contradictions {
        for contradiction in &catalogue.contradictions {
            writeln!(output, "{:6} {}", contradiction.id, contradiction.text)?;
        }
        return Ok(Status::Good);
    }
    if let Some(path) = &args.report {
        // Checked now, before minutes of simulation.
        if is_page(path) {
            check(path)?;
            check_replaceable(path, "--report", "part of an earlier report", is_our_page)?;
        } else {
            fs::create_dir_all(path).map_err(|error| describe_error(path, &error))?;
            check_report(path, chosen.iter().map(|file| file.id.as_str()))?;
        }
    }
    let threads = args.threads.unwrap_or_else(parallel::cores);
    if args.ids.is_empty() && !args.reduced && args.from.is_none() {
        complain("note: all experiments take minutes (to run some, give their ids; see --list)");
    }
    let mut progress = None;
    let ran = catalogue.run(&chosen, args.reduced, threads, |_, of| {
        progress.get_or_insert_with(|| Progress::new(of as u64, "simulations")).step(|| true)
    });
    drop(progress);
    let Outcomes { outcomes, failed } = ran.map_err(|error| error.to_string())?;
    let style = style();
    for outcome in &outcomes {
        let width = style.width.try_into().unwrap_or(u16::MAX);
        writeln!(output, "{}", text::experiment(outcome, width, style.unicode))?;
    }
    if !outcomes.is_empty() {
        writeln!(output, "{}", text::summary(&outcomes))?;
    }
    if let Some(path) = args.report.as_ref().filter(|_| !outcomes.is_empty()) {
        // Of a selection of experiments, the ranges that others leave out are of no interest.
        let forgotten = if args.ids.is_empty() { catalogue.forgotten() } else { vec![] };
        let page = Page {
            outcomes: &outcomes,
            contradictions: &catalogue.contradictions,
            forgotten: &forgotten,
            failed: &failed,
            reduced: args.reduced,
            has_files: !is_page(path),
        };
        let written = if is_page(path) {
            write_whole(path, &page.to_html())?;
            path.clone()
        } else {
            write_report(path, &page)?;
            path.join("index.html")
        };
        complain(&format!("note: the page is {}", written.display()));
        if args.open {
            open(&written);
        }
    }
    if !failed.is_empty() {
        let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
        return Err(Failure::Message(failed.join("\n")));
    }
    let missed =
        |outcome: &Outcome| outcome.judged.iter().any(|judged| judged.verdict.is_hard_miss());
    Ok(if outcomes.iter().any(missed) { Status::Bad } else { Status::Good })
}

/// Reads the experiments of a directory, in the order of their names, with its `data/targets.csv`,
/// and `data/contradictions.toml` if it exists.
fn read(directory: &Path) -> Result<Catalogue, Failure> {
    let mut paths = vec![];
    for entry in fs::read_dir(directory).map_err(|error| describe_error(directory, &error))? {
        let path = entry.map_err(|error| describe_error(directory, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        let directory = directory.display();
        return Err(Failure::Message(format!("{directory}: it contains no experiment (*.toml)")));
    }
    let mut files = vec![];
    for path in &paths {
        let text = fs::read_to_string(path).map_err(|error| describe_error(path, &error))?;
        files.push((path.display().to_string(), text));
    }
    let targets = directory.join("data/targets.csv");
    let rows = fs::read_to_string(&targets).map_err(|error| describe_error(&targets, &error))?;
    let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let catalogue = Catalogue::read(files, (&targets.display().to_string(), &rows));
    let catalogue = catalogue.map_err(|error| error.to_string())?;
    let path = directory.join("data/contradictions.toml");
    match fs::read_to_string(&path) {
        Ok(text) => {
            let name = path.display().to_string();
            let catalogue = catalogue.with_contradictions((&name, &text));
            catalogue.map_err(|error| Failure::Message(error.to_string()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(catalogue),
        Err(error) => Err(Failure::Message(describe_error(&path, &error))),
    }
}

/// Returns whether `--report` names a page rather than a directory.
fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html"))
}

fn is_our_page(text: &str) -> bool {
    text.contains("schedlab papers --report")
}

/// Checks that only pages and tables of an earlier report in `directory` would be overwritten.
fn check_report<'a>(directory: &Path, ids: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let headed = |heading: &'static str| move |text: &str| text.lines().next() == Some(heading);
    let check = |name: &str, is_ours: &dyn Fn(&str) -> bool| {
        check_replaceable(&directory.join(name), "--report", "part of an earlier report", is_ours)
    };
    check("index.html", &is_our_page)?;
    check("verdicts.csv", &headed(text::VERDICTS_HEADING))?;
    for id in ids {
        check(&format!("{id}.csv"), &headed(text::VALUES_HEADING))?;
        check(&format!("{id}.conditions.csv"), &|table| {
            table.starts_with(text::CONDITIONS_HEADING)
        })?;
    }
    Ok(())
}

/// Writes the files of the report. The page is written last: once it exists, so do all files to
/// which it refers.
fn write_report(directory: &Path, page: &Page) -> Result<(), String> {
    write_whole(&directory.join("verdicts.csv"), &text::verdicts_csv(page.outcomes))?;
    for outcome in page.outcomes {
        write_whole(
            &directory.join(format!("{}.csv", outcome.file.id)),
            &text::values_csv(outcome),
        )?;
        write_whole(
            &directory.join(format!("{}.conditions.csv", outcome.file.id)),
            &text::conditions_csv(outcome),
        )?;
    }
    write_whole(&directory.join("index.html"), &page.to_html())
}
