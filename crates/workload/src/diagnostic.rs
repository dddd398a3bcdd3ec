//! Errors in files, with their positions: [`Diagnostic`].
//!
//! It prints in the format that compilers have made familiar:
//!
//! ```text
//! error: unknown key `rum`
//!   --> video.json:7:9 (tasks.video.phases.decode.rum)
//!    |
//!  7 |         "rum": 2000,
//!    |         ^^^^^
//!    = help: did you mean `run`?
//! ```

use std::fmt;

/// Range of a file, in bytes from its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// An error in a workload or in an accompanying file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    report: Box<Report>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Report {
    file: String,
    path: String,
    message: String,
    help: Option<String>,
    excerpt: Option<Excerpt>,
}

/// Line of the file that a diagnostic points to.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Excerpt {
    line: usize,
    column: usize,
    /// The line, or the part of a very long one around the position.
    text: String,
    /// Number of characters of `text` before the position, and number of marked characters.
    indent: usize,
    width: usize,
}

/// Maximum number of characters shown of a longer line (programs write files of one line).
const EXCERPT_CHARS: usize = 100;
/// Number of characters shown before the position in a line that is cut.
const EXCERPT_BEFORE: usize = 40;

impl Diagnostic {
    /// Creates a diagnostic without a file, for example for a workload that was made by a program.
    /// `file` names it, `path` is the position in it.
    pub fn without_source(file: &str, path: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            report: Box::new(Report {
                file: file.into(),
                path: path.into(),
                message: message.into(),
                help: None,
                excerpt: None,
            }),
        }
    }

    /// Returns the same diagnostic with another message.
    #[must_use]
    pub(crate) fn with_message(mut self, message: impl Into<String>) -> Diagnostic {
        self.report.message = message.into();
        self
    }

    /// Adds a hint at how to correct the error.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.report.help = Some(help.into());
        self
    }

    /// Adds `help`, if there is any.
    #[must_use]
    pub(crate) fn with_help_if(mut self, help: Option<String>) -> Diagnostic {
        self.report.help = help.or(self.report.help.take());
        self
    }

    /// Adds `help`, unless there is a hint already.
    #[must_use]
    pub(crate) fn with_default_help(mut self, help: &str) -> Diagnostic {
        self.report.help.get_or_insert_with(|| help.into());
        self
    }

    /// Returns the file's name as the caller gave it.
    pub fn file(&self) -> &str {
        &self.report.file
    }

    /// Returns the line, from 1, or 0 if there is no file.
    pub fn line(&self) -> usize {
        self.report.excerpt.as_ref().map_or(0, |excerpt| excerpt.line)
    }

    /// Returns the column in characters, from 1, or 0 if there is no file.
    pub fn column(&self) -> usize {
        self.report.excerpt.as_ref().map_or(0, |excerpt| excerpt.column)
    }

    /// Returns the position in terms of the file's keys, for example
    /// `tasks.video.phases.decode.run0`. Empty if the file could not be read that far.
    pub fn path(&self) -> &str {
        &self.report.path
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.report.message
    }

    /// Returns the hint at how to correct the error, if there is one.
    pub fn help(&self) -> Option<&str> {
        self.report.help.as_deref()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { file, path, message, help, excerpt } = &*self.report;
        write!(f, "error: {message}")?;
        let margin = excerpt.as_ref().map_or(1, |excerpt| digits(excerpt.line).max(2));
        write!(f, "\n{:margin$}--> {file}", "")?;
        if let Some(Excerpt { line, column, .. }) = excerpt {
            write!(f, ":{line}:{column}")?;
        }
        if !path.is_empty() {
            write!(f, " ({path})")?;
        }
        if let Some(Excerpt { line, text, indent, width, .. }) = excerpt {
            write!(f, "\n{:margin$} |\n{line:margin$} | {text}", "")?;
            write!(f, "\n{:margin$} | {:indent$}{:^<width$}", "", "", "")?;
        }
        if let Some(help) = help {
            write!(f, "\n{:margin$} = help: {help}", "")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

fn digits(number: usize) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Name and text of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// Returns an error at `span`, which is `path` in terms of the file's keys.
    pub fn error(&self, span: Span, path: String, message: impl Into<String>) -> Diagnostic {
        let mut diagnostic = Diagnostic::without_source(self.name, &path, message);
        diagnostic.report.excerpt = Some(self.excerpt(span));
        diagnostic
    }

    fn excerpt(&self, span: Span) -> Excerpt {
        let start = self.boundary(span.start as usize);
        let end = self.boundary(span.end as usize).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let before = self.text[line_start..start].chars().count();
        let marked = self.text[start..end.min(line_end)].chars().count();
        let skipped =
            if before + marked > EXCERPT_CHARS { before.saturating_sub(EXCERPT_BEFORE) } else { 0 };
        // Characters that would break the layout are shown as spaces.
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let mut text: String = self.text[line_start..line_end]
            .chars()
            .skip(skipped)
            .take(EXCERPT_CHARS)
            .map(shown)
            .collect();
        text.truncate(text.trim_end().len());
        Excerpt {
            line: self.text[..line_start].matches('\n').count() + 1,
            column: before + 1,
            text,
            indent: before - skipped,
            width: marked.clamp(1, EXCERPT_CHARS - (before - skipped).min(EXCERPT_CHARS - 1)),
        }
    }

    /// Returns `at`, or the next position after it where a character begins.
    fn boundary(&self, at: usize) -> usize {
        (at..self.text.len()).find(|&at| self.text.is_char_boundary(at)).unwrap_or(self.text.len())
    }
}

/// Returns the words of `known` that a misspelt `word` may stand for, the closest first, at most
/// three: about a quarter of the letters differ, or one begins with the other. Case and punctuation
/// do not count.
pub fn close_names<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    /// Longer words are not treated as misspellings.
    const LONGEST: usize = 64;
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', '.', ' ', '(', ')'], "");
    let wanted = plain(word);
    let length = wanted.chars().count();
    if length > LONGEST {
        return Vec::new();
    }
    let close = |other: &'a str| {
        let candidate = plain(other);
        let candidate_length = candidate.chars().count();
        let is_part =
            |whole: &str, part: &str, length: usize| length >= 2 && whole.starts_with(part);
        let far = distance(&wanted, &candidate);
        let near = far <= 1 + length / 4
            || is_part(&candidate, &wanted, length)
            || is_part(&wanted, &candidate, candidate_length);
        (near && far < length.max(candidate_length)).then_some((far, other))
    };
    let known = known.into_iter().filter(|other| other.chars().count() <= LONGEST);
    let mut found: Vec<(usize, &str)> = known.filter_map(close).collect();
    found.sort_by_key(|&(far, _)| far);
    found.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Returns "did you mean ...?" if a known word is close to `word`.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    close_names(word, known).first().map(|known| format!("did you mean `{known}`?"))
}

