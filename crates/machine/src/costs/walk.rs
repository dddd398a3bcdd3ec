//! Cache misses of a linear search.
//!
//! A kernel that keeps each task's structure at the foot of its stack has the structures at
//! multiples of the stack size, 8 KiB. A search looks at the same offset in each of them. Of the
//! sets of a cache, this data can fall into one for every 8 KiB of a way, and each set holds as
//! many lines as the cache has ways. A second-level cache of 256 KiB with 8 ways has 32 KiB per
//! way: four sets, 32 tasks.
//!
//! Stacks lie wherever memory was free, so each task falls into any of these sets with the same
//! probability. A search visits all tasks in turn, again and again. In a set with more tasks than
//! ways it finds no task, because each was evicted by those after it (the least recently used line
//! is evicted). Hence each of n tasks is missed with the probability that at least as many of the n
//! - 1 others as there are ways fall into its set.
//!
//! Not modelled: other data that enters these sets between two searches (it falls into these few
//! out of thousands), and tasks that another CPU has changed in the meantime.

use super::caches::CacheLevel;

/// Number of tasks that a search finds in no cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walks {
    /// By number of tasks: the number of misses, in thousandths. Beyond the end, all are missed.
    missed_milli: Vec<u64>,
}

/// Searches of more tasks than this find none in any existing cache.
const TASKS_MAX: usize = 1 << 16;

impl Walks {
    /// Prepares a search in which the tasks lie `apart_kib` apart, beyond a CPU's last cache;
    /// `None` if the number of ways of that cache is unknown.
    pub fn new(cache: &CacheLevel, apart_kib: u32) -> Option<Walks> {
        let ways = cache.ways.filter(|&ways| ways > 0)?;
        let sets = (cache.size_kib / ways / apart_kib.max(1)).max(1);
        let mut missed_milli = vec![0];
        // chances[k]: probability that k of the others fall into the set, for k below the number of
        // ways.
        let mut chances = vec![0.0; ways as usize];
        chances[0] = 1.0;
        let here = 1.0 / f64::from(sets);
        for tasks in 1..TASKS_MAX {
            let hit: f64 = chances.iter().sum();
            if hit < 0.001 {
                break;
            }
            missed_milli.push(((1.0 - hit).max(0.0) * tasks as f64 * 1000.0).round() as u64);
            for k in (0..chances.len()).rev() {
                let one_fewer = if k > 0 { chances[k - 1] } else { 0.0 };
                chances[k] = chances[k] * (1.0 - here) + one_fewer * here;
            }
        }
        Some(Walks { missed_milli })
    }

    /// Returns the number of `tasks` tasks that a search finds in no cache, in thousandths.
    #[inline]
    pub fn missed_milli(&self, tasks: u64) -> u64 {
        let known = usize::try_from(tasks).ok().and_then(|tasks| self.missed_milli.get(tasks));
        known.copied().unwrap_or(tasks * 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::CacheOf;

    fn walks(size_kib: u32, ways: u32) -> Walks {
        let level = CacheLevel { of: CacheOf::Core, size_kib, refill_kib_ps: 1, ways: Some(ways) };
        Walks::new(&level, 8).expect("the number of ways is known")
    }

    #[test]
    fn one_set_holds_as_many_as_it_has_ways_and_of_one_more_none() {
        // A first-level cache of 16 KiB with 4 ways has 4 KiB per way: all tasks fall into one set.
        let walks = walks(16, 4);
        assert_eq!([0, 1, 4, 5, 9].map(|tasks| walks.missed_milli(tasks)), [0, 0, 0, 5000, 9000]);
    }

    #[test]
    fn four_sets_of_eight_hold_some_thirty_tasks() {
        let walks = walks(256, 8);
        assert_eq!(walks.missed_milli(8), 0, "eight tasks fit into one set");
        // All of 9 tasks are missed if all are in one set: 4 in 4^9, so nine in 65,536.
        assert_eq!(walks.missed_milli(9), 0);
        let of = |tasks: u64| walks.missed_milli(tasks) as f64 / 1000.0 / tasks as f64;
        assert!(of(16) < 0.04, "{}", of(16));
        assert!((0.3..0.6).contains(&of(33)), "{}", of(33));
        assert!(of(64) > 0.97, "{}", of(64));
        assert_eq!(walks.missed_milli(8000), 8_000_000);
    }

    #[test]
    fn four_times_the_cache_holds_four_times_the_tasks() {
        let (small, large) = (walks(256, 8), walks(1024, 8));
        let of = |walks: &Walks, tasks: u64| walks.missed_milli(tasks) as f64 / tasks as f64;
        assert!(of(&large, 64) < 50.0 && of(&small, 64) > 970.0);
        assert!((300.0..600.0).contains(&of(&large, 129)));
        assert!(of(&large, 256) > 970.0);
    }
}
