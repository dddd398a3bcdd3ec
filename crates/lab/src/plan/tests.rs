//! Plans are written, parsed, checked and run.

use super::*;
use crate::error::Error;
use crate::run::Run;
use crate::select::{self, Choice};
use schedlab_core::{
    BlockReason, Build, Capabilities, CpuId, Entry, Event, Observer, Origin, Parent,
};
use schedlab_core::{
    Platform, Policy, Question, Release, Rule, Scheduler, TaskAttr, TaskId, Waker,
};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::num::NonZeroUsize;

const TEXT: &str = r#"{"tasks": {"a": {"loop": 20, "run": 2000, "sleep": 3000},
    "b": {"loop": 10, "run": 5000, "taskgroup": "/g"}}}"#;

fn workload(schedulers: &[&str]) -> Plan {
    let source = Source { file: "w.json".into(), text: TEXT.into() };
    Plan::new(Load::Workload(source), schedulers.iter().map(|&name| name.into()).collect())
}

fn hackbench() -> Plan {
    let parameters = [("groups", "1,2"), ("loops", "3")];
    let parameters = parameters.map(|(name, text)| (name.into(), text.into())).to_vec();
    let load = Load::Benchmark(Benchmark { name: "hackbench".into(), parameters });
    Plan::new(load, vec!["o_1".into()])
}

/// Returns a plan with every field set.
fn full() -> Plan {
    let source = |file: &str, text: &str| Source { file: file.into(), text: text.into() };
    let mut plan = workload(&["cfs", "eevdf"]);
    plan.machine = MachineSpec {
        description: Some(MachineSource::Preset("flat-4".into())),
        cpus: Some(2),
        hz: Some(1000),
        no_costs: false,
        costs: vec![("switch".into(), 1500.1)],
        nohz: Some(false),
        tick_phase_ns: Some(500_000),
    };
    plan.set = vec![("sched_latency_ns".into(), 6_000_000.into())];
    plan.groups.files = vec![source("groups", "/g cpu.shares=2048\n")];
    plan.groups.settings = vec!["/g:cpu.shares=512".into()];
    plan.groups.users = vec!["a=anna".into()];
    plan.timetable.files = vec![source("times", "at 5ms renice a 5\n")];
    plan.timetable.actions = vec!["10ms renice a -5".into()];
    plan.limit_ns = Some(80_000_000);
    plan.seed = Some(7);
    plan.record.slices = true;
    plan
}

fn run(plan: &Plan) -> String {
    run_on(NonZeroUsize::MIN, plan)
}

fn run_on(threads: NonZeroUsize, plan: &Plan) -> String {
    let prepared = plan.prepare().expect("the plan is valid");
    let mut runs = vec![];
    prepared.run_all(threads, |_, result| {
        runs.push(result.expect("the run succeeds").report);
        true
    });
    schedlab_report::json::to_json(&prepared.report(runs))
}

#[test]
fn a_plan_that_was_written_and_read_is_the_same_and_runs_the_same() {
    for plan in [workload(&["linux"]), full()] {
        let written = plan.prepare().expect("the plan is valid").plan();
        assert!(Plan::is_plan(&written.to_json()));
        let read = Plan::parse("p.json", &written.to_json()).expect("to_json wrote it");
        assert_eq!(read, written);
        assert_eq!(run(&read), run(&plan));
    }
    let read = Plan::parse("p.json", &hackbench().to_json()).expect("to_json wrote it");
    assert_eq!(read, hackbench());
    assert!(!Plan::is_plan(TEXT));
}

#[test]
fn columns_and_repetitions_are_the_same_on_any_number_of_threads_and_from_their_plan() {
    let mut plan = full();
    plan.schedulers = vec!["cfs".into(), "eevdf[DELAY_DEQUEUE=0]".into()];
    plan.set = vec![
        ("nice:a".into(), "default,5".into()),
        ("shares:/g".into(), 100.into()),
        ("sched_latency_ns".into(), 6_000_000.into()),
    ];
    plan.machine.cpus = Some(1);
    (plan.repeat, plan.late_starts, plan.seed) = (4, true, None);
    let one = run(&plan);
    assert_eq!(one, run_on(NonZeroUsize::new(4).expect("the count is not 0"), &plan));
    let written = plan.prepare().expect("the plan is valid").plan();
    let columns = ["cfs@2.6.32", "cfs@2.6.32[nice:a=5]"];
    assert_eq!(written.schedulers[..2], columns);
    assert_eq!(written.schedulers[3], "eevdf@6.18[DELAY_DEQUEUE=0,nice:a=5]");
    assert_eq!(run(&written), one);
    // Seeds make a difference, and one of several can run alone.
    let report = schedlab_report::json::from_json(&one).expect("the report was written as JSON");
    let waits =
        report.runs[0].summary.iter().find(|row| row.metric == "wait").expect("the metric exists");
    assert!(waits.min < waits.max);
    (plan.repeat, plan.seed) = (1, Some(3));
    let alone =
        schedlab_report::json::from_json(&run(&plan)).expect("the report was written as JSON");
    let wait_ns = alone.runs[0].totals.wait_ns as f64;
    assert_eq!(waits.values[2], Some(wait_ns.into()));
    assert!(alone.runs[0].tasks.iter().all(|task| task.start_ns > Some(0)));
}

