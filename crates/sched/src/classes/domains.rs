//! Scheduling domains: the CPUs that are balanced against each other, how often, and how eagerly.
//!
//! Each CPU has a list of domains, the smallest first. A domain is a **span** of CPUs, divided into
//! **groups**: the spans of the level below, or single CPUs at the lowest level. Balancing compares
//! groups of one domain. As seen by a CPU, the groups form a ring that starts at its own group and
//! goes round in CPU order.
//!
//! All CPUs of a span have the same domain, except for the state of each CPU's own balancing, which
//! the balancing class keeps.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use schedlab_core::cpu_set::cpu_list;
use schedlab_core::topology::{Level, LevelKind};
use schedlab_core::{CpuId, CpuSet, Topology};

/// Parameters that a release gives to the domains of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DomainParams {
    /// Shortest time between two balancing passes, ms.
    pub min_interval_ms: u32,
    /// Longest time between two balancing passes, ms.
    pub max_interval_ms: u32,
    /// Factor by which a busy CPU waits longer.
    pub busy_factor: u32,
    /// Load that the busiest group must have, as a percentage of the local group's (125: a quarter
    /// more).
    pub imbalance_pct: u32,
    /// Number of successive failed passes after which cache-hot tasks may be moved.
    pub cache_nice_tries: u32,
    /// Index of the decaying load that a busy CPU compares (0: the current load).
    pub busy_idx: u8,
    /// Index that an idle CPU compares.
    pub idle_idx: u8,
    /// Index that a CPU compares when it is about to go idle.
    pub newidle_idx: u8,
    /// Index that a wakeup compares.
    pub wake_idx: u8,
    /// Index that fork and exec compare.
    pub forkexec_idx: u8,
    /// Whether to balance when a CPU goes idle.
    pub balance_newidle: bool,
    /// Whether to select the idlest CPU at exec.
    pub balance_exec: bool,
    /// Whether to select the idlest CPU at fork.
    pub balance_fork: bool,
    /// Whether to search for the idlest CPU at a wakeup.
    pub balance_wake: bool,
    /// Whether a wakeup may pull the task to the waker's CPU.
    pub wake_affine: bool,
    /// Whether a wakeup on a busy CPU searches here for an idle one (2.6.22, 2.6.24).
    pub wake_idle: bool,
    /// Whether its CPUs are hardware threads that share a core's power.
    pub share_cpupower: bool,
    /// Whether each group of the level above should hold one task before any holds two.
    pub prefer_sibling: bool,
    /// Power of all hardware threads of a core together (1024: one CPU).
    pub smt_gain: u32,
}

impl DomainParams {
    /// Returns the parameters by the kernel's names.
    fn describe(&self, kind: LevelKind) -> String {
        let mut text = alloc::format!(
            "min_interval {} max_interval {} ms, busy_factor {}, imbalance_pct {}, \
             cache_nice_tries {}, busy_idx {} idle_idx {} newidle_idx {} wake_idx {} \
             forkexec_idx {}, flags",
            self.min_interval_ms,
            self.max_interval_ms,
            self.busy_factor,
            self.imbalance_pct,
            self.cache_nice_tries,
            self.busy_idx,
            self.idle_idx,
            self.newidle_idx,
            self.wake_idx,
            self.forkexec_idx,
        );
        let flags = [
            (self.balance_newidle, "BALANCE_NEWIDLE"),
            (self.balance_exec, "BALANCE_EXEC"),
            (self.balance_fork, "BALANCE_FORK"),
            (self.balance_wake, "BALANCE_WAKE"),
            (self.wake_affine, "WAKE_AFFINE"),
            (self.wake_idle, "WAKE_IDLE"),
            (self.share_cpupower, "SHARE_CPUPOWER"),
            (kind == LevelKind::MultiCore, "SHARE_PKG_RESOURCES"),
            (self.prefer_sibling, "PREFER_SIBLING"),
            (matches!(kind, LevelKind::Node | LevelKind::AllNodes), "SERIALIZE"),
        ];
        for (_, name) in flags.iter().filter(|(is_set, _)| *is_set) {
            text.push(' ');
            text.push_str(name);
        }
        if self.share_cpupower {
            let _ = write!(text, ", smt_gain {}", self.smt_gain);
        }
        text
    }

