//! Plans on the command line: what fills and writes them.

use crate::Failure;
use crate::files;
use crate::terminal::complain;
use schedlab_lab::Error;
use schedlab_lab::plan::{MachineSource, Plan, Prepared};
use schedlab_lab::scx;
use std::path::Path;

/// The machine that `--machine` names; a file is read.
pub fn find_machine(name: Option<&str>) -> Result<Option<MachineSource>, Failure> {
    match name {
        None => Ok(None),
        Some(name) => Ok(MachineSource::find(name).map_err(|error| error.to_string())?),
    }
}

/// The scheduler of those who name none, where one is looked at: the newest of the main line.
pub fn newest() -> String {
    schedlab_lab::select::newest().map_or_else(String::new, |choice| choice.to_string())
}

/// Says what the user should know about a plan.
pub fn note(prepared: &Prepared) {
    for note in prepared.notes() {
        complain(&format!("note: {note}"));
    }
}

/// Checks a plan. What is wrong is reported with the file that the plan was read from, if it was.
pub fn prepare(plan: &Plan, file: Option<&str>) -> Result<Prepared, Failure> {
    let described = |error: Error| match (&error, file) {
        // It shows the place in a text that stands in the plan.
        (Error::Diagnostic(_), Some(file)) => format!("{error}\n   = note: in the plan {file}"),
        (_, Some(file)) => format!("{file}: {error}"),
        (_, None) => error.to_string(),
    };
    // Objects that a plan names lie beside it, or are named from here.
    let schedulers = scx::beside(&plan.schedulers, file.unwrap_or(""));
    let plan = Plan { schedulers, ..plan.clone() };
    Ok(plan.prepare().map_err(described)?)
}

/// Writes a plan, and says that nothing was run. Only what is a plan, or empty, is written over: a
/// workload whose name came after `--plan-out` by mistake would be lost.
pub fn write_plan(path: &Path, plan: &Plan) -> Result<(), Failure> {
    files::check(path)?;
    files::check_replaceable(path, "--plan-out", "a plan", Plan::is_plan)?;
    files::write_whole(path, &plan.to_json())?;
    complain(&format!("note: nothing was run; the plan is in {}", path.display()));
    Ok(())
}

/// Why an option cannot stand beside a plan.
pub fn contradiction(file: &str, option: &str) -> String {
    format!(
        "{file} is a plan, which says what is run: --{option} cannot be given beside it; leave it \
         out, or write another plan by --plan-out"
    )
}
