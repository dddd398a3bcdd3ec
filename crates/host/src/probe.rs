//! Permissions of this user on this kernel. Each operation is tried on a thread made for it.

use crate::facts::{CAP_SYS_NICE, Facts, has_capability};
use crate::groups::{self, Home, MadeGroups};
use crate::job::Accounts;
use crate::noise::Source;
use crate::sys::{self, CounterScope, SwitchRing};
use schedlab_core::{Policy, SchedAttr};
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// Whether an operation is permitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permission {
    /// Whether it is.
    pub yes: bool,
    /// Its extent, or the reason why it is not permitted.
    pub how: String,
}

impl Permission {
    /// Reports that the operation is permitted to this extent.
    pub fn yes(how: impl Into<String>) -> Permission {
        Permission { yes: true, how: how.into() }
    }

    /// Reports that the operation is not permitted, for this reason.
    pub fn no(why: impl Into<String>) -> Permission {
        Permission { yes: false, how: why.into() }
    }

    fn of(tried: io::Result<impl Into<String>>) -> Permission {
        match tried {
            Ok(how) => Permission::yes(how),
            Err(error) => Permission::no(error_name(&error)),
        }
    }
}

/// Returns `EPERM (Operation not permitted)`, or the system's message.
pub fn error_name(error: &io::Error) -> String {
    let name = match error.raw_os_error() {
        Some(libc::EPERM) => "EPERM",
        Some(libc::EACCES) => "EACCES",
        Some(libc::EINVAL) => "EINVAL",
        Some(libc::EBUSY) => "EBUSY",
        Some(libc::ENOENT) => "ENOENT",
        Some(libc::ENOSYS) => "ENOSYS",
        _ => return error.to_string(),
    };
    let message = error.to_string();
    format!("{name} ({})", message.split(" (os error").next().unwrap_or_default())
}

/// The results of all trials, as plain data, so that tests can describe other hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct Probe {
    /// Facts about the host.
    pub facts: Facts,
    /// The user's number.
    pub user: u32,
    /// Whether CAP_SYS_NICE is effective.
    pub may_nice: bool,
    /// Raising the nice value to 19.
    pub nice_up: Permission,
    /// The lowest nice value that can be reached from 0.
    pub nice_floor: i32,
    /// Whether a thread may return from nice 1 to nice 0.
    pub nice_back: Permission,
    /// SCHED_BATCH.
    pub batch: Permission,
    /// SCHED_IDLE.
    pub idle: Permission,
    /// A custom slice of a fair task.
    pub slice: Permission,
    /// The highest priority under SCHED_FIFO; `0`: none.
    pub fifo: u32,
    /// The reason why no higher priority is permitted.
    pub fifo_why: String,
    /// The highest priority under SCHED_RR; `0`: none.
    pub round_robin: u32,
    /// SCHED_DEADLINE.
    pub deadline: Permission,
    /// CPUs that this process may use.
    pub allowed: Vec<u32>,
    /// A timer slack of 1 ns.
    pub timer_slack: Permission,
    /// Locked memory.
    pub memory_lock: Permission,
    /// The switches of the process's own threads, recorded by the kernel.
    pub switches: Permission,
    /// The counter of context switches of a thread, without the kernel's part.
    pub counter_user: Permission,
    /// The counter of context switches of a thread, including the kernel's part.
    pub counter: Permission,
    /// The switches of all tasks.
    pub switches_of_all: Permission,
    /// The mount point of tracefs.
    pub tracefs: Permission,
    /// `/proc/self/task/TID/schedstat`.
    pub schedstat: Permission,
    /// `/sys/kernel/debug/sched/features`.
    pub features: Permission,
    /// A heavily weighted group.
    pub group: Permission,
    /// The place where groups can be made, if there is one.
    pub home: Option<Home>,
    /// Whether real-time tasks in a group need a budget there.
    pub group_realtime: Permission,
    /// Source of the CPU time of all tasks.
    pub accounts: Accounts,
}

/// Runs `f` on a separate thread, whose attributes may be changed freely.
fn aside<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(f).join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn tried(attr: SchedAttr) -> io::Result<String> {
    tried_in(None, attr)
}

