//! Mutexes, conditions, barriers, semaphores, suspension.

use crate::support::{run, run_on};
use schedlab_machine::RunEnd;

#[test]
fn a_mutex_keeps_others_out() {
    let ran = run_on(
        2,
        r#"{"tasks": {"a": {"instance": 2, "loop": 1, "lock": "m", "run": 100, "unlock": "m", "run1": 50}}}"#,
    );
    assert_eq!(ran.slices(), "a-0 0..150@0, a-1 100..250@1");
    assert_eq!(ran.ops(), "0 a-1 block, 100 a-0 wake a-1");
}

#[test]
fn without_inheritance_a_quicker_thread_may_take_a_free_mutex() {
    // One CPU, no preemption: a unlocks, wakes b, and locks again before b runs. b then returns to
    // its old place, before c, which came later.
    let ran = run(r#"{"tasks": {
        "a": {"loop": 1, "lock": "m", "run": 10, "sleep": 100, "unlock": "m", "run1": 10, "lock1": "m", "run2": 10, "sleep2": 100, "unlock2": "m"},
        "b": {"loop": 1, "lock": "m", "run": 10, "unlock": "m"},
        "c": {"loop": 1, "lock": "m", "run": 10, "unlock": "m"}
    }}"#);
    assert_eq!(
        ran.ops(),
        "10 a-0 sleep 110, 10 b-0 block, 10 c-0 block, 110 a-0 wake b-0, 130 a-0 sleep 230, 130 b-0 block, \
         230 a-0 wake b-0, 240 b-0 wake c-0"
    );
    assert_eq!(ran.slices(), "a-0 0..10, a-0 110..130, b-0 230..240, c-0 240..250");
}

#[test]
fn real_time_waiters_come_first_by_priority() {
    let ran = run_on(
        8,
        r#"{"tasks": {
        "holder": {"loop": 1, "lock": "m", "run": 100, "unlock": "m"},
        "n1": {"delay": 10, "loop": 1, "lock": "m", "run": 10, "unlock": "m"},
        "n2": {"delay": 20, "loop": 1, "priority": -20, "lock": "m", "run": 10, "unlock": "m"},
        "lo": {"delay": 30, "loop": 1, "policy": "SCHED_FIFO", "priority": 5, "lock": "m", "run": 10, "unlock": "m"},
        "hi": {"delay": 40, "loop": 1, "policy": "SCHED_RR", "priority": 50, "lock": "m", "run": 10, "unlock": "m"},
        "lo2": {"delay": 50, "loop": 1, "policy": "SCHED_RR", "priority": 5, "lock": "m", "run": 10, "unlock": "m"}
    }}"#,
    );
    let order: Vec<&str> = ran.ops.iter().fold(vec![], |mut order, (_, _, op)| {
        if let schedlab_machine::Op::Wake { task, .. } = op {
            order.push(["holder", "n1", "n2", "lo", "hi", "lo2"][task.index()]);
        }
        order
    });
    assert_eq!(order, ["hi", "lo", "lo2", "n1", "n2"]);
}

const INVERSION: &str = r#"{"global": {"pi_enabled": PI}, "tasks": {
    "low": {"policy": "SCHED_FIFO", "priority": 1, "loop": 1, "lock": "m", "run": 1000, "unlock": "m", "run1": 100},
    "mid": {"policy": "SCHED_FIFO", "priority": 5, "delay": 300, "loop": 1, "run": 10000},
    "high": {"policy": "SCHED_FIFO", "priority": 9, "delay": 200, "loop": 1, "lock": "m", "run": 50, "unlock": "m"}
}}"#;

#[test]
fn without_inheritance_there_is_priority_inversion() {
    let ran = run(&INVERSION.replace("PI", "false"));
    assert_eq!(
        ran.slices(),
        "low-0 0..300, mid-0 300..10300, low-0 10300..11000, high-0 11000..11050, low-0 11050..11150"
    );
    assert_eq!(ran.attr_changes(), "");
}

