//! Files of a control group, and the values that may be written to them.
//!
//! [`PARAMETERS`] is the list. The format of a value is checked here. Checks that depend on the
//! current state of the group (a burst above the quota, a weight next to `cpu.idle`) are in
//! [`plan`](super::plan).

use super::cpu_list::CpuList;
use super::systemd;
use super::text::{Fault, shown};
use super::weight::{shares_of_nice, shares_of_weight};
use super::write::{Version, Write, whole, within};
use crate::diagnostic::did_you_mean;

/// A file of a group.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub name: &'static str,
    /// Version that has this name. `None`: both.
    pub version: Option<Version>,
    read: Reader,
}

/// Reads a single setting, such as `cpu.weight=200`, for changes to a running machine. Returns its
/// name and the write, or the error and how to correct it.
pub(crate) fn read_setting(setting: &str) -> Result<(&'static str, Write), Fault> {
    let wanted = "for example `cpu.weight=200`, `cpu.max=50000 100000` or `cpuset.cpus=0-3`";
    let Some((name, value)) = setting.split_once('=') else {
        return Err(Fault::new(format!("`{}` is not a setting", shown(setting))).with_help(wanted));
    };
    let name = name.trim();
    let value = value.trim();
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    let without_effect = |why: &str| {
        Err(Fault::new(format!("`{}` has no effect: {why}", shown(name))).with_help(wanted))
    };
    match find(name)? {
        None => without_effect("its controller is not simulated"),
        Some(parameter) => match parameter.read(value)? {
            Write::Noted(why) => without_effect(why),
            Write::Nothing => without_effect("it is the default"),
            write => Ok((parameter.name, write)),
        },
    }
}

