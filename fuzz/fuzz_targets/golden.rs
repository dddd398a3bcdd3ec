//! Golden files: any text is read or refused, and what is read makes a workload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedlab_core::GroupId;
use schedlab_workload::{Conventions, GoldenFile};

fuzz_target!(|text: &str| {
    match GoldenFile::parse("fuzz.json", text) {
        Ok(file) => {
            let ids: Vec<GroupId> = (1..=file.groups.len() as u32).map(GroupId).collect();
            let workload = file.workload(&ids, Conventions::default());
            assert_eq!(workload.expect("it was checked").task_count(), file.threads.len());
        }
        Err(error) => {
            let _ = error.to_string();
        }
    }
});
