//! From a simulated machine to a report for people.

#[path = "../../measure/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use schedlab_core::{BlockReason, BuildConfig, SchedAttr, Scheduler, TaskAttr};
use schedlab_lab::report_of::{RunInputs, TaskInfo, report_of};
use schedlab_machine::{Config, Machine, Op};
use schedlab_measure::stats::key_numbers;
use schedlab_measure::{Fairness, SliceRecorder, SpanRecorder, Stats, Weights};
use schedlab_report::timeline::{self, TimelineError};
use schedlab_report::{
    Lanes, MachineInfo, Report, RunReport, SchedulerInfo, Style, TimelineOptions, WorkloadInfo,
    csv, json, table,
};
use schedlab_sched::registry;
use support::{OneQueue, Script};

const MS: u64 = 1_000_000;

/// Key, nice value, start (ms), program of runs (ms) and sleeps (ms, negative), and number of
/// repetitions.
type Program = (&'static str, i32, u64, &'static [i64], usize);

fn program(&(_, nice, start_ms, steps, times): &Program) -> (u64, TaskAttr, Vec<Op>) {
    let reason = BlockReason::Interruptible;
    let op = |&ms: &i64| match u64::try_from(ms) {
        Ok(ms) => Op::Run { ns: ms * MS },
        Err(_) => Op::Sleep { until_ns: ms.unsigned_abs() * MS, reason },
    };
    let ops = steps.iter().map(op).cycle().take(steps.len() * times).collect();
    let attr = TaskAttr { sched: SchedAttr::nice(nice), ..TaskAttr::default() };
    (start_ms * MS, attr, ops)
}

fn run(
    name: &str,
    release: &str,
    cpus: u32,
    scheduler: impl Scheduler,
    programs: &[Program],
) -> RunReport {
    let infos: Vec<TaskInfo> = programs
        .iter()
        .enumerate()
        .map(|(number, &(key, nice, _, _, times))| TaskInfo {
            name: format!(
                "{key}-{}",
                programs[..number].iter().filter(|other| other.0 == key).count()
            ),
            key: key.into(),
            group: String::new(),
            attr: SchedAttr::nice(nice),
            loops_finished: times as u64,
            ..TaskInfo::default()
        })
        .collect();
    let keys = key_numbers(infos.iter().map(|info| info.key.as_str()));
    let mut by_nice = [1024; 40];
    by_nice[19 + 20] = 15;
    let weights = Weights { by_nice, idle: 3 };
    let observer = (
        (Stats::new(cpus, &keys), Fairness::new(cpus, weights, &[], infos.len())),
        (SliceRecorder::new(), SpanRecorder::new()),
    );
    let script = Script::new(programs.iter().map(program).collect(), vec![]);
    let mut machine = Machine::new(Config::idealised(cpus, 100), scheduler, script, observer);
    let Ok(end) = machine.run(1000 * MS);
    let counts = machine.counts();
    let (scheduler, _, ((stats, fairness), (slices, spans))) = machine.into_parts();
    report_of(RunInputs {
        scheduler: SchedulerInfo {
            name: name.into(),
            release: release.into(),
            title: name.to_uppercase(),
            set: vec![],
        },
        machine: MachineInfo { cpus, hz: 100, model: "idealised".into() },
        tunables: &scheduler.inspect().tunables(),
        seed: None,
        end,
        counts,
        overheads: None,
        energy: None,
        tasks: &infos,
        groups: &[],
        group_usage: None,
        stats: &stats,
        fairness: Some(&fairness),
        refusals: None,
        slices: Some(slices.into_slices()),
        spans: Some(spans.into_spans()),
    })
}

const MIXED: &[Program] = &[
    ("hog", 0, 0, &[400], 1),
    ("hog", 0, 50, &[300], 1),
    ("video", 0, 100, &[10, -30], 20),
    ("shell", 0, 20, &[2, -98], 9),
];

fn round_robin(programs: &[Program]) -> RunReport {
    let (_, release) = registry::find("round_robin@1.0").unwrap();
    let make = |config: &BuildConfig| release.build(config).expect("the scheduler builds");
    let scheduler = make(&BuildConfig::flat(1, 100));
    run("round_robin", "1.0", 1, scheduler, programs)
}

