//! A broken scheduler may panic: for those who replay many, that is a result like others.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `act` returns, or the message with which it panicked. (The panic hook is the caller's
/// affair: by default it prints.)
pub fn caught<R>(act: impl FnOnce() -> R) -> Result<R, String> {
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
