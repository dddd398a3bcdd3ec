//! Phrases of foreign English: in comments, text literals and documents, each with better words.
//!
//! Code is passed over: names in backticks, blocks of code, and names with `_` (names of tests).
//! To retire a phrase, add a line to [`PHRASES`].

use crate::Finding;
use crate::repository::{File, Repository};
use crate::scan::{self, Part};

/// Files that quote phrases.
const EXEMPT: [&str; 3] =
    ["docs/contributing/style.md", "xtask/src/phrases.rs", "xtask/src/words.rs"];

/// A phrase, and what to write instead. Words match whatever their case, `a|b` either of two, a
/// leading `^` only at the beginning of a documentation comment, and `!a` any word but that one.
const PHRASES: [(&str, &str); 71] = [
    // Pronouns.
    ("whom", "the name of the thing: the task, the scheduler, the caller"),
    ("nobody", "no task, no caller, none"),
    ("somebody", "a task, a caller"),
    ("anybody", "any task, any caller"),
    ("everybody", "all tasks, all callers"),
    ("everyone", "all tasks, all callers"),
    ("somebody's", "a task's, a caller's"),
    ("^ who|whom|whose", "the noun that is described"),
    ("he who", "a task that, a person who"),
    ("those of", "the noun again"),
    ("of the caller's", "of the caller"),
    ("does|do no harm", "is harmless"),
    ("of one's own", "of your own, custom"),
    // Telling.
    ("told", "reports, passes, states; the input"),
    ("tells", "reports, states, shows, distinguishes"),
    ("tell of|about", "report, state, show"),
    ("tell apart", "distinguish"),
    ("is|are said", "is reported, is stated"),
    ("foretell|foretells|foretold", "predict"),
    ("gets|get to hear", "receives, is notified"),
    ("hears|hear of", "is notified of"),
    // Quantities.
    ("so many", "the number of"),
    ("so often", "the number of times"),
    ("so much", "the amount of"),
    ("as far as was", "as was"),
    ("so far as", "as far as"),
    ("so long as", "as long as, while"),
    ("^ how many|much|often|long", "Number of, Amount of, Duration of"),
    ("in the middle !of", "the median"),
    ("by and by", "gradually"),
    ("at some times", "at given times"),
    // Archaisms and calques.
    ("anew", "again"),
    ("but for", "except, without"),
    ("for ever", "forever, indefinitely"),
    ("in vain", "without effect"),
    ("whence", "from where; the origin"),
    ("thereof", "of it"),
    ("therein|thereby|therefrom|thereupon", "in it, by it, from it, then"),
    ("lest", "so that ... not"),
    ("to and fro", "back and forth; in both directions"),
    ("what came of", "the result of"),
    ("what comes of", "the result of"),
    ("comes|come to nothing", "has no effect"),
    ("gone|go|goes|going on with", "continued; continues"),
    ("piece by piece", "incrementally"),
    ("is up to", "decides; has reached"),
    ("up to something", "hostile"),
    ("wants|want to be", "must be, should be"),
    ("wishes|wish", "requests"),
    ("stands in", "is in"),
    ("stand in", "are in"),
    ("stands|stand at its top", "begins"),
    ("stands for itself", "is not related to others"),
    ("what there is", "the items that exist"),
    ("it is there", "the invariant that holds: `the scheduler exists`"),
    ("they are there", "the invariant that holds"),
    ("others than", "other than; except"),
    ("nothing of", "none of"),
    ("nothing else than", "only"),
    ("^ the same with", "what the function does"),
    ("^ the same ,", "what the function does: `Like [`f`], ...`"),
    ("what it is to", "the noun that is described"),
    ("what it asks", "the requirements of"),
    ("asks|ask for more", "requests more"),
    ("believes|believe|believed", "assumes"),
    ("it does not matter whom|who", "any"),
    ("owes|owe|owed to", "is due to"),
    // Beginnings of documentation comments.
    ("^ what", "the noun that is described"),
    ("^ that", "Checks that, Returns whether, Asserts that"),
    ("^ so many|much|often", "Number of, Amount of"),
    ("none :", "`None`: in backticks"),
];

/// Finds the phrases.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let phrases: Vec<Phrase> = PHRASES.iter().map(|(text, _)| Phrase::of(text)).collect();
    let mut findings = Vec::new();
    for file in repository.files().filter(|file| !EXEMPT.contains(&file.path.as_str())) {
        let passages = match () {
            () if file.is("rs") => rust(file),
            () if file.is("md") => document(&file.text),
            () if file.is("py") => python(&file.text),
            () => continue,
        };
        for passage in &passages {
            for (phrase, (text, instead)) in phrases.iter().zip(PHRASES) {
                for line in phrase.find(passage) {
                    let shown = text.trim_start_matches("^ ").replace('|', "/");
                    let begins = if phrase.only_at_beginning { "begins with " } else { "" };
                    let message = format!("{begins}\"{shown}\": better: {instead}");
                    findings.push(Finding::new(&file.path, line, message));
                }
            }
        }
    }
    findings.sort();
    findings.dedup_by(|a, b| (&a.path, a.line) == (&b.path, b.line) && a.message == b.message);
    findings
}

