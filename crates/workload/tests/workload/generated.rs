//! Generated workloads.

use crate::support::run_vm;
use proptest::prelude::*;
use schedlab_core::Policy;
use schedlab_machine::RunEnd;
use schedlab_workload::generate::{self, Limits};
use schedlab_workload::{Model, Options, Target, rt_app};

fn everything(cpus: u32) -> Limits {
    Limits { cpus, policies: Policy::ALL.to_vec(), groups: true, ..Limits::default() }
}

fn written_and_read_again(model: &Model, target: &Target) -> Model {
    let text = rt_app::write(model);
    rt_app::load(&model.name, &text, target).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn worlds_pass_all_checks_run_to_their_end_and_can_be_saved(
        seed in any::<u64>(),
        cpus in 1u32..9,
    ) {
        let target = Target::new(cpus);
        let world = generate::world(seed, &everything(cpus));
        prop_assert_eq!(&written_and_read_again(&world, &target), &world);
        prop_assert_eq!(&generate::world(seed, &everything(cpus)), &world);
        let vm = rt_app::prepare(&world, &target, Options::default()).unwrap();
        let ran = run_vm(cpus, vm);
        prop_assert!(
            matches!(ran.end, Ok(RunEnd::TimeUp | RunEnd::AllEnded)),
            "{:?} {}", ran.end, ran.vm.wait_graph()
        );
    }

    #[test]
    fn worlds_keep_to_their_limits(seed in any::<u64>()) {
        let plain = Limits {
            forks: false,
            yields: false,
            synchronisation: false,
            affinity: false,
            policies: vec![Policy::RoundRobin],
            ..Limits::default()
        };
        let world = generate::world(seed, &plain);
        prop_assert_eq!(world.policies(), vec![Policy::RoundRobin]);
        prop_assert!(world.group_paths().is_empty());
        let text = rt_app::write(&world);
        for key in ["\"fork", "\"yield", "\"lock", "\"wait", "\"sem", "\"suspend", "\"barrier", "\"cpus"] {
            prop_assert!(!text.contains(key), "{}", text);
        }
        let deadline = Limits { policies: vec![Policy::Deadline], ..Limits::default() };
        prop_assert!(rt_app::check(&generate::world(seed, &deadline), &Target::new(1)).is_ok());
    }
}

#[test]
fn worlds_use_the_whole_language() {
    let mut text = String::new();
    for seed in 0..200 {
        text += &rt_app::write(&generate::world(seed, &everything(4)));
    }
    for key in [
        "run",
        "runtime",
        "sleep",
        "timer",
        "lock",
        "unlock",
        "wait",
        "signal",
        "broad",
        "barrier",
        "suspend",
        "resume",
        "resume_sync",
        "sem_post",
        "sem_wait",
        "yield",
        "fork",
        "mem",
        "memrun",
        "iorun",
        "cpus",
        "taskgroup",
        "policy",
        "priority",
        "dl-runtime",
        "delay",
        "instance",
        "loop",
        "pi_enabled",
    ] {
        assert!(text.contains(&format!("\"{key}")), "{key}");
    }
}

#[test]
fn plain_workloads_do_what_they_say() {
    let target = Target { cpus: 2, limited: true };
    for model in [generate::hogs(3, 5), generate::sleepers(4, 1000, 3000), generate::mix(40, 7)] {
        assert_eq!(written_and_read_again(&model, &target), model);
    }
    assert_ne!(generate::mix(40, 7), generate::mix(40, 8));
    let mut model = generate::sleepers(2, 1000, 3000);
    model.global.duration_ns = Some(6_000_000);
    let ran = run_vm(1, rt_app::prepare(&model, &target, Options::default()).unwrap());
    assert_eq!(
        ran.slices(),
        "sleeper-0 0..1000, sleeper-1 1000..2000, sleeper-0 4000..5000, sleeper-1 5000..6000"
    );
}
