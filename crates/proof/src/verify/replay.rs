//! Replays one golden schedule.

use super::compare::{Agreement, Difference, FigureDifference, agreement, first_difference};
use super::conventions;
use super::figures::{Figures, ThreadFigures};
use crate::check::{Limits, Violation, Watched};
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{CpuId, GroupId, Observer, Policy, SchedAttr, Scheduler, TaskId};
use schedlab_lab::RunConfig;
use schedlab_lab::assembly::Assembly;
use schedlab_lab::catch_panic;
use schedlab_lab::compressed::{self, ReadError};
use schedlab_lab::select::{Choice, Needs};
use schedlab_lab::session::Observers;
use schedlab_lab::setup::{self, NewGroup};
use schedlab_machine::description::Description;
use schedlab_machine::{ActionError, Machine, RunEnd};
use schedlab_measure::{Slice, SliceRecorder};
use schedlab_sched::registry;
use schedlab_workload::golden::{GoldenChange, Place};
use schedlab_workload::programs::Kernel;
use schedlab_workload::{Conventions, Diagnostic, GoldenFile, GroupPlan};
use std::collections::HashMap;
use std::path::Path;

/// Result of replaying a golden schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Scheduler, as the file names it.
    pub scheduler: String,
    /// The release whose source was run.
    pub kernel: String,
    /// Number of slices in the file.
    pub slices: usize,
    /// The first difference of the replay.
    pub difference: Option<Difference>,
    /// The first figure of the file's `tasks` that differs in the replay, if any.
    pub figure: Option<FigureDifference>,
    /// Agreement of CPU time.
    pub agreement: Agreement,
}

impl Verdict {
    /// Whether every slice and every figure agree.
    pub fn agrees(&self) -> bool {
        self.difference.is_none() && self.figure.is_none()
    }
}

/// Reason why a golden schedule could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file is not a golden schedule, or not a valid one.
    #[error(transparent)]
    Form(#[from] Diagnostic),
    /// The file has load-tracking vectors, which are stored next to the golden schedules.
    #[error("these are load-tracking vectors (pelt-vectors/1), not a schedule")]
    Vectors,
    /// This build has no such scheduler.
    #[error("{diagnostic}")]
    UnknownScheduler {
        /// Scheduler, as the file names it.
        scheduler: String,
        /// Kernel, as the file names it.
        kernel: String,
        /// The message, with the place in the file.
        diagnostic: Diagnostic,
    },
    /// The scheduler does not run on such a machine, or refuses a setting.
    #[error("{0}")]
    Refused(String),
    /// The scheduler, or the code that drives it, failed.
    #[error("the replay broke down: {0}")]
    Broken(String),
}

/// Replays the golden schedule in a file, plain or compressed.
///
/// # Errors
/// [`GoldenError`].
pub fn verify_file(path: &Path) -> Result<Verdict, GoldenError> {
    let name = path.display().to_string();
    verify_bytes(&name, &compressed::read(path, compressed::LIMIT)?)
}

/// Replays the golden schedule in a file. `observer` receives every event. `reasons`: whether
/// decisions come with their grounds ([`Event::Decided`](schedlab_core::Event)).
///
/// # Errors
/// [`GoldenError`].
pub fn observe_file(
    path: &Path,
    reasons: bool,
    observer: &mut impl Observer,
) -> Result<(), GoldenError> {
    let name = path.display().to_string();
    let (file, choice) = parse(&name, &compressed::read(path, compressed::LIMIT)?)?;
    let observed =
        catch_panic(|| run(&file, &choice, reasons, |scheduler| scheduler, observer).map(|_| ()));
    observed.map_err(GoldenError::Broken)?
}

/// Replays the golden schedule in a file under all invariants, with the reasons of every decision.
/// Returns the first rule that is broken, if any.
///
/// # Errors
/// [`GoldenError`].
pub fn check_file(path: &Path) -> Result<Option<Violation>, GoldenError> {
    let name = path.display().to_string();
    let bytes = compressed::read(path, compressed::LIMIT)?;
    let (file, choice) = parse(&name, &bytes)?;
    let checked = catch_panic(|| {
        // Zombies stay, and groups are throttled, so only rules that hold at every event are
        // checked.
        let limits = Limits {
            real_time_throttled: true,
            audit_every: 211,
            look_every: 16,
            waits: false,
            idling: false,
            prompt: true,
        };
        let watch = |scheduler| Watched::new(scheduler, file.cpus, limits);
        let machine = run(&file, &choice, true, watch, ())?;
        let end_ns = machine.now_ns();
        let (mut watched, ..) = machine.into_parts();
        Ok(watched.finish(end_ns).cloned())
    });
    checked.map_err(GoldenError::Broken)?
}

