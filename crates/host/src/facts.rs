//! Facts about the host: kernel, tick rate, topology, settings, sources of disturbance. They are
//! read from files. Every reader takes a root directory, so that tests can provide one.

use crate::sys;
use flate2::read::GzDecoder;
use schedlab_core::{CpuId, cpu_set};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Number of the capability `CAP_IPC_LOCK`.
pub const CAP_IPC_LOCK: u32 = 14;
/// Number of the capability `CAP_SYS_NICE`.
pub const CAP_SYS_NICE: u32 = 23;
/// Number of the capability `CAP_PERFMON`.
pub const CAP_PERFMON: u32 = 38;

/// Returns the text of a file below `root`, without the end of the line.
fn text(root: &Path, path: &str) -> Option<String> {
    fs::read_to_string(root.join(path)).ok().map(|text| text.trim_end().to_string())
}

fn number(root: &Path, path: &str) -> Option<i64> {
    text(root, path)?.trim().parse().ok()
}

/// Whether this process has a capability.
pub fn has_capability(capability: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask >> capability & 1 == 1
}

/// Parses a list of CPUs in the format of `/sys` and `/proc`: `0-3,8`, or nothing. The result is
/// ascending. `None`: the text is not such a list.
pub fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(vec![]);
    }
    let mut cpus = cpu_set::parse_cpu_list(text)?;
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Formats CPUs as the kernel does.
pub fn format_cpus(cpus: &[u32]) -> String {
    let cpus: Vec<CpuId> = cpus.iter().copied().map(CpuId).collect();
    cpu_set::cpu_list(&cpus)
}

/// The position of a CPU in the topology. Only the equality of numbers matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Number of the CPU.
    pub cpu: u32,
    /// Number of its core.
    pub core: u32,
    /// Its last-level cache, identified by the first CPU that shares it.
    pub cache: u32,
    /// Number of its package.
    pub package: u32,
    /// Number of its memory node.
    pub node: u32,
}

/// Facts about the host.
#[derive(Clone, PartialEq, Debug)]
pub struct Facts {
    /// The kernel's release.
    pub release: String,
    /// The architecture's name.
    pub arch: String,
    /// Whether a hypervisor is detected.
    pub virtual_machine: bool,
    /// CPUs that are online.
    pub cpus: Vec<u32>,
    /// Positions of the CPUs.
    pub places: Vec<Place>,
    /// Ticks per second, and the source of that number.
    pub hz: Option<(u32, String)>,
    /// Options of the kernel's configuration; empty if it cannot be read.
    pub config: BTreeMap<String, bool>,
    /// `none (dynamic)`, `voluntary` ..., and the source of that.
    pub preempt: String,
    /// The base slice, ns.
    pub base_slice_ns: Option<u64>,
    /// `/sys/kernel/debug/sched/features`, if it can be read.
    pub features: Option<String>,
    /// `kernel.sched_autogroup_enabled`.
    pub autogroup: Option<bool>,
    /// `kernel.sched_rt_runtime_us`.
    pub rt_runtime_us: Option<i64>,
    /// The shortest and the longest period of a deadline task, us:
    /// `kernel.sched_deadline_period_min_us` and `..._max_us`.
    pub deadline_period_us: Option<(u64, u64)>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i64>,
    /// The frequency governors of the CPUs, if there are any.
    pub governors: Vec<String>,
    /// Whether the host runs on battery.
    pub on_battery: bool,
}

/// Options of the kernel's configuration that results contain.
const CONFIG: [&str; 7] = [
    "FAIR_GROUP_SCHED",
    "CFS_BANDWIDTH",
    "RT_GROUP_SCHED",
    "SCHED_AUTOGROUP",
    "SCHED_CLASS_EXT",
    "SCHED_HRTICK",
    "SCHEDSTATS",
];

