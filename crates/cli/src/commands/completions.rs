//! `schedlab completions`: scripts by which shells complete commands and options.

use crate::args::{Cli, CompletionsArgs};
use crate::terminal::Output;
use crate::{Failure, Status};
use clap::CommandFactory;
use std::io::Write;

/// Prints the script for a shell.
pub fn completions(args: &CompletionsArgs, output: &mut Output) -> Result<Status, Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "schedlab", &mut script);
    output.write_all(&script)?;
    Ok(Status::Good)
}