/// Parses a golden schedule and finds its scheduler.
fn parse(name: &str, text: &[u8]) -> Result<(GoldenFile, Choice), GoldenError> {
    let text = compressed::as_text(text)?;
    let file = match GoldenFile::parse(name, text) {
        Ok(file) => file,
        Err(_) if is_vectors(text) => return Err(GoldenError::Vectors),
        Err(diagnostic) => return Err(diagnostic.into()),
    };
    let found = registry::find_golden(&file.scheduler, &file.kernel);
    let (entry, release) = found.ok_or_else(|| GoldenError::UnknownScheduler {
        scheduler: file.scheduler.clone(),
        kernel: file.kernel.clone(),
        diagnostic: unknown_scheduler(&file),
    })?;
    Ok((file, Choice::of(entry, release)))
}

/// Reports that this program lacks the file's scheduler and kernel, and lists the ones that it has.
fn unknown_scheduler(file: &GoldenFile) -> Diagnostic {
    let (scheduler, kernel) = (file.scheduler.as_str(), file.kernel.as_str());
    let message = format!("there is no scheduler {scheduler} of kernel {kernel} in this program");
    let all = || {
        let releases = registry::ALL.iter().flat_map(|entry| entry.releases);
        releases.flat_map(|release| release.golden)
    };
    let kernels: Vec<&str> =
        all().filter(|(name, _)| *name == scheduler).map(|(_, kernel)| *kernel).collect();
    if kernels.is_empty() {
        let mut names: Vec<&str> = all().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        let help = format!("there are golden schedules of {}", names.join(", "));
        return file.error_at(Place::Scheduler, message).with_help(help);
    }
    file.error_at(Place::Kernel, message)
        .with_help(format!("there are golden schedules of kernels {}", kernels.join(", ")))
}

/// Replays the golden schedule in `text`. Messages refer to it as `name`.
///
/// # Errors
/// [`GoldenError`].
pub fn verify_bytes(name: &str, text: &[u8]) -> Result<Verdict, GoldenError> {
    let (file, choice) = parse(name, text)?;
    let expected: Vec<Slice> = file
        .slices
        .iter()
        .map(|slice| Slice {
            cpu: slice.cpu,
            start_ns: slice.start_ns,
            end_ns: slice.end_ns,
            task: slice.task,
        })
        .collect();
    let (got, figures) = catch_panic(|| replay(&file, &choice)).map_err(GoldenError::Broken)??;
    Ok(Verdict {
        slices: expected.len(),
        figure: first_figure_that_differs(&file, &figures),
        difference: first_difference(&expected, &got, &file.threads),
        agreement: agreement(&expected, &got),
        scheduler: file.scheduler,
        kernel: file.kernel,
    })
}

fn is_vectors(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Head {
        format: String,
    }
    serde_json::from_str(text).is_ok_and(|head: Head| head.format == "pelt-vectors/1")
}

/// Slices of a replay, and figures of each of the file's threads.
type Replayed = (Vec<Slice>, HashMap<TaskId, ThreadFigures>);

fn replay(file: &GoldenFile, choice: &Choice) -> Result<Replayed, GoldenError> {
    let (mut recorder, mut figures) = (SliceRecorder::new(), Figures::default());
    let observer = (&mut recorder, &mut figures);
    let machine = run(file, choice, false, |scheduler| scheduler, observer)?;
    let (_, workload, _) = machine.into_parts();
    let mut slices = recorder.into_slices();
    // The machine numbers forked threads in order of birth; the file, in the order in which it
    // names them.
    let initial = file.model.initial_threads();
    let names: HashMap<&str, TaskId> =
        file.threads.iter().map(String::as_str).zip((0..).map(TaskId)).collect();
    // A thread that the file does not name has no number.
    let number = |task: TaskId| match task.index() < initial {
        true => task,
        false => {
            let name = workload.thread_name(task);
            names.get(name.as_str()).copied().unwrap_or(TaskId(u32::MAX))
        }
    };
    for slice in &mut slices {
        slice.task = number(slice.task);
    }
    let figures = figures.all().map(|(task, counted)| (number(task), counted)).collect();
    Ok((slices, figures))
}

