//! A workload that was checked against what is permitted: [`Prepared`].

use crate::facts::format_cpus;
use crate::groups::Home;
use crate::options::{GroupChoice, Options};
use crate::probe::{self, Probe};
use crate::refusals::{self, Refusal};
use schedlab_core::Policy;
use schedlab_workload::model::{Action, Model};
use schedlab_workload::{GroupPlan, Target, rt_app};

/// Upper bound of CPU numbers in workloads; whether a CPU exists is checked later.
pub(crate) const CPUS_MAX: u32 = 4096;

/// A workload that can be measured.
#[derive(Debug)]
pub struct Prepared {
    /// Name of the file.
    pub name: String,
    pub(crate) text: String,
    /// The workload without the tasks that are left out, and with the duration of the run.
    pub model: Model,
    /// Its groups.
    pub groups: GroupPlan,
    /// Permissions of this user on this kernel.
    pub probe: Probe,
    /// CPUs of tasks that name none.
    pub cpus: Vec<u32>,
    /// Tasks that were left out, with reasons.
    pub left_out: Vec<Refusal>,
    /// Differences from what the file may lead a reader to expect.
    pub notes: Vec<String>,
    /// Options of the measurement.
    pub options: Options,
}

/// Returns the place of the groups for a choice.
fn home(choice: &GroupChoice) -> Result<Option<Home>, String> {
    match choice {
        GroupChoice::Auto => Ok(Home::of_this_process()),
        GroupChoice::None => Ok(None),
        GroupChoice::At(directory) => Home::named(directory).map(Some),
    }
}

/// Tries what is permitted, with groups at the place that `choice` specifies.
///
/// # Errors
/// The directory that the user named is not a group.
pub fn probe(choice: &GroupChoice) -> Result<Probe, String> {
    let mut probe = Probe::new(home(choice)?);
    if *choice == GroupChoice::None {
        probe.group = probe::Permission::no(refusals::NO_GROUP);
        probe.group_realtime = probe::Permission::no(refusals::NO_GROUP);
    }
    if let (GroupChoice::At(directory), false) = (choice, probe.group.yes) {
        return Err(format!("--group {}: {}", directory.display(), probe.group.how));
    }
    Ok(probe)
}

impl Prepared {
    /// Checks a workload file against what is permitted.
    ///
    /// # Errors
    /// All mistakes in the file and all reasons why it cannot be run.
    pub fn new(name: &str, text: &str, probe: Probe, options: Options) -> Result<Prepared, String> {
        let limited = options.duration_ns.is_some();
        let target = Target { cpus: CPUS_MAX, limited };
        let mut model = rt_app::load(name, text, &target).map_err(|error| error.to_string())?;
        let cpus = cpus(options.cpus.as_deref(), &probe)?;
        if options.runs == 0 {
            return Err("--runs 0 measures nothing; give at least 1".into());
        }
        if let Some(tries) = options.tries.filter(|&tries| tries < options.runs) {
            return Err(format!(
                "--tries {tries} is less than the {} quiet runs requested by --runs; give at least {}",
                options.runs, options.runs
            ));
        }
        let refused = refusals::refusals(&model, &probe, &cpus);
        let mut left_out = vec![];
        if !refused.is_empty() {
            if !options.leave_out {
                let all: Vec<String> = refused.iter().map(ToString::to_string).collect();
                return Err(all.join("\n"));
            }
            model.tasks.retain(|task| refused.iter().all(|refusal| refusal.task != task.key));
            left_out = refused;
            if model.initial_threads() == 0 {
                let all: Vec<String> = left_out.iter().map(ToString::to_string).collect();
                return Err(format!("no task of {name} is left:\n{}", all.join("\n")));
            }
            rt_app::check(&model, &target)
                .map_err(|error| format!("without what is left out: {error}"))?;
        }
        if let Some(ns) = options.duration_ns {
            model.global.duration_ns = Some(ns);
        }
        begins(name, &model)?;
        if model.initial_threads() > crate::thread::THREADS_MAX {
            return Err(format!(
                "{name} begins with {} threads; a host runs at most {}",
                model.initial_threads(),
                crate::thread::THREADS_MAX
            ));
        }
        let groups = GroupPlan::new(&options.settings, &model.group_paths(), CPUS_MAX)
            .map_err(|error| error.to_string())?;
        check_groups(&groups, &probe)?;
        if options.records_all && !probe.switches_of_all.yes {
            return Err(format!(
                "--trace all: the switches of all tasks may not be recorded: {}; permit it with `sudo \
                 setcap cap_perfmon+ep` on the program, run it as root, or take --trace own",
                probe.switches_of_all.how
            ));
        }
        let notes = notes(&model, &groups, &probe, &options);
        let (name, text) = (name.to_string(), text.to_string());
        Ok(Prepared { name, text, model, groups, probe, cpus, left_out, notes, options })
    }

