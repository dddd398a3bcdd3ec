//! A workload and the machine that runs it: [`Experiment`].

use crate::assembly::Assembly;
use crate::catch_panic::catch_panic;
use crate::config::RunConfig;
use crate::error::Error;
use crate::select::{self, Choice, Needs};
use crate::session::{Course, Measures, Observers, Renaming, Session, WorkloadCourse};
use crate::setup::{self, NewGroup};
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{GroupId, Tunable};
use schedlab_machine::{Order, SplitMix64};
use schedlab_measure::{Extent, Fairness, Group};
use schedlab_workload::programs::Kernel;
use schedlab_workload::timetable::{Drive, Surroundings};
use schedlab_workload::{
    Diagnostic, GroupPlan, GroupSettings, Model, Options, RequestFilter, Target, Timetable, rt_app,
};

/// A workload and the machine that runs it.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The machine and its settings.
    pub config: RunConfig,
    /// Behaviour of the tasks.
    pub model: Model,
    /// Task groups.
    pub groups: GroupPlan,
    /// Extent to which slices are recorded. `None`: not at all.
    pub record: Option<Extent>,
    /// Maximum number of lines kept of rt-app's log. `0`: no log is kept.
    pub log_lines: usize,
    /// Requests whose response times are recorded. `None`: none are.
    pub requests: Option<RequestFilter>,
    /// Actions on the machine while it runs. A tunable that the scheduler does not have is skipped.
    pub timetable: Timetable,
}

/// Returns the number of CPUs of the smallest machine with all CPUs that `model` names.
pub fn cpus_named(model: &Model) -> u32 {
    let of_phases = model.tasks.iter().flat_map(|task| &task.phases).map(|phase| &phase.properties);
    let all = model.tasks.iter().map(|task| &task.properties).chain(of_phases);
    let cpus = all.filter_map(|properties| properties.cpus.as_ref()).flatten();
    cpus.map(|&cpu| cpu + 1).max().unwrap_or(1).min(CPUS_MAX)
}

