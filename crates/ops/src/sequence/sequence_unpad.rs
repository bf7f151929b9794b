//! `sequence_unpad`: the rows of padded sequences, one after another.

use super::rows::is_lengths;
use super::sequence_ranges::sequence_ranges;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{dim_size, expand, gather, iota, reshape};

/// The first `lengths[i]` rows of each sequence `i` of `x`, `[sequences, steps, ..]`, one sequence after
/// another. How many rows there are is known only when it runs.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0, 0.0], &[2, 2])?, Var::of(&[2i64, 1], &[2])?);
/// assert_eq!(sequence_unpad(&x, &lengths)?.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_unpad(x: &Var, lengths: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("sequence_unpad", &[x, lengths], |types| {
        is_lengths(&types[1])?;
        match types[0].rank() >= 2 && types[0].dim(0) == types[1].dim(0) {
            true => Ok(()),
            false => Err(Error::shape(format!(
                "expected [sequences, steps, ..] and a length for each sequence, found {} and {}",
                types[0], types[1]
            ))),
        }
    })?;
    let ty = x.ty();
    let (sequences, steps) = (ty.dim(0), ty.dim(1));
    let size = dim_size(steps, DType::I64)?;
    let starts = mul(&iota(sequences, DType::I64)?, &size)?;
    let limits = expand(&reshape(&size, &[Dim::size(1)])?, &[sequences])?;
    let (_, index) = sequence_ranges(&starts, &zeros_like(&starts)?, lengths, &limits, None)?;
    let mut dims = vec![sequences.mul(steps)?];
    dims.extend(&ty.dims()[2..]);
    gather(&reshape(x, &dims)?, &index, 0)
}
