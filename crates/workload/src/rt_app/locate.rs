//! Positions of parts of the model in the file.

use super::keys::{self, Key};
use super::model_error::{ModelError, Place, Spot};
use crate::cursor::Cursor;
use crate::diagnostic::Diagnostic;
use crate::model::Model;

/// Returns the error with its position in the file at `root`, from which `model` was read.
pub fn diagnostic(root: Cursor<'_>, model: &Model, error: ModelError) -> Diagnostic {
    match in_file(root, model, &error) {
        Ok(diagnostic) => diagnostic,
        // The position should always be found. If it is not, an error without a position is better
        // than no error.
        Err(_) => return error.without_source(model),
    }
    .with_help_if(error.help)
}

/// Follows the members from which the reader has made tasks, phases and events: exactly those that
/// are objects.
fn in_file(root: Cursor<'_>, model: &Model, error: &ModelError) -> Result<Diagnostic, Diagnostic> {
    let message = || error.message.clone();
    let lost = || root.error(message());
    let tasks = root.member(root.find("tasks")?.ok_or_else(lost)?);
    let Place { task, phase, spot } = error.place;
    let Some(task_number) = task else {
        return Ok(tasks.key_error(message()));
    };
    let task = tasks.member(tasks.object()?.get(task_number).ok_or_else(lost)?);
    let flat = model.tasks[task_number].flat;
    let Some(phase_number) = phase.filter(|_| !flat) else {
        return spot_in(task, spot, message());
    };
    let phases = task.member(task.find("phases")?.ok_or_else(lost)?);
    let phase = phases.member(phases.object()?.get(phase_number).ok_or_else(lost)?);
    spot_in(phase, spot, message())
}

fn spot_in(holder: Cursor<'_>, spot: Spot, message: String) -> Result<Diagnostic, Diagnostic> {
    let member = match spot {
        Spot::Whole => None,
        Spot::Key(key) => holder.find(key)?,
        Spot::Event(number) => holder
            .object()?
            .iter()
            .filter(|member| matches!(keys::classify(&member.key), Key::Event(_)))
            .nth(number),
    };
    Ok(match member {
        Some(member) => holder.member(member).error(message),
        None => holder.key_error(message),
    })
}
