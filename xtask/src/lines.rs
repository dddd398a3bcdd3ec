//! Lines of at most 100 columns.
//!
//! rustfmt wraps code, but neither comments nor text literals. A line of Rust may be longer if it
//! has a text literal or an address, or if it is a row of a table in a comment; a line of a
//! document, if it is in a block of code or a table, or has a link.

use crate::Finding;
use crate::repository::{File, Repository};
use crate::scan::{self, Part};

/// Maximum width of a line, in characters.
const WIDTH: usize = 100;

/// Finds lines that are too wide.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository.files() {
        if file.is("rs") {
            rust(file, &mut findings);
        } else if file.is("md") {
            document(file, &mut findings);
        }
    }
    findings
}

fn too_wide(file: &File, number: usize, line: &str) -> Option<Finding> {
    let width = line.chars().count();
    (width > WIDTH)
        .then(|| Finding::new(&file.path, number, format!("{width} columns; at most {WIDTH}")))
}

fn rust(file: &File, findings: &mut Vec<Finding>) {
    let literals = scan::only(&file.text, &[Part::Literal]);
    for (i, (line, literal)) in file.text.lines().zip(literals.lines()).enumerate() {
        let comment = line.trim_start().trim_start_matches(['/', '!']);
        let is_row = line.trim_start().starts_with("//") && comment.starts_with(" |");
        if literal.trim().is_empty() && !line.contains("://") && !is_row {
            findings.extend(too_wide(file, i + 1, line));
        }
    }
}

fn document(file: &File, findings: &mut Vec<Finding>) {
    let mut in_code = false;
    for (i, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code
            && !line.starts_with('|')
            && !line.starts_with("    ")
            && !line.contains("](")
            && !line.contains("://")
            && !line.starts_with("<!--")
        {
            findings.extend(too_wide(file, i + 1, line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_are_found_and_exceptions_are_not() {
        let wide = "x".repeat(101);
        let rust = format!(
            "// {wide}\nlet a = \"{wide}\";\n// https://{wide}\n//! | {wide} |\n{}\n",
            "y".repeat(100)
        );
        let md = format!("{wide}\n```text\n{wide}\n```\n| {wide} |\n[{wide}](x.md)\n");
        let found = check(&Repository::of(&[("a.rs", &rust), ("b.md", &md)]));
        let places: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(places, [("a.rs", 1), ("b.md", 1)]);
    }
}
