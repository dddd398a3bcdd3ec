//! The command line of `schedlab bench`: a subcommand a benchmark, made of its parameters.
//!
//! A benchmark's own options have the names of the real program, long and short. Those that all
//! benchmarks share have long names only; where a benchmark has the same name, the shared option
//! becomes `--lab-NAME`.

use crate::bench_options::{Common, PLANNED, given, options_of, shared};
use crate::{mix_args, plan_args};
use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use schedlab_bench::{ALL, Benchmark};
use schedlab_lab::plan::{self, Load, setting};
use std::path::PathBuf;

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
  schedlab bench hackbench --groups 50,100,150,200 --scheduler o_n,o_1 \\
      --machine pentium3-700x8 --plot hb.svg
  schedlab bench mix \"game --time 20\" \"hackbench 5\" --scheduler o_1,cfs    several at once
  schedlab bench hackbench --groups 25,50 --plan-out hb.json       what is to be run, as a file
  schedlab bench plan hb.json                                      and run from it")]
pub struct BenchArgs {
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// What is to be run, and how.
#[derive(Debug)]
pub struct BenchCommand {
    /// What runs.
    pub subject: Subject,
    /// What can be set about all benchmarks.
    pub common: Common,
}

/// What runs.
#[derive(Debug)]
pub enum Subject {
    /// A benchmark, or a mix of them.
    Load(Load),
    /// What a plan says.
    Plan {
        /// The plan's file.
        file: PathBuf,
        /// Options that were given beside it and say what is run.
        beside: Vec<&'static str>,
    },
}

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
            .subcommand(plan_args::subcommand())
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        BenchCommand::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        [mix_args::NAME, plan_args::NAME].contains(&name) || schedlab_bench::find(name).is_some()
    }
}

impl FromArgMatches for BenchCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<BenchCommand, Error> {
        let (name, matches) =
            matches.subcommand().ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let subject = match name {
            mix_args::NAME => Subject::Load(Load::Mix(mix_args::mix(matches)?)),
            plan_args::NAME => {
                let given = |id: &&&str| matches.value_source(id) == Some(ValueSource::CommandLine);
                let long = |id: &&'static str| &id["lab-".len()..];
                let beside = PLANNED.iter().filter(given).map(long).collect();
                Subject::Plan { file: plan_args::file(matches), beside }
            }
            name => {
                let benchmark = schedlab_bench::find(name)
                    .ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?;
                let given = given(benchmark, matches);
                let parameters = given.iter().map(|(_, name, values)| setting(name, values));
                Subject::Load(Load::Benchmark(plan::Benchmark {
                    name: name.into(),
                    parameters: parameters.collect(),
                }))
            }
        };
        Ok(BenchCommand { subject, common: Common::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = BenchCommand::from_arg_matches(matches)?;
        Ok(())
    }
}

fn subcommand(benchmark: &'static dyn Benchmark) -> Command {
    let parameters = benchmark.parameters();
    let mut about = benchmark.about().to_string();
    if let Some(first) = about.get(..1) {
        about.replace_range(..1, &first.to_uppercase());
    }
    let mut command = Command::new(benchmark.name()).after_help(
        "Every parameter takes a list, as 50,100 or 25..200:25 (a flag: --flag=false,true), and \
         then the first figure is shown over it as a table and a curve. With several lists there is a \
         curve for each choice of values of all but the first.",
    );
    command = options_of(benchmark, command);
    // The words about the shared options are not about the benchmark.
    command = Common::augment_args(command).about(about).long_about(None);
    for id in shared() {
        let long = &id["lab-".len()..];
        if parameters.iter().any(|parameter| parameter.name == long) {
            command = command.mut_arg(id, |option| option.long(id));
        }
    }
    command
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
        let common = Common::augment_args(Command::new(""));
        let ids: Vec<&str> =
            common.get_arguments().map(|option| option.get_id().as_str()).collect();
        assert_eq!(ids, shared().collect::<Vec<_>>());
        for option in common.get_arguments() {
            assert_eq!(
                option.get_long().map(|long| format!("lab-{long}")).as_deref(),
                Some(option.get_id().as_str())
            );
            assert_eq!(option.get_short(), None);
        }
    }

    /// What the line sets about a benchmark.
    fn set(line: &str) -> Vec<(String, String)> {
        match parsed(line).expect("it is right").subject {
            Subject::Load(Load::Benchmark(benchmark)) => benchmark.parameters,
            other => panic!("no benchmark: {other:?}"),
        }
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(name, values)| (name.into(), values.into())).collect()
    }

    #[test]
    fn values_below_0_are_values() {
        let expected = pairs(&[("nice", "-5,0,5"), ("hogs", "2")]);
        assert_eq!(set("editor --nice -5,0,5 --hogs 2"), expected);
        let error = parsed("editor --hogs -1").expect_err("fewer than none").to_string();
        assert!(error.contains("\"-1\" is not a whole number; give 0 to"), "{error}");
    }

    #[test]
    fn parameters_are_set_as_the_real_program_has_it() {
        let line = "hackbench -f 5,6 -pT --groups 10..30:10 --cpus 2";
        let expected =
            [("fds", "5,6"), ("pipe", "true"), ("threads", "true"), ("groups", "10,20,30")];
        assert_eq!(set(line), pairs(&expected));
        assert_eq!(parsed(line).expect("it is right").common.cpus, Some(2));
        let expected = pairs(&[("groups", "25"), ("pipe", "false,true")]);
        assert_eq!(set("hackbench 25 --pipe=false,true"), expected);
        // It is its histogram, not help.
        assert_eq!(set("cyclictest -h 400")[0].0, "histogram");
        assert!(parsed("hackbench 25 --groups 30").is_err());
        assert!(parsed("hackbench --groups 0").is_err());
    }

    #[test]
    fn what_is_given_beside_a_plan_is_known() {
        let line = "plan p.json --cpus 2 --seed 1 --format csv --cores 2";
        let Subject::Plan { file, beside } = parsed(line).expect("it is right").subject else {
            panic!("it is a plan")
        };
        assert_eq!((file, beside), (PathBuf::from("p.json"), vec!["cpus", "seed"]));
    }
}
