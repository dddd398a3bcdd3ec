//! Costs of operations on a modelled machine.
//!
//! The idealised machine decides, switches and calls at no cost, which golden schedules need. A
//! modelled machine has a [`CostModel`]: data from a description file, each number with its source.
//!
//! * [`kernel`]: the kernel's own operations: picking, waking, ticking, switching, locking.
//! * [`calls`]: programs' system calls and copying.
//! * [`caches`]: finding caches cold.
//! * [`walk`]: cache misses of a linear search.
//! * [`latency`]: late timers.
//! * [`power`]: power consumption.
//! * [`overheads`]: kernel time spent, by kind.

pub mod caches;
pub mod calls;
pub mod kernel;
pub mod latency;
pub mod overheads;
pub mod power;
pub mod walk;

pub use caches::{CacheLevel, CacheOf};
pub use calls::CallCosts;
pub use kernel::{Charged, Cost, KernelCosts};
pub use latency::LatencyTable;
pub use overheads::{CpuOverheads, Overhead, Overheads};
pub use power::{Energy, IdleState, Power};

use schedlab_core::{Entry, Release, Topology};

/// All costs of a machine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CostModel {
    /// Costs of the kernel's operations.
    pub kernel: KernelCosts,
    /// Costs that differ under one scheduler or release. Later entries take precedence.
    pub by_scheduler: Vec<SchedulerCost>,
    /// Costs of programs' calls.
    pub calls: CallCosts,
    /// Caches, the nearest first.
    pub caches: Vec<CacheLevel>,
    /// Power consumption, if known.
    pub power: Option<Power>,
    /// Latency of timers; `None`: timers are never late.
    pub timer_latency: Option<LatencyTable>,
    /// Latency of timers on an idle CPU; `None`: as `timer_latency`.
    pub idle_timer_latency: Option<LatencyTable>,
    /// Whether one CPU emulates all CPUs in turn. While n CPUs are busy, the kernel's own
    /// operations and the latency of timers take n times as long. (Programs compute by the clock,
    /// and do not.)
    pub cpus_take_turns: bool,
}

/// A cost under one scheduler. Kernels differ in their code, and so in the costs of its steps and
/// of programs' calls.
#[derive(Clone, PartialEq, Debug)]
pub struct SchedulerCost {
    /// A scheduler (`o_1`) or a release (`o_n@2.4.19`).
    pub scheduler: String,
    /// Name of the cost: `scan`, `call.socket_write`.
    pub name: String,
    /// Cost, ns.
    pub ns: f64,
}

impl SchedulerCost {
    /// Checks that the cost exists and the value is valid.
    ///
    /// # Errors
    /// A description of the error.
    pub fn new(scheduler: &str, name: &str, ns: f64) -> Result<SchedulerCost, String> {
        match name.strip_prefix("call.") {
            Some(call) => CallCosts::default().set(call, ns)?,
            None => {
                Cost::find(name).ok_or_else(|| unknown_cost(name))?;
                kernel::picoseconds(ns)?;
            }
        }
        Ok(SchedulerCost { scheduler: scheduler.into(), name: name.into(), ns })
    }
}

fn unknown_cost(name: &str) -> String {
    let names: Vec<&str> = Cost::ALL.iter().map(|cost| cost.name()).collect();
    let (names, calls) = (names.join(", "), CallCosts::NAMES.join(", "));
    format!("there is no cost {name}; the costs are {names}, and call. with {calls}")
}

impl CostModel {
    fn special(
        &self,
        scheduler: &Entry,
        release: &Release,
    ) -> impl Iterator<Item = &SchedulerCost> {
        self.by_scheduler
            .iter()
            .filter(move |special| scheduler.is_called(release, &special.scheduler))
    }

    /// Returns the costs of the kernel's operations under a scheduler's release.
    pub fn kernel_of(&self, scheduler: &Entry, release: &Release) -> KernelCosts {
        let mut costs = self.kernel;
        for SchedulerCost { name, ns, .. } in self.special(scheduler, release) {
            if let (Some(cost), Ok(ps)) = (Cost::find(name), kernel::picoseconds(*ns)) {
                costs[cost] = ps;
            }
        }
        costs
    }

