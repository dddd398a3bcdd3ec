//! Statistics of all CPUs together, for balancing and forks, without a scan of every CPU.
//!
//! The rules are: examine every CPU of the domain, add up its load, and compare it with the best
//! found so far. On a machine of a thousand CPUs nearly all of them have not changed since the last
//! scan. So the results are cached: a row of statistics for each CPU, the best row of each block of
//! CPUs, and the sums over all rows. Code that changes something in a CPU's row calls `invalidate`
//! ([`Rqs`] marks its own changes), and the marked rows are recomputed before the next query.
//!
//! The results are exactly the same as from a full scan (`Fair::survey`, `Fair::idlest_group`),
//! because
//!
//! * averages do not change between two updates, however much time passes, so that their sums can
//!   be cached;
//! * the best of a ring of CPUs is the best among the best of each of its pieces, taken in the
//!   order of the ring. The rule that decides among equals (the first, or the last that was
//!   examined) is the same within a piece as among pieces.
//!
//! The cache is used on a machine that is one domain of single CPUs. Where domains have groups of
//! several CPUs, there are few groups.

use super::cfs_rq::CfsRqs;
use super::domains::is_numa;
use super::lb_stats::{Stats, Survey};
use crate::classes::Rqs;
use crate::classes::domains::Domains;
use alloc::vec::Vec;
use core::ops::Range;
use schedlab_core::CpuId;

/// CPUs of a block.
const BLOCK: usize = 32;

/// The cache. See the module.
#[derive(Debug)]
pub(super) struct LbCache {
    /// Whether the cache is in use: the machine is one domain of single CPUs, all online.
    is_kept: bool,
    /// `first_stays` of every row.
    first_stays: bool,
    /// Whether rows count delayed tasks.
    delayed: bool,
    /// The domain's level, and its `imbalance_pct`.
    level: usize,
    imbalance_pct: u32,
    /// By CPU: its row.
    rows: Vec<Stats>,
    /// The CPUs whose rows may be out of date, 64 a word.
    marked: Vec<u64>,
    blocks: Vec<Block>,
    /// Sums over all rows, and the number of CPUs with more than one thread.
    load: u64,
    util: u64,
    waiting: u32,
}

/// The best CPUs of a block.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Whether the other fields are out of date.
    marked: bool,
    /// The CPU to take tasks from.
    busiest: Option<CpuId>,
    /// The CPU for a new task.
    idlest: Option<CpuId>,
}

impl LbCache {
    /// The cache of an idle machine.
    pub(super) fn new(domains: &Domains, first_stays: bool, delayed: bool) -> LbCache {
        let cpus = domains.cpus() as usize;
        let mut level = domains.of(CpuId(0));
        let flat = level.next().filter(|&level| {
            let span = domains.level(level).span(CpuId(0));
            span.single_cpu_groups && span.cpus.len() == cpus && !is_numa(domains.level(level).kind)
        });
        let mut lb_cache = LbCache {
            is_kept: flat.is_some(),
            first_stays,
            delayed,
            level: flat.unwrap_or(0),
            imbalance_pct: flat.map_or(0, |level| domains.level(level).params.imbalance_pct),
            rows: Vec::new(),
            marked: alloc::vec![0; cpus.div_ceil(64)],
            blocks: Vec::new(),
            load: 0,
            util: 0,
            waiting: 0,
        };
        if lb_cache.is_kept {
            lb_cache.rows = alloc::vec![Stats::default(); cpus];
            let stale = Block { marked: true, busiest: None, idlest: None };
            lb_cache.blocks = alloc::vec![stale; cpus.div_ceil(BLOCK)];
            (0..cpus as u32).for_each(|cpu| lb_cache.invalidate(CpuId(cpu)));
        }
        lb_cache
    }

    /// Sets whether rows count delayed tasks, on an idle machine.
    pub(super) fn count_delayed(&mut self, delayed: bool) {
        self.delayed = delayed;
    }

    /// Marks that something in the row of `cpu` may have changed.
    #[inline]
    pub(super) fn invalidate(&mut self, cpu: CpuId) {
        self.marked[cpu.index() / 64] |= 1 << (cpu.0 % 64);
    }