/// Runs `f` on a thread in a group; `attach` is the file to which the thread's number is written.
fn tried_in(attach: Option<&Path>, attr: SchedAttr) -> io::Result<String> {
    aside(|| {
        if let Some(attach) = attach {
            std::fs::write(attach, sys::thread_id().to_string())?;
        }
        sys::set_attr(&attr, false).map(|()| String::new())
    })
}

fn with_policy(policy: Policy) -> SchedAttr {
    SchedAttr { policy, ..SchedAttr::default() }
}

/// A slice that no kernel uses by default, ns.
const ODD_SLICE_NS: u64 = 3_700_000;

impl Probe {
    /// Tries everything. `home`: the place for groups, if there is one.
    pub fn new(home: Option<Home>) -> Probe {
        let facts = Facts::of(Path::new("/"));
        let accounts = accounts(&facts);
        let group = try_group(home.as_ref());
        let home = home.filter(|_| group.yes);
        // Real-time tasks are tried where they will run: with the budget of that group.
        let made = home.as_ref().map(|home| MadeGroups::new(home, true));
        let attach = match (&home, &made) {
            (Some(home), Some(Ok(made))) => Some(made.load().join(home.attach())),
            _ => None,
        };
        let attach = attach.as_deref();
        let (fifo, fifo_why) = highest_priority(Policy::Fifo, attach);
        Probe {
            user: rustix::process::geteuid().as_raw(),
            may_nice: has_capability(CAP_SYS_NICE),
            nice_up: Permission::of(tried(SchedAttr::nice(19)).map(|_| "to 19")),
            nice_floor: (-20..0).find(|&nice| tried(SchedAttr::nice(nice)).is_ok()).unwrap_or(0),
            nice_back: Permission::of(aside(|| {
                sys::set_attr(&SchedAttr::nice(1), false)?;
                sys::set_attr(&SchedAttr::nice(0), false).map(|()| "from 1 to 0")
            })),
            batch: Permission::of(tried(with_policy(Policy::Batch))),
            idle: Permission::of(tried(with_policy(Policy::Idle))),
            slice: slice(),
            fifo,
            fifo_why,
            round_robin: highest_priority(Policy::RoundRobin, attach).0,
            deadline: Permission::of(tried_in(
                attach,
                SchedAttr {
                    runtime_ns: 1_000_000,
                    deadline_ns: 100_000_000,
                    period_ns: 100_000_000,
                    ..with_policy(Policy::Deadline)
                },
            )),
            allowed: aside(sys::affinity).unwrap_or_default(),
            timer_slack: Permission::of(timer_slack()),
            memory_lock: memory_lock(),
            switches: Permission::of(switches()),
            counter_user: Permission::of(count(CounterScope::OwnWithoutKernel)),
            counter: Permission::of(count(CounterScope::Own)),
            switches_of_all: Permission::of(
                sys::count_switches(CounterScope::OnCpu(facts.cpus[0]), || ())
                    .map(|_| "perf events"),
            ),
            tracefs: tracefs(),
            schedstat: schedstat(),
            features: match &facts.features {
                Some(_) => Permission::yes("/sys/kernel/debug/sched/features"),
                None => Permission::no("/sys/kernel/debug/sched/features may not be read"),
            },
            group_realtime: group_realtime(made.as_ref()),
            home,
            group,
            accounts,
            facts,
        }
    }

