//! Parts as Parquet files.

use super::cells::Kind;
use super::value::AxisValue;
use super::{Row, Space};
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use schedlab_report::data::EndState;
use std::sync::Arc;

/// Returns the rows as a batch of columns.
pub(super) fn batch(space: &Space, rows: &[Row]) -> Result<RecordBatch, String> {
    let columns = space.columns();
    let cells: Vec<Vec<AxisValue>> = rows.iter().map(|row| space.cells(row)).collect();
    let mut fields = vec![];
    let mut arrays: Vec<ArrayRef> = vec![];
    for (place, (name, kind)) in columns.into_iter().enumerate() {
        let cells = cells.iter().map(|row| &row[place]);
        let (data, array): (DataType, ArrayRef) = match kind {
            Kind::Int => {
                let mut builder = Int64Builder::new();
                for cell in cells {
                    match cell {
                        AxisValue::Whole(number) => builder.append_value(*number),
                        _ => builder.append_null(),
                    }
                }
                (DataType::Int64, Arc::new(builder.finish()))
            }
            Kind::Real => {
                let mut builder = Float64Builder::new();
                cells.for_each(|cell| builder.append_option(cell.as_f64()));
                (DataType::Float64, Arc::new(builder.finish()))
            }
            Kind::Text => {
                let mut builder = StringBuilder::new();
                for cell in cells {
                    match cell {
                        AxisValue::Default => builder.append_null(),
                        other => builder.append_value(other.to_string()),
                    }
                }
                (DataType::Utf8, Arc::new(builder.finish()))
            }
        };
        fields.push(Field::new(name, data, true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| error.to_string())
}

/// Encodes the rows as a file.
pub(super) fn encode(space: &Space, rows: &[Row]) -> Result<Vec<u8>, String> {
    let batch = batch(space, rows)?;
    let mut bytes = vec![];
    let failed = |error: parquet::errors::ParquetError| error.to_string();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).map_err(failed)?;
    writer.write(&batch).map_err(failed)?;
    writer.close().map_err(failed)?;
    Ok(bytes)
}

/// Decodes rows that [`encode`] wrote.
pub(super) fn decode(space: &Space, bytes: &[u8]) -> Result<Vec<Row>, String> {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes)
        .and_then(ParquetRecordBatchReaderBuilder::build)
        .map_err(|error| error.to_string())?;
    let mut rows = vec![];
    for batch in reader {
        let batch = batch.map_err(|error| error.to_string())?;
        let names = space.column_names();
        let schema = batch.schema();
        if schema.fields().iter().map(|field| field.name()).ne(&names) {
            return Err("its columns differ".into());
        }
        for place in 0..batch.num_rows() {
            rows.push(row(space, &batch, place).ok_or("this is not a run")?);
        }
    }
    Ok(rows)
}

fn row(space: &Space, batch: &RecordBatch, place: usize) -> Option<Row> {
    let int = |name: &str| {
        let column = batch.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
        column.is_valid(place).then(|| column.value(place) as u64)
    };
    let text = |name: &str| {
        let column = batch.column_by_name(name)?.as_string_opt::<i32>()?;
        column.is_valid(place).then(|| column.value(place).to_string())
    };
    let end = text("end")?;
    let ends = [EndState::TimeUp, EndState::AllEnded, EndState::Stuck, EndState::Failed];
    let first = batch.num_columns() - space.metrics().len();
    let value = |number: usize| {
        let column = batch.column(first + number).as_primitive_opt::<Float64Type>()?;
        Some(column.is_valid(place).then(|| column.value(place)))
    };
    Some(Row {
        point: int("point").filter(|point| *point < space.points())?,
        repetition: int("repetition")?,
        seed: int("seed"),
        scheduler: text("scheduler")?,
        end: ends.into_iter().find(|it| super::cells::end_name(*it) == end)?,
        error: text("error"),
        values: (0..space.metrics().len()).map(value).collect::<Option<_>>()?,
    })
}
