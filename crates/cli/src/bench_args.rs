//! The command line of `schedlab bench`: a subcommand a benchmark, made of its parameters.
//!
//! A benchmark's own options have the names of the real program, long and short. Those that all
//! benchmarks share have long names only; where a benchmark has the same name, the shared option
//! becomes `--lab-NAME`.

use crate::args::{OnOff, RunFormat, cost_setting, seconds, setting};
use crate::mix_args;
use clap::error::{Error, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use schedlab_bench::combined::Given;
use schedlab_bench::parameter::ALL_CPUS;
use schedlab_bench::{ALL, Benchmark, Chosen, Kind, Parameter, Value};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// Run a benchmark under one or more schedulers
///
/// The benchmarks by which schedulers were judged, as programs for the simulated machine: each
/// prints what the real program prints, under each scheduler, and then what came of it side by
/// side. Every parameter takes a list, as 50,100 or 25..200:25; then the result is shown as a table
/// and as a curve.
#[derive(Args, Debug)]
#[command(after_help = "\
`schedlab bench NAME --help` tells the parameters of each.

Examples:
  schedlab bench hackbench
  schedlab bench hackbench 25 --scheduler o_1,cfs --cpus 4
  schedlab bench hackbench --groups 50,100,150,200 --scheduler o_n,o_1 --machine pentium3-700x8 --plot hb.svg
  schedlab bench mix \"game --time 20\" \"hackbench 5\" --scheduler o_1,cfs    several at once")]
pub struct BenchArgs {
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// A benchmark and what was set.
pub struct BenchCommand {
    /// Which.
    pub benchmark: Chosen,
    /// Parameters that were set, in the order in which they were.
    pub given: Given,
    /// What can be set about all benchmarks.
    pub common: Common,
}

impl fmt::Debug for BenchCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {:?}", self.benchmark.name(), self.given, self.common)
    }
}

/// What can be set about all benchmarks. Each one's identifier is the name that it takes if the
/// benchmark has its own: see [`SHARED`].
#[derive(Args, Debug)]
#[command(next_help_heading = "Laboratory")]
pub struct Common {
    /// Schedulers to compare: names as `schedlab list` shows them, `linux`, `textbook` or `all`
    #[arg(
        id = "lab-scheduler",
        long = "scheduler",
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "linux"
    )]
    pub schedulers: Vec<String>,
    /// Number of CPUs; with --machine so many of the machine's, its first ones [default: 1; with
    /// --machine all]
    #[arg(id = "lab-cpus", long = "cpus", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// The machine: a preset (`schedlab list --machines`), flat-N, or a file [default: equal CPUs]
    #[arg(id = "lab-machine", long = "machine", value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Ticks a second [default: what each release had in its usual build]
    #[arg(id = "lab-hz", long = "hz", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Nothing but the programs' own calls costs anything, even if the machine's description says
    /// what does
    #[arg(id = "lab-no-costs", long = "no-costs")]
    pub no_costs: bool,
    /// Set what one thing costs, in ns, e.g. switch=1500 or o_n.scan=40 (`docs/machines.md` lists
    /// them)
    #[arg(id = "lab-cost", long = "cost", value_name = "NAME=NS", value_parser = cost_setting, conflicts_with = "lab-no-costs")]
    pub cost: Vec<(String, f64)>,
    /// Whether idle CPUs go without ticks, where things cost something [default: as each release
    /// has it]
    #[arg(id = "lab-nohz", long = "nohz", value_enum, value_name = "on|off")]
    pub nohz: Option<OnOff>,
    /// Set a tunable of the schedulers that have it (`schedlab list` shows them)
    #[arg(id = "lab-set", long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, i64)>,
    /// End each run after so many simulated seconds at the latest
    #[arg(id = "lab-duration", long = "duration", value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<u64>,
    /// Of all that is random in the benchmark
    #[arg(id = "lab-seed", long = "seed", value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run everything so often, each time with the next seed: mean, least, most and standard
    /// deviation are told
    #[arg(id = "lab-repeat", long = "repeat", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub repeat: u64,
    /// How to print
    #[arg(
        id = "lab-format",
        long = "format",
        value_enum,
        default_value = "table",
        value_name = "FORMAT"
    )]
    pub format: RunFormat,
    /// Which figure a sweep shows, by its name in the table [default: the benchmark's first]
    #[arg(id = "lab-figure", long = "figure", value_name = "NAME")]
    pub figure: Option<String>,
    /// Draw the curve of a sweep into a file, as SVG
    #[arg(id = "lab-plot", long = "plot", value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Save each result in this new file as soon as it is there
    #[arg(id = "lab-save", long = "save", value_name = "FILE", conflicts_with = "lab-resume")]
    pub save: Option<PathBuf>,
    /// Take what is finished from such a file, and save the rest there
    #[arg(id = "lab-resume", long = "resume", value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Simulate on so many cores at once; the result is the same [default: all there are]
    #[arg(id = "lab-cores", long = "cores", value_name = "N")]
    pub cores: Option<NonZeroUsize>,
}

