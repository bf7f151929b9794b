//! Writing down what a run computes.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use fluvial_core::{Error, Loc, Result, Tensor, Value};

use super::{Observer, Step};

/// Writes a line for every step: the user's line, the op, the types, and the range of the numbers.
pub struct Logger<W> {
    to: Mutex<W>,
}

impl<W: Write + Send> Logger<W> {
    /// A logger that writes to `to`.
    pub fn new(to: W) -> Logger<W> {
        Logger { to: Mutex::new(to) }
    }

    /// What it has written to.
    pub fn into_inner(self) -> W {
        self.to.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, depth: usize, text: &str) -> Result<()> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(to, "{:indent$}{text}", "", indent = 2 * depth)
            .map_err(|error| Error::argument(format!("cannot write the log: {error}")))
    }
}

impl<W: Write + Send> Observer for Logger<W> {
    fn after(&self, step: &Step<'_>, outputs: &[Value]) -> Result<()> {
        let mut text = format!("{}: {}", step.loc, step.op.name());
        for value in outputs {
            // Writing to a string does not fail.
            let _ = write!(text, " {}", summary(value));
        }
        self.line(step.depth, &text)
    }

    fn enter(&self, step: &Step<'_>, block: usize, _: &[&Value]) -> Result<()> {
        self.line(step.depth, &format!("{}: {} enters block {block}", step.loc, step.op.name()))
    }

    fn assign(&self, state: &str, value: &Value, loc: Loc) -> Result<()> {
        self.line(0, &format!("{loc}: @{state} = {}", summary(value)))
    }
}

/// Type and range of a value.
pub(crate) fn summary(value: &Value) -> String {
    match value {
        Value::Device(here) => format!("{here:?}"),
        Value::Tensor(tensor) if tensor.numel() == 1 => {
            format!("{} {}", tensor.ty(), tensor.to_f64s()[0])
        }
        Value::Tensor(tensor) => format!("{}{}", tensor.ty(), range(tensor)),
        Value::List(list) => format!("{} of {}", value.ty(), list.len()),
        Value::Channel(channel) => format!("{channel:?}"),
    }
}

fn range(tensor: &Tensor) -> String {
    let values = tensor.to_f64s();
    if values.is_empty() {
        return String::new();
    }
    let (least, most) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let bad = values.iter().filter(|x| !x.is_finite()).count();
    let bad = if bad > 0 { format!(", {bad} not finite") } else { String::new() };
    format!(" {least:.6} .. {most:.6}, mean {mean:.6}{bad}")
}
