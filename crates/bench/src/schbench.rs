//! schbench: wakeup and request latencies of a server's threads (Chris Mason; as of 2024).
//!
//! A message thread wakes its workers in one sweep. A worker then sleeps briefly, as if for its
//! network or disk, and multiplies matrices under a lock of its CPU. Preemption of a message thread
//! within its sweep therefore shows as wakeup latency. Preemption of a worker within its work makes
//! other workers on its CPU spin, and shows as request latency.
//!
//! * **Requests per second** (`--rps`): instead, the message thread hands out the given number of
//!   requests per second, as fast as it can, and sleeps for the rest of the second.
//! * **Pipe** (`--pipe`): there is no work. Transfers between message thread and workers are
//!   counted.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, MS_NS, SECOND_NS, US_NS};
use schedlab_measure::histogram::percentile_of_sorted;
use schedlab_measure::{Histogram, TaskStats};
use schedlab_workload::programs::{
    Context, Kernel, MutexId, MutexKind, Program, SemaphoreId, SemaphoreKind, Spawn, Step,
};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Write;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct Schbench;

/// Time of 5 multiplications of 104 x 104 matrices, ns.
const REFERENCE_WORK_NS: u64 = 5 * MS_NS;
/// Number of multiply-adds in them.
const REFERENCE_OPERATIONS: u64 = 5 * 104 * 104 * 104;
/// Number of pending requests from which on a worker is skipped.
const PENDING_MAX: usize = 128;
/// Pause after skipping a worker, ns.
const PASSED_OVER_NS: u64 = 100 * US_NS;
/// Maximum number of tries of a spinning worker that are made at once. At first they are made one
/// by one. The number limits the delay after which the worker sees that the lock is free.
const TRIES_AT_ONCE_MAX: u64 = 100;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("message-threads", (1, 10_000), "1", "message threads").short('m'),
    Parameter::whole(
        "threads",
        (0, 100_000),
        "0",
        "workers of each message thread; 0: the number of CPUs",
    )
    .short('t'),
    Parameter::whole("runtime", (1, 100_000), "30", "duration, s").short('r'),
    Parameter::whole(
        "warmuptime",
        (0, 100_000),
        "0",
        "time before that in which nothing is counted, s",
    )
    .short('w'),
    Parameter::whole("cache_footprint", (1, 100_000), "256", "the three matrices of a worker, KiB")
        .short('F'),
    Parameter::whole("operations", (1, 1_000_000), "5", "matrix multiplications of a request")
        .short('n'),
    Parameter::whole(
        "sleep_usec",
        (0, 100_000_000),
        "100",
        "sleep before the work of a request, us",
    )
    .short('s'),
    Parameter::whole(
        "rps",
        (0, 100_000),
        "0",
        "requests per second of each message thread; 0: workers ask for them",
    )
    .short('R'),
    Parameter::whole(
        "pipe",
        (0, 100_000_000),
        "0",
        "bytes to transfer instead of working; 0: work",
    )
    .short('p'),
    Parameter::flag("no-locking", "work without the lock of the CPU").short('L'),
    units::hogs("0"),
];

#[derive(Clone, Copy)]
struct Options {
    message_threads: usize,
    threads: usize,
    runtime_s: u64,
    warmup_ns: u64,
    sleep_ns: u64,
    /// Time of the work of a request, ns.
    work_ns: u64,
    rps: u64,
    /// Bytes of a transfer, and the time for touching them, ns.
    pipe: u64,
    transfer_ns: u64,
    footprint_kib: u32,
    locking: bool,
    try_lock_ns: u64,
}

impl Options {
    fn new(values: &Values, conditions: &Conditions) -> Options {
        let threads = match values.whole("threads") {
            0 => u64::from(conditions.cpus),
            threads => threads,
        };
        let kib = values.whole("cache_footprint");
        // Three square matrices of doubles.
        let side = (kib * 1024 / 3 / 8).isqrt();
        let operations = u128::from(values.whole("operations") * side.pow(3));
        let pipe = values.whole("pipe");
        Options {
            message_threads: values.whole("message-threads") as usize,
            threads: threads as usize,
            runtime_s: values.whole("runtime"),
            warmup_ns: values.whole("warmuptime") * SECOND_NS,
            sleep_ns: values.whole("sleep_usec") * US_NS,
            work_ns: (operations * u128::from(REFERENCE_WORK_NS) / u128::from(REFERENCE_OPERATIONS))
                as u64,
            rps: values.whole("rps"),
            pipe,
            transfer_ns: pipe * conditions.costs.touch_kib_ns / 1024,
            footprint_kib: kib as u32,
            locking: !values.flag("no-locking"),
            try_lock_ns: conditions.costs.try_lock_ns,
        }
    }
}

