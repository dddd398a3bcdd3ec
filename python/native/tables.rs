//! Tables for Python: polars, pandas, pyarrow and DuckDB import the columns through the Arrow
//! capsule interface, and numpy through its array interface, without copying.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    PrimitiveArray, RecordBatch, RecordBatchIterator, StringArray, new_null_array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A table: columns of equal length.
#[pyclass(frozen, module = "schedlab._native")]
pub struct Table {
    batch: RecordBatch,
}

fn wrong(error: arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

impl Table {
    /// Creates the table `name` with these columns of equal length.
    pub fn new(name: &str, columns: Vec<(&str, ArrayRef)>) -> PyResult<Table> {
        let field = |(name, column): &(&str, ArrayRef)| {
            Field::new(*name, column.data_type().clone(), column.null_count() > 0)
        };
        let fields: Vec<Field> = columns.iter().map(field).collect();
        let metadata = HashMap::from([("schedlab.schema".to_string(), format!("{name}/1"))]);
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        Ok(Table { batch: RecordBatch::try_new(schema, columns).map_err(wrong)? })
    }

    /// Creates the table `name` from rows that are JSON objects, with columns of these types.
    pub fn of_kinds(name: &str, rows: &[Value], columns: &[(&str, Kind)]) -> PyResult<Table> {
        let mut made = vec![];
        for (key, kind) in columns {
            let values: Vec<&Value> =
                rows.iter().map(|row| row.get(*key).unwrap_or(&Value::Null)).collect();
            made.push((*key, of_kind(&values, *kind)));
        }
        Table::new(name, made)
    }

    /// Creates the table `name` from rows that are JSON objects with the same keys, without those
    /// whose values are lists. Fields of an object in a row must be fields of the row.
    pub fn of_rows(name: &str, rows: &[Value], keys: &[&str]) -> PyResult<Table> {
        let mut columns = vec![];
        for key in keys {
            let values: Vec<&Value> =
                rows.iter().map(|row| row.get(*key).unwrap_or(&Value::Null)).collect();
            columns.push((*key, of_values(&values)));
        }
        Table::new(name, columns)
    }
}

/// Type of a column.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Texts.
    Text,
    /// Whole numbers.
    Whole,
    /// Real numbers.
    Real,
    /// True or false.
    Flag,
}

/// Creates a column: of text if a value is text, of real numbers if one is, otherwise of integers.
fn of_values(values: &[&Value]) -> ArrayRef {
    let any = |is: fn(&Value) -> bool| values.iter().any(|value| is(value));
    let kind = if any(Value::is_string) {
        Kind::Text
    } else if any(Value::is_boolean) {
        Kind::Flag
    } else if any(Value::is_f64) {
        Kind::Real
    } else {
        Kind::Whole
    };
    of_kind(values, kind)
}

fn of_kind(values: &[&Value], kind: Kind) -> ArrayRef {
    match kind {
        Kind::Text => texts_of(&values.iter().map(|value| value.as_str()).collect::<Vec<_>>()),
        Kind::Flag => {
            Arc::new(values.iter().map(|value| value.as_bool()).collect::<BooleanArray>())
        }
        Kind::Real => Arc::new(values.iter().map(|value| value.as_f64()).collect::<Float64Array>()),
        Kind::Whole => {
            let most = |number: u64| number.min(i64::MAX as u64) as i64;
            let whole = |value: &&Value| value.as_i64().or_else(|| value.as_u64().map(most));
            Arc::new(values.iter().map(whole).collect::<Int64Array>())
        }
    }
}

/// Creates a column of texts, each stored once.
pub fn texts_of(texts: &[Option<&str>]) -> ArrayRef {
    let column: DictionaryArray<Int32Type> = texts.iter().copied().collect();
    Arc::new(column)
}

/// Creates a column of texts from their indices in `names`.
pub fn named(keys: Int32Array, names: &[String]) -> PyResult<ArrayRef> {
    let names = StringArray::from_iter_values(names);
    let column = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(names)).map_err(wrong)?;
    Ok(Arc::new(column))
}

