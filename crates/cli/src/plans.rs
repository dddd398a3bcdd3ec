//! Plans on the command line: their machines, checks and files.

use crate::Failure;
use crate::files;
use crate::terminal::complain;
use schedlab_lab::Error;
use schedlab_lab::plan::{MachineSource, Plan, Prepared};
use schedlab_lab::scx;
use std::path::Path;

/// Returns the machine that `--machine` names, and reads its file.
pub fn find_machine(name: Option<&str>) -> Result<Option<MachineSource>, Failure> {
    match name {
        None => Ok(None),
        Some(name) => Ok(MachineSource::find(name).map_err(|error| error.to_string())?),
    }
}

/// Returns the default scheduler where one scheduler is examined: the newest of the main line.
pub fn newest() -> String {
    schedlab_lab::select::newest().map_or_else(String::new, |choice| choice.to_string())
}

/// Prints notes of a plan.
pub fn note(prepared: &Prepared) {
    for note in prepared.notes() {
        complain(&format!("note: {note}"));
    }
}

/// Checks a plan. Errors are reported with the file from which the plan was read, if any.
pub fn prepare(plan: &Plan, file: Option<&str>) -> Result<Prepared, Failure> {
    let described = |error: Error| match (&error, file) {
        // The error shows a place in a text that the plan contains.
        (Error::Diagnostic(_), Some(file)) => format!("{error}\n   = note: in the plan {file}"),
        (_, Some(file)) => format!("{file}: {error}"),
        (_, None) => error.to_string(),
    };
    // Objects that a plan names are next to it, or relative to the current directory.
    let schedulers = scx::beside(&plan.schedulers, file.unwrap_or(""));
    let plan = Plan { schedulers, ..plan.clone() };
    Ok(plan.prepare().map_err(described)?)
}

/// Writes a plan, and notes that nothing was run. Only a plan or an empty file is overwritten: a
/// workload placed after `--plan-out` by mistake would be lost.
pub fn write_plan(path: &Path, plan: &Plan) -> Result<(), Failure> {
    files::check(path)?;
    files::check_replaceable(path, "--plan-out", "a plan", Plan::is_plan)?;
    files::write_whole(path, &plan.to_json())?;
    complain(&format!("note: nothing was run; the plan is in {}", path.display()));
    Ok(())
}

/// Returns the message for an option that contradicts a plan.
pub fn contradiction(file: &str, option: &str) -> String {
    format!(
        "{file} is a plan, which describes the whole run: --{option} cannot change it; leave it \
         out, or write another plan with --plan-out"
    )
}
