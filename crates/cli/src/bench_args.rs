//! The command line of `schedlab bench`: a subcommand for each benchmark, made from its parameters.
//!
//! A benchmark's own options have the names of the real program, long and short. Options that all
//! benchmarks share have long names only. Where a benchmark has an option of the same name, the
//! shared one becomes `--lab-NAME`.

use crate::bench_options::{Common, changes_of_plan, given, options_of, shared};
use crate::{mix_args, plan_args};
use clap::error::{Error, ErrorKind};
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use schedlab_bench::{ALL, Benchmark};
use schedlab_lab::plan::{self, Load, setting};
use std::path::PathBuf;

/// Run a benchmark under one or more schedulers
///
/// The benchmarks by which schedulers were judged, as programs for the simulated machine: each
/// prints what the real program prints, under each scheduler, followed by the results side by side.
/// Every parameter accepts a list, such as 50,100 or 25..200:25; the result is then a table and a
/// curve.
#[derive(Args, Debug)]
#[command(after_help = "\
`schedlab bench NAME --help` describes the parameters of each.

Examples:
  schedlab bench hackbench
  schedlab bench hackbench 25 --scheduler o_1,cfs --cpus 4
  schedlab bench hackbench --groups 50,100,150,200 --scheduler o_n,o_1 \\
      --machine pentium3-700x8 --plot hb.svg
  schedlab bench mix \"game --time 20\" \"hackbench 5\" --scheduler o_1,cfs    several at once
  schedlab bench hackbench --groups 25,50 --plan-out hb.json       a plan of the run, as a file
  schedlab bench plan hb.json                                      and the run of that plan")]
pub struct BenchArgs {
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// Benchmark or plan, and the shared options.
#[derive(Debug)]
pub struct BenchCommand {
    /// Benchmark or plan.
    pub subject: Subject,
    /// Options that all benchmarks share.
    pub common: Common,
}

/// Benchmark or plan.
#[derive(Debug)]
pub enum Subject {
    /// A benchmark, or a mix of them.
    Load(Load),
    /// The plan in a file.
    Plan {
        /// The plan's file.
        file: PathBuf,
        /// Options given with it that would change the run.
        changes: Vec<String>,
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
                let changes = changes_of_plan(matches);
                Subject::Plan { file: plan_args::file(matches), changes }
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
        "Every parameter accepts a list, such as 50,100 or 25..200:25 (a flag: --flag=false,true), \
         and the first figure is then shown over the list as a table and a curve. With several \
         lists there is a curve for each combination of values of all but the first.",
    );
    command = options_of(benchmark, command);
    // The text about the shared options does not describe the benchmark.
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
    struct TestCommand {
        #[command(flatten)]
        args: BenchArgs,
    }

    fn parsed(line: &str) -> Result<BenchCommand, Error> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        TestCommand::try_parse_from(words).map(|whole| whole.args.command)
    }

    #[test]
    fn every_benchmark_has_options_that_do_not_collide() {
        use clap::CommandFactory;
        TestCommand::command().debug_assert();
        let common = Common::augment_args(Command::new(""));
        for option in common.get_arguments() {
            assert_eq!(
                option.get_long().map(|long| format!("lab-{long}")).as_deref(),
                Some(option.get_id().as_str())
            );
            assert_eq!(option.get_short(), None);
        }
    }

    /// Returns the parameters of the benchmark that the line sets.
    fn set(line: &str) -> Vec<(String, String)> {
        match parsed(line).expect("the line is valid").subject {
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
        let error = parsed("editor --hogs -1").expect_err("the number is negative").to_string();
        assert!(error.contains("\"-1\" is not a whole number; give 0 to"), "{error}");
    }

    #[test]
    fn parameters_are_set_as_the_real_program_has_it() {
        let line = "hackbench -f 5,6 -pT --groups 10..30:10 --cpus 2";
        let expected =
            [("fds", "5,6"), ("pipe", "true"), ("threads", "true"), ("groups", "10,20,30")];
        assert_eq!(set(line), pairs(&expected));
        assert_eq!(parsed(line).expect("the line is valid").common.cpus, Some(2));
        let expected = pairs(&[("groups", "25"), ("pipe", "false,true")]);
        assert_eq!(set("hackbench 25 --pipe=false,true"), expected);
        // Its option -h is a histogram, not help.
        assert_eq!(set("cyclictest -h 400")[0].0, "histogram");
        assert!(parsed("hackbench 25 --groups 30").is_err());
        assert!(parsed("hackbench --groups 0").is_err());
    }

    #[test]
    fn what_is_given_beside_a_plan_is_known() {
        let line = "plan p.json --cpus 2 --seed 1 --format csv --cores 2";
        let Subject::Plan { file, changes } = parsed(line).expect("the line is valid").subject
        else {
            panic!("the line names a plan")
        };
        let expected = ["cpus", "seed"].map(String::from).to_vec();
        assert_eq!((file, changes), (PathBuf::from("p.json"), expected));
    }
}
