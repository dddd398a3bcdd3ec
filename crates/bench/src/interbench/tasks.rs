//! Programs of interbench: the measured tasks, and the concurrent loads.
//!
//! A process of interbench forks its threads, reports that it is ready, and waits for them. The
//! threads wait to be released, and check between steps whether to stop.

use super::step::{Counts, Deadlines, Demand, StepStart};
use crate::hackbench;
use schedlab_core::{CpuSet, SchedAttr};
use schedlab_workload::programs::{
    CHUNK_KIB, CacheId, Context, LatchId, Objects, Program, SemaphoreId, SemaphoreKind, Spawn, Step,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// CPU time after which Burn threads check whether to stop, ns.
const BURN_PIECE_NS: u64 = 1_000_000;
/// Length of the pieces in which the game is rendered, ns.
const GAME_PIECE_NS: u64 = 100_000_000;
/// Maximum memory that Memload uses, MiB.
const MEMLOAD_MAX_MIB: u64 = 2930;
/// Maximum size of the file of Write and Read, KiB.
const FILE_MAX_KIB: u64 = 1_000_000;
/// Time of the disk for a chunk, ns.
const CHUNK_NS: u64 = 2_000_000;
/// Number of hackbench's groups as a load.
const HACK_GROUPS: u64 = 50;

/// Objects that a process and its controller share.
#[derive(Clone)]
pub(super) struct Controls {
    /// Releases its threads.
    pub start: LatchId,
    /// Posted once by each process when its threads exist.
    pub ready: SemaphoreId,
    /// Set when they must stop.
    pub stop: Rc<Cell<bool>>,
}

/// Costs and environment of the programs.
#[derive(Clone, Copy)]
pub(super) struct Environment {
    /// Number of threads of Burn and of Ring.
    pub threads: u64,
    /// Memory, MiB.
    pub ram_mib: u64,
    /// Swap space, MiB.
    pub swap_mib: u64,
    /// CPU time for passing Ring's token on, ns.
    pub hop_ns: u64,
    /// CPU time for touching 1 MiB, ns.
    pub touch_mib_ns: u64,
    /// CPU time for copying a chunk of a file from the page cache, ns.
    pub chunk_cpu_ns: u64,
}

/// Work that continues until the controller stops the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// Periodic work with deadlines.
    Periodic(Demand),
    /// As much as possible, in pieces of 100 ms whose duration is measured.
    Gaming,
    Burn,
    Write,
    Read,
    Ring,
    Compile,
    Memload,
    Hack,
}

/// Scheduling of the two threads of a periodic task.
#[derive(Clone)]
pub(super) struct TaskScheduling {
    /// Attributes of the emulation thread, and of all threads of other work.
    pub attr: SchedAttr,
    /// Affinity.
    pub allowed: CpuSet,
    /// Attributes of the timekeeping thread. It may run anywhere.
    pub timekeeper: SchedAttr,
}

/// Returns the process that does `work`. Its counts are in `counts` when it has ended.
pub(super) fn process(
    name: &'static str,
    work: Work,
    manner: &TaskScheduling,
    strings: &Controls,
    terms: Environment,
    counts: Rc<RefCell<Counts>>,
) -> Spawn {
    let (work_manner, work_strings) = (manner.clone(), strings.clone());
    let mut threads: Option<Vec<Spawn>> = None;
    let mut left = 0;
    let mut reported = false;
    let program = move |os: &mut Context<'_>| {
        let threads = threads.get_or_insert_with(|| {
            let mut made =
                threads_of(name, work, &work_manner, &work_strings, terms, &counts, os.objects());
            made.reverse();
            made
        });
        if let Some(thread) = threads.pop() {
            left += 1;
            return Step::Fork(Box::new(thread.thread(work != Work::Hack)));
        }
        if !std::mem::replace(&mut reported, true) {
            return Step::Post(work_strings.ready);
        }
        if left == 0 {
            return Step::Exit;
        }
        left -= 1;
        Step::WaitChild
    };
    Spawn::new(name, program).attr(manner.attr).on(manner.allowed.clone())
}

