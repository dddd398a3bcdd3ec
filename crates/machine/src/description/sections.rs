//! Optional sections of a description: costs, caches, power. Every number has its source.

use super::Sourced;
use super::mistake::Mistake;
use crate::costs::kernel::picoseconds;
use crate::costs::latency::LATENCY_MAX_NS;
use crate::costs::{
    CacheLevel, CacheOf, CallCosts, Cost, CostModel, IdleState, LatencyTable, Power, SchedulerCost,
};
use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A number and its source: one of `source` and `calibrated_on`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Number {
    value: f64,
    source: Option<String>,
    calibrated_on: Option<String>,
}

/// An object whose keys are read one by one, in their order.
pub(super) struct Entries<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Entries<T>, D::Error> {
        struct Each<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut entries: Vec<(String, T)> = vec![];
                while let Some((key, value)) = map.next_entry::<String, T>()? {
                    if entries.iter().any(|(other, _)| *other == key) {
                        return Err(de::Error::custom(format!("duplicate field `{key}`")));
                    }
                    entries.push((key, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Each(PhantomData))
    }
}

/// `costs`: names and times in ns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Costs {
    kernel: Entries<Number>,
    by_scheduler: Option<Entries<Entries<Number>>>,
    calls: Option<Entries<Number>>,
    timer_latency: Option<Quantiles>,
    idle_timer_latency: Option<Quantiles>,
}

/// A table of quantiles: shares and times in ns. A bare table has the source of the file.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a table [[share, ns], ...], or {\"value\": [[share, ns], ...], \"source\": \"...\"}"
)]
enum Quantiles {
    Bare(Vec<(f64, f64)>),
    Sourced(SourcedQuantiles),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourcedQuantiles {
    value: Vec<(f64, f64)>,
    source: Option<String>,
    calibrated_on: Option<String>,
}

/// An entry of `caches`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cache {
    of: String,
    size_kib: Number,
    /// Cost per KiB, ns.
    refill_kib: Number,
    /// Lines per set.
    ways: Option<Number>,
}

/// `power`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Draws {
    base_watts: Number,
    cpu_watts: Number,
    cpu_idle: Vec<Idle>,
    package_watts: Number,
    #[serde(default)]
    package_idle: Vec<Idle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Idle {
    name: String,
    watts: Number,
    residency_us: Number,
    exit_us: Number,
}

/// Reads numbers, checks them, and records their sources.
struct Reader {
    numbers: Vec<Sourced>,
}

impl Reader {
    fn take(
        &mut self,
        place: String,
        number: Number,
        least: f64,
        most: f64,
    ) -> Result<f64, Mistake> {
        let (source, calibrated) = match (number.source, number.calibrated_on) {
            (Some(source), None) if !source.trim().is_empty() => (source, false),
            (None, Some(on)) if !on.trim().is_empty() => (on, true),
            (Some(_), Some(_)) => {
                let message =
                    "has both \"source\" and \"calibrated_on\"; give the one that applies";
                return Err((place, message.into()));
            }
            _ => {
                let message = "has no source; state where the number is from: \"source\": \"...\", or \"calibrated_on\"";
                return Err((place, message.into()));
            }
        };
        if !(least..=most).contains(&number.value) {
            return Err((
                place,
                format!("{} is out of range; give {least} to {most}", number.value),
            ));
        }
        self.numbers.push(Sourced { key: place, value: number.value, source, calibrated });
        Ok(number.value)
    }

    fn named(
        &mut self,
        place: &str,
        entries: Entries<Number>,
        mut set: impl FnMut(&str, f64) -> Result<(), String>,
    ) -> Result<(), Mistake> {
        for (name, number) in entries.0 {
            let here = format!("{place}.{name}");
            let ns = self.take(here.clone(), number, 0.0, crate::costs::kernel::COST_MAX_NS)?;
            set(&name, ns).map_err(|message| (here, message))?;
        }
        Ok(())
    }

    /// Records each time of a table as a number, with its share as the name.
    fn quantiles(&mut self, key: &str, table: Quantiles) -> Result<LatencyTable, Mistake> {
        let place = format!("costs.{key}");
        let (points, source, calibrated_on) = match table {
            Quantiles::Bare(points) => (points, Some("as the file".to_string()), None),
            Quantiles::Sourced(SourcedQuantiles { value, source, calibrated_on }) => {
                (value, source, calibrated_on)
            }
        };
        for &(share, ns) in &points {
            let number =
                Number { value: ns, source: source.clone(), calibrated_on: calibrated_on.clone() };
            self.take(format!("{place}.{share}"), number, 0.0, LATENCY_MAX_NS)?;
        }
        LatencyTable::new(points).map_err(|message| (place, message))
    }

