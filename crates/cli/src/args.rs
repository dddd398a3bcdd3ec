//! The command line.

use crate::bench_args::BenchArgs;
use crate::compare_args::CompareArgs;
use crate::explain_args::ExplainArgs;
#[cfg(all(feature = "host", target_os = "linux"))]
use crate::host_args::HostArgs;
use crate::options::{Color, OnOff, RunFormat, cost_setting, micros, setting, time};
use crate::outputs::OutputArgs;
use crate::page::PageArgs;
use crate::perf_args::{AntagonistsArgs, LatencyArgs, MapArgs, TimehistArgs};
use crate::replay_args::ReplayArgs;
use crate::scx::ScxOptions;
use crate::scx_args::ScxArgs;
use crate::sweep_args::{SweepArgs, TuneArgs};
#[cfg(feature = "tui")]
use crate::top_args::TopArgs;
use crate::trace_args::{RecordArgs, TraceArgs};
use clap::{Args, Parser, Subcommand, ValueEnum};
use schedlab_lab::plan::SetValues;
use schedlab_workload::Start;
use std::path::PathBuf;

/// What would this workload have done under that scheduler?
///
/// schedlab runs the process schedulers of the Linux line, each true to its release, on a simulated
/// machine in virtual time.
#[derive(Parser, Debug)]
#[command(name = "schedlab", version, arg_required_else_help = true, after_help = MAIN_EXAMPLES)]
pub struct Cli {
    /// Colour in what is printed [default: auto, on a terminal unless NO_COLOR is set]
    #[arg(long, global = true, value_enum, value_name = "auto|always|never")]
    pub color: Option<Color>,
    #[command(subcommand)]
    pub command: Command,
}

const MAIN_EXAMPLES: &str = "\
Examples:
  schedlab run examples/desktop.json               one workload under several schedulers, side by side
  schedlab run examples/desktop.json --scheduler o_1,cfs --timeline
  schedlab bench hackbench --groups 25..100:25     a benchmark of old, as a curve for each scheduler
  schedlab sweep examples/sweep-desktop.toml       many runs, with anything varied
  schedlab tune examples/tune-desktop.toml         which settings are best for a load?
  schedlab explain examples/desktop.json -s cfs --at 0.5s       why did it do that?
  schedlab top examples/desktop.json -s o_1,eevdf  the run in virtual time, as top shows a machine
  schedlab list                                    which schedulers there are
  schedlab verify tests/golden                     are they true to the kernels they come from?
  schedlab stress --seeds 1000                     random machines and workloads, every invariant
  schedlab papers                                  published experiments, run again and judged
  schedlab calibrate FILE.toml                     what things cost on a machine, by measurements
  schedlab timehist FILE --scheduler cfs           every slice, as `perf sched timehist` has it
  schedlab trace info perf.data                    what is in a recorded trace
  schedlab record -- make -j4                      record this machine, to be read here
  schedlab replay TRACE -s eevdf,cfs               a recorded machine under other schedulers
  schedlab host examples/desktop.json              the same workload on this machine's own kernel
  schedlab explain-metric slowdown                 what a row of the table means
  schedlab new-scheduler mine                      a scheduler of your own, ready to be changed

`schedlab COMMAND --help` tells more about each.

Exit status: 0 all is well; 1 a schedule disagrees or a rule was broken; 2 what was asked for cannot
be done; 3 (host) too noisy.";

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    Run(Box<RunArgs>),
    Bench(Box<BenchArgs>),
    Sweep(Box<SweepArgs>),
    Tune(TuneArgs),
    Explain(Box<ExplainArgs>),
    #[cfg(feature = "tui")]
    Top(Box<TopArgs>),
    Verify(VerifyArgs),
    List(ListArgs),
    Stress(StressArgs),
    Papers(PapersArgs),
    Calibrate(CalibrateArgs),
    Timehist(Box<TimehistArgs>),
    Latency(Box<LatencyArgs>),
    Map(Box<MapArgs>),
    Antagonists(Box<AntagonistsArgs>),
    Trace(TraceArgs),
    Record(RecordArgs),
    Replay(Box<ReplayArgs>),
    Compare(Box<CompareArgs>),
    #[cfg(all(feature = "host", target_os = "linux"))]
    Host(Box<HostArgs>),
    ExplainMetric(ExplainMetricArgs),
    Scx(ScxArgs),
    Live(LiveArgs),
    NewScheduler(NewSchedulerArgs),
    Completions(CompletionsArgs),
}

