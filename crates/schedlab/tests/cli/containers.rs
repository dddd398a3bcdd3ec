//! Published cases of CPU limits (`docs/containers.md`): direction and size of what was found.

use crate::support::{Scratch, root, schedlab};
use std::fmt::Write as _;

/// Runs a workload, and returns the values of a metric, one for each scheduler.
fn values(workload: &str, options: &[&str], metric: &str) -> Vec<f64> {
    let text = schedlab(&[&["run", workload, "--format", "csv"], options].concat()).good();
    let value = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[2] == metric).then(|| fields[3].parse().expect("a number"))
    };
    text.lines().filter_map(value).collect()
}

/// The group needs 7.6 of 100 ms and may use 20. Up to 5.3, what 31 CPUs keep expires.
#[test]
fn a_group_below_its_quota_is_throttled_until_5_4() {
    let file = "examples/containers/below-quota.json";
    let limit = ["--cpus", "32", "--group", "/d:cpu.max=20000 100000"];
    let options = [&limit[..], &["-s", "cfs@3.10,cfs@4.18,cfs@5.4,eevdf@6.18"]].concat();
    let of = |metric| values(file, &options, metric);
    assert_eq!(of("group_nr_throttled:/d"), [199.0, 199.0, 2.0, 2.0]);
    assert!(of("group_usage:/d")[..2].iter().all(|ns| *ns < 0.3 * 4e9), "of 4 s");
    assert!(of("wait_max")[..2].iter().all(|ns| *ns > 95e6));
}

/// Helpers of 5 us leave 6 of 10 ms to the task. Helpers of 20 us leave nothing, and then the CPU
/// that draws first decides.
#[test]
fn one_fast_task_beside_helpers_on_80_cpus_gains_with_5_4() {
    let file = "examples/containers/fast-beside-80.json";
    let limit = ["--cpus", "80", "--group", "/pod:cpu.max=10000 100000", "--rows", "cpu_time_max"];
    let of = |file: &str, more: &[&str]| {
        let options = [&limit[..], more].concat();
        values(file, &options, "cpu_time_max").iter().map(|ns| ns / 1e6).collect::<Vec<f64>>()
    };
    let releases = ["-s", "cfs@3.2,cfs@4.18,cfs@4.14,cfs@5.4,cfs@6.1,eevdf@6.18"];
    let found = of(file, &releases);
    assert!(found[0] == 15.0 && found[1] == 14.0, "{found:?}");
    assert!(found[2..].iter().all(|ms| (590.0..600.0).contains(ms)), "{found:?}");
    let found = of(file, &[&releases[..], &["--seed", "1"]].concat());
    assert!(found[..2].iter().all(|ms| (15.0..60.0).contains(ms)), "{found:?}");
    assert!(found[2..].iter().all(|ms| (585.0..610.0).contains(ms)), "{found:?}");

    let text = std::fs::read_to_string(root().join(file)).expect("the example exists");
    let longer = text.replace("\"run\": 5,", "\"run\": 20,");
    let one_short = longer.replacen("\"run\": 20,", "\"run\": 5,", 1);
    let scratch = Scratch::new("helpers");
    let releases = ["-s", "cfs@4.18,cfs@5.4,cfs@6.1", "--seed", "3"];
    let found = of(&scratch.file("longer.json", longer), &releases);
    assert!(found[0] < 40.0, "{found:?}");
    assert!(found[1..].iter().all(|ms| (50.0..100.0).contains(ms)), "{found:?}");
    let found = of(&scratch.file("one_short.json", one_short), &releases);
    assert!(found.iter().all(|ms| (450.0..500.0).contains(ms)), "{found:?}");
}

/// The group uses a twelfth of its quota, and a task of it gets hardly any time.
#[test]
fn runtime_that_expires_on_512_cpus_starves_a_group_below_its_quota() {
    let mut text = String::from("{\"global\": {\"duration\": 2}, \"tasks\": {\"fast\": ");
    text += "{\"taskgroup\": \"/pod\", \"loop\": -1, \"run\": 10000000}";
    for cpu in 1..512 {
        let delay = 1000 + cpu * 137 % 10_000;
        write!(
            text,
            ", \"h{cpu}\": {{\"taskgroup\": \"/pod\", \"cpus\": [{cpu}], \"loop\": -1, \
             \"delay\": {delay}, \"run\": 5, \"timer\": {{\"ref\": \"unique\", \
             \"period\": 10000}}}}"
        )
        .expect("text can be written");
    }
    let scratch = Scratch::new("wide");
    let wide = scratch.file("wide.json", &(text + "}}"));
    let limit = ["--cpus", "512", "--group", "/pod:cpu.max=200000 100000", "--seed", "1"];
    let options = [&limit[..], &["-s", "cfs@4.19,cfs@5.4"]].concat();
    let use_of_4_s = values(&wide, &options, "group_usage:/pod");
    assert!(use_of_4_s[0] < 0.1 * 4e9 && use_of_4_s[1] > 0.5 * 4e9, "{use_of_4_s:?}");
    let fast = values(&wide, &[&options[..], &["--rows", "cpu_time_max"]].concat(), "cpu_time_max");
    assert!(fast[0] < 0.1e9 && fast[1] > 1.7e9, "{fast:?}");
}

