//! How much verdicts hang on single numbers of the machines' cost models.
//!
//! Most costs of a machine are assumed. A verdict that turns when one of them is a fifth more or
//! less says something about that number, and not about a scheduler.
//! [`Catalogue::run_changed`](crate::Catalogue::run_changed) judges experiments with costs changed.

use crate::error::Error;
use crate::simulate::Simulation;
use schedlab_machine::description::Description;
use std::collections::BTreeSet;

/// A cost that is changed, on all machines that have it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Change {
    /// Its name, as `--cost` takes it.
    pub name: String,
    /// What it is made, in percent of what it is.
    pub percent: u32,
}

impl Change {
    /// What it becomes on `machine`, ns; none if that has no such number.
    pub fn value_on(&self, machine: &Description) -> Option<f64> {
        let called = |key: &str| name_of(key).is_some_and(|name| name == self.name);
        let number = machine.numbers.iter().find(|number| called(&number.key));
        Some(number?.value * f64::from(self.percent) / 100.0)
    }

    /// Whether it may make a difference to `simulation`.
    pub(crate) fn concerns(&self, simulation: &Simulation) -> bool {
        let scheduler = simulation.scheduler.as_str();
        let algorithm = scheduler.split('@').next().unwrap_or(scheduler);
        let whose = match self.name.split_once(".call.") {
            _ if self.name.starts_with("call.") => None,
            Some((whose, _)) => Some(whose),
            None => self.name.rsplit_once('.').map(|(whose, _)| whose),
        };
        let is_its = whose.is_none_or(|whose| whose == scheduler || whose == algorithm);
        simulation.machine.is_some() && !simulation.idealised && is_its
    }
}

/// The name by which `--cost` knows the number `key` of a machine's file; none if it is no cost.
fn name_of(key: &str) -> Option<String> {
    let key = key.strip_prefix("costs.")?;
    match (key.strip_prefix("calls."), key.split_once('.')?) {
        (Some(call), _) => Some(format!("call.{call}")),
        (None, (_, name)) => Some(name.into()),
    }
}

/// The costs of these machines that are assumed: not calibrated on any of them.
///
/// # Errors
/// There is no such machine.
pub fn assumed(machines: &[&str]) -> Result<Vec<String>, Error> {
    let (mut names, mut calibrated) = (BTreeSet::new(), BTreeSet::new());
    for machine in machines {
        let machine = schedlab_lab::machines::find(machine).map_err(Error::new)?;
        for number in &machine.numbers {
            if let Some(name) = name_of(&number.key) {
                let of = if number.calibrated { &mut calibrated } else { &mut names };
                of.insert(name);
            }
        }
    }
    Ok(names.difference(&calibrated).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_the_name_of_its_option_and_changed_where_it_is() {
        let machine = schedlab_lab::machines::find("pentium3-700x8").expect("it is there");
        let value = |name: &str| Change { name: name.into(), percent: 120 }.value_on(&machine);
        assert_eq!(value("lock_remote"), Some(300.0));
        assert_eq!(value("call.message_remote"), Some(3000.0));
        assert_eq!(value("o_n.scan_miss"), Some(153.6));
        assert_eq!(value("message_remote"), None);
    }

    #[test]
    fn what_was_calibrated_on_one_machine_is_not_assumed_on_another() {
        let names = assumed(&["pentium3-1000x1", "pentium3-700x8"]).expect("they are there");
        let is = |name: &str| names.iter().any(|other| other == name);
        assert!(is("lock_remote") && is("o_n.scan") && is("call.message_remote"));
        assert!(!is("o_n.scan_miss") && !is("call.socket_write") && !is("call.message_bus"));
    }
}
