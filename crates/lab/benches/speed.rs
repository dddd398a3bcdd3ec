//! Speed of the simulator, and cost of a pick.
//!
//! ```text
//! cargo bench                          a few minutes
//! cargo bench -- --full                all releases, more sizes, longer measurements
//! cargo bench -- --only cfs,o_1        only these schedulers
//! cargo bench -- --instructions        instructions an event, counted by valgrind
//! cargo bench -- --observers           the cost of observers, present and absent, counted likewise
//! ```
//!
//! There are two tables. **Events**: simulated events per second (context switches, wakeups, and
//! ticks of each CPU, including idle ones) for hogs, sleepers and a mix of both, and the peak
//! memory of the process. **Picks**: total cost of a tick, a yield and a pick, by the number of
//! runnable tasks on one CPU. It is constant for O(1), rises slowly for trees, and is proportional
//! for O(n).
//!
//! **Instructions** are counted for fixed work: the same virtual time on any machine, minus the
//! instructions of the start. They can be compared between two builds on a noisy machine.
//!
//! **Observers** are counted in the same way, for the same run: without an observer in the
//! machine's type; with two that are absent (`None`); with one that makes the figures of a report;
//! with this one and two absent ones; and with the grounds of every decision requested. Features
//! that are not requested must cost nothing.
//!
//! Time is CPU time of the process where the system reports it (Linux), so that other work on the
//! machine has little effect; otherwise wall time. Each case runs in its own process (this program,
//! started again), so that its memory is its own and a case that takes too long can be stopped.

use schedlab_core::{
    BlockReason, BuildConfig, CpuId, Observer, Parent, Scheduler, TaskAttr, TaskId,
};
use schedlab_lab::select::{self, Choice};
use schedlab_machine::{Config, Machine, NewTask, Op, SplitMix64, Workload};
use schedlab_measure::Stats;
use schedlab_measure::history::Recorder;
use std::convert::Infallible;
use std::hint::black_box;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Maximum duration of a case, including its start.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Load {
    /// All tasks compute forever.
    Hogs,
    /// All tasks run for 0.2 to 2 ms and sleep for 5 to 50 ms.
    Sleepers,
    /// Every other task is a sleeper.
    Mix,
}

impl Load {
    const ALL: [Load; 3] = [Load::Hogs, Load::Sleepers, Load::Mix];

    fn name(self) -> &'static str {
        match self {
            Load::Hogs => "hogs",
            Load::Sleepers => "sleepers",
            Load::Mix => "mix",
        }
    }

    fn is_hog(self, task: TaskId) -> bool {
        match self {
            Load::Hogs => true,
            Load::Sleepers => false,
            Load::Mix => task.0.is_multiple_of(2),
        }
    }
}

/// Tasks without a program to interpret, so that only the machine and the scheduler are measured.
struct Synthetic {
    load: Load,
    tasks: u32,
    random: SplitMix64,
    /// Whether each task sleeps next.
    sleeps_next: Vec<bool>,
}

impl Synthetic {
    fn run_ns(&mut self) -> u64 {
        200_000 + self.random.below(1_800_000)
    }
}

impl Workload for Synthetic {
    type Error = Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        self.sleeps_next = vec![false; self.tasks as usize];
        let task = |number: u32| NewTask {
            attr: TaskAttr { address_space: number, ..TaskAttr::default() },
            start_ns: 0,
        };
        (0..self.tasks).map(task).collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        if self.load.is_hog(task) {
            return Ok(Op::Run { ns: u64::MAX });
        }
        let sleeps = std::mem::replace(&mut self.sleeps_next[task.index()], false);
        if sleeps {
            return Ok(Op::Sleep {
                until_ns: now_ns + 5_000_000 + self.random.below(45_000_000),
                reason: BlockReason::Interruptible,
            });
        }
        self.sleeps_next[task.index()] = true;
        Ok(Op::Run { ns: self.run_ns() })
    }

    fn take_run(&mut self, _now_ns: u64, task: TaskId) -> Option<u64> {
        if self.load.is_hog(task) {
            return Some(u64::MAX);
        }
        if self.sleeps_next[task.index()] {
            return None;
        }
        self.sleeps_next[task.index()] = true;
        Some(self.run_ns())
    }
}

