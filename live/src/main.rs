//! `schedlab-live`: a sched_ext policy in the kernel that runs here.
//!
//! Loads the object that the laboratory runs, too; shows who gets how much CPU time and how long
//! tasks wait while a command runs; records what the policy prints of its decisions; unloads.

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
Ctrl-C is pressed. Then the kernel's own class has them again; so it has if the policy ends by a
fault, or this program is killed.

Examples:
  schedlab-live vtime --duration 10
  schedlab-live goodness --log decisions.log -- make -j8
  schedlab-live my_policy.bpf.o --scx-set slice_ns=5000000 -- hackbench

Exit status: 0; 1 the kernel or a fault ended the policy, or the command failed; 2 it cannot be
loaded (what is wrong, and the way out, are told)."
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
    /// End after so many seconds
    #[arg(short, long, value_name = "SECONDS")]
    duration: Option<f64>,
    /// Show shares and waits every so many seconds; 0: never, and nothing is looked at meanwhile
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    every: f64,
    /// Write what happens and what the policy decides to a file (`schedlab scx replay` replays it
    /// through the scheduler that the policy is a twin of); its setting log_decisions is set
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write what the policy prints to a file; its setting log_events, if there is one, is set
    #[arg(long, value_name = "FILE")]
    printed: Option<PathBuf>,
    /// Replay a log: that is done by `schedlab live --replay` or `schedlab scx replay`, which know
    /// the originals
    #[arg(long, value_name = "LOG", exclusive = true)]
    replay: Option<PathBuf>,
    /// Only say whether it could be loaded here
    #[arg(long)]
    check: bool,
    /// What to run meanwhile; shares and waits are those of its processes
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
            "--replay: the program schedlab knows the originals: schedlab scx replay {}",
            log.display()
        )));
    }
    for seconds in args.duration.iter().chain([&args.every]) {
        if !(seconds.is_finite() && (0.0..=1e9).contains(seconds)) {
            return Err(Failure::usage(format!("{seconds} is no number of seconds, 0 to 1e9")));
        }
    }
    let name = args.policy.as_deref().unwrap_or_default();
    let object = load::object(name)?;
    let (prints, logs) = (args.printed.is_some(), args.log.is_some());
    let policy = load::Policy::read(name, object, &args.scx_set, prints, logs)?;
    checks::machine()?;
    if args.check {
        println!("{}: nothing speaks against loading it here", policy.name());
        return Ok(ExitCode::SUCCESS);
    }

    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || asked.store(true, Ordering::SeqCst))
        .map_err(|error| Failure::usage(format!("Ctrl-C cannot be caught: {error}")))?;

    let printed = args.printed.as_deref().map(log::Log::begin).transpose()?;
    let file = args.log.as_deref().map(decisions::File::new).transpose()?;
    let said = checks::said().len();
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
    let ended = (state != "enabled").then(|| checks::why_ended(said));
    let logged = log.map_or(Ok(()), decisions::Log::end);
    // The link goes: the kernel takes the tasks back before this returns.
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

/// Until the command is over, the time is up, the policy has ended, or somebody stops it.
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
            // It is waited for, not asked every now and then: that would be a load of its own.
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
            // There is no command: nobody will ever send.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left),
            Err(RecvTimeoutError::Timeout) => (),
        }
    }
    if let Some(child) = child.filter(|_| !has_ended) {
        // What this program has started, and nobody has waited for yet.
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
