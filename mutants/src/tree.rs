//! A copy of the repository that contains all mutants of a sample at once, built once.
//!
//! Mutants that do not compile are found from the compiler's errors and left out, and so are those
//! whose place the compiler evaluates.

use crate::find::{Site, sites};
use crate::sample::{CRATES, Mutant};
use crate::splice::{Planted, arms_of_match, number_before, splice};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The copy.
pub struct Tree {
    /// Its location.
    pub root: PathBuf,
    /// Numbers of the mutants in it. A mutant's number is its index plus 1.
    pub planted: BTreeSet<u32>,
    /// Mutants whose place the compiler evaluates, or binds names.
    pub no_place: BTreeSet<u32>,
    /// Mutants that the compiler refuses.
    pub unviable: BTreeSet<u32>,
}

/// Targets to build: the tests that may catch a mutant, and the program.
const TESTS: [&str; 5] = ["sched", "machine", "measure", "workload", "lab"];

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|why| format!("{command:?}: {why}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} fails")) }
}

/// Removes files that an earlier copy had and this one does not.
fn prune(root: &Path, below: &str, names: &BTreeSet<&str>) -> Result<(), String> {
    let directory = root.join(below);
    for entry in fs::read_dir(&directory).map_err(|why| why.to_string())? {
        let entry = entry.map_err(|why| why.to_string())?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            if !["target", "crates/mutant"].contains(&name.as_str()) {
                prune(root, &format!("{name}/"), names)?;
            }
        } else if !names.contains(name.as_str()) && name != "Cargo.lock" {
            fs::remove_file(entry.path()).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    Ok(())
}

impl Tree {
    /// Copies the repository at `from` to `root`, with all possible mutants. Mutants known to be
    /// unviable are not tried, so that compiled code need not be compiled again.
    ///
    /// # Errors
    /// If something cannot be read, written or compiled.
    pub fn plant(
        from: &Path,
        root: &Path,
        mutants: &[Mutant],
        is_unviable: impl Fn(&Mutant) -> bool,
    ) -> Result<Tree, String> {
        fs::create_dir_all(root).map_err(|why| format!("{}: {why}", root.display()))?;
        let mut tree = Tree {
            root: root.to_path_buf(),
            planted: (1..=mutants.len() as u32).collect(),
            no_place: BTreeSet::new(),
            unviable: BTreeSet::new(),
        };
        for (i, mutant) in mutants.iter().enumerate() {
            if is_unviable(mutant) {
                tree.planted.remove(&(i as u32 + 1));
                tree.unviable.insert(i as u32 + 1);
            }
        }
        tree.copy(from)?;
        let mut files: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (i, mutant) in mutants.iter().enumerate() {
            files.entry(&mutant.file).or_default().push(i as u32 + 1);
        }
        let mut found: BTreeMap<&str, (String, Vec<Site>)> = BTreeMap::new();
        for &file in files.keys() {
            let text =
                fs::read_to_string(from.join(file)).map_err(|why| format!("{file}: {why}"))?;
            let sites = sites(&text).map_err(|why| format!("{file}: {why}"))?;
            found.insert(file, (text, sites));
        }
        for round in 1.. {
            for (&file, numbers) in &files {
                let (text, sites) = &found[file];
                let spliced = tree.spliced(text, sites, numbers, mutants);
                tree.write(file, &spliced)?;
            }
            let before = tree.planted.len();
            for name in CRATES {
                if !tree.check(name)? {
                    break;
                }
            }
            println!("round {round}: {} of {} mutants are left", tree.planted.len(), mutants.len());
            if tree.planted.len() == before {
                break;
            }
        }
        Ok(tree)
    }

    /// Files that git tracks, and new files that are not ignored, except for `target`.
    fn copy(&self, from: &Path) -> Result<(), String> {
        let out = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(from)
            .output()
            .map_err(|why| format!("git: {why}"))?;
        let names = String::from_utf8_lossy(&out.stdout);
        let names: BTreeSet<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
        prune(&self.root, "", &names)?;
        for &name in &names {
            if from.join(name).is_file() {
                let text = fs::read(from.join(name)).map_err(|why| format!("{name}: {why}"))?;
                self.write_bytes(name, &text)?;
            }
        }
        let switch = include_str!("switch.rs");
        self.write("crates/mutant/src/lib.rs", switch)?;
        self.write(
            "crates/mutant/Cargo.toml",
            "[package]\nname = \"schedlab-mutant\"\nversion = \"0.0.0\"\nedition = \"2024\"\n",
        )?;
        for name in CRATES {
            let manifest = format!("crates/{name}/Cargo.toml");
            let text = fs::read_to_string(from.join(&manifest)).map_err(|why| why.to_string())?;
            let with = text.replacen(
                "\n[dependencies]\n",
                "\n[dependencies]\nschedlab-mutant = { path = \"../mutant\" }\n",
                1,
            );
            self.write(&manifest, &with)?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        self.write_bytes(name, text.as_bytes())
    }

    /// Writes a file if its contents change, so that unchanged files are not compiled again.
    fn write_bytes(&self, name: &str, text: &[u8]) -> Result<(), String> {
        // Replacements name the standard library.
        let with_std = (name == "crates/sched/src/lib.rs")
            .then(|| String::from_utf8_lossy(text).replace("#![no_std]", ""));
        let text = with_std.as_ref().map_or(text, |text| text.as_bytes());
        let path = self.root.join(name);
        if fs::read(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(|why| format!("{name}: {why}"))?;
        }
        fs::write(&path, text).map_err(|why| format!("{name}: {why}"))
    }

    fn spliced(
        &mut self,
        text: &str,
        sites: &[Site],
        numbers: &[u32],
        mutants: &[Mutant],
    ) -> String {
        let mut planted: BTreeMap<usize, Planted> = BTreeMap::new();
        for &number in numbers {
            let mutant = &mutants[number as usize - 1];
            let at = sites
                .iter()
                .position(|site| site.begins == mutant.begins && site.form.genre() == mutant.genre);
            let Some(at) = at else {
                self.planted.remove(&number);
                self.no_place.insert(number);
                continue;
            };
            if self.planted.contains(&number) {
                let planted = planted
                    .entry(at)
                    .or_insert_with(|| Planted { site: &sites[at], mutants: vec![] });
                planted.mutants.push((number, mutant.replacement.clone()));
            }
        }
        let mut planted: Vec<Planted> = planted.into_values().collect();
        splice(text, &mut planted)
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(arguments)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .stderr(Stdio::inherit());
        command
    }

    /// Compiles one crate and returns whether it compiles. Mutants in its errors are left out.
    fn check(&mut self, name: &str) -> Result<bool, String> {
        let package = format!("schedlab-{name}");
        let out = self
            .cargo(&["check", "--quiet", "--message-format=json", "-p", &package])
            .stderr(Stdio::null())
            .output()
            .map_err(|why| format!("cargo check: {why}"))?;
        let mut refused = BTreeSet::new();
        let mut unknown = vec![];
        for line in String::from_utf8_lossy(&out.stdout).lines() {
            let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else {
                continue;
            };
            let message = &message["message"];
            if message["level"] != "error" {
                continue;
            }
            let spans = message["spans"].as_array().into_iter().flatten();
            for span in spans.filter(|span| span["is_primary"] == true) {
                let file = span["file_name"].as_str().unwrap_or("");
                let at = span["byte_start"].as_u64().unwrap_or(0) as usize;
                let text = fs::read_to_string(self.root.join(file)).unwrap_or_default();
                if message["code"]["code"] == "E0004" {
                    refused.extend(arms_of_match(&text, at));
                    continue;
                }
                match number_before(&text, at) {
                    Some(number) => _ = refused.insert(number),
                    None => unknown.push(message["rendered"].as_str().unwrap_or("").to_string()),
                }
            }
        }
        if !out.status.success() && refused.is_empty() {
            return Err(format!("{package} does not compile:\n{}", unknown.join("\n")));
        }
        for number in &refused {
            self.planted.remove(number);
            self.unviable.insert(*number);
        }
        Ok(out.status.success())
    }

    /// Builds the tests and the program. Returns the test binaries by crate, with their names.
    ///
    /// # Errors
    /// If they do not compile.
    pub fn build(&self) -> Result<Vec<(String, String, PathBuf)>, String> {
        let packages: Vec<String> = TESTS.iter().map(|name| format!("-pschedlab-{name}")).collect();
        let mut arguments = vec!["test", "--no-run", "--message-format=json"];
        arguments.extend(packages.iter().map(String::as_str));
        let out = self.cargo(&arguments).output().map_err(|why| format!("cargo test: {why}"))?;
        if !out.status.success() {
            return Err("the tests do not compile".into());
        }
        run(&mut self.cargo(&["build", "--quiet", "-p", "schedlab"]))?;
        let mut tests = vec![];
        for line in String::from_utf8_lossy(&out.stdout).lines() {
            let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else {
                continue;
            };
            if let (Some(path), true) =
                (message["executable"].as_str(), message["profile"]["test"] == true)
            {
                let manifest = message["manifest_path"].as_str().unwrap_or("");
                let krate = manifest.rsplit('/').nth(1).unwrap_or("").to_string();
                let name = message["target"]["name"].as_str().unwrap_or("").to_string();
                tests.push((krate, name, PathBuf::from(path)));
            }
        }
        Ok(tests)
    }
}
