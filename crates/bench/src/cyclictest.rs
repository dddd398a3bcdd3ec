//! cyclictest: how late timers wake threads (rt-tests 0.84).
//!
//! Each thread sleeps until an absolute time, records how much later it runs, and adds its interval
//! to that time. A thread that is late does not skip what it has missed, so one delay affects
//! several samples. A thread does nothing else: it takes 2 us per cycle.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, SECOND_NS, US_NS};
use schedlab_core::{CpuId, CpuSet, Policy, SchedAttr, TaskId};
use schedlab_measure::{Histogram, Moments};
use schedlab_workload::programs::{Context, Kernel, Program, Spawn, Step};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct Cyclictest;

/// CPU time of a cycle, ns.
const CYCLE_NS: u64 = 2 * US_NS;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("threads", (1, 100_000), "1", "threads").short('t'),
    Parameter::whole("interval", (1, 1_000_000_000), "1000", "interval of the first thread, us")
        .short('i'),
    Parameter::whole(
        "distance",
        (0, 1_000_000_000),
        "500",
        "increment for each further thread, us; 0 with --histogram",
    )
    .short('d'),
    Parameter::whole("prio", (0, 99), "0", "real-time priority; 0: SCHED_OTHER").short('p'),
    Parameter::flag("priospread", "the priority decreases by one from thread to thread"),
    Parameter::word(
        "policy",
        &["auto", "other", "batch", "idle", "fifo", "rr"],
        "auto",
        "policy; auto: fifo with a priority, else other",
    )
    .short('y'),
    Parameter::flag("affinity", "bind thread i to CPU i").short('a'),
    Parameter::flag("relative", "sleep for the interval instead of until a time").short('r'),
    Parameter::whole(
        "loops",
        (0, 1_000_000_000),
        "0",
        "cycles of each thread; 0: until the time is over",
    )
    .short('l'),
    Parameter::whole("duration", (0, 1_000_000), "10", "duration, s; 0: until the loops are done")
        .short('D'),
    Parameter::whole(
        "histogram",
        (0, 1_000_000),
        "0",
        "print a histogram of latencies below this, us",
    )
    .short('h'),
    Parameter::flag("nanosleep", "use clock_nanosleep: this is always modelled").short('n'),
    Parameter::flag("mlockall", "lock memory: the model never pages out").short('m'),
    units::hogs("0"),
];

/// State that all threads share.
#[derive(Clone, Copy)]
struct Options {
    threads: u64,
    interval_ns: u64,
    distance_ns: u64,
    policy: Policy,
    prio: u32,
    priospread: bool,
    affinity: bool,
    relative: bool,
    loops: u64,
    histogram: usize,
    cpus: u32,
}

impl Options {
    fn new(values: &Values, conditions: &Conditions) -> Options {
        let histogram = values.whole("histogram") as usize;
        let distance_ns = if histogram > 0 { 0 } else { values.whole("distance") * US_NS };
        Options {
            threads: values.whole("threads"),
            interval_ns: values.whole("interval") * US_NS,
            distance_ns,
            policy: policy(values),
            prio: values.whole("prio") as u32,
            priospread: values.flag("priospread"),
            affinity: values.flag("affinity"),
            relative: values.flag("relative"),
            loops: values.whole("loops"),
            histogram,
            cpus: conditions.cpus,
        }
    }

    fn prio(&self, thread: u64) -> u32 {
        let less = if self.priospread { thread.min(98) as u32 } else { 0 };
        if self.policy.is_realtime() { self.prio.saturating_sub(less).max(1) } else { 0 }
    }

    fn interval_ns(&self, thread: u64) -> u64 {
        self.interval_ns + thread * self.distance_ns
    }

    fn attr(&self, thread: u64) -> SchedAttr {
        SchedAttr { policy: self.policy, rt_priority: self.prio(thread), ..SchedAttr::default() }
    }
}

