//! Quantised values: integers that stand for numbers by a scale and a zero point. Sums of products
//! are exact.

use fluvial_core::{DType, Dim, Result, Tensor, Var, bind, bind1};
use fluvial_ops as ops;
use fluvial_ops::quant::{ConvInteger, DynamicQuantizeLinear, MatmulInteger, QuantizeLinear};

use super::arithmetic::cast_to;
use super::conv::{conv, windows};
use super::node::{Node, front};
use super::table::Entry;
use super::window::Windows;

pub const OPS: &[Entry] = &[
    Entry::one("ConvInteger", 10, |n| {
        let sums = conv_sums(n, &n.var(0)?, &n.var(1)?, n.opt(2)?, n.opt(3)?)?;
        ops::cast(&sums, DType::I32)
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
        let sums = matmul_sums(&n.var(0)?, &n.var(1)?, n.opt(2)?, n.opt(3)?)?;
        ops::cast(&sums, DType::I32)
    }),
    Entry::one("QLinearConv", 10, |n| {
        let sums = conv_sums(n, &n.var(0)?, &n.var(3)?, n.opt(2)?, Some(n.var(5)?))?;
        let mut sums = ops::cast(&sums, DType::F64)?;
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
        let a_scale = row(n.var(1)?, &a)?;
        let product = matmul_sums(&a, &b, Some(n.var(2)?), n.opt(5)?)?;
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
        if let Some(zero) = &zero
            && matches!(to, DType::U8 | DType::I8)
            && is_one(&scale)
            && is_one(zero)
        {
            let scale = ops::cast(&ops::reshape(&scale, &[])?, DType::F32)?;
            return bind1(QuantizeLinear {}, &[&x, &scale, &ops::reshape(zero, &[])?]);
        }
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

/// Whether this is one number.
fn is_one(x: &Var) -> bool {
    x.dims().iter().all(|&dim| dim == Dim::size(1))
}

/// A zero point without axes, or of one axis; 0 if there is none.
fn zero_point(zero: Option<Var>, of: &Var) -> Result<Var> {
    match zero {
        None => Ok(Var::new(Tensor::zeros(of.dtype(), &[])?)),
        Some(zero) if is_one(&zero) => ops::reshape(&zero, &[]),
        Some(zero) => Ok(zero),
    }
}

fn is_eight_bits(x: &Var) -> bool {
    matches!(x.dtype(), DType::U8 | DType::I8)
}

/// The products of integers less their zero points: one for all rows or for each, and one for all columns or for each.
pub fn matmul_sums(a: &Var, b: &Var, a_zero: Option<Var>, b_zero: Option<Var>) -> Result<Var> {
    let (a_zero, b_zero) = (zero_point(a_zero, a)?, zero_point(b_zero, b)?);
    let fits = a.rank() > 0
        && b.rank() == 2
        && (a_zero.rank() == 0 || a.rank() == 2 && a_zero.rank() == 1);
    if fits && is_eight_bits(a) && is_eight_bits(b) && b_zero.rank() < 2 {
        return bind1(MatmulInteger {}, &[a, b, &a_zero, &b_zero]);
    }
    // A zero point for each row stands beside the rows.
    let a_zero = match a_zero.rank() == 1 && a.rank() > 1 {
        true => ops::unsqueeze(&a_zero, 1)?,
        false => a_zero,
    };
    ops::matmul(&exact(a, Some(a_zero))?, &exact(b, Some(b_zero))?)
}

/// A convolution of integers less their zero points, of which the weights may have one for each channel.
fn conv_sums(
    n: &Node<'_>,
    x: &Var,
    weight: &Var,
    x_zero: Option<Var>,
    weight_zero: Option<Var>,
) -> Result<Var> {
    let (x_zero, weight_zero) = (zero_point(x_zero, x)?, zero_point(weight_zero, weight)?);
    if is_eight_bits(x) && is_eight_bits(weight) && x_zero.rank() == 0 && weight_zero.rank() < 2 {
        let (Windows { stride, before, after, dilation, .. }, groups) = windows(n, x, weight)?;
        let op = ConvInteger { stride, before, after, dilation, groups };
        return bind1(op, &[x, weight, &x_zero, &weight_zero]);
    }
    let weight_zero = along(&weight_zero, 0, weight.rank())?;
    conv(n, &exact(x, Some(x_zero))?, &exact(weight, Some(weight_zero))?, None)
}

/// Integers less their zero point, as doubles, in which sums of products are exact.
fn exact(x: &Var, zero: Option<Var>) -> Result<Var> {
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
    let found = bind(DynamicQuantizeLinear {}, &[x])?;
    let [q, scale, zero] = &found[..] else {
        return Err(fluvial_core::Error::internal("an op has other outputs than it says"));
    };
    Ok([q.clone(), scale.clone(), zero.clone()])
}
