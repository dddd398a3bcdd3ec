//! compile: `make -jN` of a large C program, as the process tree that a recursive make forks.
//!
//! The top make parses, and runs one make after another in the directories. Each of these keeps up
//! to N shells busy. A shell forks a compiler driver, which forks the compiler and the assembler.
//! Each parent waits for its child. After each directory comes an archive, and at the end come the
//! link and the compression. The shape is that of a kernel build. The times are our own.

use crate::benchmark::{Benchmark, Conditions, Figure, Findings, Prepared, Table};
use crate::parameter::{BadValue, Parameter, Values};
use crate::programs::{self, SharedHistogram};
use schedlab_workload::programs::{ChannelId, Context, DiskId, Kernel, Program, Spawn, Step};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct Compile;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("jobs", (1, 10_000), "1", "objects that are made at the same time")
        .short('j')
        .positional(),
    Parameter::whole("objects", (1, 100_000), "400", "files to compile"),
    Parameter::whole("directories", (1, 10_000), "20", "directories that they are in"),
    Parameter::real(
        "compiler",
        (0.1, 100_000.0),
        "350",
        "CPU time of the compiler for a file, ms: the mean of lognormal draws",
    ),
    Parameter::real("sigma", (0.0, 3.0), "0.6", "sigma of these draws"),
    Parameter::flag(
        "pipe",
        "the assembler reads from the compiler as it writes (the driver's -pipe)",
    ),
    Parameter::flag(
        "editor",
        "a concurrent task that sleeps for 100 ms on average and then computes 3 ms",
    ),
];

const MS: u64 = 1_000_000;
const PARSE_TOP_NS: u64 = 300 * MS;
const PARSE_NS: u64 = 80 * MS;
const SHELL_NS: u64 = 1_500_000;
const DRIVER_NS: u64 = 2 * MS;
const ASSEMBLER_NS: u64 = 25 * MS;
/// CPU time of make for each object, ns.
const REAP_NS: u64 = 2 * MS;
const ARCHIVE_NS: u64 = 40 * MS;
const LINK_NS: u64 = 1_500 * MS;
const COMPRESS_NS: u64 = 1_000 * MS;
/// One file in this number is not in memory. The disk then takes the following mean time, ms.
const DISK_ONE_IN: u64 = 10;
const DISK_MEAN_MS: f64 = 6.0;
/// With `-pipe`, the assembler receives its input in this number of pieces, and each has the
/// following size in bytes.
const PIECES: u64 = 16;
const PIECE_BYTES: u32 = 4096;

/// State that all processes of the tree share.
struct Tree {
    jobs: u64,
    objects: u64,
    directories: u64,
    /// Distribution of the compiler's CPU time: mu for ms, and sigma.
    mu: f64,
    sigma: f64,
    pipe: bool,
    disk: DiskId,
    end_ns: Cell<Option<u64>>,
    /// Time at which each directory was finished, ns.
    directory_ends: RefCell<Vec<u64>>,
}

/// Random draws for an object.
#[derive(Clone, Copy)]
struct Object {
    compiler_ns: u64,
    /// Time that the disk takes for its file, ns. 0: the file is in memory.
    disk_ns: u64,
}

impl Benchmark for Compile {
    fn name(&self) -> &'static str {
        "compile"
    }

    fn about(&self) -> &'static str {
        "make -jN of a large program as a tree of processes: the time it takes"
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
        let (objects, directories) = (values.whole("objects"), values.whole("directories"));
        if directories > objects {
            return Err(BadValue::new(
                "directories",
                format!("more than the {objects} objects; give fewer"),
            ));
        }
        let sigma = values.real("sigma");
        let tree = Rc::new(Tree {
            jobs: values.whole("jobs"),
            objects,
            directories,
            mu: libm::log(values.real("compiler")) - sigma * sigma / 2.0,
            sigma,
            pipe: values.flag("pipe"),
            disk: os.objects().disk(),
            end_ns: Cell::new(None),
            directory_ends: RefCell::new(Vec::with_capacity(directories as usize)),
        });
        let responses = SharedHistogram::default();
        os.start(0, Spawn::new("make", top(tree.clone())));
        if values.flag("editor") {
            let editor = programs::editor(100 * MS, 3 * MS, responses.clone());
            os.start(0, Spawn::new("editor", editor));
        }
        // 30 times as long as one CPU needs.
        let work_ms = objects as f64 * (values.real("compiler") + 50.0)
            + directories as f64 * 200.0
            + 3_000.0;
        let limit_ns = Some((work_ms * 30e6) as u64);
        Ok(Prepared { limit_ns, finish: Box::new(move |_| findings(&tree, &responses)) })
    }
}

