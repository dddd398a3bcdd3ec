//! Files that are written during a run: [`Output`]. The extension selects the compression. A file
//! appears under its name when it is complete.

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Compression of a file, selected by its extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// No compression.
    Plain,
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
}

impl Packing {
    /// Returns the compression that the extension selects, and the name without the extension.
    pub fn of(path: &Path) -> (Packing, PathBuf) {
        let packing = match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Packing::Gzip,
            Some("zst") => Packing::Zstd,
            _ => return (Packing::Plain, path.into()),
        };
        (packing, path.with_extension(""))
    }
}

/// File that is being written. Until [`finish`](Output::finish) is called, it has a temporary name
/// in the directory of its final path. It is removed if it is dropped before that.
#[derive(Debug)]
pub struct Output {
    encoder: Option<Encoder>,
    path: PathBuf,
    /// Temporary name. `None`: the path exists and is no regular file, so it is written directly.
    temporary: Option<PathBuf>,
}

#[derive(Debug)]
enum Encoder {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(FrameWriter),
}

impl Output {
    /// Begins to write `path`.
    ///
    /// # Errors
    /// The file cannot be created.
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
            Packing::Zstd => Encoder::Zstd(FrameWriter { file, raw: Vec::new() }),
        };
        Ok(Output { encoder: Some(encoder), path: path.into(), temporary })
    }

    /// Returns the final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the file to its final path.
    ///
    /// # Errors
    /// The file could not be written completely; it is removed then.
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
            // Half a file is of no use. Failure to remove it is not reported.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Consecutive Zstandard frames, which together are one file: the encoder takes its whole input at
/// once.
#[derive(Debug)]
struct FrameWriter {
    file: BufWriter<File>,
    raw: Vec<u8>,
}

impl FrameWriter {
    const FRAME: usize = 1 << 20;

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(FrameWriter::FRAME - self.raw.len());
        self.raw.extend_from_slice(&bytes[..taken]);
        if self.raw.len() == FrameWriter::FRAME {
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
