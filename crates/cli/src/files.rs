//! Files that the program reads and writes.

use schedlab_lab::compressed;
use schedlab_lab::plan::Source;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What went wrong with a file or a directory.
pub fn describe_error(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Reads a text file, compressed or not.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> Result<Source, String> {
    let file = path.display().to_string();
    let failed = |error| format!("{file}: {error}");
    let bytes = compressed::read(path, compressed::LIMIT).map_err(failed)?;
    let text = compressed::as_text(&bytes).map_err(failed)?.to_string();
    Ok(Source { file, text })
}

/// The same, with what is no text in it replaced: names of tasks may hold any bytes.
///
/// # Errors
/// It cannot be read.
pub fn read_lossy(path: &Path) -> Result<Source, String> {
    let file = path.display().to_string();
    let bytes =
        compressed::read(path, compressed::LIMIT).map_err(|error| format!("{file}: {error}"))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Source { file, text })
}

/// Whether a file can be written there: better known now than after minutes of simulation. Nothing
/// is changed: that a file can be made in the directory is tried with one of another name.
///
/// # Errors
/// It cannot.
pub fn check(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(missing) = directory.filter(|directory| !directory.is_dir()) {
        return Err(format!("{shown}: there is no directory {}", missing.display()));
    }
    if path.is_dir() {
        return Err(format!("{shown}: that is a directory; name a file"));
    }
    let cannot = |error: io::Error| format!("{shown}: cannot be written: {error}");
    if is_fifo(path) {
        return hold(path);
    }
    if path.metadata().is_ok_and(|there| there.is_file() && there.permissions().readonly()) {
        return Err(format!("{shown}: that file is read-only, so it is not written over"));
    }
    if is_written_in_place(path) {
        // A link that leads to nothing yet is made when it is written to.
        return match File::options().write(true).open(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot(error)),
            _ => Ok(()),
        };
    }
    let temporary = temporary_name(path);
    File::create_new(&temporary).map_err(cannot)?;
    fs::remove_file(&temporary).map_err(cannot)
}

/// That no two options write the same file: the last would win. (What is no file, `/dev/stdout`,
/// takes everything.)
///
/// # Errors
/// Two do.
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
                "{other} and {option} both name {}; each needs a file of its own",
                path.display()
            ));
        }
        seen.push((option, path));
    }
    Ok(())
}

/// Whether something is there that is no file of its own: a device, a pipe, a link.
fn is_written_in_place(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|what| !what.is_file())
}

/// What a file is called until it is whole.
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

/// Pipes that are going to be written: while they are held open, who reads them waits.
static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Who opens a pipe that nobody reads waits for ever, so that is not done.
///
/// # Errors
/// Nobody reads it.
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
            "{}: that is a pipe that nobody reads; begin to read it first, or name a file",
            path.display()
        )),
        Err(error) => Err(format!("{}: cannot be written: {error}", path.display())),
    }
}

#[cfg(not(unix))]
fn hold(_path: &Path) -> Result<(), String> {
    Ok(())
}

/// That what stands in a file which `option` is to write may be lost: there is none, or it is
/// empty, or `is_ours` knows it as an earlier result of the same kind (`what`). A file whose name
/// came after the option by mistake would be lost otherwise. (What is there and is no file is
/// written to.)
///
/// # Errors
/// It may not.
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
        "{option}: {} is there and is not {what}, so it is not written over; name another file",
        path.display()
    ))
}

/// Writes a file under another name first, so that under its own it is there in whole or, as
/// before, not at all. What is there and is no file (`/dev/stdout`) is written to.
///
/// # Errors
/// It cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<(), String> {
    write_whole_bytes(path, text.as_bytes())
}

/// The same of what is no text.
///
/// # Errors
/// It cannot be written.
pub fn write_whole_bytes(path: &Path, content: &[u8]) -> Result<(), String> {
    check(path)?;
    let cannot = |error: &io::Error| format!("{}: cannot be written: {error}", path.display());
    if is_written_in_place(path) {
        return fs::write(path, content).map_err(|error| cannot(&error));
    }
    let temporary = temporary_name(path);
    let written = fs::write(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // What could not be written is of no use to anybody; that it could not be removed either is
        // not the user's concern.
        let _ = fs::remove_file(&temporary);
        cannot(&error)
    })
}

/// A file that is written piece by piece under another name first. Under its own it is there when
/// it is [`finish`](NewFile::finish)ed; before, nothing has changed. What is there and is no file
/// (`/dev/stdout`) is written to.
pub struct NewFile {
    path: PathBuf,
    /// None: it is no file, or it is finished.
    temporary: Option<PathBuf>,
}

impl NewFile {
    /// Begins it.
    ///
    /// # Errors
    /// It cannot be written.
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

    /// All of it is written.
    ///
    /// # Errors
    /// It cannot get its name.
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
    /// Nothing is left of what was not finished.
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Whether a file begins with these bytes.
pub fn begins_with(path: &Path, bytes: &[u8]) -> bool {
    let mut head = vec![0; bytes.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == bytes
}

/// Whether a file begins as `is_ours` wants it; of a long one only the beginning is read.
pub fn begins(path: &Path, is_ours: impl FnOnce(&str) -> bool) -> bool {
    const ENOUGH: u64 = 4096;
    let mut head = vec![];
    let read = File::open(path).and_then(|file| file.take(ENOUGH).read_to_end(&mut head));
    read.is_ok() && is_ours(&String::from_utf8_lossy(&head))
}
