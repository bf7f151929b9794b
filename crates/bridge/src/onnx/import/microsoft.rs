//! Fused ops of the domain `com.microsoft`.

use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops as ops;

use super::attention::{heads, together};
use super::linalg::matmul;
use super::microsoft_attention::plus;
use super::node::Node;
use super::norm::layer_norm;
use super::quant;
use super::table::Entry;
use super::value::Val;

const DOMAIN: &str = "com.microsoft";

pub const OPS: &[Entry] = &[
    Entry::one("BiasGelu", 1, |n| ops::gelu(&ops::add(&n.var(0)?, &n.var(1)?)?, false)).of(DOMAIN),
    Entry::one("DynamicQuantizeMatMul", 1, |n| {
        let [q, scale, zero] = quant::dynamic(&n.var(0)?)?;
        let product = quant::matmul_sums(&q, &n.var(1)?, Some(zero), n.opt(3)?)?;
        let scaled = ops::mul(&ops::mul(&ops::cast(&product, DType::F32)?, &scale)?, &n.var(2)?)?;
        plus(&scaled, n.opt(4)?)
    })
    .of(DOMAIN),
    Entry::many("EmbedLayerNormalization", 1, embed).of(DOMAIN),
    Entry::one("FastGelu", 1, |n| ops::gelu(&plus(&n.var(0)?, n.opt(1)?)?, true)).of(DOMAIN),
    Entry::one("FusedMatMul", 1, |n| {
        let turned = |x: Var, name: &str| match n.flag(name, false) && x.rank() > 1 {
            true => ops::transpose(&x, -2, -1),
            false => Ok(x),
        };
        let product = matmul(&turned(n.var(0)?, "transA")?, &turned(n.var(1)?, "transB")?)?;
        (&product * n.float("alpha", 1.0)).check()
    })
    .of(DOMAIN)
    .refuses("transposed batches"),
    Entry::one("Gelu", 1, |n| ops::gelu(&n.var(0)?, false)).of(DOMAIN),
    Entry::one("QuickGelu", 1, |n| {
        let x = n.var(0)?;
        ops::mul(&x, &ops::sigmoid(&(&x * n.float("alpha", 1.702)).check()?)?)
    })
    .of(DOMAIN),
    Entry::one("RotaryEmbedding", 1, |n| {
        let mut x = n.var(0)?;
        let (cos, sin) = (n.var(2)?, n.var(3)?);
        let is_flat = x.rank() == 3;
        if is_flat {
            let width = cos.dims()[1].mul(Dim::size(2))?;
            let count = match n.int("num_heads", 0) {
                0 => x.dims()[2].floor_div(width)?.value().unwrap_or(0) as i64,
                count => count,
            };
            x = heads(&x, count)?;
        }
        let steps = x.dims()[2];
        let places = n.var(1)?;
        let places = match places.rank() {
            // The first place of all samples.
            1 => ops::unsqueeze(&ops::add(&ops::iota(steps, DType::I64)?, &places)?, 0)?,
            _ => places,
        };
        let of = |table: &Var| ops::gather(table, &places, 0);
        let turned =
            super::attention::rotate(&x, &of(&cos)?, &of(&sin)?, n.flag("interleaved", false))?;
        if is_flat { together(&turned) } else { Ok(turned) }
    })
    .of(DOMAIN),
    Entry::one("SimplifiedLayerNormalization", 1, |n| {
        let x = n.var(0)?;
        let axis = n.axis(-1, x.rank())?;
        ops::rms_norm(&x, x.rank() - axis, Some(&n.var(1)?), n.float("epsilon", 1e-5))
    }),
    Entry::many("SkipLayerNormalization", 1, |n| {
        let sum = plus(&ops::add(&n.var(0)?, &n.var(1)?)?, n.opt(4)?)?;
        let mut found = layer_norm(n, &sum, sum.rank() - 1, n.opt(2)?, n.opt(3)?)?;
        found.resize(3, Val::Nothing);
        found.push(sum.into());
        Ok(found)
    })
    .of(DOMAIN),
    Entry::many("SkipSimplifiedLayerNormalization", 1, |n| {
        let sum = plus(&ops::add(&n.var(0)?, &n.var(1)?)?, n.opt(3)?)?;
        let result = ops::rms_norm(&sum, 1, n.opt(2)?.as_ref(), n.float("epsilon", 1e-5))?;
        Ok(vec![result.into(), Val::Nothing, Val::Nothing, sum.into()])
    })
    .of(DOMAIN),
];

fn embed(n: &Node<'_>) -> Result<Vec<Val>> {
    let ids = ops::cast(&n.var(0)?, DType::I64)?;
    let steps = ids.dims()[1];
    let words = ops::gather(&n.var(2)?, &ids, 0)?;
    let places = match n.opt(8)? {
        Some(places) => ops::gather(&n.var(3)?, &ops::cast(&places, DType::I64)?, 0)?,
        None => ops::narrow(&n.var(3)?, 0, Dim::size(0), steps)?,
    };
    let mut sum = ops::add(&words, &places)?;
    if let (Some(segments), Some(table)) = (n.opt(1)?, n.opt(4)?) {
        sum = ops::add(&sum, &ops::gather(&table, &ops::cast(&segments, DType::I64)?, 0)?)?;
    }
    let mut found = layer_norm(n, &sum, sum.rank() - 1, n.opt(5)?, n.opt(6)?)?;
    found.truncate(1);
    found.push(match n.opt(7)? {
        Some(mask) => ops::sum(&ops::cast(&mask, DType::I32)?, &[1], false)?.into(),
        None => ops::zeros(&[ids.dims()[0]], DType::I32)?.into(),
    });
    found.push(sum.into());
    Ok(found)
}
