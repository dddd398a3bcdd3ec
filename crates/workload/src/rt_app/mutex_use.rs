//! Checks that a task's locks and unlocks match.
//!
//! The mutexes that a thread holds at an event depend on its own program only: the program has no
//! conditions, and after any wait it continues at the same point. A body that can be run twice
//! leaves the mutexes as it found them. Otherwise the first event that concerns a mutex fails in
//! the second round. Two rounds of every loop therefore show all cases, and at each event a thread
//! holds the same mutexes in every round. (`sync` accepts both cases and changes nothing. It
//! signals and waits with the mutex held, and a thread that does not hold it locks and unlocks it
//! around that.)

use super::model_error::{ModelError, Place};
use crate::model::{Action, Loops, Task};
use std::collections::BTreeMap;

/// Checks the task numbered `number`.
pub fn check(number: usize, task: &Task) -> Result<(), ModelError> {
    let mut held: BTreeMap<&str, Place> = BTreeMap::new();
    for _ in 0..rounds_worth_trying(task.loops) {
        for (phase_number, phase) in task.phases.iter().enumerate() {
            for _ in 0..rounds_worth_trying(phase.loops) {
                for (event_number, event) in phase.events.iter().enumerate() {
                    let place = Place::event(number, phase_number, event_number);
                    step(&mut held, place, &event.action).map_err(|message| {
                        ModelError::new(place, format!("task `{}` {message}", task.key))
                    })?;
                }
            }
            if phase.loops == Loops::Forever {
                return Ok(());
            }
        }
    }
    if task.loops == Loops::Forever {
        return Ok(());
    }
    match held.first_key_value() {
        None => Ok(()),
        Some((mutex, &place)) => Err(ModelError::new(
            place,
            format!("task `{}` ends while it holds mutex `{mutex}`", task.key),
        )
        .with_help("it is locked here and never unlocked")),
    }
}

fn step<'a>(
    held: &mut BTreeMap<&'a str, Place>,
    place: Place,
    action: &'a Action,
) -> Result<(), String> {
    match action {
        Action::Lock(mutex) if held.insert(mutex, place).is_some() => {
            return Err(format!("locks mutex `{mutex}`, which it already holds"));
        }
        Action::Unlock(mutex) if held.remove(mutex.as_str()).is_none() => {
            return Err(format!("unlocks mutex `{mutex}`, which it does not hold"));
        }
        Action::Wait { mutex, .. } if !held.contains_key(mutex.as_str()) => {
            return Err(format!("waits with mutex `{mutex}`, which it does not hold"));
        }
        _ => {}
    }
    Ok(())
}

/// Returns the number of rounds that show all cases of a loop. See `mutex_use` and `in_force`,
/// where the second round is like all later ones.
pub fn rounds_worth_trying(loops: Loops) -> u64 {
    match loops {
        Loops::Forever => 2,
        Loops::Times(times) => times.min(2),
    }
}
