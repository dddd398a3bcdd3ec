//! Selects the active mutant: its number is in the environment variable `MUTANT`.

use std::sync::LazyLock;

static ACTIVE: LazyLock<u32> = LazyLock::new(|| {
    std::env::var("MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
});

/// Whether mutant `number` is active.
#[inline]
pub fn on(number: u32) -> bool {
    *ACTIVE == number
}
