//! What operations cost on a modelled machine.
//!
//! The idealised machine decides, switches and calls at no cost; golden schedules need that. A
//! modelled machine has a [`CostModel`]: data from a description file, each number with its source.
//!
//! * [`kernel`]: what the kernel's own operations cost: picking, waking, ticking, switching,
//!   locking.
//! * [`calls`]: what programs pay for system calls and copying.
//! * [`caches`]: what it costs to find caches cold.
//! * [`walk`]: what a linear search finds in the cache.
//! * [`latency`]: how late timers come.
//! * [`power`]: what the machine draws.
//! * [`overheads`]: what the kernel's time went into.

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

/// What everything costs on a machine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CostModel {
    /// The kernel's operations.
    pub kernel: KernelCosts,
    /// What costs otherwise under one scheduler or release. Later entries go before earlier ones.
    pub by_scheduler: Vec<Special>,
    /// Programs' calls.
    pub calls: CallCosts,
    /// Caches, the nearest first.
    pub caches: Vec<CacheLevel>,
    /// What the machine draws, if that is known.
    pub power: Option<Power>,
    /// How late timers come; none: never.
    pub timer_latency: Option<LatencyTable>,
    /// The same on a CPU that idled; none: as `timer_latency`.
    pub idle_timer_latency: Option<LatencyTable>,
    /// The CPUs are emulated by one, by turns: while n are busy, the kernel's own operations, and
    /// how late timers come, take n times as long. (Programs compute by the clock, and do not.)
    pub cpus_take_turns: bool,
}

/// A cost under one scheduler: kernels' code differs, and so does what a step of it, or a call of a
/// program, costs.
#[derive(Clone, PartialEq, Debug)]
pub struct Special {
    /// A scheduler (`o_1`) or a release of one (`o_n@2.4.19`).
    pub whose: String,
    /// What: `scan`, `call.socket_write`.
    pub name: String,
    /// ns.
    pub ns: f64,
}

impl Special {
    /// A cost that exists, with a value that makes sense.
    ///
    /// # Errors
    /// What is wrong.
    pub fn new(whose: &str, name: &str, ns: f64) -> Result<Special, String> {
        match name.strip_prefix("call.") {
            Some(call) => CallCosts::default().set(call, ns)?,
            None => {
                Cost::find(name).ok_or_else(|| unknown_cost(name))?;
                kernel::picoseconds(ns)?;
            }
        }
        Ok(Special { whose: whose.into(), name: name.into(), ns })
    }
}

fn unknown_cost(name: &str) -> String {
    let names: Vec<&str> = Cost::ALL.iter().map(|cost| cost.name()).collect();
    let (names, calls) = (names.join(", "), CallCosts::NAMES.join(", "));
    format!("there is no cost {name}; there are {names}; and call. with {calls}")
}

impl CostModel {
    fn special(&self, scheduler: &Entry, release: &Release) -> impl Iterator<Item = &Special> {
        self.by_scheduler.iter().filter(move |special| scheduler.is_called(release, &special.whose))
    }

    /// What the kernel's operations cost under a scheduler's release.
    pub fn kernel_of(&self, scheduler: &Entry, release: &Release) -> KernelCosts {
        let mut costs = self.kernel;
        for Special { name, ns, .. } in self.special(scheduler, release) {
            if let (Some(cost), Ok(ps)) = (Cost::find(name), kernel::picoseconds(*ns)) {
                costs[cost] = ps;
            }
        }
        costs
    }

    /// What programs' calls cost under a scheduler's release.
    pub fn calls_of(&self, scheduler: &Entry, release: &Release) -> CallCosts {
        let mut costs = self.calls;
        for Special { name, ns, .. } in self.special(scheduler, release) {
            if let Some(call) = name.strip_prefix("call.") {
                // Checked when it was made.
                costs.set(call, *ns).expect("a call and what it may cost");
            }
        }
        costs
    }

    /// All of the kernel's own operations, and how late timers come, take so many times as long.
    pub fn scale(&mut self, times: f64) {
        self.kernel.scale(times);
        let tables = [&mut self.timer_latency, &mut self.idle_timer_latency];
        tables.into_iter().flatten().for_each(|table| table.scale(times));
    }

