//! What came of a replay, as plain data: [`Answer`].

use super::ensemble::Outcome;
use super::{Prepared, messages};
use schedlab_replay::program::Step;
use schedlab_replay::score::{self, Band, Grade, Pair, Score};
use schedlab_replay::stats::TaskStats;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// What came of a replay.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Answer {
    /// The trace's name.
    pub name: String,
    /// What differs from the recording in the alternatives, besides the scheduler.
    pub changed: Vec<String>,
    /// What is in the trace.
    pub trace: TraceFacts,
    /// How many sleeps there are of each kind.
    pub sleeps: SleepCounts,
    /// How far it can be trusted: `close`, `fair`, `poor`.
    pub grade: &'static str,
    /// Error of ends of the replay under the recorded scheduler.
    pub e_end: f64,
    /// Error of waiting.
    pub e_wait: f64,
    /// Error of CPU time: 0 if all was done.
    pub e_cpu: f64,
    /// The middle width of the bands of end and waiting.
    pub band: (f64, f64),
    /// By how much predictions from such replays missed ends: middle, nine of ten.
    pub expected_end: Option<(f64, f64)>,
    /// The same of waiting.
    pub expected_wait: (f64, f64),
    /// The groups of tasks that are reported, by CPU time.
    pub groups: Vec<GroupRow>,
    /// What was recorded, its replay, and the alternatives.
    pub columns: Vec<Column>,
    /// What the user should know.
    pub messages: Vec<Message>,
    /// Whether a task waits for ever in one of the runs.
    pub hangs: bool,
}

/// What is in the trace.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TraceFacts {
    /// Its length, ns.
    pub span_ns: u64,
    /// CPUs.
    pub cpus: u32,
    /// Tasks that are replayed, and all.
    pub tasks: (usize, usize),
    /// Events.
    pub events: u64,
    /// Switches.
    pub switches: u64,
    /// Wakeups.
    pub wakeups: u64,
    /// Breaks in the chain of switches.
    pub gaps: u64,
    /// Part of the CPUs' time in them.
    pub gap_share: f64,
    /// Wakeups that nobody saw.
    pub unseen: u64,
    /// Whether interrupts are told from tasks.
    pub has_contexts: bool,
    /// Part of the CPUs' time that was idle.
    pub idle_share: f64,
}

/// How many sleeps there are of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SleepCounts {
    /// Ended by another task of the workload.
    pub edge: u64,
    /// Ended by a device or a timer.
    pub relative: u64,
    /// Ended by a clock or from outside.
    pub absolute: u64,
    /// Ended after the trace.
    pub end: u64,
}

/// A group of tasks: those of one name.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupRow {
    /// The name.
    pub name: String,
    /// Tasks.
    pub tasks: usize,
    /// Its own grade.
    pub grade: &'static str,
    /// How far end and waiting of the replay are from what was recorded.
    pub err_end: f64,
    /// The same of waiting.
    pub err_wait: f64,
    /// The same of long waits.
    pub err_long: f64,
    /// Whether it has a hundredth of the CPU time: only such are judged.
    pub is_large: bool,
}

/// A column: what was recorded, or an ensemble of runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Column {
    /// `recorded`, or the scheduler with what is set.
    pub name: String,
    /// For each group of [`Answer::groups`].
    pub groups: Vec<Figures>,
    /// Of all together.
    pub all: Figures,
    /// Behind whom the groups waited, if that was asked ([`Replay::explain`](super::Replay)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<BehindRow>,
}

/// How long a group of tasks waited while tasks of a name had the CPU.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BehindRow {
    /// Who waited: a place in [`Answer::groups`].
    pub group: usize,
    /// The name of who had the CPU in whose queue it stood; none: nobody.
    pub runner: Option<String>,
    /// For how long, ns.
    pub wait: Cell,
}

/// The figures of a group in a column. Times in ns.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Figures {
    /// CPU time.
    pub cpu: Cell,
    /// When one of it last left a CPU.
    pub end: Cell,
    /// Time runnable without a CPU.
    pub wait: Cell,
    /// Wakeups.
    pub wakeups: Cell,
    /// Wakeups that waited a millisecond or longer.
    pub long_waits: Cell,
    /// Preemptions.
    pub preemptions: Cell,
    /// Latency of wakeups: median, nine of ten, 99 of 100; none: too few.
    pub p50: Option<Cell>,
    /// Nine of ten.
    pub p90: Option<Cell>,
    /// 99 of 100.
    pub p99: Option<Cell>,
}

/// A figure with its band.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Cell {
    /// The middle of the ensemble.
    pub median: f64,
    /// Its least.
    pub least: f64,
    /// Its greatest.
    pub greatest: f64,
    /// Whether it differs from the replay under the recorded scheduler by no more than chance;
    /// none: it is not compared.
    pub alike: Option<bool>,
}

/// What the user should know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Message {
    /// Of which kind: a letter.
    pub code: char,
    /// What.
    pub text: String,
}

impl From<Band> for Cell {
    fn from(Band { median, least, greatest }: Band) -> Cell {
        Cell { median, least, greatest, alike: None }
    }
}

