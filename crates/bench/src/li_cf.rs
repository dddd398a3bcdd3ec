//! li and cf: endless loops and counting loops, started one after the other (the programs of a
//! dissertation on fairness).
//!
//! **li** never ends. It measures how much CPU time each loop gets in each interval, and how much
//! each CPU gives. **cf** counts for some seconds of CPU time and ends. It measures how long each
//! loop took for that. Both can be started by a shell that needs CPU time for each loop, and
//! watched by a monitor. Shell and monitor compete with the loops, and so can kernel threads and
//! daemons ([`crate::noise`]).

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared, Table};
use crate::noise::{self, NOISE};
use crate::parameter::{BadValue, Parameter, Values};
use crate::programs;
use schedlab_core::Policy;
use schedlab_workload::programs::{Context, Kernel, Program, Spawn, Step};
use std::cell::RefCell;
use std::rc::Rc;

/// Endless loops, described in this module's documentation.
pub struct Li;

/// Counting loops, described in this module's documentation.
pub struct Cf;

const COUNT: Parameter =
    Parameter::whole("count", (1, 100_000), "12", "number of loops").positional();
const SPACING: Parameter = Parameter::real(
    "spacing",
    (0.0, 1e7),
    "1.5",
    "time from one start to the next, ms; 1000 for one per second",
);
const INTERVAL: Parameter = Parameter::real(
    "interval",
    (0.01, 1e6),
    "1",
    "length of the intervals for which CPU time is recorded, s",
);
const PIECE: Parameter =
    Parameter::real("piece", (0.01, 1000.0), "1", "length of the pieces that are recorded, ms");
const SHELL: Parameter =
    Parameter::flag("shell", "a shell starts the loops, and competes with them");
const SHELL_CPU: Parameter = Parameter::real(
    "shell-cpu",
    (0.2, 1000.0),
    "1.5",
    "CPU time of the shell for each loop, including fork, ms",
);
const SHELL_SLEEP: Parameter =
    Parameter::real("shell-sleep", (0.0, 1e6), "0", "sleep of the shell after each loop, ms");
const MONITOR: Parameter =
    Parameter::flag("monitor", "a monitor checks the loops each second, and competes with them");
const MONITOR_CPU: Parameter =
    Parameter::real("monitor-cpu", (0.01, 1000.0), "10", "CPU time of each check, ms");

const LI_PARAMETERS: &[Parameter] = &[
    COUNT,
    Parameter::whole("time", (1, 10_000_000), "60", "duration, s"),
    SPACING,
    INTERVAL,
    PIECE,
    SHELL,
    SHELL_CPU,
    SHELL_SLEEP,
    MONITOR,
    MONITOR_CPU,
    NOISE,
];

const CF_PARAMETERS: &[Parameter] = &[
    COUNT,
    Parameter::real(
        "seconds",
        (0.001, 1e6),
        "10",
        "CPU time of each loop, s (the program's argument c)",
    )
    .positional(),
    SPACING,
    INTERVAL,
    PIECE,
    SHELL,
    SHELL_CPU,
    SHELL_SLEEP,
    MONITOR,
    MONITOR_CPU,
    NOISE,
];

const SECOND_NS: u64 = 1_000_000_000;
/// Limit for tasks times CPUs, up to which the CPU time of each task on each CPU is recorded.
const PLACES_MAX: usize = 4_000_000;
/// Minimum presence for which a loop counts in the variance of an interval, in percent of the
/// interval.
const THERE_PERCENT: u64 = 95;

/// CPU time by loop, interval and CPU.
struct CpuTimes {
    interval_ns: u64,
    cpus: usize,
    /// Time of creation of each loop. `None`: not created yet.
    born_ns: Vec<Option<u64>>,
    /// Times at which each loop first ran, and at which it ended.
    begun_ns: Vec<Option<u64>>,
    ended_ns: Vec<Option<u64>>,
    /// CPU time by interval and loop, and by interval and CPU, ns.
    by_task: Vec<Vec<u64>>,
    by_cpu: Vec<Vec<u64>>,
    /// CPU time by loop and CPU, ns. Empty if that is too much data.
    places: Vec<u64>,
    running: u64,
}

type Shared = Rc<RefCell<CpuTimes>>;

