//! Runs a workload under a scheduler and reports on it: [`Experiment`], [`Run`].

use crate::assembly::{self, Assembly, Observed, Outcome};
use crate::catch_panic::catch_panic;
use crate::config::RunConfig;
use crate::error::Error;
use crate::live::Live;
use crate::report_of::{GroupInfo, TaskInfo};
use crate::select::{Choice, Needs};
use crate::setup::{self, NewGroup};
use crate::since::Since;
use crate::snapshot::{Snapshot, Watch};
use schedlab_bench::Findings;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Event, GroupId, Observer, SchedAttr, Scheduler, TaskId, Tunable};
use schedlab_machine::{Counts, Machine, Order, RunEnd, SplitMix64, TaskState};
use schedlab_measure::stats::key_numbers;
use schedlab_measure::{
    Extent, Fairness, Group, GroupUsage, Refusals, SliceRecorder, SpanRecorder, Stats,
};
use schedlab_report::RunReport;
use schedlab_workload::timetable::{self, Drive, Surroundings};
use schedlab_workload::{
    Diagnostic, GroupPlan, GroupSettings, Kernel, Log, Model, Options, Target, Timetable, rt_app,
};
use std::ops::ControlFlow;

/// A workload with the machine it is to run on.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The machine and what is set about it.
    pub config: RunConfig,
    /// What tasks do.
    pub model: Model,
    /// The groups there are.
    pub groups: GroupPlan,
    /// How much to record of who ran where and when; none: nothing.
    pub record: Option<Extent>,
    /// How many lines of rt-app's log to keep at most; 0 keeps no log.
    pub log_lines: usize,
    /// What is done to the machine while it runs. Tunables that a scheduler has not are passed
    /// over.
    pub timetable: Timetable,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The figures.
    pub report: RunReport,
    /// What the benchmark found, if it was one; empty otherwise.
    pub findings: Findings,
    /// rt-app's own log of a workload, if it was to be kept: a line for every round of a phase.
    pub log: Option<Log>,
    /// What the user should know about it besides.
    pub warning: Option<String>,
}

/// The smallest machine that has all the CPUs that `model` names.
pub fn cpus_named(model: &Model) -> u32 {
    let of_phases = model.tasks.iter().flat_map(|task| &task.phases).map(|phase| &phase.properties);
    let all = model.tasks.iter().map(|task| &task.properties).chain(of_phases);
    let cpus = all.filter_map(|properties| properties.cpus.as_ref()).flatten();
    cpus.map(|&cpu| cpu + 1).max().unwrap_or(1).min(CPUS_MAX)
}

impl Experiment {
    /// `model` on a machine of `cpus` CPUs, with the groups that `settings` and tasks name.
    ///
    /// # Errors
    /// Settings of groups that do not go together, or not with that machine.
    pub fn new(
        model: Model,
        settings: &GroupSettings,
        cpus: u32,
    ) -> Result<Experiment, Diagnostic> {
        Ok(Experiment {
            groups: GroupPlan::new(settings, &model.group_paths(), cpus)?,
            model,
            config: RunConfig::flat(cpus),
            record: None,
            log_lines: 0,
            timetable: Timetable::default(),
        })
    }

    /// What it asks of a scheduler.
    pub fn needs(&self) -> Needs {
        let binds = |cpus: &Vec<u32>| (0..self.config.cpus).any(|cpu| !cpus.contains(&cpu));
        let phases = self.model.tasks.iter().flat_map(|task| &task.phases);
        let of_tasks = self.model.tasks.iter().map(|task| &task.properties);
        let mut policies = self.model.policies();
        policies.extend(self.timetable.policies());
        let mut properties = phases.map(|phase| &phase.properties).chain(of_tasks);
        Needs {
            cpus: self.config.cpus,
            hz: self.config.hz,
            policies,
            groups: !self.groups.groups().is_empty(),
            limits: self.timetable.sets_limits()
                || self.groups.groups().iter().any(|group| group.quota.quota_us.is_some()),
            affinity: self.timetable.sets_affinity()
                || self.groups.groups().iter().any(|group| group.binds(self.config.cpus))
                || properties.any(|properties| properties.cpus.as_ref().is_some_and(binds)),
        }
    }

