//! The command line.

use crate::advise_args::AdviseArgs;
use crate::bench_args::BenchArgs;
use crate::bisect_args::BisectArgs;
use crate::compare_args::CompareArgs;
use crate::explain_args::ExplainArgs;
use crate::given::GivenArgs;
#[cfg(all(feature = "host", target_os = "linux"))]
use crate::host_args::HostArgs;
use crate::limits_args::LimitsArgs;
use crate::options::{Color, ListFormat, OnOff, RunFormat, cost_setting, micros, setting, time};
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
use clap::{Args, Parser, Subcommand};
use schedlab_lab::plan::SetValues;
use schedlab_workload::Start;
use std::path::PathBuf;

/// Laboratory for Linux process schedulers
///
/// schedlab answers one question: what would this workload have done under that scheduler? It runs
/// the process schedulers of the Linux line, each faithful to its release, on a simulated machine
/// in virtual time.
#[derive(Parser, Debug)]
#[command(name = "schedlab", version, arg_required_else_help = true, after_help = MAIN_EXAMPLES)]
pub struct Cli {
    /// When to print in colour [default: auto, on a terminal unless NO_COLOR is set]
    #[arg(long, global = true, value_enum, value_name = "auto|always|never")]
    pub color: Option<Color>,
    #[command(subcommand)]
    pub command: Command,
}

const MAIN_EXAMPLES: &str = "\
Examples:
  schedlab run examples/desktop.json               one workload, several schedulers
  schedlab run examples/desktop.json --scheduler o_1,cfs --timeline
  schedlab bench hackbench --groups 25..100:25     a benchmark, as a curve for each scheduler
  schedlab sweep examples/sweep-desktop.toml       many runs, with anything varied
  schedlab limits FILE --group /box --aim 'p99 < 50ms'          which CPU limit meets it?
  schedlab advise TRACE --aim 'p99(api) min'       which settings help a recorded machine?
  schedlab tune examples/tune-desktop.toml         which settings are best for a load?
  schedlab explain examples/desktop.json -s cfs --at 0.5s       why did it do that?
  schedlab bisect FILE --metric METRIC --from 6.6 --to 7.3      which release changed it?
  schedlab top examples/desktop.json -s o_1,eevdf  the run in virtual time, displayed as in top
  schedlab list                                    the available schedulers
  schedlab verify tests/golden                     do they match the kernels they come from?
  schedlab stress --seeds 1000                     random machines and workloads, every invariant
  schedlab papers                                  published experiments, run again and judged
  schedlab calibrate FILE.toml                     costs of a machine, fitted to measurements
  schedlab timehist FILE --scheduler cfs           every slice, as in `perf sched timehist`
  schedlab trace info perf.data                    contents of a recorded trace
  schedlab record -- make -j4                      record this machine's schedule
  schedlab replay TRACE -s eevdf,cfs               a recorded load under other schedulers
  schedlab host examples/desktop.json              the same workload on the kernel of this machine
  schedlab explain-metric slowdown                 what a row of the table means
  schedlab new-scheduler mine                      start a scheduler of your own

`schedlab COMMAND --help` describes each command.

Exit status: 0 success; 1 a schedule differs or a rule was broken; 2 the request cannot be carried
out; 3 (host) too noisy.";

/// Subcommands of the program.
#[derive(Subcommand, Debug)]
pub enum Command {
    Run(Box<RunArgs>),
    Bench(Box<BenchArgs>),
    Sweep(Box<SweepArgs>),
    Limits(Box<LimitsArgs>),
    Advise(Box<AdviseArgs>),
    Tune(TuneArgs),
    Explain(Box<ExplainArgs>),
    Bisect(Box<BisectArgs>),
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
    #[cfg(feature = "twins")]
    Live(LiveArgs),
    NewScheduler(NewSchedulerArgs),
    Completions(CompletionsArgs),
}

/// Run a sched_ext policy in this machine's kernel
///
/// All ordinary tasks run under the policy until the command ends, the time is up or Ctrl-C is
/// pressed. A separate program, schedlab-live, does this; it receives all arguments. The exception
/// is --replay LOG as the first argument, which means `schedlab scx replay LOG`: it replays the
/// logged decisions of a policy through the scheduler of which the policy is a twin.
#[cfg(feature = "twins")]
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  schedlab live --list
  sudo schedlab live vtime --duration 10
  sudo schedlab live goodness --log decisions.log -- make -j8
  schedlab live --replay decisions.log

