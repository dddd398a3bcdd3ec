//! Files as they are, or compressed with gzip, xz or zstd, read whole and with a limit: a small
//! file may unpack to more than the memory holds.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The most that [`read`] unpacks by default, bytes.
pub const LIMIT: u64 = 1 << 30;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system says no.
    #[error("{}", plain_io(.0))]
    Io(#[from] io::Error),
    /// It is longer than the limit, as it is or unpacked.
    #[error("it holds more than {limit} bytes, which is the limit")]
    TooLarge {
        /// The limit, bytes.
        limit: u64,
    },
    /// Its bytes are no text.
    #[error("it is not text (byte {place} is not UTF-8)")]
    NotText {
        /// The first byte that cannot be, from 0.
        place: usize,
    },
    /// It says that it is compressed, but does not unpack.
    #[error("it begins like a {format} file but does not unpack: {message}")]
    Corrupt {
        /// `gzip`, `xz` or `zstd`.
        format: &'static str,
        /// What the decoder found.
        message: String,
    },
}

/// The system's messages without the error number that Rust adds.
fn plain_io(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "it may not be read (permission denied)".into(),
        io::ErrorKind::IsADirectory => "it is a directory".into(),
        _ => error.to_string(),
    }
}

/// Reads `path` whole, unpacked if it is compressed, which is told from its first bytes. At most
/// `limit` bytes.
///
/// # Errors
/// [`ReadError`].
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let file = File::open(path)?;
    let mut raw = Vec::new();
    file.take(limit + 1).read_to_end(&mut raw)?;
    unpack(raw, limit)
}

/// Unpacks what was read from a file, if it is compressed. At most `limit` bytes.
///
/// # Errors
/// [`ReadError`], but never [`ReadError::Io`].
pub fn unpack(raw: Vec<u8>, limit: u64) -> Result<Vec<u8>, ReadError> {
    if raw.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    if raw.starts_with(&[0x1f, 0x8b]) {
        gunzip(&raw, limit)
    } else if raw.starts_with(b"\xfd7zXZ\0") {
        unxz(&raw, limit)
    } else if raw.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        unzstd(&raw, limit)
    } else {
        Ok(raw)
    }
}

/// What was read, as text.
///
/// # Errors
/// [`ReadError::NotText`].
pub fn as_text(bytes: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(bytes).map_err(|error| ReadError::NotText { place: error.valid_up_to() })
}

fn gunzip(raw: &[u8], limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(raw)
        .take(limit + 1)
        .read_to_end(&mut out)
        .map_err(|error| ReadError::Corrupt { format: "gzip", message: error.to_string() })?;
    if out.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok(out)
}

/// Frame after frame.
fn unzstd(raw: &[u8], limit: u64) -> Result<Vec<u8>, ReadError> {
    let corrupt = |message: String| ReadError::Corrupt { format: "zstd", message };
    let mut out = Vec::new();
    let mut rest = raw;
    while !rest.is_empty() {
        let room = limit + 1 - out.len() as u64;
        let mut frame = ruzstd::decoding::StreamingDecoder::new(&mut rest)
            .map_err(|error| corrupt(error.to_string()))?;
        frame
            .by_ref()
            .take(room)
            .read_to_end(&mut out)
            .map_err(|error| corrupt(error.to_string()))?;
        if out.len() as u64 > limit {
            return Err(ReadError::TooLarge { limit });
        }
    }
    Ok(out)
}

fn unxz(raw: &[u8], limit: u64) -> Result<Vec<u8>, ReadError> {
    // The decoder keeps all that it has unpacked until a block ends, so that a writer that refuses
    // comes too late: what the blocks are going to hold is added up first.
    let corrupt = |message: String| ReadError::Corrupt { format: "xz", message };
    let announced = xz_size(raw).ok_or_else(|| corrupt("it is cut off or damaged".into()))?;
    if announced > limit {
        return Err(ReadError::TooLarge { limit });
    }
    let mut out = Limited { bytes: Vec::with_capacity(announced as usize), limit };
    lzma_rs::xz_decompress(&mut io::Cursor::new(raw), &mut out).map_err(|error| {
        corrupt(match error {
            lzma_rs::error::Error::IoError(error) => error.to_string(),
            lzma_rs::error::Error::HeaderTooShort(error) => error.to_string(),
            lzma_rs::error::Error::LzmaError(message) | lzma_rs::error::Error::XzError(message) => {
                message
            }
        })
    })?;
    Ok(out.bytes)
}

