//! Reader of the wire format of protocol buffers: [`fields`].

/// Value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Bytes(_) => 0,
        }
    }

    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Number(_) => &[],
            Value::Bytes(bytes) => bytes,
        }
    }
}

/// Returns a varint and its length.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Returns the fields of a message. Malformed data ends them, which [`Fields::is_torn`] reports.
pub(super) fn fields(bytes: &[u8]) -> Fields<'_> {
    Fields { rest: bytes, is_torn: false }
}

#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    is_torn: bool,
}

impl<'a> Fields<'a> {
    /// Whether the fields ended before the end of the message.
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    fn one(&mut self) -> Option<(u32, Value<'a>)> {
        let (key, length) = varint(self.rest)?;
        let rest = &self.rest[length..];
        let (value, used) = match key & 7 {
            0 => {
                let (number, length) = varint(rest)?;
                (Value::Number(number), length)
            }
            1 => (Value::Number(u64::from_le_bytes(rest.get(..8)?.try_into().ok()?)), 8),
            2 => {
                let (size, length) = varint(rest)?;
                let end = usize::try_from(size).ok()?.checked_add(length)?;
                (Value::Bytes(rest.get(length..end)?), end)
            }
            5 => (Value::Number(u32::from_le_bytes(rest.get(..4)?.try_into().ok()?).into()), 4),
            _ => return None,
        };
        self.rest = &rest[used..];
        Some((u32::try_from(key >> 3).ok()?, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<(u32, Value<'a>)> {
        if self.rest.is_empty() || self.is_torn {
            return None;
        }
        let one = self.one();
        self.is_torn = one.is_none();
        one
    }
}

/// Returns the numbers of a packed field.
pub(super) fn packed(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (value, length) = varint(rest)?;
        rest = &rest[length..];
        Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto;

    #[test]
    fn what_is_written_is_read() {
        let mut out = vec![];
        proto::number(&mut out, 1, u64::MAX);
        proto::bytes(&mut out, 300, b"name");
        proto::message(&mut out, 3, |out| proto::number(out, 2, 7));
        out.extend([7 << 3 | 5, 1, 0, 0, 0, 8 << 3 | 1, 2, 0, 0, 0, 0, 0, 0, 0]);
        let mut read = fields(&out);
        assert_eq!(read.next(), Some((1, Value::Number(u64::MAX))));
        assert_eq!(read.next(), Some((300, Value::Bytes(b"name"))));
        assert_eq!(read.next(), Some((3, Value::Bytes(&[2 << 3, 7]))));
        assert_eq!(read.next(), Some((7, Value::Number(1))));
        assert_eq!(read.next(), Some((8, Value::Number(2))));
        assert_eq!(read.next(), None);
        assert!(!read.is_torn());
        let mut read = fields(&out[..out.len() - 1]);
        assert_eq!(read.by_ref().count(), 4);
        assert!(read.is_torn());
        assert_eq!(packed(&[1, 0x80, 1, 0x80]).collect::<Vec<_>>(), [1, 128]);
    }
}
