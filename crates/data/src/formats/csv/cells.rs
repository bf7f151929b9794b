//! The cells of a record, as text and as numbers.

use std::borrow::Cow;

use fluvial_tensor::{DType, bf16, f16};

/// A cell as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'a> {
    bytes: &'a [u8],
    is_quoted: bool,
}

impl Cell<'_> {
    /// What the cell says, without quotes.
    pub fn text(&self) -> Cow<'_, str> {
        let text = String::from_utf8_lossy(self.bytes);
        if self.is_quoted { text.replace("\"\"", "\"").into() } else { text }
    }

    /// The same, as it may be no text.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut left = self.bytes.iter();
        while let Some(&byte) = left.next() {
            bytes.push(byte);
            if byte == b'"' && self.is_quoted {
                left.next();
            }
        }
        bytes
    }
}

/// Takes a record apart; an error has the number of the cell.
pub(super) fn split(record: &[u8], delimiter: u8) -> Result<Vec<Cell<'_>>, (usize, String)> {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    let record = record.strip_suffix(b"\r").unwrap_or(record);
    let mut cells = Vec::new();
    let mut at = 0;
    loop {
        let left = &record[at..];
        let (cell, end) = if left.first() == Some(&b'"') {
            let mut end = 1;
            loop {
                match left.get(end) {
                    Some(b'"') if left.get(end + 1) == Some(&b'"') => end += 2,
                    Some(b'"') => break,
                    Some(_) => end += 1,
                    None => return Err((cells.len(), "a quote is not closed".into())),
                }
            }
            (Cell { bytes: &left[1..end], is_quoted: true }, end + 1)
        } else {
            let end = left.iter().position(|&byte| byte == delimiter).unwrap_or(left.len());
            if left[..end].contains(&b'"') {
                return Err((
                    cells.len(),
                    "a quote stands within a cell that does not start with one".into(),
                ));
            }
            (Cell { bytes: &left[..end], is_quoted: false }, end)
        };
        cells.push(cell);
        match left.get(end) {
            None => return Ok(cells),
            Some(&byte) if byte == delimiter => at += end + 1,
            Some(_) => {
                let what = "after the closing quote a delimiter is expected";
                return Err((cells.len() - 1, what.into()));
            }
        }
    }
}

pub(super) fn is_missing(text: &str) -> bool {
    matches!(text.trim(), "" | "NA" | "N/A" | "null" | "?")
}

pub(super) fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

/// Writes a number as little-endian bytes; the error says what was expected.
pub(super) fn number(
    text: &str,
    dtype: DType,
    missing: Option<f64>,
    to: &mut [u8],
) -> Result<(), String> {
    let trimmed = text.trim();
    let shown: String = text.chars().take(40).collect();
    let wrong = || format!("`{shown}` is not {dtype}");
    let missing = match is_missing(trimmed) {
        false => None,
        true if dtype.is_float() => Some(missing.unwrap_or(f64::NAN)),
        true => Some(missing.ok_or_else(|| {
            format!("the cell is empty, and {dtype} has no number for that; give `missing`")
        })?),
    };
    let whole = || -> Option<i128> {
        match missing {
            Some(value) => (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i128),
            None => trimmed.parse().ok(),
        }
    };
    let single =
        || missing.map(|value| value as f32).or_else(|| trimmed.parse().ok()).ok_or_else(wrong);
    match dtype {
        dtype if dtype.is_complex() || dtype.is_stored() => {
            return Err(format!("cells are not read as {dtype}; read them as f32 or f64"));
        }
        DType::F64 => {
            let value = missing.or_else(|| trimmed.parse().ok()).ok_or_else(wrong)?;
            to.copy_from_slice(&value.to_le_bytes());
        }
        DType::F32 => to.copy_from_slice(&single()?.to_le_bytes()),
        DType::F16 => to.copy_from_slice(&f16::from_f32(single()?).to_le_bytes()),
        DType::BF16 => to.copy_from_slice(&bf16::from_f32(single()?).to_le_bytes()),
        DType::Bool => {
            to[0] = match (trimmed, missing) {
                ("true" | "True" | "TRUE" | "1", None) => 1,
                ("false" | "False" | "FALSE" | "0", None) => 0,
                (_, Some(value)) => u8::from(value != 0.0),
                _ => return Err(wrong()),
            }
        }
        _ => {
            let (least, most) = dtype.range().unwrap_or_default();
            let fits = |value: &i128| (least..=most).contains(value);
            let value = whole().filter(fits).ok_or_else(wrong)?;
            to.copy_from_slice(&value.to_le_bytes()[..dtype.size()]);
        }
    }
    Ok(())
}