impl Experiment {
    /// Creates the experiment with `model` on a machine of `cpus` CPUs, with the groups that
    /// `settings` and tasks name.
    ///
    /// # Errors
    /// Settings of groups contradict each other, or do not fit the machine.
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
            requests: None,
            timetable: Timetable::default(),
        })
    }

    /// Features that it requires of a scheduler.
    pub fn needs(&self) -> Needs {
        let binds = |cpus: &Vec<u32>| (0..self.config.cpus).any(|cpu| !cpus.contains(&cpu));
        let phases = self.model.tasks.iter().flat_map(|task| &task.phases);
        let of_tasks = self.model.tasks.iter().map(|task| &task.properties);
        let mut policies = self.model.policies();
        policies.extend(self.timetable.policies());
        let mut properties = phases.map(|phase| &phase.properties).chain(of_tasks);
        Needs {
            autogroups: false,
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

    /// Returns the machine for which the loader checks the workload.
    pub fn target(&self) -> Target {
        Target { cpus: self.config.cpus, limited: self.config.limit_ns.is_some() }
    }

    /// Returns the time at which the run stops at the latest, ns.
    pub fn until_ns(&self) -> Option<u64> {
        let until_ns = self.config.limit_ns.or(self.model.global.duration_ns)?;
        Some(until_ns.saturating_add(self.config.start.lead_ns()))
    }

    /// Checks that every name in the timetable exists when the workload runs under `choices`.
    ///
    /// # Errors
    /// The first name that does not exist.
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

    /// Notes about workload and timetable for the user: actions that never happen, runs that take
    /// long.
    pub fn notes(&self) -> Vec<String> {
        const MOST: usize = 10;
        let until_ns = self.until_ns();
        let mut notes = rt_app::notes(&self.model, until_ns);
        notes.extend(self.timetable.notes(&self.model, until_ns));
        let more = notes.len().saturating_sub(MOST);
        notes.truncate(MOST);
        if more > 0 {
            notes.push(format!("and {more} more notes like these"));
        }
        notes
    }

    /// Tunables of `choice` on this machine.
    pub fn tunables(&self, choice: &Choice) -> Vec<Tunable> {
        self.config.tunables_of(choice)
    }

    /// Returns a session that runs it under `choice`, which does not refuse it.
    ///
    /// # Errors
    /// The scheduler refuses a setting.
    pub fn session<'o>(&self, choice: &Choice) -> Result<Session<'o>, Error> {
        self.measured_session(&self.config, choice, self.record)
    }

    /// Returns a session with `config` and `record` in place of its own settings.
    pub(crate) fn measured_session<'o>(
        &self,
        config: &RunConfig,
        choice: &Choice,
        record: Option<Extent>,
    ) -> Result<Session<'o>, Error> {
        self.session_with(config, choice, 0, |kernel, groups| {
            let fairness = |tasks| self.fairness(tasks);
            Some(Measures::of_workload(config.cpus, kernel, groups, fairness, record))
        })
    }

    /// Returns a session without a report: only an observer receives the events. Events of the
    /// first `lead_ns` are reported to it at time 0.
    pub fn unmeasured_session<'o>(
        &self,
        config: &RunConfig,
        choice: &Choice,
        lead_ns: u64,
    ) -> Result<Session<'o>, Error> {
        self.session_with(config, choice, lead_ns, |_, _| None)
    }

    /// Returns a session whose report begins at `lead_ns`. It shows threads with the names that
    /// `renamed` has for their keys.
    pub(crate) fn renamed_session<'o>(
        &self,
        choice: &Choice,
        lead_ns: u64,
        renamed: Renaming,
    ) -> Result<Session<'o>, Error> {
        let cpus = self.config.cpus;
        let session = self.session_with(&self.config, choice, lead_ns, |kernel, groups| {
            let keys: Vec<String> = kernel.threads().map(|thread| renamed(thread.key).1).collect();
            Some(Measures::of_replay(cpus, groups, &keys))
        })?;
        Ok(session.renaming(renamed))
    }

    fn session_with<'o>(
        &self,
        config: &RunConfig,
        choice: &Choice,
        lead_ns: u64,
        measures: impl FnOnce(&Kernel, &[NewGroup<'_>]) -> Option<Measures>,
    ) -> Result<Session<'o>, Error> {
        catch_panic(|| self.assemble(config, choice, lead_ns, measures)).map_err(Error::Broken)?
    }

    fn assemble<'o>(
        &self,
        config: &RunConfig,
        choice: &Choice,
        lead_ns: u64,
        measures: impl FnOnce(&Kernel, &[NewGroup<'_>]) -> Option<Measures>,
    ) -> Result<Session<'o>, Error> {
        let paths = self.model.group_paths();
        let ids = setup::group_ids(self.groups.groups().len());
        let options = Options {
            group_ids: self.groups.ids_of(&ids, &paths),
            calls: config.costs.as_ref().map(|costs| setup::calls(costs, choice)),
            log_lines: self.log_lines,
            requests: self.requests.clone(),
            start: config.start,
            ..Options::default()
        };
        let mut kernel = rt_app::prepare(&self.model, &self.target(), options)?;
        if config.late_starts {
            let hz = config.hz.unwrap_or(choice.release.hz_default);
            start_late(&mut kernel, config.seed.unwrap_or(1), hz);
        }
        let mut plan = self.groups.clone();
        if let Some(seed) = config.seed {
            draw_phases(&mut plan, seed, choice);
        }
        let groups: Vec<NewGroup<'_>> = plan.groups().iter().map(NewGroup::from).collect();
        let mut assembly = Assembly::new(config, choice)?;
        assembly.groups = &groups;
        if let Some(seed) = config.seed {
            assembly.machine.order = Order::Shuffled(SplitMix64::new(seed));
        }
        let measures = measures(&kernel, &groups);
        let machine = assembly.build(kernel, Observers { lead_ns, measures, attached: None })?;
        let known = machine.scheduler().inspect().tunables();
        let known: Vec<&str> = known.iter().map(|tunable| tunable.name.as_ref()).collect();
        let timetable = self.timetable.for_scheduler(&known);
        let until_ns = self.until_ns();
        let course = WorkloadCourse {
            drive: Drive::new(&timetable, &plan, &ids),
            timetable,
            groups: plan.clone(),
            ids,
            is_limited: until_ns.is_some(),
            log_lines: self.log_lines,
        };
        let limit_ns = until_ns.unwrap_or(u64::MAX);
        Ok(Session::new(machine, Course::Workload(course), choice, config.clone(), limit_ns))
    }

    /// Checks that `choice` accepts the tunables and groups in `config`.
    ///
    /// # Errors
    /// The first setting that it refuses.
    pub(crate) fn check_settings(&self, config: &RunConfig, choice: &Choice) -> Result<(), Error> {
        self.unmeasured_session(config, choice, 0).map(|_| ())
    }

    /// Creates the measure of fairness, which simulates an ideal machine alongside. It allocates
    /// memory for `tasks` tasks in advance.
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
}

/// Delays the start of each initial task by a fraction of a tick, drawn from `seed`. The delays are
/// the same under every scheduler.
fn start_late(vm: &mut Kernel, seed: u64, hz: u32) {
    /// Separates these draws from the draws for the order of events.
    const STREAM: u64 = 0x7374_6172_7473;
    let tick_ns = u128::from(1_000_000_000 / u64::from(hz.max(1)));
    let mut random = SplitMix64::new(seed ^ STREAM);
    vm.start_later(|| ((u128::from(random.next_u64()) * tick_ns) >> 64) as u64);
}

