//! Names of tasks between reader and sink: [`Names`].

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Name, as its number in [`Names`].
pub(crate) type Name = u32;

/// Number of bytes of names that are kept: a file in which every line has a different name must not
/// fill the memory.
const BYTES_MAX: usize = 32 << 20;

/// Length at which names (paths of programs) are cut.
const LENGTH_MAX: usize = 4096;

/// Names, each stored once.
#[derive(Debug)]
pub(crate) struct Names {
    texts: Vec<Box<str>>,
    known: HashMap<Box<[u8]>, Name, BuildHasherDefault<Mix>>,
    bytes: usize,
    refused: u64,
}

/// Hash of a name: names are short and come by the million.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, _: u8) {}

    fn write_usize(&mut self, length: usize) {
        self.write_u64(length as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        // The hash table uses the upper and the lower bits.
        self.0 ^ self.0 >> 29
    }
}

impl Names {
    /// Name of a task whose name is unknown.
    pub const UNKNOWN: Name = 0;

    /// Name of the idle task.
    pub const IDLE: Name = 1;

    pub fn new() -> Names {
        let mut this = Names { texts: vec![], known: HashMap::default(), bytes: 0, refused: 0 };
        this.number(b"<...>");
        this.number(b"swapper");
        this
    }

    /// Returns the number of a name. Invalid UTF-8 in it is replaced.
    pub fn number(&mut self, bytes: &[u8]) -> Name {
        let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
        if let Some(&number) = self.known.get(bytes) {
            return number;
        }
        if self.bytes + bytes.len() > BYTES_MAX {
            self.refused += 1;
            return Names::UNKNOWN;
        }
        self.bytes += bytes.len() + 64;
        let number = self.texts.len() as Name;
        let text: String = String::from_utf8_lossy(bytes)
            .chars()
            .map(|letter| if letter.is_control() { '?' } else { letter })
            .collect();
        self.texts.push(text.into_boxed_str());
        self.known.insert(bytes.into(), number);
        number
    }

    /// Returns the name with this number.
    pub fn text(&self, name: Name) -> &str {
        self.texts.get(name as usize).map_or("<...>", |text| text)
    }

    /// Returns the number of names that could not be kept.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = Names::new();
        let (a, b) = (names.number(b"kworker/u8:1"), names.number(b"kworker/u8:2"));
        assert_ne!(a, b);
        assert_eq!(names.number(b"kworker/u8:1"), a);
        assert_eq!(names.text(b), "kworker/u8:2");
        assert_eq!((names.text(Names::IDLE), names.text(u32::MAX)), ("swapper", "<...>"));
        let odd = names.number(b"a\xffb\n");
        assert_eq!(names.text(odd), "a\u{fffd}b?");
    }

    #[test]
    fn names_without_end_do_not_fill_the_memory() {
        let mut names = Names::new();
        for number in 0..700_000u32 {
            names.number(format!("t{number}").as_bytes());
        }
        assert!(names.refused() > 0 && names.bytes <= BYTES_MAX + LENGTH_MAX);
        assert_eq!(names.text(names.known[&b"t5"[..]]), "t5");
    }
}
