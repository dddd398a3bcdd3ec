//! Puts mutants into a file's text, each behind a check whether it is active.

use crate::find::{Form, Site};
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::ops::Range;

/// The check in generated code. The mutant's number and `)` follow.
const ASKS: &str = "::schedlab_mutant::on(";

/// A place with its mutants: number and replacement.
pub struct Planted<'a> {
    /// The place.
    pub site: &'a Site,
    /// The mutants.
    pub mutants: Vec<(u32, String)>,
}

/// Returns `text` with all these mutants.
pub fn splice(text: &str, planted: &mut [Planted]) -> String {
    // Outer sites come first.
    planted.sort_by_key(|planted| (planted.site.range.start, Reverse(planted.site.range.end)));
    let all: Vec<&Planted> = planted.iter().collect();
    render(text, 0..text.len(), &all)
}

/// The text of `range` with the mutants of the sites in it.
fn render(text: &str, range: Range<usize>, sites: &[&Planted]) -> String {
    let mut out = String::new();
    let mut pos = range.start;
    let mut i = 0;
    while i < sites.len() {
        let at = &sites[i].site.range;
        if at.start < pos || at.end > range.end {
            i += 1;
            continue;
        }
        out.push_str(&text[pos..at.start]);
        let mut end = i + 1;
        while end < sites.len() && sites[end].site.range.start < at.end {
            end += 1;
        }
        out.push_str(&place(text, sites[i], &sites[i + 1..end]));
        pos = at.end;
        i = end;
    }
    out.push_str(&text[pos..range.end]);
    out
}

fn place(text: &str, planted: &Planted, inner: &[&Planted]) -> String {
    let mut out = String::new();
    let render = |range: &Range<usize>| render(text, range.clone(), inner);
    let whole = |with: &dyn Fn(&str) -> String| {
        let mut out = String::from("(");
        for (number, mutant) in &planted.mutants {
            let _ = write!(out, "if {ASKS}{number}) {{ {} }} else ", with(mutant));
        }
        let _ = write!(out, "{{ {} }})", render(&planted.site.range));
        out
    };
    match &planted.site.form {
        Form::Binary { left, right, op } => {
            let (left, right) = (render(left), render(right));
            out.push('(');
            for (number, with) in &planted.mutants {
                let _ = write!(out, "if {ASKS}{number}) {{ ({left}) {with} ({right}) }} else ");
            }
            let _ = write!(out, "{{ ({left}) {op} ({right}) }})");
        }
        Form::Unary { part } => out = whole(&|_| render(part)),
        Form::Field { filled } => out = whole(&|_| filled.clone()),
        Form::Guard => out = whole(&str::to_string),
        Form::Arm => {
            for (number, _) in &planted.mutants {
                let _ = write!(out, " if !{ASKS}{number})");
            }
        }
        Form::Body => {
            for (number, with) in &planted.mutants {
                let _ = write!(out, " if {ASKS}{number}) {{ return {with}; }}");
            }
        }
    }
    out
}

/// The numbers of the arms' mutants in the match whose scrutinee is at byte `at` of spliced `text`:
/// an error about missing arms names only the scrutinee.
pub fn arms_of_match(text: &str, at: usize) -> Vec<u32> {
    let mut depth = 0;
    let end = text[at..].char_indices().find_map(|(i, char)| {
        depth += i32::from(char == '{') - i32::from(char == '}');
        (char == '}' && depth == 0).then_some(at + i)
    });
    let guard = format!(" if !{ASKS}");
    let body = &text[at..end.unwrap_or(text.len())];
    body.match_indices(&guard)
        .filter_map(|(i, _)| {
            let digits = &body[i + guard.len()..];
            digits[..digits.find(')')?].parse().ok()
        })
        .collect()
}

/// The number of the mutant to which an error at byte `at` of spliced `text` belongs.
pub fn number_before(text: &str, at: usize) -> Option<u32> {
    let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let asked =
        text[..at].rfind(ASKS).or_else(|| text[at..line_end].find(ASKS).map(|by| at + by))?;
    let digits = &text[asked + ASKS.len()..];
    digits[..digits.find(')')?].parse().ok()
}