fn threads_of(
    name: &'static str,
    work: Work,
    manner: &TaskScheduling,
    strings: &Controls,
    terms: Environment,
    counts: &Rc<RefCell<Counts>>,
    objects: &mut Objects,
) -> Vec<Spawn> {
    let burn = |_| Spawn::new("burn", burn(strings.clone()));
    match work {
        Work::Periodic(demand) => {
            let keeper = Rc::new(Keeper::new(objects));
            let timekeeper = Spawn::new("timekeeper", timekeeper(keeper.clone()));
            vec![
                timekeeper.attr(manner.timekeeper).on(CpuSet::All),
                Spawn::new(name, Periodic::new(demand, strings.clone(), keeper, counts.clone())),
            ]
        }
        Work::Gaming => vec![Spawn::new(name, gaming(strings.clone(), counts.clone()))],
        Work::Burn => (0..terms.threads).map(burn).collect(),
        Work::Write => vec![Spawn::new("write", write(strings.clone(), files(terms, objects)))],
        Work::Read => vec![Spawn::new("read", read(strings.clone(), terms, files(terms, objects)))],
        Work::Compile => {
            let cache = files(terms, objects);
            let mut all: Vec<Spawn> = (0..terms.threads).map(burn).collect();
            all.push(Spawn::new("write", write(strings.clone(), cache)));
            all.push(Spawn::new("read", read(strings.clone(), terms, cache)));
            all
        }
        Work::Ring => ring(strings, terms, objects),
        Work::Memload => vec![Spawn::new("memload", memload(strings.clone(), terms, objects))],
        Work::Hack => vec![Spawn::new("hack", hack(strings.clone()))],
    }
}

/// State that an emulation thread and its timekeeper share.
struct Keeper {
    request: SemaphoreId,
    done: SemaphoreId,
    asked_us: Cell<u64>,
    over_us: Cell<u64>,
    quit: Cell<bool>,
}

impl Keeper {
    fn new(objects: &mut Objects) -> Keeper {
        Keeper {
            request: objects.semaphore(SemaphoreKind::Syscall, 0),
            done: objects.semaphore(SemaphoreKind::Syscall, 0),
            asked_us: Cell::new(0),
            over_us: Cell::new(0),
            quit: Cell::new(false),
        }
    }
}

/// Sleeps for the emulation thread and records the excess of each sleep.
fn timekeeper(keeper: Rc<Keeper>) -> impl Program + 'static {
    enum Stage {
        Wait,
        Asked,
        Slept { since_us: u64 },
    }
    let mut at = Stage::Wait;
    move |os: &mut Context<'_>| {
        let now_us = os.now_ns() / 1_000;
        match at {
            Stage::Wait => {
                at = Stage::Asked;
                Step::Wait(keeper.request)
            }
            Stage::Asked if keeper.quit.get() => Step::Exit,
            Stage::Asked => {
                at = Stage::Slept { since_us: now_us };
                Step::Sleep(keeper.asked_us.get() * 1_000)
            }
            Stage::Slept { since_us } => {
                keeper.over_us.set((now_us - since_us).saturating_sub(keeper.asked_us.get()));
                at = Stage::Wait;
                Step::Post(keeper.done)
            }
        }
    }
}

/// Emulation thread of periodic work.
struct Periodic {
    demand: Demand,
    strings: Controls,
    keeper: Rc<Keeper>,
    counts: Rc<RefCell<Counts>>,
    deadlines: Deadlines,
    number: u64,
    at: Stage,
}

/// Next step of an emulation thread.
#[derive(Clone, Copy)]
enum Stage {
    Wait,
    First,
    Begin,
    Worked,
    Ask(u64),
    Await,
    Slept,
    Leave,
}

impl Periodic {
    fn new(
        demand: Demand,
        strings: Controls,
        keeper: Rc<Keeper>,
        counts: Rc<RefCell<Counts>>,
    ) -> Periodic {
        Periodic {
            demand,
            strings,
            keeper,
            counts,
            deadlines: Deadlines::default(),
            number: 0,
            at: Stage::Wait,
        }
    }

