//! An exception that a policy raised, and the place where it is kept until the run has ended.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// An exception that a policy raised, with the hook and the virtual time.
pub struct Failure {
    pub error: PyErr,
    pub hook: String,
    pub at_ns: u64,
    /// The traceback as Python prints it.
    pub traceback: String,
}

impl Failure {
    /// Describes `error`, which was raised in `hook` at `at_ns`.
    pub fn new(py: Python<'_>, error: PyErr, hook: &str, at_ns: u64) -> Failure {
        // Before Python 3.12, an exception has no traceback until it is caught.
        if let Some(traceback) = error.traceback(py) {
            let _ = error.value(py).setattr("__traceback__", traceback);
        }
        let printed = || -> PyResult<String> {
            let format = py.import("traceback")?.getattr("format_exception")?;
            let lines: Vec<String> = format.call1((error.value(py),))?.extract()?;
            Ok(lines.concat())
        };
        let traceback = printed().unwrap_or_else(|_| error.to_string());
        // The name that users know: the method of theirs that raised it.
        let named = || -> PyResult<String> {
            let failed_hook = py.import("schedlab._policy")?.getattr("failed_hook")?;
            failed_hook.call1((error.value(py), hook))?.extract()
        };
        let hook = named().unwrap_or_else(|_| hook.into());
        Failure { error, hook, at_ns, traceback }
    }

    /// Whether the exception is not an error of the policy but was raised to end the program
    /// (`KeyboardInterrupt`).
    pub fn is_signal(&self, py: Python<'_>) -> bool {
        !self.error.is_instance_of::<PyException>(py)
    }
}

/// The last failure of a policy. The policy's loader and all schedulers made by it share one.
#[derive(Clone, Default)]
pub struct LastFailure(Arc<Mutex<Option<Failure>>>);

impl LastFailure {
    /// Keeps `failure` and ends the run: the engine catches the unwinding where it catches a
    /// scheduler that panics.
    pub fn unwind(&self, failure: Failure) -> ! {
        let at_s = failure.at_ns as f64 / 1e9;
        let message =
            format!("{} failed at {at_s:.6} s:\n{}", failure.hook, failure.traceback.trim_end());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        std::panic::resume_unwind(Box::new(message))
    }

    /// Takes the failure, if there is one.
    pub fn take(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether the failure is a signal's; it is kept.
    pub fn is_signal(&self) -> bool {
        let failure = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_signal = |failure: &Failure| Python::attach(|py| failure.is_signal(py));
        failure.as_ref().is_some_and(is_signal)
    }
}
