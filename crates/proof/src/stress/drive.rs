//! Runs a world under observation.

use super::recent::Recent;
use super::world::{Kind, WIDENED_FROM, World};
use crate::check::{
    Accounts, Fingerprint, Limits, RequestedWork, Rule, Violation, Watched, shares,
};
use schedlab_core::{Event, Load, Policy, Scheduler, TaskId};
use schedlab_lab::assembly::Assembly;
use schedlab_lab::catch_panic;
use schedlab_lab::select::Choice;
use schedlab_lab::session::Observers;
use schedlab_lab::setup::{self, NewGroup};
use schedlab_machine::costs::{CallCosts, Cost, CostModel, Setup};
use schedlab_machine::{Machine, Observer, Order, RunEnd, SplitMix64, Workload};
use schedlab_workload::{
    Conventions, GroupPlan, GroupSettings, Kernel, Options, Target, groups, rt_app,
};
use std::fmt;

/// Variant of a world's run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Simultaneous events in the golden order.
    Golden,
    /// The same run, unwatched.
    Again,
    /// Simultaneous events in random order.
    Shuffled,
    /// On a modelled machine where nothing costs anything, which must give the same result as an
    /// idealised machine.
    Free,
    /// The run is on a modelled machine where everything is expensive. Only unconditional rules are
    /// checked: no task is lost, and the accounts are consistent.
    Modelled,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Variant::Golden => "simultaneous events in golden order",
            Variant::Again => "the same run again",
            Variant::Shuffled => "simultaneous events in random order",
            Variant::Free => "on a modelled machine where nothing costs anything",
            Variant::Modelled => "on a modelled machine where everything is expensive",
        })
    }
}

/// A rule that was broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Variant of the run.
    pub variant: Variant,
    /// The rule, the time, and the description.
    pub violation: Violation,
}

/// Result of checking a world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Number of events simulated in all runs.
    pub events: u64,
    /// Fingerprint of everything that happened. Equal worlds have equal fingerprints.
    pub fingerprint: u64,
    /// The first rule that was broken.
    pub failure: Option<Failure>,
}

/// Result of a run.
struct RunOutcome {
    events: u64,
    fingerprint: u64,
    violation: Option<Violation>,
}

/// Runs all five variants of a world, until a rule is broken.
pub fn check(world: &World, choice: &Choice) -> Checked {
    let mut checked = Checked { events: 0, fingerprint: 0, failure: None };
    let mut golden = 0;
    for variant in
        [Variant::Golden, Variant::Again, Variant::Shuffled, Variant::Free, Variant::Modelled]
    {
        let outcome = catch_panic(|| match variant {
            Variant::Again | Variant::Free => unwatched(world, choice, variant),
            Variant::Golden | Variant::Shuffled | Variant::Modelled => {
                watched(world, choice, variant)
            }
        });
        let mut outcome = outcome.unwrap_or_else(|message| RunOutcome {
            events: 0,
            fingerprint: 0,
            violation: Some(Violation::new(Rule::Panic, 0, message)),
        });
        checked.events += outcome.events;
        golden = if variant == Variant::Golden { outcome.fingerprint } else { golden };
        if variant == Variant::Free && outcome.violation.is_none() && outcome.fingerprint != golden
        {
            let what = "the run differs where costs are modelled, although all costs are 0".into();
            outcome.violation = Some(Violation::new(Rule::Determinism, 0, what));
        }
        if variant == Variant::Again
            && outcome.violation.is_none()
            && outcome.fingerprint != checked.fingerprint
        {
            let what = "the run differs when it is not watched".into();
            outcome.violation = Some(Violation::new(Rule::Determinism, 0, what));
        }
        // All three fingerprints count, each in its place.
        checked.fingerprint = match variant {
            Variant::Golden => outcome.fingerprint,
            Variant::Again | Variant::Free => checked.fingerprint,
            Variant::Shuffled | Variant::Modelled => {
                checked.fingerprint.rotate_left(32) ^ outcome.fingerprint
            }
        };
        if let Some(violation) = outcome.violation {
            checked.failure = Some(Failure { variant, violation });
            break;
        }
    }
    checked
}

