//! An error in a model, with its position there: [`ModelError`], before its line in a file is
//! known.

use crate::diagnostic::Diagnostic;
use crate::model::Model;

/// A position in a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub task: Option<usize>,
    pub phase: Option<usize>,
    pub spot: Spot,
}

/// Part of a task or phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// The task or phase as a whole.
    Whole,
    /// A property or other key.
    Key(&'static str),
    /// An event, by its number.
    Event(usize),
}

impl Place {
    pub fn task(task: usize, spot: Spot) -> Place {
        Place { task: Some(task), phase: None, spot }
    }

    pub fn phase(task: usize, phase: usize, spot: Spot) -> Place {
        Place { task: Some(task), phase: Some(phase), spot }
    }

    pub fn event(task: usize, phase: usize, event: usize) -> Place {
        Place::phase(task, phase, Spot::Event(event))
    }
}

/// An error in a model.
#[derive(Debug)]
pub struct ModelError {
    pub place: Place,
    pub message: String,
    pub help: Option<String>,
}

impl ModelError {
    pub fn new(place: Place, message: impl Into<String>) -> ModelError {
        ModelError { place, message: message.into(), help: None }
    }

    pub fn with_help(mut self, help: impl Into<String>) -> ModelError {
        self.help = Some(help.into());
        self
    }

    pub fn with_help_if(mut self, help: Option<String>) -> ModelError {
        self.help = help;
        self
    }

    /// Returns the position in terms of keys, for example `tasks.video.phases.decode.run0`.
    pub fn path(&self, model: &Model) -> String {
        let Some(task) = self.place.task.and_then(|task| model.tasks.get(task)) else {
            return "tasks".into();
        };
        let mut path = format!("tasks.{}", task.key);
        let phase = self.place.phase.and_then(|phase| task.phases.get(phase));
        if let Some(phase) = phase
            && !task.flat
        {
            path += &format!(".phases.{}", phase.name);
        }
        match self.place.spot {
            Spot::Whole => {}
            Spot::Key(key) => path += &format!(".{key}"),
            Spot::Event(event) => {
                if let Some(event) = phase.and_then(|phase| phase.events.get(event)) {
                    path += &format!(".{}", event.key);
                }
            }
        }
        path
    }

    pub fn without_source(self, model: &Model) -> Diagnostic {
        Diagnostic::without_source(&model.name, &self.path(model), self.message.clone())
            .with_help_if(self.help)
    }
}
