//! Several benchmarks at the same time on one machine: [`Mix`].
//!
//! Each member is one of [`ALL`](crate::ALL) with its own parameters, and with the settings of
//! `nice(1)`, `chrt(1)`, `taskset(1)` and `cgexec(1)`. A member begins at its start time. When a
//! member is over, all its tasks are ended and the other members continue. The mix is over when all
//! members are.
//!
//! The mix has the parameters of all its members, each named `MEMBER.PARAMETER`. A list for any of
//! them is a sweep, as usual.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{ALL_CPUS, BadValue, Parameter, Value, Values, cpus};
use crate::programs;
use crate::units;
use schedlab_core::{CpuId, CpuSet, GroupId, Policy, SchedAttr};
use schedlab_workload::programs::{Kernel, Part, PartId};
use std::borrow::Cow;

/// Maximum number of members.
pub const MEMBERS_MAX: usize = 100;

const START: &str = "start";
const NICE: &str = "nice";
const POLICY: &str = "policy";
const PRIORITY: &str = "rt-priority";
const SHARES: &str = "shares";
const AFFINITY: &str = "affinity";

/// Settings of a member.
pub const SETTINGS: &[Parameter] = &[
    Parameter::real(START, (0.0, 1e6), "0", "start time, s"),
    Parameter::real(NICE, (-20.0, 19.0), "0", "nice value of its tasks, unless they set their own"),
    Parameter::word(
        POLICY,
        &["other", "batch", "idle", "fifo", "rr"],
        "other",
        "policy of its tasks",
    ),
    Parameter::whole(PRIORITY, (1, 99), "1", "priority of its tasks, with fifo and rr"),
    Parameter::cpus(
        AFFINITY,
        "CPUs of its tasks, unless they choose their own, such as 0-3 or 0+2",
    ),
    Parameter::whole(SHARES, (0, 262_144), "0", "cpu.shares of its own task group; 0: no group"),
];

/// Names of [`SETTINGS`], in their order, for benchmarks that have a parameter of the same name.
const ASIDE: [&str; 6] =
    ["mix-start", "mix-nice", "mix-policy", "mix-rt-priority", "mix-affinity", "mix-shares"];

/// Returns a name for `setting`, one of [`SETTINGS`], that no benchmark uses.
///
/// # Panics
/// `setting` is none of them.
pub fn setting_aside(setting: &str) -> &'static str {
    let place = SETTINGS.iter().position(|other| other.name == setting);
    ASIDE[place.unwrap_or_else(|| panic!("{setting} is not a setting of members"))]
}

