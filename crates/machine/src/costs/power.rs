//! Power consumption of the machine.
//!
//! A busy CPU draws one power. An idle CPU draws less, depending on how deeply it sleeps. Each
//! **idle state** pays off only if the sleep lasts long enough (its target residency), and leaving
//! it takes time at full power (its exit latency). The length of an idle period is known when it
//! ends. The CPU is then assumed to have been in the deepest state that the period was long enough
//! for, as a perfect governor would have chosen. Ticks wake an idle CPU that has them. A package is
//! awake while any of its CPUs is. Once all of them sleep, the package has its own idle states.

use schedlab_core::{CpuId, Topology};

/// Idle state of a CPU or a package.
#[derive(Clone, PartialEq, Debug)]
pub struct IdleState {
    /// Name: `C1`, `C6`.
    pub name: String,
    /// Power in this state, W.
    pub watts: f64,
    /// Shortest sleep for which it pays off, ns.
    pub residency_ns: u64,
    /// Time to leave it, ns.
    pub exit_ns: u64,
}

/// Power consumption of a machine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Power {
    /// Constant power: memory, disks, losses of the power supply, W.
    pub base_watts: f64,
    /// Power of a busy CPU, W.
    pub cpu_watts: f64,
    /// Idle states of a CPU, the lightest first. An idle period that is too short for all of them
    /// is spent in the first.
    pub cpu_idle: Vec<IdleState>,
    /// Power of a package, apart from its CPUs, while one of them is busy, W.
    pub package_watts: f64,
    /// Idle states of a package, the lightest first. While an idle period is too short for all of
    /// them, the package counts as awake.
    pub package_idle: Vec<IdleState>,
}

/// Returns the deepest state that pays off for a sleep of `ns`.
fn deepest(states: &[IdleState], ns: u64) -> Option<usize> {
    states.iter().rposition(|state| state.residency_ns <= ns)
}

/// Energy used by a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Energy {
    /// Energy, J.
    pub joules: f64,
    /// Mean power, W.
    pub mean_watts: f64,
    /// Total time of CPUs in each idle state, by name, the lightest first, ns.
    pub idle_ns: Vec<(String, u64)>,
    /// Number of wakeups of idle CPUs.
    pub wakeups: u64,
}

/// Records how long and how deeply each CPU sleeps.
#[derive(Clone, Debug)]
pub struct PowerMeter {
    power: Power,
    /// Time since which each CPU has idled; `None`: it does not idle.
    idle_since_ns: Vec<Option<u64>>,
    /// Package of each CPU, and CPUs of each package.
    package_of: Vec<u32>,
    cpus_of: Vec<Vec<u32>>,
    /// Number of CPUs of each package that do not idle.
    awake: Vec<u32>,
    /// Total time of all CPUs in each idle state, ns.
    cpu_ns: Vec<u64>,
    package_ns: Vec<u64>,
    wakeups: u64,
}

impl PowerMeter {
    /// Creates a meter at time 0, when all CPUs idle.
    pub fn new(power: &Power, topology: &Topology) -> PowerMeter {
        let mut packages: Vec<u32> = vec![];
        let mut cpus_of: Vec<Vec<u32>> = vec![];
        let package_of: Vec<u32> = topology
            .iter()
            .map(|cpu| {
                let id = topology.place(cpu).package;
                let number = packages.iter().position(|&other| other == id).unwrap_or_else(|| {
                    packages.push(id);
                    cpus_of.push(vec![]);
                    packages.len() - 1
                });
                cpus_of[number].push(cpu.0);
                number as u32
            })
            .collect();
        PowerMeter {
            idle_since_ns: vec![Some(0); package_of.len()],
            awake: vec![0; cpus_of.len()],
            package_of,
            cpus_of,
            cpu_ns: vec![0; power.cpu_idle.len()],
            package_ns: vec![0; power.package_idle.len()],
            wakeups: 0,
            power: power.clone(),
        }
    }

