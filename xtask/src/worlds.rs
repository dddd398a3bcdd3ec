//! Random worlds, many at a time, over many runs: `tests/worlds.csv` lists the seeds with which all
//! releases have been run, and `cargo xtask worlds` continues after the last of them. A line with
//! fewer releases is of those that were new at that time.
//!
//! The seeds that are run next depend only on that file, so they are the same for all clones of a
//! revision. The file is written only with `--record`, and only if no rule was broken.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The columns.
const HEAD: &str = "date,revision,first_seed,seeds,releases,worlds";

/// Number of worlds to reach.
const WANTED: u64 = 1_000_000;

/// First seed of the wider kinds of worlds; lower seeds are reserved for faults of the past.
const WIDE: u64 = 10_000;

/// Options of the command.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// Number of seeds. Each is run with every release.
    seeds: u64,
    /// Number of blocks of `seeds` seeds to skip, because other jobs run them.
    part: u64,
    /// Whether to build and run the program in its release profile.
    release: bool,
    /// Whether to add the run to the file.
    record: bool,
    /// Program to run; `None`: cargo builds it.
    program: Option<String>,
    /// Releases to run, separated by commas.
    scheduler: String,
}

/// A line of the file.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    first_seed: u64,
    seeds: u64,
    worlds: u64,
}

/// Runs the next worlds.
///
/// # Errors
/// An option or the file is wrong, or the program cannot be run.
pub fn run(arguments: &[&str]) -> Result<bool, String> {
    let options = options(arguments)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join("tests/worlds.csv");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path:?}: {error}"))?;
    let done = read(&text)?;
    let all: u64 = done.iter().map(|done| done.worlds).sum();
    let next = next_seed(&done) + options.part * options.seeds;
    println!("{all} of {WANTED} random worlds are recorded; the next seeds are {next} and above");
    let mut command = match &options.program {
        Some(program) => Command::new(program),
        None => {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["run", "--quiet", "-p", "schedlab"]);
            cargo.args(options.release.then_some("--release")).arg("--");
            cargo
        }
    };
    command.current_dir(&root).args(["stress", "--scheduler", &options.scheduler]);
    command.args(["--first-seed", &next.to_string(), "--seeds", &options.seeds.to_string()]);
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    let table = String::from_utf8_lossy(&output.stdout);
    let (releases, worlds) = tally(&table);
    if !output.status.success() || worlds != releases * options.seeds || worlds == 0 {
        print!("{table}");
        return Ok(false);
    }
    let line = format!(
        "{},{},{next},{},{releases},{worlds}",
        git(&root, &["show", "-s", "--format=%cs", "HEAD"]),
        git(&root, &["rev-parse", "--short", "HEAD"]),
        options.seeds
    );
    println!("no rule was broken in {worlds} worlds: {releases} releases, {} seeds", options.seeds);
    if options.record {
        std::fs::write(&path, format!("{text}{line}\n")).map_err(|error| error.to_string())?;
    } else {
        println!("to record them, use --record, or add this line to tests/worlds.csv\n{line}");
    }
    Ok(true)
}

fn options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options {
        seeds: 100,
        part: 0,
        release: false,
        record: false,
        program: None,
        scheduler: "all".into(),
    };
    let mut words = arguments.iter();
    while let Some(&word) = words.next() {
        let mut number = || {
            let value = words.next().and_then(|value| value.parse().ok());
            value.ok_or_else(|| format!("{word} takes a whole number"))
        };
        match word {
            "--seeds" => options.seeds = number()?,
            "--part" => options.part = number()?,
            "--program" => {
                let program = words.next().ok_or("--program takes a path")?;
                options.program = Some(program.to_string());
            }
            "--scheduler" => {
                let names = words.next().ok_or("--scheduler takes names of releases")?;
                options.scheduler = names.to_string();
            }
            "--release" => options.release = true,
            "--record" => options.record = true,
            _ => {
                let usage = "worlds [--seeds N] [--part N] [--scheduler NAMES] \
                             [--release | --program PATH] [--record]";
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

/// Returns the first seed after all those that were run.
fn next_seed(done: &[Done]) -> u64 {
    done.iter().map(|done| done.first_seed + done.seeds).max().unwrap_or(0).max(WIDE)
}

/// Numbers of releases and worlds in the table that `schedlab stress` prints: one line for each
/// release, with the number of worlds after its name.
fn tally(table: &str) -> (u64, u64) {
    let worlds = table.lines().filter_map(|line| {
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
        let table = "scheduler   worlds  events  broken\no_1@2.6.0       10  54  0\ncfs@2.6.32      \
                    10   9  0\n";
        assert_eq!(tally(table), (2, 20));
        assert_eq!(tally("BROKEN  cfs@2.6.32: at 5 ns ..."), (0, 0));
    }

    #[test]
    fn options_are_read() {
        let switches = ["--seeds", "5", "--part", "2", "--release", "--record"];
        let values = ["--program", "p", "--scheduler", "a,b"];
        let read = Options {
            seeds: 5,
            part: 2,
            release: true,
            record: true,
            program: Some("p".into()),
            scheduler: "a,b".into(),
        };
        assert_eq!(options(&[&switches[..], &values].concat()), Ok(read));
        assert!(options(&["--seed"]).is_err());
        assert!(options(&["--seeds"]).is_err());
    }
}