#[test]
fn with_inheritance_the_owner_borrows_the_waiters_priority() {
    let ran = run(&INVERSION.replace("PI", "true"));
    assert_eq!(
        ran.slices(),
        "low-0 0..1000, high-0 1000..1050, mid-0 1050..11050, low-0 11050..11150"
    );
    assert_eq!(ran.attr_changes(), "200 high-0 low-0 is fifo 9, 1000 low-0 low-0 is fifo 1");
}

#[test]
fn with_inheritance_a_release_hands_the_mutex_over() {
    // As in the test above without inheritance, but now a cannot be quicker than b.
    let ran = run(r#"{"global": {"pi_enabled": true}, "tasks": {
        "a": {"loop": 1, "lock": "m", "run": 10, "sleep": 100, "unlock": "m", "run1": 10, "lock1": "m", "run2": 10, "unlock2": "m"},
        "b": {"loop": 1, "lock": "m", "run": 10, "unlock": "m"}
    }}"#);
    assert_eq!(ran.slices(), "a-0 0..10, a-0 110..120, b-0 120..130, a-0 130..140");
}

#[test]
fn a_priority_is_lent_along_a_chain_and_given_back_in_steps() {
    let ran = run_on(
        4,
        r#"{"global": {"pi_enabled": true}, "tasks": {
        "a": {"loop": 1, "lock": "m", "run": 1000, "unlock": "m", "run1": 10},
        "b": {"delay": 100, "loop": 1, "lock": "n", "lock1": "m", "run": 100, "unlock1": "m", "run1": 100, "unlock": "n"},
        "c": {"delay": 200, "loop": 1, "policy": "SCHED_RR", "priority": 7, "lock": "n", "run": 10, "unlock": "n"},
        "d": {"delay": 300, "loop": 1, "policy": "SCHED_FIFO", "priority": 3, "lock": "m", "run": 10, "unlock": "m"}
    }}"#,
    );
    assert_eq!(
        ran.attr_changes(),
        "200 c-0 b-0 is rr 7, 200 c-0 a-0 is rr 7, 1000 a-0 a-0 is other 0, 1200 b-0 b-0 is other 0"
    );
    // b, boosted to 7, gets m before d.
    let ops = ran.ops();
    assert!(
        ops.contains(
            "1000 a-0 wake b-0, 1100 b-0 wake d-0, 1200 b-0 b-0 is other 0, 1200 b-0 wake c-0"
        ),
        "{ops}"
    );
}

#[test]
fn ordinary_waiters_lend_nothing_and_deadline_waiters_do() {
    let text = |waiter: &str| {
        format!(
            r#"{{"global": {{"pi_enabled": true}}, "tasks": {{
            "a": {{"priority": 10, "loop": 1, "lock": "m", "run": 100, "unlock": "m"}},
            "b": {{"delay": 10, {waiter}, "loop": 1, "lock": "m", "unlock": "m"}}
        }}}}"#
        )
    };
    assert_eq!(run_on(2, &text(r#""priority": -20"#)).attr_changes(), "");
    let deadline = text(r#""policy": "SCHED_DEADLINE", "dl-runtime": 1000, "dl-period": 10000"#);
    assert_eq!(
        run_on(2, &deadline).attr_changes(),
        "10 b-0 a-0 is deadline 1000/10000/10000, 100 a-0 a-0 is other 10"
    );
}

#[test]
fn a_boosted_thread_that_changes_its_own_priority_keeps_the_better() {
    let ran = run_on(
        2,
        r#"{"global": {"pi_enabled": true}, "tasks": {
        "a": {"loop": 1, "phases": {
            "p": {"lock": "m", "run": 100},
            "q": {"policy": "SCHED_FIFO", "priority": 2, "run": 100},
            "r": {"policy": "SCHED_FIFO", "priority": 20, "run": 100, "unlock": "m", "run1": 100}
        }},
        "b": {"delay": 10, "policy": "SCHED_FIFO", "priority": 9, "loop": 1, "lock": "m", "unlock": "m"}
    }}"#,
    );
    assert_eq!(ran.attr_changes(), "10 b-0 a-0 is fifo 9, 200 a-0 a-0 is fifo 20");
}

#[test]
fn wait_gives_the_mutex_up_and_takes_it_again() {
    let ran = run_on(
        2,
        r#"{"tasks": {
        "w": {"loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "run": 10, "unlock": "m"},
        "s": {"loop": 1, "run": 100, "lock": "m", "signal": "c", "run1": 50, "unlock": "m"}
    }}"#,
    );
    // Woken at 100, it finds the mutex taken, and gets it at 150.
    assert_eq!(ran.ops(), "0 w-0 block, 100 s-0 wake w-0, 100 w-0 block, 150 s-0 wake w-0");
    assert_eq!(ran.slices(), "s-0 0..150@1, w-0 150..160@0");
}