/// A case to measure.
#[derive(Clone, Copy, Debug)]
enum Case {
    Events { load: Load, cpus: u32, tasks: u32 },
    Pick { tasks: u32 },
}

/// Observers of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Observation {
    /// No observer in the machine's type.
    Unobserved,
    /// Observers that are `None`.
    Absent,
    /// No observer, but the grounds of every decision are requested.
    Reasons,
    /// An observer that makes the figures of a report.
    Figures,
    /// Such an observer, and observers that are `None`.
    FiguresAndAbsent,
}

impl Observation {
    const ALL: [Observation; 5] = [
        Observation::Unobserved,
        Observation::Absent,
        Observation::Figures,
        Observation::FiguresAndAbsent,
        Observation::Reasons,
    ];

    fn name(self) -> &'static str {
        match self {
            Observation::Unobserved => "none",
            Observation::Absent => "absent",
            Observation::Reasons => "reasons",
            Observation::Figures => "figures",
            Observation::FiguresAndAbsent => "both",
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if args.first().is_some_and(|arg| arg == "case") {
        return child(&args[1..]);
    }
    let full = args.iter().any(|arg| arg == "--full");
    let only = args.iter().position(|arg| arg == "--only").and_then(|place| args.get(place + 1));
    let choices = match only {
        Some(names) => names
            .split(',')
            .map(|name| select::find(name).unwrap_or_else(|error| panic!("{error}")))
            .collect(),
        None if full => select::all(),
        None => select::linux(),
    };
    if args.iter().any(|arg| arg == "--observers") {
        return observers_table(&choices);
    }
    if args.iter().any(|arg| arg == "--instructions") {
        return instructions_table(&choices);
    }
    let budget = Duration::from_millis(if full { 1000 } else { 250 });
    events_table(&choices, full, budget);
    picks_table(&choices, budget);
}

fn events_table(choices: &[Choice], full: bool, budget: Duration) {
    let sizes: Vec<(u32, u32)> = if full {
        let tasks = [10, 100, 1_000, 10_000, 100_000];
        let of = |cpus| tasks.map(|tasks| (cpus, tasks));
        [1, 8, 64, 1024].into_iter().flat_map(of).collect()
    } else {
        vec![
            (1, 10),
            (1, 1_000),
            (1, 100_000),
            (8, 10),
            (8, 1_000),
            (8, 100_000),
            (64, 1_000),
            (64, 100_000),
            (1024, 10_000),
            (1024, 100_000),
        ]
    };
    println!("Simulated events a second, and the peak memory of the process\n");
    println!(
        "{:<22} {:<9} {:>5} {:>7} {:>12} {:>9} {:>10} {:>9}",
        "scheduler", "load", "CPUs", "tasks", "M events/s", "ns/event", "start ms", "peak MiB"
    );
    for choice in choices {
        for load in Load::ALL {
            for &(cpus, tasks) in &sizes {
                if cpus > choice.release.cpus_max {
                    continue;
                }
                let head =
                    format!("{:<22} {:<9} {cpus:>5} {tasks:>7}", choice.to_string(), load.name());
                match measure(choice, Case::Events { load, cpus, tasks }, budget) {
                    Ok([events, ns, start_ns, peak_kib]) => {
                        println!(
                            "{head} {:>12.3} {:>9.0} {:>10.1} {:>9.1}",
                            events * 1e3 / ns,
                            ns / events,
                            start_ns / 1e6,
                            peak_kib / 1024.0
                        );
                    }
                    Err(why) => println!("{head} {why:>12}"),
                }
            }
        }
    }
}

/// Events of fixed work, and the instructions for each.
fn instructions_table(choices: &[Choice]) {
    const SIZES: [(u32, u32); 6] =
        [(1, 10), (1, 1_000), (8, 1_000), (64, 1_000), (64, 100_000), (1024, 10_000)];
    println!("Instructions a simulated event, at fixed work (valgrind --tool=callgrind)\n");
    println!(
        "{:<22} {:<9} {:>5} {:>7} {:>10} {:>12}",
        "scheduler", "load", "CPUs", "tasks", "events", "instructions"
    );
    for choice in choices {
        for load in Load::ALL {
            for &(cpus, tasks) in SIZES.iter().filter(|size| size.0 <= choice.release.cpus_max) {
                // Enough that each case has about ten thousand events.
                let virtual_ms = (20_000 / u64::from(cpus + tasks)).clamp(20, 1_000);
                let case =
                    |ms: u64| counted(choice, load, cpus, tasks, ms, Observation::Unobserved);
                let head =
                    format!("{:<22} {:<9} {cpus:>5} {tasks:>7}", choice.to_string(), load.name());
                match (case(10), case(10 + virtual_ms)) {
                    (Some(start), Some(all)) if all.0 > start.0 => {
                        let events = all.0 - start.0;
                        let each = (all.1 - start.1) as f64 / events as f64;
                        println!("{head} {events:>10} {each:>12.1}");
                    }
                    _ => println!("{head} {:>10}", "failed: is valgrind installed?"),
                }
            }
        }
    }
}

/// Prints the cost of observers: instructions per event of the same run.
fn observers_table(choices: &[Choice]) {
    println!("Instructions a simulated event by observers (valgrind --tool=callgrind)\n");
    print!("{:<22} {:<9} {:>5} {:>7} {:>10}", "scheduler", "load", "CPUs", "tasks", "events");
    for observation in Observation::ALL {
        print!(" {:>10}", observation.name());
    }
    println!();
    for choice in choices {
        for (load, cpus, tasks) in [(Load::Mix, 1, 100), (Load::Mix, 8, 1_000)] {
            if cpus > choice.release.cpus_max {
                continue;
            }
            print!("{:<22} {:<9} {cpus:>5} {tasks:>7}", choice.to_string(), load.name());
            for (number, observation) in Observation::ALL.into_iter().enumerate() {
                let case = |ms: u64| counted(choice, load, cpus, tasks, ms, observation);
                match (case(10), case(510)) {
                    (Some(start), Some(all)) if all.0 > start.0 => {
                        let events = all.0 - start.0;
                        if number == 0 {
                            print!(" {events:>10}");
                        }
                        print!(" {:>10.1}", (all.1 - start.1) as f64 / events as f64);
                    }
                    _ => print!(" {:>10}", "failed"),
                }
            }
            println!();
        }
    }
}

/// Events and instructions of a case that runs for a fixed virtual time.
fn counted(
    choice: &Choice,
    load: Load,
    cpus: u32,
    tasks: u32,
    virtual_ms: u64,
    observation: Observation,
) -> Option<(u64, u64)> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["case", &choice.to_string(), "fixed", load.name()])
        .args([cpus.to_string(), tasks.to_string(), virtual_ms.to_string()])
        .arg(observation.name())
        .output()
        .ok()?;
    let events = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    let report = String::from_utf8(output.stderr).ok()?;
    let collected = report.lines().find_map(|line| line.split_once("Collected : "))?.1;
    Some((events, collected.trim().parse().ok()?))
}

