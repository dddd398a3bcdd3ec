//! Runs a world under watch.

use super::recent::Recent;
use super::world::{Kind, WIDENED_FROM, World};
use crate::check::{Accounts, Asked, Fingerprint, Limits, Rule, Violation, Watched, shares};
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

/// Which of a world's runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Simultaneous events in the golden order.
    Golden,
    /// The same without being watched.
    Again,
    /// Simultaneous events in random order.
    Shuffled,
    /// On a modelled machine where nothing costs anything, which must come to the same as an
    /// idealised one.
    Free,
    /// On a modelled machine where everything costs much. Only what holds in any case is checked:
    /// nobody is lost, and the books are in order.
    Modelled,
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Turn::Golden => "simultaneous events in golden order",
            Turn::Again => "the same run once more",
            Turn::Shuffled => "simultaneous events in random order",
            Turn::Free => "on a modelled machine where nothing costs anything",
            Turn::Modelled => "on a modelled machine where everything costs much",
        })
    }
}

/// A rule was broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// In which run.
    pub turn: Turn,
    /// Which, when, by whom.
    pub violation: Violation,
}

/// What came of a world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Events that were simulated, in all runs.
    pub events: u64,
    /// A number that stands for all that happened: the same world gives the same.
    pub fingerprint: u64,
    /// The first rule that was broken.
    pub failure: Option<Failure>,
}

/// What a run came to.
struct RunOutcome {
    events: u64,
    fingerprint: u64,
    violation: Option<Violation>,
}

/// Runs a world in all five ways, until a rule is broken.
pub fn check(world: &World, choice: &Choice) -> Checked {
    let mut checked = Checked { events: 0, fingerprint: 0, failure: None };
    let mut golden = 0;
    for turn in [Turn::Golden, Turn::Again, Turn::Shuffled, Turn::Free, Turn::Modelled] {
        let ran = catch_panic(|| match turn {
            Turn::Again | Turn::Free => unwatched(world, choice, turn),
            Turn::Golden | Turn::Shuffled | Turn::Modelled => watched(world, choice, turn),
        });
        let mut ran = ran.unwrap_or_else(|message| RunOutcome {
            events: 0,
            fingerprint: 0,
            violation: Some(Violation::new(Rule::Panic, 0, message)),
        });
        checked.events += ran.events;
        golden = if turn == Turn::Golden { ran.fingerprint } else { golden };
        if turn == Turn::Free && ran.violation.is_none() && ran.fingerprint != golden {
            let what =
                "the run came out differently where costs are modelled, but all are 0".into();
            ran.violation = Some(Violation::new(Rule::Determinism, 0, what));
        }
        if turn == Turn::Again && ran.violation.is_none() && ran.fingerprint != checked.fingerprint
        {
            let what = "the run came out differently when it was not watched".into();
            ran.violation = Some(Violation::new(Rule::Determinism, 0, what));
        }
        // All three count, each in its place.
        checked.fingerprint = match turn {
            Turn::Golden => ran.fingerprint,
            Turn::Again | Turn::Free => checked.fingerprint,
            Turn::Shuffled | Turn::Modelled => {
                checked.fingerprint.rotate_left(32) ^ ran.fingerprint
            }
        };
        if let Some(violation) = ran.violation {
            checked.failure = Some(Failure { turn, violation });
            break;
        }
    }
    checked
}

/// The last events before `at_ns` of one of the world's runs.
pub fn recent_events(
    world: &World,
    choice: &Choice,
    turn: Turn,
    at_ns: u64,
    most: usize,
) -> Vec<String> {
    let ran = catch_panic(|| {
        let mut recent = Recent::new(most);
        let observers = Observers::attached(&mut recent);
        let mut machine = prepare(world, choice, turn, |built| built, |kernel| kernel, observers);
        let _ = run_by_timetable(world, &mut machine, at_ns.saturating_add(1));
        drop(machine);
        recent.into_lines()
    });
    ran.unwrap_or_else(|message| vec![format!("(the run breaks off: {message})")])
}

fn plan(world: &World) -> GroupPlan {
    let mut settings = GroupSettings::default();
    for (path, shares) in &world.groups {
        let option = format!("{path}:cpu.shares={shares}");
        settings.add(groups::parse_option(&option).expect("the world's groups are in order"));
    }
    for option in &world.group_settings {
        settings.add(groups::parse_option(option).expect("the world's groups are in order"));
    }
    GroupPlan::new(&settings, &world.model.group_paths(), world.cpus)
        .expect("settings of version 2 go together")
}

/// A machine with the world in it, tunables set and groups made.
fn prepare<S, W, O>(
    world: &World,
    choice: &Choice,
    turn: Turn,
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
        calls: (turn == Turn::Modelled).then(CallCosts::default),
        conventions: Conventions { forks_inherit: world.forks_inherit, ..Conventions::default() },
        ..Options::default()
    };
    let vm = rt_app::prepare(&world.model, &target, options)
        .unwrap_or_else(|diagnostic| panic!("the generator made what cannot be run: {diagnostic}"));
    let config = world.config();
    let groups: Vec<NewGroup<'_>> = plan.groups().iter().map(NewGroup::from).collect();
    let mut assembly = Assembly::new(&config, choice).expect("nothing costs anything yet");
    assembly.groups = &groups;
    match turn {
        Turn::Golden | Turn::Again => {}
        Turn::Shuffled => {
            assembly.machine.order = Order::Shuffled(SplitMix64::new(world.seed ^ 0x5EED));
        }
        Turn::Free => assembly.costs = Some(Setup::free(&world.topology())),
        Turn::Modelled => assembly.costs = Some(dear(world)),
    }
    assembly
        .build_with(scheduler, workload(vm), observer)
        .unwrap_or_else(|refused| panic!("refused, though it was taken before: {refused}"))
}

