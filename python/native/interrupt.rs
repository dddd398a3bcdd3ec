//! Work of the engine without the interpreter's lock, which `KeyboardInterrupt` and similar
//! exceptions can end.
//!
//! The engine does not know signals. While work runs on other threads, the calling thread checks
//! for signals at intervals. A flag stops the runs: each run's observer checks it every few
//! thousand events and ends its run. Work that calls back into Python (a policy) stays on the
//! calling thread, and its observer checks for signals itself.

use pyo3::prelude::*;
use schedlab_core::{Event, Observer};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Number of events of a run between two checks.
const EVENTS: u32 = 4096;

/// Interval at which the calling thread checks for signals.
const EVERY: Duration = Duration::from_millis(50);

/// Whether runs are to end, and the reason.
#[derive(Default)]
pub struct Stop {
    is_set: AtomicBool,
    /// Whether a run checks for signals itself.
    looks: bool,
    why: Mutex<Option<PyErr>>,
}

impl Stop {
    fn set(&self, why: PyErr) {
        self.is_set.store(true, Ordering::SeqCst);
        if let Ok(mut place) = self.why.lock() {
            place.get_or_insert(why);
        }
    }

    /// Whether no further run may begin.
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    /// Returns the state as a flag, for work that checks one.
    pub fn flag(&self) -> &AtomicBool {
        &self.is_set
    }

    /// Returns an observer that ends its run when runs are to end.
    pub fn observer(&self) -> StopObserver<'_> {
        StopObserver { stop: self, events: 0 }
    }
}

/// Ends its run when runs are to end.
pub struct StopObserver<'a> {
    stop: &'a Stop,
    events: u32,
}

impl StopObserver<'_> {
    #[cold]
    fn look(&mut self) {
        self.events = 0;
        if self.stop.looks
            && let Err(signal) = Python::attach(|py| py.check_signals())
        {
            self.stop.set(signal);
        }
        if self.stop.is_set() {
            // The engine catches it where it catches a scheduler that panics; no message is
            // printed, because this is not a panic.
            std::panic::resume_unwind(Box::new("interrupted".to_string()));
        }
    }
}

impl Observer for StopObserver<'_> {
    #[inline]
    fn on(&mut self, _now_ns: u64, _event: Event<'_>) {
        self.events += 1;
        if self.events == EVENTS {
            self.look();
        }
    }
}

/// Does `work` without the interpreter's lock. `stays`: on the calling thread, because it calls
/// back into Python.
///
/// # Errors
/// `KeyboardInterrupt`, or another exception that a signal's handler raised.
pub fn interruptible<R: Send>(
    py: Python<'_>,
    stays: bool,
    work: impl FnOnce(&Stop) -> R + Send,
) -> PyResult<R> {
    let stop = Stop { looks: stays, ..Stop::default() };
    let result = py.detach(|| if stays { work(&stop) } else { watched(&stop, work) });
    match stop.why.into_inner() {
        Ok(Some(why)) => Err(why),
        _ => Ok(result),
    }
}

/// Does `work` on another thread, while this one checks for signals.
fn watched<R: Send>(stop: &Stop, work: impl FnOnce(&Stop) -> R + Send) -> R {
    std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let worker = scope.spawn(move || {
            let result = work(stop);
            drop(done);
            result
        });
        while is_done.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            if let Err(signal) = Python::attach(|py| py.check_signals()) {
                stop.set(signal);
            }
        }
        worker.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    })
}
