//! interbench: the delays of interactive tasks, with one concurrent load after another (Con
//! Kolivas, 2005; release 0.31).
//!
//! A run is one measured task with one load. The load is released first and the task a second
//! later. After 30 s the controller stops both. The controller makes the runs one after another and
//! forks new processes for each.
//!
//! * `step`: the arithmetic of deadlines.
//! * `tasks`: the programs.

mod step;
mod tasks;

use crate::benchmark::{Benchmark, Conditions, Figure, Findings, Prepared, Table};
use crate::parameter::{BadValue, Parameter, Values};
use crate::programs;
use schedlab_core::{CpuId, CpuSet, Policy, SchedAttr};
use schedlab_workload::programs::{
    CHUNK_KIB, Context, Kernel, LatchId, Program, SemaphoreId, SemaphoreKind, Spawn, Step,
};
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::rc::Rc;
use step::{Counts, Demand};
use tasks::{Controls, Environment, TaskScheduling, Work};

/// The benchmark that this module describes.
pub struct Interbench;

const PARAMETERS: &[Parameter] = &[
    Parameter::word(
        "bench",
        &["all", "audio", "video", "x", "gaming", "custom"],
        "all",
        "the task to measure",
    )
    .short('W'),
    Parameter::word(
        "load",
        &[
            "all", "none", "video", "x", "burn", "write", "read", "ring", "compile", "memload",
            "hack", "custom",
        ],
        "all",
        "the concurrent load; `all` does not include hack (hackbench 50)",
    )
    .short('w'),
    Parameter::whole("time", (1, 100_000), "30", "seconds of each run, rounded up to tens")
        .short('t'),
    Parameter::whole(
        "threads",
        (0, 4096),
        "0",
        "threads of Burn and of Ring; 0: the number of CPUs",
    )
    .short('L'),
    Parameter::real("bench-nice", (-20.0, 19.0), "0", "nice value of the measured task").short('B'),
    Parameter::real("load-nice", (-20.0, 19.0), "0", "nice value of the load").short('N'),
    Parameter::flag("realtime", "measure under SCHED_FIFO 95, and print us").short('r'),
    Parameter::flag("uniprocessor", "all on CPU 0, except the timekeepers").short('u'),
    Parameter::real(
        "custom-percent",
        (0.0, 100.0),
        "0",
        "CPU time that Custom uses, %; 0: no Custom",
    )
    .short('C'),
    Parameter::whole("custom-interval", (1, 10_000_000), "50000", "the interval of Custom, us")
        .short('I'),
    Parameter::word(
        "timekeepers",
        &["fifo", "meant", "normal"],
        "fifo",
        "which timekeepers are SCHED_FIFO: all, as in 0.31; only that of the measured task, as intended; none, nor the controller",
    ),
    Parameter::whole("ram", (64, 16_777_216), "1024", "memory, MiB"),
    Parameter::whole("swap", (0, 16_777_216), "2048", "swap space, MiB; 0 turns Memload off"),
    Parameter::real("hop", (0.1, 1000.0), "5", "CPU time for passing Ring's token on, us"),
];

/// Measured tasks.
const BENCHES: &[&str] = &["Audio", "Video", "X", "Gaming", "Custom"];
/// Concurrent loads.
const LOADS: &[&str] = &[
    "None", "Video", "X", "Burn", "Write", "Read", "Ring", "Compile", "Memload", "Hack", "Custom",
];

/// Priorities of the controller, of timekeepers, and of tasks that are measured under a real-time
/// policy.
const CONTROLLER: SchedAttr = SchedAttr::realtime(Policy::Fifo, 99);
const TIMEKEEPER: SchedAttr = SchedAttr::realtime(Policy::Fifo, 96);
const MEASURED: SchedAttr = SchedAttr::realtime(Policy::Fifo, 95);

/// Run of one task with one load.
struct Pair {
    bench: &'static str,
    load: &'static str,
    counts: Rc<RefCell<Counts>>,
    /// Whether it is over and its counts are complete.
    over: Cell<bool>,
}

