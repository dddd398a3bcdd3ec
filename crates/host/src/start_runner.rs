//! Starts the runner process, gives it a job, and waits for its result.

use crate::error::Error;
use crate::job::{Job, JobResult};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Command that starts the runner: this program, with arguments that make it call
/// [`runner::run`](crate::runner::run).
#[derive(Clone, Debug)]
pub struct Runner {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// A runner process. It is killed when this is dropped.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a runner, gives it the job, and waits for its result.
pub(crate) fn ask(
    runner: &Runner,
    job: &Job,
    patience_ns: u64,
    interrupted: &AtomicBool,
) -> Result<JobResult, Error> {
    let shown = runner.program.display();
    let child = Command::new(&runner.program)
        .args(&runner.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("the runner ({shown}) cannot be started: {error}"))?;
    let mut child = Started(child);
    let text = serde_json::to_string(job).map_err(|error| error.to_string())?;
    if let Some(mut input) = child.0.stdin.take() {
        // If the runner has ended already, its exit status says why.
        let _ = input.write_all(text.as_bytes());
    }
    let (sender, answers) = mpsc::channel();
    if let Some(mut output) = child.0.stdout.take() {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = output.read_to_string(&mut text);
            let _ = sender.send(text);
        });
    }
    let begun = Instant::now();
    let text = loop {
        match answers.recv_timeout(Duration::from_millis(100)) {
            Ok(text) => break text,
            Err(RecvTimeoutError::Disconnected) => break String::new(),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        if begun.elapsed() > Duration::from_nanos(patience_ns) {
            let s = patience_ns / 1_000_000_000;
            return Err(format!("the runner did not end within {s} s and was killed").into());
        }
    };
    if let Ok(answer) = serde_json::from_str(&text) {
        return Ok(answer);
    }
    let status = child.0.wait().map_err(|error| error.to_string())?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    Err(ended(status).into())
}

/// Describes the end of a runner that returned no result.
fn ended(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(libc::SIGXCPU), _) => {
            "the kernel ended the runner: it used more CPU time than the run is long (RLIMIT_CPU, \
             RLIMIT_RTTIME)"
                .into()
        }
        (Some(libc::SIGKILL), _) => {
            "the runner was ended by signal 9: by a user, by lack of memory, or by a limit on CPU \
             time (`ulimit -t`)"
                .into()
        }
        (Some(libc::SIGABRT), _) => {
            "the runner was ended by signal 6, as when memory is short (`ulimit -v`)".into()
        }
        (Some(signal), _) => format!("the runner was ended by signal {signal}"),
        (None, code) => {
            format!("the runner ended with status {} and without a result", code.unwrap_or(-1))
        }
    }
}

/// Returns the command that starts this program as the runner, with `arguments`.
///
/// # Errors
/// The system does not report the file of this program.
pub fn this_program(arguments: impl IntoIterator<Item = OsString>) -> Result<Runner, String> {
    let program = std::env::current_exe()
        .map_err(|error| format!("the file of this program cannot be found: {error}"))?;
    // The file may have been replaced since; the running program still exists.
    let program =
        if program.exists() { program } else { Path::new("/proc/self/exe").to_path_buf() };
    Ok(Runner { program, arguments: arguments.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Groups, JobTask};

    #[test]
    fn a_runner_that_gives_no_answer_is_told_of() {
        let never = AtomicBool::new(false);
        let job = Job {
            parent: 0,
            guard_s: 1,
            groups: Groups::default(),
            task: JobTask::Tick { cpus: vec![0], hz: None },
        };
        let shell = |command: &str| Runner {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), command.into()],
        };
        let message_of = |command, patience| match ask(&shell(command), &job, patience, &never) {
            Err(error) => error.to_string(),
            Ok(answer) => panic!("{answer:?}"),
        };
        assert!(message_of("kill -9 $$", u64::MAX).contains("signal 9"));
        assert!(message_of("exit 3", u64::MAX).contains("status 3"));
        assert!(message_of("exec sleep 60", 1).contains("did not end"));
        let now = AtomicBool::new(true);
        let ended = ask(&shell("exec sleep 60"), &job, u64::MAX, &now);
        assert_eq!(ended, Err(Error::Interrupted));
        let missing = Runner { program: "/nonexistent".into(), arguments: vec![] };
        assert!(ask(&missing, &job, 1, &never).is_err());
    }
}
