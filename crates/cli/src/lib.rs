//! The command line of `schedlab`, which answers the question: what would this workload have done
//! under that scheduler?
//!
//! This crate only reads the command line, prints, and chooses the exit status: 0 success, 1 a
//! schedule differs or a rule was broken, 2 the request cannot be carried out, 3 a measurement was
//! too noisy. All other work is done in `schedlab-lab` and its neighbours.
//!
//! [`run`] is the whole program as a function, so that the Python package contains the same
//! program.

mod advise_args;
mod args;
mod bench_args;
mod bench_options;
mod bisect_args;
mod commands;
mod compare_args;
mod escape;
mod explain_args;
mod files;
mod given;
#[cfg(all(feature = "host", target_os = "linux"))]
mod host_args;
mod interrupt;
mod limits_args;
mod mix_args;
mod options;
mod outputs;
mod page;
mod perf_args;
mod picture;
mod plan_args;
mod plans;
#[cfg(feature = "png")]
mod png;
mod python;
mod replay_args;
mod rt_app_log;
mod scx;
mod scx_args;
mod snapshots;
mod sweep_args;
mod sweep_page;
mod sweep_table;
mod terminal;
#[cfg(feature = "tui")]
mod top;
#[cfg(feature = "tui")]
mod top_args;
mod trace_args;
mod traced;

pub use commands::explain::{ExplainRequest, explanation};
pub use sweep_page::page as sweep_page;
pub use sweep_table::table as sweep_table;

use args::{Cli, Command};
use clap::Parser;
use std::ffi::OsString;
use std::io::{self, Write};
use terminal::Output;

/// Returns the command line of the program, from which man pages are made.
#[cfg(feature = "man")]
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Reason for which the program stops early.
enum Failure {
    /// The request cannot be carried out, with the reason.
    Message(String),
    /// Output can no longer be written.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::Message(message)
    }
}

/// Outcome of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    /// The command succeeded.
    Good,
    /// The command completed with a negative result.
    Bad,
    /// Part of the request could not be carried out.
    Error,
    /// The workload was measured, but other processes had too much of the machine.
    #[cfg(all(feature = "host", target_os = "linux"))]
    TooNoisy,
}

/// Prints the message of the command line's parser. Errors quote arguments and files, so they are
/// printed without colours and control characters.
fn usage(error: &clap::Error) -> u8 {
    if !error.use_stderr() {
        // Help that cannot be printed needs no error message.
        let _ = error.print();
        return 0;
    }
    let _ = write!(io::stderr(), "{}", escape::bounded(&escape::harmless(&error.to_string())));
    2
}

/// Version of this program, and a hash of all its sources: a program with changed schedulers has
/// other results. The Python package of the same sources has the same value.
pub const PROGRAM: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("SCHEDLAB_SOURCES"));

/// Runs the program: reads `args` (the first is its name), prints, and returns the exit status, 0
/// to 3.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    #[cfg(feature = "twins")]
    let args = commands::live::replay_is_ours(args.into_iter().collect());
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    terminal::set_color(cli.color);
    let mut output = Output::new();
    let result = match &cli.command {
        Command::Run(args) => commands::run::run(args, &mut output),
        Command::Bench(args) => commands::bench::bench(&args.command, &mut output),
        Command::Sweep(args) => commands::sweep::sweep(args, &mut output),
        Command::Limits(args) => commands::limits::limits(args, &mut output),
        Command::Advise(args) => commands::advise::advise(args, &mut output),
        Command::Tune(args) => commands::tune::tune(args, &mut output),
        Command::Stress(args) => commands::stress::stress(args, &mut output),
        Command::Verify(args) => commands::verify::verify(args, &mut output),
        Command::Papers(args) => commands::papers::papers(args, &mut output),
        Command::Calibrate(args) => commands::calibrate::calibrate(args, &mut output),
        Command::Timehist(args) => commands::perf::timehist(args, &mut output),
        Command::Latency(args) => commands::perf::latency(args, &mut output),
        Command::Map(args) => commands::perf::map(args, &mut output),
        Command::Antagonists(args) => commands::perf::antagonists(args, &mut output),
        Command::Record(args) => commands::record::record(args, &mut output),
        Command::Trace(args) => commands::trace::trace(args, &mut output),
        Command::Replay(args) => commands::replay::replay(args, &mut output),
        Command::Compare(args) => commands::compare::compare(args, &mut output),
        #[cfg(all(feature = "host", target_os = "linux"))]
        Command::Host(args) => commands::host::host(args, &mut output),
        Command::Explain(args) => commands::explain::explain(args, &mut output),
        Command::Bisect(args) => commands::bisect::bisect(args, &mut output),
        #[cfg(feature = "tui")]
        Command::Top(args) => commands::top::top(args, &mut output),
        Command::ExplainMetric(args) => commands::explain_metric::explain(args, &mut output),
        Command::NewScheduler(args) => commands::new_scheduler::new_scheduler(args, &mut output),
        Command::Scx(args) => commands::scx::scx(args, &mut output),
        #[cfg(feature = "twins")]
        Command::Live(args) => commands::live::live(args, &mut output),
        Command::List(args) => commands::list::list(args, &mut output),
        Command::Completions(args) => commands::completions::completions(args, &mut output),
    };
    let result = result.and_then(|status| Ok(output.flush().map(|()| status)?));
    match result {
        Ok(Status::Good) => 0,
        Ok(Status::Bad) => 1,
        Ok(Status::Error) => 2,
        #[cfg(all(feature = "host", target_os = "linux"))]
        Ok(Status::TooNoisy) => 3,
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(Failure::Output(error)) => {
            terminal::complain(&format!("cannot write: {error}"));
            2
        }
        Err(Failure::Message(message)) => {
            terminal::complain(&message);
            2
        }
    }
}
