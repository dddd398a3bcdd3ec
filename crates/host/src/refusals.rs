//! Requirements of a workload that this host cannot meet, found before anything runs: each with the
//! task, the key, and a remedy.

use crate::facts::format_cpus;
use crate::probe::Probe;
use schedlab_core::{Policy, SchedAttr};
use schedlab_workload::model::{Action, Model, Properties, Task};
use std::fmt;

/// Maximum size for a `mem` or `memrun`, bytes.
const MEMORY_MAX: u64 = 256 << 20;

/// The kernel rounds the times of deadline tasks down to units of 1024 ns, so a shorter one is
/// zero.
const DEADLINE_RUNTIME_LEAST_US: u64 = 2;

/// The reason why there are no groups if the user requests none.
pub const NO_GROUP: &str = "--group none";

/// A requirement that cannot be met.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Refusal {
    /// Key of the task.
    pub task: String,
    /// The key of the workload's file that states it.
    pub key: String,
    /// The reason.
    pub what: String,
    /// The remedy.
    pub way_out: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { task, key, what, way_out } = self;
        write!(f, "task `{task}`, `{key}`: {what}; {way_out}")
    }
}

/// Describes attributes in words.
pub fn describe(attr: &SchedAttr) -> String {
    let us = |ns: u64| ns / 1000;
    match attr.policy {
        Policy::Deadline => format!(
            "{} with {} us of each {} us, deadline {} us",
            attr.policy.name(),
            us(attr.runtime_ns),
            us(attr.period_ns),
            us(attr.deadline_ns)
        ),
        policy if policy.is_realtime() => {
            format!("{} with priority {}", policy.name(), attr.rt_priority)
        }
        policy if attr.runtime_ns > 0 => {
            format!("{}, nice {}, slice {} us", policy.name(), attr.nice, us(attr.runtime_ns))
        }
        policy => format!("{}, nice {}", policy.name(), attr.nice),
    }
}

/// Remedy for missing scheduling rights.
const NICE_RIGHT: &str =
    "permit it with `sudo setcap cap_sys_nice+ep` on the program, or run it as root";

/// Returns everything in `model` that this user cannot do on this kernel, with `cpus` for tasks
/// that name none; once for each task and key.
pub fn refusals(model: &Model, probe: &Probe, cpus: &[u32]) -> Vec<Refusal> {
    let mut found = vec![];
    for task in &model.tasks {
        let mut of_task = Checker { task, probe, cpus, found: &mut found };
        of_task.properties(model.global.default_policy);
        of_task.events();
    }
    // The same refusal in several phases counts once.
    found.sort();
    found.dedup_by(|a, b| (&a.task, &a.key, &a.what) == (&b.task, &b.key, &b.what));
    found
}

struct Checker<'a> {
    task: &'a Task,
    probe: &'a Probe,
    cpus: &'a [u32],
    found: &'a mut Vec<Refusal>,
}

