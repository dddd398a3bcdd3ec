//! The documents show the pictures that the program draws: `cargo xtask pictures` draws them again.

use crate::support::{Scratch, root, schedlab};
use std::collections::BTreeSet;
use std::fs;

/// Returns the names of pictures, and the arguments of the commands that draw them.
fn list() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join("docs/pictures/README.md")).expect("the file exists");
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('`');
        let (name, command) = (cells.next()?, cells.nth(1)?);
        let arguments = command.strip_prefix("schedlab ")?.split_whitespace();
        Some((name.to_string(), arguments.map(String::from).collect()))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn pictures_are_what_the_program_draws_now() {
    let scratch = Scratch::new("pictures");
    let mut wrong = vec![];
    for (name, arguments) in list() {
        let path = format!("{}/{name}", scratch.path());
        let mut command: Vec<&str> = arguments.iter().map(String::as_str).collect();
        command.extend(["--plot", &path]);
        schedlab(&command).good();
        let drawn = fs::read_to_string(&path).expect("the picture was drawn");
        let there = fs::read_to_string(root().join("docs/pictures").join(&name));
        if there.ok().as_deref() != Some(&drawn) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}: draw them again with `cargo xtask pictures`");
}

#[test]
fn every_picture_is_listed_and_shown_by_a_document() {
    let listed: BTreeSet<String> = list().into_iter().map(|(name, _)| name).collect();
    assert!(listed.len() >= 3);
    let entries = fs::read_dir(root().join("docs/pictures")).expect("the directory exists");
    let there: BTreeSet<String> = entries
        .map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "README.md")
        .collect();
    assert_eq!(listed, there);
    let mut documents = fs::read_to_string(root().join("README.md")).expect("the file exists");
    for entry in fs::read_dir(root().join("docs")).expect("the directory exists") {
        let path = entry.expect("a readable entry").path();
        if path.extension().is_some_and(|ending| ending == "md") {
            documents += &fs::read_to_string(&path).expect("a readable entry");
        }
    }
    for name in &listed {
        assert!(documents.contains(&format!("pictures/{name})")), "{name} is shown nowhere");
    }
}
