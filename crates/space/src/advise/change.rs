//! Changes that an administrator may make: [`Change`], and the commands that make and undo them.

use crate::limits::{Limit, number};
use schedlab_core::Quota;
use schedlab_lab::plan::SetValues;
use schedlab_lab::replay::Replay;
use schedlab_workload::groups::autogroup;
use std::fmt::Write as _;

/// A change of the recorded work or its machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The change, as `apply` reads it.
    pub text: String,
    /// Setting or task that is changed. Two changes of the same thing exclude each other.
    pub subject: String,
    /// Names of the tasks that it affects directly. Empty: all.
    pub tasks: Vec<String>,
    /// Commands that make it.
    pub make: Vec<String>,
    /// Commands that undo it.
    pub undo: Vec<String>,
    /// Notes about these commands.
    pub notes: Vec<String>,
}

/// Applies a change to the alternatives of `replay`: one of `schedlab replay --change`, `set
/// TUNABLE=VALUE`, or `release NAME`.
///
/// # Errors
/// The change is malformed. (The replay checks the others when it is prepared.)
pub fn apply(text: &str, replay: &mut Replay) -> Result<(), String> {
    let (action, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    match action {
        "set" => {
            let (name, value) = rest
                .split_once('=')
                .ok_or_else(|| format!("--change '{text}': it must be `set TUNABLE=VALUE`"))?;
            replay.set.push((name.trim().into(), SetValues::from(value.trim())));
        }
        "release" if rest.trim().is_empty() => {
            return Err(format!("--change '{text}': it must be `release NAME`"));
        }
        "release" => replay.schedulers = vec![rest.trim().into()],
        _ => replay.changes.push(text.trim().into()),
    }
    Ok(())
}

/// Tasks of a name, as they were recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tasks {
    /// Name of the tasks.
    pub name: String,
    /// Their nice value. `None`: they differ.
    pub nice: Option<i32>,
    /// Their policy, as an option of `chrt`: `other`, `batch` or `idle`.
    pub policy: &'static str,
    /// CPUs that they may use. `None`: all.
    pub cpus: Option<Vec<u32>>,
    /// Whether some of them began and ended during the recording.
    pub is_brief: bool,
}

impl Tasks {
    /// Returns the command that lists their numbers.
    fn pids(&self) -> String {
        // `pgrep` takes a regular expression.
        let mut name = String::new();
        for sign in self.name.chars() {
            if "\\.+*?()|[]{}^$".contains(sign) {
                name.push('\\');
            }
            name.push(sign);
        }
        format!("pgrep -w -x {}", quoted(&name))
    }

    fn change(&self, what: &str, text: String, make: String, undo: String) -> Change {
        Change {
            text,
            subject: format!("{what} of {}", self.name),
            tasks: vec![self.name.clone()],
            make: vec![make],
            undo: vec![undo],
            notes: vec![],
        }
    }

    /// Adds a note where tasks begin and end all the time.
    fn or_start(&self, mut change: Change, how: &str) -> Change {
        if self.is_brief {
            change.notes.push(format!(
                "tasks of this name begin and end during the recording; new ones must be started \
                 with `{how}`"
            ));
        }
        change
    }

    /// Sets the nice value. `None`: the tasks have it, or it is out of range.
    pub fn renice(&self, nice: i32) -> Option<Change> {
        let was = self.nice?;
        if was == nice {
            return None;
        }
        let command = |nice: i32| format!("renice -n {nice} -p $({})", self.pids());
        let text = format!("renice {} {nice}", self.name);
        let change = self.change("nice value", text, command(nice), command(was));
        Some(self.or_start(change, &format!("nice -n {nice} COMMAND")))
    }

    /// Sets the policy: `other`, `batch` or `idle`.
    pub fn policy(&self, policy: &str) -> Option<Change> {
        if self.policy == policy {
            return None;
        }
        let command =
            |policy: &str| format!("{} | xargs -n 1 chrt --{policy} --pid 0", self.pids());
        let text = format!("chrt {} {policy}", self.name);
        let change = self.change("policy", text, command(policy), command(self.policy));
        Some(self.or_start(change, &format!("chrt --{policy} 0 COMMAND")))
    }

