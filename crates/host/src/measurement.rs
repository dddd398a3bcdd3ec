//! A measurement in the parent process: it makes groups, starts the runner repeatedly until enough
//! repetitions were quiet, and removes the groups.

use crate::costs::Costs;
use crate::error::Error;
use crate::groups::{Home, MadeGroups};
use crate::job::{Accounts, Groups, Job, JobResult, JobTask, Measured, Run};
use crate::noise::Noise;
use crate::prepared::{CPUS_MAX, Prepared};
use crate::probe::Probe;
use crate::runner::{self, ENDLESS_NS};
use crate::start_runner::{Runner, ask};
use crate::tick::Tick;
use crate::warnings::warnings;
use schedlab_workload::GroupPlan;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Time that a runner may take beyond the length of the run, ns.
const PATIENCE_NS: u64 = 20_000_000_000;
/// Pause between two repetitions.
const PAUSE: Duration = Duration::from_millis(300);
/// Time for which the load is observed before a run.
const LOOK: Duration = Duration::from_millis(200);
/// Multiple of the tick's gap from which a gap counts as time without a CPU, if switches are not
/// recorded.
const GAPS: u64 = 3;
/// The same length if the tick was not found, ns.
const GAP_NS: u64 = 150_000;

/// A repetition of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Repetition {
    /// Its result.
    pub measured: Measured,
    /// Whether it was quiet enough.
    pub is_quiet: bool,
}

/// The results of a measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// All repetitions, in the order in which they were made.
    pub repetitions: Vec<Repetition>,
    /// Whether the requested number of repetitions was quiet.
    pub is_quiet: bool,
    /// A repetition in which the switches of all tasks were recorded. Its figures do not count,
    /// because recording takes time.
    pub traced: Option<Measured>,
    /// The tick, if it was found.
    pub tick: Option<Tick>,
    /// Whether all threads were in a heavily weighted group.
    pub heavy: bool,
    /// Time that real-time tasks in that group could use in each second, us.
    pub rt_runtime_us: Option<u64>,
}