    /// Reports that `cpu` has something to do at `at_ns`. Returns the time that it takes to wake up
    /// if it slept, ns.
    pub fn wake(&mut self, cpu: CpuId, at_ns: u64) -> u64 {
        let Some(since_ns) = self.idle_since_ns[cpu.index()] else {
            return 0;
        };
        let package = self.package_of[cpu.index()] as usize;
        if self.awake[package] == 0 {
            self.package_wakes(package, at_ns);
        }
        self.idle_since_ns[cpu.index()] = None;
        self.awake[package] += 1;
        self.wakeups += 1;
        let slept_ns = at_ns.saturating_sub(since_ns);
        if slept_ns == 0 {
            return 0;
        }
        match self.note_sleep(slept_ns) {
            Some(state) => self.power.cpu_idle[state].exit_ns,
            None => 0,
        }
    }

    fn note_sleep(&mut self, slept_ns: u64) -> Option<usize> {
        let states = &self.power.cpu_idle;
        let state = deepest(states, slept_ns).or((!states.is_empty()).then_some(0))?;
        self.cpu_ns[state] += slept_ns;
        Some(state)
    }

    fn package_wakes(&mut self, package: usize, at_ns: u64) {
        let since =
            self.cpus_of[package].iter().filter_map(|&cpu| self.idle_since_ns[cpu as usize]).max();
        let slept_ns = at_ns.saturating_sub(since.unwrap_or(at_ns));
        if let Some(state) = deepest(&self.power.package_idle, slept_ns) {
            self.package_ns[state] += slept_ns;
        }
    }

    /// Reports that `cpu` has nothing to do from `from_ns` on.
    pub fn sleep(&mut self, cpu: CpuId, from_ns: u64) {
        if self.idle_since_ns[cpu.index()].is_none() {
            self.idle_since_ns[cpu.index()] = Some(from_ns);
            self.awake[self.package_of[cpu.index()] as usize] -= 1;
        }
    }

