//! Files of groups: any text is read or refused, and what is read makes a plan with parents before children.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedlab_workload::{GroupPlan, groups};

fuzz_target!(|text: &str| {
    let file = groups::parse("fuzz", text).map_err(|error| error.to_string());
    let option = groups::parse_option(text).map_err(|error| error.to_string());
    for settings in [file, option].into_iter().flatten() {
        let plan = GroupPlan::new(&settings, &[]);
        for (number, group) in plan.groups().iter().enumerate() {
            assert!(group.parent.is_none_or(|parent| parent < number));
            assert!((2..=262_144).contains(&group.shares));
        }
    }
});
