//! One point of a walk: [`Point`].

use schedlab_lab::Error;
use schedlab_lab::explain::Side;
use schedlab_lab::plan::{Contender, Load, Plan, Prepared};
use schedlab_lab::scx;
use schedlab_lab::select::Choice;
use schedlab_lab::settings::{Setting, in_brackets};
use std::fmt;

/// The difference between a point and the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Way {
    /// It is the first point.
    Start,
    /// Another release.
    Release,
    /// Another value of a setting, by its name.
    Setting(String),
}

/// A point of a walk: a release with settings.
pub struct Point {
    /// The scheduler and its release.
    pub choice: Choice,
    /// Its settings.
    pub set: Vec<Setting>,
    /// How it differs from the point before.
    pub way: Way,
    /// The load, ready to run, or the reason why this point cannot run it.
    prepared: Result<Box<(Prepared, Contender)>, Error>,
}

impl fmt::Display for Point {
    /// Writes the point as users write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.choice, in_brackets(&self.set))
    }
}

impl Point {
    pub(super) fn new(plan: &Plan, choice: &Choice, set: &[Setting], way: Way) -> Point {
        let prepared = prepare(plan, choice, set).map(Box::new);
        Point { choice: choice.clone(), set: set.to_vec(), way, prepared }
    }

    /// Returns the load and its column. `None`: it cannot run here.
    pub fn side(&self) -> Option<Side<'_>> {
        self.prepared.as_ref().ok().map(|both| (&both.0, &both.1))
    }

    /// Returns the reason why the load cannot run here, if it cannot.
    pub fn refusal(&self) -> Option<&Error> {
        self.prepared.as_ref().err()
    }

    /// Checks that the load can run at this point, which the user named as `end`.
    ///
    /// # Errors
    /// It cannot. The message states where the fault is: in the load, or at this end.
    pub(super) fn check(&self, end: &str) -> Result<(), String> {
        match self.refusal() {
            None => Ok(()),
            Some(fault @ (Error::Diagnostic(_) | Error::Machine(_))) => Err(fault.to_string()),
            Some(other) => Err(format!("{end}: {other}")),
        }
    }
}

/// Prepares a load for one scheduler.
pub(super) fn prepare(
    plan: &Plan,
    choice: &Choice,
    set: &[Setting],
) -> Result<(Prepared, Contender), Error> {
    // A benchmark takes tunables, but not as part of a scheduler's name.
    let is_workload = matches!(plan.load, Load::Workload(_));
    let in_name = |it: &&Setting| is_workload || it.tunable().is_none();
    let named: Vec<Setting> = set.iter().filter(in_name).cloned().collect();
    let name = scx::written(choice, &named);
    let plan = Plan { schedulers: vec![name], ..plan.clone() };
    let prepared = plan.prepare()?;
    let [one] = prepared.schedulers() else {
        let why = "a setting with several values makes several columns; give one value";
        return Err(Error::Plan(why.into()));
    };
    let mut one = one.clone();
    if !is_workload {
        let tunables = set.iter().filter_map(Setting::tunable);
        one.tunables.extend(tunables.map(|(name, value)| (name.to_string(), value)));
        prepared.check_settings(&one)?;
    }
    Ok((prepared, one))
}
