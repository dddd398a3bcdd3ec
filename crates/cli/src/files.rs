//! Files that the program reads and writes.

use schedlab_lab::compressed;
use schedlab_lab::plan::Source;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Describes an error of a file or a directory.
pub fn describe_error(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Reads a text file, compressed or not.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> Result<Source, String> {
    let file = path.display().to_string();
    let failed = |error| format!("{file}: {error}");
    let bytes = compressed::read(path, compressed::LIMIT).map_err(failed)?;
    let text = compressed::as_text(&bytes).map_err(failed)?.to_string();
    Ok(Source { file, text })
}

/// Reads several text files, compressed or not.
///
/// # Errors
/// The first file that cannot be read.
pub fn read_all(paths: &[PathBuf]) -> Result<Vec<Source>, String> {
    paths.iter().map(|path| read(path)).collect()
}

/// Like [`read`], with invalid UTF-8 replaced: names of tasks may contain any bytes.
///
/// # Errors
/// The file cannot be read.
pub fn read_lossy(path: &Path) -> Result<Source, String> {
    let file = path.display().to_string();
    let bytes =
        compressed::read(path, compressed::LIMIT).map_err(|error| format!("{file}: {error}"))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Source { file, text })
}

/// Checks that a file can be written at `path`, before minutes of simulation. Nothing changes: a
/// file with another name is created in the directory as a trial.
///
/// # Errors
/// It cannot be written.
pub fn check(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(missing) = directory.filter(|directory| !directory.is_dir()) {
        return Err(format!("{shown}: the directory {} does not exist", missing.display()));
    }
    if path.is_dir() {
        return Err(format!("{shown}: this is a directory; name a file"));
    }
    let cannot = |error: io::Error| format!("{shown}: cannot be written: {error}");
    if is_fifo(path) {
        return hold(path);
    }
    if path.metadata().is_ok_and(|there| there.is_file() && there.permissions().readonly()) {
        return Err(format!("{shown}: the file is read-only, so it is not overwritten"));
    }
    if is_written_in_place(path) {
        // The target of a dangling link is created on writing.
        return match File::options().write(true).open(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot(error)),
            _ => Ok(()),
        };
    }
    let temporary = temporary_name(path);
    File::create_new(&temporary).map_err(cannot)?;
    fs::remove_file(&temporary).map_err(cannot)
}

/// Checks that no two options write the same file, because the last would win. (Devices such as
/// `/dev/stdout` accept everything.)
///
/// # Errors
/// Two options name the same file.
pub fn check_distinct(outputs: &[(&str, Option<&Path>)]) -> Result<(), String> {
    let full = |path: &Path| {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(directory.join(path.file_name()?))
    };
    let mut seen: Vec<(&str, PathBuf)> = vec![];
    for &(option, path) in outputs {
        let Some(path) = path.filter(|path| !is_written_in_place(path)).and_then(full) else {
            continue;
        };
        if let Some((other, _)) = seen.iter().find(|(_, other)| *other == path) {
            return Err(format!(
                "{other} and {option} both name {}; give each its own file",
                path.display()
            ));
        }
        seen.push((option, path));
    }
    Ok(())
}

/// Returns whether `path` exists and is not a regular file: a device, a pipe, a link.
fn is_written_in_place(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|what| !what.is_file())
}

/// Returns the name of a file until it is complete.
fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

#[cfg(unix)]
fn is_fifo(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|there| there.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_fifo(_path: &Path) -> bool {
    false
}

/// Pipes that will be written: readers wait while they are held open.
static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Opens a pipe for writing without waiting: a writer of a pipe without a reader would wait
/// forever.
///
/// # Errors
/// The pipe has no reader.
#[cfg(unix)]
fn hold(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::OpenOptionsExt;
    match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(pipe) => {
            if let Ok(mut held) = HELD.lock() {
                held.push(pipe);
            }
            Ok(())
        }
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Err(format!(
            "{}: this pipe has no reader; start a reader first, or name a file",
            path.display()
        )),
        Err(error) => Err(format!("{}: cannot be written: {error}", path.display())),
    }
}

#[cfg(not(unix))]
fn hold(_path: &Path) -> Result<(), String> {
    Ok(())
}

