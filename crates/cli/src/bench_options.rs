//! Options of benchmarks: shared options, and one option for each parameter of a benchmark.

use crate::given::{GivenArgs, definitions};
use crate::options::{OnOff, RunFormat, cost_setting, seconds, setting};
use crate::scx::{OnError, ScxOptions};
use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use schedlab_bench::parameter::ALL_CPUS;
use schedlab_bench::{Benchmark, Kind, Parameter, Value};
use schedlab_lab::plan::SetValues;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Options that all benchmarks share. The identifier of each is its name if a benchmark has an
/// option of the same name: see [`shared`].
#[derive(Args, Debug)]
#[command(next_help_heading = "Laboratory")]
pub struct Common {
    /// Schedulers to compare: names as in `schedlab list`, `linux`, `textbook` or `all`; scx:FILE
    /// is a sched_ext policy
    #[arg(
        id = "lab-scheduler",
        long = "scheduler",
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "linux"
    )]
    pub schedulers: Vec<String>,
    /// Number of CPUs; with --machine, use only the first N of the machine [default: 1; with
    /// --machine, all]
    #[arg(
        id = "lab-cpus",
        long = "cpus",
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub cpus: Option<u32>,
    /// Machine: a preset (`schedlab list --machines`), flat-N, or a file [default: equal CPUs]
    #[arg(id = "lab-machine", long = "machine", value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Ticks per second [default: the usual configuration of each release]
    #[arg(
        id = "lab-hz",
        long = "hz",
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub hz: Option<u32>,
    /// Make all operations free except the programs' own calls, even if the machine's description
    /// gives costs
    #[arg(id = "lab-no-costs", long = "no-costs")]
    pub no_costs: bool,
    /// Cost of one operation, in ns, e.g. switch=1500 or o_n.scan=40 (`docs/machines.md` lists
    /// them)
    #[arg(
        id = "lab-cost",
        long = "cost",
        value_name = "NAME=NS",
        value_parser = cost_setting,
        conflicts_with = "lab-no-costs"
    )]
    pub cost: Vec<(String, f64)>,
    /// Whether idle CPUs stop their ticks, on machines with costs [default: as in each release]
    #[arg(id = "lab-nohz", long = "nohz", value_enum, value_name = "on|off")]
    pub nohz: Option<OnOff>,
    /// Tunable to set in the schedulers that have it (`schedlab list NAME` shows them)
    #[arg(id = "lab-set", long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, SetValues)>,
    /// Time limit of each run, in simulated seconds
    #[arg(id = "lab-duration", long = "duration", value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<u64>,
    /// Seed of all random choices of the benchmark
    #[arg(id = "lab-seed", long = "seed", value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Number of runs, each with the next seed: the mean, minimum, maximum and standard deviation
    /// are shown
    #[arg(
        id = "lab-repeat",
        long = "repeat",
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=100_000)
    )]
    pub repeat: u64,
    /// Variable of sched_ext policies to set before they are loaded, or ops.FIELD, or
    /// map.NAME.max_entries (`schedlab scx show FILE` lists them)
    #[arg(id = "lab-scx-set", long = "scx-set", value_name = "NAME=VALUE")]
    pub scx_set: Vec<String>,
    /// File of such variables, in TOML
    #[arg(id = "lab-scx-config", long = "scx-config", value_name = "FILE.toml")]
    pub scx_config: Option<PathBuf>,
    /// Run a program of section `syscall` before the policy is attached, with these numbers
    #[arg(id = "lab-scx-call", long = "scx-call", value_name = "NAME=N,...")]
    pub scx_call: Vec<String>,
    /// Script, in TOML, that plays the user half of the policies
    #[arg(id = "lab-scx-user", long = "scx-user", value_name = "FILE.toml")]
    pub scx_user: Option<PathBuf>,
    /// Reaction to the end of a policy: stop the run, or continue first come, first served
    #[arg(
        id = "lab-scx-on-error",
        long = "scx-on-error",
        value_enum,
        value_name = "stop|fallback"
    )]
    pub scx_on_error: Option<OnError>,
    /// Time in ns for which a CPU whose task could continue ignores tasks that another CPU has put
    /// back; the CPUs of a kernel act on the same tick in no fixed order
    #[arg(id = "lab-scx-put-back", long = "scx-put-back", value_name = "NS")]
    pub scx_put_back: Option<u64>,
    /// Cost of a BPF instruction, ns (same as --cost scx.insn=NS)
    #[arg(id = "lab-scx-insn", long = "scx-insn", value_name = "NS")]
    pub scx_insn: Option<f64>,
    /// Output format
    #[arg(
        id = "lab-format",
        long = "format",
        value_enum,
        default_value = "table",
        value_name = "FORMAT"
    )]
    pub format: RunFormat,
    /// Figure that a sweep shows, by its name in the table [default: the benchmark's first]
    #[arg(id = "lab-figure", long = "figure", value_name = "NAME")]
    pub figure: Option<String>,
    /// Draw the curve of a sweep into a file, as SVG or PNG
    #[arg(id = "lab-plot", long = "plot", value_name = "FILE.svg|png")]
    pub plot: Option<PathBuf>,
    /// Also write a page for a browser: all figures as curves and tables, and one run of each
    /// scheduler with its timeline, in one file that needs no network (docs/report.md)
    #[arg(id = "lab-report", long = "report", value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Show the page in the browser when it is written
    #[arg(id = "lab-open", long = "open", requires = "lab-report")]
    pub open: bool,
    /// Save each result in this new file as soon as it is available
    #[arg(id = "lab-save", long = "save", value_name = "FILE", conflicts_with = "lab-resume")]
    pub save: Option<PathBuf>,
    /// File written by --save: keep its results, and save the remaining ones there
    #[arg(id = "lab-resume", long = "resume", value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Number of cores to use for simulation; it does not affect the result [default: all]
    #[arg(id = "lab-cores", long = "cores", value_name = "N")]
    pub cores: Option<NonZeroUsize>,
    /// Run nothing: check everything and write the plan into this file; `schedlab bench plan PLAN`
    /// runs it
    #[arg(id = "lab-plan-out", long = "plan-out", value_name = "PLAN.json")]
    pub plan_out: Option<PathBuf>,
    /// Write the dump of a policy that ends with an error into this file
    #[arg(id = "lab-scx-dump", long = "scx-dump", value_name = "FILE")]
    pub scx_dump: Option<PathBuf>,
}

