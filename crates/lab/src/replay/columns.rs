//! Columns of a replay: the recorded scheduler on the recorded machine, and the alternatives.

use super::runner::Runner;
use super::{Begin, HZ, RECORDED, Replay};
use crate::column_settings::{self, COLUMNS_MAX, Settings};
use crate::config::RunConfig;
use crate::error::Error;
use crate::select::{self, Choice, Chosen, Needs};
use crate::settings::{Axis, Setting};
use schedlab_core::topology::Topology;
use schedlab_core::{Policy, Tunable};
use schedlab_machine::description::Description;
use schedlab_replay::side::{GroupLines, Side};
use schedlab_replay::trace::Origin;
use schedlab_replay::{Trace, Workload, select as tasks, ticks};
use schedlab_workload::groups::autogroup;
use schedlab_workload::{GroupSettings, Timetable, close_names, groups as group_settings};
use std::collections::BTreeSet;

/// Scheduler feature by which newly idle CPUs balance less often the less they gain from it.
const NI_RANDOM: &str = "NI_RANDOM";

/// Runs that never end, or hang, are stopped at this multiple of the trace's length.
const TIMES_SPAN: u64 = 4;

/// Common part of all runs.
pub(super) struct Setup {
    /// The first column is the recorded one.
    pub columns: Vec<Runner>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Whether the recorded scheduler or HZ is a guess.
    pub is_assumed: bool,
    pub hz: u32,
    /// Time at which a run ends at the latest, ns.
    pub limit_ns: u64,
    /// Whether CPUs, HZ or scheduler differ between recording and alternatives.
    pub machine_changes: bool,
}

