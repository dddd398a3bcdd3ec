//! hackbench: a storm of messages between groups of processes (Rusty Russell, 2001; rt-tests; `perf
//! bench sched messaging`).
//!
//! In each group 20 senders write 100 messages of 100 bytes to each of 20 receivers. All workers
//! are created first and wait. One byte that stays readable releases all of them at once. The
//! result is the time from then to the end of the last worker.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use schedlab_core::{Policy, SchedAttr};
use schedlab_workload::programs::{ChannelId, Context, Kernel, Objects, Program, Spawn, Step};
use std::cell::Cell;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct Hackbench;

/// Maximum number of workers on a simulated machine.
const WORKERS_MAX: u64 = 1_000_000;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("groups", (1, 10_000), "10", "groups of senders and receivers")
        .short('g')
        .positional(),
    Parameter::whole("fds", (1, 1_000), "20", "senders, and receivers, of a group").short('f'),
    Parameter::whole("loops", (1, 1_000_000), "100", "messages from each sender to each receiver")
        .short('l'),
    Parameter::whole("datasize", (1, 4096), "100", "bytes of a message").short('s'),
    Parameter::flag("pipe", "pipes instead of socket pairs").short('p'),
    Parameter::flag("threads", "threads instead of processes").short('T'),
    Parameter::flag("fifo", "the parent becomes SCHED_FIFO 1 before the start").short('F'),
];

/// State that all workers of a run share.
#[derive(Clone, Copy)]
struct Shape {
    groups: u64,
    fds: u64,
    loops: u64,
    bytes: u32,
    pipe: bool,
    threads: bool,
    fifo: bool,
    /// Channel on which workers report that they are ready.
    ready: ChannelId,
    /// Channel of the byte that releases them.
    wake: ChannelId,
}

impl Shape {
    fn channel(&self, objects: &mut Objects) -> ChannelId {
        if self.pipe { objects.pipe() } else { objects.socket() }
    }
}

/// Times at which the workers were released, and at which the last had ended, ns.
#[derive(Default)]
struct Times {
    start_ns: Cell<u64>,
    end_ns: Cell<Option<u64>>,
}

/// Runs `groups` groups once, with defaults for everything else: as a concurrent load.
pub(crate) fn once(objects: &mut Objects, groups: u64) -> impl Program + 'static {
    let shape = Shape {
        groups,
        fds: 20,
        loops: 100,
        bytes: 100,
        pipe: false,
        threads: false,
        fifo: false,
        ready: objects.socket(),
        wake: objects.socket(),
    };
    parent(shape, Rc::new(Times::default()))
}

impl Benchmark for Hackbench {
    fn name(&self) -> &'static str {
        "hackbench"
    }

    fn about(&self) -> &'static str {
        "a storm of messages between groups of senders and receivers: the time until all are delivered"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn policies(&self, values: &Values) -> Vec<Policy> {
        if values.flag("fifo") { vec![Policy::Other, Policy::Fifo] } else { vec![Policy::Other] }
    }

    fn tasks(&self, values: &Values) -> u64 {
        values.whole("groups").saturating_mul(values.whole("fds")).saturating_mul(2)
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let (groups, fds) = (values.whole("groups"), values.whole("fds"));
        if groups * fds * 2 > WORKERS_MAX {
            let message = format!(
                "{groups} groups of {} tasks are more than {WORKERS_MAX} tasks; give fewer",
                fds * 2
            );
            return Err(BadValue::new("groups", message));
        }
        let pipe = values.flag("pipe");
        let objects = os.objects();
        let mut channel = || if pipe { objects.pipe() } else { objects.socket() };
        let shape = Shape {
            groups,
            fds,
            loops: values.whole("loops"),
            bytes: values.whole("datasize") as u32,
            pipe,
            threads: values.flag("threads"),
            fifo: values.flag("fifo"),
            ready: channel(),
            wake: channel(),
        };
        let times = Rc::new(Times::default());
        os.start(conditions.start_ns(), Spawn::new("hackbench", parent(shape, times.clone())));
        Ok(Prepared { limit_ns: None, finish: Box::new(move |end| findings(&shape, &times, end)) })
    }
}