#[test]
fn signal_wakes_the_longest_waiting_and_broad_all_and_both_are_lost_without_waiters() {
    let text = |how: &str| {
        format!(
            r#"{{"global": {{"duration": 1}}, "tasks": {{
            "w": {{"instance": 3, "loop": 1, "lock": "m", "wait": {{"ref": "c", "mutex": "m"}}, "unlock": "m"}},
            "s": {{"loop": 1, "run": 100, {how}}},
            "early": {{"loop": 1, "signal": "d", "broad": "d", "run": 1}},
            "late": {{"delay": 500, "loop": 1, "lock": "n", "wait": {{"ref": "d", "mutex": "n"}}, "unlock": "n"}}
        }}}}"#
        )
    };
    let wakes = |text: &str| {
        let ran = run_on(4, text);
        assert_eq!(ran.end, Ok(RunEnd::Stuck), "no thread signals late-0");
        let ops = ran.ops();
        let wakes: Vec<String> =
            ops.split(", ").filter(|op| op.contains(" s-0 wake")).map(String::from).collect();
        wakes.join(", ")
    };
    assert_eq!(wakes(&text(r#""signal": "c""#)), "100 s-0 wake w-0");
    assert_eq!(
        wakes(&text(r#""broadcast": "c""#)),
        "100 s-0 wake w-0, 100 s-0 wake w-1, 100 s-0 wake w-2"
    );
}

#[test]
fn sync_is_its_four_steps() {
    // Two threads alternate: each signals the other while it holds the mutex, then waits.
    let ran = run(r#"{"tasks": {
        "a": {"loop": 2, "run": 100, "sync": {"ref": "c", "mutex": "m"}},
        "b": {"loop": 2, "run": 50, "sync": {"ref": "c", "mutex": "m"}}
    }}"#);
    assert_eq!(ran.slices(), "a-0 0..100, b-0 100..150, a-0 150..250, b-0 250..300");
    // No thread signals the last one to wait.
    assert_eq!(ran.end, Ok(RunEnd::Stuck));
    assert_eq!(
        ran.ops(),
        "100 a-0 block, 150 b-0 wake a-0, 150 b-0 block, 250 a-0 wake b-0, 250 a-0 block, 300 b-0 wake a-0, 300 b-0 block"
    );
}

#[test]
fn sync_by_who_holds_the_mutex_signals_and_waits_and_holds_it_again() {
    let ran = run(r#"{"tasks": {
        "a": {"loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "run": 10, "signal": "c",
              "unlock": "m", "run2": 5},
        "b": {"loop": 1, "run": 50, "lock": "m", "sync": {"ref": "c", "mutex": "m"}, "run1": 7,
              "unlock": "m", "run2": 100}
    }}"#);
    // `a` is signalled while `b` holds the mutex, which is free once `b` waits. `b` does not
    // continue until `a` releases the mutex, and then `b` holds it.
    assert_eq!(ran.slices(), "b-0 0..50, a-0 50..65, b-0 65..172");
    assert_eq!(ran.end, Ok(RunEnd::AllEnded));
    // Held or not, in any round and phase: in the meantime, a thread that does not hold the mutex
    // takes it.
    let ran = run(r#"{"tasks": {
        "a": {"loop": 2, "phases": {
            "p": {"run": 1, "sync": {"ref": "c", "mutex": "m"}},
            "q": {"loop": 2, "lock": "m", "sync": {"ref": "c", "mutex": "m"}, "unlock": "m"},
            "r": {"loop": 0, "lock": "m"}, "s": {"sync": {"ref": "c", "mutex": "m"}}}},
        "b": {"loop": 8, "sleep": 10, "lock": "m", "signal": "c", "unlock": "m"}
    }}"#);
    assert_eq!(ran.end, Ok(RunEnd::AllEnded));
}

#[test]
fn the_last_at_a_barrier_goes_on_and_wakes_the_others_in_order() {
    let ran = run_on(
        4,
        r#"{"tasks": {
        "a": {"instance": 2, "loop": 2, "run": 100, "barrier": "b", "run1": 10},
        "c": {"loop": 2, "run": 300, "barrier": "b"}
    }}"#,
    );
    assert_eq!(
        ran.ops(),
        "100 a-0 block, 100 a-1 block, 300 c-0 wake a-0, 300 c-0 wake a-1, 410 a-0 block, 410 a-1 block, \
         600 c-0 wake a-0, 600 c-0 wake a-1"
    );
    assert_eq!(ran.end, Ok(RunEnd::AllEnded));
}

