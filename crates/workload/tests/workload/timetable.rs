//! Timetables: the language, its errors, and their effect on a machine.

use schedlab_core::{Administer, BuildConfig, CpuId, GroupId, Policy, Scheduler, TaskId};
use schedlab_machine::{Config, Machine, MachineGroup, RunEnd, TaskState};
use schedlab_sched::registry;
use schedlab_workload::timetable::{Outcome, Surroundings};
use schedlab_workload::{
    GroupPlan, GroupSettings, Kernel, Model, Options, Target, Timetable, groups, rt_app,
};

const WORLD: &str = r#"{"tasks": {
    "hog": {"instance": 3, "run": 1000, "loop": -1},
    "video": {"run": 2000, "sleep": 8000, "loop": -1, "taskgroup": "/a/b"},
    "maker": {"loop": 1, "run": 1000, "fork": "made", "sleep": 900000},
    "made": {"instance": 0, "run": 1000000, "loop": 1}
}}"#;

fn model(text: &str) -> Model {
    let target = Target { cpus: 4, limited: true };
    rt_app::load("world.json", text, &target).unwrap_or_else(|error| panic!("{error}"))
}

fn plan(model: &Model) -> GroupPlan {
    let settings: GroupSettings = groups::parse("g", "/c cpu.weight=50").unwrap();
    GroupPlan::new(&settings, &model.group_paths(), 8).unwrap()
}

fn checked(text: &str, limited: bool) -> Result<Timetable, String> {
    let model = model(WORLD);
    let around = Surroundings {
        model: &model,
        groups: &plan(&model),
        cpus: 4,
        tunables: &["sched_latency_ns", "sched_min_granularity_ns"],
        limited,
    };
    let timetable = Timetable::parse("day.timetable", text).map_err(|error| error.to_string())?;
    timetable.check(&around).map_err(|error| error.to_string())?;
    Ok(timetable)
}

type Boxed = Box<dyn Scheduler>;
type Running = Machine<Boxed, Kernel, ()>;

/// Runs a workload like [`WORLD`] under a scheduler on 4 CPUs by a timetable, until `until_ms`.
fn run_under(scheduler: &str, world: &str, timetable: &str, until_ms: u64) -> (Running, Outcome) {
    let model = model(world);
    let plan = plan(&model);
    let ids: Vec<GroupId> = (1..=plan.groups().len() as u32).map(GroupId).collect();
    let options =
        Options { group_ids: plan.ids_of(&ids, &model.group_paths()), ..Options::default() };
    let target = Target { cpus: 4, limited: true };
    let vm = rt_app::prepare(&model, &target, options).unwrap();
    let (_, release) = registry::find(scheduler).unwrap();
    let make = |config: &BuildConfig| release.build(config).expect("the scheduler can be built");
    let config = BuildConfig::flat(4, 1000);
    let mut machine = Machine::new(Config::idealised(4, 1000), make(&config), vm, ());
    if release.can.groups {
        machine.administer(|scheduler, platform| {
            for (group, id) in plan.groups().iter().zip(&ids) {
                let parent = group.parent.map_or(GroupId::ROOT, |parent| ids[parent]);
                assert_eq!(scheduler.group_new(platform, parent, group.shares), Ok(*id));
            }
        });
        let known = plan.groups().iter().map(|group| MachineGroup {
            parent: group.parent.map_or(GroupId::ROOT, |parent| ids[parent]),
            cpus: group.own_cpus.clone(),
            frozen: group.own_frozen,
        });
        machine.describe_groups(known.collect());
    }
    let timetable = Timetable::parse("t", timetable).unwrap_or_else(|error| panic!("{error}"));
    let outcome = timetable
        .run(&mut machine, &plan, &ids, until_ms * 1_000_000)
        .unwrap_or_else(|stop| panic!("{stop}"));
    machine.scheduler().inspect().audit().unwrap();
    (machine, outcome)
}

fn run(timetable: &str, until_ms: u64) -> (Running, Outcome) {
    run_under("cfs", WORLD, timetable, until_ms)
}

fn states(machine: &Running) -> Vec<TaskState> {
    (0..machine.task_count() as u32).map(|task| machine.task_state(TaskId(task))).collect()
}

