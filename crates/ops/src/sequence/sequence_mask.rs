//! `sequence_mask`: which places of padded sequences hold rows.

use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{concat, iota, lt, max, of_size, reshape};

options! {
    /// The form of a mask.
    pub struct SequenceMaskOptions {
        /// How many places there are; as many as the greatest length if not given.
        pub steps: Option<usize> = None,
        /// The element type.
        pub dtype: Option<DType> = None,
    }
}

/// For each length, which of the places `0, 1, ..` lie before it: `[.., steps]`, bools if no element type is
/// given.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let mask = sequence_mask(&Var::of(&[2i64, 1], &[2])?, SequenceMaskOptions::default())?;
/// assert_eq!(mask.to_vec::<bool>()?, [true, true, true, false]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_mask(lengths: &Var, options: SequenceMaskOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    let mut dims = judged("sequence_mask", &[lengths], |types| match types[0].dtype().is_int() {
        true => Ok(types[0].dims().to_vec()),
        false => Err(Error::dtype(format!("lengths are integers, found {}", types[0]))),
    })?;
    let lengths = cast(lengths, DType::I64)?;
    let steps = match options.steps {
        Some(steps) => Dim::size(steps),
        None => {
            let all = reshape(&lengths, &[Dim::REST])?;
            // Without sequences the greatest length is zero.
            let all = concat(&[&all, &Var::of(&[0i64], &[1])?], 0)?;
            of_size(&max(&all, &[0], false)?)?.ty().dim(0)
        }
    };
    dims.push(Dim::size(1));
    let mask = lt(&iota(steps, DType::I64)?, &reshape(&lengths, &dims)?)?;
    match options.dtype {
        Some(dtype) => cast(&mask, dtype),
        None => Ok(mask),
    }
}
