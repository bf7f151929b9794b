//! `unsqueeze`: a new axis of size one, derived from `reshape`.

use super::derived::judged;
use super::reshape;
use crate::prelude::*;

/// A new axis of size one before the axis of that number; counted from the back, -1 is the end.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2])?;
/// assert_eq!(unsqueeze(&x, 0)?.ty().to_string(), "f64[1, 2]");
/// assert_eq!(unsqueeze(&x, -1)?.ty().to_string(), "f64[2, 1]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn unsqueeze(x: &Var, axis: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let dims = judged("unsqueeze", &[x], |types| {
        let mut dims = types[0].dims().to_vec();
        dims.insert(crate::prelude::axis(axis, dims.len() + 1)?, Dim::size(1));
        Ok(dims)
    })?;
    reshape(x, &dims)
}
