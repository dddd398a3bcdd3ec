//! Words that are out of use: the project invented them although the field has its own terms.
//!
//! To retire a word, add a line to [`WORDS`]. The check finds the word in code, comments and
//! documents, alone or as part of a name (`Knobs`, `knob_of`), but not within a word (`doorknob`).

use crate::Finding;
use crate::repository::Repository;

/// Words out of use, in lower case, each with the term of the field.
const WORDS: [(&str, &str); 7] = [
    ("knob", "tunable"),
    ("knobs", "tunables"),
    ("spine", "the rule's own name: place, pick, preempt"),
    ("foresee", "next_burst"),
    ("outsider", "external"),
    ("nominate", "set_next_buddy, set_last_buddy"),
    ("bury", "reap"),
];

/// Finds words that are out of use.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let looked_at = repository
        .files()
        .filter(|file| (file.is("rs") || file.is("md")) && file.path != "xtask/src/words.rs");
    for file in looked_at {
        for (i, line) in file.text.lines().enumerate() {
            for word in words(line) {
                if let Some((_, instead)) = WORDS.iter().find(|(banned, _)| *banned == word) {
                    let message = format!("`{word}` is out of use; the field says: {instead}");
                    findings.push(Finding::new(&file.path, i + 1, message));
                }
            }
        }
    }
    findings
}

/// Returns the words of a line in lower case, with names split at `_` and at capital letters.
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in line.chars() {
        if !c.is_ascii_alphabetic() || (small && c.is_ascii_uppercase()) {
            words.push(String::new());
        }
        if c.is_ascii_alphabetic() {
            words.last_mut().expect("never empty").push(c.to_ascii_lowercase());
        }
        small = c.is_ascii_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let found: Vec<String> = words("let KnobsOf_knob = doorknob2; // Spine").collect();
        assert_eq!(found, ["let", "knobs", "of", "knob", "doorknob", "spine"]);
    }

    #[test]
    fn banned_words_are_found() {
        let repository = Repository::of(&[("a.rs", "struct Knobs;\nlet doorknob = 1;\n")]);
        let found = check(&repository);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 1);
    }
}
