//! rt-app's own log.

use crate::support::{run, run_with};
use schedlab_core::TaskId;
use schedlab_workload::{LogLine, Options};

fn logged(text: &str) -> (Vec<LogLine>, u64) {
    let options = Options { log_lines: 100, ..Options::default() };
    let ran = run_with(1, text, options);
    let log = ran.vm.log().expect("a log was requested");
    (log.lines().to_vec(), log.left_out())
}

fn line(columns: [i64; 10]) -> LogLine {
    let [perf, run, period, start, end, rel_st, slack, c_duration, c_period, wu_lat] = columns;
    let positive = |value: i64| value as u64;
    LogLine {
        task: TaskId(0),
        phase: 0,
        perf: positive(perf),
        run: positive(run),
        period: positive(period),
        start: positive(start),
        end: positive(end),
        rel_st: positive(rel_st),
        slack,
        c_duration: positive(c_duration),
        c_period: positive(c_period),
        wu_lat: positive(wu_lat),
    }
}

#[test]
fn a_line_for_each_round_of_a_phase() {
    let (lines, _) = logged(
        r#"{"tasks": {"a": {"delay": 1000, "loop": 1, "phases": {
        "p": {"loop": 2, "run": 2000, "run1": 500, "timer": {"ref": "unique", "period": 10000}},
        "q": {"run": 100, "sleep": 50}
    }}}}"#,
    );
    assert_eq!(
        lines,
        [
            line([2500, 2500, 10_000, 1000, 11_000, 0, 7500, 2500, 10_000, 0]),
            line([2500, 2500, 10_000, 11_000, 21_000, 10_000, 7500, 2500, 10_000, 0]),
            LogLine { phase: 1, ..line([100, 100, 150, 21_000, 21_150, 20_000, 0, 100, 0, 0]) },
        ]
    );
}

#[test]
fn waiting_for_the_cpu_counts_in_run_and_in_wake_up_latency() {
    let (lines, _) = logged(
        r#"{"tasks": {
        "a": {"loop": 1, "run": 1000, "timer": {"ref": "unique", "period": 3000}},
        "rt": {"policy": "SCHED_FIFO", "delay": 400, "loop": 1, "run": 200, "sleep": 2000, "run1": 1000}
    }}"#,
    );
    // a runs 0..400, 600..1200. Its timer expires at 3000, when rt has the CPU (2600..3600).
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1], line([1000, 1200, 3600, 0, 3600, 0, 1800, 1000, 3000, 600]));
    // rt-0 started 400 after the first thread.
    assert_eq!((lines[0].task, lines[0].start, lines[0].rel_st), (TaskId(1), 400, 400));
}

#[test]
fn runtime_counts_its_wall_time_and_its_pieces() {
    let (lines, _) = logged(r#"{"tasks": {"a": {"loop": 1, "runtime": 100, "mem": 800}}}"#);
    assert_eq!(lines, [line([128, 128, 128, 0, 128, 0, 0, 100, 0, 0])]);
}

const TWO_TIMERS: &str = r#"{"global": {"cumulative_slack": CUM}, "tasks": {"a": {"loop": 1,
    "run": 1000, "timer": {"ref": "unique1", "period": 3000}, "run1": 5000, "timer1": {"ref": "unique1", "period": 4000}}}}"#;

#[test]
fn slack_is_that_of_the_last_timer_or_the_sum_and_negative_when_late() {
    // Reached at 1000 (expiry 3000) and at 8000 (expiry 7000): 2000 and -1000.
    let (lines, _) = logged(&TWO_TIMERS.replace("CUM", "false"));
    assert_eq!(lines, [line([6000, 6000, 8000, 0, 8000, 0, -1000, 6000, 7000, 0])]);
    let (lines, _) = logged(&TWO_TIMERS.replace("CUM", "true"));
    assert_eq!(lines[0].slack, 1000);
}

#[test]
fn figures_are_cut_after_they_were_summed_up() {
    let (lines, _) = logged(
        r#"{"tasks": {"a": {"loop": 1, "mem": 7992, "sleep": 1, "mem1": 4008, "timer": {"ref": "unique", "period": 2}}}}"#,
    );
    // 999 ns, asleep until 1999 ns, 501 ns: the timer's 2000 ns ended 500 ns ago.
    assert_eq!(lines, [line([0, 0, 2, 0, 2, 0, 0, 0, 2, 0])]);
}

#[test]
fn a_phase_that_has_not_ended_is_not_logged_and_the_log_is_bounded() {
    let (lines, left_out) =
        logged(r#"{"global": {"duration": 1}, "tasks": {"a": {"run": 5000, "sleep": 1000}}}"#);
    assert_eq!((lines.len(), left_out), (100, 66));
    let (lines, _) = logged(r#"{"global": {"duration": 1}, "tasks": {"a": {"run": 2000000}}}"#);
    assert!(lines.is_empty());
    assert!(run(r#"{"tasks": {"a": {"loop": 1, "run": 1}}}"#).vm.log().is_none());
}

#[test]
fn the_text_has_rt_apps_columns() {
    let columns: Vec<&str> = LogLine::HEADER.split_whitespace().collect();
    assert_eq!(
        columns.join(" "),
        "idx perf run period start end rel_st slack c_duration c_period wu_lat"
    );
    let line = line([1, 2, 3, 4, 5, 6, -7, 8, 9, 10]).to_string();
    let values: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(values.join(" "), "0 1 2 3 4 5 6 -7 8 9 10");
}
