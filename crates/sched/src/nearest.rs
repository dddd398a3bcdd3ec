//! The release that is nearest to one that is not implemented, and the known differences between
//! them, so that users do not mistake one for the other.

use alloc::vec::Vec;
use schedlab_core::{Entry, Release};

/// The implemented release that is nearest to a requested one.
#[derive(Clone, Copy, Debug)]
pub struct Nearest {
    /// The release.
    pub release: &'static Release,
    /// The known differences from the requested release, or a statement that none are known.
    pub differs: &'static str,
}

/// For the releases `from` to `to` of a scheduler: the release that they resemble most, and the
/// known differences.
struct Between {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    like: &'static str,
    differs: &'static str,
}

/// Known facts about releases between the implemented ones. A release without a row here is
/// unknown.
const BETWEEN: &[Between] = &[
    Between {
        name: "eevdf",
        from: "6.7",
        to: "6.7",
        like: "6.8",
        differs: "it was not examined: in 6.6 the tree is ordered by vruntime and wakeups compare \
                  policies where both tasks meet, in 6.8 by deadline and at once; which of the \
                  two 6.7 does is unknown",
    },
    Between {
        name: "eevdf",
        from: "6.9",
        to: "6.10",
        like: "6.8",
        differs: "they were not examined: up to 6.11 a change of a waiting group's weight is \
                  computed with the group on its queue, and wakeups compare the policies of \
                  tasks where both meet; which release brought each is unknown",
    },
    Between {
        name: "eevdf",
        from: "6.13",
        to: "6.13",
        like: "6.14",
        differs: "it was not examined: a change of weight places the entity again in 6.14, and \
                  balancing asks whether a task is eligible or delayed; whether 6.13 does is \
                  unknown",
    },
    Between {
        name: "eevdf",
        from: "6.15",
        to: "6.15",
        like: "6.14",
        differs: "the base slice is 700,000 ns before scaling since 6.15 (6.14: 750,000); which \
                  other changes between 6.14 and 6.18 it has is unknown",
    },
    Between {
        name: "eevdf",
        from: "6.16",
        to: "6.17",
        like: "6.18",
        differs: "they were not examined: protection up to a virtual time, a yield that forfeits \
                  the request, and groups without quota that leave task by task are in 6.18 and \
                  not in 6.14; which release brought each is unknown",
    },
    Between {
        name: "eevdf",
        from: "7.4",
        to: "99",
        like: "7.3",
        differs: "releases after 7.3 were not examined",
    },
    Between {
        name: "cfs",
        from: "2.6.33",
        to: "3.1",
        like: "2.6.32",
        differs: "no description of the changes in the fair class after 2.6.32 is available; \
                  quotas came with 3.2",
    },
    Between {
        name: "cfs",
        from: "3.3",
        to: "3.7",
        like: "3.2",
        differs: "they were not examined; load tracking per task, which 3.10 has, came with 3.8",
    },
    Between {
        name: "cfs",
        from: "3.8",
        to: "3.9",
        like: "3.10",
        differs: "they were not examined",
    },
    Between {
        name: "cfs",
        from: "3.11",
        to: "4.9",
        like: "3.10",
        differs: "they were not examined; the load tracking of 4.14 came in between",
    },
    Between {
        name: "cfs",
        from: "4.10",
        to: "4.13",
        like: "4.14",
        differs: "they were not examined",
    },
    Between {
        name: "cfs",
        from: "4.15",
        to: "4.17",
        like: "4.18",
        differs: "they were not examined; from memory: runnable weights came with 4.15 and \
                  estimated utilisation with 4.17",
    },
    Between {
        name: "cfs",
        from: "4.20",
        to: "5.2",
        like: "4.19",
        differs: "they were not examined; from memory: threads have full capacity since 5.1",
    },
    Between {
        name: "cfs",
        from: "5.3",
        to: "5.3",
        like: "5.4",
        differs: "it was not examined; from memory: searches for CPUs that run only SCHED_IDLE \
                  tasks came with 5.4",
    },
    Between {
        name: "cfs",
        from: "5.5",
        to: "5.9",
        like: "5.10",
        differs: "they were not examined; runnable load was tracked up to 5.6",
    },
    Between {
        name: "cfs",
        from: "5.11",
        to: "5.14",
        like: "5.15",
        differs: "they were not examined; bursts of quotas came with 5.14",
    },
    Between {
        name: "cfs",
        from: "5.16",
        to: "6.0",
        like: "6.1",
        differs: "they were not examined; in 5.15 the sums of load tracking follow the averages, \
                  and newly idle CPUs balance only if they idle for long",
    },
    Between {
        name: "cfs",
        from: "6.2",
        to: "6.5",
        like: "6.1",
        differs: "no description of the changes from 6.2 to 6.5 is available",
    },
    Between {
        name: "o_1",
        from: "2.6.1",
        to: "2.6.15",
        like: "2.6.0",
        differs: "slices, interactive credit and balancing changed step by step until 2.6.22; the \
                  release of each change is unknown",
    },
    Between {
        name: "o_1",
        from: "2.6.16",
        to: "2.6.21",
        like: "2.6.22",
        differs: "slices, interactive credit and balancing changed step by step since 2.6.0; the \
                  release of each change is unknown",
    },
];

