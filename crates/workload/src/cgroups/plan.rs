//! The groups of a run: writes to them, checked as in the kernel, and the resulting groups.
//!
//! Writes are carried out in the order written. Each is checked against the current state of the
//! group: a burst cannot exceed the quota, nor can a quota be below the burst, and an idle group
//! has no weight to set. The two rules of version 1 about parents and children are checked at the
//! end, so that parents need not come first.

use super::cpu_list::CpuList;
use super::parameter::QUOTA_MAX_US;
use super::settings::{GroupSettings, Note, Setting};
use super::text::Fault;
use super::write::{Version, Write};
use crate::diagnostic::Diagnostic;
use crate::group_path::{PathList, SHARES_DEFAULT};
use schedlab_core::{CpuSet, GroupId, Quota};
use std::collections::HashMap;
use std::fmt;

/// Period of a limit that sets none, us.
pub const PERIOD_DEFAULT_US: u64 = 100_000;

/// Weight of an idle group.
pub const SHARES_IDLE: u64 = 3;

/// A group that is to be created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Path, for example `/tg1/tg11`.
    pub path: String,
    /// Its parent, by index in [`GroupPlan::groups`]. `None`: the root.
    pub parent: Option<usize>,
    /// Weight as in the kernel: `cpu.shares`, 2 to 262144. 1024 by default, [`SHARES_IDLE`] if it
    /// is idle.
    pub shares: u64,
    /// Whether the group as a whole is SCHED_IDLE among its siblings.
    pub idle: bool,
    /// Its limit, checked: the quota is 1000 to 2^44 - 1 us, and the burst at most the quota.
    pub quota: Quota,
    /// CPUs that its tasks may use: its own CPUs that its parent also has, or the parent's CPUs if
    /// that leaves none. The set is not empty.
    pub cpuset: CpuSet,
    /// CPUs that were written to it. `None`: its parent's.
    pub own_cpus: Option<CpuSet>,
    /// Whether it or one of its ancestors is frozen.
    pub frozen: bool,
    /// Whether the group itself was frozen.
    pub own_frozen: bool,
    /// Settings that have no effect here.
    pub notes: Vec<Note>,
}

/// A property of groups, other than weight, that some schedulers lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// `cpu.idle`.
    Idle,
    /// A limit: `cpu.max`, `cpu.cfs_quota_us`.
    Limit,
}

/// Displays the consequence where the feature has no effect.
impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Feature::Idle => {
                "under a scheduler without idle groups it has weight 3 and is otherwise an ordinary group"
            }
            Feature::Limit => "the scheduler cannot limit groups",
        })
    }
}

impl Group {
    /// Whether its tasks may use only a part of a machine's `cpus` CPUs.
    pub fn binds(&self, cpus: u32) -> bool {
        self.cpuset.count(cpus) < cpus
    }

    /// Returns the features, other than weight, that it requires of a scheduler.
    pub fn features(&self) -> impl Iterator<Item = Feature> {
        [(Feature::Idle, self.idle), (Feature::Limit, self.quota.quota_us.is_some())]
            .into_iter()
            .filter_map(|(feature, needed)| needed.then_some(feature))
    }
}

/// The groups of a run, parents before children: first those that settings name, then those that
/// only tasks name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupPlan {
    groups: Vec<Group>,
    notes: Vec<Note>,
}

impl GroupPlan {
    /// Creates the groups that `settings` and tasks (`paths`, see
    /// [`Model::group_paths`](crate::Model::group_paths)) name, on a machine of `cpus` CPUs.
    ///
    /// # Errors
    /// The first setting that the kernel would refuse.
    pub fn new(
        settings: &GroupSettings,
        paths: &[String],
        cpus: u32,
    ) -> Result<GroupPlan, Diagnostic> {
        let mut list = PathList::default();
        let named = settings.entries.iter().map(|entry| &*entry.path);
        for path in named.chain(paths.iter().map(String::as_str)) {
            list.add(path);
        }
        let mut notes = settings.notes.clone();
        let mut drafts = drafts(&list);
        for (place, entry) in settings.entries.iter().enumerate() {
            let Some(setting) = &entry.setting else { continue };
            match list.place(&entry.path) {
                Some(at) => drafts[at]
                    .write(Written { place, setting }, cpus)
                    .map_err(|fault| setting.refused(&entry.path, fault))?,
                None => notes.extend(setting.note()),
            }
        }
        check_quotas(&drafts)?;
        check_cpus(&drafts)?;
        Ok(GroupPlan { groups: finish(drafts), notes })
    }

