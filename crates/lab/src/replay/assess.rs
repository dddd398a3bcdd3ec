//! Builds the report of a replay from its runs.

use super::ensemble::Outcome;
use super::report::{
    BehindRow, Cell, Column, Figures, GroupRow, Percentiles, ReplayReport, SleepCounts, TraceFacts,
};
use super::{Prepared, messages, sample};
use schedlab_core::GroupStats;
use schedlab_replay::program::Step;
use schedlab_replay::responses::Responses;
use schedlab_replay::score::{self, Band, Grade, Pair, Score};
use schedlab_replay::stats::{self, TaskStats};
use schedlab_workload::groups;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Figures of an ensemble with these statistics.
fn figures(ensemble: &[TaskStats]) -> Figures {
    let band = |value: &dyn Fn(&TaskStats) -> u64| {
        Cell::from(Band::of(ensemble.iter().map(|it| value(it) as f64).collect()))
    };
    let percentile = |percent: u32| {
        let values: Vec<f64> =
            ensemble.iter().filter_map(|it| it.percentile(percent)).map(|ns| ns as f64).collect();
        (values.len() == ensemble.len()).then(|| Cell::from(Band::of(values)))
    };
    let of_requests = |values: &dyn Fn(&Responses) -> &Vec<u64>| {
        let of = |percent: u32| {
            let each = ensemble.iter();
            let each = each.filter_map(|it| stats::percentile(values(&it.requests), percent));
            let each: Vec<f64> = each.map(|ns| ns as f64).collect();
            (each.len() == ensemble.len()).then(|| Cell::from(Band::of(each)))
        };
        Percentiles { p50: of(50), p95: of(95), p99: of(99) }
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
        run: band(&TaskStats::run_ns),
        throttled_periods: None,
        periods: None,
        throttled: None,
        response: of_requests(&|it| &it.served),
        round_trip: of_requests(&|it| &it.round_trips),
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
        set(&mut self.run, &base.run);
        let (response, round_trip) = (&mut self.response, &mut self.round_trip);
        for (own, base) in [
            (&mut self.p50, base.p50),
            (&mut self.p90, base.p90),
            (&mut self.p99, base.p99),
            (&mut response.p50, base.response.p50),
            (&mut response.p95, base.response.p95),
            (&mut response.p99, base.response.p99),
            (&mut self.throttled_periods, base.throttled_periods),
            (&mut self.periods, base.periods),
            (&mut self.throttled, base.throttled),
            (&mut round_trip.p50, base.round_trip.p50),
            (&mut round_trip.p95, base.round_trip.p95),
            (&mut round_trip.p99, base.round_trip.p99),
        ] {
            if let (Some(own), Some(base)) = (own.as_mut(), &base) {
                set(own, base);
            }
        }
    }
}

/// Adds the throttling of the groups to which tasks with these paths belong.
fn add_throttling(figures: &mut Figures, runs: &[Outcome], paths: &BTreeSet<&str>) {
    let is_in = |group: &str| paths.iter().any(|path| groups::is_within(path, group));
    let own = |run: &Outcome, value: fn(&GroupStats) -> u64| -> u64 {
        let of_paths = run.groups.iter();
        let of_paths = of_paths.filter(|(group, stats)| stats.nr_periods > 0 && is_in(group));
        of_paths.map(|(_, stats)| value(stats)).sum()
    };
    let band = |value: fn(&GroupStats) -> u64| {
        Some(Cell::from(Band::of(runs.iter().map(|run| own(run, value) as f64).collect())))
    };
    if runs.iter().any(|run| own(run, |it| it.nr_periods) > 0) {
        figures.periods = band(|it| it.nr_periods);
        figures.throttled_periods = band(|it| it.nr_throttled);
        figures.throttled = band(|it| it.throttled_ns);
    }
}

