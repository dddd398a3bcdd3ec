//! The program `schedlab`. Crate `schedlab-cli` is all of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    schedlab_cli::run(std::env::args_os()).into()
}