    /// Returns the costs of programs' calls under a scheduler's release.
    pub fn calls_of(&self, scheduler: &Entry, release: &Release) -> CallCosts {
        let mut costs = self.calls;
        for SchedulerCost { name, ns, .. } in self.special(scheduler, release) {
            if let Some(call) = name.strip_prefix("call.") {
                // Checked on construction.
                costs.set(call, *ns).expect("the cost was checked on construction");
            }
        }
        costs
    }

    /// Multiplies the costs of the kernel's own operations and the latency of timers by `times`.
    pub fn scale(&mut self, times: f64) {
        self.kernel.scale(times);
        let tables = [&mut self.timer_latency, &mut self.idle_timer_latency];
        tables.into_iter().flatten().for_each(|table| table.scale(times));
    }

    /// Sets a cost by name, in ns. Examples: `scan`, `call.pipe_write`; `o_n.scan`,
    /// `o_n@2.4.19.call.pipe_write` under one scheduler only (the caller has to check that the
    /// scheduler exists); `refill.core` for a KiB of a level of caches. In W: `power.base_watts`,
    /// `power.cpu_watts`, `power.package_watts`.
    ///
    /// # Errors
    /// A description of what is wrong with the name or the value.
    pub fn set(&mut self, name: &str, ns: f64) -> Result<(), String> {
        let ps = kernel::picoseconds(ns)?;
        if let Some(part) = name.strip_prefix("power.") {
            let power =
                self.power.as_mut().ok_or("the power consumption of the machine is unknown")?;
            let watts = match part {
                "base_watts" => &mut power.base_watts,
                "cpu_watts" => &mut power.cpu_watts,
                "package_watts" => &mut power.package_watts,
                _ => {
                    return Err(format!(
                        "there is no power.{part}; the names are base_watts, cpu_watts, package_watts"
                    ));
                }
            };
            *watts = ns;
            return Ok(());
        }
        if let Some(cost) = Cost::find(name) {
            self.kernel[cost] = ps;
            // A general cost replaces the costs of single schedulers.
            self.by_scheduler.retain(|special| special.name != name);
            return Ok(());
        }
        if let Some(call) = name.strip_prefix("call.") {
            self.calls.set(call, ns)?;
            self.by_scheduler.retain(|special| special.name != name);
            return Ok(());
        }
        if let Some(of) = name.strip_prefix("refill.") {
            let level = self.caches.iter_mut().find(|level| level.of.name() == of);
            let level = level.ok_or_else(|| format!("the machine has no cache for each {of}"))?;
            level.refill_kib_ps = ps;
            return Ok(());
        }
        let (scheduler, cost) = scheduler_and_cost(name).ok_or_else(|| {
            let all = unknown_cost(name);
            format!(
                "{all}; each also for one scheduler (o_n.scan); and refill. with core, cache, package or node"
            )
        })?;
        self.by_scheduler.push(SchedulerCost::new(scheduler, cost, ns)?);
        Ok(())
    }
}

/// Splits the name of a cost: `o_n@2.4.19.scan` is the `scan` of `o_n@2.4.19`, `o_n.call.futex` the
/// `call.futex` of `o_n`. `None`: the name contains no scheduler.
pub(crate) fn scheduler_and_cost(name: &str) -> Option<(&str, &str)> {
    let before = match name.find(".call.").or_else(|| name.find(".scx.")) {
        Some(at) => at,
        None => name.rfind('.')?,
    };
    Some((&name[..before], &name[before + 1..]))
}

/// Returns the scheduler or release for which [`CostModel::set`] would set the cost `name`; `None`:
/// it is for all.
pub fn special_of(name: &str) -> Option<&str> {
    let of_all = Cost::find(name).is_some()
        || ["power.", "call.", "refill."].iter().any(|part| name.starts_with(part));
    if of_all { None } else { scheduler_and_cost(name).map(|(scheduler, _)| scheduler) }
}

