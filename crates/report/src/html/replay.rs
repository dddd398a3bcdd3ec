//! Sections of the page of a replay before its runs: reliability, and the figures of each group of
//! tasks with their bands.

use super::frame::clean;
use super::page::Section;
use maud::{Markup, html};

/// Result of a replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayResult {
    /// Reliability and subject of the replay, in sentences.
    pub trust: Vec<String>,
    /// Names of the columns. The others are compared with the second.
    pub columns: Vec<String>,
    /// Groups of tasks.
    pub groups: Vec<Group>,
    /// Number of smaller groups that are left out.
    pub left_out: usize,
    /// Further messages to the reader: a letter and the text.
    pub messages: Vec<(char, String)>,
}

/// Group of tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Number of tasks.
    pub tasks: usize,
    /// Reliability of its figures: `close`, `fair`, `poor`.
    pub grade: &'static str,
    /// Figures.
    pub rows: Vec<Row>,
}

/// Figure in all columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Name.
    pub title: &'static str,
    /// Definition.
    pub about: &'static str,
    /// Figure of each column. `None`: the column lacks it.
    pub figures: Vec<Option<Figure>>,
}

/// Figure with its band.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figure {
    /// Median, with its unit.
    pub text: String,
    /// Range from minimum to maximum.
    pub band: Option<String>,
    /// Difference from the second column.
    pub difference: Difference,
}

/// Difference of a figure from that of the second column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// It is not compared.
    None,
    /// No more than chance.
    Alike,
    /// Amount.
    By(String),
}

/// Returns the sections of `result`.
pub fn sections(result: &ReplayResult) -> Vec<Section> {
    vec![Section { id: "answer", title: "Result", link: "Result", body: body(result) }]
}

fn body(result: &ReplayResult) -> Markup {
    html! {
        @for sentence in &result.trust { p.trust { (clean(sentence)) } }
        p.hint {
            "The median of all runs of a column, below it minimum and maximum, and the "
            "difference from the second column. ≈: no difference beyond chance."
        }
        div.wide tabindex="0" role="region" aria-label="Result" {
            table.figures {
                thead { tr {
                    th scope="col" { "" }
                    @for name in &result.columns { th scope="col" { (clean(name)) } }
                } }
                @for group in &result.groups { (block(group, result.columns.len())) }
            }
        }
        @if result.left_out > 0 {
            p.note { "And " (result.left_out) " smaller groups." }
        }
        @for (code, text) in &result.messages {
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
            Difference::Alike => span.alike title="no difference beyond chance" { " ≈" },
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
        let result = ReplayResult {
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
        let text = sections(&result)[0].body.clone().into_string();
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
