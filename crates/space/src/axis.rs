//! Settings that vary between the runs of a space, and their values: [`Axis`].

use super::form::{AxisForm, Scale};
use super::value::{AxisValue, DEFAULT};
use schedlab_core::cpu_set::parse_cpu_list;
use schedlab_core::topology::CPUS_MAX;
use schedlab_lab::settings::Setting;

/// Maximum number of ticks a second.
const HZ_MAX: i64 = 10_000;

/// Maximum number of values on an axis. More values are a continuous range, which must be sampled.
const VALUES_MAX: u64 = 100_000;

/// Subject of an axis: the setting that varies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// `scheduler`: the scheduler of the run.
    Scheduler,
    /// `set.NAME`: a tunable.
    Tunable(String),
    /// `set.nice:KEY`, `set.shares:/G`, `set.weight:/G`, `set.quota:/G`.
    Setting(String),
    /// `cpus`: number of CPUs.
    Cpus,
    /// `machine`: a preset, `flat-N` or a file.
    Machine,
    /// `hz`: ticks a second.
    Hz,
    /// `cost.NAME`: the cost of an operation, ns.
    Cost(String),
    /// `seed`: the seed of everything random.
    Seed,
    /// `duration`: the time at which each run stops, s.
    Duration,
    /// `workload.PATH`: a value in the workload's file.
    Workload(String),
    /// `policy.KEY`: the policy of a task, `SCHED_BATCH`.
    Policy(String),
    /// `affinity.KEY`: the CPUs of a task, `0-3,6`.
    Affinity(String),
    /// `slice.KEY`: the slice that a task requests, us.
    Slice(String),
    /// `parameter.NAME`: a parameter of a benchmark.
    Parameter(String),
}

impl Subject {
    /// Parses a subject by name.
    ///
    /// # Errors
    /// There is no such subject.
    pub fn parse(name: &str) -> Result<Subject, String> {
        match name {
            "scheduler" => return Ok(Subject::Scheduler),
            "cpus" => return Ok(Subject::Cpus),
            "machine" => return Ok(Subject::Machine),
            "hz" => return Ok(Subject::Hz),
            "seed" => return Ok(Subject::Seed),
            "duration" => return Ok(Subject::Duration),
            _ => {}
        }
        let unknown = || {
            format!(
                "\"{name}\" cannot vary; the subjects are scheduler, cpus, machine, hz, \
                 seed, duration, set.NAME, cost.NAME, workload.PATH, policy.TASK, affinity.TASK, \
                 slice.TASK and parameter.NAME"
            )
        };
        let (kind, rest) = name.split_once('.').ok_or_else(unknown)?;
        if rest.is_empty() {
            return Err(format!("\"{name}\": a name is missing after the dot"));
        }
        let rest = rest.to_string();
        Ok(match kind {
            "set" if rest.contains(':') => Subject::Setting(rest),
            "set" => Subject::Tunable(rest),
            "cost" => Subject::Cost(rest),
            "workload" => Subject::Workload(rest),
            "policy" => Subject::Policy(rest),
            "affinity" => Subject::Affinity(rest),
            "slice" => Subject::Slice(rest),
            "parameter" => Subject::Parameter(rest),
            _ => return Err(unknown()),
        })
    }

    /// Whether it changes the machine or the load, so that a plan must be prepared again for each
    /// value.
    pub fn is_structural(&self) -> bool {
        !matches!(self, Subject::Tunable(_) | Subject::Seed)
    }

    /// Whether its values are whole numbers, however they are written.
    fn is_whole(&self) -> bool {
        matches!(
            self,
            Subject::Tunable(_) | Subject::Cpus | Subject::Hz | Subject::Seed | Subject::Slice(_)
        )
    }

