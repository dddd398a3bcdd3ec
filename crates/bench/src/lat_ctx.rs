//! lat_ctx: the cost of a context switch (lmbench 3).
//!
//! A token goes round a ring of processes connected by pipes. Each process that gets the token sums
//! an array and passes the token on. One process alone makes the same calls without switches. Their
//! cost is the overhead, which is subtracted. The rest is the cost of the switch and of refilling
//! the caches. Where neither costs anything, the result is 0 and nothing is printed.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::units::{self, MS_NS, SECOND_NS, US_NS};
use schedlab_core::{CpuId, CpuSet};
use schedlab_measure::histogram::median_of_sorted;
use schedlab_workload::programs::{ChannelId, Context, Kernel, Program, Spawn, Step};
use std::cell::RefCell;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct LatCtx;

/// Bytes of the token.
const TOKEN_BYTES: u32 = 4;
/// Minimum length of a timed stretch, ns.
const STRETCH_NS: u64 = 50 * MS_NS;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole(
        "processes",
        (1, 100_000),
        "2",
        "processes in the ring; each value of a list is a separate run",
    )
    .positional(),
    Parameter::whole("size", (0, 1_000_000), "0", "working set of each process, KiB").short('s'),
    Parameter::whole("parallelism", (1, 1_000), "1", "rings at the same time").short('P'),
    Parameter::whole("warmup", (0, 100_000_000), "0", "time for turns before the timing, us")
        .short('W'),
    Parameter::whole(
        "repetitions",
        (1, 10_000),
        "11",
        "timed stretches; the result is their median",
    )
    .short('N'),
    Parameter::word(
        "sched",
        &["DEFAULT", "SINGLE", "BALANCED", "UNIQUE"],
        "DEFAULT",
        "placement (LMBENCH_SCHED): by the kernel, all on CPU 0, a CPU per ring, a CPU per process",
    ),
    units::hogs("0"),
];

/// Placement of the processes: values of the parameter `sched`.
#[derive(Clone, Copy)]
enum Placement {
    Kernel,
    Single,
    Balanced,
    Unique,
}

#[derive(Clone, Copy)]
struct Options {
    processes: u64,
    size_kib: u32,
    parallelism: u64,
    warmup_ns: u64,
    repetitions: usize,
    placement: Placement,
    cpus: u32,
    /// Time for summing the working set while it is in the nearest cache, ns.
    sum_ns: u64,
}

impl Options {
    /// Returns a process of ring `ring`, with its working set and its affinity.
    fn spawn(&self, program: impl Program + 'static, ring: u64, process: u64) -> Spawn {
        let cpu = match self.placement {
            Placement::Kernel => None,
            Placement::Single => Some(0),
            Placement::Balanced => Some(ring),
            Placement::Unique => Some(ring * self.processes + process),
        };
        let spawn = Spawn::new("lat_ctx", program).footprint_kib(self.size_kib);
        match cpu {
            Some(cpu) => spawn.on(CpuSet::only(CpuId((cpu % u64::from(self.cpus)) as u32))),
            None => spawn,
        }
    }
}

/// Times per turn, ns.
#[derive(Default)]
struct Times {
    overhead: Vec<f64>,
    /// Of all rings.
    ring: Vec<f64>,
}

