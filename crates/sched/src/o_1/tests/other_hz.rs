//! Slices on kernels whose jiffy is longer than the shortest slice.

use super::super::params::Params;
use super::*;

fn slices_ms<const N: usize>(version: Version, hz: u32, nices: [i32; N]) -> [u64; N] {
    let params = Params::new(version, hz);
    nices.map(|nice| params.slice_at_nice(nice) / MS)
}

#[test]
fn no_slice_of_2_6_22_is_shorter_than_a_jiffy() {
    // Nice n from 0 on: 100 ms x (140 - prio) / 20, below 0 four times that, and at least max(5 HZ
    // / 1000, 1) jiffies. All are in whole jiffies.
    let nices = [-20, -1, 0, 10, 18, 19];
    assert_eq!(slices_ms(Version::V2_6_22, 1000, nices), [800, 420, 100, 50, 10, 5]);
    // HZ 100: 10 x 1 / 20 = 0 jiffies for nice 19, and 5 HZ / 1000 = 0: one.
    assert_eq!(slices_ms(Version::V2_6_22, 100, nices), [800, 420, 100, 50, 10, 10]);
    // HZ 250: 25 x 1 / 20 = 1, and 5 HZ / 1000 is also 1.
    assert_eq!(slices_ms(Version::V2_6_22, 250, nices), [800, 420, 100, 48, 8, 4]);
}

#[test]
fn slices_of_2_6_0_in_jiffies_of_10_ms() {
    // MIN 10 HZ / 1000 = 1, MAX 20; 1 + 19 x (139 - prio) / 39.
    let nices = [-20, 0, 10, 18, 19];
    assert_eq!(slices_ms(Version::V2_6_0, 100, nices), [200, 100, 50, 10, 10]);
    assert_eq!(slices_ms(Version::V2_6_0, 1000, nices), [200, 102, 53, 14, 10]);
}

#[test]
fn a_hog_of_nice_19_runs_a_jiffy_at_a_time_at_hz_100() {
    let build = BuildConfig::flat(1, 100);
    for version in [Version::V2_6_0, Version::V2_6_22] {
        let mut sched = O1::new(version, &build);
        let mut platform = build.platform();
        let attr = TaskAttr { sched: SchedAttr::nice(19), ..TaskAttr::default() };
        for task in 0..2 {
            sched.fork(&mut platform, TaskId(task), &attr, Parent::External);
        }
        let mut ran = Vec::new();
        sched.schedule(&mut platform, CPU0);
        for jiffy in 1..=6 {
            platform.clear_resched(CPU0);
            platform.set_now_ns(jiffy * 10 * MS);
            platform.set_jiffies(jiffy);
            sched.tick(&mut platform, CPU0);
            assert!(platform.resched_pending(CPU0), "its slice of one jiffy is over");
            ran.push(sched.schedule(&mut platform, CPU0).expect("there are two CPU-bound tasks").0);
        }
        assert!(ran.windows(2).all(|pair| pair[0] != pair[1]), "{ran:?}");
    }
}