impl Common {
    /// Returns the options of sched_ext policies.
    pub fn scx(&self) -> ScxOptions {
        ScxOptions {
            scx_set: self.scx_set.clone(),
            scx_config: self.scx_config.clone(),
            scx_call: self.scx_call.clone(),
            scx_user: self.scx_user.clone(),
            scx_expects: vec![],
            scx_promise: vec![],
            scx_on_error: self.scx_on_error,
            scx_put_back: self.scx_put_back,
            scx_insn: self.scx_insn,
            scx_dump: self.scx_dump.clone(),
        }
    }
}

/// Identifiers of the options of [`Common`] that only affect how runs are made and shown.
const OUTPUT: [&str; 10] = [
    "lab-format",
    "lab-figure",
    "lab-plot",
    "lab-report",
    "lab-open",
    "lab-save",
    "lab-resume",
    "lab-cores",
    "lab-plan-out",
    "lab-scx-dump",
];

/// Returns the long names of the options of [`Common`] in `matches` that change the run.
pub fn changes_of_plan(matches: &ArgMatches) -> Vec<String> {
    let options = GivenArgs::of(matches).options::<Common>(&OUTPUT);
    options.iter().map(|id| id[PREFIX.len()..].to_string()).collect()
}

/// Prefix of the identifiers of the options of [`Common`]; their long names follow it.
const PREFIX: &str = "lab-";

/// Identifiers of all options of [`Common`].
static SHARED: LazyLock<Vec<String>> =
    LazyLock::new(|| definitions::<Common>().map(|(id, _)| id).collect());

/// Returns the identifiers of all options of [`Common`].
pub fn shared() -> impl Iterator<Item = &'static str> {
    SHARED.iter().map(String::as_str)
}

/// Identifiers of positional parameters.
const PLACES: [&str; 4] = ["place-1", "place-2", "place-3", "place-4"];