impl Benchmark for LatCtx {
    fn name(&self) -> &'static str {
        "lat_ctx"
    }

    fn about(&self) -> &'static str {
        "a token in a ring of processes: the cost of a context switch"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn binds(&self, values: &Values) -> bool {
        values.word("sched") != "DEFAULT"
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let size_kib = values.whole("size") as u32;
        let options = Options {
            processes: values.whole("processes"),
            size_kib,
            parallelism: values.whole("parallelism"),
            warmup_ns: values.whole("warmup") * US_NS,
            repetitions: values.whole("repetitions") as usize,
            placement: match values.word("sched") {
                "SINGLE" => Placement::Single,
                "BALANCED" => Placement::Balanced,
                "UNIQUE" => Placement::Unique,
                _ => Placement::Kernel,
            },
            cpus: conditions.cpus,
            sum_ns: u64::from(size_kib) * conditions.costs.touch_kib_ns,
        };
        if options.processes * options.parallelism > 1_000_000 {
            return Err(BadValue::new("parallelism", "more than 1000000 processes; give fewer"));
        }
        let times = Rc::new(RefCell::new(Times::default()));
        os.start(0, options.spawn(overhead(options, times.clone()), 0, 0));
        units::start_hogs(os, values.whole("hogs"));
        // Without competition for the CPU, a stretch takes up to twice its length or one turn, and
        // finding the number of turns takes as long again. The rest is for switches, and for
        // concurrent loads.
        let turn_ns = options.processes * options.parallelism * (options.sum_ns + 10 * US_NS);
        let stretch_ns = STRETCH_NS.max(turn_ns) + options.warmup_ns;
        let limit_ns = 60 * SECOND_NS + 100 * (options.repetitions as u64 + 3) * stretch_ns;
        let finish = move |_: &End<'_>| findings(&options, &times.borrow());
        Ok(Prepared { limit_ns: Some(limit_ns), finish: Box::new(finish) })
    }
}

/// Measures the times of stretches of turns, after finding the number of turns in a stretch.
struct Stretches {
    turns: u64,
    left: u64,
    start_ns: u64,
    warm_at_ns: u64,
    state: Timing,
    repetitions: usize,
    per_turn: Vec<f64>,
}

#[derive(PartialEq)]
enum Timing {
    WarmUp,
    Size,
    Measure,
}

impl Stretches {
    fn new(options: &Options, now_ns: u64) -> Stretches {
        Stretches {
            turns: 1,
            left: 1,
            start_ns: now_ns,
            warm_at_ns: now_ns + options.warmup_ns,
            state: Timing::WarmUp,
            repetitions: options.repetitions,
            per_turn: vec![],
        }
    }

    /// Ends a turn. Returns whether it was the last one.
    fn turn(&mut self, now_ns: u64) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        let took_ns = now_ns - self.start_ns;
        match self.state {
            Timing::WarmUp if now_ns >= self.warm_at_ns => self.state = Timing::Size,
            Timing::Size if took_ns >= STRETCH_NS => self.state = Timing::Measure,
            Timing::Size => self.turns *= 2,
            Timing::Measure => self.per_turn.push(took_ns as f64 / self.turns as f64),
            Timing::WarmUp => {}
        }
        self.start_ns = now_ns;
        self.left = self.turns;
        self.per_turn.len() == self.repetitions
    }
}

/// Returns the first process. It measures the overhead, has the rings created, and waits for them.
fn overhead(options: Options, times: Rc<RefCell<Times>>) -> impl Program + 'static {
    let mut pipes: Vec<ChannelId> = vec![];
    let mut stretches = None;
    let (mut pipe, mut step, mut made, mut over) = (0, 0, 0, 0);
    move |os: &mut Context<'_>| {
        loop {
            if pipes.is_empty() {
                pipes = (0..options.processes).map(|_| os.objects().pipe()).collect();
            }
            if times.borrow().overhead.is_empty() {
                step += 1;
                match step {
                    1 => return Step::Write(pipes[pipe], TOKEN_BYTES),
                    2 => return Step::Read(pipes[pipe], TOKEN_BYTES),
                    3 => return Step::Run(options.sum_ns),
                    _ => {}
                }
                (step, pipe) = (0, (pipe + 1) % pipes.len());
                let now_ns = os.now_ns();
                let stretches = stretches.get_or_insert_with(|| Stretches::new(&options, now_ns));
                if stretches.turn(now_ns) {
                    times.borrow_mut().overhead = std::mem::take(&mut stretches.per_turn);
                }
            } else if made < options.parallelism {
                made += 1;
                let ring = options.spawn(ring(options, made - 1, times.clone()), made - 1, 0);
                return Step::Fork(Box::new(ring));
            } else if over < options.parallelism {
                over += 1;
                return Step::WaitChild;
            } else {
                // The processes that wait for the token are killed.
                return Step::Finish;
            }
        }
    }
}