/// Reads a value. The arguments are the parameter's name and the value.
type Reader = fn(&'static str, &str) -> Result<Write, Fault>;

impl Parameter {
    /// Returns the write for `value`.
    pub fn read(&self, value: &str) -> Result<Write, Fault> {
        (self.read)(self.name, value.trim())
    }
}

/// Minimum quota and minimum period, us.
const QUOTA_MIN_US: i64 = 1_000;
/// Maximum quota or burst, us.
pub(crate) const QUOTA_MAX_US: u64 = (1 << 44) - 1;
/// Maximum period, us.
const PERIOD_MAX_US: i64 = 1_000_000;

const fn of(version: Version, name: &'static str, read: Reader) -> Parameter {
    Parameter { name, version: Some(version), read }
}

const fn v1(name: &'static str, read: Reader) -> Parameter {
    of(Version::V1, name, read)
}

const fn v2(name: &'static str, read: Reader) -> Parameter {
    of(Version::V2, name, read)
}

const fn both(name: &'static str, read: Reader) -> Parameter {
    Parameter { name, version: None, read }
}

/// All known parameters: of the controllers cpu, cpuset and freezer, of every group, and of
/// systemd.
#[rustfmt::skip]
pub(crate) static PARAMETERS: &[Parameter] = &[
    // Weight.
    v2("cpu.weight", |name, value| Ok(Write::Shares(shares_of_weight(within(name, value, 1, 10_000)? as u64)))),
    v2("cpu.weight.nice", nice),
    v1("cpu.shares", shares),
    both("cpu.idle", |name, value| Ok(Write::Idle(switch(name, value)?))),
    // Limit.
    v2("cpu.max", max),
    v2("cpu.max.burst", burst),
    v1("cpu.cfs_quota_us", quota),
    v1("cpu.cfs_period_us", |name, value| Ok(Write::Period(within(name, value, QUOTA_MIN_US, PERIOD_MAX_US)? as u64))),
    v1("cpu.cfs_burst_us", burst),
    // Not a file of the kernel, which draws it.
    both("quota_phase", |name, value| Ok(Write::Phase(within(name, value, 0, PERIOD_MAX_US - 1)? as u64))),
    // CPUs.
    both("cpuset.cpus", |_, value| Ok(Write::Cpus(CpuList::parse(value)?))),
    v2("cpuset.cpus.partition", partition),
    v2("cpuset.cpus.exclusive", |_, value| CpuList::parse(value).map(|_| Write::Noted("partitions are not simulated"))),
    v1("cpuset.cpu_exclusive", |name, value| noted_switch(name, value, "siblings may overlap here")),
    v1("cpuset.sched_load_balance", |name, value| Ok(match switch(name, value)? {
        true => Write::Nothing,
        false => Write::Noted("scheduling domains are the machine's, not the groups'"),
    })),
    v1("cpuset.sched_relax_domain_level", |name, value| {
        within(name, value, -1, 5).map(|_| Write::Noted("scheduling domains are the machine's, not the groups'"))
    }),
    both("cpuset.mems", |_, _| Ok(Write::Noted("memory nodes are not simulated"))),
    v1("cpuset.mem_exclusive", |name, value| noted_switch(name, value, "memory nodes are not simulated")),
    v1("cpuset.mem_hardwall", |name, value| noted_switch(name, value, "memory nodes are not simulated")),
    v1("cpuset.memory_migrate", |name, value| noted_switch(name, value, "memory nodes are not simulated")),
    v1("cpuset.memory_spread_page", |name, value| noted_switch(name, value, "memory nodes are not simulated")),
    v1("cpuset.memory_spread_slab", |name, value| noted_switch(name, value, "memory nodes are not simulated")),
    // Freezer.
    v2("cgroup.freeze", |name, value| Ok(Write::Frozen(switch(name, value)?))),
    v1("freezer.state", freezer),
    // Valid, but without effect here.
    v2("cpu.uclamp.min", clamp),
    v2("cpu.uclamp.max", clamp),
    v1("cpu.rt_runtime_us", |name, value| {
        within(name, value, -1, i64::MAX).map(|_| Write::Noted("limits of groups' real-time tasks are not simulated"))
    }),
    v1("cpu.rt_period_us", |name, value| {
        within(name, value, 1, i64::MAX).map(|_| Write::Noted("limits of groups' real-time tasks are not simulated"))
    }),
    v2("cgroup.subtree_control", |_, _| Ok(Write::Noted("every group has all controllers here"))),
    v2("cgroup.type", |_, _| Ok(Write::Noted("any thread may be in any group here"))),
    v2("cgroup.max.depth", |_, _| Ok(Write::Noted("it does not affect scheduling"))),
    v2("cgroup.max.descendants", |_, _| Ok(Write::Noted("it does not affect scheduling"))),
    v2("cgroup.pressure", |name, value| noted_switch(name, value, "it does not affect scheduling")),
    v1("cgroup.clone_children", |name, value| noted_switch(name, value, "it does not affect scheduling")),
    v1("notify_on_release", |name, value| noted_switch(name, value, "it does not affect scheduling")),
    // Files that are not settings.
    both("tasks", members),
    both("cgroup.procs", members),
    both("cgroup.threads", members),
    both("cgroup.kill", read_only),
    both("cgroup.controllers", read_only),
    both("cgroup.events", read_only),
    both("cgroup.stat", read_only),
    both("cpu.stat", read_only),
    both("cpu.stat.local", read_only),
    both("cpu.pressure", read_only),
    both("cpuset.cpus.effective", read_only),
    both("cpuset.cpus.exclusive.effective", read_only),
    both("cpuset.mems.effective", read_only),
    both("cpuset.effective_cpus", read_only),
    both("cpuset.effective_mems", read_only),
    both("freezer.self_freezing", read_only),
    both("freezer.parent_freezing", read_only),
    // systemd's names for some of these.
    v2("CPUWeight", systemd::weight),
    v2("StartupCPUWeight", |name, value| systemd::weight(name, value).map(|_| Write::Noted("start-up is not simulated"))),
    v1("CPUShares", systemd::shares),
    v1("StartupCPUShares", |name, value| systemd::shares(name, value).map(|_| Write::Noted("start-up is not simulated"))),
    both("CPUQuota", systemd::quota),
    both("CPUQuotaPeriodSec", systemd::period),
    v2("AllowedCPUs", |_, value| Ok(Write::Cpus(CpuList::parse_words(value)?))),
    v2("StartupAllowedCPUs", |_, value| CpuList::parse_words(value).map(|_| Write::Noted("start-up is not simulated"))),
    v2("AllowedMemoryNodes", |_, _| Ok(Write::Noted("memory nodes are not simulated"))),
    both("CPUAccounting", |_, _| Ok(Write::Nothing)),
    v2("Delegate", |_, _| Ok(Write::Noted("owners are not simulated"))),
];

/// Controllers with known files.
pub(crate) const CONTROLLERS: [&str; 3] = ["cpu", "cpuset", "freezer"];

/// Controllers that do not affect scheduling.
pub(crate) const OTHER_CONTROLLERS: [&str; 15] = [
    "cpuacct",
    "memory",
    "blkio",
    "io",
    "pids",
    "devices",
    "net_cls",
    "net_prio",
    "perf_event",
    "hugetlb",
    "rdma",
    "misc",
    "dmem",
    "debug",
    "ns",
];

/// Returns the parameter called `name`, or `None` if it is a file of another controller.
pub(crate) fn find(name: &str) -> Result<Option<&'static Parameter>, Fault> {
    if let Some(parameter) = PARAMETERS.iter().find(|parameter| parameter.name == name) {
        return Ok(Some(parameter));
    }
    let controller = name.split_once('.').map_or("", |(controller, _)| controller);
    if OTHER_CONTROLLERS.contains(&controller) {
        return Ok(None);
    }
    let names = PARAMETERS.iter().map(|parameter| parameter.name);
    let help = did_you_mean(name, names).unwrap_or_else(|| {
        "settings are called as in a control group: `cpu.weight`, `cpu.max`, `cpuset.cpus`, `cpu.shares` ...".into()
    });
    Err(Fault::new(format!("unknown setting `{}`", shown(name))).with_help(help))
}