/// Futex on which one thread waits. Posting it again before the wait has no effect.
struct Futex {
    semaphore: SemaphoreId,
    posted: Cell<bool>,
}

impl Futex {
    fn new(os: &mut Context<'_>) -> Futex {
        Futex {
            semaphore: os.objects().semaphore(SemaphoreKind::Syscall, 0),
            posted: Cell::new(false),
        }
    }

    fn post(&self) -> Step {
        if self.posted.replace(true) { Step::Run(0) } else { Step::Post(self.semaphore) }
    }

    fn wait(&self) -> Step {
        Step::Wait(self.semaphore)
    }

    /// Ends the wait: posts have an effect again.
    fn waited(&self) {
        self.posted.set(false);
    }
}

/// Worker, as its message thread sees it.
struct Worker {
    futex: Futex,
    /// Time of its last wakeup, ns.
    woken_ns: Cell<u64>,
    /// Pending requests by the time at which they were made, ns.
    requests: RefCell<VecDeque<u64>>,
}

/// Message thread, as its workers see it.
struct Message {
    futex: Futex,
    /// Workers to wake, the last one added at the end.
    list: RefCell<Vec<usize>>,
    workers: RefCell<Vec<Rc<Worker>>>,
}

/// Measurements.
struct Measured {
    warmup_ns: u64,
    wakeup: Histogram,
    request: Histogram,
    /// Number of requests finished in each second.
    by_second: Vec<u64>,
}

impl Measured {
    fn wakeup(&mut self, now_ns: u64, since_ns: u64) {
        if now_ns >= self.warmup_ns {
            self.wakeup.note(now_ns - since_ns);
        }
    }

    fn request(&mut self, now_ns: u64, since_ns: u64) {
        if now_ns >= self.warmup_ns {
            self.request.note(now_ns - since_ns);
            self.finished(now_ns);
        }
    }

    fn finished(&mut self, now_ns: u64) {
        if now_ns >= self.warmup_ns {
            let second = (now_ns - self.warmup_ns) / SECOND_NS;
            if let Some(count) = self.by_second.get_mut(second as usize) {
                *count += 1;
            }
        }
    }
}

type Shared = Rc<RefCell<Measured>>;

impl Benchmark for Schbench {
    fn name(&self) -> &'static str {
        "schbench"
    }

    fn about(&self) -> &'static str {
        "a server's message threads and workers: percentiles of wakeup and request latency"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let options = Options::new(values, conditions);
        if options.message_threads * options.threads > 1_000_000 {
            return Err(BadValue::new("threads", "more than 1000000 workers; give fewer"));
        }
        if options.pipe > 0 && options.rps > 0 {
            return Err(BadValue::new("rps", "cannot be combined with --pipe"));
        }
        if options.pipe > 0 && options.transfer_ns == 0 {
            return Err(BadValue::new(
                "pipe",
                "transferring so few bytes takes no time; give more",
            ));
        }
        let measured = Measured {
            warmup_ns: options.warmup_ns,
            wakeup: Histogram::new(),
            request: Histogram::new(),
            by_second: vec![0; options.runtime_s as usize],
        };
        let measured = Rc::new(RefCell::new(measured));
        let locks: Rc<[MutexId]> =
            (0..conditions.cpus).map(|_| os.objects().mutex(MutexKind::Barging)).collect();
        os.start(0, Spawn::new("schbench", parent(options, measured.clone(), locks)));
        units::start_hogs(os, values.whole("hogs"));
        let limit_ns = options.warmup_ns + options.runtime_s * SECOND_NS;
        let finish = move |end: &End<'_>| findings(&options, &measured.borrow(), end);
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(finish) })
    }
}

