//! rt-app's JSON language: reading, checking and writing workload files.
//!
//! rt-app is the load generator that scheduler developers use on real kernels. A file written for
//! it runs here unchanged, and a file that runs here can be given to rt-app. (Exceptions, all ours
//! and unknown to rt-app: the properties `slice` and `clock_read`, the key `session` of tasks, the
//! event `thread`, and the event `resume_sync`, which rt-app treats as a plain `resume`.)
//!
//! `clock_read` is the CPU time in µs between two readings of the thread's own CPU clock
//! (`CLOCK_THREAD_CPUTIME_ID`) in its `run` events. A phase without it has the task's. The last
//! reading is at the end of each `run`. Kernels since 3.18 charge the task at each of them, so that
//! its slice, or its group's quota, can end between two ticks. The readings themselves are part of
//! the run's time.
//!
//! Reading takes three steps: text to JSON (comments, trailing commas and repeated keys are
//! allowed), JSON to a [`Model`] (every key and value is known and of the right kind), and checks
//! of the model as a whole (`check`). Errors that can be found beforehand do not occur during a
//! run. [`prepare`] compiles a model to scripts and returns a [`Kernel`] that runs them. No event
//! needs a separate interpreter: each is one step of the kernel of programs, or two.
//!
//! # Where the language leaves a choice
//!
//! - All threads share one address space, as in rt-app (see
//!   [`AddressSpaces`](crate::AddressSpaces)).
//! - `memrun` with `type` `chase` (`pointer-chase`) takes `count` steps. `read` and `write` touch
//!   `count` bytes in all, cycling through a buffer of `size`. `stride`, `pattern` and `ref` have
//!   no effect.
//! - `sync` signals and waits with the mutex held, and the thread holds it afterwards. A thread
//!   that does not hold the mutex locks it before and unlocks it afterwards.
//! - `suspend` and `yield` may have no value.
//! - Waiters for a mutex: deadline tasks before real-time ones, those with the shorter relative
//!   deadline first.
//! - `dl-runtime` of an ordinary task is its slice request. Slice and deadline figures are
//!   remembered separately while the other policy is in force.
//! - A phase without events is passed once, whatever its `loop`.
//! - `duration` may have a fraction.
//! - Events next to `phases`, repeated `phases` or `tasks`, and a mutex that is not released are
//!   errors, even where rt-app would continue and do something other than the file states.

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
use crate::programs::{Conventions, Kernel, RequestFilter, ScriptOptions, Scripts};
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

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Numbers that the scheduler gives to the groups [`Model::group_paths`], in that order. Empty:
    /// 1, 2, 3 ...
    pub group_ids: Vec<GroupId>,
    /// Costs of memory and I/O events.
    pub costs: Costs,
    /// Costs of system calls. `None`: they are free, as on an idealised machine.
    pub calls: Option<CallCosts>,
    /// Maximum number of lines of rt-app's log. `0`: no log.
    pub log_lines: usize,
    /// Requests whose response times are recorded. `None`: none are.
    pub requests: Option<RequestFilter>,
    /// Deviations from rt-app.
    pub conventions: Conventions,
    /// How initial threads begin.
    pub start: Start,
}

/// Reads a workload file. `name` names it in messages. `target` describes the machine on which it
/// will run.
///
/// # Errors
/// The first part of it that cannot be run as intended, with its position.
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

/// Checks a model that does not come from a file.
///
/// # Errors
/// As [`load`], but without a position in a file.
pub fn check(model: &Model, target: &Target) -> Result<(), Diagnostic> {
    check_as(model, Dialect::RtApp, target)
}

pub(crate) fn check_as(model: &Model, dialect: Dialect, target: &Target) -> Result<(), Diagnostic> {
    check::check(model, dialect, target).map_err(|error| error.without_source(model))
}

/// Returns the model as a file in rt-app's language. [`load`] turns it into the same model.
pub fn write(model: &Model) -> String {
    write::write(model)
}

/// Returns the scripts that [`prepare`] runs, for use outside of a [`Kernel`].
///
/// # Errors
/// As [`prepare`].
pub fn scripts(model: &Model, target: &Target, costs: &Costs) -> Result<Scripts, Diagnostic> {
    check_as(model, Dialect::RtApp, target)?;
    Ok(compile::compile(model, Dialect::RtApp, costs))
}

/// Prepares `model` to run on `target`.
///
/// # Errors
/// If the model cannot be run as intended. This never happens for a model that [`load`] returned
/// for the same target.
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
        let message = format!("{given} group ids for {groups} groups");
        return Err(Diagnostic::without_source(&model.name, "", message));
    }
    let Options { group_ids, calls, log_lines, requests, conventions, start, .. } = options;
    let options = ScriptOptions { group_ids, calls, log_lines, requests, conventions };
    let mut kernel = Kernel::with_scripts(scripts, options);
    if start == Start::Wake {
        start::one_after_the_other(&mut kernel);
    }
    Ok(kernel)
}
