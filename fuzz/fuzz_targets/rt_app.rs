//! Workload files: any text is read or refused; what is read can be written, read again, and run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedlab_machine::{Config, Machine};
use schedlab_core::Policy;
use schedlab_sched::round_robin::{RoundRobin, Version};
use schedlab_workload::{Options, Target, rt_app};

const TARGET: Target = Target { cpus: 1, limited: true };

fuzz_target!(|text: &str| {
    let mut model = match rt_app::load("fuzz.json", text, &TARGET) {
        Ok(model) => model,
        Err(error) => {
            let _ = error.to_string();
            return;
        }
    };
    let written = rt_app::write(&model);
    assert_eq!(rt_app::load("fuzz.json", &written, &TARGET).as_ref(), Ok(&model), "{written}");
    // Round robin has one policy and no groups.
    if model.policies() != [Policy::Other]
        || !model.group_paths().is_empty()
        || model.initial_threads() > 4
    {
        return;
    }
    model.global.duration_ns = Some(1_000_000);
    let vm = rt_app::prepare(&model, &TARGET, Options { log_lines: 10, ..Options::default() })
        .expect("it was checked");
    let scheduler = RoundRobin::new(Version::V1_0);
    let mut machine = Machine::new(Config::idealised(1, 100), scheduler, vm, ());
    let _ = machine.run(1_000_000).map_err(|stop| stop.to_string());
    let _ = machine.workload().wait_graph().to_string();
});
