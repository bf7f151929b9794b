//! Elementwise functions of one, two and more values.

use fluvial_core::{DType, Error, Result, Var, Whole};
use fluvial_ops as ops;

use super::node::{Node, front};
use super::sizes::{self, Compute};
use super::table::Entry;
use super::value::Sizes;
use crate::fit;

pub const OPS: &[Entry] = &[
    Entry::one("Abs", 1, |n| match n.var(0)?.dtype() {
        dtype if !dtype.is_signed() => n.var(0),
        _ => ops::abs(&n.var(0)?),
    }),
    Entry::one("Acos", 7, |n| ops::acos(&n.var(0)?)),
    Entry::one("Acosh", 9, |n| ops::acosh(&n.var(0)?)),
    Entry::one("Add", 1, |n| two(n, ops::add))
        .sizes(|_, s| sizes::zip(s, |a, b| a.add(b).map(Some))),
    Entry::one("And", 1, |n| two(n, ops::logical_and)),
    Entry::one("Asin", 7, |n| ops::asin(&n.var(0)?)),
    Entry::one("Asinh", 9, |n| ops::asinh(&n.var(0)?)),
    Entry::one("Atan", 7, |n| ops::atan(&n.var(0)?)),
    Entry::one("Atanh", 9, |n| ops::atanh(&n.var(0)?)),
    Entry::one("BitShift", 11, bit_shift),
    Entry::one("BitwiseAnd", 18, |n| two(n, ops::bitwise_and)),
    Entry::one("BitwiseNot", 18, |n| ops::bitwise_not(&n.var(0)?)),
    Entry::one("BitCast", 26, |n| {
        let to = n.dtype("to")?.ok_or_else(|| n.refuse("it has no type `to`"))?;
        ops::bitcast(&n.var(0)?, to)
    })
    .refuses("element types that we do not have"),
    Entry::one("BitwiseOr", 18, |n| two(n, ops::bitwise_or)),
    Entry::one("BitwiseXor", 18, |n| two(n, ops::bitwise_xor)),
    Entry::one("Cast", 1, cast).sizes(cast_sizes).refuses("element types that we do not have"),
    Entry::one("CastLike", 15, |n| {
        cast_to(&n.var(0)?, n.var(1)?.dtype(), n.flag("saturate", true))
    }),
    Entry::one("Ceil", 1, |n| ops::ceil(&n.var(0)?)).sizes(SAME),
    Entry::one("Clip", 1, clip),
    Entry::one("Cos", 7, |n| ops::cos(&n.var(0)?)),
    Entry::one("Cosh", 9, |n| ops::cosh(&n.var(0)?)),
    Entry::one("Div", 1, |n| two(n, divide)).sizes(div_sizes),
    Entry::one("Equal", 1, |n| two(n, ops::eq)).sizes(equal_sizes),
    Entry::one("Erf", 9, |n| ops::erf(&n.var(0)?)),
    Entry::one("Exp", 1, |n| ops::exp(&n.var(0)?)),
    Entry::one("Floor", 1, |n| ops::floor(&n.var(0)?)).sizes(SAME),
    Entry::one("Greater", 1, |n| two(n, ops::gt)),
    Entry::one("GreaterOrEqual", 12, |n| two(n, ops::ge)),
    Entry::one("IsInf", 10, is_inf),
    Entry::one("IsNaN", 9, |n| ops::isnan(&n.var(0)?)),
    Entry::one("Less", 1, |n| two(n, ops::lt)),
    Entry::one("LessOrEqual", 12, |n| two(n, ops::le)),
    Entry::one("Log", 1, |n| ops::log(&n.var(0)?)),
    Entry::one("Max", 1, |n| several(n, ops::maximum)).sizes(|_, s| extreme(s, true)),
    Entry::one("Mean", 1, |n| {
        let sum = several(n, ops::add)?;
        (&sum / n.inputs.len() as f64).check()
    }),
    Entry::one("Min", 1, |n| several(n, ops::minimum)).sizes(|_, s| extreme(s, false)),
    Entry::one("Mod", 10, modulo).sizes(|_, s| {
        sizes::zip(s, |a, b| match b {
            Whole::Number(n) if n > 0 => a.remainder(b).map(Some),
            _ => Ok(None),
        })
    }),
    Entry::one("Mul", 1, |n| two(n, ops::mul))
        .sizes(|_, s| sizes::zip(s, |a, b| a.mul(b).map(Some))),
    Entry::one("Neg", 1, |n| ops::neg(&n.var(0)?)).sizes(|_, s| {
        let Some(Some(x)) = s.first() else { return Ok(None) };
        let negated = x.items.iter().map(|&item| Whole::Number(0).sub(item));
        Ok(Some(Sizes { items: negated.collect::<Result<_>>()?, ..x.clone() }))
    }),
    Entry::one("Not", 1, |n| ops::logical_not(&n.var(0)?)),
    Entry::one("Or", 1, |n| two(n, ops::logical_or)),
    Entry::one("Pow", 1, power),
    Entry::one("Reciprocal", 1, |n| ops::reciprocal(&n.var(0)?)),
    Entry::one("Round", 11, |n| ops::round(&n.var(0)?)).sizes(SAME),
    Entry::one("Sign", 9, |n| match n.var(0)?.dtype() {
        dtype if dtype.is_int() && !dtype.is_signed() => {
            let x = n.var(0)?;
            ops::cast(&ops::ne(&x, &x.literal(0.0))?, dtype)
        }
        _ => ops::sign(&n.var(0)?),
    }),
    Entry::one("Sin", 7, |n| ops::sin(&n.var(0)?)),
    Entry::one("Sinh", 9, |n| ops::sinh(&n.var(0)?)),
    Entry::one("Sqrt", 1, |n| ops::sqrt(&n.var(0)?)),
    Entry::one("Sub", 1, |n| two(n, ops::sub))
        .sizes(|_, s| sizes::zip(s, |a, b| a.sub(b).map(Some))),
    Entry::one("Sum", 1, |n| several(n, ops::add)),
    Entry::one("Tan", 7, |n| ops::tan(&n.var(0)?)),
    Entry::one("Where", 9, |n| {
        let fitted = fit::broadcast(&[n.var(0)?, n.var(1)?, n.var(2)?])?;
        ops::where_(&fitted[0], &fitted[1], &fitted[2])
    })
    .moves(&[1, 2]),
    Entry::one("Xor", 1, |n| two(n, ops::logical_xor)),
];

