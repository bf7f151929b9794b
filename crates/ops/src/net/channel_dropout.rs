//! `dropout1d`, `dropout2d`, `dropout3d`: whole channels set to zero at random.

use crate::prelude::*;
use crate::random::dropout;
use crate::shape::derived::judged;

/// Sets whole channels to zero with probability `p`, and divides the others by `1 - p`; `x` is
/// `[batch, channels, length]` or `[channels, length]`. In a program made
/// [`for_inference`](fluvial_core::Program::for_inference) it passes its input on.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let y = dropout1d(&Var::of(&[1.0; 4], &[2, 2])?, 0.5)?.to_vec::<f64>()?;
/// assert!(y[0] == y[1] && y[2] == y[3]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dropout1d(x: &Var, p: f64) -> Result<Var> {
    channels("dropout1d", x, p, &[3], &[2])
}

/// Sets whole channels to zero with probability `p`, and divides the others by `1 - p`; `x` is
/// `[batch, channels, height, width]` or `[batch, channels, length]`, as in PyTorch.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let y = dropout2d(&Var::of(&[1.0; 4], &[1, 1, 2, 2])?, 0.5)?.to_vec::<f64>()?;
/// assert!(y == [0.0; 4] || y == [2.0; 4]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dropout2d(x: &Var, p: f64) -> Result<Var> {
    channels("dropout2d", x, p, &[4, 3], &[])
}

/// Sets whole channels to zero with probability `p`, and divides the others by `1 - p`; `x` is
/// `[batch, channels, depth, height, width]` or the same without batch.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let y = dropout3d(&Var::of(&[1.0; 8], &[1, 2, 2, 2])?, 0.5)?.to_vec::<f64>()?;
/// assert!(y == [0.0; 8] || y == [2.0; 8]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dropout3d(x: &Var, p: f64) -> Result<Var> {
    channels("dropout3d", x, p, &[5], &[4])
}

/// Drops channels: with these ranks a value has a batch axis before them, with those it has none.
#[track_caller]
fn channels(name: &str, x: &Var, p: f64, batched: &[usize], single: &[usize]) -> Result<Var> {
    let _line = at(scope::user_line());
    let ty = judged(name, &[x], |ty| is_droppable(&ty[0], p).map(|()| ty[0]))?;
    let axes = match ty.rank() {
        rank if batched.contains(&rank) => 2,
        rank if single.contains(&rank) => 1,
        rank => {
            let mut known = [batched, single].concat();
            known.sort_unstable();
            let known: Vec<String> = known.iter().map(usize::to_string).collect();
            return judged(name, &[x], |_| {
                Err(Error::shape(format!("{rank} axes were given"))
                    .remedy(format!("give {}, the channels before the others", known.join(" or "))))
            });
        }
    };
    let mask = dropout(&fill(1.0, &mask_type(&ty, axes)?)?, p)?;
    mul(x, &mask)
}

/// The type of a mask with one number for each place along the first axes.
pub(super) fn mask_type(x: &Type, axes: usize) -> Result<Type> {
    let mut dims: SmallVec<[Dim; 8]> = smallvec![Dim::size(1); x.rank()];
    dims[..axes].copy_from_slice(&x.dims()[..axes]);
    x.with_dims(&dims)
}

/// Refuses what cannot be dropped, and what is not a probability.
pub(super) fn is_droppable(x: &Type, p: f64) -> Result<()> {
    if !x.is_float() || x.is_list() {
        return Err(Error::dtype(format!("a tensor of floats is dropped, found {x}")));
    }
    match (0.0..=1.0).contains(&p) {
        true => Ok(()),
        false => Err(Error::argument(format!("{p} is not a probability"))),
    }
}
