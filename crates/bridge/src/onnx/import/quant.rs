//! Quantised values: integers that stand for numbers by a scale and a zero point. Sums of products
//! are exact.

use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops as ops;

use super::arithmetic::cast_to;
use super::conv::conv;
use super::node::{Node, front};
use super::table::Entry;

pub const OPS: &[Entry] = &[
    Entry::one("ConvInteger", 10, |n| {
        let x = exact(&n.var(0)?, n.opt(2)?)?;
        let weight = n.var(1)?;
        let zero = n.opt(3)?.map(|zero| along(&zero, 0, weight.rank())).transpose()?;
        ops::cast(&conv(n, &x, &exact(&weight, zero)?, None)?, DType::I32)
    }),
    Entry::one("DequantizeLinear", 10, |n| {
        let (x, scale) = (n.var(0)?, n.var(1)?);
        let to = n.dtype("output_dtype")?.unwrap_or(scale.dtype());
        let wide = if to == DType::F64 { to } else { DType::F32 };
        let mut number = ops::cast(&x, wide)?;
        if let Some(zero) = n.opt(2)? {
            number = ops::sub(&number, &ops::cast(&spread(n, &zero, &x)?, wide)?)?;
        }
        ops::cast(&ops::mul(&number, &ops::cast(&spread(n, &scale, &x)?, wide)?)?, to)
    })
    .refuses("element types that we do not have"),
    Entry::many("DynamicQuantizeLinear", 11, |n| {
        let [q, scale, zero] = dynamic(&n.var(0)?)?;
        Ok(vec![q.into(), scale.into(), zero.into()])
    }),
    Entry::one("MatMulInteger", 10, |n| {
        let (a, b) = (n.var(0)?, n.var(1)?);
        // A zero point for each row stands beside the rows.
        let a_zero = match n.opt(2)? {
            Some(zero) if zero.rank() == 1 && a.rank() > 1 => Some(ops::unsqueeze(&zero, 1)?),
            zero => zero,
        };
        let product = ops::matmul(&exact(&a, a_zero)?, &exact(&b, n.opt(3)?)?)?;
        ops::cast(&product, DType::I32)
    }),
    Entry::one("QLinearConv", 10, |n| {
        let weight = n.var(3)?;
        let x = exact(&n.var(0)?, n.opt(2)?)?;
        let zero = along(&n.var(5)?, 0, weight.rank())?;
        let mut sums = conv(n, &x, &exact(&weight, Some(zero))?, None)?;
        if let Some(bias) = n.opt(8)? {
            let bias = along(&ops::cast(&bias, DType::F64)?, 1, sums.rank())?;
            sums = ops::add(&sums, &bias)?;
        }
        let scale = ops::mul(&n.var(1)?, &along(&n.var(4)?, 1, sums.rank())?)?;
        requantized(&sums, &ops::div(&scale, &n.var(6)?)?, &n.var(7)?)
    }),
    Entry::one("QLinearMatMul", 10, |n| {
        let row = |x: Var, of: &Var| match x.rank() {
            1 if of.rank() > 1 && x.dims()[0] != Dim::size(1) => ops::unsqueeze(&x, 1),
            _ => Ok(x),
        };
        let (a, b) = (n.var(0)?, n.var(3)?);
        let (a_scale, a_zero) = (row(n.var(1)?, &a)?, row(n.var(2)?, &a)?);
        let product = ops::matmul(&exact(&a, Some(a_zero))?, &exact(&b, n.opt(5)?)?)?;
        let scale = ops::div(&ops::mul(&a_scale, &n.var(4)?)?, &n.var(6)?)?;
        requantized(&product, &scale, &n.var(7)?)
    }),
    Entry::one("QuantizeLinear", 10, |n| {
        let (x, scale) = (n.var(0)?, n.var(1)?);
        let zero = n.opt(2)?;
        let to = match (&zero, n.dtype("output_dtype")?) {
            (Some(zero), _) => zero.dtype(),
            (None, Some(dtype)) => dtype,
            (None, None) => DType::U8,
        };
        let wide = DType::F32;
        let spread_scale = ops::cast(&spread(n, &scale, &x)?, wide)?;
        let parts = ops::div(&ops::cast(&x, wide)?, &spread_scale)?;
        if to.is_stored() {
            return cast_to(&parts, to, n.flag("saturate", true));
        }
        let parts = ops::round(&parts)?;
        let zero = match zero {
            Some(zero) => ops::cast(&spread(n, &zero, &x)?, wide)?,
            None => parts.literal(0.0),
        };
        saturated(&ops::add(&parts, &zero)?, to)
    })
    .refuses("element types that we do not have"),
];

