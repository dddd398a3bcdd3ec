//! A reader for the JSON of workload files: laxer than the standard, and faithful to the text of
//! the file.
//!
//! Comments (`/* */` and `//`) and trailing commas are allowed. An object is a list of members in
//! the order written, including repeated keys, because `run`, `run` in a phase are two events. Keys
//! that need no value (`"suspend",`) may have none. Every value knows its position in the file.
//!
//! Reading takes time in proportion to the length of the text, and nesting is limited, so no input
//! can hang the reader or overflow its stack.

use crate::diagnostic::{Diagnostic, Source, Span};

/// A value and its position.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub span: Span,
    pub kind: Kind,
}

/// Kind of a value, with its contents.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// A number without fraction and exponent that fits.
    Integer(i64),
    /// Any other number. Its text is at the value's span.
    Number,
    String(Box<str>),
    Array(Vec<Value>),
    Object(Vec<Member>),
}

/// A key of an object with its value.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub key: Box<str>,
    pub key_span: Span,
    pub value: Value,
}

/// Maximum depth of nested objects and arrays.
const DEPTH_MAX: u32 = 64;

/// Reads the single value of `source`.
pub(crate) fn parse(source: Source<'_>) -> Result<Value, Diagnostic> {
    if u32::try_from(source.text.len()).is_err() {
        return Err(source.error(Span::default(), String::new(), "the file is larger than 4 GiB"));
    }
    let mut parser = Parser {
        source,
        bytes: source.text.as_bytes(),
        at: if source.text.starts_with('\u{feff}') { 3 } else { 0 },
    };
    parser.space()?;
    if parser.peek().is_none() {
        return Err(parser.error_here("the file is empty"));
    }
    let value = parser.value(0)?;
    parser.space()?;
    if parser.peek().is_some() {
        return Err(parser.error_here("text after the end of the JSON value"));
    }
    Ok(value)
}

