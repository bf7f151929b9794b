//! Elementwise functions of two and more values, comparisons and casts.

use fluvial_core::{DType, Result, Var, Whole};
use fluvial_ops as ops;

use super::call::Call;
use super::table::{Entry, Outs};
use super::value::{Rows, Val, scalar};
use crate::fit::{self, Sizes};

pub const OPS: &[Entry] = &[
    Entry::one("atan2", |c| ops::atan2(&c.var("X1")?, &c.var("X2")?)),
    Entry::one("bitwise_and", |c| two(c, ops::bitwise_and)),
    Entry::one("bitwise_or", |c| two(c, ops::bitwise_or)),
    Entry::one("bitwise_xor", |c| two(c, ops::bitwise_xor)),
    Entry::many("cast", |c| {
        let to = c.dtype("out_dtype")?.ok_or_else(|| c.refuse("it has no `out_dtype`"))?;
        if let (Val::Sizes(sizes), true) = (c.val("X")?, to.is_int()) {
            return out(Val::Sizes(Sizes { dtype: to, ..sizes.clone() }));
        }
        let x = c.var("X")?;
        let cast = match to {
            DType::Bool if !x.dtype().is_bool() => ops::ne(&x, &x.literal(0.0))?,
            _ => ops::cast(&x, to)?,
        };
        out(Val::Dense(cast, c.val("X")?.lengths().to_vec()))
    }),
    Entry::one("clip", |c| {
        let x = c.var("X")?;
        let bound = |slot: &str, name: &str| -> Result<Var> {
            match c.opt(slot)? {
                Some(bound) => scalar(&ops::cast(&bound, x.dtype())?),
                None => Ok(x.literal(c.float(name, 0.0))),
            }
        };
        let (low, high) = (bound("Min", "min")?, bound("Max", "max")?);
        ops::minimum(&ops::maximum(&x, &low)?, &high)
    }),
    Entry::many("elementwise_add", |c| sized(c, ops::add, |a, b| a.add(b).map(Some))),
    Entry::many("elementwise_div", |c| match scaled_rows(c, ops::div)? {
        Some(rows) => out(rows),
        None => out(two(c, quotient)?),
    }),
    Entry::many("elementwise_floordiv", |c| {
        sized(c, ops::floor_div, |a, b| match b {
            Whole::Number(n) if n > 0 => a.floor_div(b).map(Some),
            _ => Ok(None),
        })
    }),
    Entry::one("elementwise_fmax", |c| two(c, ops::fmax)),
    Entry::one("elementwise_fmin", |c| two(c, ops::fmin)),
    Entry::one("elementwise_max", |c| two(c, ops::maximum)),
    Entry::one("elementwise_min", |c| two(c, ops::minimum)),
    Entry::one("elementwise_mod", |c| two(c, ops::remainder)),
    Entry::many("elementwise_mul", |c| match scaled_rows(c, ops::mul)? {
        Some(rows) => out(rows),
        None => sized(c, ops::mul, |a, b| a.mul(b).map(Some)),
    }),
    Entry::one("elementwise_pow", |c| two(c, ops::pow)),
    Entry::many("elementwise_sub", |c| sized(c, ops::sub, |a, b| a.sub(b).map(Some))),
    Entry::one("equal", |c| two(c, ops::eq)),
    Entry::one("equal_all", |c| ops::all(&two(c, ops::eq)?, &[], false)),
    Entry::one("grad_add", |c| two(c, ops::add)),
    Entry::one("greater_equal", |c| two(c, ops::ge)),
    Entry::one("greater_than", |c| two(c, ops::gt)),
    Entry::one("increment", |c| {
        let x = c.var("X")?;
        ops::add(&x, &x.literal(c.float("step", 1.0)))
    }),
    Entry::one("isclose", close),
    Entry::one("allclose", |c| ops::all(&close(c)?, &[], false)),
    Entry::one("isfinite", |c| all_of(c, ops::isfinite, true)),
    Entry::one("isfinite_v2", |c| ops::isfinite(&c.var("X")?)),
    Entry::one("isinf", |c| all_of(c, ops::isinf, false)),
    Entry::one("isinf_v2", |c| ops::isinf(&c.var("X")?)),
    Entry::one("isnan", |c| all_of(c, ops::isnan, false)),
    Entry::one("isnan_v2", |c| ops::isnan(&c.var("X")?)),
    Entry::one("lerp", |c| ops::lerp(&c.var("X")?, &c.var("Y")?, &c.var("Weight")?)),
    Entry::one("less_equal", |c| two(c, ops::le)),
    Entry::one("less_than", |c| two(c, ops::lt)),
    Entry::one("logical_and", |c| two(c, ops::logical_and)),
    Entry::one("logical_or", |c| two(c, ops::logical_or)),
    Entry::one("logical_xor", |c| two(c, ops::logical_xor)),
    Entry::one("minus", |c| two(c, ops::sub)),
    Entry::one("not_equal", |c| two(c, ops::ne)),
    Entry::one("pow", |c| {
        let x = c.var("X")?;
        let factor = match c.opt("FactorTensor")? {
            Some(factor) => scalar(&factor)?,
            None => x.literal(c.float("factor", 1.0)),
        };
        ops::pow(&x, &factor)
    }),
    Entry::many("scale", scale),
    Entry::many("sum", sum),
    Entry::one("where", |c| {
        let fitted = fit::broadcast(&[c.var("Condition")?, c.var("X")?, c.var("Y")?])?;
        ops::where_(&fitted[0], &fitted[1], &fitted[2])
    }),
];

