//! Real kernels as witnesses: measurements on Linux 6.18 next to their simulation.
//!
//! `live/` contains some of the measurements, compressed: workloads on a real machine of 2 CPUs
//! (`live`, where the share of other programs is usually below 2 %), and on an emulated one (`vm`,
//! without noise). These tests check the statements of `docs/live.md` about the model, and that the
//! comparison detects another kernel.

use schedlab_compare::judge::Metric;
use schedlab_compare::text::{self, Form};
use schedlab_compare::{self, Comparison, Document, Noise, Options};
use schedlab_lab::compressed;
use std::path::{Path, PathBuf};

fn files(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder exists")
        .map(|entry| entry.expect("the entry is readable").path())
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(kind))
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no measurements of kind {kind}");
    files
}

fn documents(kind: &str) -> Vec<Document> {
    let read = |path: &PathBuf| {
        let bytes = compressed::read(path, compressed::LIMIT).expect("the file is readable");
        let text = compressed::as_text(&bytes).expect("the file is text");
        let name = path.display().to_string();
        Document::parse(&name, text)
            .expect("the document is valid")
            .expect("the document has a workload")
    };
    files(kind).iter().map(read).collect()
}

fn answer(kind: &str, options: &Options) -> Comparison {
    schedlab_compare::compare(&documents(kind), options).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the demands that are missed, in words.
fn missed(answer: &Comparison) -> Vec<String> {
    let checks = answer.checks.iter().filter(|check| !check.holds);
    checks
        .map(|one| {
            format!(
                "{}: {} is {:.2}, bound {:.2}",
                one.class.title(),
                one.what,
                one.found,
                one.bound
            )
        })
        .collect()
}

/// One CPU of a real machine: the bounds of the class are met, and the model is hardly worse than
/// one real run is for the others.
#[test]
fn the_simulation_comes_near_to_a_real_kernel() {
    let answer = answer("live-", &Options::default());
    assert_eq!(missed(&answer), Vec::<String>::new());
    assert!(answer.placements.len() > 40 && answer.checks.len() == 8);
    // Of p99 alone, fewer are met than real runs predict of each other: 85 %, and 91 %.
    let one_cpu = &answer.totals[0].metrics[&Metric::P99];
    assert!(one_cpu.percent(one_cpu.met) > 80.0);
}

/// Emulated machines, without noise, with one and several CPUs.
#[test]
fn the_simulation_comes_near_to_an_emulated_kernel() {
    let answer = answer("vm-", &Options::default());
    // On two nodes of two cores of two threads each run settles in one of two ways, and the
    // kernel's single trace has one of them: docs/live.md.
    let missed = missed(&answer);
    let known = "half-hogs-and-inters.numa-2x2x2: wakeups that took an idle CPU near the last";
    assert!(missed.len() == 1 && missed[0].contains(known), "{missed:#?}");
    assert!(answer.checks.len() >= 40, "{}", answer.checks.len());
}

/// A deliberate fault is detected: bounds of one CPU are missed that are met otherwise.
#[test]
fn another_kernel_is_noticed() {
    let one_cpu = Options { placements: vec!["cpu0".into(), "cpu1".into()], ..Options::default() };
    assert_eq!(missed(&answer("live-", &one_cpu)), Vec::<String>::new());
    let broken = [
        Options { set: vec![("DELAY_DEQUEUE".into(), 0)], ..one_cpu.clone() },
        Options { hz: Some(1000), ..one_cpu.clone() },
        Options { scheduler: Some("eevdf@6.6".into()), ..one_cpu.clone() },
    ];
    for options in broken {
        let answer = answer("live-", &options);
        assert!(!answer.holds, "{:?} {:?} {:?}", options.set, options.hz, options.scheduler);
        assert!(!missed(&answer).is_empty());
    }
}

/// Without costs and late timers, periodic tasks stay in step with the tick, as on no real
/// machine. Without other programs, no noise causes switches.
#[test]
fn an_idealised_machine_is_noticed() {
    let options = Options {
        no_costs: true,
        noise: Noise::None,
        placements: vec!["vm".into()],
        ..Options::default()
    };
    assert!(!answer("vm-", &options).holds);
}

/// The same documents give the same comparison, on any number of threads.
#[test]
fn the_answer_does_not_depend_on_threads() {
    let one = Options {
        runs: 2,
        threads: std::num::NonZeroUsize::MIN,
        placements: vec!["cpu0".into()],
        ..Options::default()
    };
    let two = Options {
        threads: std::num::NonZeroUsize::new(2).expect("the count is not 0"),
        ..one.clone()
    };
    let json =
        |options| serde_json::to_string(&answer("live-", options)).expect("the comparison is JSON");
    assert_eq!(json(&one), json(&two));
}

/// The work of other programs is a model where no trace has it, and is reported.
#[test]
fn others_work_is_replayed_or_drawn_or_left_out() {
    let noise = |noise| {
        let options =
            Options { runs: 2, noise, placements: vec!["cpu0".into()], ..Options::default() };
        let answer = answer("live-", &options);
        answer.placements[0].noise.clone()
    };
    assert!(noise(Noise::Auto).contains("as in the trace"));
    assert!(noise(Noise::Model).contains("random times"));
    assert!(noise(Noise::None).contains("left out"));
}

/// The tables of `docs/live.md` equal the output, and README states only what is in them.
#[test]
fn the_documents_say_what_comes_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("the document exists");
    let page = read("docs/live.md");
    let from = page.find("## How near the simulation comes").expect("the page has the section");
    let section = page[from + 3..].split("\n## ").next().expect("the section has text");
    let shown: Vec<&str> = section.lines().filter(|line| line.starts_with('|')).collect();
    let mut made = vec![];
    let mut totals = vec![];
    for kind in ["live-", "vm-", "vm7-"] {
        let text = text::text(&answer(kind, &Options::default()), Form::Markdown, false);
        let asked = text.find("### Demands").expect("the section has the bounds");
        let rows =
            |text: &str| text.lines().filter(|it| it.starts_with('|')).map(String::from).collect();
        let of_kind: Vec<String> = rows(&text[..asked]);
        totals.extend(of_kind);
        let all: Vec<String> = rows(&text);
        made.extend(all);
    }
    let stale: Vec<&&str> =
        shown.iter().filter(|row| !made.iter().any(|one| one == **row)).collect();
    assert_eq!(stale, Vec::<&&str>::new(), "renew docs/live.md by the commands that it names");
    let missing: Vec<&String> = totals.iter().filter(|row| !shown.contains(&&***row)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "renew docs/live.md by the commands that it names");
    // README's statements about the real kernel are in a paragraph with a link to that page. It
    // quotes the tables, and the thresholds by which a metric counts as met.
    let thresholds =
        page.lines().find(|line| line.starts_with("| met |")).expect("the page has thresholds");
    let readme = read("README.md");
    for paragraph in readme.split("\n\n").filter(|it| it.contains("docs/live.md")) {
        for word in paragraph.replace('\n', " ").split(" %").map(str::to_string) {
            let number = word.rsplit(' ').next().unwrap_or_default();
            if number.parse::<f64>().is_ok() && paragraph.contains(&format!("{number} %")) {
                let there = shown.iter().chain([&thresholds]).any(|row| {
                    row.contains(&format!(" {number} %")) || row.contains(&format!(" {number}.0 %"))
                });
                assert!(there, "README says {number} %, which no table of docs/live.md has");
            }
        }
    }
}

