//! Files of the repository that a package needs inside its own directory. `cargo xtask copies`
//! makes the copies, and `cargo xtask tidy` checks that they are equal.

use crate::Finding;
use crate::repository::Repository;
use std::path::Path;
use std::process::ExitCode;

/// Files and their copies. The names of copies of source end in `.txt`: they are not code of the
/// package that contains them.
const COPIES: [(&str, &str); 6] = [
    ("examples/my_scheduler/Cargo.toml", "crates/cli/assets/new_scheduler/Cargo.toml.txt"),
    ("examples/my_scheduler/src/main.rs", "crates/cli/assets/new_scheduler/main.rs.txt"),
    (
        "examples/my_scheduler/src/my_scheduler.rs",
        "crates/cli/assets/new_scheduler/my_scheduler.rs.txt",
    ),
    ("examples/my_scheduler/src/inspect.rs", "crates/cli/assets/new_scheduler/inspect.rs.txt"),
    ("examples/my_scheduler/src/rules.rs", "crates/cli/assets/new_scheduler/rules.rs.txt"),
    ("examples/desktop.json", "crates/cli/assets/new_scheduler/desktop.json"),
];

/// Finds copies that differ from their originals.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let differs = |(from, to): &&(&str, &str)| repository.text(from) != repository.text(to);
    let finding = |(from, to): &(&str, &str)| {
        Finding::new(to, 0, format!("differs from {from}: run `cargo xtask copies`"))
    };
    COPIES.iter().filter(differs).map(finding).collect()
}

/// Makes the copies.
pub fn make() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (from, to) in COPIES {
        if let Err(error) = std::fs::copy(root.join(from), root.join(to)) {
            eprintln!("error: {from} to {to}: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_differs_is_found() {
        let (from, to) = COPIES[0];
        let found = check(&Repository::of(&[(from, "a"), (to, "b")]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, to);
        assert_eq!(check(&Repository::of(&[(from, "a"), (to, "a")])), []);
    }
}