/// Returns the parameters that were set, with their positions, in the order of the command line.
pub fn given(
    benchmark: &'static dyn Benchmark,
    matches: &ArgMatches,
) -> Vec<(usize, &'static str, Vec<Value>)> {
    let parameters = benchmark.parameters();
    let placed = parameters.iter().filter(|parameter| parameter.positional).zip(PLACES);
    let ids = parameters.iter().map(|parameter| (parameter, &*parameter.name));
    let mut found: Vec<(usize, &'static str, Vec<Value>)> = ids
        .chain(placed)
        .filter_map(|(parameter, id)| {
            let values = matches.get_one::<Vec<Value>>(id)?;
            Some((matches.index_of(id).unwrap_or(usize::MAX), &*parameter.name, values.clone()))
        })
        .collect();
    found.sort_by_key(|(place, ..)| *place);
    found
}

/// Returns `command` with the benchmark's own options.
pub fn options_of(benchmark: &'static dyn Benchmark, command: Command) -> Command {
    let parameters = benchmark.parameters();
    let command = command.next_help_heading("Parameters").args(parameters.iter().map(option));
    let placed = parameters.iter().filter(|parameter| parameter.positional).zip(PLACES);
    let command = command.args(placed.map(|(parameter, id)| by_place(parameter, id)));
    if parameters.iter().any(|parameter| parameter.short == Some('h')) {
        // In the real program, -h has another meaning.
        let help = Arg::new("help").long("help").action(ArgAction::Help).help("Print help");
        return command.disable_help_flag(true).arg(help);
    }
    command
}

/// Returns the placeholder for a value in the help.
fn value_name(parameter: &Parameter) -> &'static str {
    match parameter.kind {
        Kind::Whole { .. } => "N,...",
        Kind::Real { .. } => "X,...",
        Kind::Word(_) => "WORD,...",
        Kind::Cpus => "CPUS,...",
        Kind::Flag => "true|false,...",
    }
}

/// Makes a parser of lists of values.
fn reader(
    parameter: &'static Parameter,
) -> impl Fn(&str) -> Result<Vec<Value>, String> + Clone + Send + Sync + 'static {
    move |text: &str| parameter.read(text).map_err(|error| error.message)
}

/// Capitalises a text that begins with an ordinary word.
fn capitalised(text: &str) -> String {
    let word = text.split([' ', ',']).next().unwrap_or_default();
    match text.get(..1) {
        Some(first) if word.bytes().all(|byte| byte.is_ascii_lowercase()) => {
            format!("{}{}", first.to_uppercase(), &text[1..])
        }
        _ => text.into(),
    }
}

fn help(parameter: &Parameter) -> String {
    let words = match parameter.kind {
        Kind::Word(words) => format!(": {}", words.join(", ")),
        Kind::Cpus => format!(": {ALL_CPUS}"),
        _ => String::new(),
    };
    let default = match parameter.default {
        "" => String::new(),
        default => format!(" [default: {default}]"),
    };
    format!("{}{words}{default}", capitalised(parameter.about))
}

/// Makes the option that sets a parameter.
pub fn option(parameter: &'static Parameter) -> Arg {
    let mut option = Arg::new(&*parameter.name)
        .long(&*parameter.name)
        .value_name(value_name(parameter))
        .value_parser(reader(parameter))
        .help(help(parameter));
    if let Some(letter) = parameter.short {
        option = option.short(letter);
    }
    // A value out of range must be reported as such, not as an unknown option -1. Where numbers
    // below 0 are valid, a list may begin with one.
    option = match parameter.kind {
        Kind::Real { least, .. } if least < 0.0 => option.allow_hyphen_values(true),
        Kind::Whole { .. } | Kind::Real { .. } => option.allow_negative_numbers(true),
        Kind::Word(_) | Kind::Cpus | Kind::Flag => option,
    };
    if parameter.kind == Kind::Flag {
        option = option
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .hide_default_value(true);
    }
    option
}

fn by_place(parameter: &'static Parameter, id: &'static str) -> Arg {
    Arg::new(id)
        .value_name(&*parameter.name)
        .value_parser(reader(parameter))
        .conflicts_with(&*parameter.name)
        .help(format!("Same as --{}", parameter.name))
}