#[test]
fn everything_that_can_be_said_is_understood() {
    let timetable = checked(
        "# a day\n\
         at 0 set sched_latency_ns 40000000\n\
         at 1s set sched_min_granularity_ns=1000000   # a comment\n\
         at 2s offline cpu 1-2,3\n\
         at 2.5s renice video-0 -5\n\
         at 100us chrt hog fifo 10\n\
         at 3s chrt hog-* SCHED_OTHER\n\
         at 3s chrt video deadline 2ms 8ms 10ms\n\
         at 3s taskset hog-0,hog-2 0\n\
         at 4s online cpus 1-3\n\
         every 500ms from 1s until 3s stop made-7,maker\n\
         every 500ms cont made*\n\
         at 1s group /a cpu.weight=300\n\
         at 1s move video to /c\n\
         at 5s freeze /a/b\n\
         at 6s thaw /a\n\
         at 7s kill *\n",
        true,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(timetable.policies(), [Policy::Fifo, Policy::Other, Policy::Deadline]);
    assert!(timetable.sets_affinity() && timetable.takes_cpus_offline());
    let names: Vec<&str> = timetable.tunables().collect();
    assert_eq!(names, ["sched_latency_ns", "sched_min_granularity_ns"]);
    assert!(timetable.for_scheduler(&[]).tunables().next().is_none());
    let option = Timetable::parse_option("2s offline cpu 1").unwrap();
    assert!(option.takes_cpus_offline());
    assert_eq!(Timetable::parse("t", "\u{feff}# nothing\n\n").unwrap(), Timetable::default());
}

#[test]
fn errors_name_the_place_and_what_may_be_meant() {
    for (line, at, message, help) in [
        ("2s stop hog", 1, "`2s` is not a time: a line begins with `at` or `every`", "for example"),
        ("at 2 stop hog", 4, "`2` is not a time: its unit is missing", "for example `2s`"),
        ("at 2.s stop hog", 4, "`2.s` is not a time", "for example"),
        ("at 1.5ns stop hog", 4, "`1.5ns` is not a time: it is more precise than a nanosecond", ""),
        ("at 99999999999s stop hog", 4, "`99999999999s` is not a time: it is too long", ""),
        ("every 0 stop hog", 7, "it must be greater than 0", ""),
        ("at 2s halt hog", 7, "unknown action `halt`", "the actions are renice"),
        ("at 2s ofline cpu 1", 7, "unknown action `ofline`", "did you mean `offline`?"),
        ("at 2s offline cpu 4", 19, "there is no CPU 4: the machine has CPUs 0 to 3", ""),
        ("at 2s offline cpu 3-1", 19, "`3-1` is descending", "for example"),
        ("at 2s offline", 14, "a list of CPUs is missing", ""),
        ("at 2s taskset hog 0-7", 19, "there is no CPU 4: the machine has CPUs 0 to 3", ""),
        ("at 2s stop vidoe", 12, "unknown task `vidoe`", "did you mean `video`?"),
        ("at 2s stop hog-3", 12, "there is no thread `hog-3`", "`hog` has 3, from hog-0 on"),
        ("at 2s stop hog,,video", 12, "an empty name", ""),
        ("at 2s renice hog 20", 18, "it must be a whole number from -20 to 19, found `20`", ""),
        ("at 2s chrt hog fifo", 20, "the priority is missing", ""),
        ("at 2s chrt hog bach", 16, "unknown policy `bach`", "did you mean `batch`?"),
        ("at 2s group /other cpu.weight=5", 13, "unknown group `/other`", "file of groups"),
        ("at 2s group / cpu.weight=5", 13, "the root group has no settings", ""),
        (
            "at 2s group /a cpu.weigt=5",
            16,
            "unknown setting `cpu.weigt`",
            "did you mean `cpu.weight`?",
        ),
        ("at 2s move hog to a", 19, "`a` is not a group: a path begins with `/`", ""),
        ("at 2s set sched_latency 5", 11, "unknown tunable `sched_latency`", "sched_latency_ns"),
        ("at 2s stop hog now", 16, "`now` is superfluous", ""),
    ] {
        let error = checked(&format!("\n# before\n{line}\n"), true).expect_err(line);
        assert!(error.starts_with(&format!("error: {message}")), "{line}: {error}");
        assert!(error.contains(&format!("day.timetable:3:{at}")), "{line}: {error}");
        assert!(error.contains(line), "{error}");
        assert!(error.contains(help), "{line}: {error}");
    }
    let endless =
        checked("every 1s stop hog", false).expect_err("an endless repetition is an error");
    assert!(endless.contains("add `until`"), "{endless}");
    assert!(checked("every 1s until 5s stop hog", false).is_ok());
}

#[test]
fn things_are_done_at_their_time() {
    let (machine, outcome) =
        run("at 100ms stop hog\nat 200ms cont hog-1\nat 300ms kill hog-2,video", 500);
    assert_eq!((outcome.end, outcome.refused), (RunEnd::TimeUp, 0));
    use TaskState::{Interruptible, Reaped, Running, Stopped};
    assert_eq!(states(&machine), [Stopped, Running, Reaped, Reaped, Interruptible, Running]);
}

#[test]
fn attributes_and_groups_change_for_all_that_are_meant() {
    let (machine, outcome) = run(
        "at 10ms renice * 3\nat 20ms chrt video rr 7\nat 30ms move hog-0,hog-1 /a\nat 40ms freeze /a\nat 50ms taskset made-0 1",
        100,
    );
    assert_eq!(outcome.refusals, []);
    let attr = machine.task_attr(TaskId(3));
    assert_eq!((attr.policy, attr.nice, attr.rt_priority), (Policy::RoundRobin, 3, 7));
    assert_eq!(machine.task_attr(TaskId(5)).nice, 3, "the forked thread changes as well");
    let frozen = states(&machine).iter().filter(|&&state| state == TaskState::Frozen).count();
    assert_eq!(frozen, 3, "both threads, and video in a descendant group");
    assert_eq!(machine.task_allowed(TaskId(5)).first(4), Some(CpuId(1)));
}

#[test]
fn every_so_often_means_until_the_end_and_not_at_it() {
    let (_, outcome) = run("every 10ms from 15ms until 45ms offline cpu 9", 100);
    let times: Vec<u64> =
        outcome.refusals.iter().map(|refusal| refusal.at_ns / 1_000_000).collect();
    assert_eq!(times, [15, 25, 35]);
    let text = outcome.refusals[0].to_string();
    assert_eq!(
        text,
        "at 0.015000 s: `every 10ms from 15ms until 45ms offline cpu 9`: there is no CPU 9"
    );
}

#[test]
fn cpus_go_and_come_back_and_the_rest_goes_on() {
    for scheduler in ["o_1", "sd", "cfs", "bfs", "eevdf"] {
        let text = "at 100ms offline cpu 1-3\nat 101ms offline cpu 0\nat 300ms online cpu 1-3";
        let (machine, outcome) = run_under(scheduler, WORLD, text, 500);
        assert_eq!(outcome.refused, 1, "{scheduler}: the last CPU stays online");
        assert_eq!(machine.online_cpus(), 4);
        assert!((0..4).all(|cpu| machine.current(CpuId(cpu)).is_some()), "{scheduler}");
    }
    let (machine, outcome) = run_under("o_n", WORLD, "at 100ms offline cpu 1-3", 500);
    assert_eq!((outcome.refused, machine.online_cpus()), (3, 4), "2.4 has no hotplug");
}

#[test]
fn a_run_whose_tasks_are_stopped_for_good_is_stuck_and_ends() {
    let world = r#"{"tasks": {"a": {"loop": 1, "run": 100000}}}"#;
    let (machine, outcome) = run_under("cfs", world, "at 10ms stop a", 1 << 40);
    assert_eq!(outcome.end, RunEnd::Stuck);
    assert_eq!(machine.now_ns(), 10_000_000);
    let (machine, outcome) = run_under("cfs", world, "at 10ms stop a\nat 1s cont a", 1 << 40);
    assert_eq!(outcome.end, RunEnd::AllEnded);
    assert_eq!(machine.now_ns(), 1_090_000_000);
}

#[test]
fn who_waits_for_the_mutex_of_a_dead_one_is_told() {
    let world = r#"{"tasks": {
        "a": {"loop": 1, "lock": "m", "run": 50000, "unlock": "m"},
        "b": {"loop": 1, "delay": 10000, "lock": "m", "unlock": "m"}
    }}"#;
    let (machine, outcome) = run_under("cfs", world, "at 20ms kill a", 1000);
    assert_eq!(outcome.end, RunEnd::Stuck);
    let diagnosis = machine.workload().wait_graph().to_string();
    assert!(
        diagnosis.contains("b-0 waits for mutex `m`, held by a-0, which was killed"),
        "{diagnosis}"
    );
}

