//! Elements chosen along an axis, which turns positions into values.

use crate::create::arange::iota;
use crate::index::gather;
use crate::prelude::*;
use crate::shape::{permute, reshape};

/// The elements of `x` at positions along an axis; `index` has the shape of `x` but for that axis.
#[track_caller]
pub(crate) fn take_along(x: &Var, index: &Var, along: i64) -> Result<Var> {
    let rank = x.rank();
    let at = axis(along, rank)?;
    // The axis goes last, so that each lane starts at a multiple of its size.
    let order: Vec<i64> = (0..rank).filter(|&i| i != at).chain([at]).map(|i| i as i64).collect();
    let mut inverse = vec![0; rank];
    order.iter().enumerate().for_each(|(i, &axis)| inverse[axis as usize] = i as i64);
    let (x, index) = (permute(x, &order)?, permute(index, &order)?);
    let (dims, taken) = (x.dims(), index.dims());
    let size = dims[rank - 1];
    let lanes = dims[..rank - 1].iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim))?;
    let starts = iota(lanes, DType::I64)? * cast(&crate::dim_size(size, DType::I64)?, DType::I64)?;
    let numbers =
        reshape(&index, &[lanes, taken[rank - 1]])? + reshape(&starts, &[lanes, Dim::size(1)])?;
    let flat = reshape(&x, &[lanes.mul(size)?])?;
    permute(&reshape(&gather(&flat, &numbers, 0)?, &taken)?, &inverse)
}
