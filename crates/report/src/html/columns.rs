//! Columns of numbers as text for a page: [`Columns`].
//!
//! Each column is cut into planes: the lowest bytes of all its numbers, then the next higher bytes,
//! as many as its largest number needs. That groups similar bytes: the high ones are nearly all
//! equal and compress very well. All planes of all columns are one deflate stream, in base64, which
//! a browser reads with `DecompressionStream`. `assets/data.js` is the reader.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use std::io::Write;

/// Columns in their written form.
#[derive(Default)]
pub(super) struct Columns {
    planes: Vec<u8>,
    list: Vec<Column>,
}

/// Description of a column for the reader, in the order of the stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Column {
    /// Name.
    name: &'static str,
    /// Number of values.
    length: usize,
    /// Bytes of each value.
    bytes: usize,
}

impl Columns {
    /// Adds a column of numbers.
    pub fn add(&mut self, name: &'static str, numbers: &[u64]) {
        let most = numbers.iter().copied().max().unwrap_or(0);
        let bytes = (u64::BITS - most.leading_zeros()).div_ceil(8) as usize;
        for plane in 0..bytes {
            self.planes.extend(numbers.iter().map(|number| (number >> (8 * plane)) as u8));
        }
        self.list.push(Column { name, length: numbers.len(), bytes });
    }

    /// Adds a column that is a text.
    pub fn add_text(&mut self, name: &'static str, text: &str) {
        self.planes.extend(text.as_bytes());
        self.list.push(Column { name, length: text.len(), bytes: 1 });
    }

    /// Returns the descriptions of the columns, and the stream.
    pub fn finish(self) -> (Vec<Column>, String) {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        let squeezed = encoder.write_all(&self.planes).and_then(|()| encoder.finish());
        (self.list, STANDARD.encode(squeezed.expect("writing to a vector does not fail")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::DeflateDecoder;
    use std::io::Read;

    #[test]
    fn columns_can_be_read_back() {
        let mut columns = Columns::default();
        columns.add("a", &[1, 0x0203, 0]);
        columns.add("none", &[]);
        columns.add("zeros", &[0, 0]);
        columns.add_text("text", "hé");
        let (list, text) = columns.finish();
        let shape: Vec<_> = list.iter().map(|it| (it.name, it.length, it.bytes)).collect();
        assert_eq!(shape, [("a", 3, 2), ("none", 0, 0), ("zeros", 2, 0), ("text", 3, 1)]);
        let bytes = STANDARD.decode(text).expect("the text is base64");
        let mut planes = vec![];
        DeflateDecoder::new(&*bytes)
            .read_to_end(&mut planes)
            .expect("the bytes are a deflate stream");
        assert_eq!(planes, [1, 3, 0, 0, 2, 0, b'h', 0xc3, 0xa9]);
    }
}
