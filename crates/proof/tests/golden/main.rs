//! Every golden schedule must be met, except those that `tests/golden/disagreements.tsv` lists with
//! a reason.

mod vectors;

use schedlab_core::{Event, Observer};
use schedlab_lab::parallel;
use schedlab_proof::verify::{GoldenError, check_file, collect, observe_file, verify_file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// Number of files in each folder of `tests/golden`. All are replayed and agree, except the files
/// in the list of disagreements. When files are added, these numbers must be updated.
const FILES: [(&str, usize); 33] = [
    ("bfs", 91),
    ("bfs316", 91),
    ("bmq", 36),
    ("bore", 53),
    ("bore673", 49),
    ("cfs", 238),
    ("cfs61", 98),
    ("cfs_years/5.15", 62),
    ("cfs_years/5.15-clock1s", 77),
    ("cfs_years/5.15-start500us", 60),
    ("cfs_years/6.1-start500us", 2),
    ("cfs_years/rhel8.5", 78),
    ("cfs_years/3.10", 59),
    ("cfs_years/3.10-clock1s", 77),
    ("cfs_years/4.14", 59),
    ("cfs_years/4.18", 79),
    ("cfs_years/4.19", 59),
    ("cfs_years/5.4", 59),
    ("cfs_years/5.4-clock1s", 71),
    ("cfs_years/5.4-start500us", 56),
    ("deadline", 17),
    ("eevdf", 85),
    ("eevdf_topology", 72),
    ("eevdf_years", 486),
    ("muqss", 72),
    ("o_1", 96),
    ("o_1_2622", 105),
    ("o_n", 65),
    ("pds", 36),
    ("o_n_22", 30),
    ("pelt", 4),
    ("round_robin", 24),
    ("sd", 94),
];

/// Number of files by folder below `tests/golden`.
type Counts = BTreeMap<String, usize>;

/// Returns the first part of a path below `tests/golden`; of `cfs_years`, which has a folder for
/// each release, the first two.
fn folder(name: &str) -> String {
    let parts = if name.starts_with("cfs_years/") { 2 } else { 1 };
    name.split('/').take(parts).collect::<Vec<_>>().join("/")
}

#[test]
fn every_golden_schedule_is_met_but_for_those_listed() {
    let root = golden();
    let files = collect(std::slice::from_ref(&root)).expect("the golden schedules exist");
    let results = parallel::map(&files, parallel::cores(), |file| verify_file(&file.path));
    let mut wrong = vec![];
    let mut agreeing = Counts::new();
    let mut known_not_to = Counts::new();
    for (file, result) in files.iter().zip(results) {
        let name = file
            .path
            .strip_prefix(&root)
            .expect("the file is below the root")
            .display()
            .to_string();
        let known = file.disagrees.is_some();
        let difference = match result {
            Ok(verdict) => verdict.difference.map(|difference| difference.to_string()),
            Err(GoldenError::Vectors) => vectors::difference(&file.path),
            // No file is skipped for any reason, such as an unknown scheduler or an unreadable
            // file.
            Err(error) => Some(error.to_string()),
        };
        match difference {
            None if known => {
                wrong.push(format!("{name} agrees, although it is listed as different"))
            }
            None => *agreeing.entry(folder(&name)).or_default() += 1,
            Some(_) if known => *known_not_to.entry(folder(&name)).or_default() += 1,
            Some(difference) => wrong.push(format!("{name}: {difference}")),
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
    for (folder, count) in known_not_to {
        *agreeing.entry(folder).or_default() += count;
    }
    let expected: Counts =
        FILES.iter().map(|&(folder, count)| (folder.to_string(), count)).collect();
    assert_eq!(agreeing, expected, "files in each folder: left those replayed, right FILES");
}

/// Every golden schedule runs again under all invariants that hold at every event, with a reason
/// for every pick. The task that the reason names must be the task that is picked.
#[test]
fn every_golden_schedule_keeps_every_invariant_and_its_reasons_are_true() {
    let root = golden();
    let files = collect(std::slice::from_ref(&root)).expect("the golden schedules exist");
    let results = parallel::map(&files, parallel::cores(), |file| check_file(&file.path));
    let mut wrong = vec![];
    let (mut checked, mut vectors) = (0, 0);
    for (file, result) in files.iter().zip(results) {
        match result {
            Ok(None) => checked += 1,
            Ok(Some(violation)) => wrong.push(format!("{}: {violation}", file.path.display())),
            Err(GoldenError::Vectors) => vectors += 1,
            Err(error) => wrong.push(format!("{}: {error}", file.path.display())),
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
    let count = |of: &dyn Fn(&str) -> bool| -> usize {
        FILES.iter().filter(|(folder, _)| of(folder)).map(|(_, count)| count).sum()
    };
    let expected = (count(&|folder| folder != "pelt"), count(&|folder| folder == "pelt"));
    assert_eq!((checked, vectors), expected, "schedules and vectors");
}

/// The golden files that `docs/testing.md` names as evidence for a rule exist. A name is the
/// beginning of a path, and `*` in it matches anything.
#[test]
fn the_golden_files_that_the_table_of_rules_names_are_there() {
    let root = golden();
    let page = root.join("../../docs/testing.md");
    let page = std::fs::read_to_string(page).expect("the page exists");
    let files = collect(std::slice::from_ref(&root)).expect("the golden schedules exist");
    let paths: Vec<String> = files
        .iter()
        .map(|file| {
            file.path.strip_prefix(&root).expect("the file is below the root").display().to_string()
        })
        .collect();
    let folders: Vec<String> = FILES.iter().map(|(folder, _)| format!("{folder}/")).collect();
    let mut named = 0;
    for name in page.split('`').skip(1).step_by(2) {
        if !folders.iter().any(|folder| name.starts_with(folder)) {
            continue;
        }
        let fits = |path: &String| {
            let mut rest = path.strip_prefix(name.split('*').next().unwrap_or(""));
            for part in name.split('*').skip(1) {
                rest = rest.and_then(|rest| Some(&rest[rest.find(part)? + part.len()..]));
            }
            rest.is_some()
        };
        assert!(paths.iter().any(fits), "docs/testing.md: there is no golden file {name}");
        named += 1;
    }
    assert!(named > 50, "only {named} are named");
}

/// Any observer can be attached to a golden schedule, and a request for reasons changes nothing
/// else that it sees.
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
    let observe = |reasons| {
        let mut counts = Counts::default();
        observe_file(&file, reasons, &mut counts).expect("the file is replayed");
        counts
    };
    let (plain, asked) = (observe(false), observe(true));
    assert!(plain.events > 100, "{} events", plain.events);
    assert_eq!((plain.events, plain.accounts), (asked.events, 0));
    assert!(asked.accounts > 10, "{} accounts", asked.accounts);
}
