//! `tensordot`: the product of tensors, summed over chosen axes.

use super::matmul;
use crate::prelude::*;
use crate::{permute, reshape};

/// The products of `a` and `b`, summed over pairs of axes: `a_axes[i]` of `a` with `b_axes[i]` of
/// `b`. The result has the other axes of `a` and then those of `b`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let a = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(tensordot(&a, &a, &[0, 1], &[0, 1])?.item::<f64>()?, 30.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn tensordot(a: &Var, b: &Var, a_axes: &[i64], b_axes: &[i64]) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let (a, b) = (a.clone().check()?, b.clone().check()?);
    let (left, right) = (a.ty(), b.ty());
    let fault = |error: Error| error.in_op("tensordot", &[&left, &right]).at(loc);
    let (summed, others) = split(&left, a_axes).map_err(fault)?;
    let (with, others_of_b) = split(&right, b_axes).map_err(fault)?;
    let (sizes, sizes_of_b) = (sizes(&left, &summed), sizes(&right, &with));
    if sizes != sizes_of_b {
        return Err(fault(Error::shape(format!(
            "the axes to sum over have sizes {sizes:?} and {sizes_of_b:?}"
        ))));
    }
    let count = |dims: &[Dim]| dims.iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim));
    let (rows, columns) = (self::sizes(&left, &others), self::sizes(&right, &others_of_b));
    let (m, k, n) = (count(&rows)?, count(&sizes)?, count(&columns)?);
    let order = |axes: [&[usize]; 2]| axes.concat().iter().map(|&i| i as i64).collect::<Vec<_>>();
    let a = reshape(&permute(&a, &order([&others, &summed]))?, &[m, k])?;
    let b = reshape(&permute(&b, &order([&with, &others_of_b]))?, &[k, n])?;
    reshape(&matmul(&a, &b)?, &[rows, columns].concat())
}

/// The named axes, and the others.
fn split(ty: &Type, axes: &[i64]) -> Result<(Vec<usize>, Vec<usize>)> {
    if ty.is_list() {
        return Err(Error::dtype("a list has no axes"));
    }
    let mut named = Vec::new();
    for &i in axes {
        let found = axis(i, ty.rank())?;
        if named.contains(&found) {
            return Err(Error::argument(format!("axis {i} is named twice")));
        }
        named.push(found);
    }
    let others = (0..ty.rank()).filter(|i| !named.contains(i)).collect();
    Ok((named, others))
}

fn sizes(ty: &Type, axes: &[usize]) -> Vec<Dim> {
    axes.iter().map(|&axis| ty.dim(axis)).collect()
}