    /// Returns the flags as bits: first the flags that are meaningful between two or more groups,
    /// then those that are meaningful within a single group.
    fn flags(&self, kind: LevelKind) -> (u32, u32) {
        let bits = |flags: &[bool]| {
            let bit = |(place, &is_set): (usize, &bool)| u32::from(is_set) << place;
            flags.iter().enumerate().map(bit).sum()
        };
        let between = [
            self.balance_newidle,
            self.balance_exec,
            self.balance_fork,
            self.share_cpupower,
            kind == LevelKind::MultiCore,
        ];
        let within = [
            self.balance_wake,
            self.wake_affine,
            self.wake_idle,
            self.prefer_sibling,
            matches!(kind, LevelKind::Node | LevelKind::AllNodes),
        ];
        (bits(&between), bits(&within))
    }
}

/// Rule for dropping domains that have the same span as the one below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropping {
    /// Drop all of them.
    EqualSpans,
    /// Drop domains without a flag that the one below lacks (`sd_parent_degenerate`). In a domain
    /// of one group, flags that are meaningful only between groups are ignored.
    NoNewFlags {
        /// Whether, after each drop, the next domain up is kept unconditionally (2.6.22, 2.6.24).
        next_stays: bool,
    },
}

/// The domains of one level of the machine.
#[derive(Clone, Debug)]
pub struct DomainLevel {
    /// Kind of level.
    pub kind: LevelKind,
    /// Its parameters.
    pub params: DomainParams,
    /// For each CPU, the number of its span.
    span_of: Vec<u32>,
    /// For each CPU, the number of its group within its span.
    group_of: Vec<u32>,
    spans: Vec<Span>,
    /// The CPUs that each CPU reaches, from which the level was built.
    reach: Reach,
    /// The CPUs that each CPU reaches on the level below, which form the groups.
    below: Reach,
    /// Whether spans, or their groups, overlap.
    overlaps: bool,
}

/// The CPUs that each CPU reaches at a level.
#[derive(Clone, Debug)]
pub enum Reach {
    /// For each CPU, the number of its span: the level divides the machine.
    Divided(Vec<u32>),
    /// For each CPU, the number of the row that lists, in ascending order, the CPUs that it
    /// reaches. The rows of two CPUs may overlap.
    Overlapping(Vec<u32>, Vec<Vec<CpuId>>),
}

impl Reach {
    /// Returns the online CPUs that `cpu` reaches, ascending.
    fn of(&self, cpu: CpuId, is_online: impl Fn(CpuId) -> bool) -> Vec<CpuId> {
        match self {
            Reach::Divided(span_of) => {
                let own = span_of[cpu.index()];
                let all = (0..span_of.len() as u32).map(CpuId);
                all.filter(|&cpu| span_of[cpu.index()] == own && is_online(cpu)).collect()
            }
            Reach::Overlapping(row_of, rows) => {
                let row = &rows[row_of[cpu.index()] as usize];
                row.iter().copied().filter(|&cpu| is_online(cpu)).collect()
            }
        }
    }
}

/// The CPUs of a domain and their groups.
#[derive(Clone, Debug)]
pub struct Span {
    /// The CPUs, ascending.
    pub cpus: Vec<CpuId>,
    /// The groups in the order of their first CPUs. Their members are ascending.
    pub groups: Vec<Vec<CpuId>>,
    /// The CPUs as a set.
    pub set: CpuSet,
    /// Whether every group is a single CPU.
    pub single_cpu_groups: bool,
    /// For overlapping groups: the CPUs of each group that may balance for it.
    balancers: Vec<Vec<CpuId>>,
}

/// All domains of a machine.
#[derive(Clone, Debug)]
pub struct Domains {
    cpus: u32,
    levels: Vec<DomainLevel>,
    dropping: Dropping,
    /// By CPU: bit i is set if it has a domain at level i. (A span of one CPU, or one equal to that
    /// of a level below, is [dropped](Dropping).)
    present: Vec<u32>,
}

