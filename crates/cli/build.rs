//! Computes a hash of the sources of all crates, `SCHEDLAB_SOURCES`, which identifies results that
//! can be resumed. The program and the Python package of the same sources have the same hash,
//! however they are built. Outside the repository, in a package from a registry, the other crates
//! are not available, and the hash covers this crate alone.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let crates = Path::new(&manifest).join("..");
    let in_repository = crates.join("core/src").is_dir();
    let here = Path::new(&manifest).file_name().unwrap_or_default();
    let directories = if in_repository { sorted(&crates)? } else { vec![crates.join(here)] };
    let mut files = vec![];
    for own in directories {
        let sources = own.join("src");
        if sources.is_dir() {
            println!("cargo:rerun-if-changed={}", sources.display());
            collect(&sources, &mut files)?;
        }
    }
    // FNV-1a, over names below `crates` and contents.
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes.iter().chain(&[0]) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for file in files {
        let name = file.strip_prefix(&crates).map_err(io::Error::other)?;
        add(name.to_string_lossy().replace('\\', "/").as_bytes());
        add(&fs::read(&file)?);
    }
    println!("cargo:rustc-env=SCHEDLAB_SOURCES={sum:016x}");
    Ok(())
}

fn sorted(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<PathBuf>> =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries?;
    entries.sort_unstable();
    Ok(entries)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for path in sorted(directory)? {
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