impl Cell {
    /// As a band.
    pub fn band(&self) -> Band {
        Band { median: self.median, least: self.least, greatest: self.greatest }
    }
}

/// The figures of the ensemble whose members saw this.
fn figures(seen: &[TaskStats]) -> Figures {
    let band = |value: &dyn Fn(&TaskStats) -> u64| {
        Cell::from(Band::of(seen.iter().map(|it| value(it) as f64).collect()))
    };
    let percentile = |percent: u32| {
        let values: Vec<f64> =
            seen.iter().filter_map(|it| it.percentile(percent)).map(|ns| ns as f64).collect();
        (values.len() == seen.len()).then(|| Cell::from(Band::of(values)))
    };
    Figures {
        cpu: band(&|it| it.cpu_ns),
        end: band(&|it| it.end_ns),
        wait: band(&|it| it.wait_ns),
        wakeups: band(&|it| it.wakeups),
        long_waits: band(&|it| it.long_waits),
        preemptions: band(&|it| it.preemptions),
        p50: percentile(50),
        p90: percentile(90),
        p99: percentile(99),
    }
}

impl Figures {
    /// Compares with the replay under the recorded scheduler.
    fn compare(&mut self, base: &Figures) {
        let set = |cell: &mut Cell, base: &Cell| {
            cell.alike = Some(cell.band().is_alike(&base.band()));
        };
        set(&mut self.cpu, &base.cpu);
        set(&mut self.end, &base.end);
        set(&mut self.wait, &base.wait);
        set(&mut self.wakeups, &base.wakeups);
        set(&mut self.long_waits, &base.long_waits);
        set(&mut self.preemptions, &base.preemptions);
        for (own, base) in
            [(&mut self.p50, base.p50), (&mut self.p90, base.p90), (&mut self.p99, base.p99)]
        {
            if let (Some(own), Some(base)) = (own.as_mut(), &base) {
                set(own, base);
            }
        }
    }
}

/// Behind whom the groups waited in these runs.
fn behind(
    runs: &[Outcome],
    group_of: &[Option<usize>],
    programs: &[schedlab_replay::Program],
) -> Vec<BehindRow> {
    let mut all: BTreeMap<(usize, Option<&str>), Vec<f64>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        for &(waits, runner, ns) in &run.behind {
            let Some(group) = group_of[waits] else { continue };
            let name = runner.map(|place| programs[place].name.as_str());
            let of_runs = all.entry((group, name)).or_insert_with(|| vec![0.0; runs.len()]);
            of_runs[number] += ns as f64;
        }
    }
    let row = |((group, runner), values): ((usize, Option<&str>), Vec<f64>)| BehindRow {
        group,
        runner: runner.map(String::from),
        wait: Band::of(values).into(),
    };
    all.into_iter().map(row).collect()
}

/// What differs from the recording in the alternatives.
fn changed(prepared: &Prepared) -> Vec<String> {
    let (replay, trace) = (&prepared.replay, &prepared.trace);
    let mut changed = replay.changes.clone();
    changed.extend(replay.at.iter().map(|at| format!("at {at}")));
    let machine = prepared.setup.columns.get(1).map(|runner| &runner.config);
    if let Some(cpus) = machine.map(|it| it.cpus).filter(|&cpus| cpus != trace.cpus) {
        changed.push(format!("CPUs: {cpus} instead of {}", trace.cpus));
    }
    let is_other = replay.machine.description.is_some();
    if let Some(machine) = machine.filter(|_| is_other).and_then(|it| it.machine.as_ref()) {
        changed.push(format!("machine {}", machine.name));
    }
    changed
}