    /// How the loader is to check the workload.
    pub fn target(&self) -> Target {
        Target { cpus: self.config.cpus, limited: self.config.limit_ns.is_some() }
    }

    /// When the run is stopped at the latest, ns.
    pub fn until_ns(&self) -> Option<u64> {
        let until_ns = self.config.limit_ns.or(self.model.global.duration_ns)?;
        Some(until_ns.saturating_add(self.config.start.lead_ns()))
    }

    /// That every name in the timetable means something, if the workload is run under `choices`.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check_timetable(&self, choices: &[Choice]) -> Result<(), Diagnostic> {
        let mut tunables = vec![];
        if self.timetable.tunables().next().is_some() {
            tunables.extend(choices.iter().flat_map(|choice| self.tunables(choice)));
        }
        let tunables: Vec<&str> = tunables.iter().map(|tunable| tunable.name.as_ref()).collect();
        self.timetable.check(&Surroundings {
            model: &self.model,
            groups: &self.groups,
            cpus: self.config.cpus,
            tunables: &tunables,
            limited: self.until_ns().is_some(),
        })
    }

    /// What the user should know about workload and timetable: what never happens, what takes long.
    pub fn notes(&self) -> Vec<String> {
        const MOST: usize = 10;
        let until_ns = self.until_ns();
        let mut notes = rt_app::notes(&self.model, until_ns);
        notes.extend(self.timetable.notes(&self.model, until_ns));
        let more = notes.len().saturating_sub(MOST);
        notes.truncate(MOST);
        if more > 0 {
            notes.push(format!("and {more} more like these"));
        }
        notes
    }

    /// The tunables of `choice` on this machine.
    pub fn tunables(&self, choice: &Choice) -> Vec<Tunable> {
        self.config.tunables_of(choice)
    }

    /// Runs it under `choice`, which does not refuse it.
    ///
    /// # Errors
    /// What the scheduler refuses, and how the run ended badly.
    pub fn run(&self, choice: &Choice) -> Result<Run, Error> {
        self.run_with(choice, ()).map(|(run, ())| run)
    }

    /// The same with an observer of the caller's, which sees every event.
    ///
    /// # Errors
    /// As of [`run`](Experiment::run).
    pub fn run_with<O: Observer>(&self, choice: &Choice, observer: O) -> Result<(Run, O), Error> {
        self.run_under(&self.config, self.record, choice, observer)
    }

    /// The same with `config` and `record` in place of its own.
    pub(crate) fn run_under<O: Observer>(
        &self,
        config: &RunConfig,
        record: Option<Extent>,
        choice: &Choice,
        observer: O,
    ) -> Result<(Run, O), Error> {
        self.run_watched(config, record, choice, observer, Watch::default())
    }

    /// The same, watched: tasks come with their names, and the machine is looked at at some times.
    pub(crate) fn run_watched<O: Observer>(
        &self,
        config: &RunConfig,
        record: Option<Extent>,
        choice: &Choice,
        observer: O,
        watch: Watch<'_, O>,
    ) -> Result<(Run, O), Error> {
        catch_panic(|| self.run_uncaught(config, record, choice, observer, watch))
            .map_err(Error::Broken)?
    }

    /// That `choice` takes the tunables and groups of `config`.
    ///
    /// # Errors
    /// What it refuses.
    pub(crate) fn check_settings(&self, config: &RunConfig, choice: &Choice) -> Result<(), Error> {
        let groups: Vec<NewGroup<'_>> = self.groups.groups().iter().map(NewGroup::from).collect();
        let check = || {
            let vm = rt_app::prepare(&self.model, &self.target(), Options::default())?;
            let mut assembly = Assembly::new(config, choice)?;
            assembly.groups = &groups;
            assembly.build(vm, ()).map(|_| ())
        };
        catch_panic(check).map_err(Error::Broken)?
    }

    fn run_uncaught<O: Observer>(
        &self,
        config: &RunConfig,
        record: Option<Extent>,
        choice: &Choice,
        others: O,
        watch: Watch<'_, O>,
    ) -> Result<(Run, O), Error> {
        let (mut machine, ids, timetable) = self.assemble(config, choice, |vm, _, groups| {
            (self.observer(record, vm, groups), others)
        })?;
        machine.ask_names(watch.names);
        let until_ns = self.until_ns().unwrap_or(u64::MAX);
        let Watch { stops_ns, mut look, mut judge, .. } = watch;
        let outcome = timetable.run_with_stops(
            &mut machine,
            &self.groups,
            &ids,
            until_ns,
            stops_ns,
            |machine| {
                if let Some(look) = &mut look {
                    let snapshot = Snapshot::of(machine, &self.groups, &ids);
                    look(&snapshot, &mut machine.observer_mut().1);
                }
                match &mut judge {
                    Some(judge) => judge(self.report_so_far(config, choice, machine, &ids)),
                    None => ControlFlow::Continue(()),
                }
            },
        )?;
        let mut warnings: Vec<String> = vec![];
        warnings.extend(refused_to_tasks(machine.workload(), &machine.observer().0.1));
        warnings.extend(report_refusals(&outcome));
        warnings.extend(machine.scheduler().inspect().remarks());
        if !outcome.undone.is_empty() {
            let end_s = machine.now_ns() as f64 / 1e9;
            let lines = outcome.undone.join("`, `");
            warnings
                .push(format!("all was over at {end_s:.6} s, so this was never done: `{lines}`"));
        }
        let mut deadlock = None;
        if outcome.end == RunEnd::Stuck {
            let waits = report_stuck(&machine);
            // That tasks are stopped or frozen and nobody lets them go on is what was asked for;
            // that some wait in vain is not.
            if self.until_ns().is_none() && !machine.workload().wait_graph().waiting.is_empty() {
                deadlock = Some(waits.clone());
            }
            let at_s = machine.now_ns() as f64 / 1e9;
            warnings.push(format!("from {at_s:.6} s on no task could ever run again: {waits}"));
        }
        let outcome = Outcome::of(&machine, outcome.end);
        let in_force = in_force(&machine);
        let (scheduler, vm, ((measures, refusals), others)) = machine.into_parts();
        let ((stats, fairness), ((slices, spans), usage)) = measures;
        let over = slices.as_ref().is_some_and(SliceRecorder::is_over)
            || spans.as_ref().is_some_and(SpanRecorder::is_over);
        if over {
            let most = record.map_or(0, |extent| extent.most);
            warnings.push(format!(
                "who ran when was not recorded: that would be more than {most} slices; shorten \
                 the run (--duration), or for a timeline the window (--from, --to)"
            ));
        }
        if let Some(left_out) = vm.log().map(Log::left_out).filter(|&lines| lines > 0) {
            warnings.push(format!(
                "the log has its first {} lines only; {left_out} more are left out; shorten the \
                 run (--duration)",
                self.log_lines
            ));
        }
        let group_infos = self.group_infos(choice, &*scheduler, &ids);
        let observed = Observed {
            tasks: &task_infos(&vm, &in_force),
            groups: &group_infos,
            stats: &stats,
            fairness: Some(&fairness),
            group_usage: usage.as_ref(),
            refusals: Some(&refusals),
            slices: slices.filter(|_| !over).map(SliceRecorder::into_slices),
            spans: spans.filter(|_| !over).map(SpanRecorder::into_spans),
        };
        let report = assembly::report(config, choice, config.seed, outcome, &*scheduler, observed);
        let warning = (!warnings.is_empty()).then(|| warnings.join("\n"));
        let log = vm.into_log();
        let run = Run { report, findings: Findings::default(), log, warning };
        match deadlock {
            None => Ok((run, others)),
            Some(waits) => Err(Error::Stuck { waits, run: Box::new(run) }),
        }
    }

    /// What came of a run so far, as if it ended now. Who ran when is not in it.
    fn report_so_far<O: Observer>(
        &self,
        config: &RunConfig,
        choice: &Choice,
        machine: &Plain<(Measures, O)>,
        ids: &[GroupId],
    ) -> RunReport {
        let now_ns = machine.now_ns();
        let ((((stats, fairness), (_, usage)), refusals), _) = machine.observer();
        let mut so_far = (stats.clone(), (fairness.clone(), usage.clone()));
        so_far.on(now_ns, Event::Finished);
        let (stats, (fairness, usage)) = so_far;
        let scheduler = machine.scheduler();
        let observed = Observed {
            tasks: &task_infos(machine.workload(), &in_force(machine)),
            groups: &self.group_infos(choice, &**scheduler, ids),
            stats: &stats,
            fairness: Some(&fairness),
            group_usage: usage.as_ref(),
            refusals: Some(refusals),
            slices: None,
            spans: None,
        };
        let outcome = Outcome::of(machine, RunEnd::TimeUp);
        assembly::report(config, choice, config.seed, outcome, &**scheduler, observed)
    }

    /// What the report says of each group but the root.
    fn group_infos(
        &self,
        choice: &Choice,
        scheduler: &dyn Scheduler,
        ids: &[GroupId],
    ) -> Vec<GroupInfo> {
        let limited = choice.release.can.quotas;
        let groups = self.groups.groups().iter().zip(ids);
        let info = |(group, &id): (&schedlab_workload::Group, &GroupId)| GroupInfo {
            path: group.path.clone(),
            stats: if limited { scheduler.inspect().group_stats(id).ok() } else { None },
        };
        groups.map(info).collect()
    }

    /// A machine that is ready to run under `choice`, with the observer that `observer` makes of
    /// what there is to observe; the groups' numbers; and what of the timetable the scheduler can
    /// do.
    fn assemble<O: Observer>(
        &self,
        config: &RunConfig,
        choice: &Choice,
        observer: impl FnOnce(&Kernel, &[GroupId], &[NewGroup<'_>]) -> O,
    ) -> Result<Assembled<O>, Error> {
        let paths = self.model.group_paths();
        let ids = setup::group_ids(self.groups.groups().len());
        let options = Options {
            group_ids: self.groups.ids_of(&ids, &paths),
            calls: config.costs.as_ref().map(|costs| setup::calls(costs, choice)),
            log_lines: self.log_lines,
            start: config.start,
            ..Options::default()
        };
        let mut vm = rt_app::prepare(&self.model, &self.target(), options)?;
        if config.late_starts {
            let hz = config.hz.unwrap_or(choice.release.hz_default);
            start_late(&mut vm, config.seed.unwrap_or(1), hz);
        }
        let groups: Vec<NewGroup<'_>> = self.groups.groups().iter().map(NewGroup::from).collect();
        let mut assembly = Assembly::new(config, choice)?;
        assembly.groups = &groups;
        if let Some(seed) = config.seed {
            assembly.machine.order = Order::Shuffled(SplitMix64::new(seed));
        }
        let observer = observer(&vm, &ids, &groups);
        let machine = assembly.build(vm, observer)?;
        let known = machine.scheduler().inspect().tunables();
        let known: Vec<&str> = known.iter().map(|tunable| tunable.name.as_ref()).collect();
        let timetable = self.timetable.for_scheduler(&known);
        Ok((machine, ids, timetable))
    }

    /// Runs it under `choice` as far as `until_ns` or its end with an observer and nothing else,
    /// and has a look at the machine then.
    ///
    /// # Errors
    /// As of [`run`](Experiment::run).
    pub(crate) fn stop<O: Observer, R>(
        &self,
        config: &RunConfig,
        choice: &Choice,
        until_ns: u64,
        observer: O,
        look: impl FnOnce(&mut Plain<O>) -> R,
    ) -> Result<(R, O), Error> {
        self.stop_between(config, choice, until_ns, observer, (&[], |_| {}), look)
    }

    /// The same, and does something to the machine at some times (rising, no two equal).
    ///
    /// # Errors
    /// As of [`run`](Experiment::run).
    pub(crate) fn stop_between<O: Observer, R>(
        &self,
        config: &RunConfig,
        choice: &Choice,
        until_ns: u64,
        observer: O,
        (times_ns, at_times): (&[u64], impl FnMut(&mut Plain<O>)),
        look: impl FnOnce(&mut Plain<O>) -> R,
    ) -> Result<(R, O), Error> {
        catch_panic(|| {
            let (mut machine, ids, timetable) =
                self.assemble(config, choice, |_, _, _| observer)?;
            let until_ns = self.until_ns().unwrap_or(u64::MAX).min(until_ns);
            timetable.run_with_stops(
                &mut machine,
                &self.groups,
                &ids,
                until_ns,
                times_ns,
                going_on(at_times),
            )?;
            let seen = look(&mut machine);
            Ok((seen, machine.into_parts().2))
        })
        .map_err(Error::Broken)?
    }

    /// The same, and reports on the run from `lead_ns` on, without what the ideal machine would
    /// have done. `name_of`: what a thread of the workload with that key is called, and what it is
    /// an instance of.
    ///
    /// # Errors
    /// As of [`run`](Experiment::run).
    pub(crate) fn report_between<O: Observer>(
        &self,
        choice: &Choice,
        name_of: impl Fn(&str) -> (String, String),
        (lead_ns, observer): (u64, O),
        (times_ns, mut at_times): (&[u64], impl FnMut(&mut Plain<Reported<O>>)),
    ) -> Result<(RunReport, O), Error> {
        let config = &self.config;
        catch_panic(|| {
            let (mut machine, ids, timetable) =
                self.assemble(config, choice, |vm, _, groups| {
                    let names: Vec<String> =
                        vm.threads().map(|thread| name_of(thread.key).1).collect();
                    let keys = key_numbers(names.iter().map(String::as_str));
                    let usage = (!groups.is_empty())
                        .then(|| GroupUsage::new(config.cpus, setup::parents(groups)));
                    let stats = Stats::new(config.cpus, &keys);
                    Since { lead_ns, observer: ((stats, usage), observer) }
                })?;
            let until_ns = self.until_ns().unwrap_or(u64::MAX);
            let groups = &self.groups;
            let mut before = Counts::default();
            let at_times = |machine: &mut Plain<Reported<O>>| {
                if lead_ns > 0 && machine.now_ns() == lead_ns {
                    before = machine.counts();
                } else {
                    at_times(machine);
                }
            };
            let outcome = timetable.run_with_stops(
                &mut machine,
                groups,
                &ids,
                until_ns,
                times_ns,
                going_on(at_times),
            )?;
            let mut outcome = Outcome::of(&machine, outcome.end);
            outcome.counts.switches -= before.switches;
            outcome.counts.wakeups -= before.wakeups;
            outcome.counts.ticks -= before.ticks;
            let in_force = in_force(&machine);
            let (scheduler, vm, observed) = machine.into_parts();
            let ((stats, usage), observer) = observed.observer;
            let mut tasks = task_infos(&vm, &in_force);
            for task in &mut tasks {
                (task.name, task.key) = name_of(&task.key);
            }
            let of_group = |path: &String| GroupInfo { path: path.clone(), stats: None };
            let groups: Vec<GroupInfo> =
                groups.groups().iter().map(|group| of_group(&group.path)).collect();
            let observed = Observed {
                tasks: &tasks,
                groups: &groups,
                stats: &stats,
                fairness: None,
                group_usage: usage.as_ref(),
                refusals: None,
                slices: None,
                spans: None,
            };
            let report =
                assembly::report(config, choice, config.seed, outcome, &*scheduler, observed);
            Ok((report, observer))
        })
        .map_err(Error::Broken)?
    }

    /// A run under `choice` that is made piece by piece; nothing of it is done yet.
    ///
    /// # Errors
    /// What the scheduler refuses.
    pub(crate) fn begin<O: Observer>(
        &self,
        config: &RunConfig,
        choice: &Choice,
        observer: O,
    ) -> Result<Live<O>, Error> {
        let (mut machine, ids, timetable) = self.assemble(config, choice, |_, _, _| observer)?;
        machine.ask_names(true);
        let drive = Drive::new(&timetable, &self.groups, &ids);
        Ok(Live::new(machine, timetable, drive, self.until_ns().unwrap_or(u64::MAX)))
    }

    /// Follows the ideal machine beside the one that it runs on. There is room for `tasks` tasks
    /// before more has to be made.
    pub(crate) fn fairness(&self, tasks: usize) -> Fairness {
        let groups = self.groups.groups();
        let ids = setup::group_ids(groups.len());
        let fair_groups: Vec<Group> = groups
            .iter()
            .map(|group| Group {
                parent: group.parent.map_or(GroupId::ROOT, |parent| ids[parent]),
                shares: group.shares,
            })
            .collect();
        Fairness::new(self.config.cpus, setup::weights(), &fair_groups, tasks)
    }

    /// What measures the run.
    fn observer(&self, record: Option<Extent>, vm: &Kernel, groups: &[NewGroup<'_>]) -> Measures {
        let keys = key_numbers(vm.threads().map(|thread| thread.key));
        let cpus = self.config.cpus;
        let measures = (
            (Stats::new(cpus, &keys).with_task_histograms(), self.fairness(keys.len())),
            (
                (record.map(SliceRecorder::within), record.map(SpanRecorder::within)),
                (!groups.is_empty()).then(|| GroupUsage::new(cpus, setup::parents(groups))),
            ),
        );
        (measures, Refusals::new())
    }
}

/// A machine with a workload, any scheduler and an observer.
pub(crate) type Plain<O> = Machine<Box<dyn Scheduler>, Kernel, O>;

/// The observers of [`Experiment::report_between`] with the caller's.
pub(crate) type Reported<O> = Since<((Stats, Option<GroupUsage>), O)>;

/// A machine that is ready to run, the numbers of its groups, and what is done to it.
type Assembled<O> = (Plain<O>, Vec<GroupId>, Timetable);

/// Lets each task that a run begins with start later by a part of a tick, drawn from `seed`: the
/// same part under every scheduler.
fn start_late(vm: &mut Kernel, seed: u64, hz: u32) {
    /// So that the draws are others than those of the order of events.
    const STREAM: u64 = 0x7374_6172_7473;
    let tick_ns = u128::from(1_000_000_000 / u64::from(hz.max(1)));
    let mut random = SplitMix64::new(seed ^ STREAM);
    vm.start_later(|| ((u128::from(random.next_u64()) * tick_ns) >> 64) as u64);
}

/// `act`, after which the run goes on.
fn going_on<M>(mut act: impl FnMut(&mut M)) -> impl FnMut(&mut M) -> ControlFlow<()> {
    move |machine| {
        act(machine);
        ControlFlow::Continue(())
    }
}

/// The attributes of all tasks, by number.
fn in_force<O: Observer>(machine: &Plain<O>) -> Vec<SchedAttr> {
    (0..machine.task_count() as u32).map(|task| machine.task_attr(TaskId(task))).collect()
}

/// The observers that make the report.
type Measures = (
    ((Stats, Fairness), ((Option<SliceRecorder>, Option<SpanRecorder>), Option<GroupUsage>)),
    Refusals,
);

/// What `attrs` are in force, by task.
fn task_infos(vm: &Kernel, attrs: &[SchedAttr]) -> Vec<TaskInfo> {
    vm.threads()
        .map(|thread| TaskInfo {
            name: vm.thread_name(thread.task),
            key: thread.key.into(),
            group: thread.group.into(),
            attr: attrs[thread.task.index()],
            loops_finished: thread.rounds,
            loop_rounds: thread.loop_rounds,
            periods: thread.periods,
            missed_periods: thread.missed_periods,
        })
        .collect()
}

/// What the kernel refused to tasks of the workload.
fn refused_to_tasks(vm: &Kernel, refusals: &Refusals) -> Option<String> {
    crate::refused::text(refusals, |task| vm.thread_name(task))
}

/// What of the timetable the machine refused.
fn report_refusals(outcome: &timetable::Outcome) -> Option<String> {
    if outcome.refused == 0 {
        return None;
    }
    let mut lines: Vec<String> = outcome.refusals.iter().map(ToString::to_string).collect();
    match outcome.refused - lines.len() as u64 {
        0 => {}
        more => lines.push(format!("and {more} more")),
    }
    Some(format!("not all of the timetable could be done:\n  {}", lines.join("\n  ")))
}

/// Who waits for whom, and who is stopped, in a run that is stuck.
fn report_stuck<S: Scheduler, O: Observer>(machine: &Machine<S, Kernel, O>) -> String {
    let is_held =
        |&task: &TaskId| matches!(machine.task_state(task), TaskState::Stopped | TaskState::Frozen);
    let held: Vec<String> = (0..machine.task_count() as u32)
        .map(TaskId)
        .filter(is_held)
        .map(|task| machine.workload().thread_name(task))
        .collect();
    let waits = machine.workload().wait_graph();
    if held.is_empty() {
        return waits.to_string();
    }
    let held = format!("nobody lets these go on: {}", held.join(", "));
    if waits.waiting.is_empty() { held } else { format!("{held}; {waits}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select;
    use schedlab_core::Policy;
    use schedlab_machine::costs::CostModel;

    fn experiment(text: &str) -> Experiment {
        let target = Target { cpus: CPUS_MAX, limited: true };
        let model =
            rt_app::load("test.json", text, &target).unwrap_or_else(|error| panic!("{error}"));
        let cpus = cpus_named(&model);
        Experiment::new(model, &GroupSettings::default(), cpus).expect("nothing is set")
    }

    #[test]
    fn what_a_workload_needs_is_seen() {
        let plain = experiment(r#"{"tasks": {"a": {"run": 5000, "loop": 2}}}"#);
        assert_eq!(
            (plain.config.cpus, plain.needs().affinity, plain.needs().groups),
            (1, false, false)
        );
        let bound = experiment(r#"{"tasks": {"a": {"run": 5000, "loop": 2, "cpus": [2]}}}"#);
        assert_eq!((bound.config.cpus, bound.needs().affinity), (3, true));
        let all = experiment(r#"{"tasks": {"a": {"run": 5000, "loop": 2, "cpus": [0, 1]}}}"#);
        assert_eq!((all.config.cpus, all.needs().affinity), (2, false));
        let grouped =
            experiment(r#"{"tasks": {"a": {"run": 5000, "loop": 2, "taskgroup": "/g"}}}"#);
        assert!(grouped.needs().groups);
    }

    #[test]
    fn every_scheduler_gives_a_lone_task_what_it_asks_for() {
        let experiment =
            experiment(r#"{"tasks": {"a": {"run": 5000, "sleep": 5000, "loop": 20}}}"#);
        for choice in select::all() {
            assert_eq!(choice.refuses(&experiment.needs()), None);
            let ran = experiment.run(&choice).unwrap_or_else(|error| panic!("{choice}: {error}"));
            assert_eq!(ran.report.tasks[0].cpu_ns, 100_000_000, "{choice}");
            assert_eq!(ran.report.end.at_ns, 200_000_000, "{choice}");
        }
    }

    #[test]
    fn a_described_machine_is_what_the_scheduler_gets() {
        let text = r#"{"tasks": {"a": {"run": 5000, "sleep": 5000, "loop": 20, "instance": 20}}}"#;
        let machine = schedlab_machine::description::find("z800-2x6").expect("it is there");
        for choice in select::all() {
            let experiment = Experiment {
                config: RunConfig {
                    cpus: machine.topology.cpus(),
                    machine: Some(machine.clone()),
                    ..RunConfig::flat(1)
                },
                ..experiment(text)
            };
            if choice.refuses(&experiment.needs()).is_some() {
                continue;
            }
            let ran = experiment.run(&choice).unwrap_or_else(|error| panic!("{choice}: {error}"));
            assert_eq!(ran.report.machine.model, "idealised z800-2x6");
            let cpu_ns: u64 = ran.report.tasks.iter().map(|task| task.cpu_ns).sum();
            assert_eq!(cpu_ns, 20 * 100_000_000, "{choice}");
        }
    }

    #[test]
    fn what_a_timetable_asks_is_needed_and_what_it_cannot_do_is_told() {
        let mut experiment = experiment(r#"{"tasks": {"a": {"run": 5000, "loop": 20}}}"#);
        experiment.config.cpus = 2;
        experiment.timetable = Timetable::parse(
            "t",
            "at 10ms offline cpu 1\nat 20ms offline cpu 0\nat 30ms chrt a fifo 3\nat 40ms taskset a 0",
        )
        .expect("it is well formed");
        assert!(experiment.needs().affinity && experiment.needs().policies.contains(&Policy::Fifo));
        let choice = select::find("cfs").expect("it is there");
        experiment.check_timetable(std::slice::from_ref(&choice)).expect("all is there");
        let ran = experiment.run(&choice).expect("it runs");
        let warning = ran.warning.expect("the last CPU stays");
        assert!(warning.contains("`at 20ms offline cpu 0`: EBUSY"), "{warning}");
        assert_eq!(ran.report.end.at_ns, 100_000_000);
        experiment.timetable = Timetable::parse_option("10ms stop a").expect("it is well formed");
        let ran = experiment.run(&choice).expect("it ends when nothing can happen any more");
        let warning = ran.warning.expect("nobody lets it go on");
        assert!(warning.contains("nobody lets these go on: a-0"), "{warning}");
        assert_eq!(ran.report.end.at_ns, 10_000_000);
        experiment.timetable =
            Timetable::parse_option("10ms set sched_latenci_ns 1").expect("it is well formed");
        assert!(experiment.check_timetable(std::slice::from_ref(&choice)).is_err());
    }

    #[test]
    fn a_deadlock_is_an_error_without_a_duration_and_a_warning_with_one() {
        let text = r#"{"tasks": {"a": {"run": 1000, "sem_wait": "never", "loop": 1}}}"#;
        let mut experiment = experiment(text);
        let choice = select::find("round_robin").expect("it is there");
        let error = experiment.run(&choice).expect_err("nobody posts");
        assert!(error.to_string().contains("no task can ever run again"), "{error}");
        experiment.config.limit_ns = Some(1_000_000_000);
        let ran = experiment.run(&choice).expect("there is a limit");
        assert!(ran.warning.is_some_and(|warning| warning.contains("a-0")));
    }

    /// Where a wakeup takes time, others come in between what one event makes: between letting a
    /// mutex go and blocking.
    #[test]
    fn where_calls_take_time_nobody_blocks_in_anothers_place_and_no_wakeup_is_lost() {
        let text = r#"{"tasks": {
            "a": {"loop": 50, "lock": "m", "run": 300, "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "run1": 10},
            "b": {"loop": 400, "lock": "m", "run": 100, "unlock": "m", "run1": 37},
            "d": {"loop": 400, "lock": "m", "run": 90, "unlock": "m", "run1": 41},
            "s": {"loop": 20000, "signal": "c", "sleep": 100, "run": 20}
        }}"#;
        let mut experiment = experiment(text);
        experiment.config.cpus = 2;
        let mut costs = CostModel::default();
        costs.set("wakeup", 30_000.0).expect("it is there");
        costs.set("call.futex", 5_000.0).expect("it is there");
        experiment.config.costs = Some(costs);
        for name in ["fcfs", "o_1", "cfs"] {
            let choice = select::find(name).expect("it is there");
            let ran = experiment.run(&choice).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(ran.warning, None, "{name}");
        }
    }
}
