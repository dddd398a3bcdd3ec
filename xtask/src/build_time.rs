//! Cost of a build from nothing: `cargo xtask build-time [--tests] [-- COMMAND]`.
//!
//! The command builds into a fresh directory with this program as `RUSTC_WRAPPER`, which records
//! each call of rustc in a file that an environment variable names. Numbers are read from `/proc`,
//! so they are complete on Linux only.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Environment variable with the path of the record. If it is set, this program wraps rustc.
pub const RECORD: &str = "SCHEDLAB_RUSTC_RECORD";

/// Build of README's first command.
const DEFAULT: [&str; 4] = ["build", "--release", "--package", "schedlab"];

/// Build of `cargo test`.
const TESTS: [&str; 3] = ["test", "--workspace", "--no-run"];

/// Ceiling of CPU time, for [`DEFAULT`].
const CPU_MAX: Duration = Duration::from_secs(245);

/// Ceiling of the time that passes on two idle cores, for [`DEFAULT`].
const WALL_MAX: Duration = Duration::from_secs(130);

/// Ceiling of the program's size, for [`DEFAULT`].
const BINARY_BYTES_MAX: u64 = 25_000_000;

/// Ceiling of the memory of any one rustc, for all commands.
const RUSTC_BYTES_MAX: u64 = 2_000_000_000;

/// Number of crates that are printed.
const CRATES_SHOWN: usize = 10;

/// Clock ticks a second in `/proc/*/stat`, the same on every architecture of Linux.
const TICKS_PER_S: u64 = 100;

/// Interval at which the memory of rustc is read.
const POLL: Duration = Duration::from_millis(20);

/// Cost of a crate: all calls of rustc for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cost {
    name: String,
    wall: Duration,
    cpu: Duration,
    peak_bytes: u64,
}

/// Builds from nothing, prints what it cost, and fails above a ceiling.
pub fn run(arguments: &[&str]) -> ExitCode {
    let (is_default, command) = match arguments {
        [] => (true, DEFAULT.to_vec()),
        ["--tests"] => (false, TESTS.to_vec()),
        ["--", "cargo", command @ ..] | ["--", command @ ..] if !command.is_empty() => {
            (false, command.to_vec())
        }
        _ => {
            eprintln!("usage: cargo xtask build-time [--tests] [-- CARGO-ARGUMENTS]");
            return ExitCode::from(2);
        }
    };
    match build(&command, is_default) {
        Ok(over) if over.is_empty() => ExitCode::SUCCESS,
        Ok(over) => {
            for message in over {
                eprintln!("error: {message}");
            }
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Runs cargo, prints the costs, and returns a message for each ceiling that was passed.
fn build(command: &[&str], is_default: bool) -> Result<Vec<String>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), PathBuf::from)
        .join("build-time");
    let describe = |error: std::io::Error| format!("{}: {error}", target.display());
    if target.exists() {
        fs::remove_dir_all(&target).map_err(describe)?;
    }
    fs::create_dir_all(&target).map_err(describe)?;
    let record = target.join("rustc.tsv");
    let wrapper = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let before = cpu_of_children();
    let start = Instant::now();
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(command)
        .current_dir(&root)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTC_WRAPPER", wrapper)
        .env(RECORD, &record)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("cargo {}: {status}", command.join(" ")));
    }
    let wall = start.elapsed();
    let cpu = cpu_of_children().saturating_sub(before);
    let costs = read(&fs::read_to_string(&record).map_err(describe)?);
    let program = target.join(format!("release/schedlab{}", std::env::consts::EXE_SUFFIX));
    let binary_bytes = fs::metadata(program).map_or(0, |data| data.len());
    let peak_bytes = costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or(0);
    println!("cargo {}", command.join(" "));
    print!("{}", report(cpu, wall, binary_bytes, &costs));
    fs::remove_dir_all(&target).map_err(describe)?;
    let mut over = vec![];
    if is_default {
        over.extend(seconds_over("CPU time", cpu, CPU_MAX));
        over.extend(seconds_over("wall time on two idle cores", wall, WALL_MAX));
        over.extend(bytes_over("the program", binary_bytes, BINARY_BYTES_MAX));
    }
    over.extend(bytes_over("memory of one rustc", peak_bytes, RUSTC_BYTES_MAX));
    Ok(over)
}

fn seconds_over(what: &str, is: Duration, max: Duration) -> Option<String> {
    (is > max).then(|| format!("{what}: {:.0} s; at most {} s", is.as_secs_f64(), max.as_secs()))
}

fn bytes_over(what: &str, is: u64, max: u64) -> Option<String> {
    (is > max).then(|| format!("{what}: {:.1} MB; at most {:.0} MB", megabytes(is), megabytes(max)))
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Returns the costs as text.
fn report(cpu: Duration, wall: Duration, binary_bytes: u64, costs: &[Cost]) -> String {
    let mut text =
        format!("CPU   {:8.1} s\nwall  {:8.1} s\n", cpu.as_secs_f64(), wall.as_secs_f64());
    if binary_bytes > 0 {
        text += &format!("size  {:8.1} MB\n", megabytes(binary_bytes));
    }
    if let Some(cost) = costs.iter().max_by_key(|cost| cost.peak_bytes) {
        let peak = megabytes(cost.peak_bytes);
        text += &format!("peak  {peak:8.1} MB, of rustc for {}\n", cost.name);
    }
    let all: Duration = costs.iter().map(|cost| cost.cpu).sum();
    text += &format!(
        "\n{} crates; rustc took {:.1} s of CPU. The dearest {CRATES_SHOWN}:\n\n   CPU s  wall s  peak MB\n",
        costs.len(),
        all.as_secs_f64()
    );
    for cost in &costs[..CRATES_SHOWN.min(costs.len())] {
        text += &format!(
            "{:8.1}{:8.1}{:9.0}  {}\n",
            cost.cpu.as_secs_f64(),
            cost.wall.as_secs_f64(),
            megabytes(cost.peak_bytes),
            cost.name
        );
    }
    text
}

/// Returns the record's crates, dearest first.
fn read(record: &str) -> Vec<Cost> {
    let mut costs: Vec<Cost> = vec![];
    for line in record.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, wall_ms, cpu_ms, peak_bytes] = fields[..] else { continue };
        let number = |field: &str| field.parse::<u64>().unwrap_or(0);
        let wall = Duration::from_millis(number(wall_ms));
        let cpu = Duration::from_millis(number(cpu_ms));
        let peak_bytes = number(peak_bytes);
        match costs.iter_mut().find(|cost| cost.name == name) {
            Some(cost) => {
                cost.wall += wall;
                cost.cpu += cpu;
                cost.peak_bytes = cost.peak_bytes.max(peak_bytes);
            }
            None => costs.push(Cost { name: name.to_string(), wall, cpu, peak_bytes }),
        }
    }
    costs.sort_by(|a, b| (b.cpu, &a.name).cmp(&(a.cpu, &b.name)));
    costs
}

