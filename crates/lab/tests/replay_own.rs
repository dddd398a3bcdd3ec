//! One of our own runs, recorded and replayed under the same scheduler, is the same run. It
//! contains no noise, so that any difference is a fault of the importer.

use schedlab_lab::plan::{Benchmark, Load, MachineSpec, Plan, Source};
use schedlab_lab::replay::{Figures, Percentiles, Replay, ReplayReport};
use schedlab_machine::SplitMix64;
use schedlab_replay::{Trace, TraceBuilder};
use schedlab_trace::Recorder;
use schedlab_workload::generate::{self, Limits};
use schedlab_workload::model::{Action, Event, Global, Loops, Model, Phase, Properties, Task};
use schedlab_workload::rt_app;
use std::num::NonZeroUsize;

/// Returns the run of `text` under `scheduler`, as a trace.
fn record(text: &str, scheduler: &str, cpus: u32, hz: u32) -> Trace {
    let source = Source { file: "own.json".into(), text: text.into() };
    record_load(Load::Workload(source), scheduler, cpus, hz)
}

/// Returns the run of `load` under `scheduler`, as a trace.
fn record_load(load: Load, scheduler: &str, cpus: u32, hz: u32) -> Trace {
    let machine = MachineSpec { cpus: Some(cpus), hz: Some(hz), ..MachineSpec::default() };
    let plan = Plan { machine, ..Plan::new(load, vec![scheduler.into()]) };
    let prepared = plan.prepare().unwrap_or_else(|error| panic!("{error}"));
    let mut recorder = Recorder::new(cpus, TraceBuilder::new());
    let ran = prepared.session(&prepared.schedulers()[0]).and_then(|mut session| {
        session.observe(&mut recorder).name_tasks();
        session.finish()
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    recorder.into_sink().into_trace()
}

/// Returns its unchanged replay under the same scheduler.
fn replayed(trace: Trace, scheduler: &str, hz: u32) -> ReplayReport {
    let replay =
        Replay { recorded: Some(scheduler.into()), hz: Some(hz), seeds: 1, ..Replay::new("own") };
    let prepared = replay.prepare(trace).unwrap_or_else(|error| panic!("{error}"));
    prepared.run(NonZeroUsize::MIN).unwrap_or_else(|error| panic!("{error}"))
}

fn event(key: &str, action: Action) -> Event {
    Event { key: key.into(), action }
}

/// Creates tasks that compute, sleep, wake each other and fork, with all times different.
fn random(seed: u64) -> Model {
    let mut random = SplitMix64::new(seed);
    let mut ns = |most_us: u64| 1_000 + random.below(most_us * 1_000);
    let mut tasks = vec![];
    let mut add = |key: String, instances, delay_ns, rounds, events: Vec<Event>| {
        tasks.push(Task {
            key,
            instances,
            delay_ns,
            loops: Loops::Times(rounds),
            properties: Properties::default(),
            phases: vec![Phase { events, ..Phase::default() }],
            session: None,
            flat: true,
        });
    };
    for number in 0..2 {
        let events = vec![event("run", Action::Run(40_000_000 + ns(60_000)))];
        // The trace begins with the run, so that ticks come at the same times.
        add(format!("hog{number}"), 1, number * ns(30_000), 1, events);
    }
    for number in 0..3 {
        let (run, sleep) = (Action::Run(ns(2_000)), Action::Sleep(ns(15_000)));
        let events = vec![event("run", run), event("sleep", sleep)];
        add(format!("nap{number}"), 1, ns(20_000), 12, events);
    }
    let events = vec![
        event("run", Action::Run(ns(2_000))),
        event("sem_post", Action::SemPost("to".into())),
        event("run1", Action::Run(ns(500))),
        event("sem_wait", Action::SemWait("back".into())),
    ];
    add("ping".into(), 1, ns(10_000), 15, events);
    let events = vec![
        event("sem_wait", Action::SemWait("to".into())),
        event("run", Action::Run(ns(1_500))),
        event("sem_post", Action::SemPost("back".into())),
    ];
    add("pong".into(), 1, ns(10_000), 15, events);
    let events =
        vec![event("run", Action::Run(ns(9_000))), event("sleep", Action::Sleep(ns(3_000)))];
    add("child".into(), 0, 0, 2, events);
    let events = vec![
        event("run", Action::Run(ns(3_000))),
        event("fork", Action::Fork("child".into())),
        event("run1", Action::Run(ns(3_000))),
        event("sleep", Action::Sleep(ns(25_000))),
    ];
    add("parent".into(), 1, ns(10_000), 3, events);
    Model { name: format!("random-{seed}"), global: Global::default(), tasks }
}

#[test]
fn a_run_of_our_own_is_replayed_to_the_nanosecond() {
    let schedulers = [
        ("round_robin", 100),
        ("o_1", 1000),
        ("cfs@2.6.24", 1000),
        ("cfs@3.2", 250),
        ("eevdf@6.6", 250),
        ("eevdf@6.18", 250),
        ("bfs", 1000),
    ];
    for seed in 0..10 {
        let text = rt_app::write(&random(seed));
        for (scheduler, hz) in schedulers {
            for cpus in [1, 2] {
                if cpus == 2 && scheduler == "round_robin" {
                    continue;
                }
                let answer = replayed(record(&text, scheduler, cpus, hz), scheduler, hz);
                assert_eq!(answer.e_cpu, 0.0, "{seed} {scheduler} {cpus}");
                assert!(!answer.hangs, "{seed} {scheduler} {cpus}: {:?}", answer.messages);
                let is_same = answer.columns[0].groups == answer.columns[1].groups;
                assert!(is_same, "{seed} {scheduler} {cpus}");
            }
        }
    }
}

/// The examples continue until they are stopped, and so do their replays.
#[test]
fn the_examples_are_replayed_as_far_as_they_were_recorded() {
    // In the desktop some events are simultaneous.
    for (name, cpus, differ) in [("desktop", 2, 2), ("server", 4, 0)] {
        let path = format!("{}/../../examples/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        for scheduler in ["cfs@3.2", "eevdf@6.18"] {
            let trace = record(&text, scheduler, cpus, 250);
            let limit_ns = Some(trace.span_ns);
            let replay = Replay {
                recorded: Some(scheduler.into()),
                hz: Some(250),
                seeds: 1,
                limit_ns,
                ..Replay::new(name)
            };
            let prepared = replay.prepare(trace).unwrap_or_else(|error| panic!("{error}"));
            let answer = prepared.run(NonZeroUsize::MIN).unwrap_or_else(|error| panic!("{error}"));
            let same = answer.columns[0].groups.iter().zip(&answer.columns[1].groups);
            // Requests that take no CPU time are found in a run only approximately.
            let schedule = |one: &Figures| Figures {
                response: Percentiles::default(),
                round_trip: Percentiles::default(),
                ..one.clone()
            };
            let same = same.filter(|(one, other)| schedule(one) == schedule(other)).count();
            assert!(same + differ >= answer.groups.len(), "{name} {scheduler}: {same}");
            assert!(answer.e_end == 0.0 && answer.e_wait < 0.001, "{name} {scheduler}");
        }
    }
}

/// Worlds with mutexes, barriers, timers, yields and several policies: all work is done.
#[test]
fn worlds_are_replayed() {
    for seed in 0..20 {
        let cpus = 1 + (seed % 3) as u32;
        let limits = Limits { cpus, ..Limits::default() };
        let text = rt_app::write(&generate::world(seed, &limits));
        let trace = record(&text, "eevdf@6.18", cpus, 250);
        if trace.form == [false, false] {
            continue;
        }
        let answer = replayed(trace, "eevdf@6.18", 250);
        assert!(!answer.hangs, "{seed}: {:?}", answer.messages);
        assert_eq!(answer.e_cpu, 0.0, "{seed}: {:?}", answer.messages);
    }
}

/// Programs of benchmarks, as they were observed.
#[test]
fn benchmarks_are_replayed() {
    for (name, parameters) in [
        ("hackbench", vec![("groups", "1"), ("loops", "3")]),
        ("massive_intr", vec![("nproc", "6"), ("runtime", "1")]),
    ] {
        for scheduler in ["cfs@3.2", "eevdf@6.18"] {
            let set = parameters.iter().map(|&(name, text)| (name.into(), text.into()));
            let benchmark = Benchmark { name: name.into(), parameters: set.collect() };
            let trace = record_load(Load::Benchmark(benchmark), scheduler, 2, 250);
            assert!(trace.switches > 100, "{name} {scheduler}: {}", trace.switches);
            let answer = replayed(trace, scheduler, 250);
            assert!(!answer.hangs, "{name} {scheduler}: {:?}", answer.messages);
            assert_eq!(answer.e_cpu, 0.0, "{name} {scheduler}: {:?}", answer.messages);
            assert!(answer.e_end < 0.01, "{name} {scheduler}: {}", answer.e_end);
        }
    }
}
