//! Where the records of a table start.

use std::io::{BufRead, Read};

use crate::files::io;
use crate::formats::Input;
use fluvial_tensor::Result;

/// Where each record starts, and where the last one ends. Lines without any character are not records, and a
/// line end within quotes belongs to the cell.
pub(super) fn starts(input: &Input) -> Result<Vec<u64>> {
    let mut reader = input.from(0);
    let mut starts = Vec::new();
    let (mut at, mut is_quoted, mut is_blank) = (0_u64, false, true);
    let mut start = 0;
    loop {
        let block = reader.fill_buf().map_err(|error| io(input.name(), error))?;
        if block.is_empty() {
            break;
        }
        for &byte in block {
            at += 1;
            match byte {
                b'\n' if !is_quoted => {
                    if !is_blank {
                        starts.push(start);
                    }
                    (start, is_blank) = (at, true);
                }
                b'"' => (is_quoted, is_blank) = (!is_quoted, false),
                b'\r' => {}
                _ => is_blank = false,
            }
        }
        let count = block.len();
        reader.consume(count);
    }
    if is_quoted {
        let line = line_of(input, start);
        return Err(
            input.fault(format!("line {line}: a quote is opened here or later, and not closed"))
        );
    }
    if !is_blank {
        starts.push(start);
        start = at;
    }
    starts.push(start);
    Ok(starts)
}

/// The number of the line in which a byte is, from 1 on.
pub(super) fn line_of(input: &Input, at: u64) -> u64 {
    let before = input.from(0).take(at).bytes().map_while(Result::ok);
    1 + before.filter(|&byte| byte == b'\n').count() as u64
}
