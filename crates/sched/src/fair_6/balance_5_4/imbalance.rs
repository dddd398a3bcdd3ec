//! Whether a CPU pulls load, how much, and from which CPU.

use super::groups::{GroupLoad, Kind, LoadSurvey};
use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::CfsRqId;
use crate::fair_6::lb_env::{CpuIdleType, LbEnv, MigrationType};
use crate::fair_6::lb_stats::CAPACITY;
use crate::fair_6::pick_rule::PickRule;
use crate::fair_6::rule_state::FairVersion as _;
use schedlab_core::{CpuId, Platform};

impl<R: PickRule> Fair<R> {
    /// `find_busiest_group` and `find_busiest_queue`: the CPU to pull from. How much is stored in
    /// the pass. `None`: the domain is balanced.
    #[cold]
    pub(in crate::fair_6) fn find_source_by_load(
        &mut self,
        rqs: &Rqs,
        platform: &Platform,
        env: &mut LbEnv,
    ) -> Option<CpuId> {
        self.update_group_capacity(rqs, platform, env);
        let survey = self.survey_loads(rqs, env);
        let level = rqs.domains.level(env.level);
        let pct = level.params.imbalance_pct;
        let has_room = match self.version.moves_from_the_head() {
            true => env.why == CpuIdleType::NewlyIdle,
            false => env.why != CpuIdleType::NotIdle,
        };
        if !is_worth_while(&survey, env.why, has_room, u64::from(pct)) {
            return None;
        }
        let (group, busiest) = survey.busiest?;
        let here = CfsRqId::of_cpu(env.dst);
        let tasks_here = u64::from(self.cfs_rqs[here].h_nr_runnable);
        let per_task_here = self.cpu_load_of(here).checked_div(tasks_here).unwrap_or(0);
        let amount = amount_to_move(survey.own, busiest, survey.average, per_task_here);
        if amount == 0 && !self.version.searches_without_amount() {
            return None;
        }
        env.kind = MigrationType::Load;
        env.imbalance = amount as i64;
        self.most_loaded(rqs, level.span(env.here).group(group), amount, pct)
    }

    /// `find_busiest_queue`: the CPU of the group with the most load relative to its capacity. A
    /// CPU's only task is not moved if its load exceeds the amount to move.
    fn most_loaded(&self, rqs: &Rqs, group: &[CpuId], amount: u64, pct: u32) -> Option<CpuId> {
        let (mut best, mut best_capacity) = (0, 1);
        let mut found = None;
        for &cpu in group.iter().filter(|cpu| !self.balance.dropped[cpu.index()]) {
            let (load, capacity) = (self.cpu_load(cpu), self.capacity.of(cpu));
            let alone = rqs.nr_running[cpu.index()] == 1;
            if alone && load > amount && !self.capacity.is_reduced(cpu, pct) {
                continue;
            }
            if load * best_capacity > best * capacity {
                (best, best_capacity, found) = (load, capacity, Some(cpu));
            }
        }
        found
    }
}

/// The verdict of `find_busiest_group`. `has_room`: an own group with room may relieve one without.
fn is_worth_while(survey: &LoadSurvey, why: CpuIdleType, has_room: bool, pct: u64) -> bool {
    let LoadSurvey { own, average, .. } = survey;
    let Some((_, busiest)) = &survey.busiest else {
        return false;
    };
    if busiest.tasks == 0 {
        return false;
    }
    if busiest.kind == Kind::Imbalanced || (has_room && own.has_capacity && busiest.no_capacity) {
        return true;
    }
    if own.avg >= busiest.avg || own.avg >= *average {
        return false;
    }
    match why {
        // With as many idle CPUs there is nothing to gain but more equal loads.
        CpuIdleType::Idle => {
            busiest.kind == Kind::Overloaded || own.idle_cpus > busiest.idle_cpus + 1
        }
        CpuIdleType::NotIdle | CpuIdleType::NewlyIdle => 100 * busiest.avg > pct * own.avg,
    }
}

/// `calculate_imbalance`: the load to move. `per_task_here`: load of a task of the balancing CPU.
fn amount_to_move(own: GroupLoad, busiest: GroupLoad, average: u64, per_task_here: u64) -> u64 {
    let mut busiest = busiest;
    if busiest.kind == Kind::Imbalanced {
        busiest.per_task = busiest.per_task.min(average);
    }
    if busiest.avg <= average || own.avg >= average {
        return small_amount(own, busiest, per_task_here, 0);
    }
    let mut above = u64::MAX;
    if busiest.kind == Kind::Overloaded && own.kind == Kind::Overloaded {
        let tasks = busiest.tasks * CAPACITY;
        if tasks > busiest.capacity {
            above = (tasks - busiest.capacity) * CAPACITY / busiest.capacity;
        }
    }
    let pull = (busiest.avg - average).min(above);
    let into = (average - own.avg) * own.capacity;
    let amount = pull.wrapping_mul(busiest.capacity).min(into) / CAPACITY;
    match amount < busiest.per_task {
        true => small_amount(own, busiest, per_task_here, amount),
        false => amount,
    }
}

/// `fix_small_imbalance`: less than a task is to be moved. One task, if that evens out more than it
/// disturbs or if more is done in total afterwards; else `amount`.
fn small_amount(own: GroupLoad, busiest: GroupLoad, per_task_here: u64, amount: u64) -> u64 {
    let mut own = own;
    let mut margin = 2;
    if own.tasks == 0 {
        own.per_task = per_task_here;
    } else if busiest.per_task > own.per_task {
        margin = 1;
    }
    let task = busiest.per_task * CAPACITY / busiest.capacity;
    if busiest.avg + task >= own.avg + task * margin {
        return busiest.per_task;
    }
    let now = busiest.capacity * busiest.per_task.min(busiest.avg)
        + own.capacity * own.per_task.min(own.avg);
    let mut then = 0;
    if busiest.avg > task {
        then = busiest.capacity * busiest.per_task.min(busiest.avg - task);
    }
    let comes = if busiest.avg * busiest.capacity < busiest.per_task * CAPACITY {
        busiest.avg * busiest.capacity / own.capacity
    } else {
        busiest.per_task * CAPACITY / own.capacity
    };
    then += own.capacity * own.per_task.min(own.avg + comes);
    if then / CAPACITY > now / CAPACITY { busiest.per_task } else { amount }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification: two CPUs, three hogs of nice 0. CPU 0 has two. CPU 1, which
    /// is busy, pulls one: 512 are to be moved, which is less than a task.
    #[test]
    fn the_odd_one_of_three_hogs_goes_to_and_fro() {
        let group = |tasks, avg| GroupLoad {
            tasks,
            avg,
            load: avg,
            per_task: 1024,
            cpus: 1,
            capacity: 1024,
            ..GroupLoad::default()
        };
        let (own, busiest) = (group(1, 1024), group(2, 2048));
        let survey = LoadSurvey { own, busiest: Some((0, busiest)), average: 1536 };
        assert!(is_worth_while(&survey, CpuIdleType::NotIdle, false, 117));
        assert_eq!(amount_to_move(own, busiest, 1536, 1024), 1024);
    }
}
