//! From a real machine to what people read.

#[path = "../../measure/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use schedlab_machine::{Config, Machine, Op};
use schedlab_measure::{Fairness, SliceRecorder, SpanRecorder, Stats, Weights};
use schedlab_report::model::key_numbers;
use schedlab_report::timeline::{self, TimelineError};
use schedlab_report::{
    Lanes, MachineInfo, Report, RunInputs, RunReport, SchedulerInfo, Style, TaskInfo, TimelineOptions,
    WorkloadInfo, csv, json, table,
};
use schedlab_sched::registry::{self, BuildConfig};
use schedlab_sched::{BlockReason, SchedAttr, Scheduler, TaskAttr};
use support::{OneQueue, Script};

const MS: u64 = 1_000_000;

/// Key, nice value, start (ms), program of runs (ms) and sleeps (ms, negative), and how often.
type Program = (&'static str, i32, u64, &'static [i64], usize);

fn program(&(_, nice, start_ms, steps, times): &Program) -> (u64, TaskAttr, Vec<Op>) {
    let reason = BlockReason::Interruptible;
    let op = |&ms: &i64| match u64::try_from(ms) {
        Ok(ms) => Op::Run { ns: ms * MS },
        Err(_) => Op::Sleep {
            until_ns: ms.unsigned_abs() * MS,
            reason,
        },
    };
    let ops = steps.iter().map(op).cycle().take(steps.len() * times).collect();
    let attr = TaskAttr {
        sched: SchedAttr::nice(nice),
        ..TaskAttr::default()
    };
    (start_ms * MS, attr, ops)
}

fn run(name: &str, release: &str, cpus: u32, scheduler: impl Scheduler, programs: &[Program]) -> RunReport {
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
        })
        .collect();
    let keys = key_numbers(infos.iter().map(|info| info.key.as_str()));
    let mut by_nice = [1024; 40];
    by_nice[19 + 20] = 15;
    let weights = Weights { by_nice, idle: 3 };
    let observer = (
        (
            Stats::new(cpus, &keys),
            Fairness::new(cpus, weights, &[], infos.len()),
        ),
        (SliceRecorder::new(), SpanRecorder::new()),
    );
    let script = Script::new(programs.iter().map(program).collect(), vec![]);
    let mut machine = Machine::new(Config::idealised(cpus, 100), scheduler, script, observer);
    let Ok(end) = machine.run(1000 * MS);
    let counts = machine.counts();
    let (scheduler, _, ((stats, fairness), (slices, spans))) = machine.into_parts();
    RunReport::new(RunInputs {
        scheduler: SchedulerInfo {
            name: name.into(),
            release: release.into(),
            title: name.to_uppercase(),
        },
        machine: MachineInfo {
            cpus,
            hz: 100,
            model: "idealised".into(),
        },
        tunables: &scheduler.tunables(),
        seed: None,
        end,
        counts,
        tasks: &infos,
        stats: &stats,
        fairness: Some(&fairness),
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
    let scheduler = (release.build)(&BuildConfig::flat(1, 100));
    run("round_robin", "1.0", 1, scheduler, programs)
}

fn workload() -> WorkloadInfo {
    WorkloadInfo {
        name: "mixed".into(),
        duration_ns: 1000 * MS,
    }
}

#[test]
fn look() {
    let rr = round_robin(MIXED);
    let q1 = run("one_queue", "0", 1, OneQueue::new(1), MIXED);
    let q2 = run("one_queue", "2", 2, OneQueue::new(2), MIXED);
    let q4 = run("one_queue", "4", 4, OneQueue::new(4), MIXED);
    for (unicode, width) in [(true, 80), (true, 160), (false, 80)] {
        let style = Style {
            unicode,
            ..Style::plain(width)
        };
        for r in [&rr, &q1, &q2, &q4] {
            println!(
                "{}",
                timeline::draw(r, TimelineOptions::default(), style).unwrap()
            );
            println!(
                "{}",
                timeline::draw(
                    r,
                    TimelineOptions {
                        lanes: Lanes::Cpus,
                        ..Default::default()
                    },
                    style
                )
                .unwrap()
            );
            println!("{}", table::tasks(r, style, None));
        }
    }
    let report = Report::new(workload(), vec![rr, q1, q2, q4]);
    println!("{}", table::comparison(&report, Style::plain(80)));
    println!("{}", table::comparison(&report, Style::plain(60)));
    println!("{}", csv::comparison(&report));
    println!("{}", csv::tasks(&report));
    let mut small = report.clone();
    small.runs.truncate(1);
    println!("{}", json::to_json(&small));
    let _ = TimelineError::NotRecorded;
}
