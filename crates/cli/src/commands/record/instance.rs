//! A separate instance of tracefs, [`Instance`], so that other users of ftrace are not disturbed.

use crate::terminal::complain;
use std::path::PathBuf;
use std::{fs, io};

/// Instance of tracefs, which is removed at the end.
pub struct Instance(PathBuf);

impl Instance {
    /// Creates the instance.
    ///
    /// # Errors
    /// The system does not permit it, or the instance exists.
    pub fn create(place: PathBuf) -> io::Result<Instance> {
        fs::create_dir(&place)?;
        Ok(Instance(place))
    }

    /// Returns the path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes one of its files.
    ///
    /// # Errors
    /// The file cannot be written. The message names it.
    pub fn set(&self, name: &str, value: &str) -> Result<(), String> {
        let path = self.file(name);
        fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set("tracing_on", "0");
        let _ = self.set("events/enable", "0");
        if let Err(error) = fs::remove_dir(&self.0) {
            complain(&format!("warning: {} could not be removed: {error}", self.0.display()));
        }
    }
}
