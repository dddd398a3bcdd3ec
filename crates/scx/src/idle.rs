//! The built-in search for idle CPUs, which considers hardware threads, caches and memory nodes.

use crate::act::Act;
use crate::cpu::{MASK_IDLE, MASK_IDLE_SMT};
use crate::kernel_types::WAKE_SYNC;
use schedlab_core::CpuId;
use schedlab_core::topology::Place;

/// Required proximity of a CPU.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proximity {
    Cache(u32),
    Node(u32),
    Anywhere,
}

impl Proximity {
    fn holds(self, place: Place) -> bool {
        match self {
            Proximity::Cache(cache) => place.cache == cache,
            Proximity::Node(node) => place.node == node,
            Proximity::Anywhere => true,
        }
    }
}

impl Act<'_> {
    /// Chooses an idle CPU and clears its idle mark. `within` is the address of a mask that must
    /// also contain the CPU.
    ///
    /// The order is: for a synchronous wakeup, the previous CPU if it shares a cache with the
    /// waker, or the waker's CPU; with hardware threads, a CPU of a fully idle core; any idle CPU.
    /// Each of the last two tries the previous CPU first, then its cache, its node and all CPUs.
    pub fn select_idle(
        &mut self,
        row: u32,
        prev: u32,
        wake_flags: u64,
        within: Option<u64>,
    ) -> Option<u32> {
        let mask = self.w.task_field(row, "cpus_mask");
        let is_good = |act: &Self, cpu: u32| {
            act.w.mask_has(mask, cpu) && within.is_none_or(|within| act.w.mask_has(within, cpu))
        };
        let at = self.w.topology.place(CpuId(prev));
        if wake_flags & WAKE_SYNC != 0 {
            let waker = self.w.cpu;
            let of_waker = self.w.topology.place(CpuId(waker));
            let shares = of_waker.cache == at.cache;
            if shares && is_good(self, prev) && self.take_idle(prev) {
                return Some(prev);
            }
            let node = of_waker.node;
            let is_near = |act: &Self, cpu| act.w.topology.place(CpuId(cpu)).node == node;
            let mut all = 0..self.w.nr_cpus();
            let is_any_idle = all.any(|cpu| self.is_idle(cpu) && is_near(self, cpu));
            if self.w.queues[waker as usize].is_empty() && is_any_idle && is_good(self, waker) {
                return Some(waker);
            }
        }
        let has_threads = self.w.siblings.iter().any(|siblings| siblings.len() > 1);
        let proximities =
            [Proximity::Cache(at.cache), Proximity::Node(at.node), Proximity::Anywhere];
        for whole_core in [true, false] {
            if whole_core && !has_threads {
                continue;
            }
            let idle = self.w.mask(if whole_core { MASK_IDLE_SMT } else { MASK_IDLE });
            if is_good(self, prev) && self.w.mask_has(idle, prev) && self.take_idle(prev) {
                return Some(prev);
            }
            for proximity in proximities {
                let found = self.distribute(|act, cpu| {
                    act.w.mask_has(idle, cpu)
                        && is_good(act, cpu)
                        && proximity.holds(act.w.topology.place(CpuId(cpu)))
                });
                if let Some(cpu) = found {
                    self.take_idle(cpu);
                    return Some(cpu);
                }
            }
        }
        None
    }

    /// Takes an idle CPU of a mask, preferably of a fully idle core; with `whole_core`, only of
    /// such a core. With a node, only a CPU of that node.
    pub fn pick_idle(&mut self, mask: u64, node: Option<u32>, whole_core: bool) -> Option<u32> {
        let has_threads = self.w.siblings.iter().any(|siblings| siblings.len() > 1);
        for of in [MASK_IDLE_SMT, MASK_IDLE] {
            // On a machine without hardware threads both masks are the same.
            if of == MASK_IDLE_SMT && !has_threads || of == MASK_IDLE && whole_core && has_threads {
                continue;
            }
            let idle = self.w.mask(of);
            let found = self.distribute(|act, cpu| {
                let here = act.w.topology.place(CpuId(cpu)).node;
                act.w.mask_has(idle, cpu)
                    && act.w.mask_has(mask, cpu)
                    && node.is_none_or(|node| node == here)
            });
            if let Some(cpu) = found {
                self.take_idle(cpu);
                return Some(cpu);
            }
        }
        None
    }
}
