//! `flatten`: neighbouring axes made one, derived from `reshape`.

use super::derived::{count, judged};
use super::reshape;
use crate::prelude::*;

/// The axes from `start` to `end`, inclusive, made one: `flatten(x, 0, -1)` has one axis,
/// `flatten(x, 1, -1)` keeps the batch. A scalar becomes a vector of one element.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.0; 24], &[2, 3, 4])?;
/// assert_eq!(flatten(&x, 0, -1)?.ty().to_string(), "f64[24]");
/// assert_eq!(flatten(&x, 1, -1)?.ty().to_string(), "f64[2, 12]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn flatten(x: &Var, start: i64, end: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let dims = judged("flatten", &[x], |types| {
        let dims = types[0].dims();
        if dims.is_empty() {
            axis(start, 1)?;
            axis(end, 1)?;
            return Ok(vec![Dim::size(1)]);
        }
        let (first, last) = (axis(start, dims.len())?, axis(end, dims.len())?);
        if first > last {
            return Err(Error::argument(format!("axis {start} comes after axis {end}")));
        }
        let mut flat = dims[..first].to_vec();
        flat.push(count(&dims[first..=last])?);
        flat.extend_from_slice(&dims[last + 1..]);
        Ok(flat)
    })?;
    reshape(x, &dims)
}