#[test]
fn what_is_not_a_plan_is_reported_with_its_place() {
    let message =
        |text: &str| Plan::parse("p.json", text).expect_err("the text is not a plan").to_string();
    let text = full().to_json();
    let error = message(&text.replace("\"schedulers\"", "\"scheduler\""));
    assert!(error.starts_with("p.json:") && error.contains("unknown field `scheduler`"), "{error}");
    let error = message(&text.replace("\"schedlab_plan\": 1", "\"schedlab_plan\": 2"));
    assert!(error.contains("a plan of version 2"), "{error}");
    let error = message("{\"schedlab_plan\": 1}");
    assert!(error.contains("missing field `load`"), "{error}");
}

/// A mistake in a plan, and a part of its message.
type Case = (fn(&mut Plan), &'static str);

#[test]
fn every_mistake_is_found_before_the_first_run() {
    let cases: &[Case] = &[
        (|plan| plan.schedulers = vec!["cfz".into()], "did you mean cfs"),
        (|plan| plan.schedulers.clear(), "schedulers: there is none"),
        (|plan| plan.schedulers = vec!["round_robin".into()], "round_robin@1.0 cannot run w.json"),
        (|plan| plan.machine.cpus = Some(0), "machine.cpus is 0; it must be 1 to 4096"),
        (|plan| plan.machine.hz = Some(0), "machine.hz is 0"),
        (|plan| plan.machine.no_costs = true, "contradict"),
        (|plan| plan.machine.costs[0].0 = "swich".into(), "--cost swich"),
        (
            |plan| plan.machine.description = Some(MachineSource::Preset("/etc/passwd".into())),
            "there is no such preset",
        ),
        (|plan| plan.set[0].0 = "sched_latenci_ns".into(), "did you mean sched_latency_ns"),
        (|plan| plan.groups.settings[0] = "/g:cpu.sharez=1".into(), "--group"),
        (|plan| plan.timetable.actions[0] = "10ms renise a 5".into(), "renise"),
        (|plan| plan.timetable.actions[0] = "10ms renice c 5".into(), "c"),
        (|plan| plan.limit_ns = Some(u64::MAX), "it must be at most 1000000000000000000"),
        (|plan| plan.repeat = 0, "repeat is 0; it must be at least 1"),
        (
            |plan| plan.repeat = 100_000,
            "with 2 columns makes 200000 runs; at most 100000 are allowed",
        ),
        (|plan| plan.set[0].1 = "6e6,6ms".into(), "the value 6ms is given twice"),
        (
            |plan| plan.set.push(("nice:c".into(), 5.into())),
            "there is no task \"c\"; the tasks are a, b",
        ),
        (
            |plan| plan.set.push(("shares:/other".into(), 5.into())),
            "there is no group /other; the groups are /g",
        ),
        (
            |plan| {
                let Load::Workload(source) = &mut plan.load else { return };
                source.text = source.text.replace("loop", "lop");
            },
            "w.json",
        ),
    ];
    for (change, part) in cases {
        let mut plan = full();
        change(&mut plan);
        let Err(error) = plan.prepare() else { panic!("not found: {part}") };
        assert!(error.to_string().contains(part), "no \"{part}\" in: {error}");
    }
    let cases: &[Case] = &[
        (|plan| plan.load = Load::Mix(Mix { members: vec![] }), "the mix has no members"),
        (|plan| plan.timetable.actions.push("1s stop a".into()), "only a workload"),
        (|plan| plan.groups.user_groups = true, "only a workload"),
        (|plan| plan.repeat = 0, "repeat is 0"),
        (|plan| plan.record.slices = true, "record.slices: slices are recorded for workloads only"),
        (|plan| plan.record.rt_app_log = true, "record.rt_app_log: only a workload"),
        (
            |plan| {
                let Load::Benchmark(benchmark) = &mut plan.load else { return };
                benchmark.parameters[1].0 = "groups".into();
            },
            "--groups: it is set twice for hackbench",
        ),
        (
            |plan| {
                let Load::Benchmark(benchmark) = &mut plan.load else { return };
                benchmark.parameters[0].1 = "0".into();
            },
            "--groups: 0 is out of range",
        ),
        (
            |plan| {
                let Load::Benchmark(benchmark) = &mut plan.load else { return };
                benchmark.name = "hackbensh".into();
            },
            "did you mean hackbench",
        ),
    ];
    for (change, part) in cases {
        let mut plan = hackbench();
        change(&mut plan);
        let Err(error) = plan.prepare() else { panic!("not found: {part}") };
        assert!(error.to_string().contains(part), "no \"{part}\" in: {error}");
    }
}

/// Counts switches, and decisions with their grounds.
#[derive(Default)]
struct Counter {
    switches: u64,
    decided: u64,
}

impl Observer for Counter {
    fn on(&mut self, _now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { .. } => self.switches += 1,
            Event::Decided { .. } => self.decided += 1,
            _ => {}
        }
    }
}