/// The output that is called `Out`.
pub fn out(val: impl Into<Val>) -> Result<Outs> {
    Ok(vec![("Out", vec![val.into()])])
}

/// The second value with its axes from `axis` of the first on, as they were broadcast in Fluid.
fn aligned(c: &Call<'_>, a: &Var, b: &Var) -> Result<Var> {
    let axis = c.int("axis", -1);
    if axis < 0 || b.rank() == 0 || b.rank() >= a.rank() {
        return Ok(b.clone());
    }
    let mut b = b.clone();
    // Axes of size one at its end do not count.
    while b.rank() > 1 && axis as usize + b.rank() > a.rank() && b.dims().last() == Some(&1.into())
    {
        b = ops::squeeze(&b, &[-1])?;
    }
    for _ in (axis as usize).saturating_add(b.rank())..a.rank() {
        b = ops::unsqueeze(&b, -1)?;
    }
    Ok(b)
}

/// A function of two values that are broadcast.
pub fn two(c: &Call<'_>, f: fn(&Var, &Var) -> Result<Var>) -> Result<Var> {
    let (a, b) = (c.var("X")?, c.var("Y")?);
    let (a, b) = match a.rank() >= b.rank() {
        true => (a.clone(), aligned(c, &a, &b)?),
        false => (aligned(c, &b, &a)?, b),
    };
    let fitted = fit::broadcast(&[a, b])?;
    f(&fitted[0], &fitted[1])
}

/// [`two`], which knows integers that depend on sizes.
fn sized(
    c: &Call<'_>,
    f: fn(&Var, &Var) -> Result<Var>,
    of_sizes: fn(Whole, Whole) -> Result<Option<Whole>>,
) -> Result<Outs> {
    let (a, b) = (c.val("X")?, c.val("Y")?);
    if matches!(a, Val::Sizes(_)) || matches!(b, Val::Sizes(_)) {
        if let Some(found) = fit::zip(&[a.sizes(), b.sizes()], of_sizes)? {
            return out(Val::of_sizes(found)?);
        }
    }
    let var = two(c, f)?;
    let lengths = super::shared(c, &var)?;
    out(Val::Dense(var, lengths))
}

fn quotient(a: &Var, b: &Var) -> Result<Var> {
    match a.dtype().is_float() {
        true => ops::div(a, b),
        false => crate::onnx::truncated_quotient(a, b),
    }
}

