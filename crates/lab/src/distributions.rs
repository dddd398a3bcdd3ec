//! The kernels of distributions: series, HZ and preemption model of each, and what is not known.
//!
//! They are recollected, not read from the distributions' packages.

/// The preemption model of a kernel's build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Build {
    /// `PREEMPT_VOLUNTARY` alone: the kernel itself is not preemptible.
    Voluntary,
    /// `PREEMPT_DYNAMIC`: preemptible; the model is chosen at boot, usually voluntary, or lazy
    /// since 6.13.
    Dynamic,
    /// `PREEMPT`: preemptible.
    Full,
}

impl Build {
    /// Returns its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Build::Voluntary => "voluntary",
            Build::Dynamic => "dynamic",
            Build::Full => "full",
        }
    }

    /// Returns the value of the tunable `preempt`: whether the build is preemptible.
    pub(crate) const fn preempt(self) -> i64 {
        match self {
            Build::Voluntary => 1,
            Build::Dynamic | Build::Full => 2,
        }
    }
}

/// A kernel of a distribution.
#[derive(Clone, Copy, Debug)]
pub struct Distribution {
    /// Its name, as in `ubuntu 24.04`.
    pub name: &'static str,
    /// Other names that select it.
    pub also: &'static [&'static str],
    /// Series of its kernel, such as `6.8`.
    pub series: &'static str,
    /// Ticks a second.
    pub hz: u32,
    /// Preemption model of the build.
    pub build: Build,
    /// Known differences from the series, and what is not known.
    pub differs: &'static str,
}

/// No differences in the fair class are known.
const STABLE: &str = "no known differences from the stable series";

/// The distributions, the newest release of each first.
pub const DISTRIBUTIONS: &[Distribution] = &[
    distribution("ubuntu 26.04", &["resolute"], "7.0", 1000, Build::Dynamic, STABLE),
    distribution("ubuntu 25.10", &["questing"], "6.17", 1000, Build::Dynamic, STABLE),
    distribution("ubuntu 25.04", &["plucky"], "6.14", 1000, Build::Dynamic, STABLE),
    distribution("ubuntu 24.10", &["oracular"], "6.11", 1000, Build::Dynamic, STABLE),
    distribution("ubuntu 24.04", &["noble"], "6.8", 1000, Build::Dynamic, STABLE),
    distribution("ubuntu 22.04", &["jammy"], "5.15", 250, Build::Voluntary, STABLE),
    distribution("ubuntu 20.04", &["focal"], "5.4", 250, Build::Voluntary, STABLE),
    distribution("debian 13", &["trixie"], "6.12", 250, Build::Dynamic, STABLE),
    distribution("debian 12", &["bookworm"], "6.1", 250, Build::Dynamic, STABLE),
    distribution("debian 11", &["bullseye"], "5.10", 250, Build::Voluntary, STABLE),
    distribution("debian 10", &["buster"], "4.19", 250, Build::Voluntary, STABLE),
    distribution(
        "rhel 10",
        &["centos 10", "alma 10", "rocky 10"],
        "6.12",
        1000,
        Build::Dynamic,
        "Red Hat's backports are unknown",
    ),
    distribution(
        "rhel 9",
        &["centos 9", "alma 9", "rocky 9"],
        "5.14",
        1000,
        Build::Dynamic,
        "its 5.14 has most changes of later fair classes: it lies between 5.15 and 6.1, and was \
         not examined",
    ),
    distribution(
        "rhel 8",
        &["centos 8", "alma 8", "rocky 8"],
        "4.18.0-348.el8",
        1000,
        Build::Voluntary,
        "its 4.18 has about the fair class of 5.10; only 8.5 is known",
    ),
    distribution(
        "rhel 7",
        &["centos 7"],
        "3.10",
        1000,
        Build::Voluntary,
        "its 3.10 has much of 4.x, which is not modelled: take the result only as a hint",
    ),
    distribution("amazon 2023", &["al2023"], "6.1", 250, Build::Dynamic, STABLE),
    distribution("amazon 2", &["al2"], "4.14", 250, Build::Voluntary, STABLE),
    distribution("fedora 44", &["fedora"], "6.19", 1000, Build::Dynamic, STABLE),
    distribution(
        "arch",
        &["archlinux"],
        "6.19",
        1000,
        Build::Dynamic,
        "a rolling release: `-s host` selects the kernel of this machine",
    ),
    distribution(
        "android 16",
        &[],
        "6.12",
        250,
        Build::Full,
        "vendor hooks, which replace parts of the scheduler on most devices, are not modelled",
    ),
    distribution(
        "android 15",
        &[],
        "6.6",
        250,
        Build::Full,
        "vendor hooks, which replace parts of the scheduler on most devices, are not modelled",
    ),
    distribution(
        "android 14",
        &[],
        "6.1",
        250,
        Build::Full,
        "vendor hooks, which replace parts of the scheduler on most devices, are not modelled",
    ),
];

const fn distribution(
    name: &'static str,
    also: &'static [&'static str],
    series: &'static str,
    hz: u32,
    build: Build,
    differs: &'static str,
) -> Distribution {
    Distribution { name, also, series, hz, build, differs }
}

/// Returns the distribution that is called `name`, without regard to case, spaces and hyphens.
pub(crate) fn distribution_of(name: &str) -> Option<&'static Distribution> {
    let plain = |name: &str| name.to_lowercase().replace([' ', '-', '_'], "");
    let wanted = plain(name);
    DISTRIBUTIONS.iter().find(|distribution| {
        plain(distribution.name) == wanted
            || distribution.also.iter().any(|also| plain(also) == wanted)
    })
}

/// Returns the distribution whose kernels have releases such as `release`.
pub(crate) fn distribution_of_release(release: &str) -> Option<&'static Distribution> {
    let series = series_of(release);
    let by_name = |name: &str| DISTRIBUTIONS.iter().find(|it| it.name == name);
    let of = |maker: &str| {
        DISTRIBUTIONS.iter().find(|it| it.name.starts_with(maker) && Some(it.series) == series)
    };
    if release.contains(".el10") {
        by_name("rhel 10")
    } else if release.contains(".el9") {
        by_name("rhel 9")
    } else if release.contains(".el8") {
        by_name("rhel 8")
    } else if release.contains(".el7") {
        by_name("rhel 7")
    } else if release.contains(".amzn2023") {
        by_name("amazon 2023")
    } else if release.contains(".amzn2") {
        by_name("amazon 2")
    } else if release.contains("-generic") || release.contains("-lowlatency") {
        of("ubuntu")
    } else if release.contains("+deb") || release.ends_with("-amd64") || release.ends_with("-arm64")
    {
        of("debian")
    } else if release.contains(".fc") {
        of("fedora")
    } else if release.contains("-arch") {
        of("arch")
    } else if release.contains("-android") {
        of("android")
    } else {
        None
    }
}

/// Returns the series of the distribution whose kernels have releases such as `release`; `release`
/// itself if there is none.
pub fn series_of_release(release: &str) -> &str {
    distribution_of_release(release).map_or(release, |distribution| distribution.series)
}

/// Returns `6.8` of `6.8.0-45-generic`.
pub(crate) fn series_of(release: &str) -> Option<&str> {
    let second = release.match_indices('.').nth(1).map_or(release.len(), |(at, _)| at);
    let end = release[..second].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(second);
    (end > 0).then_some(&release[..end])
}