impl Setup {
    pub fn new(
        replay: &Replay,
        trace: &Trace,
        workload: &Workload,
        settings: &GroupLines,
        side: Option<&Side>,
    ) -> Result<Setup, Error> {
        let mut notes = vec![];
        let hz = replay.hz.or(side.and_then(|side| side.hz)).unwrap_or(HZ);
        let span_ns = trace.span_ns.max(1);
        let limit_ns = replay.limit_ns.unwrap_or(TIMES_SPAN * span_ns);
        let noted = side.and_then(|side| side.topology(trace.cpus)).map(described);
        // Whether the machine had been running before. The alternative is one of our own runs,
        // recorded from its beginning.
        let is_real = replay.begin == Begin::Running
            && trace.tasks.iter().any(|it| matches!(it.origin, Origin::Before | Origin::Gap));
        let tick_ns = 1_000_000_000 / u64::from(hz.max(1));
        let tick_phase_ns = ticks::phase_ns(trace, tick_ns).filter(|_| is_real).unwrap_or(0);
        let recorded = RunConfig {
            hz: Some(hz),
            limit_ns: Some(limit_ns),
            machine: noted.clone(),
            late_softirqs: is_real,
            tick_phase_ns,
            ..RunConfig::flat(trace.cpus)
        };
        let file = replay.groups.as_ref().map_or("", |source| source.file.as_str());
        let without_quotas = match settings.all == settings.without_quotas {
            true => None,
            false => Some(group_settings::parse(file, &settings.without_quotas)?),
        };
        let settings = group_settings::parse(file, &settings.all)?;
        let mut pinned = workload.clone();
        tasks::pin(&mut pinned, trace, trace.cpus);
        let base = Base {
            config: recorded,
            workload: pinned,
            groups: settings.clone(),
            without_quotas: without_quotas.clone(),
        };
        let of_kernel = side.and_then(|side| select::of_kernel(side.kernel.as_deref()?));
        let name = replay.recorded.as_deref().or(of_kernel.as_deref()).unwrap_or(RECORDED);
        let chosen = select::choose(&[name])?;
        let [one] = chosen.as_slice() else {
            return Err(Error::Plan(format!("--recorded {name}: it must be one scheduler")));
        };
        let kernel = side.and_then(|side| side.kernel.as_deref());
        let was_set = |config: &RunConfig, chosen: &Chosen| {
            let mut set = vec![];
            let choice = &chosen.choice;
            if choice.entry.name == one.choice.entry.name {
                let known = config.tunables_of(choice);
                set = side.map_or(vec![], |side| noted_tunables(side, &known));
                let has = |name| known.iter().any(|tunable: &Tunable| tunable.name == name);
                let is_6_18 = choice.release.version == "6.18" && has(NI_RANDOM);
                if is_real && is_6_18 && kernel.is_none_or(select::has_ni_random) {
                    set.push((NI_RANDOM.into(), 1));
                }
            }
            // Settings of the column itself take precedence.
            let is_given = |name: &str| {
                chosen.set.iter().filter_map(Setting::tunable).any(|(other, _)| other == name)
            };
            set.retain(|(name, _)| !is_given(name));
            set
        };
        let tunables = was_set(&base.config, one);
        let mut columns = vec![base.runner(one, &tunables, &mut notes)?];
        // Machine and tasks of the alternatives.
        let machine = &replay.machine;
        let resolved = machine.resolve(trace.cpus)?;
        let mut config = RunConfig { limit_ns: Some(limit_ns), ..resolved };
        config.hz = machine.hz.or(config.hz).or(Some(hz));
        // The state of another machine is unknown.
        let is_recorded_machine = is_real && config.cpus == trace.cpus;
        config.late_softirqs = is_recorded_machine;
        if is_recorded_machine && config.hz == Some(hz) && config.tick_phase_ns == 0 {
            config.tick_phase_ns = tick_phase_ns;
        }
        if machine.description.is_none()
            && let Some(noted) = noted
            && let Ok(noted) = noted.with_first(machine.cpus)
        {
            config.machine = Some(noted);
        }
        if config.cpus > trace.cpus {
            notes.push(format!(
                "{} CPUs instead of {}: work that was not parallel when recorded is not parallel here",
                config.cpus, trace.cpus
            ));
        }
        let axes = axes(replay)?;
        let machine_changes = config.cpus != trace.cpus || config.hz != Some(hz);
        let is_changed = machine_changes
            || !replay.changes.is_empty()
            || !replay.tries.is_empty()
            || !replay.at.is_empty()
            || !replay.set.is_empty()
            || machine.description.is_some();
        let mut names = replay.schedulers.clone();
        if names.is_empty() && is_changed {
            names.push(name.into());
        }
        let chosen = select::choose(&names)?;
        let known = |choice: &Choice| config.tunables_of(choice);
        let (chosen, more_notes) = column_settings::columns(chosen, &axes, known)?;
        notes.extend(more_notes);
        let common: Vec<Setting> = axes.iter().filter_map(Axis::common).cloned().collect();
        let common: Settings = common
            .iter()
            .filter_map(Setting::tunable)
            .map(|(name, value)| (name.into(), value))
            .collect();
        let (mut tunables, more_notes) = column_settings::tunables_for(&chosen, known, &common)?;
        notes.extend(more_notes);
        for (one, tunables) in chosen.iter().zip(&mut tunables) {
            for (name, value) in was_set(&config, one) {
                if !tunables.iter().any(|(other, _)| *other == name) {
                    tunables.push((name, value));
                }
            }
        }
        let of_groups: Vec<&Setting> =
            axes.iter().filter_map(Axis::common).filter(|it| it.group().is_some()).collect();
        let mut base =
            Base { config, workload: workload.clone(), groups: settings, without_quotas };
        let all = axes.iter().flat_map(|axis| axis.values.iter().flatten());
        all.filter_map(Setting::group).try_for_each(|(path, _)| base.check_group(path))?;
        of_groups.into_iter().try_for_each(|setting| base.set_group(setting))?;
        let tries: Vec<Option<&str>> = match replay.tries.is_empty() {
            true => vec![None],
            false => replay.tries.iter().map(|changes| Some(changes.trim())).collect(),
        };
        if chosen.len() * tries.len() > COLUMNS_MAX {
            return Err(Error::Plan(format!(
                "--try: {} sets of changes make {} columns; at most {COLUMNS_MAX} are allowed",
                tries.len(),
                chosen.len() * tries.len()
            )));
        }
        for changes in tries {
            let (changed, timetable) =
                changed_work(replay, trace, workload, changes, &base.config)?;
            base.workload = changed;
            for (one, tunables) in chosen.iter().zip(&tunables) {
                let is_recorded = one.choice == columns[0].choice
                    && !is_changed
                    && *tunables == columns[0].config.tunables;
                if !is_recorded {
                    let mut runner = base.runner(one, tunables, &mut notes)?;
                    runner.timetable = timetable.clone();
                    if let Some(changes) = changes {
                        runner.name = format!("{}, {changes}", runner.name);
                    }
                    columns.push(runner);
                }
            }
        }
        for runner in &columns {
            runner.experiment(|ns| ns)?.check_timetable(std::slice::from_ref(&runner.choice))?;
        }
        notes.dedup();
        let is_known = replay.recorded.is_some() || of_kernel.is_some();
        let is_assumed =
            !is_known || (replay.hz.is_none() && side.is_none_or(|side| side.hz.is_none()));
        Ok(Setup { columns, notes, is_assumed, hz, limit_ns, machine_changes })
    }
}