Exit status: see schedlab-live --help; 2 schedlab-live is not installed (with advice)."
)]
pub struct LiveArgs {
    /// Arguments of schedlab-live: POLICY [OPTION...] [-- COMMAND]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub args: Vec<std::ffi::OsString>,
}

/// Run a workload under one or more schedulers and compare them
///
/// A workload is a file in rt-app's JSON language: tasks that run, sleep and wait for each other,
/// with policies, priorities, affinity and groups. It runs on a simulated machine in virtual time,
/// once under each scheduler, and the results are shown side by side.
#[derive(Args, Debug)]
#[command(after_help = "\
Schedulers are named as in `schedlab list`: cfs, or cfs@2.6.24 for a release. `main`, the default,
is the main line (2.4, O(1), CFS, BFS, EEVDF); `linux` is every scheduler that Linux has had, in its
default release; `textbook` is all policies of the textbooks; `all` is every release of every
scheduler. Schedulers that cannot run the workload or the machine (no real-time policies, one CPU
only ...) are left out with a note, unless they were named.

Settings make columns: `cfs:sched_latency_ns=6e6,cfs` compares CFS with and without the setting;
`--set sched_latency_ns=6ms,20ms` makes a column for each value under each scheduler that has the
tunable. Several --set make a column for each combination, and the value `default` keeps the
default. A setting is a tunable by its name; nice:KEY, the nice value of a task; or shares:/GROUP,
weight:/GROUP and quota:/GROUP (20ms/100ms, max), a group's cpu.shares, cpu.weight and cpu.max.

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
  schedlab run server-plan.json --format csv       the same run from its plan, in another format")]
