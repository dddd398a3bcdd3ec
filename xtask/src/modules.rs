//! The modules of a crate and the names that they use of each other, read from its source.
//!
//! Not a compiler: code is split into tokens, and names are looked up in modules, `use` lines and
//! re-exports. Macros are not expanded. A name that a module does not visibly define counts as
//! defined by that module's file.
//!
//! A module's use of its own parts, the modules below it, is not an edge: the parts are the module,
//! and they may use its names. Code for tests does not count.

use crate::repository::Repository;
use crate::scan::{self, Part};
use std::collections::{BTreeMap, BTreeSet};

/// Names of the modules from the root of a crate down to one module.
type ModulePath = Vec<String>;

/// Uses of one file by another: the names that the first takes from the second, by both paths.
pub type Edges = BTreeMap<(String, String), BTreeSet<String>>;

/// Depth at which the search for a re-exported name stops.
const DEEPEST: usize = 20;

/// Keywords before the name of an item.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];

/// One module.
#[derive(Debug, Default)]
struct Module {
    /// File that holds it.
    file: String,
    /// Names of the items that it defines.
    items: BTreeSet<String>,
    /// Names that it imports.
    imports: Vec<Import>,
    /// Paths in its code, outside `use`.
    paths: Vec<Vec<String>>,
}

/// One name of a `use` line.
#[derive(Debug)]
struct Import {
    path: Vec<String>,
    /// Name in the importing module; `None`: all names (`*`).
    name: Option<String>,
}

/// Place at which a path ends.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Resolved {
    Module(ModulePath),
    /// An item of this module.
    Item(ModulePath),
}

/// The module tree of one library or program.
#[derive(Debug, Default)]
struct Tree {
    modules: BTreeMap<ModulePath, Module>,
}

/// Adds to `edges` the uses among the files of the library or program whose root is `root`.
pub fn add_edges(repository: &Repository, root: &str, edges: &mut Edges) {
    let mut tree = Tree::default();
    let directory = root.rsplit_once('/').map_or("", |(directory, _)| directory);
    tree.read(repository, root, directory, vec![]);
    for (path, module) in &tree.modules {
        let mut add = |to: &ModulePath, name: &str| {
            let file = tree.modules.get(to).map_or("", |to| &to.file);
            if file != module.file && !to.starts_with(path) {
                let names = edges.entry((module.file.clone(), file.to_string())).or_default();
                names.insert(name.to_string());
            }
        };
        for import in &module.imports {
            let last = import.path.last().map_or("*", String::as_str);
            match (tree.resolve(path, &import.path, DEEPEST), &import.name) {
                (Some(Resolved::Item(to)), _) => add(&to, last),
                (Some(Resolved::Module(to)), None) => add(&to, "*"),
                // The paths that begin with the name of an imported module are uses.
                (Some(Resolved::Module(_)), Some(_)) | (None, _) => {}
            }
        }
        for used in &module.paths {
            if let Some(Resolved::Item(to)) = tree.resolve(path, used, DEEPEST) {
                add(&to, used.last().map_or("", String::as_str));
            }
        }
    }
}

impl Tree {
    /// Reads the module `path` from `file`; files of its child modules are in `directory`.
    fn read(&mut self, repository: &Repository, file: &str, directory: &str, path: ModulePath) {
        let Some(text) = repository.text(file) else { return };
        let tokens = tokens(text);
        let module = Module { file: file.to_string(), ..Module::default() };
        self.modules.insert(path.clone(), module);
        let mut reader = Reader { repository, tree: self, file, tokens: &tokens, at: 0 };
        reader.module(&path, directory);
    }