    /// Binds the tasks to these CPUs of a machine with `count`.
    pub fn bind(&self, cpus: &[u32], count: u32) -> Option<Change> {
        let all: Vec<u32> = (0..count).collect();
        let was = self.cpus.as_ref().unwrap_or(&all);
        if was == cpus {
            return None;
        }
        let command = |cpus: &[u32]| {
            format!("{} | xargs -n 1 taskset --cpu-list --pid {}", self.pids(), list(cpus))
        };
        let text = format!("taskset {} {}", self.name, list(cpus));
        let change = self.change("CPUs", text, command(cpus), command(was));
        Some(self.or_start(change, &format!("taskset --cpu-list {} COMMAND", list(cpus))))
    }

    /// Requests slices of this length, us.
    pub fn slice(&self, us: u64) -> Change {
        let policy = if self.policy == "batch" { "batch" } else { "other" };
        let command = |runtime: &str| {
            format!("{} | xargs -n 1 chrt --{policy}{runtime} --pid 0", self.pids())
        };
        let make = command(&format!(" --sched-runtime {}", us * 1000));
        let text = format!("slice {} {us}us", self.name);
        let mut change = self.change("slice", text, make, command(""));
        change
            .notes
            .push("needs a chrt that sets slices (util-linux 2.41), or sched_setattr(2)".into());
        change
    }
}

/// A group of the recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GroupFacts {
    /// Its path.
    pub path: String,
    /// Whether its settings have the names of version 1.
    pub is_v1: bool,
    /// Its weight, as `cpu.shares`.
    pub shares: u64,
    /// Its limit.
    pub quota: Quota,
    /// CPUs to which it is bound. `None`: its parent's.
    pub cpus: Option<Vec<u32>>,
    /// Names of its tasks, and of those below it.
    pub tasks: Vec<String>,
}

impl GroupFacts {
    /// Whether the kernel made the group for a session.
    pub fn is_session(&self) -> bool {
        self.path.starts_with(autogroup::PREFIX)
    }

    /// Returns the lines that write `value` to the file `name` of the group.
    fn write(&self, name: &str, value: &str) -> String {
        let root = match name.split_once('.') {
            Some((controller, _)) if self.is_v1 => format!("/sys/fs/cgroup/{controller}"),
            _ => "/sys/fs/cgroup".to_string(),
        };
        let path = quoted(&format!("{root}{}/{name}", self.path));
        format!("echo {} > {path}", quoted(value))
    }

    /// Returns the name of its unit, if systemd made the group.
    fn unit(&self) -> Option<&str> {
        let name = self.path.rsplit('/').next()?;
        let is_unit = [".service", ".scope", ".slice"].iter().any(|kind| name.ends_with(kind));
        (is_unit && !self.is_v1).then_some(name)
    }

    fn change(&self, what: &str, settings: &str, make: String, undo: String) -> Change {
        Change {
            text: format!("group {} {settings}", self.path),
            subject: format!("{what} of {}", self.path),
            tasks: self.tasks.clone(),
            make: vec![make],
            undo: vec![undo],
            notes: vec![],
        }
    }

    /// Multiplies the weight by `factor`. `None`: it has that weight.
    pub fn weight(&self, factor: f64) -> Option<Change> {
        let shares = ((self.shares as f64 * factor) as u64).clamp(2, 262_144);
        let weight = |shares: u64| (shares * 100 / 1024).clamp(1, 10_000);
        let (name, was, now) = match self.is_v1 {
            true => ("cpu.shares", self.shares, shares),
            false => ("cpu.weight", weight(self.shares), weight(shares)),
        };
        if was == now {
            return None;
        }
        let command = |value: u64| match self.unit() {
            Some(unit) => format!("systemctl set-property --runtime {unit} CPUWeight={value}"),
            None => self.write(name, &value.to_string()),
        };
        Some(self.change("weight", &format!("{name}={now}"), command(now), command(was)))
    }

    /// Lets the group use all CPUs of a machine with `count`. `None`: it may.
    pub fn free(&self, count: u32) -> Option<Change> {
        let all: Vec<u32> = (0..count).collect();
        let was = self.cpus.as_ref().filter(|was| **was != all)?;
        let command = |cpus: &[u32]| match self.unit() {
            Some(unit) => {
                format!("systemctl set-property --runtime {unit} AllowedCPUs={}", list(cpus))
            }
            None => self.write("cpuset.cpus", &list(cpus)),
        };
        let setting = format!("cpuset.cpus={}", list(&all));
        Some(self.change("CPUs", &setting, command(&all), command(was)))
    }

