//! Writes a policy's printed output (`bpf_trace_printk`) from the kernel's trace to a file.

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

/// Interval at which the trace is read.
const POLL: Duration = Duration::from_millis(250);

/// Maximum delay of one CPU's lines behind the lines of another, us.
const LAG_US: u64 = 1_000_000;

/// Sorts lines by time. The kernel delivers the lines of each CPU in order, but interleaves the
/// CPUs in any order.
struct Sorted<W: Write> {
    to: W,
    lines: Vec<(u64, Vec<u8>)>,
    count: u64,
}

impl<W: Write> Sorted<W> {
    fn newest(&self) -> u64 {
        self.lines.last().map_or(0, |(at, _)| *at)
    }

    fn push(&mut self, line: Vec<u8>) {
        // A line without a time (lost events) stays in its place.
        let at = time_us(&line).unwrap_or_else(|| self.newest());
        let before = self.lines.partition_point(|(other, _)| *other <= at);
        self.lines.insert(before, (at, line));
    }

    fn write_until(&mut self, until_us: u64) -> std::io::Result<()> {
        let count = self.lines.partition_point(|(at, _)| *at <= until_us);
        for (_, line) in self.lines.drain(..count) {
            self.to.write_all(&line)?;
            self.count += 1;
        }
        Ok(())
    }
}

/// Time of a line of the trace `task-pid [cpu] flags 12.345678: event`, us.
fn time_us(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line).ok()?;
    let time = |word: &str| {
        let (seconds, micros) = word.strip_suffix(':')?.split_once('.')?;
        Some(seconds.parse::<u64>().ok()?.checked_mul(1_000_000)? + micros.parse::<u64>().ok()?)
    };
    // A task's name can contain anything, so the search for the time is repeated after each text
    // that looks like a CPU.
    text.split("] ").skip(1).find_map(|rest| time(rest.split_whitespace().nth(1)?))
}

/// A log that is being written.
pub struct Log {
    stop: Arc<AtomicBool>,
    writer: JoinHandle<std::io::Result<u64>>,
}

impl Log {
    /// Starts to write to a new file.
    ///
    /// # Errors
    /// If the file cannot be created, or the kernel's trace cannot be read.
    pub fn begin(path: &Path) -> Result<Log, Failure> {
        let place = PLACES.into_iter().find(|place| Path::new(place).join("trace_pipe").exists());
        let place = place.ok_or_else(|| {
            Failure::usage(
                "--log: the kernel's trace is not mounted: mount -t tracefs none \
                 /sys/kernel/tracing",
            )
        })?;
        // Room for a burst of 4 MiB per CPU, and the clock that the policy sees.
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
            let mut to = Sorted { to: BufWriter::new(to), lines: vec![], count: 0 };
            let (mut rest, mut buffer) = (vec![], vec![0; 1 << 16]);
            loop {
                let is_last = asked.load(Ordering::SeqCst);
                match from.read(&mut buffer) {
                    Ok(0) => (),
                    Ok(len) => {
                        rest.extend_from_slice(&buffer[..len]);
                        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                            to.push(rest.drain(..=end).collect());
                        }
                        continue;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => (),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                }
                to.write_until(if is_last {
                    u64::MAX
                } else {
                    to.newest().saturating_sub(LAG_US)
                })?;
                if is_last {
                    to.to.flush()?;
                    return Ok(to.count);
                }
                std::thread::sleep(POLL);
            }
        });
        Ok(Log { stop, writer })
    }

    /// Writes the rest and returns the number of lines.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end(self) -> Result<u64, Failure> {
        self.stop.store(true, Ordering::SeqCst);
        let result = self.writer.join();
        let result = result.map_err(|_| Failure::ended("the log's writer stopped unexpectedly"))?;
        result.map_err(|error| Failure::ended(format!("the log could not be written: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_cpus_are_sorted() {
        let line = |cpu: u32, at: &str| {
            format!("  a b] x-1  [{cpu:03}] d..31  {at}: bpf_trace_printk: tick 1\n").into_bytes()
        };
        let mut sorted = Sorted { to: vec![], lines: vec![], count: 0 };
        for (cpu, at) in [(0, "1.000001"), (0, "1.000009"), (1, "1.000003"), (1, "3.000000")] {
            sorted.push(line(cpu, at));
        }
        sorted.push(b"CPU:1 [LOST 5 EVENTS]\n".to_vec());
        sorted.write_until(2_000_000).expect("memory holds it");
        let all = [line(0, "1.000001"), line(1, "1.000003"), line(0, "1.000009")].concat();
        assert_eq!(sorted.to, all);
        sorted.write_until(u64::MAX).expect("memory holds it");
        assert_eq!((sorted.count, sorted.lines.len()), (5, 0));
    }
}