/// Returns the last events before `at_ns` of a run of the world. The run is watched for reschedules
/// without end, so that a world whose fault they are ends, too.
pub fn recent_events(
    world: &World,
    choice: &Choice,
    variant: Variant,
    at_ns: u64,
    most: usize,
) -> Vec<String> {
    let outcome = catch_panic(|| {
        let mut recent = Recent::new(most);
        let observers = Observers::attached(&mut recent);
        let limits = Limits {
            real_time_throttled: true,
            audit_every: 0,
            look_every: u64::MAX,
            waits: false,
            idling: false,
            prompt: false,
        };
        let watch = |built| Watched::new(built, world.cpus, limits);
        let mut machine = prepare(world, choice, variant, watch, |kernel| kernel, observers);
        let _ = run_by_timetable(world, &mut machine, at_ns.saturating_add(1));
        drop(machine);
        recent.into_lines()
    });
    outcome.unwrap_or_else(|message| vec![format!("(the run broke down: {message})")])
}

fn plan(world: &World) -> GroupPlan {
    let mut settings = GroupSettings::default();
    for (path, shares) in &world.groups {
        let option = format!("{path}:cpu.shares={shares}");
        settings.add(groups::parse_option(&option).expect("the world's groups are valid"));
    }
    for option in &world.group_settings {
        settings.add(groups::parse_option(option).expect("the world's groups are valid"));
    }
    GroupPlan::new(&settings, &world.model.group_paths(), world.cpus)
        .expect("settings of version 2 are compatible")
}

/// Prepares a machine with the world in it, with its tunables and groups.
fn prepare<S, W, O>(
    world: &World,
    choice: &Choice,
    variant: Variant,
    scheduler: impl FnOnce(Box<dyn Scheduler>) -> S,
    workload: impl FnOnce(Kernel) -> W,
    observer: O,
) -> Machine<S, W, O>
where
    S: Scheduler,
    W: Workload,
    O: Observer,
{
    let plan = plan(world);
    let target = Target { cpus: world.cpus, limited: true };
    let ids = setup::group_ids(plan.groups().len());
    let options = Options {
        group_ids: plan.ids_of(&ids, &world.model.group_paths()),
        calls: (variant == Variant::Modelled).then(CallCosts::default),
        conventions: Conventions { forks_inherit: world.forks_inherit, ..Conventions::default() },
        ..Options::default()
    };
    let vm = rt_app::prepare(&world.model, &target, options).unwrap_or_else(|diagnostic| {
        panic!("the generator made an invalid workload: {diagnostic}")
    });
    let config = world.config();
    let groups: Vec<NewGroup<'_>> = plan.groups().iter().map(NewGroup::from).collect();
    let mut assembly = Assembly::new(&config, choice).expect("costs are set later");
    assembly.groups = &groups;
    match variant {
        Variant::Golden | Variant::Again => {}
        Variant::Shuffled => {
            assembly.machine.order = Order::Shuffled(SplitMix64::new(world.seed ^ 0x5EED));
        }
        Variant::Free => assembly.costs = Some(Setup::free(&world.topology())),
        Variant::Modelled => assembly.costs = Some(dear(world)),
    }
    assembly
        .build_with(scheduler, workload(vm), observer)
        .unwrap_or_else(|refused| panic!("refused, although it was accepted before: {refused}"))
}

/// Returns all operations cost something, a tick most: 3 us; a switch 2 us.
fn dear(world: &World) -> Setup {
    let mut model = CostModel::default();
    for (number, cost) in Cost::ALL.into_iter().enumerate() {
        model.kernel[cost] = 20_000 + 1_777 * number as u64;
    }
    model.kernel[Cost::Switch] = 2_000_000;
    model.kernel[Cost::Tick] = 3_000_000;
    model.kernel[Cost::Wakeup] = 1_000_000;
    model.kernel[Cost::IpiReceive] = 1_500_000;
    // A policy executes hundreds of instructions.
    model.kernel[Cost::ScxInsn] = 500;
    let nohz = world.seed.is_multiple_of(2);
    Setup::new(&model, &world.topology(), None, nohz)
}

/// Runs `machine` until `until_ns` with all changes from outside.
fn run_by_timetable<S, W, O>(
    world: &World,
    machine: &mut Machine<S, W, O>,
    until_ns: u64,
) -> Result<RunEnd, schedlab_workload::Error>
where
    S: Scheduler,
    W: Workload<Error = schedlab_workload::Error> + AsRef<Kernel>,
    O: Observer,
{
    if world.changes.is_empty() {
        return machine.run(until_ns);
    }
    let plan = plan(world);
    let ids = setup::group_ids(plan.groups().len());
    // Refusals of the kernel are part of the world.
    world.timetable().run(machine, &plan, &ids, until_ns).map(|outcome| outcome.end)
}

