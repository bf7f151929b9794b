//! How a number is written: `.3f`, `.2e`, `.4g`, `d`, `8.3f`.

use fluvial_core::{Error, Result, Value};
use fluvial_tensor::dispatch;

use crate::inspect::{self, significant};

/// What stands behind the colon of `{loss:.3f}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    width: usize,
    digits: Option<usize>,
    kind: char,
}

impl Format {
    pub fn parse(text: &str) -> Result<Format> {
        let fault = || {
            Error::parse(format!("`{text}` is not a format of a number")).remedy(
                "write `.3f`, `.2e`, `.4g` or `d`, with a width in front if columns are wanted",
            )
        };
        let spec = text.trim();
        let kind = spec.chars().last().filter(char::is_ascii_alphabetic);
        let rest = &spec[..spec.len() - kind.map_or(0, char::len_utf8)];
        let (width, digits) = match rest.split_once('.') {
            Some((width, digits)) => (width, Some(digits.parse().map_err(|_| fault())?)),
            None => (rest, None),
        };
        let width: usize = if width.is_empty() { 0 } else { width.parse().map_err(|_| fault())? };
        let kind = kind.unwrap_or('g');
        if !"fegd".contains(kind) || width > 200 || digits > Some(100) {
            return Err(fault());
        }
        Ok(Format { width, digits, kind })
    }

    /// A single number in this format.
    pub fn text(self, value: &Value) -> Result<String> {
        let tensor = value.tensor()?;
        if tensor.numel() != 1 {
            return Err(Error::argument(format!("{} is not one number", tensor.ty()))
                .remedy("leave the format away to see a summary"));
        }
        let (x, n) = dispatch!(tensor.dtype(), T => {
            let x = tensor.item::<T>()?;
            (fluvial_core::Element::to_f64(x), fluvial_core::Element::to_i64(x))
        });
        let text = match (self.kind, self.digits) {
            ('f', digits) => format!("{x:.*}", digits.unwrap_or(6)),
            ('e', digits) => format!("{x:.*e}", digits.unwrap_or(6)),
            ('d', _) => n.to_string(),
            (_, digits) => significant(x, digits.unwrap_or(6)),
        };
        Ok(format!("{text:>width$}", width = self.width))
    }
}

/// A value as text, in a format if there is one.
pub fn text(value: &Value, format: Option<Format>) -> Result<String> {
    match format {
        Some(format) => format.text(value),
        None => Ok(inspect::line(value)),
    }
}
