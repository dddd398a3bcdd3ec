//! Features that larger policies need: `objects/extras.bpf.c`.

mod support;

use schedlab_core::topology::Place;
use schedlab_core::{
    Administer, BuildConfig, CpuId, GroupId, Parent, Platform, Quota, Scheduler, TaskAttr, TaskId,
    Topology,
};
use schedlab_scx::end::End;
use schedlab_scx::log::{Entry, Log, Summary, Witness};
use schedlab_scx::{OnEnd, Options, ScxScheduler};
use std::sync::{Arc, Mutex};
use support::{HZ, MS, SECOND, Script, link, run, scheduler};

/// A policy and its machine, called directly by the tests.
struct Rig {
    policy: ScxScheduler,
    platform: Platform,
}

impl Rig {
    fn new(object: &str, topology: Topology, settings: &[&str], on_end: OnEnd) -> Rig {
        let config = BuildConfig { topology, hz: HZ };
        let cpus = config.topology.cpus();
        let image = link(object, cpus, settings).unwrap_or_else(|error| panic!("{error}"));
        let options = Options { on_end, ..Options::default() };
        let policy = ScxScheduler::new(Arc::new(image), &config, options);
        Rig { policy, platform: config.platform() }
    }

    fn fork(&mut self, task: u32) {
        let (attr, parent) = (TaskAttr::default(), Parent::External);
        self.policy.fork(&mut self.platform, TaskId(task), &attr, parent);
    }

    fn schedule(&mut self, cpu: u32) -> Option<TaskId> {
        self.policy.schedule(&mut self.platform, CpuId(cpu))
    }

    fn value(&self, name: &str) -> u64 {
        self.policy.variable(name).unwrap_or_else(|| panic!("there is no {name}"))
    }
}

/// Returns two nodes, each with two cores of two threads that share a cache.
fn two_nodes() -> Topology {
    let place = |cpu: u32| Place { core: cpu / 2, cache: cpu / 4, package: cpu / 4, node: cpu / 4 };
    let places = (0..8).map(place).collect();
    Topology::new(places, &[]).expect("the topology is valid")
}

#[test]
fn an_arena_has_pages_and_variables() {
    let mut rig = Rig::new("extras", Topology::flat(1), &[], OnEnd::Stop);
    rig.fork(0);
    assert_eq!(rig.value("arena_sum"), 4950 + 7 + 5);
    assert_eq!(rig.value("arena_full"), 1, "8 pages: a variable's, 1, 3, and 3 that are left");
    assert_eq!(rig.value("arena_again"), 1, "what was given back is given again");
}

#[test]
fn programs_run_before_the_policy_begins() {
    let mut rig = Rig::new("extras", Topology::flat(2), &[], OnEnd::Stop);
    for cpu in [0, 3] {
        rig.policy.call_first("add_primary", &[cpu, -1]).expect("the program exists");
    }
    let unknown =
        rig.policy.call_first("add", &[]).expect_err("there is no such program").to_string();
    assert!(
        unknown.contains("no program add of section syscall; the programs are add_primary, refuse")
    );
    assert!(rig.policy.call_first("refuse", &[0; 65]).is_err());
    rig.fork(0);
    assert_eq!((rig.value("primary"), rig.value("given")), (0b1001, -2_i64 as u64));
    let mut rig = Rig::new("extras", Topology::flat(2), &[], OnEnd::GoOn);
    rig.policy.call_first("refuse", &[]).expect("the program exists");
    rig.fork(0);
    let end = rig.policy.end().expect("the policy was not attached");
    assert_eq!(end.message, "refuse returned -22");
}

#[test]
fn iterators_walk_through_groups_and_tasks() {
    let mut rig = Rig::new("extras", Topology::flat(1), &[], OnEnd::Stop);
    let root = GroupId(0);
    let first = rig.policy.group_new(&mut rig.platform, root, 1024).expect("a group");
    rig.policy.group_new(&mut rig.platform, first, 1024).expect("a group");
    rig.policy.group_new(&mut rig.platform, root, 1024).expect("a group");
    for task in 0..3 {
        rig.fork(task);
    }
    assert_eq!(rig.schedule(0), Some(TaskId(0)));
    assert_eq!((rig.value("groups"), rig.value("group_levels")), (4, 121), "0, 1, 2, 1");
    assert_eq!(rig.value("tasks"), 3);
    assert_eq!(rig.value("curr_pid"), 1000, "the kernel's variable of each CPU");
}

#[test]
fn limits_of_groups_are_told() {
    let mut rig = Rig::new("extras", Topology::flat(1), &[], OnEnd::Stop);
    let group = rig.policy.group_new(&mut rig.platform, GroupId(0), 1024).expect("a group");
    let quota = Quota { quota_us: Some(20_000), period_us: 50_000, burst_us: 0, phase_us: None };
    rig.policy.group_set_quota(&mut rig.platform, group, quota).expect("the command is accepted");
    assert_eq!((rig.value("period"), rig.value("quota")), (50_000, 20_000));
}

