//! Rust source, split into code, comments and literals.

/// Kind of a character of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Code outside comments and literals.
    Code,
    /// A comment, including documentation.
    Comment,
    /// A text or character literal, including its quotes.
    Literal,
}

/// Returns the kind of each character of `text`.
pub fn parts(text: &str) -> Vec<Part> {
    let chars: Vec<char> = text.chars().collect();
    let mut parts = vec![Part::Code; chars.len()];
    let mut at = 0;
    while at < chars.len() {
        let (part, end) = token(&chars, at);
        parts[at..end].fill(part);
        at = end;
    }
    parts
}

/// Returns `text` with a blank for every character that is of none of the kinds `wanted`. Lines
/// keep their numbers.
pub fn only(text: &str, wanted: &[Part]) -> String {
    let parts = parts(text);
    text.chars()
        .zip(parts)
        .map(|(c, part)| if c == '\n' || wanted.contains(&part) { c } else { ' ' })
        .collect()
}

/// Returns the kind of the token that begins at `at`, and the place at which it ends.
fn token(chars: &[char], at: usize) -> (Part, usize) {
    let here = |offset: usize| chars.get(at + offset).copied().unwrap_or('\0');
    match here(0) {
        '/' if here(1) == '/' => (Part::Comment, find(chars, at, '\n')),
        '/' if here(1) == '*' => (Part::Comment, end_of_block_comment(chars, at)),
        '"' => (Part::Literal, end_of_text(chars, at + 1)),
        '\'' => match end_of_char(chars, at) {
            Some(end) => (Part::Literal, end),
            None => (Part::Code, at + 1),
        },
        c if c.is_alphabetic() || c == '_' => {
            let end = (at..chars.len())
                .find(|&i| !(chars[i].is_alphanumeric() || chars[i] == '_'))
                .unwrap_or(chars.len());
            let word: String = chars[at..end].iter().collect();
            if ["r", "br", "cr"].contains(&word.as_str())
                && let Some(end) = end_of_raw_text(chars, end)
            {
                return (Part::Literal, end);
            }
            (Part::Code, end)
        }
        _ => (Part::Code, at + 1),
    }
}

/// Returns the place of the next `wanted`, or the end.
fn find(chars: &[char], from: usize, wanted: char) -> usize {
    (from..chars.len()).find(|&i| chars[i] == wanted).unwrap_or(chars.len())
}

/// Returns the end of the block comment that begins at `at`; block comments nest.
fn end_of_block_comment(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut i = at;
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => (depth, i) = (depth + 1, i + 2),
            ('*', '/') => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

/// Returns the end of a text literal whose opening quote is before `from`.
fn end_of_text(chars: &[char], from: usize) -> usize {
    let mut i = from;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

/// Returns the end of a character literal at `at`; `None`: it is a lifetime or a label.
fn end_of_char(chars: &[char], at: usize) -> Option<usize> {
    match (chars.get(at + 1)?, chars.get(at + 2)?) {
        ('\\', _) => Some((find(chars, at + 3, '\'') + 1).min(chars.len())),
        (_, '\'') => Some(at + 3),
        _ => None,
    }
}

/// Returns the end of a raw text literal; `None`: none follows the prefix that ends at `at`.
fn end_of_raw_text(chars: &[char], at: usize) -> Option<usize> {
    let hashes = (at..chars.len()).take_while(|&i| chars[i] == '#').count();
    if chars.get(at + hashes) != Some(&'"') {
        return None;
    }
    let mut i = at + hashes + 1;
    while i < chars.len() {
        let closes = chars[i] == '"' && (1..=hashes).all(|h| chars.get(i + h) == Some(&'#'));
        if closes {
            return Some(i + hashes + 1);
        }
        i += 1;
    }
    Some(chars.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_told_from_code() {
        let text = "let a = \"// no\"; // yes\nlet b = 'x'; /* a /* b */ c */ let c: &'a str;";
        assert_eq!(
            only(text, &[Part::Code]),
            "let a =        ;       \nlet b =    ;                   let c: &'a str;"
        );
        assert_eq!(only(text, &[Part::Comment]).trim_start().lines().next(), Some("// yes"));
    }

    #[test]
    fn raw_texts_end_where_their_hashes_do() {
        let text = "f(r#\"a \"b\" // c\"#); r2(b\"\\\"\"); g('\\'', '\"')";
        let code = only(text, &[Part::Code]);
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>(),
            ["f(", ");", "r2(b", ");", "g(", ",", ")"]
        );
    }
}