/// Run a sched_ext policy in this machine's kernel
///
/// All ordinary tasks run under it until the command is over, the time is up or Ctrl-C is pressed.
/// That is done by a program of its own, schedlab-live, which gets all arguments. But --replay LOG,
/// if it stands first, is `schedlab scx replay LOG`: the decisions that a policy has logged,
/// through the scheduler that it is a twin of.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  schedlab live --list
  sudo schedlab live vtime --duration 10
  sudo schedlab live goodness --log decisions.log -- make -j8
  schedlab live --replay decisions.log

Exit status: as schedlab-live --help says; 2 schedlab-live is not there (how to get it is told)."
)]
pub struct LiveArgs {
    /// What schedlab-live gets: POLICY [OPTION...] [-- COMMAND]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub args: Vec<std::ffi::OsString>,
}

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ListFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Run a workload under one or more schedulers and compare them
///
/// A workload is a file in rt-app's JSON language: tasks that run, sleep, wait for each other, with
/// policies, priorities, affinity and groups. It is run on a simulated machine in virtual time,
/// once under each scheduler, and what came of it is shown side by side.
#[derive(Args, Debug)]
#[command(after_help = "\
Schedulers are named as `schedlab list` shows them: cfs, or cfs@2.6.24 for a release. `main` is the
main line (2.4, O(1), CFS, BFS, EEVDF), the default; `linux` stands for every scheduler that Linux
had, in its default release, `textbook` for the policies of the textbooks, `all` for every release
of everything. Those that cannot run the workload or the machine (no real-time policies, one CPU
only ...) are left out with a note, unless they were named.

Settings make columns: `cfs:sched_latency_ns=6e6,cfs` is CFS with and without; `--set
sched_latency_ns=6ms,20ms` is a column for each value under each scheduler that has it, several
--set are a column for each combination, and the value `default` leaves it as it is. What can be
set: a tunable by its name; nice:KEY, the nice value of a task; shares:/GROUP, weight:/GROUP and
quota:/GROUP (20ms/100ms, max), a group's cpu.shares, cpu.weight and cpu.max.

Examples:
  schedlab run examples/desktop.json
  schedlab run examples/desktop.json --scheduler o_n,o_1,cfs --tasks
  schedlab run examples/desktop.json --scheduler cfs:sched_latency_ns=6ms,cfs,cfs@2.6.24
  schedlab run examples/server.json --cpus 4 -s eevdf --set base_slice_ns=700000,2800000 --repeat 5
  schedlab run examples/nested-groups.json -s cfs,eevdf --set shares:/alice=512,2048
  schedlab run examples/server.json --cpus 4 -s cfs -o before.json
  schedlab run examples/server.json --cpus 4 -s cfs:sched_latency_ns=6e6 --baseline before.json
  schedlab run examples/server.json --cpus 4 --duration 2.5 --format csv > server.csv
  schedlab run examples/server.json --machine z800-2x6
  schedlab run examples/nested-groups.json --groups examples/nested-groups.groups \\
      --group /alice:cpu.shares=512
  schedlab run examples/nested-groups.json --scheduler cfs --user alice=anna \\
      --user \"build,play=bob\" --cgrules /etc/cgrules.conf
  schedlab run examples/desktop.json --scheduler o_1,cfs,bfs --cpus 4 \\
      --at \"1s offline cpu 2-3\" --at \"3s online cpu 2-3\"
  schedlab run examples/realtime-mix.json --scheduler cfs --timeline --from 1 --to 1.1
  schedlab run examples/desktop.json --scheduler o_1,cfs,eevdf --report desktop.html --open
  schedlab run examples/server.json --machine z800-2x6 --plan-out server-plan.json
  schedlab run server-plan.json --format csv       the same run from its plan, printed otherwise")]