impl CpuTimes {
    fn new(values: &Values, cpus: u32) -> CpuTimes {
        let (count, cpus) = (values.whole("count") as usize, cpus as usize);
        CpuTimes {
            interval_ns: (values.real("interval") * 1e9) as u64,
            cpus,
            born_ns: vec![None; count],
            begun_ns: vec![None; count],
            ended_ns: vec![None; count],
            by_task: vec![],
            by_cpu: vec![],
            places: if count * cpus <= PLACES_MAX { vec![0; count * cpus] } else { vec![] },
            running: count as u64,
        }
    }

    /// Records a piece of the loop `number` on `cpu` that has just ended.
    fn note(&mut self, now_ns: u64, number: usize, cpu: usize, piece_ns: u64) {
        let interval = ((now_ns - 1) / self.interval_ns) as usize;
        while self.by_task.len() <= interval {
            self.by_task.push(vec![0; self.born_ns.len()]);
            self.by_cpu.push(vec![0; self.cpus]);
        }
        self.by_task[interval][number] += piece_ns;
        self.by_cpu[interval][cpu] += piece_ns;
        if let Some(place) = self.places.get_mut(number * self.cpus + cpu) {
            *place += piece_ns;
        }
    }

    /// Returns the CPU time, s, of each loop that was present in the interval.
    fn samples(&self, interval: usize) -> Vec<f64> {
        let there_ns =
            interval as u64 * self.interval_ns + self.interval_ns * (100 - THERE_PERCENT) / 100;
        let got = self.by_task[interval].iter().zip(&self.born_ns);
        got.filter(|(_, born)| born.is_some_and(|born| born <= there_ns))
            .map(|(&ns, _)| seconds(ns))
            .collect()
    }

    /// Returns the share of its CPU time, in percent, that the loop `number` had on its main CPU,
    /// and the number of CPUs on which it has run.
    fn main_place(&self, number: usize) -> Option<(f64, usize)> {
        let places = self.places.get(number * self.cpus..(number + 1) * self.cpus)?;
        let (all, most) = (places.iter().sum::<u64>(), places.iter().copied().max()?);
        (all > 0).then(|| {
            (most as f64 * 100.0 / all as f64, places.iter().filter(|&&place| place > 0).count())
        })
    }

    fn tables(&self, end_ns: u64) -> Vec<Table> {
        let mut columns = vec!["until s".to_string()];
        columns.extend((1..=self.born_ns.len()).map(|number| format!("{number}")));
        let mut tasks = Table { name: "CPU seconds of loops".into(), columns, rows: vec![] };
        let mut columns = vec!["until s".to_string()];
        columns.extend((0..self.cpus).map(|cpu| format!("CPU {cpu}")));
        let mut cpus = Table { name: "CPU seconds of CPUs".into(), columns, rows: vec![] };
        let spread = ["until s", "loops", "mean", "variance", "least", "most"];
        let mut intervals = Table::new("intervals", &spread);
        for interval in 0..self.by_task.len() {
            let until_ns = ((interval as u64 + 1) * self.interval_ns).min(end_ns);
            let label = || format!("{}", seconds(until_ns));
            tasks.push(label(), self.by_task[interval].iter().copied().map(seconds).collect());
            cpus.push(label(), self.by_cpu[interval].iter().copied().map(seconds).collect());
            let samples = self.samples(interval);
            let (mean, variance) = programs::mean_and_variance(&samples);
            let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
            let most = samples.iter().copied().fold(0.0, f64::max);
            if !samples.is_empty() {
                intervals.push(label(), vec![samples.len() as f64, mean, variance, least, most]);
            }
        }
        vec![intervals, tasks, cpus]
    }