/// Returns the Levenshtein distance: the number of insertions, deletions and replacements that turn
/// `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    #[test]
    fn prints_like_a_compiler() {
        let source = Source { name: "a.json", text: "{\n\t\"rum\": 5\n}" };
        let error = source
            .error(span(3, 8), "tasks.a.rum".into(), "unknown key `rum`")
            .with_help("did you mean `run`?");
        assert_eq!((error.line(), error.column()), (2, 2));
        let expected = [
            "error: unknown key `rum`",
            "  --> a.json:2:2 (tasks.a.rum)",
            "   |",
            " 2 |  \"rum\": 5",
            "   |  ^^^^^",
            "   = help: did you mean `run`?",
        ];
        assert_eq!(error.to_string(), expected.join("\n"));
    }

    #[test]
    fn a_very_long_line_is_shown_in_part() {
        let text = format!("{}X{}", "é".repeat(500), "b".repeat(500));
        let source = Source { name: "f", text: &text };
        let error = source.error(span(1000, 1001), String::new(), "no");
        assert_eq!(error.column(), 501);
        let shown = error.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[3].chars().count() < 120);
        let at = lines[4].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[3].chars().nth(at), Some('X'));
    }

    #[test]
    fn spots_past_the_end_and_inside_characters_do_no_harm() {
        let source = Source { name: "f", text: "aé\nü" };
        for start in 0..12 {
            for end in 0..12 {
                let _ = source.error(span(start, end), String::new(), "x").to_string();
            }
        }
    }

    #[test]
    fn misspellings_are_recognised() {
        let keys = ["run", "runtime", "priority", "SCHED_FIFO"];
        let close = |word| close_names(word, keys);
        assert_eq!(close("prioritty"), ["priority"]);
        assert_eq!(close("rum"), ["run"]);
        assert_eq!(close("sched_fifo"), ["SCHED_FIFO"]);
        assert_eq!(close("zebra"), [""; 0]);
        assert_eq!(close(&"run".repeat(100)), [""; 0]);
    }

    #[test]
    fn names_close_to_what_was_written_are_found_the_closest_first() {
        let names = ["round_robin", "o_n", "o_1", "cfs", "bfs"];
        let close = |word| close_names(word, names);
        assert_eq!(close("round-robbin"), ["round_robin"]);
        assert_eq!(close("round"), ["round_robin"]);
        assert_eq!(close("O(1)"), ["o_1", "o_n"]);
        assert_eq!(close("cfs2"), ["cfs", "bfs"]);
        assert_eq!(close("eevdf"), [""; 0]);
    }
}