pub struct RunArgs {
    /// Workloads in rt-app's JSON language, or plans (see --plan-out)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Schedulers to compare: names, `main`, `linux`, `textbook` or `all`; NAME:TUNABLE=VALUE sets
    /// something for one alone; scx:FILE is a sched_ext policy, a BPF object [default: main]
    #[arg(short, long = "scheduler", value_name = "NAME,...", value_delimiter = ',')]
    pub schedulers: Vec<String>,
    /// Number of CPUs; with --machine so many of the machine's, its first ones [default: as many as
    /// the workload's `cpus` name, at least 1; with --machine all]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// The machine, with its threads, caches, packages and nodes: a preset
    /// (`schedlab list --machines`), flat-N, or a file [default: equal CPUs]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Ticks a second [default: what each release had in its usual build]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Nothing costs anything, even if the machine's description says what it does
    #[arg(long)]
    pub no_costs: bool,
    /// Set what one thing costs, in ns, e.g. switch=1500 or o_n.scan=40 (`docs/machines.md` lists
    /// them)
    #[arg(
        long = "cost",
        value_name = "NAME=NS",
        value_parser = cost_setting,
        conflicts_with = "no_costs"
    )]
    pub cost: Vec<(String, f64)>,
    /// Whether idle CPUs go without ticks, where things cost something [default: as each release
    /// has it]
    #[arg(long, value_enum, value_name = "on|off")]
    pub nohz: Option<OnOff>,
    /// When the first tick falls: us, or with a unit, e.g. 1.5ms; less than the time between two
    /// ticks [default: after that time, unless the machine's file says when]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub tick_phase: Option<u64>,
    /// How the tasks begin: each is forked when it begins; or all are made before, and begin by
    /// waking, 80 ms after they were made, as those of `schedlab host` do (the run and all of its
    /// times are 80 ms longer)
    #[arg(long, value_name = "fork|wake", default_value = "fork", value_parser = Start::parse, hide_default_value = true)]
    pub start: Start,
    /// Stop after so long: seconds, e.g. 2.5, or with a unit, e.g. 20ms [default: what the workload
    /// says]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Set a tunable of all schedulers that have it (`schedlab list NAME` shows them), or nice:KEY,
    /// shares:/GROUP, weight:/GROUP, quota:/GROUP; several values make a column each
    #[arg(long = "set", value_name = "KEY=VALUE,...", value_parser = setting)]
    pub set: Vec<(String, SetValues)>,
    /// Task groups, from a file: a path and settings a line, e.g. `/tg1 cpu.shares=2048`; or a
    /// cgconfig.conf
    #[arg(long, value_name = "FILE")]
    pub groups: Vec<PathBuf>,
    /// One task group, e.g. /tg1:cpu.weight=200
    #[arg(long, value_name = "PATH:SETTING")]
    pub group: Vec<String>,
    /// Put tasks in groups by user and program, by libcgroup's rules: a cgrules.conf
    #[arg(long, value_name = "FILE", conflicts_with = "user_groups")]
    pub cgrules: Option<PathBuf>,
    /// A group for each user, as kernels 2.6.24 to 2.6.32 could make them: /uid-1000 weighs 1024,
    /// root's /uid-0 2048
    #[arg(long)]
    pub user_groups: bool,
    /// Whose tasks are, from a file: tasks and a user a line, e.g. `make-* bob/1001:students`
    /// [default: root's]
    #[arg(long, value_name = "FILE")]
    pub users: Vec<PathBuf>,
    /// Whose some tasks are, e.g. video=anna or make-*=bob/1001:students
    #[arg(long, value_name = "TASKS=USER")]
    pub user: Vec<String>,
    /// Do things to the machine while it runs, by a file: a time and an action a line, e.g.
    /// `at 2s offline cpu 4-7`
    #[arg(long, value_name = "FILE")]
    pub timetable: Vec<PathBuf>,
    /// Do one thing to the machine while it runs, e.g. "2s renice video -5" or "every 1s from 2s
    /// stop build"
    #[arg(long, value_name = "ACTION")]
    pub at: Vec<String>,
    /// Let simultaneous events happen in random order, by this seed, rather than in a fixed one
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run every column so often, with the seeds from --seed [default: 1] on: the table shows
    /// median, least and most. A seed also puts off the start of each task by up to a tick
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub repeat: Option<u64>,
    /// Show how each figure differs from that of an earlier run: what --format json wrote
    #[arg(long, value_name = "FILE.json", conflicts_with = "plan_out")]
    pub baseline: Option<PathBuf>,
    /// Only these columns, in this order: cfs, cfs@2.6.24, cfs:NAME=VALUE, or NAME=VALUE alone;
    /// `all` shows also those that do not fit beside each other
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Only these figures, in this order: ids (`docs/metrics.md`) or titles
    #[arg(long, value_name = "ROW,...", value_delimiter = ',')]
    pub rows: Vec<String>,
    /// How to print [default: table; with --output by the file's ending]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub format: Option<RunFormat>,
    /// Print into this file, which then is there in whole or not at all; only an earlier result is
    /// written over
    #[arg(short, long, value_name = "FILE", conflicts_with = "plan_out")]
    pub output: Option<PathBuf>,
    /// Show every task, too
    #[arg(short, long)]
    pub tasks: bool,
    /// Write rt-app's own log, a file a thread, into a directory for each scheduler below this one
    #[arg(long, value_name = "DIR", conflicts_with = "plan_out")]
    pub rt_app_log: Option<PathBuf>,
    /// Draw who ran when
    #[arg(long)]
    pub timeline: bool,
    /// Draw the timeline from this time on: seconds, or with a unit, e.g. 20ms
    #[arg(long, value_name = "TIME", value_parser = time, requires = "timeline")]
    pub from: Option<u64>,
    /// Draw the timeline up to this time
    #[arg(long, value_name = "TIME", value_parser = time, requires = "timeline")]
    pub to: Option<u64>,
    /// Run nothing: check all, and write what is to be run into this file, with the texts of all
    /// files in it; `schedlab run PLAN` runs it
    #[arg(long, value_name = "PLAN.json")]
    pub plan_out: Option<PathBuf>,
    #[command(flatten)]
    pub outputs: OutputArgs,
    /// The report as a page, and its charts.
    #[command(flatten)]
    pub page: PageArgs,
    /// Of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}

