//! Finding where NaN and infinity come from.

use fluvial_core::{Error, ErrorKind, Result, Tensor, Value};

use super::{Observer, Step};

/// Stops a run at the first step that makes NaN or infinity from finite numbers.
///
/// The error names the op and the user's line. Fused ops would hide which of their parts it was: run the
/// observer by [`Call::op_by_op`](crate::Call::op_by_op), with nothing fused.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Whether infinity stops the run as well.
    pub infinity: bool,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { infinity: true }
    }
}

impl Observer for Watch {
    fn after(&self, step: &Step<'_>, outputs: &[Value]) -> Result<()> {
        for (i, value) in outputs.iter().enumerate() {
            let Ok(tensor) = value.tensor() else { continue };
            if let Some((at, number)) = self.first(tensor) {
                let what =
                    if outputs.len() > 1 { format!(" in output {i}") } else { String::new() };
                let index = index_of(at, tensor.dims());
                let fault = format!("`{}` gave {number} at {index:?}{what}", step.op.name());
                return Err(Error::new(ErrorKind::Check, fault)
                    .remedy("look at what it takes: a log of 0, a division by 0, numbers too large")
                    .at(step.loc));
            }
        }
        Ok(())
    }
}

impl Watch {
    /// Position and number of the first element that is not as it should be.
    fn first(&self, tensor: &Tensor) -> Option<(usize, f64)> {
        if !tensor.dtype().is_float() {
            return None;
        }
        let is_bad = |x: f64| x.is_nan() || self.infinity && x.is_infinite();
        let found = match tensor.as_slice::<f32>() {
            Some(values) => values.iter().position(|&x| is_bad(f64::from(x))),
            None => tensor.to_f64s().iter().position(|&x| is_bad(x)),
        }?;
        Some((found, tensor.to_f64s()[found]))
    }
}

/// The position along each axis of an element in row-major order.
fn index_of(mut at: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (i, &size) in dims.iter().enumerate().rev() {
        index[i] = at % size.max(1);
        at /= size.max(1);
    }
    index
}
