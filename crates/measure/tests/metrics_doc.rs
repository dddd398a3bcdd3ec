//! `docs/metrics.md` lists the metrics of the catalogue, all of them and no others.
//!
//! `SCHEDLAB_WRITE_DOCS=1 cargo test -p schedlab-measure --test metrics_doc` writes it again.

use schedlab_measure::catalogue::{
    ALL, BESIDES_IN_CSV, COMPARED, COMPARED_IF_MODELLED, Scope, Statistic, every, find,
};
use std::fmt::Write;

const BEGIN: &str = "<!-- The catalogue begins here: written by a test, see the end. -->\n";
const END: &str = "<!-- The catalogue ends here. -->\n";

fn catalogue() -> String {
    let mut text = String::new();
    for scope in Scope::ALL {
        let arguments = scope.arguments().join(" ");
        let beside = if arguments.is_empty() { String::new() } else { format!(" ({arguments})") };
        write!(
            text,
            "\n### Of {}{beside}\n\n\
             | id | title | unit | better | definition | where |\n|---|---|---|---|---|---|\n",
            scope.title()
        )
        .expect("writing to a string succeeds");
        for metric in ALL.iter().filter(|metric| metric.scope == scope) {
            let ending = if metric.distribution { "_STATISTIC" } else { "" };
            let help =
                if metric.help.is_empty() { String::new() } else { format!(". {}", metric.help) };
            writeln!(
                text,
                "| `{}{ending}` | {} | {} | {} | {}{help} | {} |",
                metric.id,
                metric.title,
                metric.unit.name(),
                metric.better.name(),
                metric.definition,
                metric.places(),
            )
            .expect("writing to a string succeeds");
        }
    }
    text.push_str("\n### Statistics of a distribution\n\n");
    text.push_str("| ending | title | definition |\n|---|---|---|\n");
    for statistic in Statistic::ALL {
        writeln!(
            text,
            "| `_{}` | {} | {} |",
            statistic.id(),
            statistic.title(),
            statistic.definition()
        )
        .expect("writing to a string succeeds");
    }
    text.push('\n');
    text
}

#[test]
fn the_document_lists_the_catalogue() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let document = std::fs::read_to_string(path).expect("docs/metrics.md can be read");
    let (head, rest) =
        document.split_once(BEGIN).expect("docs/metrics.md marks the beginning of the catalogue");
    let (written, tail) =
        rest.split_once(END).expect("docs/metrics.md marks the end of the catalogue");
    let right = catalogue();
    if std::env::var_os("SCHEDLAB_WRITE_DOCS").is_some() {
        let document = format!("{head}{BEGIN}{right}{END}{tail}");
        std::fs::write(path, document).expect("docs/metrics.md can be written");
        return;
    }
    for (written, right) in written.lines().zip(right.lines()) {
        assert_eq!(written, right, "docs/metrics.md differs from the catalogue");
    }
    assert_eq!(written.lines().count(), right.lines().count(), "docs/metrics.md lacks a metric");
}

/// The words of paper files are also documented in docs/papers.md.
#[test]
fn every_word_of_paper_files_is_documented() {
    let document = include_str!("../../../docs/papers.md");
    for paper in ALL.iter().filter_map(|metric| metric.paper) {
        let (word, ending) = match paper.word.split_once(' ') {
            Some((kernel, _)) => (kernel, kernel),
            None => (paper.word, paper.word.rfind('-').map_or("", |dash| &paper.word[dash..])),
        };
        let stands = |part: &str| {
            document.contains(&format!("`{part}`")) || document.contains(&format!("`{part} "))
        };
        assert!(stands(word) || stands(ending), "`{word}` is not in docs/papers.md");
    }
}

#[test]
fn ids_titles_and_words_are_unique_and_found() {
    let mut ids: Vec<String> = every().map(|named| named.id()).collect();
    for id in &ids {
        let found = find(id).unwrap_or_else(|| panic!("{id} is not found"));
        assert_eq!(&found.id(), id);
        assert!(id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
    }
    let mut titles: Vec<String> = every()
        .filter(|named| named.metric.scope == Scope::Run)
        .map(|named| named.title())
        .collect();
    let mut words: Vec<String> =
        ALL.iter().filter_map(|metric| Some(metric.paper?.word.into())).collect();
    let mut fields: Vec<String> = ALL
        .iter()
        .filter(|metric| !metric.json.is_empty() && !metric.json.contains("kinds"))
        .map(|metric| metric.json.into())
        .collect();
    for list in [&mut ids, &mut titles, &mut words, &mut fields] {
        let count = list.len();
        list.sort();
        list.dedup();
        assert_eq!(list.len(), count);
    }
    for id in COMPARED.iter().chain(COMPARED_IF_MODELLED).chain(BESIDES_IN_CSV) {
        let named = find(id).expect("the id is in the catalogue");
        assert_eq!(named.metric.scope, Scope::Run, "{id}");
        assert!(!named.metric.example.is_empty(), "{id} has no example");
    }
    for metric in ALL {
        assert!(!metric.title.is_empty() && !metric.definition.is_empty(), "{}", metric.id);
        assert!(!metric.definition.contains('|') && !metric.help.contains('|'), "{}", metric.id);
    }
}
