//! A change of one cost of a machine: [`Change`].

use schedlab_machine::description::Description;

/// A cost that is changed, on all machines that have it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Change {
    /// Name of the cost, as `--cost` takes it.
    pub name: String,
    /// The new cost in percent of the old one.
    pub percent: u32,
}

impl Change {
    /// Returns the new cost on `machine`, ns; `None` if the machine has no such number.
    pub fn value_on(&self, machine: &Description) -> Option<f64> {
        let is_called = |key: &str| name_of(key).is_some_and(|name| name == self.name);
        let number = machine.numbers.iter().find(|number| is_called(&number.key));
        Some(number?.value * f64::from(self.percent) / 100.0)
    }

    /// Returns the cost without the scheduler to which it is restricted, and that scheduler.
    pub(crate) fn cost_and_scheduler(&self) -> (&str, Option<&str>) {
        let (scheduler, cost) = match self.name.find(".call.") {
            _ if self.name.starts_with("call.") => return (&self.name, None),
            Some(at) => self.name.split_at(at),
            None => match self.name.rfind('.') {
                Some(at) => self.name.split_at(at),
                None => return (&self.name, None),
            },
        };
        (&cost[1..], Some(scheduler))
    }
}

/// Returns the name by which `--cost` knows the number `key` of a machine's file; `None` if the
/// number is not a cost.
pub(crate) fn name_of(key: &str) -> Option<String> {
    let key = key.strip_prefix("costs.")?;
    match (key.strip_prefix("calls."), key.split_once('.')?) {
        (Some(call), _) => Some(format!("call.{call}")),
        (None, (_, name)) => Some(name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_the_name_of_its_option_and_changed_where_it_is() {
        let machine = schedlab_lab::machines::find("pentium3-700x8").expect("the machine exists");
        let value = |name: &str| Change { name: name.into(), percent: 120 }.value_on(&machine);
        assert_eq!(value("lock_remote"), Some(300.0));
        assert_eq!(value("call.message_remote"), Some(3000.0));
        assert_eq!(value("o_n.scan_miss"), Some(153.6));
        assert_eq!(value("message_remote"), None);
    }
}