    fn idle(&mut self, place: &str, states: Vec<Idle>) -> Result<Vec<IdleState>, Mistake> {
        let mut read: Vec<IdleState> = vec![];
        for (number, state) in states.into_iter().enumerate() {
            let here = format!("{place}[{number}]");
            let mut us = |key: &str, number| {
                self.take(format!("{here}.{key}"), number, 0.0, 1e9)
                    .map(|us| (us * 1000.0).round() as u64)
            };
            let residency_ns = us("residency_us", state.residency_us)?;
            let exit_ns = us("exit_us", state.exit_us)?;
            if read.last().is_some_and(|lighter| lighter.residency_ns > residency_ns) {
                let message =
                    "is shorter than that of the state before it; give the lightest state first";
                return Err((format!("{here}.residency_us"), message.into()));
            }
            let watts = self.take(format!("{here}.watts"), state.watts, 0.0, 1e6)?;
            read.push(IdleState { name: state.name, watts, residency_ns, exit_ns });
        }
        Ok(read)
    }
}

/// Reads the sections, and returns the cost model with the sources of its numbers. `None` without
/// `costs`: the machine is idealised.
pub(super) fn read(
    costs: Option<Costs>,
    caches: Vec<Cache>,
    power: Option<Draws>,
) -> Result<Option<(CostModel, Vec<Sourced>)>, Mistake> {
    let Some(costs) = costs else {
        let given = if !caches.is_empty() { "caches" } else { "power" };
        if !caches.is_empty() || power.is_some() {
            return Err((
                given.into(),
                "has no effect without \"costs\"; give both or none".into(),
            ));
        }
        return Ok(None);
    };
    let mut reader = Reader { numbers: vec![] };
    let mut model = CostModel::default();
    let named = |name: &str| Cost::find(name).ok_or_else(|| unknown_cost(name));
    reader.named("costs.kernel", costs.kernel, |name, ns| {
        model.kernel[named(name)?] = picoseconds(ns)?;
        Ok(())
    })?;
    for (scheduler, entries) in costs.by_scheduler.map_or(vec![], |entries| entries.0) {
        reader.named(&format!("costs.by_scheduler.{scheduler}"), entries, |name, ns| {
            model.by_scheduler.push(SchedulerCost::new(&scheduler, name, ns)?);
            Ok(())
        })?;
    }
    // The costs of one release take precedence over the costs that apply to all releases.
    model.by_scheduler.sort_by_key(|special| special.scheduler.contains('@'));
    if let Some(calls) = costs.calls {
        let mut set = CallCosts::default();
        reader.named("costs.calls", calls, |name, ns| set.set(name, ns))?;
        model.calls = set;
    }
    for (key, table, into) in [
        ("timer_latency", costs.timer_latency, &mut model.timer_latency),
        ("idle_timer_latency", costs.idle_timer_latency, &mut model.idle_timer_latency),
    ] {
        *into = table.map(|table| reader.quantiles(key, table)).transpose()?;
    }
    for (number, cache) in caches.into_iter().enumerate() {
        let place = format!("caches[{number}]");
        let of = CacheOf::ALL.into_iter().find(|of| of.name() == cache.of).ok_or_else(|| {
            let message =
                format!("{} cannot have a cache; give core, cache, package or node", cache.of);
            (format!("{place}.of"), message)
        })?;
        let size = reader.take(format!("{place}.size_kib"), cache.size_kib, 1.0, 1e9)?;
        let refill = reader.take(format!("{place}.refill_kib"), cache.refill_kib, 0.0, 1e6)?;
        let refill_kib_ps = picoseconds(refill).map_err(|message| (place.clone(), message))?;
        let ways = match cache.ways {
            Some(ways) => {
                Some(reader.take(format!("{place}.ways"), ways, 1.0, 1024.0)?.round() as u32)
            }
            None => None,
        };
        model.caches.push(CacheLevel { of, size_kib: size.round() as u32, refill_kib_ps, ways });
    }
    if let Some(draws) = power {
        let mut watts = |key: &str, number| reader.take(format!("power.{key}"), number, 0.0, 1e6);
        let base_watts = watts("base_watts", draws.base_watts)?;
        let cpu_watts = watts("cpu_watts", draws.cpu_watts)?;
        let package_watts = watts("package_watts", draws.package_watts)?;
        let cpu_idle = reader.idle("power.cpu_idle", draws.cpu_idle)?;
        let package_idle = reader.idle("power.package_idle", draws.package_idle)?;
        model.power = Some(Power { base_watts, cpu_watts, cpu_idle, package_watts, package_idle });
    }
    Ok(Some((model, reader.numbers)))
}

fn unknown_cost(name: &str) -> String {
    let names: Vec<&str> = Cost::ALL.iter().map(|cost| cost.name()).collect();
    format!("there is no cost {name}; the costs are {}", names.join(", "))
}
