//! Paths of groups.

use std::collections::HashMap;

/// Weight of a group that has not been set, as `cpu.shares`.
pub const SHARES_DEFAULT: u64 = 1024;

/// Maximum depth of nested groups.
const DEPTH_MAX: usize = 32;

/// Whether `path` is `group` or below it. The root is the empty path.
pub fn is_within(path: &str, group: &str) -> bool {
    path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Paths in the order of their first mention, each after its ancestors.
#[derive(Debug, Default)]
pub(crate) struct PathList {
    paths: Vec<String>,
    index: HashMap<String, usize>,
}

impl PathList {
    /// Adds a normal path and its ancestors, if they are new. The root is not included.
    pub fn add(&mut self, path: &str) {
        if path.is_empty() || self.index.contains_key(path) {
            return;
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.add(above);
        }
        self.index.insert(path.into(), self.paths.len());
        self.paths.push(path.into());
    }

    /// Returns the index of a path in the list.
    pub fn place(&self, path: &str) -> Option<usize> {
        self.index.get(path).copied()
    }

    /// Returns the paths.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    pub fn into_paths(self) -> Vec<String> {
        self.paths
    }
}

/// Returns the path in normal form (a slash before every name, none at the end; `""` is the root),
/// or an error message.
pub(crate) fn normal_path(text: &str) -> Result<String, String> {
    let mut path = String::new();
    let mut depth = 0;
    for name in text.split('/').filter(|name| !name.is_empty()) {
        if name == "." || name == ".." {
            return Err(format!("a group cannot be called `{name}`"));
        }
        if name.chars().any(char::is_control) {
            return Err("a group's name cannot contain control characters".into());
        }
        path.push('/');
        path.push_str(name);
        depth += 1;
    }
    if depth > DEPTH_MAX {
        return Err(format!("groups can be nested at most {DEPTH_MAX} deep"));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_first() {
        let mut list = PathList::default();
        list.add("/a/b/c");
        list.add("/a/d");
        list.add("");
        assert_eq!(list.place("/a/b"), Some(1));
        assert_eq!(list.into_paths(), ["/a", "/a/b", "/a/b/c", "/a/d"]);
    }

    #[test]
    fn paths_have_one_form() {
        assert_eq!(normal_path("a//b/").unwrap(), "/a/b");
        assert_eq!(normal_path("/").unwrap(), "");
        assert_eq!(normal_path("/a/../b").unwrap_err(), "a group cannot be called `..`");
        assert!(normal_path(&"/x".repeat(32)).is_ok());
        assert!(normal_path(&"/x".repeat(33)).is_err());
    }
}
