//! Files that are written while a run goes on: [`Output`]. Compressed by the file's ending, whole
//! under their names or not there at all.

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// How a file's ending says that it is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
}

impl Packing {
    /// Of the file's ending; and the name without it.
    pub fn of(path: &Path) -> (Packing, PathBuf) {
        let packing = match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Packing::Gzip,
            Some("zst") => Packing::Zstd,
            _ => return (Packing::Plain, path.into()),
        };
        (packing, path.with_extension(""))
    }
}

/// A file that is being written. It stands beside its place under another name until it is
/// [`finish`](Output::finish)ed; dropped before that it is removed.
#[derive(Debug)]
pub struct Output {
    encoder: Option<Encoder>,
    path: PathBuf,
    /// What it is called until it is whole; none: what is there is no file, and is written to.
    temporary: Option<PathBuf>,
}

#[derive(Debug)]
enum Encoder {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(Frames),
}

impl Output {
    /// Begins to write `path`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path) -> io::Result<Output> {
        let (packing, _) = Packing::of(path);
        let special = fs::symlink_metadata(path).is_ok_and(|what| !what.is_file());
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        let temporary = (!special).then(|| {
            let mut name = OsString::from(path.file_name().unwrap_or_default());
            name.push(format!(".{}.tmp", std::process::id()));
            path.with_file_name(name)
        });
        let file = File::create(temporary.as_deref().unwrap_or(path))?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let encoder = match packing {
            Packing::Plain => Encoder::Plain(file),
            Packing::Gzip => Encoder::Gzip(GzEncoder::new(file, Compression::fast())),
            Packing::Zstd => Encoder::Zstd(Frames { file, raw: Vec::new() }),
        };
        Ok(Output { encoder: Some(encoder), path: path.into(), temporary })
    }

    /// Where it is going to be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// It could not be written to the end; it is removed then.
    pub fn finish(mut self) -> io::Result<()> {
        match self.encoder.take() {
            Some(Encoder::Plain(mut file)) => file.flush()?,
            Some(Encoder::Gzip(encoder)) => encoder.finish()?.flush()?,
            Some(Encoder::Zstd(mut frames)) => frames.finish()?,
            None => {}
        }
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)?;
        }
        self.temporary = None;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            Some(Encoder::Plain(file)) => file.write(bytes),
            Some(Encoder::Gzip(encoder)) => encoder.write(bytes),
            Some(Encoder::Zstd(frames)) => frames.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Some(Encoder::Plain(file)) => file.flush(),
            Some(Encoder::Gzip(encoder)) => encoder.flush(),
            Some(Encoder::Zstd(frames)) => frames.file.flush(),
            None => Ok(()),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Half a file is of no use; that it could not be removed is nobody's concern.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Zstandard frames one after the other, which together are a file of its own: the encoder takes
/// its input whole.
#[derive(Debug)]
struct Frames {
    file: BufWriter<File>,
    raw: Vec<u8>,
}

impl Frames {
    const FRAME: usize = 1 << 20;

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(Frames::FRAME - self.raw.len());
        self.raw.extend_from_slice(&bytes[..taken]);
        if self.raw.len() == Frames::FRAME {
            self.pack()?;
        }
        Ok(taken)
    }

    fn pack(&mut self) -> io::Result<()> {
        let mut packed = Vec::new();
        compress(self.raw.as_slice(), &mut packed, CompressionLevel::Fastest);
        self.raw.clear();
        self.file.write_all(&packed)
    }

    fn finish(&mut self) -> io::Result<()> {
        if !self.raw.is_empty() {
            self.pack()?;
        }
        self.file.flush()
    }
}
