//! Gives readers inputs for any length of time: `schedlab-fuzz all --inputs 1000000`.

#![forbid(unsafe_code)]

use schedlab_fuzz::hunt::{Fault, Hunt};
use schedlab_fuzz::ledger::{self, Entry};
use schedlab_fuzz::readers::{self, Reader};
use schedlab_fuzz::{corpus, readers::Shape};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const USAGE: &str = "\
usage: schedlab-fuzz READER[,READER ...]|all [OPTIONS]
  --inputs N      inputs for each reader [default: 100000]
  --seconds S     time limit for each reader
  --seed N        seed of the first thread; each further thread has the next [default: 1]
  --threads N     [default: number of cores]
  --keep          write the inputs of new shapes to fuzz/corpus/READER (at most 100 files)
  --ledger        add a line for each reader to fuzz/ledger.csv
  --faults DIR    directory for faults [default: target/fuzz-faults]
  --trace FILE    write each input to FILE before it is read, to find one that ends the process
                  (slow; one thread)
schedlab-fuzz list shows all readers.";

struct Options {
    readers: Vec<&'static Reader>,
    inputs: u64,
    seconds: u64,
    seed: u64,
    threads: u64,
    keep: bool,
    ledger: bool,
    faults: PathBuf,
    trace: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["list"] {
        for reader in readers::ALL {
            println!("{:15} {}", reader.name, reader.about);
        }
        return ExitCode::SUCCESS;
    }
    let options = match options(&arguments) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("error: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A panic is a result. Its message is reported with the input.
    std::panic::set_hook(Box::new(|_| {}));
    let mut faults = 0;
    for reader in &options.readers {
        match hunt(reader, &options) {
            Ok(found) => faults += found,
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::from(2);
            }
        }
    }
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options(arguments: &[String]) -> Result<Options, String> {
    let mut words = arguments.iter();
    let names = words.next().ok_or("which reader?")?;
    let readers = match names.as_str() {
        "all" => readers::ALL.iter().collect(),
        names => names
            .split(',')
            .map(|name| readers::find(name).ok_or_else(|| format!("there is no reader {name}")))
            .collect::<Result<Vec<_>, String>>()?,
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let mut options = Options {
        readers,
        inputs: 100_000,
        seconds: u64::MAX,
        seed: 1,
        threads: cores,
        keep: false,
        ledger: false,
        faults: PathBuf::from("target/fuzz-faults"),
        trace: None,
    };
    while let Some(option) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{option} needs a value"));
        let number = |value: &String| {
            value.parse().map_err(|_| format!("{option} takes a whole number, not {value}"))
        };
        match option.as_str() {
            "--inputs" => options.inputs = number(value()?)?,
            "--seconds" => options.seconds = number(value()?)?,
            "--seed" => options.seed = number(value()?)?,
            "--threads" => options.threads = number(value()?)?.max(1),
            "--keep" => options.keep = true,
            "--ledger" => options.ledger = true,
            "--faults" => options.faults = value()?.into(),
            "--trace" => {
                options.trace = Some(value()?.into());
                options.threads = 1;
            }
            _ => return Err(format!("there is no option {option}")),
        }
    }
    Ok(options)
}

/// Progress of a thread, for the watching thread.
#[derive(Default)]
struct Watched {
    /// Number of inputs begun.
    begun: AtomicU64,
    input: Mutex<Vec<u8>>,
}

/// Gives a reader its inputs. Returns the number of inputs that it failed on.
fn hunt(reader: &'static Reader, options: &Options) -> std::io::Result<u64> {
    let seeds = corpus::read(&corpus::directory().join(reader.name))?;
    let start = Instant::now();
    let watched: Vec<Watched> = (0..options.threads).map(|_| Watched::default()).collect();
    let over = AtomicBool::new(false);
    let faults: Mutex<Vec<Fault>> = Mutex::default();
    let mut kept: BTreeMap<Shape, Vec<u8>> = BTreeMap::new();
    let (mut given, mut taken) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| watch(reader, options, &watched, &over));
        let threads: Vec<_> = watched
            .iter()
            .zip(0..)
            .map(|(watched, number)| {
                let (seeds, faults) = (seeds.clone(), &faults);
                let work = move || one_thread(reader, options, number, seeds, watched, faults);
                // Deep recursion must fail as it would for users: main threads have stacks of 8
                // MiB.
                let builder = std::thread::Builder::new().stack_size(8 << 20);
                builder.spawn_scoped(scope, work).expect("a thread can be started")
            })
            .collect();
        for thread in threads {
            let hunt = thread.join().expect("faults are caught");
            given += hunt.given();
            taken += hunt.taken();
            for (shape, input) in hunt.kept() {
                let best = kept.entry(shape).or_insert_with(|| input.to_vec());
                if input.len() < best.len() {
                    *best = input.to_vec();
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let mut faults = faults.into_inner().unwrap_or_else(PoisonError::into_inner);
    faults.dedup_by(|one, other| one.message == other.message);
    for Fault { input, message } in &faults {
        let path = corpus::keep(&options.faults, &format!("{}-", reader.name), input)?;
        println!("FAULT  {}: {message}\n       the input: {}", reader.name, path.display());
    }
    let seconds = start.elapsed().as_secs();
    println!(
        "{:15} {given:>11} inputs, {:>3} % accepted, {:>5} shapes, {seconds} s, {} faults",
        reader.name,
        taken * 100 / given.max(1),
        kept.len(),
        faults.len()
    );
    if options.keep {
        keep(reader, &kept)?;
    }
    if options.ledger {
        add_to_ledger(reader, options, given, seconds, faults.len() as u64)?;
    }
    Ok(faults.len() as u64)
}

fn one_thread(
    reader: &'static Reader,
    options: &Options,
    number: u64,
    seeds: Vec<Vec<u8>>,
    watched: &Watched,
    faults: &Mutex<Vec<Fault>>,
) -> Hunt {
    /// More faults of one thread are not informative.
    const FAULTS_MAX: usize = 20;
    let start = Instant::now();
    let inputs =
        options.inputs / options.threads + u64::from(number < options.inputs % options.threads);
    let mut hunt = Hunt::new(reader, options.seed + number, seeds.clone());
    let mut found = 0;
    let mut queue = seeds.into_iter();
    while hunt.given() < inputs && found < FAULTS_MAX {
        let seed = queue.next();
        let input = match &seed {
            Some(seed) => seed.as_slice(),
            None => hunt.make(),
        };
        {
            let mut current = watched.input.lock().unwrap_or_else(PoisonError::into_inner);
            current.clear();
            current.extend_from_slice(input);
        }
        watched.begun.fetch_add(1, Ordering::Relaxed);
        if let Some(trace) = &options.trace {
            std::fs::write(trace, input).expect("the trace can be written");
        }
        let result = match &seed {
            Some(seed) => hunt.read(seed),
            None => hunt.give(),
        };
        if let Err(fault) = result {
            let mut faults = faults.lock().unwrap_or_else(PoisonError::into_inner);
            if !faults.iter().any(|known| known.message == fault.message) {
                faults.push(fault);
                found += 1;
            }
        }
        if hunt.given().is_multiple_of(256) && start.elapsed().as_secs() >= options.seconds {
            break;
        }
    }
    hunt
}

/// Ends the program if an input is not read within the time limit. The time is the CPU time of the
/// process, divided by its threads: if other processes have the CPUs, nothing hangs.
fn watch(reader: &Reader, options: &Options, watched: &[Watched], over: &AtomicBool) {
    const PATIENCE: Duration = Duration::from_secs(60);
    let start = Instant::now();
    let threads = u32::try_from(watched.len()).unwrap_or(u32::MAX).max(1);
    let spent = || cpu_time().unwrap_or_else(|| start.elapsed() * threads);
    let mut seen: Vec<(u64, Duration)> = watched.iter().map(|_| (0, spent())).collect();
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
        let spent = spent();
        for (watched, (begun, since)) in watched.iter().zip(&mut seen) {
            let now = watched.begun.load(Ordering::Relaxed);
            if now != *begun {
                (*begun, *since) = (now, spent);
            } else if now > 0
                && spent.saturating_sub(*since) > PATIENCE * threads
                && !over.load(Ordering::Relaxed)
            {
                let input = watched.input.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let path = corpus::keep(&options.faults, &format!("{}-hang-", reader.name), &input);
                println!("FAULT  {}: it hangs; the input: {path:?}", reader.name);
                std::process::exit(1);
            }
        }
    }
}

/// Returns the CPU time of all threads of this process, which `/proc/self/stat` counts in
/// hundredths of a second. `None` if there is no such file.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may contain spaces. User and system time are fields 14 and 15.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks: Vec<u64> =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    (ticks.len() == 2).then(|| Duration::from_millis((ticks[0] + ticks[1]) * 10))
}

/// Chooses at most 100 files for the corpus: accepted inputs first, then refused ones, both long
/// and short.
fn keep(reader: &Reader, kept: &BTreeMap<Shape, Vec<u8>>) -> std::io::Result<()> {
    const FILES_MAX: usize = 100;
    const TAKEN_MAX: usize = 40;
    let directory = corpus::directory().join(reader.name);
    let there = corpus::read(&directory)?;
    let room = FILES_MAX.saturating_sub(there.len());
    let mut taken: Vec<&Vec<u8>> =
        kept.iter().filter(|(shape, _)| shape.is_taken()).map(|(_, input)| input).collect();
    let mut refused: Vec<&Vec<u8>> =
        kept.iter().filter(|(shape, _)| !shape.is_taken()).map(|(_, input)| input).collect();
    for inputs in [&mut taken, &mut refused] {
        inputs.retain(|input| input.len() <= 4_000 && !there.contains(input));
        inputs.sort_by_key(|input| input.len());
    }
    let of_taken = spread(&taken, room.min(TAKEN_MAX));
    let of_refused = spread(&refused, room - of_taken.len());
    for input in of_taken.into_iter().chain(of_refused) {
        corpus::keep(&directory, "", input)?;
    }
    Ok(())
}

/// Picks `most` items of `from`, evenly spread.
fn spread<'a>(from: &[&'a Vec<u8>], most: usize) -> Vec<&'a Vec<u8>> {
    let count = from.len().min(most);
    (0..count).map(|number| from[number * from.len() / count]).collect()
}

fn add_to_ledger(
    reader: &Reader,
    options: &Options,
    inputs: u64,
    seconds: u64,
    faults: u64,
) -> std::io::Result<()> {
    let git = std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let revision = git.ok().filter(|output| output.status.success());
    let revision = revision.map_or("unknown".into(), |output| {
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    });
    let entry = Entry {
        date: ledger::today(),
        revision,
        reader: reader.name.into(),
        driver: "schedlab-fuzz".into(),
        first_seed: options.seed,
        threads: options.threads,
        inputs,
        seconds,
        faults,
    };
    let path = ledger::path();
    let new = !path.exists();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    if new {
        writeln!(file, "{}", ledger::HEAD)?;
    }
    writeln!(file, "{}", entry.line())
}
