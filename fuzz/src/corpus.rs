//! Stored inputs: `fuzz/corpus/READER/`, one file each. File names have no meaning, except that
//! inputs whose names begin with `fault-` once were faults.

use std::io;
use std::path::{Path, PathBuf};

/// Returns the location of the corpus in this repository.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Reads the inputs in a directory, in the order of their names. Empty if there is no directory.
///
/// # Errors
/// If the file system reports an error.
pub fn read(directory: &Path) -> io::Result<Vec<Vec<u8>>> {
    if !directory.is_dir() {
        return Ok(vec![]);
    }
    let mut paths = vec![];
    for entry in std::fs::read_dir(directory)? {
        paths.push(entry?.path());
    }
    paths.sort();
    paths.iter().filter(|path| path.is_file()).map(std::fs::read).collect()
}

/// Returns the file name of an input: a hash of its bytes (FNV-1a, 64 bits).
pub fn name(input: &[u8]) -> String {
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Stores an input in a directory, under `prefix` and its [`name`].
///
/// # Errors
/// If the file system reports an error.
pub fn keep(directory: &Path, prefix: &str, input: &[u8]) -> io::Result<PathBuf> {
    std::fs::create_dir_all(directory)?;
    let path = directory.join(format!("{prefix}{}", name(input)));
    std::fs::write(&path, input)?;
    Ok(path)
}