fn findings(tree: &Tree, responses: &SharedHistogram) -> Findings {
    let mut table = Table::new("directories", &["directory", "done s"]);
    for (number, end_ns) in tree.directory_ends.borrow().iter().enumerate() {
        table.push((number + 1).to_string(), vec![*end_ns as f64 / 1e9]);
    }
    let Some(end_ns) = tree.end_ns.get() else {
        return Findings {
            printed: "cut off before everything was made\n".into(),
            tables: vec![table],
            ..Findings::default()
        };
    };
    let time_s = end_ns as f64 / 1e9;
    let mut figures = vec![Figure::lower("time", "s", time_s)];
    figures.extend(programs::summary(responses, "editor response"));
    let printed =
        format!("make -j{}\nreal\t{}m{:.3}s\n", tree.jobs, end_ns / 60_000_000_000, time_s % 60.0);
    Findings { printed, figures, tables: vec![table] }
}

/// Computes for `before_ns`. Then forks a child and waits for it, as long as `next` returns one.
fn forks_one_by_one(
    before_ns: u64,
    mut next: impl FnMut(&mut Context<'_>) -> Option<Spawn> + 'static,
    mut over: impl FnMut(&mut Context<'_>) -> Step + 'static,
) -> impl Program + 'static {
    let mut begun = false;
    let mut wait = false;
    move |os: &mut Context<'_>| {
        if !std::mem::replace(&mut begun, true) {
            return Step::Run(before_ns);
        }
        if std::mem::replace(&mut wait, false) {
            return Step::WaitChild;
        }
        match next(os) {
            Some(child) => {
                wait = true;
                Step::Fork(Box::new(child))
            }
            None => over(os),
        }
    }
}

/// Executes another program, which computes for `work_ns`.
fn executed(work_ns: u64) -> impl Program + 'static {
    let mut steps = [Step::Exit, Step::Run(work_ns), Step::Exec].into_iter().rev();
    move |_: &mut Context<'_>| steps.next().unwrap_or(Step::Exit)
}

/// Returns the `make` of the top directory.
fn top(tree: Rc<Tree>) -> impl Program + 'static {
    let mut number = 0;
    let ended = tree.clone();
    let next = move |os: &mut Context<'_>| {
        let now = number;
        number += 1;
        if now > 0 && now <= tree.directories {
            tree.directory_ends.borrow_mut().push(os.now_ns());
        }
        // Objects are distributed over the directories as evenly as possible.
        let objects =
            (now + 1) * tree.objects / tree.directories - now * tree.objects / tree.directories;
        match now {
            _ if now < tree.directories => {
                Some(Spawn::new("make", directory(tree.clone(), objects)))
            }
            _ if now == tree.directories => Some(Spawn::new("ld", executed(LINK_NS))),
            _ if now == tree.directories + 1 => Some(Spawn::new("gzip", executed(COMPRESS_NS))),
            _ => None,
        }
    };
    forks_one_by_one(PARSE_TOP_NS, next, move |os| {
        ended.end_ns.set(Some(os.now_ns()));
        Step::Finish
    })
}

/// Next step of `make` in a directory.
enum Stage {
    Exec,
    Parse,
    /// Starts to compile an object, or waits for one.
    Make,
    Reap,
    Archive,
    WaitArchive,
    Over,
}