impl Facts {
    /// Reads the facts of this machine. `root` contains `/proc`, `/sys` and `/boot`.
    pub fn of(root: &Path) -> Facts {
        let uname = rustix::system::uname();
        let release = uname.release().to_string_lossy().into_owned();
        let config = kernel_config(root, &release);
        let cpus = text(root, "sys/devices/system/cpu/online")
            .and_then(|list| cpu_list(&list))
            .filter(|cpus| !cpus.is_empty())
            .unwrap_or_else(|| vec![0]);
        let hz = config.as_ref().and_then(|(from, config)| {
            let hz = config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?;
            Some((hz.trim().parse().ok()?, from.clone()))
        });
        let is_set = |name: &str| {
            let (_, config) = config.as_ref()?;
            let line = format!("CONFIG_{name}=y");
            Some((name.to_string(), config.lines().any(|other| other == line)))
        };
        Facts {
            arch: uname.machine().to_string_lossy().into_owned(),
            virtual_machine: text(root, "proc/cpuinfo")
                .is_some_and(|text| text.split_ascii_whitespace().any(|w| w == "hypervisor")),
            places: cpus.iter().map(|&cpu| place(root, cpu)).collect(),
            hz,
            config: CONFIG.iter().filter_map(|name| is_set(name)).collect(),
            preempt: preempt(root, &uname.version().to_string_lossy()),
            base_slice_ns: base_slice_ns(),
            features: text(root, "sys/kernel/debug/sched/features"),
            autogroup: number(root, "proc/sys/kernel/sched_autogroup_enabled").map(|on| on != 0),
            rt_runtime_us: number(root, "proc/sys/kernel/sched_rt_runtime_us"),
            deadline_period_us: deadline_period_us(root),
            perf_event_paranoid: number(root, "proc/sys/kernel/perf_event_paranoid"),
            governors: governors(root, &cpus),
            on_battery: on_battery(root),
            release,
            cpus,
        }
    }

    /// Returns the number of CPUs from 0 to the last one that exists.
    pub fn machine_cpus(&self) -> u32 {
        self.cpus.last().map_or(1, |&last| last + 1)
    }

    /// Whether cores have several hardware threads.
    pub fn has_smt(&self) -> bool {
        let core = |place: &Place| (place.package, place.core);
        let differs = |other: &Place| {
            self.places.iter().any(|place| place.cpu != other.cpu && core(place) == core(other))
        };
        self.places.iter().any(differs)
    }

    /// Describes the topology in a line.
    pub fn topology(&self) -> String {
        let count = |of: &dyn Fn(&Place) -> (u32, u32)| {
            let mut all: Vec<(u32, u32)> = self.places.iter().map(of).collect();
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        let parts = [
            (count(&|place| (place.package, 0)), "package"),
            (count(&|place| (place.node, 0)), "node"),
            (count(&|place| (place.cache, 0)), "last-level cache"),
            (count(&|place| (place.package, place.core)), "core"),
            (self.places.len(), "CPU"),
        ];
        let counted =
            |(count, part)| format!("{count} {part}{}", if count == 1 { "" } else { "s" });
        parts.map(counted).join(", ")
    }
}

fn deadline_period_us(root: &Path) -> Option<(u64, u64)> {
    let bound = |end: &str| {
        let us = number(root, &format!("proc/sys/kernel/sched_deadline_period_{end}_us"))?;
        u64::try_from(us).ok()
    };
    Some((bound("min")?, bound("max")?))
}

/// Returns the base slice, taken from a new thread that has not set its own slice.
fn base_slice_ns() -> Option<u64> {
    let ask = || {
        // As an ordinary thread, however the creating thread is scheduled.
        sys::set_attr(&schedlab_core::SchedAttr::default(), false).ok();
        sys::base_slice_ns()
    };
    std::thread::scope(|scope| scope.spawn(ask).join().ok().flatten())
}

/// Returns the kernel's configuration, and where it was found.
fn kernel_config(root: &Path, release: &str) -> Option<(String, String)> {
    if let Ok(file) = fs::File::open(root.join("proc/config.gz")) {
        let mut text = String::new();
        // Even a large configuration has less than a megabyte.
        if GzDecoder::new(file).take(16 << 20).read_to_string(&mut text).is_ok() {
            return Some(("/proc/config.gz".into(), text));
        }
    }
    let path = format!("boot/config-{release}");
    let config = text(root, &path)?;
    Some((format!("/{path}"), config))
}

fn preempt(root: &Path, version: &str) -> String {
    if let Some(modes) = text(root, "sys/kernel/debug/sched/preempt") {
        let mode = modes.split_ascii_whitespace().find(|word| word.starts_with('('));
        if let Some(mode) = mode {
            return format!("{} (dynamic)", mode.trim_matches(['(', ')']));
        }
    }
    let word = version.split_ascii_whitespace().find(|word| word.starts_with("PREEMPT"));
    word.map_or_else(|| "not readable".into(), |word| format!("{word} in the kernel's version"))
}

fn place(root: &Path, cpu: u32) -> Place {
    let base = format!("sys/devices/system/cpu/cpu{cpu}");
    let of = |path: &str| {
        number(root, &format!("{base}/{path}")).and_then(|number| u32::try_from(number).ok())
    };
    let first_of = |path: String| {
        text(root, &path).and_then(|list| cpu_list(&list)).and_then(|cpus| cpus.first().copied())
    };
    // The last level is the highest index of a data or unified cache.
    let cache = (0..8).rev().find_map(|index| {
        let kind = text(root, &format!("{base}/cache/index{index}/type"))?;
        (kind != "Instruction").then(|| format!("{base}/cache/index{index}/shared_cpu_list"))
    });
    let node = fs::read_dir(root.join(&base)).ok().and_then(|entries| {
        entries
            .flatten()
            .find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse::<u32>().ok())
    });
    Place {
        cpu,
        core: of("topology/core_id").unwrap_or(cpu),
        cache: cache.and_then(first_of).unwrap_or(cpu),
        package: of("topology/physical_package_id").unwrap_or(0),
        node: node.unwrap_or(0),
    }
}