/// The first figure of the file, task by task, that differs in the replay. Definitions of switches,
/// wakeups and migrations differ between schedulers' files, so these are not compared.
fn first_figure_that_differs(
    file: &GoldenFile,
    got: &HashMap<TaskId, ThreadFigures>,
) -> Option<FigureDifference> {
    file.figures.iter().find_map(|expected| {
        // A thread that was never born did nothing.
        let got = got.get(&expected.task).copied().unwrap_or_default();
        let figures = [
            ("runtime_ns", expected.runtime_ns, got.runtime_ns),
            ("wait_ns", expected.wait_ns, got.wait_ns),
            ("max_wait_ns", expected.max_wait_ns, got.max_wait_ns),
        ];
        let (figure, expected_value, got) =
            figures.into_iter().find(|(_, expected, got)| expected != got)?;
        let name = file.threads.get(expected.task.index()).cloned().unwrap_or_default();
        Some(FigureDifference { name, figure, expected: expected_value, got })
    })
}

/// The machine of `file` at its end, with the scheduler inside the value that `wrap` returns.
/// `reasons`: whether its decisions come with their grounds.
fn run<'o, S: Scheduler>(
    file: &GoldenFile,
    choice: &Choice,
    reasons: bool,
    wrap: impl FnOnce(Box<dyn Scheduler>) -> S,
    observer: impl Observer + 'o,
) -> Result<Machine<S, Kernel, Observers<'o>>, GoldenError> {
    let refused = |message: String| Err(GoldenError::Refused(message));
    let release = &choice.release;
    let cpus_max = release.cpus_max.min(CPUS_MAX);
    if !(1..=cpus_max).contains(&file.cpus) {
        let message =
            format!("the machine has {} CPUs; {choice} runs on 1 to {cpus_max}", file.cpus);
        return Err(file.error_at(Place::Cpus, message).into());
    }
    let (hz_min, hz_max) = release.hz_range;
    if !(hz_min..=hz_max).contains(&file.hz) {
        let message = format!(
            "the machine ticks {} times a second; {choice} supports {hz_min} to {hz_max}",
            file.hz
        );
        return Err(file.error_at(Place::Hz, message).into());
    }
    let needs = Needs { cpus: file.cpus, policies: policies_of(file), ..Needs::default() };
    if let Some(why) = choice.refuses(&needs) {
        return refused(format!("{choice} cannot run it: {why}"));
    }
    let known = conventions::of(file);
    let mut conventions = file.conventions.unwrap_or(known.conventions);
    let mut config = RunConfig { hz: Some(file.hz), reasons, ..RunConfig::flat(file.cpus) };
    config.machine = file.topology.clone().map(|topology| Description {
        name: "golden".into(),
        topology,
        ..Description::flat(file.cpus).expect("a golden machine has 1 to 4096 CPUs")
    });
    let mut wake_from_interrupt = true;
    let mut interrupt_cpu = None;
    for (name, value) in &file.tunables {
        // Two of them are settings of the machine rather than tunables of the kernel.
        match name.as_str() {
            "in_interrupt" => wake_from_interrupt = *value != 0,
            "interrupt_cpu" => interrupt_cpu = Some(cpu_of(file, *value)?),
            "sleep_uninterruptible" => conventions.uninterruptible = *value != 0,
            other if known.ignored.iter().any(|name| name == other) => {}
            _ => config.tunables.push((name.clone(), *value)),
        }
    }
    // Settings of the machine's build come before all others.
    config.tunables.splice(0..0, file.settings.iter().cloned().chain(known.tunables));
    let groups: Vec<NewGroup<'_>> = file
        .groups
        .iter()
        .map(|group| NewGroup {
            parent: group.parent,
            idle: group.idle,
            quota: group.quota.filter(|quota| quota.quota_us.is_some()),
            ..NewGroup::weighing(&group.path, group.shares)
        })
        .collect();
    let group_ids = setup::group_ids(groups.len());
    let workload = file.workload(&group_ids, conventions)?;
    let refuse = |error: schedlab_lab::Error| GoldenError::Refused(error.to_string());
    let mut assembly = Assembly::new(&config, choice).map_err(refuse)?;
    assembly.machine.reap = file.reap;
    assembly.machine.wake_from_interrupt = wake_from_interrupt;
    assembly.machine.interrupt_cpu = interrupt_cpu;
    assembly.machine.resume_after_switch = conventions.resume_after_switch;
    assembly.groups = &groups;
    let observers = Observers::attached(observer);
    let mut machine = assembly.build_with(wrap, workload, observers).map_err(refuse)?;
    drive(file, conventions, &group_ids, &mut machine)?;
    Ok(machine)
}