/// Everything costs something, a tick the most: 3 us; a switch 2.
fn dear(world: &World) -> Setup {
    let mut model = CostModel::default();
    for (number, cost) in Cost::ALL.into_iter().enumerate() {
        model.kernel[cost] = 20_000 + 1_777 * number as u64;
    }
    model.kernel[Cost::Switch] = 2_000_000;
    model.kernel[Cost::Tick] = 3_000_000;
    model.kernel[Cost::Wakeup] = 1_000_000;
    model.kernel[Cost::IpiReceive] = 1_500_000;
    // A policy takes hundreds of them.
    model.kernel[Cost::ScxInsn] = 500;
    let nohz = world.seed.is_multiple_of(2);
    Setup::new(&model, &world.topology(), None, nohz)
}

/// Runs `machine` until `until_ns` with all that is done to it from outside.
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
    // What the kernel refuses belongs to the world.
    world.timetable().run(machine, &plan, &ids, until_ns).map(|outcome| outcome.end)
}

fn unwatched(world: &World, choice: &Choice, turn: Turn) -> RunOutcome {
    let mut machine = prepare(world, choice, turn, |built| built, |vm| vm, Fingerprint::default());
    let stopped = run_by_timetable(world, &mut machine, world.until_ns).err();
    RunOutcome {
        events: machine.counts().events(),
        fingerprint: machine.observer().value(),
        violation: stopped
            .map(|stop| Violation::new(Rule::Lost, machine.now_ns(), stop.to_string())),
    }
}

/// How closely a world of this size is watched.
fn limits(world: &World, choice: &Choice) -> Limits {
    let mut limits = Limits {
        real_time_throttled: real_time_throttled(world, choice),
        // A promise about waiting speaks of tasks beside each other, not of groups within groups,
        // and of those whom nobody stops.
        waits: world.groups.is_empty() && world.changes.is_empty(),
        // A CPU that is off line idles, too.
        idling: !world.limits && world.changes.is_empty(),
        ..Limits::default()
    };
    // Wrong books stay wrong for some hooks at least, and there are very many worlds.
    if world.seed >= WIDENED_FROM {
        limits.audit_every = 5;
    }
    // What looking takes grows with the product of both, and so does what there is to be seen: of
    // large worlds all would go into looking.
    let size = u64::from(world.cpus) * world.model.initial_threads() as u64;
    if size > 400 {
        limits.audit_every = (size / 4).max(97);
        limits.look_every = (size / 25).max(16);
    }
    limits
}

/// Whether ordinary tasks may at times come before real-time tasks: these are cut off when they
/// have had their share of a period (`sched_rt_runtime_us`, from 2.6.25 on), or a server runs
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

/// A modelled machine runs for so long at most, ns.
const MODELLED_NS: u64 = 10_000_000_000;

type Witness = (Accounts, Fingerprint);

fn watched(world: &World, choice: &Choice, turn: Turn) -> RunOutcome {
    /// Into so many parts a run is cut, to look at it in between.
    const PARTS: u64 = 64;
    let mut limits = limits(world, choice);
    let modelled = turn == Turn::Modelled;
    if modelled {
        // A reschedule waits for its CPU to be out of the kernel, also one in favour of a real-time
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
    // Where everything costs much a world may never come to its end, and nobody demands it: what
    // can be seen, is seen early.
    let until_ns = if modelled { world.until_ns.min(MODELLED_NS) } else { world.until_ns };
    let mut machine = prepare(world, choice, turn, watch, Asked::new, witness);
    // In the first run every pick is accounted for. The second, which nobody asks, must be the
    // same.
    machine.ask_reasons(turn == Turn::Golden);
    let mut violation = None;
    let mut end = RunEnd::TimeUp;
    let parts = if world.changes.is_empty() { PARTS } else { 1 };
    for part in 1..=parts {
        let part_end_ns = until_ns / parts * part;
        let ran = match parts {
            1 => run_by_timetable(world, &mut machine, part_end_ns),
            _ => machine.run_to(part_end_ns),
        };
        match ran {
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
        // Tells the observers that it is over.
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
        && !scheduler.someone_may_wait_for_ever()
    {
        violation = asked.nobody_lost(end_ns).err().map(|mut lost| {
            if end == RunEnd::Stuck {
                lost.what = format!("{}; {}", lost.what, asked.workload().wait_graph());
            }
            lost
        });
    }
    RunOutcome { events, fingerprint: fingerprint.value(), violation }
}

/// In worlds where it is known who must get how much: is it so?
fn shares_so_far(
    world: &World,
    machine: &Machine<Watched<Box<dyn Scheduler>>, Asked<Kernel>, Witness>,
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

/// The command that runs the world, saved as `file`, without any checks.
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

/// What stands in files beside a saved world: ending of the name, which is also the option of
/// `schedlab run` that takes the file, and text.
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