fn governors(root: &Path, cpus: &[u32]) -> Vec<String> {
    let of = |cpu: &u32| {
        text(root, &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))
    };
    let mut governors: Vec<String> = cpus.iter().filter_map(of).collect();
    governors.sort_unstable();
    governors.dedup();
    governors
}

fn on_battery(root: &Path) -> bool {
    let supplies = fs::read_dir(root.join("sys/class/power_supply"));
    let supplies: Vec<PathBuf> =
        supplies.map(|all| all.flatten().map(|one| one.path()).collect()).unwrap_or_default();
    supplies.iter().any(|supply| text(supply, "status").is_some_and(|now| now == "Discharging"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read_and_written() {
        assert_eq!(cpu_list("0-2,5,7-8\n"), Some(vec![0, 1, 2, 5, 7, 8]));
        assert_eq!(cpu_list(""), Some(vec![]));
        assert_eq!(cpu_list("2-1"), None);
        assert_eq!(cpu_list("0-4000000000"), None);
        assert_eq!(cpu_list("a"), None);
        assert_eq!(format_cpus(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(format_cpus(&[]), "");
    }

    #[test]
    fn a_made_up_machine_is_read() {
        let root = std::env::temp_dir().join(format!("schedlab-facts-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        write("sys/devices/system/cpu/online", "0-3\n");
        write(&format!("boot/config-{release}"), "CONFIG_HZ=300\nCONFIG_CFS_BANDWIDTH=y\n");
        write("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
        write("sys/class/power_supply/BAT0/status", "Discharging\n");
        write("proc/cpuinfo", "flags : fpu hypervisor lahf_lm\n");
        for cpu in 0..4 {
            let base = format!("sys/devices/system/cpu/cpu{cpu}");
            write(&format!("{base}/topology/core_id"), &format!("{}\n", cpu / 2));
            write(&format!("{base}/topology/physical_package_id"), "0\n");
            write(&format!("{base}/cache/index0/type"), "Data\n");
            write(&format!("{base}/cache/index3/type"), "Unified\n");
            write(&format!("{base}/cache/index3/shared_cpu_list"), "0-3\n");
            write(&format!("{base}/cpufreq/scaling_governor"), "powersave\n");
        }
        let facts = Facts::of(&root);
        assert_eq!(facts.cpus, [0, 1, 2, 3]);
        assert_eq!(facts.hz, Some((300, format!("/boot/config-{release}"))));
        assert!(facts.config["CFS_BANDWIDTH"] && !facts.config["SCHEDSTATS"]);
        assert_eq!(facts.preempt, "full (dynamic)");
        assert!(facts.has_smt() && facts.on_battery && facts.virtual_machine);
        assert_eq!(facts.governors, ["powersave"]);
        let places: Vec<_> = facts.places.iter().map(|p| (p.core, p.cache)).collect();
        assert_eq!(places, [(0, 0), (0, 0), (1, 0), (1, 0)]);
        assert_eq!(facts.topology(), "1 package, 1 node, 1 last-level cache, 2 cores, 4 CPUs");
        fs::remove_dir_all(&root).unwrap();
    }
}