    /// Whether the cache covers the domain of this level.
    #[inline]
    pub(super) fn knows(&self, level: usize) -> bool {
        self.is_kept && self.level == level
    }

    /// The row of `cpu`.
    #[inline]
    pub(super) fn row(&self, cpu: CpuId) -> &Stats {
        &self.rows[cpu.index()]
    }

    fn put(&mut self, cpu: usize, row: Stats) {
        let old = core::mem::replace(&mut self.rows[cpu], row);
        self.load = self.load - old.load + row.load;
        self.util = self.util - old.util + row.util;
        self.waiting = self.waiting - u32::from(old.has_waiting) + u32::from(row.has_waiting);
        self.blocks[cpu / BLOCK].marked |= old != row;
    }

    /// The best of `found` and these CPUs, examined in this order.
    #[inline]
    fn best(
        &self,
        cpus: Range<usize>,
        found: Option<CpuId>,
        is_better: impl Fn(&Stats, Option<&Stats>) -> bool,
    ) -> Option<CpuId> {
        cpus.fold(found, |found, cpu| {
            let best = found.map(|cpu| self.row(cpu));
            if is_better(&self.rows[cpu], best) { Some(CpuId(cpu as u32)) } else { found }
        })
    }

    /// The best of all CPUs except `own`, examined in the order of the ring behind it. `of_block`
    /// is the best of a whole block.
    fn best_around(
        &self,
        own: CpuId,
        of_block: impl Fn(&Block) -> Option<CpuId>,
        is_better: impl Fn(&Stats, Option<&Stats>) -> bool,
    ) -> Option<CpuId> {
        let (own, cpus) = (own.index(), self.rows.len());
        let block = own / BLOCK;
        let (first, behind) = (block * BLOCK, ((block + 1) * BLOCK).min(cpus));
        let mut found = self.best(own + 1..behind, None, &is_better);
        for other in self.blocks[block + 1..].iter().chain(&self.blocks[..block]) {
            if let Some(candidate) = of_block(other)
                && is_better(self.row(candidate), found.map(|cpu| self.row(cpu)))
            {
                found = Some(candidate);
            }
        }
        self.best(first..own, found, &is_better)
    }

    /// The result of `Fair::survey` as seen from `here`.
    pub(super) fn survey(&self, here: CpuId) -> Survey {
        let busiest = self.best_around(here, |block| block.busiest, is_busier);
        let whole = Stats::of_sums(self.rows.len() as u64, self.load, self.util, self.waiting > 0);
        let busiest = busiest.map(|cpu| (cpu.index(), *self.row(cpu)));
        Survey { local: *self.row(here), whole, busiest }
    }

    /// The idlest CPU for a child of a task on `own`, except `own` itself.
    pub(super) fn idlest(&self, own: CpuId) -> Option<CpuId> {
        self.best_around(own, |block| block.idlest, is_idler)
    }

    /// Brings the cache up to date. CPUs that are `dropped` count as empty.
    pub(super) fn refresh(&mut self, rqs: &mut Rqs, cfs_rqs: &CfsRqs, dropped: &[bool]) {
        if !self.is_kept {
            return;
        }
        for word in 0..self.marked.len() {
            let mut bits = core::mem::take(&mut self.marked[word]) | rqs.take_changed(word);
            while bits != 0 {
                let cpu = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let row = self.row_of(rqs, cfs_rqs, dropped, CpuId(cpu as u32));
                self.put(cpu, row);
            }
        }
        for block in 0..self.blocks.len() {
            if self.blocks[block].marked {
                let cpus = || block * BLOCK..((block + 1) * BLOCK).min(self.rows.len());
                let busiest = self.best(cpus(), None, is_busier);
                let idlest = self.best(cpus(), None, is_idler);
                self.blocks[block] = Block { marked: false, busiest, idlest };
            }
        }
    }

    /// The current row of `cpu`.
    fn row_of(&self, rqs: &Rqs, cfs_rqs: &CfsRqs, dropped: &[bool], cpu: CpuId) -> Stats {
        let mut row = Stats::sum_up(rqs, cfs_rqs, dropped, self.delayed, &[cpu]);
        row.kind = row.type_by_numbers(self.imbalance_pct);
        row.first_stays = self.first_stays;
        row
    }

