//! Zstandard data that arrives in pieces: [`Pieces`]. `perf record -z` compresses its records into
//! one frame, and cuts it anywhere to put it into its own records. A recording may end before the
//! frame does.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Largest window of a frame, bytes: that of `zstd -22` and `perf record -z22`. Larger requests are
/// treated as hostile.
pub(crate) const WINDOW_MAX: u64 = 1 << 27;

/// Longest header of a frame, bytes.
pub(crate) const HEADER_MAX: usize = 18;

/// Longest block, bytes. Anything longer is not a block.
const BLOCK_MAX: usize = 1 << 17;

/// Returns the window of the frame that begins with `header`, bytes. `None`: more of the header is
/// needed, or it is not a frame.
pub(crate) fn window_of(header: &[u8]) -> Option<u64> {
    let rest = header.strip_prefix(&[0x28, 0xb5, 0x2f, 0xfd])?;
    let (&descriptor, rest) = rest.split_first()?;
    if descriptor & 0x20 == 0 {
        let &window = rest.first()?;
        let base = 1u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // The window is the size of the content, which follows the number of the dictionary.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let content = rest.get(dictionary..dictionary + size)?;
    let number = content.iter().rev().fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
    Some(if size == 2 { number + 256 } else { number })
}

/// Largest ratio of unpacked to packed size. Data with a larger ratio is not a recording but an
/// attempt to keep the reader busy.
const TIMES_MAX: u64 = 1000;

/// Unpacks frames that arrive in pieces.
#[derive(Default)]
pub(crate) struct Pieces {
    /// Data that has arrived and is not unpacked: usually less than a block.
    packed: Vec<u8>,
    frame: Option<FrameDecoder>,
    /// Whether a checksum of four bytes follows the last block of the frame. It is not verified.
    has_sum: bool,
    /// Number of bytes that have arrived, and number of bytes that they unpacked to.
    came: u64,
    gave: u64,
}

impl std::fmt::Debug for Pieces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pieces").field("packed", &self.packed.len()).finish_non_exhaustive()
    }
}

impl Pieces {
    /// Takes the next piece and passes its unpacked data to `out`, about 128 KiB at a time at most.
    /// The last part of a frame (as much as its window) is kept until the frame is over.
    ///
    /// # Errors
    /// The data is not Zstandard.
    pub fn take(&mut self, piece: &[u8], out: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        self.packed.extend_from_slice(piece);
        self.came += piece.len() as u64;
        let mut at = 0;
        let result = self.unpack(&mut at, out);
        self.packed.drain(..at);
        result
    }

    /// Flushes the rest of a frame that was not ended, when there are no more pieces.
    ///
    /// # Errors
    /// A block is incomplete.
    pub fn finish(&mut self, out: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        if self.frame.is_some() {
            // An empty last block ends the frame.
            let is_whole = self.packed.is_empty();
            self.packed.clear();
            let end: &[u8] = if self.has_sum { &[1, 0, 0, 0, 0, 0, 0] } else { &[1, 0, 0] };
            self.take(end, out)?;
            return if is_whole { Ok(()) } else { Err("it ends within a block".into()) };
        }
        if self.packed.is_empty() { Ok(()) } else { Err("it ends within a header".into()) }
    }

