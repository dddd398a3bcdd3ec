//! The bar with which a reader of the page selects demands by verdict, by experiment, or by words.
//! It appears where scripts run (`filter.js`); without them all demands are shown.

use crate::catalogue::{Outcome, count};
use crate::judge::Verdict;
use maud::{Markup, html};

/// Returns the style class of a verdict on the page.
pub(crate) const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::HardMet => "hard-met",
        Verdict::HardPart => "hard-part",
        Verdict::HardMissed => "hard-missed",
        Verdict::SoftMet => "soft-met",
        Verdict::SoftPart => "soft-part",
        Verdict::SoftMissed => "soft-missed",
        Verdict::ByRule => "by-rule",
        Verdict::Fitted => "fitted",
        Verdict::Empty => "empty",
        Verdict::NotAsked => "not-asked",
    }
}

/// Returns the bar.
pub fn bar(outcomes: &[Outcome]) -> Markup {
    let verdicts = || {
        count(outcomes)
            .into_iter()
            .filter(|(verdict, count)| *count > 0 && *verdict != Verdict::NotAsked)
    };
    html! {
        form #filter role="search" aria-label="Which demands are shown" hidden {
            label {
                "Find " input #filter-words type="search" autocomplete="off" placeholder="words …";
            }
            label {
                "in "
                select #filter-experiment {
                    option value="" { "all experiments" }
                    @for outcome in outcomes {
                        option value=(outcome.file.id) { (outcome.file.id) }
                    }
                }
            }
            fieldset {
                legend { "Verdicts" }
                @for (verdict, count) in verdicts() {
                    label {
                        input type="checkbox" name="verdict" value=(class(verdict));
                        " " span class={ "verdict " (class(verdict)) } { (verdict.name()) }
                        " " (count)
                    }
                }
            }
            button #filter-all type="reset" { "All" }
            output #filter-shown aria-live="polite" {}
        } "\n"
    }
}
