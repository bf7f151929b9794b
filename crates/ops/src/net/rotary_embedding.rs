//! `rotary_embedding`: positions as rotations of pairs.

use crate::prelude::*;
use crate::shape::derived::judged;
use crate::shape::{concat, narrow, reshape};
use crate::{cos, iota, sin};

/// Rotates pairs of the last axis of `x`, which is `[.., len, width]`, by the angles whose `cos` and `sin`
/// are given, `[len, n]` as [`rotary_tables`] makes them, or anything that broadcasts against
/// `[.., len, n]`.
///
/// Element `i` makes a pair with element `i + n`, or with its neighbour if `interleaved` (then the pairs
/// are 0 and 1, 2 and 3, …). If `2 n` is less than the width, the rest passes unchanged.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 0.0, 1.0, 0.0], &[2, 2])?;
/// let (cos, sin) = rotary_tables(Dim::size(2), 2, 10000.0, DType::F64)?;
/// let y = rotary_embedding(&x, &cos, &sin, false)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 0.0, 1f64.cos(), 1f64.sin()]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rotary_embedding(x: &Var, cos: &Var, sin: &Var, interleaved: bool) -> Result<Var> {
    let _line = at(scope::user_line());
    let (pairs, width) = judged("rotary_embedding", &[x, cos, sin], |ty| {
        if ty.iter().any(|ty| !ty.is_float() || ty.rank() == 0) {
            return Err(Error::dtype("input, cosines and sines are floats with axes"));
        }
        let last = |ty: &Type| ty.dim(ty.rank() - 1);
        let (width, pairs) = (last(&ty[0]), last(&ty[1]));
        match (pairs.value(), width.value()) {
            _ if ty[1].dims() != ty[2].dims() => {
                Err(Error::shape("cosines and sines differ in their sizes"))
            }
            (Some(pairs), Some(width)) if pairs <= width / 2 => Ok((pairs, width)),
            _ => Err(Error::shape(format!("{pairs} pairs do not fit a width of {width}"))
                .remedy("the tables have half as many columns as the input")),
        }
    })?;
    let part = |start: usize, len: usize| narrow(x, -1, Dim::size(start), Dim::size(len));
    let rotated = match interleaved {
        false => {
            let (a, b) = (part(0, pairs)?, part(pairs, pairs)?);
            let (a, b) = (&a * cos - &b * sin, &b * cos + &a * sin);
            concat(&[&a, &b], -1)?
        }
        true => {
            let (a, b) = unzip(&part(0, 2 * pairs)?, pairs)?;
            zip(&(&a * cos - &b * sin), &(&b * cos + &a * sin))?
        }
    };
    match width - 2 * pairs {
        0 => Ok(rotated),
        rest => concat(&[&rotated, &part(2 * pairs, rest)?], -1),
    }
}

/// The elements at even and at odd places of the last axis.
fn unzip(x: &Var, pairs: usize) -> Result<(Var, Var)> {
    let mut dims = x.dims();
    let last = dims.len() - 1;
    dims[last] = Dim::size(pairs);
    let half = dims.clone();
    dims.push(Dim::size(2));
    let paired = reshape(x, &dims)?;
    let side = |i| reshape(&narrow(&paired, -1, Dim::size(i), Dim::size(1))?, &half);
    Ok((side(0)?, side(1)?))
}

/// The inverse of [`unzip`].
fn zip(a: &Var, b: &Var) -> Result<Var> {
    let (a, b) = (a.clone().check()?, b.clone().check()?);
    let mut dims = a.dims();
    dims.push(Dim::size(1));
    let paired = concat(&[&reshape(&a, &dims)?, &reshape(&b, &dims)?], -1)?;
    dims.pop();
    let last = dims.len() - 1;
    dims[last] = dims[last].mul(Dim::size(2))?;
    reshape(&paired, &dims)
}

/// Cosines and sines for [`rotary_embedding`], each `[len, dim / 2]`: the angle of pair `i` at position `t`
/// is `t / base^(2 i / dim)`. Half floats are computed in `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (cos, sin) = rotary_tables(Dim::size(3), 4, 10000.0, DType::F64)?;
/// assert_eq!(cos.ty().to_string(), "f64[3, 2]");
/// assert_eq!(sin.to_vec::<f64>()?[2], 1f64.sin());
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rotary_tables(len: Dim, dim: usize, base: f64, dtype: DType) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    judged("rotary_tables", &[], |_| {
        if dim % 2 == 1 || !dtype.is_float() {
            return Err(Error::argument(format!("no pairs of {dtype} for a width of {dim}"))
                .remedy("the width is even and the element type a float"));
        }
        match base > 0.0 {
            true => Ok(()),
            false => Err(Error::argument(format!("the base is {base}, but must be positive"))),
        }
    })?;
    let speed = |i: usize| base.powf(-2.0 * i as f64 / dim as f64);
    let speeds = memory::collected((0..dim / 2).map(speed))?;
    let speeds = constant(Tensor::from_f64s(dtype.compute(), &speeds, &[dim / 2])?)?;
    let times = reshape(&iota(len, dtype.compute())?, &[len, Dim::size(1)])?;
    let angles = mul(&times, &speeds)?;
    Ok((cast(&cos(&angles)?, dtype)?, cast(&sin(&angles)?, dtype)?))
}
