//! No verdict about hackbench and its like hangs on a single assumed cost: each is made a fifth
//! more and a fifth less, on all machines at once, and everything is judged again, as `papers`
//! judges it.
//!
//! `cargo test` does so with a storm of a few thousand messages, where the growth shows, too. The
//! experiments in whole, on all machines, take more than an hour:
//!
//! ```sh
//! cargo test --release -p schedlab-papers --test sensitivity -- --ignored --nocapture
//! ```

use schedlab_lab::parallel;
use schedlab_papers::sensitivity::{self, Change};
use schedlab_papers::{Catalogue, Outcomes, Verdict, embedded};

const MACHINES: [&str; 4] =
    ["pentium3-1000x1", "pentium3-850x2", "pentium3-700x4", "pentium3-700x8"];

/// HB-1's demands of eight CPUs, of a storm that takes a test no time.
const SMALL: &str = r#"
id = "HB-1"
title = "A small storm"
source = "HB-1, made small"

[conditions]
none = "it is judged for each cost twice"

[[run]]
for.groups = [16, 48]
for.kernel = [{ k = "o_n", scheduler = "o_n@2.4.19" }, { k = "o_1", scheduler = "o_1@2.6.0" }]
bench = "hackbench"
parameters = { groups = "{groups}", loops = 2 }
machine = "pentium3-700x8"
scheduler = "{scheduler}"
values = { "time.{k}.{groups}" = "time" }

[[criterion]]
grade = "hard"
says = "exponent of O(1)"
value = "slope([16, 48], time.o_1.*)"
low = 0.85
high = 1.1

[[criterion]]
grade = "hard"
says = "exponent of 2.4"
value = "slope([16, 48], time.o_n.*)"
low = 1.3

[[criterion]]
grade = "hard"
says = "2.4 is slower than 2.6, and the ratio grows with the groups"
test = "1 < time.o_n.16 / time.o_1.16 < time.o_n.48 / time.o_1.48"
"#;

/// Judges `catalogue`, as it is and with each assumed cost changed: how many changes there were,
/// the verdicts as it is, and those that turn.
fn judged(catalogue: &Catalogue, ids: &[&str]) -> (usize, Vec<Verdict>, Vec<String>) {
    let ids: Vec<String> = ids.iter().map(|id| id.to_string()).collect();
    let chosen = catalogue.choose(&ids).unwrap_or_else(|error| panic!("{error}"));
    let names = sensitivity::assumed(&MACHINES).unwrap_or_else(|error| panic!("{error}"));
    let mut changes = vec![None];
    for name in names {
        changes.extend([80, 120].map(|percent| Some(Change { name: name.clone(), percent })));
    }
    let ran = catalogue.run_changed(&chosen, false, parallel::cores(), &changes, |_, _| true);
    let ran = ran.unwrap_or_else(|error| panic!("{error}"));
    let demands = |outcomes: &Outcomes| {
        assert_eq!(outcomes.failed, [], "all can be run");
        let all = outcomes.outcomes.iter().flat_map(|outcome| &outcome.judged);
        let median = |values: &schedlab_papers::distribution::Distribution| values.median();
        all.map(|one| (one.says.clone(), one.values.as_ref().map(median), one.verdict))
            .collect::<Vec<_>>()
    };
    let base = demands(&ran[0]);
    for (says, value, verdict) in &base {
        println!("{}: {says}: {value:?}", verdict.name());
    }
    let mut turned = vec![];
    for (change, ran) in changes.iter().zip(&ran).skip(1) {
        for ((says, before, verdict), (_, after, now)) in base.iter().zip(demands(ran)) {
            if *verdict != now {
                turned.push(format!(
                    "{change:?}: {says}: {} ({before:?}), now {} ({after:?})",
                    verdict.name(),
                    now.name(),
                ));
            }
        }
    }
    (changes.len() - 1, base.into_iter().map(|(_, _, verdict)| verdict).collect(), turned)
}

#[test]
fn no_verdict_about_a_small_storm_turns_with_a_single_assumed_cost() {
    let targets = "id,case,quantity,unit,low,high,published\n";
    let catalogue = Catalogue::read([("small.toml", SMALL)], ("targets.csv", targets));
    let catalogue = catalogue.unwrap_or_else(|error| panic!("{error}"));
    let (changes, verdicts, turned) = judged(&catalogue, &["HB-1"]);
    assert!(changes >= 40, "only {changes} changes");
    assert_eq!(verdicts, [Verdict::HardMet; 3]);
    assert!(turned.is_empty(), "verdicts that turn:\n{turned:#?}");
}

#[test]
#[ignore = "takes more than an hour"]
fn no_verdict_turns_with_a_single_assumed_cost() {
    let catalogue = embedded::catalogue().unwrap_or_else(|error| panic!("{error}"));
    let (_, _, turned) = judged(&catalogue, &["HB-1", "HB-2", "HB-4"]);
    assert!(turned.is_empty(), "verdicts that turn:\n{turned:#?}");
}