struct Parser<'a> {
    source: Source<'a>,
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn span_from(&self, start: usize) -> Span {
        Span { start: start as u32, end: self.at as u32 }
    }

    fn error(&self, start: usize, message: impl Into<String>) -> Diagnostic {
        self.source.error(self.span_from(start), String::new(), message)
    }

    fn error_here(&self, message: impl Into<String>) -> Diagnostic {
        self.error(self.at, message)
    }

    /// Describes the text at the current position, for messages.
    fn found(&self) -> String {
        match self.source.text[self.at..].chars().next() {
            None => "the end of the file".into(),
            Some(c) if c.is_control() => format!("`{}`", c.escape_default()),
            Some(c) => format!("`{c}`"),
        }
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), Diagnostic> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Result<(), Diagnostic> {
        let start = self.at;
        let rest = &self.source.text[start..];
        if rest.starts_with("//") {
            self.at += rest.find('\n').unwrap_or(rest.len());
            Ok(())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            match comment.find("*/") {
                Some(length) => {
                    self.at += 2 + length + 2;
                    Ok(())
                }
                None => {
                    self.at += 2;
                    Err(self
                        .error(start, "this comment is not closed")
                        .with_help("close it with `*/`"))
                }
            }
        } else {
            Err(self.error_here("a lone `/`").with_help("comments begin with `//` or `/*`"))
        }
    }

    fn value(&mut self, depth: u32) -> Result<Value, Diagnostic> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word()?,
            _ => return Err(self.error_here(format!("expected a value, found {}", self.found()))),
        };
        Ok(Value { span: self.span_from(start), kind })
    }

    fn enter(&mut self, depth: u32) -> Result<(), Diagnostic> {
        if depth >= DEPTH_MAX {
            return Err(self.error_here(format!("nested more than {DEPTH_MAX} deep")));
        }
        self.at += 1;
        self.space()
    }

    fn object(&mut self, depth: u32) -> Result<Kind, Diagnostic> {
        let open = self.at;
        self.enter(depth)?;
        let mut members = Vec::new();
        while self.peek() != Some(b'}') {
            let start = self.at;
            if self.peek() != Some(b'"') {
                let mut error =
                    self.error_here(format!("expected a key or `}}`, found {}", self.found()));
                if self.peek().is_none() {
                    error = self.unclosed(open, '{');
                } else if self.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
                    error = error.with_help("write keys in double quotes");
                }
                return Err(error);
            }
            let key = self.string()?;
            let key_span = self.span_from(start);
            self.space()?;
            if matches!(self.peek(), Some(b',' | b'}')) && needs_no_value(&key) {
                let value = Value { span: key_span, kind: Kind::String("".into()) };
                members.push(Member { key, key_span, value });
                self.separator(b'}', open)?;
                continue;
            }
            if self.peek() != Some(b':') {
                return Err(self.error_here(format!(
                    "expected `:` after the key `{key}`, found {}",
                    self.found()
                )));
            }
            self.at += 1;
            self.space()?;
            let value = self.value(depth + 1)?;
            members.push(Member { key, key_span, value });
            self.separator(b'}', open)?;
        }
        self.at += 1;
        Ok(Kind::Object(members))
    }

    fn array(&mut self, depth: u32) -> Result<Kind, Diagnostic> {
        let open = self.at;
        self.enter(depth)?;
        let mut items = Vec::new();
        while self.peek() != Some(b']') {
            if self.peek().is_none() {
                return Err(self.unclosed(open, '['));
            }
            items.push(self.value(depth + 1)?);
            self.separator(b']', open)?;
        }
        self.at += 1;
        Ok(Kind::Array(items))
    }

    /// Reads the separator after a member or item: a comma, or `close` ahead.
    fn separator(&mut self, close: u8, open: usize) -> Result<(), Diagnostic> {
        let end = self.at;
        self.space()?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.space()
            }
            Some(byte) if byte == close => Ok(()),
            None => Err(self.unclosed(open, if close == b'}' { '{' } else { '[' })),
            Some(_) => {
                let message =
                    format!("expected `,` or `{}`, found {}", close as char, self.found());
                let missing = matches!(self.peek(), Some(b'"' | b'{' | b'['));
                let error = self.error_here(message);
                self.at = end;
                Err(if missing { error.with_help("a comma is missing before this") } else { error })
            }
        }
    }

    fn unclosed(&self, open: usize, bracket: char) -> Diagnostic {
        let span = Span { start: open as u32, end: open as u32 + 1 };
        self.source.error(
            span,
            String::new(),
            format!("the file ends before this `{bracket}` is closed"),
        )
    }

    fn string(&mut self) -> Result<Box<str>, Diagnostic> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let plain = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | b'\n')) {
                self.at += 1;
            }
            text.push_str(&self.source.text[plain..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text.into());
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.error(start, "this string is not closed")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Diagnostic> {
        let start = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += usize::from(letter.is_some_and(|byte| byte.is_ascii()));
        let plain = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(self.error(start, "unknown escape")),
        };
        Ok(plain)
    }

    /// Reads the rest of a `\u....`, or of two in case of a surrogate pair.
    fn unicode(&mut self, start: usize) -> Result<char, Diagnostic> {
        let first = self.hex(start)?;
        let code = if (0xD800..0xDC00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u")
        {
            self.at += 2;
            let second = self.hex(start)?;
            match second.checked_sub(0xDC00) {
                Some(low) if low < 0x400 => 0x1_0000 + ((first - 0xD800) << 10) + low,
                _ => first,
            }
        } else {
            first
        };
        char::from_u32(code).ok_or_else(|| self.error(start, "this is not a character"))
    }

    fn hex(&mut self, start: usize) -> Result<u32, Diagnostic> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| (byte as char).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.error(start, "`\\u` needs four hexadecimal digits"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<Kind, Diagnostic> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let mut good = self.digits();
        let mut integer = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            integer = false;
            good &= self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            integer = false;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            good &= self.digits();
        }
        let junk = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
        {
            self.at += 1;
        }
        let text = &self.source.text[start..self.at];
        if !good || junk != self.at {
            return Err(self.error(start, format!("`{text}` is not a number")));
        }
        Ok(match text.parse() {
            Ok(value) if integer => Kind::Integer(value),
            _ => Kind::Number,
        })
    }

    /// Skips digits. Returns whether there was at least one.
    fn digits(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at > start
    }

    fn word(&mut self) -> Result<Kind, Diagnostic> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        match &self.source.text[start..self.at] {
            "true" => Ok(Kind::Bool(true)),
            "false" => Ok(Kind::Bool(false)),
            "null" => Ok(Kind::Null),
            other => {
                let error = self.error(start, format!("`{other}` is not a value"));
                Err(match other.to_ascii_lowercase().as_str() {
                    "true" | "false" | "null" => {
                        error.with_help(format!("write `{}`", other.to_ascii_lowercase()))
                    }
                    _ => error.with_help("write strings in double quotes"),
                })
            }
        }
    }
}

/// Whether `key` needs no value, because files in wide use leave it out: `"suspend",` stands for
/// `"suspend": "",`.
fn needs_no_value(key: &str) -> bool {
    ["suspend", "yield"].iter().any(|event| key.starts_with(event))
}