/// Runs `prepared` under `scheduler`.
fn run_one(prepared: &Prepared, scheduler: &Contender) -> Result<Run, Error> {
    prepared.session(scheduler)?.finish()
}

/// Runs `prepared` under `scheduler` with an observer.
fn observed<O: Observer>(prepared: &Prepared, scheduler: &Contender, mut observer: O) -> (Run, O) {
    let mut session = prepared.session(scheduler).expect("the scheduler can run it");
    session.observe(&mut observer);
    let run = session.finish().expect("the run ends well");
    (run, observer)
}

#[test]
fn any_observer_sees_a_run_of_a_workload_and_of_a_benchmark() {
    for mut plan in [workload(&["eevdf"]), hackbench()] {
        for reasons in [false, true] {
            plan.record.reasons = reasons;
            let prepared = plan.prepare().expect("the plan is valid");
            let scheduler = &prepared.schedulers()[0];
            let (run, counter) = observed(&prepared, scheduler, Counter::default());
            assert!(counter.switches > 0);
            assert_eq!(counter.decided > 0, reasons, "{}", scheduler.choice);
            assert_eq!(run.report, run_one(&prepared, scheduler).expect("the run succeeds").report);
        }
    }
}

/// First come, first served on one CPU: a scheduler of the caller, which plans cannot name.
#[derive(Default)]
struct CallersScheduler {
    queue: VecDeque<TaskId>,
    current: Option<TaskId>,
}

static OWN: Entry = Entry {
    name: Cow::Borrowed("own"),
    title: Cow::Borrowed("first come first served"),
    summary: Cow::Borrowed("for this test"),
    origin: Origin::Own,
    releases: &[Release {
        version: "1",
        also: &[],
        summary: "",
        golden: &[],
        hz_default: 100,
        hz_range: (100, 100),
        cpus_max: 1,
        policies: &[Policy::Other],
        can: Capabilities { groups: true, ..Capabilities::BASIC },
        kernel: Some("1.0"),
        build: Build::Ordinary(|_| Box::new(CallersScheduler::default())),
    }],
};

impl Scheduler for CallersScheduler {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, _: &TaskAttr, _: Parent) {
        self.queue.push_back(task);
        platform.resched(CpuId(0));
    }
    fn wake(&mut self, platform: &mut Platform, task: TaskId, _: Waker) {
        self.queue.push_back(task);
        platform.resched(CpuId(0));
    }
    fn block(&mut self, _: &mut Platform, _: CpuId, _: TaskId, _: BlockReason) {
        self.current = None;
    }
    fn kill(&mut self, _: &mut Platform, task: TaskId) {
        self.queue.retain(|&other| other != task);
    }
    fn schedule(&mut self, platform: &mut Platform, _: CpuId) -> Option<TaskId> {
        platform.because(Question::Pick, CpuId(0), Rule(1), |why| {
            why.term("nr_running", self.queue.len() as i64);
        });
        self.current = self.current.or_else(|| self.queue.pop_front());
        self.current
    }
    fn cpu_of(&self, _: TaskId) -> CpuId {
        CpuId(0)
    }
}