/// Reads 0 or 1.
fn switch(name: &str, value: &str) -> Result<bool, Fault> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(Fault::new(format!("`{name}` must be 0 or 1, found `{}`", shown(value)))),
    }
}

fn noted_switch(name: &str, value: &str, why: &'static str) -> Result<Write, Fault> {
    Ok(match switch(name, value)? {
        true => Write::Noted(why),
        false => Write::Nothing,
    })
}

/// Reads shares. Version 1 silently clamps values that are too small or too large.
fn shares(name: &'static str, value: &str) -> Result<Write, Fault> {
    match whole(name, value)? {
        number if number >= 0 => Ok(Write::Shares(number.clamp(2, 262_144) as u64)),
        number => Err(Fault::new(format!("`{name}` must be from 2 to 262144, found {number}"))),
    }
}

fn nice(name: &'static str, value: &str) -> Result<Write, Fault> {
    match shares_of_nice(within(name, value, -20, 19)?) {
        Some(shares) => Ok(Write::Shares(shares)),
        None => unreachable!("every nice value has a weight"),
    }
}

/// Checks a quota in us, given by `name`; `none` is the value for no limit.
fn quota_us(name: &str, number: i64, none: &str) -> Result<u64, Fault> {
    if number < QUOTA_MIN_US {
        return Err(Fault::new(format!(
            "the quota in `{name}` must be at least {QUOTA_MIN_US} (1 ms), found {number}"
        ))
        .with_help(format!("it is the CPU time in each period, us; {none} means no limit")));
    }
    if number as u64 > QUOTA_MAX_US {
        return Err(Fault::new(format!(
            "the quota in `{name}` must be at most {QUOTA_MAX_US}, found {number}"
        )));
    }
    Ok(number as u64)
}

/// Reads a quota. Any negative number means no limit.
fn quota(name: &'static str, value: &str) -> Result<Write, Fault> {
    match whole(name, value)? {
        number if number < 0 => Ok(Write::Quota { quota_us: None, period_us: None }),
        number => {
            Ok(Write::Quota { quota_us: Some(quota_us(name, number, "-1")?), period_us: None })
        }
    }
}