/// Whole numbers stay as they are.
const SAME: Compute = |_, inputs| Ok(inputs.first().cloned().flatten());

/// A function of two values that are broadcast.
pub fn two(n: &Node<'_>, f: fn(&Var, &Var) -> Result<Var>) -> Result<Var> {
    let (a, mut b) = (n.var(0)?, n.var(1)?);
    if n.opset < 7
        && let Some(axis) = n.opt_int("axis")
    {
        // Before op set 7, the second one begins at an axis of the first.
        let axis = front(axis, a.rank())?;
        for _ in axis + b.rank()..a.rank() {
            b = ops::unsqueeze(&b, -1)?;
        }
    }
    let fitted = fit::broadcast(&[a, b])?;
    f(&fitted[0], &fitted[1])
}

fn several(n: &Node<'_>, f: fn(&Var, &Var) -> Result<Var>) -> Result<Var> {
    let mut values = fit::broadcast(&n.rest(0)?)?.into_iter();
    let first = values.next().ok_or_else(|| n.refuse("it has no inputs"))?;
    values.try_fold(first, |so_far, next| f(&so_far, &next))
}

/// The quotient; that of integers without what is behind the point.
pub fn divide(a: &Var, b: &Var) -> Result<Var> {
    if a.dtype().is_float() {
        return ops::div(a, b);
    }
    let floor = ops::floor_div(a, b)?;
    if !a.dtype().is_signed() {
        return Ok(floor);
    }
    let zero = a.literal(0.0);
    let is_inexact = ops::ne(&ops::mul(&floor, b)?, a)?;
    let signs_differ = ops::logical_xor(&ops::lt(a, &zero)?, &ops::lt(b, &zero)?)?;
    let up = ops::add(&floor, &a.literal(1.0))?;
    ops::where_(&ops::logical_and(&is_inexact, &signs_differ)?, &up, &floor)
}

fn div_sizes(_: &Node<'_>, inputs: &[Option<Sizes>]) -> Result<Option<Sizes>> {
    sizes::zip(inputs, |a, b| {
        let quotient = match b {
            Whole::Number(0) => return Ok(None),
            Whole::Number(number) if number < 0 => return Ok(None),
            _ => a.floor_div(b)?,
        };
        let is_float = inputs.iter().flatten().any(|sizes| sizes.dtype.is_float());
        let is_exact = quotient.mul(b)? == a;
        // Rounding down is right for what is not negative, as plain sizes are.
        let is_plain = matches!(a, Whole::Open(_)) && a.at_least(0).is_some_and(|least| least >= 0);
        Ok((is_exact || !is_float && is_plain).then_some(quotient))
    })
}

fn equal_sizes(_: &Node<'_>, inputs: &[Option<Sizes>]) -> Result<Option<Sizes>> {
    let answer = |a, b| Ok(sizes::equal(a, b).map(|is_equal| Whole::Number(is_equal.into())));
    Ok(sizes::zip(inputs, answer)?.map(|found| Sizes { dtype: DType::Bool, ..found }))
}

