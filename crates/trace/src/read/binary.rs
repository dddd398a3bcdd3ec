//! Numbers and strings in binary files: [`Bytes`].

/// Remaining bytes of a buffer, in the byte order of the machine that wrote them. Missing data is
/// `None`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    pub rest: &'a [u8],
    pub is_big: bool,
}

impl<'a> Bytes<'a> {
    pub fn new(rest: &'a [u8], is_big: bool) -> Bytes<'a> {
        Bytes { rest, is_big }
    }

    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads a number of `size` bytes, at most eight.
    pub fn number(&mut self, size: usize) -> Option<u64> {
        let taken = self.take(size)?;
        Some(number(taken, self.is_big))
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.number(8)
    }

    /// Reads a size in 32 bits, and that number of bytes.
    pub fn sized32(&mut self) -> Option<&'a [u8]> {
        let size = self.u32()?;
        self.take(size as usize)
    }

    /// Reads a size in 64 bits, and that number of bytes.
    pub fn sized64(&mut self) -> Option<&'a [u8]> {
        let size = usize::try_from(self.u64()?).ok()?;
        self.take(size)
    }

    /// Reads up to a NUL, which is consumed.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == 0)?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(text)
    }
}

/// Returns the number that these bytes (at most eight) represent.
pub(super) fn number(bytes: &[u8], is_big: bool) -> u64 {
    let join = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
    if is_big { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
}

/// Returns the bytes before the first NUL.
pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}