/// Returns the workload with the changes of the alternatives, and what happens during their runs.
/// `tried`: further changes of one column, separated by `;`.
fn changed_work(
    replay: &Replay,
    trace: &Trace,
    workload: &Workload,
    tried: Option<&str>,
    config: &RunConfig,
) -> Result<(Workload, Timetable), Error> {
    let (mut changed, mut timetable) = (workload.clone(), Timetable::default());
    let given = replay.changes.iter().map(|change| ("--change", change.as_str()));
    let own = tried.iter().flat_map(|changes| changes.split(';')).map(|change| ("--try", change));
    for (option, change) in given.chain(own) {
        let change = change.trim();
        match change.strip_prefix("group ") {
            Some(_) => timetable.add(Timetable::parse_change(option, change)?),
            None => tasks::change(&mut changed, trace, change).map_err(Error::Plan)?,
        }
    }
    tasks::pin(&mut changed, trace, config.cpus);
    for at in &replay.at {
        timetable.add(Timetable::parse_option(at)?);
    }
    timetable.rename(|name| keys(&changed, trace, name));
    Ok((changed, timetable))
}

fn axes(replay: &Replay) -> Result<Vec<Axis>, Error> {
    let mut axes = vec![];
    for (name, values) in &replay.set {
        let axis = Axis::read(name, &values.to_string())
            .map_err(|what| Error::Plan(format!("--set: {what}")))?;
        let is_other = |one: &Setting| one.tunable().is_none() && one.group().is_none();
        if axis.values.iter().flatten().any(is_other) {
            return Err(Error::Plan(format!(
                "--set {name}: for a recorded trace, only tunables of the scheduler and settings \
                 of groups (quota:, burst:, shares:, weight:) can be set; change nice values with \
                 --change 'nice TASKS +5', ticks with --hz"
            )));
        }
        axes.push(axis);
    }
    Ok(axes)
}

/// Keys of the tasks to which a timetable's name refers. Without such tasks, the name itself.
fn keys(workload: &Workload, trace: &Trace, name: &str) -> Vec<String> {
    match tasks::tasks(trace, name) {
        Ok(found) => {
            let named = workload.tasks.iter().filter(|it| found[it.task as usize]);
            named.map(|it| it.key.clone()).collect()
        }
        Err(_) => vec![name.into()],
    }
}

/// Returns the description of a machine of which only the CPUs are known.
fn described(topology: Topology) -> Description {
    Description {
        name: "recorded".into(),
        about: "the machine on which the trace was recorded".into(),
        source: "noted next to the trace".into(),
        topology,
        hz: None,
        tick_phase_ns: None,
        costs: None,
        numbers: vec![],
    }
}

/// Returns the recorded values of a scheduler's tunables that differ from its defaults.
fn noted_tunables(side: &Side, known: &[Tunable]) -> Vec<(String, i64)> {
    let noted = |tunable: &Tunable| {
        let &value = side.tunables.get(tunable.name.as_ref())?;
        let (least, most) = tunable.range;
        let fits = value != tunable.value && (least..=most).contains(&value);
        fits.then(|| (tunable.name.to_string(), value))
    };
    known.iter().filter_map(noted).collect()
}

/// A machine with its tasks.
struct Base {
    config: RunConfig,
    workload: Workload,
    groups: GroupSettings,
    /// Groups for schedulers without quotas, if they differ.
    without_quotas: Option<GroupSettings>,
}

impl Base {
    /// Checks that there is a group at `path`. A misspelt group would be created without tasks.
    fn check_group(&self, path: &str) -> Result<(), Error> {
        let all = self.workload.tasks.iter().filter_map(|it| it.set.taskgroup.as_deref());
        let paths: BTreeSet<&str> = all.collect();
        if self.groups.names(path)
            || paths.iter().any(|known| group_settings::is_within(known, path))
        {
            return Ok(());
        }
        let hint = match close_names(path, paths.iter().copied()).as_slice() {
            [] if paths.is_empty() => "no recorded task is in a group: use --groups".into(),
            [] => format!("the groups are {}", paths.into_iter().collect::<Vec<_>>().join(", ")),
            close => format!("did you mean {}?", close.join(" or ")),
        };
        Err(Error::Plan(format!("--set: there is no group {path}; {hint}")))
    }

    /// Applies a setting of a group. Schedulers without quotas have only its weight.
    fn set_group(&mut self, setting: &Setting) -> Result<(), Error> {
        let Some((_, option)) = setting.group() else { return Ok(()) };
        self.groups.add(group_settings::parse_option(&option)?);
        let is_weight = matches!(setting, Setting::Shares { .. } | Setting::Weight { .. });
        if let Some(without) = self.without_quotas.as_mut().filter(|_| is_weight) {
            without.add(group_settings::parse_option(&option)?);
        }
        Ok(())
    }

