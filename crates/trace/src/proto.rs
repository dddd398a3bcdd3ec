//! Wire format of protocol buffers: the parts that traces need.

/// Appends `value` as a varint.
#[inline]
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a numeric field. Negative numbers are passed as their 64 bits.
#[inline]
pub fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, value);
}

/// Appends a field with bytes: a string or a message.
#[inline]
pub fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Appends a field with a message, which `fill` builds in `scratch`.
#[inline]
pub fn message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    // Most messages are shorter than 128 bytes: their length takes one byte. Longer ones are moved.
    varint(out, u64::from(field) << 3 | 2);
    let at = out.len();
    out.push(0);
    fill(out);
    let length = out.len() - at - 1;
    if length < 0x80 {
        out[at] = length as u8;
    } else {
        let mut prefix = Vec::with_capacity(10);
        varint(&mut prefix, length as u64);
        out.splice(at..=at, prefix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_any_length_say_how_long_they_are() {
        for length in [0, 1, 127, 128, 129, 16_383, 16_384, 100_000] {
            let mut out = vec![];
            message(&mut out, 3, |out| out.extend(std::iter::repeat_n(7, length)));
            let mut expected = vec![3 << 3 | 2];
            varint(&mut expected, length as u64);
            expected.extend(std::iter::repeat_n(7, length));
            assert_eq!(out, expected);
        }
    }
}
