//! What the page of a replay has before its runs: how far it can be trusted, and the figures of
//! each group of tasks with their bands.

use super::frame::clean;
use super::page::Section;
use maud::{Markup, html};

/// What came of a replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// How far it can be trusted and what it is about, in sentences.
    pub trust: Vec<String>,
    /// What the columns are called. The second is what the others are compared with.
    pub columns: Vec<String>,
    /// The groups of tasks.
    pub groups: Vec<Group>,
    /// How many smaller groups are left out.
    pub left_out: usize,
    /// What the reader should know besides: a letter and what it is about.
    pub messages: Vec<(char, String)>,
}

/// A group of tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How many tasks are in it.
    pub tasks: usize,
    /// How far its figures can be trusted: `close`, `fair`, `poor`.
    pub grade: &'static str,
    /// Its figures.
    pub rows: Vec<Row>,
}

/// A figure in all columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its name.
    pub title: &'static str,
    /// What it is.
    pub about: &'static str,
    /// A figure for each column; none: it has none.
    pub figures: Vec<Option<Figure>>,
}

/// A figure with its band.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figure {
    /// The middle, with its unit.
    pub text: String,
    /// From the least to the greatest.
    pub band: Option<String>,
    /// How it differs from the second column.
    pub difference: Difference,
}

/// How a figure differs from that of the second column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// It is not compared.
    None,
    /// By no more than chance.
    Alike,
    /// By so much.
    By(String),
}

/// The sections of `answer`.
pub fn sections(answer: &Answer) -> Vec<Section> {
    vec![Section { id: "answer", title: "Answer", link: "Answer", body: body(answer) }]
}

fn body(answer: &Answer) -> Markup {
    html! {
        @for sentence in &answer.trust { p.trust { (clean(sentence)) } }
        p.hint {
            "The middle of all runs of a column, below it the least and the greatest, and the "
            "difference from the second column. ≈: no difference but chance."
        }
        div.wide tabindex="0" role="region" aria-label="Answer" {
            table.figures {
                thead { tr {
                    th scope="col" { "" }
                    @for name in &answer.columns { th scope="col" { (clean(name)) } }
                } }
                @for group in &answer.groups { (block(group, answer.columns.len())) }
            }
        }
        @if answer.left_out > 0 {
            p.note { "And " (answer.left_out) " smaller groups." }
        }
        @for (code, text) in &answer.messages {
            p.note.message { b { (code) } ": " (clean(text)) }
        }
    }
}

fn block(group: &Group, columns: usize) -> Markup {
    html! {
        tbody {
            tr.group {
                th scope="rowgroup" colspan=(columns + 1) {
                    (clean(&group.name))
                    @if group.tasks != 1 { " × " (group.tasks) }
                    " " span.release.grade { (group.grade) }
                }
            }
            @for row in &group.rows { tr {
                th scope="row" { span.term tabindex="0" data-tip=(row.about) { (row.title) } }
                @for figure in &row.figures { td {
                    @match figure {
                        None => span.none { "–" },
                        Some(figure) => (cell(figure)),
                    }
                } }
            } }
        }
    }
}

fn cell(figure: &Figure) -> Markup {
    html! {
        (figure.text)
        @match &figure.difference {
            Difference::None => "",
            Difference::Alike => span.alike title="no difference but chance" { " ≈" },
            Difference::By(by) => b.difference { " " (by) },
        }
        @if let Some(band) = &figure.band { span.spread { (band) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</td><script>alert(1)</script>\u{7}";

    #[test]
    fn bands_differences_and_grades_are_there_and_names_are_text() {
        let figure = |difference| {
            Some(Figure { text: "12 ms".into(), band: Some("10 – 14".into()), difference })
        };
        let by = Difference::By("+20 %".into());
        let answer = Answer {
            trust: vec![format!("Trust: close {HOSTILE}")],
            columns: vec!["recorded".into(), HOSTILE.into(), "cfs".into(), "bfs".into()],
            groups: vec![Group {
                name: HOSTILE.into(),
                tasks: 3,
                grade: "close",
                rows: vec![Row {
                    title: "wait",
                    about: "what it is",
                    figures: vec![
                        None,
                        figure(Difference::None),
                        figure(Difference::Alike),
                        figure(by),
                    ],
                }],
            }],
            left_out: 2,
            messages: vec![('X', HOSTILE.into())],
        };
        let text = sections(&answer)[0].body.clone().into_string();
        assert!(!text.contains("<script") && !text.contains('\u{7}'), "{text}");
        assert_eq!(text.matches("class=\"spread\"").count(), 3);
        assert_eq!(text.matches("class=\"alike\"").count(), 1);
        assert!(text.contains("<b class=\"difference\"> +20 %</b>"), "{text}");
        assert!(text.contains("× 3") && text.contains("close") && text.contains("2 smaller"));
        assert!(text.contains("<b>X</b>: "));
        // A column for the names, and one for each of the others.
        assert_eq!(text.matches("<th scope=\"col\"").count(), 5);
        assert!(text.contains("colspan=\"5\""));
    }
}
