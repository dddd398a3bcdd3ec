//! Tests of spaces: parsing, points, and results that do not depend on the number of threads.

use super::store::{PartForm, Store, decode, encode};
use super::summary::{Mean, Summary, best, pareto, t_95};
use super::*;
use schedlab_report::data::EndState;
use std::path::PathBuf;

/// Two hogs and a sleeper, for a second.
const WORKLOAD: &str = r#"{
    "global": { "duration": 1 },
    "tasks": {
        "hog": { "instance": 2, "loop": -1, "run": 100000 },
        "video": { "loop": -1, "run": 4000, "timer": { "ref": "t", "period": 20000 } },
    },
}"#;

fn read(name: &str) -> Result<Source, String> {
    match name {
        "w.json" => Ok(Source { file: name.into(), text: WORKLOAD.into() }),
        _ => Err(format!("{name}: there is no such file")),
    }
}

fn parsed(text: &str) -> Result<Space, String> {
    let text = format!("workload = \"w.json\"\n{text}");
    Space::parse("s.toml", &text, &mut |name| read(name)).map(|(space, _)| space)
}

fn space(text: &str) -> Space {
    parsed(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("the count is not 0")
}

fn rows(space: &Space, count: usize) -> Vec<Row> {
    let parts: Vec<u64> = (0..space.parts()).collect();
    let mut all = vec![];
    let ready = |_, rows: Vec<Row>| {
        all.extend(rows);
        true
    };
    let stop = AtomicBool::new(false);
    space.run(&parts, threads(count), &stop, |_| (), ready).expect("the metrics exist");
    all
}

/// Returns an empty directory for a test.
fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("schedlab-space-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

const GRID: &str = r#"
schedulers = ["cfs", "eevdf"]
repeat = 2
part_runs = 9
metrics = ["wakeup_latency_p99", "minimize w = key_wait(hog) / 1ms", "throughput of video"]

[[axis]]
name = "set.sched_latency_ns"
values = ["default", 6_000_000, "24ms"]

[[axis]]
name = "workload.tasks.video.run"
from = 1000
to = 9000
step = 4000
"#;

#[test]
fn a_grid_has_every_combination_and_the_first_axis_changes_last() {
    let space = space(GRID);
    assert_eq!((space.points(), space.runs(), space.parts()), (9, 36, 5));
    let values = |number| space.point(number).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(values(0), ["default", "1000"]);
    assert_eq!(values(1), ["default", "5000"]);
    assert_eq!(values(3), ["6000000", "1000"]);
    assert_eq!(values(8), ["24000000", "9000"]);
    assert_eq!(space.describe(8), "set.sched_latency_ns 24000000, workload.tasks.video.run 9000");
}

#[test]
fn threads_parts_and_a_reading_of_what_was_written_make_the_same_bytes() {
    let space = space(GRID);
    let whole = rows(&space, 1);
    assert_eq!(whole, rows(&space, 4));
    assert_eq!(whole.len(), 36);
    let again = Space::of_json(&space.to_json()).expect("to_json wrote it");
    assert_eq!(again.to_json(), space.to_json());
    for part in (0..space.parts()).rev() {
        let mut of_part = vec![];
        let ready = |_, rows: Vec<Row>| {
            of_part = rows;
            true
        };
        let stop = AtomicBool::new(false);
        again.run(&[part], threads(2), &stop, |_| (), ready).expect("the metrics exist");
        let expected: Vec<Row> =
            whole.iter().filter(|it| space.points_of(part).contains(&it.point)).cloned().collect();
        let bytes = encode(&again, PartForm::Csv, &of_part).expect("CSV is built in");
        assert_eq!(bytes, encode(&space, PartForm::Csv, &expected).expect("CSV is built in"));
        assert_eq!(decode(&space, PartForm::Csv, &bytes), Ok(of_part));
    }
}

/// A run of a space is the run of a plan with the same settings.
#[test]
fn a_point_is_the_run_of_a_plan() {
    let space = space(GRID);
    let all = rows(&space, 2);
    let row = all.iter().find(|row| row.point == 8 && row.repetition == 1).expect("the row exists");
    assert_eq!((row.scheduler.as_str(), row.seed), ("cfs@2.6.32", Some(2)));
    let text = WORKLOAD.replace("4000", "9000");
    let plan = Plan {
        set: vec![("sched_latency_ns".into(), 24_000_000.into())],
        repeat: 2,
        late_starts: true,
        ..Plan::new(Load::Workload(Source { file: "w.json".into(), text }), vec!["cfs".into()])
    };
    let prepared = plan.prepare().expect("the plan is valid");
    let session = prepared.repetition(&prepared.schedulers()[0], 1).expect("the session begins");
    let run = session.finish().expect("the run finishes");
    let spread = &run.report.wakeup_latency;
    assert_eq!(row.values[0], spread.p99_ns.map(|ns| ns as f64));
    let waits = run.report.tasks.iter().filter(|task| task.key == "hog").map(|task| task.wait_ns);
    assert_eq!(row.values[1], Some(waits.sum::<u64>() as f64 / 1e6));
    // A tunable that a scheduler lacks does not affect it.
    let of = |point| {
        let is = |row: &&Row| row.point == point && row.scheduler.starts_with("eevdf");
        all.iter().filter(is).map(|row| row.values.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of(2), of(8));
    assert_ne!(of(2), of(1));
}

#[test]
fn nice_policy_affinity_cpus_and_seeds_vary() {
    let space = space(
        r#"
        schedulers = ["cfs"]
        metrics = ["key_cpu_share(video)", "cpu_busy(0)"]
        axis = [
            { name = "set.nice:hog", values = [0, 19] },
            { name = "policy.hog", values = ["default", "SCHED_BATCH"] },
            { name = "affinity.hog", values = ["0", "0-1"] },
            { name = "cpus", values = [2, 3] },
            { name = "seed", values = [5, 6] },
        ]"#,
    );
    let all = rows(&space, 2);
    assert_eq!(all.len(), 32);
    assert!(all.iter().all(|row| row.error.is_none()), "{:?}", all[0]);
    assert_eq!(all[0].seed, Some(5));
    assert_eq!(all[1].seed, Some(6));
    let mean = |which: &dyn Fn(u64) -> bool, place: usize| {
        let of: Vec<f64> =
            all.iter().filter(|row| which(row.point)).filter_map(|row| row.values[place]).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    // Bound to CPU 0, the hogs have one CPU and video another, so video has more of the used time.
    assert!(mean(&|point| point & 4 == 0, 0) > mean(&|point| point & 4 != 0, 0));
}

#[test]
fn samples_fill_their_ranges() {
    let text = |sample: &str| {
        format!(
            r#"
            schedulers = ["cfs"]
            sample = "{sample}"
            samples = 40
            sample_seed = 7
            [[axis]]
            name = "set.sched_latency_ns"
            from = "1ms"
            to = "100ms"
            scale = "log"
            [[axis]]
            name = "workload.tasks.video.run"
            from = 1
            to = 40
            [[axis]]
            name = "set.nice:hog"
            values = [0, 5]
            "#
        )
    };
    let latin = space(&text("latin"));
    let points: Vec<Vec<AxisValue>> = (0..40).map(|number| latin.point(number)).collect();
    let mut runs: Vec<f64> = points.iter().filter_map(|point| point[1].as_f64()).collect();
    runs.sort_by(f64::total_cmp);
    assert_eq!(runs, (1..=40).map(f64::from).collect::<Vec<_>>(), "one in each piece");
    let below = points.iter().filter(|point| point[0].as_f64() < Some(1e7)).count();
    assert_eq!(below, 20, "half of a logarithmic range lies below its geometric centre");
    assert_eq!(points.iter().filter(|point| point[2] == AxisValue::Whole(5)).count(), 20);
    let random = space(&text("random"));
    assert_ne!(random.point(0), latin.point(0));
    assert_eq!(random.point(39), space(&text("random")).point(39));
}

#[test]
fn what_cannot_be_is_told_with_its_place_before_anything_runs() {
    let axis = |text: &str| format!("schedulers = [\"cfs\"]\n[[axis]]\n{text}");
    let cases = [
        ("[[axis]]\nname = \"cpus\"\nvalue = [1]", "s.toml:4:1: unknown field `value`"),
        ("", "nothing varies"),
        (&axis("name = \"cups\"\nvalues = [1]"), "s.toml:4:8: axis cups: \"cups\" cannot vary"),
        (&axis("name = \"cpus\"\nvalues = [0]"), "0 is not a number of CPUs"),
        (&axis("name = \"cpus\"\nvalues = []"), "there are no values"),
        (&axis("name = \"cpus\"\nvalues = [1, 1]"), "is given twice"),
        (&axis("name = \"cpus\""), "give values = [...]"),
        (&axis("name = \"cpus\"\nfrom = 4\nto = 1"), "from must be less"),
        (&axis("name = \"cpus\"\nfrom = 1\nto = 4"), "a grid needs values"),
        (&axis("name = \"hz\"\nfrom = 1\nto = 9\nsteps = 1"), "an axis has 2 to"),
        (&axis("name = \"set.sched_latncy_ns\"\nvalues = [1]"), "s.toml:4:8"),
        (&axis("name = \"set.sched_latency_ns\"\nvalues = [6000000, 1]"), "it must be"),
        (
            &axis("name = \"set.nice:hgo\"\nvalues = [1]"),
            "s.toml:4:8: axis set.nice:hgo: nice:hgo: there is no task",
        ),
        (&axis("name = \"workload.tasks.video.rn\"\nvalues = [1]"), "did you mean `run`?"),
        (&axis("name = \"workload.tasks.video.run\"\nvalues = [1, -5]"), "run"),
        (&axis("name = \"parameter.groups\"\nvalues = [1]"), "only a benchmark"),
        (&axis("name = \"scheduler\"\nvalues = [\"cfs\"]"), "leave one out"),
        (&axis("name = \"policy.hog\"\nvalues = [\"SCHED_BACH\"]"), "SCHED_BACH"),
        (&axis("name = \"machine\"\nvalues = [\"latop\"]"), "latop"),
        ("[[axis]]\nname = \"scheduler\"\nvalues = [\"cfs\", \"efvd\"]", "efvd"),
        (
            "metrics = [\"key_jobs(vido)\"]\naxis = [{name = \"cpus\", values = [1]}]",
            "s.toml:2:12: `key_jobs(vido)`: there is no task \"vido\"; did you mean video?",
        ),
        (
            "metrics = [\"figure(time)\"]\naxis = [{name = \"cpus\", values = [1]}]",
            "only a benchmark has figures",
        ),
        (
            "metrics = [\"wait_mean\", \"wait_mean\"]\naxis = [{name = \"cpus\", values = [1]}]",
            "two columns",
        ),
        ("sample = \"latin\"\naxis = [{name = \"cpus\", values = [1]}]", "samples is missing"),
        ("samples = 3\naxis = [{name = \"cpus\", values = [1]}]", "a grid has all points"),
        ("points = [[1, 2]]\naxis = [{name = \"cpus\", values = [1]}]", "has 2 values"),
        ("repeat = 0\naxis = [{name = \"cpus\", values = [1]}]", "repeat is 0"),
        ("benchmark = \"hackbench\"\naxis = [{name = \"cpus\", values = [1]}]", "one of"),
        ("axis = [{name = \"cpus\", values = [1]}, {name = \"cpus\", values = [2]}]", "twice"),
        (
            "repeat = 90000\nschedulers = [\"cfs\"]\n\
             axis = [{name = \"hz\", from = 100, to = 130, step = 1}]",
            "more than",
        ),
    ];
    for (text, part) in cases {
        let Err(error) = parsed(text) else { panic!("it was accepted: {text}") };
        assert!(error.contains(part), "no \"{part}\" in: {error}\nof {text}");
    }
    let json = Space::parse("s.json", "{\n \"axes\": []}", &mut |name| read(name));
    let error = json.err().expect("there is no such key");
    assert!(error.starts_with("s.json:2:7: unknown field"), "{error}");
}

#[test]
fn a_point_that_cannot_be_run_is_a_row_that_says_so() {
    // Not tried in advance: only 64 of many points are.
    let text = r#"
        metrics = ["wait_mean"]
        axis = [
            { name = "seed", from = 1, to = 80, step = 1 },
            { name = "set.sched_latency_ns", values = [20_000_000, 100_000] },
        ]
        schedulers = ["cfs"]"#;
    let space = space(text);
    assert_eq!(space.points(), 160);
    let all = rows(&space, 2);
    assert!(all.iter().all(|row| row.end == EndState::TimeUp || row.error.is_some()));
}

#[test]
fn a_benchmark_has_figures_and_parameters() {
    let text = r#"
        benchmark = "hackbench"
        schedulers = ["o_n", "cfs"]
        parameters = { loops = 3 }
        metrics = ["figure(time)"]
        axis = [{ name = "parameter.groups", values = [1, 2] }]
        repeat = 2"#;
    let (space, _) =
        Space::parse("b.toml", text, &mut |name| read(name)).expect("the file is valid");
    let all = rows(&space, 2);
    assert_eq!(all.len(), 8);
    assert!(all.iter().all(|row| row.values[0] > Some(0.0)), "{all:?}");
    assert_eq!((all[0].seed, all[2].seed), (Some(1), Some(2)));
    let misspelt = text.replace("figure(time)", "figure(tme)");
    let (space, _) = Space::parse("b.toml", &misspelt, &mut |name| read(name))
        .expect("the figure is unknown before a run");
    let stop = AtomicBool::new(false);
    let error =
        space.run(&[0], threads(1), &stop, |_| (), |_, _| true).expect_err("no such figure");
    assert!(error.contains("did you mean time?"), "{error}");
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let space = space(GRID);
    let directory = directory("resume");
    let run = |most: usize, count: usize| {
        let store = Store::open(&directory, &space, PartForm::Csv, "test")
            .expect("the directory is of this sweep");
        let missing = store.missing();
        let mut written = 0;
        let ready = |part, rows: Vec<Row>| {
            let bytes = encode(&space, PartForm::Csv, &rows).expect("CSV is built in");
            store.write(part, &bytes).expect("the part is written");
            written += 1;
            written < most
        };
        let stop = AtomicBool::new(false);
        space.run(&missing, threads(count), &stop, |_| (), ready).expect("the metrics exist");
        (missing, store)
    };
    let (missing, store) = run(2, 3);
    assert_eq!(missing, [0, 1, 2, 3, 4]);
    std::fs::remove_file(store.path(0)).expect("the part exists");
    let (missing, store) = run(9, 1);
    assert_eq!(missing, [0, 2, 3, 4]);
    let mut read = vec![];
    for part in 0..space.parts() {
        read.extend(store.read(&space, part).expect("the part exists"));
    }
    assert_eq!(read, rows(&space, 2));
    let other = super::tests::space(&GRID.replace("9000", "9001"));
    let error = Store::open(&directory, &other, PartForm::Csv, "test").expect_err("another sweep");
    assert!(error.contains("of another sweep"), "{error}");
    let error = Store::open(&directory, &space, PartForm::Csv, "later").expect_err("other program");
    assert!(error.contains("made by version test"), "{error}");
    std::fs::copy(store.path(2), store.path(1)).expect("the part is copied");
    let error = store.read(&space, 1).expect_err("it is another part");
    assert!(error.contains("belong to another part") && error.contains("remove it"), "{error}");
    std::fs::write(store.path(1), "point\n").expect("the file is written");
    let error = store.read(&space, 1).expect_err("it is damaged");
    assert!(error.contains("part-00001.csv") && error.contains("remove it"), "{error}");
    std::fs::remove_dir_all(&directory).expect("the directory exists");
    std::fs::create_dir(&directory).expect("the directory is created");
    std::fs::write(directory.join("letter.txt"), "dear").expect("the file is written");
    let error = Store::open(&directory, &space, PartForm::Csv, "test").expect_err("not ours");
    assert!(error.contains("holds no sweep"), "{error}");
    std::fs::remove_dir_all(&directory).expect("the directory exists");
}

#[test]
fn a_stop_ends_it_between_two_runs() {
    let space = space(GRID);
    let stop = AtomicBool::new(false);
    let done = std::sync::atomic::AtomicUsize::new(0);
    let parts: Vec<u64> = (0..space.parts()).collect();
    let count = |_: &[Row]| {
        done.fetch_add(1, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
    };
    let mut ready = 0;
    let each = |_, _| {
        ready += 1;
        true
    };
    space.run(&parts, threads(1), &stop, count, each).expect("the metrics exist");
    assert_eq!((done.into_inner(), ready), (1, 0));
}

#[test]
fn means_have_intervals_by_students_t() {
    let mean = Mean::of(&[1.0, 2.0, 3.0, 4.0]).expect("the list is not empty");
    assert_eq!((mean.count, mean.mean, mean.min, mean.max), (4, 2.5, 1.0, 4.0));
    // sd 1.29099, over sqrt(4), times 3.1824.
    assert!((mean.half_width.expect("there are four values") - 2.0543).abs() < 1e-3);
    assert_eq!(Mean::of(&[1.0]).and_then(|mean| mean.half_width), None);
    assert_eq!(Mean::of(&[]), None);
    // From a table of Student's t: 40, 120 and 1,000,000 degrees of freedom.
    for (freedom, expected) in [(40, 2.0211), (120, 1.9799), (1_000_000, 1.9600)] {
        assert!((t_95(freedom) - expected).abs() < 1e-4, "{freedom}");
    }
}

#[test]
fn the_front_has_what_nothing_beats() {
    let space = space(
        "metrics = [\"wait_mean\", \"throughput\"]\nschedulers = [\"cfs\"]\n\
         axis = [{name = \"seed\", values = [1, 2, 3, 4, 5]}]",
    );
    let values = [(5.0, 10.0), (3.0, 8.0), (4.0, 7.0), (3.0, 8.0), (9.0, 10.0)];
    let mut summary = Summary::default();
    for (point, (wait, throughput)) in values.into_iter().enumerate() {
        summary.add(&Row {
            point: point as u64,
            repetition: 0,
            seed: None,
            scheduler: "cfs@2.6.32".into(),
            end: EndState::TimeUp,
            error: None,
            values: vec![Some(wait), Some(throughput)],
        });
    }
    let cells = summary.cells();
    assert_eq!(best(&space, &cells, 0).map(|cell| cell.point), Some(1));
    assert_eq!(best(&space, &cells, 1).map(|cell| cell.point), Some(0));
    let front: Vec<u64> = pareto(&space, &cells, &[0, 1]).iter().map(|it| it.point).collect();
    assert_eq!(front, [1, 3, 0]);
}

fn judged(space: &Space, rungs: &[Rung], count: usize) -> Vec<JudgedRun> {
    let mut all = vec![];
    let ready = |one| {
        all.push(one);
        true
    };
    space.run_judged(threads(count), rungs, ready).expect("the metrics exist");
    all
}

#[test]
fn the_figure_at_a_rung_is_that_of_a_run_which_ends_there() {
    let metrics = "metrics = [\"wait_mean\", \"key_jobs(hog)\", \"burst_lag_max\"]\nrepeat = 2\n\
                   schedulers = [\"cfs\"]\nseed = 3\n";
    let axis =
        |name: &str, values: &str| format!("[[axis]]\nname = \"{name}\"\nvalues = {values}\n");
    let varied = axis("set.sched_min_granularity_ns", "[1000000, 9000000]");
    let whole = space(&format!("{metrics}{varied}"));
    let rung = |at_ns, metric| Rung { at_ns, metric, more_is_better: false, limits: vec![] };
    let rungs = [rung(250_000_000, 0), rung(500_000_000, 1), rung(750_000_000, 2)];
    let on_the_way = judged(&whole, &rungs, 3);
    assert_eq!(on_the_way.len(), 4);
    let runs: Vec<Row> = on_the_way.iter().map(|one| one.row.clone()).collect();
    assert_eq!(runs, rows(&whole, 1), "looking at a run changes nothing");
    assert!(on_the_way.iter().all(|one| !one.is_ended));
    for (number, seconds) in [(0, 0.25), (1, 0.5), (2, 0.75)] {
        let cut = space(&format!("{metrics}{varied}{}", axis("duration", &format!("[{seconds}]"))));
        let values: Vec<_> = rows(&cut, 1).iter().map(|row| row.values[number]).collect();
        let passed: Vec<_> = on_the_way.iter().map(|one| one.passed[number]).collect();
        assert_eq!(passed, values, "at {seconds} s");
        assert!(values[0].is_some());
    }
}

#[test]
fn a_run_that_is_worse_than_its_limit_ends_at_the_rung() {
    let space = space(
        "metrics = [\"length\"]\nrepeat = 2\nschedulers = [\"cfs\"]\nseed = 3\n\
         [[axis]]\nname = \"cpus\"\nvalues = [2]\n",
    );
    let half = Rung {
        at_ns: 500_000_000,
        metric: 0,
        more_is_better: false,
        limits: vec![Some(499_999_999.0), Some(500_000_000.0)],
    };
    let ended = judged(&space, std::slice::from_ref(&half), 1);
    let lengths: Vec<_> = ended.iter().map(|one| (one.is_ended, one.row.values[0])).collect();
    assert_eq!(lengths, [(true, Some(5e8)), (false, Some(1e9))]);
    let more = Rung { more_is_better: true, limits: vec![Some(500_000_001.0), None], ..half };
    let ended = judged(&space, &[more], 1);
    assert_eq!(ended.iter().map(|one| one.is_ended).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn what_json_has_no_word_for_is_pointed_at() {
    let wrong = |text| toml_json("t.toml", text).unwrap_err();
    let nan = "[[axis]]\nname = \"cpus\"\nvalues = [1, nan]\n";
    assert_eq!(wrong(nan), "t.toml:3:14: nan is not a usable number");
    assert!(wrong("duration = -inf").starts_with("t.toml:1:12: -inf is not a usable number"));
    assert!(wrong("duration = ").starts_with("t.toml:1:"));
    assert_eq!(toml_json("t.toml", "duration = 1.5").unwrap(), r#"{"duration":1.5}"#);
}