impl Checker<'_> {
    fn refuse(&mut self, key: &str, what: impl Into<String>, way_out: impl Into<String>) {
        self.found.push(Refusal {
            task: self.task.key.clone(),
            key: key.into(),
            what: what.into(),
            way_out: way_out.into(),
        });
    }

    fn properties(&mut self, default: Policy) {
        let task = self.task;
        let mut policy = task.properties.policy.unwrap_or(default);
        let own_cpus = task.properties.cpus.as_deref();
        self.scheduling(policy, &task.properties);
        self.place(&task.properties);
        self.bound(policy, own_cpus);
        for phase in &task.phases {
            policy = phase.properties.policy.unwrap_or(policy);
            self.scheduling(policy, &phase.properties);
            self.place(&phase.properties);
            self.bound(policy, phase.properties.cpus.as_deref().or(own_cpus));
        }
    }

    /// Checks `policy`, `priority` and `slice`.
    fn scheduling(&mut self, policy: Policy, stated: &Properties) {
        let probe = self.probe;
        match policy {
            Policy::Fifo | Policy::RoundRobin => {
                let wanted = stated.priority.unwrap_or(10).max(1) as u32;
                let is_fifo = policy == Policy::Fifo;
                let highest = if is_fifo { probe.fifo } else { probe.round_robin };
                if wanted > highest && (stated.policy.is_some() || stated.priority.is_some()) {
                    let name = policy.name();
                    let what = match highest {
                        0 => format!("{name} is not permitted: {}", probe.fifo_why),
                        _ => format!("{name} is permitted up to priority {highest}, not {wanted}"),
                    };
                    let limit = format!("or raise the limit (`ulimit -r {wanted}`)");
                    let way_out = if probe.may_nice {
                        "the group that this runs in has no budget for real-time tasks \
                         (cpu.rt_runtime_us): name one that has with --group, or leave the task out \
                         with --leave-out"
                            .to_string()
                    } else {
                        format!("{NICE_RIGHT}, {limit}, or leave the task out with --leave-out")
                    };
                    self.refuse(if highest == 0 { "policy" } else { "priority" }, what, way_out);
                } else if self.is_in_a_group() && !probe.group_realtime.yes {
                    let what = format!(
                        "{} in a group is not available: {}",
                        policy.name(),
                        probe.group_realtime.how
                    );
                    let way_out =
                        "run it with --group none, or leave the task out with --leave-out";
                    self.refuse("policy", what, way_out);
                }
            }
            Policy::Deadline if !probe.deadline.yes => {
                let what = format!("SCHED_DEADLINE is not permitted: {}", probe.deadline.how);
                let way_out = format!("{NICE_RIGHT}, or leave the task out with --leave-out");
                self.refuse("policy", what, way_out);
            }
            Policy::Deadline => self.deadline(stated),
            Policy::Iso => {
                let what = "SCHED_ISO is not in this kernel".to_string();
                self.refuse("policy", what, "leave the task out with --leave-out");
            }
            Policy::Other | Policy::Batch | Policy::Idle => {
                let nice = stated.priority.unwrap_or(0);
                if nice < probe.nice_floor {
                    let what = format!(
                        "nice {nice} is not permitted: this user may go down to {}",
                        probe.nice_floor
                    );
                    let limit = format!("or raise the limit (`ulimit -e {}`)", 20 - nice);
                    let way_out =
                        format!("{NICE_RIGHT}, {limit}, or leave the task out with --leave-out");
                    self.refuse("priority", what, way_out);
                }
                self.slice(stated);
                for (wanted, right) in [(Policy::Batch, &probe.batch), (Policy::Idle, &probe.idle)]
                {
                    if policy == wanted && !right.yes {
                        let what = format!("{} is not permitted: {}", policy.name(), right.how);
                        self.refuse("policy", what, "leave the task out with --leave-out");
                    }
                }
            }
        }
    }

    /// Checks the kernel's limits for a deadline task.
    fn deadline(&mut self, stated: &Properties) {
        let way_out = "give another, or leave the task out with --leave-out";
        if let Some(us) = stated.dl_runtime_us.filter(|&us| us < DEADLINE_RUNTIME_LEAST_US) {
            let what = format!(
                "the kernel accepts no deadline task of {us} us; it must be \
                 {DEADLINE_RUNTIME_LEAST_US} us or more"
            );
            self.refuse("dl-runtime", what, way_out);
        }
        // The kernel checks the period or, if there is none, the deadline.
        let period = stated.dl_period_us.map(|us| ("dl-period", us));
        let period = period.or(stated.dl_deadline_us.map(|us| ("dl-deadline", us)));
        let bounds = self.probe.facts.deadline_period_us;
        if let (Some((key, us)), Some((least, most))) = (period, bounds)
            && !(least..=most).contains(&us)
        {
            let what = format!(
                "{us} us is not a valid period of a deadline task here: it must be {least} to \
                 {most} us (kernel.sched_deadline_period_min_us and ..._max_us)"
            );
            self.refuse(key, what, way_out);
        }
    }

    fn is_in_a_group(&self) -> bool {
        self.probe.group.yes
    }

    fn slice(&mut self, stated: &Properties) {
        let (key, us) = match (stated.slice_us, stated.dl_runtime_us) {
            (Some(us), _) => ("slice", us),
            (None, Some(us)) => ("dl-runtime", us),
            (None, None) => return,
        };
        if !self.probe.slice.yes {
            let what = format!("a custom slice is not available: {}", self.probe.slice.how);
            self.refuse(key, what, "leave the task out with --leave-out");
        } else if !(100..=100_000).contains(&us) {
            let what = format!("the kernel would change a slice of {us} us");
            self.refuse(key, what, "give 100 to 100000 us");
        }
    }

    /// Checks `cpus` and `taskgroup`.
    fn place(&mut self, stated: &Properties) {
        let probe = self.probe;
        if let Some(cpus) = &stated.cpus {
            let outside = |there: &[u32]| {
                let outside: Vec<u32> =
                    cpus.iter().copied().filter(|cpu| !there.contains(cpu)).collect();
                (!outside.is_empty()).then(|| format_cpus(&outside))
            };
            if let Some(missing) = outside(&probe.facts.cpus) {
                let there = format_cpus(&probe.facts.cpus);
                let what = format!("CPU {missing} is not online; this machine has {there}");
                self.refuse("cpus", what, "name CPUs that are online");
            } else if let Some(missing) = outside(&probe.allowed) {
                let there = format_cpus(&probe.allowed);
                let what = format!("CPU {missing} may not be used; this process may use {there}");
                self.refuse("cpus", what, "start it without taskset, or in another cpuset");
            } else if let Some(missing) = outside(self.cpus) {
                let there = format_cpus(self.cpus);
                let what = format!("CPU {missing} is not listed in --cpus {there}");
                self.refuse("cpus", what, "name it in --cpus too");
            }
        }
        if let Some(path) = &stated.taskgroup
            && !path.is_empty()
            && !probe.group.yes
        {
            let what = format!("the group `{path}` cannot be made: {}", probe.group.how);
            let way_out = match &*probe.group.how {
                NO_GROUP => "leave out --group none, or the task with --leave-out",
                _ => {
                    "run it as root, or where control groups are delegated \
                     (`systemd-run --user --scope -p Delegate=yes ...`), or leave the task out with \
                     --leave-out"
                }
            };
            self.refuse("taskgroup", what, way_out);
        }
    }

    /// Checks that a deadline task is not bound to some of the CPUs.
    fn bound(&mut self, policy: Policy, own: Option<&[u32]>) {
        let cpus = own.unwrap_or(self.cpus);
        let some_only = self.probe.facts.cpus.iter().any(|cpu| !cpus.contains(cpu));
        let unlimited = self.probe.facts.rt_runtime_us == Some(-1);
        if policy == Policy::Deadline && some_only && !unlimited {
            let what = format!(
                "the kernel lets a deadline task use all CPUs or none, and this one would be bound to {}",
                format_cpus(cpus)
            );
            let way_out = match own {
                Some(_) => "remove `cpus` from the task",
                None => "run it without --cpus, or leave the task out with --leave-out",
            };
            self.refuse(if own.is_some() { "cpus" } else { "policy" }, what, way_out);
        }
    }

    fn events(&mut self) {
        let leave_out = "leave the task out with --leave-out";
        for event in self.task.phases.iter().flat_map(|phase| &phase.events) {
            let what = match &event.action {
                Action::IoRun(_) => "a host has no device that takes the time of the cost model",
                Action::Exec => "a thread cannot exec without ending all others",
                Action::Resume { sync: true, .. } => "a futex has no synchronous wakeup",
                Action::Mem(bytes) if *bytes > MEMORY_MAX => "more than 256 MiB of memory",
                Action::MemRun(run) if run.size > MEMORY_MAX => "more than 256 MiB of memory",
                _ => continue,
            };
            self.refuse(&event.key, what, leave_out);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::facts::{Facts, Place};
    use crate::job::Accounts;
    use crate::noise::Source;
    use crate::probe::Permission;
    use schedlab_workload::{Target, rt_app};
    use std::collections::BTreeMap;

    /// Returns an ordinary user without capabilities, on a machine with two CPUs.
    pub(crate) fn user() -> Probe {
        let place = |cpu| Place { cpu, core: cpu, cache: 0, package: 0, node: 0 };
        let no = || Permission::no("EPERM (Operation not permitted)");
        let yes = || Permission::yes("");
        Probe {
            facts: Facts {
                release: "6.18.44".into(),
                arch: "x86_64".into(),
                virtual_machine: false,
                cpus: vec![0, 1],
                places: vec![place(0), place(1)],
                hz: Some((250, "/proc/config.gz".into())),
                config: BTreeMap::new(),
                preempt: "none".into(),
                base_slice_ns: Some(1_400_000),
                features: None,
                autogroup: Some(true),
                rt_runtime_us: Some(950_000),
                deadline_period_us: Some((100, 4_194_304)),
                perf_event_paranoid: Some(2),
                governors: vec![],
                on_battery: false,
            },
            user: 1000,
            may_nice: false,
            nice_up: yes(),
            nice_floor: 0,
            nice_back: no(),
            batch: yes(),
            idle: yes(),
            slice: yes(),
            fifo: 0,
            fifo_why: "EPERM (Operation not permitted)".into(),
            round_robin: 0,
            deadline: no(),
            allowed: vec![0, 1],
            timer_slack: yes(),
            memory_lock: yes(),
            switches: yes(),
            counter_user: yes(),
            counter: no(),
            switches_of_all: no(),
            tracefs: no(),
            schedstat: yes(),
            features: no(),
            group: no(),
            home: None,
            group_realtime: no(),
            accounts: Accounts { source: Source::ProcStat, file: "/proc/stat".into() },
        }
    }

    /// Returns the root user of the same machine.
    pub(crate) fn root() -> Probe {
        let yes = || Permission::yes("");
        Probe {
            user: 0,
            may_nice: true,
            nice_floor: -20,
            nice_back: yes(),
            fifo: 99,
            fifo_why: String::new(),
            round_robin: 99,
            deadline: yes(),
            group: yes(),
            group_realtime: yes(),
            ..user()
        }
    }

    fn refused(tasks: &str, probe: &Probe, cpus: &[u32]) -> Vec<String> {
        let text = format!(r#"{{"global": {{"duration": 1}}, "tasks": {{{tasks}}}}}"#);
        let model =
            rt_app::load("a.json", &text, &Target::new(16)).expect("the workload is well formed");
        refusals(&model, probe, cpus).iter().map(ToString::to_string).collect()
    }

    fn one(tasks: &str, probe: &Probe) -> String {
        let all = refused(tasks, probe, &[0, 1]);
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().expect("one")
    }

    #[test]
    fn fifo_as_a_user_is_refused_with_the_way_out() {
        let task = r#""R": {"policy": "SCHED_FIFO", "priority": 50, "run": 1}"#;
        let message = one(task, &user());
        for part in ["task `R`", "`policy`", "EPERM", "cap_sys_nice", "ulimit -r 50", "--leave-out"]
        {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
        assert_eq!(refused(task, &root(), &[0, 1]), [""; 0]);
        // RLIMIT_RTPRIO permits some priorities.
        let some = Probe { fifo: 20, ..user() };
        assert!(one(task, &some).contains("up to priority 20"));
        let low = r#""R": {"policy": "SCHED_FIFO", "priority": 20, "run": 1}"#;
        let outside = Probe { group: Permission::no("none"), ..some };
        assert_eq!(refused(low, &outside, &[0, 1]), [""; 0]);
    }

    #[test]
    fn nice_downwards_is_refused_and_upwards_not() {
        let hogs = r#""a": {"priority": 0, "run": 1}, "b": {"priority": 5, "run": 1}"#;
        assert_eq!(refused(hogs, &user(), &[0, 1]), [""; 0]);
        let message = one(r#""a": {"priority": -5, "run": 1}"#, &user());
        assert!(message.contains("ulimit -e 25"), "{message}");
        let phases = r#""a": {"phases": {"p": {"run": 1}, "q": {"priority": -5, "run": 1}}}"#;
        assert!(one(phases, &user()).contains("nice -5"));
    }

    #[test]
    fn groups_cpus_and_slices_are_looked_at() {
        let group = r#""a": {"taskgroup": "/g", "run": 1}"#;
        assert!(one(group, &user()).contains("Delegate=yes"));
        let unwanted = Probe { group: Permission::no(NO_GROUP), ..root() };
        assert!(
            one(group, &unwanted).ends_with("leave out --group none, or the task with --leave-out")
        );
        assert_eq!(refused(group, &root(), &[0, 1]), [""; 0]);
        let cpu = r#""a": {"cpus": [7], "run": 1}"#;
        assert!(one(cpu, &root()).contains("CPU 7 is not online; this machine has 0-1"));
        let cpu = r#""a": {"cpus": [1], "run": 1}"#;
        let bound = Probe { allowed: vec![0], ..root() };
        assert!(one(cpu, &bound).contains("may not be used"));
        let all = refused(cpu, &root(), &[0]);
        assert!(all[0].contains("not listed in --cpus 0"), "{all:?}");
        let slice = r#""a": {"slice": 3000, "run": 1}"#;
        assert_eq!(refused(slice, &user(), &[0, 1]), [""; 0]);
        let old = Probe { slice: Permission::no("this kernel has none"), ..root() };
        assert!(one(slice, &old).contains("`slice`"));
        assert!(one(r#""a": {"slice": 50, "run": 1}"#, &root()).contains("100 to 100000"));
    }

    #[test]
    fn a_deadline_task_must_have_all_cpus() {
        let task = r#""D": {"policy": "SCHED_DEADLINE", "dl-runtime": 2000, "dl-period": 10000,
                     "run": 1}"#;
        assert_eq!(refused(task, &root(), &[0, 1]), [""; 0]);
        let all = refused(task, &root(), &[0]);
        assert!(
            all[0].contains("all CPUs or none") && all[0].contains("without --cpus"),
            "{all:?}"
        );
        assert!(one(task, &user()).contains("SCHED_DEADLINE is not permitted"));
    }

    #[test]
    fn times_that_the_kernel_takes_of_no_deadline_task_are_refused() {
        let with = |times: &str| {
            let task =
                format!(r#""D": {{"policy": "SCHED_DEADLINE", {times}, "run": 1, "sleep": 1}}"#);
            refused(&task, &root(), &[0, 1])
        };
        assert_eq!(with(r#""dl-runtime": 2, "dl-period": 100"#), [""; 0]);
        assert_eq!(with(r#""dl-runtime": 2, "dl-period": 4194304"#), [""; 0]);
        let short = with(r#""dl-runtime": 1, "dl-period": 99"#);
        assert!(short[0].contains("`dl-period`: 99 us is not a valid period"), "{short:?}");
        assert!(
            short[1].contains("`dl-runtime`") && short[1].contains("2 us or more"),
            "{short:?}"
        );
        let long = with(r#""dl-runtime": 2, "dl-period": 4194305"#);
        assert!(long[0].contains("it must be 100 to 4194304 us"), "{long:?}");
    }

    #[test]
    fn what_no_host_can_do_is_refused() {
        assert!(one(r#""a": {"iorun": 4096}"#, &root()).contains("`iorun`"));
        assert!(one(r#""a": {"mem": 268435457}"#, &root()).contains("256 MiB"));
        let sync = r#""a": {"run": 1, "resume_sync": "b"}, "b": {"suspend": "b"}"#;
        assert!(one(sync, &root()).contains("synchronous"));
    }

    #[test]
    fn real_time_in_a_group_needs_a_budget() {
        let task = r#""R": {"policy": "SCHED_RR", "run": 1}"#;
        let broke = Probe { group_realtime: Permission::no("the sum is all there is"), ..root() };
        assert!(one(task, &broke).contains("--group none"));
    }
}
