//! The documentation page of each scheduler lists the same rules as the scheduler itself.

use schedlab_core::{BuildConfig, RuleDoc};
use schedlab_sched::registry::ALL;
use std::fmt::Write as _;
use std::path::Path;

/// Each page and the schedulers that it documents.
const PAGES: [(&str, &[&str]); 8] = [
    ("round_robin", &["round_robin"]),
    ("o_n", &["o_n"]),
    ("o_1", &["o_1"]),
    ("staircase", &["rsdl", "sd"]),
    ("bfs", &["bfs"]),
    ("project_c", &["bmq", "pds"]),
    ("muqss", &["muqss"]),
    ("textbook", &["fcfs", "sjf", "srtf", "hrrn", "priority", "rr", "mlq", "mlfq"]),
];

/// The rules of all releases of the named schedulers, by number.
fn rules_of(names: &[&str]) -> Vec<RuleDoc> {
    let mut all: Vec<RuleDoc> = Vec::new();
    for name in names {
        let entry = ALL.iter().find(|entry| entry.name == *name);
        let entry = entry.unwrap_or_else(|| panic!("there is no scheduler {name}"));
        for release in entry.releases {
            all.extend(
                release
                    .build(&BuildConfig::flat(1, 100))
                    .expect("a registered release")
                    .inspect()
                    .rules()
                    .into_iter()
                    .cloned(),
            );
        }
    }
    all.sort_by_key(|doc| doc.rule);
    all.dedup();
    all
}

fn table_of<'a>(rules: impl IntoIterator<Item = &'a RuleDoc>) -> String {
    let mut table = String::from("| number | name | decides | rule |\n| --- | --- | --- | --- |\n");
    for doc in rules {
        let (number, question) = (doc.rule.0, doc.question.name());
        writeln!(table, "| {number} | `{}` | {question} | {} |", doc.name, doc.text)
            .expect("writing to a string succeeds");
    }
    table
}

#[test]
fn pages_list_the_rules_as_they_are() {
    for (page, names) in PAGES {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schedulers/{page}.md"));
        let text = std::fs::read_to_string(&path).expect("the page can be read");
        let table = table_of(&rules_of(names));
        assert!(text.contains(&table), "docs/schedulers/{page}.md should have:\n\n{table}");
    }
}

#[test]
fn numbers_and_names_are_given_once() {
    for (page, names) in PAGES {
        let rules = rules_of(names);
        for (at, doc) in rules.iter().enumerate() {
            let twice = |other: &&RuleDoc| other.rule == doc.rule || other.name == doc.name;
            assert_eq!(rules[at + 1..].iter().find(twice), None, "{page}: {doc:?}");
            assert!(doc.text.ends_with('.') && doc.rule.0 > 0, "{page}: {doc:?}");
        }
    }
}

#[test]
fn the_page_of_the_last_cfs_lists_its_own_rules() {
    let cfs = ALL.iter().find(|entry| entry.name == "cfs").expect("cfs is registered");
    let release =
        cfs.releases.iter().find(|release| release.is_called("6.1")).expect("cfs has release 6.1");
    let scheduler = release.build(&BuildConfig::flat(1, 100)).expect("a registered release");
    let mut own = scheduler.inspect().rules();
    own.retain(|doc| (180..200).contains(&doc.rule.0));
    assert!(own.len() > 5);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schedulers/cfs_6.md");
    let text = std::fs::read_to_string(path).expect("the page can be read");
    let table = table_of(own);
    assert!(text.contains(&table), "docs/schedulers/cfs_6.md should have:\n\n{table}");
}
