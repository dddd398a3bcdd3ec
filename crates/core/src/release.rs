//! What a scheduler is called, in which releases there is it, what each of them can, and how one is
//! made: facts, which nobody has to build a scheduler to learn.

use crate::{Platform, Policy, Scheduler, Topology};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

/// What a scheduler is built for.
#[derive(Clone, Debug)]
pub struct BuildConfig {
    /// The machine's CPUs.
    pub topology: Topology,
    /// Ticks a second.
    pub hz: u32,
}

impl BuildConfig {
    /// A flat machine.
    pub fn flat(cpus: u32, hz: u32) -> BuildConfig {
        BuildConfig { topology: Topology::flat(cpus), hz }
    }

    /// The platform that goes with it.
    pub fn platform(&self) -> Platform {
        Platform::new(self.topology.cpus(), self.hz)
    }
}

/// Makes a scheduler of what was loaded.
pub type Loader = dyn Fn(&BuildConfig) -> Result<Box<dyn Scheduler>, String> + Send + Sync;

/// How a scheduler is made.
#[derive(Clone)]
pub enum Build {
    /// By a function of the program, which cannot fail.
    Ordinary(fn(&BuildConfig) -> Box<dyn Scheduler>),
    /// Of what was loaded while the program runs, a file say: it may be wrong on this machine.
    Loaded(Arc<Loader>),
}

impl fmt::Debug for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Build::Ordinary(_) => "Ordinary",
            Build::Loaded(_) => "Loaded",
        })
    }
}

/// One release of a scheduler.
#[derive(Clone, Debug)]
pub struct Release {
    /// What users write behind the `@`, e.g. `2.6.24`.
    pub version: &'static str,
    /// Other releases that decide alike and are accepted in its place.
    pub also: &'static [&'static str],
    /// What is particular about it, in a line.
    pub summary: &'static str,
    /// The names by which golden schedules know it: their `scheduler` and `kernel`. Empty where
    /// there are none.
    pub golden: &'static [(&'static str, &'static str)],
    /// Ticks a second of that time's usual build.
    pub hz_default: u32,
    /// Ticks a second that could be configured: smallest and largest.
    pub hz_range: (u32, u32),
    /// The largest machine it runs on, in CPUs.
    pub cpus_max: u32,
    /// The policies it knows.
    pub policies: &'static [Policy],
    /// What it can beyond that.
    pub can: Capabilities,
    /// The kernel that it was part of, or that it was a patch to, for what depends on that and not
    /// on the scheduler; none = the kernel whose number it bears ([`Release::kernel`]).
    pub kernel: Option<&'static str>,
    /// Makes one: see [`Release::build`].
    pub build: Build,
}

/// What a release can. Facts of it, to be read without building one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Tasks can be bound to CPUs. Where they cannot, they run wherever they get a CPU.
    pub affinity: bool,
    /// It has task groups.
    pub groups: bool,
    /// The CPU time of its groups can be limited.
    pub quotas: bool,
    /// A group as a whole can count as `SCHED_IDLE`.
    pub idle_groups: bool,
    /// It can make a group for each user by itself (`CONFIG_FAIR_USER_SCHED`, 2.6.24 to 2.6.32).
    pub user_groups: bool,
    /// Whether an idle CPU goes without ticks (`CONFIG_NO_HZ`), in its usual build for x86-64: the
    /// mainline since 2.6.24, and what was made for it. (i386 had it since 2.6.21, which no release
    /// here is built for where it would matter.) The textbooks' schedulers do nothing at a tick.
    pub nohz: bool,
    /// It is told how long bursts will be.
    pub clairvoyant: bool,
}

impl Capabilities {
    /// Affinity, and ticks on idle CPUs: what most releases before 2.6.24 can.
    pub const BASIC: Capabilities = Capabilities {
        affinity: true,
        groups: false,
        quotas: false,
        idle_groups: false,
        user_groups: false,
        nohz: false,
        clairvoyant: false,
    };
}

/// Where a scheduler comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// Linux, or a patch to it. Its releases are numbers.
    Linux,
    /// The textbooks.
    Textbook,
    /// A scheduler of one's own.
    Own,
}

/// A scheduler with its releases.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What users write, e.g. `o_1`.
    pub name: Cow<'static, str>,
    /// What it is called in full.
    pub title: Cow<'static, str>,
    /// The algorithm in a line.
    pub summary: Cow<'static, str>,
    /// Where it comes from.
    pub origin: Origin,
    /// Its releases; the first is the default. None of one that was loaded: whoever loaded it has
    /// them.
    pub releases: &'static [Release],
}

impl Release {
    /// Makes one.
    ///
    /// # Errors
    /// What was loaded cannot be had on such a machine: the file, and what is wrong with it.
    pub fn build(&self, config: &BuildConfig) -> Result<Box<dyn Scheduler>, String> {
        match &self.build {
            Build::Ordinary(build) => Ok(build(config)),
            Build::Loaded(build) => build(config),
        }
    }

    /// The kernel that it was part of, or that it was a patch to.
    pub fn kernel(&self) -> &'static str {
        self.kernel.unwrap_or(self.version)
    }

    /// Whether users may call it `version`: its own name, or that of a release that decides alike.
    pub fn is_called(&self, version: &str) -> bool {
        self.version == version || self.also.contains(&version)
    }
}

impl Entry {
    /// Whether `spec` (`o_n`, `o_n@2.4.20`) names this scheduler and, where it names a release,
    /// that of `release`.
    pub fn is_called(&self, release: &Release, spec: &str) -> bool {
        match spec.split_once('@') {
            None => spec == self.name,
            Some((name, version)) => name == self.name && release.is_called(version),
        }
    }
}