    /// Returns the place at which `path`, written in module `from`, ends.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<Resolved> {
        let (first, mut rest) = path.split_first()?;
        let is_last = rest.is_empty();
        let mut at = match first.as_str() {
            "crate" => Resolved::Module(vec![]),
            "self" => Resolved::Module(from.clone()),
            "super" => Resolved::Module(parent(from)?),
            name => self.look_up(from, name, is_last, depth)?,
        };
        while let (Resolved::Module(module), Some((name, after))) = (&at, rest.split_first()) {
            at = match name.as_str() {
                "super" => Resolved::Module(parent(module)?),
                "self" => at,
                name => self
                    .look_up(module, name, after.is_empty(), depth)
                    .unwrap_or_else(|| Resolved::Item(module.clone())),
            };
            rest = after;
        }
        Some(at)
    }

    /// Returns the place that defines `name`, which is visible in module `at`. A module and an item
    /// may have the same name: the item is meant only by a path that ends there.
    fn look_up(
        &self,
        at: &ModulePath,
        name: &str,
        is_last: bool,
        depth: usize,
    ) -> Option<Resolved> {
        let module = self.modules.get(at)?;
        let depth = depth.checked_sub(1)?;
        let child: ModulePath = at.iter().cloned().chain([name.to_string()]).collect();
        let child = self.modules.contains_key(&child).then_some(Resolved::Module(child));
        if child.is_some() && !is_last {
            return child;
        }
        if module.items.contains(name) {
            return Some(Resolved::Item(at.clone()));
        }
        let named = module.imports.iter().filter(|import| import.name.as_deref() == Some(name));
        let mut found = named.filter_map(|import| self.resolve(at, &import.path, depth));
        if let Some(found) = found.next().or(child) {
            return Some(found);
        }
        let all = module.imports.iter().filter(|import| import.name.is_none());
        all.filter_map(|import| match self.resolve(at, &import.path, depth)? {
            Resolved::Module(from) if from != *at => self.look_up(&from, name, is_last, depth),
            _ => None,
        })
        .next()
    }
}

fn parent(path: &ModulePath) -> Option<ModulePath> {
    let (_, parent) = path.split_last()?;
    Some(parent.to_vec())
}

/// A name, a number or one character of punctuation; a text literal is its contents in quotes.
#[derive(Debug, PartialEq, Eq)]
struct Token(String);

/// Returns the tokens of a source file, without comments.
fn tokens(text: &str) -> Vec<Token> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens: Vec<Token> = vec![];
    let mut before = (Part::Comment, ' ');
    for (c, part) in text.chars().zip(scan::parts(text)) {
        let goes_on = match part {
            Part::Comment => false,
            Part::Literal => before.0 == Part::Literal,
            Part::Code => before.0 == Part::Code && is_word(before.1) && is_word(c),
        };
        if goes_on {
            tokens.last_mut().expect("a token goes on, so there is one").0.push(c);
        } else if part == Part::Literal || (part == Part::Code && !c.is_whitespace()) {
            tokens.push(Token(c.to_string()));
        }
        before = (part, c);
    }
    tokens
}

/// Reads the tokens of one file.
struct Reader<'a> {
    repository: &'a Repository,
    tree: &'a mut Tree,
    file: &'a str,
    tokens: &'a [Token],
    at: usize,
}

