//! The mutants that cargo-mutants lists, and a seeded sample of them.
//!
//! A mutant's name is its file, function, original and replacement, without its line. Its place in
//! the sample depends only on its name and the seed. A sample thus changes little when the
//! surrounding code is edited.

use std::collections::HashMap;
use std::process::Command;

/// The crates whose code is mutated.
pub const CRATES: [&str; 3] = ["sched", "machine", "measure"];

/// A mutant as listed.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The file, from the root of the repository.
    pub file: String,
    /// Its beginning: line and column, from 1.
    pub begins: (usize, usize),
    /// cargo-mutants' kind.
    pub genre: String,
    /// Text that replaces the original.
    pub replacement: String,
    /// Its name, independent of its line.
    pub name: String,
}

/// All mutants of the crates, as `cargo mutants --list --json` prints them.
///
/// # Errors
/// If cargo-mutants is missing or prints something else.
pub fn list(root: &std::path::Path) -> Result<Vec<Mutant>, String> {
    let packages = CRATES.map(|name| format!("--package=schedlab-{name}"));
    let out = Command::new("cargo")
        .args(["mutants", "--list", "--json"])
        .args(packages)
        .current_dir(root)
        .output()
        .map_err(|why| format!("cargo mutants: {why}"))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(format!("{said}\ncargo install --locked cargo-mutants@27.1.0 installs it"));
    }
    let all: serde_json::Value =
        serde_json::from_slice(&out.stdout).map_err(|why| format!("cargo mutants: {why}"))?;
    let mut texts: HashMap<String, String> = HashMap::new();
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut mutants = vec![];
    for one in all.as_array().ok_or("the output of cargo mutants is not an array")? {
        let text = |at: &str| one.pointer(at).and_then(|value| value.as_str()).unwrap_or("");
        let number =
            |at: &str| one.pointer(at).and_then(|value| value.as_u64()).unwrap_or(0) as usize;
        let file = text("/file").to_string();
        if !texts.contains_key(&file) {
            let read = std::fs::read_to_string(root.join(&file));
            texts.insert(file.clone(), read.map_err(|why| format!("{file}: {why}"))?);
        }
        let begins = (number("/span/start/line"), number("/span/start/column"));
        // "FILE:LINE:COLUMN: description": the place is dropped, a part of the line is added.
        let what = text("/name").splitn(4, ':').nth(3).unwrap_or("").trim();
        let genre = text("/genre").to_string();
        let line = texts[&file].lines().nth(begins.0.saturating_sub(1)).unwrap_or("").trim();
        let line = if genre == "FnValue" { String::new() } else { format!(" in `{line}`") };
        let name = format!("{file}: {what}{line}");
        let times = seen.entry(name.clone()).or_default();
        *times += 1;
        let name = if *times > 1 { format!("{name} #{times}") } else { name };
        mutants.push(Mutant {
            file,
            begins,
            genre,
            replacement: text("/replacement").to_string(),
            name,
        });
    }
    Ok(mutants)
}

/// Sorts mutants into the order in which a sample takes them.
pub fn shuffle(mutants: &mut [Mutant], seed: u64) {
    mutants.sort_by_cached_key(|mutant| (hash(&mutant.name, seed), mutant.name.clone()));
}

/// FNV-1a, and the mixing step of SplitMix64.
fn hash(name: &str, seed: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ seed;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
