//! `tile` and `repeat_interleave`: repetition, derived from `expand`, `reshape` and `gather`.

use super::derived::judged;
use super::{reshape, unsqueeze};
use crate::index::{gather, repeat_index};
use crate::prelude::*;

/// The whole repeated so often along each axis. If fewer numbers than axes are given, they are for
/// the last axes; if more, new axes come in front. They may be symbols.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2])?;
/// assert_eq!(tile(&x, &[2.into()])?.to_vec::<f64>()?, [1.0, 2.0, 1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn tile(x: &Var, repeats: &[Dim]) -> Result<Var> {
    let _line = at(scope::user_line());
    // Each axis of size `n` becomes `1, n`, then `repeats, n`, then `repeats * n`.
    let (apart, wide, joined) = judged("tile", &[x], |types| {
        let own = types[0].dims();
        let rank = own.len().max(repeats.len());
        let (mut apart, mut wide, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        for axis in 0..rank {
            let size = match (axis + own.len()).checked_sub(rank) {
                Some(i) => own[i],
                None => Dim::size(1),
            };
            let repeat = match (axis + repeats.len()).checked_sub(rank) {
                Some(i) => repeats[i],
                None => Dim::size(1),
            };
            joined.push(repeat.mul(size)?);
            // Axes that are not repeated stay as they are: tensors have few axes.
            if repeat != Dim::size(1) {
                apart.push(Dim::size(1));
                wide.push(repeat);
            }
            apart.push(size);
            wide.push(size);
        }
        Ok((apart, wide, joined))
    })?;
    reshape(&expand(&reshape(x, &apart)?, &wide)?, &joined)
}

/// Each slice of an axis repeated so often, one after another: `a, b` becomes `a, a, b, b`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2])?;
/// assert_eq!(repeat_interleave(&x, 2, 0)?.to_vec::<f64>()?, [1.0, 1.0, 2.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn repeat_interleave(x: &Var, repeats: usize, axis: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let (along, wide, joined) = judged("repeat_interleave", &[x], |types| {
        let along = crate::prelude::axis(axis, types[0].rank())?;
        let mut wide = types[0].dims().to_vec();
        wide.insert(along + 1, Dim::size(repeats));
        let mut joined = types[0].dims().to_vec();
        joined[along] = joined[along].mul(Dim::size(repeats))?;
        Ok((along as i64, wide, joined))
    })?;
    reshape(&expand(&unsqueeze(x, along + 1)?, &wide)?, &joined)
}

/// Slice `i` of an axis repeated as often as `counts[i]` says. The size of the result is known only
/// when it is computed.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let y = repeat_interleave_counts(&x, &Var::of(&[2i64, 0, 1], &[3])?, 0)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 1.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn repeat_interleave_counts(x: &Var, counts: &Var, axis: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("repeat_interleave_counts", &[x, counts], |types| {
        let size = types[0].dim(crate::prelude::axis(axis, types[0].rank())?);
        match types[1].dims() {
            [n] if *n == size => Ok(()),
            _ => Err(Error::shape(format!("{} is not one count for each of {size}", types[1]))),
        }
    })?;
    gather(x, &repeat_index(counts)?, axis)
}