/// Reads `QUOTA [PERIOD]`. Without a period it stays as it is.
fn max(name: &'static str, value: &str) -> Result<Write, Fault> {
    let mut words = value.split_whitespace();
    let wrong = || {
        Fault::new(format!("`{name}` must be a quota and a period, found `{}`", shown(value)))
            .with_help("for example `50000 100000` (us), `50000`, or `max` for no limit")
    };
    let quota = match words.next() {
        Some("max") => None,
        Some(word) => Some(quota_us(name, word.parse().map_err(|_| wrong())?, "max")?),
        None => return Err(wrong()),
    };
    let period = match words.next() {
        // The kernel expects a number there, finds none, and leaves the period unchanged.
        None | Some("max") => None,
        Some(word) => match word.parse::<i64>().map_err(|_| wrong())? {
            period @ QUOTA_MIN_US..=PERIOD_MAX_US => Some(period as u64),
            period => {
                return Err(Fault::new(format!(
                    "the period in `{name}` must be from {QUOTA_MIN_US} to {PERIOD_MAX_US}, found {period}"
                )));
            }
        },
    };
    match words.next() {
        None => Ok(Write::Quota { quota_us: quota, period_us: period }),
        Some(_) => Err(wrong()),
    }
}

fn burst(name: &'static str, value: &str) -> Result<Write, Fault> {
    Ok(Write::Burst(within(name, value, 0, QUOTA_MAX_US as i64)? as u64))
}

fn partition(name: &'static str, value: &str) -> Result<Write, Fault> {
    match value {
        "member" => Ok(Write::Nothing),
        "root" | "isolated" => Ok(Write::Noted("partitions are not simulated")),
        _ => Err(Fault::new(format!(
            "`{name}` must be `member`, `root` or `isolated`, found `{}`",
            shown(value)
        ))),
    }
}

fn freezer(name: &'static str, value: &str) -> Result<Write, Fault> {
    match value {
        "FROZEN" => Ok(Write::Frozen(true)),
        "THAWED" => Ok(Write::Frozen(false)),
        _ => {
            let fault = Fault::new(format!(
                "`{name}` must be `FROZEN` or `THAWED`, found `{}`",
                shown(value)
            ));
            Err(match value {
                "FREEZING" => fault.with_help(
                    "FREEZING is a state that can only be read, while tasks are being stopped",
                ),
                _ => fault,
            })
        }
    }
}

/// Checks a percentage with up to two significant decimals, or `max`.
fn clamp(name: &'static str, value: &str) -> Result<Write, Fault> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let good = match value.split_once('.') {
        _ if value == "max" => true,
        None => digits(value) && value.parse().is_ok_and(|whole: u64| whole <= 100),
        Some((whole, part)) => {
            let hundred = part.bytes().all(|byte| byte == b'0');
            digits(whole)
                && digits(part)
                && whole.parse().is_ok_and(|whole: u64| whole < 100 || whole == 100 && hundred)
        }
    };
    if good {
        Ok(Write::Noted("utilisation clamps are not simulated"))
    } else {
        Err(Fault::new(format!(
            "`{name}` must be a percentage from 0 to 100 or `max`, found `{}`",
            shown(value)
        )))
    }
}

fn members(name: &'static str, _: &str) -> Result<Write, Fault> {
    Err(Fault::new(format!("tasks cannot be moved by writing to `{name}`"))
        .with_help("a task's group is its `taskgroup` in the workload file"))
}

