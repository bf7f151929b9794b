//! Normalisations.

use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops::{self as ops, PadOptions};

use super::node::Node;
use super::table::Entry;
use super::value::Val;

pub const OPS: &[Entry] = &[
    Entry::many("BatchNormalization", 1, batch_norm),
    Entry::one("GroupNormalization", 18, group_norm),
    Entry::one("InstanceNormalization", 1, |n| {
        let (x, weight, bias) = (n.var(0)?, n.var(1)?, n.var(2)?);
        ops::instance_norm(&x, Some(&weight), Some(&bias), n.float("epsilon", 1e-5))
    }),
    Entry::one("LRN", 1, lrn),
    Entry::many("LayerNormalization", 17, |n| {
        layer_norm(n, &n.var(0)?, n.axis(-1, n.var(0)?.rank())?, Some(n.var(1)?), n.opt(2)?)
    }),
    Entry::one("LpNormalization", 1, |n| {
        let x = n.var(0)?;
        let norm = ops::norm(&x, n.int("p", 2) as f64, &[n.int("axis", -1)], true)?;
        // Where all elements are zero, they stay so.
        let is_zero = ops::eq(&norm, &x.literal(0.0))?;
        ops::div(&x, &ops::where_(&is_zero, &x.literal(1.0), &norm)?)
    }),
    Entry::one("MeanVarianceNormalization", 9, |n| {
        let x = n.var(0)?;
        let axes = n.ints("axes").unwrap_or(vec![0, 2, 3]);
        let centred = ops::sub(&x, &ops::mean(&x, &axes, true)?)?;
        let deviation = ops::sqrt(&ops::mean(&ops::square(&centred)?, &axes, true)?)?;
        ops::div(&centred, &(&deviation + 1e-9).check()?)
    }),
    Entry::one("RMSNormalization", 23, |n| {
        let x = n.var(0)?;
        let axis = n.axis(-1, x.rank())?;
        let scaled = |x: &Var| ops::rms_norm(x, x.rank() - axis, None, n.float("epsilon", 1e-5));
        ops::mul(&wide(n, &x, scaled)?, &n.var(1)?)
    }),
];

/// Computes in single precision, as `stash_type` says, where elements are narrower.
fn wide(n: &Node<'_>, x: &Var, f: impl Fn(&Var) -> Result<Var>) -> Result<Var> {
    match n.int("stash_type", 1) == 1 && matches!(x.dtype(), DType::F16 | DType::BF16) {
        true => ops::cast(&f(&ops::cast(x, DType::F32)?)?, x.dtype()),
        false => f(x),
    }
}

/// The result, the mean and the inverse of the deviation.
pub fn layer_norm(
    n: &Node<'_>,
    x: &Var,
    axis: usize,
    weight: Option<Var>,
    bias: Option<Var>,
) -> Result<Vec<Val>> {
    let (count, eps) = (x.rank() - axis, n.float("epsilon", 1e-5));
    let fits =
        |part: &Option<Var>| part.as_ref().is_none_or(|part| part.dims()[..] == x.dims()[axis..]);
    let is_half = matches!(x.dtype(), DType::F16 | DType::BF16);
    let result = if fits(&weight) && fits(&bias) && !is_half {
        ops::layer_norm(x, count, weight.as_ref(), bias.as_ref(), eps)?
    } else {
        let mut result = wide(n, x, |x| ops::layer_norm(x, count, None, None, eps))?;
        if let Some(weight) = &weight {
            result = ops::mul(&result, weight)?;
        }
        if let Some(bias) = &bias {
            result = ops::add(&result, bias)?;
        }
        result
    };
    let mut outputs = vec![result.into()];
    if n.n_outputs() > 1 {
        let axes: Vec<i64> = (axis as i64..x.rank() as i64).collect();
        let x = if is_half { ops::cast(x, DType::F32)? } else { x.clone() };
        let mean = ops::mean(&x, &axes, true)?;
        let variance = ops::mean(&ops::square(&ops::sub(&x, &mean)?)?, &axes, true)?;
        let inverse = ops::reciprocal(&ops::sqrt(&(&variance + eps).check()?)?)?;
        outputs.extend([mean.into(), inverse.into()]);
    }
    Ok(outputs)
}

fn batch_norm(n: &Node<'_>) -> Result<Vec<Val>> {
    let x = n.var(0)?;
    let (weight, bias, mean, variance) = (n.var(1)?, n.var(2)?, n.var(3)?, n.var(4)?);
    let eps = n.float("epsilon", 1e-5);
    let trains = match n.opset < 14 {
        true => n.wants(1) && !n.flag("is_test", false),
        false => n.flag("training_mode", false),
    };
    if !trains {
        let own = x.dtype();
        // Statistics may have another element type than the values.
        let to = mean.dtype().promote(own);
        let of = |x: &Var| ops::cast(x, to);
        let result = ops::batch_norm(
            &of(&x)?,
            &of(&mean)?,
            &of(&variance)?,
            Some(&of(&weight)?),
            Some(&of(&bias)?),
            eps,
        )?;
        return Ok(vec![ops::cast(&result, own)?.into()]);
    }
    let momentum = n.float("momentum", 0.9);
    let (result, new_mean, new_variance) =
        ops::batch_norm_train(&x, Some(&weight), Some(&bias), eps)?;
    let moved = |old: &Var, new: &Var| (&(old * momentum) + &(new * (1.0 - momentum))).check();
    Ok(vec![
        result.into(),
        moved(&mean, &new_mean)?.into(),
        moved(&variance, &new_variance)?.into(),
    ])
}

fn group_norm(n: &Node<'_>) -> Result<Var> {
    let (x, mut weight, mut bias) = (n.var(0)?, n.var(1)?, n.var(2)?);
    let groups = usize::try_from(n.int("num_groups", 1)).unwrap_or(0);
    if groups == 0 || x.rank() < 2 {
        return Err(n.refuse("`num_groups` or the number of axes does not fit"));
    }
    if n.opset < 21 {
        // One number for each group, not for each channel.
        let each = x.dims()[1].floor_div(Dim::size(groups))?;
        let repeated = |x: &Var| {
            let wide = ops::broadcast_to(&ops::unsqueeze(x, 1)?, &[Dim::size(groups), each])?;
            ops::flatten(&wide, 0, 1)
        };
        (weight, bias) = (repeated(&weight)?, repeated(&bias)?);
    }
    ops::group_norm(&x, groups, Some(&weight), Some(&bias), n.float("epsilon", 1e-5))
}

/// Elements over a power of the squares of neighbouring channels.
fn lrn(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let size = n.int("size", 1).clamp(1, 1 << 16);
    let (alpha, beta) = (n.float("alpha", 1e-4), n.float("beta", 0.75));
    let before = (size - 1) / 2;
    let after = size - 1 - before;
    let mut pads = vec![0; x.rank() - 1];
    pads[0] = before;
    let mut behind = vec![0; x.rank() - 1];
    behind[0] = after;
    let squares = ops::pad(&ops::square(&x)?, &pads, &behind, PadOptions::default())?;
    let channels = x.dims()[1];
    let mut sum = ops::narrow(&squares, 1, Dim::size(0), channels)?;
    for i in 1..size {
        sum = ops::add(&sum, &ops::narrow(&squares, 1, Dim::size(i as usize), channels)?)?;
    }
    let base = (&sum * (alpha / size as f64) + n.float("bias", 1.0)).check()?;
    ops::div(&x, &ops::pow(&base, &x.literal(beta))?)
}
