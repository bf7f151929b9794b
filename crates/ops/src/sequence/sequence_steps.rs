//! `sequence_steps` and `sequence_rows`: sequences by time, for loops over their steps, and back.

use super::rows::Rows;
use super::sequence_pad_index::sequence_pad_index;
use super::sequence_reverse;
use crate::control::scan;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{dim_size, gather, lt, permute, reshape, where_};

/// The rows of all sequences by time, `[steps, sequences, ..]`, for a loop over the steps: slice `t` holds row
/// `t` of each sequence; behind the end of a sequence its last row is repeated. If `reverse`, time runs from
/// the last row of each sequence to its first.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// assert_eq!(sequence_steps(&x, &lengths, false)?.to_vec::<f64>()?, [1.0, 3.0, 2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_steps(x: &Var, lengths: &Var, reverse: bool) -> Result<Var> {
    let _line = at(scope::user_line());
    Rows::of("sequence_steps", x, lengths)?;
    let index = sequence_pad_index(lengths, x.ty().dim(0), None, true)?;
    let x = if reverse { sequence_reverse(x, lengths)? } else { x.clone() };
    gather(&x, &permute(&index, &[1, 0])?, 0)
}

/// The inverse of [`sequence_steps`]: the rows of the sequences, one after another, of `steps`,
/// `[steps, sequences, ..]`. `like` has as many rows, with the same `lengths`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let steps = sequence_steps(&x, &lengths, true)?;
/// assert_eq!(sequence_rows(&steps, &x, &lengths, true)?.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_rows(steps: &Var, like: &Var, lengths: &Var, reverse: bool) -> Result<Var> {
    let _line = at(scope::user_line());
    let rows = Rows::of("sequence_rows", like, lengths)?;
    let mut dims = judged("sequence_rows", &[steps, lengths], |types| {
        match types[0].rank() >= 2 && types[0].dim(1) == types[1].dim(0) {
            true => Ok(types[0].dims()[1..].to_vec()),
            false => Err(Error::shape(format!(
                "expected [steps, sequences, ..] and a length for each sequence, found {} and {}",
                types[0], types[1]
            ))),
        }
    })?;
    dims[0] = dims[0].mul(steps.ty().dim(0))?;
    let sequences = dim_size(rows.sequences, DType::I64)?;
    let index = mul(&rows.positions, &sequences)? + &rows.ids;
    let found = gather(&reshape(steps, &dims)?, &index, 0)?;
    if reverse { sequence_reverse(&found, lengths) } else { Ok(found) }
}

/// Goes through the steps of all sequences at once, as [`scan`] goes through slices. `xs` are rows `[rows, ..]`
/// with the same `lengths`; `step` takes the carried values, `[sequences, ..]`, and one row of each sequence,
/// and returns the next carried values and what becomes a row of the results. Where a sequence has ended,
/// its carried values stay. Returns the last carried values and the rows of the results.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// // Running sums of each sequence.
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let zero = Var::of(&[0.0; 2], &[2])?;
/// let (last, sums) = sequence_scan(&[&zero], &[&x], &lengths, false, |carried, x| {
///     let sum = &carried[0] + &x[0];
///     Ok((vec![sum.clone()], vec![sum]))
/// })?;
/// assert_eq!(last[0].to_vec::<f64>()?, [3.0, 3.0]);
/// assert_eq!(sums[0].to_vec::<f64>()?, [1.0, 3.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_scan(
    init: &[&Var],
    xs: &[&Var],
    lengths: &Var,
    reverse: bool,
    step: impl Fn(&[Var], &[Var]) -> Result<(Vec<Var>, Vec<Var>)>,
) -> Result<(Vec<Var>, Vec<Var>)> {
    let loc = scope::user_line();
    let _line = at(loc);
    let Some(like) = xs.first() else {
        return Err(Error::argument("there are no sequences to go through")
            .remedy("pass the rows of at least one in `xs`")
            .in_op("sequence_scan", &[])
            .at(loc));
    };
    // All go by the same index, so that all have the same number of steps.
    Rows::of("sequence_scan", like, lengths)?;
    let count = like.ty().dim(0);
    let index = permute(&sequence_pad_index(lengths, count, None, true)?, &[1, 0])?;
    let slices = xs.iter().map(|x| {
        let x = if reverse { sequence_reverse(x, lengths)? } else { (*x).clone() };
        gather(&x, &index, 0)
    });
    let slices = slices.collect::<Result<Vec<_>>>()?;
    let time = Var::scalar(0i64);
    let carried: Vec<&Var> = [&time].into_iter().chain(init.iter().copied()).collect();
    let (last, outs) = scan(&carried, &slices.iter().collect::<Vec<_>>(), |carried, slices| {
        let (next, outs) = step(&carried[1..], slices)?;
        let runs = lt(&carried[0], lengths)?;
        let mut all = vec![add(&carried[0], &Var::scalar(1i64))?];
        for (new, old) in next.iter().zip(&carried[1..]) {
            let mut dims = runs.dims();
            dims.resize(new.ty().rank().max(1), Dim::size(1));
            all.push(where_(&reshape(&runs, &dims)?, new, old)?);
        }
        Ok((all, outs))
    })?;
    let rows = outs.iter().map(|out| sequence_rows(out, like, lengths, reverse));
    Ok((last[1..].to_vec(), rows.collect::<Result<_>>()?))
}
