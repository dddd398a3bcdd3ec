//! Destinations that depend on the process: `%u` user, `%U` its number, `%g` group, `%G` its
//! number, `%p` program, `%P` process number. `\%` is a `%`.

use super::super::text::{Fault, shown};
use super::last_component;
use super::{Gid, Uid};
use std::fmt::Write;

/// Values of the placeholders.
#[derive(Debug)]
pub struct Values<'a> {
    pub user: &'a str,
    pub uid: Uid,
    /// Name of the group; `None`: it has no name, and its number is used.
    pub group: Option<&'a str>,
    pub gid: Gid,
    pub process: &'a str,
    pub pid: u32,
}

/// A piece of a destination.
enum Piece<'a> {
    Text(&'a str),
    /// The letter after a `%`; `None` at the end.
    Letter(Option<char>),
}

/// Returns the pieces of the destination in order.
fn pieces(destination: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = destination;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(after) = rest.strip_prefix('%') {
            let letter = after.chars().next();
            rest = &after[letter.map_or(0, char::len_utf8)..];
            return Some(Piece::Letter(letter));
        }
        if let Some(after) = rest.strip_prefix("\\%") {
            rest = after;
            return Some(Piece::Text("%"));
        }
        // Up to the next special character. A lone backslash is literal.
        let mut signs = rest.char_indices().skip(1);
        let end = signs.find_map(|(at, sign)| matches!(sign, '%' | '\\').then_some(at));
        let end = end.unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        rest = after;
        Some(Piece::Text(text))
    })
}

/// Checks that every `%` has a meaning.
pub fn check(destination: &str) -> Result<(), Fault> {
    let wrong = pieces(destination).find_map(|piece| match piece {
        Piece::Letter(Some('u' | 'U' | 'g' | 'G' | 'p' | 'P')) | Piece::Text(_) => None,
        Piece::Letter(letter) => {
            Some(letter.map_or("%".to_string(), |letter| format!("%{letter}")))
        }
    });
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(Fault::new(format!("`{}` has no meaning", shown(&wrong))).with_help(
            "`%u` user, `%U` its number, `%g` group, `%G` its number, `%p` program, `%P` process number; `\\%` is a `%`",
        )),
    }
}

/// Whether the destination depends on the process.
pub fn is_template(destination: &str) -> bool {
    pieces(destination).any(|piece| matches!(piece, Piece::Letter(_)))
}

impl Values<'_> {
    /// Returns the destination with its placeholders replaced.
    pub fn fill(&self, destination: &str) -> String {
        let mut filled = String::new();
        for piece in pieces(destination) {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Letter(Some('u')) => filled.push_str(self.user),
                Piece::Letter(Some('U')) => number(&mut filled, self.uid),
                Piece::Letter(Some('g')) => match self.group {
                    Some(group) => filled.push_str(group),
                    None => number(&mut filled, self.gid),
                },
                Piece::Letter(Some('G')) => number(&mut filled, self.gid),
                Piece::Letter(Some('p')) => match last_component(self.process) {
                    "" => number(&mut filled, self.pid),
                    name => filled.push_str(name),
                },
                Piece::Letter(Some('P')) => number(&mut filled, self.pid),
                Piece::Letter(_) => {}
            }
        }
        filled
    }
}

fn number(text: &mut String, number: u32) {
    // Writing to a string does not fail.
    let _ = write!(text, "{number}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_replaced() {
        let mut values = Values {
            user: "anna",
            uid: 1000,
            group: Some("students"),
            gid: 100,
            process: "/usr/bin/make",
            pid: 77,
        };
        for (destination, expected) in [
            ("a/%u/b", "a/anna/b"),
            ("%U-%g-%G", "1000-students-100"),
            ("%p.%P", "make.77"),
            ("100\\%/%u", "100%/anna"),
            ("é%ué\\é", "éannaé\\é"),
            ("\\\\%u", "\\%u"),
            ("a\\", "a\\"),
        ] {
            assert!(check(destination).is_ok(), "{destination}");
            assert_eq!(values.fill(destination), expected, "{destination}");
        }
        values.group = None;
        values.process = "";
        assert_eq!(values.fill("%g %p"), "100 77");
        assert!(is_template("a%u") && !is_template("a\\%u"));
    }

    #[test]
    fn a_percent_sign_stands_for_something() {
        for destination in ["%x", "a%", "%%u", "%é"] {
            assert!(check(destination).is_err(), "{destination}");
        }
    }
}
