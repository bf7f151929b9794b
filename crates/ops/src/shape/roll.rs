//! `roll`: axes turned around, derived from `narrow` and `concat`.

use super::derived::{distinct_axes, judged};
use super::{concat, flatten, narrow, reshape};
use crate::prelude::*;

/// Elements moved by `shifts[i]` places along `axes[i]`; what leaves at the end comes in at the
/// start. Without axes, by one shift in row-major order. Shifts may depend on sizes.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// assert_eq!(roll(&x, &[1.into()], &[0])?.to_vec::<f64>()?, [3.0, 1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn roll(x: &Var, shifts: &[Whole], axes: &[i64]) -> Result<Var> {
    let _line = at(scope::user_line());
    let axes = judged("roll", &[x], |types| {
        let expected = axes.len().max(1);
        match shifts.len() == expected {
            true => distinct_axes(axes, types[0].rank()),
            false => {
                let given = shifts.len();
                Err(Error::argument(format!("{given} shifts were given for {expected} axes")))
            }
        }
    })?;
    if axes.is_empty() {
        let rolled = rolled(&flatten(x, 0, -1)?, shifts[0], 0)?;
        return reshape(&rolled, &x.dims());
    }
    axes.iter().zip(shifts).try_fold(x.clone(), |x, (&axis, &shift)| rolled(&x, shift, axis))
}

fn rolled(x: &Var, shift: Whole, axis: usize) -> Result<Var> {
    let size = x.dims()[axis];
    if size == Dim::size(0) {
        return Ok(x.clone());
    }
    let distance = shift.remainder(size.into())?;
    if distance == Whole::Number(0) {
        return Ok(x.clone());
    }
    let (along, distance) = (axis as i64, distance.dim()?);
    let kept = size.sub(distance)?;
    let front = narrow(x, along, kept, distance)?;
    concat(&[&front, &narrow(x, along, Dim::size(0), kept)?], along)
}