fn workload() -> WorkloadInfo {
    WorkloadInfo { name: "mixed".into(), duration_ns: 1000 * MS, set: vec![], late_starts: false }
}

fn one_queue(cpus: u32, programs: &[Program]) -> RunReport {
    run("one_queue", "1", cpus, OneQueue::new(cpus), programs)
}

fn draw(run: &RunReport, lanes: Lanes, style: Style) -> String {
    let options = TimelineOptions { lanes, ..TimelineOptions::default() };
    timeline::draw(run, options, style).unwrap()
}

/// Checks that no line exceeds the width, and that none ends in blanks.
fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= width, "wider than {width}: {line}");
        assert_eq!(line, line.trim_end());
    }
}

/// Round robin of Linux 1.0 with two hogs, worked out by hand: each has 15 ticks of 10 ms, and the
/// older one goes first.
#[test]
fn two_hogs_under_round_robin() {
    let run = round_robin(&[("hog", 0, 0, &[400], 1), ("hog", 0, 0, &[400], 1)]);
    let slices: Vec<_> =
        run.slices.as_ref().unwrap().iter().map(|s| (s.1 / MS, s.2 / MS, s.3)).collect();
    assert_eq!(
        slices,
        [(0, 150, 0), (150, 300, 1), (300, 450, 0), (450, 600, 1), (600, 700, 0), (700, 800, 1)]
    );
    assert_eq!(run.end.at_ns, 800 * MS);
    assert_eq!((run.totals.cpu_use, run.totals.jobs), (Some(1.0), 2));
    assert_eq!(run.totals.throughput_per_s, Some(2.5));
    assert_eq!((run.turnaround.mean_ns, run.turnaround.max_ns), (Some(750 * MS), Some(800 * MS)));
    // The first waits for 150 + 150 ms, the second for 150 + 150 + 100.
    assert_eq!((run.totals.wait_mean_ns, run.totals.wait_max_ns), (Some(350 * MS), 150 * MS));
    assert_eq!((run.totals.switches_voluntary, run.totals.switches_involuntary), (2, 4));
    let fairness = run.fairness.as_ref().unwrap();
    // Each was entitled to half the time that the other had had. The second was alone for the last
    // 100 ms. By share, 400 of 350 ms, and 400 of 450: (8/7 + 8/9)^2 / 2 (64/49 + 64/81).
    assert_eq!((fairness.lag_max_ns, fairness.owed_max_task), (75 * MS, Some(1)));
    assert_eq!((fairness.owed_end_ns, fairness.jain_by_share), (50 * MS, Some(0.984615)));
    assert_eq!(fairness.jain_by_weight, Some(1.0));
    assert_eq!(run.wakeup_latency.count, 0);
}

#[test]
fn timelines_of_tasks() {
    for (name, run) in [("one_cpu", round_robin(MIXED)), ("two_cpus", one_queue(2, MIXED))] {
        for width in [80, 200] {
            let text = draw(&run, Lanes::Auto, Style::plain(width));
            assert_fits(&text, width);
            insta::assert_snapshot!(format!("tasks_{name}_{width}"), text);
        }
    }
}

#[test]
fn timelines_of_cpus() {
    for cpus in [1, 4] {
        for width in [80, 200] {
            let text = draw(&one_queue(cpus, MIXED), Lanes::Cpus, Style::plain(width));
            assert_fits(&text, width);
            insta::assert_snapshot!(format!("cpus_{cpus}_{width}"), text);
        }
    }
}

#[test]
fn timelines_in_ascii() {
    let style = Style { unicode: false, ..Style::plain(80) };
    for (run, lanes) in [
        (round_robin(MIXED), Lanes::Auto),
        (one_queue(2, MIXED), Lanes::Auto),
        (one_queue(4, MIXED), Lanes::Auto),
    ] {
        let text = draw(&run, lanes, style);
        assert!(text.is_ascii(), "{text}");
        assert_fits(&text, 80);
    }
    for text in
        [table::comparison(&report(), style), table::tasks(&round_robin(MIXED), style, None)]
    {
        assert!(text.is_ascii(), "{text}");
    }
    insta::assert_snapshot!("ascii", draw(&one_queue(2, MIXED), Lanes::Auto, style));
}

