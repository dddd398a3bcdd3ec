//! Writes the man pages of the program and of all its commands into a directory.
//!
//! `cargo xtask man --out DIR` runs it. The program does not include the pages: few people read
//! them, and package builders make them once.

use clap::Command;
use clap_mangen::Man;
use std::io;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [directory] = &arguments[..] else {
        eprintln!("usage: man DIR");
        return ExitCode::from(2);
    };
    let directory = Path::new(directory);
    let mut command = schedlab_cli::command().disable_help_subcommand(true);
    command.build();
    let written = std::fs::create_dir_all(directory).and_then(|()| write(&command, directory));
    match written {
        Ok(pages) => {
            println!("{pages} pages in {}", directory.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}: {error}", directory.display());
            ExitCode::from(2)
        }
    }
}

/// Writes the pages of a command and of its subcommands, and returns the number of pages.
fn write(command: &Command, directory: &Path) -> io::Result<usize> {
    let man = Man::new(command.clone());
    let mut page = vec![];
    man.render(&mut page)?;
    std::fs::write(directory.join(man.get_filename()), page)?;
    let mut pages = 1;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        pages += write(subcommand, directory)?;
    }
    Ok(pages)
}
