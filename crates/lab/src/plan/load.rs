//! The load of a plan: a workload, a benchmark, or several benchmarks at once.

use super::{Plan, Source};
use crate::bench::Bench;
use crate::config::RunConfig;
use crate::error::Error;
use crate::experiment::{Experiment, cpus_named};
use crate::settings;
use crate::sweep::Sweep;
use schedlab_bench::combined::{self, GivenValues, SETTINGS, setting_name};
use schedlab_bench::{AnyBenchmark, BadValue, Parameter, Value};
use schedlab_core::Policy;
use schedlab_core::topology::CPUS_MAX;
use schedlab_workload::groups::cgrules::{self, Rules};
use schedlab_workload::groups::{self, GroupSettings, Users};
use schedlab_workload::model::Phase;
use schedlab_workload::{Model, Target, Timetable, close_names, rt_app};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Load of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// A workload file in rt-app's language.
    Workload(Source),
    /// A benchmark.
    Benchmark(Benchmark),
    /// Several benchmarks at once.
    Mix(Mix),
}

/// A benchmark with its settings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// Name, e.g. `hackbench`.
    pub name: String,
    /// Parameters that are set, in order. A list makes a sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Setting>,
}

/// A parameter and its value, as a user would write it: `["groups", "25..100:25"]`.
pub type Setting = (String, String);

/// Several benchmarks at once on one machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// The benchmarks.
    pub members: Vec<Member>,
}

/// A benchmark that runs alongside others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Name in the mix. `None`: the name of the benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Name of the benchmark.
    pub name: String,
    /// Parameters that are set, in order: of the benchmark, and of any member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Setting>,
}

impl Load {
    /// Returns the name of the load in messages.
    pub fn name(&self) -> &str {
        match self {
            Load::Workload(source) => &source.file,
            Load::Benchmark(benchmark) => &benchmark.name,
            Load::Mix(_) => "mix",
        }
    }
}

/// Values of a parameter as a [`Setting`].
pub fn setting(name: &str, values: &[Value]) -> Setting {
    let values: Vec<String> = values.iter().map(Value::to_string).collect();
    (name.into(), values.join(","))
}

/// The parsed workload of a plan. With settings it makes an [`Experiment`].
pub(super) struct Loaded {
    model: Model,
    groups: GroupSettings,
    timetable: Timetable,
    config: RunConfig,
}

/// Loads the workload of `plan` from `source`. Also returns notes for the user.
pub(super) fn workload(plan: &Plan, source: &Source) -> Result<(Loaded, Vec<String>), Error> {
    let settings = group_settings(plan)?;
    let timetable = timetable(plan)?;
    let owners = Owners::read(plan)?;
    let mut notes = vec![];
    if owners.are_idle(plan) {
        notes.push("the users of tasks matter only with --cgrules or --user-groups".into());
    }
    let load = |cpus| {
        let target = Target { cpus, limited: plan.limit_ns.is_some() };
        rt_app::load(&source.file, &source.text, &target)
    };
    let mut config = plan.machine.resolve(1)?;
    let mut model = if plan.machine.names_cpus() {
        load(config.cpus)?
    } else {
        let model = load(CPUS_MAX)?;
        config.cpus = cpus_named(&model);
        model
    };
    if !plan.groups.autogroup && model.tasks.iter().any(|task| task.session.is_some()) {
        notes.push("the sessions of tasks matter only with --autogroup".into());
    }
    let groups = owners.place(plan, &mut model, settings)?;
    let config = of_plan(plan, config);
    Ok((Loaded { model, groups, timetable, config }, notes))
}

impl Loaded {
    /// Returns the workload with the settings in `set` that concern tasks and groups.
    ///
    /// # Errors
    /// A task or group does not exist, or cannot have the value.
    pub fn experiment(&self, set: &[settings::Setting]) -> Result<Experiment, Error> {
        let (mut model, mut groups) = (self.model.clone(), self.groups.clone());
        for setting in set {
            if let settings::Setting::Nice { key, nice } = setting {
                renice(&mut model, key, *nice).map_err(Error::Plan)?;
            }
            if let Some((path, option)) = setting.group() {
                self.find_group(path).map_err(Error::Plan)?;
                groups.add(groups::parse_option(&option)?);
            }
        }
        let experiment = Experiment::new(model, &groups, self.config.cpus)?;
        let (mut config, timetable) = (self.config.clone(), self.timetable.clone());
        for setting in set {
            if let settings::Setting::Hz { hz } = setting {
                config.hz = Some(*hz);
            }
        }
        Ok(Experiment { config, timetable, ..experiment })
    }

