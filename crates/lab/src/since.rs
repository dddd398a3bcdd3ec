//! An observer of a run that has something before it: [`Since`].

use schedlab_core::{Event, Observer};

/// Tells another observer what happens as if the run began `lead_ns` after it did: all that was
/// before happens in the first nanosecond.
#[derive(Clone, Debug)]
pub(crate) struct Since<O> {
    /// Since when it counts, ns.
    pub lead_ns: u64,
    /// The other.
    pub observer: O,
}

impl<O: Observer> Observer for Since<O> {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        self.observer.on(now_ns.saturating_sub(self.lead_ns), event);
    }
}
