//! What a policy prints of its decisions (`bpf_trace_printk`), from the kernel's trace into a file.

use crate::checks::Failure;
use std::fs;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A log that is being written.
pub struct Log {
    stop: Arc<AtomicBool>,
    writer: JoinHandle<std::io::Result<u64>>,
}

impl Log {
    /// Begins to write into a file that is not there yet.
    ///
    /// # Errors
    /// The file cannot be made, or the kernel's trace cannot be read.
    pub fn begin(path: &Path) -> Result<Log, Failure> {
        let place = PLACES.into_iter().find(|place| Path::new(place).join("trace_pipe").exists());
        let place = place.ok_or_else(|| {
            Failure::usage(
                "--log: the kernel's trace is not there: mount -t tracefs none /sys/kernel/tracing",
            )
        })?;
        // Room for a burst of 4 MiB a CPU, and the time that the policy sees.
        let _ = fs::write(format!("{place}/buffer_size_kb"), "4096");
        let _ = fs::write(format!("{place}/trace_clock"), "local");
        let nonblock = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let pipe = format!("{place}/trace_pipe");
        let options = fs::OpenOptions::new().read(true).custom_flags(nonblock).open(&pipe);
        let mut from = options.map_err(|error| Failure::usage(format!("{pipe}: {error}")))?;
        let to = fs::OpenOptions::new().write(true).create_new(true).open(path);
        let to = to.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let writer = std::thread::spawn(move || {
            let mut to = BufWriter::new(to);
            let (mut lines, mut buffer) = (0, vec![0; 1 << 16]);
            loop {
                let is_last = asked.load(Ordering::SeqCst);
                match from.read(&mut buffer) {
                    Ok(0) => (),
                    Ok(len) => {
                        lines += buffer[..len].iter().filter(|&&byte| byte == b'\n').count() as u64;
                        to.write_all(&buffer[..len])?;
                        continue;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => (),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                }
                if is_last {
                    to.flush()?;
                    return Ok(lines);
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        Ok(Log { stop, writer })
    }

    /// Writes the rest; how many lines it was.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn end(self) -> Result<u64, Failure> {
        self.stop.store(true, Ordering::SeqCst);
        let result = self.writer.join();
        let result = result.map_err(|_| Failure::ended("the log's writer ended by itself"))?;
        result.map_err(|error| Failure::ended(format!("the log could not be written: {error}")))
    }
}