    /// Returns the groups, in the order in which they are to be created.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Sets the phases of the periods, in us, of all groups for which none was set, in the order of
    /// their creation.
    pub fn draw_phases(&mut self, mut draw: impl FnMut() -> u64) {
        for group in &mut self.groups {
            let drawn = draw();
            group.quota.phase_us.get_or_insert(drawn);
        }
    }

    /// Returns the notes on settings without effect: first those that concern no group, then the
    /// groups' own.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().chain(self.groups.iter().flat_map(|group| &group.notes))
    }

    /// Returns the features, other than weight, that groups require of a scheduler, each with the
    /// first group that does.
    pub fn features(&self) -> Vec<(Feature, &Group)> {
        let mut found: Vec<(Feature, &Group)> = Vec::new();
        for group in &self.groups {
            for feature in group.features() {
                if found.iter().all(|&(other, _)| other != feature) {
                    found.push((feature, group));
                }
            }
        }
        found
    }

    /// Returns the numbers of the groups `paths`. `ids` are the numbers of the groups in the plan.
    ///
    /// # Panics
    /// If a path is not in the plan.
    pub fn ids_of(&self, ids: &[GroupId], paths: &[String]) -> Vec<GroupId> {
        let index: HashMap<&str, GroupId> =
            self.groups.iter().zip(ids).map(|(group, &id)| (group.path.as_str(), id)).collect();
        paths.iter().map(|path| index[path.as_str()]).collect()
    }
}

/// A setting, and its position in the list of all settings.
#[derive(Clone, Copy, Debug)]
struct Written<'a> {
    place: usize,
    setting: &'a Setting,
}

/// A group that is being written to.
#[derive(Debug)]
struct Draft<'a> {
    group: Group,
    /// The quota in hundredths of the period, if it was last set so.
    percent: Option<u64>,
    /// Last setting of quota or period.
    limit_set: Option<Written<'a>>,
    /// Its own CPUs; empty: the parent's.
    cpus: CpuList,
    cpus_set: Option<Written<'a>>,
}

/// Returns the groups before any write.
fn drafts<'a>(list: &PathList) -> Vec<Draft<'a>> {
    let draft = |path: &String| Draft {
        group: Group {
            parent: path.rsplit_once('/').and_then(|(above, _)| list.place(above)),
            path: path.clone(),
            shares: SHARES_DEFAULT,
            idle: false,
            quota: Quota {
                quota_us: None,
                period_us: PERIOD_DEFAULT_US,
                burst_us: 0,
                phase_us: None,
            },
            cpuset: CpuSet::All,
            own_cpus: None,
            frozen: false,
            own_frozen: false,
            notes: Vec::new(),
        },
        percent: None,
        limit_set: None,
        cpus: CpuList::default(),
        cpus_set: None,
    };
    list.paths().iter().map(draft).collect()
}

impl<'a> Draft<'a> {
    fn write(&mut self, written: Written<'a>, cpus: u32) -> Result<(), Fault> {
        let setting = written.setting;
        self.group.write(&mut self.percent, &setting.name, &setting.write)?;
        match &setting.write {
            Write::Quota { .. } | Write::QuotaPercent(_) | Write::Period(_) => {
                self.limit_set = Some(written)
            }
            Write::Cpus(list) => {
                list.check_exist(cpus)?;
                self.cpus.clone_from(list);
                self.cpus_set = Some(written);
            }
            Write::Noted(_) => self.group.notes.extend(setting.note()),
            _ => {}
        }
        Ok(())
    }

    /// Whether its limit is subject to the rule of version 1.
    fn limited_by_v1(&self) -> bool {
        self.group.quota.quota_us.is_some() && is_v1(self.limit_set)
    }
}

