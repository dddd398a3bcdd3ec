//! Policy and priority in force in a phase.
//!
//! Properties set by a phase stay in force after it. `priority` alone keeps the policy; `policy`
//! alone sets the default priority of that policy. The deadline figures, and the slice request of
//! an ordinary task, are remembered while the other policy is in force.

use crate::model::Properties;
use schedlab_core::{Policy, SchedAttr};

/// Real-time priority of tasks that specify none.
const RT_PRIORITY_DEFAULT: u32 = 10;

/// Policy and priority with all related properties.
#[derive(Clone, Copy, Debug)]
pub struct InForce {
    policy: Policy,
    nice: i32,
    rt_priority: u32,
    /// `slice`, or the `dl-runtime` of an ordinary task.
    slice_us: u64,
    runtime_us: Option<u64>,
    deadline_us: Option<u64>,
    period_us: Option<u64>,
}

/// A property that is invalid.
#[derive(Debug)]
pub struct PropertyFault {
    /// Key of the property.
    pub key: &'static str,
    /// Message.
    pub message: String,
}

impl InForce {
    /// Returns the state before a task sets anything.
    pub fn new(policy: Policy) -> InForce {
        InForce {
            policy,
            nice: 0,
            rt_priority: RT_PRIORITY_DEFAULT,
            slice_us: 0,
            runtime_us: None,
            deadline_us: None,
            period_us: None,
        }
    }

    /// Sets `properties`.
    pub fn enter(&mut self, properties: &Properties) -> Result<(), PropertyFault> {
        if let Some(policy) = properties.policy {
            self.policy = policy;
            if policy.is_realtime() {
                self.rt_priority = RT_PRIORITY_DEFAULT;
            } else {
                self.nice = 0;
            }
        }
        if let Some(priority) = properties.priority {
            self.set_priority(priority)?;
        }
        if self.policy != Policy::Deadline {
            self.slice_us = properties.dl_runtime_us.unwrap_or(self.slice_us);
        }
        self.slice_us = properties.slice_us.unwrap_or(self.slice_us);
        self.runtime_us = properties.dl_runtime_us.or(self.runtime_us);
        self.deadline_us = properties.dl_deadline_us.or(self.deadline_us);
        self.period_us = properties.dl_period_us.or(self.period_us);
        if self.policy == Policy::Deadline {
            self.check_deadline(properties)?;
        }
        Ok(())
    }

    fn set_priority(&mut self, priority: i32) -> Result<(), PropertyFault> {
        let (what, range) = match self.policy {
            Policy::Deadline => return Ok(()),
            Policy::Fifo | Policy::RoundRobin => ("priority", 1..=99),
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => {
                ("priority (nice value)", -20..=19)
            }
        };
        if !range.contains(&priority) {
            let message = format!(
                "the {what} of {} must be from {} to {}, found {priority}",
                self.policy.name(),
                range.start(),
                range.end()
            );
            return Err(PropertyFault { key: "priority", message });
        }
        if self.policy.is_realtime() {
            self.rt_priority = priority as u32;
        } else {
            self.nice = priority;
        }
        Ok(())
    }

