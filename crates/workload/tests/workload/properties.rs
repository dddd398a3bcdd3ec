//! Tasks, phases and the properties that they set.

use crate::support::{attr_text, run, run_on, run_with};
use schedlab_core::{CpuId, GroupId, TaskId};
use schedlab_workload::{AddressSpaces, Conventions, Options, Target, groups, rt_app};

#[test]
fn phases_run_in_order_each_with_its_loop_and_then_all_again() {
    let ran = run(r#"{"tasks": {"a": {"loop": 2, "phases": {
        "p": {"loop": 2, "run": 10, "sleep": 1},
        "none": {"loop": 0, "run": 1000},
        "q": {"run": 100, "sleep": 1}
    }}}}"#);
    assert_eq!(
        ran.slices(),
        "a-0 0..10, a-0 11..21, a-0 22..122, a-0 123..133, a-0 134..144, a-0 145..245"
    );
}

#[test]
fn a_repeated_phase_is_run_again_in_its_place() {
    let ran = run(r#"{"tasks": {"a": {"loop": 1, "phases": {
        "p": {"run": 10, "sleep": 1}, "q": {"run": 100, "sleep": 1}, "p": {"run": 1000, "sleep": 1}
    }}}}"#);
    assert_eq!(ran.slices(), "a-0 0..10, a-0 11..111, a-0 112..1112");
}

#[test]
fn a_repeated_property_counts_as_written_last() {
    let ran = run(
        r#"{"tasks": {"a": {"loop": 5, "priority": 3, "loop": 1, "run": 10, "priority": -4}}}"#,
    );
    assert_eq!(ran.slices(), "a-0 0..10");
    assert_eq!(attr_text(&ran.born[0].attr.sched), "other -4");
}

#[test]
fn instances_and_delays() {
    let ran = run(r#"{"tasks": {
        "a": {"instance": 2, "delay": 100, "loop": 1, "run": 10},
        "b": {"loop": 1, "run": 10}
    }}"#);
    assert_eq!(ran.slices(), "b-0 0..10, a-0 100..110, a-1 110..120");
    let names: Vec<String> = (0..3).map(|number| ran.vm.thread_name(TaskId(number))).collect();
    assert_eq!(names, ["a-0", "a-1", "b-0"]);
    let info: Vec<(&str, u32, u64)> =
        ran.vm.threads().map(|thread| (thread.key, thread.instance, thread.start_ns)).collect();
    assert_eq!(info, [("a", 0, 100_000), ("a", 1, 100_000), ("b", 0, 0)]);
}

