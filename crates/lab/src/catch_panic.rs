//! A broken scheduler may panic. For those who run many, that is a result like others.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `act` returns, or the message with which it panicked.
///
/// The panic is caught where it unwinds to, and nowhere else: the process's panic hook is neither
/// read nor replaced. By default that hook prints the message on standard error; a program that
/// does not want this sets a hook of its own, once, for all of its threads.
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