    /// Unpacks block after block. `at` is the position up to which the pieces are unpacked.
    fn unpack(&mut self, at: &mut usize, out: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        loop {
            let rest = &self.packed[*at..];
            let Some(frame) = &mut self.frame else {
                if rest.is_empty() {
                    return Ok(());
                }
                let magic = [0x28, 0xb5, 0x2f, 0xfd];
                if !magic.starts_with(&rest[..rest.len().min(4)]) {
                    return Err("it is not Zstandard".into());
                }
                if window_of(rest).is_some_and(|window| window > WINDOW_MAX) {
                    return Err("its window is larger than 128 MiB".into());
                }
                let mut frame = FrameDecoder::new();
                let mut source = rest;
                match frame.init(&mut source) {
                    Ok(()) => {}
                    // There may be more to come.
                    Err(_) if rest.len() < HEADER_MAX => return Ok(()),
                    Err(error) => return Err(error.to_string()),
                }
                self.has_sum = rest[4] & 4 != 0;
                *at += rest.len() - source.len();
                self.frame = Some(frame);
                continue;
            };
            let Some(head) = rest.first_chunk::<3>() else { return Ok(()) };
            let head = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            let size = (head >> 3) as usize;
            let is_repeated = head >> 1 & 3 == 1;
            if size > BLOCK_MAX {
                return Err("a block is too long".into());
            }
            let is_last = head & 1 != 0;
            let length = 3
                + if is_repeated { 1 } else { size }
                + if is_last && self.has_sum { 4 } else { 0 };
            let Some(mut block) = rest.get(..length) else { return Ok(()) };
            frame
                .decode_blocks(&mut block, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(|error| error.to_string())?;
            *at += length;
            let is_over = frame.is_finished();
            if let Some(bytes) = frame.collect().filter(|bytes| !bytes.is_empty()) {
                out(&bytes);
                self.gave += bytes.len() as u64;
                if self.gave > TIMES_MAX * self.came + (1 << 20) {
                    return Err("it unpacks to more than a thousand times its size".into());
                }
            }
            if is_over {
                self.frame = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// Returns the data with repetitions.
    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8 ^ (at / 4096) as u8).collect()
    }

    fn unpacked(packed: &[u8], piece: usize) -> Result<Vec<u8>, String> {
        let (mut pieces, mut all) = (Pieces::default(), vec![]);
        for part in packed.chunks(piece) {
            pieces.take(part, &mut |bytes| all.extend_from_slice(bytes))?;
        }
        pieces.finish(&mut |bytes| all.extend_from_slice(bytes))?;
        Ok(all)
    }

    #[test]
    fn wherever_it_is_cut_it_unpacks() {
        let text = text(400_000);
        for level in [CompressionLevel::Fastest, CompressionLevel::Uncompressed] {
            let packed = compress_to_vec(&text[..], level);
            let twice = [&packed[..], &packed[..]].concat();
            for piece in [1, 7, 1000, 65_000, usize::MAX] {
                assert!(unpacked(&packed, piece) == Ok(text.clone()), "{piece}");
                assert!(unpacked(&twice, piece) == Ok([&text[..], &text].concat()), "{piece}");
            }
        }
    }

    #[test]
    fn what_is_cut_gives_what_was_whole() {
        let text = text(400_000);
        let packed = compress_to_vec(&text[..], CompressionLevel::Fastest);
        let mut all = vec![];
        let mut pieces = Pieces::default();
        let cut = &packed[..packed.len() * 2 / 3];
        pieces
            .take(cut, &mut |bytes| all.extend_from_slice(bytes))
            .expect("the data is intact up to the cut");
        let error = pieces.finish(&mut |bytes| all.extend_from_slice(bytes));
        assert!(error.is_err() && all.len() >= 128 << 10 && text.starts_with(&all));
    }

    /// A checksum may follow the last block, and the data may be cut between them.
    #[test]
    fn a_sum_belongs_to_its_frame() {
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 4, 0, 1 | 2 << 3, 0, 0, b'a', b'b', 1, 2, 3, 4];
        let twice = [frame, frame].concat();
        for piece in [1, 11, 100] {
            assert_eq!(unpacked(&twice, piece).as_deref(), Ok(&b"abab"[..]), "{piece}");
        }
        // A frame without its end.
        let frame = [&frame[..6], &[2 << 3, 0, 0, b'a', b'b']].concat();
        assert_eq!(unpacked(&frame, 3).as_deref(), Ok(&b"ab"[..]));
    }

    #[test]
    fn windows_are_as_the_header_says() {
        let magic = [0x28, 0xb5, 0x2f, 0xfd];
        let of = |rest: &[u8]| window_of(&[&magic[..], rest].concat());
        assert_eq!(of(&[0, 9 << 3]), Some(1 << 19), "perf record -z");
        assert_eq!(of(&[0, 17 << 3 | 7]), Some((1 << 27) + 7 * (1 << 24)));
        assert_eq!(of(&[0x20, 200]), Some(200));
        assert_eq!(of(&[0x61, 9, 1, 2]), Some(256 + 0x201));
        assert_eq!((of(&[]), of(&[0]), window_of(b"PERFILE2")), (None, None, None));
    }

    #[test]
    fn what_is_no_frame_or_asks_for_too_much_is_refused() {
        assert!(unpacked(b"PERFILE2", 3).is_err());
        let far = [0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, 1, 0, 0];
        assert!(unpacked(&far, 100).is_err_and(|error| error.contains("128 MiB")));
        // Blocks of four bytes that unpack to 128 KiB.
        let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0];
        (0..100).for_each(|_| bomb.extend([2, 0, 16, b'x']));
        assert!(unpacked(&bomb, 100).is_err_and(|error| error.contains("thousand times")));
    }
}