/// Starts the message threads, and sleeps until the time is over.
fn parent(options: Options, measured: Shared, locks: Rc<[MutexId]>) -> impl Program + 'static {
    let mut made = 0;
    move |_: &mut Context<'_>| {
        made += 1;
        if made > options.message_threads {
            return Step::SleepUntil(u64::MAX);
        }
        let message = message(options, measured.clone(), locks.clone());
        Step::Fork(Box::new(Spawn::new("message", message).thread(true)))
    }
}

enum Sweep {
    /// Starts its workers.
    Start,
    /// Takes the list and reads the clock.
    Take,
    /// Touches the page of the next worker, in pipe mode.
    Touch,
    /// Wakes the next worker.
    Wake,
    /// Waits for a worker.
    Wait,
    /// Begins a second of requests.
    Second,
    /// Makes the next request.
    Request,
}

fn message(options: Options, measured: Shared, locks: Rc<[MutexId]>) -> impl Program + 'static {
    let mut this: Option<Rc<Message>> = None;
    let (mut at, mut list, mut stamp_ns) = (Sweep::Start, vec![], 0);
    let (mut left, mut turn, mut second_ns) = (0, 0, 0);
    move |os: &mut Context<'_>| {
        let this = this.get_or_insert_with(|| {
            let (list, workers) = (RefCell::default(), RefCell::default());
            Rc::new(Message { futex: Futex::new(os), list, workers })
        });
        loop {
            match at {
                Sweep::Start => {
                    let made = this.workers.borrow().len();
                    if made < options.threads {
                        let (woken_ns, requests) = (Cell::new(0), RefCell::default());
                        let new = Rc::new(Worker { futex: Futex::new(os), woken_ns, requests });
                        this.workers.borrow_mut().push(new.clone());
                        let program = worker(
                            options,
                            this.clone(),
                            new,
                            made,
                            measured.clone(),
                            locks.clone(),
                        );
                        let spawn = Spawn::new("worker", program).thread(true);
                        return Step::Fork(Box::new(spawn.footprint_kib(options.footprint_kib)));
                    }
                    at = if options.rps > 0 { Sweep::Second } else { Sweep::Take };
                }
                Sweep::Take => {
                    std::mem::swap(&mut list, &mut *this.list.borrow_mut());
                    stamp_ns = os.now_ns();
                    at = Sweep::Touch;
                }
                Sweep::Touch if list.is_empty() => at = Sweep::Wait,
                Sweep::Touch => {
                    at = Sweep::Wake;
                    if options.pipe > 0 {
                        return Step::Run(options.transfer_ns);
                    }
                }
                Sweep::Wake => {
                    at = Sweep::Touch;
                    if let Some(next) = list.pop() {
                        let worker = &this.workers.borrow()[next];
                        worker.woken_ns.set(stamp_ns);
                        return worker.futex.post();
                    }
                }
                Sweep::Wait => {
                    // Workers that post from here on find a list that has not been taken yet.
                    at = Sweep::Take;
                    this.futex.waited();
                    if this.list.borrow().is_empty() {
                        return this.futex.wait();
                    }
                }
                Sweep::Second => {
                    (left, second_ns) = (options.rps, os.now_ns());
                    at = Sweep::Request;
                }
                Sweep::Request if left == 0 => {
                    at = Sweep::Second;
                    return Step::SleepUntil(second_ns + SECOND_NS);
                }
                Sweep::Request => {
                    left -= 1;
                    turn = (turn + 1) % options.threads;
                    let worker = &this.workers.borrow()[turn];
                    let mut requests = worker.requests.borrow_mut();
                    if requests.len() > PENDING_MAX {
                        return Step::Sleep(PASSED_OVER_NS);
                    }
                    requests.push_back(os.now_ns());
                    return worker.futex.post();
                }
            }
        }
    }
}

enum Work {
    /// Asks to be woken.
    Ask,
    /// Posts the message thread.
    Post,
    /// Waits.
    Wait,
    /// Has been woken.
    Woken,
    /// Sleeps, as for the network.
    Request,
    /// Tries to take the lock of its CPU.
    Try,
    /// Has tried.
    Tried,
    /// Tries again.
    Again,
    /// Has the lock.
    Compute,
    /// Releases the lock.
    Unlock,
    /// Has finished the request.
    Done,
}