    /// Returns a table with a row for each loop.
    fn loops(&self) -> Table {
        let columns =
            ["loop", "born s", "begun s", "ended s", "took s", "on its main CPU %", "CPUs"];
        let mut table = Table::new("loops", &columns);
        let time = |ns: Option<u64>| ns.map_or(f64::NAN, seconds);
        for number in 0..self.born_ns.len() {
            let (born, begun) = (time(self.born_ns[number]), time(self.begun_ns[number]));
            let ended = time(self.ended_ns[number]);
            let (main, cpus) = self
                .main_place(number)
                .map_or((f64::NAN, f64::NAN), |(main, cpus)| (main, cpus as f64));
            table.push(
                (number + 1).to_string(),
                vec![born, begun, ended, ended - begun, main, cpus],
            );
        }
        table
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Starts the loops, their shell and their monitor. `run_ns` is the CPU time of each loop. `None`:
/// endless.
fn start(
    os: &mut Kernel,
    values: &Values,
    conditions: &Conditions,
    name: &'static str,
    run_ns: Option<u64>,
) -> Shared {
    let books = Rc::new(RefCell::new(CpuTimes::new(values, conditions.cpus)));
    let piece_ns = programs::ms(values, "piece").max(1);
    let (count, spacing_ns) = (values.whole("count"), programs::ms(values, "spacing"));
    let one = move |books: &Shared, number: u64| {
        Spawn::new(name, counting(books.clone(), number as usize, piece_ns, run_ns))
    };
    if values.flag("shell") {
        let shell_ns = programs::ms(values, "shell-cpu").saturating_sub(conditions.costs.fork_ns);
        let sleep_ns = programs::ms(values, "shell-sleep");
        let shared = books.clone();
        os.start(
            0,
            Spawn::new(
                "sh",
                shell(books.clone(), count, spacing_ns, shell_ns, sleep_ns, move |number| {
                    one(&shared, number)
                }),
            ),
        );
    } else {
        for number in 0..count {
            let at_ns = number * spacing_ns;
            books.borrow_mut().born_ns[number as usize] = Some(at_ns);
            os.start(at_ns, one(&books, number));
        }
    }
    if values.flag("monitor") {
        os.start(
            0,
            Spawn::new("monitor", monitor(books.clone(), programs::ms(values, "monitor-cpu"))),
        );
    }
    let running = books.clone();
    noise::start(os, values, conditions, move || running.borrow().running == 0);
    books
}

/// Counts in pieces, and records each.
fn counting(
    books: Shared,
    number: usize,
    piece_ns: u64,
    run_ns: Option<u64>,
) -> impl Program + 'static {
    let mut left_ns = run_ns.unwrap_or(u64::MAX);
    let mut piece = None;
    move |os: &mut Context<'_>| {
        let now_ns = os.now_ns();
        match piece {
            Some(ns) => books.borrow_mut().note(now_ns, number, os.cpu().index(), ns),
            None => books.borrow_mut().begun_ns[number] = Some(now_ns),
        }
        if left_ns == 0 {
            let mut books = books.borrow_mut();
            books.ended_ns[number] = Some(now_ns);
            books.running -= 1;
            return Step::Exit;
        }
        let ns = piece_ns.min(left_ns);
        if run_ns.is_some() {
            left_ns -= ns;
        }
        piece = Some(ns);
        Step::Run(ns)
    }
}

/// Starts one loop after the other, each at its time at the earliest.
fn shell(
    books: Shared,
    count: u64,
    spacing_ns: u64,
    cpu_ns: u64,
    sleep_ns: u64,
    one: impl Fn(u64) -> Spawn + 'static,
) -> impl Program + 'static {
    let (mut number, mut part) = (0, 0);
    move |os: &mut Context<'_>| {
        let now = part;
        part = (part + 1) % 4;
        match now {
            0 if number > 0 => {
                books.borrow_mut().born_ns[number as usize - 1] = Some(os.now_ns());
                if number == count { Step::Exit } else { Step::Sleep(sleep_ns) }
            }
            0 => Step::Sleep(0),
            1 => Step::SleepUntil(number * spacing_ns),
            2 => Step::Run(cpu_ns),
            _ => {
                number += 1;
                Step::Fork(Box::new(one(number - 1)))
            }
        }
    }
}

/// Checks all loops each second, until none is left.
fn monitor(books: Shared, cpu_ns: u64) -> impl Program + 'static {
    let mut run = false;
    move |os: &mut Context<'_>| {
        if books.borrow().running == 0 {
            return Step::Exit;
        }
        run = !run;
        if run {
            Step::SleepUntil((os.now_ns() / SECOND_NS + 1) * SECOND_NS)
        } else {
            Step::Run(cpu_ns)
        }
    }
}

impl Benchmark for Li {
    fn name(&self) -> &'static str {
        "li"
    }

    fn about(&self) -> &'static str {
        "endless loops, started one after the other: how equal their CPU time is, interval by interval"
    }

    fn parameters(&self) -> &'static [Parameter] {
        LI_PARAMETERS
    }

    fn policies(&self, values: &Values) -> Vec<Policy> {
        noise::policies(values)
    }

    fn binds(&self, values: &Values) -> bool {
        noise::is_on(values)
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let books = start(os, values, conditions, "li", None);
        let limit_ns = Some(values.whole("time") * SECOND_NS);
        Ok(Prepared { limit_ns, finish: Box::new(move |end| li_findings(&books.borrow(), end)) })
    }
}

