//! Writes the log of a policy's decisions from its ring buffer to a file.

use crate::checks::Failure;
use crate::load::Loaded;
use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use schedlab_scx::twins::collector::Collector;
use schedlab_scx::twins::decision::{Decision, MAP};
use std::cell::RefCell;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A new file.
pub struct File {
    path: PathBuf,
    to: BufWriter<fs::File>,
}

impl File {
    /// Creates the file.
    ///
    /// # Errors
    /// If it cannot be created, or exists.
    pub fn new(path: &Path) -> Result<File, Failure> {
        let to = fs::OpenOptions::new().write(true).create_new(true).open(path);
        let to = to.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        Ok(File { path: path.into(), to: BufWriter::new(to) })
    }

    /// Removes the file because nothing will be written to it.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A log that is being written.
pub struct Log {
    file: File,
    ring: RingBuffer<'static>,
    collector: Rc<RefCell<Collector>>,
}

impl Log {
    /// Starts to read the records of a loaded policy.
    ///
    /// # Errors
    /// If it has no ring buffer for them.
    pub fn begin(
        file: File,
        loaded: &Loaded,
        policy: &str,
        settings: &[String],
    ) -> Result<Log, Failure> {
        let failed = |error: libbpf_rs::Error| Failure::usage(format!("--log: {MAP}: {error}"));
        let map = loaded.map(MAP).ok_or_else(|| {
            Failure::usage(format!("--log: {policy} has no ring buffer \"{MAP}\""))
        })?;
        let map = MapHandle::try_from(&map).map_err(failed)?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let collector = Collector::new(policy, kernel.trim(), settings.to_vec());
        let collector = Rc::new(RefCell::new(collector));
        let to = Rc::clone(&collector);
        let mut builder = RingBufferBuilder::new();
        let add = builder.add(&map, move |bytes| {
            // Bytes that are not a record count as a missing record.
            if let Some(decision) = Decision::from_bytes(bytes) {
                to.borrow_mut().push(decision);
            }
            0
        });
        add.map_err(failed)?;
        let ring = builder.build().map_err(failed)?;
        Ok(Log { file, ring, collector })
    }

    /// Writes the records that have arrived.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn read(&mut self) -> Result<(), Failure> {
        self.write(false)
    }

    fn write(&mut self, is_end: bool) -> Result<(), Failure> {
        let path = self.file.path.display();
        self.ring.consume().map_err(|error| Failure::ended(format!("--log: {error}")))?;
        let text = self.collector.borrow_mut().take(is_end);
        let text = text.map_err(|error| Failure::ended(format!("{path}: {error}")))?;
        let written = self.file.to.write_all(text.as_bytes());
        written.map_err(|error| Failure::ended(format!("{path}: {error}")))
    }

    /// Writes the rest. Must be called before the policy is unloaded: it does not decide what
    /// happens to tasks then.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end(mut self) -> Result<(), Failure> {
        self.write(true)?;
        let path = self.file.path.display();
        self.file.to.flush().map_err(|error| Failure::ended(format!("{path}: {error}")))?;
        let (written, lost) = self.collector.borrow().counts();
        let lost = if lost > 0 { format!(", {lost} were lost") } else { String::new() };
        eprintln!("{written} records of decisions written{lost}");
        Ok(())
    }
}