/// Schedulers that a kernel had and of which only descriptions remain.
const RECONSTRUCTED: [&str; 1] = ["rsdl"];

/// How the decisions of a release were established.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provenance {
    /// Its schedules agree with golden schedules of that kernel.
    Checked,
    /// Derived from a checked release by the known differences.
    Derived,
    /// Reconstructed from descriptions: no schedules of that kernel exist for comparison.
    Reconstructed,
    /// No kernel had it: its rules are its definition.
    Defined,
}

impl Provenance {
    /// Its name in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Provenance::Checked => "checked",
            Provenance::Derived => "derived",
            Provenance::Reconstructed => "reconstructed",
            Provenance::Defined => "defined",
        }
    }

    /// The provenance of a release.
    pub fn of(entry: &Entry, release: &Release) -> Provenance {
        if !release.golden.is_empty() {
            Provenance::Checked
        } else if entry.releases.iter().any(|other| !other.golden.is_empty()) {
            Provenance::Derived
        } else if RECONSTRUCTED.contains(&entry.name.as_ref()) {
            Provenance::Reconstructed
        } else {
            Provenance::Defined
        }
    }
}

/// The differences of releases that are not listed in [`BETWEEN`].
const UNKNOWN: &str = "no description of the differences is available";

/// Converts a version to a number that grows with time, where minor releases of the kernel are one
/// step apart. `None`: the version is not a number (`textbook`).
fn age(version: &str) -> Option<i64> {
    let plain = version.split(['-', ' ']).next()?;
    let numbers: Vec<i64> =
        plain.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<i64>>>()?;
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0).min(999);
    // A minor release counts ten thousand, so that the parts after it count little.
    let (minor, rest) = match (at(0), at(1)) {
        (2, 6) => (at(2), at(3)),
        (3, minor) => (40 + minor, at(2)),
        (4, minor) => (60 + minor, at(2)),
        (5, minor) => (81 + minor, at(2)),
        (6, minor) => (101 + minor, at(2)),
        (major @ 7.., minor) => (121 + 20 * (major - 7) + minor, at(2)),
        (2, minor) => (minor * 100 + at(2) - 1000, at(3)),
        (major, minor) => (major * 1000 - 9000 + minor, at(2)),
    };
    Some(minor * 10_000 + rest)
}

