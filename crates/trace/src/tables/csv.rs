//! Tables as comma-separated values (RFC 4180; lines end with a line feed).

use super::{Cell, Rows, Schema};
use crate::output::Output;
use crate::streamed::Streamed;
use std::fmt::Write;
use std::io;

/// Table in CSV.
#[derive(Debug)]
pub struct Csv {
    out: Streamed,
    text: String,
}

impl Csv {
    /// Begins a table with the names of the columns.
    pub fn new(output: Output, schema: Schema) -> Csv {
        let names: Vec<&str> = schema.1.iter().map(|column| column.0).collect();
        Csv { out: Streamed::new(output), text: format!("{}\n", names.join(",")) }
    }
}

impl Rows for Csv {
    fn row(&mut self, cells: &[Cell<'_>]) {
        for (number, cell) in cells.iter().enumerate() {
            if number > 0 {
                self.text.push(',');
            }
            match cell {
                Cell::Null => {}
                Cell::Int(value) => {
                    // Writing to a string does not fail.
                    let _ = write!(self.text, "{value}");
                }
                Cell::Text(text) if text.contains(['"', ',', '\n', '\r']) => {
                    let _ = write!(self.text, "\"{}\"", text.replace('"', "\"\""));
                }
                Cell::Text(text) => self.text.push_str(text),
            }
        }
        self.text.push('\n');
        if self.text.len() > 1 << 16 {
            self.out.write(self.text.as_bytes());
            self.text.clear();
        }
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.out.write(self.text.as_bytes());
        self.out.close()
    }
}
