//! A benchmark with its parameters and machine: [`Bench`].

use crate::assembly::Assembly;
use crate::catch_panic::catch_panic;
use crate::config::RunConfig;
use crate::error::Error;
use crate::select::{Choice, Needs};
use crate::session::{BenchmarkCourse, Course, Measures, Observers, Session};
use crate::setup::{self, NewGroup};
use schedlab_bench::{AnyBenchmark, Conditions, Values};
use schedlab_core::{GroupId, Tunable};
use schedlab_measure::fairness::{Fairness, Group};
use schedlab_workload::programs::Profile;

/// A benchmark with its settings, without a scheduler.
#[derive(Clone)]
pub struct Bench {
    /// The benchmark.
    pub benchmark: AnyBenchmark,
    /// Its parameters.
    pub values: Values,
    /// The machine and its settings.
    pub config: RunConfig,
}

impl Bench {
    /// Creates `benchmark` with its default parameters, on one CPU.
    pub fn new(benchmark: impl Into<AnyBenchmark>) -> Bench {
        let benchmark = benchmark.into();
        Bench {
            values: Values::defaults(benchmark.parameters()),
            benchmark,
            config: RunConfig::flat(1),
        }
    }

    /// Features that it requires of a scheduler.
    pub fn needs(&self) -> Needs {
        Needs {
            policies: self.benchmark.policies(&self.values),
            affinity: self.benchmark.binds(&self.values),
            groups: !self.benchmark.groups(&self.values).is_empty(),
            ..self.config.needs()
        }
    }

    /// Tunables of `choice`, which does not refuse it, on this machine.
    pub fn known_tunables(&self, choice: &Choice) -> Vec<Tunable> {
        self.config.tunables_of(choice)
    }

    /// Returns the seed of everything random in it.
    pub fn seed(&self) -> u64 {
        self.config.seed.unwrap_or(1)
    }

    /// Creates the measure of fairness, which simulates an ideal machine alongside.
    pub(crate) fn fairness(&self) -> Fairness {
        let shares = self.benchmark.groups(&self.values);
        let group = |shares: u64| Group { parent: GroupId::ROOT, shares };
        let groups: Vec<Group> = shares.into_iter().map(group).collect();
        Fairness::new(self.config.cpus, setup::weights(), &groups, 0)
    }

    /// Returns a session that runs it under `choice`.
    ///
    /// # Errors
    /// The scheduler lacks a feature that the benchmark requires, or refuses a setting.
    pub fn session<'o>(&self, choice: &Choice) -> Result<Session<'o>, Error> {
        if let Some(why) = choice.refuses(&self.needs()) {
            return Err(Error::CannotRun { what: self.benchmark.name().into(), why });
        }
        catch_panic(|| self.assemble(choice)).map_err(Error::Broken)?
    }

    fn assemble<'o>(&self, choice: &Choice) -> Result<Session<'o>, Error> {
        let config = &self.config;
        let calls = config.costs.as_ref().map(|costs| setup::calls(costs, choice));
        let conditions = Conditions {
            cpus: config.cpus,
            profile: Profile::of(choice.release.kernel()),
            costs: calls.unwrap_or_default(),
            seed: self.seed(),
        };
        let mut kernel = conditions.os();
        let prepared = self.benchmark.prepare(&self.values, &conditions, &mut kernel)?;
        let shares = self.benchmark.groups(&self.values);
        let paths: Vec<String> = (1..=shares.len()).map(|number| format!("/{number}")).collect();
        let groups: Vec<NewGroup<'_>> = paths
            .iter()
            .zip(shares)
            .map(|(path, shares)| NewGroup::weighing(path, shares))
            .collect();
        let mut assembly = Assembly::new(config, choice)?;
        assembly.groups = &groups;
        let measures = Some(Measures::of_benchmark(config.cpus));
        let machine = assembly.build(kernel, Observers { lead_ns: 0, measures, attached: None })?;
        let limit_ns =
            prepared.limit_ns.unwrap_or(u64::MAX).min(config.limit_ns.unwrap_or(u64::MAX));
        let deadlines = machine.workload().deadlines();
        let course = Course::Benchmark(BenchmarkCourse::new(prepared, deadlines));
        Ok(Session::new(machine, course, choice, config.clone(), limit_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use crate::select;
    use schedlab_machine::costs::CostModel;

    fn run(bench: &Bench, choice: &Choice) -> Result<Run, Error> {
        bench.session(choice)?.finish()
    }

    fn hackbench(set: &[(&str, &str)], cpus: u32) -> Bench {
        let benchmark = schedlab_bench::find("hackbench").expect("the benchmark exists");
        let mut values = Values::defaults(benchmark.parameters());
        for (name, text) in set {
            values = values
                .with(benchmark.parameters(), name, text)
                .expect("the parameter takes the value");
        }
        Bench { values, config: RunConfig::flat(cpus), ..Bench::new(benchmark) }
    }

    /// The check of the specification itself: 16,000 messages of 3.4 us each, on one CPU and on
    /// two.
    #[test]
    fn hackbench_takes_as_long_as_its_messages() {
        let choice = select::find("bfs").expect("the scheduler exists");
        for (cpus, expected_s, tolerance_s) in [(1, 0.0544, 0.0002), (2, 0.0272, 0.0005)] {
            let bench = hackbench(&[("groups", "2"), ("loops", "20")], cpus);
            let run = run(&bench, &choice).expect("the run succeeds");
            let time_s = run.findings.figure("time").expect("the benchmark has the figure");
            assert!((time_s - expected_s).abs() < tolerance_s, "{cpus} CPUs: {time_s} s");
            assert_eq!(run.warning, None);
        }
    }

    #[test]
    fn every_scheduler_delivers_every_message_with_sockets_and_with_pipes() {
        for choice in select::all() {
            for pipe in ["false", "true"] {
                let bench = hackbench(&[("groups", "1"), ("loops", "5"), ("pipe", pipe)], 1);
                let run = run(&bench, &choice).unwrap_or_else(|error| panic!("{choice}: {error}"));
                assert_eq!(run.warning, None, "{choice}");
                assert!(run.findings.figure("time").is_some_and(|time_s| time_s > 0.0), "{choice}");
            }
        }
    }

    #[test]
    fn ticks_that_leave_no_time_are_refused_and_do_not_run_for_ever() {
        let choice = select::find("cfs").expect("the scheduler exists");
        let mut costs = CostModel::default();
        costs.set("tick", 999_000.0).expect("the cost exists");
        costs.set("interrupt", 1_000.0).expect("the cost exists");
        let mut bench = hackbench(&[("groups", "1")], 1);
        bench.config.hz = Some(1000);
        bench.config.costs = Some(costs);
        let error = run(&bench, &choice).expect_err("a tick costs a millisecond").to_string();
        assert!(error.contains("a tick costs 1000000 ns"), "{error}");
        bench.config.hz = Some(100);
        assert!(run(&bench, &choice).is_ok());
    }

    #[test]
    fn what_a_scheduler_cannot_run_is_refused_and_does_not_panic() {
        let choice = select::find("cfs@2.6.23").expect("the release exists");
        let bench = hackbench(&[("groups", "1"), ("loops", "5")], 2);
        let error = run(&bench, &choice).expect_err("the scheduler has one CPU");
        assert_eq!(error.to_string(), "it cannot run hackbench: it has only one CPU");
    }
}
