//! Lists of the run's document as tables: tasks, keys, CPUs, groups.

use crate::errors;
use crate::tables::{Kind, Table};
use pyo3::prelude::*;
use schedlab_report::RunReport;
use serde_json::Value;

/// The columns of groups, which exist even if there is no group, or none is throttled.
const GROUPS: [(&str, Kind); 8] = [
    ("path", Kind::Text),
    ("usage_ns", Kind::Whole),
    ("machine_share", Kind::Real),
    ("throttling_nr_periods", Kind::Whole),
    ("throttling_nr_throttled", Kind::Whole),
    ("throttling_throttled_ns", Kind::Whole),
    ("throttling_nr_bursts", Kind::Whole),
    ("throttling_burst_ns", Kind::Whole),
];

/// Returns the list `list` of `run` as a table, with the document's names as columns. An object in
/// a row becomes columns such as `wakeup_latency_p99_ns`, one for each field; lists are left out.
pub fn table(py: Python<'_>, run: &RunReport, list: &str) -> PyResult<Table> {
    if list == "groups" {
        let rows = serde_json::to_value(&run.groups);
        let rows = rows.map_err(|error| errors::run(py, error.to_string()))?;
        let rows: Vec<Value> = rows.as_array().into_iter().flatten().map(flat).collect();
        return Table::of_kinds(list, &rows, &GROUPS);
    }
    let value = match list {
        "tasks" => serde_json::to_value(&run.tasks),
        "keys" => serde_json::to_value(&run.keys),
        "cpus" => serde_json::to_value(&run.cpus),
        other => return Err(errors::input(py, format!("there is no list {other}"))),
    };
    let value = value.map_err(|error| errors::run(py, error.to_string()))?;
    let rows: Vec<Value> = value.as_array().into_iter().flatten().map(flat).collect();
    let mut keys: Vec<&str> = vec![];
    for key in rows.iter().filter_map(Value::as_object).flat_map(|row| row.keys()) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    Table::of_rows(list, &rows, &keys)
}

/// Returns a row without lists, in which the fields of objects are fields of the row.
fn flat(row: &Value) -> Value {
    let mut fields = serde_json::Map::new();
    for (name, value) in row.as_object().into_iter().flatten() {
        match value {
            Value::Array(_) => {}
            Value::Object(inner) => fields.extend(
                inner
                    .iter()
                    .filter(|(_, value)| !value.is_array())
                    .map(|(field, value)| (format!("{name}_{field}"), value.clone())),
            ),
            value => {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
    fields.into()
}
