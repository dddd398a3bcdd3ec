//! Random worlds, many at a time, over many runs: which seeds all releases have been run with
//! stands in `tests/worlds.csv`, and `cargo xtask worlds` goes on behind the last of them.
//!
//! The file is the same for everybody who has the same revision, and so is what is run next. It is
//! written only if somebody asks for it (`--record`) and no rule was broken.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The columns.
const HEAD: &str = "date,revision,first_seed,seeds,releases,worlds";

/// How many worlds are wanted in all.
const WANTED: u64 = 1_000_000;

/// Worlds of wider kinds begin with this seed; those below are for faults of the past.
const WIDE: u64 = 10_000;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// So many seeds, each with every release.
    seeds: u64,
    /// Passes over so many times as many, which others run.
    part: u64,
    /// With the program as it is released, which is built for it.
    release: bool,
    /// Adds what was run to the file.
    record: bool,
}

/// A line of the file.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    first_seed: u64,
    seeds: u64,
    worlds: u64,
}

/// Runs the next worlds.
pub fn run(arguments: &[&str]) -> ExitCode {
    match try_run(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn try_run(arguments: &[&str]) -> Result<bool, String> {
    let options = options(arguments)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join("tests/worlds.csv");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path:?}: {error}"))?;
    let done = read(&text)?;
    let all: u64 = done.iter().map(|done| done.worlds).sum();
    let next = next_seed(&done) + options.part * options.seeds;
    println!("{all} of {WANTED} random worlds are recorded; next are the seeds from {next} on");
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(&root).args(["run", "--quiet", "-p", "schedlab"]);
    if options.release {
        command.arg("--release");
    }
    command.args(["--", "stress", "--scheduler", "all"]);
    command.args(["--first-seed", &next.to_string(), "--seeds", &options.seeds.to_string()]);
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    let told = String::from_utf8_lossy(&output.stdout);
    let (releases, worlds) = tally(&told);
    if !output.status.success() || worlds != releases * options.seeds || worlds == 0 {
        print!("{told}");
        return Ok(false);
    }
    let line = format!(
        "{},{},{next},{},{releases},{worlds}",
        git(&root, &["show", "-s", "--format=%cs", "HEAD"]),
        git(&root, &["rev-parse", "--short", "HEAD"]),
        options.seeds
    );
    println!(
        "every rule was kept in {worlds} worlds: {releases} releases, {} seeds",
        options.seeds
    );
    if options.record {
        std::fs::write(&path, format!("{text}{line}\n")).map_err(|error| error.to_string())?;
    } else {
        println!("to record them: this line at the end of tests/worlds.csv, or --record\n{line}");
    }
    Ok(true)
}

fn options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options { seeds: 100, part: 0, release: false, record: false };
    let mut words = arguments.iter();
    while let Some(&word) = words.next() {
        let mut number = || {
            let value = words.next().and_then(|value| value.parse().ok());
            value.ok_or_else(|| format!("{word} takes a whole number"))
        };
        match word {
            "--seeds" => options.seeds = number()?,
            "--part" => options.part = number()?,
            "--release" => options.release = true,
            "--record" => options.record = true,
            _ => {
                let usage = "worlds [--seeds N] [--part N] [--release] [--record]";
                return Err(format!("there is no {word}; usage: cargo xtask {usage}"));
            }
        }
    }
    Ok(options)
}

fn read(text: &str) -> Result<Vec<Done>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!("tests/worlds.csv:1: it must be {HEAD}"));
    }
    let done = |(number, line): (usize, &str)| {
        let fields: Vec<&str> = line.split(',').collect();
        let number_at = |place: usize| fields.get(place).and_then(|field| field.parse().ok());
        match (number_at(2), number_at(3), number_at(5), fields.len()) {
            (Some(first_seed), Some(seeds), Some(worlds), 6) => {
                Ok(Done { first_seed, seeds, worlds })
            }
            _ => Err(format!("tests/worlds.csv:{}: it is not {HEAD}", number + 2)),
        }
    };
    lines.enumerate().map(done).collect()
}

/// The first seed behind all that were run.
fn next_seed(done: &[Done]) -> u64 {
    done.iter().map(|done| done.first_seed + done.seeds).max().unwrap_or(0).max(WIDE)
}

/// Releases and worlds in the table that `schedlab stress` prints: a line a release, with its
/// worlds behind its name.
fn tally(told: &str) -> (u64, u64) {
    let worlds = told.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|name| name.contains('@'))?;
        words.next()?.parse::<u64>().ok()
    });
    worlds.fold((0, 0), |(releases, all), worlds| (releases + 1, all + worlds))
}

fn git(root: &PathBuf, arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(root).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_string()
        }
        _ => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_next_follows_from_the_file() {
        let text = format!("{HEAD}\n2026-11-22,abc,0,100,46,4600\n2026-11-23,def,100,50,46,2300\n");
        let done = read(&text).unwrap();
        assert_eq!(next_seed(&done), WIDE);
        assert_eq!(done.iter().map(|done| done.worlds).sum::<u64>(), 6_900);
        assert_eq!(next_seed(&read(&format!("{HEAD}\n")).unwrap()), WIDE);
        assert!(read("").is_err());
        assert!(read(&format!("{HEAD}\n2026-11-22,abc,0,100\n")).unwrap_err().contains(":2:"));
    }

    #[test]
    fn the_file_of_this_repository_can_be_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/worlds.csv");
        let done = read(&std::fs::read_to_string(path).unwrap()).unwrap();
        // No seed counts twice.
        for (place, one) in done.iter().enumerate() {
            for other in &done[..place] {
                let apart = one.first_seed >= other.first_seed + other.seeds
                    || other.first_seed >= one.first_seed + one.seeds;
                assert!(apart, "{one:?} and {other:?} have seeds in common");
            }
        }
    }

    #[test]
    fn worlds_are_counted_in_the_table_that_stress_prints() {
        let told = "scheduler   worlds  events  broken\no_1@2.6.0       10  54  0\ncfs@2.6.32      \
                    10   9  0\n";
        assert_eq!(tally(told), (2, 20));
        assert_eq!(tally("BROKEN  cfs@2.6.32: at 5 ns ..."), (0, 0));
    }

    #[test]
    fn options_are_read() {
        let all = ["--seeds", "5", "--part", "2", "--release", "--record"];
        let read = Options { seeds: 5, part: 2, release: true, record: true };
        assert_eq!(options(&all), Ok(read));
        assert!(options(&["--seed"]).is_err());
        assert!(options(&["--seeds"]).is_err());
    }
}
