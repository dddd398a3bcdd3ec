//! Catches panics: a broken scheduler may panic, which a caller with many runs treats as a result.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `act` and returns its result, or the message with which it panicked.
///
/// The panic is caught here, but the process's panic hook is neither read nor replaced. By default
/// this hook prints the message on standard error. To avoid that, a program sets its own hook,
/// once, for all of its threads.
pub fn catch_panic<R>(act: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|payload| {
        if let Some(message) = payload.downcast_ref::<&str>() {
            (*message).to_string()
        } else if let Some(message) = payload.downcast_ref::<String>() {
            message.clone()
        } else {
            "a panic without a message".into()
        }
    })
}