/// A level before its spans are known.
struct Described {
    kind: LevelKind,
    params: DomainParams,
    reach: Reach,
    /// The CPUs that each CPU reaches on the level below, or only itself.
    below: Reach,
}

impl Domains {
    /// Creates the domains of `topology` with a release's parameters.
    pub fn new(topology: &Topology, params: impl Fn(LevelKind) -> DomainParams) -> Domains {
        Domains::of_levels(topology.cpus(), topology.levels(), params)
    }

    /// Returns the domains of levels that a release has built from the topology in its own way.
    /// Smallest level first. Each span of a level lies within a span of the next.
    pub fn of_levels(
        cpus: u32,
        machine: &[Level],
        params: impl Fn(LevelKind) -> DomainParams,
    ) -> Domains {
        Domains::build(cpus, described(cpus, machine, params), Dropping::EqualSpans, |_| true)
    }

    /// Does the same as `of_levels`, but the flags decide which levels are dropped. Levels at which
    /// no CPU has a domain are left out.
    pub fn by_flags(
        cpus: u32,
        machine: &[Level],
        next_stays: bool,
        params: impl Fn(LevelKind) -> DomainParams,
    ) -> Domains {
        let dropping = Dropping::NoNewFlags { next_stays };
        let build = |levels| Domains::build(cpus, levels, dropping, |_| true);
        let all = build(described(cpus, machine, &params));
        let used = all.present.iter().fold(0, |used, present| used | present);
        let levels = described(cpus, machine, &params).into_iter().enumerate();
        let kept = levels.filter(|(number, _)| used >> number & 1 == 1);
        let fewer = build(kept.map(|(_, level)| level).collect());
        // Without the levels left out, a different domain may be the one that is kept after a drop.
        let counts = |domains: &Domains| -> Vec<u32> {
            domains.present.iter().map(|present| present.count_ones()).collect()
        };
        if counts(&all) == counts(&fewer) { fewer } else { all }
    }

    /// Returns the domains of levels that may overlap.
    pub fn of_reaches(cpus: u32, levels: Vec<(LevelKind, DomainParams, Reach)>) -> Domains {
        let mut below = Reach::Divided((0..cpus).collect());
        let levels = levels.into_iter().map(|(kind, params, reach)| {
            let below = core::mem::replace(&mut below, reach.clone());
            Described { kind, params, reach, below }
        });
        Domains::build(cpus, levels.collect(), Dropping::EqualSpans, |_| true)
    }

    /// Like `of_reaches`, but the flags decide which are dropped.
    pub fn of_reaches_by_flags(
        cpus: u32,
        levels: Vec<(LevelKind, DomainParams, Reach)>,
    ) -> Domains {
        let mut below = Reach::Divided((0..cpus).collect());
        let levels = levels.into_iter().map(|(kind, params, reach)| {
            let below = core::mem::replace(&mut below, reach.clone());
            Described { kind, params, reach, below }
        });
        let dropping = Dropping::NoNewFlags { next_stays: false };
        Domains::build(cpus, levels.collect(), dropping, |_| true)
    }

    /// Rebuilds the domains over the online CPUs after a CPU has gone offline or come back. Offline
    /// CPUs have none.
    pub fn rebuild(&mut self, is_online: impl Fn(CpuId) -> bool) {
        let levels = core::mem::take(&mut self.levels).into_iter();
        let levels = levels.map(Described::from).collect();
        *self = Domains::build(self.cpus, levels, self.dropping, is_online);
    }

    fn build(
        cpus: u32,
        described: Vec<Described>,
        dropping: Dropping,
        is_online: impl Fn(CpuId) -> bool,
    ) -> Domains {
        let levels: Vec<DomainLevel> =
            described.into_iter().map(|level| DomainLevel::new(level, &is_online)).collect();
        let present = (0..cpus).map(CpuId).map(|cpu| match dropping {
            _ if !is_online(cpu) => 0,
            Dropping::EqualSpans => growing_spans(&levels, cpu),
            Dropping::NoNewFlags { next_stays } => new_flags(&levels, cpu, next_stays),
        });
        let present = present.collect();
        Domains { cpus, levels, dropping, present }
    }

