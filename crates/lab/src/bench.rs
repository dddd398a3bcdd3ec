//! Runs a benchmark under a scheduler: [`Bench`].

use crate::panics;
use crate::report_of::{RunInputs, TaskInfo, report_of};
use crate::run::RunError;
use crate::select::{Choice, Needs};
use crate::setup::{self, NewGroup, Refused};
use schedlab_bench::{BadValue, Chosen, Conditions, End, Findings, Values};
use schedlab_core::{BuildConfig, Event, Scheduler, TaskId, Tunable};
use schedlab_machine::costs::CostModel;
use schedlab_machine::description::Description;
use schedlab_machine::{Action, Config, Machine, Observer, RunEnd};
use schedlab_measure::Stats;
use schedlab_report::{MachineInfo, RunReport, SchedulerInfo};
use schedlab_workload::programs::{Kernel, PartId, Profile};
use schedlab_workload::{Error, Reason};

/// A benchmark with all that is set about it, but for the scheduler.
#[derive(Clone)]
pub struct Bench {
    /// Which.
    pub benchmark: Chosen,
    /// Its parameters.
    pub values: Values,
    /// CPUs, 1 to 4096; those of `machine`, if there is one.
    pub cpus: u32,
    /// What the CPUs are; none: so many equal ones.
    pub machine: Option<Description>,
    /// What things cost; none: nothing but the programs' own calls, by the specifications' figures.
    pub costs: Option<CostModel>,
    /// Whether idle CPUs go without ticks; none: as each release has it. It matters only where
    /// things cost something.
    pub nohz: Option<bool>,
    /// Ticks a second; none: what each release had in its usual build.
    pub hz: Option<u32>,
    /// Of all random draws.
    pub seed: u64,
    /// Ends the run at the latest, ns.
    pub limit_ns: Option<u64>,
    /// The scheduler's tunables to set.
    pub tunables: Vec<(String, i64)>,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct BenchRun {
    /// What the benchmark found.
    pub findings: Findings,
    /// What the laboratory measured besides.
    pub report: RunReport,
    /// What the user should know about it besides.
    pub warning: Option<String>,
}

/// Why a benchmark came to nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BenchError {
    /// A parameter does not do.
    #[error(transparent)]
    Value(#[from] BadValue),
    /// The scheduler cannot run it on such a machine.
    #[error("it cannot run {benchmark}: {why}")]
    Refused {
        /// What it was to run.
        benchmark: &'static str,
        /// What it lacks.
        why: String,
    },
    /// The programs, or the machine, cannot go on.
    #[error("{0}")]
    Run(String),
}

impl From<Refused> for BenchError {
    fn from(error: Refused) -> BenchError {
        BenchError::Run(error.to_string())
    }
}

impl From<RunError> for BenchError {
    fn from(error: RunError) -> BenchError {
        BenchError::Run(error.to_string())
    }
}

impl Bench {
    /// `benchmark` as it is if nobody sets anything, on one CPU.
    pub fn new(benchmark: impl Into<Chosen>) -> Bench {
        let benchmark = benchmark.into();
        Bench {
            values: Values::defaults(benchmark.parameters()),
            benchmark,
            cpus: 1,
            machine: None,
            costs: None,
            nohz: None,
            hz: None,
            seed: 1,
            limit_ns: None,
            tunables: vec![],
        }
    }

    /// What it asks of a scheduler.
    pub fn needs(&self) -> Needs {
        Needs {
            cpus: self.cpus,
            hz: self.hz,
            policies: self.benchmark.policies(&self.values),
            affinity: self.benchmark.binds(&self.values),
            groups: !self.benchmark.groups(&self.values).is_empty(),
            ..Needs::default()
        }
    }

    /// The tunables of `choice`, which does not refuse it, on this machine.
    pub fn known_tunables(&self, choice: &Choice) -> Vec<Tunable> {
        choice.build(&self.build_config(choice)).inspect().tunables()
    }

    fn build_config(&self, choice: &Choice) -> BuildConfig {
        let mut build = choice.build_config(&self.needs());
        if let Some(machine) = &self.machine {
            build.topology.clone_from(&machine.topology);
        }
        build
    }

    /// Runs it under `choice`.
    ///
    /// # Errors
    /// [`BenchError`], also if `choice` refuses what it [`needs`](Bench::needs).
    pub fn run(&self, choice: &Choice) -> Result<BenchRun, BenchError> {
        if let Some(why) = choice.refuses(&self.needs()) {
            return Err(BenchError::Refused { benchmark: self.benchmark.name(), why });
        }
        panics::caught(|| self.run_uncaught(choice)).map_err(RunError::Broken)?
    }