/// Checks that the file at `path`, which `option` will write, may be replaced: it does not exist,
/// is empty, or `is_ours` recognises it as an earlier result of the same kind (`what`). Otherwise a
/// file name placed after the option by mistake would be lost. (Devices and pipes are written to.)
///
/// # Errors
/// It may not be replaced.
pub fn check_replaceable(
    path: &Path,
    option: &str,
    what: &str,
    is_ours: impl FnOnce(&str) -> bool,
) -> Result<(), String> {
    let old = path.metadata().is_ok_and(|there| there.is_file() && there.len() > 0);
    if !old || read(path).is_ok_and(|there| is_ours(&there.text)) {
        return Ok(());
    }
    Err(format!(
        "{option}: {} exists and is not {what}, so it is not overwritten; name another file",
        path.display()
    ))
}

/// Checks that `option` does not name the file `input`, which is read, under any name.
///
/// # Errors
/// It does.
pub fn check_other(path: &Path, option: &str, input: &Path) -> Result<(), String> {
    if is_same_file(path, input) {
        return Err(format!(
            "{option}: {} is the input, so it is not overwritten; name another file",
            path.display()
        ));
    }
    Ok(())
}

/// Whether two paths lead to the same existing file.
#[cfg(unix)]
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| path.metadata().ok().map(|there| (there.dev(), there.ino()));
    id(a).is_some() && id(a) == id(b)
}

#[cfg(not(unix))]
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let id = |path: &Path| path.canonicalize().ok();
    id(a).is_some() && id(a) == id(b)
}

/// Writes a file under a temporary name first, so that the file is complete or, as before,
/// unchanged. Devices such as `/dev/stdout` are written to directly.
///
/// # Errors
/// The file cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<(), String> {
    write_whole_bytes(path, text.as_bytes())
}

/// Like [`write_whole`], for bytes.
///
/// # Errors
/// The file cannot be written.
pub fn write_whole_bytes(path: &Path, content: &[u8]) -> Result<(), String> {
    check(path)?;
    let cannot = |error: &io::Error| format!("{}: cannot be written: {error}", path.display());
    if is_written_in_place(path) {
        return fs::write(path, content).map_err(|error| cannot(&error));
    }
    let temporary = temporary_name(path);
    let written = fs::write(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // An incomplete file is useless. Failure to remove it is not the user's concern.
        let _ = fs::remove_file(&temporary);
        cannot(&error)
    })
}

/// A file that is written gradually under a temporary name. It receives its own name at
/// [`finish`](NewFile::finish); nothing changes before. Devices such as `/dev/stdout` are written
/// to directly.
pub struct NewFile {
    path: PathBuf,
    /// `None`: it is not a regular file, or it is finished.
    temporary: Option<PathBuf>,
}

impl NewFile {
    /// Creates the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path) -> Result<(NewFile, File), String> {
        check(path)?;
        let cannot = |error: io::Error| format!("{}: cannot be written: {error}", path.display());
        let mut new = NewFile { path: path.into(), temporary: None };
        if is_written_in_place(path) {
            let file = File::options().write(true).create(true).truncate(true).open(path);
            return Ok((new, file.map_err(cannot)?));
        }
        let temporary = temporary_name(path);
        let file = File::create(&temporary).map_err(cannot)?;
        new.temporary = Some(temporary);
        Ok((new, file))
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn finish(mut self) -> Result<(), String> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)
                .map_err(|error| format!("{}: cannot be written: {error}", self.path.display()))?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for NewFile {
    /// Removes an unfinished file.
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Returns whether a file begins with these bytes.
pub fn begins_with(path: &Path, bytes: &[u8]) -> bool {
    let mut head = vec![0; bytes.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == bytes
}

/// Returns whether `is_ours` accepts the beginning of a file. Only the beginning of a long file is
/// read.
pub fn begins(path: &Path, is_ours: impl FnOnce(&str) -> bool) -> bool {
    const ENOUGH: u64 = 4096;
    let mut head = vec![];
    let read = File::open(path).and_then(|file| file.take(ENOUGH).read_to_end(&mut head));
    read.is_ok() && is_ours(&String::from_utf8_lossy(&head))
}
