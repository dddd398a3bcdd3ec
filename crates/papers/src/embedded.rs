//! The experiments that are part of the program.

use crate::catalogue::{Catalogue, PapersError};

/// Lists files of `papers/` with their contents.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../experiments/", $name)))),*]
    };
}

/// The files, in the order of the results.
pub const FILES: &[(&str, &str)] = files![
    "HB-1.toml",
    "HB-2.toml",
    "HB-3.toml",
    "HB-4.toml",
    "HB-5.toml",
    "HB-6.toml",
    "IB-0.toml",
    "IB-1.toml",
    "IB-2.toml",
    "IB-3.toml",
    "IB-4.toml",
    "DIS-3.1.toml",
    "DIS-3.2.toml",
    "DIS-3.3.toml",
    "DIS-4.1.toml",
    "DIS-4.2.toml",
    "DIS-4.3.toml",
    "DIS-4.4.toml",
    "DIS-4.4b.toml",
    "DIS-4.5.toml",
    "DIS-4.6.toml",
    "DIS-4.7a.toml",
    "DIS-4.7b.toml",
    "DIS-4.7c.toml",
    "DIS-5.1.toml",
    "DIS-5.2.toml",
    "DIS-5.3.toml",
    "DIS-5.4.toml",
    "DIS-5.5.toml",
    "DIS-A.toml",
    "Q3-1.toml",
    "LC-1.toml",
    "MI-1.toml",
    "PS-1.toml",
    "SQL-1.toml",
    "REL-1.toml",
    "REL-2.toml",
    "REL-3.toml",
    "REL-4.toml",
    "SZP-1.toml",
    "RZ-1.toml",
];

/// The ranges, `targets.csv`.
pub const TARGETS: (&str, &str) =
    ("data/targets.csv", include_str!("../experiments/data/targets.csv"));

/// The contradictions, `contradictions.toml`.
pub const CONTRADICTIONS: (&str, &str) =
    ("data/contradictions.toml", include_str!("../experiments/data/contradictions.toml"));

/// Returns all experiments that are part of the program.
///
/// # Errors
/// A file is malformed, which is an error in this program.
pub fn catalogue() -> Result<Catalogue, PapersError> {
    Catalogue::read(FILES.iter().copied(), TARGETS)?.with_contradictions(CONTRADICTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::ValuesByName;
    use crate::judge::Evidence;
    use crate::{figures, judge};
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_directory_is_there_and_means_something() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments");
        let entries = std::fs::read_dir(directory).expect("the directory exists");
        let names = entries
            .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".toml")).collect();
        let mut listed: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        names.sort();
        listed.sort_unstable();
        assert_eq!(names, listed);
        let catalogue = catalogue().unwrap_or_else(|error| panic!("{error}"));
        for (file, (name, _)) in catalogue.experiments.iter().zip(FILES) {
            assert_eq!(format!("{}.toml", file.id), *name);
        }
    }

    /// The reduced form skips demands about values that were not simulated, and would also skip
    /// misspelt names. Here every value that the full form would measure exists, so that no
    /// misspelling is hidden. Nothing is simulated.
    #[test]
    fn every_expression_of_every_file_means_something() {
        let catalogue = catalogue().unwrap_or_else(|error| panic!("{error}"));
        for file in &catalogue.experiments {
            let id = &file.id;
            let mut values = ValuesByName::default();
            let conditions = file.conditions.sample(false);
            for run in &file.runs {
                let planned = run.plan(false, &conditions[0]);
                for planned in planned.unwrap_or_else(|error| panic!("{id}: {error}")) {
                    for (name, _) in &planned.values {
                        values
                            .add(name.clone(), 1.0)
                            .unwrap_or_else(|error| panic!("{id}: {error}"));
                        for spread in ["sd", "cv"].iter().filter(|_| planned.simulations.len() > 1)
                        {
                            let name = format!("{name}.{spread}");
                            values.add(name, 1.0).unwrap_or_else(|error| panic!("{id}: {error}"));
                        }
                    }
                }
            }
            let evidence = Evidence {
                conditions: &conditions[..1],
                values: std::slice::from_ref(&values),
                by_rule: &BTreeSet::new(),
            };
            judge::judge(file, &catalogue.rows, &evidence, false)
                .unwrap_or_else(|error| panic!("{error}"));
            for figure in &file.figures {
                figures::chart(figure, &values, false)
                    .unwrap_or_else(|error| panic!("{id}: {error}"));
            }
        }
    }
}
