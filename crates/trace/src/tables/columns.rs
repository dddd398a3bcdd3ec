//! Tables as Arrow IPC files and as Parquet: rows are collected in batches, which are written when
//! they are full.

use super::{Cell, Kind, Rows, Schema};
use crate::output::Output;
use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use std::io;
use std::sync::Arc;

/// Number of rows in a batch.
const BATCH: usize = 1 << 16;

/// Number of rows in a Parquet row group, which is kept in memory until it is full.
#[cfg(feature = "parquet")]
const ROW_GROUP: usize = 1 << 17;

enum Column {
    Int(Int64Builder),
    Text(StringBuilder),
}

/// Rows that are not written yet.
struct Batch {
    schema: Arc<ArrowSchema>,
    columns: Vec<Column>,
    rows: usize,
}

impl Batch {
    fn new(schema: Schema) -> Batch {
        let (name, columns) = schema;
        let fields: Vec<Field> = columns
            .iter()
            .map(|&(name, kind)| {
                let data = match kind {
                    Kind::Int => DataType::Int64,
                    Kind::Text => DataType::Utf8,
                };
                Field::new(name, data, true)
            })
            .collect();
        let metadata = [("schedlab.schema".to_string(), format!("{name}/1"))];
        let builders = columns
            .iter()
            .map(|&(_, kind)| match kind {
                Kind::Int => Column::Int(Int64Builder::new()),
                Kind::Text => Column::Text(StringBuilder::new()),
            })
            .collect();
        Batch {
            schema: Arc::new(ArrowSchema::new_with_metadata(fields, metadata)),
            columns: builders,
            rows: 0,
        }
    }

    /// Adds a row. Returns the batch if it is full.
    fn row(&mut self, cells: &[Cell<'_>]) -> Option<io::Result<RecordBatch>> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match (column, cell) {
                (Column::Int(column), Cell::Int(value)) => column.append_value(*value),
                (Column::Int(column), _) => column.append_null(),
                (Column::Text(column), Cell::Text(text)) => column.append_value(text),
                (Column::Text(column), _) => column.append_null(),
            }
        }
        self.rows += 1;
        (self.rows == BATCH).then(|| self.take())
    }

    fn take(&mut self) -> io::Result<RecordBatch> {
        self.rows = 0;
        let arrays = self.columns.iter_mut().map(|column| match column {
            Column::Int(column) => Arc::new(column.finish()) as ArrayRef,
            Column::Text(column) => Arc::new(column.finish()) as ArrayRef,
        });
        let arrays = arrays.collect();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(io::Error::other)
    }
}

/// Defines a writer of batches that keeps its first failure.
macro_rules! file {
    ($(#[$attribute:meta])* $name:ident, $writer:ty, $begin:expr) => {
        $(#[$attribute])*
        pub struct $name {
            batch: Batch,
            writer: $writer,
            failure: Option<io::Error>,
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).field("rows", &self.batch.rows).finish()
            }
        }

        impl $name {
            /// Begins a table.
            ///
            /// # Errors
            /// The file cannot be written.
            pub fn new(output: Output, schema: Schema) -> io::Result<$name> {
                let batch = Batch::new(schema);
                let begin: fn(Output, &Arc<ArrowSchema>) -> io::Result<$writer> = $begin;
                let writer = begin(output, &batch.schema)?;
                Ok($name { batch, writer, failure: None })
            }

            fn write(&mut self, batch: io::Result<RecordBatch>) {
                let written = batch
                    .and_then(|batch| self.writer.write(&batch).map_err(io::Error::other));
                self.failure = self.failure.take().or(written.err());
            }
        }

        impl Rows for $name {
            fn row(&mut self, cells: &[Cell<'_>]) {
                if let Some(batch) = self.batch.row(cells) {
                    self.write(batch);
                }
            }

            fn close(mut self: Box<Self>) -> io::Result<()> {
                if self.batch.rows > 0 {
                    let batch = self.batch.take();
                    self.write(batch);
                }
                match self.failure {
                    Some(failure) => Err(failure),
                    // Both writers write their remaining rows when they return their file.
                    None => self.writer.into_inner().map_err(io::Error::other)?.finish(),
                }
            }
        }
    };
}

#[cfg(feature = "arrow")]
file! {
    /// Table in an Arrow IPC file.
    ArrowFile,
    arrow_ipc::writer::FileWriter<Output>,
    |output, schema| {
        arrow_ipc::writer::FileWriter::try_new(output, schema).map_err(io::Error::other)
    }
}

#[cfg(feature = "parquet")]
file! {
    /// Table in a Parquet file.
    ParquetFile,
    parquet::arrow::ArrowWriter<Output>,
    |output, schema| {
        let properties = parquet::file::properties::WriterProperties::builder()
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .build();
        parquet::arrow::ArrowWriter::try_new(output, Arc::clone(schema), Some(properties))
            .map_err(io::Error::other)
    }
}