/// Linux 7.3, where a timer ends turns: CPU times and numbers of turns. Under 6.18 the difference
/// is detected.
#[test]
fn the_simulation_comes_near_to_turns_that_end_by_a_timer() {
    let answer_of = |scheduler: Option<&str>| {
        let scheduler = scheduler.map(String::from);
        answer("vm7-", &Options { scheduler, ..Options::default() })
    };
    let found = answer_of(None);
    assert_eq!(found.placements.len(), 2);
    for placement in &found.placements {
        assert_eq!(placement.scheduler, "eevdf@7.3");
        assert!(!placement.notes.iter().any(|note| note.contains("not modelled")));
        for task in &placement.tasks {
            // In nested groups the model's hogs take a tenth more turns.
            let is_known = placement.name.contains("groups-nested");
            for (metric, bound, known) in [(Metric::Cpu, 0.5, 0.5), (Metric::Switches, 5.0, 12.0)] {
                let Some(figure) = task.figure(metric) else { continue };
                let bound = if is_known { known } else { bound };
                let (name, off) = (&task.name, figure.error);
                assert!(off.abs() <= bound, "{}, {name}: {metric:?} {off}", placement.name);
            }
        }
    }
    for other in ["eevdf@6.18", "eevdf@6.12"] {
        let found = answer_of(Some(other));
        let missed = missed(&found);
        assert!(missed.iter().any(|one| one.contains("times scheduled in")), "{other}: {missed:?}");
    }
    let off = Options { set: vec![("HRTICK".into(), 0)], ..Options::default() };
    assert!(missed(&answer("vm7-", &off)).iter().any(|one| one.contains("times scheduled in")));
}

