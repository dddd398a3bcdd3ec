//! `schedlab new-scheduler`: creates the package of a new scheduler from `examples/my_scheduler`,
//! which is part of the program.

use crate::args::NewSchedulerArgs;
use crate::files::describe_error;
use crate::terminal::Output;
use crate::{Failure, Status};
use schedlab_lab::select;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// Files of the example.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("../../assets/new_scheduler/Cargo.toml.txt")),
    ("src/main.rs", include_str!("../../assets/new_scheduler/main.rs.txt")),
    ("src/my_scheduler.rs", include_str!("../../assets/new_scheduler/my_scheduler.rs.txt")),
    ("src/inspect.rs", include_str!("../../assets/new_scheduler/inspect.rs.txt")),
    ("src/rules.rs", include_str!("../../assets/new_scheduler/rules.rs.txt")),
    ("desktop.json", include_str!("../../assets/new_scheduler/desktop.json")),
];

/// Name of the example.
const NAME: &str = "my_scheduler";

/// Words that cannot name the module of a package.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "core",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "inspect", "let", "loop", "macro", "main", "match", "mod", "move", "mut",
    "override", "priv", "pub", "ref", "return", "self", "static", "std", "struct", "super", "test",
    "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where",
    "while", "yield",
];

/// Writes the package into a directory with the same name, completely or not at all.
pub fn new_scheduler(args: &NewSchedulerArgs, output: &mut Output) -> Result<Status, Failure> {
    let name = &*args.name;
    check_name(name)?;
    let target = PathBuf::from(name);
    if fs::symlink_metadata(&target).is_ok() {
        let message = format!("{name}: it already exists; give another name, or remove it");
        return Err(Failure::Message(message));
    }
    let source = source(args.schedlab.as_deref())?;
    let unfinished = PathBuf::from(format!("{name}.{}.tmp", std::process::id()));
    let written = write(&unfinished, name, &source)
        .and_then(|()| fs::rename(&unfinished, &target).map_err(|error| (target.clone(), error)));
    if let Err((path, error)) = written {
        // An incomplete package is useless.
        let _ = fs::remove_dir_all(&unfinished);
        return Err(Failure::Message(describe_error(&path, &error)));
    }
    writeln!(
        output,
        "{name}: a scheduler with its tests; its code is in {name}/src/{name}.rs\n\n    \
         cd {name}\n    \
         cargo run --release -- desktop.json --timeline cfs eevdf\n    \
         cargo run --release -- stress 300\n    \
         cargo test\n\n\
         schedlab's docs/tutorial.md explains it."
    )?;
    Ok(Status::Good)
}

/// Checks that the name is valid for a package, a module and a scheduler.
fn check_name(name: &str) -> Result<(), Failure> {
    let wrong = |what: &str| Failure::Message(format!("{name}: {what}"));
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(letters) {
        return Err(wrong(
            "a name consists of lower-case letters, digits and _, and begins with a letter, e.g. \
             my_scheduler",
        ));
    }
    if KEYWORDS.contains(&name) || name.starts_with("schedlab") {
        return Err(wrong("Rust or schedlab already uses this name; give another"));
    }
    if select::choose(&[name]).is_ok() {
        return Err(wrong("schedlab already has a scheduler of this name; give another"));
    }
    Ok(())
}

/// Source from which the package takes schedlab: a path, or the address of a repository.
struct SchedlabSource {
    place: String,
    is_path: bool,
}

impl SchedlabSource {
    /// Returns the dependency on the library, as `Cargo.toml` states it.
    fn dependency(&self) -> String {
        // For paths and addresses, TOML strings are written like JSON strings.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let place = match self.is_path {
            true => format!("path = {}", quoted(&format!("{}/schedlab", self.place))),
            false => format!("git = {}", quoted(&self.place)),
        };
        format!("{{ {place}, default-features = false }}")
    }
}

/// Returns the repository in `named`, or else the one that will contain the package.
fn source(named: Option<&str>) -> Result<SchedlabSource, Failure> {
    let Some(named) = named else {
        let here = std::env::current_dir()
            .map_err(|error| format!("the current directory is unknown: {error}"))?;
        for (up, directory) in here.ancestors().enumerate() {
            if is_repository(directory) {
                // Relative to the package's own directory.
                let place = format!("{}crates", "../".repeat(up + 1));
                return Ok(SchedlabSource { place, is_path: true });
            }
        }
        let message = "schedlab was not found: this directory is in no clone of it; name one, or \
                       the address of its repository: --schedlab PATH|URL";
        return Err(Failure::Message(message.into()));
    };
    if named.contains("://") || named.starts_with("git@") {
        return Ok(SchedlabSource { place: named.into(), is_path: false });
    }
    let path = Path::new(named);
    if !is_repository(path) {
        let message = format!(
            "--schedlab {named}: this is not a clone of schedlab; it must contain crates/schedlab"
        );
        return Err(Failure::Message(message));
    }
    let place = match path.components().next() {
        Some(Component::RootDir | Component::Prefix(_)) => path.join("crates"),
        _ => Path::new("..").join(path).join("crates"),
    };
    Ok(SchedlabSource { place: place.display().to_string(), is_path: true })
}