fn unwatched(world: &World, choice: &Choice, variant: Variant) -> RunOutcome {
    let mut machine =
        prepare(world, choice, variant, |built| built, |vm| vm, Fingerprint::default());
    let stopped = run_by_timetable(world, &mut machine, world.until_ns).err();
    RunOutcome {
        events: machine.counts().events(),
        fingerprint: machine.observer().value(),
        violation: stopped
            .map(|stop| Violation::new(Rule::Lost, machine.now_ns(), stop.to_string())),
    }
}

/// Rules that are checked in a world of this size.
fn limits(world: &World, choice: &Choice) -> Limits {
    let mut limits = Limits {
        real_time_throttled: real_time_throttled(world, choice),
        // A promise about waiting applies to tasks of one group that are not stopped, rather than
        // to nested groups.
        waits: world.groups.is_empty() && world.changes.is_empty(),
        // A CPU that is offline also idles.
        idling: !world.limits && world.changes.is_empty(),
        ..Limits::default()
    };
    // Wrong accounts stay wrong for at least some hooks, and there are very many worlds.
    if world.seed >= WIDENED_FROM {
        limits.audit_every = 5;
    }
    // The cost of an audit grows with the product of both, and so does the number of events. Large
    // worlds would spend all their time in audits.
    let size = u64::from(world.cpus) * world.model.initial_threads() as u64;
    if size > 400 {
        limits.audit_every = (size / 4).max(97);
        limits.look_every = (size / 25).max(16);
    }
    limits
}

/// Whether ordinary tasks can at times precede real-time tasks. Real-time tasks are throttled when
/// they have used their share of a period (`sched_rt_runtime_us`, from 2.6.25 on), or a server runs
/// ordinary tasks in their place (`fair_server_runtime_ns`, from 6.12 on).
fn real_time_throttled(world: &World, choice: &Choice) -> bool {
    let tunables = world.config().tunables_of(choice);
    let value_of = |name: &str| {
        let set = world.tunables.iter().find(|(other, _)| *other == name);
        let usual = || tunables.iter().find(|tunable| tunable.name == name);
        set.map(|(_, value)| *value).or_else(|| usual().map(|tunable| tunable.value))
    };
    value_of("sched_rt_runtime_us").is_some_and(|runtime| runtime >= 0)
        || value_of("fair_server_runtime_ns").is_some_and(|runtime| runtime > 0)
}

/// Maximum duration of a run on a modelled machine, ns.
const MODELLED_NS: u64 = 10_000_000_000;

type Witness = (Accounts, Fingerprint);

