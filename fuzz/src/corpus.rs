//! Inputs that are kept: `fuzz/corpus/READER/`, a file each. Names mean nothing; those that begin
//! with `fault-` once were faults.

use std::io;
use std::path::{Path, PathBuf};

/// Where the corpus lies in this repository.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The inputs in a directory, in the order of their names; none if there is no directory.
///
/// # Errors
/// What the system says.
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

/// The name under which an input is kept: a number made of all of it (FNV-1a, 64 bits).
pub fn name(input: &[u8]) -> String {
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Keeps an input in a directory, under `prefix` and its [`name`].
///
/// # Errors
/// What the system says.
pub fn keep(directory: &Path, prefix: &str, input: &[u8]) -> io::Result<PathBuf> {
    std::fs::create_dir_all(directory)?;
    let path = directory.join(format!("{prefix}{}", name(input)));
    std::fs::write(&path, input)?;
    Ok(path)
}
