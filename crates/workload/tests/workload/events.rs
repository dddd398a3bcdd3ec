//! Single events.

use crate::support::{run, run_on, run_with};
use schedlab_core::{BlockReason, TaskId};
use schedlab_machine::costs::CallCosts;
use schedlab_machine::{Op, RunEnd, Workload};
use schedlab_workload::Options;

#[test]
fn runs_follow_each_other_without_a_boundary() {
    let ran = run(r#"{"tasks": {"a": {"loop": 2, "run": 1000, "run": 2000, "sleep": 500}}}"#);
    assert_eq!(ran.slices(), "a-0 0..3000, a-0 3500..6500");
    assert_eq!(ran.end, Ok(RunEnd::AllEnded));
    assert_eq!(ran.now_ns, 7_000_000);
}

#[test]
fn times_of_zero_do_nothing() {
    let ran =
        run(r#"{"tasks": {"a": {"loop": 3, "run": 0, "runtime": 0, "sleep": 0, "run1": 10}}}"#);
    assert_eq!(ran.slices(), "a-0 0..30");
    assert_eq!(ran.ops(), "");
}

#[test]
fn runtime_computes_in_pieces_of_32_us_until_the_wall_time_is_over() {
    let ran = run(r#"{"tasks": {"a": {"loop": 1, "runtime": 100}}}"#);
    assert_eq!(ran.slices(), "a-0 0..128");
    let ran = run(r#"{"tasks": {"a": {"loop": 1, "runtime": 64}}}"#);
    assert_eq!(ran.slices(), "a-0 0..64");
}

#[test]
fn runtime_counts_the_time_spent_preempted() {
    // The real-time task takes the CPU from 100 to 1100. By then the time of a is over, and its
    // current piece ends.
    let ran = run(r#"{"tasks": {
        "a": {"loop": 1, "runtime": 500},
        "rt": {"policy": "SCHED_FIFO", "delay": 100, "loop": 1, "run": 1000}
    }}"#);
    assert_eq!(ran.slices(), "a-0 0..100, rt-0 100..1100, a-0 1100..1128");
}

#[test]
fn sleep_counts_from_the_event() {
    let ran = run(r#"{"tasks": {
        "a": {"loop": 2, "run": 100, "sleep": 1000},
        "b": {"loop": 1, "run": 5000}
    }}"#);
    // a could continue at 1100 but gets the CPU at 5100.
    assert_eq!(ran.slices(), "a-0 0..100, b-0 100..5100, a-0 5100..5200");
    assert_eq!(ran.ops(), "100 a-0 sleep 1100, 5200 a-0 sleep 6200");
}

const TIMER_LATE: &str = r#"{"tasks": {"a": {"delay": 1000, "loop": 1, "phases": {
    "on_time": {"run": 2000, "timer": {"ref": "unique", "period": 10000, "mode": "MODE"}},
    "late": {"run": 25000, "timer": {"ref": "unique", "period": 10000, "mode": "MODE"}},
    "then": {"loop": 2, "run": 1000, "timer": {"ref": "unique", "period": 10000, "mode": "MODE"}}
}}}}"#;

#[test]
fn a_relative_timer_begins_at_the_start_and_anew_when_missed() {
    let ran = run(&TIMER_LATE.replace("MODE", "relative"));
    // First expiry 1000 + 10000. The second, 21000, is missed at 36000: the third is 46000.
    assert_eq!(ran.slices(), "a-0 1000..3000, a-0 11000..37000, a-0 46000..47000");
    assert_eq!(ran.ops(), "3000 a-0 sleep 11000, 37000 a-0 sleep 46000, 47000 a-0 sleep 56000");
}

#[test]
fn an_absolute_timer_keeps_marching() {
    let ran = run(&TIMER_LATE.replace("MODE", "absolute"));
    // Expiries 11000, 21000 (missed at 36000), 31000 (missed at 37000), 41000.
    assert_eq!(ran.slices(), "a-0 1000..3000, a-0 11000..38000");
    assert_eq!(ran.ops(), "3000 a-0 sleep 11000, 38000 a-0 sleep 41000");
}

