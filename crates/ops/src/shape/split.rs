//! `split`, `chunk`, `unbind`: an axis in pieces, derived from `narrow`.

use super::derived::{judged, with_dim};
use super::{assume_dims, narrow, squeeze};
use crate::prelude::*;

/// An axis in pieces of these sizes, which must add up to its size. No copy. They may be symbols.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let parts = split(&x, &[1.into(), 2.into()], 0)?;
/// assert_eq!(parts[1].to_vec::<f64>()?, [2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn split(x: &Var, sizes: &[Dim], axis: i64) -> Result<Vec<Var>> {
    let _line = at(scope::user_line());
    let whole = judged("split", &[x], |types| {
        let along = crate::prelude::axis(axis, types[0].rank())?;
        let size = types[0].dim(along);
        let sum = sizes.iter().try_fold(Dim::size(0), |sum, &piece| sum.add(piece))?;
        match decisions::is_zero(Whole::from(size).sub(sum.into())?)? {
            Some(true) => Ok(types[0].dims().into()),
            Some(false) => {
                Err(Error::shape(format!("the sizes {sizes:?} do not add up to {size}")))
            }
            None => Ok(with_dim(types[0].dims(), along, sum)),
        }
    })?;
    // On an axis of unknown size, the run checks that the sizes add up.
    let x = if x.dims() == whole { x.clone() } else { assume_dims(x, &whole)? };
    pieces(&x, sizes, axis)
}

/// An axis in so many pieces, as equal as possible: all have the size of the first, but the last
/// may be smaller. Fewer, if there are not enough elements, but for none. No copy.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let parts = chunk(&x, 2, 0)?;
/// assert_eq!(parts[0].to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn chunk(x: &Var, count: usize, axis: i64) -> Result<Vec<Var>> {
    let _line = at(scope::user_line());
    let sizes = judged("chunk", &[x], |types| {
        let dim = types[0].dim(crate::prelude::axis(axis, types[0].rank())?);
        if count == 0 {
            return Err(Error::argument("there are no zero pieces"));
        }
        let piece = dim.floor_div(Dim::size(count))?;
        if dim.is_symbolic() && piece.mul(Dim::size(count))? == dim {
            return memory::filled(piece, few(count)?);
        }
        let Some(size) = known_or_example(dim)? else {
            return Err(Error::shape(format!("{dim} is not known to divide by {count}"))
                .remedy("give the axis a size, or one that is a multiple of the count"));
        };
        let piece = size.div_ceil(count);
        let pieces = if size == 0 { count } else { size.div_ceil(piece) };
        memory::collected((0..few(pieces)?).map(|i| Dim::size(piece.min(size - i * piece))))
    })?;
    pieces(x, &sizes, axis)
}

/// The slices of an axis, without that axis; its size must be known. No copy.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(unbind(&x, 1)?[0].to_vec::<f64>()?, [1.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn unbind(x: &Var, axis: i64) -> Result<Vec<Var>> {
    let _line = at(scope::user_line());
    let count = judged("unbind", &[x], |types| {
        let dim = types[0].dim(crate::prelude::axis(axis, types[0].rank())?);
        let count = known_or_example(dim)?.ok_or_else(|| {
            Error::shape(format!("the number of slices, {dim}, is not known"))
                .remedy("give the axis a size, or walk along it with `scan`")
        })?;
        few(count)
    })?;
    let slices = pieces(x, &memory::filled(Dim::size(1), count)?, axis)?;
    slices.iter().map(|slice| squeeze(slice, &[axis])).collect()
}

/// The most pieces of an axis: each is a value of its own.
const MAX_PIECES: usize = 1 << 24;

/// The number of pieces, if there can be so many.
fn few(count: usize) -> Result<usize> {
    match count <= MAX_PIECES {
        true => Ok(count),
        false => Err(Error::argument(format!("{count} pieces are more than {MAX_PIECES}"))
            .remedy("cut the axis into fewer, or walk along it with `scan`")),
    }
}

/// The size; that of the example, if the build has one.
fn known_or_example(size: Dim) -> Result<Option<usize>> {
    Ok(decisions::value(size.into())?.and_then(|size| usize::try_from(size).ok()))
}

fn pieces(x: &Var, sizes: &[Dim], axis: i64) -> Result<Vec<Var>> {
    let mut start = Dim::size(0);
    let watch = interrupt::Watch::start();
    let mut pieces = memory::reserved(sizes.len())?;
    for &size in sizes {
        watch.check()?;
        pieces.push(narrow(x, axis, start, size)?);
        start = start.add(size)?;
    }
    Ok(pieces)
}
