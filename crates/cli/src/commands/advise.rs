//! `schedlab advise`.

use super::replay;
use crate::advise_args::AdviseArgs;
use crate::files;
use crate::replay_args::ReplayFormat;
use crate::terminal::{Output, Spinner, complain};
use crate::{Failure, Status};
use schedlab_lab::parallel;
use schedlab_lab::replay::Replay;
use schedlab_replay::Trace;
use schedlab_report::csv::Rows;
use schedlab_space::advise::{self, AdviseSpec, CheckSpec, Outcome, Score};
use std::io::Write;
use std::path::{Path, PathBuf};

mod document;
mod text;

/// First line of a file of scores.
const SCORE_HEAD: [&str; 13] = [
    "before",
    "after",
    "change",
    "figure",
    "recorded_before",
    "recorded_after",
    "real_change",
    "predicted_change",
    "least_change",
    "greatest_change",
    "direction_right",
    "in_band",
    "grade",
];

/// Searches advice for a recording, or checks it.
pub fn advise(args: &AdviseArgs, output: &mut Output) -> Result<Status, Failure> {
    // A scheduler that panics is reported as a separate error.
    std::panic::set_hook(Box::new(|_| {}));
    if args.check {
        return check(args, output);
    }
    let [file] = args.files.as_slice() else {
        let what = "two recordings are for --check; a second one to judge changes is --hold-out";
        return Err(Failure::Message(what.into()));
    };
    let Some(aim) = args.aim.clone() else {
        return Err(Failure::Message("--aim is missing, e.g. --aim 'p99(api) min'".into()));
    };
    if let Some(other) = &args.hold_out
        && files::is_same_file(file, other)
    {
        return Err(Failure::Message(format!(
            "--hold-out {}: it must be a second recording, not the one that is examined",
            other.display()
        )));
    }
    let (replay, trace) = recording(args, file, &args.groups, &args.side)?;
    let hold_out = args.hold_out.as_ref().map(|file| second(args, file, &replay)).transpose()?;
    let spec = AdviseSpec {
        replay,
        trace,
        hold_out,
        aim,
        budget: args.budget,
        kinds: args.kinds.iter().map(|&kind| kind.into()).collect(),
        releases: args.releases.clone(),
    };
    let spinner = Spinner::new("runs");
    let threads = args.threads.unwrap_or_else(parallel::cores);
    let advice = advise::advise(&spec, threads, || spinner.tick())?;
    drop(spinner);
    for note in &advice.notes {
        complain(&format!("note: {note}"));
    }
    match args.format {
        ReplayFormat::Json => document(output, &document::advice(&advice))?,
        ReplayFormat::Table => {
            let judge = args.hold_out.as_ref().map(|file| file.display().to_string());
            output.write_all(text::advice(&advice, judge.as_deref()).as_bytes())?;
        }
    }
    Ok(if advice.suggestions.is_empty() { Status::Bad } else { Status::Good })
}

/// Compares a prediction with what happened.
fn check(args: &AdviseArgs, output: &mut Output) -> Result<Status, Failure> {
    let [before, after @ ..] = args.files.as_slice() else {
        return Err(Failure::Message("--check needs the recording before the change".into()));
    };
    if let Some(path) = &args.score {
        for file in &args.files {
            files::check_other(path, "--score", file)?;
        }
        files::check(path)?;
        let head = SCORE_HEAD.join(",");
        let is_ours = |text: &str| text.lines().next() == Some(&head);
        files::check_replaceable(path, "--score", "a file of scores", is_ours)?;
    }
    let first = recording(args, before, &args.groups, &args.side)?;
    let after = match (after, args.measured.is_empty()) {
        ([after], true) => Outcome::Recording(Box::new(second(args, after, &first.0)?)),
        ([], false) => Outcome::Measured(args.measured.clone()),
        ([], true) => {
            let what = "--check needs a recording made after the change, or figures measured then \
                        (--measured 'end(make)=2.86s')";
            return Err(Failure::Message(what.into()));
        }
        _ => {
            let what = "--measured takes the place of the recording after the change; give one of \
                        them";
            return Err(Failure::Message(what.into()));
        }
    };
    let aim = args.aim.iter();
    let measures = aim.flat_map(|aim| {
        let conditions = aim.conditions.iter().map(|condition| condition.measure.clone());
        std::iter::once(aim.objective.clone()).chain(conditions)
    });
    let spec = CheckSpec {
        before: first,
        after,
        changes: args.change.clone(),
        measures: measures.collect(),
    };
    let spinner = Spinner::new("runs");
    let threads = args.threads.unwrap_or_else(parallel::cores);
    let score = advise::check(&spec, threads, || spinner.tick())?;
    drop(spinner);
    for note in &score.notes {
        complain(&format!("note: {note}"));
    }
    if let Some(path) = &args.score {
        append(path, args, &score)?;
    }
    match args.format {
        ReplayFormat::Json => document(output, &document::score(&score))?,
        ReplayFormat::Table => output.write_all(text::score(&score).as_bytes())?,
    }
    let is_right = score.figures.iter().all(|it| it.is_direction_right() && it.is_in_band());
    Ok(if is_right { Status::Good } else { Status::Bad })
}

fn document(output: &mut Output, value: &serde_json::Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
    writeln!(output.documents(), "{text}")?;
    Ok(())
}

/// Reads a recording and what is known about it.
fn recording(
    args: &AdviseArgs,
    file: &Path,
    groups: &Option<PathBuf>,
    side: &Option<PathBuf>,
) -> Result<(Replay, Trace), Failure> {
    let (_, trace) = replay::open(file)?;
    let replay = Replay {
        recorded: args.recorded.clone(),
        hz: args.hz,
        groups: replay::groups_file(groups, file)?,
        side: replay::side_file(side, file)?,
        only: args.only.clone(),
        clock_reads: args.clock_read.clone(),
        arrivals: args.arrivals.into(),
        seeds: args.seeds,
        ..Replay::new(file.display().to_string())
    };
    Ok((replay, trace))
}

/// Reads a second recording of the same work. Without a file of its own, it has the groups of
/// the first.
fn second(args: &AdviseArgs, file: &Path, first: &Replay) -> Result<(Replay, Trace), Failure> {
    let (mut replay, trace) = recording(args, file, &None, &None)?;
    if replay.groups.is_none() && replay.side.is_none() {
        replay.groups.clone_from(&first.groups);
    }
    Ok((replay, trace))
}

/// Appends the score to a file.
fn append(path: &Path, args: &AdviseArgs, score: &Score) -> Result<(), Failure> {
    let mut rows = Rows::headed(&SCORE_HEAD);
    let name = |at: usize| args.files.get(at).map_or(String::new(), |it| it.display().to_string());
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value}"));
    let part = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    for one in &score.figures {
        let range = one.effect.range();
        rows.push(&[
            name(0),
            name(1),
            score.changes.join("; "),
            one.effect.measure.to_string(),
            number(one.effect.recorded),
            number(one.after),
            part(Some(one.real)),
            part(one.effect.change()),
            part(range.map(|(least, _)| least)),
            part(range.map(|(_, greatest)| greatest)),
            one.is_direction_right().to_string(),
            one.is_in_band().to_string(),
            one.grade.to_string(),
        ]);
    }
    let text = rows.into_text();
    let earlier = match path.exists() {
        true => files::read(path)?.text,
        false => String::new(),
    };
    let text = match (earlier.is_empty(), text.split_once('\n')) {
        (false, Some((_, rows))) => format!("{}\n{rows}", earlier.trim_end()),
        _ => text,
    };
    files::write_whole(path, &text)?;
    Ok(())
}
