//! The one place where text is kept from commanding the terminal: names in files, keys, groups,
//! paths and arguments can hold any character, and all of it that is printed goes through here.

/// Whether `c` may go to a terminal as it is.
fn is_harmless(c: char) -> bool {
    matches!(c, '\n' | '\t') || !c.is_control()
}

/// Whether all of `bytes` may: nothing of it is, or begins, a control character. C1 characters
/// (U+0080 to U+009F, some terminals' short form of an escape and `[`) are 0xC2 and another byte in
/// UTF-8.
fn all_harmless(bytes: &[u8]) -> bool {
    let good = |&byte: &u8| matches!(byte, b'\n' | b'\t' | 0x20..=0x7e | 0x80..=0xc1 | 0xc3..);
    bytes.iter().all(good)
}

fn spelled(text: &str, is_own: impl Fn(&str) -> usize) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let own = if is_harmless(c) { 0 } else { is_own(rest) };
        if own > 0 {
            safe.push_str(&rest[..own]);
            rest = &rest[own..];
            continue;
        }
        if is_harmless(c) {
            safe.push(c);
        } else {
            safe.extend(c.escape_default());
        }
        rest = &rest[c.len_utf8()..];
    }
    safe
}

/// `text` with its control characters spelled out, as `\u{1b}`; lines and tabs stay.
pub fn harmless(text: &str) -> String {
    if all_harmless(text.as_bytes()) { text.into() } else { spelled(text, |_| 0) }
}

/// The same of bytes; what is no UTF-8 is replaced. None: they are harmless as they are.
pub fn harmless_bytes(bytes: &[u8]) -> Option<String> {
    (!all_harmless(bytes)).then(|| spelled(&String::from_utf8_lossy(bytes), |_| 0))
}

/// A name within a line: with its control characters and what turns the direction of text spelled
/// out, line breaks too.
pub fn name(text: &str) -> String {
    let moves = |char: char| {
        char.is_control()
            || matches!(char, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}')
    };
    let spell = |char: char| match moves(char) {
        true => char.escape_unicode().to_string(),
        false => char.to_string(),
    };
    text.chars().map(spell).collect()
}

/// A word of a message is shown in full up to so many characters: names of files may have 4,095.
const WORD_MOST: usize = 4096;

/// Of a longer one so many at its beginning, and as many at its end.
const WORD_SHOWN: usize = 60;

/// A line of a message is shown in full up to so many characters.
const LINE_MOST: usize = 8192;

/// A message of bounded length: names of tasks in files may be as long as anybody likes. Of what is
/// too long the beginning and the end are shown.
pub fn bounded(message: &str) -> String {
    if message.len() <= WORD_MOST {
        return message.into();
    }
    let word = |word: &str| cut(word, WORD_MOST, WORD_SHOWN);
    let line = |line: &str| {
        let words: Vec<String> = line.split(' ').map(word).collect();
        cut(&words.join(" "), LINE_MOST, LINE_MOST / 4)
    };
    let lines: Vec<String> = message.split('\n').map(line).collect();
    lines.join("\n")
}

/// Of `text`, if it has more than `most` characters, `shown` at its beginning and at its end.
fn cut(text: &str, most: usize, shown: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.into();
    }
    let begin: String = text.chars().take(shown).collect();
    let end: String = text.chars().skip(count - shown).collect();
    format!("{begin}...({} more)...{end}", count - 2 * shown)
}

/// `text`, which this program has coloured, with its control characters spelled out: sequences that
/// set colours and weight (`ESC [ numbers m`) stay.
pub fn harmless_styled(text: &str) -> String {
    spelled(text, |rest| {
        let Some(numbers) = rest.strip_prefix("\u{1b}[") else { return 0 };
        let end = numbers.find(|c: char| !matches!(c, '0'..='9' | ';')).unwrap_or(numbers.len());
        if numbers[end..].starts_with('m') { 2 + end + 1 } else { 0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(harmless("a\tb\nc é 😀"), "a\tb\nc é 😀");
        assert_eq!(harmless("\u{1b}[31mred\r\u{7f}"), "\\u{1b}[31mred\\r\\u{7f}");
        assert_eq!(harmless("\u{9b}31m \u{a0}"), "\\u{9b}31m \u{a0}");
        assert_eq!(harmless_bytes("plain, ü".as_bytes()), None);
        assert_eq!(harmless_bytes(b"\x07\xff").as_deref(), Some("\\u{7}\u{fffd}"));
    }

    #[test]
    fn messages_are_of_bounded_length() {
        let short = format!("no task {} here\n\n --> {}", "x".repeat(300), "/y".repeat(2000));
        assert_eq!(bounded(&short), short, "a path of 4,000 letters is whole");
        let long = bounded(&format!("no task {} here\nbut ä", "ü".repeat(100_000)));
        assert!(long.starts_with("no task üü") && long.ends_with("üü here\nbut ä"), "{long}");
        assert!(long.contains("...(99880 more)...") && long.len() < 400, "{long}");
        let words = bounded(&"word ".repeat(100_000));
        assert!(words.starts_with("word word") && words.len() < 5_000, "{}", words.len());
    }

    #[test]
    fn of_styled_text_only_colours_stay() {
        assert_eq!(harmless_styled("\u{1b}[1;32mx\u{1b}[0m"), "\u{1b}[1;32mx\u{1b}[0m");
        assert_eq!(harmless_styled("\u{1b}[2J\u{1b}]0;t\u{7}"), "\\u{1b}[2J\\u{1b}]0;t\\u{7}");
        assert_eq!(harmless_styled("\u{1b}["), "\\u{1b}[");
    }
}