    /// Rows for the terminal: the operation, whether it is permitted, and the extent or reason.
    pub fn lines(&self) -> Vec<(&'static str, bool, String)> {
        let facts = &self.facts;
        let of = |answer: &Permission| (answer.yes, answer.how.clone());
        let priority = |highest: u32| match highest {
            0 => (false, self.fifo_why.clone()),
            highest => (true, format!("priorities 1 to {highest}")),
        };
        let known = |what: Option<String>, why: &str| match what {
            Some(what) => (true, what),
            None => (false, why.to_string()),
        };
        let down = match self.nice_floor {
            0 => (false, format!("nice -1: EPERM; back to 0: {}", self.nice_back.how)),
            floor => (true, format!("to {floor}")),
        };
        let rows = [
            ("nice upwards", of(&self.nice_up)),
            ("nice downwards", down),
            ("SCHED_BATCH", of(&self.batch)),
            ("SCHED_IDLE", of(&self.idle)),
            ("affinity", (!self.allowed.is_empty(), crate::facts::format_cpus(&self.allowed))),
            ("timer slack of 1 ns", of(&self.timer_slack)),
            ("locked memory", of(&self.memory_lock)),
            ("custom slice of a fair task", of(&self.slice)),
            ("SCHED_FIFO", priority(self.fifo)),
            ("SCHED_RR", priority(self.round_robin)),
            ("SCHED_DEADLINE", of(&self.deadline)),
            ("switches of own threads", of(&self.switches)),
            ("switch counter, user part", of(&self.counter_user)),
            ("switch counter", of(&self.counter)),
            ("switches of all tasks", of(&self.switches_of_all)),
            ("tracefs", of(&self.tracefs)),
            ("schedstat of threads", of(&self.schedstat)),
            (
                "base slice",
                known(
                    facts.base_slice_ns.map(|ns| format!("{ns} ns")),
                    "the kernel does not report it",
                ),
            ),
            ("scheduler features", of(&self.features)),
            (
                "ticks per second",
                known(
                    facts.hz.as_ref().map(|(hz, from)| format!("{hz}, by {from}")),
                    "neither /proc/config.gz nor /boot/config-RELEASE can be read; it is measured",
                ),
            ),
            ("heavily weighted group", of(&self.group)),
            ("real-time tasks in it", of(&self.group_realtime)),
            ("CPU time of all tasks", (true, self.accounts.source.name().into())),
            ("topology", (!facts.places.is_empty(), facts.topology())),
        ];
        rows.into_iter().map(|(what, (yes, how))| (what, yes, how)).collect()
    }

    /// Returns the results as the document `schedlab-host-probe/1`.
    pub fn to_json(&self) -> Value {
        let rights: Vec<Value> = self
            .lines()
            .into_iter()
            .map(|(what, yes, how)| json!({"what": what, "yes": yes, "how": how}))
            .collect();
        json!({
            "format": "schedlab-host-probe/1",
            "kernel": self.facts.release,
            "arch": self.facts.arch,
            "virtual_machine": self.facts.virtual_machine,
            "user": self.user,
            "perf_event_paranoid": self.facts.perf_event_paranoid,
            "preempt": self.facts.preempt,
            "rights": rights,
        })
    }
}

fn highest_priority(policy: Policy, attach: Option<&Path>) -> (u32, String) {
    let mut why = String::new();
    for priority in (1..=99).rev() {
        match tried_in(attach, SchedAttr::realtime(policy, priority)) {
            Ok(_) => return (priority, why),
            Err(error) => why = error_name(&error),
        }
    }
    (0, why)
}

/// Sets a slice and reads it back: kernels before 6.12 accept it without an error and ignore it.
fn slice() -> Permission {
    let tried = aside(|| {
        let attr = SchedAttr { runtime_ns: ODD_SLICE_NS, ..SchedAttr::default() };
        sys::set_attr(&attr, false)?;
        sys::get_attr()
    });
    match tried {
        Ok(attr) if attr.runtime_ns == ODD_SLICE_NS => Permission::yes("0.1 to 100 ms"),
        Ok(_) => Permission::no("this kernel has none (6.12 and later have)"),
        Err(error) => Permission::no(error_name(&error)),
    }
}

fn timer_slack() -> io::Result<String> {
    aside(|| {
        rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
        Ok(format!("{} ns", rustix::thread::current_timer_slack()?))
    })
}

fn memory_lock() -> Permission {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    let limit = limit.map_or("no limit".into(), |bytes| format!("limit {} KiB", bytes / 1024));
    match sys::lock_a_page() {
        Ok(()) => Permission::yes(limit),
        Err(error) => Permission::no(format!("{}, {limit}", error_name(&error))),
    }
}

/// Sleeps, so that switches occur.
fn switch_away() {
    sys::sleep_until(sys::now_ns() + 200_000);
}