/// Creates a column of numbers without missing values.
pub fn numbers(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

/// Creates a column of numbers with missing values.
pub fn known_numbers(values: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

/// Stacks tables with the same columns, with a first column that labels the rows of each table.
#[pyfunction]
pub fn stack(tables: Vec<PyRef<'_, Table>>, label: &str, values: Vec<String>) -> PyResult<Table> {
    let Some(first) = tables.first() else {
        return Err(PyValueError::new_err("there is no table"));
    };
    let keys: Int32Array = (tables.iter().zip(0..))
        .flat_map(|(table, number)| std::iter::repeat_n(Some(number), table.batch.num_rows()))
        .collect();
    let mut columns = vec![(label.to_string(), named(keys, &values)?)];
    for name in first.columns() {
        let parts: Vec<&ArrayRef> =
            tables.iter().map(|table| table.column(&name)).collect::<PyResult<_>>()?;
        // If all values of a column are missing, its type is unknown: that of the others applies.
        let known = parts.iter().find(|part| part.null_count() < part.len());
        let kind = known.unwrap_or(&parts[0]).data_type().clone();
        let parts: Vec<ArrayRef> = (parts.iter())
            .map(|part| match *part.data_type() == kind {
                true => Arc::clone(part),
                false => new_null_array(&kind, part.len()),
            })
            .collect();
        let parts: Vec<&dyn Array> = parts.iter().map(|part| &**part).collect();
        columns.push((name, concat(&parts).map_err(wrong)?));
    }
    let name = first.batch.schema().metadata().get("schedlab.schema").cloned();
    let name = name.unwrap_or_default();
    let columns = columns.iter().map(|(name, column)| (&**name, Arc::clone(column))).collect();
    Table::new(name.trim_end_matches("/1"), columns)
}

/// The numbers of a column in place, for numpy. Keeps the memory alive as long as an array uses it.
#[pyclass(frozen, module = "schedlab._native")]
struct Numbers {
    _column: ArrayRef,
    address: usize,
    length: usize,
    kind: &'static str,
}

#[pymethods]
impl Numbers {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.length,))?;
        interface.set_item("typestr", self.kind)?;
        interface.set_item("data", (self.address, true))?;
        Ok(interface)
    }
}

fn primitive<T: arrow_array::ArrowPrimitiveType>(
    column: &ArrayRef,
    kind: &'static str,
) -> Option<Numbers> {
    let numbers = column.as_any().downcast_ref::<PrimitiveArray<T>>()?;
    let address = numbers.values().as_ptr() as usize;
    Some(Numbers { _column: Arc::clone(column), address, length: numbers.len(), kind })
}

#[pymethods]
impl Table {
    /// Returns the number of rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns the columns' names, in order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the numbers of a column in place, for numpy; `None` if the column has another type,
    /// or missing values.
    fn numbers(&self, name: &str) -> PyResult<Option<Numbers>> {
        let column = self.column(name)?;
        if column.null_count() > 0 {
            return Ok(None);
        }
        Ok(primitive::<Int64Type>(column, "<i8")
            .or_else(|| primitive::<Float64Type>(column, "<f8")))
    }

    /// Whether a column contains text.
    fn is_text(&self, name: &str) -> PyResult<bool> {
        Ok(matches!(self.column(name)?.data_type(), DataType::Dictionary(..)))
    }

    /// Returns a column as a list; missing values are `None`.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let column = self.column(name)?;
        (0..column.len()).map(|row| value(py, column, row)).collect()
    }

    /// Returns a row as a dict.
    fn row<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyDict>> {
        let row = PyDict::new(py);
        for (field, column) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            row.set_item(field.name(), value(py, column, number)?)?;
        }
        Ok(row)
    }

    /// Returns the Arrow capsule interface: the schema alone.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.batch.schema()).map_err(wrong)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Returns the Arrow capsule interface: the table as a stream. Requested schemas are ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface permits a producer to ignore the requested schema.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Table {
    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| {
            let names = self.columns().join(", ");
            PyKeyError::new_err(format!("there is no column {name}; the columns are {names}"))
        })
    }
}

/// Returns the value in a row of a column.
fn value<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if row >= column.len() {
        return Err(pyo3::exceptions::PyIndexError::new_err(format!(
            "there is no row {row}; the table has {} rows",
            column.len()
        )));
    }
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    let any = column.as_any();
    if let Some(column) = any.downcast_ref::<Int64Array>() {
        return Ok(column.value(row).into_pyobject(py)?.into_any());
    }
    if let Some(column) = any.downcast_ref::<Float64Array>() {
        return Ok(column.value(row).into_pyobject(py)?.into_any());
    }
    if let Some(column) = any.downcast_ref::<BooleanArray>() {
        return Ok(column.value(row).into_pyobject(py)?.to_owned().into_any());
    }
    if let Some(column) = any.downcast_ref::<DictionaryArray<Int32Type>>()
        && let Some(names) = column.values().as_any().downcast_ref::<StringArray>()
    {
        let key = column.keys().value(row) as usize;
        return Ok(names.value(key).into_pyobject(py)?.into_any());
    }
    Err(PyValueError::new_err(format!("columns of type {} are not supported", column.data_type())))
}