#[test]
fn the_dead_take_no_signals_from_the_living() {
    let world = r#"{"tasks": {
        "waits": {"instance": 2, "loop": 1, "sem_wait": "s", "run": 1000},
        "posts": {"loop": 1, "sleep": 50000, "sem_post": "s"}
    }}"#;
    let (machine, outcome) = run_under("cfs", world, "at 20ms kill waits-0", 1000);
    assert_eq!(outcome.end, RunEnd::AllEnded, "{}", machine.workload().wait_graph());
}

#[test]
fn hostile_lines_are_errors_and_never_panics() {
    let words = [
        "at",
        "every",
        "from",
        "until",
        "1s",
        "0",
        "9e9s",
        "-1s",
        "é",
        "µs",
        "5µs",
        ".s",
        "stop",
        "offline",
        "cpu",
        "-",
        "1-",
        "4095",
        "4096-1",
        "*",
        "/",
        "//",
        "/a",
        "chrt",
        "fifo",
        "99",
        "set",
        "=",
        "a=",
        "=1",
        "a=1",
        "group",
        "cpu.weight=",
        "move",
        "to",
        ",",
    ];
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for _ in 0..5000 {
        let line: Vec<&str> = (0..random(7)).map(|_| words[random(words.len())]).collect();
        let _ = checked(&line.join(" "), true);
        let _ = Timetable::parse_option(&line.join(" ")).map_err(|error| error.to_string());
    }
}