    /// Returns the maximum number of repetitions.
    pub fn tries(&self) -> u32 {
        self.options.tries.unwrap_or(self.options.runs.saturating_mul(3))
    }

    pub(crate) fn has_realtime(&self) -> bool {
        self.model.policies().iter().any(|policy| policy.is_realtime())
    }

    /// Paths of the groups in which real-time tasks run, now or later.
    pub(crate) fn realtime_groups(&self) -> Vec<String> {
        let default = self.model.global.default_policy;
        let mut paths = vec![];
        for task in &self.model.tasks {
            let all = || {
                std::iter::once(&task.properties).chain(task.phases.iter().map(|p| &p.properties))
            };
            let realtime =
                all().any(|properties| properties.policy.unwrap_or(default).is_realtime());
            if realtime {
                let named = all().filter_map(|properties| properties.taskgroup.clone());
                paths.extend(named.filter(|path| !path.is_empty()));
            }
        }
        paths.sort();
        paths.dedup();
        paths
    }
}

/// Returns the CPUs that `--cpus` names, or all that this process may use.
///
/// # Errors
/// A CPU is offline or may not be used, or the list is empty.
pub fn cpus(wanted: Option<&[u32]>, probe: &Probe) -> Result<Vec<u32>, String> {
    let Some(wanted) = wanted else {
        return Ok(probe.allowed.clone());
    };
    for cpu in wanted {
        if !probe.facts.cpus.contains(cpu) {
            return Err(format!(
                "--cpus: CPU {cpu} is not online; this machine has {}",
                format_cpus(&probe.facts.cpus)
            ));
        }
        if !probe.allowed.contains(cpu) {
            return Err(format!(
                "--cpus: CPU {cpu} may not be used; this process may use {}",
                format_cpus(&probe.allowed)
            ));
        }
    }
    match wanted.is_empty() {
        true => Err("--cpus names no CPU".into()),
        false => Ok(wanted.to_vec()),
    }
}

/// Checks that at least one thread begins.
fn begins(name: &str, model: &Model) -> Result<(), String> {
    let end_ns = model.global.duration_ns.unwrap_or(u64::MAX);
    if end_ns == 0 {
        return Err(format!("{name}: a run of 0 s measures nothing; give it a longer duration"));
    }
    let begins =
        |task: &schedlab_workload::model::Task| task.instances > 0 && task.delay_ns < end_ns;
    match model.tasks.iter().any(begins) {
        true => Ok(()),
        false => Err(format!(
            "{name}: no thread starts: every task has `instance` 0, or a `delay` beyond the end of \
             the run; so there is nothing to measure"
        )),
    }
}

/// Checks the settings of groups that the host cannot provide.
fn check_groups(groups: &GroupPlan, probe: &Probe) -> Result<(), String> {
    for group in groups.groups() {
        if !probe.group.yes {
            return Err(format!(
                "the group `{}` cannot be made: {}; {}",
                group.path,
                probe.group.how,
                match &*probe.group.how {
                    refusals::NO_GROUP => "leave out --group none",
                    _ => "run it as root, or where control groups are delegated",
                }
            ));
        }
        if group.own_cpus.is_some() || group.own_frozen {
            let what = if group.own_frozen { "is frozen" } else { "has CPUs of its own" };
            return Err(format!(
                "the group `{}` {what}, which groups on the host do not support; give its tasks \
                 `cpus`, or remove that from its settings",
                group.path
            ));
        }
    }
    Ok(())
}

