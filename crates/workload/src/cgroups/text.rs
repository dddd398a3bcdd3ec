//! Text of settings, kept so that later errors can show the position.

use crate::diagnostic::{Diagnostic, Source, Span};
use std::sync::Arc;

/// A file, or an option of the command line.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    kept: Arc<Kept>,
}

#[derive(Debug)]
struct Kept {
    name: Arc<str>,
    text: Box<str>,
    /// Beginnings of lines, except the first.
    line_starts: Vec<u32>,
}

impl Text {
    /// Keeps a file.
    ///
    /// # Errors
    /// If it is too large for spans.
    pub fn new(name: &str, text: &str) -> Result<Text, Diagnostic> {
        if u32::try_from(text.len()).is_err() {
            let source = Source { name, text };
            return Err(source.error(
                Span::default(),
                String::new(),
                "the file is larger than 4 GiB",
            ));
        }
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        Ok(Text {
            kept: Arc::new(Kept {
                name: name.into(),
                line_starts: ends.map(|(at, _)| at as u32 + 1).collect(),
                text: text.into(),
            }),
        })
    }

    /// Returns the source for error messages.
    pub fn source(&self) -> Source<'_> {
        Source { name: &self.kept.name, text: &self.kept.text }
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &Arc<str> {
        &self.kept.name
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.kept.text
    }

    /// Returns the line in which `span` begins, from 1.
    pub fn line(&self, span: Span) -> u32 {
        self.kept.line_starts.partition_point(|&start| start <= span.start) as u32 + 1
    }

    /// Returns the position of `part`, a slice of [`text`](Text::text).
    pub fn span_of(&self, part: &str) -> Span {
        let start =
            (part.as_ptr() as usize).saturating_sub(self.kept.text.as_ptr() as usize) as u32;
        Span { start, end: start + part.len() as u32 }
    }
}

/// An error in a value, and how to correct it.
#[derive(Debug)]
pub(crate) struct Fault {
    pub message: String,
    pub help: Option<String>,
}

impl Fault {
    pub fn new(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), help: None }
    }

    /// Adds a hint at how to correct the error.
    pub fn with_help(mut self, help: impl Into<String>) -> Fault {
        self.help = Some(help.into());
        self
    }

    /// Returns the error at `span`, which belongs to the group `path`.
    pub fn at(self, text: &Text, span: Span, path: &str) -> Diagnostic {
        text.source().error(span, path.into(), self.message).with_help_if(self.help)
    }
}

/// Returns a value as shown in error messages: shortened if it is very long, and without characters
/// that would disturb a terminal.
pub(crate) fn shown(value: &str) -> String {
    const LONGEST: usize = 40;
    let mut text = String::new();
    for (place, c) in value.chars().enumerate() {
        if place == LONGEST {
            text.push_str("...");
            break;
        }
        if c.is_control() {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_harmlessly() {
        assert_eq!(shown("a'\"é"), "a'\"é");
        assert_eq!(shown("a\u{1b}[2J\n"), "a\\u{1b}[2J\\n");
        assert_eq!(shown(&"é".repeat(41)), format!("{}...", "é".repeat(40)));
    }

    #[test]
    fn lines_are_counted_from_one() {
        let text = Text::new("f", "a\nbc\n\nd").unwrap();
        let lines: Vec<u32> = (0..8).map(|start| text.line(Span { start, end: start })).collect();
        assert_eq!(lines, [1, 1, 2, 2, 2, 3, 4, 4]);
        assert_eq!(text.span_of(&text.text()[2..4]), Span { start: 2, end: 4 });
    }
}