fn policy(values: &Values) -> Policy {
    match values.word("policy") {
        "auto" if values.whole("prio") > 0 => Policy::Fifo,
        "fifo" => Policy::Fifo,
        "rr" => Policy::RoundRobin,
        "batch" => Policy::Batch,
        "idle" => Policy::Idle,
        _ => Policy::Other,
    }
}

/// Measurements of a thread.
#[derive(Clone, Default)]
struct Latencies {
    task: Option<TaskId>,
    /// In whole us.
    moments: Moments,
    last_us: u64,
    /// Number of latencies of 0, 1, ... us.
    counts: Vec<u64>,
}

struct Results {
    threads: Vec<Latencies>,
    /// Of all threads, in whole us.
    all: Histogram,
}

impl Results {
    fn note(&mut self, thread: usize, latency_us: u64) {
        self.all.note(latency_us);
        let this = &mut self.threads[thread];
        this.moments.note(latency_us);
        this.last_us = latency_us;
        if let Some(count) = this.counts.get_mut(latency_us as usize) {
            *count += 1;
        }
    }
}

impl Benchmark for Cyclictest {
    fn name(&self) -> &'static str {
        "cyclictest"
    }

    fn about(&self) -> &'static str {
        "threads that sleep until given times: how much later they run"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn policies(&self, values: &Values) -> Vec<Policy> {
        let policy = policy(values);
        if policy == Policy::Other { vec![policy] } else { vec![Policy::Other, policy] }
    }

    fn binds(&self, values: &Values) -> bool {
        values.flag("affinity")
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let options = Options::new(values, conditions);
        if options.policy.is_realtime() && options.prio == 0 {
            return Err(BadValue::new(
                "policy",
                "fifo and rr need a priority; give --prio 1 to 99",
            ));
        }
        if !options.policy.is_realtime() && options.prio > 0 {
            return Err(BadValue::new("prio", "only --policy fifo and rr have priorities"));
        }
        let duration_ns = values.whole("duration") * SECOND_NS;
        if duration_ns == 0 && options.loops == 0 {
            return Err(BadValue::new("duration", "0 needs an end by --loops"));
        }
        // With loops alone, the run is over in time, unless the threads get next to no CPU time.
        let longest_ns = options.interval_ns(options.threads - 1);
        let loops_ns = options
            .loops
            .saturating_mul(longest_ns)
            .saturating_mul(10)
            .saturating_add(60 * SECOND_NS);
        let limit_ns = if duration_ns > 0 { duration_ns } else { loops_ns };
        let empty = Latencies { counts: vec![0; options.histogram], ..Latencies::default() };
        let results =
            Results { threads: vec![empty; options.threads as usize], all: Histogram::new() };
        let results = Rc::new(RefCell::new(results));
        os.start(0, Spawn::new("cyclictest", parent(options, results.clone())));
        units::start_hogs(os, values.whole("hogs"));
        let finish = move |end: &End<'_>| findings(&options, &results.borrow(), end);
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(finish) })
    }
}

/// Starts the threads and waits for them.
fn parent(options: Options, results: Rc<RefCell<Results>>) -> impl Program + 'static {
    let (mut made, mut over) = (0, 0);
    move |_: &mut Context<'_>| {
        if made < options.threads {
            made += 1;
            let thread = thread(options, made - 1, results.clone());
            return Step::Fork(Box::new(Spawn::new("cyclic", thread).thread(true)));
        }
        over += 1;
        if over <= options.threads { Step::WaitChild } else { Step::Finish }
    }
}

enum Stage {
    /// Binds itself to its CPU.
    Bind,
    /// Sets its policy.
    Policy,
    /// Reads the clock and sleeps for the first time.
    First,
    /// Has been woken.
    Woken,
    /// Has done its work.
    Done,
}