fn read_only(name: &'static str, _: &str) -> Result<Write, Fault> {
    Err(Fault::new(format!("`{name}` is read-only")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Write, String> {
        let parameter = find(name).map_err(|fault| fault.message)?;
        parameter.expect(name).read(value).map_err(|fault| fault.message)
    }

    fn cpus(text: &str) -> Write {
        Write::Cpus(CpuList::parse(text).unwrap())
    }

    #[test]
    fn names_are_unique() {
        for (place, parameter) in PARAMETERS.iter().enumerate() {
            assert!(PARAMETERS[..place].iter().all(|other| other.name != parameter.name));
        }
    }

    /// Measured on running kernels, both versions.
    #[test]
    fn what_the_kernel_takes() {
        let quota = |quota| Write::Quota { quota_us: Some(quota), period_us: None };
        let none = Write::Quota { quota_us: None, period_us: None };
        for (name, value, expected) in [
            ("cpu.shares", "1024", Write::Shares(1024)),
            ("cpu.shares", "0", Write::Shares(2)),
            ("cpu.shares", "1", Write::Shares(2)),
            ("cpu.shares", "262145", Write::Shares(262_144)),
            ("cpu.shares", "9223372036854775807", Write::Shares(262_144)),
            ("cpu.weight", "1", Write::Shares(10)),
            ("cpu.weight", " 10000\n", Write::Shares(102_400)),
            ("cpu.weight.nice", "-20", Write::Shares(88_761)),
            ("cpu.weight.nice", "19", Write::Shares(15)),
            ("cpu.idle", "1", Write::Idle(true)),
            ("cpu.idle", "0", Write::Idle(false)),
            ("cpu.cfs_quota_us", "-1", none.clone()),
            ("cpu.cfs_quota_us", "-77", none.clone()),
            ("cpu.cfs_quota_us", "1000", quota(1000)),
            ("cpu.cfs_quota_us", "17592186044415", quota((1 << 44) - 1)),
            ("cpu.cfs_period_us", "1000", Write::Period(1000)),
            ("cpu.cfs_period_us", "1000000", Write::Period(1_000_000)),
            ("cpu.cfs_burst_us", "0", Write::Burst(0)),
            ("cpu.max", "max", none.clone()),
            ("cpu.max", "max 100000", Write::Quota { quota_us: None, period_us: Some(100_000) }),
            ("cpu.max", "50000", quota(50_000)),
            (
                "cpu.max",
                "50000 \t 1000000",
                Write::Quota { quota_us: Some(50_000), period_us: Some(1_000_000) },
            ),
            ("cpu.max", "100000 max", quota(100_000)),
            ("cpu.max.burst", "5", Write::Burst(5)),
            ("cpuset.cpus", "0-2,5", cpus("0-2,5")),
            ("cpuset.cpus", "1,0", cpus("0-1")),
            ("cpuset.cpus", "", cpus("")),
            ("cpuset.cpus.partition", "member", Write::Nothing),
            ("cgroup.freeze", "1", Write::Frozen(true)),
            ("freezer.state", "FROZEN", Write::Frozen(true)),
            ("freezer.state", "THAWED", Write::Frozen(false)),
            ("cpuset.sched_load_balance", "1", Write::Nothing),
        ] {
            assert_eq!(read(name, value), Ok(expected), "{name} {value}");
        }
    }

    #[test]
    fn what_is_right_but_not_simulated() {
        for (name, value) in [
            ("cpu.uclamp.min", "0.00"),
            ("cpu.uclamp.min", "33.333"),
            ("cpu.uclamp.max", "100.00"),
            ("cpu.uclamp.max", "max"),
            ("cpu.rt_runtime_us", "950000"),
            ("cpu.rt_runtime_us", "-1"),
            ("cpu.rt_period_us", "1000000"),
            ("cpuset.mems", "0"),
            ("cpuset.cpus.partition", "isolated"),
            ("cpuset.sched_load_balance", "0"),
            ("cpuset.sched_relax_domain_level", "-1"),
            ("cpuset.sched_relax_domain_level", "5"),
            ("cgroup.subtree_control", "+cpu +cpuset"),
        ] {
            assert!(matches!(read(name, value), Ok(Write::Noted(_))), "{name} {value}");
        }
        for name in ["memory.max", "cpuacct.usage", "io.weight"] {
            assert!(find(name).unwrap().is_none(), "{name}");
        }
    }

    /// Values that the kernel refuses with EINVAL or ERANGE.
    #[test]
    fn what_the_kernel_refuses() {
        for (name, value, expected) in [
            ("cpu.shares", "-1", "`cpu.shares` must be from 2 to 262144, found -1"),
            ("cpu.shares", "much", "`cpu.shares` must be a whole number, found `much`"),
            ("cpu.weight", "0", "`cpu.weight` must be from 1 to 10000, found 0"),
            ("cpu.weight", "10001", "`cpu.weight` must be from 1 to 10000, found 10001"),
            ("cpu.weight.nice", "20", "`cpu.weight.nice` must be from -20 to 19, found 20"),
            ("cpu.weight.nice", "-21", "`cpu.weight.nice` must be from -20 to 19, found -21"),
            ("cpu.idle", "2", "`cpu.idle` must be 0 or 1, found `2`"),
            ("cgroup.freeze", "2", "`cgroup.freeze` must be 0 or 1, found `2`"),
            (
                "cpu.cfs_quota_us",
                "999",
                "the quota in `cpu.cfs_quota_us` must be at least 1000 (1 ms), found 999",
            ),
            (
                "cpu.cfs_quota_us",
                "17592186044416",
                "the quota in `cpu.cfs_quota_us` must be at most 17592186044415, found 17592186044416",
            ),
            (
                "cpu.cfs_period_us",
                "999",
                "`cpu.cfs_period_us` must be from 1000 to 1000000, found 999",
            ),
            (
                "cpu.cfs_period_us",
                "1000001",
                "`cpu.cfs_period_us` must be from 1000 to 1000000, found 1000001",
            ),
            (
                "cpu.cfs_burst_us",
                "-1",
                "`cpu.cfs_burst_us` must be from 0 to 17592186044415, found -1",
            ),
            ("cpu.max", "999", "the quota in `cpu.max` must be at least 1000 (1 ms), found 999"),
            ("cpu.max", "-1", "the quota in `cpu.max` must be at least 1000 (1 ms), found -1"),
            (
                "cpu.max",
                "5000 999",
                "the period in `cpu.max` must be from 1000 to 1000000, found 999",
            ),
            ("cpu.max", "half", "`cpu.max` must be a quota and a period, found `half`"),
            ("cpu.max", "", "`cpu.max` must be a quota and a period, found ``"),
            (
                "cpu.max",
                "1000 2000 3000",
                "`cpu.max` must be a quota and a period, found `1000 2000 3000`",
            ),
            (
                "cpu.uclamp.max",
                "100.01",
                "`cpu.uclamp.max` must be a percentage from 0 to 100 or `max`, found `100.01`",
            ),
            (
                "cpu.uclamp.min",
                "-1",
                "`cpu.uclamp.min` must be a percentage from 0 to 100 or `max`, found `-1`",
            ),
            ("cpuset.cpus", "x", "`x` is not a list of CPUs"),
            (
                "cpuset.cpus.partition",
                "alone",
                "`cpuset.cpus.partition` must be `member`, `root` or `isolated`, found `alone`",
            ),
            (
                "cpuset.sched_relax_domain_level",
                "6",
                "`cpuset.sched_relax_domain_level` must be from -1 to 5, found 6",
            ),
            (
                "freezer.state",
                "FREEZING",
                "`freezer.state` must be `FROZEN` or `THAWED`, found `FREEZING`",
            ),
            ("cpu.stat", "0", "`cpu.stat` is read-only"),
            ("cgroup.procs", "1", "tasks cannot be moved by writing to `cgroup.procs`"),
            ("cpu.wieght", "1", "unknown setting `cpu.wieght`"),
            ("rubbish", "1", "unknown setting `rubbish`"),
        ] {
            assert_eq!(read(name, value), Err(expected.into()), "{name} {value}");
        }
    }

    #[test]
    fn long_values_are_shown_in_part() {
        let error = read("cpu.weight", &"x".repeat(100_000)).unwrap_err();
        assert!(error.len() < 120, "{error}");
    }
}
