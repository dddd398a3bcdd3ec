//! Collects the records of a ring buffer and writes them as a log.

use super::decision::{CPUS_MAX, Decision, EventKind};
use super::log::Header;
use std::collections::BTreeMap;

/// Numbers that stand for address spaces, so that logs contain no kernel addresses.
#[derive(Clone, Debug, Default)]
pub struct Spaces(BTreeMap<u64, u64>);

impl Spaces {
    /// Replaces the address space of a record by its number: 1 for the first one seen.
    pub fn number(&mut self, mut decision: Decision) -> Decision {
        if let Some(task) = &mut decision.task
            && task.mm != 0
        {
            let next = self.0.len() as u64 + 1;
            task.mm = *self.0.entry(task.mm).or_insert(next);
        }
        decision
    }
}

/// Number of records that wait for one with a lower number, which another CPU is about to write.
const WAITING: usize = 256;

/// Collects records from a ring buffer for a log.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    policy: String,
    kernel: String,
    settings: Vec<String>,
    spaces: Spaces,
    /// Sorted by number.
    waiting: Vec<Decision>,
    next: u64,
    has_begun: bool,
    written: u64,
    lost: u64,
}

impl Collector {
    /// Makes a collector for the log of a policy with these settings, in this kernel.
    pub fn new(policy: &str, kernel: &str, settings: Vec<String>) -> Collector {
        let (policy, kernel) = (policy.into(), kernel.into());
        Collector { policy, kernel, settings, ..Collector::default() }
    }

    /// Adds a record.
    pub fn push(&mut self, decision: Decision) {
        let at = self.waiting.partition_point(|other| other.number < decision.number);
        self.waiting.insert(at, decision);
    }

    /// Returns the text that can be written now; at the end, all of it.
    ///
    /// # Errors
    /// If the machine has more CPUs than a log supports, or the first record, which states their
    /// number, is missing.
    pub fn take(&mut self, is_end: bool) -> Result<String, String> {
        let count = match is_end {
            true => self.waiting.len(),
            false => self.waiting.len().saturating_sub(WAITING),
        };
        let mut text = String::new();
        let ready: Vec<Decision> = self.waiting.drain(..count).collect();
        for mut decision in ready {
            if decision.number < self.next {
                // It is too late, and has been counted as lost.
                continue;
            }
            if !self.has_begun {
                if decision.event != EventKind::Init {
                    return Err("the first record of the policy is missing".into());
                }
                let (cpus, hz) = (decision.pid, decision.other);
                if !(1..=CPUS_MAX).contains(&cpus) {
                    let what = format!("the machine has {cpus} CPUs; a log supports at most 64");
                    return Err(what);
                }
                (decision.pid, decision.other) = (0, 0);
                let (policy, kernel) = (self.policy.clone(), self.kernel.clone());
                let settings = self.settings.clone();
                text += &Header { policy, kernel, hz, cpus, settings }.to_string();
                self.has_begun = true;
            }
            self.lost += decision.number - self.next;
            self.next = decision.number + 1;
            self.written += 1;
            text += &format!("{}\n", self.spaces.number(decision));
        }
        Ok(text)
    }

    /// Returns the number of records written, and of records lost.
    pub fn counts(&self) -> (u64, u64) {
        (self.written, self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twins::log::Log;

    const LOG: &str = "\
schedlab-decisions 1
policy goodness
kernel 7.3.4
hz 250
cpus 2
set at_tail=1

0 1000 4294892296 0 init 0
1 1100 4294892296 0 init_task 7 nice=-5 policy=0 mm=1 allowed=0x3 on=1
2 1200 4294892297 1 wake 7 nice=-5 policy=0 mm=1 allowed=0x2 on=1 parent=3 asks=0x2
5 1300 4294892297 1 pick 7 prev=9
";

    #[test]
    fn records_are_collected_in_the_order_of_their_numbers() {
        let log = Log::read("d.log", LOG).expect("the log is valid");
        let mut records = log.decisions.clone();
        (records[0].pid, records[0].other) = (2, 250);
        let settings = log.header.settings.clone();
        let mut collector = Collector::new("goodness", "7.3.4", settings);
        for place in [1, 0, 3, 2] {
            collector.push(records[place]);
        }
        assert_eq!(collector.take(false), Ok(String::new()), "others may come");
        assert_eq!(collector.take(true).as_deref(), Ok(LOG));
        assert_eq!(collector.counts(), (4, 2));
        collector.push(records[1]);
        assert_eq!(collector.take(true), Ok(String::new()), "too late");
        let mut collector = Collector::new("goodness", "7.3.4", vec![]);
        collector.push(Decision { pid: 65, ..records[0] });
        assert!(collector.take(true).is_err_and(|error| error.contains("65 CPUs")));
        collector.push(records[1]);
        assert!(collector.take(true).is_err_and(|error| error.contains("first record")));
    }
}