    /// Returns the column of `one`. Features that the scheduler lacks (groups, affinity) are
    /// removed from the workload, with a note.
    fn runner(
        &self,
        one: &Chosen,
        tunables: &[(String, i64)],
        notes: &mut Vec<String>,
    ) -> Result<Runner, Error> {
        let choice = &one.choice;
        let can = &choice.release.can;
        let mut workload = self.workload.clone();
        let mut groups = self.groups.clone();
        for (_, option) in one.set.iter().filter_map(Setting::group) {
            groups.add(group_settings::parse_option(&option)?);
        }
        let mut lacks = vec![];
        if !can.groups && workload.tasks.iter().any(|it| it.set.taskgroup.is_some()) {
            workload.tasks.iter_mut().for_each(|it| it.set.taskgroup = None);
            groups = GroupSettings::default();
            lacks.push("groups");
        }
        if can.groups
            && !can.quotas
            && let Some(without) = &self.without_quotas
        {
            groups = without.clone();
            lacks.push("quotas");
        }
        let of_session = |group: &String| group.starts_with(autogroup::PREFIX);
        if can.groups
            && autogroup::is_in(choice.release.kernel()) == Some(false)
            && workload.tasks.iter().any(|it| it.set.taskgroup.as_ref().is_some_and(of_session))
        {
            for task in &mut workload.tasks {
                task.set.taskgroup = task.set.taskgroup.take().filter(|it| !of_session(it));
            }
            lacks.push("autogroups");
        }
        let needs = |policy| Needs { cpus: 1, policies: vec![policy], ..Needs::default() };
        let is_missing = |policy: Option<Policy>| {
            policy
                .filter(|it| matches!(it, Policy::Batch | Policy::Idle))
                .is_some_and(|policy| choice.refuses(&needs(policy)).is_some())
        };
        if workload.tasks.iter().any(|it| is_missing(it.set.policy)) {
            workload.tasks.iter_mut().filter(|it| is_missing(it.set.policy)).for_each(|it| {
                it.set.policy = Some(Policy::Other);
            });
            lacks.push("SCHED_BATCH or SCHED_IDLE");
        }
        if !can.affinity && workload.tasks.iter().any(|it| it.set.cpus.is_some()) {
            workload.tasks.iter_mut().for_each(|it| it.set.cpus = None);
            lacks.push("affinity");
        }
        if !lacks.is_empty() {
            notes.push(format!(
                "{choice} has no {}: all tasks run without them",
                lacks.join(", no ")
            ));
        }
        let mut config = self.config.clone();
        config.tunables = tunables.to_vec();
        for (name, value) in one.set.iter().filter_map(Setting::tunable) {
            if !config.tunables.iter().any(|(other, _)| other == name) {
                config.tunables.push((name.into(), value));
            }
        }
        let mut runner = Runner {
            name: one.to_string(),
            choice: choice.clone(),
            config,
            workload,
            groups,
            timetable: Timetable::default(),
        };
        let refuses = |runner: &Runner| -> Result<Option<String>, Error> {
            Ok(choice.refuses(&runner.experiment(|ns| ns)?.needs()))
        };
        if refuses(&runner)?.is_some() && choice.refuses(&runner.config.needs()).is_some() {
            // Its kernel never had this HZ.
            runner.config.hz = None;
        }
        match refuses(&runner)? {
            None => Ok(runner),
            Some(why) => Err(Error::CannotRun { what: format!("the trace ({one})"), why }),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::select;

    #[test]
    fn a_kernel_has_its_scheduler() {
        for (release, name) in [
            ("6.18.3-lab", Some("eevdf@6.18")),
            ("6.8.0-45-generic", Some("eevdf@6.8")),
            ("7.1.0", Some("eevdf@7.1")),
            ("6.1.0-28-amd64", Some("cfs@6.1")),
            ("3.2.0-4-amd64", Some("cfs@3.2")),
            ("2.6.32-5-amd64", Some("cfs@2.6.32")),
            ("2.6.22", Some("o_1@2.6.22")),
            ("2.4.37", Some("o_n@2.4.37")),
            ("generic", None),
        ] {
            let found = select::of_kernel(release);
            let is_known = |name: &str| crate::select::find(name).is_ok();
            assert!(found.as_deref().is_none_or(is_known), "{release}: {found:?}");
            let family = |name: &str| name.split('@').next().map(String::from);
            assert_eq!(found.as_deref().and_then(family), name.and_then(family), "{release}");
            if ["6.18.3-lab", "6.8.0-45-generic", "7.1.0", "generic"].contains(&release) {
                assert_eq!(found.as_deref(), name, "{release}");
            }
        }
    }
}
