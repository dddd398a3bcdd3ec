//! Settings of all points: [`CommonSettings`].

use super::point::{Point, Way, prepare};
use schedlab_lab::plan::{Plan, SetValues};
use schedlab_lab::select::{Choice, Chosen};
use schedlab_lab::settings::{Axis, Setting};

/// The settings that a plan makes for all schedulers. A tunable is set at the points that have it,
/// the others at all points.
pub(super) struct CommonSettings<'a> {
    plan: &'a Plan,
    tunables: Vec<(String, SetValues)>,
    others: Vec<(String, SetValues)>,
    /// The first point without the tunables, by whose machine schedulers are built.
    bare: Point,
}

impl<'a> CommonSettings<'a> {
    /// Returns the settings of `plan`. The user named `first` as `end`.
    ///
    /// # Errors
    /// A setting has several values, or `first` cannot run the load.
    pub fn of(plan: &'a Plan, first: &Chosen, end: &str) -> Result<CommonSettings<'a>, String> {
        for (name, values) in &plan.set {
            let axis = Axis::read(name, &values.to_string());
            if axis.is_ok_and(|axis| axis.values.len() > 1) {
                return Err(format!("--set {name}={values}: several values; give one"));
            }
        }
        let is_tunable = |(name, values): &(String, SetValues)| {
            let axis = Axis::read(name, &values.to_string());
            let is_tunable = |setting: &Setting| setting.tunable().is_some();
            axis.is_ok_and(|axis| axis.values.iter().flatten().any(is_tunable))
        };
        let (tunables, others): (Vec<_>, Vec<_>) = plan.set.iter().cloned().partition(is_tunable);
        let without = Plan { set: others.clone(), ..plan.clone() };
        let bare = Point::new(&without, &first.choice, &first.set, Way::Start);
        bare.check(end)?;
        Ok(CommonSettings { plan, tunables, others, bare })
    }

    /// Whether `choice` has a tunable.
    pub fn has(&self, choice: &Choice, tunable: &str) -> bool {
        let Some((prepared, _)) = self.bare.side() else { return false };
        let settings = match (prepared.experiment(), prepared.sweep()) {
            (Some(experiment), _) => experiment.config.settings_of(choice),
            (None, Some(sweep)) => sweep.bench().config.settings_of(choice),
            (None, None) => vec![],
        };
        settings.iter().any(|known| known.name == tunable)
    }

    /// Returns the plan with those tunables that `choice` has.
    pub fn plan_of(&self, choice: &Choice) -> Plan {
        let known = self.tunables.iter().filter(|(name, _)| self.has(choice, name));
        Plan { set: known.chain(&self.others).cloned().collect(), ..self.plan.clone() }
    }

    /// Returns notes on the tunables that only some of `choices` have.
    ///
    /// # Errors
    /// None has the tunable.
    pub fn notes(&self, choices: &[&Choice]) -> Result<Vec<String>, String> {
        let mut notes = vec![];
        for (name, _) in &self.tunables {
            let lacks = |choice: &&&Choice| !self.has(choice, name);
            let without: Vec<String> =
                choices.iter().filter(lacks).map(|choice| choice.to_string()).collect();
            if without.len() == choices.len() {
                // The plan's own error has hints.
                let why = prepare(self.plan, choices[choices.len() - 1], &[]).err();
                return Err(why.map_or_else(
                    || format!("--set: {name} is not a tunable of these releases"),
                    |why| format!("--set: {why}"),
                ));
            }
            if !without.is_empty() {
                notes.push(format!("{name} is not a tunable of {}", without.join(", ")));
            }
        }
        Ok(notes)
    }
}
