//! Limit on the simulation work for one question.

use std::cell::Cell;

/// Number of events that may still be simulated again to find out what would have happened. An
/// explanation of a long run, or of a thousand CPUs, would take hours without a limit.
#[derive(Debug)]
pub struct Effort {
    left: Cell<u64>,
}

/// Cost of starting a run, in events for each CPU and task.
const EACH: u64 = 4;

impl Default for Effort {
    /// Returns a few seconds of work.
    fn default() -> Effort {
        Effort::of(20_000_000)
    }
}

impl Effort {
    /// Returns the work for `events` events.
    pub fn of(events: u64) -> Effort {
        Effort { left: Cell::new(events) }
    }

    /// Deducts the cost of `runs` runs with the given numbers of events, tasks and CPUs. Returns
    /// false if less is left.
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