/// Returns the number of events in a fixed virtual time.
fn fixed(
    choice: &Choice,
    (load, cpus, tasks): (Load, u32, u32),
    virtual_ms: u32,
    observation: Observation,
) -> u64 {
    let hz = choice.release.hz_default;
    let workload = Synthetic { load, tasks, random: SplitMix64::new(1), sleeps_next: vec![] };
    let until_ns = u64::from(virtual_ms) * 1_000_000;
    let scheduler = choice.build(&BuildConfig::flat(cpus, hz)).expect("the scheduler builds");
    let config = Config::idealised(cpus, hz);
    // The absent observers are those that a full report requires.
    let absent: (Option<Recorder>, Option<Stats>) = (None, None);
    let reasons = observation == Observation::Reasons;
    match observation {
        Observation::Unobserved | Observation::Reasons => {
            fixed_with(config, scheduler, workload, (), reasons, until_ns)
        }
        Observation::Absent => fixed_with(config, scheduler, workload, absent, reasons, until_ns),
        Observation::Figures => {
            fixed_with(config, scheduler, workload, Stats::new(cpus, &[]), reasons, until_ns)
        }
        Observation::FiguresAndAbsent => {
            let observers = (Stats::new(cpus, &[]), absent);
            fixed_with(config, scheduler, workload, observers, reasons, until_ns)
        }
    }
}