/// The CPU with the number `value`, a setting of the machine.
fn cpu_of(file: &GoldenFile, value: i64) -> Result<CpuId, GoldenError> {
    let number = u32::try_from(value).ok().filter(|&number| number < file.cpus);
    number.map(CpuId).ok_or_else(|| {
        GoldenError::Refused(format!(
            "`interrupt_cpu` is {value}, but there are {} CPUs",
            file.cpus
        ))
    })
}

/// Policies that tasks have at any time.
fn policies_of(file: &GoldenFile) -> Vec<Policy> {
    let mut policies = file.model.policies();
    policies.extend(file.timetable.policies());
    policies.extend(file.actions.iter().filter_map(|action| match action.what {
        GoldenChange::Policy(_, policy, _) => Some(policy),
        _ => None,
    }));
    policies
}

/// Runs the machine, with the external changes that the file specifies.
fn drive<S: Scheduler, O: Observer>(
    file: &GoldenFile,
    conventions: Conventions,
    group_ids: &[GroupId],
    machine: &mut Machine<S, Kernel, O>,
) -> Result<(), GoldenError> {
    let broken = |stop: schedlab_workload::Error| GoldenError::Broken(stop.to_string());
    if !file.timetable.is_empty() {
        let plan = GroupPlan::default();
        file.timetable.run(machine, &plan, &[], file.end_ns).map_err(broken)?;
        return Ok(());
    }
    // Changes at the end or later do not happen.
    for action in file.actions.iter().take_while(|action| action.at_ns < file.end_ns) {
        if machine.run_to(action.at_ns).map_err(broken)? != RunEnd::TimeUp {
            break;
        }
        let (mut task, mut attr) = (TaskId(0), SchedAttr::default());
        if let Some(meant) = action.what.task() {
            let name = &file.threads[meant.index()];
            let workload = machine.workload();
            let all = (0..machine.task_count() as u32).map(TaskId);
            let Some(found) = all.clone().find(|&task| workload.thread_name(task) == *name) else {
                // The task has not been born yet.
                continue;
            };
            task = found;
            attr = machine.task_attr(task);
        }
        let what = match action.what {
            GoldenChange::Policy(task, policy, _)
                if conventions.chrt_keeps_nice && !policy.is_realtime() =>
            {
                &GoldenChange::Policy(task, policy, attr.nice)
            }
            ref what => what,
        };
        match machine.act(&what.action(task, attr, group_ids)) {
            // A change that the kernel refuses has no effect, nor has a change to an ended task.
            Ok(()) | Err(ActionError::Refused(_) | ActionError::Ended(_)) => {}
            Err(error) => return Err(GoldenError::Refused(error.to_string())),
        }
    }
    machine.run(file.end_ns).map_err(broken)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_measure::Stats;
    use std::path::PathBuf;

    /// The longest wait of reports is the `max_wait_ns` of golden files, which is counted
    /// differently for the same runs.
    #[test]
    fn the_longest_wait_of_reports_is_that_of_golden_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        let folders: Vec<PathBuf> = ["o_n", "bfs"].iter().map(|name| root.join(name)).collect();
        let mut tasks = 0;
        for found in super::super::collect(&folders).expect("the golden schedules exist") {
            let bytes =
                compressed::read(&found.path, compressed::LIMIT).expect("the file is readable");
            let name = found.path.display().to_string();
            let (file, choice) = parse(&name, &bytes).expect("the file is a golden schedule");
            let (mut figures, mut stats) = (Figures::default(), Stats::new(file.cpus, &[]));
            let observer = (&mut figures, &mut stats);
            let machine = run(&file, &choice, false, |scheduler| scheduler, observer);
            machine.map(|_| ()).expect("the schedule can be replayed");
            for (task, counted) in figures.all() {
                let did = stats.task(task).expect("the task was born");
                let said = (did.cpu_ns, did.wait_ns, did.wait_max_ns);
                let right = (counted.runtime_ns, counted.wait_ns, counted.max_wait_ns);
                assert_eq!(said, right, "{name}: {task:?}");
                tasks += 1;
            }
        }
        assert!(tasks > 500, "only {tasks} tasks");
    }

    fn golden(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
        let mut file = serde_json::json!({
            "format": "golden-schedule/1",
            "kernel": "1.0",
            "scheduler": "round_robin",
            "machine": {"cpus": 1, "hz": 100, "topology": "flat"},
            "tunables": {},
            "groups": {},
            "scenario": {"global": {"duration": 1}, "tasks": {"hog": {"run": 10000, "loop": 5}}},
            "slices": [[0, 0, 50_000_000, "hog-0"]],
            "tasks": {},
            "end_ns": 1_000_000_000,
            "notes": ""
        });
        change(&mut file);
        serde_json::to_vec(&file).unwrap()
    }

    fn verify(text: &[u8]) -> Result<Verdict, GoldenError> {
        verify_bytes("some.json", text)
    }

    #[test]
    fn a_policy_that_the_release_has_not_is_refused() {
        for [task, action] in [["SCHED_DEADLINE", ""], ["SCHED_OTHER", "SCHED_FIFO"]] {
            let error = verify(&golden(|file| {
                let hog = &mut file["scenario"]["tasks"]["hog"];
                hog["policy"] = task.into();
                hog["dl-runtime"] = 1_000.into();
                hog["dl-period"] = 10_000.into();
                if task == "SCHED_OTHER" {
                    hog.as_object_mut().unwrap().retain(|key, _| !key.starts_with("dl-"));
                    file["actions"] = serde_json::json!([[5, "chrt", "hog-0", action, 5]]);
                }
            }));
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with("round_robin@1.0 cannot run it: "), "{error}");
        }
    }

    #[test]
    fn an_action_behind_the_end_is_not_waited_for() {
        let verdict = verify(&golden(|file| {
            file["actions"] =
                serde_json::json!([[1_000_000_000_000_000_000_u64, "renice", "hog-0", 0]]);
        }));
        assert!(verdict.unwrap().agrees());
    }

    #[test]
    fn a_schedule_that_is_met_agrees() {
        let verdict = verify(&golden(|_| {})).unwrap();
        assert!(verdict.agrees());
        assert_eq!((verdict.slices, verdict.agreement.share()), (1, 1.0));
    }

    #[test]
    fn a_schedule_that_is_not_met_says_where_and_by_how_much() {
        let verdict = verify(&golden(|file| file["slices"][0][2] = 40_000_000.into())).unwrap();
        assert_eq!(
            verdict.difference.unwrap().to_string(),
            "slice 0: expected hog-0 on CPU 0 from 0 to 40000000 ns, got hog-0 on CPU 0 from 0 to 50000000 ns"
        );
        assert_eq!(verdict.agreement.share(), 0.8);
    }

    #[test]
    fn what_cannot_be_replayed_is_an_error_that_says_why() {
        let cases: [(Vec<u8>, &str); 11] = [
            (b"{".to_vec(), "some.json:1"),
            (b"[]".to_vec(), "some.json:1"),
            (b"\xff\xfe".to_vec(), "not text"),
            (golden(|file| file["format"] = "x".into()), "format is `x`"),
            (golden(|file| file["format"] = "pelt-vectors/1".into()), "load-tracking vectors"),
            (
                golden(|file| file["kernel"] = "0.1".into()),
                "no scheduler round_robin of kernel 0.1",
            ),
            (golden(|file| file["machine"]["cpus"] = 2.into()), "has 2 CPUs"),
            (golden(|file| file["machine"]["hz"] = 50.into()), "ticks 50 times"),
            (golden(|file| file["tunables"]["x"] = 1.into()), "no tunables"),
            (golden(|file| file["tunables"]["interrupt_cpu"] = 1.into()), "there are 1 CPUs"),
            (golden(|file| file["groups"]["/g"]["shares"] = 4.into()), "no task groups"),
        ];
        for (text, part) in cases {
            let message = verify(&text).unwrap_err().to_string();
            assert!(message.contains(part), "no \"{part}\" in: {message}");
        }
    }
}
