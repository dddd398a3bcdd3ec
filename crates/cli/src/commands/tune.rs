//! `schedlab tune`: Python does the search.

use crate::python;
use crate::sweep_args::TuneArgs;
use crate::terminal::Output;
use crate::{Failure, Status, files};
use std::ffi::OsString;

/// Searches for settings.
pub fn tune(args: &TuneArgs, output: &mut Output) -> Result<Status, Failure> {
    // A missing file is reported without Python.
    files::read(&args.file)?;
    let mut list: Vec<OsString> = vec!["tune".into(), args.file.clone().into()];
    let mut add = |name: &str, value: Option<OsString>| {
        if let Some(value) = value {
            list.extend([name.into(), value]);
        }
    };
    add("--budget", args.budget.map(|it| it.to_string().into()));
    add("--seed", args.seed.map(|it| it.to_string().into()));
    add("--storage", args.storage.clone().map(Into::into));
    add("--threads", args.threads.map(|it| it.to_string().into()));
    add("--report", args.report.clone().map(Into::into));
    output.flush_now()?;
    Ok(match python::run("tune", &["optuna"], "optuna", &list)? {
        0 => Status::Good,
        1 => Status::Bad,
        130 => std::process::exit(130),
        _ => Status::Error,
    })
}
