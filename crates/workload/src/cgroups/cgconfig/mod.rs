//! libcgroup's `cgconfig.conf`, as `cgconfigparser` reads it (2.0.2; `systemd` is 3.x's).
//!
//! ```text
//! group daemons/www {
//!     cpu { cpu.shares = "500"; cpu.cfs_quota_us = 50000; }
//! }
//! template students/%u { cpu { cpu.shares = 256; } }
//! ```
//!
//! Groups become [`GroupSettings`], their parameters written in the order in which they stand.
//! Templates are kept: a group of a rule such as `@students cpu students/%u` gets the settings of
//! the template of the same name ([`CgConfig::template`]). Mounts, owners and modes, and
//! controllers that have no say in scheduling, have no effect; the notes say so.

mod grammar;
mod token;

pub(crate) use grammar::SECTIONS;

pub use super::settings::Template;

use super::Version;
use super::path::normal_path;
use super::settings::{Entry, GroupSettings, Note};
use super::text::Text;
use crate::diagnostic::Diagnostic;
use grammar::Named;

/// A file of groups.
#[derive(Clone, Debug, Default)]
pub struct CgConfig {
    settings: GroupSettings,
    templates: Vec<Template>,
}

impl CgConfig {
    /// The groups. (What does not go together is found by
    /// [`GroupPlan::new`](super::GroupPlan::new).)
    pub fn settings(&self) -> &GroupSettings {
        &self.settings
    }

    /// The groups and the templates. The notes say that these have no effect, until rules ask for
    /// them.
    pub fn into_settings(self) -> GroupSettings {
        let mut settings = self.settings;
        settings.notes.extend(self.templates.iter().map(|template| template.unused.clone()));
        settings.templates = self.templates;
        settings
    }

    /// The template called `path`, e.g. `students/%u`. If there are several, the last.
    pub fn template(&self, path: &str) -> Option<&Template> {
        let path = normal_path(path).ok()?;
        self.templates.iter().rev().find(|template| template.path == path)
    }
}

/// Reads a file.
///
/// # Errors
/// The first thing in it that cannot be understood.
pub fn parse(file: &str, text: &str) -> Result<CgConfig, Diagnostic> {
    let text = Text::new(file, text)?;
    let read = grammar::read(&text)?;
    // Templates first go the way of groups, so that one version is found for all of the file.
    let mut settings = read.settings;
    settings.settle_version(Version::V1);
    let mut config = CgConfig::default();
    let mut entries = std::mem::take(&mut settings.entries).into_iter();
    for (template, count) in read.sections {
        let here = entries.by_ref().take(count);
        match template {
            None => settings.entries.extend(here),
            Some(Named { path, span }) => config.templates.push(Template {
                unused: Note::new(
                    &text,
                    span,
                    format!(
                        "the template `{path}` has no effect: there are no rules that ask for it"
                    ),
                ),
                path,
                settings: here.filter_map(|Entry { setting, .. }| setting).collect(),
            }),
        }
    }
    config.settings = settings;
    Ok(config)
}

#[cfg(test)]
mod tests;
