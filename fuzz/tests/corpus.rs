//! Checks every reader with its corpus, which contains all past faults, and some thousand changed
//! inputs. `schedlab-fuzz` gives it any number of inputs.

use schedlab_fuzz::hunt::{Fault, Hunt};
use schedlab_fuzz::readers::{ALL, Reader};
use schedlab_fuzz::{corpus, ledger};
use std::collections::BTreeSet;

/// Number of changed inputs for each reader.
const CHANGED: u64 = 2_000;

fn told(reader: &Reader, fault: &Fault) -> String {
    let input = String::from_utf8_lossy(&fault.input);
    format!("{}: {}\n{input:?}", reader.name, fault.message)
}

#[test]
fn every_reader_bears_its_corpus_and_what_is_made_of_it() {
    let mut faults = vec![];
    for reader in ALL {
        let inputs = corpus::read(&corpus::directory().join(reader.name)).expect("it can be read");
        assert!(!inputs.is_empty(), "{} has no corpus", reader.name);
        let mut hunt = Hunt::new(reader, 1, inputs.clone());
        for input in &inputs {
            faults.extend(hunt.read(input).err().map(|fault| told(reader, &fault)));
        }
        for _ in 0..CHANGED {
            hunt.make();
            faults.extend(hunt.give().err().map(|fault| told(reader, &fault)));
        }
        assert!(hunt.shapes() > 1, "{}: whatever it is given, the same comes of it", reader.name);
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_corpus_is_small_and_has_a_reader_for_each_of_its_parts() {
    let readers: BTreeSet<&str> = ALL.iter().map(|reader| reader.name).collect();
    assert_eq!(readers.len(), ALL.len(), "two readers have one name");
    for entry in std::fs::read_dir(corpus::directory()).expect("there is a corpus") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        assert!(readers.contains(name), "fuzz/corpus/{name} is no reader's");
        let inputs = corpus::read(&path).expect("it can be read");
        assert!(inputs.len() <= 120, "{name} has {} inputs; 120 are the most", inputs.len());
        for input in inputs {
            assert!(input.len() <= 4_000, "{name} has an input of {} bytes", input.len());
        }
    }
}

#[test]
fn each_reader_takes_some_of_its_corpus() {
    for reader in ALL {
        let inputs = corpus::read(&corpus::directory().join(reader.name)).expect("it can be read");
        let taken = inputs.iter().filter(|input| (reader.read)(input).is_taken()).count();
        assert!(taken > 0, "{} takes no input of its corpus: later code is not tried", reader.name);
    }
}

#[test]
fn the_ledger_says_of_each_reader_what_it_was_given() {
    let text = std::fs::read_to_string(ledger::path()).expect("there is a ledger");
    let entries = ledger::read(&text).expect("it is in order");
    for reader in ALL {
        let given: u64 = entries
            .iter()
            .filter(|entry| entry.reader == reader.name)
            .map(|entry| entry.inputs)
            .sum();
        assert!(given >= 100_000, "{} was given {given} inputs in all", reader.name);
    }
    for entry in &entries {
        let known = ALL.iter().any(|reader| reader.name == entry.reader);
        assert!(known, "the ledger names {}, which is no reader", entry.reader);
    }
}