/// Returns the `make` of a directory with `objects` objects.
fn directory(tree: Rc<Tree>, objects: u64) -> impl Program + 'static {
    let mut at = Stage::Exec;
    let (mut started, mut running) = (0, 0);
    move |os: &mut Context<'_>| {
        loop {
            match at {
                Stage::Exec => {
                    at = Stage::Parse;
                    return Step::Exec;
                }
                Stage::Parse => {
                    at = Stage::Make;
                    return Step::Run(PARSE_NS);
                }
                Stage::Make if started < objects && running < tree.jobs => {
                    started += 1;
                    running += 1;
                    // `make` draws the times, so the order in which its children run is irrelevant.
                    let object = tree.draw(os);
                    return Step::Fork(Box::new(Spawn::new("sh", shell(tree.clone(), object))));
                }
                Stage::Make if running > 0 => {
                    running -= 1;
                    at = Stage::Reap;
                    return Step::WaitChild;
                }
                Stage::Make => at = Stage::Archive,
                Stage::Reap => {
                    at = Stage::Make;
                    return Step::Run(REAP_NS);
                }
                Stage::Archive => {
                    at = Stage::WaitArchive;
                    return Step::Fork(Box::new(Spawn::new("ar", executed(ARCHIVE_NS))));
                }
                Stage::WaitArchive => {
                    at = Stage::Over;
                    return Step::WaitChild;
                }
                Stage::Over => return Step::Exit,
            }
        }
    }
}

impl Tree {
    fn draw(&self, os: &mut Context<'_>) -> Object {
        let random = os.random();
        let compiler_ns = (random.lognormal(self.mu, self.sigma) * 1e6) as u64;
        let cold = random.below(DISK_ONE_IN) == 0;
        let disk_ns = (random.exponential(DISK_MEAN_MS) * 1e6) as u64;
        Object { compiler_ns, disk_ns: if cold { disk_ns } else { 0 } }
    }
}

fn shell(tree: Rc<Tree>, object: Object) -> impl Program + 'static {
    let mut child = Some(Spawn::new("cc", driver(tree, object)));
    forks_one_by_one(SHELL_NS, move |_| child.take(), |_| Step::Exit)
}

/// Returns the compiler driver.
fn driver(tree: Rc<Tree>, object: Object) -> impl Program + 'static {
    let mut steps = 0;
    let mut channel = None;
    move |os: &mut Context<'_>| {
        let number = steps;
        steps += 1;
        let compiler = |channel| Box::new(Spawn::new("cc1", compiler(tree.disk, object, channel)));
        let assembler = |channel| Box::new(Spawn::new("as", assembler(channel)));
        match (number, tree.pipe) {
            (0, _) => Step::Exec,
            (1, _) => Step::Run(DRIVER_NS),
            (2, false) => Step::Fork(compiler(None)),
            (4, false) => Step::Fork(assembler(None)),
            (2, true) => {
                channel = Some(os.objects().pipe());
                Step::Fork(compiler(channel))
            }
            (3, true) => Step::Fork(assembler(channel)),
            (6.., _) => Step::Exit,
            _ => Step::WaitChild,
        }
    }
}

/// Returns the compiler proper. If it has a channel, it writes to the assembler as it proceeds.
fn compiler(disk: DiskId, object: Object, channel: Option<ChannelId>) -> impl Program + 'static {
    let mut steps = 0;
    move |_: &mut Context<'_>| {
        let number = steps;
        steps += 1;
        match (number, channel) {
            (0, _) => Step::Exec,
            (1, _) if object.disk_ns > 0 => Step::Disk(disk, object.disk_ns),
            (1, _) => Step::Run(0),
            (2, None) => Step::Run(object.compiler_ns),
            (_, Some(channel)) if number - 2 < 2 * PIECES => match number % 2 {
                0 => Step::Run(object.compiler_ns / PIECES),
                _ => Step::Write(channel, PIECE_BYTES),
            },
            _ => Step::Exit,
        }
    }
}

fn assembler(channel: Option<ChannelId>) -> impl Program + 'static {
    let mut steps = 0;
    move |_: &mut Context<'_>| {
        let number = steps;
        steps += 1;
        match (number, channel) {
            (0, _) => Step::Exec,
            (1, None) => Step::Run(ASSEMBLER_NS),
            (_, Some(channel)) if number - 1 < 2 * PIECES => match number % 2 {
                1 => Step::Read(channel, PIECE_BYTES),
                _ => Step::Run(ASSEMBLER_NS / PIECES),
            },
            _ => Step::Exit,
        }
    }
}