/// Settings of all runs.
struct Setting {
    pairs: Vec<Pair>,
    time_s: u64,
    terms: Environment,
    custom: Demand,
    bench_manner: TaskScheduling,
    load_manner: TaskScheduling,
    realtime: bool,
    /// Whether the controller becomes SCHED_FIFO 99.
    fifo: bool,
}

impl Benchmark for Interbench {
    fn name(&self) -> &'static str {
        "interbench"
    }

    fn about(&self) -> &'static str {
        "how late Audio, Video, X and a game run next to one load after another"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn policies(&self, values: &Values) -> Vec<Policy> {
        let fifo = values.word("timekeepers") != "normal" || values.flag("realtime");
        if fifo { vec![Policy::Other, Policy::Fifo] } else { vec![Policy::Other] }
    }

    fn binds(&self, values: &Values) -> bool {
        values.flag("uniprocessor")
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let setting = Rc::new(Setting::new(values, conditions)?);
        let ready = os.objects().semaphore(SemaphoreKind::Syscall, 0);
        os.start(0, Spawn::new("interbench", controller(setting.clone(), ready)));
        // Ten times the expected time of the runs, and a minute each for a hackbench in progress.
        let limit_s = setting.pairs.len() as u64 * ((setting.time_s + 1) * 10 + 60);
        let finish = Box::new(move |_: &crate::End<'_>| findings(&setting));
        Ok(Prepared { limit_ns: Some(limit_s * 1_000_000_000), finish })
    }
}

impl Setting {
    fn new(values: &Values, conditions: &Conditions) -> Result<Setting, BadValue> {
        let realtime = values.flag("realtime");
        let timekeepers = values.word("timekeepers");
        let costs = &conditions.costs;
        let threads = match values.whole("threads") {
            0 => u64::from(conditions.cpus),
            threads => threads,
        };
        let interval_us = values.whole("custom-interval");
        let run_us = (interval_us as f64 * values.real("custom-percent") / 100.0) as u64;
        let bench_nice = SchedAttr::nice(programs::nice(values, "bench-nice")?);
        let load_nice = SchedAttr::nice(programs::nice(values, "load-nice")?);
        let allowed =
            if values.flag("uniprocessor") { CpuSet::only(CpuId(0)) } else { CpuSet::All };
        let timekeeper = |fifo: bool, otherwise| if fifo { TIMEKEEPER } else { otherwise };
        Ok(Setting {
            pairs: pairs(values, run_us)?,
            time_s: values.whole("time").div_ceil(10) * 10,
            terms: Environment {
                threads,
                ram_mib: values.whole("ram"),
                swap_mib: values.whole("swap"),
                hop_ns: (values.real("hop") * 1e3) as u64,
                touch_mib_ns: (costs.touch_kib_ns * 1024).max(1),
                chunk_cpu_ns: (CHUNK_KIB / 4 * costs.block_io_ns).max(1),
            },
            custom: Demand::Constant { run_us, interval_us },
            bench_manner: TaskScheduling {
                attr: if realtime { MEASURED } else { bench_nice },
                allowed: allowed.clone(),
                timekeeper: timekeeper(timekeepers != "normal" || realtime, bench_nice),
            },
            load_manner: TaskScheduling {
                attr: load_nice,
                allowed,
                timekeeper: timekeeper(timekeepers == "fifo", load_nice),
            },
            realtime,
            fifo: timekeepers != "normal" || realtime,
        })
    }

    fn work(&self, name: &str) -> Work {
        match name {
            "Audio" => Work::Periodic(Demand::Constant { run_us: 2_500, interval_us: 50_000 }),
            "Video" => Work::Periodic(Demand::Constant { run_us: 6_666, interval_us: 16_666 }),
            "X" => Work::Periodic(Demand::X),
            "Custom" => Work::Periodic(self.custom),
            "Gaming" => Work::Gaming,
            "Burn" => Work::Burn,
            "Write" => Work::Write,
            "Read" => Work::Read,
            "Ring" => Work::Ring,
            "Compile" => Work::Compile,
            "Memload" => Work::Memload,
            _ => Work::Hack,
        }
    }
}