impl Prepared {
    /// Runs the measurement. `say` receives warnings and a line about each repetition;
    /// `interrupted` ends the measurement.
    ///
    /// # Errors
    /// The measurement failed; nothing is left behind.
    pub fn run(
        &self,
        runner: &Runner,
        interrupted: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Result<Outcome, Error> {
        let accounts = self.probe.accounts.for_cpus(&self.cpus, &self.probe.facts);
        for warning in self.warnings(&accounts)? {
            say(&format!("warning: {warning}"));
        }
        let made = match &self.probe.home {
            Some(home) => {
                let mut made = MadeGroups::new(home, self.has_realtime())?;
                made.add(self.groups.groups(), &self.realtime_groups())?;
                Some(made)
            }
            None => None,
        };
        let groups = groups_of(made.as_ref(), self.probe.home.as_ref(), &self.groups);
        let start = |task, length_ns: u64| {
            let job = Job {
                parent: std::process::id(),
                guard_s: length_ns / 1_000_000_000 + 10,
                groups: groups.clone(),
                task,
            };
            ask(runner, &job, length_ns + PATIENCE_NS, interrupted)
        };
        let hz = self.probe.facts.hz.as_ref().map(|(hz, _)| *hz);
        let tick = match start(JobTask::Tick { cpus: self.cpus.clone(), hz }, 0)? {
            JobResult::Tick(tick) => tick,
            other => return Err(unexpected(&other)),
        };
        let run = Run {
            name: self.name.clone(),
            text: self.text.clone(),
            without: self.left_out.iter().map(|refusal| refusal.task.clone()).collect(),
            machine_cpus: CPUS_MAX,
            cpus: self.cpus.clone(),
            duration_ns: self.model.global.duration_ns,
            start: self.options.start,
            records: self.options.records && self.probe.switches.yes,
            records_all: false,
            gap_ns: tick.map_or(GAP_NS, |tick| GAPS * tick.gap_p99_ns),
            accounts,
        };
        let length_ns = run.duration_ns.unwrap_or(ENDLESS_NS);
        let mut repetitions: Vec<Repetition> = vec![];
        let quiet = |all: &[Repetition]| all.iter().filter(|one| one.is_quiet).count() as u32;
        while quiet(&repetitions) < self.options.runs && (repetitions.len() as u32) < self.tries() {
            if !repetitions.is_empty() {
                std::thread::sleep(PAUSE);
            }
            match start(JobTask::Run(run.clone()), length_ns)? {
                JobResult::Measured(measured) => {
                    let is_quiet = measured.noise.is_quiet(self.options.noise_limit);
                    let Noise { foreign, steal } = measured.noise;
                    say(&format!(
                        "run {}: other processes had {:.2} % of the CPUs, steal {:.2} %{}",
                        repetitions.len() + 1,
                        foreign * 100.0,
                        steal * 100.0,
                        if is_quiet { "" } else { ": rejected" }
                    ));
                    repetitions.push(Repetition { measured, is_quiet });
                }
                other => return Err(unexpected(&other)),
            }
        }
        let traced = match self.options.records_all {
            true => {
                std::thread::sleep(PAUSE);
                let run = Run { records_all: true, ..run };
                match start(JobTask::Run(run), length_ns)? {
                    JobResult::Measured(measured) => Some(measured),
                    other => return Err(unexpected(&other)),
                }
            }
            false => None,
        };
        Ok(Outcome {
            traced,
            is_quiet: quiet(&repetitions) >= self.options.runs,
            repetitions,
            tick,
            heavy: made.is_some(),
            rt_runtime_us: made.as_ref().and_then(|made| made.rt_runtime_us),
        })
    }

    /// Conditions that will disturb a run, found by a check beforehand.
    fn warnings(&self, accounts: &Accounts) -> Result<Vec<String>, String> {
        let before = runner::read(accounts, &self.cpus)?;
        std::thread::sleep(LOOK);
        let after = runner::read(accounts, &self.cpus)?;
        let load = Noise::between(before, after, 0, self.cpus.len());
        Ok(warnings(&self.probe.facts, load, &self.cpus, &self.model, self.probe.home.is_some()))
    }
}

fn groups_of(made: Option<&MadeGroups>, home: Option<&Home>, plan: &GroupPlan) -> Groups {
    let (Some(made), Some(home)) = (made, home) else { return Groups::default() };
    Groups {
        attach: home.attach().into(),
        load: Some(made.load().to_path_buf()),
        paths: plan
            .groups()
            .iter()
            .map(|group| (group.path.clone(), made.directory(&group.path)))
            .collect(),
    }
}

fn unexpected(answer: &JobResult) -> Error {
    match answer {
        JobResult::Refused(why) => Error::Refused(why.clone()),
        _ => Error::Refused("the runner returned the result of another job".into()),
    }
}

/// Measures the costs of this machine on the given CPUs, inside the heavily weighted group.
///
/// # Errors
/// The measurement failed; nothing is left behind.
pub fn measure(
    probe: &Probe,
    cpus: &[u32],
    repetitions: u32,
    runner: &Runner,
    interrupted: &AtomicBool,
) -> Result<Costs, Error> {
    let made = match &probe.home {
        // Real-time tasks measure the timer's latency, where they are permitted.
        Some(home) => Some(MadeGroups::new(home, probe.group_realtime.yes)?),
        None => None,
    };
    let groups = groups_of(made.as_ref(), probe.home.as_ref(), &GroupPlan::default());
    let task = JobTask::Measure { cpus: cpus.to_vec(), repetitions };
    let job = Job { parent: std::process::id(), guard_s: 300, groups, task };
    match ask(runner, &job, 300_000_000_000, interrupted)? {
        JobResult::Costs(costs) => Ok(costs),
        other => Err(unexpected(&other)),
    }
}