#[test]
fn many_tasks_are_drawn_by_key_and_many_cpus_together() {
    let crowd: Vec<Program> = (0..200)
        .map(|number| match number % 4 {
            0 => ("db", 0, number, [3, -20].as_slice(), 20),
            1 => ("web", 0, number, [1, -9].as_slice(), 60),
            _ => ("batch", 5, number, [35].as_slice(), 9),
        })
        .collect();
    for (name, run) in [("one", one_queue(1, &crowd)), ("hundred", one_queue(100, &crowd))] {
        let text = draw(&run, Lanes::Auto, Style::plain(80));
        assert_fits(&text, 80);
        insta::assert_snapshot!(format!("crowd_{name}"), text);
    }
    // There is no room for each task: the busiest are shown, with a note about the others.
    let keys: Vec<String> = (0..40).map(|number| format!("k{number}")).collect();
    let mut run = one_queue(1, &crowd);
    for task in &mut run.tasks {
        task.key = keys[task.task as usize / 5].clone();
    }
    let text = draw(&run, Lanes::Tasks, Style::plain(80));
    assert!(text.contains("left out: 16 keys with the least CPU time"), "{text}");
    let text = draw(&run, Lanes::Auto, Style::plain(80));
    assert!(text.contains("* 15 keys more"), "{text}");
}

#[test]
fn a_window_shows_its_part() {
    let run = round_robin(MIXED);
    let options = TimelineOptions {
        from_ns: Some(95 * MS),
        to_ns: Some(155 * MS),
        ..TimelineOptions::default()
    };
    insta::assert_snapshot!("window", timeline::draw(&run, options, Style::plain(80)).unwrap());
}

#[test]
fn nothing_to_draw_is_an_error() {
    let mut run = round_robin(MIXED);
    let end_ns = run.end.at_ns;
    for (from_ns, to_ns) in [(Some(end_ns), None), (Some(20), Some(10)), (None, Some(0))] {
        let options = TimelineOptions { from_ns, to_ns, ..TimelineOptions::default() };
        let drawn = timeline::draw(&run, options, Style::plain(80));
        assert_eq!(drawn, Err(TimelineError::Window { end_ns }));
    }
    run.slices = None;
    let drawn = timeline::draw(&run, TimelineOptions::default(), Style::plain(80));
    assert_eq!(drawn, Err(TimelineError::NotRecorded));
}

fn report() -> Report {
    Report::new(
        workload(),
        vec![round_robin(MIXED), one_queue(1, MIXED), one_queue(2, MIXED), one_queue(4, MIXED)],
    )
}

#[test]
fn four_schedulers_fit_in_80_columns() {
    let text = table::comparison(&report(), Style::plain(80));
    assert_fits(&text, 80);
    insta::assert_snapshot!("comparison_80", text);
}

