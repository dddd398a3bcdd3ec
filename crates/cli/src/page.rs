//! The report as a page for a browser, and its main charts as a picture: `--report`, `--plot`,
//! `--open`.

use crate::Failure;
use crate::files;
use crate::picture;
use crate::terminal::complain;
use clap::Args;
use schedlab_lab::plan::Prepared;
use schedlab_lab::{page, parallel};
use schedlab_report::{Report, picture as charts};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Options `--report`, `--plot` and `--open`.
#[derive(Args, Clone, Debug, Default)]
pub struct PageArgs {
    /// Also write the report as a page for a browser: the comparison, an interactive timeline,
    /// charts over time, and the longest waits, in one file that needs no network (docs/report.md)
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Draw only the main charts, as SVG or PNG
    #[arg(long, value_name = "FILE.svg|png")]
    pub plot: Option<PathBuf>,
    /// Show the report in the browser when it is written
    #[arg(long, requires = "report")]
    pub open: bool,
}

/// Checks, before anything runs, that the requested files can be written.
///
/// # Errors
/// A file cannot be written.
pub fn check(args: &PageArgs, workloads: usize) -> Result<(), Failure> {
    let outputs = [("--report", &args.report), ("--plot", &args.plot)];
    for (option, path) in
        outputs.into_iter().filter_map(|(option, it)| Some((option, it.as_ref()?)))
    {
        if workloads > 1 {
            return Err(Failure::Message(format!(
                "{option}: a page shows one workload; write one for each file"
            )));
        }
        files::check(path)?;
    }
    if let Some(path) = &args.plot {
        picture::check(path, |there| there.starts_with("<svg") && there.contains(charts::MARK))?;
    }
    if let Some(path) = &args.report {
        check_page(path)?;
    }
    Ok(())
}

/// Checks that a page can be written to `path`.
///
/// # Errors
/// It cannot be written.
pub fn check_page(path: &Path) -> Result<(), Failure> {
    files::check(path)?;
    Ok(files::check_replaceable(path, "--report", "a page of this program", |there| {
        there.starts_with("<!DOCTYPE html>")
            && there.contains("<meta name=\"generator\" content=\"schedlab\">")
    })?)
}

/// Writes the requested files, each completely or not at all.
///
/// # Errors
/// It cannot be written.
pub fn write(args: &PageArgs, prepared: &Prepared, report: &Report) -> Result<(), Failure> {
    if args.report.is_some() && prepared.experiment().is_none() {
        let message = "--report: only a workload has a page; this is the plan of a benchmark";
        return Err(Failure::Message(message.into()));
    }
    put(args, report, || page::page(prepared, report, parallel::cores()).unwrap_or_default())
}

/// Writes the charts of `report`, and the page that `page` makes, where they are requested, each
/// completely or not at all; then shows the page if requested.
///
/// # Errors
/// It cannot be written.
pub fn put(args: &PageArgs, report: &Report, page: impl FnOnce() -> String) -> Result<(), Failure> {
    if let Some(path) = &args.plot {
        picture::write(path, &charts::draw(report))?;
    }
    let Some(path) = &args.report else { return Ok(()) };
    files::write_whole(path, &page())?;
    if args.open {
        open(path);
    }
    Ok(())
}

/// Shows a file in the browser. A missing browser is reported, and is not an error: the file
/// exists.
pub fn open(path: &Path) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let full = path.canonicalize().unwrap_or_else(|_| path.into());
    let mut command = Command::new(opener);
    command.arg(&full).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let why = match command.status() {
        Ok(status) if status.success() => return,
        Ok(status) => format!("{opener} ended with {status}"),
        Err(error) => format!("{opener}: {error}"),
    };
    complain(&format!(
        "note: --open: no browser could be started ({why}); the page is in {}",
        full.display()
    ));
}
