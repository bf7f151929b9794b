//! How notebooks show a tensor.

use std::fmt::{self, Write};

use fluvial::core::{Tensor, Var};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// Rows and columns shown of a matrix before and after its middle is left out.
const ENDS: usize = 5;

/// The text of something that may be long; an exception where there is no memory for it.
pub fn text(shown: &impl fmt::Display) -> PyResult<String> {
    text_of(format_args!("{shown}"))
}

/// [`text`] of what was said to be formatted.
pub fn text_of(shown: fmt::Arguments<'_>) -> PyResult<String> {
    struct Growing(String);
    impl fmt::Write for Growing {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            let more = part.len().max(self.0.capacity().min(1 << 24));
            if self.0.capacity() - self.0.len() < part.len() {
                self.0.try_reserve(more).map_err(|_| fmt::Error)?;
            }
            self.0.push_str(part);
            Ok(())
        }
    }
    let mut growing = Growing(String::new());
    let done = growing.write_fmt(shown);
    done.map_err(|_| {
        let len = growing.0.len();
        PyMemoryError::new_err(format!("there is no memory for a text of more than {len} bytes"))
    })?;
    Ok(growing.0)
}

/// A table for vectors and matrices, else the text.
pub fn html(var: &Var) -> String {
    let title = format!("<code>Tensor {}</code>", escaped(&var.ty().to_string()));
    match var.tensor() {
        Ok(tensor) if matches!(tensor.rank(), 1 | 2) && tensor.numel() > 0 => {
            format!("<div>{title}{}</div>", table(tensor))
        }
        _ => format!("<div>{title}<pre>{}</pre></div>", escaped(&var.to_string())),
    }
}

fn table(tensor: &Tensor) -> String {
    let (rows, columns) = match *tensor.dims() {
        [rows, columns] => (rows, columns),
        _ => (1, tensor.numel()),
    };
    let cell = |row: usize, column: usize| {
        let index = if tensor.rank() == 2 { vec![row, column] } else { vec![column] };
        tensor.get_f64(&index).map_or_else(|_| "?".to_string(), |value| value.to_string())
    };
    let mut text = "<table>".to_string();
    for row in shown(rows) {
        text += "<tr>";
        for column in shown(columns) {
            let content = match (row, column) {
                (Some(row), Some(column)) => cell(row, column),
                _ => "…".to_string(),
            };
            text += &format!("<td>{content}</td>");
        }
        text += "</tr>";
    }
    text + "</table>"
}

/// The positions to show; nothing stands for those left out.
fn shown(n: usize) -> Vec<Option<usize>> {
    if n <= 2 * ENDS + 1 {
        return (0..n).map(Some).collect();
    }
    let first = (0..ENDS).map(Some);
    first.chain([None]).chain((n - ENDS..n).map(Some)).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