/// Text that belongs together: a comment, a literal, a paragraph.
#[derive(Debug, Default, PartialEq, Eq)]
struct Passage {
    /// Whether it is a documentation comment.
    is_documentation: bool,
    /// Words in lower case and single characters of punctuation, with their lines.
    words: Vec<(String, usize)>,
}

impl Passage {
    /// Adds the words of a line. Text between backticks becomes one character, `` ` ``.
    fn add(&mut self, line: &str, number: usize) {
        for (i, text) in line.split('`').enumerate() {
            if i % 2 == 1 {
                self.words.push(("`".to_string(), number));
                continue;
            }
            let mut word = String::new();
            for c in text.chars().chain([' ']) {
                if c.is_alphanumeric() || c == '_' || (c == '\'' && !word.is_empty()) {
                    word.extend(c.to_lowercase());
                    continue;
                }
                if !word.is_empty() {
                    self.words.push((std::mem::take(&mut word), number));
                }
                if !c.is_whitespace() {
                    self.words.push((c.to_string(), number));
                }
            }
        }
    }
}

/// A phrase, ready to be searched.
struct Phrase {
    only_at_beginning: bool,
    words: Vec<Vec<&'static str>>,
}

impl Phrase {
    fn of(text: &'static str) -> Self {
        let words = text.trim_start_matches("^ ");
        Phrase {
            only_at_beginning: text.starts_with('^'),
            words: words.split(' ').map(|word| word.split('|').collect()).collect(),
        }
    }

    /// Lines of `passage` at which the phrase begins.
    fn find(&self, passage: &Passage) -> Vec<usize> {
        if self.only_at_beginning {
            let begins = passage.is_documentation && self.is_at(&passage.words);
            return passage
                .words
                .first()
                .filter(|_| begins)
                .map(|word| word.1)
                .into_iter()
                .collect();
        }
        let places = passage.words.windows(self.words.len());
        places.filter(|words| self.is_at(words)).map(|words| words[0].1).collect()
    }

    fn is_at(&self, words: &[(String, usize)]) -> bool {
        let matches = |(any, word): (&Vec<&str>, &(String, usize))| match any[0].strip_prefix('!') {
            Some(other) => word.0 != other,
            None => any.contains(&word.0.as_str()),
        };
        words.len() >= self.words.len() && self.words.iter().zip(words).all(matches)
    }
}

/// Comments and text literals of a Rust file.
fn rust(file: &File) -> Vec<Passage> {
    let mut passages = comments(&scan::only(&file.text, &[Part::Comment]));
    let mut literal: Option<Passage> = None;
    for (i, line) in scan::only(&file.text, &[Part::Literal]).lines().enumerate() {
        // A literal continues in the next line after a backslash, and a raw one in any case.
        let mut is_inside = literal.is_some();
        let mut rest = line;
        while let Some(at) = quote(rest) {
            let passage = literal.get_or_insert_default();
            if is_inside {
                passage.add(&rest[..at], i + 1);
                passages.extend(literal.take());
            }
            is_inside = !is_inside;
            rest = &rest[at + 1..];
            if is_inside {
                literal.get_or_insert_default();
            }
        }
        if let Some(passage) = literal.as_mut().filter(|_| is_inside) {
            passage.add(rest.trim_end_matches('\\'), i + 1);
        } else {
            literal = None;
        }
    }
    passages.extend(literal);
    passages
}

/// Returns the place of the next double quote in `text` that no backslash precedes.
fn quote(text: &str) -> Option<usize> {
    let is_escaped = |at: usize| {
        let slashes = text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        slashes % 2 == 1
    };
    text.match_indices('"').map(|(at, _)| at).find(|at| !is_escaped(*at))
}

/// Returns the comments in a text that has only comments: lines of one kind that follow each other
/// are one.
fn comments(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = vec![];
    let mut before = "";
    let mut in_code = false;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        let kind = ["///", "//!", "//"].into_iter().find(|kind| line.starts_with(kind));
        let kind = kind.unwrap_or(if line.is_empty() { "" } else { before });
        let content = line.strip_prefix(kind).unwrap_or(line);
        if kind != before {
            in_code = false;
        }
        if content.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !kind.is_empty() && !in_code {
            let is_new = kind != before || content.trim().is_empty();
            if is_new || passages.is_empty() {
                let is_documentation = kind != "//" && kind != before;
                passages.push(Passage { is_documentation, words: vec![] });
            }
            passages.last_mut().expect("one was just added").add(content, i + 1);
        }
        before = kind;
    }
    passages
}

