//! Workload files, golden files, timetables.

use super::{Reader, Shape, text};
use schedlab_core::{GroupId, Policy};
use schedlab_machine::{Config, Machine};
use schedlab_proof::verify::{GoldenError, verify_bytes};
use schedlab_sched::round_robin::{RoundRobin, Version};
use schedlab_workload::model::{Action, Model};
use schedlab_workload::{Conventions, GoldenFile, Options, Target, Timetable, rt_app};

const TARGET: Target = Target { cpus: 1, limited: true };

/// Words of workload files.
const WORKLOAD: &[&str] = &[
    "\"tasks\": {",
    "\"global\": {",
    "\"phases\": {",
    "\"resources\": {",
    "\"a\": {",
    "\"b\": {",
    "\"a\"",
    "\"loop\": ",
    "\"instance\": ",
    "\"delay\": ",
    "\"run\": ",
    "\"runtime\": ",
    "\"sleep\": ",
    "\"timer\": { \"ref\": \"unique\", \"period\": 1000 }",
    "\"mode\": \"absolute\"",
    "\"lock\": \"m\"",
    "\"unlock\": \"m\"",
    "\"wait\": { \"ref\": \"c\", \"mutex\": \"m\" }",
    "\"signal\": \"c\"",
    "\"broad\": \"c\"",
    "\"sync\": { \"ref\": \"c\", \"mutex\": \"m\" }",
    "\"barrier\": \"b\"",
    "\"sem_post\": \"s\"",
    "\"sem_wait\": \"s\"",
    "\"suspend\": \"\"",
    "\"suspend\": \"b\"",
    "\"resume\": \"a\"",
    "\"fork\": \"a\"",
    "\"fork\": { \"ref\": \"a\" }",
    "\"exec\": \"\"",
    "\"yield\": \"\"",
    "\"mem\": ",
    "\"memrun\": { \"type\": \"pointer_chase\", \"size\": 1024, \"count\": 10 }",
    "\"iorun\": ",
    "\"policy\": \"SCHED_OTHER\"",
    "\"policy\": \"SCHED_FIFO\"",
    "\"policy\": \"SCHED_RR\"",
    "\"policy\": \"SCHED_DEADLINE\"",
    "\"policy\": \"SCHED_BATCH\"",
    "\"policy\": \"SCHED_IDLE\"",
    "\"priority\": ",
    "\"dl-runtime\": ",
    "\"dl-deadline\": ",
    "\"dl-period\": ",
    "\"util_min\": ",
    "\"util_max\": ",
    "\"cpus\": [0, 1]",
    "\"cpus\": \"0-3\"",
    "\"nodes_membind\": [0]",
    "\"numa_membind\": [0]",
    "\"taskgroup\": \"/tg1/tg2\"",
    "\"duration\": ",
    "\"default_policy\": ",
    "\"calibration\": \"CPU0\"",
    "\"pi_enabled\": true",
    "\"lock_pages\": false",
    "\"logdir\": \"./\"",
    "\"log_basename\": \"x\"",
    "\"log_size\": 2",
    "\"ftrace\": \"main,task\"",
    "\"gnuplot\": false",
    "\"io_device\": \"/dev/null\"",
    "\"mem_buffer_size\": 1024",
    "\"cumulative_slack\": true",
];

pub(super) const RT_APP: Reader = Reader {
    name: "rt_app",
    about: "workload files in rt-app's language",
    read: read_rt_app,
    words: WORKLOAD,
    most: 2_000,
};