    /// Returns the number of CPUs.
    #[inline]
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Returns the number of levels, including those at which no CPU has a domain.
    #[inline]
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Returns a level by number.
    #[inline]
    pub fn level(&self, number: usize) -> &DomainLevel {
        &self.levels[number]
    }

    /// Returns the levels at which `cpu` has a domain, smallest first.
    #[inline]
    pub fn of(&self, cpu: CpuId) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let present = self.present[cpu.index()];
        (0..self.levels.len()).filter(move |level| present >> level & 1 == 1)
    }

    /// Whether `cpu` has no larger domain than that of `level`.
    #[inline]
    pub fn is_top(&self, cpu: CpuId, level: usize) -> bool {
        self.present[cpu.index()] >> level >> 1 == 0
    }

    /// Describes the domains: the release's parameters of each level, then each span at which any
    /// CPU has a domain, with its groups.
    pub fn describe(&self) -> String {
        self.describe_as(|level, _| {
            alloc::format!("{}: {}", level.kind.name(), level.params.describe(level.kind))
        })
    }

    /// Does the same as [`describe`](Domains::describe), with the release's own description of a
    /// level. `heading` receives the level and the first of its spans.
    pub fn describe_as(&self, heading: impl Fn(&DomainLevel, &Span) -> String) -> String {
        let mut text = String::new();
        for (number, level) in self.levels.iter().enumerate() {
            // Where spans overlap, the owner of a span is not just any of its members.
            let mut is_present = alloc::vec![false; level.spans.len()];
            for cpu in (0..self.cpus).map(CpuId) {
                is_present[level.span_of[cpu.index()] as usize] |=
                    self.of(cpu).any(|at| at == number);
            }
            let spans = level.spans.iter().zip(&is_present).filter(|(_, present)| **present);
            let mut spans = spans.map(|(span, _)| span).peekable();
            let Some(&first) = spans.peek() else {
                continue;
            };
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", heading(level, first));
            for span in spans {
                let _ = write!(text, "  {}:", cpu_list(&span.cpus));
                for (place, group) in span.groups.iter().enumerate() {
                    let separator = if place == 0 { "" } else { " |" };
                    let _ = write!(text, "{separator} {}", cpu_list(group));
                }
                text.push('\n');
            }
        }
        if text.is_empty() {
            text.push_str("no domains: nothing to balance\n");
        }
        text
    }

    /// Returns the level of the largest domain of `cpu` below `level`.
    #[inline]
    pub fn child(&self, cpu: CpuId, level: usize) -> Option<usize> {
        let below = self.present[cpu.index()] & ((1 << level) - 1);
        (below != 0).then(|| below.ilog2() as usize)
    }
}

impl Span {
    /// Returns the CPUs of the group with this number.
    #[inline]
    pub fn group(&self, number: usize) -> &[CpuId] {
        // Groups of single CPUs need no lookup.
        if self.single_cpu_groups { &self.cpus[number..=number] } else { &self.groups[number] }
    }

    /// Returns the CPUs of the group with this number that may balance for it: all of them, unless
    /// groups overlap. The first represents the group.
    #[inline]
    pub fn balancers(&self, number: usize) -> &[CpuId] {
        if self.balancers.is_empty() { self.group(number) } else { &self.balancers[number] }
    }
}

/// Returns the levels of a machine with the parameters that a release gives them. The groups of
/// each level are the spans of the one below, or single CPUs at the lowest.
fn described(
    cpus: u32,
    machine: &[Level],
    params: impl Fn(LevelKind) -> DomainParams,
) -> Vec<Described> {
    let mut below: Vec<u32> = (0..cpus).collect();
    let level = |level: &Level| Described {
        kind: level.kind,
        params: params(level.kind),
        reach: Reach::Divided(level.span_of.clone()),
        below: Reach::Divided(core::mem::replace(&mut below, level.span_of.clone())),
    };
    machine.iter().map(level).collect()
}

impl From<DomainLevel> for Described {
    fn from(level: DomainLevel) -> Described {
        let DomainLevel { kind, params, reach, below, .. } = level;
        Described { kind, params, reach, below }
    }
}