/// Returns the paragraphs of a document, without blocks of code.
fn document(text: &str) -> Vec<Passage> {
    let mut passages = vec![Passage::default()];
    let mut in_code = false;
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if in_code || line.starts_with("    ") && is_after_blank(&passages) {
            continue;
        } else if line.trim().is_empty() {
            passages.push(Passage::default());
        } else {
            passages.last_mut().expect("there is always one").add(line, i + 1);
        }
    }
    passages
}

fn is_after_blank(passages: &[Passage]) -> bool {
    passages.last().is_some_and(|passage| passage.words.is_empty())
}

/// Comments and text literals of a Python file.
fn python(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = vec![];
    let mut open: Option<&str> = None;
    let mut was_comment = false;
    for (i, line) in text.lines().enumerate() {
        let mut rest = line;
        let mut is_comment = false;
        loop {
            if let Some(quotes) = open {
                let passage = passages.last_mut().expect("an open literal has its passage");
                let Some(at) = rest.find(quotes) else {
                    passage.add(rest, i + 1);
                    break;
                };
                passage.add(&rest[..at], i + 1);
                rest = &rest[at + quotes.len()..];
                open = None;
            } else {
                let Some(at) = rest.find(['#', '"', '\'']) else { break };
                let behind = &rest[at..];
                if let Some(comment) = behind.strip_prefix('#') {
                    is_comment = true;
                    if !was_comment {
                        passages.push(Passage::default());
                    }
                    passages.last_mut().expect("a comment has its passage").add(comment, i + 1);
                    break;
                }
                let quotes = ["\"\"\"", "'''", "\"", "'"];
                let quotes = quotes.into_iter().find(|quotes| behind.starts_with(quotes));
                let quotes = quotes.expect("one of them was found");
                let is_documentation = quotes.len() == 3 && line.trim_start().starts_with(quotes);
                passages.push(Passage { is_documentation, words: vec![] });
                rest = &behind[quotes.len()..];
                open = Some(quotes);
            }
        }
        // Only literals in triple quotes continue in the next line.
        open = open.filter(|quotes| quotes.len() == 3);
        was_comment = is_comment;
    }
    passages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let quoted = |f: Finding| (f.line, f.message.split('"').nth(1).unwrap_or("").to_string());
        check(&Repository::of(&[(path, text)])).into_iter().map(quoted).collect()
    }

    fn at(line: usize, phrase: &str) -> (usize, String) {
        (line, phrase.to_string())
    }

    #[test]
    fn phrases_are_found_in_comments_and_literals_and_across_lines() {
        let text = "//! Nobody waits.\n/// A task, so\n/// many of them.\nfn nobody() {}\n\
                    let a = \"for whom\"; // `nobody` `so many`\nlet b = \"he waits for \\\n    ever\";";
        let expected = [at(1, "nobody"), at(2, "so many"), at(5, "whom"), at(6, "for ever")];
        assert_eq!(found("a.rs", text), expected);
    }

    #[test]
    fn beginnings_are_those_of_documentation_comments_only() {
        let text = "//! What it holds.\n\n/// One.\n/// That is it.\n///\n/// Whose.\nstruct A;\n\
                    // What it is.\n/// That `a` is\nfn a_test_of_whom() {}\n";
        assert_eq!(found("a.rs", text), [at(1, "what"), at(9, "that")]);
    }

    #[test]
    fn code_and_parts_of_words_are_passed_over() {
        let text = "/// ```\n/// let nobody = \"nobody\";\n/// ```\n/// Renewed retold wholly.\n\
                    /// So, many.\nfn f() { let nobody_waits = 1; }";
        assert_eq!(found("a.rs", text), []);
        let text = "Good.\n\n```text\nnobody\n```\n\n    nobody\n\n* one for\n  ever `whom`\n";
        assert_eq!(found("a.md", text), [at(9, "for ever")]);
    }

    #[test]
    fn python_is_searched_in_its_comments_and_literals() {
        let text = "\"\"\"What it does.\n\nNobody.\n\"\"\"\nnobody = 1  # so\nx = f('whom', \"#\", whom)\n\
                    # so\n# many\n";
        assert_eq!(
            found("a.py", text),
            [at(1, "what"), at(3, "nobody"), at(6, "whom"), at(7, "so many")]
        );
    }
}