    /// Ends a step, after which the thread sleeps for `sleep_us`.
    fn step_over(&mut self, later_us: u64, sleep_us: u64) {
        self.deadlines.allow(later_us);
        self.number += 1;
        self.at = if sleep_us > 0 { Stage::Ask(sleep_us) } else { Stage::Begin };
    }
}

impl Program for Periodic {
    fn next(&mut self, os: &mut Context<'_>) -> Step {
        let now_us = os.now_ns() / 1_000;
        loop {
            let (run_us, interval_us, later_us) = self.demand.of(self.number);
            match self.at {
                Stage::Wait => {
                    self.at = Stage::First;
                    return Step::Pass(self.strings.start);
                }
                Stage::First => {
                    self.deadlines = Deadlines::from(now_us);
                    self.at = Stage::Begin;
                }
                Stage::Begin if self.strings.stop.get() => {
                    self.counts.replace(std::mem::take(&mut self.deadlines.counts));
                    self.keeper.quit.set(true);
                    self.at = Stage::Leave;
                    return Step::Post(self.keeper.request);
                }
                Stage::Begin => match self.deadlines.begin(now_us, interval_us) {
                    StepStart::Work => {
                        self.at = Stage::Worked;
                        return Step::Run(run_us * 1_000);
                    }
                    StepStart::Sleep(us) => self.step_over(later_us, us),
                },
                Stage::Worked => {
                    let sleep_us = self.deadlines.end(now_us, interval_us);
                    self.step_over(later_us, sleep_us);
                }
                Stage::Ask(us) => {
                    self.keeper.asked_us.set(us);
                    self.at = Stage::Await;
                    return Step::Post(self.keeper.request);
                }
                Stage::Await => {
                    self.at = Stage::Slept;
                    return Step::Wait(self.keeper.done);
                }
                Stage::Slept => {
                    self.deadlines.over_us = self.keeper.over_us.get();
                    self.at = Stage::Begin;
                }
                Stage::Leave => return Step::Exit,
            }
        }
    }
}

/// Returns a thread that waits to be released, and then takes `step` after `step` until it must
/// stop.
fn until_stopped(
    strings: Controls,
    mut step: impl FnMut(&mut Context<'_>) -> Step + 'static,
) -> impl Program + 'static {
    let mut waited = false;
    move |os: &mut Context<'_>| {
        if !std::mem::replace(&mut waited, true) {
            Step::Pass(strings.start)
        } else if strings.stop.get() {
            Step::Exit
        } else {
            step(os)
        }
    }
}

fn gaming(strings: Controls, counts: Rc<RefCell<Counts>>) -> impl Program + 'static {
    let mut begun_us = None;
    let mut waited = false;
    move |os: &mut Context<'_>| {
        if !std::mem::replace(&mut waited, true) {
            return Step::Pass(strings.start);
        }
        let now_us = os.now_ns() / 1_000;
        if let Some(begun_us) = begun_us.replace(now_us) {
            let late_us = (now_us - begun_us) - GAME_PIECE_NS / 1_000;
            let mut counts = counts.borrow_mut();
            counts.latency.note(late_us);
            counts.done += GAME_PIECE_NS / 1_000;
            counts.missed_work += late_us;
        }
        if strings.stop.get() { Step::Exit } else { Step::Run(GAME_PIECE_NS) }
    }
}

fn burn(strings: Controls) -> impl Program + 'static {
    until_stopped(strings, |_| Step::Run(BURN_PIECE_NS))
}

/// Returns the page cache of Write and Read. A fifth of the memory may be dirty.
fn files(terms: Environment, objects: &mut Objects) -> CacheId {
    objects.page_cache(terms.ram_mib * 1024 / 5, CHUNK_NS)
}

fn write(strings: Controls, cache: CacheId) -> impl Program + 'static {
    until_stopped(strings, move |_| Step::FileWrite(cache))
}

