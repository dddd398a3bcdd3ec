//! Compression of files, recognised by their first bytes and unpacked while they are read:
//! [`Packing`].

use super::zstd;
use std::io::{self, BufRead, BufReader, Read};

/// Number of bytes that are unpacked at a time.
const BUFFER: usize = 1 << 16;

/// Memory limit of the xz decoder, KiB. The dictionary of `xz -9` takes 64 MiB; larger requests are
/// treated as hostile.
const XZ_KIB_MAX: u32 = 256 << 10;

/// Compression of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// No compression.
    Plain,
    /// gzip.
    Gzip,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
    /// zlib (deflate with a header).
    Zlib,
    /// Output of `atrace -z`: text up to a line `TRACE:`, then zlib.
    Atrace,
}

/// Number of bytes in which the line `TRACE:` is looked for.
const ATRACE_MAX: usize = 4096;

/// Whether zlib data begins here, as its usual writers begin it.
fn is_zlib(begin: &[u8]) -> bool {
    matches!(begin, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..])
}

/// Returns the position of the data after a line `TRACE:`, if it is zlib.
fn after_trace_line(begin: &[u8]) -> Option<usize> {
    let begin = &begin[..begin.len().min(ATRACE_MAX)];
    let mut at = 0;
    while let Some(length) = begin[at..].iter().position(|&byte| byte == b'\n') {
        let line = begin[at..at + length].trim_ascii();
        at += length + 1;
        if line == b"TRACE:" {
            return is_zlib(&begin[at..]).then_some(at);
        }
    }
    None
}

/// Returns the first bytes of `input` without consuming them.
pub(crate) fn peek(input: &mut dyn BufRead) -> io::Result<&[u8]> {
    input.fill_buf()
}

impl Packing {
    /// Recognises the compression of a file by its first bytes.
    pub fn of(begin: &[u8]) -> Packing {
        if begin.starts_with(&[0x1f, 0x8b]) {
            Packing::Gzip
        } else if begin.starts_with(b"\xfd7zXZ\0") {
            Packing::Xz
        } else if begin.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Packing::Zstd
        } else if is_zlib(begin) && begin[1] != b'^' {
            // `x^` may begin a text.
            Packing::Zlib
        } else if after_trace_line(begin).is_some() {
            Packing::Atrace
        } else {
            Packing::Plain
        }
    }

    /// Returns the name of the compression.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Plain => "plain",
            Packing::Gzip => "gzip",
            Packing::Xz => "xz",
            Packing::Zstd => "zstd",
            Packing::Zlib => "zlib",
            Packing::Atrace => "atrace -z",
        }
    }

    /// Returns a reader of the unpacked contents of `raw`.
    pub(crate) fn unpack<'a>(self, raw: Box<dyn BufRead + 'a>) -> Box<dyn BufRead + 'a> {
        match self {
            Packing::Plain => raw,
            Packing::Gzip => Box::new(BufReader::with_capacity(
                BUFFER,
                flate2::bufread::MultiGzDecoder::new(raw),
            )),
            Packing::Xz => Box::new(BufReader::with_capacity(
                BUFFER,
                lzma_rust2::XzReader::new_mem_limit(raw, true, XZ_KIB_MAX),
            )),
            Packing::Zstd => Box::new(BufReader::with_capacity(BUFFER, Frames::Between(raw))),
            Packing::Zlib => {
                let zlib = flate2::bufread::ZlibDecoder::new(raw);
                Box::new(BufReader::with_capacity(BUFFER, zlib))
            }
            Packing::Atrace => {
                let mut raw = raw;
                // An error of the operating system comes again when the data is read.
                let skipped = raw.fill_buf().ok().and_then(after_trace_line);
                raw.consume(skipped.unwrap_or(0));
                Packing::Zlib.unpack(raw)
            }
        }
    }
}

/// Reader of consecutive Zstandard frames.
enum Frames<R: BufRead> {
    Between(R),
    Within(Box<ruzstd::decoding::StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
    Over,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(self, Frames::Over) {
                Frames::Over => return Ok(0),
                Frames::Between(mut raw) => {
                    let begin = raw.fill_buf()?;
                    if begin.is_empty() {
                        return Ok(0);
                    }
                    if zstd::window_of(begin).is_some_and(|window| window > zstd::WINDOW_MAX) {
                        let what = "unpacking it needs more than 128 MiB of memory";
                        return Err(io::Error::other(what));
                    }
                    let frame = ruzstd::decoding::StreamingDecoder::new(raw)
                        .map_err(|error| io::Error::other(error.to_string()))?;
                    *self = Frames::Within(Box::new(frame));
                }
                Frames::Within(mut frame) => match frame.read(buffer)? {
                    0 => *self = Frames::Between(frame.into_inner()),
                    read => {
                        *self = Frames::Within(frame);
                        return Ok(read);
                    }
                },
            }
        }
    }
}