#[test]
fn a_task_with_loop_0_ends_at_once() {
    let ran = run(r#"{"tasks": {"a": {"loop": 0, "run": 10}, "b": {"loop": 1, "run": 10}}}"#);
    assert_eq!(ran.slices(), "b-0 0..10");
}

#[test]
fn every_policy_with_its_default_priority() {
    let born = |properties: &str| {
        let ran = run(&format!(r#"{{"tasks": {{"a": {{{properties}, "loop": 1, "run": 1}}}}}}"#));
        attr_text(&ran.born[0].attr.sched)
    };
    for (properties, expected) in [
        (r#""policy": "SCHED_OTHER""#, "other 0"),
        (r#""policy": "SCHED_OTHER", "priority": 19"#, "other 19"),
        (r#""priority": -20, "policy": "SCHED_BATCH""#, "batch -20"),
        (r#""policy": "SCHED_IDLE", "priority": 3"#, "idle 3"),
        (r#""policy": "SCHED_IDLE", "slice": 700"#, "idle 0 slice 700"),
        (r#""policy": "SCHED_FIFO""#, "fifo 10"),
        (r#""policy": "SCHED_RR", "priority": 99"#, "rr 99"),
        (r#""policy": "SCHED_DEADLINE", "dl-runtime": 5, "priority": 1000"#, "deadline 5/5/5"),
        (r#""policy": "SCHED_DEADLINE", "dl-runtime": 5, "dl-period": 9"#, "deadline 5/9/9"),
        (r#""policy": "SCHED_DEADLINE", "dl-runtime": 5, "dl-deadline": 7"#, "deadline 5/7/7"),
        (
            r#""policy": "SCHED_DEADLINE", "dl-runtime": 5, "dl-deadline": 7, "dl-period": 9"#,
            "deadline 5/7/9",
        ),
        (r#""dl-runtime": 3000"#, "other 0 slice 3000"),
        (r#""slice": 3000, "priority": 1"#, "other 1 slice 3000"),
    ] {
        assert_eq!(born(properties), expected, "{properties}");
    }
}

#[test]
fn the_default_policy_is_that_of_tasks_that_name_none() {
    let ran = run(r#"{"global": {"default_policy": "SCHED_RR"}, "tasks": {
        "a": {"loop": 1, "run": 1}, "b": {"priority": 20, "loop": 1, "run": 1}, "c": {"policy": "SCHED_OTHER", "loop": 1, "run": 1}
    }}"#);
    let born: Vec<String> = ran.born.iter().map(|new| attr_text(&new.attr.sched)).collect();
    assert_eq!(born, ["rr 10", "rr 20", "other 0"]);
}

#[test]
fn what_a_phase_sets_stays_in_force_also_in_the_next_round() {
    let ran = run(r#"{"tasks": {"a": {"priority": 1, "loop": 2, "phases": {
        "p": {"run": 10},
        "q": {"loop": 2, "priority": 5, "run": 10},
        "r": {"run": 10},
        "s": {"policy": "SCHED_FIFO", "run": 10},
        "t": {"priority": 7, "run": 10}
    }}}}"#);
    // In the second round p still runs as t left it, and q's priority belongs to SCHED_FIFO.
    assert_eq!(
        ran.attr_changes(),
        "10 a-0 a-0 is other 5, 40 a-0 a-0 is fifo 10, 50 a-0 a-0 is fifo 7, 70 a-0 a-0 is fifo 5, \
         100 a-0 a-0 is fifo 10, 110 a-0 a-0 is fifo 7"
    );
}

#[test]
fn a_phase_property_after_a_sleep_takes_effect_when_the_thread_runs() {
    let ran = run(r#"{"tasks": {
        "a": {"loop": 1, "phases": {"p": {"run": 10, "sleep": 10}, "q": {"priority": 5, "run": 1}}},
        "b": {"loop": 1, "run": 100}
    }}"#);
    assert_eq!(ran.ops(), "10 a-0 sleep 20, 110 a-0 a-0 is other 5");
}

#[test]
fn cpus_of_a_phase_fall_back_to_the_tasks() {
    let ran = run_on(
        4,
        r#"{"tasks": {
        "a": {"cpus": [1], "loop": 1, "phases": {"p": {"run": 10}, "q": {"cpus": [2, 3], "run": 10}, "r": {"run": 10}}},
        "b": {"loop": 1, "phases": {"q": {"cpus": [0], "run": 10}, "r": {"run": 10}}}
    }}"#,
    );
    assert_eq!(
        ran.ops(),
        "0 b-0 cpus [0], 10 b-0 cpus [0, 1, 2, 3, 4, 5, 6, 7], 10 a-0 cpus [2, 3], 20 a-0 cpus [1]"
    );
    let mut of_a = ran.slices();
    of_a = of_a.split(", ").filter(|slice| slice.starts_with('a')).collect::<Vec<_>>().join(", ");
    assert_eq!(of_a, "a-0 0..10@1, a-0 10..20@2, a-0 20..30@1");
    assert!(ran.born[0].attr.allowed.contains(CpuId(1)));
    assert!(!ran.born[0].attr.allowed.contains(CpuId(0)));
}

#[test]
fn a_cpus_that_excludes_the_cpu_at_hand_moves_the_thread_before_the_first_event() {
    let ran = run_on(
        2,
        r#"{"tasks": {
        "a": {"cpus": [0], "loop": 1, "phases": {"p": {"run": 10}, "q": {"cpus": [1], "run": 10, "sleep": 5, "run": 5}}},
        "b": {"cpus": [1], "loop": 1, "run": 100}
    }}"#,
    );
    assert_eq!(ran.slices(), "a-0 0..10@0, b-0 0..100@1, a-0 100..110@1, a-0 115..120@1");
}

#[test]
fn groups_come_from_the_task_and_change_with_phases() {
    let text = r#"{"tasks": {
        "a": {"taskgroup": "/tg1/tg11", "loop": 1, "phases": {
            "p": {"run": 10}, "q": {"taskgroup": "", "run": 10}, "r": {"run": 10}, "s": {"taskgroup": "tg2/", "run": 10}
        }},
        "b": {"loop": 1, "run": 1}
    }}"#;
    let model = rt_app::load("t", text, &Target::new(1)).unwrap();
    assert_eq!(model.group_paths(), ["/tg1", "/tg1/tg11", "/tg2"]);
    let ran = run(text);
    let born: Vec<GroupId> = ran.born.iter().map(|new| new.attr.group).collect();
    assert_eq!(born, [GroupId(2), GroupId(0)]);
    assert_eq!(ran.vm.thread(TaskId(0)).group, "/tg1/tg11");
    assert_eq!(ran.ops(), "10 a-0 group 0, 30 a-0 group 3");
    // With numbers given by the caller.
    let settings = groups::parse("g", "/other\n/tg2 cpu.weight=5").unwrap();
    let plan = groups::GroupPlan::new(&settings, &model.group_paths(), 1).unwrap();
    let ids: Vec<GroupId> = (1..=plan.groups().len() as u32).map(GroupId).collect();
    let options =
        Options { group_ids: plan.ids_of(&ids, &model.group_paths()), ..Options::default() };
    let ran = run_with(1, text, options);
    assert_eq!(ran.born[0].attr.group, GroupId(4));
    assert_eq!(ran.ops(), "10 a-0 group 0, 30 a-0 group 2");
}

#[test]
fn the_wrong_number_of_group_numbers_is_refused() {
    let text = r#"{"tasks": {"a": {"taskgroup": "/g", "loop": 1, "run": 1}}}"#;
    let target = Target::new(1);
    let model = rt_app::load("t", text, &target).unwrap();
    let options = Options { group_ids: vec![GroupId(1), GroupId(2)], ..Options::default() };
    let error = rt_app::prepare(&model, &target, options).unwrap_err();
    assert_eq!(error.message(), "2 group ids for 1 groups");
}

#[test]
fn threads_are_threads_of_one_process_unless_said_otherwise() {
    let text =
        r#"{"tasks": {"a": {"instance": 2, "loop": 1, "run": 1}, "b": {"loop": 1, "run": 1}}}"#;
    for (address_spaces, expected) in [
        (AddressSpaces::Process, [0, 0, 0]),
        (AddressSpaces::PerTask, [0, 0, 1]),
        (AddressSpaces::PerThread, [0, 1, 2]),
    ] {
        let options = Options {
            conventions: Conventions { address_spaces, ..Conventions::default() },
            ..Options::default()
        };
        let ran = run_with(1, text, options);
        let spaces: Vec<u32> = ran.born.iter().map(|new| new.attr.address_space).collect();
        assert_eq!(spaces, expected);
    }
}

#[test]
fn everything_that_rt_app_accepts_is_accepted() {
    let text = r#"{
        "global": {"duration": -1, "calibration": "CPU3", "default_policy": "SCHED_OTHER", "pi_enabled": false,
            "lock_pages": true, "logdir": "./", "log_basename": "x", "log_size": "file", "ftrace": "main,task",
            "gnuplot": false, "io_device": "/dev/null", "mem_buffer_size": 1048576, "cumulative_slack": true},
        "resources": {"m0": {"type": "mutex"}, "c0": {"type": "wait"}},
        "tasks": {"a": {"loop": 1, "nodes_membind": [0, 1], "util_min": 10, "util_max": 1024, "phases": {
            "p": {"nodes_membind": [0], "util_min": 512, "run": 10}
        }}}
    }"#;
    assert_eq!(run(text).slices(), "a-0 0..10");
    let written = rt_app::write(&rt_app::load("test.json", text, &Target::new(1)).unwrap());
    for carried in
        [r#""calibration": "CPU3""#, r#""log_size": "file""#, r#""mem_buffer_size": 1048576"#]
    {
        assert!(written.contains(carried), "{written}");
    }
}

#[test]
fn a_hundred_thousand_threads_are_cheap() {
    assert!(std::mem::size_of::<schedlab_workload::Error>() <= 8);
    let ran = run_with(
        1,
        r#"{"global": {"duration": 0.000001}, "tasks": {"a": {"instance": 100000, "delay": 5, "run": 10}}}"#,
        Options::default(),
    );
    assert_eq!(ran.vm.task_count(), 100_000);
    assert_eq!(ran.vm.thread_name(TaskId(99_999)), "a-99999");
}
