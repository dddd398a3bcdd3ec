//! File headers: every source file begins with `//!` lines that name the one thing it holds.

use crate::Finding;
use crate::repository::Repository;

/// Finds source files without a header.
pub fn check(repository: &Repository) -> Vec<Finding> {
    repository
        .files()
        .filter(|file| file.is("rs") && file.path.contains("/src/"))
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| Finding::new(&file.path, 1, "no `//!` header that describes the file"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        let repository = Repository::of(&[
            ("crates/a/src/a.rs", "//! Good.\n"),
            ("crates/a/src/b.rs", "// b\n"),
        ]);
        assert_eq!(check(&repository).len(), 1);
    }
}
