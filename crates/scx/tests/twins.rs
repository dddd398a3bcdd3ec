//! Compares the policies of `examples/scx` with the schedulers whose twins they are, on one CPU,
//! slice by slice, in thousands of worlds of hogs and sleepers like the worlds of the golden
//! schedules.

mod support;

use schedlab_core::{
    BlockReason, BuildConfig, CpuId, CpuSet, Event, Observer, SchedAttr, Scheduler, TaskAttr,
    TaskId,
};
use schedlab_machine::{Config, Machine, NewTask, Op, SplitMix64, Workload};
use schedlab_sched::registry;
use schedlab_scx::log::{Entry, Log, Witness};
use schedlab_scx::twins::collector::Collector;
use schedlab_scx::twins::decision::from_ring;
use schedlab_scx::twins::log as decision_log;
use schedlab_scx::twins::report::Report;
use schedlab_scx::twins::retrace::{self, retrace};
use schedlab_scx::{Object, Options, ScxScheduler, Setting, Target};
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use support::{MS, link};

/// Behaviour of a task.
#[derive(Clone, Debug)]
struct Life {
    nice: i32,
    start_ns: u64,
    /// Alternate runs and sleeps, ns, repeated. A single one: a hog.
    spans: Vec<u64>,
    /// Number of spans after which it ends.
    ends: u64,
}

#[derive(Clone, Debug)]
struct World {
    is_round: bool,
    /// Whether tasks also fork, yield, and change their nice values.
    is_lively: bool,
    lives: Vec<Life>,
    steps: Vec<u64>,
    random: SplitMix64,
}

/// Returns a world of 1 to 9 tasks. No run ends in the nanosecond of a tick: the originals charge
/// that tick to the task that has just gone to sleep, while the class calls `tick` only for
/// runnable tasks. In one world of three, sleeps end at round times, together and with ticks.
fn world(seed: u64) -> World {
    let mut random = SplitMix64::new(seed);
    let mut below = |n: u64| random.next_u64() % n;
    let is_round = below(3) == 0;
    let time = |below: &mut dyn FnMut(u64) -> u64, most_us: u64| {
        (1 + below(most_us)) * 1000 + 1 + below(999)
    };
    let tasks = 1 + below(9);
    let lives = (0..tasks).map(|_| {
        let nice = match below(3) {
            0 => 0,
            1 => below(40) as i32 - 20,
            _ => below(10) as i32 - 5,
        };
        let start_ns = if below(2) == 0 { 0 } else { time(&mut below, 500_000) };
        let spans = match below(3) {
            0 => vec![u64::MAX],
            1 => vec![time(&mut below, 4_000), time(&mut below, 40_000)],
            _ => (0..2 * (1 + below(4))).map(|_| time(&mut below, 60_000)).collect(),
        };
        let ends = if below(4) == 0 { 1 + 2 * below(20) } else { u64::MAX };
        Life { nice, start_ns, spans, ends }
    });
    let lives: Vec<Life> = lives.collect();
    let steps = vec![0; lives.len()];
    World { is_round, is_lively: false, steps, lives, random: SplitMix64::new(seed) }
}

impl Workload for World {
    type Error = Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        let attr = |life: &Life, number: u32| TaskAttr {
            sched: SchedAttr::nice(life.nice),
            allowed: CpuSet::All,
            address_space: number,
            ..TaskAttr::default()
        };
        let lives = self.lives.iter().zip(0..);
        lives.map(|(life, n)| NewTask { attr: attr(life, n), start_ns: life.start_ns }).collect()
    }

    fn forked(&mut self, _now_ns: u64, parent: TaskId, child: TaskId) {
        let life = self.lives[parent.index()].clone();
        // The child runs and sleeps, and ends.
        let spans = vec![2_300_007, 5_100_003 + 1000 * u64::from(child.0)];
        assert_eq!(child.index(), self.lives.len());
        self.lives.push(Life { spans, ends: 9, ..life });
        self.steps.push(0);
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        if self.is_lively && self.random.below(8) == 0 {
            match self.random.below(4) {
                0 => return Ok(Op::Yield),
                1 => {
                    let attr = SchedAttr::nice(self.random.below(40) as i32 - 20);
                    return Ok(Op::SetAttr { task, attr });
                }
                _ if self.lives.len() < 40 => {
                    let address_space = self.random.below(2) as u32 * 1000 + task.0;
                    let attr = Box::new(TaskAttr { address_space, ..TaskAttr::default() });
                    return Ok(Op::Fork { attr, inherits: true, delay_ns: 0 });
                }
                _ => (),
            }
        }
        let life = &self.lives[task.index()];
        let step = self.steps[task.index()];
        self.steps[task.index()] += 1;
        let span = life.spans[(step % life.spans.len() as u64) as usize];
        if step >= life.ends {
            return Ok(Op::Exit);
        }
        Ok(match life.spans.len() > 1 && step % 2 == 1 {
            true => {
                let until_ns = match self.is_round {
                    true => (now_ns + span).next_multiple_of(2 * MS),
                    false => now_ns + span,
                };
                Op::Sleep { until_ns, reason: BlockReason::Interruptible }
            }
            false => Op::Run { ns: span },
        })
    }
}

