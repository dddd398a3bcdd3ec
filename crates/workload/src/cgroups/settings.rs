//! Settings of groups from files and options, in the order written.

use super::parameter;
use super::text::{Fault, Text};
use super::write::{Version, Write};
use crate::diagnostic::{Diagnostic, Span};
use crate::group_path::{is_within, normal_path};
use std::fmt;
use std::sync::Arc;

/// Settings of groups from files or the command line. A later value counts, as when it is written
/// later to the same file of the kernel.
#[derive(Clone, Debug, Default)]
pub struct GroupSettings {
    pub(super) entries: Vec<Entry>,
    pub(super) notes: Vec<Note>,
    /// Settings of groups that rules create.
    pub(super) templates: Vec<Template>,
}

/// A group, with or without a value to write.
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
    /// Version of the name. `None` only while its file is being read, if both versions have the
    /// name.
    pub version: Option<Version>,
    pub write: Write,
    /// Its position. `None`: it comes from a program.
    pub spot: Option<(Text, Span)>,
}

/// A setting that has no effect here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    file: Arc<str>,
    line: u32,
    text: String,
}

/// Settings of groups of one kind at their creation.
#[derive(Clone, Debug)]
pub struct Template {
    /// A normal path with placeholders such as `%u`.
    pub(super) path: String,
    pub(super) settings: Vec<Setting>,
    /// Note that it has no effect without rules.
    pub(super) unused: Note,
}

impl GroupSettings {
    /// Adds the settings of `other`, which take precedence.
    pub fn add(&mut self, other: GroupSettings) {
        self.entries.extend(other.entries);
        self.notes.extend(other.notes);
        self.templates.extend(other.templates);
    }

    /// Returns a group without settings; `path` is a normal path.
    pub(super) fn of_group(path: &str) -> GroupSettings {
        let mut settings = GroupSettings::default();
        settings.group(&path.into());
        settings
    }

    /// Whether a group, for example `/tg1/tg11`, or a descendant of it is named here. The root is
    /// always named.
    pub fn names(&self, path: &str) -> bool {
        path.is_empty() || self.entries.iter().any(|entry| is_within(&entry.path, path))
    }

    /// Returns the notes, except those on settings of groups (see
    /// [`Group::notes`](super::Group::notes)).
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    pub(super) fn note(&mut self, text: &Text, span: Span, message: impl Into<String>) {
        self.notes.push(Note::new(text, span, message));
    }

    /// Adds a group without settings.
    pub(super) fn group(&mut self, path: &Arc<str>) {
        self.entries.push(Entry { path: path.clone(), setting: None });
    }

    pub(super) fn set(&mut self, path: &Arc<str>, setting: Setting) {
        self.entries.push(Entry { path: path.clone(), setting: Some(setting) });
    }

    /// Determines the version of all settings, which come from one file. Names that both versions
    /// have belong to the version of the file's other names. If those are of both versions or of
    /// none, they belong to `otherwise`.
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
    /// Reads a value for the file `name`; both have spans.
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
            let fault = Fault::new(format!("the root group has no `{name}`"));
            return Err(fault.at(text, name_span, path));
        }
        Ok(Setting { name: name.into(), version, write, spot: Some((text.clone(), name_span)) })
    }

    /// Returns the error that it cannot be written to the group `path` in its current state.
    pub fn refused(&self, path: &str, fault: Fault) -> Diagnostic {
        match &self.spot {
            Some((text, span)) => fault.at(text, *span, path),
            None => {
                Diagnostic::without_source("groups", path, fault.message).with_help_if(fault.help)
            }
        }
    }

    /// Returns the note that it is not simulated, if so.
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
    /// Returns its path, for example `/students/%u`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns a group `path` of this kind, for example `/students/anna`, or an empty result if
    /// that is not a path.
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

    /// Returns the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the line, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Returns the setting that has no effect, and the reason.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}
