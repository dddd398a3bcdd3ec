//! `schedlab verify`.

use crate::args::VerifyArgs;
use crate::terminal::{Output, Progress, complain, counted};
use crate::{Failure, Status};
use schedlab_lab::{parallel, scx};
use schedlab_proof::verify::{
    Agreement, Collected, DISAGREEMENTS, GoldenError, Summary, Tally, Verdict, collect, verify_file,
};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

/// Files left out of directories, reported in one line for each kind rather than for each file.
#[derive(Default)]
struct SkippedFiles {
    /// Files of schedulers that this program does not contain.
    unknown: BTreeMap<(String, String), usize>,
    vectors: usize,
}

/// Replays golden schedules.
pub fn verify(args: &VerifyArgs, output: &mut Output) -> Result<Status, Failure> {
    let is_policy = |path: &&PathBuf| {
        let name = path.display().to_string();
        scx::is_spec(&name) || name.ends_with(".bpf.o")
    };
    if let Some(policy) = args.paths.iter().find(is_policy) {
        let name = policy.display().to_string();
        let spec = if scx::is_spec(&name) { name } else { format!("scx:{name}") };
        return Err(Failure::Message(format!(
            "{spec}: sched_ext policies have no golden schedules; `schedlab stress \
             -s {spec}` runs it under every rule, `schedlab scx log FILE -s {spec}` shows its \
             callbacks"
        )));
    }
    let files = collect(&args.paths).map_err(|error| error.to_string())?;
    // A scheduler that panics differs from its schedule. The message is reported with the file.
    std::panic::set_hook(Box::new(|_| {}));
    let progress = Progress::new(files.len() as u64, "files");
    let mut summary = Summary::default();
    let mut skipped = SkippedFiles::default();
    let mut known = 0;
    let mut unexpected = 0;
    let mut written = Ok(());
    parallel::for_each_in_order(
        &files,
        parallel::cores(),
        |file| verify_file(&file.path),
        |index, result| {
            let reported = progress
                .step(|| report_file(&files[index], &result, args.quiet, &mut skipped, output));
            match reported {
                Ok(counts) => {
                    if counts {
                        summary.add(&result);
                        let agrees = result.as_ref().is_ok_and(Verdict::agrees);
                        let listed = files[index].disagrees.is_some();
                        known += usize::from(listed && !agrees);
                        unexpected += usize::from(listed == agrees);
                    }
                    true
                }
                Err(error) => {
                    written = Err(error);
                    false
                }
            }
        },
    );
    drop(progress);
    written?;
    write_summary(&summary, output)?;
    output.flush()?;
    report_skipped(&skipped);
    if known > 0 {
        complain(&format!(
            "note: {} known to disagree, listed with the reason in {DISAGREEMENTS}",
            counted(known, "file")
        ));
    }
    Ok(if summary.errors > 0 || !skipped.unknown.is_empty() {
        Status::Error
    } else if unexpected > 0 {
        Status::Bad
    } else {
        Status::Good
    })
}

/// Reports the result of one file, and returns whether it counts.
fn report_file(
    file: &Collected,
    result: &Result<Verdict, GoldenError>,
    quiet: bool,
    skipped: &mut SkippedFiles,
    output: &mut Output,
) -> io::Result<bool> {
    let path = file.path.display();
    match result {
        Ok(verdict) => match (&verdict.difference, &verdict.figure) {
            (None, None) if file.disagrees.is_some() => writeln!(
                output,
                "AGREES   {path} (of {} slices), although {DISAGREEMENTS} lists it",
                verdict.slices
            )?,
            (None, None) if quiet => {}
            (None, None) => writeln!(output, "agrees   {path} ({} slices)", verdict.slices)?,
            (Some(difference), _) => {
                let word = if file.disagrees.is_some() { "known  " } else { "DIFFERS" };
                writeln!(output, "{word}  {path} (of {} slices) {difference}", verdict.slices)?;
            }
            (None, Some(figure)) => writeln!(
                output,
                "DIFFERS  {path} (all of {} slices agree) {figure}",
                verdict.slices
            )?,
        },
        Err(GoldenError::UnknownScheduler { scheduler, kernel, .. }) if !file.named => {
            let key = (scheduler.clone(), kernel.clone());
            *skipped.unknown.entry(key).or_default() += 1;
            return Ok(false);
        }
        Err(GoldenError::Vectors) if !file.named => {
            skipped.vectors += 1;
            return Ok(false);
        }
        Err(GoldenError::Form(diagnostic) | GoldenError::UnknownScheduler { diagnostic, .. }) => {
            output.flush()?;
            complain(&diagnostic.to_string());
        }
        Err(error) => {
            // Keeps the order of the output.
            output.flush()?;
            complain(&format!("{path}: {error}"));
        }
    }
    Ok(true)
}

fn write_summary(summary: &Summary, output: &mut Output) -> io::Result<()> {
    let mut rows = vec![["scheduler", "kernel", "files", "agree", "CPU time"].map(String::from)];
    let row = |scheduler: &str, kernel: &str, tally: &Tally| {
        [
            scheduler.into(),
            kernel.into(),
            tally.files.to_string(),
            tally.agreeing.to_string(),
            percent(tally.agreement),
        ]
    };
    for ((scheduler, kernel), tally) in &summary.tallies {
        rows.push(row(scheduler, kernel, tally));
    }
    if summary.tallies.len() > 1 {
        rows.push(row("all", "", &summary.total()));
    }
    if rows.len() == 1 {
        return Ok(());
    }
    let widths: [usize; 5] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    writeln!(output)?;
    for [scheduler, kernel, files, agree, time] in rows {
        let [w0, w1, w2, w3, w4] = widths;
        writeln!(output, "{scheduler:w0$}  {kernel:w1$}  {files:>w2$}  {agree:>w3$}  {time:>w4$}")?;
    }
    Ok(())
}

/// Formats a percentage, truncated instead of rounded: 100 % means complete agreement.
fn percent(agreement: Agreement) -> String {
    if agreement.same_ns == agreement.busy_ns {
        return "100%".into();
    }
    let hundredths = u128::from(agreement.same_ns) * 10_000 / u128::from(agreement.busy_ns);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

fn report_skipped(skipped: &SkippedFiles) {
    if skipped.vectors > 0 {
        complain(&format!(
            "note: {} left out, with load-tracking vectors rather than schedules",
            counted(skipped.vectors, "file")
        ));
    }
    for ((scheduler, kernel), files) in &skipped.unknown {
        complain(&format!(
            "this program has no scheduler {scheduler} of kernel {kernel}: {} not replayed",
            counted(*files, "file")
        ));
    }
}