/// The slices of a run.
#[derive(Default)]
struct Slices {
    all: Vec<(u64, Option<TaskId>)>,
}

impl Observer for Slices {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        let Event::Switched { next, .. } = event else { return };
        // A task that is current only at one nanosecond, between two reschedules, has no slice.
        if self.all.last().is_some_and(|last| last.0 == now_ns) {
            self.all.pop();
        }
        if self.all.last().is_none_or(|last| last.1 != next) {
            self.all.push((now_ns, next));
        }
    }
}

const HZ: u32 = 250;
const UNTIL_NS: u64 = 3_000 * MS;

/// Time, CPU, text.
type Printed = Vec<(u64, u32, String)>;

/// Returns the slices of a run, and the scheduler's printed output.
fn slices<S: Scheduler>(
    scheduler: S,
    world: &World,
    printed: impl Fn(&S) -> Printed,
) -> (Vec<(u64, Option<TaskId>)>, Printed) {
    let config = Config::idealised(1, HZ);
    let mut machine = Machine::new(config, scheduler, world.clone(), Slices::default());
    let Ok(_) = machine.run(UNTIL_NS);
    let all = std::mem::take(&mut machine.observer_mut().all);
    (all, printed(machine.scheduler()))
}

fn twin(policy: &str, settings: &[&str], original: &str, seeds: u64) {
    let config = BuildConfig::flat(1, HZ);
    let (_, release) = registry::find(original).expect("the registry has the release");
    let image = Arc::new(link(policy, 1, settings).unwrap_or_else(|error| panic!("{error}")));
    let mut all = 0;
    for seed in 0..seeds {
        let world = world(seed);
        let (expected, _) = slices(
            release.build(&config).expect("the release supports the machine"),
            &world,
            |_| vec![],
        );
        let options = Options { keeps_printed: true, ..Options::default() };
        let object = ScxScheduler::new(Arc::clone(&image), &config, options);
        let (got, printed) = slices(object, &world, |object| object.printed().to_vec());
        all += got.len();
        let same = expected.iter().zip(&got).take_while(|(a, b)| a == b).count();
        if same < expected.len().max(got.len()) {
            let from = same.saturating_sub(4);
            let show = |all: &[(u64, Option<TaskId>)]| -> String {
                let some = all.iter().skip(from).take(8);
                some.map(|(at, task)| format!("  {at} {task:?}\n")).collect()
            };
            let at = got.get(same).map_or(UNTIL_NS, |slice| slice.0);
            let lines: Vec<String> = printed
                .iter()
                .filter(|(time, ..)| time.abs_diff(at) < 60 * MS)
                .map(|(time, _, text)| format!("  {time} {text}\n"))
                .collect();
            panic!(
                "{policy} is not {original} in world {seed}, slice {same}\n{original}:\n{}\
                 {policy}:\n{}{}{world:#?}",
                show(&expected),
                show(&got),
                lines.concat()
            );
        }
    }
    assert!(all as u64 > 20 * seeds, "{all} slices: the worlds must be worlds");
}

#[test]
fn goodness_is_o_n() {
    twin("goodness", &["log_events=1"], "o_n@2.4.19", 300);
}

#[test]
fn goodness_at_the_tail_is_later_o_n() {
    twin("goodness", &["at_tail=1"], "o_n@2.4.22", 300);
}

#[test]
fn bfs_is_bfs() {
    twin("bfs", &["log_events=1"], "bfs@0.404", 300);
}

#[test]
fn o_1_is_o_1() {
    twin("o_1", &["log_events=1"], "o_1@2.6.0", 300);
}

/// Collects the decisions that a policy writes to its ring buffer.
struct Decisions(Collector);

impl Witness for Decisions {
    fn entry(&mut self, entry: &Entry) {
        if entry.name == "ringbuf"
            && let Some(decision) = from_ring(&entry.text)
        {
            self.0.push(decision);
        }
    }
}