fn li_findings(books: &CpuTimes, end: &End<'_>) -> Findings {
    let mut tables = books.tables(end.now_ns);
    let whole = (end.now_ns / books.interval_ns) as usize;
    let all: Vec<f64> =
        (0..whole.min(books.by_task.len())).flat_map(|interval| books.samples(interval)).collect();
    let last = whole
        .min(books.by_task.len())
        .checked_sub(1)
        .map(|last| books.samples(last))
        .unwrap_or_default();
    let (mean, variance) = programs::mean_and_variance(&last);
    let (_, all_variance) = programs::mean_and_variance(&all);
    let population = all_variance * (all.len() as f64 - 1.0).max(0.0) / all.len().max(1) as f64;
    let mut printed = String::from("loop  user+system s\n");
    for number in 0..books.born_ns.len() {
        let got: u64 = books.by_task.iter().map(|interval| interval[number]).sum();
        printed += &format!("{:>4}  {:>13.2}\n", number + 1, seconds(got));
    }
    let started = books
        .born_ns
        .iter()
        .copied()
        .max()
        .flatten()
        .filter(|_| books.born_ns.iter().all(Option::is_some));
    let mut figures = vec![
        Figure::lower("variance in the last interval", "s2", variance),
        Figure::lower("population variance of all samples", "s2", population),
        Figure::plain("mean in the last interval", "s", mean),
        Figure::plain("loops in the last interval", "", last.len() as f64),
    ];
    figures.extend(started.map(|ns| Figure::lower("all started", "s", seconds(ns))));
    tables.push(books.loops());
    Findings { printed, figures, tables }
}

impl Benchmark for Cf {
    fn name(&self) -> &'static str {
        "cf"
    }

    fn about(&self) -> &'static str {
        "counting loops, started one after the other: how long each takes"
    }

    fn parameters(&self) -> &'static [Parameter] {
        CF_PARAMETERS
    }

    fn policies(&self, values: &Values) -> Vec<Policy> {
        noise::policies(values)
    }

    fn binds(&self, values: &Values) -> bool {
        noise::is_on(values)
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let run_ns = (values.real("seconds") * 1e9) as u64;
        let books = start(os, values, conditions, "cf", Some(run_ns));
        // Twice the time that one CPU needs, and a minute.
        let count = values.whole("count");
        let spacing_ns = programs::ms(values, "spacing")
            + programs::ms(values, "shell-cpu")
            + programs::ms(values, "shell-sleep");
        let limit_ns =
            Some((count * 2).saturating_mul(run_ns + spacing_ns).saturating_add(60 * SECOND_NS));
        Ok(Prepared { limit_ns, finish: Box::new(move |end| cf_findings(&books.borrow(), end)) })
    }
}

fn cf_findings(books: &CpuTimes, end: &End<'_>) -> Findings {
    let mut tables = vec![books.loops()];
    tables.extend(books.tables(end.now_ns));
    let mut printed = String::new();
    let mut took = vec![];
    for (number, (begun, ended)) in books.begun_ns.iter().zip(&books.ended_ns).enumerate() {
        let (Some(begun), Some(ended)) = (begun, ended) else { continue };
        took.push(seconds(ended - begun));
        printed += &format!("process {}: {:.4} s\n", number + 1, seconds(ended - begun));
    }
    let mut figures = vec![];
    if took.len() == books.born_ns.len() {
        let (mean, variance) = programs::mean_and_variance(&took);
        let last = books.ended_ns.iter().copied().max().flatten().unwrap_or(0);
        figures = vec![
            Figure::lower("mean", "s", mean),
            Figure::lower("variance", "s2", variance),
            Figure::lower("least", "s", took.iter().copied().fold(f64::INFINITY, f64::min)),
            Figure::lower("most", "s", took.iter().copied().fold(0.0, f64::max)),
            Figure::lower("last end", "s", seconds(last)),
        ];
        let started = books.born_ns.iter().copied().max().flatten();
        figures.extend(started.map(|ns| Figure::lower("all started", "s", seconds(ns))));
    } else {
        printed += "cut off before all had ended\n";
    }
    Findings { printed, figures, tables }
}