/// Returns the first process of a ring. It creates the others, and sends the token round.
fn ring(options: Options, number: u64, times: Rc<RefCell<Times>>) -> impl Program + 'static {
    let mut pipes: Vec<ChannelId> = vec![];
    let mut stretches = None;
    let (mut made, mut step) = (1, 0);
    move |os: &mut Context<'_>| {
        if pipes.is_empty() {
            pipes = (0..options.processes).map(|_| os.objects().pipe()).collect();
        }
        if made < options.processes {
            let member = member(options, pipes[made as usize - 1], pipes[made as usize]);
            made += 1;
            return Step::Fork(Box::new(options.spawn(member, number, made - 1)));
        }
        if step == 3 {
            // The first turn only shows that all processes are ready.
            let now_ns = os.now_ns();
            match &mut stretches {
                None => stretches = Some(Stretches::new(&options, now_ns)),
                Some(stretches) => {
                    if stretches.turn(now_ns) {
                        times.borrow_mut().ring.append(&mut stretches.per_turn);
                        return Step::Exit;
                    }
                }
            }
            step = 0;
        }
        step += 1;
        match step {
            1 => Step::Write(pipes[0], TOKEN_BYTES),
            2 => Step::Read(pipes[options.processes as usize - 1], TOKEN_BYTES),
            _ => Step::Run(options.sum_ns),
        }
    }
}

/// Returns another process of a ring.
fn member(options: Options, from: ChannelId, to: ChannelId) -> impl Program + 'static {
    let mut step = 0;
    move |_: &mut Context<'_>| {
        step = step % 3 + 1;
        match step {
            1 => Step::Read(from, TOKEN_BYTES),
            2 => Step::Run(options.sum_ns),
            _ => Step::Write(to, TOKEN_BYTES),
        }
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

fn findings(options: &Options, times: &Times) -> Findings {
    let expected = options.repetitions * options.parallelism as usize;
    let (Some(overhead_ns), Some(turn_ns), true) =
        (median(&times.overhead), median(&times.ring), times.ring.len() == expected)
    else {
        return Findings {
            printed: "cut off before all rings were timed\n".into(),
            figures: vec![],
            ..Findings::default()
        };
    };
    let overhead_us = overhead_ns / 1e3;
    let switch_us = (turn_ns / options.processes as f64 - overhead_ns) / 1e3;
    let mut printed = format!("\n\"size={}k ovr={overhead_us:.2}\n", options.size_kib);
    if switch_us > 0.0 {
        printed += &format!("{} {switch_us:.2}\n", options.processes);
    }
    let figures = vec![
        Figure::lower("context switch", "us", switch_us),
        Figure::plain("overhead", "us", overhead_us),
        Figure::lower("turn", "us", turn_ns / 1e3),
    ];
    Findings { printed, figures, ..Findings::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_stretch_has_as_many_turns_as_first_take_50_ms() {
        let options = Options {
            processes: 2,
            size_kib: 0,
            parallelism: 1,
            warmup_ns: 0,
            repetitions: 3,
            placement: Placement::Kernel,
            cpus: 1,
            sum_ns: 0,
        };
        let mut stretches = Stretches::new(&options, 0);
        // Turns of 7 ms: 8 take 56.
        let mut turns = 0;
        while {
            turns += 1;
            !stretches.turn(turns * 7_000_000)
        } {}
        assert_eq!(stretches.per_turn, [7e6; 3]);
        assert_eq!(
            turns,
            1 + 1 + 2 + 4 + 8 + 3 * 8,
            "one turn to warm up, those to find the number, and three stretches"
        );
    }
}