/// Returns, for [`Dropping::EqualSpans`], the levels with larger spans than all below, as bits.
fn growing_spans(levels: &[DomainLevel], cpu: CpuId) -> u32 {
    let (mut present, mut size_below) = (0, 1);
    for (number, level) in levels.iter().enumerate() {
        let size = level.span(cpu).cpus.len();
        if size > size_below {
            size_below = size;
            present |= 1 << number;
        }
    }
    present
}

/// Returns, for [`Dropping::NoNewFlags`], the levels at which `cpu` has a domain, as bits.
fn new_flags(levels: &[DomainLevel], cpu: CpuId, next_stays: bool) -> u32 {
    let Some(lowest) = levels.first() else {
        return 0;
    };
    let (mut present, mut below, mut next) = (1, 0, 1);
    while next < levels.len() {
        if levels[next].adds_nothing_to(&levels[below], cpu) {
            next += 1;
            if !next_stays || next == levels.len() {
                continue;
            }
        }
        present |= 1 << next;
        below = next;
        next += 1;
    }
    // At the bottom, a domain of one CPU is also dropped.
    if lowest.span(cpu).cpus.len() == 1 { present & !1 } else { present }
}

impl DomainLevel {
    /// `sd_parent_degenerate`: whether the domain of `cpu` is redundant above that of `below`.
    fn adds_nothing_to(&self, below: &DomainLevel, cpu: CpuId) -> bool {
        let (span, span_below) = (self.span(cpu), below.span(cpu));
        if span.cpus.len() == 1 {
            return true;
        }
        if span.cpus.len() != span_below.cpus.len() {
            return false;
        }
        let (between, within) = self.params.flags(self.kind);
        let (between_below, within_below) = below.params.flags(below.kind);
        let is_one_group = span.groups.len() == 1;
        (is_one_group || between & !between_below == 0) && within & !within_below == 0
    }

    fn new(described: Described, is_online: impl Fn(CpuId) -> bool) -> DomainLevel {
        let Described { kind, params, reach, below } = described;
        let (Reach::Divided(span_of), Reach::Divided(parts)) = (&reach, &below) else {
            return DomainLevel::overlapping(kind, params, reach, below, is_online);
        };
        let span_of = span_of.clone();
        let spans = span_of.iter().max().map_or(0, |&max| max + 1);
        let mut spans: Vec<Span> = (0..spans)
            .map(|_| Span {
                cpus: Vec::new(),
                groups: Vec::new(),
                set: CpuSet::All,
                single_cpu_groups: true,
                balancers: Vec::new(),
            })
            .collect();
        let mut group_of = alloc::vec![0; span_of.len()];
        // For each group of the machine, its number within its span.
        let mut numbers =
            alloc::vec![u32::MAX; parts.iter().max().map_or(0, |&max| max as usize + 1)];
        for (cpu, &span) in span_of.iter().enumerate() {
            if !is_online(CpuId(cpu as u32)) {
                continue;
            }
            let span = &mut spans[span as usize];
            let number = &mut numbers[parts[cpu] as usize];
            if *number == u32::MAX {
                *number = span.groups.len() as u32;
                span.groups.push(Vec::new());
            }
            let group = &mut span.groups[*number as usize];
            group.push(CpuId(cpu as u32));
            span.single_cpu_groups &= group.len() == 1;
            span.cpus.push(CpuId(cpu as u32));
            group_of[cpu] = *number;
        }
        for span in &mut spans {
            span.set = CpuSet::from_cpus(span.cpus.iter().copied());
        }
        let overlaps = false;
        DomainLevel { kind, params, span_of, group_of, spans, reach, below, overlaps }
    }

