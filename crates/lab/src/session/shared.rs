//! An observer that its owner can read while a session holds it: [`Shared`].

use schedlab_core::{Event, Observer};
use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

/// Handle on an observer. One handle is attached to a session
/// ([`Session::observe`](super::Session::observe)); the other reads the observer between two
/// advances.
#[derive(Debug, Default)]
pub struct Shared<O>(Rc<RefCell<O>>);

impl<O> Shared<O> {
    /// Puts `observer` behind a handle.
    pub fn new(observer: O) -> Shared<O> {
        Shared(Rc::new(RefCell::new(observer)))
    }

    /// Returns the observer, to read.
    pub fn borrow(&self) -> Ref<'_, O> {
        self.0.borrow()
    }

    /// Returns the observer, to change.
    pub fn borrow_mut(&self) -> RefMut<'_, O> {
        self.0.borrow_mut()
    }
}

impl<O> Clone for Shared<O> {
    /// Returns another handle on the same observer.
    fn clone(&self) -> Shared<O> {
        Shared(Rc::clone(&self.0))
    }
}

impl<O: Observer> Observer for Shared<O> {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        self.0.borrow_mut().on(now_ns, event);
    }
}