/// Run random machines and workloads under every invariant
///
/// Each seed makes a random world for each scheduler: a machine of random size and HZ, tunables,
/// and a workload of hogs, sleepers, tasks that wake each other, meet at barriers, fork, change
/// policy and affinity. It is run with simultaneous events in a fixed order, the same again, and in
/// random order, while every decision is checked: only runnable tasks run, only where they may, on
/// one CPU at a time; nobody waits or idles longer than the algorithm promises; no task is lost;
/// CPU time adds up; the scheduler's own books are in order; the same world comes to the same.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab stress --seeds 1000                     every release of every scheduler
  schedlab stress --seeds 1000 --scheduler cfs --first-seed 5000
  schedlab stress --scheduler cfs --seed 5017      one world, with what led to the failure
  schedlab stress --scheduler cfs --seed 5017 --save world.json

Exit status: 0 every rule was kept; 1 one was broken (the seed that shows it is printed); 2 what
was asked for cannot be done.")]
pub struct StressArgs {
    /// How many worlds for each scheduler
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub seeds: u64,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub first_seed: u64,
    /// Run the world of this seed only, and show it in detail
    #[arg(long, value_name = "N", conflicts_with_all = ["seeds", "first_seed"])]
    pub seed: Option<u64>,
    /// Schedulers: names, `linux`, `textbook` or `all`; scx:FILE is a sched_ext policy
    #[arg(
        short,
        long = "scheduler",
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "all"
    )]
    pub schedulers: Vec<String>,
    /// Save the world's workload as an rt-app file
    #[arg(long, value_name = "FILE", requires = "seed")]
    pub save: Option<PathBuf>,
    /// Of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}

/// Replay golden schedules and say where they are not met
///
/// A golden schedule is what a real kernel's scheduler did with a small workload: who ran where,
/// from when to when, to the nanosecond. Each is run again here, by the scheduler that the file
/// names, and every slice must agree.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab verify tests/golden                     every file in and below a directory
  schedlab verify hogs.json.xz sleepers.json       some files; .gz and .xz are unpacked
  schedlab verify --quiet tests/golden             only what disagrees, and the summary

Share of CPU time: the time during which the same task ran on the same CPU, of the time that
a CPU was busy in either.

Exit status: 0 every slice of every file agrees; 1 some do not; 2 some files could not be
replayed.")]
pub struct VerifyArgs {
    /// Golden schedules, or directories to search for them
    #[arg(required = true, value_name = "FILE|DIRECTORY")]
    pub paths: Vec<PathBuf>,
    /// Do not name the files that agree
    #[arg(short, long)]
    pub quiet: bool,
}

/// Show the schedulers, their releases and their tunables
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab list                                    all of them, a line each
  schedlab list cfs                                one, in all its releases, with its tunables
  schedlab list --format json                      for programs
  schedlab list --machines                         which machines there are
  schedlab list cfs --machine z800-2x6             the scheduling domains that it builds of one")]
pub struct ListArgs {
    /// Only these, e.g. o_1 or cfs@2.6.24
    #[arg(value_name = "SCHEDULER")]
    pub schedulers: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub format: ListFormat,
    /// Show the machines that come with the program instead
    #[arg(long, conflicts_with_all = ["schedulers", "machine", "format"])]
    pub machines: bool,
    /// Show the scheduling domains that the schedulers build of this machine instead: a preset,
    /// flat-N, or a file
    #[arg(short, long, value_name = "NAME|FILE", conflicts_with = "format")]
    pub machine: Option<String>,
}

