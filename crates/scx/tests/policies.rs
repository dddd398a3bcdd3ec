//! Compiled policies on the simulated machine.

mod support;

use schedlab_core::{CpuSet, Scheduler};
use schedlab_scx::object::Object;
use schedlab_scx::ops::Callback;
use schedlab_scx::{OnEnd, Options, ScxScheduler};
use support::{MS, SECOND, Script, bytes, link, run, scheduler};

fn cpu_ms(run: &support::Run) -> Vec<u64> {
    run.observer().cpu_ns.iter().map(|ns| ns / MS).collect()
}

#[test]
fn virtual_time_shares_by_weight() {
    // Weights 100, 100, 33 of 233; 2 s.
    let tasks = vec![Script::hog(0), Script::hog(0), Script::hog(5)];
    let run = run(scheduler("vtime", 1, &[], OnEnd::Stop), 1, tasks, 2 * SECOND);
    let shares = cpu_ms(&run);
    let total: u64 = run.observer().cpu_ns.iter().sum();
    assert_eq!(total, 2 * SECOND, "nothing is lost");
    for (share, exact) in shares.iter().zip([858, 858, 283]) {
        // A turn is a slice of 20 ms, and ends at a tick of 4 ms.
        assert!(share.abs_diff(exact) <= 24, "{shares:?}");
    }
}

#[test]
fn settings_are_made_before_the_policy_is_loaded() {
    let tasks = vec![Script::hog(0), Script::hog(0), Script::hog(5)];
    let policy = scheduler("vtime", 1, &["fifo=true", "slice_ns=4000000"], OnEnd::Stop);
    let run = run(policy, 1, tasks, 3 * SECOND);
    assert_eq!(cpu_ms(&run), [1000, 1000, 1000], "in turn, a tick each");
}

#[test]
fn a_slice_that_starts_after_a_tick_ends_at_a_tick() {
    // The first slice begins at 0, with the tick. The sleeper wakes in between.
    let tasks = vec![Script::hog(0).on(0), Script::sleeper(MS, 9 * MS).on(0)];
    let policy = scheduler("order", 1, &[], OnEnd::Stop);
    let run = run(policy, 1, tasks, SECOND);
    let printed = run.scheduler().printed();
    let ticks: Vec<&str> = printed
        .iter()
        .filter(|(_, _, text)| text.starts_with("tick 1000"))
        .map(|(_, _, text)| text.as_str())
        .collect();
    assert!(ticks.len() > 100, "{}", ticks.len());
}

