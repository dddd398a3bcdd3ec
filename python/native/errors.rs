//! Errors of the engine as exceptions of the package: `schedlab.InputError` and related classes.

use crate::failure::Failure;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use schedlab_lab::Error;
use schedlab_workload::Diagnostic;

/// The module in which the exceptions are defined.
const MODULE: &str = "schedlab._errors";

/// Creates an exception of the class `class` with a message and attributes.
fn exception(py: Python<'_>, class: &str, message: String, place: &Place) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import(MODULE)?.getattr(class)?;
        let keywords = PyDict::new(py);
        keywords.set_item("file", place.file.as_deref())?;
        keywords.set_item("line", place.line)?;
        keywords.set_item("column", place.column)?;
        Ok(PyErr::from_value(class.call((message,), Some(&keywords))?))
    };
    made().unwrap_or_else(|error| error)
}

/// The place of a mistake, if it is known.
#[derive(Default)]
struct Place {
    file: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
}

/// Returns an invalid request: `InputError`, without a place.
pub fn input(py: Python<'_>, message: impl Into<String>) -> PyErr {
    exception(py, "InputError", message.into(), &Place::default())
}

/// Returns a mistake in a file: `InputError` with the place.
pub fn diagnostic(py: Python<'_>, diagnostic: &Diagnostic) -> PyErr {
    let known = |number: usize| (number > 0).then_some(number);
    let place = Place {
        file: Some(diagnostic.file().into()),
        line: known(diagnostic.line()),
        column: known(diagnostic.column()),
    };
    exception(py, "InputError", diagnostic.to_string(), &place)
}

/// Returns a failed run: `RunError`.
pub fn run(py: Python<'_>, message: impl Into<String>) -> PyErr {
    exception(py, "RunError", message.into(), &Place::default())
}

/// Returns an exception that a policy raised: `PolicyError` with that exception as its cause.
pub fn policy(py: Python<'_>, name: &str, failure: Failure) -> PyErr {
    let Failure { error, hook, at_ns, .. } = failure;
    let at_s = at_ns as f64 / 1e9;
    let message = format!("{name}: {hook} failed at {at_s:.6} s of virtual time: {error}");
    let made = exception(py, "PolicyError", message, &Place::default());
    let value = made.value(py);
    // They are attributes of the class; if they cannot be set, nothing else is lost.
    let _ = value.setattr("at_ns", at_ns);
    let _ = value.setattr("hook", hook);
    made.set_cause(py, Some(error));
    made
}

/// Returns an error of the engine. `who` precedes the message if it concerns one scheduler.
pub fn engine(py: Python<'_>, who: Option<&str>, error: &Error) -> PyErr {
    let message = |error: &dyn std::fmt::Display| match who {
        Some(who) => format!("{who}: {error}"),
        None => error.to_string(),
    };
    match error {
        Error::Diagnostic(wrong) => diagnostic(py, wrong),
        Error::Machine(wrong) => {
            let mut numbers = wrong.place.split(':').map(|number| number.parse().ok());
            let place = Place {
                file: Some(wrong.file.clone()),
                line: numbers.next().flatten(),
                column: numbers.next().flatten(),
            };
            exception(py, "InputError", message(wrong), &place)
        }
        Error::Stuck { .. } | Error::Broken(_) | Error::Stopped(_) => run(py, message(error)),
        error => exception(py, "InputError", message(error), &Place::default()),
    }
}
