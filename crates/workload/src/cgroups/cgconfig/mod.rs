//! libcgroup's `cgconfig.conf`, as `cgconfigparser` reads it (2.0.2; `systemd` is 3.x's).
//!
//! ```text
//! group daemons/www {
//!     cpu { cpu.shares = "500"; cpu.cfs_quota_us = 50000; }
//! }
//! template students/%u { cpu { cpu.shares = 256; } }
//! ```
//!
//! Groups become [`GroupSettings`], with their parameters in the order written. Templates are kept:
//! a group of a rule such as `@students cpu students/%u` gets the settings of the template of the
//! same name ([`CgConfig::template`]). Mounts, owners and modes, and controllers that do not affect
//! scheduling, have no effect. The notes report them.

mod grammar;
mod token;

pub(crate) use grammar::SECTIONS;

pub use super::settings::Template;

use super::Version;
use super::settings::{Entry, GroupSettings, Note};
use super::text::Text;
use crate::diagnostic::Diagnostic;
use crate::group_path::normal_path;
use grammar::TemplateName;

/// A file of groups.
#[derive(Clone, Debug, Default)]
pub struct CgConfig {
    settings: GroupSettings,
    templates: Vec<Template>,
}

impl CgConfig {
    /// Returns the groups. (Conflicts are found by [`GroupPlan::new`](super::GroupPlan::new).)
    pub fn settings(&self) -> &GroupSettings {
        &self.settings
    }

    /// Returns the groups and the templates. The notes report that templates have no effect, until
    /// rules use them.
    pub fn into_settings(self) -> GroupSettings {
        let mut settings = self.settings;
        settings.notes.extend(self.templates.iter().map(|template| template.unused.clone()));
        settings.templates = self.templates;
        settings
    }

    /// Returns the template called `path`, for example `students/%u`. If there are several, the
    /// last.
    pub fn template(&self, path: &str) -> Option<&Template> {
        let path = normal_path(path).ok()?;
        self.templates.iter().rev().find(|template| template.path == path)
    }
}

/// Reads a file.
///
/// # Errors
/// The first error in it.
pub fn parse(file: &str, text: &str) -> Result<CgConfig, Diagnostic> {
    let text = Text::new(file, text)?;
    let read = grammar::read(&text)?;
    // Templates are first read like groups, so that one version is found for the whole file.
    let mut settings = read.settings;
    settings.settle_version(Version::V1);
    let mut config = CgConfig::default();
    let mut entries = std::mem::take(&mut settings.entries).into_iter();
    for (template, count) in read.sections {
        let here = entries.by_ref().take(count);
        match template {
            None => settings.entries.extend(here),
            Some(TemplateName { path, span }) => config.templates.push(Template {
                unused: Note::new(
                    &text,
                    span,
                    format!("the template `{path}` has no effect: no rule uses it"),
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
