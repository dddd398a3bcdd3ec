//! How fast the simulator is, and what a pick costs.
//!
//! ```text
//! cargo bench                          a few minutes
//! cargo bench -- --full                all releases, more sizes, longer measurements
//! cargo bench -- --only cfs,o_1        only these schedulers
//! cargo bench -- --instructions        instructions an event, counted by valgrind
//! cargo bench -- --observers           what observers cost, there and not there, so too
//! ```
//!
//! Two tables. **Events**: simulated events a second (context switches, wakeups, ticks of each CPU,
//! idle ones too) for hogs, sleepers and a mix of both, and the most memory that the process ever
//! had. **Picks**: what a tick, a yield and a pick cost together when so many tasks are runnable on
//! one CPU: flat for O(1), slowly rising for trees, in proportion for O(n).
//!
//! **Instructions** are counted at fixed work: the same virtual time whatever the machine is doing,
//! less what it takes to start. They can be compared between two builds on a noisy machine.
//!
//! **Observers** are counted the same way: the same run with no observer in the machine's type;
//! with two in it that are not there (`None`); with one that makes a report's figures, and with the
//! two beside it; and with the grounds of every decision asked for. What nobody asks for is to cost
//! nothing.
//!
//! Time is CPU time of the process where the system tells it (Linux), so that other work on the
//! machine disturbs little; else wall time. Each case runs in a process of its own (this program,
//! started again), so that its memory is its own and one that takes too long can be stopped.

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

/// The longest that one case may take, start included.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Load {
    /// All compute for ever.
    Hogs,
    /// All run for 0.2 to 2 ms and sleep for 5 to 50.
    Sleepers,
    /// Every other one.
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

/// Tasks without a program to interpret, so that what is measured is the machine and the scheduler.
struct Synthetic {
    load: Load,
    tasks: u32,
    random: SplitMix64,
    /// For each task whether it sleeps next.
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

/// What one case is.
#[derive(Clone, Copy, Debug)]
enum Case {
    Events { load: Load, cpus: u32, tasks: u32 },
    Pick { tasks: u32 },
}

/// Who looks on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Watched {
    /// There is no observer in the machine's type.
    Nobody,
    /// There are, and they are `None`.
    Absent,
    /// There is none, and the grounds of every decision are asked for.
    Asked,
    /// One that makes the figures of a report.
    Figures,
    /// The same, and beside it those that are `None`.
    Beside,
}

impl Watched {
    const ALL: [Watched; 5] =
        [Watched::Nobody, Watched::Absent, Watched::Figures, Watched::Beside, Watched::Asked];