/// Rows of a tensor with a number.
fn scaled_rows(c: &Call<'_>, f: fn(&Var, &Var) -> Result<Var>) -> Result<Option<Val>> {
    let Val::Rows(rows) = c.val("X")? else { return Ok(None) };
    let factor = scalar(&c.var("Y")?)?;
    Ok(Some(Val::Rows(rows.with(f(&rows.values, &factor)?))))
}

fn close(c: &Call<'_>) -> Result<Var> {
    let (a, b) = (c.var("Input")?, c.var("Other")?);
    let number = |name: &str, default: f64| c.text(name, "").parse().unwrap_or(default);
    let (rtol, atol) = (number("rtol", 1e-5), number("atol", 1e-8));
    let apart = ops::abs(&ops::sub(&a, &b)?)?;
    let most = (&ops::abs(&b)? * rtol + atol).check()?;
    let near = ops::logical_or(&ops::le(&apart, &most)?, &ops::eq(&a, &b)?)?;
    match c.flag("equal_nan", false) {
        true => ops::logical_or(&near, &ops::logical_and(&ops::isnan(&a)?, &ops::isnan(&b)?)?),
        false => Ok(near),
    }
}

fn all_of(c: &Call<'_>, f: fn(&Var) -> Result<Var>, all: bool) -> Result<Var> {
    let found = f(&c.var("X")?)?;
    if all { ops::all(&found, &[], false) } else { ops::any(&found, &[], false) }
}

fn scale(c: &Call<'_>) -> Result<Outs> {
    let (bias, after) = (c.float("bias", 0.0), c.flag("bias_after_scale", true));
    let apply = |x: &Var| -> Result<Var> {
        let factor = match c.opt("ScaleTensor")? {
            Some(factor) => scalar(&ops::cast(&factor, x.dtype())?)?,
            None => x.literal(c.float("scale", 1.0)),
        };
        match (bias == 0.0, after) {
            (true, _) => ops::mul(x, &factor),
            (_, true) => ops::add(&ops::mul(x, &factor)?, &x.literal(bias)),
            _ => ops::mul(&ops::add(x, &x.literal(bias))?, &factor),
        }
    };
    match c.val("X")? {
        Val::Rows(rows) => out(Val::Rows(rows.with(apply(&rows.values)?))),
        Val::Sizes(sizes) if c.opt_val("ScaleTensor").is_none() && after => {
            let (scale, bias) = (c.float("scale", 1.0), bias);
            let is_whole = scale.fract() == 0.0 && bias.fract() == 0.0;
            if !is_whole {
                return out(apply(&sizes.var()?)?);
            }
            let (scale, bias) = (Whole::Number(scale as i64), Whole::Number(bias as i64));
            let items = sizes.items.iter().map(|item| item.mul(scale)?.add(bias));
            let items = items.collect::<Result<Vec<Whole>>>()?;
            out(Val::of_sizes(Sizes { items, ..sizes.clone() })?)
        }
        val => out(Val::Dense(apply(&val.var()?)?, val.lengths().to_vec())),
    }
}

/// The sum of tensors; of rows only, all of them.
fn sum(c: &Call<'_>) -> Result<Outs> {
    let vals = c.vals("X");
    let all_rows: Option<Vec<&Rows>> = vals
        .iter()
        .map(|val| match val {
            Val::Rows(rows) => Some(rows),
            _ => None,
        })
        .collect();
    if let Some(rows @ [first, ..]) = all_rows.as_deref() {
        let index: Vec<&Var> = rows.iter().map(|rows| &rows.index).collect();
        let values: Vec<&Var> = rows.iter().map(|rows| &rows.values).collect();
        let (index, values) = (ops::concat(&index, 0)?, ops::concat(&values, 0)?);
        return out(Val::Rows(Rows { index, values, height: first.height }));
    }
    let vars = fit::broadcast(&c.vars("X")?)?;
    let mut vars = vars.into_iter();
    let first = vars.next().ok_or_else(|| c.refuse("it has no inputs"))?;
    let sum = vars.try_fold(first, |sum, next| ops::add(&sum, &next))?;
    let lengths = super::shared(c, &sum)?;
    out(Val::Dense(sum, lengths))
}