    /// Returns the energy used up to `now_ns` by a run that began at 0.
    pub fn energy(&self, now_ns: u64) -> Energy {
        let mut meter = self.clone();
        for cpu in 0..meter.idle_since_ns.len() as u32 {
            // Adds up the sleep of all CPUs so far. As far as packages are concerned, the CPUs
            // continue to sleep.
            if let Some(since_ns) = meter.idle_since_ns[cpu as usize] {
                meter.note_sleep(now_ns.saturating_sub(since_ns));
            }
        }
        for package in 0..meter.cpus_of.len() {
            if meter.awake[package] == 0 {
                meter.package_wakes(package, now_ns);
            }
        }
        let joules = |ns: u64, watts: f64| ns as f64 * 1e-9 * watts;
        let power = &meter.power;
        let cpus = meter.idle_since_ns.len() as u64;
        let packages = meter.cpus_of.len() as u64;
        let asleep = |ns: &[u64]| ns.iter().sum::<u64>();
        let in_states = |ns: &[u64], states: &[IdleState]| -> f64 {
            ns.iter().zip(states).map(|(&ns, state)| joules(ns, state.watts)).sum()
        };
        let total = joules(now_ns, power.base_watts)
            + joules((cpus * now_ns).saturating_sub(asleep(&meter.cpu_ns)), power.cpu_watts)
            + in_states(&meter.cpu_ns, &power.cpu_idle)
            + joules(
                (packages * now_ns).saturating_sub(asleep(&meter.package_ns)),
                power.package_watts,
            )
            + in_states(&meter.package_ns, &power.package_idle);
        Energy {
            joules: total,
            mean_watts: if now_ns == 0 { 0.0 } else { total / (now_ns as f64 * 1e-9) },
            idle_ns: power
                .cpu_idle
                .iter()
                .map(|state| state.name.clone())
                .zip(meter.cpu_ns)
                .collect(),
            wakeups: meter.wakeups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, watts: f64, residency_ns: u64, exit_ns: u64) -> IdleState {
        IdleState { name: name.into(), watts, residency_ns, exit_ns }
    }

    /// Returns a power model: a CPU draws 10 W busy, 4 W asleep, 1 W deeply asleep. The package
    /// draws 20 W or 5 W.
    fn power() -> Power {
        Power {
            base_watts: 100.0,
            cpu_watts: 10.0,
            cpu_idle: vec![state("C1", 4.0, 0, 1), state("C6", 1.0, 1000, 100)],
            package_watts: 20.0,
            package_idle: vec![state("PC6", 5.0, 1000, 0)],
        }
    }

    fn one_package(cpus: u32) -> Topology {
        let place = |core| schedlab_core::topology::Place { core, cache: 0, package: 0, node: 0 };
        Topology::new((0..cpus).map(place).collect(), &[])
            .expect("cores of a package are a topology")
    }

    #[test]
    fn a_machine_that_sleeps_all_the_time_is_in_its_deepest_states() {
        let meter = PowerMeter::new(&power(), &one_package(2));
        let energy = meter.energy(1_000_000_000);
        assert!((energy.mean_watts - (100.0 + 2.0 * 1.0 + 5.0)).abs() < 1e-9);
        assert_eq!(energy.idle_ns, [("C1".to_string(), 0), ("C6".to_string(), 2_000_000_000)]);
    }

    #[test]
    fn short_sleeps_are_light_and_leave_the_package_awake() {
        let mut meter = PowerMeter::new(&power(), &one_package(1));
        for at_ns in (500..=10_000).step_by(500) {
            assert_eq!(meter.wake(CpuId(0), at_ns), 1);
            meter.sleep(CpuId(0), at_ns);
        }
        assert!((meter.energy(10_000).mean_watts - (100.0 + 4.0 + 20.0)).abs() < 1e-9);
        assert_eq!(meter.wakeups, 20);
    }

    #[test]
    fn a_deep_sleep_is_slow_to_end() {
        let mut meter = PowerMeter::new(&power(), &one_package(1));
        assert_eq!(meter.wake(CpuId(0), 5000), 100);
        assert_eq!(meter.wake(CpuId(0), 6000), 0, "the CPU is awake");
    }

    #[test]
    fn a_package_sleeps_only_when_all_of_it_does() {
        let mut meter = PowerMeter::new(&power(), &one_package(2));
        meter.wake(CpuId(0), 0);
        meter.sleep(CpuId(0), 4000);
        // Both sleep from 4000 to 10000, which is long enough.
        let energy = meter.energy(10_000);
        let joules = (100.0 * 10_000.0
            + 10.0 * 4000.0
            + 1.0 * (6000.0 + 10_000.0)
            + 20.0 * 4000.0
            + 5.0 * 6000.0)
            * 1e-9;
        assert!((energy.joules - joules).abs() < 1e-12, "{} {joules}", energy.joules);
    }

    #[test]
    fn a_package_sleeps_until_the_first_of_it_wakes() {
        let mut meter = PowerMeter::new(&power(), &one_package(2));
        // Both sleep until 5000, and the package with them. One sleeps until 8000 while the package
        // is awake.
        assert_eq!(meter.wake(CpuId(0), 5000), 100);
        assert_eq!(meter.wake(CpuId(1), 8000), 100);
        assert_eq!(meter.package_ns, [5000]);
        let energy = meter.energy(10_000);
        let joules = (100.0 * 10_000.0
            + 10.0 * (5000.0 + 2000.0)
            + 1.0 * (5000.0 + 8000.0)
            + 20.0 * 5000.0
            + 5.0 * 5000.0)
            * 1e-9;
        assert!((energy.joules - joules).abs() < 1e-12, "{} {joules}", energy.joules);
    }
}