struct Limited {
    bytes: Vec<u8>,
    limit: u64,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() + bytes.len()) as u64 > self.limit {
            return Err(io::Error::other("it unpacks to more than it announces"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How many bytes the xz file `raw` unpacks to, from the sizes that stand before each piece of
/// compressed data. None if it is cut off or not built as it should be.
///
/// A file is a header of 12 bytes, blocks, and an index that begins with a 0. A block is a header
/// (its first byte tells its length), LZMA2 chunks up to a 0, padding to a multiple of four, and a
/// checksum.
fn xz_size(raw: &[u8]) -> Option<u64> {
    let check_size = match raw.get(7)? & 0xf {
        0 => 0,
        1..=3 => 4,
        4..=6 => 8,
        7..=9 => 16,
        10..=12 => 32,
        _ => 64,
    };
    let mut at = 12;
    let mut size: u64 = 0;
    loop {
        match *raw.get(at)? {
            0 => return Some(size),
            header => at += (usize::from(header) + 1) * 4,
        }
        let block = at;
        loop {
            let control = *raw.get(at)?;
            let field = |offset: usize| {
                Some(
                    usize::from(*raw.get(at + offset)?) << 8
                        | usize::from(*raw.get(at + offset + 1)?),
                )
            };
            match control {
                0 => break,
                1 | 2 => {
                    size += field(1)? as u64 + 1;
                    at += 3 + field(1)? + 1;
                }
                0x80.. => {
                    size += (u64::from(control & 0x1f) << 16 | field(1)? as u64) + 1;
                    let properties = usize::from(control >> 5 & 3 >= 2);
                    at += 5 + properties + field(3)? + 1;
                }
                _ => return None,
            }
        }
        at += 1;
        at += (at - block).wrapping_neg() % 4 + check_size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        lzma_rs::xz_compress(&mut io::Cursor::new(bytes), &mut out).unwrap();
        out
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        // Two frames: what was written while a run went on has many.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let pack = |part: &[u8]| {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress_to_vec(part, level)
        };
        [pack(first), pack(second)].concat()
    }

    /// 256 KiB of zeros, packed by xz itself to 172 bytes.
    const BOMB: &[u8] = include_bytes!("../tests/data/zeros-256KiB.xz");

    #[test]
    fn each_form_gives_the_same_bytes() {
        let text = b"golden ".repeat(20_000);
        assert_eq!(unpack(text.clone(), LIMIT).unwrap(), text);
        assert_eq!(unpack(gzip(&text), LIMIT).unwrap(), text);
        assert_eq!(unpack(xz(&text), LIMIT).unwrap(), text);
        assert_eq!(unpack(zstd(&text), LIMIT).unwrap(), text);
        assert_eq!(unpack(BOMB.to_vec(), LIMIT).unwrap(), vec![0; 256 << 10]);
    }

    #[test]
    fn the_limit_holds_to_the_byte_in_each_form() {
        let text = b"golden ".repeat(20_000);
        let size = text.len() as u64;
        for packed in [text.clone(), gzip(&text), zstd(&text)] {
            assert_eq!(unpack(packed.clone(), size).unwrap(), text);
            assert!(matches!(
                unpack(packed, size - 1),
                Err(ReadError::TooLarge { limit }) if limit == size - 1
            ));
        }
        assert!(unpack(BOMB.to_vec(), 256 << 10).is_ok());
        assert!(matches!(unpack(BOMB.to_vec(), (256 << 10) - 1), Err(ReadError::TooLarge { .. })));
    }

    #[test]
    fn a_cut_or_damaged_file_is_an_error_and_never_a_panic() {
        let text = b"golden ".repeat(2_000);
        let packed = zstd(&text);
        let half = ruzstd::encoding::compress_to_vec(
            &text[..text.len() / 2],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        for length in (6..packed.len()).filter(|&length| length != half.len()) {
            assert!(unpack(packed[..length].to_vec(), LIMIT).is_err(), "cut at {length}");
        }
        for packed in [gzip(&text), BOMB.to_vec()] {
            for length in 6..packed.len() {
                assert!(unpack(packed[..length].to_vec(), LIMIT).is_err(), "cut at {length}");
            }
            for place in 6..packed.len() {
                let mut damaged = packed.clone();
                damaged[place] ^= 0x55;
                // Most damage is found; what is not (a file name in the header, say) changes
                // nothing.
                if let Ok(bytes) = unpack(damaged, LIMIT) {
                    assert!(bytes == text || bytes == vec![0; 256 << 10], "damaged at {place}");
                }
            }
        }
    }
}
