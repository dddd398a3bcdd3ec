//! Results of a bisection as JSON.

use super::Examined;
use schedlab_core::Account;
use schedlab_lab::explain::{Parting, PartingSide, Step as RunStep, TimedStep};
use schedlab_space::bisect::{Bisect, Cause, Causes, Verdict, Way};
use serde_json::{Value, json};

/// Returns everything that was found.
pub fn document(name: &str, threshold: f64, bisect: &Bisect, examined: &[Examined]) -> Value {
    let steps = bisect.steps();
    let points = bisect.walk.points.iter().zip(&bisect.readings).enumerate();
    let points = points.map(|(place, (point, reading))| {
        let step = steps.iter().find(|step| step.to == place);
        let settings = point.set.iter().map(|setting| (setting.name(), json!(setting.value())));
        json!({
            "point": point.to_string(),
            "scheduler": point.choice.entry.name,
            "release": point.choice.release.version,
            "settings": settings.collect::<serde_json::Map<_, _>>(),
            "changed_setting": match &point.way {
                Way::Setting(name) => Some(name),
                Way::Start | Way::Release => None,
            },
            "value": reading.value,
            "min": reading.range.map(|range| range.0),
            "max": reading.range.map(|range| range.1),
            "error": reading.error,
            "change": step.map(|step| step.change()).filter(|change| change.is_finite()),
        })
    });
    let metric = &bisect.metric;
    json!({
        "schema": "schedlab-bisect/1",
        "workload": name,
        "metric": { "name": metric.name, "unit": metric.unit, "better": metric.better.name() },
        "threshold": threshold / 100.0,
        "points": points.collect::<Vec<_>>(),
        "steps": examined.iter().map(|one| step(bisect, one)).collect::<Vec<_>>(),
    })
}

fn step(bisect: &Bisect, examined: &Examined) -> Value {
    let Examined { step, causes, parting } = examined;
    let point = |place: usize| bisect.walk.points[place].to_string();
    let (verdict, cause) = match causes.verdict() {
        _ if let Way::Setting(name) = &bisect.walk.points[step.to].way => ("setting", Some(name)),
        _ if causes.all.is_empty() => ("not separable", None),
        Verdict::One(cause) => ("one", Some(&cause.name)),
        Verdict::Needed(cause) => ("needed", Some(&cause.name)),
        Verdict::Suffices(cause) => ("suffices", Some(&cause.name)),
        Verdict::Several => ("several", None),
        Verdict::NotSeparable => ("not separable", None),
    };
    let (parting, error) = match parting {
        Ok(parting) => (parting.as_ref().map(parted), None),
        Err(error) => (None, Some(error)),
    };
    json!({
        "from": point(step.from),
        "to": point(step.to),
        "change": Some(step.change()).filter(|change| change.is_finite()),
        "verdict": verdict,
        "cause": cause,
        "differences": causes.all.iter().map(|it| difference(causes, it)).collect::<Vec<_>>(),
        "together": causes.together,
        "parting": parting,
        "parting_error": error,
    })
}

fn difference(causes: &Causes, cause: &Cause) -> Value {
    let (alone, without) = causes.parts(cause);
    json!({
        "name": cause.name,
        "text": cause.text,
        "is_rule": cause.is_rule,
        "from": cause.values.0,
        "to": cause.values.1,
        "can_switch": cause.can_switch,
        "alone": cause.alone,
        "alone_part": alone,
        "without": cause.without,
        "without_part": without,
        "error": cause.error,
    })
}

fn parted(parting: &Parting) -> Value {
    json!({
        "at_ns": parting.at_ns,
        "cpu": parting.cpu.0,
        "same": parting.same,
        "sides": parting.sides.iter().map(side).collect::<Vec<_>>(),
    })
}

fn side(side: &PartingSide) -> Value {
    let rule = |rule| side.names.rule(rule).map(|doc| doc.name.as_ref());
    let timed = |timed: &TimedStep| match timed.step {
        RunStep::Runs { cpu, task } => json!({
            "at_ns": timed.at_ns, "kind": "runs", "cpu": cpu.0,
            "task": task.map(|task| side.names.task(task)), "rule": rule(timed.rule),
        }),
        RunStep::Placed { cpu, task } => json!({
            "at_ns": timed.at_ns, "kind": "placed", "cpu": cpu.0,
            "task": side.names.task(task), "rule": rule(timed.rule),
        }),
    };
    let account = |account: &Account| {
        let terms = account.evidence.terms.iter();
        let terms = terms.map(|term| (term.name.to_string(), json!(term.value)));
        json!({
            "question": account.question.name(),
            "cpu": account.cpu.0,
            "rule": rule(account.rule),
            "terms": terms.collect::<serde_json::Map<_, _>>(),
        })
    };
    json!({
        "step": side.step.as_ref().map(timed),
        "next": side.next.as_ref().map(timed),
        "before": side.before.map(|(task, since_ns)| json!({
            "task": side.names.task(task), "since_ns": since_ns,
        })),
        "decisions": side.accounts.iter().map(account).collect::<Vec<_>>(),
    })
}