/// Returns the runs to make.
fn pairs(values: &Values, custom_run_us: u64) -> Result<Vec<Pair>, BadValue> {
    let (bench, load) = (values.word("bench"), values.word("load"));
    let swap = values.whole("swap") > 0;
    if custom_run_us == 0 && (bench == "custom" || load == "custom") {
        return Err(BadValue::new("custom-percent", "Custom needs more than 0"));
    }
    if load == "memload" && !swap {
        return Err(BadValue::new("swap", "Memload needs swap space; give more than 0"));
    }
    if bench == load && bench != "all" {
        return Err(BadValue::new(
            "load",
            format!("{load} does not run next to itself; give another load"),
        ));
    }
    if bench == "gaming" && values.flag("realtime") {
        return Err(BadValue::new(
            "bench",
            "Gaming is not measured under a real-time policy; omit --realtime",
        ));
    }
    let asked = |asked: &str, name: &str| match asked {
        "all" => match name {
            "Custom" => custom_run_us > 0,
            "Memload" => swap,
            "Gaming" => !values.flag("realtime"),
            "Hack" => false,
            _ => true,
        },
        asked => name.eq_ignore_ascii_case(asked),
    };
    let mut pairs = vec![];
    for &bench in BENCHES.iter().filter(|name| asked(bench, name)) {
        for &load in LOADS.iter().filter(|&&name| name != bench && asked(load, name)) {
            pairs.push(Pair { bench, load, counts: Rc::default(), over: Cell::new(false) });
        }
    }
    Ok(pairs)
}

/// Next step of the controller in a run.
enum Stage {
    /// Becomes a normal task, so that its children are.
    Normal,
    Fork,
    ForkLoad,
    /// Waits until this number of processes are ready.
    Ready(u32),
    Lead,
    StartLoad,
    Second,
    StartBench,
    Time,
    StopBench,
    StopLoad,
    Over,
}

/// Makes one run after the other.
fn controller(setting: Rc<Setting>, ready: SemaphoreId) -> impl Program + 'static {
    let mut number = 0;
    let mut at = Stage::Normal;
    let mut bench: Option<(Controls, Option<Box<Spawn>>)> = None;
    let mut load: Option<Controls> = None;
    move |os: &mut Context<'_>| {
        loop {
            let Some(pair) = setting.pairs.get(number) else { return Step::Exit };
            match at {
                Stage::Normal => {
                    at = Stage::Fork;
                    if setting.fifo && number > 0 {
                        return Step::SetAttr(os.task(), Box::default());
                    }
                }
                Stage::Fork => {
                    let bench_strings = strings(os, ready);
                    let work = setting.work(pair.bench);
                    let manner = &setting.bench_manner;
                    let counts = pair.counts.clone();
                    let spawn = tasks::process(
                        pair.bench,
                        work,
                        manner,
                        &bench_strings,
                        setting.terms,
                        counts,
                    );
                    bench = Some((bench_strings, Some(Box::new(spawn))));
                    at = Stage::ForkLoad;
                    if pair.load != "None" {
                        let strings = strings(os, ready);
                        let work = setting.work(pair.load);
                        let manner = &setting.load_manner;
                        let spawn = tasks::process(
                            load_name(pair.load),
                            work,
                            manner,
                            &strings,
                            setting.terms,
                            Rc::default(),
                        );
                        load = Some(strings);
                        return Step::Fork(Box::new(spawn));
                    }
                }
                Stage::ForkLoad => {
                    at = Stage::Ready(if load.is_some() { 2 } else { 1 });
                    if let Some(spawn) = bench.as_mut().and_then(|(_, spawn)| spawn.take()) {
                        return Step::Fork(spawn);
                    }
                }
                Stage::Ready(0) => at = Stage::Lead,
                Stage::Ready(left) => {
                    at = Stage::Ready(left - 1);
                    return Step::Wait(ready);
                }
                Stage::Lead => {
                    at = Stage::StartLoad;
                    if setting.fifo {
                        return Step::SetAttr(os.task(), Box::new(CONTROLLER));
                    }
                }
                Stage::StartLoad => {
                    at = Stage::Second;
                    if let Some(load) = &load {
                        return Step::Open(load.start);
                    }
                }
                Stage::Second => {
                    at = Stage::StartBench;
                    return Step::Sleep(1_000_000_000);
                }
                Stage::StartBench => {
                    at = Stage::Time;
                    return Step::Open(start_of(&bench));
                }
                Stage::Time => {
                    at = Stage::StopBench;
                    return Step::Sleep(setting.time_s * 1_000_000_000);
                }
                Stage::StopBench => {
                    if let Some((strings, _)) = &bench {
                        strings.stop.set(true);
                    }
                    at = Stage::StopLoad;
                    return Step::WaitChild;
                }
                Stage::StopLoad => {
                    pair.over.set(true);
                    at = Stage::Over;
                    if let Some(load) = load.take() {
                        load.stop.set(true);
                        return Step::WaitChild;
                    }
                }
                Stage::Over => {
                    number += 1;
                    at = Stage::Normal;
                }
            }
        }
    }
}

