//! Notes on a timetable: nothing is wrong, but the user should know.

use super::{Change, Entry, Tasks, Timetable, When};
use crate::model::Model;
use crate::seconds::format_s;

/// Number of actions that take a long time.
const MANY: u64 = 1_000_000;

impl Timetable {
    /// Returns the notes that the user should read about it in a run of `model` that is stopped at
    /// `until_ns` at the latest: actions that never take effect, actions that are very frequent,
    /// and ambiguous names.
    pub fn notes(&self, model: &Model, until_ns: Option<u64>) -> Vec<String> {
        let mut notes = vec![];
        for entry in &self.entries {
            let line = entry.origin.text.trim();
            match until_ns {
                Some(end_ns) if entry.when.from_ns >= end_ns => {
                    let end = format_s(end_ns);
                    notes.push(format!(
                        "the timetable: `{line}` never takes effect: the run ends at {end}"
                    ));
                }
                _ => {
                    let times = entry.when.times(until_ns);
                    if times > MANY {
                        notes.push(format!(
                            "the timetable: `{line}` occurs {times} times, which takes long to \
                             simulate"
                        ));
                    }
                }
            }
            for name in entry.names() {
                if let Some((task, instance)) = two_meanings(model, name) {
                    notes.push(format!(
                        "the timetable: `{line}`: `{name}` means two things, task `{name}` and \
                         thread {instance} of task `{task}`; it applies to both"
                    ));
                }
            }
        }
        notes
    }
}

impl When {
    /// Returns the number of repetitions in a run that ends at `until_ns`, or 0 if unknown.
    fn times(&self, until_ns: Option<u64>) -> u64 {
        let end_ns = self.until_ns.min(until_ns.unwrap_or(u64::MAX));
        match self.period_ns {
            Some(period_ns) if end_ns < u64::MAX => {
                end_ns.saturating_sub(self.from_ns).div_ceil(period_ns)
            }
            _ => 0,
        }
    }
}

impl Entry {
    /// Returns the names of tasks in it.
    fn names(&self) -> &[String] {
        match &self.change {
            Change::Nice(Tasks::Named(names), _)
            | Change::Policy(Tasks::Named(names), _)
            | Change::Affinity(Tasks::Named(names), ..)
            | Change::Move(Tasks::Named(names), _)
            | Change::Stop(Tasks::Named(names))
            | Change::Continue(Tasks::Named(names))
            | Change::Kill(Tasks::Named(names))
            | Change::Freeze(Tasks::Named(names))
            | Change::Thaw(Tasks::Named(names)) => names,
            _ => &[],
        }
    }
}

/// Returns the thread of another task whose name equals the key `name`, if any.
fn two_meanings<'a>(model: &'a Model, name: &'a str) -> Option<(&'a str, &'a str)> {
    let (key, instance) = name.rsplit_once('-')?;
    let is = |key: &str| model.tasks.iter().any(|task| task.key == key);
    let is_number = !instance.is_empty() && instance.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && is(name) && is(key)).then_some((key, instance))
}
