//! Runs a benchmark under a scheduler: [`Bench`].

use crate::assembly::{self, Assembly, Observed, Outcome};
use crate::catch_panic::catch_panic;
use crate::config::RunConfig;
use crate::error::Error;
use crate::refused;
use crate::report_of::TaskInfo;
use crate::run::Run;
use crate::select::{Choice, Needs};
use crate::setup::{self, NewGroup};
use schedlab_bench::{AnyBenchmark, Conditions, End, Values};
use schedlab_core::{Event, GroupId, Observer, Scheduler, TaskId, Tunable};
use schedlab_machine::{Action, Machine, RunEnd};
use schedlab_measure::fairness::{Fairness, Group};
use schedlab_measure::{Refusals, Stats};
use schedlab_workload::Reason;
use schedlab_workload::programs::{Kernel, PartId, Profile};

/// A benchmark with all that is set about it, but for the scheduler.
#[derive(Clone)]
pub struct Bench {
    /// Which.
    pub benchmark: AnyBenchmark,
    /// Its parameters.
    pub values: Values,
    /// The machine and what is set about it.
    pub config: RunConfig,
}

impl Bench {
    /// `benchmark` as it is if nobody sets anything, on one CPU.
    pub fn new(benchmark: impl Into<AnyBenchmark>) -> Bench {
        let benchmark = benchmark.into();
        Bench {
            values: Values::defaults(benchmark.parameters()),
            benchmark,
            config: RunConfig::flat(1),
        }
    }

    /// What it asks of a scheduler.
    pub fn needs(&self) -> Needs {
        Needs {
            policies: self.benchmark.policies(&self.values),
            affinity: self.benchmark.binds(&self.values),
            groups: !self.benchmark.groups(&self.values).is_empty(),
            ..self.config.needs()
        }
    }

    /// The tunables of `choice`, which does not refuse it, on this machine.
    pub fn known_tunables(&self, choice: &Choice) -> Vec<Tunable> {
        self.config.tunables_of(choice)
    }

    /// The seed of all that is random in it.
    pub fn seed(&self) -> u64 {
        self.config.seed.unwrap_or(1)
    }

    /// Follows the ideal machine beside the one that it runs on.
    pub(crate) fn fairness(&self) -> Fairness {
        let shares = self.benchmark.groups(&self.values);
        let group = |shares: u64| Group { parent: GroupId::ROOT, shares };
        let groups: Vec<Group> = shares.into_iter().map(group).collect();
        Fairness::new(self.config.cpus, setup::weights(), &groups, 0)
    }

    /// Runs it under `choice`.
    ///
    /// # Errors
    /// [`Error`], also if `choice` refuses what it [`needs`](Bench::needs).
    pub fn run(&self, choice: &Choice) -> Result<Run, Error> {
        self.run_with(choice, ()).map(|(run, ())| run)
    }

    /// The same with an observer of the caller's, which sees every event.
    ///
    /// # Errors
    /// As of [`run`](Bench::run).
    pub fn run_with<O: Observer>(&self, choice: &Choice, observer: O) -> Result<(Run, O), Error> {
        if let Some(why) = choice.refuses(&self.needs()) {
            return Err(Error::CannotRun { what: self.benchmark.name().into(), why });
        }
        catch_panic(|| self.run_uncaught(choice, observer)).map_err(Error::Broken)?
    }

    fn run_uncaught<O: Observer>(&self, choice: &Choice, others: O) -> Result<(Run, O), Error> {
        let config = &self.config;
        let calls = config.costs.as_ref().map(|costs| setup::calls(costs, choice));
        let conditions = Conditions {
            cpus: config.cpus,
            profile: Profile::of(choice.release.kernel()),
            costs: calls.unwrap_or_default(),
            seed: self.seed(),
        };
        let mut os = conditions.os();
        let prepared = self.benchmark.prepare(&self.values, &conditions, &mut os)?;
        let shares = self.benchmark.groups(&self.values);
        let paths: Vec<String> = (1..=shares.len()).map(|number| format!("/{number}")).collect();
        let groups: Vec<NewGroup<'_>> = paths
            .iter()
            .zip(shares)
            .map(|(path, shares)| NewGroup::weighing(path, shares))
            .collect();
        let mut assembly = Assembly::new(config, choice)?;
        assembly.groups = &groups;
        let mut machine =
            assembly.build(os, ((Stats::new(config.cpus, &[]), Refusals::new()), others))?;
        let limit_ns =
            prepared.limit_ns.unwrap_or(u64::MAX).min(config.limit_ns.unwrap_or(u64::MAX));
        let end = match run_parts(&mut machine, limit_ns) {
            Ok(end) => end,
            Err(error) if error.reason() == Reason::Finished => RunEnd::AllEnded,
            Err(error) => return Err(error.into()),
        };
        let now_ns = machine.now_ns();
        machine.observer_mut().on(now_ns, Event::Finished);
        let refusals = &machine.observer().0.1;
        let refused = refused::text(refusals, |task| machine.workload().thread_name(task));
        let stuck = (end == RunEnd::Stuck).then(|| report_stuck(machine.workload(), now_ns));
        let remarks = machine.scheduler().inspect().remarks();
        let warnings: Vec<String> = refused.into_iter().chain(stuck).chain(remarks).collect();
        let warning = (!warnings.is_empty()).then(|| warnings.join("\n"));
        let outcome = Outcome::of(&machine, end);
        let (scheduler, os, ((stats, refusals), others)) = machine.into_parts();
        let findings =
            (prepared.finish)(&End { now_ns, part: PartId::default(), os: &os, stats: &stats });
        let observed = Observed {
            tasks: &task_infos(&os),
            groups: &[],
            stats: &stats,
            fairness: None,
            group_usage: None,
            refusals: Some(&refusals),
            slices: None,
            spans: None,
        };
        let seed = Some(self.seed());
        let report = assembly::report(config, choice, seed, outcome, &*scheduler, observed);
        Ok((Run { report, findings, log: None, warning }, others))
    }
}