/// Checks that a workload that was read can be written, read again, and run.
fn read_rt_app(input: &[u8]) -> Shape {
    let text = text(input);
    let mut model = match rt_app::load("fuzz.json", &text, &TARGET) {
        Ok(model) => model,
        Err(error) => return Shape::refused(error),
    };
    let written = rt_app::write(&model);
    assert_eq!(rt_app::load("fuzz.json", &written, &TARGET).as_ref(), Ok(&model), "{written}");
    let phases = || model.tasks.iter().flat_map(|task| &task.phases);
    let events = phases().flat_map(|phase| &phase.events);
    let kinds = events.fold(0_u64, |kinds, event| {
        kinds | 1 << (event.key.bytes().take(3).map(u64::from).sum::<u64>() % 61)
    });
    let shape = Shape::taken(kinds.wrapping_mul(8) + phases().count().min(7) as u64);
    // Round robin has one policy and no groups, and examines all tasks at every pick. A task that
    // forks itself makes 500,000 tasks before it is stopped.
    let plain = model.policies() == [Policy::Other]
        && model.group_paths().is_empty()
        && !forks_without_end(&model);
    if plain && model.initial_threads() <= 4 {
        model.global.duration_ns = Some(500_000);
        let options = Options { log_lines: 10, ..Options::default() };
        let workload = rt_app::prepare(&model, &TARGET, options).expect("it was checked");
        let scheduler = RoundRobin::new(Version::V1_0);
        let mut machine = Machine::new(Config::idealised(1, 100), scheduler, workload, ());
        let stopped = machine.run(500_000).map_err(|stop| stop.to_string());
        drop((stopped, machine.workload().wait_graph().to_string()));
    }
    shape
}

/// Whether a task forks itself, or an earlier task that may fork it.
fn forks_without_end(model: &Model) -> bool {
    model.tasks.iter().enumerate().any(|(place, task)| {
        let actions = task.phases.iter().flat_map(|phase| &phase.events).map(|event| &event.action);
        let forked = actions.filter_map(|action| match action {
            Action::Fork(key) => Some(key),
            _ => None,
        });
        let mut places =
            forked.filter_map(|key| model.tasks.iter().position(|other| other.key == *key));
        places.any(|forked| forked <= place)
    })
}

/// Words of golden files.
const SCHEDULE: &[&str] = &[
    "\"format\": \"golden-schedule/1\"",
    "\"kernel\": \"6.18.15\"",
    "\"kernel\": \"6.6.93\"",
    "\"kernel\": \"2.6.32\"",
    "\"kernel\": \"2.6.22\"",
    "\"kernel\": \"2.6.0\"",
    "\"kernel\": \"3.2\"",
    "\"scheduler\": \"eevdf\"",
    "\"scheduler\": \"cfs\"",
    "\"scheduler\": \"o_1\"",
    "\"scheduler\": \"deadline\"",
    "\"scheduler\": \"round_robin\"",
    "\"machine\": {",
    "\"cpus\": 4",
    "\"hz\": 1000",
    "\"topology\": \"flat\"",
    "\"topology\": { \"regular\": { \"nodes\": 2, \"cores\": 2, \"threads\": 2 } }",
    "\"numbering\": \"siblings_together\"",
    "\"distances\": [[10, 20], [20, 10]]",
    "\"reap\": true",
    "\"group_scheduling\": true",
    "\"address_space\": \"per-key\"",
    "\"conventions\": {",
    "\"tunables\": { \"base_slice_ns\": 3000000 }",
    "\"sched_latency_ns\": ",
    "\"groups\": { \"/a\": { \"shares\": 1024 } }",
    "\"shares\": ",
    "\"quota_us\": ",
    "\"period_us\": ",
    "\"burst_us\": ",
    "\"idle\": true",
    "\"scenario\": {",
    "\"actions\": [",
    "[1000000, \"renice\", \"A-0\", 5]",
    "[1000000, \"chrt\", \"A-0\", \"SCHED_FIFO\", 5]",
    "[1000000, \"taskset\", \"A-0\", [0]]",
    "[1000000, \"slice\", \"A-0\", 500]",
    "[1000000, \"move\", \"A-0\", \"/a\"]",
    "[1000000, \"group\", \"/a\", { \"quota_us\": -1 }]",
    "\"timetable\": [\"at 1ms renice A-0 5\"]",
    "\"at 1ms chrt A-0 fifo 5\"",
    "\"at 1ms taskset A-0 0\"",
    "\"slices\": [",
    "[0, 0, 1000000, \"A-0\"]",
    "\"A-0\"",
    "\"global\": { \"duration\": 0.02 }",
    "\"tasks\": {",
    "\"A\": {",
    "\"B\": {",
    "\"loop\": -1",
    "\"loop\": 1",
    "\"instance\": 2",
    "\"instance\": 0",
    "\"delay\": 500",
    "\"session\": \"tty1\"",
    "\"clock_read\": 5",
    "\"phases\": { \"p\": {",
    "\"run\": 1000",
    "\"sleep\": 1000",
    "\"fork\": \"B\"",
    "\"exec\": 0",
    "\"resume\": \"A-0\"",
    "\"suspend\": \"\"",
    "\"policy\": \"SCHED_DEADLINE\", \"dl-runtime\": 1000, \"dl-period\": 10000",
    "\"policy\": \"SCHED_RR\"",
    "\"priority\": 5",
    "\"taskgroup\": \"/a\"",
    "\"cpus\": [0]",
];