    /// Checks that there is a group at `path`. A misspelt group would be created without tasks.
    fn find_group(&self, path: &str) -> Result<(), String> {
        let paths = self.model.group_paths();
        if self.groups.names(path) || paths.iter().any(|known| groups::is_within(known, path)) {
            return Ok(());
        }
        let close = close_names(path, paths.iter().map(String::as_str));
        let hint = if !close.is_empty() {
            format!("did you mean {}?", close.join(" or "))
        } else if paths.is_empty() {
            "no task is in a group: use `taskgroup` of a task, or --groups".into()
        } else {
            format!("the groups are {}", paths.join(", "))
        };
        Err(format!("there is no group {path}; {hint}"))
    }
}

/// Sets the initial nice value of the tasks of `key`.
fn renice(model: &mut Model, key: &str, nice: i32) -> Result<(), String> {
    let default_policy = model.global.default_policy;
    let Some(place) = model.tasks.iter().position(|task| task.key == key) else {
        let keys = || model.tasks.iter().map(|task| task.key.as_str());
        let close = close_names(key, keys());
        let hint = match close.as_slice() {
            [] => format!("the tasks are {}", keys().collect::<Vec<_>>().join(", ")),
            close => format!("did you mean {}?", close.join(" or ")),
        };
        return Err(format!("nice:{key}: there is no task \"{key}\"; {hint}"));
    };
    let task = &mut model.tasks[place];
    let policy = task.properties.policy.unwrap_or(default_policy);
    if !matches!(policy, Policy::Other | Policy::Batch) {
        let name = policy.name();
        return Err(format!("nice:{key}: {key} is {name}, for which nice values have no effect"));
    }
    let sets_own =
        |phase: &Phase| phase.properties.policy.is_some() || phase.properties.priority.is_some();
    if let Some(phase) = task.phases.iter().find(|phase| sets_own(phase)) {
        return Err(format!(
            "nice:{key}: its phase \"{}\" itself sets `policy` or `priority`; change it in the \
             workload",
            phase.name
        ));
    }
    task.properties.priority = Some(nice);
    Ok(())
}

/// Returns `config` with the plan's settings that are not part of its machine.
fn of_plan(plan: &Plan, config: RunConfig) -> RunConfig {
    RunConfig {
        limit_ns: plan.limit_ns,
        seed: plan.first_seed(),
        late_starts: plan.late_starts,
        start: plan.start,
        reasons: plan.record.reasons,
        ..config
    }
}

fn group_settings(plan: &Plan) -> Result<GroupSettings, Error> {
    let mut settings = GroupSettings::default();
    for Source { file, text } in &plan.groups.files {
        settings.add(groups::parse(file, text)?);
    }
    for option in &plan.groups.settings {
        settings.add(groups::parse_option(option)?);
    }
    Ok(settings)
}

/// Returns the actions of the files and the single actions, in this order.
fn timetable(plan: &Plan) -> Result<Timetable, Error> {
    let mut timetable = Timetable::default();
    for Source { file, text } in &plan.timetable.files {
        timetable.add(Timetable::parse(file, text)?);
    }
    for action in &plan.timetable.actions {
        timetable.add(Timetable::parse_option(action)?);
    }
    Ok(timetable)
}

/// Users of the tasks, and the rules that refer to users.
struct Owners {
    users: Users,
    rules: Option<Rules>,
}

impl Owners {
    fn read(plan: &Plan) -> Result<Owners, Error> {
        let mut owners = Owners { users: Users::default(), rules: None };
        for Source { file, text } in &plan.groups.user_files {
            owners.users.add(Users::parse(file, text)?);
        }
        for option in &plan.groups.users {
            owners.users.add(Users::parse_option(option)?);
        }
        if let Some(Source { file, text }) = &plan.groups.cgrules {
            owners.rules = Some(cgrules::parse(file, text)?);
        }
        Ok(owners)
    }

    /// Whether nothing depends on the users of tasks.
    fn are_idle(&self, plan: &Plan) -> bool {
        !self.users.is_empty() && self.rules.is_none() && !plan.groups.user_groups
    }

    /// Puts the tasks of `model` into the groups of their users, and adds these groups to
    /// `settings`.
    fn place(
        &self,
        plan: &Plan,
        model: &mut Model,
        settings: GroupSettings,
    ) -> Result<GroupSettings, Error> {
        self.users.check(model)?;
        let mut settings = settings;
        if plan.groups.user_groups {
            if self.rules.is_some() {
                let message = "--user-groups: with --cgrules tasks are in control groups, and \
                               kernels had groups by user or control groups, not both";
                return Err(Error::Plan(message.into()));
            }
            if !plan.groups.files.is_empty() || !model.group_paths().is_empty() {
                let message = "--user-groups: kernels had groups by user or control groups, not \
                               both; leave out --groups and the workload's `taskgroup` (weights: \
                               --group /uid-1000:cpu.shares=512)";
                return Err(Error::Plan(message.into()));
            }
            let mut by_user = groups::place_by_user(model, &self.users);
            by_user.add(settings);
            settings = by_user;
        }
        if let Some(rules) = &self.rules {
            rules.place(model, &self.users, &mut settings)?;
        }
        if plan.groups.autogroup {
            if plan.groups.user_groups {
                let message = "--autogroup: no kernel had groups by user and by session";
                return Err(Error::Plan(message.into()));
            }
            groups::autogroup::place_by_session(model);
        }
        Ok(settings)
    }
}

