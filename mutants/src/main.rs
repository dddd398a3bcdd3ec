//! Mutation testing: small faults put into the code, to see whether the tests find them.
//!
//! ```text
//! cargo xtask mutants [--seed N] [--count N] [--files PART,PART] [--jobs N] [--again | --new]
//! ```
//!
//! cargo-mutants lists the mutants. It would compile the workspace again for each of them, which
//! takes a minute or more. Here all mutants of a sample are compiled at once, each behind a check
//! whether it is active, and the tests run with one mutant active at a time. The results are in
//! `mutants/results.tsv`. `mutants/equivalent.tsv` lists the survivors for which no test can be
//! written, with the reason.

mod find;
mod report;
mod sample;
mod splice;
mod tree;
mod trial;

use report::Results;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use trial::{Stage, Trial, Verdict, stages_key};

struct Options {
    seed: u64,
    /// Number of mutants to compile.
    count: usize,
    /// Only files whose paths contain one of these parts.
    files: Vec<String>,
    jobs: usize,
    /// Only mutants that were missed before.
    again: bool,
    /// Only mutants that have not been tried.
    new: bool,
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { seed: 10, count: 900, files: vec![], jobs: 2, again: false, new: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match argument.as_str() {
            "--seed" => options.seed = number(value()?)?,
            "--count" => options.count = number(value()?)? as usize,
            "--jobs" => options.jobs = number(value()?)?.max(1) as usize,
            "--files" => options.files = value()?.split(',').map(String::from).collect(),
            "--again" => options.again = true,
            "--new" => options.new = true,
            other => return Err(format!("unknown: {other}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().map_err(|why| why.to_string())?;
    let mut mutants = sample::list(&root)?;
    println!("cargo-mutants lists {} mutants", mutants.len());
    sample::shuffle(&mut mutants, options.seed);
    mutants.truncate(options.count);
    mutants.retain(|mutant| {
        options.files.is_empty() || options.files.iter().any(|part| mutant.file.contains(part))
    });
    let results = Results::read(&root.join("mutants/results.tsv"));
    if options.again {
        mutants.retain(|mutant| results.is_missed(&mutant.name));
    }
    println!("{} mutants are tried", mutants.len());
    let tree = tree::Tree::plant(&root, &root.join("target/mutants"), &mutants, |mutant| {
        results.is_unviable(&mutant.name)
    })?;
    let trial = Trial::new(&tree, tree.build()?);
    let mut stages: BTreeMap<String, Vec<Stage>> = BTreeMap::new();
    let mut timed: BTreeMap<String, std::time::Duration> = BTreeMap::new();
    for &number in &tree.planted {
        let mutant = &mutants[number as usize - 1];
        let key = stages_key(mutant);
        if stages.contains_key(&key) {
            continue;
        }
        let mut all = trial.stages(&mutant.file);
        for stage in &mut all {
            if let Some(&takes) = timed.get(&stage.name) {
                stage.takes = takes;
            } else {
                trial.baseline(std::slice::from_mut(stage))?;
                println!("{:8.2} s {}", stage.takes.as_secs_f64(), stage.name);
                timed.insert(stage.name.clone(), stage.takes);
            }
        }
        stages.insert(key, all);
    }
    let results = Mutex::new(results);
    {
        let mut results = results.lock().map_err(|why| why.to_string())?;
        for (numbers, verdict) in [(&tree.no_place, "no place"), (&tree.unviable, "unviable")] {
            for &number in numbers {
                results.note(&mutants[number as usize - 1].name, verdict, "");
            }
        }
    }
    let is_tried = |number: &u32| {
        let name = &mutants[*number as usize - 1].name;
        results.lock().is_ok_and(|results| results.is_tried(name))
    };
    let numbers: Vec<u32> =
        tree.planted.iter().copied().filter(|number| !options.new || !is_tried(number)).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mutant = &mutants[number as usize - 1];
                    let verdict = trial.judge(&stages[&stages_key(mutant)], number);
                    let (verdict, by) = match verdict {
                        Ok(Verdict::Caught(by)) => ("caught", by),
                        Ok(Verdict::TimedOut(by)) => ("timed out", by),
                        Ok(Verdict::Missed) => ("missed", String::new()),
                        Err(why) => ("error", why.to_string()),
                    };
                    println!("{verdict:9} {} ({by})", mutant.name);
                    if let Ok(mut results) = results.lock() {
                        results.note(&mutant.name, verdict, &by);
                        results.write();
                    }
                }
            });
        }
    });
    let results = results.into_inner().map_err(|why| why.to_string())?;
    results.write();
    results.print(&root);
    Ok(())
}