fn findings(shape: &Shape, times: &Times, _end: &End<'_>) -> Findings {
    let Some(end_ns) = times.end_ns.get() else {
        return Findings::new("cut off before all messages were delivered\n".into(), vec![]);
    };
    let time_s = (end_ns - times.start_ns.get()) as f64 / 1e9;
    let messages = shape.groups * shape.fds * shape.fds * shape.loops;
    let kind = if shape.threads { "threaded" } else { "process" };
    let printed = format!(
        "Running in {kind} mode with {} groups using {} file descriptors each (== {} tasks)\n\
         Each sender will pass {} messages of {} bytes\nTime: {time_s:.3}\n",
        shape.groups,
        shape.fds * 2,
        shape.groups * shape.fds * 2,
        shape.loops,
        shape.bytes,
    );
    let figures = vec![
        Figure::lower("time", "s", time_s),
        Figure::higher("messages a second", "1/s", messages as f64 / time_s),
        Figure::lower("time per message", "us", time_s * 1e6 / messages as f64),
    ];
    Findings::new(printed, figures)
}

/// State of the parent.
enum Parent {
    /// Starts worker `made` of all, within its group.
    Start { group: u64, made: u64, channels: Rc<[ChannelId]> },
    /// Reads this number of further reports of workers.
    Ready(u64),
    /// Releases the workers.
    Go,
    /// Waits for this number of workers.
    Wait(u64),
}

fn parent(shape: Shape, times: Rc<Times>) -> impl Program + 'static {
    let workers = shape.groups * shape.fds * 2;
    let mut at = Parent::Start { group: 0, made: 0, channels: [].into() };
    let mut fifo = shape.fifo;
    move |os: &mut Context<'_>| {
        loop {
            match &mut at {
                Parent::Start { group, .. } if *group == shape.groups => {
                    at = Parent::Ready(workers);
                    if std::mem::take(&mut fifo) {
                        return Step::SetAttr(
                            os.task(),
                            Box::new(SchedAttr::realtime(Policy::Fifo, 1)),
                        );
                    }
                }
                Parent::Start { group, made, channels } => {
                    if *made == 0 {
                        *channels = (0..shape.fds).map(|_| shape.channel(os.objects())).collect();
                    }
                    // A group's receivers exist before its senders.
                    let spawn = match *made < shape.fds {
                        true => Spawn::new("receiver", receiver(shape, channels[*made as usize])),
                        false => Spawn::new("sender", sender(shape, channels.clone())),
                    };
                    *made += 1;
                    if *made == 2 * shape.fds {
                        (*group, *made) = (*group + 1, 0);
                    }
                    return Step::Fork(Box::new(spawn.thread(shape.threads)));
                }
                Parent::Ready(0) => {
                    times.start_ns.set(os.now_ns());
                    at = Parent::Go;
                }
                Parent::Ready(left) => {
                    *left -= 1;
                    return Step::Read(shape.ready, 1);
                }
                Parent::Go => {
                    at = Parent::Wait(workers);
                    return Step::Write(shape.wake, 1);
                }
                Parent::Wait(0) => {
                    times.end_ns.set(Some(os.now_ns()));
                    return Step::Exit;
                }
                Parent::Wait(left) => {
                    *left -= 1;
                    return Step::WaitChild;
                }
            }
        }
    }
}

/// Returns a worker that reports that it is ready, waits to be released, takes the given number of
/// steps, and ends.
fn worker(shape: Shape, mut step: impl FnMut(u64) -> Step + 'static) -> impl Program + 'static {
    let mut steps = 0;
    move |_: &mut Context<'_>| {
        let number = steps;
        steps += 1;
        match number {
            0 => Step::Write(shape.ready, 1),
            1 => Step::Poll(shape.wake),
            _ if number - 2 < shape.fds * shape.loops => step(number - 2),
            _ => Step::Exit,
        }
    }
}

fn receiver(shape: Shape, channel: ChannelId) -> impl Program + 'static {
    worker(shape, move |_| Step::Read(channel, shape.bytes))
}

fn sender(shape: Shape, channels: Rc<[ChannelId]>) -> impl Program + 'static {
    worker(shape, move |number| Step::Write(channels[(number % shape.fds) as usize], shape.bytes))
}