/// Runs rustc as cargo asks a wrapper to (`WRAPPER RUSTC ARGUMENTS`), and adds a line to `record`.
pub fn wrap(record: &str, arguments: &[String]) -> ExitCode {
    let Some((rustc, arguments)) = arguments.split_first() else { return ExitCode::from(2) };
    let before = cpu_of_children();
    let start = Instant::now();
    let mut child = match Command::new(rustc).args(arguments).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("error: {rustc}: {error}");
            return ExitCode::from(2);
        }
    };
    let status_file = format!("/proc/{}/status", child.id());
    let peak_bytes = std::sync::Arc::new(AtomicU64::new(0));
    let seen = peak_bytes.clone();
    // It ends with the process. The kernel keeps the peak: only the last moment is missed.
    std::thread::spawn(move || {
        while let Ok(status) = fs::read_to_string(&status_file) {
            if let Some(bytes) = peak_of(&status) {
                seen.fetch_max(bytes, Ordering::Relaxed);
            }
            std::thread::sleep(POLL);
        }
    });
    let status = child.wait();
    let cpu = cpu_of_children().saturating_sub(before);
    if let Some(name) = crate_name(arguments) {
        let line = format!(
            "{name}\t{}\t{}\t{}\n",
            start.elapsed().as_millis(),
            cpu.as_millis(),
            peak_bytes.load(Ordering::Relaxed)
        );
        let file = fs::OpenOptions::new().create(true).append(true).open(record);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("error: {record}: {error}");
        }
    }
    match status.ok().and_then(|status| status.code()) {
        Some(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        None => ExitCode::FAILURE,
    }
}

/// Returns the name of the crate that these arguments of rustc compile; `None` for a question about
/// rustc.
fn crate_name(arguments: &[String]) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == "--crate-name")?;
    let name = arguments.get(at + 1).filter(|name| *name != "___")?;
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    Some(match name.as_str() {
        "build_script_build" => format!("{package} (build script)"),
        name if arguments.iter().any(|argument| argument == "--test") => format!("{name} (test)"),
        name if arguments.iter().any(|argument| argument == "bin") => format!("{name} (program)"),
        name => name.to_string(),
    })
}

/// Returns the largest memory so far, from the text of `/proc/PID/status`.
fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Returns the CPU time of all processes that this one started and waited for, with theirs.
fn cpu_of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_millis(ticks_of_children(&stat) * 1000 / TICKS_PER_S)
}

/// Returns `cutime` and `cstime` from the text of `/proc/self/stat`; the name in parentheses may
/// have blanks.
fn ticks_of_children(stat: &str) -> u64 {
    let behind_name = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let fields = behind_name.split_whitespace().skip(13).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_for_one_crate_are_one_cost_and_the_dearest_is_first() {
        let record = "a\t100\t50\t7\nb\t10\t900\t5\ntorn\na\t100\t50\t9\n";
        let costs = read(record);
        let names: Vec<&str> = costs.iter().map(|cost| cost.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(costs[1].wall, Duration::from_millis(200));
        assert_eq!((costs[1].cpu, costs[1].peak_bytes), (Duration::from_millis(100), 9));
        let text = report(Duration::from_secs(3), Duration::from_secs(2), 25_000_000, &costs);
        assert!(text.contains("25.0 MB") && text.contains("2 crates; rustc took 1.0 s"), "{text}");
    }

    #[test]
    fn the_kernels_numbers_are_read() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 300 45 20 0";
        assert_eq!(ticks_of_children(stat), 345);
        assert_eq!(peak_of("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2_097_152));
        assert_eq!(peak_of("Name:\tx\n"), None);
    }

    #[test]
    fn ceilings_are_named() {
        let (second, two) = (Duration::from_secs(1), Duration::from_secs(2));
        assert_eq!(seconds_over("CPU time", second, two), None);
        assert_eq!(seconds_over("CPU time", two, second).unwrap(), "CPU time: 2 s; at most 1 s");
        assert!(bytes_over("the program", 2_600_000, 2_500_000).unwrap().contains("2.6 MB"));
    }

    #[test]
    fn calls_of_rustc_are_named_by_what_they_compile() {
        let name = |arguments: &[&str]| {
            crate_name(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(name(&["--crate-name", "a", "--crate-type", "lib"]).as_deref(), Some("a"));
        assert_eq!(name(&["--crate-name", "a", "--test"]).as_deref(), Some("a (test)"));
        assert_eq!(name(&["-", "--crate-name", "___"]), None);
        assert_eq!(name(&["-vV"]), None);
    }
}
