//! Every golden schedule must be met, but for those that `tests/golden/README.md` lists with a
//! reason.

use schedlab_core::{Event, Observer};
use schedlab_lab::parallel;
use schedlab_lab::verify::{GoldenError, check_file, collect, observe_file, verify_file};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// The paths in the README's table of files that do not agree.
fn known_to_disagree() -> BTreeSet<String> {
    let readme = std::fs::read_to_string(golden().join("README.md")).expect("the README is there");
    let (_, rest) =
        readme.split_once("## Files that do not agree").expect("the README has the section");
    let section = rest.split("\n## ").next().expect("there is a first part");
    let path = |line: &str| {
        let cell = line.strip_prefix('|')?.split('|').next()?;
        Some(cell.trim().trim_matches('`').to_string())
    };
    section.lines().filter_map(path).filter(|cell| cell.contains(".json")).collect()
}

#[test]
fn every_golden_schedule_is_met_but_for_those_listed() {
    let root = golden();
    let files = collect(std::slice::from_ref(&root)).expect("the golden schedules are there");
    assert!(files.len() > 800, "only {} files", files.len());
    let results = parallel::map(&files, parallel::cores(), |file| verify_file(&file.path));
    let listed = known_to_disagree();
    let mut seen = BTreeSet::new();
    let mut wrong = vec![];
    let mut agreeing = 0;
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    for (file, result) in files.iter().zip(results) {
        let name = file.path.strip_prefix(&root).expect("it is below").display().to_string();
        let known = listed.contains(&name);
        if known {
            seen.insert(name.clone());
        }
        match result {
            Ok(verdict) => match verdict.difference {
                None if known => {
                    wrong.push(format!("{name} agrees, though the README says it does not"))
                }
                None => agreeing += 1,
                Some(_) if known => {}
                Some(difference) => wrong.push(format!("{name}: {difference}")),
            },
            Err(GoldenError::Vectors) => {}
            Err(GoldenError::UnknownScheduler { scheduler, kernel }) => {
                *skipped.entry(format!("{scheduler} of kernel {kernel}")).or_default() += 1;
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    for missing in listed.difference(&seen) {
        wrong.push(format!("{missing} is listed in the README and not there"));
    }
    println!("{agreeing} files agree, {} are known not to", seen.len());
    for (scheduler, count) in skipped {
        println!("{count} files skipped: there is no scheduler {scheduler}");
    }
    assert!(agreeing > 0, "nothing was replayed");
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every golden schedule once more, under every invariant that holds at every event; and asked for
/// the reason of every pick, whom it names must be who is picked.
#[test]
fn every_golden_schedule_keeps_every_invariant_and_its_reasons_are_true() {
    let root = golden();
    let files = collect(std::slice::from_ref(&root)).expect("the golden schedules are there");
    let results = parallel::map(&files, parallel::cores(), |file| check_file(&file.path));
    let mut wrong = vec![];
    let mut checked = 0;
    for (file, result) in files.iter().zip(results) {
        match result {
            Ok(None) => checked += 1,
            Ok(Some(violation)) => wrong.push(format!("{}: {violation}", file.path.display())),
            Err(GoldenError::Vectors | GoldenError::UnknownScheduler { .. }) => {}
            Err(error) => wrong.push(format!("{}: {error}", file.path.display())),
        }
    }
    assert!(checked + wrong.len() > 800, "only {checked} files");
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

/// Any observer can be attached to a golden schedule, and whether it asks for reasons changes
/// nothing else that it sees.
#[test]
fn a_golden_schedule_can_be_observed() {
    #[derive(Default)]
    struct Counts {
        events: u64,
        accounts: u64,
    }
    impl Observer for Counts {
        fn on(&mut self, _now_ns: u64, event: Event<'_>) {
            match event {
                Event::Decided { .. } => self.accounts += 1,
                _ => self.events += 1,
            }
        }
    }
    let file = golden().join("round_robin/hogs-3-nice0-1cpu.json.xz");
    let observe = |reasons| observe_file(&file, reasons, Counts::default()).expect("it is there");
    let (plain, asked) = (observe(false), observe(true));
    assert!(plain.events > 100, "{} events", plain.events);
    assert_eq!((plain.events, plain.accounts), (asked.events, 0));
    assert!(asked.accounts > 10, "{} accounts", asked.accounts);
}