fn extreme(inputs: &[Option<Sizes>], greatest: bool) -> Result<Option<Sizes>> {
    sizes::zip(inputs, |a, b| {
        let at_least = |x: Whole, y: Whole| {
            x.sub(y).ok().and_then(|more| more.at_least(0)).is_some_and(|least| least >= 0)
        };
        Ok(match (at_least(a, b), at_least(b, a)) {
            (true, _) => Some(if greatest { a } else { b }),
            (_, true) => Some(if greatest { b } else { a }),
            _ => None,
        })
    })
}

fn modulo(n: &Node<'_>) -> Result<Var> {
    let fitted = fit::broadcast(&[n.var(0)?, n.var(1)?])?;
    let (a, b) = (&fitted[0], &fitted[1]);
    let left = ops::remainder(a, b)?;
    if !n.flag("fmod", false) {
        return Ok(left);
    }
    let zero = a.literal(0.0);
    let has_other_sign = ops::logical_xor(&ops::lt(&left, &zero)?, &ops::lt(a, &zero)?)?;
    let is_some = ops::ne(&left, &zero)?;
    let other = ops::sub(&left, b)?;
    ops::where_(&ops::logical_and(&is_some, &has_other_sign)?, &other, &left)
}

fn power(n: &Node<'_>) -> Result<Var> {
    let fitted = fit::broadcast(&[n.var(0)?, n.var(1)?])?;
    let (base, exponent) = (&fitted[0], &fitted[1]);
    let own = base.dtype();
    if own.is_int() && exponent.dtype().is_float() {
        let wide = ops::pow(&ops::cast(base, DType::F64)?, &ops::cast(exponent, DType::F64)?)?;
        return ops::cast(&wide, own);
    }
    ops::pow(base, &ops::cast(exponent, own)?)
}

fn bit_shift(n: &Node<'_>) -> Result<Var> {
    match n.string("direction", "").as_str() {
        "LEFT" => two(n, ops::left_shift),
        "RIGHT" => two(n, ops::right_shift),
        other => Err(n.refuse(format!("`{other}` is not a direction"))),
    }
}

fn cast(n: &Node<'_>) -> Result<Var> {
    let to = n.dtype("to")?.ok_or_else(|| n.refuse("it has no type `to`"))?;
    cast_to(&n.var(0)?, to, n.flag("saturate", true))
}

/// Another element type. Floats become bools by comparison, and integers of 8 and 16 bits by way of wide
/// ones, of which the low bits stay. What a float of 8 bits cannot hold becomes its greatest number if
/// `saturate`, and otherwise infinite, or NaN in a type without infinity.
pub fn cast_to(x: &Var, to: DType, saturate: bool) -> Result<Var> {
    match to {
        DType::F8E4M3 | DType::F8E5M2 => {
            // Above the second number, the nearest one of as many bits would be too large.
            let (most, beyond) =
                if to == DType::F8E4M3 { (448.0, 464.0) } else { (57344.0, f64::INFINITY) };
            let is_wide = x.dtype().is_float() && !x.dtype().is_stored();
            let x = if is_wide { x.clone() } else { ops::cast(x, DType::F32)? };
            let kept = match saturate {
                true => ops::clip(&x, Some(-most), Some(most))?,
                false => {
                    let is_beyond = ops::gt(&ops::abs(&x)?, &x.literal(beyond))?;
                    ops::where_(&is_beyond, &x.literal(f64::NAN), &x)?
                }
            };
            ops::cast(&kept, to)
        }
        DType::Bool if !x.dtype().is_bool() => ops::ne(x, &x.literal(0.0)),
        narrow if narrow.is_int() && narrow.size() < 4 && x.dtype().is_float() => {
            ops::cast(&ops::cast(x, DType::I64)?, to)
        }
        _ => ops::cast(x, to),
    }
}

fn cast_sizes(n: &Node<'_>, inputs: &[Option<Sizes>]) -> Result<Option<Sizes>> {
    let Some(Some(x)) = inputs.first() else { return Ok(None) };
    let Some(dtype) = n.dtype("to")?.filter(|dtype| !dtype.is_bool()) else { return Ok(None) };
    Ok(Some(Sizes { dtype, ..x.clone() }))
}

fn clip(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    if n.opset < 11 {
        return ops::clip(&x, n.opt_float("min"), n.opt_float("max"));
    }
    let mut clipped = x;
    if let Some(low) = n.opt(1)? {
        clipped = ops::maximum(&clipped, &low)?;
    }
    if let Some(high) = n.opt(2)? {
        clipped = ops::minimum(&clipped, &high)?;
    }
    Ok(clipped)
}

fn is_inf(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let infinite = ops::isinf(&x)?;
    let zero = x.literal(0.0);
    match (n.flag("detect_negative", true), n.flag("detect_positive", true)) {
        (true, true) => Ok(infinite),
        (true, false) => ops::logical_and(&infinite, &ops::lt(&x, &zero)?),
        (false, true) => ops::logical_and(&infinite, &ops::gt(&x, &zero)?),
        (false, false) => Err(Error::argument("neither infinity is looked for")),
    }
}
