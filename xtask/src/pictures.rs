//! Draws the pictures of the documents: `cargo xtask pictures`. `docs/pictures/README.md` lists
//! their names and commands. A test of the program compares them with what it draws.

use std::path::Path;
use std::process::{Command, ExitCode};

const LIST: &str = "docs/pictures/README.md";

/// Draws all pictures with `program`; `None`: with the program of this repository.
pub fn draw(program: Option<&str>) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let list = match std::fs::read_to_string(root.join(LIST)) {
        Ok(list) => list,
        Err(error) => {
            eprintln!("error: {LIST}: {error}");
            return ExitCode::from(2);
        }
    };
    for (name, arguments) in pictures(&list) {
        let mut command = match program {
            Some(program) => Command::new(program),
            None => {
                let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let mut command = Command::new(cargo);
                command.args(["run", "--quiet", "--release", "-p", "schedlab", "--"]);
                command
            }
        };
        let path = format!("docs/pictures/{name}");
        command.args(&arguments).args(["--plot", &path]);
        command.current_dir(&root).stdout(std::process::Stdio::null());
        match command.status() {
            Ok(status) if status.success() => println!("{path}"),
            Ok(status) => {
                eprintln!("error: {path}: schedlab {}: {status}", arguments.join(" "));
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("error: {path}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Rows of the list: the name of a picture, and the arguments of the command that draws it.
fn pictures(list: &str) -> Vec<(&str, Vec<&str>)> {
    list.lines().filter_map(picture).collect()
}

fn picture(line: &str) -> Option<(&str, Vec<&str>)> {
    let mut cells = line.strip_prefix("| `")?.split('`');
    let (name, command) = (cells.next()?, cells.nth(1)?);
    let arguments = command.strip_prefix("schedlab ")?;
    Some((name, arguments.split_whitespace().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_names_and_commands() {
        let list = "# P\n\n| picture | drawn by |\n|---|---|\n| `a.svg` | `schedlab run x` | b |\n";
        assert_eq!(pictures(list), [("a.svg", vec!["run", "x"])]);
    }
}