#[test]
fn relative_is_the_default_mode() {
    let with = run(&TIMER_LATE.replace("MODE", "relative"));
    let without = run(&TIMER_LATE.replace(r#", "mode": "MODE""#, ""));
    assert_eq!(with.slices(), without.slices());
}

#[test]
fn an_expiry_that_is_now_needs_no_sleep() {
    let ran = run(
        r#"{"tasks": {"a": {"loop": 2, "run": 1000, "timer": {"ref": "unique", "period": 1000}}}}"#,
    );
    assert_eq!(ran.slices(), "a-0 0..2000");
    assert_eq!(ran.ops(), "");
}

#[test]
fn a_unique_timer_is_the_threads_own_and_others_are_shared() {
    let text = |timer: &str| {
        format!(
            r#"{{"tasks": {{"a": {{"instance": 2, "loop": 2, "run": 100, "timer": {{"ref": "{timer}", "period": 1000}}}}}}}}"#
        )
    };
    let ran = run(&text("unique1"));
    assert_eq!(
        ran.ops(),
        "100 a-0 sleep 1000, 200 a-1 sleep 1000, 1100 a-0 sleep 2000, 1200 a-1 sleep 2000"
    );
    // Each use by any thread adds a period.
    let ran = run(&text("tick"));
    assert_eq!(
        ran.ops(),
        "100 a-0 sleep 1000, 200 a-1 sleep 2000, 1100 a-0 sleep 3000, 2100 a-1 sleep 4000"
    );
}

#[test]
fn the_first_user_of_a_shared_timer_gives_its_start() {
    let ran = run(r#"{"tasks": {
        "late": {"delay": 500, "loop": 1, "run": 100, "timer": {"ref": "t", "period": 1000}},
        "early": {"loop": 1, "sleep": 3000, "timer": {"ref": "t", "period": 1000}}
    }}"#);
    assert_eq!(ran.ops(), "0 early-0 sleep 3000, 600 late-0 sleep 1500");
}

#[test]
fn each_use_of_a_timer_goes_by_its_own_mode() {
    let ran = run(r#"{"tasks": {"a": {"loop": 1, "run": 5500,
        "timer0": {"ref": "t", "period": 1000, "mode": "absolute"},
        "timer1": {"ref": "t", "period": 1000},
        "timer2": {"ref": "t", "period": 1000, "mode": "absolute"}
    }}}"#);
    // 1000 is missed and stays; 2000 is missed and becomes 5500; then 6500.
    assert_eq!(ran.ops(), "5500 a-0 sleep 6500");
}

#[test]
fn memory_events_cost_what_the_model_says() {
    let ran = run(r#"{"tasks": {"a": {"loop": 1,
        "mem": 8000,
        "memrun0": {"type": "write", "size": 4000, "count": 16000},
        "memrun1": {"type": "read", "size": 8000, "count": 8000},
        "memrun2": {"type": "pointer-chase", "size": 262144, "count": 500},
        "memrun3": {"type": "pointer-chase", "size": 262145, "count": 100, "stride": 64, "pattern": "random", "ref": "buf"}
    }}}"#);
    // 1000 + 2000 + 1000 + 1000 + 8000 ns.
    assert_eq!(ran.slices(), "a-0 0..13");
}

#[test]
fn io_requests_are_served_one_at_a_time_in_order() {
    let ran =
        run_on(2, r#"{"tasks": {"a": {"instance": 2, "loop": 1, "iorun": 80000, "run": 10}}}"#);
    // CPU 20 us + 10 us each, then 260 us on the device, one after the other.
    assert_eq!(ran.ops(), "30 a-0 sleep 290, 30 a-1 sleep 550");
    assert_eq!(ran.slices(), "a-0 0..30@0, a-1 0..30@1, a-0 290..300@0, a-1 550..560@0");
    let io = ran.ops.iter().find(|(_, _, op)| matches!(op, Op::Sleep { .. }));
    assert!(matches!(io, Some((_, _, Op::Sleep { reason: BlockReason::Uninterruptible, .. }))));
}

#[test]
fn yield_lets_the_others_go_first() {
    let ran = run(r#"{"tasks": {
        "a": {"loop": 2, "run": 100, "yield": ""},
        "b": {"loop": 2, "run": 100, "yield": "ignored"}
    }}"#);
    assert_eq!(ran.slices(), "a-0 0..100, b-0 100..200, a-0 200..300, b-0 300..400");
}

#[test]
fn event_keys_are_known_by_their_beginnings_and_repeated_ones_all_count() {
    let ran = run(
        r#"{"tasks": {"a": {"loop": 1, "run": 1, "run_big": 10, "run": 100, "run": 1000, "sleep_a_bit": 5, "run": 1}}}"#,
    );
    assert_eq!(ran.slices(), "a-0 0..1111, a-0 1116..1117");
}