pub struct RunArgs {
    /// Arguments given on the command line.
    #[command(flatten)]
    pub given: GivenArgs,
    /// Workloads in rt-app's JSON language, or plans (see --plan-out)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Schedulers to compare: names, `main`, `linux`, `textbook` or `all`; NAME:TUNABLE=VALUE
    /// changes a setting for one of them; scx:FILE is a sched_ext policy, a BPF object [default:
    /// main]
    #[arg(short, long = "scheduler", value_name = "NAME,...", value_delimiter = ',')]
    pub schedulers: Vec<String>,
    /// Number of CPUs; with --machine, use only the first N of the machine [default: the number
    /// that the workload's `cpus` name, at least 1; with --machine, all]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// Machine, with its hardware threads, caches, packages and nodes: a preset (`schedlab list
    /// --machines`), flat-N, or a file [default: equal CPUs]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Ticks per second [default: the usual configuration of each release]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Make all operations free, even if the machine's description gives costs
    #[arg(long)]
    pub no_costs: bool,
    /// Cost of one operation, in ns, e.g. switch=1500 or o_n.scan=40 (`docs/machines.md` lists
    /// them)
    #[arg(
        long = "cost",
        value_name = "NAME=NS",
        value_parser = cost_setting,
        conflicts_with = "no_costs"
    )]
    pub cost: Vec<(String, f64)>,
    /// Whether idle CPUs stop their ticks, on machines with costs [default: as in each release]
    #[arg(long, value_enum, value_name = "on|off")]
    pub nohz: Option<OnOff>,
    /// Time of the first tick: in us, or with a unit, e.g. 1.5ms; less than the tick period
    /// [default: one tick period, unless the machine's file specifies it]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub tick_phase: Option<u64>,
    /// How tasks start: `fork` forks each task at its start time; `wake` creates all tasks
    /// beforehand and wakes each at its start time, 80 ms after its creation, as `schedlab host`
    /// does (the run and all of its times are 80 ms longer) [default: fork]
    #[arg(long, value_name = "fork|wake", default_value = "fork", value_parser = Start::parse, hide_default_value = true)]
    pub start: Start,
    /// Time limit of the run: seconds, e.g. 2.5, or with a unit, e.g. 20ms [default: as in the
    /// workload]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Tunable to set in all schedulers that have it (see `schedlab list NAME`), or nice:KEY,
    /// shares:/GROUP, weight:/GROUP, quota:/GROUP; several values make a column each
    #[arg(long = "set", value_name = "KEY=VALUE,...", value_parser = setting)]
    pub set: Vec<(String, SetValues)>,
    /// File of task groups: a path and settings on each line, e.g. `/tg1 cpu.shares=2048`; or a
    /// cgconfig.conf
    #[arg(long, value_name = "FILE")]
    pub groups: Vec<PathBuf>,
    /// Settings of one task group, e.g. /tg1:cpu.weight=200
    #[arg(long, value_name = "PATH:SETTING")]
    pub group: Vec<String>,
    /// Rules of libcgroup that put tasks in groups by user and program: a cgrules.conf
    #[arg(long, value_name = "FILE", conflicts_with = "user_groups")]
    pub cgrules: Option<PathBuf>,
    /// Make a group for each user, as kernels 2.6.24 to 2.6.32 could: /uid-1000 weighs 1024, root's
    /// /uid-0 2048
    #[arg(long)]
    pub user_groups: bool,
    /// Make a group for each session, as kernels since 2.6.38 do (`sched_autogroup_enabled`): the
    /// tasks with "session": "tty1" are in /autogroup-tty1, those without in /autogroup-shell
    #[arg(long, conflicts_with = "user_groups")]
    pub autogroup: bool,
    /// File that assigns tasks to users: tasks and a user on each line, e.g. `make-*
    /// bob/1001:students` [default: all belong to root]
    #[arg(long, value_name = "FILE")]
    pub users: Vec<PathBuf>,
    /// User of some tasks, e.g. video=anna or make-*=bob/1001:students
    #[arg(long, value_name = "TASKS=USER")]
    pub user: Vec<String>,
    /// File of actions on the machine during the run: a time and an action on each line, e.g. `at
    /// 2s offline cpu 4-7`
    #[arg(long, value_name = "FILE")]
    pub timetable: Vec<PathBuf>,
    /// One action on the machine during the run, e.g. "2s renice video -5" or "every 1s from 2s
    /// stop build"
    #[arg(long, value_name = "ACTION")]
    pub at: Vec<String>,
    /// Seed of a random order of simultaneous events, instead of a fixed order
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of runs of each column, with consecutive seeds that begin with --seed, or else with
    /// 1; the table shows median, minimum and maximum. Each seed also delays the start of each task
    /// by up to a tick
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub repeat: Option<u64>,
    /// Show how each figure differs from an earlier run: a file written by --format json
    #[arg(long, value_name = "FILE.json", conflicts_with = "plan_out")]
    pub baseline: Option<PathBuf>,
    /// Columns to show, in this order: cfs, cfs@2.6.24, cfs:NAME=VALUE, or NAME=VALUE alone; `all`
    /// also shows those that do not fit side by side
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Figures to show, in this order: ids (`docs/metrics.md`) or titles
    #[arg(long, value_name = "ROW,...", value_delimiter = ',')]
    pub rows: Vec<String>,
    /// Output format [default: table; with --output, by the file's ending]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub format: Option<RunFormat>,
    /// File for the output, written completely or not at all; only an earlier result is overwritten
    #[arg(short, long, value_name = "FILE", conflicts_with = "plan_out")]
    pub output: Option<PathBuf>,
    /// Also show every task
    #[arg(short, long)]
    pub tasks: bool,
    /// Write rt-app's own logs, one file per thread, into a directory for each scheduler below this
    /// one
    #[arg(long, value_name = "DIR", conflicts_with = "plan_out")]
    pub rt_app_log: Option<PathBuf>,
    /// Draw which task ran on which CPU, and when
    #[arg(long)]
    pub timeline: bool,
    /// Start time of the timeline: seconds, or with a unit, e.g. 20ms
    #[arg(long, value_name = "TIME", value_parser = time, requires = "timeline")]
    pub from: Option<u64>,
    /// End time of the timeline
    #[arg(long, value_name = "TIME", value_parser = time, requires = "timeline")]
    pub to: Option<u64>,
    /// Run nothing: check everything and write the plan into this file, including the text of all
    /// input files; `schedlab run PLAN` runs it
    #[arg(long, value_name = "PLAN.json")]
    pub plan_out: Option<PathBuf>,
    #[command(flatten)]
    pub outputs: OutputArgs,
    /// Page and charts of the report.
    #[command(flatten)]
    pub page: PageArgs,
    /// Options of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}

