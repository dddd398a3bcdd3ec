//! Runs the tests against one mutant after the other, the likeliest to catch it first.

use crate::sample::Mutant;
use crate::tree::Tree;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A stage failed.
    Caught(String),
    /// A stage did not end in time.
    TimedOut(String),
    /// All passed.
    Missed,
}

/// Tests that are run together.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What the report calls it.
    pub name: String,
    program: PathBuf,
    arguments: Vec<String>,
    directory: PathBuf,
    /// How long it takes without a mutant.
    pub takes: Duration,
}

impl Stage {
    /// Runs it with mutant `number` (0: with none). None: it did not end in time.
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
    /// The tests that were built for `tree`.
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

    /// The golden schedules that a module of `sched` decides; all, if it is none of the schedulers.
    fn golden(&self, module: &str) -> Stage {
        let folders: &[&str] = match module {
            "round_robin" => &["round_robin"],
            "o_n" => &["o_n"],
            "o_1" => &["o_1", "o_1_2622"],
            "staircase" => &["sd"],
            "bfs" => &["bfs", "bfs316"],
            "cfs" => &["cfs"],
            "fair_6" => &["eevdf", "eevdf_topology", "cfs61", "deadline"],
            // One of the few, so that there is something.
            "textbook" | "registry" => &["round_robin"],
            _ => &[""],
        };
        let paths = folders.iter().map(|folder| format!("tests/golden/{folder}"));
        let paths = paths.filter(|path| self.tree.join(path).exists());
        Stage {
            name: format!("golden schedules {}", folders.join(" ")).trim().to_string(),
            program: self.tree.join("target/debug/schedlab"),
            arguments: ["verify", "--quiet"].into_iter().map(String::from).chain(paths).collect(),
            directory: self.tree.clone(),
            takes: Duration::ZERO,
        }
    }

    /// The stages for the mutants of a file.
    pub fn stages(&self, file: &str) -> Vec<Stage> {
        let mut parts = file.split('/').skip(1);
        let krate = parts.next().unwrap_or("");
        let module = parts.nth(1).unwrap_or("").trim_end_matches(".rs").to_string();
        let verify = self.golden(if krate == "sched" { &module } else { "" });
        let mut stages = vec![];
        match krate {
            "sched" => {
                stages.push(verify);
                stages.extend(self.test("sched", "schedlab_sched", &[&format!("{module}::")]));
                stages.extend(self.test("sched", "", &[]));
                stages.extend(self.test("machine", "", &[]));
                stages.extend(self.test("measure", "", &[]));
            }
            "machine" => {
                stages.extend(self.test("machine", "schedlab_machine", &[]));
                stages.push(verify);
                stages.extend(self.test("machine", "", &[]));
                stages.extend(self.test("measure", "", &[]));
            }
            _ => {
                stages.extend(self.test("measure", "", &[]));
            }
        }
        stages.extend(self.test("workload", "", &[]));
        stages.extend(self.test("lab", "golden", &[]));
        let mut seen = std::collections::BTreeSet::new();
        stages.retain(|stage| seen.insert(stage.name.clone()));
        stages
    }

    /// Runs every stage of a file without a mutant, and notes how long it takes.
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

/// The key under which files have the same stages.
pub fn stages_key(mutant: &Mutant) -> String {
    mutant.file.split('/').take(4).collect::<Vec<_>>().join("/")
}
