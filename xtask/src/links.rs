//! Links of the documents: the file that a relative link names exists, and so does the heading. A
//! source file that a document names between backticks also exists in some directory.

use crate::Finding;
use crate::repository::Repository;
use std::collections::BTreeMap;

/// Finds broken links.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository.files().filter(|file| file.is("md")) {
        for (line, target) in targets(&file.text) {
            if let Err(message) = follow(repository, &file.path, &target) {
                findings.push(Finding::new(&file.path, line, message));
            }
        }
        for (line, name) in sources(&file.text) {
            let wanted = format!("/{}", name.trim_start_matches("../"));
            if !repository.files().any(|file| format!("/{}", file.path).ends_with(&wanted)) {
                let message = format!("`{name}`: there is no such source file");
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

/// Returns the source files that a document names, with the lines that name them.
fn sources(text: &str) -> Vec<(usize, String)> {
    let quoted = |(number, line): (usize, &str)| -> Vec<(usize, String)> {
        let names = line.split('`').skip(1).step_by(2);
        let plain = |name: &&str| name.ends_with(".rs") && !name.contains([' ', '{', '*']);
        names.filter(plain).map(|name| (number, name.to_string())).collect()
    };
    prose(text).flat_map(quoted).collect()
}

/// Checks that `target`, a link of the document `from`, exists.
fn follow(repository: &Repository, from: &str, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let path = if path.is_empty() {
        from.to_string()
    } else {
        resolve(from, path).ok_or_else(|| format!("`{target}` is outside the repository"))?
    };
    if !repository.exists(&path) {
        return Err(format!("`{target}`: there is no `{path}`"));
    }
    match (anchor, repository.text(&path)) {
        (Some(anchor), Some(text)) if path.ends_with(".md") => {
            let anchors = anchors(text);
            if anchors.iter().any(|found| found == anchor) {
                Ok(())
            } else {
                Err(format!("`{target}`: `{path}` has no heading `#{anchor}`"))
            }
        }
        _ => Ok(()),
    }
}

/// Returns the path from the root of the repository for `path`, which is relative to the document
/// `from`.
fn resolve(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the lines of a document outside blocks of code, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            return None;
        }
        (!in_code).then_some((i + 1, line))
    })
}

/// Returns the targets of all links, with their lines: `[text](target)` and `[name]: target`.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        for (at, _) in line.match_indices("](") {
            if let Some(end) = line[at..].find(')') {
                let target = line[at + 2..at + end].split(' ').next().unwrap_or("");
                targets.push((number, target.to_string()));
            }
        }
        if let Some((name, target)) = line.split_once("]: ")
            && name.starts_with('[')
        {
            targets.push((number, target.trim().to_string()));
        }
    }
    targets
}

/// Returns a line without the code between backticks, where brackets are not links.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Anchors of a document's headings, as hosts make them: lower-case letters, digits, `-` and `_`,
/// with `-` for blanks, and a number after a repeated one.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor: String = heading
            .trim()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .flat_map(char::to_lowercase)
            .collect();
        let count = seen.entry(anchor.clone()).or_insert(0);
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_files_that_are_gone_are_found() {
        let doc = ("a.md", "`b.rs` `c/b.rs` `../c/b.rs`\n`d.rs` and `b.rs` in `x/b.rs`\n");
        let found = check(&Repository::of(&[doc, ("crates/c/b.rs", "")]));
        let places: Vec<_> = found.iter().map(|f| (f.line, f.message.as_str())).collect();
        let gone = |name| format!("`{name}`: there is no such source file");
        assert_eq!(places, [(2, gone("d.rs").as_str()), (2, gone("x/b.rs").as_str())]);
    }

    #[test]
    fn dead_links_and_anchors_are_found() {
        let a = "[b](docs/b.md) [c](docs/c.md) [d](docs/b.md#two-words) [e](docs/b.md#none)\n\
                 ```text\n[f](f.md)\n```\n`[g](g.md)` [h](https://example.org/h.md) [i](#here)\n";
        let b = "# Two `words`!\n[a](../a.md)\n[x](../../a.md)\n";
        let found = check(&Repository::of(&[("a.md", a), ("docs/b.md", b)]));
        let places: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(places, [("a.md", 1), ("a.md", 1), ("a.md", 5), ("docs/b.md", 3)], "{found:?}");
    }
}