/// A kernel without a model is reported.
#[test]
fn a_kernel_that_is_not_modelled_is_named() {
    let mut documents = documents("vm7-inter");
    documents[0].machine.kernel = "7.4.1".into();
    let answer = schedlab_compare::compare(&documents, &Options { runs: 1, ..Options::default() });
    let answer = answer.expect("the comparison succeeds");
    let notes = &answer.placements[0].notes;
    assert!(notes.iter().any(|note| note.contains("kernel 7.4.1 is not modelled")), "{notes:?}");
    assert_eq!(answer.placements[0].scheduler, "eevdf@7.3");
}

/// Threads of only one side are reported. Without common threads, there is nothing to compare.
#[test]
fn threads_that_only_one_side_has_are_told() {
    let mut documents = documents("live-hogs-2");
    let options = Options { runs: 1, placements: vec!["cpu0".into()], ..Options::default() };
    let tasks = |documents: &mut Vec<Document>, change: fn(String) -> String| {
        let of = &mut documents[0].placements;
        let placement = of.iter_mut().find(|one| one.name == "cpu0").expect("the placement exists");
        for (name, _) in &mut placement.tasks {
            *name = change(std::mem::take(name));
        }
        placement.rejected = true;
    };
    let strange = |name: String| if name.ends_with("-0") { "ghost-0".to_string() } else { name };
    tasks(&mut documents, strange);
    let answer =
        schedlab_compare::compare(&documents, &options).expect("one thread is on both sides");
    let notes = answer.placements[0].notes.join("\n");
    assert!(notes.contains("no simulated run has `ghost-0`"), "{notes}");
    assert!(notes.contains("there is no measurement of "), "{notes}");
    assert!(notes.contains("marked as rejected"), "{notes}");
    tasks(&mut documents, |name| format!("x{name}"));
    let error = schedlab_compare::compare(&documents, &options)
        .expect_err("no thread is on both sides")
        .to_string();
    assert!(error.contains("placements.cpu0.tasks: the measured threads (`xA-1`, `x"), "{error}");
    let nowhere = Options { placements: vec!["cpu0".into(), "cpu9".into()], ..options };
    let error =
        schedlab_compare::compare(&documents, &nowhere).expect_err("there is no cpu9").to_string();
    assert!(error.starts_with("--placement cpu9: there is no placement"), "{error}");
}