    fn run_uncaught(&self, choice: &Choice) -> Result<BenchRun, BenchError> {
        let build = self.build_config(choice);
        let conditions = Conditions {
            cpus: self.cpus,
            profile: Profile::of(choice.release.kernel()),
            costs: self
                .costs
                .as_ref()
                .map_or_else(Default::default, |costs| setup::calls(costs, choice)),
            seed: self.seed,
        };
        let mut os = conditions.os();
        let prepared = self.benchmark.prepare(&self.values, &conditions, &mut os)?;
        let config = Config::idealised(self.cpus, build.hz);
        let scheduler = choice.build(&build);
        let stats = Stats::new(self.cpus, &[]);
        let mut machine = Machine::new(config, scheduler, os, stats);
        if let Some(costs) = &self.costs {
            machine.set_costs(setup::costs(costs, choice, &build.topology, build.hz, self.nohz)?);
        }
        let shares = self.benchmark.groups(&self.values);
        let paths: Vec<String> = (1..=shares.len()).map(|number| format!("/{number}")).collect();
        let groups: Vec<NewGroup<'_>> = paths
            .iter()
            .zip(shares)
            .map(|(path, shares)| NewGroup::weighing(path, shares))
            .collect();
        setup::administer(&mut machine, &self.tunables, &groups)?;
        let limit_ns = prepared.limit_ns.unwrap_or(u64::MAX).min(self.limit_ns.unwrap_or(u64::MAX));
        let end = match run_parts(&mut machine, limit_ns) {
            Ok(end) => end,
            Err(error) if error.reason() == Reason::Finished => RunEnd::AllEnded,
            Err(error) => return Err(BenchError::Run(error.to_string())),
        };
        let now_ns = machine.now_ns();
        machine.observer_mut().on(now_ns, Event::Finished);
        let warning = (end == RunEnd::Stuck).then(|| who_is_stuck(machine.workload(), now_ns));
        let counts = machine.counts();
        let (overheads, energy) = (machine.overheads(), machine.energy());
        let (scheduler, os, stats) = machine.into_parts();
        let findings =
            (prepared.finish)(&End { now_ns, part: PartId::default(), os: &os, stats: &stats });
        let tasks = task_infos(&os);
        let report = report_of(RunInputs {
            scheduler: SchedulerInfo {
                name: choice.entry.name.into(),
                release: choice.release.version.into(),
                title: choice.entry.title.into(),
            },
            machine: MachineInfo { cpus: self.cpus, hz: build.hz, model: self.model_name() },
            tunables: &scheduler.inspect().tunables(),
            seed: Some(self.seed),
            end,
            counts,
            overheads,
            energy,
            tasks: &tasks,
            stats: &stats,
            fairness: None,
            slices: None,
            spans: None,
            groups: &[],
            group_usage: None,
        });
        Ok(BenchRun { findings, report, warning })
    }

    /// What the report calls the machine.
    pub(crate) fn model_name(&self) -> String {
        setup::model_name(self.machine.as_ref(), self.costs.is_some())
    }
}

/// Runs until `limit_ns`. Parts of the benchmark that have a limit of their own are ended then.
fn run_parts<S: Scheduler, O: Observer>(
    machine: &mut Machine<S, Kernel, O>,
    limit_ns: u64,
) -> Result<RunEnd, Error> {
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
            group: String::new(),
            attr: os.attr(task).sched,
            loops_finished: 0,
        }
    };
    (0..os.task_count()).map(info).collect()
}

/// Who waits for what, in a run that is stuck.
fn who_is_stuck(os: &Kernel, now_ns: u64) -> String {
    const MOST: usize = 5;
    let waiting = os.wait_graph().waiting;
    let told: Vec<String> = waiting
        .iter()
        .take(MOST)
        .map(|waiting| format!("{} waits {}", waiting.thread, waiting.waits_for.brief()))
        .collect();
    let more = if waiting.len() > MOST { ", ..." } else { "" };
    format!("at {:.6} s no task can ever run again: {}{more}", now_ns as f64 / 1e9, told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select;

    fn hackbench(set: &[(&str, &str)], cpus: u32) -> Bench {
        let benchmark = schedlab_bench::find("hackbench").expect("it is there");
        let mut values = Values::defaults(benchmark.parameters());
        for (name, text) in set {
            values = values.with(benchmark.parameters(), name, text).expect("it does");
        }
        Bench { values, cpus, ..Bench::new(benchmark) }
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
        let bench =
            Bench { hz: Some(1000), costs: Some(costs), ..hackbench(&[("groups", "1")], 1) };
        let told = bench.run(&choice).expect_err("a tick costs a millisecond").to_string();
        assert!(told.contains("a tick costs 1000000 ns"), "{told}");
        let slower = Bench { hz: Some(100), ..bench };
        assert!(slower.run(&choice).is_ok());
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