#[test]
fn a_scheduler_that_names_what_is_not_there_is_told_so() {
    struct FaultyScheduler(u32, Option<u32>);
    impl Scheduler for FaultyScheduler {
        fn fork(&mut self, platform: &mut Platform, _: TaskId, _: &TaskAttr, _: Parent) {
            platform.resched(CpuId(self.0));
        }
        fn wake(&mut self, _: &mut Platform, _: TaskId, _: Waker) {}
        fn block(&mut self, _: &mut Platform, _: CpuId, _: TaskId, _: BlockReason) {}
        fn kill(&mut self, _: &mut Platform, _: TaskId) {}
        fn schedule(&mut self, _: &mut Platform, _: CpuId) -> Option<TaskId> {
            self.1.map(TaskId)
        }
        fn cpu_of(&self, _: TaskId) -> CpuId {
            CpuId(if self.0 == 1 { 1 } else { 0 })
        }
    }
    type Make = fn(&schedlab_core::BuildConfig) -> Box<dyn Scheduler>;
    let faulty: [Make; 4] = [
        |_| Box::new(FaultyScheduler(0, Some(7))),
        |_| Box::new(FaultyScheduler(5, None)),
        |_| Box::new(FaultyScheduler(500, None)),
        |_| Box::new(FaultyScheduler(1, None)),
    ];
    let mut plan = workload(&["cfs"]);
    let text = r#"{"tasks": {"a": {"loop": 20, "run": 2000, "sleep": 3000}}}"#;
    plan.load = Load::Workload(Source { file: "w.json".into(), text: text.into() });
    let prepared = plan.prepare().expect("the plan is valid");
    let says = ["picked task 7; the machine has", "named CPU 5;", "named CPU 500,", "named CPU 1;"];
    for (build, part) in faulty.into_iter().zip(says) {
        let mut choice = Choice::of(&OWN, &OWN.releases[0]);
        choice.release.to_mut().build = Build::Ordinary(build);
        let error = run_one(&prepared, &Contender::from(choice));
        let error = error.expect_err("the scheduler is faulty").to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_scheduler_of_ones_own_runs_a_plan_and_gives_its_reasons_if_asked() {
    let own = Contender::from(Choice::of(&OWN, &OWN.releases[0]));
    let mut plan = workload(&["cfs"]);
    let text = r#"{"tasks": {"a": {"loop": 20, "run": 2000, "sleep": 3000}}}"#;
    plan.load = Load::Workload(Source { file: "w.json".into(), text: text.into() });
    for reasons in [false, true] {
        plan.record.reasons = reasons;
        let prepared = plan.prepare().expect("the plan is valid");
        let (run, counter) = observed(&prepared, &own, Counter::default());
        assert_eq!(run.report.end.at_ns, 100_000_000);
        assert_eq!(counter.decided > 0, reasons);
    }
    plan.schedulers = vec!["cfs".into(), "own".into()];
    let unknown = plan.prepare().err().expect("the scheduler is unknown").to_string();
    assert!(unknown.contains("there is no scheduler \"own\""), "{unknown}");
    let named = plan
        .prepare_with(&[Choice::of(&OWN, &OWN.releases[0])])
        .expect("the caller supplies the scheduler");
    let names: Vec<String> = named.schedulers().iter().map(Contender::to_string).collect();
    assert_eq!(names, ["cfs@2.6.32", "own@1"]);
    plan.schedulers.truncate(1);
    plan.machine.cpus = Some(2);
    let error = run_one(&plan.prepare().expect("cfs can run it"), &own)
        .expect_err("the scheduler has one CPU");
    assert_eq!(error.to_string(), "it cannot run w.json: it has only one CPU");
}

#[test]
fn a_run_that_ends_badly_does_not_take_the_others_along() {
    let text = r#"{"tasks": {"a": {"loop": 1, "run": 1000, "sem_wait": "never"}}}"#;
    let source = Source { file: "stuck.json".into(), text: text.into() };
    let plan = Plan::new(Load::Workload(source), vec!["o_1".into(), "cfs".into()]);
    let prepared = plan.prepare().expect("the plan is valid");
    let mut failed = vec![];
    prepared.run_all(NonZeroUsize::MIN, |scheduler, result| {
        failed.push((scheduler.choice.to_string(), result.is_err()));
        true
    });
    assert_eq!(failed.len(), 2);
    assert!(failed.iter().all(|(_, failed)| *failed), "{failed:?}");
    let own = Contender::from(select::find("bfs").expect("the scheduler exists"));
    assert!(run_one(&prepared, &own).is_err());
}

#[test]
fn a_mix_is_a_plan_like_others() {
    let member = |called: Option<&str>, name: &str, parameters: &[(&str, &str)]| Member {
        called: called.map(String::from),
        name: name.into(),
        parameters: parameters.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
    };
    let members = vec![
        member(None, "editor", &[("time", "1")]),
        member(Some("web"), "hackbench", &[("groups", "1"), ("loops", "2"), ("affinity", "0+1")]),
    ];
    let mut plan = Plan::new(Load::Mix(Mix { members }), vec!["o_1".into()]);
    plan.machine.cpus = Some(2);
    let read = Plan::parse("p.json", &plan.to_json()).expect("to_json wrote it");
    assert_eq!(read, plan);
    let prepared = plan.prepare().expect("the plan is valid");
    let run = run_one(&prepared, &prepared.schedulers()[0]).expect("the run succeeds");
    assert!(!run.findings.figures.is_empty());
}

#[test]
fn a_plan_is_known_wherever_its_mark_stands_and_a_workload_is_none() {
    let sorted: std::collections::BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&full().to_json()).expect("the plan is JSON");
    let sorted = serde_json::to_string(&sorted).expect("the plan is JSON");
    assert!(!sorted.starts_with("{\"schedlab_plan"), "{sorted}");
    assert!(Plan::is_plan(&sorted));
    assert_eq!(Plan::parse("p.json", &sorted).expect("the order is irrelevant"), full());
    assert!(Plan::is_plan("\u{feff}\n{ \"schedlab_plan\": "), "cut off, but intended as a plan");
    assert!(!Plan::is_plan(TEXT));
    assert!(!Plan::is_plan("/* no schedlab_plan */ {\"tasks\": {}}"));
    assert!(!Plan::is_plan("{\"tasks\": {\"schedlab_plan\": {\"run\": 1}}}"));
}

#[test]
fn what_cannot_be_read_is_told_in_the_words_of_json() {
    let cases = [
        ("\"limit_ns\": -1", "expected a whole number of at least 0"),
        ("\"schedulers\": \"cfs\"", "expected a list"),
        ("\"set\": [[\"x\"]]", "expected a list of two: name and value"),
        ("\"set\": [[\"x\", 1.5]]", "expected a whole number, or values as text"),
        ("\"load\": {\"workload\": 1}", "expected a file: {\"file\": \"name\", \"text\": \"...\"}"),
        ("\"load\": {}", "docs/plan.md"),
    ];
    for (field, part) in cases {
        let text = format!("{{\"schedlab_plan\": 1, {field}}}");
        let error = Plan::parse("p.json", &text).expect_err(field).to_string();
        assert!(error.starts_with("p.json:1:") && error.contains(part), "{error}");
    }
}

/// Names and stops are requested from outside, and no event changes because of it.
#[test]
fn who_looks_at_a_run_does_not_change_it() {
    use schedlab_machine::TaskState;
    use schedlab_proof::check::Fingerprint;
    let text = r#"{"global": {"duration": 1}, "tasks": {
        "maker": {"loop": 6, "run": 2000, "fork": "worker", "sleep": 30000},
        "worker": {"instance": 0, "loop": 3, "run": 1500, "sleep": 1000},
        "hog": {"instance": 2, "loop": -1, "run": 1000}
    }}"#;
    let source = Source { file: "w.json".into(), text: text.into() };
    let mut plan = Plan::new(Load::Workload(source), vec!["linux".into()]);
    // Actions happen at the same times as the stops.
    plan.timetable.actions = vec!["100ms renice hog 5".into(), "250ms stop maker".into()];
    let prepared = plan.prepare().expect("the plan is valid");
    for scheduler in prepared.schedulers() {
        let (_, alone) = observed(&prepared, scheduler, Fingerprint::default());
        let mut seen = vec![];
        let stops_ns = [0, 1, 100_000_000, 250_000_000, 999_999_999];
        let mut watched = Fingerprint::default();
        let mut session = prepared.session(scheduler).expect("the scheduler can run it");
        session.observe(&mut watched).name_tasks();
        let stopped = session.stop_at(&stops_ns, |session| {
            let snapshot = session.snapshot();
            assert!(snapshot.cpus.iter().all(|cpu| {
                cpu.current
                    .is_none_or(|task| snapshot.tasks[task.index()].state == TaskState::Running)
            }));
            seen.push((snapshot.at_ns, snapshot.tasks.len()));
            true
        });
        stopped.expect("the run continues");
        session.finish().expect("the run succeeds");
        assert_eq!(alone, watched, "{scheduler}");
        let times: Vec<u64> = seen.iter().map(|&(at_ns, _)| at_ns).collect();
        assert_eq!(times, stops_ns, "{scheduler}");
        assert_eq!(seen[0].1, 3, "before anything was forked");
    }
}
