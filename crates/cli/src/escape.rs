//! The one place that keeps text from controlling the terminal: names in files, keys, groups, paths
//! and arguments can contain any character, and all of them pass through here before they are
//! printed.

/// Returns whether `c` may be written to a terminal unchanged.
fn is_harmless(c: char) -> bool {
    matches!(c, '\n' | '\t') || !c.is_control()
}

/// Returns whether all of `bytes` may be written unchanged: none of them is, or begins, a control
/// character. C1 characters (U+0080 to U+009F, which some terminals read as a short form of an
/// escape and `[`) are 0xC2 and another byte in UTF-8.
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

/// Returns `text` with its control characters escaped, such as `\u{1b}`; line breaks and tabs stay.
pub fn harmless(text: &str) -> String {
    if all_harmless(text.as_bytes()) { text.into() } else { spelled(text, |_| 0) }
}

/// Like [`harmless`] for bytes, with invalid UTF-8 replaced. `None`: they are harmless unchanged.
pub fn harmless_bytes(bytes: &[u8]) -> Option<String> {
    (!all_harmless(bytes)).then(|| spelled(&String::from_utf8_lossy(bytes), |_| 0))
}

/// Returns a name for use within a line, with control characters, line breaks and changes of text
/// direction escaped.
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

/// Maximum number of characters of a word that is shown in full: file names may have 4,095.
const WORD_MOST: usize = 4096;

/// Number of characters shown at each end of a longer word.
const WORD_SHOWN: usize = 60;

/// Maximum number of characters of a line that is shown in full.
const LINE_MOST: usize = 8192;

/// Returns a message of bounded length, because names of tasks in files have any length. Only the
/// beginning and the end of a long part are shown.
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

/// Shortens `text`, if it has more than `most` characters, to the first and last `shown`.
fn cut(text: &str, most: usize, shown: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.into();
    }
    let begin: String = text.chars().take(shown).collect();
    let end: String = text.chars().skip(count - shown).collect();
    format!("{begin}...({} more)...{end}", count - 2 * shown)
}

/// Returns `text`, which this program has coloured, with its control characters escaped, except
/// sequences that set colours and weight (`ESC [ numbers m`).
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
