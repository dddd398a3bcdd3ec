//! Requests of rt-app's tasks on two CPUs.

use super::*;
use crate::rt_app::{self, Options, Target};
use schedlab_core::{Administer, BuildConfig, GroupId};
use schedlab_machine::{Config, Machine};
use schedlab_sched::registry;

/// Runs `tasks` for `ms`, and returns the requests of tasks in `/g` that were done and those that
/// were not: due and done, in us.
fn requests(tasks: &str, ms: u64) -> [Vec<(u64, u64)>; 2] {
    let target = Target { cpus: 2, limited: true };
    let text = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    let model = rt_app::load("test", &text, &target).unwrap_or_else(|error| panic!("{error}"));
    let filter = RequestFilter { group: "/g".into(), most: 1000 };
    let options = Options { requests: Some(filter), ..Options::default() };
    let kernel = rt_app::prepare(&model, &target, options).expect("it was loaded");
    let (_, release) = registry::find("cfs").expect("the scheduler is registered");
    let scheduler = release.build(&BuildConfig::flat(2, 1000)).expect("it can be built");
    let mut machine = Machine::new(Config::idealised(2, 1000), scheduler, kernel, ());
    let made = machine
        .administer(|scheduler, platform| scheduler.group_new(platform, GroupId::ROOT, 1024));
    made.expect("the scheduler has groups");
    machine.run(ms * 1_000_000).expect("the run succeeds");
    let (_, kernel, _) = machine.into_parts();
    let in_us = |list: &[Request]| {
        list.iter().map(|request| (request.due_ns / 1000, request.done_ns / 1000)).collect()
    };
    let recorded = kernel.requests().expect("they were requested");
    assert_eq!(recorded.left_out(), 0);
    [in_us(recorded.done()), in_us(&kernel.unfinished_requests(ms * 1_000_000))]
}

const TIMER: &str = r#""timer": {"ref": "unique", "period": 10000, "mode": "absolute"}"#;

#[test]
fn a_timer_makes_requests_due_even_while_its_task_is_late() {
    let text = format!(r#""a": {{"taskgroup": "/g", "loop": -1, "run": 4000, {TIMER}}}"#);
    let [done, left] = requests(&text, 25);
    assert_eq!(done, [(0, 4_000), (10_000, 14_000), (20_000, 24_000)]);
    assert_eq!(left, []);
    let text = format!(r#""a": {{"taskgroup": "/g", "loop": -1, "run": 12000, {TIMER}}}"#);
    let [done, left] = requests(&text, 45);
    assert_eq!(done, [(0, 12_000), (10_000, 24_000), (20_000, 36_000)]);
    // The second of these has not begun.
    assert_eq!(left, [(30_000, 45_000), (40_000, 45_000)]);
}

#[test]
fn a_post_makes_a_request_due_even_while_all_tasks_are_busy() {
    let [done, left] = requests(
        r#""client": {"loop": 3, "sem_post": "q", "sleep": 1000},
           "server": {"taskgroup": "/g", "loop": -1, "sem_wait": "q", "run": 3000, "sleep": 500}"#,
        8,
    );
    // The sleep at the end is no part of a request.
    assert_eq!(done, [(0, 3_000), (1_000, 6_500)]);
    assert_eq!(left, [(2_000, 8_000)]);
}

#[test]
fn locks_and_sleeps_in_the_middle_are_part_of_a_request() {
    let [done, _] = requests(
        &format!(
            r#""a": {{"taskgroup": "/g", "loop": 2, "run0": 1000, "lock": "m", "run1": 1000,
                "unlock": "m", "sleep": 2000, "run2": 500, {TIMER}}},
               "b": {{"loop": 1, "lock": "m", "run": 3000, "sleep": 100, "unlock": "m"}}"#
        ),
        30,
    );
    // The other task has the mutex for 3.1 ms.
    assert_eq!(done, [(0, 6_600), (10_000, 14_500)]);
}

#[test]
fn sleepers_and_tasks_that_end_have_requests_and_endless_ones_have_none() {
    let of = |task: &str| requests(task, 10)[0].clone();
    assert_eq!(
        of(r#""a": {"taskgroup": "/g", "loop": 2, "run": 1000, "sleep": 2000}"#),
        [(0, 1_000), (3_000, 4_000)]
    );
    assert_eq!(of(r#""a": {"taskgroup": "/g", "loop": 2, "run": 1500}"#), [(0, 3_000)]);
    assert_eq!(of(r#""a": {"taskgroup": "/g", "loop": -1, "run": 1500}"#), []);
    // Tasks of other groups are not recorded.
    assert_eq!(of(r#""a": {"taskgroup": "/g/below", "loop": 1, "run": 10}"#), [(0, 10)]);
    assert_eq!(
        of(r#""a": {"loop": 1, "run": 10}, "b": {"taskgroup": "/g", "loop": -1, "run": 1}"#),
        []
    );
    assert_eq!(of(r#""a": {"taskgroup": "/ga", "loop": 1, "run": 10}"#), []);
}
