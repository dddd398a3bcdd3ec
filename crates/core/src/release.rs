//! The name of a scheduler, its releases, the capabilities of each, and how one is built. These
//! facts are available without building a scheduler.

use crate::{Platform, Policy, Scheduler, Topology};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

/// Returns the numbers at the beginning of a kernel's release: 6, 18 and 15 of `6.18.15-arch1`.
pub fn numbers(release: &str) -> impl Iterator<Item = u32> + '_ {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    release[..end].split('.').map_while(|number| number.parse().ok())
}

/// The machine for which a scheduler is built.
#[derive(Clone, Debug)]
pub struct BuildConfig {
    /// The CPUs of the machine.
    pub topology: Topology,
    /// Ticks per second.
    pub hz: u32,
}

impl BuildConfig {
    /// Returns a flat machine.
    pub fn flat(cpus: u32, hz: u32) -> BuildConfig {
        BuildConfig { topology: Topology::flat(cpus), hz }
    }

    /// Returns a platform for a scheduler built from it.
    pub fn platform(&self) -> Platform {
        Platform::new(self.topology.cpus(), self.hz)
    }
}

/// Builds a scheduler from what was loaded.
pub type Loader = dyn Fn(&BuildConfig) -> Result<Box<dyn Scheduler>, String> + Send + Sync;

/// The way in which a scheduler is built.
#[derive(Clone)]
pub enum Build {
    /// By a function of the program, which cannot fail.
    Ordinary(fn(&BuildConfig) -> Box<dyn Scheduler>),
    /// From something loaded at run time, such as a file, which may be wrong for this machine.
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
    /// Version that users write after the `@`, e.g. `2.6.24`.
    pub version: &'static str,
    /// Other releases that decide alike and are accepted in its place.
    pub also: &'static [&'static str],
    /// Its distinguishing features, in one line.
    pub summary: &'static str,
    /// The names that golden schedules use for it: their `scheduler` and `kernel`. Empty if there
    /// are none.
    pub golden: &'static [(&'static str, &'static str)],
    /// Ticks per second of the usual build of its time.
    pub hz_default: u32,
    /// Smallest and largest number of ticks per second that could be configured.
    pub hz_range: (u32, u32),
    /// Number of CPUs of the largest machine that it supports.
    pub cpus_max: u32,
    /// The policies that it supports.
    pub policies: &'static [Policy],
    /// Its other capabilities.
    pub can: Capabilities,
    /// The kernel that it was part of, or that it patched, for properties of the kernel rather than
    /// of the scheduler. `None`: the kernel of the same version number ([`Release::kernel`]).
    pub kernel: Option<&'static str>,
    /// Builds one: see [`Release::build`].
    pub build: Build,
}

/// Capabilities of a release, known without building it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Whether tasks can be bound to CPUs. If not, they run on any CPU.
    pub affinity: bool,
    /// Whether it has task groups.
    pub groups: bool,
    /// Whether the CPU time of its groups can be limited.
    pub quotas: bool,
    /// Whether a group as a whole can count as `SCHED_IDLE`.
    pub idle_groups: bool,
    /// Whether it can make a group for each user by itself (`CONFIG_FAIR_USER_SCHED`, 2.6.24 to
    /// 2.6.32).
    pub user_groups: bool,
    /// Whether an idle CPU has no ticks (`CONFIG_NO_HZ`) in its usual build for x86-64: mainline
    /// since 2.6.24, and patches to those kernels. (i386 had it since 2.6.21, but no release here
    /// is built for i386 where that would matter.) Textbook schedulers do nothing at a tick.
    pub nohz: bool,
    /// Whether it learns the lengths of bursts in advance.
    pub clairvoyant: bool,
}

impl Capabilities {
    /// Affinity, and ticks on idle CPUs: the capabilities of most releases before 2.6.24.
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

/// Origin of a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// Linux, or a patch to it. Its releases are version numbers.
    Linux,
    /// The textbooks.
    Textbook,
    /// A scheduler of the user's own.
    Own,
}

/// A scheduler with its releases.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name that users write, e.g. `o_1`.
    pub name: Cow<'static, str>,
    /// Its full name.
    pub title: Cow<'static, str>,
    /// The algorithm in one line.
    pub summary: Cow<'static, str>,
    /// Its origin.
    pub origin: Origin,
    /// Its releases. The first is the default. Empty for a loaded scheduler, whose releases belong
    /// to the code that loaded it.
    pub releases: &'static [Release],
}

impl Release {
    /// Builds a scheduler of this release.
    ///
    /// # Errors
    /// If the loaded scheduler cannot be used on this machine. The message names the file and what
    /// is wrong.
    pub fn build(&self, config: &BuildConfig) -> Result<Box<dyn Scheduler>, String> {
        match &self.build {
            Build::Ordinary(build) => Ok(build(config)),
            Build::Loaded(build) => build(config),
        }
    }

    /// Returns the kernel that it was part of, or that it patched.
    pub fn kernel(&self) -> &'static str {
        self.kernel.unwrap_or(self.version)
    }

    /// Whether users may call it `version`: its own version, or that of a release that decides
    /// alike.
    pub fn is_called(&self, version: &str) -> bool {
        self.version == version || self.also.contains(&version)
    }
}

impl Entry {
    /// Whether `spec` (`o_n`, `o_n@2.4.20`) names this scheduler and, if it names a release,
    /// `release`.
    pub fn is_called(&self, release: &Release, spec: &str) -> bool {
        match spec.split_once('@') {
            None => spec == self.name,
            Some((name, version)) => name == self.name && release.is_called(version),
        }
    }
}