/// Runs until `limit_ns`. Parts of the benchmark that have a limit of their own are ended then.
fn run_parts<S: Scheduler, O: Observer>(
    machine: &mut Machine<S, Kernel, O>,
    limit_ns: u64,
) -> Result<RunEnd, schedlab_workload::Error> {
    for (at_ns, part) in machine.workload().deadlines() {
        if at_ns >= limit_ns {
            break;
        }
        match machine.run_to(at_ns)? {
            RunEnd::TimeUp => {}
            end => return Ok(end),
        }
        for task in machine.workload().living(part) {
            // Whoever has ended since is dead already.
            let _ = machine.act(&Action::Kill(task));
        }
    }
    machine.run_to(limit_ns)
}

fn task_infos(os: &Kernel) -> Vec<TaskInfo> {
    let info = |number| {
        let task = TaskId(number as u32);
        TaskInfo {
            name: os.thread_name(task),
            key: os.name(task).into(),
            attr: os.attr(task).sched,
            ..TaskInfo::default()
        }
    };
    (0..os.task_count()).map(info).collect()
}

/// Who waits for what, in a run that is stuck.
fn report_stuck(os: &Kernel, now_ns: u64) -> String {
    const MOST: usize = 5;
    let waiting = os.wait_graph().waiting;
    let lines: Vec<String> = waiting
        .iter()
        .take(MOST)
        .map(|waiting| format!("{} waits {}", waiting.thread, waiting.waits_for.brief()))
        .collect();
    let more = if waiting.len() > MOST { ", ..." } else { "" };
    format!(
        "at {:.6} s no task can ever run again: {}{more}",
        now_ns as f64 / 1e9,
        lines.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select;
    use schedlab_machine::costs::CostModel;

    fn hackbench(set: &[(&str, &str)], cpus: u32) -> Bench {
        let benchmark = schedlab_bench::find("hackbench").expect("it is there");
        let mut values = Values::defaults(benchmark.parameters());
        for (name, text) in set {
            values = values.with(benchmark.parameters(), name, text).expect("it does");
        }
        Bench { values, config: RunConfig::flat(cpus), ..Bench::new(benchmark) }
    }

    /// The specification's own check: 16,000 messages of 3.4 us each, on one CPU and on two.
    #[test]
    fn hackbench_takes_as_long_as_its_messages() {
        let choice = select::find("bfs").expect("it is there");
        for (cpus, expected_s, tolerance_s) in [(1, 0.0544, 0.0002), (2, 0.0272, 0.0005)] {
            let bench = hackbench(&[("groups", "2"), ("loops", "20")], cpus);
            let run = bench.run(&choice).expect("it runs");
            let time_s = run.findings.figure("time").expect("it is measured");
            assert!((time_s - expected_s).abs() < tolerance_s, "{cpus} CPUs: {time_s} s");
            assert_eq!(run.warning, None);
        }
    }

    #[test]
    fn every_scheduler_delivers_every_message_with_sockets_and_with_pipes() {
        for choice in select::all() {
            for pipe in ["false", "true"] {
                let bench = hackbench(&[("groups", "1"), ("loops", "5"), ("pipe", pipe)], 1);
                let run = bench.run(&choice).unwrap_or_else(|error| panic!("{choice}: {error}"));
                assert_eq!(run.warning, None, "{choice}");
                assert!(run.findings.figure("time").is_some_and(|time_s| time_s > 0.0), "{choice}");
            }
        }
    }

    #[test]
    fn ticks_that_leave_no_time_are_refused_and_do_not_run_for_ever() {
        let choice = select::find("cfs").expect("it is there");
        let mut costs = CostModel::default();
        costs.set("tick", 999_000.0).expect("it is there");
        costs.set("interrupt", 1_000.0).expect("it is there");
        let mut bench = hackbench(&[("groups", "1")], 1);
        bench.config.hz = Some(1000);
        bench.config.costs = Some(costs);
        let told = bench.run(&choice).expect_err("a tick costs a millisecond").to_string();
        assert!(told.contains("a tick costs 1000000 ns"), "{told}");
        bench.config.hz = Some(100);
        assert!(bench.run(&choice).is_ok());
    }

    #[test]
    fn what_a_scheduler_cannot_run_is_refused_and_does_not_panic() {
        let choice = select::find("cfs@2.6.23").expect("it is there");
        let error = hackbench(&[("groups", "1"), ("loops", "5")], 2)
            .run(&choice)
            .expect_err("it has one CPU");
        assert_eq!(error.to_string(), "it cannot run hackbench: it has only one CPU");
    }
}