fn is_repository(directory: &Path) -> bool {
    let manifest = fs::read_to_string(directory.join("crates/schedlab/Cargo.toml"));
    manifest.is_ok_and(|text| text.contains("name = \"schedlab\""))
}

/// Writes all files below `directory`.
fn write(
    directory: &Path,
    name: &str,
    source: &SchedlabSource,
) -> Result<(), (PathBuf, std::io::Error)> {
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |error| (path, error)
    };
    let sources = directory.join("src");
    fs::create_dir_all(&sources).map_err(at(&sources))?;
    for (file, text) in FILES {
        let path = directory.join(file.replace(NAME, name));
        fs::write(&path, filled(file, text, name, source)).map_err(at(&path))?;
    }
    let path = directory.join(".gitignore");
    fs::write(&path, "/target\n").map_err(at(&path))
}

/// Returns a file of the example as it is in the package `name`.
fn filled(file: &str, text: &str, name: &str, source: &SchedlabSource) -> String {
    let mut text = text.to_string();
    for (old, new) in replacements(file, name, source) {
        text = text.replace(&old, &new);
    }
    text
}

/// Returns the replacements in a file.
fn replacements(file: &str, name: &str, source: &SchedlabSource) -> Vec<(String, String)> {
    let camel: String = name
        .split('_')
        .map(|word| word[..word.len().min(1)].to_uppercase() + &word[word.len().min(1)..])
        .collect();
    let title = name.replace('_', " ");
    let pair = |old: &str, new: &str| (old.to_string(), new.to_string());
    let names = [pair("MyScheduler", &camel), pair(NAME, name)];
    match file {
        "Cargo.toml" => {
            let path = "{ path = \"../../crates/schedlab\", default-features = false }";
            let about = "# A custom scheduler, run next to the built-in ones: \
                         docs/tutorial.md explains it.";
            let mut all =
                vec![pair(about, "# A scheduler, run next to the built-in ones of schedlab.")];
            all.push((path.into(), source.dependency()));
            all.push(pair("license = \"MIT OR Apache-2.0\"\n", ""));
            all.push(pair(
                "# Not a member of the main workspace: it uses schedlab as any other program \
                 would.",
                "# A workspace of its own.",
            ));
            all.extend([pair(NAME, name)]);
            all
        }
        "src/main.rs" => {
            let mut all = vec![
                pair("docs/tutorial.md explains", "schedlab's docs/tutorial.md explains"),
                pair("Cow::Borrowed(\"mine\")", &format!("Cow::Borrowed(\"{name}\")")),
                pair("Cow::Borrowed(\"My scheduler\")", &format!("Cow::Borrowed(\"{title}\")")),
                pair("\"/../../examples/desktop.json\"", "\"/desktop.json\""),
                pair("\"mine@1\"", &format!("\"{name}@1\"")),
                pair("under `mine`", &format!("under `{name}`")),
                pair(LENGTH_TEST, ""),
            ];
            all.extend(names);
            all
        }
        "src/my_scheduler.rs" | "src/inspect.rs" | "src/rules.rs" => names.to_vec(),
        _ => vec![],
    }
}

/// Test of the example's own length, which does not apply to other schedulers.
const LENGTH_TEST: &str = "
    #[test]
    fn it_is_less_than_a_hundred_lines() {
        assert!(include_str!(\"my_scheduler.rs\").lines().count() < 100);
    }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_to_be_replaced_is_there() {
        let source = SchedlabSource { place: "../crates".into(), is_path: true };
        for (file, text) in FILES {
            for (old, _) in replacements(file, "my_own", &source) {
                // Not every file contains every name.
                let is_name = [NAME, "MyScheduler"].contains(&&*old);
                assert!(is_name || text.contains(&old), "{file} has no {old:?}");
            }
            let text = filled(file, text, "my_own", &source);
            for name in [NAME, "MyScheduler", "mine@", "\"mine\"", "../../crates"] {
                assert!(!text.contains(name), "{file} still has {name}");
            }
        }
    }

    #[test]
    fn names_are_those_of_packages_and_of_no_other_scheduler() {
        assert!(check_name("my_own2").is_ok());
        for name in ["", "2x", "My", "a-b", "a/b", "..", "fn", "cfs", "all", "core", "schedlab_x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn addresses_and_paths_are_dependencies() {
        let git =
            SchedlabSource { place: "https://example.org/schedlab.git".into(), is_path: false };
        let expected = r#"{ git = "https://example.org/schedlab.git", default-features = false }"#;
        assert_eq!(git.dependency(), expected);
        let path = SchedlabSource { place: "/a \"b\"/crates".into(), is_path: true };
        let expected = r#"{ path = "/a \"b\"/crates/schedlab", default-features = false }"#;
        assert_eq!(path.dependency(), expected);
    }
}
