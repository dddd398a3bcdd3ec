//! The results: one line per mutant, kept between runs; and their sums by crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Results by mutant: verdict, and the test that caught it.
pub struct Results {
    path: PathBuf,
    rows: BTreeMap<String, (String, String)>,
}

impl Results {
    /// Reads the results of earlier runs.
    pub fn read(path: &Path) -> Results {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let row = |line: &str| {
            let mut cells = line.split('\t').map(String::from);
            Some((cells.next()?, (cells.next()?, cells.next().unwrap_or_default())))
        };
        Results { path: path.to_path_buf(), rows: text.lines().filter_map(row).collect() }
    }

    /// Whether a mutant was missed.
    pub fn is_missed(&self, name: &str) -> bool {
        self.rows.get(name).is_some_and(|(verdict, _)| verdict == "missed")
    }

    /// Whether a mutant does not compile.
    pub fn is_unviable(&self, name: &str) -> bool {
        self.rows.get(name).is_some_and(|(verdict, _)| verdict == "unviable")
    }

    /// Whether a mutant has a result.
    pub fn is_tried(&self, name: &str) -> bool {
        self.rows.contains_key(name)
    }

    /// Records the result of a mutant.
    pub fn note(&mut self, name: &str, verdict: &str, by: &str) {
        self.rows.insert(name.into(), (verdict.into(), by.into()));
    }

    /// Writes the file.
    pub fn write(&self) {
        let lines =
            self.rows.iter().map(|(name, (verdict, by))| format!("{name}\t{verdict}\t{by}\n"));
        if let Err(why) = std::fs::write(&self.path, lines.collect::<String>()) {
            eprintln!("{}: {why}", self.path.display());
        }
    }

    /// Prints the sums by crate, and the survivors without a reason.
    pub fn print(&self, root: &Path) {
        let text = std::fs::read_to_string(root.join("mutants/equivalent.tsv")).unwrap_or_default();
        let equivalent: BTreeSet<&str> =
            text.lines().filter_map(|line| line.split('\t').next()).collect();
        let mut sums: BTreeMap<(String, String), u32> = BTreeMap::new();
        for (name, (verdict, _)) in &self.rows {
            let krate = name.split('/').nth(1).unwrap_or("").to_string();
            let verdict = match verdict.as_str() {
                "missed" if equivalent.contains(name.as_str()) => "equivalent",
                "missed" => {
                    println!("missed: {name}");
                    "missed"
                }
                verdict => verdict,
            };
            *sums.entry((krate, verdict.to_string())).or_default() += 1;
        }
        for ((krate, verdict), count) in sums {
            println!("{krate:8} {verdict:10} {count:5}");
        }
    }
}