fn worker(
    options: Options,
    message: Rc<Message>,
    this: Rc<Worker>,
    number: usize,
    measured: Shared,
    locks: Rc<[MutexId]>,
) -> impl Program + 'static {
    let mut at = Work::Ask;
    let (mut begin_ns, mut cpu, mut tries) = (0, 0, 1);
    let mut slept = false;
    move |os: &mut Context<'_>| {
        loop {
            match at {
                Work::Ask if options.rps > 0 => {
                    // Requests come by themselves.
                    slept = this.requests.borrow().is_empty();
                    at = if slept { Work::Wait } else { Work::Woken };
                }
                Work::Ask => {
                    at = Work::Post;
                    if options.pipe > 0 {
                        return Step::Run(options.transfer_ns);
                    }
                }
                Work::Post => {
                    message.list.borrow_mut().push(number);
                    at = Work::Wait;
                    return message.futex.post();
                }
                Work::Wait => {
                    at = Work::Woken;
                    return this.futex.wait();
                }
                Work::Woken => {
                    let now_ns = os.now_ns();
                    at = Work::Request;
                    if options.rps > 0 {
                        // It has not waited between requests, so posts have accumulated to at most
                        // one.
                        if slept {
                            this.futex.waited();
                        }
                        let Some(made_ns) = this.requests.borrow_mut().pop_front() else {
                            at = Work::Ask;
                            continue;
                        };
                        if slept {
                            measured.borrow_mut().wakeup(now_ns, made_ns);
                        }
                    } else {
                        this.futex.waited();
                        measured.borrow_mut().wakeup(now_ns, this.woken_ns.get());
                        if options.pipe > 0 {
                            measured.borrow_mut().finished(now_ns);
                            at = Work::Ask;
                        }
                    }
                }
                Work::Request => {
                    begin_ns = os.now_ns();
                    at = if options.locking { Work::Try } else { Work::Compute };
                    return Step::Sleep(options.sleep_ns);
                }
                Work::Try => {
                    cpu = os.cpu().index();
                    tries = 1;
                    at = Work::Tried;
                    return Step::TryLock(locks[cpu]);
                }
                Work::Tried if os.succeeded() => {
                    if os.cpu().index() == cpu {
                        at = Work::Compute;
                    } else {
                        // It was migrated while it tried.
                        at = Work::Try;
                        return Step::Unlock(locks[cpu]);
                    }
                }
                Work::Tried => {
                    // The failing tries before the next check are made together.
                    tries = (2 * tries).min(TRIES_AT_ONCE_MAX);
                    at = Work::Again;
                    return Step::Run((tries - 1) * options.try_lock_ns);
                }
                Work::Again => {
                    at = Work::Tried;
                    return Step::TryLock(locks[cpu]);
                }
                Work::Compute => {
                    at = if options.locking { Work::Unlock } else { Work::Done };
                    return Step::Run(options.work_ns);
                }
                Work::Unlock => {
                    at = Work::Done;
                    return Step::Unlock(locks[cpu]);
                }
                Work::Done => {
                    measured.borrow_mut().request(os.now_ns(), begin_ns);
                    at = Work::Ask;
                }
            }
        }
    }
}

/// Percentiles of latencies that are printed, in thousandths. The 99th is marked.
const LATENCIES: [u64; 4] = [500, 900, 990, 999];
/// Percentiles of requests per second that are printed. The 50th is marked.
const RATES: [u64; 3] = [200, 500, 900];