/// Integers less their zero point, as doubles, in which sums of products are exact.
pub fn exact(x: &Var, zero: Option<Var>) -> Result<Var> {
    let wide = ops::cast(x, DType::F64)?;
    match zero {
        Some(zero) => ops::sub(&wide, &ops::cast(&zero, DType::F64)?),
        None => Ok(wide),
    }
}

/// One number, or one for each element of an axis, so that it broadcasts.
fn along(x: &Var, axis: usize, rank: usize) -> Result<Var> {
    if x.rank() != 1 {
        return Ok(x.clone());
    }
    let mut dims = vec![Dim::size(1); rank];
    dims[axis] = x.dims()[0];
    match x.dims()[0] == Dim::size(1) {
        true => ops::reshape(x, &[]),
        false => ops::reshape(x, &dims),
    }
}

/// Scales or zero points: one, one for each element of an axis, or one for each block.
fn spread(n: &Node<'_>, part: &Var, x: &Var) -> Result<Var> {
    let axis = n.int("axis", 1);
    let block = usize::try_from(n.int("block_size", 0)).unwrap_or(0);
    if block > 0 && part.rank() == x.rank() {
        let axis = front(axis, x.rank())?;
        let wide = ops::repeat_interleave(part, block, axis as i64)?;
        return match wide.dims()[axis] == x.dims()[axis] {
            true => Ok(wide),
            false => ops::narrow(&wide, axis as i64, Dim::size(0), x.dims()[axis]),
        };
    }
    match part.rank() {
        1 if x.rank() > 0 && part.dims()[0] != Dim::size(1) => {
            along(part, front(axis, x.rank())?, x.rank())
        }
        1 => ops::reshape(part, &[]),
        _ => Ok(part.clone()),
    }
}

/// The nearest integers of a type; what is beyond its ends becomes them.
fn saturated(x: &Var, to: DType) -> Result<Var> {
    let (low, high) = match to.range() {
        Some((least, most)) if to.size() <= 2 => (least as f64, most as f64),
        _ => return Err(fluvial_core::Error::dtype(format!("quantised values are no {to}"))),
    };
    let kept = ops::clip(x, Some(low), Some(high))?;
    ops::cast(&ops::cast(&kept, DType::I32)?, to)
}

fn requantized(sums: &Var, scale: &Var, zero: &Var) -> Result<Var> {
    let numbers = ops::mul(&ops::cast(sums, DType::F64)?, &ops::cast(scale, DType::F64)?)?;
    let parts = ops::round(&numbers)?;
    saturated(&ops::add(&parts, &ops::cast(zero, DType::F64)?)?, zero.dtype())
}

/// Eight bits for the range of the elements, with zero in it; the scale, and the zero point.
pub fn dynamic(x: &Var) -> Result<[Var; 3]> {
    let zero = x.literal(0.0);
    let low = ops::minimum(&ops::min(x, &[], false)?, &zero)?;
    let high = ops::maximum(&ops::max(x, &[], false)?, &zero)?;
    let scale = (&ops::sub(&high, &low)? / 255.0).check()?;
    let is_flat = ops::eq(&scale, &zero)?;
    let divisor = ops::where_(&is_flat, &x.literal(1.0), &scale)?;
    let place =
        ops::clip(&ops::round(&ops::div(&ops::neg(&low)?, &divisor)?)?, Some(0.0), Some(255.0))?;
    let parts = ops::add(&ops::round(&ops::div(x, &divisor)?)?, &place)?;
    Ok([saturated(&parts, DType::U8)?, scale, saturated(&place, DType::U8)?])
}