/// The release of `entry` that is nearest to `version`, which `entry` does not have. `None`: the
/// version is not a number, or none of the versions of `entry` is.
pub fn nearest(entry: &'static Entry, version: &str) -> Option<Nearest> {
    let asked = age(version)?;
    let minor = |version: &str| age(version).map(|age| age.div_euclid(10_000));
    let asked_minor = asked.div_euclid(10_000);
    let within = |row: &&Between| {
        row.name == entry.name
            && minor(row.from).is_some_and(|from| from <= asked_minor)
            && minor(row.to).is_some_and(|to| asked_minor <= to)
    };
    let row = BETWEEN.iter().find(within);
    let named = |like: &str| entry.releases.iter().find(|release| release.is_called(like));
    if let Some(row) = row
        && let Some(release) = named(row.like)
    {
        return Some(Nearest { release, differs: row.differs });
    }
    let release = entry
        .releases
        .iter()
        .filter_map(|release| Some((age(release.version)?.abs_diff(asked), release)))
        .min_by_key(|(distance, release)| (*distance, age(release.version)))?
        .1;
    Some(Nearest { release, differs: row.map_or(UNKNOWN, |row| row.differs) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn of(spec: &str) -> Option<&'static str> {
        let (name, version) = spec.split_once('@').unwrap();
        let entry = registry::ALL.iter().find(|entry| entry.name == name).unwrap();
        nearest(entry, version).map(|nearest| nearest.release.version)
    }

    #[test]
    fn versions_grow() {
        let all = [
            "0.316",
            "1.0",
            "1.2.13",
            "2.2.1",
            "2.4.22",
            "2.6.0",
            "2.6.32",
            "2.6.32.60",
            "3.0",
            "3.2",
            "4.0",
            "4.20",
            "5.0",
            "5.10",
            "6.1",
            "6.12.117",
            "6.18",
            "7.0",
        ];
        for pair in all.windows(2) {
            assert!(age(pair[0]) < age(pair[1]), "{pair:?}");
        }
        assert_eq!(age("textbook"), None);
    }

    #[test]
    fn the_nearest_is_the_one_whose_rules_held() {
        assert_eq!(of("eevdf@6.7"), Some("6.8"));
        assert_eq!(of("eevdf@6.10.3"), Some("6.8"));
        assert_eq!(of("eevdf@6.13"), Some("6.14"));
        assert_eq!(of("eevdf@6.15"), Some("6.14"));
        assert_eq!(of("eevdf@6.17.2"), Some("6.18"));
        assert_eq!(of("eevdf@7.4"), Some("7.3"));
        assert_eq!(of("cfs@2.6.38"), Some("2.6.32"));
        assert_eq!(of("cfs@2.6.26"), Some("2.6.24"));
        assert_eq!(of("o_1@2.6.9"), Some("2.6.0"));
        assert_eq!(of("o_1@2.6.18"), Some("2.6.22"));
        assert_eq!(of("o_n@2.3.40"), Some("2.4.16"));
        assert_eq!(of("round_robin@1.1"), Some("1.0"));
        assert_eq!(of("fcfs@2.6"), None);
        assert_eq!(of("cfs@new"), None);
    }

    #[test]
    fn what_is_known_of_releases() {
        let provenance = |spec| {
            let (entry, release) = registry::find(spec).unwrap();
            Provenance::of(entry, release).name()
        };
        assert_eq!(provenance("cfs@2.6.32"), "checked");
        assert_eq!(provenance("cfs@2.6.31"), "derived");
        assert_eq!(provenance("rsdl"), "reconstructed");
        assert_eq!((provenance("fcfs"), provenance("cfs_interactive")), ("defined", "defined"));
    }

    #[test]
    fn what_stands_between_is_no_release_of_its_own() {
        for row in BETWEEN {
            let entry = registry::ALL.iter().find(|entry| entry.name == row.name).unwrap();
            for release in entry.releases {
                let at = age(release.version).unwrap();
                let inside = age(row.from).unwrap() <= at && at <= age(row.to).unwrap();
                assert!(!inside, "{}@{}", row.name, release.version);
            }
        }
    }
}
