//! YAML as a tree of nodes with their lines: [`documents`].

use saphyr_parser::{Event, Parser};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Maximum depth of a document.
const DEPTH_MAX: usize = 100;

/// A node.
pub(super) struct Node {
    /// Line on which it begins, from 1.
    pub line: usize,
    pub value: Value,
}

/// Value of a node.
pub(super) enum Value {
    /// A scalar, as text.
    Scalar(String),
    List(Vec<Rc<Node>>),
    /// Keys that are scalars, with their values.
    Map(Vec<(String, Rc<Node>)>),
}

/// A list or a map that is being read.
struct Open {
    node: Node,
    anchor: usize,
    /// Key of a map whose value follows. `None`: a key follows.
    key: Option<String>,
}

/// Reads all documents. Errors name the line.
pub(super) fn documents(text: &str) -> Result<Vec<Rc<Node>>, (usize, String)> {
    let mut documents = vec![];
    let mut open: Vec<Open> = vec![];
    let mut anchors: HashMap<usize, Rc<Node>> = HashMap::new();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| (error.marker().line().max(1), error.info().to_string()))?;
        let line = span.start.line();
        let (node, anchor) = match event {
            Event::Scalar(text, _, anchor, _) => {
                let value = Value::Scalar(text.into_owned());
                (Rc::new(Node { line, value }), anchor)
            }
            Event::Alias(anchor) => match anchors.get(&anchor) {
                Some(node) => (node.clone(), 0),
                None => return Err((line, "an alias refers to a node that contains it".into())),
            },
            Event::SequenceStart(anchor, ..) | Event::MappingStart(anchor, ..) => {
                if open.len() == DEPTH_MAX {
                    return Err((line, format!("nested more than {DEPTH_MAX} deep")));
                }
                let value = match event {
                    Event::SequenceStart(..) => Value::List(vec![]),
                    _ => Value::Map(vec![]),
                };
                open.push(Open { node: Node { line, value }, anchor, key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open { node, anchor, .. }) => (Rc::new(node), anchor),
                None => continue,
            },
            Event::DocumentEnd => {
                anchors.clear();
                continue;
            }
            _ => continue,
        };
        if anchor > 0 {
            anchors.insert(anchor, node.clone());
        }
        let Some(Open { node: parent, key, .. }) = open.last_mut() else {
            documents.push(node);
            continue;
        };
        match (&mut parent.value, key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some(key)) => {
                if key != "<<" && entries.iter().any(|(known, _)| *known == key) {
                    return Err((line, format!("the key `{key}` stands twice in one map")));
                }
                entries.push((key, node));
            }
            (Value::Map(_), None) => match &node.value {
                Value::Scalar(text) => *key = Some(text.clone()),
                _ => return Err((line, "a key that is no scalar".into())),
            },
            (Value::Scalar(_), _) => {}
        }
    }
    Ok(documents)
}

impl Node {
    /// Returns the value of a key, which may come from a merged map (`<<: *other`).
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.find(key, &mut HashSet::new())
    }

    /// Like `get`. `seen`: nodes without the key; maps may be merged many times.
    fn find<'a>(&'a self, key: &str, seen: &mut HashSet<*const Node>) -> Option<&'a Node> {
        if !seen.insert(self) {
            return None;
        }
        let Value::Map(entries) = &self.value else { return None };
        let own = entries.iter().find(|(name, _)| name == key);
        if let Some((_, node)) = own {
            return Some(node);
        }
        let merged = entries.iter().filter(|(name, _)| name == "<<");
        let mut all = merged.flat_map(|(_, node)| match &node.value {
            Value::List(items) => items.iter().collect(),
            _ => vec![node],
        });
        all.find_map(|node| node.find(key, seen))
    }

    /// Returns the node at the end of a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the text of a scalar that is not null.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) if !matches!(text.as_str(), "" | "~" | "null") => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list; none if it is no list.
    pub fn items(&self) -> &[Rc<Node>] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the entries of a map; none if it is no map.
    pub fn entries(&self) -> &[(String, Rc<Node>)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }
}