/// The answer of these runs.
pub(super) fn make(prepared: &Prepared, runs: &[Vec<Outcome>]) -> Answer {
    let trace = &prepared.trace;
    let programs = &prepared.workload.tasks;
    // Groups are named in the order of CPU time.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut recorded: Vec<(String, TaskStats)> = vec![];
    let mut tasks: Vec<usize> = vec![];
    let mut group_of: Vec<Option<usize>> = vec![];
    for program in programs {
        let task = &trace.tasks[program.task as usize];
        if !prepared.selected[program.task as usize] {
            group_of.push(None);
            continue;
        }
        let count = numbers.len();
        let number = *numbers.entry(&program.name).or_insert(count);
        if number == recorded.len() {
            recorded.push((program.name.clone(), TaskStats::default()));
            tasks.push(0);
        }
        recorded[number].1.add(&TaskStats::of_task(trace, task));
        tasks[number] += 1;
        group_of.push(Some(number));
    }
    let mut order: Vec<usize> = (0..recorded.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(recorded[at].1.cpu_ns));
    let place: HashMap<usize, usize> = order.iter().enumerate().map(|(to, &at)| (at, to)).collect();
    let group_of: Vec<Option<usize>> =
        group_of.iter().map(|group| group.map(|group| place[&group])).collect();
    let recorded: Vec<(String, TaskStats)> = order.iter().map(|&at| recorded[at].clone()).collect();
    let tasks: Vec<usize> = order.iter().map(|&at| tasks[at]).collect();
    let large = score::large(&recorded);

    let all_of = |groups: &[TaskStats]| {
        let mut all = TaskStats::default();
        groups.iter().for_each(|group| all.add(group));
        all
    };
    let own: Vec<TaskStats> = recorded.iter().map(|(_, seen)| seen.clone()).collect();
    let mut columns = vec![Column {
        name: "recorded".into(),
        all: figures(&[all_of(&own)]),
        groups: own.iter().map(|seen| figures(std::slice::from_ref(seen))).collect(),
        behind: vec![],
    }];
    for (runner, runs) in prepared.setup.columns.iter().zip(runs) {
        let seen: Vec<Vec<TaskStats>> = runs
            .iter()
            .map(|run| {
                let mut groups = vec![TaskStats::default(); recorded.len()];
                for (task, group) in run.tasks.iter().zip(&group_of) {
                    if let Some(group) = *group {
                        groups[group].add(task);
                    }
                }
                groups
            })
            .collect();
        let of_group = |at: usize| {
            figures(&seen.iter().map(|run| run[at].clone()).collect::<Vec<TaskStats>>())
        };
        let all: Vec<TaskStats> = seen.iter().map(|run| all_of(run)).collect();
        columns.push(Column {
            name: runner.name.clone(),
            groups: (0..recorded.len()).map(of_group).collect(),
            all: figures(&all),
            behind: behind(runs, &group_of, &runner.workload.tasks),
        });
    }
    let mut rest = columns.split_off(2);
    for column in &mut rest {
        let base = &columns[1];
        column.all.compare(&base.all);
        column.groups.iter_mut().zip(&base.groups).for_each(|(own, base)| own.compare(base));
        for row in &mut column.behind {
            let same =
                base.behind.iter().find(|it| (it.group, &it.runner) == (row.group, &row.runner));
            let was = same.map_or(Band::default(), |same| same.wait.band());
            row.wait.alike = Some(row.wait.band().is_alike(&was));
        }
    }
    columns.append(&mut rest);

    // Without any change of lengths every task that ends has done what was recorded. Who computes
    // until so much time has passed does what it can.
    let mut lost = vec![0_u64; recorded.len()];
    if let Some(first) = runs.first().and_then(|runs| runs.first()) {
        for ((task, group), program) in first.tasks.iter().zip(&group_of).zip(programs) {
            let by_wall = program.steps.iter().any(|it| matches!(it, Step::Runtime(_)));
            if let Some(group) = group.filter(|_| !program.is_endless() && !by_wall) {
                let was = trace.tasks[program.task as usize].cpu_ns();
                lost[group] += task.cpu_ns.abs_diff(was);
            }
        }
    }
    let pairs: Vec<Pair> = (0..recorded.len())
        .map(|at| {
            let (was, is) = (&columns[0].groups[at], &columns[1].groups[at]);
            Pair {
                cpu_ns: was.cpu.median,
                lost_cpu_ns: lost[at] as f64,
                end_ns: (was.end.median, is.end.median),
                wait_ns: (was.wait.median, is.wait.median),
                long: (was.long_waits.median, is.long_waits.median),
                band: (is.end.band().width(), is.wait.band().width()),
            }
        })
        .collect();
    let capacity = (u64::from(trace.cpus) * trace.span_ns).max(1) as f64;
    let gap_share = trace.gap_ns as f64 / capacity;
    let record = Grade::of_record(gap_share, trace.unseen as f64 / trace.wakeups.max(1) as f64);
    let judged: Vec<Pair> =
        pairs.iter().zip(&large).filter(|(_, large)| **large).map(|(pair, _)| *pair).collect();
    let score = Score::of(&judged, record);
    let groups = (0..recorded.len())
        .map(|at| GroupRow {
            name: recorded[at].0.clone(),
            tasks: tasks[at],
            grade: pairs[at].grade().name(),
            err_end: pairs[at].err_end(),
            err_wait: pairs[at].err_wait(),
            err_long: pairs[at].err_long(),
            is_large: large[at],
        })
        .collect();
    let counts = prepared.counts;
    let mut answer = Answer {
        name: prepared.replay.name.clone(),
        changed: changed(prepared),
        trace: TraceFacts {
            span_ns: trace.span_ns,
            cpus: trace.cpus,
            tasks: (programs.len(), trace.tasks.len()),
            events: trace.events,
            switches: trace.switches,
            wakeups: trace.wakeups,
            gaps: trace.gaps,
            gap_share,
            unseen: trace.unseen,
            has_contexts: trace.has_contexts,
            idle_share: trace.idle_ns as f64 / capacity,
        },
        sleeps: SleepCounts {
            edge: counts.edge,
            relative: counts.relative,
            absolute: counts.absolute,
            end: counts.end,
        },
        grade: score.grade.name(),
        e_end: score.e_end,
        e_wait: score.e_wait,
        e_cpu: score.e_cpu,
        band: score.band,
        expected_end: score.expected_end(),
        expected_wait: score.expected_wait(),
        groups,
        columns,
        messages: vec![],
        hangs: false,
    };
    messages::add(prepared, runs, &score, &mut answer);
    answer
}