    /// Sets one cost by name, in ns: `scan`, `call.pipe_write`; `o_n.scan`,
    /// `o_n@2.4.19.call.pipe_write` under one scheduler only (whether there is one of that name,
    /// the caller has to know); `refill.core` for a KiB of a level of
    /// caches. Besides, in W: `power.base_watts`, `power.cpu_watts`, `power.package_watts`.
    ///
    /// # Errors
    /// What is wrong with name or value.
    pub fn set(&mut self, name: &str, ns: f64) -> Result<(), String> {
        let ps = kernel::picoseconds(ns)?;
        if let Some(part) = name.strip_prefix("power.") {
            let power = self.power.as_mut().ok_or("nothing is known of the machine's power")?;
            let watts = match part {
                "base_watts" => &mut power.base_watts,
                "cpu_watts" => &mut power.cpu_watts,
                "package_watts" => &mut power.package_watts,
                _ => {
                    return Err(format!(
                        "there is no power.{part}; there are base_watts, cpu_watts, package_watts"
                    ));
                }
            };
            *watts = ns;
            return Ok(());
        }
        if let Some(cost) = Cost::find(name) {
            self.kernel[cost] = ps;
            // It is meant for all.
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
            let level = level.ok_or_else(|| format!("the machine has no caches of each {of}"))?;
            level.refill_kib_ps = ps;
            return Ok(());
        }
        let (whose, what) = whose_cost(name).ok_or_else(|| {
            let all = unknown_cost(name);
            format!(
                "{all}; each also for one scheduler (o_n.scan); and refill. with core, cache, package or node"
            )
        })?;
        self.by_scheduler.push(Special::new(whose, what, ns)?);
        Ok(())
    }
}

/// `o_n@2.4.19.scan` is the `scan` of `o_n@2.4.19`, `o_n.call.futex` the `call.futex` of `o_n`.
/// None: it names no scheduler.
pub(crate) fn whose_cost(name: &str) -> Option<(&str, &str)> {
    let before = match name.find(".call.").or_else(|| name.find(".scx.")) {
        Some(at) => at,
        None => name.rfind('.')?,
    };
    Some((&name[..before], &name[before + 1..]))
}

/// The scheduler, or the release of one, for which alone [`CostModel::set`] would set the cost
/// `name`; none if it is for all.
pub fn special_of(name: &str) -> Option<&str> {
    let of_all = Cost::find(name).is_some()
        || ["power.", "call.", "refill."].iter().any(|part| name.starts_with(part));
    if of_all { None } else { whose_cost(name).map(|(whose, _)| whose) }
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
    /// How late timers come; none: never.
    pub timer_latency: Option<LatencyTable>,
    /// The same on a CPU that idled; none: as `timer_latency`.
    pub idle_timer_latency: Option<LatencyTable>,
    /// Whether the CPUs take turns, so that everything takes as many times as long as are busy.
    pub cpus_take_turns: bool,
    /// What races for a lock, and latencies of timers, are drawn from.
    pub seed: u64,
}

impl Setup {
    /// `model` on a machine of this shape, under this release (none: what costs otherwise under one
    /// is left out). `nohz`: whether idle CPUs go without ticks.
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

    /// A modelled machine on which nothing costs anything.
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
        model.set("scan", 10.0).expect("it is there");
        model.set("o_n.scan", 20.0).expect("it is there");
        model.set("o_n@2.4.22.scan", 30.5).expect("it is there");
        let scan = |model: &CostModel, name, version| {
            let (entry, release) =
                registry::find(&format!("{name}@{version}")).expect("it is there");
            model.kernel_of(entry, release)[Cost::Scan]
        };
        assert_eq!(scan(&model, "bfs", "0.404"), 10_000);
        assert_eq!(scan(&model, "o_n", "2.4.19"), 20_000);
        assert_eq!(scan(&model, "o_n", "2.4.22"), 30_500);
        model.set("o_n@2.4.20.scan", 40.0).expect("2.4.22 has that name, too");
        assert_eq!(scan(&model, "o_n", "2.4.22"), 40_000);
        assert_eq!(scan(&model, "o_n", "2.4.19"), 20_000);
    }

    #[test]
    fn a_kernels_calls_may_cost_otherwise_than_anothers() {
        let mut model = CostModel::default();
        model.set("call.socket_read", 2000.0).expect("it is there");
        model.set("o_n@2.4.19.call.socket_read", 3000.0).expect("it is there");
        let read = |model: &CostModel, name, version| {
            let (entry, release) =
                registry::find(&format!("{name}@{version}")).expect("it is there");
            model.calls_of(entry, release).socket_read_ns
        };
        assert_eq!(read(&model, "o_n", "2.4.19"), 3000);
        assert_eq!(read(&model, "o_n", "2.4.22"), 2000);
        assert_eq!(read(&model, "o_1", "2.6.0"), 2000);
        model.set("call.socket_read", 1000.0).expect("it is there");
        assert_eq!(read(&model, "o_n", "2.4.19"), 1000, "what is set for all holds for all");
    }

    #[test]
    fn names_that_are_none_and_values_that_make_no_sense_are_refused() {
        let mut model = CostModel::default();
        assert!(
            model
                .set("scam", 1.0)
                .unwrap_err()
                .starts_with("there is no cost scam; there are scan, ")
        );
        assert!(model.set("o_n.scam", 1.0).is_err());
        assert!(model.set("o_n.call.scam", 1.0).is_err());
        assert!(model.set("scan", -1.0).is_err());
        assert!(model.set("call.pipes", 1.0).is_err());
        assert!(model.set("refill.core", 1.0).unwrap_err().contains("no caches"));
        model.set("call.pipe_write", 700.0).expect("it is there");
        assert_eq!(model.calls.pipe_write_ns, 700);
    }
}
