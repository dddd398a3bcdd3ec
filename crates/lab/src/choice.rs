//! A scheduler that is selected to run: [`Choice`], and the features it must have: [`Needs`].

use crate::error::Error;
use crate::scx_expects::Expects;
use crate::settings::{Setting, in_brackets};
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{BuildConfig, Entry, Policy, Release, Scheduler};
use schedlab_workload::groups::autogroup;
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A release of a scheduler, selected to run.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The scheduler.
    pub entry: Cow<'static, Entry>,
    /// The release.
    pub release: Cow<'static, Release>,
    /// The policy that it runs, if it was loaded from a file.
    pub(crate) policy: Option<Arc<dyn LoadedPolicy>>,
}

/// A policy that was loaded from a file.
pub(crate) trait LoadedPolicy: Any + fmt::Debug + Send + Sync {
    /// Returns the name of the scheduler that runs this policy: the `number`th of several with that
    /// name.
    fn scheduler_name(&self, number: usize) -> String;

    /// Returns the file, as the user named it.
    fn file(&self) -> &str;

    /// Items in the brackets behind the file that are not tunables, as written.
    fn fixed(&self) -> &[String];

    /// Assumptions about machine and workload.
    fn expects(&self) -> &Expects;

    /// Whether `other` is the same file with the same contents and the same fixed items.
    fn is_same(&self, other: &dyn LoadedPolicy) -> bool;
}

impl PartialEq for dyn LoadedPolicy {
    fn eq(&self, other: &dyn LoadedPolicy) -> bool {
        self.is_same(other)
    }
}

impl PartialEq for Choice {
    fn eq(&self, other: &Choice) -> bool {
        self.entry.name == other.entry.name
            && self.release.version == other.release.version
            && self.policy == other.policy
    }
}

impl Eq for Choice {}

impl fmt::Display for Choice {
    /// As users write it: `cfs@2.6.24`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{}@{}", self.entry.name, self.release.version);
        f.pad(&name)
    }
}

/// Features that a machine and a workload require of a scheduler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Number of CPUs.
    pub cpus: u32,
    /// Ticks a second. `None`: the value of the release's usual build.
    pub hz: Option<u32>,
    /// Policies that tasks have at any time.
    pub policies: Vec<Policy>,
    /// Whether there are task groups other than the root.
    pub groups: bool,
    /// Whether the kernel groups tasks by session.
    pub autogroups: bool,
    /// Whether groups have a limit on their CPU time.
    pub limits: bool,
    /// Affinity: whether tasks are bound to CPUs.
    pub affinity: bool,
}

/// A scheduler that a user selected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The scheduler and its release.
    pub choice: Choice,
    /// Whether the user named it, rather than a list that contains it.
    pub named: bool,
    /// Settings of this scheduler alone: `eevdf[DELAY_DEQUEUE=0]`, or `eevdf:DELAY_DEQUEUE=0`.
    pub set: Vec<Setting>,
    /// Whether it was named twice. It is run once all the same.
    pub again: bool,
}

impl fmt::Display for Chosen {
    /// Writes the choice as users write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.choice, in_brackets(&self.set))
    }
}

impl Choice {
    /// Returns a release of a scheduler that is built into the program.
    pub fn of(entry: &'static Entry, release: &'static Release) -> Choice {
        Choice { entry: Cow::Borrowed(entry), release: Cow::Borrowed(release), policy: None }
    }

    /// Returns a scheduler that was loaded at run time. `entry` lists no releases.
    pub fn loaded(entry: Entry, release: Release) -> Choice {
        Choice { entry: Cow::Owned(entry), release: Cow::Owned(release), policy: None }
    }

    /// Returns the reason why it cannot run with `needs`. `None`: it can.
    pub fn refuses(&self, needs: &Needs) -> Option<String> {
        let release = &self.release;
        let cpus_max = release.cpus_max.min(CPUS_MAX);
        if needs.cpus > cpus_max {
            return Some(match cpus_max {
                1 => "it has only one CPU".into(),
                _ => format!("it has at most {cpus_max} CPUs"),
            });
        }
        let (hz_min, hz_max) = release.hz_range;
        if let Some(hz) = needs.hz
            && !(hz_min..=hz_max).contains(&hz)
        {
            return Some(if hz_min == hz_max {
                format!("it always ticks {hz_min} times a second")
            } else {
                format!("it ticks {hz_min} to {hz_max} times a second")
            });
        }
        let unknown = |policy: &&Policy| !release.policies.contains(policy);
        if let Some(policy) = needs.policies.iter().find(unknown) {
            return Some(format!("it does not support {}", policy.name()));
        }
        if needs.groups && !release.can.groups {
            return Some("it has no task groups".into());
        }
        if needs.autogroups && autogroup::is_in(release.kernel()) == Some(false) {
            return Some("it has no autogroups: kernels have them since 2.6.38".into());
        }
        if needs.limits && !release.can.quotas {
            return Some("its groups cannot be limited: cfs@3.2 and eevdf have quotas".into());
        }
        if needs.affinity && !release.can.affinity {
            return Some("it has no CPU affinity".into());
        }
        None
    }

    /// Builds the scheduler.
    ///
    /// # Errors
    /// A policy from a file cannot run on such a machine. The message names the file and the fault.
    pub fn build(&self, config: &BuildConfig) -> Result<Box<dyn Scheduler>, Error> {
        self.release.build(config).map_err(Error::Plan)
    }

    /// Returns the configuration to build it for `needs`, which it does not refuse.
    pub fn build_config(&self, needs: &Needs) -> BuildConfig {
        BuildConfig::flat(needs.cpus, needs.hz.unwrap_or(self.release.hz_default))
    }
}
