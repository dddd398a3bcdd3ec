//! No verdict about hackbench and similar benchmarks depends on a single assumed cost: each cost is
//! made a fifth larger and a fifth smaller, on all machines at once, and everything is judged again
//! as `papers` judges it.
//!
//! `cargo test` does so with small storms on the same machines. For the full experiments, run:
//!
//! ```sh
//! cargo test --release -p schedlab-papers --test sensitivity -- --ignored --nocapture
//! ```
//!
//! Results are kept in a file under `target/tmp` (or in the directory `$SCHEDLAB_SENSITIVITY`), so
//! that an interruption loses nothing. The file's name contains the results of the small storms:
//! with a different program, or different machines, the test starts from scratch.
//! `$SCHEDLAB_SENSITIVITY_OF` names the experiments (`HB-1 HB-2`), and
//! `$SCHEDLAB_SENSITIVITY_STEPS=1` stops after the short forms.

use schedlab_lab::parallel;
use schedlab_papers::sensitivity::{self, Findings, Known, Study};
use schedlab_papers::{Catalogue, Verdict, embedded};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;

const MACHINES: [&str; 4] =
    ["pentium3-1000x1", "pentium3-850x2", "pentium3-700x4", "pentium3-700x8"];

/// The demands of HB-1, HB-2 and HB-4 that also appear in storms so small that they take no time.
const SMALL: &str = include_str!("sensitivity.toml");

/// Runs `study` with these arguments, and prints its findings.
fn findings(
    catalogue: &Catalogue,
    ids: &[&str],
    costs: Vec<String>,
    known: &mut BTreeMap<String, Known>,
    learnt: impl FnMut(&str, &Known, usize),
) -> Findings {
    let ids: Vec<String> = ids.iter().map(|id| id.to_string()).collect();
    let study = Study {
        catalogue,
        chosen: catalogue.choose(&ids).unwrap_or_else(|error| panic!("{error}")),
        costs,
        seeds: 5,
        threads: parallel::cores(),
        steps: std::env::var("SCHEDLAB_SENSITIVITY_STEPS")
            .map_or(sensitivity::STEPS, |steps| steps.parse().expect("a number of steps")),
    };
    let findings = study.run(known, learnt).unwrap_or_else(|error| panic!("{error}"));
    for (says, verdict, value, share) in &findings.demands {
        println!("{}: {says}: {value:?}, holds under {share:?}", verdict.name());
    }
    println!("in part, not judged again: {:#?}", findings.in_part);
    println!("charged nowhere: {}", findings.charged_nowhere.join(", "));
    println!(
        "{} changes; settled under one, most, all: {:?}",
        findings.changes.len(),
        findings.settled
    );
    let mut moved: BTreeMap<&str, (f64, String)> = BTreeMap::new();
    for (change, says, times) in &findings.moved {
        let most = moved.entry(says).or_insert((1.0, String::new()));
        if times.ln().abs() > most.0.ln().abs() {
            *most = (*times, format!("{} {} %", change.name, change.percent));
        }
    }
    for (says, (times, change)) in moved {
        println!("moved most: {says}: {times:.3} by {change}");
    }
    for (change, says) in &findings.unsettled {
        println!("unsettled: {} {} %: {says}", change.name, change.percent);
    }
    for turn in &findings.turned {
        println!("turns: {turn:?}");
    }
    findings
}

fn small(costs: Vec<String>) -> Findings {
    let targets = "id,case,quantity,unit,low,high,published\n";
    let catalogue = Catalogue::read([("sensitivity.toml", SMALL)], ("targets.csv", targets));
    let catalogue = catalogue.unwrap_or_else(|error| panic!("{error}"));
    findings(&catalogue, &[], costs, &mut BTreeMap::new(), |_, _, _| ())
}

fn assumed() -> Vec<String> {
    sensitivity::assumed(&MACHINES).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn no_verdict_about_small_storms_turns_with_a_single_assumed_cost() {
    let findings = small(assumed());
    let missed = |(_, verdict, ..): &&(String, Verdict, _, _)| !verdict.is_met();
    let missed: Vec<_> = findings.demands.iter().filter(missed).collect();
    assert!(missed.is_empty(), "small storms are chosen so that all demands are met: {missed:#?}");
    assert!(findings.changes.len() >= 30, "only {} changes", findings.changes.len());
    assert!(findings.turned.is_empty(), "verdicts that turn:\n{:#?}", findings.turned);
}

#[test]
#[ignore = "takes some 20 minutes of CPU time"]
fn no_verdict_turns_with_a_single_assumed_cost() {
    let mut print = DefaultHasher::new();
    for (says, _, value, _) in small(vec![]).demands {
        (says, value.map(f64::to_bits)).hash(&mut print);
    }
    let directory = std::env::var_os("SCHEDLAB_SENSITIVITY").map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").into());
    let path = directory.join(format!("sensitivity-{:016x}.tsv", print.finish()));
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let mut known: BTreeMap<String, Known> =
        kept.split_inclusive('\n').filter_map(Known::parse).collect();
    println!("{}: {} simulations", path.display(), known.len());
    let mut file =
        File::options().create(true).append(true).open(&path).expect("the file can be written");
    // Ends a line that was cut off.
    file.write_all(if kept.is_empty() || kept.ends_with('\n') { b"" } else { b"\n" })
        .expect("the file can be written");
    let catalogue = embedded::catalogue().unwrap_or_else(|error| panic!("{error}"));
    let learnt = |key: &str, one: &Known, left: usize| {
        writeln!(file, "{}", one.line(key)).expect("the file can be written");
        if left.is_multiple_of(50) {
            println!("{left} left");
        }
    };
    let ids = std::env::var("SCHEDLAB_SENSITIVITY_OF").unwrap_or("HB-1 HB-2 HB-4".into());
    let ids: Vec<&str> = ids.split(' ').collect();
    let findings = findings(&catalogue, &ids, assumed(), &mut known, learnt);
    assert_eq!(findings.unsettled, [], "not all was simulated");
    assert!(findings.turned.is_empty(), "verdicts that turn:\n{:#?}", findings.turned);
}
