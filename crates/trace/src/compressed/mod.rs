//! Files as they are, or compressed with gzip, xz, zstd or zlib. [`Packing`] recognises the
//! compression by the first bytes of a file and unpacks a stream. [`read`] and [`unpack`] return a
//! whole file, up to a limit: a small file may unpack to more than the memory holds.

mod packing;
pub(crate) mod zstd;

pub use packing::Packing;
pub(crate) use packing::peek;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Limit used by the callers of [`read`] that need no other, bytes.
pub const LIMIT: u64 = 1 << 30;

/// Reason why a file cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// The operating system reports an error.
    Io(io::Error),
    /// The file is longer than the limit, either as it is or unpacked.
    TooLarge {
        /// The limit, bytes.
        limit: u64,
    },
    /// The file is not UTF-8 text.
    NotText {
        /// Offset of the first invalid byte.
        place: usize,
    },
    /// The file begins like a compressed file but does not unpack.
    Corrupt {
        /// `gzip`, `xz`, `zstd`, `zlib` or `atrace -z`.
        format: &'static str,
        /// Message of the decoder.
        message: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => f.write_str(&io_message(error)),
            ReadError::TooLarge { limit } => {
                write!(f, "it holds more than {limit} bytes, which is the limit")
            }
            ReadError::NotText { place } => {
                write!(f, "it is not text (byte {place} is not UTF-8)")
            }
            ReadError::Corrupt { format, message } => {
                write!(f, "it begins like a {format} file, but cannot be decompressed: {message}")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

/// Returns the message of the operating system, without the error number that Rust adds.
pub(crate) fn io_message(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "it may not be read (permission denied)".into(),
        io::ErrorKind::IsADirectory => "it is a directory".into(),
        _ => error.to_string(),
    }
}

/// Reads the whole file `path`, at most `limit` bytes, and unpacks it if its first bytes show that
/// it is compressed.
///
/// # Errors
/// [`ReadError`].
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let file = File::open(path)?;
    let mut raw = Vec::new();
    file.take(limit + 1).read_to_end(&mut raw)?;
    unpack(raw, limit)
}

/// Unpacks the contents of a file if they are compressed. Returns at most `limit` bytes.
///
/// # Errors
/// [`ReadError`], but never [`ReadError::Io`].
pub fn unpack(raw: Vec<u8>, limit: u64) -> Result<Vec<u8>, ReadError> {
    if raw.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    let packing = Packing::of(&raw);
    if packing == Packing::Plain {
        return Ok(raw);
    }
    let mut out = Vec::new();
    let result = packing.unpack(Box::new(&raw[..])).take(limit + 1).read_to_end(&mut out);
    if out.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    result.map_err(|error| ReadError::Corrupt {
        format: packing.name(),
        message: error.to_string(),
    })?;
    Ok(out)
}

/// Returns the contents of a file as text.
///
/// # Errors
/// [`ReadError::NotText`].
pub fn as_text(bytes: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(bytes).map_err(|error| ReadError::NotText { place: error.valid_up_to() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::default();
        let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        // Two frames: a file that was written during a run has many.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let pack = |part: &[u8]| {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress_to_vec(part, level)
        };
        [pack(first), pack(second)].concat()
    }

    /// 256 KiB of zeros, compressed to 172 bytes by xz itself.
    const BOMB: &[u8] = include_bytes!("../../tests/data/zeros-256KiB.xz");

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
        for packed in [text.clone(), gzip(&text), xz(&text), zstd(&text)] {
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
    fn xz_streams_may_follow_each_other_with_padding_between() {
        let text = b"golden ".repeat(20_000);
        let zeros = vec![0; 256 << 10];
        for padding in [0, 4, 8, 1 << 16] {
            let blank = vec![0; padding];
            let packed = [&xz(&text), &blank[..], BOMB, &blank, &xz(&text), &blank].concat();
            let all = [&text[..], &zeros, &text].concat();
            let size = all.len() as u64;
            assert!(unpack(packed.clone(), size).unwrap() == all, "{padding} bytes of padding");
            assert!(matches!(unpack(packed, size - 1), Err(ReadError::TooLarge { .. })));
        }
        assert!(unpack(xz(b""), LIMIT).unwrap().is_empty(), "a stream without a block");
        // Padding comes in units of four bytes, and only another stream may follow it.
        for tail in [&[0; 3][..], &[0, 0, 0, 0, 0], b"more", b"\0\0\0\0more"] {
            let packed = [BOMB, tail].concat();
            assert!(matches!(unpack(packed, LIMIT), Err(ReadError::Corrupt { format: "xz", .. })));
        }
    }

    #[test]
    fn xz_blocks_with_every_check_are_read() {
        use lzma_rust2::CheckType;
        let text = b"golden ".repeat(20_000);
        for check in [CheckType::None, CheckType::Crc32, CheckType::Crc64, CheckType::Sha256] {
            let mut options = lzma_rust2::XzOptions::default();
            options.set_check_sum_type(check);
            options.set_block_size(std::num::NonZeroU64::new(30_000));
            let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
            encoder.write_all(&text).unwrap();
            let packed = encoder.finish().unwrap();
            assert!(unpack(packed, LIMIT).unwrap() == text, "{check:?}");
        }
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
                // Damage that is not detected (to a file name in the header, say) must not change
                // the contents.
                if let Ok(bytes) = unpack(damaged, LIMIT) {
                    assert!(bytes == text || bytes == vec![0; 256 << 10], "damaged at {place}");
                }
            }
        }
    }
}