/// Returns the benchmark of `plan` with all values and seeds, without schedulers.
pub(super) fn sweep(plan: &Plan) -> Result<Sweep, Error> {
    if plan.groups != super::Groups::default() {
        let message = "groups: only a workload has groups from a plan; a benchmark makes its own";
        return Err(Error::Plan(message.into()));
    }
    if plan.timetable != super::Timetable::default() {
        let message = "timetable: only a workload has a timetable";
        return Err(Error::Plan(message.into()));
    }
    if plan.record.rt_app_log {
        let message = "record.rt_app_log: only a workload has phases to log";
        return Err(Error::Plan(message.into()));
    }
    if plan.record.slices {
        let message = "record.slices: slices are recorded for workloads only";
        return Err(Error::Plan(message.into()));
    }
    if plan.late_starts {
        let message =
            "late_starts: only tasks of a workload start late; a benchmark varies with its seed";
        return Err(Error::Plan(message.into()));
    }
    let (benchmark, given): (AnyBenchmark, GivenValues) = match &plan.load {
        Load::Workload(source) => {
            return Err(Error::Plan(format!("{} is not a benchmark", source.file)));
        }
        Load::Benchmark(of) => {
            let benchmark = benchmark(&of.name)?;
            (benchmark.into(), given(&of.name, benchmark.parameters(), &of.parameters)?)
        }
        Load::Mix(of) => {
            let members = of.members.iter().map(member).collect::<Result<_, Error>>()?;
            let (mix, given) =
                combined::Mix::of(members).map_err(|error| Error::Plan(error.to_string()))?;
            (AnyBenchmark::Owned(Arc::new(mix)), given)
        }
    };
    let config = of_plan(plan, plan.machine.resolve(1)?);
    let bench = Bench { config, ..Bench::new(benchmark) };
    Sweep::new(bench, given, plan.repeat).map_err(|error| Error::Plan(error.to_string()))
}

fn benchmark(name: &str) -> Result<&'static dyn schedlab_bench::Benchmark, Error> {
    schedlab_bench::find(name).ok_or_else(|| {
        let names = || schedlab_bench::ALL.iter().map(|benchmark| benchmark.name());
        let close = close_names(name, names());
        let hint = match close.as_slice() {
            [] => format!("the benchmarks are {}", names().collect::<Vec<_>>().join(", ")),
            close => format!("did you mean {}?", close.join(" or ")),
        };
        Error::Plan(format!("there is no benchmark \"{name}\"; {hint}"))
    })
}

fn member(member: &Member) -> Result<combined::Member, Error> {
    let benchmark = benchmark(&member.name)?;
    once_each(&member.name, &member.parameters)?;
    let mut given = vec![];
    for (name, text) in &member.parameters {
        let common = SETTINGS.iter().find(|setting| setting_name(benchmark, &setting.name) == name);
        given.push(match common {
            Some(setting) => (setting_name(benchmark, &setting.name), setting.read(text)?),
            None => one_given(&member.name, benchmark.parameters(), name, text)?,
        });
    }
    Ok(combined::Member { name: member.called.clone(), benchmark, given })
}

fn given(
    benchmark: &str,
    parameters: &'static [Parameter],
    settings: &[Setting],
) -> Result<GivenValues, Error> {
    once_each(benchmark, settings)?;
    let one = |(name, text): &Setting| {
        let (name, values) = one_given(benchmark, parameters, name, text)?;
        Ok((name.into(), values))
    };
    settings.iter().map(one).collect()
}

/// Rejects parameters that are set twice: which value was meant is unknown.
fn once_each(benchmark: &str, settings: &[Setting]) -> Result<(), Error> {
    for (number, (name, _)) in settings.iter().enumerate() {
        if settings[..number].iter().any(|(before, _)| before == name) {
            let message = format!("it is set twice for {benchmark}; set it once, as a list");
            return Err(BadValue::new(name, message).into());
        }
    }
    Ok(())
}

fn one_given(
    benchmark: &str,
    parameters: &'static [Parameter],
    name: &str,
    text: &str,
) -> Result<(&'static str, Vec<Value>), Error> {
    let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
        let names: Vec<&str> = parameters.iter().map(|parameter| &*parameter.name).collect();
        let message = format!("{benchmark} has no such parameter; it has {}", names.join(", "));
        return Err(BadValue::new(name, message).into());
    };
    Ok((&parameter.name, parameter.read(text)?))
}
