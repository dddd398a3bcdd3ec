//! Consistency checks: the ready queues against the tasks' states.

use super::{State, Textbook};
use alloc::string::String;

impl Textbook {
    /// Checks that exactly the ready tasks are in the ready queue of their class.
    pub(super) fn audit_all(&self) -> Result<(), String> {
        for ready in &self.ready {
            ready.audit()?;
        }
        for (task, t) in self.tasks.iter() {
            let queued = self.ready[t.class.index()].contains(task);
            if queued != (t.state == State::Ready) {
                return Err(alloc::format!("task {}: {:?}, but queued: {queued}", task.0, t.state));
            }
        }
        Ok(())
    }
}