fn watched(world: &World, choice: &Choice, variant: Variant) -> RunOutcome {
    /// Number of parts into which a run is divided, to check it in between.
    const PARTS: u64 = 64;
    let mut limits = limits(world, choice);
    let modelled = variant == Variant::Modelled;
    if modelled {
        // A reschedule waits until its CPU leaves the kernel, also one in favour of a real-time
        // task.
        limits = Limits {
            waits: false,
            idling: false,
            real_time_throttled: true,
            prompt: false,
            ..limits
        };
    }
    let watch = |built| Watched::new(built, world.cpus, limits);
    let witness: Witness = (Accounts::new(world.cpus), Fingerprint::default());
    // Where everything is expensive a world may never end, and need not: faults show early.
    let until_ns = if modelled { world.until_ns.min(MODELLED_NS) } else { world.until_ns };
    let mut machine = prepare(world, choice, variant, watch, RequestedWork::new, witness);
    // In the first run every pick is accounted for. The second run does not request reasons, and
    // must be the same.
    machine.ask_reasons(variant == Variant::Golden);
    let mut violation = None;
    let mut end = RunEnd::TimeUp;
    let parts = if world.changes.is_empty() { PARTS } else { 1 };
    for part in 1..=parts {
        let part_end_ns = until_ns / parts * part;
        let outcome = match parts {
            1 => run_by_timetable(world, &mut machine, part_end_ns),
            _ => machine.run_to(part_end_ns),
        };
        match outcome {
            Ok(how) => end = how,
            Err(stop) => {
                violation = Some(Violation::new(Rule::Lost, machine.now_ns(), stop.to_string()))
            }
        }
        violation = violation
            .or_else(|| machine.scheduler().violation().cloned())
            .or_else(|| if modelled { None } else { shares_so_far(world, &machine) });
        if violation.is_some() || end != RunEnd::TimeUp {
            break;
        }
    }
    let events = machine.counts().events();
    if violation.is_none() && parts > 1 {
        // Notifies the observers of the end.
        let until_ns = if end == RunEnd::TimeUp { until_ns } else { machine.now_ns() };
        if let Err(stop) = machine.run(until_ns) {
            violation = Some(Violation::new(Rule::Lost, machine.now_ns(), stop.to_string()));
        }
    }
    let end_ns = machine.now_ns();
    let (mut scheduler, asked, (accounts, fingerprint)) = machine.into_parts();
    violation = violation.or_else(|| scheduler.finish(end_ns).cloned());
    if violation.is_none() && !modelled {
        violation = accounts.settle(end_ns, &asked).err();
    }
    if violation.is_none()
        && world.kind == Kind::Finite
        && end != RunEnd::AllEnded
        && !(modelled && end == RunEnd::TimeUp)
        && !scheduler.a_task_may_wait_forever()
    {
        violation = asked.no_task_lost(end_ns).err().map(|mut lost| {
            if end == RunEnd::Stuck {
                lost.what = format!("{}; {}", lost.what, asked.workload().wait_graph());
            }
            lost
        });
    }
    RunOutcome { events, fingerprint: fingerprint.value(), violation }
}

/// Checks the shares of CPU time in worlds where they are known.
fn shares_so_far(
    world: &World,
    machine: &Machine<Watched<Box<dyn Scheduler>>, RequestedWork<Kernel>, Witness>,
) -> Option<Violation> {
    let now_ns = machine.now_ns();
    let task_ns = || {
        let mut accounts = machine.observer().0.clone();
        accounts.on(now_ns, Event::Finished);
        let threads = world.model.initial_threads() as u32;
        (0..threads).map(|task| accounts.task_ns(TaskId(task))).collect::<Vec<u64>>()
    };
    match world.kind {
        Kind::Finite | Kind::Endless => None,
        Kind::LoneHog => shares::lone_hog(world.first_start_ns(), now_ns, task_ns()[0]).err(),
        Kind::EqualHogs => {
            let properties = &world.model.tasks[0].properties;
            debug_assert!(matches!(properties.policy, None | Some(Policy::Other)));
            let nice = properties.priority.unwrap_or(0);
            let load = Load {
                tasks: world.model.initial_threads() as u32,
                cpus: world.cpus,
                nice_max: nice,
                nice_min: nice,
            };
            let spread_ns = machine.scheduler().inspect().promises(&load).hog_spread_ns?;
            shares::equal_hogs(now_ns, &task_ns(), spread_ns).err()
        }
    }
}

/// Returns the command that runs the world, saved as `file`, without any checks.
pub fn run_command(world: &World, choice: &Choice, file: &str) -> String {
    let World { cpus, hz, .. } = world;
    let mut command = format!("schedlab run {file} --scheduler {choice} --cpus {cpus} --hz {hz}");
    for (side_file, _) in side_files(world) {
        command += &format!(" --{side_file} {file}.{side_file}");
    }
    command += &format!(" --duration {}", (world.until_ns as f64 / 1e9).ceil());
    for (name, value) in &world.tunables {
        command += &format!(" --set {name}={value}");
    }
    for (path, shares) in &world.groups {
        command += &format!(" --group {path}:cpu.shares={shares}");
    }
    for option in &world.group_settings {
        command += &format!(" --group \"{option}\"");
    }
    command
}

/// Files next to a saved world: the extension, which is also the option of `schedlab run` that
/// takes the file, and the text.
pub fn side_files(world: &World) -> Vec<(&'static str, String)> {
    let mut files = vec![];
    if let Some(structure) = &world.structure {
        files.push(("machine", structure.file(&format!("seed-{}", world.seed))));
    }
    if !world.changes.is_empty() {
        files.push(("timetable", world.changes.join("\n") + "\n"));
    }
    files
}