#[test]
fn fork_starts_one_more_thread_with_the_next_free_number() {
    let ran = run(r#"{"tasks": {
        "parent": {"loop": 2, "run": 100, "fork": "child"},
        "child": {"instance": 1, "delay": 50, "loop": 1, "policy": "SCHED_BATCH", "priority": 7, "run": 10}
    }}"#);
    // child-0 exists from the beginning. The forked threads start their delay after the fork.
    assert_eq!(
        ran.slices(),
        "parent-0 0..200, child-0 200..210, child-1 210..220, child-2 250..260"
    );
    let child = ran.vm.thread(schedlab_core::TaskId(3));
    assert_eq!((child.key, child.instance, child.forked), ("child", 2, true));
    assert_eq!(child.start_ns, 250_000);
    assert_eq!(crate::support::attr_text(&child.sched), "batch 7");
}

#[test]
fn instance_zero_only_comes_by_fork() {
    let ran = run(r#"{"tasks": {
        "child": {"instance": 0, "loop": 1, "run": 10},
        "parent": {"loop": 1, "fork": "child", "run": 100}
    }}"#);
    assert_eq!(ran.slices(), "parent-0 0..100, child-0 100..110");
}

#[test]
fn the_run_ends_just_before_its_duration() {
    let ran =
        run(r#"{"global": {"duration": 1}, "tasks": {"a": {"run": 400000, "sleep": 100000}}}"#);
    assert_eq!(ran.end, Ok(RunEnd::TimeUp));
    assert_eq!(ran.slices(), "a-0 0..400000, a-0 500000..900000");
    let ran = run(r#"{"global": {"duration": 0.0005}, "tasks": {"a": {"run": 400000}}}"#);
    assert_eq!(ran.slices(), "a-0 0..500");
}

#[test]
fn a_thread_that_gets_nowhere_stops_the_run() {
    let ran = run(r#"{"tasks": {"a": {"loop": 1, "phases": {
        "post": {"loop": 1200000, "sem_post": "s"},
        "take": {"loop": 1200000, "sem_wait": "s"}
    }}}}"#);
    let stop = ran.end.unwrap_err();
    assert_eq!(
        stop.to_string(),
        "stopped at 0.000000000 s: thread a-0, `sem_post` in phase `post`: 1000000 events while no time passed; the program seems to loop"
    );
    let ran = run(r#"{"tasks": {"a": {"loop": 1, "phases": {
        "post": {"loop": 600000, "sem_post": "s"},
        "rest": {"sleep": 1},
        "take": {"loop": 600000, "sem_wait": "s"}
    }}}}"#);
    assert_eq!(ran.end, Ok(RunEnd::AllEnded));
}

#[test]
fn threads_that_get_nowhere_together_stop_the_run() {
    let ran = run(r#"{"tasks": {"a": {"instance": 6, "barrier": "b"}}}"#);
    let stop = ran.end.unwrap_err().to_string();
    assert!(
        stop.ends_with(
            "4000000 events of all threads while no time passed; the programs seem to loop"
        ),
        "{stop}"
    );
}

#[test]
fn forks_beyond_the_limit_stop_the_run() {
    let ran = run(r#"{"tasks": {
        "child": {"instance": 0, "delay": 1000000, "loop": 1, "run": 1},
        "parent": {"loop": 1, "phases": {"p": {"loop": 500001, "run": 1, "fork": "child"}}}
    }}"#);
    let stop = ran.end.unwrap_err();
    assert_eq!(
        stop.to_string(),
        "stopped at 0.500000000 s: thread parent-0, `fork` in phase `p`: a fork would exceed the maximum of 500000 threads"
    );
}