/// State of a single group under writes.
impl Group {
    /// Carries out a write, as the kernel would in the group's current state. `percent` is the
    /// quota in hundredths of the period, if it was last set so.
    pub(crate) fn write(
        &mut self,
        percent: &mut Option<u64>,
        name: &str,
        write: &Write,
    ) -> Result<(), Fault> {
        match write {
            Write::Shares(_) if self.idle => {
                let message = format!("`{name}` cannot be set while the group is idle");
                return Err(Fault::new(message)
                    .with_help("remove one of the two, or write `cpu.idle=0` first"));
            }
            Write::Shares(shares) => self.shares = *shares,
            Write::Idle(idle) => set_idle(self, *idle),
            Write::Quota { quota_us, period_us } => {
                self.set_limit(*quota_us, period_us.unwrap_or(self.quota.period_us))?;
                *percent = None;
            }
            Write::QuotaPercent(new) => {
                self.set_limit(
                    Some(percent_of(*new, self.quota.period_us)?),
                    self.quota.period_us,
                )?;
                *percent = Some(*new);
            }
            Write::Period(period_us) => {
                let quota_us = match percent {
                    Some(percent) => Some(percent_of(*percent, *period_us)?),
                    None => self.quota.quota_us,
                };
                self.set_limit(quota_us, *period_us)?;
            }
            Write::Burst(burst_us) => {
                check_burst(self.quota.quota_us, *burst_us)?;
                self.quota.burst_us = *burst_us;
            }
            Write::Phase(phase_us) => self.quota.phase_us = Some(*phase_us),
            Write::Cpus(list) => self.own_cpus = (!list.is_empty()).then(|| list.to_set()),
            Write::Frozen(frozen) => self.own_frozen = *frozen,
            Write::Noted(_) | Write::Nothing => {}
        }
        Ok(())
    }

    fn set_limit(&mut self, quota_us: Option<u64>, period_us: u64) -> Result<(), Fault> {
        check_burst(quota_us, self.quota.burst_us)?;
        self.quota.quota_us = quota_us;
        self.quota.period_us = period_us;
        Ok(())
    }
}

fn is_v1(written: Option<Written<'_>>) -> bool {
    written.is_some_and(|written| written.setting.version == Some(Version::V1))
}

/// Sets whether a group is idle. An idle group loses its weight. When it is no longer idle, it gets
/// the default weight.
fn set_idle(group: &mut Group, idle: bool) {
    if group.idle != idle {
        group.idle = idle;
        group.shares = if idle { SHARES_IDLE } else { SHARES_DEFAULT };
    }
}

fn percent_of(percent: u64, period_us: u64) -> Result<u64, Fault> {
    match percent.saturating_mul(period_us) / 100 {
        0..1_000 => Err(Fault::new(format!(
            "{percent}% of a period of {period_us} us is less than the minimum quota, 1000 us"
        ))
        .with_help("a longer period gives a longer quota")),
        quota_us => Ok(quota_us),
    }
}

fn check_burst(quota_us: Option<u64>, burst_us: u64) -> Result<(), Fault> {
    match quota_us {
        Some(quota_us) if burst_us > quota_us => {
            Err(Fault::new(format!("a burst of {burst_us} us is more than the quota of {quota_us} us"))
                .with_help(
                    "the burst must be from 0 to the quota; the two are set in the order in which they are written",
                ))
        }
        Some(quota_us) if burst_us + quota_us > QUOTA_MAX_US => {
            Err(Fault::new(format!("quota and burst together must be at most {QUOTA_MAX_US} us")))
        }
        _ => Ok(()),
    }
}

