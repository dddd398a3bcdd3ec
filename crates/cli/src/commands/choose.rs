//! Schedulers as users name them, and the tunables that they set.

use crate::Failure;
use crate::terminal::complain;
use schedlab_core::Tunable;
use schedlab_lab::select::{self, Choice};
use schedlab_machine::costs::CostModel;
use schedlab_machine::description::{self, Description};
use schedlab_workload::close_names;
use std::collections::BTreeSet;
use std::fmt;

/// What was chosen.
pub struct Chosen {
    /// Who.
    pub choice: Choice,
    /// Whether by its own name, rather than as one of many.
    pub named: bool,
}

/// The schedulers that `names` stand for, each once, in the order in which they are named.
pub fn choose(names: &[String]) -> Result<Vec<Chosen>, String> {
    let mut chosen: Vec<Chosen> = vec![];
    for name in names {
        let many = match name.trim() {
            "all" => Some(select::all()),
            "linux" => Some(select::linux()),
            "textbook" => Some(select::textbook()),
            _ => None,
        };
        let named = many.is_none();
        let choices = match many {
            Some(many) => many,
            None => vec![select::find(name.trim()).map_err(|error| error.to_string())?],
        };
        for choice in choices {
            match chosen.iter_mut().find(|other| other.choice == choice) {
                Some(other) => other.named |= named,
                None => chosen.push(Chosen { choice, named }),
            }
        }
    }
    Ok(chosen)
}

/// Those of `chosen` that can run `what`. The others are left out with a note.
///
/// # Errors
/// One that was named cannot, or nobody can.
pub fn those_who_can(
    chosen: &[Chosen],
    what: &str,
    refuses: impl Fn(&Choice) -> Option<String>,
) -> Result<Vec<Choice>, Failure> {
    let mut choices = vec![];
    let mut left_out = LeftOut::default();
    for chosen in chosen {
        match refuses(&chosen.choice) {
            None => choices.push(chosen.choice),
            Some(why) if chosen.named => {
                return Err(Failure::Message(format!(
                    "{} cannot run {what}: {why}",
                    chosen.choice
                )));
            }
            Some(why) => left_out.add(chosen.choice, why),
        }
    }
    if choices.is_empty() {
        return Err(Failure::Message(format!("no scheduler can run {what}: {left_out}")));
    }
    if !left_out.by_reason.is_empty() {
        complain(&format!("note: left out: {left_out}"));
    }
    Ok(choices)
}

/// Schedulers that cannot run a workload, by the reason why.
#[derive(Default)]
struct LeftOut {
    by_reason: Vec<(String, Vec<Choice>)>,
}

impl LeftOut {
    fn add(&mut self, choice: Choice, why: String) {
        match self.by_reason.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, choices)) => choices.push(choice),
            None => self.by_reason.push((why, vec![choice])),
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (why, choices)) in self.by_reason.iter().enumerate() {
            let names: Vec<String> = choices.iter().map(Choice::to_string).collect();
            let separator = if number > 0 { "; " } else { "" };
            write!(f, "{separator}{} ({why})", names.join(", "))?;
        }
        Ok(())
    }
}

/// For each scheduler the settings that it has a tunable for. One that none has is an error; of
/// others it is said who has none.
pub fn tunables_for(
    choices: &[Choice],
    tunables: impl Fn(&Choice) -> Vec<Tunable>,
    set: &[(String, i64)],
) -> Result<Vec<Vec<(String, i64)>>, Failure> {
    if set.is_empty() {
        return Ok(vec![vec![]; choices.len()]);
    }
    let names = |choice: &Choice| tunables(choice).iter().map(|tunable| tunable.name).collect();
    let known: Vec<Vec<&'static str>> = choices.iter().map(names).collect();
    for (name, _) in set {
        let without: Vec<String> = choices
            .iter()
            .zip(&known)
            .filter(|(_, known)| !known.contains(&name.as_str()))
            .map(|(choice, _)| choice.to_string())
            .collect();
        if without.len() == choices.len() {
            return Err(Failure::Message(unknown_tunable(name, choices, &known)));
        }
        if !without.is_empty() {
            complain(&format!("note: {name} is no tunable of {}", without.join(", ")));
        }
    }
    let own = |known: &Vec<&'static str>| {
        let has = |(name, _): &&(String, i64)| known.contains(&name.as_str());
        set.iter().filter(has).cloned().collect()
    };
    Ok(known.iter().map(own).collect())
}

fn unknown_tunable(name: &str, choices: &[Choice], known: &[Vec<&'static str>]) -> String {
    let names: BTreeSet<&'static str> = known.iter().flatten().copied().collect();
    let names: Vec<&'static str> = names.into_iter().collect();
    let of = match choices {
        [one] => one.to_string(),
        _ => "any of the schedulers".into(),
    };
    let close = close_names(name, names.iter().copied());
    let hint = if !close.is_empty() {
        format!("did you mean {}?", close.join(" or "))
    } else if names.is_empty() {
        "there are none".into()
    } else {
        format!("there are {}", names.join(", "))
    };
    format!("{name} is no tunable of {of}; {hint}")
}

/// The machine of that name, or of that file, with its first `cpus` CPUs if so many are asked for;
/// none if all are to be equal.
pub fn machine_of(name: Option<&str>, cpus: Option<u32>) -> Result<Option<Description>, Failure> {
    let machine = match name {
        None | Some(description::IDEAL) => return Ok(None),
        Some(name) => schedlab_lab::machines::find(name).map_err(|error| error.to_string())?,
    };
    Ok(Some(machine.with_first(cpus).map_err(|error| error.to_string())?))
}

/// What things cost on `machine`: as its description says, with the single costs that were set;
/// none if nothing is to cost anything.
pub fn costs_of(
    machine: Option<&Description>,
    no_costs: bool,
    set: &[(String, f64)],
) -> Result<Option<CostModel>, Failure> {
    let mut costs = machine.and_then(|machine| machine.costs.clone()).filter(|_| !no_costs);
    for (name, ns) in set {
        let costs = costs.get_or_insert_default();
        schedlab_lab::machines::set_cost(costs, name, *ns)
            .map_err(|message| format!("--cost {name}: {message}"))?;
    }
    Ok(costs)
}
