//! What operations cost on a modelled machine.
//!
//! The idealised machine decides, switches and calls at no cost; golden schedules need that. A modelled machine has a [`CostModel`]:
//! data from a description file, each number with its source.
//!
//! * [`kernel`]: what the kernel's own operations cost: picking, waking, ticking, switching, locking.
//! * [`calls`]: what programs pay for system calls and copying.
//! * [`caches`]: what it costs to find caches cold.
//! * [`power`]: what the machine draws.
//! * [`overheads`]: what the kernel's time went into.

pub mod caches;
pub mod calls;
pub mod kernel;
pub mod overheads;
pub mod power;

pub use caches::{CacheLevel, CacheOf};
pub use calls::CallCosts;
pub use kernel::{Cost, KernelCosts};
pub use overheads::{CpuOverheads, Overhead, Overheads};
pub use power::{Energy, IdleState, Power};

use schedlab_sched::Topology;

/// What everything costs on a machine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CostModel {
    /// The kernel's operations.
    pub kernel: KernelCosts,
    /// What costs otherwise under one scheduler (`o_1`), or one release of it (`o_n@2.4.19`): its name, what, picoseconds. The
    /// releases' code differs, and so does what one step of it costs. Later entries go before earlier ones.
    pub by_scheduler: Vec<(String, Cost, u64)>,
    /// Programs' calls.
    pub calls: CallCosts,
    /// Caches, the nearest first.
    pub caches: Vec<CacheLevel>,
    /// What the machine draws, if that is known.
    pub power: Option<Power>,
}

impl CostModel {
    /// What the kernel's operations cost under a scheduler's release.
    pub fn kernel_of(&self, scheduler: &str, release: &str) -> KernelCosts {
        let mut costs = self.kernel;
        for (whose, cost, ps) in &self.by_scheduler {
            let applies = match whose.split_once('@') {
                None => whose == scheduler,
                Some((name, version)) => name == scheduler && version == release,
            };
            if applies {
                costs[*cost] = *ps;
            }
        }
        costs
    }

    /// Sets one cost by name, in ns: `scan`; `o_n.scan` or `o_n@2.4.19.scan` under one scheduler only; `call.pipe_write`;
    /// `refill.core` for a KiB of a level of caches.
    ///
    /// # Errors
    /// What is wrong with name or value.
    pub fn set(&mut self, name: &str, ns: f64) -> Result<(), String> {
        let ps = kernel::picoseconds(ns)?;
        if let Some(cost) = Cost::find(name) {
            self.kernel[cost] = ps;
            // It is meant for all.
            self.by_scheduler.retain(|(_, other, _)| *other != cost);
            return Ok(());
        }
        if let Some(call) = name.strip_prefix("call.") {
            return self.calls.set(call, ns);
        }
        if let Some(of) = name.strip_prefix("refill.") {
            let level = self.caches.iter_mut().find(|level| level.of.name() == of);
            let level = level.ok_or_else(|| format!("the machine has no caches of each {of}"))?;
            level.refill_kib_ps = ps;
            return Ok(());
        }
        if let Some((whose, cost)) = name.rsplit_once('.')
            && let Some(cost) = Cost::find(cost)
        {
            self.by_scheduler.push((whose.into(), cost, ps));
            return Ok(());
        }
        let names: Vec<&str> = Cost::ALL.iter().map(|cost| cost.name()).collect();
        let calls: Vec<&str> = CallCosts::NAMES.to_vec();
        Err(format!(
            "there is no cost {name}; there are {}, each also for one scheduler (o_n.scan); call. with {}; and refill. with core, \
             cache, package or node",
            names.join(", "),
            calls.join(", ")
        ))
    }
}

/// A cost model made ready for one machine under one scheduler.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The kernel's operations.
    pub kernel: KernelCosts,
    /// Caches, the nearest first.
    pub caches: Vec<CacheLevel>,
    /// What the machine draws.
    pub power: Option<Power>,
    /// Its CPUs.
    pub topology: Topology,
    /// Whether idle CPUs go without ticks.
    pub nohz: bool,
}

impl Setup {
    /// `model` on a machine of this shape, under this release. `nohz`: whether idle CPUs go without ticks.
    pub fn new(
        model: &CostModel,
        topology: &Topology,
        (scheduler, release): (&str, &str),
        nohz: bool,
    ) -> Setup {
        Setup {
            kernel: model.kernel_of(scheduler, release),
            caches: model.caches.clone(),
            power: model.power.clone(),
            topology: topology.clone(),
            nohz,
        }
    }

    /// A modelled machine on which nothing costs anything.
    pub fn free(topology: &Topology) -> Setup {
        Setup::new(&CostModel::default(), topology, ("", ""), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_may_cost_otherwise_than_the_others() {
        let mut model = CostModel::default();
        model.set("scan", 10.0).expect("it is there");
        model.set("o_n.scan", 20.0).expect("it is there");
        model.set("o_n@2.4.22.scan", 30.5).expect("it is there");
        let scan = |name, release| model.kernel_of(name, release)[Cost::Scan];
        assert_eq!(scan("bfs", "0.404"), 10_000);
        assert_eq!(scan("o_n", "2.4.19"), 20_000);
        assert_eq!(scan("o_n", "2.4.22"), 30_500);
    }

    #[test]
    fn names_that_are_none_and_values_that_make_no_sense_are_refused() {
        let mut model = CostModel::default();
        assert!(model.set("scam", 1.0).unwrap_err().starts_with("there is no cost scam; there are scan, "));
        assert!(model.set("o_n.scam", 1.0).is_err());
        assert!(model.set("scan", -1.0).is_err());
        assert!(model.set("call.pipes", 1.0).is_err());
        assert!(model.set("refill.core", 1.0).unwrap_err().contains("no caches"));
        model.set("call.pipe_write", 700.0).expect("it is there");
        assert_eq!(model.calls.pipe_write_ns, 700);
    }
}
