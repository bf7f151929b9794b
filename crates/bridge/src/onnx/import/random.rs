//! Random numbers, and what uses them in training only.

use fluvial_core::{DType, Result, Type, Var};
use fluvial_ops as ops;

use super::node::Node;
use super::table::Entry;

pub const OPS: &[Entry] = &[
    Entry::one("Bernoulli", 15, |n| {
        let x = n.var(0)?;
        let to = n.dtype("dtype")?.unwrap_or(x.dtype());
        ops::cast(&ops::bernoulli(&x)?, to)
    })
    .never_folds(),
    Entry::many("Dropout", 1, dropout).never_folds(),
    Entry::one("Multinomial", 7, |n| {
        let x = ops::exp(&n.var(0)?)?;
        let count = usize::try_from(n.int("sample_size", 1)).unwrap_or(0);
        let to = n.dtype("dtype")?.unwrap_or(DType::I32);
        ops::cast(&ops::multinomial(&x, count, true)?, to)
    })
    .never_folds(),
    Entry::one("RandomNormal", 1, |n| normal(n, &shaped(n)?)).never_folds(),
    Entry::one("RandomNormalLike", 1, |n| normal(n, &like(n)?)).never_folds(),
    Entry::one("RandomUniform", 1, |n| uniform(n, &shaped(n)?)).never_folds(),
    Entry::one("RandomUniformLike", 1, |n| uniform(n, &like(n)?)).never_folds(),
];

fn shaped(n: &Node<'_>) -> Result<Type> {
    let dtype = n.dtype("dtype")?.unwrap_or(DType::F32);
    let dims = n.ints("shape").unwrap_or_default();
    let dims = dims.into_iter().map(crate::fit::non_negative).collect::<Result<Vec<_>>>()?;
    Type::new(dtype, &dims)
}

fn like(n: &Node<'_>) -> Result<Type> {
    let ty = n.var(0)?.ty();
    Ok(ty.with_dtype(n.dtype("dtype")?.unwrap_or(ty.dtype())))
}

fn normal(n: &Node<'_>, ty: &Type) -> Result<Var> {
    ops::normal(ty, n.float("mean", 0.0), n.float("scale", 1.0))
}

fn uniform(n: &Node<'_>, ty: &Type) -> Result<Var> {
    ops::uniform(ty, n.float("low", 0.0), n.float("high", 1.0))
}

/// Drops elements in training; outside of it, and where the ratio is zero, it gives its input.
fn dropout(n: &Node<'_>) -> Result<Vec<super::value::Val>> {
    let x = n.var(0)?;
    let ratio = match n.opset < 12 {
        true => n.float("ratio", 0.5),
        false => n.known_number(1)?.unwrap_or(0.5),
    };
    let trains = n.opset >= 12 && n.known_number(2)?.unwrap_or(0.0) != 0.0;
    let mask = ops::ones(&x.dims(), DType::Bool);
    if !trains || ratio == 0.0 {
        return Ok(vec![x.into(), mask?.into()]);
    }
    let kept = ops::bernoulli(&ops::full(&x.dims(), 1.0 - ratio, DType::F32)?)?;
    let kept = ops::ne(&kept, &kept.literal(0.0))?;
    let scaled = (&x / (1.0 - ratio)).check()?;
    let result = ops::where_(&kept, &scaled, &x.literal(0.0))?;
    Ok(vec![result.into(), kept.into()])
}
