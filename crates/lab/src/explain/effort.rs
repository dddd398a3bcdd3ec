//! How much is simulated at most to answer a question.

use std::cell::Cell;

/// Events that may still be simulated again to find out what would have been. An explanation of a
/// long run, or of a thousand CPUs, would take hours if everything were tried.
#[derive(Debug)]
pub struct Effort {
    left: Cell<u64>,
}

/// A new run takes as much work as so many events for each CPU and task.
const EACH: u64 = 4;

impl Default for Effort {
    /// Some seconds of work.
    fn default() -> Effort {
        Effort::of(20_000_000)
    }
}

impl Effort {
    /// So many events.
    pub fn of(events: u64) -> Effort {
        Effort { left: Cell::new(events) }
    }

    /// Takes what `runs` runs cost that have so many events, tasks and CPUs; false: so much is not
    /// left.
    pub(super) fn spend(&self, runs: u64, events: u64, tasks: usize, cpus: usize) -> bool {
        let of_setup = EACH.saturating_mul((tasks + cpus) as u64);
        let cost = runs.saturating_mul(events.saturating_add(of_setup));
        match self.left.get().checked_sub(cost) {
            Some(left) => {
                self.left.set(left);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_gone() {
        let effort = Effort::of(100);
        assert!(effort.spend(2, 30, 1, 1));
        assert!(!effort.spend(1, 30, 1, 0), "24 are left");
        assert!(effort.spend(1, 16, 1, 1));
        assert!(!effort.spend(u64::MAX, u64::MAX, 1, 1));
    }
}