fn start_of(bench: &Option<(Controls, Option<Box<Spawn>>)>) -> LatchId {
    bench.as_ref().expect("the task to measure was forked").0.start
}

fn strings(os: &mut Context<'_>, ready: SemaphoreId) -> Controls {
    Controls { start: os.objects().latch(), ready, stop: Rc::default() }
}

/// Returns the name of the tasks of a load in reports.
fn load_name(name: &str) -> &'static str {
    match name {
        "Video" => "video load",
        "X" => "x load",
        "Custom" => "custom load",
        "Burn" => "burn load",
        "Write" => "write load",
        "Read" => "read load",
        "Ring" => "ring load",
        "Compile" => "compile load",
        "Memload" => "memload load",
        _ => "hack load",
    }
}

const COLUMNS: &[&str] = &[
    "load",
    "mean ms",
    "SD ms",
    "true SD ms",
    "max ms",
    "desired CPU %",
    "deadlines met %",
    "steps",
];

fn findings(setting: &Setting) -> Findings {
    let mut printed = format!("Running every load for {} seconds\n", setting.time_s);
    let mut figures = vec![];
    let mut tables: Vec<Table> = vec![];
    let mut means = 0.0;
    let mut over = 0.0;
    for pair in &setting.pairs {
        if tables.last().is_none_or(|table| table.name != pair.bench) {
            head(&mut printed, setting, pair.bench);
            tables.push(Table::new(pair.bench, COLUMNS));
        }
        if !pair.over.get() {
            let _ = writeln!(printed, "{}\tcut off", pair.load);
            continue;
        }
        let counts = pair.counts.borrow();
        let deadlines = pair.bench != "Gaming";
        line(&mut printed, setting, pair.load, &counts, deadlines);
        let met = if deadlines { counts.met_percent() } else { f64::NAN };
        let values = vec![
            counts.mean_us() as f64 / 1e3,
            counts.printed_deviation_us() / 1e3,
            counts.deviation_us() / 1e3,
            counts.max_us() as f64 / 1e3,
            counts.desired_percent(),
            met,
            counts.latency.count as f64,
        ];
        means += values[0];
        over += 1.0;
        let name = |what: &str| format!("{}/{} {what}", pair.bench, pair.load);
        figures.push(Figure::lower(name("mean"), "ms", values[0]));
        figures.push(Figure::lower(name("SD"), "ms", values[1]));
        figures.push(Figure::lower(name("true SD"), "ms", values[2]));
        figures.push(Figure::lower(name("max"), "ms", values[3]));
        figures.push(Figure::higher(name("desired CPU"), "%", values[4]));
        if deadlines {
            figures.push(Figure::higher(name("deadlines met"), "%", met));
        }
        if let Some(table) = tables.last_mut() {
            table.push(pair.load, values);
        }
    }
    if over > 0.0 {
        figures.insert(0, Figure::lower("mean latency", "ms", means / over));
    }
    Findings { printed, figures, tables }
}

