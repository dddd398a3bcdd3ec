//! Which release comes nearest to one that is not here, and what is known to differ: facts, so that
//! nobody takes the one for the other unawares.

use alloc::vec::Vec;
use schedlab_core::{Entry, Release};

/// The release that comes nearest to one that is not here.
#[derive(Clone, Copy, Debug)]
pub struct Nearest {
    /// It.
    pub release: &'static Release,
    /// What is known to differ from what was asked for, or that nothing is known.
    pub differs: &'static str,
}

/// Of the releases `from` to `to` of a scheduler: which are they most like, and what is known.
struct Between {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    like: &'static str,
    differs: &'static str,
}

/// Of 7.2 and what follows 7.3.
const AFTER_6_18: &str = "7.3 here is derived from 6.18: it has HRTICK, and what else changed after \
                          6.18 is not described to us";

/// What is known of releases between those that are here. Where nothing stands here, nothing is.
const BETWEEN: &[Between] = &[
    Between {
        name: "eevdf",
        from: "6.7",
        to: "6.11",
        like: "6.6",
        differs: "delayed dequeue and custom slices came with 6.12 only; what else changed from \
                  6.7 to 6.11 is not described to us",
    },
    Between {
        name: "eevdf",
        from: "6.13",
        to: "6.17",
        like: "6.12",
        differs: "the base slice is 750,000 ns before scaling up to 6.14 and 700,000 ns since \
                  6.15 (6.12 here, a long-term release, has 700,000); when between 6.12 and 6.18 \
                  the protection of the running task changed is not described to us",
    },
    Between {
        name: "eevdf",
        from: "6.19",
        to: "7.1",
        like: "6.18",
        differs: "what changed after 6.18, but for HRTICK, on since 7.2, is not described to us",
    },
    Between { name: "eevdf", from: "7.2", to: "7.2", like: "7.3", differs: AFTER_6_18 },
    Between { name: "eevdf", from: "7.4", to: "99", like: "7.3", differs: AFTER_6_18 },
    Between {
        name: "cfs",
        from: "2.6.33",
        to: "3.1",
        like: "2.6.32",
        differs: "what changed in the fair class after 2.6.32 is not described to us; quotas came \
                  with 3.2",
    },
    Between {
        name: "cfs",
        from: "3.3",
        to: "4.9",
        like: "3.2",
        differs: "releases from 3.3 to 5.9 (3.10, 4.18, 5.4 among them) were not inspected; load \
                  tracking by task, which 5.10 has and 3.2 has not, came in between",
    },
    Between {
        name: "cfs",
        from: "4.10",
        to: "5.9",
        like: "5.10",
        differs: "releases from 3.3 to 5.9 (4.18, 5.4 among them) were not inspected",
    },
    Between {
        name: "cfs",
        from: "5.11",
        to: "6.0",
        like: "6.1",
        differs: "releases from 5.11 to 6.0 (5.15 among them) were not inspected; 5.10 has no idle \
                  groups, no bursts of quotas, and bounds the search for an idle sibling by SIS_PROP",
    },
    Between {
        name: "cfs",
        from: "6.2",
        to: "6.5",
        like: "6.1",
        differs: "what changed from 6.2 to 6.5 is not described to us",
    },
    Between {
        name: "o_1",
        from: "2.6.1",
        to: "2.6.15",
        like: "2.6.0",
        differs: "slices, interactive credit and balancing changed step by step until 2.6.22; when \
                  each did is not described to us",
    },
    Between {
        name: "o_1",
        from: "2.6.16",
        to: "2.6.21",
        like: "2.6.22",
        differs: "slices, interactive credit and balancing changed step by step since 2.6.0; when \
                  each did is not described to us",
    },
];

/// Schedulers that a kernel had and of which there are descriptions only.
const RECONSTRUCTED: [&str; 1] = ["rsdl"];

/// How it is known that a release decides as it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Its schedules agree with golden schedules of that kernel.
    Checked,
    /// Derived from a release that is checked, by what is known to differ.
    Derived,
    /// Put together from descriptions: no schedules of that kernel exist to compare with.
    Reconstructed,
    /// No kernel had it: its rules are its definition.
    Defined,
}

impl Standing {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Checked => "checked",
            Standing::Derived => "derived",
            Standing::Reconstructed => "reconstructed",
            Standing::Defined => "defined",
        }
    }

    /// Of a release.
    pub fn of(entry: &Entry, release: &Release) -> Standing {
        if !release.golden.is_empty() {
            Standing::Checked
        } else if entry.releases.iter().any(|other| !other.golden.is_empty()) {
            Standing::Derived
        } else if RECONSTRUCTED.contains(&entry.name.as_ref()) {
            Standing::Reconstructed
        } else {
            Standing::Defined
        }
    }
}

/// Said of releases that do not stand in [`BETWEEN`].
const UNKNOWN: &str = "what differs is not described to us";

/// A version as a number that grows with time, the kernels' minor releases one apart; none: it is
/// no number (`textbook`).
fn age(version: &str) -> Option<i64> {
    let plain = version.split(['-', ' ']).next()?;
    let numbers: Vec<i64> =
        plain.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<i64>>>()?;
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0).min(999);
    // Ten thousand to a minor release, so that what stands behind it counts little.
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

/// The release of `entry` that comes nearest to `version`, which is none of its own. None: it is no
/// number, or those of `entry` are none.
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
        assert_eq!(of("eevdf@6.8"), Some("6.6"));
        assert_eq!(of("eevdf@6.11.3"), Some("6.6"));
        assert_eq!(of("eevdf@6.14"), Some("6.12"));
        assert_eq!(of("eevdf@7.1"), Some("6.18"));
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
        let standing = |spec| {
            let (entry, release) = registry::find(spec).unwrap();
            Standing::of(entry, release).name()
        };
        assert_eq!(standing("cfs@2.6.32"), "checked");
        assert_eq!(standing("cfs@2.6.31"), "derived");
        assert_eq!(standing("rsdl"), "reconstructed");
        assert_eq!((standing("fcfs"), standing("cfs_interactive")), ("defined", "defined"));
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