pub(super) const GOLDEN: Reader = Reader {
    name: "golden",
    about: "golden schedules: the file",
    read: read_golden,
    words: SCHEDULE,
    most: 3_000,
};

/// Checks that a golden file that was read makes a workload.
fn read_golden(input: &[u8]) -> Shape {
    let file = match GoldenFile::parse("fuzz.json", &text(input)) {
        Ok(file) => file,
        Err(error) => return Shape::refused(error),
    };
    let ids: Vec<GroupId> = (1..=file.groups.len() as u32).map(GroupId).collect();
    let workload = file.workload(&ids, Conventions::default()).expect("it was checked");
    assert_eq!(workload.task_count(), file.model.initial_threads());
    Shape::taken((file.groups.len() * 64 + file.actions.len()) as u64)
}

pub(super) const REPLAY: Reader = Reader {
    name: "replay",
    about: "golden schedules: the replay",
    read: read_replay,
    words: SCHEDULE,
    most: 3_000,
};

/// Replays small schedules as `schedlab verify` does. The replay must not fail.
fn read_replay(input: &[u8]) -> Shape {
    let text = text(input);
    let Ok(file) = GoldenFile::parse("fuzz.json", &text) else { return Shape::taken(0) };
    // Long schedules take long to replay.
    if file.end_ns > 20_000_000
        || file.cpus > 16
        || file.model.initial_threads() > 16
        || file.hz > 1_000
    {
        return Shape::taken(1);
    }
    match verify_bytes("fuzz.json", text.as_bytes()) {
        Ok(verdict) => Shape::taken(2 + u64::from(verdict.agrees())),
        Err(GoldenError::Broken(message)) => panic!("the replay failed: {message}"),
        Err(error) => Shape::refused(error),
    }
}

pub(super) const TIMETABLE: Reader = Reader {
    name: "timetable",
    about: "timetables and the option --at",
    read: read_timetable,
    words: &[
        "at ",
        "every ",
        "from ",
        "until ",
        "2s",
        "10ms",
        "5us",
        "1ns",
        "1.5s",
        "renice ",
        "chrt ",
        "taskset ",
        "move ",
        "group ",
        "set ",
        "offline cpu ",
        "online cpu ",
        "stop ",
        "cont ",
        "kill ",
        "freeze ",
        "thaw ",
        "other",
        "batch",
        "idle",
        "fifo 5",
        "rr 5",
        "deadline 1ms 5ms 10ms",
        "a,b",
        "a-*",
        "/tg1",
        "in /tg1",
        "cpu.weight=100",
        "cpu.max=50000 100000",
        "cpu.shares=5",
        "cpuset.cpus=0-3",
        "cpu.idle=1",
        "cpu.max.burst=500",
        "0-3",
        "0,2-3",
        "-20",
        "19",
        "# comment",
        "sched_latency_ns",
        "\n",
        "\"",
        " ",
    ],
    most: 600,
};

fn read_timetable(input: &[u8]) -> Shape {
    let text = text(input);
    let option = Shape::of(Timetable::parse_option(&text));
    let file = match Timetable::parse("fuzz.timetable", &text) {
        Err(error) => Shape::refused(error),
        Ok(timetable) => {
            let flags = [
                timetable.is_empty(),
                timetable.sets_affinity(),
                timetable.sets_limits(),
                timetable.sets_idle(),
                timetable.takes_cpus_offline(),
                timetable.tunables().count() > 0,
            ];
            let flags = flags.iter().fold(0, |sum, &flag| sum * 2 + u64::from(flag));
            Shape::taken(flags * 64 + timetable.policies().len() as u64)
        }
    };
    option.and(file)
}