    /// Builds a level whose spans overlap, or whose groups do because the spans of the level below
    /// overlap. Each CPU walks around its span, starting at itself. Each CPU not covered so far
    /// contributes the CPUs that it reaches on the level below as a group. The CPU's own group is
    /// the first of each list.
    fn overlapping(
        kind: LevelKind,
        params: DomainParams,
        reach: Reach,
        below: Reach,
        is_online: impl Fn(CpuId) -> bool,
    ) -> DomainLevel {
        let (Reach::Divided(owners) | Reach::Overlapping(owners, _)) = &reach;
        let cpus = owners.len() as u32;
        let reached_below: Vec<Vec<CpuId>> =
            (0..cpus).map(|cpu| below.of(CpuId(cpu), &is_online)).collect();
        let mut span_of = alloc::vec![0; owners.len()];
        let mut spans: Vec<Span> = Vec::new();
        for cpu in (0..cpus).map(CpuId).filter(|&cpu| is_online(cpu)) {
            let reached = reach.of(cpu, &is_online);
            let (before, behind) = reached.split_at(reached.partition_point(|&other| other < cpu));
            let mut is_covered = alloc::vec![false; cpus as usize];
            let mut groups: Vec<Vec<CpuId>> = Vec::new();
            let mut balancers = Vec::new();
            for &other in behind.iter().chain(before) {
                if is_covered[other.index()] {
                    continue;
                }
                let group = &reached_below[other.index()];
                group.iter().for_each(|cpu| is_covered[cpu.index()] = true);
                let may = |cpu: &&CpuId| reached_below[cpu.index()] == *group;
                balancers.push(group.iter().filter(may).copied().collect());
                groups.push(group.clone());
            }
            // CPUs of a node have the same span and groups.
            let same = |span: &Span| span.cpus == reached && span.groups == groups;
            let number = spans.iter().position(same).unwrap_or(spans.len());
            span_of[cpu.index()] = number as u32;
            if number == spans.len() {
                let set = CpuSet::from_cpus(reached.iter().copied());
                let cpus = reached;
                spans.push(Span { cpus, groups, set, single_cpu_groups: false, balancers });
            }
        }
        let group_of = alloc::vec![0; owners.len()];
        DomainLevel { kind, params, span_of, group_of, spans, reach, below, overlaps: true }
    }

    /// Returns the span of `cpu` at this level.
    #[inline]
    pub fn span(&self, cpu: CpuId) -> &Span {
        &self.spans[self.span_of[cpu.index()] as usize]
    }

    /// Whether `b`, like `a` online, is in the domain of `a` at this level.
    #[inline]
    pub fn share(&self, a: CpuId, b: CpuId) -> bool {
        if self.overlaps {
            return self.span(a).set.contains(b);
        }
        self.span_of[a.index()] == self.span_of[b.index()]
    }