fn switches() -> io::Result<String> {
    aside(|| {
        let mut ring = SwitchRing::open(1)?;
        switch_away();
        let mut seen = 0;
        ring.drain(|_, _| seen += 1);
        match seen {
            0 => Err(io::Error::other("the event can be opened, but records nothing")),
            _ => Ok("times, CPU, and whether preempted".into()),
        }
    })
}

fn count(whose: CounterScope) -> io::Result<String> {
    let counted = aside(|| sys::count_switches(whose, switch_away))?;
    Ok(format!("counted {counted} while it slept once"))
}

fn tracefs() -> Permission {
    for place in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
        let id = Path::new(place).join("events/sched/sched_switch/id");
        match std::fs::read(&id) {
            Ok(_) => return Permission::yes(place),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Permission::no(format!("{place} may not be read"));
            }
            Err(_) => {}
        }
    }
    Permission::no("not mounted, or not visible")
}

fn schedstat() -> Permission {
    let path = "/proc/thread-self/schedstat";
    match std::fs::read_to_string(path) {
        Ok(text) if text.split_ascii_whitespace().count() == 3 => {
            Permission::yes("CPU time, waiting, times scheduled in")
        }
        Ok(_) => Permission::no(format!("{path} has another format")),
        Err(error) => Permission::no(error_name(&error)),
    }
}

fn try_group(home: Option<&Home>) -> Permission {
    let Some(home) = home else {
        return Permission::no("no control group hierarchy with the cpu controller is mounted");
    };
    match MadeGroups::new(home, false) {
        Ok(made) => {
            // It must also be possible to move a thread into the group.
            let attach = made.load().join(home.attach());
            let moved = aside(|| std::fs::write(&attach, sys::thread_id().to_string()));
            match moved {
                Ok(()) => Permission::yes(format!("below {}", home.directory.display())),
                Err(error) => {
                    Permission::no(format!("{}: {}", attach.display(), error_name(&error)))
                }
            }
        }
        Err(why) => Permission::no(why),
    }
}

fn group_realtime(made: Option<&Result<MadeGroups, String>>) -> Permission {
    match made {
        None => Permission::no("there is no group"),
        Some(Ok(made)) => match made.rt_runtime_us {
            Some(us) => Permission::yes(format!("{us} us of each second")),
            None => Permission::yes("no budget needed"),
        },
        Some(Err(why)) => Permission::no(why.clone()),
    }
}

/// Returns the best source of the CPU time of all tasks.
fn accounts(facts: &Facts) -> Accounts {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let in_steps = crate::noise::of_proc_stat(&stat, &facts.cpus).map_or(0, |(busy, _)| busy);
    let candidates =
        [(groups::Version::V1, Source::Cpuacct), (groups::Version::V2, Source::CpuStat)];
    for (version, source) in candidates {
        let Some(file) = groups::accounting_file(version) else { continue };
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let busy_ns = match source {
            Source::Cpuacct => crate::noise::of_usage_percpu(&text, &facts.cpus),
            _ => crate::noise::of_cpu_stat(&text),
        };
        // In a container, the visible root may be a part of the hierarchy that accounts for less.
        if busy_ns.is_some_and(|ns| ns >= in_steps / 2) {
            return Accounts { source, file };
        }
    }
    Accounts { source: Source::ProcStat, file: PathBuf::from("/proc/stat") }
}

impl Accounts {
    /// Returns the source for a placement: totals over all CPUs are of no use for some of them.
    pub fn for_cpus(&self, cpus: &[u32], facts: &Facts) -> Accounts {
        if self.source == Source::CpuStat && cpus.len() < facts.cpus.len() {
            return Accounts { source: Source::ProcStat, file: PathBuf::from("/proc/stat") };
        }
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_an_answer_and_a_reason() {
        let probe = Probe::new(Home::of_this_process());
        let lines = probe.lines();
        assert_eq!(lines.len(), 24);
        for (what, yes, how) in &lines {
            assert!(*yes || !how.is_empty(), "{what}: why not?");
        }
        let json = probe.to_json();
        assert_eq!(json["rights"].as_array().unwrap().len(), lines.len());
    }

    #[test]
    fn errors_have_the_kernels_names() {
        let error = io::Error::from_raw_os_error(libc::EPERM);
        assert_eq!(error_name(&error), "EPERM (Operation not permitted)");
    }
}