fn fixed_with<S: Scheduler, O: Observer>(
    config: Config,
    scheduler: S,
    workload: Synthetic,
    observer: O,
    reasons: bool,
    until_ns: u64,
) -> u64 {
    let mut machine = Machine::new(config, scheduler, workload, observer);
    machine.ask_reasons(reasons);
    let Ok(_) = machine.run_to(until_ns);
    machine.counts().events()
}

fn picks_table(choices: &[Choice], budget: Duration) {
    let sizes = [5, 50, 500, 5_000, 50_000, 500_000];
    println!(
        "\nTotal cost of a tick, a yield and a pick, ns, by the number of runnable tasks on one CPU\n"
    );
    print!("{:<22}", "scheduler");
    for tasks in sizes {
        print!(" {tasks:>11}");
    }
    println!();
    for choice in choices {
        print!("{:<22}", choice.to_string());
        for tasks in sizes {
            match measure(choice, Case::Pick { tasks }, budget) {
                Ok([picks, ns, ..]) => print!(" {:>11.1}", ns / picks),
                Err(why) => print!(" {why:>11}"),
            }
        }
        println!();
    }
}

/// Runs a case in its own process.
///
/// # Errors
/// Text to print in place of its figures.
fn measure(choice: &Choice, case: Case, budget: Duration) -> Result<[f64; 4], &'static str> {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.arg("case").arg(choice.to_string());
    match case {
        Case::Events { load, cpus, tasks } => {
            command.args(["events", load.name(), &cpus.to_string(), &tasks.to_string()])
        }
        Case::Pick { tasks } => command.args(["pick", &tasks.to_string()]),
    };
    command.arg(budget.as_millis().to_string());
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
    let begun = Instant::now();
    while child.try_wait().expect("the child is ours").is_none() {
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err("too long");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut text = String::new();
    child
        .stdout
        .take()
        .expect("the output is piped")
        .read_to_string(&mut text)
        .expect("the output is text");
    let figures: Vec<f64> =
        text.split_whitespace().map(|word| word.parse().expect("the word is a number")).collect();
    // A case that breaks down reports the reason on standard error.
    figures.try_into().map_err(|_| "failed")
}

fn child(args: &[String]) {
    let choice = select::find(&args[0]).expect("the parent passes a known scheduler");
    let number = |place: usize| -> u32 { args[place].parse().expect("the argument is a number") };
    let budget = |place: usize| Duration::from_millis(u64::from(number(place)));
    let load = || {
        let load = Load::ALL.into_iter().find(|load| load.name() == args[2]);
        load.expect("the argument is a load")
    };
    if args[1] == "fixed" {
        let observation =
            Observation::ALL.into_iter().find(|observation| observation.name() == args[6]);
        let observation = observation.expect("the argument names observers");
        println!("{}", fixed(&choice, (load(), number(3), number(4)), number(5), observation));
        return;
    }
    let [a, b, c] = if args[1] == "events" {
        events(&choice, load(), number(3), number(4), budget(5))
    } else {
        picks(&choice, number(2), budget(3))
    };
    println!("{a} {b} {c} {}", peak_kib());
}