/// Reads a file from end to end, repeatedly. A file that fits into four fifths of the memory comes
/// from the disk only once. Of a larger file, the next part is always the one that was dropped
/// longest ago.
fn read(strings: Controls, terms: Environment, cache: CacheId) -> impl Program + 'static {
    let file_kib = (terms.ram_mib * 1024).min(FILE_MAX_KIB);
    let stays = file_kib <= terms.ram_mib * 1024 / 5 * 4;
    let mut left = file_kib.div_ceil(CHUNK_KIB);
    until_stopped(strings, move |_| {
        if left == 0 {
            return Step::Run(terms.chunk_cpu_ns);
        }
        if stays {
            left -= 1;
        }
        Step::FileRead(cache)
    })
}

/// Passes a token round: each thread posts the next one's semaphore and waits for its own.
fn ring(strings: &Controls, terms: Environment, objects: &mut Objects) -> Vec<Spawn> {
    let tokens: Rc<[SemaphoreId]> =
        (0..terms.threads).map(|_| objects.semaphore(SemaphoreKind::Syscall, 0)).collect();
    let thread = |number: usize| {
        let (strings, tokens) = (strings.clone(), tokens.clone());
        // The first thread has the token at the start.
        let mut at = if number == 0 { 1 } else { 0 };
        let mut waited = false;
        let mut over = false;
        let program = move |_: &mut Context<'_>| {
            if !std::mem::replace(&mut waited, true) {
                return Step::Pass(strings.start);
            }
            let now = at;
            at = (at + 1) % 3;
            match now {
                0 if over => Step::Exit,
                0 => Step::Wait(tokens[number]),
                1 => Step::Run(terms.hop_ns),
                _ => {
                    // It passes the token on once more, so that all others see that it is over.
                    over = strings.stop.get();
                    Step::Post(tokens[(number + 1) % tokens.len()])
                }
            }
        };
        Spawn::new("ring", program)
    };
    (0..tokens.len()).map(thread).collect()
}

/// Fills a tenth more than the memory in blocks of 1 MiB, and copies each block to the block half
/// the total size away.
///
/// The least recently used block is moved to the swap space. As all blocks are used in turn, a
/// block is never in memory when it is needed, unless all fit: it comes from the disk, and another
/// one is moved there.
fn memload(strings: Controls, terms: Environment, objects: &mut Objects) -> impl Program + 'static {
    const CHUNKS: u64 = 1024 / CHUNK_KIB;
    let blocks = (terms.ram_mib * 11 / 10).min(MEMLOAD_MAX_MIB).min(terms.ram_mib + terms.swap_mib);
    let swaps = blocks > terms.ram_mib;
    let swap = objects.page_cache(1024, CHUNK_NS);
    let (mut block, mut part) = (0, 0);
    until_stopped(strings, move |_| {
        // The first round fills, the second copies: a block in, a block out, for the source and for
        // the target.
        let copies = block >= blocks;
        let (ins, outs) = match swaps {
            true if copies => (2 * CHUNKS, 2 * CHUNKS),
            true if block >= terms.ram_mib => (0, CHUNKS),
            _ => (0, 0),
        };
        let now = part;
        part += 1;
        if now < outs {
            return Step::FileWrite(swap);
        }
        if now < ins + outs {
            return Step::FileRead(swap);
        }
        part = 0;
        block = (block + 1) % (2 * blocks);
        Step::Run(terms.touch_mib_ns * if copies { 2 } else { 1 })
    })
}

/// Runs hackbench repeatedly. It is not interrupted: it stops after the current one.
fn hack(strings: Controls) -> impl Program + 'static {
    let mut wait = false;
    let mut waited = false;
    move |os: &mut Context<'_>| {
        if !std::mem::replace(&mut waited, true) {
            return Step::Pass(strings.start);
        }
        if std::mem::replace(&mut wait, false) {
            return Step::WaitChild;
        }
        if strings.stop.get() {
            return Step::Exit;
        }
        wait = true;
        Step::Fork(Box::new(Spawn::new("hackbench", hackbench::once(os.objects(), HACK_GROUPS))))
    }
}
