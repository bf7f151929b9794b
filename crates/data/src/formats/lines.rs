//! Lines of text: a field of bytes, without the line end.

use std::io::BufRead;

use super::columns::{Columns, Wanted};
use super::{Input, Rows, idx};
use crate::Field;
use crate::files::io;
use fluvial_tensor::{DType, Dim, Result, Type, memory};

/// An open file; `.gz` files are decompressed in memory.
pub(super) struct Lines {
    input: Input,
    fields: Vec<Field>,
    /// Where each line starts, and the end of the file.
    starts: Vec<u64>,
}

impl Lines {
    pub fn open(input: Input) -> Result<Lines> {
        let input = idx::plain(input)?;
        let mut starts = vec![0];
        let mut reader = input.from(0);
        let mut at = 0;
        loop {
            let found = reader.skip_until(b'\n').map_err(|error| io(input.name(), error))?;
            if found == 0 {
                break;
            }
            at += found as u64;
            starts.push(at);
            if starts.len().is_power_of_two() {
                memory::room_for(16 * starts.len() as u64)?;
            }
        }
        let ty = Type::new(DType::U8, &[Dim::symbol("length")?])?;
        drop(reader);
        Ok(Lines { input, fields: vec![Field { name: "text".into(), ty }], starts })
    }
}

impl Rows for Lines {
    fn name(&self) -> &str {
        self.input.name()
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn len(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    fn fill(&self, wanted: &[Wanted], out: &mut Columns) -> Result<()> {
        for wanted in wanted {
            let i = wanted.number as usize;
            let bytes = self.input.take(self.starts[i], self.starts[i + 1] - self.starts[i])?;
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            out.put(0, wanted.row, &[line.len()], line)?;
        }
        Ok(())
    }
}
