//! The estimated utilisation of a task that wakes: its stored estimate.

use super::*;

/// The numbers of a recorded schedule: a task that begins with a utilisation of 300 sleeps before a
/// period of load tracking has ended, so its averages have not been updated since its start. Its
/// first sleep stores 300 all the same. It sleeps again at 230: (4 x 300 - (300 - 230)) / 4 = 282,
/// and a third time without an update in between, which stores nothing.
#[test]
fn the_first_sleep_stores_an_estimate_and_later_ones_after_a_renewal() {
    let mut bench = Bench::new(Version::V6_18, 2);
    let task = bench.fork_with(&TaskAttr::default());
    let pid = bench.pid(task);
    let fair = &mut bench.sched.fair;
    let e = fair.se_of(pid);
    fair.info[e].avg.util_avg = 300;
    fair.util_est_update(pid);
    assert_eq!(fair.info[e].util_est, 300);
    fair.info[e].avg.util_avg = 230;
    fair.info[e].avg.runnable_avg = 230;
    fair.util_est_update(pid);
    assert_eq!(fair.info[e].util_est, 300, "not updated since");
    fair.info[e].avg_renewed = true;
    fair.util_est_update(pid);
    assert_eq!(fair.info[e].util_est, 282);
    fair.util_est_update(pid);
    assert_eq!(fair.info[e].util_est, 282, "not updated since");
}