/// Returns the error that two groups conflict, at the setting that was written later.
fn clash<'a>(
    pair: [&Draft<'a>; 2],
    of: fn(&Draft<'a>) -> Option<Written<'a>>,
    fault: Fault,
) -> Diagnostic {
    let last = pair
        .into_iter()
        .filter_map(|draft| of(draft).map(|written| (written, draft)))
        .max_by_key(|(written, _)| written.place);
    let (written, draft) = last.expect("one of two conflicting groups was set");
    written.setting.refused(&draft.group.path, fault)
}

/// Checks the rule of version 1 that the quota of a child, in proportion to its period, must not
/// exceed that of its nearest limited ancestor (and thus of any).
fn check_quotas(drafts: &[Draft<'_>]) -> Result<(), Diagnostic> {
    // 20 fractional bits, as in the kernel's comparison.
    let ratio = |group: &Group| {
        group.quota.quota_us.map_or(u64::MAX, |us| (us << 20) / group.quota.period_us)
    };
    let mut limiting: Vec<Option<usize>> = Vec::with_capacity(drafts.len());
    for (at, draft) in drafts.iter().enumerate() {
        let above = draft.group.parent.and_then(|parent| limiting[parent]);
        limiting.push(if draft.limited_by_v1() { Some(at) } else { above });
        let Some(parent) = above.filter(|_| draft.limited_by_v1()).map(|above| &drafts[above])
        else {
            continue;
        };
        if ratio(&draft.group) > ratio(&parent.group) {
            let limit = |group: &Group| {
                format!("{} us in {} us", group.quota.quota_us.unwrap_or(0), group.quota.period_us)
            };
            let fault = Fault::new(format!(
                "`{}` may not have more than `{}`, its ancestor: {} against {}",
                draft.group.path,
                parent.group.path,
                limit(&draft.group),
                limit(&parent.group)
            ));
            let fault = fault
                .with_help("version 2 allows that (`cpu.max`); the smaller limit still applies");
            return Err(clash([draft, parent], |draft| draft.limit_set, fault));
        }
    }
    Ok(())
}

/// Checks the rule of version 1 that a child's CPUs must be among its parent's, which has none
/// until they are set.
fn check_cpus(drafts: &[Draft<'_>]) -> Result<(), Diagnostic> {
    for draft in drafts {
        let Some(parent) = draft.group.parent.map(|parent| &drafts[parent]) else {
            continue;
        };
        let both_v1 =
            is_v1(draft.cpus_set) && (parent.cpus_set.is_none() || is_v1(parent.cpus_set));
        if !both_v1 || draft.cpus.intersection(&parent.cpus) == draft.cpus {
            continue;
        }
        let message = if parent.cpus.is_empty() {
            format!(
                "`{}` has no CPUs, so its child `{}` cannot have any",
                parent.group.path, draft.group.path
            )
        } else {
            format!(
                "`{}` has the CPUs {}, but its parent `{}` has only {}",
                draft.group.path, draft.cpus, parent.group.path, parent.cpus
            )
        };
        let fault = Fault::new(message).with_help(format!(
            "in version 1 `cpuset.cpus` of `{}` must contain the CPUs of all groups in it",
            parent.group.path
        ));
        return Err(clash([draft, parent], |draft| draft.cpus_set, fault));
    }
    Ok(())
}

/// Passes properties of groups on to their descendants.
fn finish(drafts: Vec<Draft<'_>>) -> Vec<Group> {
    // The effective lists of CPUs, each with its set. `None`: all.
    let mut effective: Vec<Option<usize>> = Vec::with_capacity(drafts.len());
    let mut lists: Vec<(CpuList, CpuSet)> = Vec::new();
    let mut groups: Vec<Group> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let Draft { mut group, cpus, .. } = draft;
        let above = group.parent.and_then(|parent| effective[parent]);
        let own = match above {
            Some(above) => cpus.intersection(&lists[above].0),
            None => cpus,
        };
        let here = if own.is_empty() {
            above
        } else {
            let set = own.to_set();
            lists.push((own, set));
            Some(lists.len() - 1)
        };
        effective.push(here);
        group.cpuset = here.map_or(CpuSet::All, |here| lists[here].1.clone());
        group.frozen = group.own_frozen || group.parent.is_some_and(|parent| groups[parent].frozen);
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::{by_user, parse, parse_option, user_group_path};
    use super::*;

    fn try_plan(text: &str) -> Result<GroupPlan, Diagnostic> {
        GroupPlan::new(&parse("g", text).unwrap(), &[], 8)
    }

    fn plan(text: &str) -> GroupPlan {
        try_plan(text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refused(text: &str) -> String {
        let error = try_plan(text).expect_err(text);
        format!("{}:{} {}", error.line(), error.column(), error.message())
    }

    fn cpus(group: &Group) -> Vec<u32> {
        group.cpuset.iter(8).map(|cpu| cpu.0).collect()
    }

    #[test]
    fn a_group_without_settings() {
        let plan = plan("/a");
        let group = &plan.groups()[0];
        assert_eq!((group.shares, group.idle, group.frozen), (1024, false, false));
        assert_eq!(
            (group.quota.quota_us, group.quota.period_us, group.quota.burst_us),
            (None, 100_000, 0)
        );
        assert_eq!(group.cpuset, CpuSet::All);
        assert_eq!(group.features().count(), 0);
        assert_eq!(plan.notes().count(), 0);
    }

    #[test]
    fn an_idle_group_has_no_weight_to_set() {
        let weight = |text: &str| (plan(text).groups()[0].shares, plan(text).groups()[0].idle);
        assert_eq!(weight("/a cpu.weight=200 cpu.idle=1"), (3, true));
        assert_eq!(weight("/a cpu.weight=200 cpu.idle=1 cpu.idle=0"), (1024, false));
        assert_eq!(weight("/a cpu.weight=200 cpu.idle=0"), (2048, false));
        assert_eq!(weight("/a cpu.idle=1 cpu.idle=0 cpu.weight.nice=5"), (335, false));
        for setting in ["cpu.shares=2", "cpu.weight=1", "cpu.weight.nice=19"] {
            let name = setting.split('=').next().unwrap();
            let expected = format!("1:15 `{name}` cannot be set while the group is idle");
            assert_eq!(refused(&format!("/a cpu.idle=1 {setting}")), expected);
        }
    }

    #[test]
    fn limits() {
        let limit = |text: &str| {
            let plan = plan(text);
            let group = &plan.groups()[0];
            (group.quota.quota_us, group.quota.period_us, group.quota.burst_us)
        };
        assert_eq!(limit("/a cpu.max=50000 200000 cpu.max=30000"), (Some(30_000), 200_000, 0));
        assert_eq!(limit("/a cpu.max=50000 cpu.max=max"), (None, 100_000, 0));
        assert_eq!(
            limit("/a cpu.cfs_quota_us=250000 cpu.cfs_burst_us=250000"),
            (Some(250_000), 100_000, 250_000)
        );
        assert_eq!(limit("/a cpu.max.burst=70000 cpu.max=70000"), (Some(70_000), 100_000, 70_000));
        assert_eq!(limit("/a CPUQuota=20%"), (Some(20_000), 100_000, 0));
        assert_eq!(limit("/a CPUQuota=150% CPUQuotaPeriodSec=10ms"), (Some(15_000), 10_000, 0));
        assert_eq!(limit("/a CPUQuotaPeriodSec=10ms CPUQuota=150%"), (Some(15_000), 10_000, 0));
        assert_eq!(
            limit("/a CPUQuota=50% cpu.max=7000 cpu.cfs_period_us=20000"),
            (Some(7_000), 20_000, 0)
        );
    }

    #[test]
    fn a_burst_is_at_most_the_quota() {
        assert_eq!(
            refused("/a cpu.cfs_quota_us=50000 cpu.cfs_burst_us=50001"),
            "1:27 a burst of 50001 us is more than the quota of 50000 us"
        );
        assert_eq!(
            refused("/a cpu.max.burst=60000\n/b\n/a cpu.max=50000"),
            "3:4 a burst of 60000 us is more than the quota of 50000 us"
        );
        assert_eq!(
            refused("/a cpu.max=17592186044415 cpu.max.burst=1"),
            "1:27 quota and burst together must be at most 17592186044415 us"
        );
        assert_eq!(
            refused("/a CPUQuotaPeriodSec=10ms CPUQuota=5%"),
            "1:27 5% of a period of 10000 us is less than the minimum quota, 1000 us"
        );
    }

    #[test]
    fn in_version_1_a_child_may_not_have_more() {
        let quota = |parent: &str, child: &str| {
            format!(
                "/a cpu.cfs_quota_us={parent}\n/a/b/c cpu.cfs_quota_us={child} cpu.cfs_period_us=100000"
            )
        };
        plan(&quota("50000", "50000"));
        plan(&quota("-1", "500000"));
        assert_eq!(
            refused(&quota("50000", "50001")),
            "2:31 `/a/b/c` may not have more than `/a`, its ancestor: 50001 us in 100000 us against 50000 us in 100000 us"
        );
        // The ratio counts, and the later of the two settings is refused.
        plan("/a cpu.cfs_quota_us=50000\n/a/b cpu.cfs_period_us=1000000 cpu.cfs_quota_us=500000");
        assert_eq!(
            refused("/a/b cpu.cfs_quota_us=60000\n/a cpu.cfs_quota_us=50000"),
            "2:4 `/a/b` may not have more than `/a`, its ancestor: 60000 us in 100000 us against 50000 us in 100000 us"
        );
    }

    #[test]
    fn in_version_2_a_child_may_have_more() {
        plan("/a cpu.max=50000\n/a/b cpu.max=60000");
        plan("/a cpu.max=50000\n/a/b cpu.cfs_quota_us=60000");
    }

    #[test]
    fn cpus_are_handed_down() {
        let text = "/a cpuset.cpus=0-3\n/a/b cpuset.cpus=2-5\n/a/b/c\n/a/d cpuset.cpus=6\n/e cpuset.cpus=1 cpuset.cpus=\n/f";
        let plan = plan(text);
        let lists: Vec<Vec<u32>> = plan.groups().iter().map(cpus).collect();
        let all: Vec<u32> = (0..8).collect();
        let four = vec![0, 1, 2, 3];
        assert_eq!(lists, [four.clone(), vec![2, 3], vec![2, 3], four, all.clone(), all]);
        assert_eq!(refused("/a cpuset.cpus=6-8"), "1:4 there is no CPU 8");
    }

    #[test]
    fn in_version_1_cpus_must_be_the_parents() {
        // The other name in them makes these files version 1's.
        plan("/a cpuset.cpus=0-3 cpu.shares=5\n/a/b cpuset.cpus=1,3");
        plan("/a/b cpu.shares=5 cpuset.cpus=");
        assert_eq!(
            refused("/a cpuset.cpus=0-3\n/a/b cpuset.cpus=2-5 freezer.state=THAWED"),
            "2:6 `/a/b` has the CPUs 2-5, but its parent `/a` has only 0-3"
        );
        assert_eq!(
            refused("/a/b cpuset.cpus=2 cpu.shares=100"),
            "1:6 `/a` has no CPUs, so its child `/a/b` cannot have any"
        );
        plan("/a/b cpuset.cpus=2 cpu.weight=100");
    }

    #[test]
    fn what_is_stopped_stops_what_is_in_it() {
        let frozen: Vec<bool> = plan(
            "/a cgroup.freeze=1\n/a/b freezer.state=THAWED\n/c freezer.state=FROZEN freezer.state=THAWED",
        )
        .groups()
        .iter()
        .map(|group| group.frozen)
        .collect();
        assert_eq!(frozen, [true, true, false]);
    }

    #[test]
    fn notes_tell_what_has_no_effect() {
        let plan = plan(
            "/a cpu.weight=5\n/a cpu.uclamp.min=20 memory.max=1G cpuset.cpus.partition=member",
        );
        let notes: Vec<String> = plan.notes().map(Note::to_string).collect();
        assert_eq!(
            notes,
            [
                "g:2: `cpu.uclamp.min` has no effect: utilisation clamps are not simulated",
                "g:2: `memory.max` has no effect: its controller is not simulated",
            ]
        );
        assert_eq!(plan.groups()[0].notes.len(), 2);
    }

    #[test]
    fn features_beyond_weight() {
        let plan = plan("/a cpu.idle=1 cpu.max=5000 cpuset.cpus=1 cgroup.freeze=1\n/a/b");
        let features: Vec<Vec<Feature>> =
            plan.groups().iter().map(|group| group.features().collect()).collect();
        assert_eq!(features, [vec![Feature::Idle, Feature::Limit], vec![]]);
        let first: Vec<&str> =
            plan.features().iter().map(|(_, group)| group.path.as_str()).collect();
        assert_eq!(first, ["/a"; 2]);
    }

    #[test]
    fn a_group_for_each_user() {
        let mut settings = by_user([1000, 0, 1001, 1000]);
        settings.add(parse_option("/uid-1001:cpu.shares=512").unwrap());
        let plan = GroupPlan::new(&settings, &[user_group_path(7)], 1).unwrap();
        let rows: Vec<(&str, u64)> =
            plan.groups().iter().map(|group| (group.path.as_str(), group.shares)).collect();
        assert_eq!(
            rows,
            [("/uid-1000", 1024), ("/uid-0", 2048), ("/uid-1001", 512), ("/uid-7", 1024)]
        );
        assert!(plan.groups().iter().all(|group| group.parent.is_none()));
    }
}
