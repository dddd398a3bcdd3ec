//! `schedlab compare`: measurements on a real kernel next to their simulation.

use crate::compare_args::{CompareArgs, CompareFormat, NoiseOption};
use crate::page;
use crate::terminal::{Output, complain, style};
use crate::{Failure, Status, files};
use schedlab_compare::page::ComparePage;
use schedlab_compare::text::{self, Form};
use schedlab_compare::{self, Document, Noise, Options, Thresholds};
use schedlab_lab::{compressed, machines, parallel};
use std::io::Write as _;

/// Compares measurements with simulations.
pub fn compare(args: &CompareArgs, output: &mut Output) -> Result<Status, Failure> {
    page::check(&args.page, 1)?;
    let machine = match args.machine.as_deref() {
        Some(name) => Some(machines::find(name).map_err(|error| error.to_string())?),
        None => None,
    };
    let thresholds = match &args.thresholds {
        Some(path) => {
            let source = files::read(path)?;
            Thresholds::parse(&source.file, &source.text)?
        }
        None => Thresholds::default(),
    };
    let mut documents = vec![];
    for path in &args.files {
        let file = path.display().to_string();
        let wrong = |what: String| Failure::Message(format!("{file}: {what}"));
        let bytes = compressed::read(path, compressed::LIMIT)
            .map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let text = compressed::as_text(&bytes).map_err(|error| wrong(error.to_string()))?;
        match Document::parse(&file, text)? {
            Some(document) => documents.push(document),
            None => complain(&format!(
                "note: {file}: these are results of benchmarks, not of a workload that can be \
                 simulated; left out"
            )),
        }
    }
    let options = Options {
        scheduler: args.scx.apply(args.scheduler.clone().into_iter().collect())?.pop(),
        machine,
        costs: args.scx.costs(args.cost.clone()),
        no_costs: args.no_costs,
        hz: args.hz,
        set: args.set.clone(),
        runs: args.runs,
        noise: match args.noise {
            NoiseOption::Auto => Noise::Auto,
            NoiseOption::Replay => Noise::Replay,
            NoiseOption::Model => Noise::Model,
            NoiseOption::None => Noise::None,
        },
        thresholds,
        placements: args.placement.clone(),
        threads: args.threads.unwrap_or_else(parallel::cores),
    };
    let answer =
        schedlab_compare::compare(&documents, &options).map_err(|error| error.to_string())?;
    if args.page.report.is_some() || args.page.plot.is_some() {
        let page = ComparePage::new(&answer).ok_or_else(|| {
            let known: Vec<String> = answer
                .placements
                .iter()
                .map(|one| format!("{} of {}", one.placement, one.file))
                .collect();
            format!(
                "--report: a page shows one placement; there are {} (--placement selects one)",
                known.join(", ")
            )
        })?;
        page::put(&args.page, page.report(), || page.html())?;
    }
    let tasks = !args.summary;
    match args.format {
        CompareFormat::Table => {
            output.write_all(text::text(&answer, Form::Plain(style()), tasks).as_bytes())?;
        }
        CompareFormat::Markdown => {
            output.write_all(text::text(&answer, Form::Markdown, tasks).as_bytes())?;
        }
        CompareFormat::Json => {
            let json = serde_json::to_string_pretty(&answer).expect("all keys are strings") + "\n";
            output.documents().write_all(json.as_bytes())?;
        }
        CompareFormat::Csv => output.documents().write_all(text::csv(&answer).as_bytes())?,
    }
    Ok(if args.check && !answer.holds { Status::Bad } else { Status::Good })
}