/// 30 ms with 13 of 100 ms: 2 x 87 ms of waiting if the work begins with a period.
#[test]
fn work_of_30_ms_at_130m_takes_204_ms_at_worst() {
    let file = "examples/production/one-a-second.json";
    let limit = ["--group", "/pod:cpu.max=13000 100000", "-s", "eevdf@6.18"];
    let of = |phase: &str| {
        let phase = format!("quota_phase:/pod={phase}");
        let more = ["--set", &phase, "--rows", "burst_response_max"];
        let found = values(file, &[&limit[..], &more].concat(), "burst_response_max");
        (found[0] / 1e6).round()
    };
    assert_eq!(["0ms", "51ms", "75ms"].map(of), [153.0, 204.0, 128.0]);
}

/// The same garbage collection, by 32 threads and by 4, with a limit of 4 CPUs.
#[test]
fn collectors_on_all_cpus_make_more_requests_late_than_four_do() {
    let scratch = Scratch::new("collectors");
    let late = |threads: u32, cpus: &str| {
        let text = format!(
            "{{\"global\": {{\"duration\": 5}}, \"tasks\": {{\"gc\": {{\"instance\": {threads}, \
             \"taskgroup\": \"/pod\", \"loop\": -1, \"run\": {}, \"timer\": {{\"ref\": \
             \"unique\", \"period\": 500000, \"mode\": \"absolute\"}}}}, \"request\": \
             {{\"instance\": 8, \"taskgroup\": \"/pod\", \"loop\": -1, \"delay\": 3000, \"run\": \
             2000, \"timer\": {{\"ref\": \"unique\", \"period\": 10000, \"mode\": \
             \"absolute\"}}}}}}}}",
            480_000 / threads
        );
        let file = scratch.file("gc.json", &text);
        let limit = ["--cpus", cpus, "--group", "/pod:cpu.max=400000 100000", "-s", "eevdf@6.18"];
        let found = values(&file, &[&limit[..], &["--seed", "2"]].concat(), "missed_periods");
        found[0]
    };
    let (many, four, bounded) = (late(32, "32"), late(4, "32"), late(4, "4"));
    assert!(many > 1.5 * four && four > 0.0 && bounded == 0.0, "{many} {four} {bounded}");
}

/// 500 ms in the mean, 400 and 600 ms in turn: a burst of 60 ms replaces 60 ms of quota.
#[test]
fn a_burst_replaces_quota_that_is_needed_in_turn() {
    let scratch = Scratch::new("burst");
    let file = scratch.file(
        "burst.json",
        "{\"global\": {\"duration\": 5}, \"tasks\": {\"worker\": {\"instance\": 20, \
         \"taskgroup\": \"/test\", \"loop\": -1, \"run\": 10000, \"timer\": {\"ref\": \"unique\", \
         \"period\": 40000, \"mode\": \"absolute\"}}}}",
    );
    let throttled = |more: &[&str]| {
        let options = ["--cpus", "20", "--group", "/test:cpu.max=540000 100000"];
        let options = [&options[..], &["-s", "cfs@5.15,eevdf@6.18"], more].concat();
        values(&file, &options, "group_nr_throttled:/test")
    };
    let (without, with) = (throttled(&[]), throttled(&["--group", "/test:cpu.max.burst=60000"]));
    assert!(without.iter().all(|periods| *periods > 20.0), "{without:?}");
    assert!(with.iter().all(|periods| *periods <= 1.0), "{with:?}");
}

/// A task in the root group, a group of one and a group of three: a third each.
#[test]
fn a_task_beside_groups_weighs_as_much_as_a_group() {
    let scratch = Scratch::new("beside");
    let file = scratch.file(
        "beside.json",
        "{\"global\": {\"duration\": 3}, \"tasks\": {\"direct\": {\"loop\": -1, \"run\": 10000}, \
         \"a\": {\"taskgroup\": \"/a\", \"loop\": -1, \"run\": 10000}, \"b\": {\"taskgroup\": \
         \"/b\", \"instance\": 3, \"loop\": -1, \"run\": 10000}}}",
    );
    for group in ["/a", "/b"] {
        let metric = format!("group_machine_share:{group}");
        let shares = values(&file, &["-s", "cfs@2.6.32,cfs@3.10,eevdf@6.18"], &metric);
        assert_eq!(shares.len(), 3);
        assert!(shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 0.005), "{shares:?}");
    }
}

/// Decoders in the same group use up the quota. A real-time thread is not limited.
#[test]
fn audio_waits_for_the_quota_of_its_group_unless_it_is_real_time() {
    let scratch = Scratch::new("audio");
    let missed = |policy: &str| {
        let text = format!(
            "{{\"global\": {{\"duration\": 4}}, \"tasks\": {{\"audio\": {{{policy} \"taskgroup\": \
             \"/app\", \"loop\": -1, \"run\": 1000, \"timer\": {{\"ref\": \"unique\", \"period\": \
             10000, \"mode\": \"absolute\"}}}}, \"decode\": {{\"instance\": 2, \"taskgroup\": \
             \"/app\", \"loop\": -1, \"run\": 40000, \"timer\": {{\"ref\": \"unique\", \
             \"period\": 200000, \"mode\": \"absolute\"}}}}}}}}"
        );
        let file = scratch.file("audio.json", &text);
        let limit = ["--cpus", "4", "--group", "/app:cpu.max=60000 100000", "-s", "eevdf@6.18"];
        values(&file, &[&limit[..], &["--seed", "1"]].concat(), "missed_periods")[0]
    };
    assert!(missed("") > 50.0);
    assert_eq!(missed("\"policy\": \"SCHED_FIFO\", \"priority\": 10,"), 0.0);
}