/// Documents that are not measurements are refused, with the place.
#[test]
fn documents_that_are_none_are_refused() {
    let machine = r#""machine": {"kernel": "6.18.44", "cpus": 2, "hz": 250}"#;
    let scenario =
        r#""scenario": {"global": {"duration": 1}, "tasks": {"a": {"run": 5, "loop": -1}}}"#;
    let whole = |machine: &str, scenario: &str, placements: &str| {
        format!(
            r#"{{"format": "live-schedule/1", {machine}, {scenario}, "placements": {placements}}}"#
        )
    };
    let cpu =
        r#"{"cpu0": {"runs": 1, "tasks": {"a-0": {"cpu_ns": {"min": 1, "median": 1, "max": 1}}}}}"#;
    assert!(
        Document::parse("d", &whole(machine, scenario, cpu))
            .expect("the document is valid")
            .is_some()
    );
    let results = r#"{"format": "live-benchmarks/1", "results": []}"#;
    assert!(Document::parse("d", results).expect("the document is valid").is_none());
    let cases = [
        ("{".to_string(), "it is not JSON"),
        ("{}".into(), "format: it must be"),
        (r#"{"format": "live-schedule/2"}"#.into(), "found \"live-schedule/2\""),
        (whole(machine, scenario, "{}"), "nothing was measured"),
        (
            whole(machine, scenario, r#"{"x": {"tasks": {}}}"#),
            "the CPUs of this placement are missing",
        ),
        (whole(machine, scenario, r#"{"cpu7": {"tasks": {}}}"#), "CPUs 0 to 1"),
        (whole(r#""machine": {"kernel": "6.18", "cpus": 0}"#, scenario, cpu), "1 to 4096"),
        (whole(r#""machine": {"cpus": 1}"#, scenario, cpu), "kernel"),
        (whole(machine, r#""scenario": {"tasks": {"a": {"rum": 5}}}"#, cpu), "rum"),
        (
            whole(
                machine,
                scenario,
                r#"{"cpu0": {"tasks": {"a-0": {"cpu_ns": {"min": 2, "median": 1, "max": 3}}}}}"#,
            ),
            "median 1 is not between",
        ),
        (
            whole(
                machine,
                scenario,
                r#"{"cpu0": {"tasks": {}, "trace": {"window_ns": 5, "slices": [[9, 0, 1, "a-0"]]}}}"#,
            ),
            "trace.slices",
        ),
        (
            whole(
                machine,
                scenario,
                r#"{"cpu0": {"tasks": {}, "trace": {"window_ns": 5, "slices": [],
                    "wakeups": [[1, "a-0", 7]]}}}"#,
            ),
            "trace.wakeups",
        ),
        (
            whole(
                machine,
                scenario,
                r#"{"cpu0": {"tasks": {}, "trace": {"window_ns": 18446744073709551615,
                    "slices": [[0, 0, 18446744073709551615, "a-0"]]}}}"#,
            ),
            "trace.window_ns",
        ),
        (
            whole(
                machine,
                scenario,
                r#"{"cpu0": {"duration_ns": 900000000000000000, "tasks": {}}}"#,
            ),
            "an hour at most",
        ),
        (
            whole(machine, scenario, r#"{"cpu0": {"foreign_cpu_fraction": [1e308], "tasks": {}}}"#),
            "foreign_cpu_fraction",
        ),
        (
            whole(
                machine,
                scenario,
                r#"{"cpu0": {"tasks": {"a-0": {"cpu_ns": {"min": -5, "median": 1, "max": 1e300}}}}}"#,
            ),
            "is neither a time nor a count",
        ),
        // The place is reported as precisely as it is known.
        (
            whole(r#""machine": {"kernel": "6.18"}"#, scenario, cpu),
            ": machine: missing field `cpus`",
        ),
        (
            whole(r#""machine": {"kernel": 6, "cpus": 1}"#, scenario, cpu),
            ": machine: kernel: invalid",
        ),
        (whole(r#""machine": []"#, scenario, cpu), ": machine: it must be an object"),
        (
            whole(machine, scenario, r#"{"cpu0": {"runs": "x", "tasks": {}}}"#),
            ": placements.cpu0: runs: invalid type",
        ),
        (
            whole(machine, scenario, r#"{"cpu0": {"tasks": {}, "trace": {"slices": []}}}"#),
            ": placements.cpu0: trace: missing field `window_ns`",
        ),
        (
            whole(machine, scenario, r#"{"cpu0": {"tasks": {"a-0": {"wake_latency_ns": "x"}}}}"#),
            ": placements.cpu0: tasks.a-0: wake_latency_ns: it must be an object",
        ),
        // More CPU time than the length of the run.
        (
            whole(
                machine,
                scenario,
                r#"{"cpu0": {"tasks": {"a-0": {"cpu_ns": {"min": 1, "median": 1, "max": 9e9}}}}}"#,
            ),
            "cpu_ns: 9000000000 ns in a run of 1000000000 ns is impossible",
        ),
        // The figure of every run must be valid.
        (
            whole(
                machine,
                scenario,
                r#"{"cpu0": {"tasks": {"a-0": {"cpu_ns": {"min": 1, "median": 1, "max": 1}}},
                    "repetitions": [{"quiet": true, "tasks": {"a-0": {"cpu_ns": "x"}}}]}}"#,
            ),
            "tasks.a-0: cpu_ns: in repetitions: \"x\" is neither a time",
        ),
        (r#"{"tasks": {"a": {"run": 5}}}"#.into(), "it looks like a workload"),
        (r#"{"topology": {}, "costs": {}}"#.into(), "it looks like a machine's file"),
    ];
    for (text, wanted) in cases {
        let error = Document::parse("d.json", &text).expect_err(wanted);
        assert!(error.contains("d.json") && error.contains(wanted), "{wanted}: {error}");
    }
}