/// Returns the name of `setting` among the options of `benchmark`: `nice`, or `mix-nice` if the
/// benchmark itself has an option `nice`.
///
/// # Panics
/// As [`setting_aside`].
pub fn setting_name(benchmark: &dyn Benchmark, setting: &'static str) -> &'static str {
    match benchmark.parameters().iter().any(|parameter| parameter.name == setting) {
        true => setting_aside(setting),
        false => setting,
    }
}

/// Benchmark in a mix, as requested.
pub struct Member {
    /// Name. `None`: that of the benchmark.
    pub name: Option<String>,
    /// Benchmark.
    pub benchmark: &'static dyn Benchmark,
    /// Values for its parameters and for [`SETTINGS`], the latter under [`setting_name`].
    pub given: Vec<(&'static str, Vec<Value>)>,
}

/// Reason why members do not make a mix.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MixError {
    /// There are no members.
    #[error("the mix has no members; give at least one, such as \"hackbench 10\"")]
    Nothing,
    /// There are too many members.
    #[error("{0} members are more than {MEMBERS_MAX}")]
    TooMany(usize),
    /// Two members have the same name.
    #[error("two members are called {0}; give them different names, such as web=hackbench")]
    SameName(String),
    /// A name is ambiguous in the names of parameters.
    #[error("\"{0}\" is not a name for a member; use letters, digits, - and _")]
    BadName(String),
}

/// Member of a mix.
struct Mixed {
    name: String,
    benchmark: &'static dyn Benchmark,
    /// Parameters of the benchmark: its own names, and the names in the mix.
    parameters: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// Names of [`SETTINGS`] in the mix, in their order.
    settings: Vec<Cow<'static, str>>,
}

/// Mix of benchmarks, which is itself a benchmark.
pub struct Mix {
    members: Vec<Mixed>,
    parameters: Vec<Parameter>,
}

/// Values of a mix, by the names of its parameters.
pub type GivenValues = Vec<(Cow<'static, str>, Vec<Value>)>;

impl Mix {
    /// Combines `members`. Returns the mix, and the given values under the names of its parameters.
    ///
    /// # Errors
    /// [`MixError`].
    pub fn of(members: Vec<Member>) -> Result<(Mix, GivenValues), MixError> {
        if members.is_empty() {
            return Err(MixError::Nothing);
        }
        if members.len() > MEMBERS_MAX {
            return Err(MixError::TooMany(members.len()));
        }
        let names = names(&members)?;
        let (mut mixed, mut parameters, mut given) = (vec![], vec![], vec![]);
        for (member, name) in members.into_iter().zip(names) {
            let member = Mixed::new(name, &member, &mut parameters, &mut given);
            mixed.push(member);
        }
        Ok((Mix { members: mixed, parameters }, given))
    }
}

/// Returns the names of the members: by default `hackbench`, `hackbench-2`, ...
fn names(members: &[Member]) -> Result<Vec<String>, MixError> {
    let mut names: Vec<String> = members.iter().filter_map(|member| member.name.clone()).collect();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    for (number, name) in names.iter().enumerate() {
        if name.is_empty() || !name.chars().all(is_letter) {
            return Err(MixError::BadName(name.clone()));
        }
        if names[..number].contains(name) {
            return Err(MixError::SameName(name.clone()));
        }
    }
    let mut all = vec![];
    for member in members {
        let name = member.name.clone().unwrap_or_else(|| {
            let plain = member.benchmark.name();
            let numbered = (2..).map(|number| format!("{plain}-{number}"));
            let free = std::iter::once(plain.to_string())
                .chain(numbered)
                .find(|name| !names.contains(name));
            let free = free.unwrap_or_default();
            names.push(free.clone());
            free
        });
        all.push(name);
    }
    Ok(all)
}

impl Mixed {
    /// Creates a member, and adds its parameters and values to the mix.
    fn new(
        name: String,
        member: &Member,
        parameters: &mut Vec<Parameter>,
        given: &mut GivenValues,
    ) -> Mixed {
        let benchmark = member.benchmark;
        let mut add = |own: Cow<'static, str>, parameter: &Parameter| {
            let full: Cow<'static, str> = format!("{name}.{own}").into();
            let parameter = parameter.clone();
            let name = full.clone();
            parameters.push(Parameter { name, short: None, positional: false, ..parameter });
            (own, full)
        };
        let own: Vec<_> = benchmark
            .parameters()
            .iter()
            .map(|parameter| add(parameter.name.clone(), parameter))
            .collect();
        let settings: Vec<_> = SETTINGS
            .iter()
            .map(|setting| add(setting_name(benchmark, &setting.name).into(), setting))
            .collect();
        for (name, values) in &member.given {
            if let Some((_, full)) = own.iter().chain(&settings).find(|(own, _)| own == name) {
                given.push((full.clone(), values.clone()));
            }
        }
        let settings = settings.into_iter().map(|(_, full)| full).collect();
        Mixed { name, benchmark, parameters: own, settings }
    }

    /// Returns the values of the parameters of its benchmark.
    fn own(&self, values: &Values) -> Values {
        let mut own = Values::defaults(self.benchmark.parameters());
        for (name, full) in &self.parameters {
            own.set(name, values.get(full).clone());
        }
        own
    }

    /// Returns the name of a setting in the mix.
    fn setting(&self, name: &str) -> &str {
        let place = SETTINGS.iter().position(|setting| setting.name == name);
        &self.settings[place.expect("the name is one of the settings")]
    }

    fn attr(&self, values: &Values) -> Result<SchedAttr, BadValue> {
        let nice = programs::nice(values, self.setting(NICE))?;
        let priority = values.whole(self.setting(PRIORITY)) as u32;
        let policy = self.policy(values);
        Ok(match policy {
            Policy::Fifo | Policy::RoundRobin => {
                SchedAttr { nice, ..SchedAttr::realtime(policy, priority) }
            }
            _ => SchedAttr { policy, ..SchedAttr::nice(nice) },
        })
    }

    fn policy(&self, values: &Values) -> Policy {
        match values.word(self.setting(POLICY)) {
            "batch" => Policy::Batch,
            "idle" => Policy::Idle,
            "fifo" => Policy::Fifo,
            "rr" => Policy::RoundRobin,
            _ => Policy::Other,
        }
    }

    fn allowed(&self, values: &Values, cpus_of_machine: u32) -> Result<CpuSet, BadValue> {
        let name = self.setting(AFFINITY);
        let word = values.word(name);
        if word == ALL_CPUS {
            return Ok(CpuSet::All);
        }
        let cpus = cpus(word).unwrap_or_default();
        match cpus.iter().find(|&&cpu| cpu >= cpus_of_machine) {
            Some(cpu) => {
                let last = cpus_of_machine - 1;
                Err(BadValue::new(
                    name,
                    format!("there is no CPU {cpu}; the last one of this machine is {last}"),
                ))
            }
            None => Ok(CpuSet::from_cpus(cpus.into_iter().map(CpuId))),
        }
    }
}

impl Benchmark for Mix {
    fn name(&self) -> &'static str {
        "mix"
    }

    fn about(&self) -> &'static str {
        "several benchmarks at once on one machine"
    }

    fn described(&self) -> String {
        let member = |member: &Mixed| match member.benchmark.name() {
            name if name == member.name => name.to_string(),
            name => format!("{}={name}", member.name),
        };
        format!("mix of {}", self.members.iter().map(member).collect::<Vec<_>>().join(", "))
    }

    fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    fn policies(&self, values: &Values) -> Vec<Policy> {
        let mut policies = vec![];
        for member in &self.members {
            for policy in member
                .benchmark
                .policies(&member.own(values))
                .into_iter()
                .chain([member.policy(values)])
            {
                if !policies.contains(&policy) {
                    policies.push(policy);
                }
            }
        }
        policies
    }

    fn tasks(&self, values: &Values) -> u64 {
        let of = |member: &Mixed| member.benchmark.tasks(&member.own(values));
        self.members.iter().map(of).fold(0, u64::saturating_add)
    }

    fn binds(&self, values: &Values) -> bool {
        let bound = |member: &Mixed| {
            values.word(member.setting(AFFINITY)) != ALL_CPUS
                || member.benchmark.binds(&member.own(values))
        };
        self.members.iter().any(bound)
    }

    fn groups(&self, values: &Values) -> Vec<u64> {
        let shares = self.members.iter().map(|member| values.whole(member.setting(SHARES)));
        shares.filter(|&shares| shares > 0).collect()
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let mut running = vec![];
        let mut groups = 0;
        for member in &self.members {
            let has_group = values.whole(member.setting(SHARES)) > 0;
            groups += u32::from(has_group);
            let part = os.begin_part(Part {
                start_ns: (values.real(member.setting(START)) * 1e9).round() as u64,
                attr: member.attr(values)?,
                allowed: member.allowed(values, conditions.cpus)?,
                group: if has_group { GroupId(groups) } else { GroupId::ROOT },
                limit_ns: None,
            });
            let prepared = member.benchmark.prepare(&member.own(values), conditions, os);
            let prepared = prepared.map_err(|error| BadValue {
                parameter: format!("{}.{}", member.name, error.parameter),
                ..error
            })?;
            os.limit_part(prepared.limit_ns);
            running.push((member.name.clone(), part, prepared.finish));
        }
        let finish = move |end: &End<'_>| {
            let mut all = Findings::default();
            for (name, part, finish) in running {
                add(&mut all, &name, part, end, finish);
            }
            all
        };
        Ok(Prepared { limit_ns: None, finish: Box::new(finish) })
    }
}

