//! Rules applied to a whole workload.

use super::super::cgconfig::Template;
use super::super::settings::{GroupSettings, Note};
use super::super::text::Fault;
use super::super::users::Users;
use super::{Move, Process, Rules, Verdict};
use crate::diagnostic::Diagnostic;
use crate::group_path::normal_path;
use crate::model::Model;

/// Controllers by which a task's group is chosen: a rule for the first of them counts.
const CONTROLLERS: [&str; 4] = ["cpu", "cpuset", "cpuacct", "freezer"];

impl Rules {
    /// Assigns the tasks of `model` to groups at their creation, as cgrulesengd does when a program
    /// is executed. The name of a process is its task's key, and its number is the task's index,
    /// from 1. Groups of templates are added to `settings`.
    ///
    /// # Errors
    /// If a task belongs in a group that does not exist.
    pub fn place(
        &self,
        model: &mut Model,
        users: &Users,
        settings: &mut GroupSettings,
    ) -> Result<(), Diagnostic> {
        let accounts = users.accounts();
        settings.notes.extend(self.notes(&accounts));
        let known = model.group_paths();
        let mut made: Vec<String> = Vec::new();
        for (task, pid) in model.tasks.iter_mut().zip(1..) {
            let user = users.user_of(&task.key);
            let process = Process { user: &user.name, group: None, name: &task.key, pid };
            let verdict = self.classify(&accounts, process)?;
            let to = CONTROLLERS.iter().find_map(|controller| verdict.destination(controller));
            let Some(to) = to else { continue };
            if let Verdict::Move(moves) = &verdict {
                self.note_other_groups(moves, to, settings);
            }
            let exists =
                settings.names(&to.path) || known.contains(&to.path) || made.contains(&to.path);
            if !exists {
                self.make(to, &task.key, settings)?;
                made.push(to.path.clone());
            }
            task.properties.taskgroup = (!to.path.is_empty()).then(|| to.path.clone());
        }
        Ok(())
    }

    /// Creates a missing group from its template.
    fn make(&self, to: &Move, task: &str, settings: &mut GroupSettings) -> Result<(), Diagnostic> {
        let template = to.template.as_ref();
        let found = template.and_then(|path| {
            settings.templates.iter().rev().find(|template| template.path() == path).cloned()
        });
        if let Some(template) = found {
            settings.notes.retain(|note| *note != template.unused);
            settings.add(Template::settings(&template, &to.path));
            return Ok(());
        }
        if template.is_some() {
            settings.add(GroupSettings::of_group(&to.path));
            return Ok(());
        }
        let fault = Fault::new(format!(
            "the rule puts `{task}` in `{}`, and there is no such group",
            to.path
        ))
        .with_help(format!("create it: `--group {}`, or in a file of groups", to.path));
        let named = self.rules.iter().flat_map(|rule| &rule.moves);
        let mut here =
            named.filter(|other| normal_path(&other.destination).is_ok_and(|path| path == to.path));
        let span = here.next().map(|other| other.span).unwrap_or_default();
        Err(fault.at(&self.text, span, task))
    }

    /// Notes rules for other groups. Here a task is in one group, for all controllers.
    fn note_other_groups(&self, moves: &[Move], to: &Move, settings: &mut GroupSettings) {
        for other in moves.iter().filter(|other| other.path != to.path) {
            let names = other.controllers.join(",");
            let span = self.rules.iter().flat_map(|rule| &rule.moves);
            let span =
                span.filter(|it| it.controllers == other.controllers).map(|it| it.span).next();
            let message = format!(
                "`{}` for {names} has no effect: a task is in one group here, `{}`",
                other.path, to.path
            );
            let note = Note::new(&self.text, span.unwrap_or_default(), message);
            if !settings.notes.contains(&note) {
                settings.notes.push(note);
            }
        }
    }
}
