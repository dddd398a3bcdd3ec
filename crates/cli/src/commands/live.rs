//! `schedlab live`: a policy in the running kernel. A separate program, `schedlab-live`, loads it:
//! it contains libbpf, which needs a C compiler and headers, and this program must build with Rust
//! alone.

use crate::args::LiveArgs;
use crate::terminal::Output;
use crate::{Failure, Status};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// Name of the loader.
const LOADER: &str = "schedlab-live";

/// Rewrites `live --replay LOG` as `scx replay LOG`: replaying a log takes schedulers, and the
/// loader contains none.
pub fn replay_is_ours(mut args: Vec<OsString>) -> Vec<OsString> {
    // Global options may precede the command.
    let is_option = |arg: &&OsString| arg.to_string_lossy().starts_with('-');
    let at = 1 + args.iter().skip(1).take_while(is_option).count();
    if args.get(at).is_none_or(|arg| arg != "live") {
        return args;
    }
    let Some(option) = args.get(at + 1).map(|arg| arg.to_string_lossy().into_owned()) else {
        return args;
    };
    let log = option.strip_prefix("--replay=").map(OsString::from);
    if log.is_some() || option == "--replay" {
        let command = ["scx", "replay"].map(OsString::from);
        args.splice(at..at + 2, command.into_iter().chain(log));
    }
    args
}

/// Starts the loader.
pub fn live(args: &LiveArgs, output: &mut Output) -> Result<Status, Failure> {
    let Some(loader) = loader() else {
        return Err(Failure::Message(format!(
            "live: this program cannot load policies into a kernel; {LOADER} does, and is neither \
             next to it nor in the PATH. From the sources: cargo install --path live (it needs \
             Linux, a C compiler, and the headers of libelf and zlib: apt-get install gcc \
             libelf-dev zlib1g-dev pkg-config)"
        )));
    };
    output.flush()?;
    let status = Command::new(&loader)
        .args(&args.args)
        .status()
        .map_err(|error| Failure::Message(format!("{}: {error}", loader.display())))?;
    Ok(match status.code() {
        Some(0) => Status::Good,
        Some(2) => Status::Error,
        _ => Status::Bad,
    })
}

/// Finds the loader: next to this program, or in the PATH.
fn loader() -> Option<PathBuf> {
    let name = format!("{LOADER}{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|program| Some(program.parent()?.to_path_buf()));
    let path = std::env::var_os("PATH");
    let path = path.as_deref().unwrap_or(OsStr::new(""));
    beside
        .into_iter()
        .chain(std::env::split_paths(path))
        .map(|directory| directory.join(&name))
        .find(|program| program.is_file())
}