#[test]
fn a_thread_that_has_not_started_counts_at_a_barrier() {
    let ran = run(r#"{"tasks": {
        "a": {"loop": 1, "barrier": "b", "run": 10},
        "b": {"delay": 500, "loop": 1, "barrier": "b", "run": 10}
    }}"#);
    assert_eq!(ran.slices(), "b-0 500..510, a-0 510..520");
}

#[test]
fn a_barrier_for_one_never_blocks() {
    let ran = run(r#"{"tasks": {"a": {"loop": 3, "run": 10, "barrier": "b"}}}"#);
    assert_eq!(ran.ops(), "");
}

#[test]
fn posts_are_remembered_and_given_to_the_longest_waiting() {
    let ran = run(r#"{"tasks": {
        "p": {"loop": 1, "sem_post0": "s", "sem_post1": "s", "run": 100, "sem_post2": "s", "sem_post3": "s"},
        "c": {"instance": 2, "loop": 2, "sem_wait": "s", "run": 10}
    }}"#);
    // c-0 takes both stored posts. Then c-1 waits, and gets the third.
    assert_eq!(ran.end, Ok(RunEnd::AllEnded));
    assert_eq!(ran.slices(), "p-0 0..100, c-0 100..120, c-1 120..140");
    let ran = run_on(
        4,
        r#"{"tasks": {
        "p": {"loop": 1, "run": 100, "sem_post0": "s", "run1": 100, "sem_post1": "s"},
        "c": {"instance": 2, "loop": 1, "sem_wait": "s", "run": 10},
        "late": {"delay": 150, "loop": 1, "sem_wait": "s", "run": 10},
        "last": {"delay": 300, "loop": 1, "sem_post": "s"}
    }}"#,
    );
    assert_eq!(
        ran.ops(),
        "0 c-0 block, 0 c-1 block, 100 p-0 wake c-0, 150 late-0 block, 200 p-0 wake c-1, 300 last-0 wake late-0"
    );
}

#[test]
fn a_post_with_waiters_cannot_be_taken_by_another() {
    // c waits; p posts and at once waits itself: the post belongs to c.
    let ran = run(r#"{"tasks": {
        "c": {"loop": 1, "sem_wait": "s", "run": 10, "sem_post": "s"},
        "p": {"loop": 1, "run": 5, "sem_post": "s", "sem_wait": "s", "run1": 1}
    }}"#);
    assert_eq!(ran.slices(), "p-0 0..5, c-0 5..15, p-0 15..16");
}

