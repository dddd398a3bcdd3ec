//! rt-app's JSON language: reading, checking and writing workload files.
//!
//! rt-app is the load generator that scheduler developers use on real kernels. A file written for
//! it runs here unchanged, and a file that runs here can be given to rt-app. (Exceptions, both ours
//! and unknown to rt-app: the property `slice` and the event `resume_sync`, which rt-app takes for
//! a plain `resume`.)
//!
//! Reading goes in three steps: text to JSON (comments, trailing commas and repeated keys allowed),
//! JSON to a [`Model`] (every key and value known and of the right kind), and the checks of the
//! model as a whole (`check`): nothing that can be known to go wrong is left to go wrong in the
//! middle of a run. [`prepare`] compiles a model to scripts and gives a [`Kernel`] that runs them.
//! No event needs an interpreter of its own: each is one step of the kernel of programs, or two.
//!
//! # Where the language leaves a choice
//!
//! - All threads share one address space, as rt-app's do (see
//!   [`AddressSpaces`](crate::AddressSpaces)).
//! - `memrun` with `type` `chase` (`pointer-chase`) takes `count` steps; `read` and `write` touch
//!   `count` bytes in all, of a buffer of `size` that they go round in. `stride`, `pattern` and
//!   `ref` change nothing.
//! - `sync` signals and waits with the mutex held, as the thread holds it afterwards. A thread that
//!   does not hold the mutex locks it before and unlocks it after.
//! - `suspend` and `yield` may stand without a value.
//! - Waiters for a mutex: deadline tasks before real-time ones, those with the shorter relative
//!   deadline first.
//! - `dl-runtime` of an ordinary task is the slice that it asks for. Slice and deadline figures are
//!   remembered separately while the other policy is in force.
//! - A phase without events is passed once, whatever its `loop`.
//! - `duration` may have a fraction.
//! - Events beside `phases`, a second `phases` or `tasks`, and a mutex that is not given back are
//!   errors, also where rt-app would go on and do something else than was written.

mod check;
mod compile;
mod costs;
mod in_force;
mod keys;
mod locate;
mod model_error;
mod mutex_use;
mod notes;
mod places;
mod read;
mod start;
mod write;

use crate::cursor::Cursor;
use crate::diagnostic::{Diagnostic, Source};
use crate::json;
use crate::model::Model;
use crate::programs::{Conventions, Kernel, ScriptOptions, Scripts};
use schedlab_core::GroupId;
use schedlab_machine::costs::CallCosts;

pub use check::Target;
pub(crate) use check::key_and_instance;
use check::{barriers, thread_of};
pub use costs::Costs;
use in_force::InForce;
pub use notes::notes;
pub use places::{Place, place_of, place_of_property, replaced};
pub(crate) use read::{Dialect, policy};
pub use start::{LEAD_NS, Start};

/// How a workload is to be run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The scheduler's numbers of the groups [`Model::group_paths`], in that order. Empty: 1, 2, 3
    /// ...
    pub group_ids: Vec<GroupId>,
    /// What memory and I/O events cost.
    pub costs: Costs,
    /// What system calls cost; none: nothing, as on an idealised machine.
    pub calls: Option<CallCosts>,
    /// How many lines of rt-app's log to keep at most; 0 keeps no log.
    pub log_lines: usize,
    /// Deviations from rt-app.
    pub conventions: Conventions,
    /// How the threads of the beginning begin.
    pub start: Start,
}

/// Reads a workload file. `name` is what messages call it; `target` is what it is to run on.
///
/// # Errors
/// The first thing in it that cannot be run as meant, with its place.
pub fn load(name: &str, text: &str, target: &Target) -> Result<Model, Diagnostic> {
    let source = Source { name, text };
    let value = json::parse(source)?;
    load_value(Cursor::root(source, &value), Dialect::RtApp, target)
}

/// Reads the workload at `cursor`.
pub(crate) fn load_value(
    cursor: Cursor<'_>,
    dialect: Dialect,
    target: &Target,
) -> Result<Model, Diagnostic> {
    let model = read::model(cursor, dialect)?;
    match check::check(&model, dialect, target) {
        Ok(()) => Ok(model),
        Err(error) => Err(locate::diagnostic(cursor, &model, error)),
    }
}

/// Checks a model that comes from no file.
///
/// # Errors
/// As [`load`], but without a place in a file.
pub fn check(model: &Model, target: &Target) -> Result<(), Diagnostic> {
    check_as(model, Dialect::RtApp, target)
}

pub(crate) fn check_as(model: &Model, dialect: Dialect, target: &Target) -> Result<(), Diagnostic> {
    check::check(model, dialect, target).map_err(|error| error.without_source(model))
}

/// The model as a file in rt-app's language. [`load`] makes the same model of it again.
pub fn write(model: &Model) -> String {
    write::write(model)
}

/// The scripts that [`prepare`] runs, for whoever executes them elsewhere than in a [`Kernel`].
///
/// # Errors
/// As [`prepare`].
pub fn scripts(model: &Model, target: &Target, costs: &Costs) -> Result<Scripts, Diagnostic> {
    check_as(model, Dialect::RtApp, target)?;
    Ok(compile::compile(model, Dialect::RtApp, costs))
}

/// Makes `model` ready to run on `target`.
///
/// # Errors
/// If the model cannot be run as meant; never for one that [`load`] has given for the same target.
pub fn prepare(model: &Model, target: &Target, options: Options) -> Result<Kernel, Diagnostic> {
    prepare_as(model, Dialect::RtApp, target, options)
}

pub(crate) fn prepare_as(
    model: &Model,
    dialect: Dialect,
    target: &Target,
    options: Options,
) -> Result<Kernel, Diagnostic> {
    check_as(model, dialect, target)?;
    let mut scripts = compile::compile(model, dialect, &options.costs);
    if options.start == Start::Wake {
        start::by_waking(&mut scripts);
    }
    let (given, groups) = (options.group_ids.len(), scripts.groups.len() - 1);
    if given != 0 && given != groups {
        let message = format!("{given} numbers for {groups} groups");
        return Err(Diagnostic::without_source(&model.name, "", message));
    }
    let Options { group_ids, calls, log_lines, conventions, start, .. } = options;
    let options = ScriptOptions { group_ids, calls, log_lines, conventions };
    let mut kernel = Kernel::with_scripts(scripts, options);
    if start == Start::Wake {
        start::one_after_the_other(&mut kernel);
    }
    Ok(kernel)
}