    fn check_deadline(&self, properties: &Properties) -> Result<(), PropertyFault> {
        // The error is reported at a figure that is set here, if there is one.
        let fault = |key: &'static str, message: &str| {
            let present = [
                ("dl-runtime", properties.dl_runtime_us),
                ("dl-deadline", properties.dl_deadline_us),
                ("dl-period", properties.dl_period_us),
            ];
            let blamed = present
                .iter()
                .find(|(other, value)| *other == key && value.is_some())
                .or_else(|| present.iter().find(|(_, value)| value.is_some()));
            PropertyFault { key: blamed.map_or("policy", |(key, _)| key), message: message.into() }
        };
        let Some(runtime) = self.runtime_us else {
            return Err(fault("policy", "SCHED_DEADLINE needs a `dl-runtime`"));
        };
        let (deadline, period) = self.deadline_and_period(runtime);
        if runtime > deadline {
            let message = format!(
                "`dl-runtime` ({runtime} µs) must not be longer than the deadline ({deadline} µs)"
            );
            return Err(fault("dl-runtime", &message));
        }
        if deadline > period {
            let message = format!(
                "`dl-deadline` ({deadline} µs) must not be longer than the period ({period} µs)"
            );
            return Err(fault("dl-deadline", &message));
        }
        Ok(())
    }

    /// Defaults: no period means the deadline if given, else the runtime; no deadline means the
    /// period.
    fn deadline_and_period(&self, runtime: u64) -> (u64, u64) {
        let period = self.period_us.or(self.deadline_us).unwrap_or(runtime);
        (self.deadline_us.unwrap_or(period), period)
    }

    /// Returns the attributes for the scheduler.
    pub fn attr(&self) -> SchedAttr {
        let mut attr = SchedAttr { policy: self.policy, nice: self.nice, ..SchedAttr::default() };
        match self.policy {
            Policy::Fifo | Policy::RoundRobin => attr.rt_priority = self.rt_priority,
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => {
                attr.runtime_ns = self.slice_us * 1000
            }
            Policy::Deadline => {
                let runtime = self.runtime_us.unwrap_or(0);
                let (deadline, period) = self.deadline_and_period(runtime);
                attr.runtime_ns = runtime * 1000;
                attr.deadline_ns = deadline * 1000;
                attr.period_ns = period * 1000;
            }
        }
        attr
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(policy: Policy) -> Properties {
        Properties { policy: Some(policy), ..Properties::default() }
    }

    fn priority(priority: i32) -> Properties {
        Properties { priority: Some(priority), ..Properties::default() }
    }

    #[test]
    fn a_priority_keeps_the_policy_and_a_policy_brings_its_default() {
        let mut now = InForce::new(Policy::Other);
        now.enter(&priority(5)).unwrap();
        assert_eq!(now.attr(), SchedAttr::nice(5));
        now.enter(&policy(Policy::Fifo)).unwrap();
        assert_eq!((now.attr().policy, now.attr().rt_priority), (Policy::Fifo, 10));
        now.enter(&priority(50)).unwrap();
        assert_eq!((now.attr().policy, now.attr().rt_priority), (Policy::Fifo, 50));
        now.enter(&policy(Policy::RoundRobin)).unwrap();
        assert_eq!(now.attr().rt_priority, 10);
        now.enter(&policy(Policy::Batch)).unwrap();
        assert_eq!((now.attr().nice, now.attr().rt_priority), (0, 0));
    }

    #[test]
    fn priorities_must_be_in_the_range_of_the_policy_in_force() {
        let mut now = InForce::new(Policy::Other);
        assert!(now.enter(&priority(-21)).is_err());
        assert!(now.enter(&priority(20)).is_err());
        now.enter(&policy(Policy::RoundRobin)).unwrap();
        assert!(now.enter(&priority(0)).is_err());
        assert!(now.enter(&priority(100)).is_err());
        assert!(now.enter(&priority(99)).is_ok());
    }

    #[test]
    fn missing_deadline_figures_follow_from_the_others() {
        for (figures, expected) in [
            ((Some(5), None, None), Some((5, 5, 5))),
            ((Some(5), Some(7), None), Some((5, 7, 7))),
            ((Some(5), None, Some(9)), Some((5, 9, 9))),
            ((Some(5), Some(7), Some(9)), Some((5, 7, 9))),
            ((None, Some(7), Some(9)), None),
            ((Some(8), Some(7), Some(9)), None),
            ((Some(5), Some(10), Some(9)), None),
        ] {
            let (dl_runtime_us, dl_deadline_us, dl_period_us) = figures;
            let properties = Properties {
                policy: Some(Policy::Deadline),
                dl_runtime_us,
                dl_deadline_us,
                dl_period_us,
                ..Properties::default()
            };
            let mut now = InForce::new(Policy::Other);
            let got = now.enter(&properties).ok().map(|()| {
                let attr = now.attr();
                (attr.runtime_ns / 1000, attr.deadline_ns / 1000, attr.period_ns / 1000)
            });
            assert_eq!(got, expected, "{figures:?}");
        }
    }

    #[test]
    fn a_slice_and_a_budget_do_not_get_mixed_up() {
        let mut now = InForce::new(Policy::Other);
        let slice = Properties { dl_runtime_us: Some(3), ..Properties::default() };
        now.enter(&slice).unwrap();
        assert_eq!(now.attr().runtime_ns, 3000);
        let deadline = Properties {
            policy: Some(Policy::Deadline),
            dl_runtime_us: Some(8),
            dl_period_us: Some(20),
            ..Properties::default()
        };
        now.enter(&deadline).unwrap();
        assert_eq!(now.attr().runtime_ns, 8000);
        now.enter(&policy(Policy::Other)).unwrap();
        assert_eq!(now.attr().runtime_ns, 3000);
        now.enter(&policy(Policy::Deadline)).unwrap();
        assert_eq!((now.attr().runtime_ns, now.attr().period_ns), (8000, 20_000));
    }
}
