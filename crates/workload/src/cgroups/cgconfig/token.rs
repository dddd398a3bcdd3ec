//! Tokens of `cgconfig.conf`.
//!
//! Blanks, tabs and newlines separate tokens. A comment is a line whose first non-blank character
//! is `#`, or whose very first character is `*`.

use super::super::text::{Fault, Text, shown};
use crate::diagnostic::{Diagnostic, Span};

/// Reserved words. In quotes they are names.
pub const KEYWORDS: [&str; 9] =
    ["mount", "task", "admin", "perm", "group", "namespace", "template", "systemd", "default"];

/// Kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One of [`KEYWORDS`].
    Keyword,
    /// A name, number or path, with or without quotes.
    Id,
    /// `{`, `}`, `=` or `;`.
    Sign(u8),
    /// The end of the file.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub kind: Kind,
    /// Text without quotes.
    pub text: &'a str,
    pub span: Span,
}

/// Splits the text into tokens.
#[derive(Debug)]
pub struct Tokens<'a> {
    text: &'a Text,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a Text) -> Tokens<'a> {
        let at = if text.text().starts_with('\u{feff}') { 3 } else { 0 };
        Tokens { text, at }
    }

    /// Returns the next token. At the end, repeatedly returns [`Kind::End`].
    pub fn next(&mut self) -> Result<Token<'a>, Diagnostic> {
        self.skip_space_and_comments();
        let all = self.text.text();
        let start = self.at;
        let kind = match all.as_bytes().get(start) {
            None => Kind::End,
            Some(&sign @ (b'{' | b'}' | b'=' | b';')) => {
                self.at += 1;
                Kind::Sign(sign)
            }
            Some(b'"') => return self.string(),
            Some(&byte) if in_id(byte) => {
                let length = all[start..].bytes().position(|byte| !in_id(byte));
                self.at = length.map_or(all.len(), |length| start + length);
                if KEYWORDS.contains(&&all[start..self.at]) { Kind::Keyword } else { Kind::Id }
            }
            Some(_) => return Err(self.stray()),
        };
        Ok(Token { kind, text: &all[start..self.at], span: self.span(start, self.at) })
    }

    fn skip_space_and_comments(&mut self) {
        let bytes = self.text.text().as_bytes();
        loop {
            while bytes
                .get(self.at)
                .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
            {
                self.at += 1;
            }
            match bytes.get(self.at) {
                Some(b'#') if self.line_is_blank_so_far() => {}
                Some(b'*') if self.at == 0 || bytes[self.at - 1] == b'\n' => {}
                _ => return,
            }
            let length = bytes[self.at..].iter().position(|&byte| byte == b'\n');
            self.at = length.map_or(bytes.len(), |length| self.at + length);
        }
    }

    fn line_is_blank_so_far(&self) -> bool {
        let before = &self.text.text()[..self.at];
        let line = before.trim_end_matches([' ', '\t', '\r', '\u{feff}']);
        line.is_empty() || line.ends_with('\n')
    }

    fn string(&mut self) -> Result<Token<'a>, Diagnostic> {
        let all = self.text.text();
        let start = self.at;
        let inside = &all[start + 1..];
        let Some(length) = inside.find('"') else {
            let fault = Fault::new("this string is not closed").with_help("close it with `\"`");
            return Err(fault.at(self.text, self.span(start, start + 1), ""));
        };
        self.at = start + 1 + length + 1;
        Ok(Token { kind: Kind::Id, text: &inside[..length], span: self.span(start, self.at) })
    }

    /// Returns the error that the character at this position is not allowed outside quotes.
    fn stray(&self) -> Diagnostic {
        let found = self.text.text()[self.at..].chars().next().unwrap_or(' ');
        let fault = match found {
            '#' => Fault::new("a comment after other text").with_help("put it on a separate line"),
            _ => Fault::new(format!("`{}` is not allowed here", shown(found.encode_utf8(&mut [0; 4]))))
                .with_help(
                    "put names with characters other than letters, digits and `_-/.,%@\\` in double quotes",
                ),
        };
        fault.at(self.text, self.span(self.at, self.at + found.len_utf8()), "")
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }
}

fn in_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-/.,%@\\".contains(&byte)
}