fn findings(options: &Options, measured: &Measured, end: &End<'_>) -> Findings {
    let mut rates: Vec<u64> = measured.by_second.clone();
    rates.sort_unstable();
    let mut printed = String::new();
    print_latencies(&mut printed, "Wakeup Latencies", &measured.wakeup, options);
    if options.pipe == 0 {
        print_latencies(&mut printed, "Request Latencies", &measured.request, options);
        print_rates(&mut printed, &rates, options);
    }
    let (message_us, worker_us) = (run_delay_us(end, "message"), run_delay_us(end, "worker"));
    let _ = writeln!(
        printed,
        "sched delay: message {message_us:.0} (usec) worker {worker_us:.0} (usec)"
    );
    let rate = rates.iter().sum::<u64>() as f64 / options.runtime_s as f64;
    let last = measured.by_second.last().copied().unwrap_or(0);
    if options.pipe == 0 {
        let _ = writeln!(printed, "current rps: {last:.2}\naverage rps: {rate:.2}");
    } else {
        let each = rate / (options.message_threads * options.threads) as f64;
        let mb = each * options.pipe as f64 / f64::from(1 << 20);
        let _ = writeln!(printed, "avg worker transfer: {each:.2} ops/sec {mb:.2}MB/s");
    }
    let us =
        |histogram: &Histogram, part| histogram.percentile(part, 1000).unwrap_or(0) as f64 / 1e3;
    let wakeup = &measured.wakeup;
    let mut figures = vec![
        Figure::lower("99th percentile of wakeup latency", "us", us(wakeup, 990)),
        Figure::lower("median wakeup latency", "us", us(wakeup, 500)),
        Figure::lower("largest wakeup latency", "us", wakeup.moments().max as f64 / 1e3),
    ];
    if options.pipe == 0 {
        let request = &measured.request;
        figures.extend([
            Figure::lower("99th percentile of request latency", "us", us(request, 990)),
            Figure::lower("median request latency", "us", us(request, 500)),
            Figure::lower("largest request latency", "us", request.moments().max as f64 / 1e3),
            Figure::higher("requests a second", "1/s", rate),
        ]);
    } else {
        figures.push(Figure::higher("transfers a second", "1/s", rate));
    }
    figures.push(Figure::lower("run delay of message threads", "us", message_us));
    figures.push(Figure::lower("run delay of workers", "us", worker_us));
    Findings { printed, figures, ..Findings::default() }
}

/// Returns the mean waiting time per slice over the threads called `name`, us.
fn run_delay_us(end: &End<'_>, name: &str) -> f64 {
    let delay =
        |(_, stats): (_, &TaskStats)| stats.wait_ns as f64 / stats.switches_in.max(1) as f64 / 1e3;
    let delays: Vec<f64> = units::named(end, name).map(delay).collect();
    delays.iter().sum::<f64>() / delays.len().max(1) as f64
}

fn print_latencies(printed: &mut String, title: &str, histogram: &Histogram, options: &Options) {
    let moments = histogram.moments();
    let (runtime_s, count) = (options.runtime_s, moments.count);
    let _ = writeln!(
        printed,
        "{title} percentiles (usec) runtime {runtime_s} (s) ({count} total samples)"
    );
    let mut below = 0;
    for part in LATENCIES {
        let value_ns = histogram.percentile(part, 1000).unwrap_or(0);
        // Number of samples between the last percentile printed and this one.
        let upto = histogram
            .filled()
            .filter(|&(lower, ..)| lower <= value_ns)
            .map(|(.., count)| count)
            .sum::<u64>();
        print_percentile(printed, part, 990, value_ns / US_NS, upto - below);
        below = upto;
    }
    let min_us = if count == 0 { 0 } else { moments.min / US_NS };
    let _ = writeln!(printed, "\t  min={min_us}, max={}", moments.max / US_NS);
}

fn print_rates(printed: &mut String, rates: &[u64], options: &Options) {
    let (runtime_s, count) = (options.runtime_s, rates.len());
    let _ = writeln!(
        printed,
        "RPS percentiles (requests) runtime {runtime_s} (s) ({count} total samples)"
    );
    let mut below = 0;
    for part in RATES {
        let value = percentile_of_sorted(rates, part, 1000).unwrap_or(0);
        let upto = rates.iter().filter(|&&rate| rate <= value).count() as u64;
        print_percentile(printed, part, 500, value, upto - below);
        below = upto;
    }
    let (min, max) = (rates.first().unwrap_or(&0), rates.last().unwrap_or(&0));
    let _ = writeln!(printed, "\t  min={min}, max={max}");
}

fn print_percentile(printed: &mut String, part: u64, marked: u64, value: u64, count: u64) {
    let star = if part == marked { '*' } else { ' ' };
    let percent = part as f64 / 10.0;
    let _ = writeln!(printed, "\t{star} {percent:2.1}th: {value:<10} ({count} samples)");
}