    /// Checks `value` and converts it from text where necessary.
    fn read(&self, value: &AxisValue) -> Result<AxisValue, String> {
        if *value == AxisValue::Default || *value == AxisValue::Text(DEFAULT.into()) {
            return Ok(AxisValue::Default);
        }
        let whole = |what: &str, least: i64, most: i64| {
            let number = value.whole().filter(|it| (least..=most).contains(it));
            number.map(AxisValue::Whole).ok_or_else(|| {
                format!("{value} is not a {what}, which is a whole number from {least} to {most}")
            })
        };
        let text = |what: &str| match value {
            AxisValue::Text(text) if !text.is_empty() => Ok(value.clone()),
            _ => Err(format!("{value} is not a {what}, which is text in quotes")),
        };
        let number = |what: &str, least: f64, most: f64| {
            let found = value.as_f64().filter(|it| (least..=most).contains(it));
            found
                .map(|_| value.clone())
                .ok_or_else(|| format!("{value} is not a {what}, which is from {least} to {most}"))
        };
        match self {
            Subject::Scheduler => text("scheduler"),
            Subject::Tunable(name) | Subject::Setting(name) => {
                let written = match value.whole() {
                    Some(number) => number.to_string(),
                    None => value.to_string(),
                };
                let setting = Setting::read(name, &written)?;
                Ok(match setting.value().parse() {
                    Ok(number) => AxisValue::Whole(number),
                    Err(_) => AxisValue::Text(setting.value()),
                })
            }
            Subject::Cpus => whole("number of CPUs", 1, i64::from(CPUS_MAX)),
            Subject::Hz => whole("HZ", 1, HZ_MAX),
            Subject::Seed => whole("seed", 0, i64::MAX),
            Subject::Slice(_) => whole("slice in us", 1, 100_000),
            Subject::Duration => number("duration in seconds", 1e-9, 1e9),
            Subject::Cost(_) => number("cost in ns", 0.0, 1e12),
            Subject::Machine => text("machine"),
            Subject::Policy(_) => text("policy"),
            Subject::Affinity(_) => {
                let written = value.to_string();
                parse_cpu_list(&written)
                    .ok_or_else(|| format!("\"{written}\" is not a list such as 0-3,6"))?;
                Ok(AxisValue::Text(written))
            }
            Subject::Workload(_) | Subject::Parameter(_) => match value {
                AxisValue::Real(number) if !number.is_finite() => {
                    Err(format!("{value} is not a number that a workload can have"))
                }
                value => Ok(value.clone()),
            },
        }
    }
}

/// Values of an axis.
#[derive(Clone, PartialEq, Debug)]
pub enum Domain {
    /// These values.
    List(Vec<AxisValue>),
    /// All numbers from `from` to `to`, both included. Such a range can only be sampled.
    Between {
        /// The smallest number.
        from: f64,
        /// The largest number.
        to: f64,
        /// Whether equal ratios, rather than equal differences, are equally likely.
        log: bool,
        /// Whether the range contains only whole numbers.
        whole: bool,
    },
}

/// A setting that varies, and its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Name in the file, and name of the column of results.
    pub name: String,
    /// The setting that varies.
    pub subject: Subject,
    /// Its values.
    pub domain: Domain,
}

impl Axis {
    /// Reads an axis.
    ///
    /// # Errors
    /// Description of the fault, and of what would be right.
    pub(super) fn read(form: &AxisForm) -> Result<Axis, String> {
        let subject = Subject::parse(&form.name)?;
        let domain = domain(&subject, form)?;
        Ok(Axis { name: form.name.clone(), subject, domain })
    }

    /// Checks `value` and converts it for this axis.
    ///
    /// # Errors
    /// The axis cannot have this value.
    pub fn take(&self, value: &AxisValue) -> Result<AxisValue, String> {
        self.subject.read(value)
    }

    /// Returns the value at the fraction `part` of the axis, from 0 (included) to 1 (excluded).
    pub fn at(&self, part: f64) -> AxisValue {
        match &self.domain {
            Domain::List(values) => {
                let place = (part * values.len() as f64) as usize;
                values[place.min(values.len() - 1)].clone()
            }
            Domain::Between { from, to, log, whole } => {
                // Each whole number has the same probability, the two at the ends included.
                let (from, to) = if *whole && !log { (from - 0.5, to + 0.5) } else { (*from, *to) };
                let value = match log {
                    // `libm` gives the same result on every machine; the system library's `pow`
                    // need not.
                    true => from * libm::pow(to / from, part),
                    false => from + (to - from) * part,
                };
                match whole {
                    true => {
                        let (least, most) = self.ends().unwrap_or((value, value));
                        AxisValue::Whole(value.round().clamp(least, most) as i64)
                    }
                    false => AxisValue::Real(value),
                }
            }
        }
    }

    /// Returns the smallest and the largest number. `None`: some values are not numbers.
    pub fn ends(&self) -> Option<(f64, f64)> {
        match &self.domain {
            Domain::Between { from, to, .. } => Some((*from, *to)),
            Domain::List(values) => {
                let numbers: Option<Vec<f64>> = values.iter().map(AxisValue::as_f64).collect();
                numbers?.into_iter().fold(None, |ends, it| {
                    let (least, most) = ends.unwrap_or((it, it));
                    Some((it.min(least), it.max(most)))
                })
            }
        }
    }

