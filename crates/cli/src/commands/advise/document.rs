//! Advice for programs.

use schedlab_lab::replay::ReplayReport;
use schedlab_replay::score::Band;
use schedlab_space::advise::{Advice, Effect, Score, Suggestion};
use serde_json::{Value, json};

/// Returns advice as JSON.
pub fn advice(advice: &Advice) -> Value {
    let (measure, recorded, replayed) = &advice.objective;
    json!({
        "schema": "schedlab-advice/1",
        "recording": trust(&advice.report),
        "objective": {
            "figure": measure.to_string(),
            "is_max": advice.is_max,
            "recorded": recorded,
            "replayed": band(replayed),
        },
        "conditions": advice.conditions,
        "tried": advice.tried,
        "runs": advice.runs,
        "suggestions": advice.suggestions.iter().map(suggestion).collect::<Vec<_>>(),
        "nearest": advice.nearest.as_ref().map(suggestion),
        "notes": advice.notes,
    })
}

/// Returns a score as JSON.
pub fn score(score: &Score) -> Value {
    let figures = score.figures.iter().map(|one| {
        json!({
            "effect": effect(&one.effect),
            "after": one.after,
            "real_change": one.real,
            "direction_right": one.is_direction_right(),
            "in_band": one.is_in_band(),
            "grade": one.grade,
        })
    });
    json!({
        "schema": "schedlab-advice-score/1",
        "recording": trust(&score.report),
        "changes": score.changes,
        "figures": figures.collect::<Vec<_>>(),
        "notes": score.notes,
    })
}

fn trust(report: &ReplayReport) -> Value {
    json!({
        "name": report.name,
        "grade": report.grade,
        "e_end": report.e_end,
        "e_wait": report.e_wait,
        "messages": report.messages,
    })
}

fn suggestion(suggestion: &Suggestion) -> Value {
    let changes = suggestion.changes.iter().map(|change| {
        json!({
            "change": change.text,
            "make": change.make,
            "undo": change.undo,
            "notes": change.notes,
        })
    });
    json!({
        "changes": changes.collect::<Vec<_>>(),
        "objective": effect(&suggestion.objective),
        "better": suggestion.better.0,
        "pairs": suggestion.better.1,
        "conditions": suggestion.conditions.iter().map(effect).collect::<Vec<_>>(),
        "sides": suggestion.sides.iter().map(effect).collect::<Vec<_>>(),
        "grade": suggestion.grade,
    })
}

fn effect(effect: &Effect) -> Value {
    json!({
        "figure": effect.measure.to_string(),
        "recorded": effect.recorded,
        "before": band(&effect.before),
        "after": band(&effect.after),
        "change": effect.change(),
        "band": effect.range().map(|(least, greatest)| [least, greatest]),
        "is_chance": effect.is_alike(),
    })
}

fn band(band: &Band) -> Value {
    json!({"min": band.least, "median": band.median, "max": band.greatest})
}
