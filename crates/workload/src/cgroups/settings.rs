//! What files and options say about groups, in the order in which they say it.

use super::parameter;
use super::path::normal_path;
use super::text::{Fault, Text};
use super::write::{Version, Write};
use crate::diagnostic::{Diagnostic, Span};
use std::fmt;
use std::sync::Arc;

/// What files or the command line say about groups. A later value counts, as when it is written to
/// the same file of the kernel later.
#[derive(Clone, Debug, Default)]
pub struct GroupSettings {
    pub(super) entries: Vec<Entry>,
    pub(super) notes: Vec<Note>,
    /// What groups of a kind get when rules ask for them.
    pub(super) templates: Vec<Template>,
}

/// A group that is to be, with a value to write or without.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// A normal path; `""` is the root.
    pub path: Arc<str>,
    pub setting: Option<Setting>,
}

/// A value to be written to a file of a group.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub name: Arc<str>,
    /// Whose name it is. None only while its file is being read, if it is both versions' name.
    pub version: Option<Version>,
    pub write: Write,
    /// Where it stands. None: a program says so.
    pub spot: Option<(Text, Span)>,
}

/// Something that was read and has no effect here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    file: Arc<str>,
    line: u32,
    text: String,
}

/// What groups of a kind get when they are made.
#[derive(Clone, Debug)]
pub struct Template {
    /// A normal path in which `%u` and the like stand for something.
    pub(super) path: String,
    pub(super) settings: Vec<Setting>,
    /// That it has no effect where there are no rules.
    pub(super) unused: Note,
}

impl GroupSettings {
    /// Adds what `other` says; where both speak, `other` counts.
    pub fn add(&mut self, other: GroupSettings) {
        self.entries.extend(other.entries);
        self.notes.extend(other.notes);
        self.templates.extend(other.templates);
    }

    /// A group without settings; `path` is a normal path.
    pub(super) fn of_group(path: &str) -> GroupSettings {
        let mut settings = GroupSettings::default();
        settings.group(&path.into());
        settings
    }

    /// Whether a group, e.g. `/tg1/tg11`, is named here, or one below it. The root always is.
    pub fn names(&self, path: &str) -> bool {
        path.is_empty()
            || self.entries.iter().any(|entry| {
                entry
                    .path
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }

    /// What was read and has no effect, apart from settings of groups (see
    /// [`Group::notes`](super::Group::notes)).
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    pub(super) fn note(&mut self, text: &Text, span: Span, message: impl Into<String>) {
        self.notes.push(Note::new(text, span, message));
    }

    /// A group without settings.
    pub(super) fn group(&mut self, path: &Arc<str>) {
        self.entries.push(Entry { path: path.clone(), setting: None });
    }

    pub(super) fn set(&mut self, path: &Arc<str>, setting: Setting) {
        self.entries.push(Entry { path: path.clone(), setting: Some(setting) });
    }

    /// The settings read so far are of one file: names that both versions have are of the version
    /// that its other names are of; if they are of both or none, of `otherwise`.
    pub(super) fn settle_version(&mut self, otherwise: Version) -> Version {
        let version = {
            let settings = || self.entries.iter().filter_map(|entry| entry.setting.as_ref());
            let any = |version| settings().any(|setting| setting.version == Some(version));
            match (any(Version::V1), any(Version::V2)) {
                (true, false) => Version::V1,
                (false, true) => Version::V2,
                _ => otherwise,
            }
        };
        for setting in self.entries.iter_mut().filter_map(|entry| entry.setting.as_mut()) {
            setting.version.get_or_insert(version);
        }
        version
    }
}

impl Setting {
    /// Reads a value for the file `name`, which stand at the two spans.
    pub fn read(
        text: &Text,
        path: &str,
        (name, name_span): (&str, Span),
        (value, value_span): (&str, Span),
    ) -> Result<Setting, Diagnostic> {
        let found = parameter::find(name).map_err(|fault| fault.at(text, name_span, path))?;
        let (version, write) = match found {
            Some(parameter) => {
                let write = parameter.read(value);
                (parameter.version, write.map_err(|fault| fault.at(text, value_span, path))?)
            }
            None => (None, Write::Noted("its controller is not simulated")),
        };
        if path.is_empty() && !matches!(write, Write::Noted(_) | Write::Nothing) {
            let fault = Fault::new(format!("the root group has no `{name}` to write to"));
            return Err(fault.at(text, name_span, path));
        }
        Ok(Setting { name: name.into(), version, write, spot: Some((text.clone(), name_span)) })
    }

    /// The error that this cannot be written to the group `path` as it is.
    pub fn refused(&self, path: &str, fault: Fault) -> Diagnostic {
        match &self.spot {
            Some((text, span)) => fault.at(text, *span, path),
            None => {
                Diagnostic::without_source("groups", path, fault.message).with_help_if(fault.help)
            }
        }
    }

    /// The note that this is not simulated, if so.
    pub fn note(&self) -> Option<Note> {
        match (&self.write, &self.spot) {
            (Write::Noted(why), Some((text, span))) => {
                Some(Note::new(text, *span, format!("`{}` has no effect: {why}", self.name)))
            }
            _ => None,
        }
    }
}

impl Template {
    /// Its path, e.g. `/students/%u`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A group `path` of this kind, e.g. `/students/anna`. Empty if that is no path.
    pub fn settings(&self, path: &str) -> GroupSettings {
        let mut settings = GroupSettings::default();
        if let Ok(path) = normal_path(path) {
            let path: Arc<str> = path.into();
            settings.group(&path);
            for setting in &self.settings {
                settings.set(&path, setting.clone());
            }
        }
        settings
    }
}

impl Note {
    pub(super) fn new(text: &Text, span: Span, message: impl Into<String>) -> Note {
        Note { file: text.name().clone(), line: text.line(span), text: message.into() }
    }

    /// The file it stands in.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// What has no effect, and why.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}