/// Returns the log of a policy in a world on `cpus` CPUs.
fn log_of(policy: &str, cpus: u32, settings: &[&str], world: World) -> decision_log::Log {
    let config = BuildConfig::flat(cpus, HZ);
    let image = Arc::new(link(policy, cpus, settings).unwrap_or_else(|error| panic!("{error}")));
    let mut object = ScxScheduler::new(image, &config, Options::default());
    let settings = settings.iter().map(|setting| setting.to_string()).collect();
    let collector = Collector::new(policy, "the laboratory", settings);
    let witness = Arc::new(Mutex::new(Decisions(collector)));
    object.log_to(Log::new(Arc::clone(&witness) as Arc<Mutex<dyn Witness>>));
    let mut machine = Machine::new(Config::idealised(cpus, HZ), object, world, Slices::default());
    let Ok(_) = machine.run(UNTIL_NS);
    let text =
        witness.lock().expect("no thread panicked").0.take(true).expect("the log is complete");
    let log = decision_log::Log::read("log", &text).expect("the log is valid");
    assert_eq!((log.to_string(), log.lost()), (text, 0), "what is written is read");
    log
}

/// Replays a log through the original.
fn through(original: &str, log: &decision_log::Log) -> Report {
    let (_, release) = registry::find(original).expect("the registry has the release");
    let config = BuildConfig::flat(log.header.cpus, log.header.hz);
    retrace(
        log,
        release.build(&config).expect("the release supports the machine"),
        retrace::Options::default(),
    )
}

/// Checks that the originals make all decisions of the twins' logs: hogs and sleepers, then also
/// tasks that fork, yield and change their nice values.
fn retraced(policy: &str, settings: &[&str], original: &str) {
    let (mut picks, mut asks) = (0, 0);
    for seed in 0..80 {
        let world = World { is_lively: seed % 2 == 1, ..world(seed) };
        let log = log_of(policy, 1, settings, world.clone());
        let report = through(original, &log);
        assert!(
            report.is_same() && report.notes.is_empty(),
            "world {seed}: {}\n{world:#?}",
            report.text(policy, original)
        );
        picks += report.picks.all;
        asks += report.asks.all;
    }
    assert!(picks > 5_000 && asks > 5_000, "{picks} {asks}: the worlds must be worlds");
}

#[test]
fn o_n_decides_as_the_log_of_goodness_says() {
    retraced("goodness", &["log_decisions=1"], "o_n@2.4.19");
}

#[test]
fn later_o_n_decides_as_the_log_of_goodness_at_the_tail_says() {
    retraced("goodness", &["log_decisions=1", "at_tail=1"], "o_n@2.4.22");
}

#[test]
fn o_1_decides_as_the_log_of_o_1_says() {
    retraced("o_1", &["log_decisions=1"], "o_1@2.6.0");
}

#[test]
fn bfs_decides_as_the_log_of_bfs_says() {
    retraced("bfs", &["log_decisions=1"], "bfs@0.404");
}

/// Returns a compiler for BPF and the tool that strips its objects, if they are installed.
fn compiler() -> Option<(String, String)> {
    let works = |program: &str| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    let suffixes = ["", "-21", "-20", "-19", "-18", "-17"];
    suffixes.into_iter().find_map(|suffix| {
        let (clang, strip) = (format!("clang{suffix}"), format!("llvm-strip{suffix}"));
        (works(&clang) && works(&strip)).then(|| (format!("{clang} --target=bpf"), strip))
    })
}

/// Checks that the stored objects come from the sources next to them: compiled again, they behave
/// the same in some worlds, to the last callback.
#[test]
fn objects_are_those_of_their_sources() {
    let Some((clang, strip)) = compiler() else {
        eprintln!("** SKIPPED: no object was compiled again: there is no clang with llvm-strip");
        return;
    };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scx");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("twins");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    for entry in fs::read_dir(&sources).expect("the directory is readable") {
        let path = entry.expect("the directory is readable").path();
        if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            fs::copy(&path, directory.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
    let script = sources.join("build.sh");
    let output = Command::new("sh")
        .arg(&script)
        .arg(&directory)
        .env("CLANG", clang)
        .env("STRIP", strip)
        .output()
        .expect("sh runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let config = BuildConfig::flat(1, HZ);
    for name in ["vtime", "goodness", "o_1", "bfs"] {
        let path = directory.join(format!("{name}.bpf.o"));
        let anew = fs::read(&path).expect("the compiler wrote the object");
        let settings = [Setting::read("log_events=1").expect("a setting")];
        let target = Target { cpus: 1, hz: HZ };
        let object = Object::read(name, &anew).and_then(|object| object.link(target, &settings));
        let object = Arc::new(object.unwrap_or_else(|error| panic!("{error}")));
        let kept = Arc::new(link(name, 1, &["log_events=1"]).expect("the object links"));
        for seed in 0..5 {
            let printed = |image: &Arc<schedlab_scx::Image>| {
                let options = Options { keeps_printed: true, ..Options::default() };
                let policy = ScxScheduler::new(Arc::clone(image), &config, options);
                slices(policy, &world(seed), |policy| policy.printed().to_vec()).1
            };
            assert_eq!(printed(&object), printed(&kept), "{name}: compile it: {script:?}");
        }
    }
}
