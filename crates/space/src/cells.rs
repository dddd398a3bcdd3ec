//! Columns of results and their values.

use super::axis::{Axis, Domain};
use super::value::AxisValue;
use super::{Row, Space, has_column};
use schedlab_report::data::EndState;

/// Type of a column of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whole numbers.
    Int,
    /// Numbers.
    Real,
    /// Text.
    Text,
}

impl Axis {
    /// Returns the type of its column: the narrowest to which all its values belong.
    pub fn kind(&self) -> Kind {
        let of = |value: &AxisValue| match value {
            AxisValue::Default => None,
            AxisValue::Whole(_) => Some(Kind::Int),
            AxisValue::Real(_) => Some(Kind::Real),
            AxisValue::Text(_) => Some(Kind::Text),
        };
        match &self.domain {
            Domain::Between { whole: true, .. } => Kind::Int,
            Domain::Between { whole: false, .. } => Kind::Real,
            Domain::List(values) => {
                let kinds: Vec<Kind> = values.iter().filter_map(of).collect();
                if kinds.contains(&Kind::Text) {
                    Kind::Text
                } else if kinds.contains(&Kind::Real) {
                    Kind::Real
                } else {
                    Kind::Int
                }
            }
        }
    }
}

impl Space {
    /// Names and types of the columns of results, in the order of
    /// [`column_names`](Space::column_names).
    pub fn columns(&self) -> Vec<(String, Kind)> {
        let axes = self.axes().iter().filter(|axis| has_column(axis));
        let mut kinds = vec![Kind::Int, Kind::Int, Kind::Int, Kind::Text];
        // Given points need not lie on the axes.
        let given = self.form.points.is_some();
        kinds.extend(axes.map(|axis| match axis.kind() {
            Kind::Int if given => Kind::Real,
            kind => kind,
        }));
        kinds.extend([Kind::Text, Kind::Text]);
        kinds.extend(self.metrics().iter().map(|_| Kind::Real));
        self.column_names().into_iter().zip(kinds).collect()
    }

    /// Values of a row, in the order of [`columns`](Space::columns).
    pub fn cells(&self, row: &Row) -> Vec<AxisValue> {
        let whole = |number: u64| AxisValue::Whole(number as i64);
        let text = |text: &str| AxisValue::Text(text.into());
        let point = self.point(row.point);
        let axes = self.axes().iter().zip(point).filter(|(axis, _)| has_column(axis));
        let mut cells = vec![
            whole(row.point),
            whole(row.repetition),
            row.seed.map_or(AxisValue::Default, whole),
            text(&row.scheduler),
        ];
        cells.extend(axes.map(|(_, value)| value));
        cells.push(text(end_name(row.end)));
        cells.push(row.error.as_deref().map_or(AxisValue::Default, text));
        cells.extend(row.values.iter().map(|value| match value {
            Some(value) => AxisValue::Real(*value),
            None => AxisValue::Default,
        }));
        cells
    }
}

/// Returns the name of an end in documents.
pub fn end_name(end: EndState) -> &'static str {
    match end {
        EndState::TimeUp => "time_up",
        EndState::AllEnded => "all_ended",
        EndState::Stuck => "stuck",
        EndState::Failed => "failed",
    }
}

/// Returns the end with this name.
pub(super) fn end_of(name: &str) -> Option<EndState> {
    [EndState::TimeUp, EndState::AllEnded, EndState::Stuck, EndState::Failed]
        .into_iter()
        .find(|end| end_name(*end) == name)
}
