//! Reductions.

use fluvial_core::{DType, Result, Var};
use fluvial_ops as ops;

use super::call::Call;
use super::table::{Entry, Outs};
use super::value::Val;

pub const OPS: &[Entry] = &[
    Entry::one("arg_max", |c| arg(c, ops::argmax)),
    Entry::one("arg_min", |c| arg(c, ops::argmin)),
    Entry::one("frobenius_norm", |c| {
        let (x, axes) = axes(c)?;
        ops::sqrt(&ops::sum(&ops::square(&x)?, &axes, c.flag("keep_dim", false))?)
    }),
    Entry::one("l1_norm", |c| ops::sum(&ops::abs(&c.var("X")?)?, &[], false)),
    Entry::one("logsumexp", |c| {
        let x = c.var("X")?;
        let axes = match c.flag("reduce_all", false) {
            true => vec![],
            false => c.ints("axis").unwrap_or_default(),
        };
        ops::logsumexp(&x, &axes, c.flag("keepdim", c.flag("keep_dim", false)))
    }),
    Entry::one("max", |c| reduced(c, ops::max)),
    Entry::one("mean", |c| ops::mean(&c.var("X")?, &[], false)),
    Entry::one("p_norm", |c| {
        let x = c.var("X")?;
        let axes = match c.flag("asvector", false) {
            true => vec![],
            false => vec![c.int("axis", -1)],
        };
        ops::norm(&x, c.float("porder", 2.0), &axes, c.flag("keepdim", false))
    }),
    Entry::one("reduce_all", |c| reduced(c, ops::all)),
    Entry::one("reduce_amax", |c| reduced(c, ops::max)),
    Entry::one("reduce_amin", |c| reduced(c, ops::min)),
    Entry::one("reduce_any", |c| reduced(c, ops::any)),
    Entry::one("reduce_max", |c| reduced(c, ops::max)),
    Entry::one("reduce_mean", |c| reduced(c, ops::mean)),
    Entry::one("reduce_min", |c| reduced(c, ops::min)),
    Entry::one("reduce_prod", |c| reduced(c, ops::prod)),
    Entry::one("reduce_sum", |c| reduced(c, ops::sum)),
    Entry::many("squared_l2_norm", |c| {
        let x = match c.val("X")? {
            Val::Rows(rows) => rows.merged()?.values,
            val => val.var()?,
        };
        Ok(vec![("Out", vec![ops::sum(&ops::square(&x)?, &[], false)?.into()])])
    }),
    Entry::many("clip_by_norm", clip_by_norm),
    Entry::one("cumprod", |c| ops::cumprod(&c.var("X")?, c.int("dim", -1))),
    Entry::one("cumsum", cumsum),
    Entry::one("logcumsumexp", |c| {
        let x = c.var("X")?;
        match c.flag("flatten", false) {
            true => ops::logcumsumexp(&ops::flatten(&x, 0, -1)?, 0),
            false => ops::logcumsumexp(&x, c.int("axis", -1)),
        }
    }),
];

fn axes(c: &Call<'_>) -> Result<(Var, Vec<i64>)> {
    let x = c.var("X")?;
    let axes = match c.flag("reduce_all", false) {
        true => vec![],
        false => match c.known("AxisTensor")? {
            Some(axes) => axes.cast(DType::I64)?.to_vec::<i64>()?,
            None => c.ints("dim").or_else(|| c.ints("axis")).unwrap_or_default(),
        },
    };
    Ok((x, axes))
}

fn reduced(c: &Call<'_>, f: fn(&Var, &[i64], bool) -> Result<Var>) -> Result<Var> {
    let (x, axes) = axes(c)?;
    let x = match c.dtype("in_dtype")? {
        Some(dtype) => ops::cast(&x, dtype)?,
        None => x,
    };
    let found = f(&x, &axes, c.flag("keep_dim", false))?;
    match c.dtype("out_dtype")? {
        Some(dtype) => ops::cast(&found, dtype),
        None => Ok(found),
    }
}

fn arg(c: &Call<'_>, f: fn(&Var, i64, bool) -> Result<Var>) -> Result<Var> {
    let (x, keep) = (c.var("X")?, c.flag("keepdims", false));
    let to = c.dtype("dtype")?.unwrap_or(DType::I64);
    let found = match c.flag("flatten", false) {
        true => f(&ops::flatten(&x, 0, -1)?, 0, false)?,
        false => f(&x, c.int("axis", -1), keep)?,
    };
    ops::cast(&found, to)
}

fn cumsum(c: &Call<'_>) -> Result<Var> {
    let mut x = c.var("X")?;
    let mut axis = c.int("axis", -1);
    if c.flag("flatten", false) {
        (x, axis) = (ops::flatten(&x, 0, -1)?, 0);
    }
    let reverse = c.flag("reverse", false);
    let turned = if reverse { ops::flip(&x, &[axis])? } else { x };
    let mut sums = ops::cumsum(&turned, axis)?;
    if c.flag("exclusive", false) {
        sums = ops::sub(&sums, &turned)?;
    }
    if reverse { ops::flip(&sums, &[axis]) } else { Ok(sums) }
}

/// A value that is longer than allowed is made shorter.
fn clip_by_norm(c: &Call<'_>) -> Result<Outs> {
    let most = c.float("max_norm", 1.0);
    let clipped = |x: &Var, all: &Var| -> Result<Var> {
        let norm = ops::sqrt(&ops::sum(&ops::square(all)?, &[], false)?)?;
        let limit = norm.literal(most);
        let factor = ops::div(&limit, &ops::maximum(&norm, &limit)?)?;
        ops::mul(x, &factor)
    };
    Ok(vec![(
        "Out",
        vec![match c.val("X")? {
            Val::Rows(rows) => {
                let merged = rows.merged()?;
                Val::Rows(merged.with(clipped(&merged.values, &merged.values)?))
            }
            val => {
                let x = val.var()?;
                clipped(&x, &x)?.into()
            }
        }],
    )])
}
