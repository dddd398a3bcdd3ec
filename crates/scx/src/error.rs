//! Errors about object files: the file, the place in it, what is wrong, and what would be right.

use std::fmt;

/// An error about an object file, or about a setting given with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectError {
    /// The file, as the user named it. Empty until [`in_file`](ObjectError::in_file) sets it.
    pub file: String,
    /// The place in the file: a section, an instruction of a program, a variable. May be empty.
    pub place: String,
    /// Description: what is wrong and, where it helps, what would be right.
    pub what: String,
}

impl ObjectError {
    /// Creates an error about `place`.
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> ObjectError {
        ObjectError { file: String::new(), place: place.into(), what: what.into() }
    }

    /// Adds the file's name to the error.
    #[must_use]
    pub fn in_file(mut self, name: &str) -> ObjectError {
        if self.file.is_empty() {
            self.file = name.into();
        }
        self
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.file, &self.place] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for ObjectError {}

/// Returns the name in `known` that is most similar to `name`, for "did you mean". `None`: no name
/// is similar.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|other| (edit_distance(name, other), other))
        .filter(|&(distance, _)| distance <= limit)
        .min()
        .map(|(_, other)| other)
}

/// Returns the number of letters to insert, remove or replace to turn one word into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_what_is_known() {
        let error = ObjectError::new("section .BTF", "it is cut short");
        assert_eq!(error.to_string(), "section .BTF: it is cut short");
        let error = error.in_file("a.bpf.o").in_file("b");
        assert_eq!(error.to_string(), "a.bpf.o: section .BTF: it is cut short");
        assert_eq!(ObjectError::new("", "no").to_string(), "no");
    }

    #[test]
    fn the_nearest_name_is_like_it() {
        let known = ["slice_ns", "fifo_sched", "stat"];
        assert_eq!(nearest("slice_n", known), Some("slice_ns"));
        assert_eq!(nearest("fifosched", known), Some("fifo_sched"));
        assert_eq!(nearest("quantum", known), None);
    }
}