/// Adds the findings of a member.
fn add(
    all: &mut Findings,
    name: &str,
    part: PartId,
    end: &End<'_>,
    finish: Box<dyn FnOnce(&End<'_>) -> Findings>,
) {
    let start_ns = end.os.part(part).start_ns;
    let seconds = |ns: u64| ns as f64 / 1e9;
    if start_ns >= end.now_ns {
        all.printed += &format!("[{name}] was due to begin at {} s\n\n", seconds(start_ns));
        return;
    }
    let limit_ns =
        end.os.part(part).limit_ns.map_or(u64::MAX, |limit_ns| start_ns.saturating_add(limit_ns));
    let over_ns = end.os.part_over_ns(part).unwrap_or(u64::MAX).min(limit_ns).min(end.now_ns);
    let end = End { now_ns: over_ns - start_ns, part, os: end.os, stats: end.stats };
    let findings = finish(&end);
    let (from_s, to_s) = (seconds(start_ns), seconds(over_ns));
    all.printed +=
        &format!("[{name}] {from_s:.3} s to {to_s:.3} s\n{}\n\n", findings.printed.trim_end());
    let named = |figure: Figure| Figure { name: format!("{name}: {}", figure.name), ..figure };
    all.figures.extend(findings.figures.into_iter().map(named));
    let cpu_ns: u64 = units::of_part(&end).map(|(_, stats)| stats.cpu_ns).sum();
    let there_was_ns = end.now_ns as f64 * end.stats.cpus().len() as f64;
    let share = 100.0 * cpu_ns as f64 / there_was_ns;
    all.figures.push(Figure::plain(format!("{name}: share of the CPUs"), "%", share));
    for mut table in findings.tables {
        table.name = format!("{name}: {}", table.name);
        all.tables.push(table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: Option<&str>, benchmark: &str, given: &[(&'static str, Value)]) -> Member {
        let given = given.iter().map(|(name, value)| (*name, vec![value.clone()])).collect();
        let benchmark = crate::find(benchmark).expect("the benchmark exists");
        Member { name: name.map(Into::into), benchmark, given }
    }

    #[test]
    fn members_that_nobody_names_are_numbered() {
        let names = |members: &[Member]| names(members).map_err(|error| error.to_string());
        let two = [member(None, "hackbench", &[]), member(None, "hackbench", &[])];
        assert_eq!(names(&two), Ok(vec!["hackbench".into(), "hackbench-2".into()]));
        let taken = [member(None, "editor", &[]), member(Some("editor"), "hackbench", &[])];
        assert_eq!(names(&taken), Ok(vec!["editor-2".into(), "editor".into()]));
        let same = [member(Some("a"), "editor", &[]), member(Some("a"), "editor", &[])];
        assert!(names(&same).is_err_and(|error| error.contains("two members are called a")));
        assert!(names(&[member(Some("a.b"), "editor", &[])]).is_err());
        assert_eq!(Mix::of(vec![]).err(), Some(MixError::Nothing));
    }

    #[test]
    fn parameters_are_those_of_the_members_and_settings_step_aside() {
        let editor =
            member(None, "editor", &[("nice", Value::Real(3.0)), ("mix-nice", Value::Real(5.0))]);
        let (mix, given) =
            Mix::of(vec![editor, member(None, "game", &[])]).expect("the mix is valid");
        assert_eq!(
            given,
            [
                ("editor.nice".into(), vec![Value::Real(3.0)]),
                ("editor.mix-nice".into(), vec![Value::Real(5.0)])
            ]
        );
        let mut values = Values::defaults(mix.parameters());
        for (name, set) in &given {
            values.set(name, set[0].clone());
        }
        assert_eq!(mix.members[0].own(&values).real("nice"), 3.0);
        assert_eq!(mix.members[0].attr(&values).map(|attr| attr.nice), Ok(5));
        assert_eq!(mix.members[1].attr(&values).map(|attr| attr.nice), Ok(0));
        assert!(mix.parameters().iter().any(|parameter| parameter.name == "game.hogs"));
    }

    #[test]
    fn no_benchmark_has_the_name_that_a_setting_steps_aside_to() {
        assert_eq!(SETTINGS.len(), ASIDE.len());
        for (setting, aside) in SETTINGS.iter().zip(ASIDE) {
            assert_eq!(aside, format!("mix-{}", setting.name));
            let has = |benchmark: &&dyn Benchmark| {
                benchmark.parameters().iter().any(|own| own.name == aside)
            };
            assert!(!crate::ALL.iter().any(has), "{aside}");
        }
    }

    #[test]
    fn affinities_are_cpus_and_ranges_of_them() {
        assert_eq!(cpus("0+2+4-6"), Some(vec![0, 2, 4, 5, 6]));
        let affinity = SETTINGS
            .iter()
            .find(|setting| setting.name == AFFINITY)
            .expect("affinity is a setting");
        assert_eq!(
            affinity.read("0-1,all"),
            Ok(vec![Value::Word("0-1".into()), Value::Word("all".into())])
        );
        for wrong in ["", "x", "3-1", "0+", "4096"] {
            let read = affinity.read(wrong);
            assert!(read.is_err_and(|error| error.message.contains("0+2+4-7")), "{wrong}");
        }
        let (mix, given) =
            Mix::of(vec![member(None, "editor", &[("affinity", Value::Word("1-2".into()))])])
                .expect("the mix is valid");
        let mut values = Values::defaults(mix.parameters());
        values.set(&given[0].0, given[0].1[0].clone());
        assert!(mix.binds(&values));
        assert_eq!(mix.members[0].allowed(&values, 3), Ok(CpuSet::from_cpus([CpuId(1), CpuId(2)])));
        let error = mix.members[0].allowed(&values, 2).expect_err("there are two CPUs").to_string();
        assert_eq!(
            error,
            "--editor.affinity: there is no CPU 2; the last one of this machine is 1"
        );
    }
}