/// A cost model prepared for one machine under one scheduler.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Costs of the kernel's operations.
    pub kernel: KernelCosts,
    /// Caches, the nearest first.
    pub caches: Vec<CacheLevel>,
    /// Power consumption.
    pub power: Option<Power>,
    /// CPUs of the machine.
    pub topology: Topology,
    /// Whether idle CPUs have no ticks.
    pub nohz: bool,
    /// Latency of timers; `None`: timers are never late.
    pub timer_latency: Option<LatencyTable>,
    /// Latency of timers on an idle CPU; `None`: as `timer_latency`.
    pub idle_timer_latency: Option<LatencyTable>,
    /// Whether the CPUs take turns, so that times are multiplied by the number of busy CPUs.
    pub cpus_take_turns: bool,
    /// Seed for races for a lock and for latencies of timers.
    pub seed: u64,
}

impl Setup {
    /// Prepares `model` for a machine of this topology, under this release (`None`: without the
    /// costs that differ under one release). `nohz`: whether idle CPUs have no ticks.
    pub fn new(
        model: &CostModel,
        topology: &Topology,
        release: Option<(&Entry, &Release)>,
        nohz: bool,
    ) -> Setup {
        Setup {
            kernel: release
                .map_or(model.kernel, |(entry, release)| model.kernel_of(entry, release)),
            caches: model.caches.clone(),
            power: model.power.clone(),
            topology: topology.clone(),
            nohz,
            timer_latency: model.timer_latency.clone(),
            idle_timer_latency: model.idle_timer_latency.clone(),
            cpus_take_turns: model.cpus_take_turns,
            seed: 1,
        }
    }

    /// Returns a modelled machine on which all operations are free.
    pub fn free(topology: &Topology) -> Setup {
        Setup::new(&CostModel::default(), topology, None, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_sched::registry;

    #[test]
    fn a_release_may_cost_otherwise_than_the_others() {
        let mut model = CostModel::default();
        model.set("scan", 10.0).expect("the name exists");
        model.set("o_n.scan", 20.0).expect("the name exists");
        model.set("o_n@2.4.22.scan", 30.5).expect("the name exists");
        let scan = |model: &CostModel, name, version| {
            let (entry, release) =
                registry::find(&format!("{name}@{version}")).expect("the name exists");
            model.kernel_of(entry, release)[Cost::Scan]
        };
        assert_eq!(scan(&model, "bfs", "0.404"), 10_000);
        assert_eq!(scan(&model, "o_n", "2.4.19"), 20_000);
        assert_eq!(scan(&model, "o_n", "2.4.22"), 30_500);
        model.set("o_n@2.4.20.scan", 40.0).expect("2.4.22 is known as 2.4.20, too");
        assert_eq!(scan(&model, "o_n", "2.4.22"), 40_000);
        assert_eq!(scan(&model, "o_n", "2.4.19"), 20_000);
    }

    #[test]
    fn a_kernels_calls_may_cost_otherwise_than_anothers() {
        let mut model = CostModel::default();
        model.set("call.socket_read", 2000.0).expect("the name exists");
        model.set("o_n@2.4.19.call.socket_read", 3000.0).expect("the name exists");
        let read = |model: &CostModel, name, version| {
            let (entry, release) =
                registry::find(&format!("{name}@{version}")).expect("the name exists");
            model.calls_of(entry, release).socket_read_ns
        };
        assert_eq!(read(&model, "o_n", "2.4.19"), 3000);
        assert_eq!(read(&model, "o_n", "2.4.22"), 2000);
        assert_eq!(read(&model, "o_1", "2.6.0"), 2000);
        model.set("call.socket_read", 1000.0).expect("the name exists");
        assert_eq!(read(&model, "o_n", "2.4.19"), 1000, "a general cost holds for all releases");
    }

    #[test]
    fn names_that_are_none_and_values_that_make_no_sense_are_refused() {
        let mut model = CostModel::default();
        assert!(
            model
                .set("scam", 1.0)
                .unwrap_err()
                .starts_with("there is no cost scam; the costs are scan, ")
        );
        assert!(model.set("o_n.scam", 1.0).is_err());
        assert!(model.set("o_n.call.scam", 1.0).is_err());
        assert!(model.set("scan", -1.0).is_err());
        assert!(model.set("call.pipes", 1.0).is_err());
        assert!(model.set("refill.core", 1.0).unwrap_err().contains("no cache for each"));
        model.set("call.pipe_write", 700.0).expect("the name exists");
        assert_eq!(model.calls.pipe_write_ns, 700);
    }
}