    /// Returns the number of the group of `cpu` within its span.
    #[inline]
    pub fn group_of(&self, cpu: CpuId) -> usize {
        self.group_of[cpu.index()] as usize
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Parameters for tests that examine only the structure of domains.
    pub(crate) const SOME: DomainParams = DomainParams {
        min_interval_ms: 1,
        max_interval_ms: 4,
        busy_factor: 64,
        imbalance_pct: 125,
        cache_nice_tries: 1,
        busy_idx: 2,
        idle_idx: 1,
        newidle_idx: 0,
        wake_idx: 0,
        forkexec_idx: 0,
        balance_newidle: true,
        balance_exec: true,
        balance_fork: true,
        balance_wake: false,
        wake_affine: true,
        wake_idle: false,
        share_cpupower: false,
        prefer_sibling: true,
        smt_gain: 1178,
    };

    #[test]
    fn one_cpu_has_no_domain_and_a_flat_machine_has_one() {
        let one = Domains::new(&Topology::flat(1), |_| SOME);
        assert_eq!(one.of(CpuId(0)).count(), 0);
        let four = Domains::new(&Topology::flat(4), |_| SOME);
        assert_eq!(four.of(CpuId(3)).collect::<Vec<_>>(), [0]);
        assert!(four.is_top(CpuId(3), 0));
        assert_eq!(four.child(CpuId(3), 0), None);
        let level = four.level(0);
        assert_eq!(level.span(CpuId(2)).groups.len(), 4);
        assert_eq!(level.group_of(CpuId(2)), 2);
    }

    #[test]
    fn groups_are_the_spans_below_and_levels_that_add_nothing_are_dropped() {
        let level = |kind, span_of: &[u32]| Level { kind, span_of: span_of.to_vec() };
        // Two packages of two cores of one thread each.
        let topology = Topology::with_levels(
            4,
            alloc::vec![
                level(LevelKind::Smt, &[0, 1, 2, 3]),
                level(LevelKind::MultiCore, &[0, 0, 1, 1]),
                level(LevelKind::Cpu, &[0, 0, 0, 0]),
                level(LevelKind::Node, &[0, 0, 0, 0]),
            ],
        );
        let domains = Domains::new(&topology, |_| SOME);
        assert_eq!(domains.of(CpuId(0)).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(domains.child(CpuId(0), 2), Some(1));
        let groups = &domains.level(2).span(CpuId(1)).groups;
        assert_eq!(groups[1], [CpuId(2), CpuId(3)]);
        assert!(domains.is_top(CpuId(0), 2) && !domains.is_top(CpuId(0), 1));
    }

    #[test]
    fn cpus_that_go_leave_no_gap_and_levels_that_become_empty_are_dropped() {
        let span = |span_of: &[u32]| span_of.to_vec();
        let topology = Topology::with_levels(
            4,
            alloc::vec![
                Level { kind: LevelKind::MultiCore, span_of: span(&[0, 0, 1, 1]) },
                Level { kind: LevelKind::Cpu, span_of: span(&[0, 0, 0, 0]) },
            ],
        );
        let mut domains = Domains::new(&topology, |_| SOME);
        domains.rebuild(|cpu| cpu.0 != 0);
        assert_eq!(domains.of(CpuId(0)).count(), 0, "offline");
        assert_eq!(domains.of(CpuId(1)).collect::<Vec<_>>(), [1], "alone in its package");
        assert_eq!(domains.of(CpuId(2)).collect::<Vec<_>>(), [0, 1]);
        let whole = domains.level(1).span(CpuId(3));
        assert_eq!(whole.groups, [alloc::vec![CpuId(1)], alloc::vec![CpuId(2), CpuId(3)]]);
        domains.rebuild(|_| true);
        assert_eq!(domains.of(CpuId(0)).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(domains.level(1).span(CpuId(3)).groups[0], [CpuId(0), CpuId(1)]);
    }

    #[test]
    fn domains_that_bring_a_flag_stay_though_they_span_nothing_new() {
        // A core of two threads in each of two packages.
        let level = |kind, span_of: &[u32]| Level { kind, span_of: span_of.to_vec() };
        let machine = [
            level(LevelKind::Smt, &[0, 0, 1, 1]),
            level(LevelKind::MultiCore, &[0, 0, 1, 1]),
            level(LevelKind::Cpu, &[0, 0, 0, 0]),
        ];
        let kinds = |prefer_sibling, next_stays| {
            let params = |kind| DomainParams {
                share_cpupower: kind == LevelKind::Smt,
                prefer_sibling: prefer_sibling && kind != LevelKind::Smt,
                ..SOME
            };
            let domains = Domains::by_flags(4, &machine, next_stays, params);
            domains.of(CpuId(0)).map(|level| domains.level(level).kind).collect::<Vec<_>>()
        };
        // 2.6.32: MC has PREFER_SIBLING, which SMT lacks. Its one group is the core.
        assert_eq!(kinds(true, false), [LevelKind::Smt, LevelKind::MultiCore, LevelKind::Cpu]);
        // 2.6.22 has no such flag.
        assert_eq!(kinds(false, true), [LevelKind::Smt, LevelKind::Cpu]);
    }

    #[test]
    fn of_two_superfluous_domains_in_a_row_2_6_22_keeps_the_second() {
        // A core of two threads in each of two nodes.
        let pair = [0, 0, 1, 1];
        let level = |kind, span_of: &[u32]| Level { kind, span_of: span_of.to_vec() };
        let machine = [
            level(LevelKind::Smt, &pair),
            level(LevelKind::MultiCore, &pair),
            level(LevelKind::Cpu, &pair),
            level(LevelKind::Node, &[0, 0, 0, 0]),
        ];
        let kinds = |next_stays| {
            let params = |_| DomainParams { prefer_sibling: false, ..SOME };
            let domains = Domains::by_flags(4, &machine, next_stays, params);
            domains.of(CpuId(0)).map(|level| domains.level(level).kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(true), [LevelKind::Smt, LevelKind::Cpu, LevelKind::Node]);
        assert_eq!(kinds(false), [LevelKind::Smt, LevelKind::Node]);
    }
}