    /// Whether every row that is not marked, and the sums, are right. For tests.
    pub(super) fn audit(&self, rqs: &Rqs, cfs_rqs: &CfsRqs, dropped: &[bool]) -> bool {
        let is_marked = |cpu: CpuId| (self.marked[cpu.index() / 64] >> (cpu.0 % 64)) & 1 == 1;
        let sum = |of: fn(&Stats) -> u64| self.rows.iter().map(of).sum::<u64>();
        !self.is_kept
            || (0..self.rows.len() as u32).map(CpuId).all(|cpu| {
                is_marked(cpu)
                    || rqs.is_changed(cpu)
                    || *self.row(cpu) == self.row_of(rqs, cfs_rqs, dropped, cpu)
            }) && [
                sum(|row| row.load),
                sum(|row| row.util),
                sum(|row| u64::from(row.has_waiting)),
            ] == [self.load, self.util, u64::from(self.waiting)]
    }
}

fn is_busier(stats: &Stats, best: Option<&Stats>) -> bool {
    stats.h_nr_runnable > 0 && best.is_none_or(|best| stats.is_busier_than(best))
}

fn is_idler(stats: &Stats, best: Option<&Stats>) -> bool {
    best.is_none_or(|best| stats.is_idler_than(best))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair_6::eevdf::tests::scramble;
    use crate::fair_6::eevdf::{Eevdf, Version};
    use crate::fair_6::ids::CfsRqId;
    use crate::fair_6::lb_env::{CpuIdleType, LbEnv};
    use crate::random::Random;
    use schedlab_core::BuildConfig;
    use schedlab_core::CpuSet;

    /// After each of many changes of a few CPUs at a time: a survey from every CPU, and the
    /// destination of forks on it.
    #[test]
    fn the_cache_says_what_a_look_at_every_cpu_says() {
        let mut random = Random(1);
        let (mut found, mut left) = (0, 0);
        for cpus in [2, 31, 32, 33, 65, 100] {
            let Eevdf { core: rqs, fair, .. } =
                &mut Eevdf::new(Version::V6_18, &BuildConfig::flat(cpus, 1000));
            for round in 0..60 {
                // From crowded to nearly empty, with all the criteria that decide among equals.
                let kinds = 1 + round % 5;
                for _ in 0..1 + random.below(5 + u64::from(cpus) * u64::from(round % 9 == 0)) {
                    let cpu = CpuId(random.below(u64::from(cpus)) as u32);
                    scramble(fair, rqs, &mut random, cpu, kinds);
                }
                fair.refresh_lb_cache(rqs);
                assert!(fair.is_lb_cache_right(rqs));
                for here in (0..cpus).map(CpuId) {
                    let env = LbEnv::new(here, fair.lb_cache.level, CpuIdleType::Idle);
                    let short = fair.lb_cache.survey(here);
                    assert_eq!(
                        short,
                        fair.survey(rqs, &env),
                        "{cpus} CPUs, round {round}, {here:?}"
                    );
                    found += u32::from(short.busiest.is_some());
                    let short = fair.idlest_group(rqs, &CpuSet::All, here, env.level, None);
                    fair.lb_cache.is_kept = false;
                    let long = fair.idlest_group(rqs, &CpuSet::All, here, env.level, None);
                    fair.lb_cache.is_kept = true;
                    assert_eq!(short, long, "{cpus} CPUs, round {round}, {here:?}");
                    left += u32::from(short.is_some());
                }
            }
        }
        assert!(found > 10_000 && left > 1_000, "{found} {left}");
    }

    #[test]
    fn an_unmarked_change_is_noticed() {
        let Eevdf { core: rqs, fair, .. } =
            &mut Eevdf::new(Version::V6_18, &BuildConfig::flat(4, 1000));
        fair.refresh_lb_cache(rqs);
        assert!(fair.is_lb_cache_right(rqs));
        fair.cfs_rqs[CfsRqId::of_cpu(CpuId(2))].avg.load_avg = 7;
        assert!(!fair.is_lb_cache_right(rqs));
        fair.lb_cache.invalidate(CpuId(2));
        assert!(fair.is_lb_cache_right(rqs));
    }
}
