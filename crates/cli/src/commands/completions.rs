//! `schedlab completions` and `schedlab man`: what shells and man(1) read.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::files;
use crate::terminal::Output;
use crate::{Failure, Status};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::io::Write;

/// What a man page begins with.
const PAGE_BEGINS: &str = ".ie \\n(.g .ds Aq";

/// Prints what a shell completes.
pub fn completions(args: &CompletionsArgs, output: &mut Output) -> Result<Status, Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "schedlab", &mut script);
    output.write_all(&script)?;
    Ok(Status::Good)
}

/// Prints the man page of the program, or writes the pages of it and of all commands into a
/// directory.
pub fn man(args: &ManArgs, output: &mut Output) -> Result<Status, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = &args.directory else {
        output.write_all(page(&command)?.1.as_bytes())?;
        return Ok(Status::Good);
    };
    let mut pages = vec![];
    add_pages(&command, &mut pages)?;
    fs::create_dir_all(directory).map_err(|error| files::describe_error(directory, &error))?;
    for (name, _) in &pages {
        let is_page = |text: &str| text.starts_with(PAGE_BEGINS);
        files::check_replaceable(&directory.join(name), "man", "a man page", is_page)?;
    }
    for (name, text) in &pages {
        files::write_whole(&directory.join(name), text)?;
    }
    writeln!(output, "{} pages in {}", pages.len(), directory.display())?;
    Ok(Status::Good)
}

/// The pages of a command and of those below it.
fn add_pages(command: &Command, pages: &mut Vec<(String, String)>) -> Result<(), Failure> {
    pages.push(page(command)?);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add_pages(below, pages)?;
    }
    Ok(())
}

/// The page of one command, with its file's name.
fn page(command: &Command) -> Result<(String, String), Failure> {
    let man = Man::new(command.clone());
    let mut bytes = vec![];
    man.render(&mut bytes)?;
    Ok((man.get_filename(), String::from_utf8_lossy(&bytes).into_owned()))
}