/// The identifiers of the options of [`Common`]: `lab-` and their long names.
const SHARED: [&str; 17] = [
    "lab-scheduler",
    "lab-cpus",
    "lab-machine",
    "lab-hz",
    "lab-no-costs",
    "lab-cost",
    "lab-nohz",
    "lab-set",
    "lab-duration",
    "lab-seed",
    "lab-repeat",
    "lab-format",
    "lab-figure",
    "lab-plot",
    "lab-save",
    "lab-resume",
    "lab-cores",
];

/// Identifiers of parameters given by their place.
const PLACES: [&str; 4] = ["place-1", "place-2", "place-3", "place-4"];

impl Subcommand for BenchCommand {
    fn augment_subcommands(command: Command) -> Command {
        let command = command
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true);
        command
            .subcommand_value_name("BENCHMARK")
            .subcommand_help_heading("Benchmarks")
            .subcommands(ALL.iter().map(|one| subcommand(*one)))
            .subcommand(mix_args::subcommand())
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        BenchCommand::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        name == mix_args::NAME || schedlab_bench::find(name).is_some()
    }
}

impl FromArgMatches for BenchCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<BenchCommand, Error> {
        let found = matches.subcommand();
        if let Some((mix_args::NAME, matches)) = found {
            let (mix, given) = mix_args::mix(matches)?;
            return Ok(BenchCommand {
                benchmark: Chosen::Owned(Arc::new(mix)),
                given,
                common: Common::from_arg_matches(matches)?,
            });
        }
        let found = found.and_then(|(name, matches)| Some((schedlab_bench::find(name)?, matches)));
        let (benchmark, matches) = found.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        Ok(BenchCommand {
            benchmark: benchmark.into(),
            given: given(benchmark, matches)
                .into_iter()
                .map(|(_, name, values)| (name.into(), values))
                .collect(),
            common: Common::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = BenchCommand::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The parameters that were set, with their places, in the order in which they stand on the command
/// line.
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

fn subcommand(benchmark: &'static dyn Benchmark) -> Command {
    let parameters = benchmark.parameters();
    let mut about = benchmark.about().to_string();
    if let Some(first) = about.get(..1) {
        about.replace_range(..1, &first.to_uppercase());
    }
    let mut command = Command::new(benchmark.name()).after_help(
        "Every parameter takes a list, as 50,100 or 25..200:25 (a flag: --flag=false,true), and then the first figure is shown over it \
         as a table and a curve. With several lists there is a curve for each choice of values of all but the first.",
    );
    command = options_of(benchmark, command);
    // The words about the shared options are not about the benchmark.
    command = Common::augment_args(command).about(about).long_about(None);
    for id in SHARED {
        let long = &id["lab-".len()..];
        if parameters.iter().any(|parameter| parameter.name == long) {
            command = command.mut_arg(id, |option| option.long(id));
        }
    }
    command
}

/// `command` with the benchmark's own options.
pub fn options_of(benchmark: &'static dyn Benchmark, command: Command) -> Command {
    let parameters = benchmark.parameters();
    let command = command.next_help_heading("Parameters").args(parameters.iter().map(option));
    let placed = parameters.iter().filter(|parameter| parameter.positional).zip(PLACES);
    let command = command.args(placed.map(|(parameter, id)| by_place(parameter, id)));
    if parameters.iter().any(|parameter| parameter.short == Some('h')) {
        // The real program means something else by -h.
        let help = Arg::new("help").long("help").action(ArgAction::Help).help("Print help");
        return command.disable_help_flag(true).arg(help);
    }
    command
}

/// What stands for a value in the help.
fn value_name(parameter: &Parameter) -> &'static str {
    match parameter.kind {
        Kind::Whole { .. } => "N,...",
        Kind::Real { .. } => "X,...",
        Kind::Word(_) => "WORD,...",
        Kind::Cpus => "CPUS,...",
        Kind::Flag => "true|false,...",
    }
}

/// Reads lists of values.
fn reader(
    parameter: &'static Parameter,
) -> impl Fn(&str) -> Result<Vec<Value>, String> + Clone + Send + Sync + 'static {
    move |text: &str| parameter.read(text).map_err(|error| error.message)
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
    format!("{}{words}{default}", parameter.about)
}

/// The option that sets a parameter.
pub fn option(parameter: &'static Parameter) -> Arg {
    let mut option = Arg::new(&*parameter.name)
        .long(&*parameter.name)
        .value_name(value_name(parameter))
        .value_parser(reader(parameter))
        .help(help(parameter));
    if let Some(letter) = parameter.short {
        option = option.short(letter);
    }
    // What is out of range is to be told so, not that there is no option -1; where numbers below 0
    // do, lists may begin with one.
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
        .help(format!("the same as --{}", parameter.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Whole {
        #[command(flatten)]
        args: BenchArgs,
    }

    fn parsed(line: &str) -> Result<BenchCommand, Error> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Whole::try_parse_from(words).map(|whole| whole.args.command)
    }

    #[test]
    fn every_benchmark_has_options_that_do_not_collide() {
        use clap::CommandFactory;
        Whole::command().debug_assert();
        let shared = Common::augment_args(Command::new(""));
        let ids: Vec<&str> =
            shared.get_arguments().map(|option| option.get_id().as_str()).collect();
        assert_eq!(ids, SHARED);
        for option in shared.get_arguments() {
            assert_eq!(
                option.get_long().map(|long| format!("lab-{long}")).as_deref(),
                Some(option.get_id().as_str())
            );
            assert_eq!(option.get_short(), None);
        }
    }

    #[test]
    fn values_below_0_are_values() {
        let command = parsed("editor --nice -5,0,5 --hogs 2").expect("it is right");
        let nice = [-5.0, 0.0, 5.0].map(Value::Real).to_vec();
        let expected = [("nice".into(), nice), ("hogs".into(), vec![Value::Whole(2)])];
        assert_eq!(command.given, expected);
        let told = parsed("editor --hogs -1").expect_err("fewer than none").to_string();
        assert!(told.contains("\"-1\" is no whole number; give 0 to"), "{told}");
    }

    #[test]
    fn parameters_are_set_as_the_real_program_has_it() {
        let command =
            parsed("hackbench -f 5,6 -pT --groups 10..30:10 --cpus 2").expect("it is right");
        let names: Vec<(&str, usize)> =
            command.given.iter().map(|(name, values)| (&**name, values.len())).collect();
        assert_eq!(names, [("fds", 2), ("pipe", 1), ("threads", 1), ("groups", 3)]);
        assert_eq!(command.given[1].1, [Value::Flag(true)]);
        assert_eq!(command.common.cpus, Some(2));
        let command = parsed("hackbench 25 --pipe=false,true").expect("it is right");
        assert_eq!(command.given[0], ("groups".into(), vec![Value::Whole(25)]));
        assert_eq!(command.given[1], ("pipe".into(), vec![Value::Flag(false), Value::Flag(true)]));
        let command = parsed("cyclictest -h 400").expect("it is its histogram, not help");
        assert_eq!(command.given[0].0, "histogram");
        assert!(parsed("hackbench 25 --groups 30").is_err());
        assert!(parsed("hackbench --groups 0").is_err());
    }
}
