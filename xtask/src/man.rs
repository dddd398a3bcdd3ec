//! Man pages and shell completions, for those who package the program: `cargo xtask man --out DIR`,
//! `cargo xtask completions --out DIR`.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Shells, and the names of the files in which they look for completions.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "schedlab.bash"),
    ("zsh", "_schedlab"),
    ("fish", "schedlab.fish"),
    ("elvish", "schedlab.elv"),
    ("powershell", "_schedlab.ps1"),
];

/// Writes the man pages of the program and of all its commands into `directory`.
pub fn pages(directory: &str) -> ExitCode {
    let status = cargo()
        .args(["run", "--quiet", "--package", "schedlab-cli", "--features", "man"])
        .args(["--example", "man", "--", directory])
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => fault(&format!("cargo: {error}")),
    }
}

/// Writes a file for each shell into `directory`.
pub fn completions(directory: &str) -> ExitCode {
    if let Err(error) = std::fs::create_dir_all(directory) {
        return fault(&format!("{directory}: {error}"));
    }
    for (shell, name) in SHELLS {
        let arguments = ["run", "--quiet", "--package", "schedlab", "--", "completions", shell];
        let output = cargo().args(arguments).stderr(std::process::Stdio::inherit()).output();
        let path = Path::new(directory).join(name);
        let written = match output {
            Ok(output) if output.status.success() => std::fs::write(&path, output.stdout),
            Ok(_) => return ExitCode::FAILURE,
            Err(error) => return fault(&format!("cargo: {error}")),
        };
        if let Err(error) = written {
            return fault(&format!("{}: {error}", path.display()));
        }
        println!("{}", path.display());
    }
    ExitCode::SUCCESS
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn fault(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(2)
}