/// One CPU, a hog and a sleeper: callbacks in order (S 4 of the specification).
#[test]
fn callbacks_come_in_the_kernels_order() {
    let tasks = vec![Script::hog(0), Script { rounds: 2, ..Script::sleeper(MS, 9 * MS) }];
    let policy = scheduler("order", 1, &[], OnEnd::Stop);
    let run = run(policy, 1, tasks, 30 * MS);
    let lines: Vec<String> = run
        .scheduler()
        .printed()
        .iter()
        .map(|(at, _, text)| format!("{:.1} {text}", *at as f64 / MS as f64))
        .collect();
    let expected = [
        "0.0 init",
        "0.0 update_idle 0 1",
        "0.0 init_task 1000",
        "0.0 enable 1000",
        "0.0 set_weight 1000 100",
        // Only one CPU is allowed: there is no selection.
        "0.0 runnable 1000 8",
        "0.0 enqueue 1000 8",
        "0.0 init_task 1001",
        "0.0 enable 1001",
        "0.0 set_weight 1001 100",
        "0.0 runnable 1001 8",
        "0.0 enqueue 1001 8",
        "0.0 dispatch 0 0",
        "0.0 update_idle 0 0",
        "0.0 running 1000",
        "4.0 tick 1000 4000000",
        "8.0 tick 1000 0",
        "8.0 dispatch 0 1000",
        "8.0 stopping 1000 1",
        "8.0 enqueue 1000 0",
        "8.0 running 1001",
        "9.0 stopping 1001 0",
        "9.0 quiescent 1001 9",
        "9.0 dispatch 0 1001",
        "9.0 running 1000",
        "12.0 tick 1000 5000000",
        "16.0 tick 1000 1000000",
        "18.0 runnable 1001 9",
        "18.0 enqueue 1001 9",
        "20.0 tick 1000 0",
        "20.0 dispatch 0 1000",
        "20.0 stopping 1000 1",
        "20.0 enqueue 1000 0",
        "20.0 running 1001",
        "21.0 stopping 1001 0",
        "21.0 quiescent 1001 9",
        "21.0 dispatch 0 1001",
        "21.0 running 1000",
        "24.0 tick 1000 5000000",
        "28.0 tick 1000 1000000",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_cpu_is_selected_only_where_there_is_a_choice() {
    let tasks = vec![Script::sleeper(MS, 9 * MS), Script::sleeper(MS, 9 * MS).on(1)];
    let run = run(scheduler("order", 2, &[], OnEnd::Stop), 2, tasks, 15 * MS);
    let has = |text: &str| run.scheduler().printed().iter().any(|(_, _, line)| line == text);
    assert!(has("select_cpu 1000 0 4"), "a fork");
    assert!(has("select_cpu 1000 0 8"), "a wakeup");
    assert!(has("runnable 1000 100009"), "with CPU_SELECTED");
    assert!(has("runnable 1001 9"), "one CPU is allowed");
    assert!(!has("select_cpu 1001 1 8"));
}

#[test]
fn helpers_maps_timers_and_iterators_do_what_the_kernels_do() {
    let tasks = vec![Script::sleeper(2 * MS, 8 * MS), Script::hog(0)];
    let run = run(scheduler("features", 4, &[], OnEnd::Stop), 4, tasks, SECOND);
    let policy = run.scheduler();
    let value = |name| policy.variable(name).unwrap_or_else(|| panic!("there is no {name}"));
    assert_eq!(value("looped"), 45, "0 to 9, where the callback ends the loop");
    assert_eq!(value("iterated"), 345);
    assert_eq!((value("pushed"), value("popped"), value("queue_empty")), (3, 1, 2));
    assert_eq!((value("hash_full"), value("exists")), (7, 1));
    assert_eq!(value("weight"), 2);
    assert_eq!(value("version"), 6 << 16 | 18 << 8);
    assert_eq!(value("hz"), 250);
    assert_eq!(value("slice_inf"), u64::MAX);
    assert_eq!((value("absent"), value("field")), (1, 0));
    assert_eq!(value("static_sum"), 1 + 2 * 251, "a function of the object");
    assert_eq!(value("wakeups"), 100, "storage of the task");
    assert!(value("ticks") > 240);
    let counts = policy.counts();
    assert_eq!(counts.callbacks[usize::from(Callback::TICK.0)].calls, value("ticks"));
    assert_eq!(counts.timers.calls, 999, "every ms, but the last is not reached");
    let ticks = policy.map_counts().find(|(name, _)| *name == "numbers").expect("a map").1;
    assert_eq!(ticks.lookups, value("ticks"));
}

#[test]
fn trees_keep_arrival_order_among_equals() {
    let run = run(scheduler("walk", 1, &[], OnEnd::Stop), 1, vec![Script::hog(0)], MS);
    let value = |name| run.scheduler().variable(name);
    assert_eq!((value("order"), value("drops")), (Some(2431), Some(4)));
}

#[test]
fn a_policy_walks_through_its_queue_and_preempts() {
    // Of two hogs the heavier one has the CPU all the time, except for a sleeper of nice -15, which
    // preempts as soon as it wakes (100 of 1000 ms).
    let heavy = Script { nice: -15, ..Script::sleeper(MS, 9 * MS) };
    let tasks = vec![Script::hog(5), Script::hog(0), heavy];
    let run = run(scheduler("walk", 1, &[], OnEnd::Stop), 1, tasks, SECOND);
    let shares = cpu_ms(&run);
    assert_eq!(shares.iter().sum::<u64>(), 1000);
    assert_eq!(shares[2], 100, "it never waits: {shares:?}");
    assert!(shares[1] > 800, "{shares:?}");
    let value = |name| run.scheduler().variable(name).unwrap_or(0);
    assert!(value("preempts") >= 100 && value("moved") > 50 && value("walked") > 100);
}

#[test]
fn runs_repeat_to_the_last_instruction() {
    let once = || {
        let tasks = (0..12)
            .map(|task| match task % 3 {
                0 => Script::hog(task - 6),
                1 => Script::sleeper(MS * 3, MS * 7),
                _ => Script { allowed: CpuSet::Low(0b110), ..Script::sleeper(MS, MS / 3) },
            })
            .collect();
        let run = run(scheduler("vtime", 3, &[], OnEnd::Stop), 3, tasks, SECOND);
        (run.scheduler().counts().clone(), cpu_ms(&run))
    };
    let (counts, cpu) = once();
    assert_eq!((counts.clone(), cpu), once());
    let dispatch = counts.callbacks[usize::from(Callback::DISPATCH.0)];
    assert_eq!(dispatch.insns, dispatch.calls * 8, "it is eight long, if nothing is printed");
}

#[test]
fn settings_that_cannot_be_made_are_refused() {
    let message = |setting: &str| {
        link("vtime", 1, &[setting]).expect_err("the setting is refused").to_string()
    };
    let nearest = "vtime.bpf.o: setting \"slice_n=1\": there is no variable slice_n; did you mean \
                   slice_ns?";
    assert_eq!(message("slice_n=1"), nearest);
    assert!(message("fifo=256").contains("fifo has 1 bytes: the range is -128 to 255"));
    assert!(message("fifo[0]=1").contains("fifo is not an array"));
    assert!(message("ops.flag=1").contains("the fields of ops are flags, timeout_ms"));
    assert!(message("ops.timeout_ms=30001").contains("the kernel accepts at most 30000"));
    assert!(message("map.stats.max_entries=1").contains("there is no map stats"));
    let message = |setting: &str| {
        link("features", 1, &[setting]).expect_err("the setting is refused").to_string()
    };
    assert!(message("table=1").contains("table is an array: name an element, table[0]"));
    assert!(message("table[4]=1").contains("table has 4 elements, 0 to 3"));
    assert!(message("map.pairs.max_entries=0").contains("at least 1 entry"));
    assert!(
        link("features", 1, &["table[3]=-1", "map.pairs.max_entries=9", "ops.flags=2"]).is_ok()
    );
}

#[test]
fn what_is_absent_is_known_before_the_run() {
    let image = link("features", 4, &[]).expect("the object links");
    assert_eq!(image.absent, ["scx_bpf_not_there"]);
    assert!(image.poisons.iter().any(|why| why.contains("calls scx_bpf_not_there")));
    let image = link("faults", 4, &[]).expect("the object links");
    assert_eq!(image.poisons, ["uses nonsense.a, which the emulated kernel lacks"]);
    assert_eq!(image.name, "faults");
    assert_eq!(image.ops.timeout_ms, 5000);
}

/// Changes any byte of an object. Reading must end with a result, and so must a run.
#[test]
fn damaged_objects_end_with_a_message_or_run() {
    let whole = bytes("features");
    let mut random = 7_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    let (mut read, mut linked) = (0, 0);
    for _ in 0..3000 {
        let mut bytes = whole.to_vec();
        for _ in 0..1 + next(4) {
            let at = next(bytes.len() as u64) as usize;
            bytes[at] = next(256) as u8;
        }
        if next(8) == 0 {
            bytes.truncate(next(whole.len() as u64) as usize);
        }
        let Ok(object) = Object::read("damaged.bpf.o", &bytes) else { continue };
        read += 1;
        let target = schedlab_scx::Target { cpus: 2, hz: 250 };
        let Ok(image) = object.link(target, &[]) else { continue };
        linked += 1;
        if linked % 8 != 0 {
            continue;
        }
        let config = schedlab_core::BuildConfig::flat(2, 250);
        let options = Options { on_end: OnEnd::GoOn, ..Options::default() };
        let policy = ScxScheduler::new(std::sync::Arc::new(image), &config, options);
        let tasks = vec![Script::hog(0), Script::sleeper(MS, MS)];
        let run = run(policy, 2, tasks, 20 * MS);
        assert_eq!(run.scheduler().inspect().audit(), Ok(()));
    }
    assert!(read > 100 && linked > 100, "{read} {linked}: the test must get somewhere");
}