/// Notes about differences from what the file may lead a reader to expect.
fn notes(model: &Model, groups: &GroupPlan, probe: &Probe, options: &Options) -> Vec<String> {
    let mut notes = rt_app::notes(model, model.global.duration_ns);
    let memory = |action: &Action| matches!(action, Action::Mem(_) | Action::MemRun(_));
    let mut events = model.tasks.iter().flat_map(|task| &task.phases).flat_map(|p| &p.events);
    if events.any(|event| memory(&event.action)) {
        notes.push(
            "`mem` and `memrun` use the CPU time that the simulator's cost model gives them, and no \
             memory"
                .into(),
        );
    }
    if model.tasks.iter().any(|task| task.session.is_some()) {
        notes
            .push("`session` has no effect: all threads are in the session of this command".into());
    }
    notes.extend(groups.notes().map(ToString::to_string));
    if !probe.group.yes && options.group != GroupChoice::None {
        notes.push(format!("there is no heavily weighted group: {}", probe.group.how));
    }
    if options.records && !probe.switches.yes {
        notes.push(format!(
            "switches cannot be recorded ({}); time without a CPU is inferred from gaps, and there are no \
             slices. kernel.perf_event_paranoid is {}; 2 or less permits it",
            probe.switches.how,
            probe.facts.perf_event_paranoid.map_or("unknown".into(), |now| now.to_string())
        ));
    }
    let endless = probe.facts.rt_runtime_us == Some(-1);
    if endless && model.policies().iter().any(|policy| policy.is_realtime()) {
        notes.push(
            "kernel.sched_rt_runtime_us is -1: real-time tasks may use all CPU time; the kernel ends \
             them soon after the run's end at the latest"
                .into(),
        );
    }
    if model.policies().contains(&Policy::Deadline) {
        notes.push("the kernel admits deadline tasks only if all of them together fit".into());
    }
    notes
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::refusals::tests::{root, user};

    pub(crate) const HOGS: &str = r#"{"global": {"duration": 1}, "tasks": {
        "H": {"loop": -1, "run": 1000}, "I": {"loop": -1, "run": 100, "sleep": 900},
        "R": {"policy": "SCHED_FIFO", "priority": 5, "loop": 3, "run": 10, "sleep": 5}}}"#;

    fn prepared(text: &str, probe: Probe, options: Options) -> Result<Prepared, String> {
        Prepared::new("a.json", text, probe, options)
    }

    #[test]
    fn what_is_refused_can_be_left_out() {
        let refused = prepared(HOGS, user(), Options::default()).unwrap_err();
        assert!(refused.contains("task `R`, `policy`"), "{refused}");
        let leave_out = Options { leave_out: true, ..Options::default() };
        let rest = prepared(HOGS, user(), leave_out.clone()).unwrap();
        let keys: Vec<&str> = rest.model.tasks.iter().map(|task| task.key.as_str()).collect();
        assert_eq!(keys, ["H", "I"]);
        assert!(rest.describe().contains("left out: task `R`"));
        let only = r#"{"tasks": {"R": {"policy": "SCHED_RR", "loop": 1, "run": 1}}}"#;
        let nothing = prepared(only, user(), leave_out.clone()).unwrap_err();
        assert!(nothing.contains("is left"), "{nothing}");
        let missed = r#"{"tasks": {"R": {"policy": "SCHED_RR", "loop": 1, "run": 1},
            "A": {"loop": 1, "fork": "R"}}}"#;
        let broken = prepared(missed, user(), leave_out).unwrap_err();
        assert!(broken.contains("without what is left out"), "{broken}");
    }

    #[test]
    fn cpus_must_be_there_and_permitted() {
        let on = |cpus: &[u32]| Options { cpus: Some(cpus.to_vec()), ..Options::default() };
        let unknown = prepared(HOGS, root(), on(&[0, 9])).unwrap_err();
        assert!(unknown.contains("CPU 9 is not online; this machine has 0-1"), "{unknown}");
        let bound = Probe { allowed: vec![0], ..root() };
        assert!(prepared(HOGS, bound, on(&[1])).unwrap_err().contains("may not be used"));
        assert_eq!(prepared(HOGS, root(), on(&[1])).unwrap().cpus, [1]);
    }

    #[test]
    fn endless_tasks_need_an_end() {
        let endless = r#"{"tasks": {"H": {"loop": -1, "run": 1000}}}"#;
        assert!(prepared(endless, root(), Options::default()).is_err());
        let options = Options { duration_ns: Some(500_000_000), ..Options::default() };
        let with = prepared(endless, root(), options).unwrap();
        assert_eq!(with.model.global.duration_ns, Some(500_000_000));
    }

    #[test]
    fn tries_are_three_times_the_runs_if_nobody_says_otherwise() {
        let of = |runs, tries| {
            let options = Options { runs, tries, ..Options::default() };
            prepared(HOGS, root(), options).map(|prepared| prepared.tries())
        };
        assert_eq!((of(5, None), of(5, Some(7)), of(5, Some(5))), (Ok(15), Ok(7), Ok(5)));
        let few = of(5, Some(4)).unwrap_err();
        assert!(few.contains("--tries 4") && few.contains("give at least 5"), "{few}");
        assert!(prepared(HOGS, root(), Options { runs: 0, ..Options::default() }).is_err());
    }

    #[test]
    fn a_run_in_which_nothing_happens_is_refused() {
        let message_of = |text: &str, duration_ns| {
            let options = Options { duration_ns, ..Options::default() };
            prepared(text, root(), options).unwrap_err()
        };
        assert!(message_of(HOGS, Some(0)).contains("a run of 0 s"));
        let none = r#"{"tasks": {"N": {"instance": 0, "loop": 1, "run": 10}}}"#;
        assert!(
            message_of(none, None).contains("a.json: no thread starts"),
            "{}",
            message_of(none, None)
        );
        let late = r#"{"tasks": {"L": {"delay": 2000000, "loop": 1, "run": 10}}}"#;
        assert!(message_of(late, Some(1_000_000_000)).contains("no thread starts"));
        assert!(prepared(late, root(), Options::default()).is_ok());
    }
}
