//! BPF's `printf`, for `bpf_trace_printk`, `bpf_snprintf` and messages of policies.

use crate::memory::Memory;

/// Maximum length of a text, bytes.
const TEXT_MAX: usize = 1024;

/// Maximum width of a field.
const WIDTH_MAX: usize = 256;

/// Formats a text. `args` are words of 64 bits; `%s` takes an address. Unknown conversions are
/// copied unchanged.
pub fn format(memory: &Memory, format: &[u8], args: &[u64]) -> String {
    let mut text = String::new();
    let mut args = args.iter().copied();
    let mut rest = format;
    while let Some((&byte, after)) = rest.split_first() {
        if text.len() > TEXT_MAX {
            break;
        }
        if byte != b'%' {
            let end = rest.iter().position(|&byte| byte == b'%').unwrap_or(rest.len());
            text += &String::from_utf8_lossy(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let (spec, behind) = conversion(after);
        rest = behind;
        spec.write(memory, &mut args, &mut text);
    }
    if text.len() > TEXT_MAX {
        let end = (0..=TEXT_MAX).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

/// A conversion such as `%-08llx`.
#[derive(Default)]
struct Conversion<'a> {
    raw: &'a [u8],
    left: bool,
    zeros: bool,
    hash: bool,
    width: usize,
    longs: u32,
    kind: u8,
}

fn conversion(after: &[u8]) -> (Conversion<'_>, &[u8]) {
    let mut spec = Conversion::default();
    let mut at = 0;
    while let Some(&byte) = after.get(at) {
        at += 1;
        match byte {
            b'-' => spec.left = true,
            b'#' => spec.hash = true,
            b'0' if spec.width == 0 => spec.zeros = true,
            b'0'..=b'9' => {
                spec.width = (spec.width * 10 + usize::from(byte - b'0')).min(WIDTH_MAX);
            }
            b'l' => spec.longs += 1,
            b'h' | b'+' | b' ' | b'.' => (),
            kind => {
                spec.kind = kind;
                break;
            }
        }
    }
    spec.raw = &after[..at];
    (spec, &after[at..])
}

impl Conversion<'_> {
    fn write(&self, memory: &Memory, args: &mut impl Iterator<Item = u64>, text: &mut String) {
        if self.kind == b'%' {
            text.push('%');
            return;
        }
        if !matches!(self.kind, b'd' | b'i' | b'u' | b'x' | b'X' | b'p' | b's' | b'c') {
            text.push('%');
            *text += &String::from_utf8_lossy(self.raw);
            return;
        }
        let arg = args.next().unwrap_or(0);
        let wide = self.longs > 0;
        let unsigned = if wide { arg } else { u64::from(arg as u32) };
        let prefix = if self.hash { "0x" } else { "" };
        let body = match self.kind {
            b'd' | b'i' if wide => (arg as i64).to_string(),
            b'd' | b'i' => (arg as i32).to_string(),
            b'u' => unsigned.to_string(),
            b'x' => format!("{prefix}{unsigned:x}"),
            b'X' => format!("{prefix}{unsigned:X}"),
            b'p' => format!("{arg:016x}"),
            b'c' => char::from(arg as u8).to_string(),
            _ => match memory.text(arg, TEXT_MAX) {
                Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                None => "(null)".into(),
            },
        };
        let missing = self.width.saturating_sub(body.chars().count());
        let is_number = !matches!(self.kind, b's' | b'c');
        match (self.left, self.zeros && is_number) {
            (true, _) => {
                *text += &body;
                text.extend(std::iter::repeat_n(' ', missing));
            }
            (false, false) => {
                text.extend(std::iter::repeat_n(' ', missing));
                *text += &body;
            }
            (false, true) => {
                let (sign, digits) = match body.strip_prefix('-') {
                    Some(digits) => ("-", digits),
                    None => ("", body.as_str()),
                };
                *text += sign;
                text.extend(std::iter::repeat_n('0', missing));
                *text += digits;
            }
        }
    }
}

/// Returns bytes as hexadecimal digits, as logs show them.
pub(crate) fn hex_digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::address;

    #[test]
    fn conversions() {
        let mut memory = Memory::default();
        let region = memory.add(".rodata", b"qmap\0".to_vec(), false);
        let name = address(region, 0);
        let minus = -5_i64 as u64;
        let table: &[(&str, &[u64], &str)] = &[
            ("plain", &[], "plain"),
            ("%d %d", &[minus, 7], "-5 7"),
            ("%u %lu", &[minus, minus], "4294967291 18446744073709551611"),
            ("%lld|%llu|%llx", &[minus, 9, 255], "-5|9|ff"),
            ("%x %X %#x", &[255, 255, 255], "ff FF 0xff"),
            ("%5d|%-5d|%05d|%05d", &[7, 7, 7, minus], "    7|7    |00007|-0005"),
            ("%s[%c]", &[name, 65], "qmap[A]"),
            ("%6s|%-6s|", &[name, name], "  qmap|qmap  |"),
            ("%s", &[0], "(null)"),
            ("100%%", &[], "100%"),
            ("%d", &[], "0"),
            ("%q %", &[], "%q %"),
            ("%016llx", &[1], "0000000000000001"),
        ];
        for (text, args, expected) in table {
            assert_eq!(format(&memory, text.as_bytes(), args), *expected, "{text}");
        }
    }

    #[test]
    fn texts_are_cut_and_wide_fields_bounded() {
        let memory = Memory::default();
        let long = format(&memory, &[b'x'; 5000], &[]);
        assert_eq!(long.len(), TEXT_MAX);
        assert_eq!(format(&memory, b"%99999999999d", &[1]).len(), WIDTH_MAX);
    }
}
