//! JSON that is read incrementally, because a file may be larger than the memory: [`Input`].

use super::problems::Place;
use serde_json::Value;
use std::io::BufRead;

/// Longest event that is read, bytes. Longer events are skipped.
pub(super) const EVENT_MAX: usize = 1 << 16;

/// Bytes of a file, one by one.
pub(super) struct Input<'i> {
    input: &'i mut dyn BufRead,
    /// Number of bytes consumed.
    pub at: u64,
    /// Whether unpacking failed.
    pub failed: bool,
}

impl<'i> Input<'i> {
    pub fn new(input: &'i mut dyn BufRead) -> Input<'i> {
        Input { input, at: 0, failed: false }
    }

    fn peek(&mut self) -> Option<u8> {
        match self.input.fill_buf() {
            Ok(bytes) => bytes.first().copied(),
            Err(_) => {
                self.failed = true;
                None
            }
        }
    }

    pub fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.input.consume(1);
        self.at += 1;
        Some(byte)
    }

    /// Returns the next byte that is neither blank nor comma, without consuming it.
    pub fn begin(&mut self) -> Option<u8> {
        loop {
            let byte = self.peek()?;
            if !byte.is_ascii_whitespace() && byte != b',' {
                return Some(byte);
            }
            self.next();
        }
    }

    /// Reads the key of an object's next member into `key`, with its quotes, and returns the first
    /// byte of the value without consuming it. `Some(None)`: there are no more members. `None`: the
    /// document has no end.
    pub fn member(&mut self, key: &mut Vec<u8>) -> Option<Option<u8>> {
        if self.begin()? != b'"' {
            return Some(None);
        }
        self.value(key)?;
        while self.begin()? == b':' {
            self.next();
        }
        self.begin().map(Some)
    }

    /// Returns the place of an array's next item. `Some(None)`: the array has ended. `None`: the
    /// rest cannot be read.
    pub fn item(&mut self) -> Option<Option<Place>> {
        match self.begin()? {
            b']' => {
                self.next();
                Some(None)
            }
            // An extra bracket, or not JSON.
            b'}' | b':' => None,
            _ => Some(Some(Place::Byte(self.at))),
        }
    }

    /// Reads a value into `out`, up to the limit. `None`: it has no end.
    pub fn value(&mut self, out: &mut Vec<u8>) -> Option<()> {
        out.clear();
        let mut depth = 0u64;
        loop {
            let byte = self.peek()?;
            if depth == 0 && !out.is_empty() && b",]} \t\r\n".contains(&byte) {
                // A number or a word has ended.
                return Some(());
            }
            self.next();
            let mut keep = |byte: u8| {
                if out.len() <= EVENT_MAX {
                    out.push(byte);
                }
            };
            keep(byte);
            match byte {
                b'"' => {
                    loop {
                        let byte = self.next()?;
                        keep(byte);
                        match byte {
                            b'\\' => keep(self.next()?),
                            b'"' => break,
                            _ => {}
                        }
                    }
                    if depth == 0 {
                        return Some(());
                    }
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(());
                    }
                }
                _ => {}
            }
        }
    }
}

/// Parses an event. It goes through text, as all other JSON does, so that the parser is compiled
/// once.
pub(super) fn parse(event: &[u8]) -> Option<Value> {
    serde_json::from_str(std::str::from_utf8(event).ok()?).ok()
}