fn thread(options: Options, number: u64, results: Rc<RefCell<Results>>) -> impl Program + 'static {
    let interval_ns = options.interval_ns(number);
    let attr = options.attr(number);
    let (mut stage, mut next_ns, mut cycles) = (Stage::Bind, 0, 0);
    move |os: &mut Context<'_>| {
        loop {
            match stage {
                Stage::Bind => {
                    results.borrow_mut().threads[number as usize].task = Some(os.task());
                    stage = Stage::Policy;
                    if options.affinity {
                        let cpu = CpuId((number % u64::from(options.cpus)) as u32);
                        return Step::SetAffinity(os.task(), Box::new(CpuSet::only(cpu)));
                    }
                }
                Stage::Policy => {
                    stage = Stage::First;
                    if attr != SchedAttr::default() {
                        return Step::SetAttr(os.task(), Box::new(attr));
                    }
                }
                Stage::First => {
                    next_ns = os.now_ns() + interval_ns;
                    stage = Stage::Woken;
                    return Step::SleepUntil(next_ns);
                }
                Stage::Woken => {
                    let latency_us = os.now_ns().saturating_sub(next_ns) / US_NS;
                    results.borrow_mut().note(number as usize, latency_us);
                    cycles += 1;
                    next_ns += interval_ns;
                    stage = Stage::Done;
                    return Step::Run(CYCLE_NS);
                }
                Stage::Done if cycles == options.loops => return Step::Exit,
                Stage::Done => {
                    if options.relative {
                        next_ns = os.now_ns() + interval_ns;
                    }
                    stage = Stage::Woken;
                    return Step::SleepUntil(next_ns);
                }
            }
        }
    }
}

fn findings(options: &Options, results: &Results, _end: &End<'_>) -> Findings {
    let mut printed = String::new();
    for (number, this) in results.threads.iter().enumerate() {
        let moments = &this.moments;
        let min = if moments.count == 0 { 0 } else { moments.min };
        let _ = writeln!(
            printed,
            "T:{number:2} ({:5}) P:{:2} I:{} C:{:7} Min:{min:7} Act:{:5} Avg:{:5} Max:{:8}",
            this.task.map_or(0, |task| task.0),
            options.prio(number as u64),
            options.interval_ns(number as u64) / US_NS,
            moments.count,
            this.last_us,
            moments.mean().unwrap_or(0),
            moments.max,
        );
    }
    if options.histogram > 0 {
        print_histogram(&mut printed, options, &results.threads);
    }
    let all = results.all.moments();
    let percentile = |percent| results.all.percentile(percent, 100).unwrap_or(0) as f64;
    let figures = vec![
        Figure::lower("largest latency", "us", all.max as f64),
        Figure::lower("mean latency", "us", units::mean(all)),
        Figure::lower("median latency", "us", percentile(50)),
        Figure::lower("99th percentile of latency", "us", percentile(99)),
        Figure::plain("samples", "", all.count as f64),
    ];
    Findings { printed, figures, ..Findings::default() }
}

fn print_histogram(printed: &mut String, options: &Options, threads: &[Latencies]) {
    printed.push_str("# Histogram\n");
    for us in 0..options.histogram {
        let _ = write!(printed, "{us:06} ");
        let counts: Vec<String> =
            threads.iter().map(|this| format!("{:06}", this.counts[us])).collect();
        let _ = writeln!(printed, "{}", counts.join("\t"));
    }
    let mut line = |title: &str, value: &dyn Fn(&Latencies) -> u64| {
        let values: Vec<String> =
            threads.iter().map(|this| format!("{:05}", value(this))).collect();
        let _ = writeln!(printed, "# {title}: {}", values.join(" "));
    };
    let within = |this: &Latencies| this.counts.iter().sum::<u64>();
    line("Total", &within);
    line("Min Latencies", &|this| if this.moments.count == 0 { 0 } else { this.moments.min });
    line("Avg Latencies", &|this| this.moments.mean().unwrap_or(0));
    line("Max Latencies", &|this| this.moments.max);
    line("Histogram Overflows", &|this| this.moments.count - within(this));
}
