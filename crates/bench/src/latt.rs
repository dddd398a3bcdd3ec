//! latt: how long clients take to run, and to get their work done, when they are woken under load
//! (Jens Axboe, 2009).
//!
//! A concurrent program runs as the load. At intervals the parent writes the time to every client,
//! one after the other, and waits for all answers. A client that has read the message reads the
//! clock, works (compresses a buffer), reads the clock again and answers.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, MS_NS, SECOND_NS};
use schedlab_measure::Moments;
use schedlab_workload::programs::{ChannelId, Context, Kernel, Program, Spawn, Step};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct Latt;

/// Time for compressing 1 KiB of random numbers, ns: 64 KiB take 3 ms.
const WORK_KIB_NS: u64 = 3 * MS_NS / 64;
/// Bytes of a time stamp.
const STAMP_BYTES: u32 = 16;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("clients", (1, 100_000), "1", "clients").short('c'),
    Parameter::whole("min", (0, 1_000_000), "100", "shortest sleep between two rounds, ms")
        .short('s'),
    Parameter::whole("max", (0, 1_000_000), "500", "maximum sleep in addition to --min, ms")
        .short('S'),
    Parameter::whole(
        "work",
        (0, 1_000_000),
        "64",
        "buffer that a client compresses, KiB; 0: no work",
    )
    .short('x'),
    units::seconds("30"),
    Parameter::whole("hogs", (0, 100_000), "4", "endless loops of the program that is the load")
        .positional(),
];

#[derive(Clone, Copy)]
struct Options {
    clients: usize,
    min_ms: u64,
    max_ms: u64,
    work_ns: u64,
    until_ns: u64,
}

/// Delays, ns.
#[derive(Default)]
struct Delays {
    wakeup: Moments,
    work: Moments,
}

/// State that parent and clients share.
struct Shared {
    /// Time of the last message to each client, ns.
    stamps: Vec<u64>,
    delays: Delays,
}

impl Benchmark for Latt {
    fn name(&self) -> &'static str {
        "latt"
    }

    fn about(&self) -> &'static str {
        "clients that are woken under load: delay until they run, and until their work is done"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        _: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let until_ns = values.whole("seconds") * SECOND_NS;
        let options = Options {
            clients: values.whole("clients") as usize,
            min_ms: values.whole("min"),
            max_ms: values.whole("max"),
            work_ns: values.whole("work") * WORK_KIB_NS,
            until_ns,
        };
        if options.min_ms + options.max_ms == 0 {
            return Err(BadValue::new(
                "max",
                "there is no sleep between rounds; give --min or --max",
            ));
        }
        let hogs = values.whole("hogs");
        let shared = Shared { stamps: vec![0; options.clients], delays: Delays::default() };
        let shared = Rc::new(RefCell::new(shared));
        os.start(0, Spawn::new("latt", parent(options, shared.clone())));
        units::start_hogs(os, hogs);
        // When the load ends, a round may be in progress: the clients' work, with the loops
        // running.
        let round_ns = (options.clients as u64 * options.work_ns + SECOND_NS) * (1 + hogs);
        let sleep_ns = (options.min_ms + options.max_ms) * MS_NS;
        let limit_ns =
            until_ns.saturating_add(sleep_ns).saturating_add(round_ns.saturating_mul(10));
        let finish = move |_: &End<'_>| findings(&options, &shared.borrow().delays);
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(finish) })
    }
}

enum Parent {
    /// Starts this client.
    Start(usize),
    /// Sleeps before a round.
    Sleep,
    /// Checks whether the program has ended.
    Look,
    /// Writes to this client.
    Stamp(usize),
    /// Reads this number of further answers.
    Answers(usize),
}