/// Run published experiments again and judge them
///
/// Each experiment of the documents that the project began from is a file in `papers/`: what is
/// run, what is measured, and what must come out. It is shown what was published, what came out
/// here, and how that is judged: `hard` demands follow from the scheduler's rules, `soft` ones
/// should come out with sensible costs. Each is run under a sample of the conditions that its
/// document leaves open, and its median must be right. Nothing is adjusted to pass.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab papers                                  all of them
  schedlab papers HB DIS-4.4 --report report       some; tables and a page go to report/
  schedlab papers --from my-papers                 the files of a directory of your own

Exit status: 0 every hard demand is met; 1 one is missed, or met in part; 2 what was asked for
cannot be done, or an experiment failed (the others are run and judged).")]
pub struct PapersArgs {
    /// Which: an id, or the beginning of several, e.g. DIS-4.4 or HB [default: all]
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Only name them
    #[arg(long)]
    pub list: bool,
    /// Only tell what contradicts what in the published documents
    #[arg(long, conflicts_with = "list")]
    pub contradictions: bool,
    /// Fewer and smaller simulations: what the tests run
    #[arg(long)]
    pub reduced: bool,
    /// Write a page for a browser: every demand with its verdict, to be filtered, and the figures,
    /// in one file; into a directory with all values as CSV beside it
    #[arg(long, value_name = "FILE.html|DIR")]
    pub report: Option<PathBuf>,
    /// Show the page in the browser when it is written
    #[arg(long, requires = "report")]
    pub open: bool,
    /// The experiments of this directory instead of those that come with the program
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// On so many cores [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<std::num::NonZeroUsize>,
}

/// Say what a figure means: unit, definition, where it stands, and an example
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab explain-metric                          all of them, a line each
  schedlab explain-metric fairness lag p99         a row of the table, as it stands there
  schedlab trace info perf.data                    what is in a recorded trace
  schedlab record -- make -j4                      record this machine, to be read here
  schedlab explain-metric slowdown                 by its id in CSV; totals.jobs: by its JSON field

Exit status: 0 it was explained; 2 there is no such metric (the nearest names are told).")]
pub struct ExplainMetricArgs {
    /// Its title in the table, its id, its field in the JSON document, or its word in paper files
    #[arg(value_name = "NAME")]
    pub name: Vec<String>,
}

/// Begin a scheduler of your own: a package with a complete small scheduler, ready to be changed
///
/// The package compares it with those of schedlab, and checks it in random worlds; its tests run
/// both.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab new-scheduler mine                      in a clone of schedlab, or below one
  schedlab new-scheduler mine --schedlab ~/schedlab
  schedlab new-scheduler mine --schedlab https://example.org/schedlab.git

Exit status: 0 it is written; 2 it cannot be (a directory that is there is never touched).")]
pub struct NewSchedulerArgs {
    /// What it is called: the package, its directory, and the scheduler
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where schedlab is: a clone, or the address of its repository [default: the clone in which
    /// the package will lie]
    #[arg(long, value_name = "PATH|URL")]
    pub schedlab: Option<String>,
}

/// Fit what things cost on a machine to measurements
///
/// A file names the machine, the costs to fit with their bounds, and the measurements: benchmark,
/// scheduler, figure and what was measured. The costs are sought with which the simulation comes
/// nearest to the measurements, by ratios. In the file that is written each fitted number tells
/// what it was fitted to: those measurements say nothing for the model any more. Others can be held
/// out, and are compared.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab calibrate papers/calibration/pentium3-1000x1.toml
  schedlab calibrate mine.toml --write mine.json then: schedlab bench hackbench --machine mine.json

`docs/calibration.md` describes the file.

Exit status: 0 it was fitted, however well; 2 what was asked for cannot be done.")]
pub struct CalibrateArgs {
    /// What to fit to what
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Write the machine's file with the fitted numbers
    #[arg(long, value_name = "OUT.json")]
    pub write: Option<PathBuf>,
    /// Simulate on so many cores at once; the result is the same [default: all there are]
    #[arg(long, value_name = "N")]
    pub cores: Option<std::num::NonZeroUsize>,
}

/// Print what a shell needs to complete commands and options
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab completions bash > ~/.local/share/bash-completion/completions/schedlab
  schedlab completions zsh > ~/.zfunc/_schedlab
  schedlab completions fish > ~/.config/fish/completions/schedlab.fish")]
pub struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
