//! `pixel_shuffle` and `pixel_unshuffle`: channels spread over pixels, and back.

use crate::prelude::*;
use crate::shape::{permute, reshape};

/// Spreads channels over finer pixels, as PyTorch's `pixel_shuffle`: `[.., channels * factor², h, w]`
/// becomes `[.., channels, h * factor, w * factor]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[1, 4, 1, 1])?;
/// let y = pixel_shuffle(&x, 2)?;
/// assert_eq!(y.dims().as_slice(), [1, 1, 2, 2].map(Dim::size));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pixel_shuffle(x: &Var, factor: usize) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let shuffled = || {
        let (leading, [channels, height, width]) = split(&ty, factor)?;
        let by = Dim::size(factor);
        let kept = divided("channels", channels, by.mul(by)?)?;
        let apart: Vec<Dim> = [leading, &[kept, by, by, height, width]].concat();
        let x = permute(&reshape(x, &apart)?, &axes(leading.len(), &[0, 3, 1, 4, 2]))?;
        reshape(&x, &[leading, &[kept, height.mul(by)?, width.mul(by)?]].concat())
    };
    shuffled().map_err(|error| error.in_op("pixel_shuffle", &[&ty]).at(loc))
}

/// Gathers pixels into channels, as PyTorch's `pixel_unshuffle`: `[.., channels, h * factor, w *
/// factor]` becomes `[.., channels * factor², h, w]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 2, 2])?;
/// let y = pixel_unshuffle(&x, 2)?;
/// assert_eq!(y.dims().as_slice(), [1, 4, 1, 1].map(Dim::size));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pixel_unshuffle(x: &Var, factor: usize) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let shuffled = || {
        let (leading, [channels, height, width]) = split(&ty, factor)?;
        let by = Dim::size(factor);
        let (height, width) = (divided("rows", height, by)?, divided("columns", width, by)?);
        let apart: Vec<Dim> = [leading, &[channels, height, by, width, by]].concat();
        let x = permute(&reshape(x, &apart)?, &axes(leading.len(), &[0, 2, 4, 1, 3]))?;
        reshape(&x, &[leading, &[channels.mul(by)?.mul(by)?, height, width]].concat())
    };
    shuffled().map_err(|error| error.in_op("pixel_unshuffle", &[&ty]).at(loc))
}

/// The dims in front, and the last three.
fn split(x: &Type, factor: usize) -> Result<(&[Dim], [Dim; 3])> {
    if factor == 0 {
        return Err(Error::argument("the factor is 0").remedy("use at least 1"));
    }
    match x.dims() {
        &[ref leading @ .., channels, height, width] if !x.is_list() => {
            Ok((leading, [channels, height, width]))
        }
        _ => Err(Error::shape(format!("the input is {x}, expected [.., channels, height, width]"))),
    }
}

/// The size divided by what must divide it.
fn divided(what: &str, size: Dim, by: Dim) -> Result<Dim> {
    let part = size.floor_div(by)?;
    match part.mul(by)? == size {
        true => Ok(part),
        false => Err(Error::shape(format!("{size} {what} are not divisible by {by}"))
            .remedy("use another factor")),
    }
}

/// The axes in front as they are, and then these.
fn axes(leading: usize, last: &[usize]) -> Vec<i64> {
    (0..leading).chain(last.iter().map(|axis| leading + axis)).map(|axis| axis as i64).collect()
}