    fn name(self) -> &'static str {
        match self {
            Watched::Nobody => "nobody",
            Watched::Absent => "absent",
            Watched::Asked => "asked",
            Watched::Figures => "figures",
            Watched::Beside => "beside",
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
    println!("Simulated events a second, and the most memory the process had\n");
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

/// Events at fixed work, and what each costs in instructions.
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
                // So much that each case has some ten thousand events.
                let virtual_ms = (20_000 / u64::from(cpus + tasks)).clamp(20, 1_000);
                let case = |ms: u64| counted(choice, load, cpus, tasks, ms, Watched::Nobody);
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

/// What observers cost: instructions an event of the same run.
fn observers_table(choices: &[Choice]) {
    println!("Instructions a simulated event by who looks on (valgrind --tool=callgrind)\n");
    print!("{:<22} {:<9} {:>5} {:>7} {:>10}", "scheduler", "load", "CPUs", "tasks", "events");
    for watched in Watched::ALL {
        print!(" {:>10}", watched.name());
    }
    println!();
    for choice in choices {
        for (load, cpus, tasks) in [(Load::Mix, 1, 100), (Load::Mix, 8, 1_000)] {
            if cpus > choice.release.cpus_max {
                continue;
            }
            print!("{:<22} {:<9} {cpus:>5} {tasks:>7}", choice.to_string(), load.name());
            for (number, watched) in Watched::ALL.into_iter().enumerate() {
                let case = |ms: u64| counted(choice, load, cpus, tasks, ms, watched);
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

/// Events and instructions of a case that is run for so much virtual time.
fn counted(
    choice: &Choice,
    load: Load,
    cpus: u32,
    tasks: u32,
    virtual_ms: u64,
    watched: Watched,
) -> Option<(u64, u64)> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["case", &choice.to_string(), "fixed", load.name()])
        .args([cpus.to_string(), tasks.to_string(), virtual_ms.to_string()])
        .arg(watched.name())
        .output()
        .ok()?;
    let events = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    let told = String::from_utf8(output.stderr).ok()?;
    let collected = told.lines().find_map(|line| line.split_once("Collected : "))?.1;
    Some((events, collected.trim().parse().ok()?))
}

/// The events of so much virtual time.
fn fixed(
    choice: &Choice,
    (load, cpus, tasks): (Load, u32, u32),
    virtual_ms: u32,
    watched: Watched,
) -> u64 {
    let hz = choice.release.hz_default;
    let workload = Synthetic { load, tasks, random: SplitMix64::new(1), sleeps_next: vec![] };
    let until_ns = u64::from(virtual_ms) * 1_000_000;
    let scheduler = choice.build(&BuildConfig::flat(cpus, hz)).expect("it is of the registry");
    let config = Config::idealised(cpus, hz);
    // The observers that are not there are those that a whole report wants.
    let absent: (Option<Recorder>, Option<Stats>) = (None, None);
    let asked = watched == Watched::Asked;
    match watched {
        Watched::Nobody | Watched::Asked => {
            fixed_with(config, scheduler, workload, (), asked, until_ns)
        }
        Watched::Absent => fixed_with(config, scheduler, workload, absent, asked, until_ns),
        Watched::Figures => {
            fixed_with(config, scheduler, workload, Stats::new(cpus, &[]), asked, until_ns)
        }
        Watched::Beside => {
            let observers = (Stats::new(cpus, &[]), absent);
            fixed_with(config, scheduler, workload, observers, asked, until_ns)
        }
    }
}

fn fixed_with<S: Scheduler, O: Observer>(
    config: Config,
    scheduler: S,
    workload: Synthetic,
    observer: O,
    asked: bool,
    until_ns: u64,
) -> u64 {
    let mut machine = Machine::new(config, scheduler, workload, observer);
    machine.ask_reasons(asked);
    let Ok(_) = machine.run_to(until_ns);
    machine.counts().events()
}

fn picks_table(choices: &[Choice], budget: Duration) {
    let sizes = [5, 50, 500, 5_000, 50_000, 500_000];
    println!(
        "\nWhat a tick, a yield and a pick cost together, ns, by the number of runnable tasks on one CPU\n"
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

/// Runs a case in a process of its own.
///
/// # Errors
/// What to say in place of its figures.
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
    let mut child = command.stdout(Stdio::piped()).spawn().expect("this program can be started");
    let begun = Instant::now();
    while child.try_wait().expect("it is our child").is_none() {
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err("too long");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut text = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut text).expect("it is text");
    let figures: Vec<f64> =
        text.split_whitespace().map(|word| word.parse().expect("it is a figure")).collect();
    // One that breaks down has said on standard error why.
    figures.try_into().map_err(|_| "failed")
}

fn child(args: &[String]) {
    let choice = select::find(&args[0]).expect("the parent knows it");
    let number = |place: usize| -> u32 { args[place].parse().expect("it is a number") };
    let budget = |place: usize| Duration::from_millis(u64::from(number(place)));
    let load = || {
        let load = Load::ALL.into_iter().find(|load| load.name() == args[2]);
        load.expect("it is a load")
    };
    if args[1] == "fixed" {
        let watched = Watched::ALL.into_iter().find(|watched| watched.name() == args[6]);
        let watched = watched.expect("it is one of them");
        println!("{}", fixed(&choice, (load(), number(3), number(4)), number(5), watched));
        return;
    }
    let [a, b, c] = if args[1] == "events" {
        events(&choice, load(), number(3), number(4), budget(5))
    } else {
        picks(&choice, number(2), budget(3))
    };
    println!("{a} {b} {c} {}", peak_kib());
}

/// Events, ns for them, ns to start.
fn events(choice: &Choice, load: Load, cpus: u32, tasks: u32, budget: Duration) -> [u64; 3] {
    let hz = choice.release.hz_default;
    let scheduler = choice.build(&BuildConfig::flat(cpus, hz)).expect("it is of the registry");
    let workload = Synthetic { load, tasks, random: SplitMix64::new(1), sleeps_next: vec![] };
    let begun = Watch::start();
    let config = Config::idealised(cpus, hz);
    let mut machine = Machine::new(config, scheduler, workload, ());
    let Ok(_) = machine.run_to(1);
    let start_ns = begun.ns();
    // A while to get into step, so that not all sleepers are still at their first run.
    let begun = Instant::now();
    let mut until_ns = 1;
    while begun.elapsed() < budget / 4 {
        until_ns += 1_000_000;
        let Ok(_) = machine.run_to(until_ns);
    }
    let before = machine.counts().events();
    let begun = Watch::start();
    // In stretches of virtual time that take about a millisecond, so that looking at the clock
    // costs nothing.
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

/// Picks, ns for them, ns to start.
fn picks(choice: &Choice, tasks: u32, budget: Duration) -> [u64; 3] {
    const CPU: CpuId = CpuId(0);
    let hz = choice.release.hz_default;
    let build = BuildConfig::flat(1, hz);
    let mut platform = build.platform();
    let mut scheduler = choice.build(&build).expect("it is of the registry");
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
        // Reading the clock costs, too: several picks a look.
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

/// A stretch of time that is being measured.
struct Watch {
    wall: Instant,
    cpu_ns: Option<u64>,
}

impl Watch {
    fn start() -> Watch {
        Watch { wall: Instant::now(), cpu_ns: cpu_ns() }
    }

    /// CPU time since the start if it is known, else wall time, ns.
    fn ns(&self) -> u64 {
        match (self.cpu_ns, cpu_ns()) {
            // The system's figure lags by a tick or so: below that the wall clock is better.
            (Some(before), Some(now)) if now - before > 20_000_000 => now - before,
            _ => self.wall.elapsed().as_nanos() as u64,
        }
    }
}

/// CPU time of this process so far, ns, where the system tells it.
fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The most memory this process ever had, KiB; 0 where the system does not tell.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|figure| figure.parse().ok())
        .unwrap_or(0)
}