/// Returns the waiting times in these runs, by the tasks that had the CPU and the limits.
fn behind(
    runs: &[Outcome],
    group_of: &[Option<usize>],
    programs: &[schedlab_replay::Program],
) -> Vec<BehindRow> {
    // By waiting group, task that had the CPU, and limit.
    type Cause<'a> = (usize, Option<&'a str>, Option<&'a str>);
    let mut all: BTreeMap<Cause<'_>, Vec<f64>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        for row in &run.behind {
            let Some(group) = group_of[row.waits] else { continue };
            let name = row.runner.map(|place| programs[place].name.as_str());
            let cause = (group, name, row.throttled_by.as_deref());
            all.entry(cause).or_insert_with(|| vec![0.0; runs.len()])[number] += row.ns as f64;
        }
    }
    let rows = all.into_iter().map(|((group, runner, throttled_by), values)| BehindRow {
        group,
        runner: runner.map(String::from),
        throttled_by: throttled_by.map(String::from),
        wait: Band::of(values).into(),
    });
    rows.collect()
}

/// Differences between the recording and the alternatives.
fn changed(prepared: &Prepared) -> Vec<String> {
    let (replay, trace) = (&prepared.replay, &prepared.trace);
    let mut changed = replay.changes.clone();
    changed.extend(replay.at.iter().map(|at| format!("at {at}")));
    let of_groups = replay.set.iter().map(|(name, value)| (name, value.to_string()));
    let of_groups = of_groups.filter(|(name, value)| name.contains(":/") && !value.contains(','));
    changed.extend(of_groups.map(|(name, value)| format!("{name}={value}")));
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

/// Builds the report of these runs.
pub(super) fn assess(prepared: &Prepared, runs: &[Vec<Outcome>]) -> ReplayReport {
    let trace = &prepared.trace;
    let programs = &prepared.workload.tasks;
    // Groups are listed in the order of CPU time.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut recorded: Vec<(String, TaskStats)> = vec![];
    let mut tasks: Vec<usize> = vec![];
    let mut group_of: Vec<Option<usize>> = vec![];
    let of_tasks = sample::recorded_stats(trace, &prepared.workload);
    for (program, stats) in programs.iter().zip(&of_tasks) {
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
        recorded[number].1.add(stats);
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
    let own: Vec<TaskStats> = recorded.iter().map(|(_, stats)| stats.clone()).collect();
    let mut columns = vec![Column {
        name: "recorded".into(),
        all: figures(&[all_of(&own)]),
        groups: own.iter().map(|stats| figures(std::slice::from_ref(stats))).collect(),
        behind: vec![],
    }];
    for (runner, runs) in prepared.setup.columns.iter().zip(runs) {
        let stats: Vec<Vec<TaskStats>> = runs
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
            figures(&stats.iter().map(|run| run[at].clone()).collect::<Vec<TaskStats>>())
        };
        let all: Vec<TaskStats> = stats.iter().map(|run| all_of(run)).collect();
        // Groups to which the tasks belong.
        let mut paths: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); recorded.len()];
        for (program, group) in runner.workload.tasks.iter().zip(&group_of) {
            if let (Some(group), Some(path)) = (*group, &program.set.taskgroup) {
                paths[group].insert(path);
            }
        }
        let all_paths: BTreeSet<&str> = paths.iter().flatten().copied().collect();
        let mut groups: Vec<Figures> = (0..recorded.len()).map(of_group).collect();
        for (figures, paths) in groups.iter_mut().zip(&paths) {
            add_throttling(figures, runs, paths);
        }
        let mut all = figures(&all);
        add_throttling(&mut all, runs, &all_paths);
        columns.push(Column {
            name: runner.name.clone(),
            groups,
            all,
            behind: behind(runs, &group_of, &runner.workload.tasks),
        });
    }
    let mut rest = columns.split_off(2);
    for column in &mut rest {
        let base = &columns[1];
        column.all.compare(&base.all);
        column.groups.iter_mut().zip(&base.groups).for_each(|(own, base)| own.compare(base));
        for row in &mut column.behind {
            let same = base.behind.iter().find(|it| it.group == row.group && it.is_same_cause(row));
            let was = same.map_or(Band::default(), |same| same.wait.band());
            row.wait.alike = Some(row.wait.band().is_alike(&was));
        }
    }
    columns.append(&mut rest);

    // While lengths of work are unchanged, every task that ends has done the recorded work. A task
    // that computes for a period of wall-clock time does as much work as it can.
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
                span_ns: trace.span_ns as f64,
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
    let mut report = ReplayReport {
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
    messages::add(prepared, runs, &score, &mut report);
    report
}
