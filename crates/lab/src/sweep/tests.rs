//! Tests of sweeps: their runs, the order, and refusals.

use super::*;
use crate::select;
use schedlab_bench::Parameter;
use std::path::PathBuf;

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("the count is not 0")
}

/// Returns the hackbench with 1 and 2 groups and 3 or 5 messages under two schedulers, with 2
/// seeds: 16 runs.
fn sweep(given: &[(&str, &str)]) -> Sweep {
    let benchmark = schedlab_bench::find("hackbench").expect("the benchmark exists");
    let parameter = |name: &str| -> &'static Parameter {
        benchmark
            .parameters()
            .iter()
            .find(|parameter| parameter.name == name)
            .expect("the parameter exists")
    };
    let given = given.iter().map(|(name, text)| {
        (
            parameter(name).name.clone(),
            parameter(name).read(text).expect("the parameter takes the value"),
        )
    });
    let mut sweep =
        Sweep::new(Bench::new(benchmark), given.collect(), 2).expect("there are few runs");
    for name in ["o_n", "o_1"] {
        sweep
            .add(select::find(name).expect("the scheduler exists"), vec![])
            .expect("there are few runs");
    }
    sweep
}

const GIVEN: [(&str, &str); 3] = [("fds", "2"), ("groups", "1..2,1"), ("loops", "3,5")];

struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        let path =
            std::env::temp_dir().join(format!("schedlab-sweep-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_first_parameter_given_changes_last() {
    let report = sweep(&GIVEN).run(threads(2), None, || ()).expect("the sweep runs");
    let names: Vec<&str> = report.swept().map(|axis| axis.name.as_str()).collect();
    assert_eq!(names, ["groups", "loops"]);
    let points: Vec<String> = report
        .points
        .iter()
        .map(|point| format!("{:?} {}", point.values, point.scheduler))
        .collect();
    assert_eq!(points.len(), 8);
    assert_eq!(points[1], "[Number(1), Number(3)] 1");
    assert_eq!(points[2], "[Number(1), Number(5)] 0");
    assert_eq!(points[4], "[Number(2), Number(3)] 0");
    assert!(
        report.points.iter().all(|point| point.figure("time").is_some_and(|time| time.count == 2))
    );
}

#[test]
fn threads_and_interruptions_change_nothing() {
    let sweep = sweep(&GIVEN);
    let expected = sweep.run(threads(1), None, || ()).expect("the sweep runs").to_json();
    assert_eq!(sweep.run(threads(3), None, || ()).expect("the sweep runs").to_json(), expected);
    let file = File::new("resumed");
    let results = Results::create(&file.0, &sweep, "v1").expect("the file is writable");
    assert_eq!(
        sweep.run(threads(2), Some(&results), || ()).expect("the sweep runs").to_json(),
        expected
    );
    // Stopped after the tenth run, in the middle of a line.
    let text = std::fs::read_to_string(&file.0).expect("the file exists");
    assert_eq!(text.lines().count(), 17);
    let lines: Vec<&str> = text.lines().take(12).collect();
    std::fs::write(&file.0, &lines.join("\n")[..lines.join("\n").len() - 7])
        .expect("the file is writable");
    let results = Results::resume(&file.0, &sweep, "v1").expect("the file belongs to this sweep");
    assert_eq!(sweep.to_do(Some(&results)), 6);
    let done = std::sync::atomic::AtomicUsize::new(0);
    let count = || {
        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    assert_eq!(
        sweep.run(threads(2), Some(&results), count).expect("the sweep runs").to_json(),
        expected
    );
    assert_eq!(done.into_inner(), 6);
    let results = Results::resume(&file.0, &sweep, "v1").expect("the file belongs to this sweep");
    assert_eq!(sweep.to_do(Some(&results)), 0);
}

#[test]
fn a_sweep_can_be_widened() {
    let file = File::new("widened");
    let narrow = sweep(&[("fds", "2"), ("groups", "1")]);
    let results = Results::create(&file.0, &narrow, "v1").expect("the file is writable");
    narrow.run(threads(2), Some(&results), || ()).expect("the sweep runs");
    let wide = sweep(&[("fds", "2"), ("groups", "1,2")]);
    let results = Results::resume(&file.0, &wide, "v1").expect("the file belongs to this sweep");
    assert_eq!(wide.to_do(Some(&results)), 4);
}

#[test]
fn results_of_another_sweep_are_refused() {
    let file = File::new("other");
    let sweep = sweep(&GIVEN);
    drop(Results::create(&file.0, &sweep, "v1").expect("the file is writable"));
    let message = |result: Result<Results, ResultsError>| match result {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    };
    assert!(message(Results::create(&file.0, &sweep, "v1")).contains("exists already"));
    let text = message(Results::resume(&file.0, &sweep, "v2"));
    assert!(text.contains("its version of schedlab is v1, not v2"), "{text}");
    let mut two = self::sweep(&GIVEN);
    two.bench.config.cpus = 2;
    let text = message(Results::resume(&file.0, &two, "v1"));
    assert!(text.contains("its number of CPUs is 1, not 2"), "{text}");
    std::fs::write(&file.0, "{}\n").expect("the file is writable");
    assert!(message(Results::resume(&file.0, &sweep, "v1")).contains("line 1"));
    std::fs::write(&file.0, "a letter").expect("the file is writable");
    assert!(message(Results::resume(&file.0, &sweep, "v1")).contains("line 1"));
    assert_eq!(std::fs::read_to_string(&file.0).expect("the file exists"), "a letter");
}

#[test]
fn too_many_runs_are_refused() {
    let benchmark = schedlab_bench::find("hackbench").expect("the benchmark exists");
    let many = |count: u64| (1..=count).map(Value::Whole).collect();
    let given = vec![("groups", many(2000)), ("loops", many(2000))];
    assert!(matches!(
        Sweep::new(Bench::new(benchmark), given, 1),
        Err(SweepError::TooMany(4_000_000))
    ));
    // Each scheduler makes all of them.
    let mut sweep =
        Sweep::new(Bench::new(benchmark), vec![("groups", many(600))], 100).expect("60,000");
    let choice = select::find("o_n").expect("the scheduler exists");
    sweep.add(choice.clone(), vec![]).expect("60,000");
    assert!(matches!(sweep.add(choice, vec![]), Err(SweepError::TooMany(120_000))));
}
