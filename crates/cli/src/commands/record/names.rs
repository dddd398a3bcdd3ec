//! Tasks of a trace by number, [`Names`].

use super::side::Side;
use schedlab_trace::tracepoint::{Record, Sink, TaskRef, Tracepoint};
use std::collections::BTreeMap;

/// Maximum number of tasks that a message names.
const NAMED_MAX: usize = 5;

/// Tasks of a trace with their last names.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<u32, String>);

impl Names {
    fn add(&mut self, task: TaskRef<'_>) {
        if task.pid == 0 {
            return;
        }
        let name = self.0.entry(task.pid).or_default();
        if name != task.comm {
            name.replace_range(.., task.comm);
        }
    }

    /// Returns the message about the tasks that ran but are not in the side file. `None`: there are
    /// none.
    pub fn unseen(&self, side: &Side) -> Option<String> {
        let unseen: Vec<_> = self.0.iter().filter(|(tid, _)| !side.has(**tid)).collect();
        let shown: Vec<String> =
            unseen.iter().take(NAMED_MAX).map(|(tid, name)| format!("{name} ({tid})")).collect();
        let more = match unseen.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!unseen.is_empty()).then(|| {
            format!(
                "note: {} of {} tasks ended before they could be examined: {}{more}; a replay \
                 gives them the policy, affinity and session of their parents, and the group of \
                 their parents unless their own move into one was recorded",
                unseen.len(),
                self.0.len(),
                shown.join(", ")
            )
        })
    }
}

impl Sink for Names {
    fn record(&mut self, record: &Record<'_>) {
        // Tasks that do not run need no facts.
        if let Tracepoint::Switch { prev, next, .. } = record.tracepoint {
            self.add(prev);
            self.add(next);
        }
    }
}