#[test]
fn only_what_fits_is_shown_if_that_is_asked_for() {
    let runs = vec![round_robin(MIXED), one_queue(1, MIXED), one_queue(2, MIXED)];
    let report = Report::new(workload(), runs);
    let view = table::View { only_what_fits: true, ..table::View::default() };
    let shown = |width| table::comparison_of(&report, &view, Style::plain(width));
    let hidden = "columns that did not fit (--columns all, or some by name):";
    assert!(!shown(80).contains(hidden));
    assert_eq!(shown(80), table::comparison(&report, Style::plain(80)));
    let text = shown(50);
    assert!(text.contains(&format!("{hidden}\none_queue@1   one_queue@1\n")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert_eq!(text.matches("round_robin").count(), 1);
    assert!(shown(40).contains("CPU use"), "one column at least");
}

#[test]
fn more_schedulers_than_fit_make_more_blocks() {
    let mut report = report();
    report.runs.extend(report.runs.clone());
    report.runs.extend(report.runs[..2].to_vec());
    let text = table::comparison(&report, Style::plain(80));
    assert_fits(&text, 80);
    assert_eq!(text.matches("round_robin").count(), 3);
    insta::assert_snapshot!("comparison_10_80", text);
    let wide = table::comparison(&report, Style::plain(200));
    assert_fits(&wide, 200);
    insta::assert_snapshot!("comparison_10_200", wide);
}

#[test]
fn the_best_is_bold_where_there_is_colour() {
    let style = Style { color: true, ..Style::plain(80) };
    let text = table::comparison(&report(), style);
    let bold = "\x1b[1m";
    let line = |label: &str| text.lines().find(|line| line.starts_with(label)).unwrap();
    // 0 ns on two and on four CPUs.
    assert_eq!(line("waiting longest").matches(bold).count(), 1);
    assert_eq!(line("wakeup latency max").matches(bold).count(), 2);
    assert_eq!(line("switches voluntary").matches(bold).count(), 0);
    assert!(!table::comparison(&report(), Style::plain(80)).contains('\x1b'));
}

#[test]
fn tasks_have_as_many_columns_as_fit() {
    let run = round_robin(MIXED);
    for width in [40, 80, 200] {
        let text = table::tasks(&run, Style::plain(width), None);
        assert_fits(&text, width);
        insta::assert_snapshot!(format!("task_table_{width}"), text);
    }
    let text = table::tasks(&run, Style::plain(80), Some(1));
    assert!(text.ends_with("and 3 more tasks\n"), "{text}");
}

#[test]
fn a_starved_task_is_told_of() {
    // The hog keeps the CPU until its next tick, and the run ends before.
    let run = one_queue(1, &[("hog", 0, 0, &[1100], 1), ("late", 0, 995, &[50], 1)]);
    assert_eq!((run.totals.waiting_at_end, run.tasks[1].wait_open_ns), (1, 5 * MS));
    let text = table::comparison(&Report::new(workload(), vec![run]), Style::plain(80));
    assert!(
        text.ends_with("longest waits still open at the end:\none_queue@1 5.00 ms\n"),
        "{text}"
    );
}

#[test]
fn figures_for_spreadsheets() {
    let mut report = report();
    report.runs.truncate(1);
    insta::assert_snapshot!("comparison_csv", csv::comparison(&report));
    insta::assert_snapshot!("tasks_csv", csv::tasks(&report));
}

#[test]
fn the_document() {
    let mut report = report();
    report.runs.truncate(1);
    report.runs[0].slices.as_mut().unwrap().truncate(3);
    report.runs[0].spans.as_mut().unwrap().truncate(3);
    insta::assert_snapshot!("json", json::to_json(&report));
}

/// Calls `each` with the name of every field in `value`.
fn fields(value: &serde_json::Value, each: &mut impl FnMut(&str)) {
    match value {
        serde_json::Value::Object(map) => map.iter().for_each(|(name, value)| {
            each(name);
            fields(value, each);
        }),
        serde_json::Value::Array(list) => list.iter().for_each(|value| fields(value, each)),
        _ => {}
    }
}

#[test]
fn every_field_is_documented() {
    let docs = include_str!("../../../docs/json-schema.md");
    let document = serde_json::to_value(report()).unwrap();
    fields(&document, &mut |name| {
        assert!(docs.contains(&format!("`{name}`")), "`{name}` is not in docs/json-schema.md");
    });
}

#[test]
fn documents_come_back_as_they_were() {
    let report = report();
    let text = json::to_json(&report);
    let back = json::from_json(&text).unwrap();
    assert_eq!(back, report);
    assert_eq!(json::to_json(&back), text);
    // A plain reader gets the same values.
    let plain: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(plain, serde_json::to_value(&report).unwrap());
}

#[test]
fn other_documents_are_refused() {
    let refused = |text: &str| json::from_json(text).unwrap_err().to_string();
    assert!(refused("{").starts_with("not a schedlab-run/1 document: "));
    assert_eq!(
        refused("{\"schema\":\"schedlab-run/2\"}"),
        "this is a `schedlab-run/2` document; schedlab-run/1 is required"
    );
    assert!(refused("{\"schema\":\"schedlab-run/1\"}").contains("missing field"));
    let mut report = report();
    report.runs[0].slices.as_mut().unwrap()[0].3 = 99;
    assert_eq!(
        refused(&json::to_json(&report)),
        "this schedlab-run/1 document contradicts itself: round_robin@1.0: slice [0,0,20000000,99]"
    );
}