/// Draws the phases of the groups' quota periods from `seed`: of each group or, before 6.3, one for
/// all. (The kernel's periods then begin at multiples of the period since boot, and a workload
/// begins at any time.)
pub(crate) fn draw_phases(groups: &mut GroupPlan, seed: u64, choice: &Choice) {
    /// Separates these draws from the others.
    const STREAM: u64 = 0x7068_6173_6573;
    /// Longest period, us. Phases are drawn below it and count modulo the period.
    const PERIOD_MAX_US: u64 = 1_000_000;
    let each = select::draws_quota_phases(choice.release.kernel());
    let mut random = SplitMix64::new(seed ^ STREAM);
    let first = random.below(PERIOD_MAX_US);
    groups.draw_phases(|| if each { random.below(PERIOD_MAX_US) } else { first });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use schedlab_core::Policy;
    use schedlab_machine::costs::CostModel;

    fn run(experiment: &Experiment, choice: &Choice) -> Result<Run, Error> {
        experiment.session(choice)?.finish()
    }

    fn experiment(text: &str) -> Experiment {
        let target = Target { cpus: CPUS_MAX, limited: true };
        let model =
            rt_app::load("test.json", text, &target).unwrap_or_else(|error| panic!("{error}"));
        let cpus = cpus_named(&model);
        Experiment::new(model, &GroupSettings::default(), cpus).expect("there are no settings")
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
            let ran = run(&experiment, &choice).unwrap_or_else(|error| panic!("{choice}: {error}"));
            assert_eq!(ran.report.tasks[0].cpu_ns, 100_000_000, "{choice}");
            assert_eq!(ran.report.end.at_ns, 200_000_000, "{choice}");
        }
    }

    #[test]
    fn a_described_machine_is_what_the_scheduler_gets() {
        let text = r#"{"tasks": {"a": {"run": 5000, "sleep": 5000, "loop": 20, "instance": 20}}}"#;
        let machine = schedlab_machine::description::find("z800-2x6").expect("the machine exists");
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
            let ran = run(&experiment, &choice).unwrap_or_else(|error| panic!("{choice}: {error}"));
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
        .expect("the timetable is valid");
        assert!(experiment.needs().affinity && experiment.needs().policies.contains(&Policy::Fifo));
        let choice = select::find("cfs").expect("the scheduler exists");
        experiment.check_timetable(std::slice::from_ref(&choice)).expect("all names exist");
        let ran = run(&experiment, &choice).expect("the run succeeds");
        let warning = ran.warning.expect("the last CPU cannot go offline");
        assert!(warning.contains("`at 20ms offline cpu 0`: EBUSY"), "{warning}");
        assert_eq!(ran.report.end.at_ns, 100_000_000);
        experiment.timetable = Timetable::parse_option("10ms stop a").expect("the option is valid");
        let ran = run(&experiment, &choice).expect("the run ends when no event is left");
        let warning = ran.warning.expect("the task stays stopped");
        assert!(warning.contains("no action continues these: a-0"), "{warning}");
        assert_eq!(ran.report.end.at_ns, 10_000_000);
        experiment.timetable =
            Timetable::parse_option("10ms set sched_latenci_ns 1").expect("the option is valid");
        assert!(experiment.check_timetable(std::slice::from_ref(&choice)).is_err());
    }

    #[test]
    fn a_deadlock_is_an_error_without_a_duration_and_a_warning_with_one() {
        let text = r#"{"tasks": {"a": {"run": 1000, "sem_wait": "never", "loop": 1}}}"#;
        let mut experiment = experiment(text);
        let choice = select::find("round_robin").expect("the scheduler exists");
        let error = run(&experiment, &choice).expect_err("no task posts the semaphore");
        assert!(error.to_string().contains("no task can ever run again"), "{error}");
        experiment.config.limit_ns = Some(1_000_000_000);
        let ran = run(&experiment, &choice).expect("the run has a limit");
        assert!(ran.warning.is_some_and(|warning| warning.contains("a-0")));
    }

    /// Where a wakeup takes time, other events happen between the parts of one event, such as the
    /// release of a mutex and blocking.
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
        costs.set("wakeup", 30_000.0).expect("the cost exists");
        costs.set("call.futex", 5_000.0).expect("the cost exists");
        experiment.config.costs = Some(costs);
        for name in ["fcfs", "o_1", "cfs"] {
            let choice = select::find(name).expect("the scheduler exists");
            let ran = run(&experiment, &choice).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(ran.warning, None, "{name}");
        }
    }
}