/// Facts in the attributes of an item.
#[derive(Default)]
struct Attributes {
    is_test: bool,
    /// `#[path = "..."]`.
    file: Option<String>,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.0.as_str())
    }

    fn before(&self, back: usize) -> &'a str {
        let at = self.at.checked_sub(back);
        at.and_then(|at| self.tokens.get(at)).map_or("", |token| token.0.as_str())
    }

    /// Reads the contents of the module `path` up to the brace that closes it.
    fn module(&mut self, path: &ModulePath, directory: &str) {
        let mut depth = 0;
        let mut attributes = Attributes::default();
        while self.at < self.tokens.len() {
            let token = self.peek(0);
            if token == "#" && (self.peek(1) == "[" || (self.peek(1), self.peek(2)) == ("!", "[")) {
                self.attribute(&mut attributes);
                continue;
            }
            if attributes.is_test {
                attributes = Attributes::default();
                self.skip_item();
                continue;
            }
            match token {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" if depth == 0 => return,
                "}" | ")" | "]" => depth -= 1,
                "mod" if is_name(self.peek(1)) && [";", "{"].contains(&self.peek(2)) => {
                    self.child(path, directory, attributes.file.take());
                    continue;
                }
                "use" if self.before(1) != "." => {
                    self.import(path);
                    continue;
                }
                "macro_rules" if self.peek(1) == "!" => self.define(path, self.peek(2)),
                "in" if self.before(1) == "(" && self.before(2) == "pub" => {
                    while self.peek(0) != ")" && self.at < self.tokens.len() {
                        self.at += 1;
                    }
                    continue;
                }
                item if depth == 0 && ITEMS.contains(&item) && is_name(self.peek(1)) => {
                    self.define(path, self.peek(1));
                }
                name if is_name(name) && self.peek(1) == ":" && self.peek(2) == ":" => {
                    self.path(path);
                    continue;
                }
                _ => {}
            }
            attributes = Attributes::default();
            self.at += 1;
        }
    }

    fn define(&mut self, path: &ModulePath, name: &str) {
        if let Some(module) = self.tree.modules.get_mut(path) {
            module.items.insert(name.to_string());
        }
    }

    /// Reads an attribute.
    fn attribute(&mut self, attributes: &mut Attributes) {
        let start = self.at;
        self.at += if self.peek(1) == "!" { 2 } else { 1 };
        self.skip_group();
        let tokens: Vec<&str> =
            self.tokens[start..self.at.min(self.tokens.len())].iter().map(|t| &*t.0).collect();
        let is_test = tokens.contains(&"test") || tokens.contains(&"doctest");
        attributes.is_test |= tokens.get(2) == Some(&"cfg") && is_test && !tokens.contains(&"not");
        if let ["#", "[", "path", "=", file, "]"] = tokens[..] {
            attributes.file = Some(file.trim_matches('"').to_string());
        }
    }

    /// Goes to behind the bracket that closes the one here.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth <= 0 {
                return;
            }
        }
    }

    /// Goes to behind an item, a field, an arm or a statement.
    fn skip_item(&mut self) {
        let mut has_keyword = false;
        let mut ends_with_semicolon = false;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "use" | "static" | "type" | "let" => ends_with_semicolon = true,
                "const" => ends_with_semicolon = self.peek(1) != "fn",
                "fn" | "struct" | "enum" | "trait" | "impl" | "mod" | "union" => {
                    has_keyword = true;
                }
                ";" => {
                    self.at += 1;
                    return;
                }
                "," if !has_keyword && !ends_with_semicolon => {
                    self.at += 1;
                    return;
                }
                "{" if !ends_with_semicolon => return self.skip_group(),
                "{" | "(" | "[" => {
                    self.skip_group();
                    continue;
                }
                "}" | ")" | "]" => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads `mod name;` or `mod name { ... }`.
    fn child(&mut self, path: &ModulePath, directory: &str, file: Option<String>) {
        let name = self.peek(1).to_string();
        let is_inline = self.peek(2) == "{";
        self.at += 3;
        let child: ModulePath = path.iter().cloned().chain([name.clone()]).collect();
        let below = format!("{directory}/{name}");
        if is_inline {
            let module = Module { file: self.file.to_string(), ..Module::default() };
            self.tree.modules.insert(child.clone(), module);
            self.module(&child, &below);
            self.at += 1;
            return;
        }
        if let Some(file) = file {
            let here = self.file.rsplit_once('/').map_or("", |(directory, _)| directory);
            let file = format!("{here}/{file}");
            let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
            self.tree.read(self.repository, &file, directory, child);
            return;
        }
        for file in [format!("{below}.rs"), format!("{below}/mod.rs")] {
            if self.repository.text(&file).is_some() {
                self.tree.read(self.repository, &file, &below, child);
                return;
            }
        }
    }

    /// Reads a `use` line.
    fn import(&mut self, path: &ModulePath) {
        self.at += 1;
        let mut imports = vec![];
        self.import_tree(&[], &mut imports);
        if let Some(module) = self.tree.modules.get_mut(path) {
            module.imports.extend(imports);
        }
    }

    /// Reads one branch of a `use` line behind `prefix`.
    fn import_tree(&mut self, prefix: &[String], imports: &mut Vec<Import>) {
        let mut path = prefix.to_vec();
        let mut name = None;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                ":" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while self.at < self.tokens.len() && self.peek(0) != "}" {
                        self.import_tree(&path, imports);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    self.at += 1;
                    imports.push(Import { path, name: None });
                    return;
                }
                "as" => {
                    name = Some(self.peek(1).to_string());
                    self.at += 2;
                }
                "self" if !path.is_empty() => self.at += 1,
                segment if is_name(segment) => {
                    path.push(segment.to_string());
                    self.at += 1;
                }
                _ => break,
            }
        }
        let name = name.or_else(|| path.last().cloned());
        imports.push(Import { path, name });
    }

    /// Reads a path in code.
    fn path(&mut self, path: &ModulePath) {
        let goes_on_from_type = self.before(1) == ":" && self.before(2) == ":";
        let mut segments = vec![self.peek(0).to_string()];
        self.at += 1;
        while self.peek(0) == ":" && self.peek(1) == ":" && is_name(self.peek(2)) {
            segments.push(self.peek(2).to_string());
            self.at += 3;
        }
        if !goes_on_from_type && let Some(module) = self.tree.modules.get_mut(path) {
            module.paths.push(segments);
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the uses among the files of a crate, each as `a -> b: names`, without `src/` and
    /// `.rs`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("src/{path}.rs"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
        let mut edges = Edges::new();
        add_edges(&Repository::of(&files), "src/lib.rs", &mut edges);
        let short = |path: &str| path.replace("src/", "").replace(".rs", "");
        let line = |((a, b), names): (&(String, String), &BTreeSet<String>)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{} -> {}: {}", short(a), short(b), names.join(" "))
        };
        edges.iter().map(line).collect()
    }

    #[test]
    fn uses_and_paths_in_code_are_edges_but_for_those_of_a_modules_own_parts() {
        let found = edges(&[
            ("lib", "pub mod a;\nmod b;\nfn main() { b::go(); }"),
            ("a", "use crate::b::{B, c::C as D};\nuse std::fmt;\nstruct A;"),
            ("b", "pub mod c;\npub struct B;\npub fn go() -> super::a::A { fmt::x() }"),
            ("b/c", "pub struct C;\n// crate::a::A\nconst T: &str = \"crate::a::A\";"),
        ]);
        assert_eq!(found, ["a -> b: B", "a -> b/c: C", "b -> a: A"]);
    }

    #[test]
    fn re_exports_lead_to_the_file_that_defines_the_name() {
        let found = edges(&[
            ("lib", "mod a;\nmod b;\npub use b::c::*;\npub use a::A;"),
            ("a", "use crate::b::{C, self};\nuse crate::E;\nstruct A; fn f() -> b::D { C }"),
            ("b/mod", "pub mod c;\npub use c::C;\npub use self::c::D;"),
            ("b/c", "pub struct C;\npub struct D;\npub enum E { F }"),
        ]);
        assert_eq!(found, ["a -> b/c: C D E"]);
    }

    #[test]
    fn an_imported_module_is_used_by_the_paths_that_begin_with_it() {
        let found = edges(&[
            ("lib", "mod a;\nmod b;\nmod c;"),
            ("a", "use super::b;\nuse super::c as d;\nfn f() { b::g::<u8>(d::H::new) }"),
            ("b", "use crate::a;\npub fn g() {}"),
            ("c", "pub struct H;"),
        ]);
        assert_eq!(found, ["a -> b: g", "a -> c: new"]);
    }

    #[test]
    fn code_of_tests_does_not_count() {
        let found = edges(&[
            ("lib", "mod a;\nmod b;\n#[cfg(test)]\nmod testing;"),
            (
                "a",
                "#[cfg(test)]\nuse crate::b::{B};\nstruct A { #[cfg(test)] b: crate::b::B, c: u8 }\n\
                 #[cfg(test)]\n#[allow(unused)]\nimpl A { fn b() { crate::b::f() } }\n\
                 #[cfg(not(test))]\nfn g() { crate::b::g() }\n\
                 #[cfg(test)]\nmod tests { use crate::b::C; }",
            ),
            ("b", "pub struct B;"),
            ("testing", "use crate::b::B;"),
        ]);
        assert_eq!(found, ["a -> b: g"]);
    }

    #[test]
    fn inline_modules_belong_to_their_file_and_paths_name_files() {
        let found = edges(&[
            (
                "lib",
                "mod a { pub(in crate::b) struct A; use super::b::B; }\n#[path = \"x/y.rs\"]\nmod b;",
            ),
            ("x/y", "mod z;\npub struct B;\nuse crate::a::A;"),
            ("x/z", "use super::B;"),
        ]);
        assert_eq!(found, ["lib -> x/y: B", "x/y -> lib: A", "x/z -> x/y: B"]);
    }
}