/// Returns `text` as a JSON string, including quotes.
pub(crate) fn quote(text: &str) -> String {
    use std::fmt::Write;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() && u32::from(c) < 0x1_0000 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, Diagnostic> {
        parse(Source { name: "t", text })
    }

    fn message(text: &str) -> String {
        let error = read(text).unwrap_err();
        format!("{}:{} {}", error.line(), error.column(), error.message())
    }

    /// Returns the value in standard JSON, without white space.
    fn plain(value: &Value, text: &str) -> String {
        match &value.kind {
            Kind::Null => "null".into(),
            Kind::Bool(value) => value.to_string(),
            Kind::Integer(value) => value.to_string(),
            Kind::Number => text[value.span.start as usize..value.span.end as usize].into(),
            Kind::String(string) => quote(string),
            Kind::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| plain(item, text)).collect();
                format!("[{}]", items.join(","))
            }
            Kind::Object(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|member| format!("{}:{}", quote(&member.key), plain(&member.value, text)))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }

    #[test]
    fn comments_trailing_commas_and_repeated_keys() {
        let text =
            "/* a */ { // b\n \"run\": 1, \"run\" : 2, /* c */ \"l\":[1,2,],\"o\":{},\n}\n// end";
        let value = read(text).unwrap();
        assert_eq!(plain(&value, text), r#"{"run":1,"run":2,"l":[1,2],"o":{}}"#);
    }

    #[test]
    fn what_needs_no_value_may_have_none() {
        let text = "{\"suspend\", \"run\": 1, \"yield2\" , \"suspend0\"\n}";
        let value = read(text).unwrap();
        assert_eq!(plain(&value, text), r#"{"suspend":"","run":1,"yield2":"","suspend0":""}"#);
    }

    #[test]
    fn all_kinds_of_values() {
        let text = r#"[null,true,false,-0,12,1.5,2e3,9223372036854775808,"a\"\\\/\b\f\n\r\té😀"]"#;
        let value = read(text).unwrap();
        let expected =
            r#"[null,true,false,0,12,1.5,2e3,9223372036854775808,"a\"\\/\u0008\u000c\n\r\té😀"]"#;
        assert_eq!(plain(&value, text), expected);
        let escaped = r#""\u00e9\ud83d\ude00""#;
        assert_eq!(plain(&read(escaped).unwrap(), escaped), "\"é😀\"");
    }

    #[test]
    fn errors_tell_where_and_what() {
        for (text, expected) in [
            ("", "1:1 the file is empty"),
            ("  // nothing", "1:13 the file is empty"),
            ("{\n \"a\": 1\n \"b\": 2}", "3:2 expected `,` or `}`, found `\"`"),
            ("{\"a\" 1}", "1:6 expected `:` after the key `a`, found `1`"),
            ("{\"a\"}", "1:5 expected `:` after the key `a`, found `}`"),
            ("{\"suspend\" 1}", "1:12 expected `:` after the key `suspend`, found `1`"),
            (
                "{\"suspend\"",
                "1:11 expected `:` after the key `suspend`, found the end of the file",
            ),
            ("{a: 1}", "1:2 expected a key or `}`, found `a`"),
            ("{\"a\": [1, 2", "1:7 the file ends before this `[` is closed"),
            ("{\"a\": 1,", "1:1 the file ends before this `{` is closed"),
            ("{\"a\": }", "1:7 expected a value, found `}`"),
            ("{\"a\": TRUE}", "1:7 `TRUE` is not a value"),
            ("[1,,2]", "1:4 expected a value, found `,`"),
            ("{} x", "1:4 text after the end of the JSON value"),
            ("\"abc", "1:1 this string is not closed"),
            ("\"a\nb\"", "1:1 this string is not closed"),
            ("/* x", "1:1 this comment is not closed"),
            ("/ x", "1:1 a lone `/`"),
            ("1.2.3", "1:1 `1.2.3` is not a number"),
            ("12ms", "1:1 `12ms` is not a number"),
            ("-", "1:1 `-` is not a number"),
            (r#""\q""#, "1:2 unknown escape"),
            (r#""\u12g4""#, "1:2 `\\u` needs four hexadecimal digits"),
            (r#""\ud800""#, "1:2 this is not a character"),
            (r#""\ud800\u0041""#, "1:2 this is not a character"),
        ] {
            assert_eq!(message(text), expected, "{text}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&deep(64)).is_ok());
        assert_eq!(message(&deep(65)), "1:65 nested more than 64 deep");
        assert!(read(&"[".repeat(1_000_000)).is_err());
    }
}