#[test]
fn cpus_that_go_and_come_are_told() {
    let mut rig = Rig::new("extras", Topology::flat(4), &[], OnEnd::Stop);
    rig.fork(0);
    rig.policy.cpu_offline(&mut rig.platform, CpuId(2)).expect("the command is accepted");
    rig.policy.cpu_offline(&mut rig.platform, CpuId(3)).expect("the command is accepted");
    rig.policy.cpu_online(&mut rig.platform, CpuId(2)).expect("the command is accepted");
    assert_eq!((rig.value("offline"), rig.value("online")), (34, 3));
    assert_eq!(rig.policy.end(), None);
}

#[test]
fn a_policy_without_such_callbacks_ends_to_be_loaded_again() {
    #[derive(Default)]
    struct Ends(Vec<End>);
    impl Witness for Ends {
        fn entry(&mut self, _: &Entry) {}
        fn ended(&mut self, end: &End) {
            self.0.push(end.clone());
        }
    }
    let ends: Arc<Mutex<Ends>> = Arc::default();
    let mut rig = Rig::new("vtime", Topology::flat(4), &[], OnEnd::Stop);
    rig.policy.log_to(Log::new(ends.clone()));
    rig.fork(0);
    rig.policy.cpu_offline(&mut rig.platform, CpuId(2)).expect("the command is accepted");
    assert_eq!((rig.policy.end(), rig.policy.restarts()), (None, 1));
    let ends = ends.lock().expect("no thread panicked");
    let [end] = ends.0.as_slice() else { panic!("it ended once") };
    assert_eq!((end.kind, end.code), (66, 1 << 48 | 1 << 32));
    assert_eq!(end.message, "cpu 2 going offline, exiting scheduler");
    assert_eq!(end.reason, "unregistered from the main kernel");
    assert!(end.dump.is_empty(), "it is no error");
}

#[test]
fn idle_cores_are_those_whose_threads_are_all_idle() {
    let mut rig = Rig::new("extras", two_nodes(), &[], OnEnd::Stop);
    rig.fork(0);
    let cpu = rig.policy.cpu_of(TaskId(0));
    assert_eq!(rig.schedule(cpu.0), Some(TaskId(0)));
    assert_eq!(rig.value("idle_cores"), 6, "three of four cores");
    // The next task finds a whole core before a thread of a busy core in the same cache.
    rig.fork(1);
    let other = rig.policy.cpu_of(TaskId(1));
    assert_eq!((cpu.0 / 4, other.0 / 4), (0, 0));
    assert_ne!(cpu.0 / 2, other.0 / 2, "{cpu:?}, {other:?}");
}

#[test]
fn the_search_goes_from_near_to_far() {
    let mut rig = Rig::new("extras", two_nodes(), &[], OnEnd::Stop);
    let mut cores = vec![];
    for task in 0..8 {
        rig.fork(task);
        let cpu = rig.policy.cpu_of(TaskId(task)).0;
        assert_eq!(rig.schedule(cpu), Some(TaskId(task)), "it was idle");
        cores.push(cpu / 2);
    }
    // Whole cores of the node, then of the other node, then threads of the node, then of the other
    // node.
    let node = |core: &u32| core / 2;
    assert_eq!(cores.iter().map(node).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 0, 1, 1], "{cores:?}");
    let mut first = cores[..4].to_vec();
    first.sort_unstable();
    assert_eq!(first, [0, 1, 2, 3]);
}

#[test]
fn idle_cpus_are_kept_by_node_for_those_who_ask() {
    let settings = ["ask_nodes=2", "ops.flags=64"];
    let mut rig = Rig::new("extras", two_nodes(), &settings, OnEnd::Stop);
    rig.fork(0);
    let cpu = rig.policy.cpu_of(TaskId(0));
    assert_eq!(rig.schedule(cpu.0), Some(TaskId(0)));
    assert_eq!(rig.value("idle_in_node"), 4);
    assert!((4..8).contains(&rig.value("picked")), "{}", rig.value("picked"));
    // Without the flag, and with the flag but without a node, such calls end a policy.
    for (settings, message) in [
        (["ask_nodes=1", "ops.flags=0"], "per-node idle tracking is disabled"),
        (["ask_nodes=0", "ops.flags=64"], "SCX_OPS_BUILTIN_IDLE_PER_NODE enabled"),
    ] {
        let mut rig = Rig::new("extras", two_nodes(), &settings, OnEnd::GoOn);
        rig.fork(0);
        let cpu = rig.policy.cpu_of(TaskId(0));
        rig.schedule(cpu.0);
        assert_eq!(rig.policy.end().map(|end| end.message.as_str()), Some(message));
    }
}

/// Collects a log.
#[derive(Default)]
struct Collected {
    lines: Vec<String>,
    ended: Option<End>,
    finished: bool,
}

