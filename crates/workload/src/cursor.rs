//! A position in a file that has been read. Values are taken from it with their types and ranges
//! checked.

use crate::diagnostic::{Diagnostic, Source, Span};
use crate::json::{Kind, Member, Value};
use std::ops::RangeInclusive;

/// A value, the path to it, and the file that contains it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    source: Source<'a>,
    parent: Option<&'a Cursor<'a>>,
    key: &'a str,
    key_span: Span,
    value: &'a Value,
}

impl<'a> Cursor<'a> {
    /// Returns the whole file.
    pub fn root(source: Source<'a>, value: &'a Value) -> Cursor<'a> {
        Cursor { source, parent: None, key: "", key_span: value.span, value }
    }

    /// Returns a member of the object at the cursor.
    pub fn member<'b>(&'b self, member: &'b Member) -> Cursor<'b> {
        Cursor {
            source: self.source,
            parent: Some(self),
            key: &member.key,
            key_span: member.key_span,
            value: &member.value,
        }
    }

    /// Returns an item of the array at the cursor.
    pub fn item<'b>(&'b self, item: &'b Value) -> Cursor<'b> {
        Cursor {
            source: self.source,
            parent: Some(self),
            key: "",
            key_span: item.span,
            value: item,
        }
    }

    /// Returns the key of the value.
    pub fn key(&self) -> &'a str {
        self.key
    }

    /// Returns the value.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// Returns the name of the file.
    pub fn file(&self) -> &'a str {
        self.source.name
    }

    fn path(&self) -> String {
        let mut path = self.parent.map_or_else(String::new, Cursor::path);
        if !self.key.is_empty() {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(self.key);
        }
        path
    }

    /// Returns an error at the value.
    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        self.source.error(self.value.span, self.path(), message)
    }

    /// Returns an error at the key.
    pub fn key_error(&self, message: impl Into<String>) -> Diagnostic {
        self.source.error(self.key_span, self.path(), message)
    }

    /// Returns the error that the value is not `wanted`.
    fn unexpected(&self, wanted: &str) -> Diagnostic {
        let found = match &self.value.kind {
            Kind::Null => "null".into(),
            Kind::Bool(value) => value.to_string(),
            Kind::Integer(_) | Kind::Number => self.text().into(),
            Kind::String(_) => "a string".into(),
            Kind::Array(_) => "an array".to_string(),
            Kind::Object(_) => "an object".into(),
        };
        let name = if self.key.is_empty() { "this".into() } else { format!("`{}`", self.key) };
        self.error(format!("{name} must be {wanted}, found {found}"))
    }

    /// Returns the value as written.
    pub fn text(&self) -> &'a str {
        &self.source.text[self.value.span.start as usize..self.value.span.end as usize]
    }

    /// Returns the members of an object.
    pub fn object(&self) -> Result<&'a [Member], Diagnostic> {
        match &self.value.kind {
            Kind::Object(members) => Ok(members),
            _ => Err(self.unexpected("an object")),
        }
    }

    /// Returns the items of an array.
    pub fn array(&self) -> Result<&'a [Value], Diagnostic> {
        match &self.value.kind {
            Kind::Array(items) => Ok(items),
            _ => Err(self.unexpected("an array")),
        }
    }

    /// Returns a string.
    pub fn string(&self) -> Result<&'a str, Diagnostic> {
        match &self.value.kind {
            Kind::String(text) => Ok(text),
            _ => Err(self.unexpected("a string")),
        }
    }

    /// Returns a string that is not empty: a name.
    pub fn name(&self) -> Result<&'a str, Diagnostic> {
        match self.string()? {
            "" => Err(self.error(format!("`{}` must name something, found \"\"", self.key))),
            name => Ok(name),
        }
    }

    /// Returns true or false.
    pub fn boolean(&self) -> Result<bool, Diagnostic> {
        match self.value.kind {
            Kind::Bool(value) => Ok(value),
            _ => Err(self.unexpected("true or false")),
        }
    }

    /// Returns a whole number within `range`. `what` names the counted items, for example "a whole
    /// number of microseconds".
    pub fn integer(&self, what: &str, range: RangeInclusive<i64>) -> Result<i64, Diagnostic> {
        match self.value.kind {
            Kind::Integer(value) if range.contains(&value) => Ok(value),
            Kind::Integer(_) => Err(self.unexpected(&format!("{what} {}", range_text(&range)))),
            Kind::Number => Err(self
                .unexpected(&format!("{what} {}", range_text(&range)))
                .with_help("no fraction, no exponent")),
            _ => Err(self.unexpected(what)),
        }
    }

    /// Does the same as [`integer`](Cursor::integer), for ranges within u32.
    pub fn small(&self, what: &str, range: RangeInclusive<u32>) -> Result<u32, Diagnostic> {
        let range = i64::from(*range.start())..=i64::from(*range.end());
        Ok(self.integer(what, range)? as u32)
    }

    /// Returns the member with the key `key`. If there are several, returns the last.
    pub fn find(&self, key: &str) -> Result<Option<&'a Member>, Diagnostic> {
        Ok(self.object()?.iter().rev().find(|member| &*member.key == key))
    }
}

fn range_text(range: &RangeInclusive<i64>) -> String {
    match (*range.start(), *range.end()) {
        (min, i64::MAX) => format!("from {min} up"),
        (min, max) => format!("from {min} to {max}"),
    }
}
