//! Runs the tests against one mutant at a time, the test most likely to catch it first.

use crate::sample::Mutant;
use crate::tree::Tree;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Result for a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A stage failed.
    Caught(String),
    /// A stage did not end in time.
    TimedOut(String),
    /// All passed.
    Missed,
}

/// Tests that run together.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name in the report.
    pub name: String,
    program: PathBuf,
    arguments: Vec<String>,
    directory: PathBuf,
    /// Its duration without a mutant.
    pub takes: Duration,
}

impl Stage {
    /// Runs it with mutant `number` (0: none). `None`: it exceeded the time limit.
    fn passes(&self, number: u32, limit: Duration) -> io::Result<Option<bool>> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env("MUTANT", number.to_string())
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .env("INSTA_UPDATE", "no")
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status.success()));
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// All stages of a tree.
pub struct Trial {
    tree: PathBuf,
    tests: Vec<(String, String, PathBuf)>,
}

impl Trial {
    /// Makes the stages from the tests that were built for `tree`.
    pub fn new(tree: &Tree, tests: Vec<(String, String, PathBuf)>) -> Trial {
        Trial { tree: tree.root.clone(), tests }
    }

    fn test(&self, krate: &str, name: &str, arguments: &[&str]) -> Vec<Stage> {
        let of = |(of, is, _): &&(String, String, PathBuf)| {
            of == krate && (name.is_empty() || is == name)
        };
        let stage = |(of, is, program): &(String, String, PathBuf)| Stage {
            name: format!("{of}/{is} {}", arguments.join(" ")).trim().to_string(),
            program: program.clone(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            directory: self.tree.join("crates").join(of),
            takes: Duration::ZERO,
        };
        self.tests.iter().filter(of).map(stage).collect()
    }

    /// The golden schedules in some folders, or all of them.
    fn golden(&self, folders: &[&str]) -> Stage {
        let paths = folders.iter().map(|folder| format!("tests/golden/{folder}"));
        let mut paths: Vec<String> = paths.filter(|path| self.tree.join(path).exists()).collect();
        if paths.is_empty() {
            paths.push("tests/golden".into());
        }
        Stage {
            name: format!("golden schedules {}", folders.join(" ")).trim().to_string(),
            program: self.tree.join("target/debug/schedlab"),
            arguments: ["verify", "--quiet"].into_iter().map(String::from).chain(paths).collect(),
            directory: self.tree.clone(),
            takes: Duration::ZERO,
        }
    }

    /// The stages for the mutants of a file, quick and related ones first. Tests that cannot depend
    /// on the file (tests of other schedulers) are left out.
    pub fn stages(&self, file: &str) -> Vec<Stage> {
        let mut parts = file.split('/').skip(1);
        let krate = parts.next().unwrap_or("");
        let inner: Vec<&str> = parts.skip(1).map(|part| part.trim_end_matches(".rs")).collect();
        let module = inner.first().copied().unwrap_or("");
        let mut stages = vec![];
        let unit = |filter: &str| self.test("sched", "schedlab_sched", &[filter]);
        if krate == "sched" {
            let part = if module == "classes" { inner.get(1).copied().unwrap_or("") } else { "" };
            stages.push(self.golden(folders_of(module, part)));
            if module == "classes" {
                stages.extend(unit(&format!("classes::{part}")));
            } else {
                stages.extend(unit(&format!("{module}::")));
            }
            for name in ["promises", "tunables", "documented_rules"] {
                stages.extend(self.test("sched", name, &[]));
            }
            if matches!(module, "classes" | "cfs" | "fair_6") {
                stages.extend(unit("classes::"));
            }
            if module == "classes" {
                stages.extend(unit("fair_6::"));
                stages.extend(unit("cfs::"));
            }
            let machine: &[&str] = match module {
                "classes" | "cfs" | "fair_6" => &["topology", "hotplug", "eevdf", "groups"],
                "staircase" | "bfs" => &["staircase_and_bfs", "topology"],
                "textbook" => &["textbook", "topology"],
                _ => &["topology", "hotplug"],
            };
            for name in machine {
                stages.extend(self.test("machine", name, &[]));
            }
        } else {
            if krate == "machine" {
                stages.extend(self.test("machine", "schedlab_machine", &[]));
                stages.push(self.golden(&["round_robin", "o_n", "eevdf"]));
                stages.extend(self.test("machine", "", &[]));
                stages.push(self.golden(&[]));
            }
            stages.extend(self.test("measure", "", &[]));
            stages.extend(self.test("workload", "workload", &[]));
        }
        if krate != "measure" {
            stages.extend(self.test("lab", "golden", &[]));
        }
        let mut seen = std::collections::BTreeSet::new();
        stages.retain(|stage| seen.insert(stage.name.clone()));
        stages
    }

    /// Runs every stage of a file without a mutant, and records its duration.
    ///
    /// # Errors
    /// If one fails.
    pub fn baseline(&self, stages: &mut [Stage]) -> Result<(), String> {
        for stage in stages {
            let start = Instant::now();
            match stage.passes(0, Duration::from_secs(1200)) {
                Ok(Some(true)) => stage.takes = start.elapsed(),
                Ok(_) => return Err(format!("without a mutant {} fails", stage.name)),
                Err(why) => return Err(format!("{}: {why}", stage.name)),
            }
        }
        Ok(())
    }

    /// Runs the stages until one fails.
    ///
    /// # Errors
    /// If a test cannot be run.
    pub fn judge(&self, stages: &[Stage], number: u32) -> io::Result<Verdict> {
        for stage in stages {
            let limit = Duration::from_secs(20) + stage.takes * 6;
            match stage.passes(number, limit)? {
                Some(true) => {}
                Some(false) => return Ok(Verdict::Caught(stage.name.clone())),
                None => return Ok(Verdict::TimedOut(stage.name.clone())),
            }
        }
        Ok(Verdict::Missed)
    }
}

/// The folders of golden schedules that a module of `sched` decides. For a shared class, `part`
/// names it.
fn folders_of(module: &str, part: &str) -> &'static [&'static str] {
    match (module, part) {
        ("round_robin", _) => &["round_robin"],
        ("o_n", _) => &["o_n"],
        ("o_1", _) => &["o_1", "o_1_2622"],
        ("staircase", _) => &["sd"],
        ("bfs", _) => &["bfs", "bfs316"],
        ("cfs", _) | ("classes", "core_2_6") => &["cfs"],
        ("fair_6", _) => &["eevdf", "eevdf_topology", "cfs61", "deadline"],
        ("classes", "deadline" | "core_6") => &["deadline", "eevdf", "eevdf_topology", "cfs61"],
        ("classes", "load_balance_2_6_22") => &["o_1_2622", "sd"],
        ("classes", _) => &["cfs", "eevdf", "eevdf_topology", "cfs61", "deadline"],
        // One of the smallest, so that there is at least one.
        _ => &["round_robin"],
    }
}

/// The key that files with the same stages share.
pub fn stages_key(mutant: &Mutant) -> String {
    mutant.file.trim_end_matches(".rs").split('/').take(5).collect::<Vec<_>>().join("/")
}