impl Witness for Collected {
    fn entry(&mut self, entry: &Entry) {
        let Entry { at_ns, name, pid, text, .. } = entry;
        self.lines.push(format!("{at_ns} {name} {pid:?} {text}"));
    }

    fn ended(&mut self, end: &End) {
        self.ended = Some(end.clone());
    }

    fn finished(&mut self, _: &Summary<'_>) {
        self.finished = true;
    }
}

#[test]
fn what_a_policy_does_is_told_as_it_happens() {
    let collected = Arc::new(Mutex::new(Collected::default()));
    let mut policy = scheduler("extras", 1, &[], OnEnd::Stop);
    policy.log_to(Log::new(Arc::clone(&collected) as Arc<Mutex<dyn Witness>>));
    policy.call_first("add_primary", &[5]).expect("the program exists");
    drop(run(policy, 1, vec![Script::hog(0)], 30 * MS));
    let collected = collected.lock().expect("no thread panicked");
    let records = "0 ringbuf None events: 16 bytes 0100000000000000e803000000000000";
    let expected = [
        "0 syscall None add_primary(5)",
        "0 init None ",
        "0 cgroup_init None cgrp=group 0 args=0x800000000",
        "0 ringbuf None events: 8 bytes e803000000000000",
        records,
        "0 enqueue Some(1000) enq_flags=0x8",
        "0 running Some(1000) ",
    ];
    for line in expected {
        assert!(
            collected.lines.iter().any(|other| other == line),
            "no {line}: {:#?}",
            collected.lines
        );
    }
    assert!(collected.finished && collected.ended.is_none());
}

#[test]
fn a_policy_that_ends_leaves_a_dump() {
    let policy = scheduler("extras", 2, &["stall=1"], OnEnd::GoOn);
    let tasks = vec![Script::hog(0), Script::hog(3), Script::hog(0).on(1)];
    let run = run(policy, 2, tasks, 10 * SECOND);
    let end = run.scheduler().end().expect("the policy ends");
    assert_eq!(end.message, "task-0[1000] failed to run for 5000 ms");
    let dump = &end.dump;
    for part in [
        "DEBUG DUMP\n",
        "triggered exit kind 1026:\n  runnable task stall (task-0[1000] failed to run for 5000 \
         ms)\n",
        "extras: ",
        "\nCPU states\n----------\n",
        "\nCPU 0   : nr_run=",
        "  cpu 0, idle 0\n",
        "R task-0[1000] -5000ms\n",
        "      pid 1000\n",
        "cpus=3\n",
        "cpus=2\n",
    ] {
        assert!(dump.contains(part), "no {part:?} in\n{dump}");
    }
    assert_eq!(run.scheduler().variable("exits"), Some(1));
    // The dump is no longer than the policy states.
    let policy = scheduler("extras", 1, &["stall=1", "ops.exit_dump_len=100"], OnEnd::GoOn);
    let run = support::run(policy, 1, vec![Script::hog(0), Script::hog(0)], 10 * SECOND);
    assert_eq!(run.scheduler().end().map(|end| end.dump.len()), Some(100));
}

#[test]
fn settings_are_tunables() {
    let mut rig = Rig::new("extras", Topology::flat(2), &[], OnEnd::Stop);
    let known = |rig: &Rig, name: &str| {
        let all = rig.policy.inspect().tunables();
        all.into_iter().find(|tunable| tunable.name == name).map(|tunable| tunable.value)
    };
    assert_eq!(known(&rig, "ops.timeout_ms"), Some(5000));
    assert_eq!(known(&rig, "map.events.max_entries"), Some(4096));
    assert_eq!(known(&rig, "LICENSE"), None);
    let set = |rig: &mut Rig, name: &str, value| {
        rig.policy.set_tunable(&mut rig.platform, name, value).map_err(|error| error.to_string())
    };
    assert_eq!(set(&mut rig, "ask_nodes", 2), Ok(()));
    assert_eq!(set(&mut rig, "ops.flags", 64), Ok(()));
    assert_eq!(set(&mut rig, "records", 7), Ok(()));
    assert_eq!(known(&rig, "ask_nodes"), Some(2), "it outlives a map's new size");
    assert!(set(&mut rig, "map.events.max_entries", 4097).is_err_and(|it| it.contains("4097")));
    assert!(set(&mut rig, "stall", 1 << 40).is_err_and(|it| it.contains("the kernel takes")));
    assert!(set(&mut rig, "nothing", 1).is_err());
    rig.fork(0);
    assert_eq!(rig.value("records"), 7, "an idle CPU was found: no task was enqueued");
    let refused = set(&mut rig, "ask_nodes", 0).expect_err("the variable is constant");
    assert!(refused.contains("constant once the policy is loaded"), "{refused}");
    assert_eq!(set(&mut rig, "records", 100), Ok(()), "as a user half can");
    assert_eq!(rig.value("records"), 100);
}