/// Returns the result of X with a constant share of a CPU and no delay at wakeups, over `steps`
/// steps from 0: mean and maximum latency, ms.
pub fn x_with_share(share: f64, steps: u64) -> (f64, f64) {
    let counts = step::x_with_share(share, steps);
    (counts.mean_us() as f64 / 1e3, counts.max_us() as f64 / 1e3)
}

fn head(printed: &mut String, setting: &Setting, bench: &str) {
    let (kind, unit) = if setting.realtime { ("real time", "us") } else { ("simulated", "ms") };
    let _ = writeln!(
        printed,
        "\n--- Benchmarking {kind} cpu of {bench} in the presence of simulated ---"
    );
    let _ = write!(printed, "Load\tLatency +/- SD ({unit})  Max Latency   % Desired CPU");
    let _ = writeln!(printed, "{}", if bench == "Gaming" { "" } else { "  % Deadlines Met" });
}

fn line(printed: &mut String, setting: &Setting, load: &str, counts: &Counts, deadlines: bool) {
    let unit = if setting.realtime { 1.0 } else { 1e3 };
    let mean = digits(counts.mean_us() as f64 / unit);
    let deviation = digits(counts.printed_deviation_us() / unit);
    let max = digits(counts.max_us() as f64 / unit);
    let desired = digits(counts.desired_percent());
    let _ = write!(printed, "{load:<7}\t{mean:>7} +/- {deviation:<8}\t{max:>7}\t\t{desired:>6}");
    if deadlines {
        let _ = write!(printed, "\t\t{:>6}", digits(counts.met_percent()));
    }
    printed.push('\n');
}

/// Formats a number with three significant digits, as `%.3g` prints it where it needs no exponent.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let before = value.abs().log10().floor() as i32 + 1;
    let text = format!("{value:.*}", (3 - before).clamp(0, 6) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_with_three_digits_that_count() {
        let texts = [0.0, 0.005, 0.0123456, 1.0, 2.345, 12.34, 99.96, 136.4].map(digits);
        assert_eq!(texts, ["0", "0.005", "0.0123", "1", "2.35", "12.3", "100", "136"]);
    }

    fn made(set: &[(&str, &str)]) -> Result<Vec<(&'static str, &'static str)>, BadValue> {
        let mut values = Values::defaults(PARAMETERS);
        for (name, text) in set {
            values = values.with(PARAMETERS, name, text)?;
        }
        let run_us = if values.real("custom-percent") > 0.0 { 1 } else { 0 };
        Ok(pairs(&values, run_us)?.iter().map(|pair| (pair.bench, pair.load)).collect())
    }

    #[test]
    fn every_task_is_measured_beside_every_load_but_itself() {
        let all = made(&[]).expect("the defaults are valid");
        // Audio and Gaming with nine loads, Video and X with eight.
        assert_eq!(all.len(), 34);
        assert!(all.iter().all(|(bench, load)| bench != load));
        assert_eq!(made(&[("realtime", "true")]).expect("the values are valid").len(), 25);
        assert_eq!(
            made(&[("custom-percent", "10")]).expect("the values are valid").len(),
            34 + 4 + 9
        );
        assert_eq!(
            made(&[("bench", "x"), ("load", "hack")]).expect("the values are valid"),
            [("X", "Hack")]
        );
        assert!(made(&[("bench", "x"), ("load", "x")]).is_err());
        assert!(made(&[("load", "custom")]).is_err());
        assert!(made(&[("load", "memload"), ("swap", "0")]).is_err());
    }
}