    /// Returns representative values: all values of a list; the two ends and the centre of a range.
    pub fn typical(&self) -> Vec<AxisValue> {
        match &self.domain {
            Domain::List(values) => values.clone(),
            Domain::Between { from, to, whole, .. } => {
                let end = |value: f64| match whole {
                    true => AxisValue::Whole(value as i64),
                    false => AxisValue::Real(value),
                };
                vec![end(*from), end(*to), self.at(0.5)]
            }
        }
    }
}

fn domain(subject: &Subject, form: &AxisForm) -> Result<Domain, String> {
    let has_range = form.from.is_some() || form.to.is_some();
    match (&form.values, has_range) {
        (Some(_), true) => return Err("give values, or from and to, not both".into()),
        (None, false) => {
            return Err("there are no values: give values = [...], or from and to".into());
        }
        (Some(values), false) => {
            let extra = [
                ("steps", form.steps.is_some()),
                ("step", form.step.is_some()),
                ("scale", form.scale.is_some()),
                ("integer", form.integer.is_some()),
            ];
            if let Some((name, _)) = extra.iter().find(|(_, given)| *given) {
                return Err(format!("{name} belongs to a range, from and to; leave it out"));
            }
            return list(subject, values.clone());
        }
        (None, true) => {}
    }
    let end = |what: &str, value: &Option<AxisValue>| {
        let value = value.as_ref().ok_or_else(|| format!("{what} is missing"))?;
        let read = subject.read(value)?;
        read.as_f64()
            .filter(|number| number.is_finite())
            .ok_or_else(|| format!("{what}: {value} is not a number"))
    };
    let (from, to) = (end("from", &form.from)?, end("to", &form.to)?);
    if from >= to {
        return Err(format!("from is {from} and to {to}; from must be less"));
    }
    let log = form.scale == Some(Scale::Log);
    if log && from <= 0.0 {
        return Err(format!("from is {from}; on a logarithmic scale it must be more than 0"));
    }
    let written_whole = |value: &Option<AxisValue>| !matches!(value, Some(AxisValue::Real(_)));
    let whole = subject.is_whole()
        || form.integer.unwrap_or(written_whole(&form.from) && written_whole(&form.to));
    if subject.is_whole() && form.integer == Some(false) {
        return Err("integer = false: the values of this axis are always whole numbers".into());
    }
    let number = |value: f64| match whole {
        true => AxisValue::Whole(value.round() as i64),
        false => AxisValue::Real(value),
    };
    let many = |count: u64| match count {
        2..=VALUES_MAX => Ok(()),
        _ => Err(format!("there are {count} values; an axis has 2 to {VALUES_MAX}")),
    };
    match (form.steps, form.step) {
        (Some(_), Some(_)) => {
            Err("give steps (the number of values) or step (the distance between them), not both"
                .into())
        }
        (None, None) => Ok(Domain::Between { from, to, log, whole }),
        (Some(steps), None) => {
            many(steps)?;
            let at = |place: u64| {
                let part = place as f64 / (steps - 1) as f64;
                match (place, log) {
                    (0, _) => from,
                    (place, _) if place == steps - 1 => to,
                    (_, true) => from * libm::pow(to / from, part),
                    (_, false) => from + (to - from) * part,
                }
            };
            let mut values: Vec<AxisValue> = (0..steps).map(|place| number(at(place))).collect();
            values.dedup();
            list(subject, values)
        }
        (None, Some(step)) => {
            if log {
                return Err("step is a difference; on a logarithmic scale give steps".into());
            }
            if step.is_nan() || step <= 0.0 {
                return Err(format!("step is {step}; it must be more than 0"));
            }
            let count = ((to - from) / step + 1e-9).floor() + 1.0;
            many(count.min(1e18) as u64)?;
            let values = (0..count as u64).map(|place| number(from + step * place as f64));
            list(subject, values.collect())
        }
    }
}

fn list(subject: &Subject, values: Vec<AxisValue>) -> Result<Domain, String> {
    if values.is_empty() {
        return Err("there are no values".into());
    }
    let mut read: Vec<AxisValue> = vec![];
    for value in &values {
        let value = subject.read(value)?;
        if read.len() < 1_000 && read.contains(&value) {
            return Err(format!("{value} is given twice; give it once"));
        }
        read.push(value);
    }
    Ok(Domain::List(read))
}
