//! `schedlab-live`: runs a sched_ext policy in the kernel of this machine.
//!
//! It loads the object that the laboratory also runs. While a command runs, it shows how much CPU
//! time each task gets and how long tasks wait, and records the policy's decisions. Then it unloads
//! the policy.

mod checks;
mod decisions;
mod load;
mod log;
mod tasks;

use checks::Failure;
use clap::Parser;
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Run a sched_ext policy in this machine's kernel
#[derive(Parser, Debug)]
#[command(
    name = "schedlab-live",
    version,
    after_help = "\
All ordinary tasks of the machine run under the policy until the command is over, the time is up, or
Ctrl-C is pressed. Then they return to the kernel's own class. They also return if the policy ends
with a fault or this program is killed.

Examples:
  schedlab-live vtime --duration 10
  schedlab-live goodness --log decisions.log -- make -j8
  schedlab-live my_policy.bpf.o --scx-set slice_ns=5000000 -- hackbench

Exit status: 0 success; 1 the kernel or a fault ended the policy, or the command failed; 2 the
policy cannot be loaded (the message states the reason and the remedy)."
)]
struct Args {
    /// A policy of the laboratory by its name (--list), an object (.bpf.o) or a source (.bpf.c)
    #[arg(value_name = "POLICY", required_unless_present_any = ["list", "replay"])]
    policy: Option<String>,
    /// List the laboratory's own policies
    #[arg(long)]
    list: bool,
    /// Set a variable before the policy is loaded
    #[arg(long, value_name = "NAME=VALUE")]
    scx_set: Vec<String>,
    /// End after SECONDS
    #[arg(short, long, value_name = "SECONDS")]
    duration: Option<f64>,
    /// Interval at which shares and waits are shown; 0: never, and tasks are not observed
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    every: f64,
    /// File for events and the policy's decisions; sets its setting log_decisions (`schedlab scx
    /// replay` replays the file through the scheduler that the policy is a twin of)
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// File for the policy's printed output; sets its setting log_events, if it has one
    #[arg(long, value_name = "FILE")]
    printed: Option<PathBuf>,
    /// Not supported here: `schedlab live --replay` or `schedlab scx replay` replay a log, as they
    /// know the originals
    #[arg(long, value_name = "LOG", exclusive = true)]
    replay: Option<PathBuf>,
    /// Only check whether the policy could be loaded here
    #[arg(long)]
    check: bool,
    /// Command to run meanwhile; shares and waits cover only its processes
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(status) => status,
        Err(Failure { message, status }) => {
            eprintln!("error: {message}");
            ExitCode::from(status)
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.list {
        for (name, what, _) in load::OWN {
            println!("{name:<10} {what}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(log) = &args.replay {
        return Err(Failure::usage(format!(
            "--replay: only the program schedlab has the originals: schedlab scx replay {}",
            log.display()
        )));
    }
    for seconds in args.duration.iter().chain([&args.every]) {
        if !(seconds.is_finite() && (0.0..=1e9).contains(seconds)) {
            return Err(Failure::usage(format!(
                "{seconds} is not a number of seconds from 0 to 1e9"
            )));
        }
    }
    let name = args.policy.as_deref().unwrap_or_default();
    let object = load::object(name)?;
    let (prints, logs) = (args.printed.is_some(), args.log.is_some());
    let policy = load::Policy::read(name, object, &args.scx_set, prints, logs)?;
    checks::machine()?;
    if args.check {
        println!("{}: it can be loaded here", policy.name());
        return Ok(ExitCode::SUCCESS);
    }

    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || asked.store(true, Ordering::SeqCst))
        .map_err(|error| Failure::usage(format!("Ctrl-C cannot be caught: {error}")))?;

    let printed = args.printed.as_deref().map(log::Log::begin).transpose()?;
    let file = args.log.as_deref().map(decisions::File::new).transpose()?;
    let messages = checks::messages().len();
    let loaded = policy.attach().inspect_err(|_| {
        if let Some(file) = &file {
            file.remove();
        }
    })?;
    eprintln!("{}: attached", policy.name());
    let mut log = match file {
        Some(file) => Some(decisions::Log::begin(file, &loaded, policy.name(), &args.scx_set)?),
        None => None,
    };
    let result = watch(args, &stop, log.as_mut());
    let state = checks::state();
    let ended = (state != "enabled").then(|| checks::why_ended(messages));
    let logged = log.map_or(Ok(()), decisions::Log::end);
    // Dropping the link makes the kernel take the tasks back before this returns.
    drop(loaded);
    logged?;
    if let Some(printed) = printed {
        let lines = printed.end()?;
        eprintln!("{lines} printed lines written");
    }
    let status = result?;
    if let Some(why) = ended {
        return Err(Failure::ended(format!("the kernel has ended {}: {why}", policy.name())));
    }
    eprintln!("{}: unloaded", policy.name());
    Ok(status)
}

/// Watches until the command is over, the time is up, the policy has ended, or the user stops it.
fn watch(
    args: &Args,
    stop: &AtomicBool,
    mut log: Option<&mut decisions::Log>,
) -> Result<ExitCode, Failure> {
    let (ended, end_of_child) = mpsc::channel();
    let child = match args.command.split_first() {
        None => None,
        Some((program, rest)) => {
            let child = Command::new(program).args(rest).spawn();
            let mut child = child.map_err(|error| Failure::usage(format!("{program}: {error}")))?;
            let pid = Pid::from_child(&child);
            // A thread waits for the command. Polling would be an additional load.
            std::thread::spawn(move || ended.send(child.wait()));
            Some(pid)
        }
    };
    let root = child.map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    let begin = Instant::now();
    let end = args.duration.map(|seconds| begin + Duration::from_secs_f64(seconds));
    let mut table = tasks::Table::new(root);
    let every = Duration::from_secs_f64(args.every);
    let mut next_shown = begin + every;
    let mut status = ExitCode::SUCCESS;
    let mut has_ended = false;
    let mut trouble = None;
    // The ring buffer has room for 50,000 records.
    let poll = Duration::from_millis(match (args.every > 0.0, log.is_some()) {
        (true, _) => 50,
        (false, true) => 100,
        (false, false) => 500,
    });
    loop {
        let now = Instant::now();
        if stop.load(Ordering::SeqCst) || checks::state() != "enabled" {
            break;
        }
        if let Some(log) = &mut log
            && let Err(failure) = log.read()
        {
            trouble = Some(failure);
            break;
        }
        if args.every > 0.0 {
            table.look();
            if now >= next_shown {
                next_shown += every;
                print!("{}", table.text(begin.elapsed()));
            }
        }
        let left = end.map_or(poll, |end| end.saturating_duration_since(now).min(poll));
        if left.is_zero() {
            break;
        }
        match end_of_child.recv_timeout(left) {
            Ok(exit) => {
                let exit = exit.map_err(|error| Failure::usage(error.to_string()))?;
                if !exit.success() {
                    eprintln!("the command ended with {exit}");
                    status = ExitCode::from(1);
                }
                has_ended = true;
                break;
            }
            // There is no command, so that no message will ever arrive.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left),
            Err(RecvTimeoutError::Timeout) => (),
        }
    }
    if let Some(child) = child.filter(|_| !has_ended) {
        // This program started the command, and it has not ended yet.
        let _ = kill_process(child, Signal::TERM);
        if end_of_child.recv_timeout(Duration::from_secs(2)).is_err() {
            let _ = kill_process(child, Signal::KILL);
            let _ = end_of_child.recv_timeout(Duration::from_secs(2));
        }
    }
    if args.every > 0.0 {
        print!("{}", table.text(begin.elapsed()));
    }
    if let Some(failure) = trouble {
        return Err(failure);
    }
    Ok(status)
}