/// Returns the number of events, ns for them, ns for the start.
fn events(choice: &Choice, load: Load, cpus: u32, tasks: u32, budget: Duration) -> [u64; 3] {
    let hz = choice.release.hz_default;
    let scheduler = choice.build(&BuildConfig::flat(cpus, hz)).expect("the scheduler builds");
    let workload = Synthetic { load, tasks, random: SplitMix64::new(1), sleeps_next: vec![] };
    let begun = Watch::start();
    let config = Config::idealised(cpus, hz);
    let mut machine = Machine::new(config, scheduler, workload, ());
    let Ok(_) = machine.run_to(1);
    let start_ns = begun.ns();
    // Time to desynchronise, so that not all sleepers are in their first run.
    let begun = Instant::now();
    let mut until_ns = 1;
    while begun.elapsed() < budget / 4 {
        until_ns += 1_000_000;
        let Ok(_) = machine.run_to(until_ns);
    }
    let before = machine.counts().events();
    let begun = Watch::start();
    // In stretches of virtual time that take about a millisecond, so that reading the clock costs
    // nothing.
    let mut stretch_ns = 1_000_000;
    let mut looked = begun.wall.elapsed();
    while looked < budget {
        until_ns += stretch_ns;
        let Ok(_) = machine.run_to(until_ns);
        let before = std::mem::replace(&mut looked, begun.wall.elapsed());
        if looked - before < Duration::from_millis(1) {
            stretch_ns *= 2;
        }
    }
    // At least one event, however long it takes.
    while machine.counts().events() == before {
        until_ns += 1_000_000;
        let Ok(_) = machine.run_to(until_ns);
    }
    let ns = begun.ns();
    [machine.counts().events() - before, ns, start_ns]
}

/// Returns the number of picks, ns for them, ns for the start.
fn picks(choice: &Choice, tasks: u32, budget: Duration) -> [u64; 3] {
    const CPU: CpuId = CpuId(0);
    let hz = choice.release.hz_default;
    let build = BuildConfig::flat(1, hz);
    let mut platform = build.platform();
    let mut scheduler = choice.build(&build).expect("the scheduler builds");
    let begun = Watch::start();
    for number in 0..tasks {
        let attr = TaskAttr { address_space: number, ..TaskAttr::default() };
        scheduler.fork(&mut platform, TaskId(number), &attr, Parent::External);
        platform.timer_orders.clear();
        platform.migrations.clear();
    }
    let start_ns = begun.ns();
    let mut current = scheduler.schedule(&mut platform, CPU);
    let mut picks = 0;
    let begun = Watch::start();
    while picks < 20 || begun.wall.elapsed() < budget {
        // Reading the clock also costs time: there are several picks for each reading.
        for _ in 0..if tasks > 10_000 { 1 } else { 32 } {
            platform.set_jiffies(platform.jiffies() + 1);
            platform.set_now_ns(platform.jiffies() * 1_000_000_000 / u64::from(hz));
            scheduler.tick(&mut platform, CPU);
            if let Some(task) = current {
                scheduler.yield_now(&mut platform, CPU, task);
            }
            platform.clear_resched(CPU);
            current = black_box(scheduler.schedule(&mut platform, CPU));
            platform.timer_orders.clear();
            platform.migrations.clear();
            picks += 1;
        }
    }
    [picks, begun.ns(), start_ns]
}

/// A measured period.
struct Watch {
    wall: Instant,
    cpu_ns: Option<u64>,
}

impl Watch {
    fn start() -> Watch {
        Watch { wall: Instant::now(), cpu_ns: cpu_ns() }
    }

    /// Returns the CPU time since the start if it is known, otherwise wall time, ns.
    fn ns(&self) -> u64 {
        match (self.cpu_ns, cpu_ns()) {
            // The system's figure lags by about a tick: for shorter times the wall clock is better.
            (Some(before), Some(now)) if now - before > 20_000_000 => now - before,
            _ => self.wall.elapsed().as_nanos() as u64,
        }
    }
}

/// Returns the CPU time of this process so far, ns. `None`: the system does not report it.
fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Returns the peak memory of this process, KiB; `0` where the system does not report it.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|figure| figure.parse().ok())
        .unwrap_or(0)
}