#[test]
fn resume_wakes_by_task_key_and_by_suspend_string() {
    let ran = run(r#"{"tasks": {
        "B0": {"loop": 1, "suspend": "BrowserSub", "run": 10},
        "B1": {"loop": 1, "suspend": "BrowserSub", "run": 10},
        "C": {"instance": 2, "loop": 1, "suspend": "whatever", "run": 10},
        "r": {"loop": 1, "run": 100, "resume": "C", "run1": 100, "resume1": "BrowserSub", "run2": 1}
    }}"#);
    assert_eq!(
        ran.ops(),
        "0 B0-0 block, 0 B1-0 block, 0 C-0 block, 0 C-1 block, 100 r-0 wake C-0, 100 r-0 wake C-1, \
         200 r-0 wake B0-0, 200 r-0 wake B1-0"
    );
}

#[test]
fn those_resumed_are_woken_in_the_order_in_which_they_suspended() {
    let ran = run(r#"{"tasks": {
        "x": {"delay": 30, "loop": 1, "suspend": "", "run": 1},
        "y": {"delay": 20, "loop": 1, "suspend": "x", "run": 1},
        "z": {"delay": 10, "loop": 1, "suspend": "z", "run": 1},
        "r": {"delay": 100, "loop": 1, "resume": "x", "run": 1, "resume_sync": "z"}
    }}"#);
    assert_eq!(
        ran.ops(),
        "10 z-0 block, 20 y-0 block, 30 x-0 block, 100 r-0 wake y-0, 100 r-0 wake x-0, 101 r-0 wake sync z-0"
    );
}

#[test]
fn a_resume_without_anybody_suspended_is_lost() {
    let ran = run(r#"{"tasks": {
        "r": {"loop": 1, "resume": "s", "run": 100},
        "s": {"delay": 50, "loop": 1, "suspend": "s", "run": 10}
    }}"#);
    assert_eq!(ran.end, Ok(RunEnd::Stuck));
}

#[test]
fn one_resumed_under_one_name_is_not_resumed_again_under_the_other() {
    // s suspends, is resumed as "s", and suspends again. The resume of "n" must wake it once, for
    // its second suspension.
    let ran = run_on(
        2,
        r#"{"tasks": {
        "s": {"loop": 3, "suspend": "n", "run": 1},
        "r": {"loop": 1, "run": 10, "resume": "s", "run1": 10, "resume1": "n", "run2": 10, "resume2": "n"}
    }}"#,
    );
    assert_eq!(
        ran.ops(),
        "0 s-0 block, 10 r-0 wake s-0, 11 s-0 block, 20 r-0 wake s-0, 21 s-0 block, 30 r-0 wake s-0"
    );
    assert_eq!(ran.end, Ok(RunEnd::AllEnded));
}

#[test]
fn one_that_suspends_again_queues_behind_those_who_came_between() {
    let ran = run_on(
        3,
        r#"{"tasks": {
        "s": {"loop": 2, "suspend": "n", "run": 20},
        "x": {"delay": 15, "loop": 1, "suspend": "n", "run": 1},
        "r": {"loop": 1, "run": 10, "resume": "s", "run1": 40, "resume1": "n"}
    }}"#,
    );
    assert_eq!(
        ran.ops(),
        "0 s-0 block, 10 r-0 wake s-0, 15 x-0 block, 30 s-0 block, 50 r-0 wake x-0, 50 r-0 wake s-0"
    );
}

#[test]
fn a_borrower_keeps_its_own_nice_value() {
    let ran = run_on(
        2,
        r#"{"global": {"pi_enabled": true}, "tasks": {
        "a": {"priority": 7, "loop": 1, "lock": "m", "run": 100, "unlock": "m"},
        "b": {"delay": 10, "policy": "SCHED_RR", "priority": 3, "loop": 1, "lock": "m", "unlock": "m"}
    }}"#,
    );
    let lent = ran.ops.iter().find_map(|(_, _, op)| match op {
        schedlab_machine::Op::SetAttr { attr, .. } => Some((attr.rt_priority, attr.nice)),
        _ => None,
    });
    assert_eq!(lent, Some((3, 7)));
}