fn parent(options: Options, shared: Rc<RefCell<Shared>>) -> impl Program + 'static {
    let mut at = Parent::Start(0);
    let mut pipes: Vec<ChannelId> = vec![];
    let mut answers = None;
    move |os: &mut Context<'_>| {
        // Each answer wakes the parent, as poll(2) over the clients' pipes does.
        let answers = *answers.get_or_insert_with(|| os.objects().pipe());
        loop {
            match at {
                Parent::Start(client) if client == options.clients => at = Parent::Sleep,
                Parent::Start(number) => {
                    let pipe = os.objects().pipe();
                    pipes.push(pipe);
                    at = Parent::Start(number + 1);
                    let client = client(options, number, shared.clone(), pipe, answers);
                    return Step::Fork(Box::new(Spawn::new("client", client)));
                }
                Parent::Sleep => {
                    at = Parent::Look;
                    let sleep_ms =
                        options.min_ms as f64 + options.max_ms as f64 * os.random().uniform();
                    return Step::Sleep((sleep_ms * 1e6) as u64);
                }
                Parent::Look if os.now_ns() >= options.until_ns => return Step::Finish,
                Parent::Look => at = Parent::Stamp(0),
                Parent::Stamp(client) if client == options.clients => {
                    at = Parent::Answers(options.clients)
                }
                Parent::Stamp(client) => {
                    shared.borrow_mut().stamps[client] = os.now_ns();
                    at = Parent::Stamp(client + 1);
                    return Step::Write(pipes[client], STAMP_BYTES);
                }
                Parent::Answers(0) => at = Parent::Sleep,
                Parent::Answers(left) => {
                    at = Parent::Answers(left - 1);
                    return Step::Read(answers, STAMP_BYTES);
                }
            }
        }
    }
}

fn client(
    options: Options,
    number: usize,
    shared: Rc<RefCell<Shared>>,
    pipe: ChannelId,
    answers: ChannelId,
) -> impl Program + 'static {
    let (mut step, mut pre_ns) = (0, 0);
    move |os: &mut Context<'_>| {
        step = step % 3 + 1;
        match step {
            1 => Step::Read(pipe, STAMP_BYTES),
            2 => {
                pre_ns = os.now_ns();
                let mut shared = shared.borrow_mut();
                let stamp_ns = shared.stamps[number];
                shared.delays.wakeup.note(pre_ns - stamp_ns);
                Step::Run(options.work_ns)
            }
            _ => {
                shared.borrow_mut().delays.work.note(os.now_ns() - pre_ns);
                Step::Write(answers, STAMP_BYTES)
            }
        }
    }
}

fn findings(options: &Options, delays: &Delays) -> Findings {
    let mut printed = format!(
        "Parameters: min_wait={}ms, max_wait={}ms, clients={}\nEntries logged: {}\n",
        options.min_ms, options.max_ms, options.clients, delays.wakeup.count
    );
    for (title, moments) in [("Wakeup", &delays.wakeup), ("Work", &delays.work)] {
        let deviation_us = units::deviation(moments) / 1e3;
        let of_mean_us = deviation_us / (moments.count.max(1) as f64).sqrt();
        let _ = write!(
            printed,
            "\n{title} averages\n-------------------------------------\n\
             \tMax\t\t{:8.0} usec\n\tAvg\t\t{:8.0} usec\n\tStdev\t\t{deviation_us:8.0} usec\n\
             \tStdev mean\t{of_mean_us:8.0} usec\n",
            moments.max as f64 / 1e3,
            units::mean(moments) / 1e3,
        );
    }
    let us = |ns: f64| ns / 1e3;
    let figures = vec![
        Figure::lower("mean wakeup delay", "us", us(units::mean(&delays.wakeup))),
        Figure::lower("largest wakeup delay", "us", us(delays.wakeup.max as f64)),
        Figure::lower("deviation of wakeup delay", "us", us(units::deviation(&delays.wakeup))),
        Figure::lower("mean work delay", "us", us(units::mean(&delays.work))),
        Figure::lower("largest work delay", "us", us(delays.work.max as f64)),
        Figure::lower("deviation of work delay", "us", us(units::deviation(&delays.work))),
        Figure::plain("entries", "", delays.wakeup.count as f64),
    ];
    Findings { printed, figures, ..Findings::default() }
}