    /// Sets the nice value of a session.
    pub fn session_nice(&self, nice: i32) -> Option<Change> {
        let task = self.tasks.first()?;
        let was = i32::try_from(schedlab_workload::groups::weight::nice_of_shares(self.shares));
        let was = was.ok().filter(|was| *was != nice)?;
        let command = |nice: i32| {
            format!("echo {nice} > /proc/$(pgrep -x {} | head -n 1)/autogroup", quoted(task))
        };
        let setting = format!("cpu.weight.nice={nice}");
        Some(self.change("nice value of the session", &setting, command(nice), command(was)))
    }

    /// Sets the limit.
    pub fn limit(&self, limit: &Limit) -> Change {
        let of = |limit: &Limit| -> (String, String) {
            let quota = limit.quota_us.map_or("max".into(), |us| us.to_string());
            let (period, burst) = (limit.period_us, limit.burst_us);
            let has_burst = burst > 0 || self.quota.burst_us > 0;
            if self.is_v1 {
                let quota = limit.quota_us.map_or("-1".into(), |us| us.to_string());
                let mut settings = format!("cpu.cfs_period_us={period} cpu.cfs_quota_us={quota}");
                let mut lines = format!(
                    "{}; {}",
                    self.write("cpu.cfs_period_us", &period.to_string()),
                    self.write("cpu.cfs_quota_us", &quota)
                );
                if has_burst {
                    let _ = write!(settings, " cpu.cfs_burst_us={burst}");
                    let _ =
                        write!(lines, "; {}", self.write("cpu.cfs_burst_us", &burst.to_string()));
                }
                return (settings, lines);
            }
            let mut settings = format!("cpu.max={quota} {period}");
            let mut lines = match self.unit() {
                Some(unit) => {
                    let percent = limit
                        .quota_us
                        .map_or(String::new(), |us| format!("{}%", (us * 100).div_ceil(period)));
                    format!(
                        "systemctl set-property --runtime {unit} CPUQuota={percent} \
                         CPUQuotaPeriodSec={period}us"
                    )
                }
                None => self.write("cpu.max", &format!("{quota} {period}")),
            };
            if has_burst {
                let _ = write!(settings, " cpu.max.burst={burst}");
                let _ = write!(lines, "; {}", self.write("cpu.max.burst", &burst.to_string()));
            }
            (settings, lines)
        };
        let was = Limit {
            quota_us: self.quota.quota_us,
            period_us: self.quota.period_us,
            burst_us: self.quota.burst_us,
        };
        let (settings, make) = of(limit);
        let (_, undo) = of(&was);
        let mut change = self.change("limit", &settings, make, undo);
        if limit.quota_us.is_some() {
            let note = format!("{} CPUs; `schedlab limits` tries others", number(limit.cpus()));
            change.notes.push(note);
        }
        change
    }
}

/// Turns autogroup off.
pub(super) fn autogroup_off() -> Change {
    let command = |value: u32| vec![format!("sysctl kernel.sched_autogroup_enabled={value}")];
    Change {
        text: "autogroup off".into(),
        subject: "autogroup".into(),
        tasks: vec![],
        make: command(0),
        undo: command(1),
        notes: vec![],
    }
}

/// Sets a tunable of the scheduler.
pub(super) fn tunable(name: &str, was: i64, now: i64) -> Change {
    let command = |value: i64| match name.starts_with("sched_") {
        true => vec![format!("sysctl kernel.{name}={value}")],
        false => vec![format!("echo {value} > /sys/kernel/debug/sched/{name}")],
    };
    let notes = match name.starts_with("sched_") {
        true => vec!["from 5.13 on, a file in /sys/kernel/debug/sched".into()],
        false => vec!["needs debugfs; a reboot undoes it, too".into()],
    };
    Change {
        text: format!("set {name}={now}"),
        subject: name.into(),
        tasks: vec![],
        make: command(now),
        undo: command(was),
        notes,
    }
}

/// Boots another release.
pub(super) fn release(was: &str, now: &str) -> Change {
    let command = |name: &str| vec![format!("boot a kernel with {name}")];
    Change {
        text: format!("release {now}"),
        subject: "release".into(),
        tasks: vec![],
        make: command(now),
        undo: command(was),
        notes: vec![],
    }
}

