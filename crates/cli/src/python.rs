//! Commands that need the Python package: clusters and searches. The program starts Python for
//! them.

use crate::Failure;
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Environment variable that names the interpreter. The Python package sets it.
const INTERPRETER: &str = "SCHEDLAB_PYTHON";

/// Runs `python3 -m schedlab.engine ARGUMENTS`, after checking that Python has the `modules`, and
/// returns its exit status.
///
/// # Errors
/// A module is missing, with the command that installs it.
pub fn run(what: &str, modules: &[&str], extra: &str, args: &[OsString]) -> Result<i32, Failure> {
    let python = std::env::var_os(INTERPRETER).unwrap_or_else(|| "python3".into());
    let shown = python.to_string_lossy().into_owned();
    // The module must be this program's package: an unrelated directory of that name is not.
    let imports = format!("import schedlab.engine, {}", modules.join(", "));
    let tried = Command::new(&python)
        .args(["-c", &imports])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output();
    let hint = format!(
        "install it with `pip install \"./python[{extra}]\"` in a clone of the project, or set \
         {INTERPRETER} to the interpreter that has it"
    );
    match tried {
        Err(error) => {
            return Err(format!("{what} needs Python, and {shown}: {error}; {hint}").into());
        }
        Ok(output) if !output.status.success() => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = stderr.trim_end().lines().last().unwrap_or("it failed").to_string();
            return Err(
                format!("{what} needs the Python package, and {shown}: {last}; {hint}").into()
            );
        }
        Ok(_) => {}
    }
    let status = Command::new(&python)
        .args(["-m", "schedlab.engine"])
        .args(args)
        .status()
        .map_err(|error| format!("{shown}: {error}"))?;
    Ok(status.code().unwrap_or(2))
}
