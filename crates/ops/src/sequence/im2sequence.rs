//! `im2sequence`: the windows of each image as a sequence.

use crate::image::{UnfoldOptions, unfold};
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::shape::{PadOptions, pad};
use crate::{dim_size, expand, permute, reshape};

options! {
    /// How windows lie in images.
    pub struct Im2sequenceOptions {
        /// The distance between windows, on both axes.
        pub stride: PerAxis = 1.into(),
        /// Zeros above, left, below and right of an image; none if not given.
        pub padding: Vec<i64> = Vec::new(),
    }
}

/// The windows of each image, row by row, as a sequence: rows `[windows of all images, channels * kernel]` and
/// lengths, all of them equal. `x` is `[batch, channels, height, width]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 2, 2])?;
/// let options = Im2sequenceOptions::default();
/// let (rows, lengths) = im2sequence(&x, vec![1usize, 2].into(), options)?;
/// assert_eq!(rows.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(lengths.to_vec::<i64>()?, [2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn im2sequence(x: &Var, kernel: PerAxis, options: Im2sequenceOptions) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    judged("im2sequence", &[x], |types| match (types[0].rank(), options.padding.len()) {
        (4, 0 | 4) => Ok(()),
        (4, n) => Err(Error::argument(format!(
            "padding is given above, left, below and right, not by {n} numbers"
        ))),
        _ => Err(Error::shape(format!(
            "expected images [batch, channels, height, width], found {}",
            types[0]
        ))),
    })?;
    let padded = match options.padding[..] {
        [up, left, down, right] => pad(x, &[up, left], &[down, right], PadOptions::default())?,
        _ => x.clone(),
    };
    let columns = unfold(&padded, kernel, UnfoldOptions::default().stride(options.stride))?;
    let ty = columns.ty();
    let (batch, width, windows) = (ty.dim(0), ty.dim(1), ty.dim(2));
    let rows = reshape(&permute(&columns, &[0, 2, 1])?, &[batch.mul(windows)?, width])?;
    let length = reshape(&dim_size(windows, DType::I64)?, &[Dim::size(1)])?;
    Ok((rows, expand(&length, &[batch])?))
}