/// Run random machines and workloads, and check every invariant
///
/// Each seed makes a random world for each scheduler: a machine of random size and HZ, tunables,
/// and a workload of hogs, sleepers, and tasks that wake each other, meet at barriers, fork, and
/// change policy and affinity. The world runs with simultaneous events in a fixed order, again in
/// the same order, and in random order, while every decision is checked: only runnable tasks run,
/// only where they may, on one CPU at a time; no task waits and no CPU idles longer than the
/// algorithm promises; no task is lost; CPU time adds up; the scheduler's own accounts are
/// consistent; the same world has the same result.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab stress --seeds 1000                     every release of every scheduler
  schedlab stress --seeds 1000 --scheduler cfs --first-seed 5000
  schedlab stress --scheduler cfs --seed 5017      one world, with the events before the failure
  schedlab stress --scheduler cfs --seed 5017 --save world.json

Exit status: 0 every rule was kept; 1 a rule was broken (the seed that shows it is printed); 2 the
request cannot be carried out.")]
pub struct StressArgs {
    /// Number of worlds for each scheduler
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub seeds: u64,
    /// First seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub first_seed: u64,
    /// Run only the world of this seed, and show it in detail
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
    /// Options of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}

/// Replay golden schedules and report differences
///
/// A golden schedule records what a real kernel's scheduler did with a small workload: which task
/// ran on which CPU, from when to when, to the nanosecond. Each is run again here, under the
/// scheduler that the file names, and every slice must agree.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab verify tests/golden                     every file in and below a directory
  schedlab verify hogs.json.xz sleepers.json       some files; .gz and .xz are decompressed
  schedlab verify --quiet tests/golden             only the differences, and the summary

Share of CPU time: the time during which the same task ran on the same CPU, divided by the time
during which a CPU was busy in either schedule.

A directory may list files that are known to disagree, with the reasons, in `disagreements.tsv`.
They are marked \"known\", and must still disagree.

Exit status: 0 every slice of every file agrees, except files known to disagree; 1 some do not;
2 some files could not be replayed.")]
pub struct VerifyArgs {
    /// Golden schedules, or directories to search for them
    #[arg(required = true, value_name = "FILE|DIRECTORY")]
    pub paths: Vec<PathBuf>,
    /// Do not list the files that agree
    #[arg(short, long)]
    pub quiet: bool,
}

/// Show the schedulers, their releases and their tunables
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab list                                    all of them, one per line
  schedlab list cfs                                one, in all its releases, with its tunables
  schedlab list --format json                      for programs
  schedlab list --machines                         the available machines
  schedlab list --kernels                          kernels of distributions, for --scheduler
  schedlab list cfs --machine z800-2x6             its scheduling domains on one machine")]
pub struct ListArgs {
    /// Schedulers to show, e.g. o_1 or cfs@2.6.24 [default: all]
    #[arg(value_name = "SCHEDULER")]
    pub schedulers: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub format: ListFormat,
    /// Show the machines that come with the program instead
    #[arg(long, conflicts_with_all = ["schedulers", "machine", "format"])]
    pub machines: bool,
    /// Show the kernels of distributions that --scheduler accepts instead, with the scheduler,
    /// HZ and preemption model of each, and what is not known about it
    #[arg(long, conflicts_with_all = ["schedulers", "machine", "format", "machines"])]
    pub kernels: bool,
    /// Show the scheduling domains that the schedulers build on this machine instead: a preset,
    /// flat-N, or a file
    #[arg(short, long, value_name = "NAME|FILE", conflicts_with = "format")]
    pub machine: Option<String>,
}

/// Run published experiments again and judge them
///
/// Each experiment of the project's source documents is a file, which states what to run, what to
/// measure, and which results are demanded (`--from` takes a directory of your own files). The
/// output shows the published result, the result here, and the verdict. A `hard` demand follows
/// from the scheduler's rules; a `soft` one should be met with sensible costs. Each experiment runs
/// under a sample of the conditions that its document leaves open, and its median must be right.
/// No result is adjusted so that a demand is met.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab papers                                  all of them
  schedlab papers HB DIS-4.4 --report report       some; tables and a page are written to report/
  schedlab papers --from my-papers                 the files in your own directory

Exit status: 0 every hard demand is met; 1 one is missed, or met in part; 2 the request cannot be
carried out, or an experiment failed (the others are run and judged).")]
pub struct PapersArgs {
    /// Experiments to run: an id, or the beginning of several, e.g. DIS-4.4 or HB [default: all]
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// List the experiments without running them
    #[arg(long)]
    pub list: bool,
    /// Show only the contradictions within the published documents
    #[arg(long, conflicts_with = "list")]
    pub contradictions: bool,
    /// Run fewer and smaller simulations, as the tests do
    #[arg(long)]
    pub reduced: bool,
    /// Write a page for a browser, with every demand, its verdict, filters and the figures in one
    /// file; the directory also receives all values as CSV
    #[arg(long, value_name = "FILE.html|DIR")]
    pub report: Option<PathBuf>,
    /// Show the page in the browser when it is written
    #[arg(long, requires = "report")]
    pub open: bool,
    /// Directory of experiments to run instead of those that come with the program
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Number of cores to use [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<std::num::NonZeroUsize>,
}

/// Explain a figure: unit, definition, where it appears, and an example
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab explain-metric                          all of them, one per line
  schedlab explain-metric fairness lag p99         a row, by its title in the table
  schedlab explain-metric slowdown                 by its id in CSV; totals.jobs: by its JSON field

Exit status: 0 it was explained; 2 there is no such metric (the nearest names are shown).")]
pub struct ExplainMetricArgs {
    /// Title in the table, id, field in the JSON document, or word in paper files
    #[arg(value_name = "NAME")]
    pub name: Vec<String>,
}

/// Start a scheduler of your own: a package with a complete small scheduler, ready to be changed
///
/// The package compares the scheduler with the built-in ones and checks it in random worlds; its
/// tests do both.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab new-scheduler mine                      in a clone of schedlab, or below one
  schedlab new-scheduler mine --schedlab ~/schedlab
  schedlab new-scheduler mine --schedlab https://example.org/schedlab.git

Exit status: 0 the package is written; 2 it cannot be (an existing directory is never touched).")]
pub struct NewSchedulerArgs {
    /// Name of the package, its directory, and the scheduler
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Location of schedlab: a clone, or the address of its repository [default: the clone that
    /// will contain the package]
    #[arg(long, value_name = "PATH|URL")]
    pub schedlab: Option<String>,
}

/// Fit the costs of a machine to measurements
///
/// A file names the machine, the costs to fit with their bounds, and the measurements: benchmark,
/// scheduler, figure and measured value. The command searches for the costs with which the
/// simulation comes nearest to the measurements, compared as ratios. In the file that it writes,
/// each fitted number states which measurements it was fitted to: those measurements are no longer
/// evidence for the model. Other measurements can be held out, and are then compared with the
/// simulation.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab calibrate crates/papers/experiments/calibration/pentium3-1000x1.toml
  schedlab calibrate mine.toml --write mine.json
  schedlab bench hackbench --machine mine.json

`docs/calibration.md` describes the file.

Exit status: 0 the costs were fitted, however well; 2 the request cannot be carried out.")]
pub struct CalibrateArgs {
    /// Description of the fit, in TOML
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Write the machine's file with the fitted numbers
    #[arg(long, value_name = "OUT.json")]
    pub write: Option<PathBuf>,
    /// Number of cores to use for simulation; it does not affect the result [default: all]
    #[arg(long, value_name = "N")]
    pub cores: Option<std::num::NonZeroUsize>,
}

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab completions bash > ~/.local/share/bash-completion/completions/schedlab
  schedlab completions zsh > ~/.zfunc/_schedlab
  schedlab completions fish > ~/.config/fish/completions/schedlab.fish")]
pub struct CompletionsArgs {
    /// Shell to complete for
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
