//! Waits for the recorder, and looks at the machine meanwhile.

use std::io;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time between two looks.
pub const INTERVAL: Duration = Duration::from_millis(50);

/// Runs `command`, and calls `look` every [`INTERVAL`] until it ends.
///
/// # Errors
/// The command cannot be started.
pub fn run(command: &mut Command, mut look: impl FnMut()) -> io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        // The end of the command interrupts the wait for the next look.
        scope.spawn(move || {
            let _ = sender.send(child.wait());
        });
        loop {
            match receiver.recv_timeout(INTERVAL) {
                Ok(status) => return status,
                Err(RecvTimeoutError::Timeout) => look(),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the command could not be waited for"));
                }
            }
        }
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_looked_at_while_the_command_runs() {
        let mut looks = 0;
        let status = run(Command::new("sleep").arg("0.3"), || looks += 1);
        assert!(status.expect("the command starts").success());
        assert!((1..=6).contains(&looks), "{looks}");
        assert!(run(&mut Command::new("no-such-program-here"), || ()).is_err());
    }
}