/// Formats CPUs: `0-2,5`.
pub(super) fn list(cpus: &[u32]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < cpus.len() {
        let first = cpus[at];
        let mut last = first;
        while cpus.get(at + 1) == Some(&(last + 1)) {
            at += 1;
            last += 1;
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match last - first {
            0 => write!(text, "{comma}{first}"),
            _ => write!(text, "{comma}{first}-{last}"),
        };
        at += 1;
    }
    text
}

/// Quotes a word for a shell if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./:%+=".contains(sign);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hog() -> Tasks {
        let name = "hog (x)".into();
        Tasks { name, nice: Some(0), policy: "other", cpus: None, is_brief: false }
    }

    fn group(path: &str, is_v1: bool) -> GroupFacts {
        let quota =
            Quota { quota_us: Some(50_000), period_us: 100_000, burst_us: 0, phase_us: None };
        GroupFacts {
            path: path.into(),
            is_v1,
            shares: 1024,
            quota,
            cpus: Some(vec![1]),
            tasks: vec!["hog".into()],
        }
    }

    #[test]
    fn every_change_has_commands_that_make_and_undo_it() {
        let change = hog().renice(10).expect("another value");
        assert_eq!(change.text, "renice hog (x) 10");
        assert_eq!(change.make, [r"renice -n 10 -p $(pgrep -w -x 'hog \(x\)')"]);
        assert_eq!(change.undo, [r"renice -n 0 -p $(pgrep -w -x 'hog \(x\)')"]);
        assert_eq!(hog().renice(0), None);
        let brief = Tasks { is_brief: true, ..hog() };
        assert!(brief.policy("batch").expect("one").notes[0].contains("chrt --batch 0 COMMAND"));
        let change = hog().bind(&[1, 2, 3, 5], 6).expect("fewer CPUs");
        assert!(change.make[0].ends_with("taskset --cpu-list --pid 1-3,5"), "{change:?}");
        assert!(change.undo[0].ends_with("taskset --cpu-list --pid 0-5"), "{change:?}");
        assert!(hog().slice(100).make[0].contains("--sched-runtime 100000 --pid 0"));

        let change = group("/a/b", false).weight(4.0).expect("another weight");
        assert_eq!(change.text, "group /a/b cpu.weight=400");
        assert_eq!(change.make, ["echo 400 > /sys/fs/cgroup/a/b/cpu.weight"]);
        let unit = group("/system.slice/x.service", false);
        let more = Limit { quota_us: Some(75_000), period_us: 100_000, burst_us: 5_000 };
        let change = unit.limit(&more);
        assert_eq!(
            change.text,
            "group /system.slice/x.service cpu.max=75000 100000 cpu.max.burst=5000"
        );
        assert!(change.make[0].contains("x.service CPUQuota=75% CPUQuotaPeriodSec=100000us"));
        assert!(change.undo[0].contains("CPUQuota=50%"), "{change:?}");
        let change = group("/a", true).limit(&Limit { quota_us: None, ..more });
        assert!(change.text.contains("cpu.cfs_quota_us=-1"), "{change:?}");
        assert!(change.undo[0].contains("echo 50000 > /sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"));
        let change = group("/a", true).free(2).expect("it is bound");
        assert_eq!(change.text, "group /a cpuset.cpus=0-1");
        assert_eq!(change.undo, ["echo 1 > /sys/fs/cgroup/cpuset/a/cpuset.cpus"]);
        assert_eq!(GroupFacts { cpus: None, ..group("/a", true) }.free(2), None);
        assert_eq!(
            tunable("base_slice_ns", 3, 1).undo,
            ["echo 3 > /sys/kernel/debug/sched/base_slice_ns"]
        );
        assert_eq!(tunable("sched_latency_ns", 3, 1).make, ["sysctl kernel.sched_latency_ns=1"]);
    }

    #[test]
    fn changes_of_tunables_and_releases_are_options_of_a_replay() {
        let mut replay = Replay::new("t");
        for change in ["set base_slice_ns=700000", "release cfs@6.1", " renice hog 5"] {
            apply(change, &mut replay).expect("good");
        }
        assert_eq!(replay.set, [("base_slice_ns".into(), SetValues::Number(700_000))]);
        assert_eq!(replay.schedulers, ["cfs@6.1"]);
        assert_eq!(replay.changes, ["renice hog 5"]);
        assert!(apply("set base_slice_ns", &mut replay).is_err());
        assert!(apply("release", &mut replay).is_err());
    }
}