#[test]
fn the_coming_burst_is_known_where_the_program_alone_decides() {
    use schedlab_core::TaskId;
    use schedlab_machine::Workload;
    use schedlab_workload::{Options, Target, rt_app};
    let burst_us = |events: &str| {
        let text =
            format!(r#"{{"tasks": {{"a": {{{events}}}, "b": {{"loop": 1, "suspend": ""}}}}}}"#);
        let target = Target { cpus: 1, limited: true };
        let model = rt_app::load("t", &text, &target).unwrap();
        let vm = rt_app::prepare(&model, &target, Options::default()).unwrap();
        vm.burst_ns(TaskId(0)).map(|ns| ns / 1000)
    };
    for (events, expected) in [
        (r#""run": 10, "run1": 5, "sleep": 3, "run2": 100"#, Some(15)),
        (r#""loop": 3, "run": 10, "signal": "c""#, Some(30)),
        (
            r#""loop": 1, "phases": {"p": {"loop": 4, "run": 1, "yield": ""}, "q": {"mem": 8000, "iorun": 0}}"#,
            Some(25),
        ),
        (r#""loop": 2, "run": 10, "resume": "b", "suspend": """#, Some(10)),
        (r#""run": 10"#, Some(u64::MAX / 1000)),
        (r#""run": 10, "timer": {"ref": "t", "period": 5}"#, None),
        (r#""run": 10, "lock": "m", "unlock": "m""#, None),
        (r#""runtime": 10"#, None),
    ] {
        assert_eq!(burst_us(events), expected, "{events}");
    }
}

/// Returns options with costs of calls: `try_lock` 1 us, `futex` 10, `clock` 2, `yield` 3, `fork`
/// 20.
fn calls() -> Options {
    let calls = CallCosts {
        try_lock_ns: 1_000,
        futex_ns: 10_000,
        clock_ns: 2_000,
        yield_ns: 3_000,
        fork_ns: 20_000,
        ..CallCosts::default()
    };
    Options { calls: Some(calls), ..Options::default() }
}

#[test]
fn calls_cost_what_the_machine_says_and_nothing_on_an_idealised_one() {
    let alone = r#"{"tasks": {"a": {"loop": 1, EVENTS, "run": 100}}}"#;
    let took_us = |events: &str| {
        let text = alone.replace("EVENTS", events);
        let (free, dear) = (run(&text), run_with(1, &text, calls()));
        assert_eq!((free.end, dear.end), (Ok(RunEnd::AllEnded), Ok(RunEnd::AllEnded)), "{events}");
        (free.now_ns / 1000, dear.now_ns / 1000)
    };
    assert_eq!(took_us(r#""run1": 50"#), (150, 150));
    assert_eq!(
        took_us(r#""lock": "m", "run1": 50, "unlock": "m""#),
        (150, 152),
        "no other thread waits for it"
    );
    assert_eq!(took_us(r#""signal": "c""#), (100, 101), "no thread waits");
    assert_eq!(took_us(r#""sem_post": "s", "sem_wait": "s""#), (100, 102));
    assert_eq!(took_us(r#""yield": """#), (100, 103));
    assert_eq!(took_us(r#""sleep": 50"#), (150, 150));
    // Two pieces of 32 us, each with a reading of the clock.
    assert_eq!(took_us(r#""runtime": 60"#), (164, 168));
    // The timer's sleep is shorter by the time of the call: it ends at the same time as before.
    assert_eq!(took_us(r#""timer": {"ref": "t", "period": 50}"#), (150, 150));
}

#[test]
fn who_wakes_pays_before_and_who_waited_pays_when_it_has_it() {
    // The poster's call takes effect after 110 us. The waiter has it 10 us later, when its own call
    // is over.
    let text = r#"{"tasks": {
        "w": {"loop": 1, "sem_wait": "s", "run": 5},
        "p": {"loop": 1, "run": 100, "sem_post": "s", "run1": 1}
    }}"#;
    assert_eq!(run_with(2, text, calls()).slices(), "p-0 0..111@1, w-0 110..125@0");
    // A mutex with a waiter: 1 us, 50, and 10 of `unlock`, then 10 of the waiter's `lock`, 50, and
    // 1 of `unlock`.
    let text =
        r#"{"tasks": {"a": {"instance": 2, "loop": 1, "lock": "m", "run": 50, "unlock": "m"}}}"#;
    assert_eq!(run_with(2, text, calls()).slices(), "a-0 0..61, a-1 61..122");
}

#[test]
fn the_footprint_is_the_largest_piece_of_memory() {
    let text = r#"{"tasks": {
        "a": {"loop": 1, "mem": 5000, "memrun": {"type": "read", "size": 65536, "count": 1}},
        "b": {"loop": 1, "run": 10}
    }}"#;
    let vm = run(text).vm;
    assert_eq!((vm.footprint_kib(TaskId(0)), vm.footprint_kib(TaskId(1))), (64, 0));
}
