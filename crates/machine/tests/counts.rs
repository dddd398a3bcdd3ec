//! Counts of events in a run.

use schedlab_machine::Counts;

#[test]
fn events_are_switches_wakeups_and_ticks() {
    assert_eq!(Counts { switches: 1, wakeups: 2, ticks: 4 }.events(), 7);
}
