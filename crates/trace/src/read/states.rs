//! States of tasks that a trace has as numbers: [`StateNumbers`].
//!
//! The numbers changed their meaning several times ([`Era`]). A trace that does not state the
//! release of its kernel is read by the numbers that only one era has.

use crate::tracepoint::{Era, State};

/// Largest number that any kernel writes for a state.
const NUMBER_MAX: u64 = 0x1fff;

/// State in a switch, on its way to the sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SwitchState {
    /// The state.
    Known(State),
    /// Number whose meaning depends on the kernel.
    Number(u16),
}

/// Evidence for an era, the strongest first: numbers that occur, and what they show.
const EVIDENCE: [(&str, Era); 7] = [
    ("4096 (preempted)", Era::Since4_8),
    ("2048 (preempted)", Era::Since4_2),
    ("16, 32, 128 or 256 by itself", Era::Since4_14),
    ("1024 (preempted)", Era::Since3_14),
    ("1026 (asleep without load)", Era::Since4_8),
    // Their meaning is the same in all earlier eras.
    ("512 (parked)", Era::Since4_8),
    ("two bits at once", Era::Since4_8),
];

/// Returns the evidence that a number gives, as an index.
fn evidence(number: u64) -> Option<usize> {
    match number {
        0x1000.. => Some(0),
        0x800.. => Some(1),
        0x10 | 0x20 | 0x80 | 0x100 => Some(2),
        0x400 => Some(3),
        0x401.. => Some(4),
        0x200.. => Some(5),
        _ if number.count_ones() > 1 => Some(6),
        _ => None,
    }
}

/// Numbers of states in a trace, and what they show about its kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StateNumbers {
    /// Era of the release that the trace states.
    pub release: Option<Era>,
    /// Evidence that occurred, a bit for each.
    seen: u8,
}

impl StateNumbers {
    /// Takes a release that the trace states.
    pub fn set_release(&mut self, release: &str) {
        self.release = Era::of_release(release);
    }

    /// Takes a number. `None`: no kernel writes it.
    pub fn take(&mut self, number: u64) -> Option<SwitchState> {
        if let Some(era) = self.release {
            return State::of_number_in(era, number).map(SwitchState::Known);
        }
        if number > NUMBER_MAX {
            return None;
        }
        if let Some(index) = evidence(number) {
            self.seen |= 1 << index;
        }
        match number {
            // The same in every era.
            0 | 1 | 2 | 4 | 8 => State::of_number(number).map(SwitchState::Known),
            number => Some(SwitchState::Number(number as u16)),
        }
    }

    /// Returns the assumed era, and the reason for messages.
    fn era(&self) -> (Era, Option<&'static str>) {
        if let Some(era) = self.release {
            return (era, None);
        }
        let mut found = EVIDENCE.iter().enumerate().filter(|(index, _)| self.seen >> index & 1 > 0);
        match found.next() {
            Some((_, &(reason, era))) => (era, Some(reason)),
            None => (Era::default(), None),
        }
    }

    /// Returns the state for a number that was taken.
    pub fn resolve(&self, number: u16) -> State {
        State::of_number_in(self.era().0, number.into()).unwrap_or(State::Interruptible)
    }

    /// Whether the meaning of such numbers is an assumption that the user should know.
    pub fn is_assumed(&self) -> bool {
        self.release.is_none() && !matches!(self.era(), (Era::Since4_14, Some(_)))
    }

    /// Returns the assumption about a number, for messages.
    pub fn assumption(&self, number: u16) -> String {
        let (era, reason) = self.era();
        let era = era.name();
        match reason {
            Some(reason) => format!("{number} is read as in {era}, because the trace has {reason}"),
            None => format!(
                "{number} has several meanings, and is read as in {era}; record the release with \
                 it, or states as letters"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the states for numbers of a trace without a release.
    fn states(numbers: &[u64]) -> String {
        let mut all = StateNumbers::default();
        let taken: Vec<_> = numbers.iter().map(|&number| all.take(number)).collect();
        let letters = taken.into_iter().map(|state| match state {
            Some(SwitchState::Known(state)) => state.letters(),
            Some(SwitchState::Number(number)) => all.resolve(number).letters(),
            None => "-",
        });
        letters.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_number_that_one_era_has_decides_for_all() {
        assert_eq!(states(&[0, 1, 2, 4, 8, 64]), "R S D T t P");
        assert_eq!(states(&[64, 256, 128, 16, 32]), "P R+ I X Z");
        assert_eq!(states(&[64, 4096, 1024, 1026, 512, 130]), "X R+ I I P D");
        assert_eq!(states(&[64, 2048, 1026]), "X R+ I");
        assert_eq!(states(&[64, 1024, 130]), "X R+ D");
        assert_eq!(states(&[64, 132]), "X T");
        assert_eq!(states(&[8192, u64::MAX]), "- -");
    }

    #[test]
    fn an_assumption_is_stated_unless_it_is_certain() {
        let assumed = |numbers: &[u64]| {
            let mut all = StateNumbers::default();
            for &number in numbers {
                all.take(number);
            }
            if all.is_assumed() { all.assumption(64) } else { String::new() }
        };
        assert!(assumed(&[64]).contains("read as in Linux 4.14 and later"), "{}", assumed(&[64]));
        assert!(assumed(&[4096]).contains("Linux 4.8 to 4.13, because the trace has 4096"));
        assert_eq!(assumed(&[256]), "");
        let mut all = StateNumbers::default();
        all.set_release("4.9.0");
        assert_eq!(all.take(64), Some(SwitchState::Known(State::Dead)));
    }
}
