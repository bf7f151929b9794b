//! Products of matrices.

use fluvial_core::{DType, Result, Var};
use fluvial_ops as ops;

use super::node::Node;
use super::table::Entry;
use crate::fit;

pub const OPS: &[Entry] = &[
    Entry::one("Det", 11, |n| ops::det(&n.var(0)?)),
    Entry::one("Einsum", 12, |n| {
        let operands = n.rest(0)?;
        let operands: Vec<&Var> = operands.iter().collect();
        ops::einsum(&n.string("equation", "").replace(' ', ""), &operands)
    }),
    Entry::one("Gemm", 1, gemm),
    Entry::one("MatMul", 1, |n| matmul(&n.var(0)?, &n.var(1)?)),
];

/// The product; sizes that only the run knows are checked by it.
pub fn matmul(a: &Var, b: &Var) -> Result<Var> {
    let (left, right) = (a.dims(), b.dims());
    if left.len() < 2 || right.len() < 2 {
        return ops::matmul(a, b);
    }
    let (mut left, mut right) = (left.to_vec(), right.to_vec());
    let (m, n) = (left.len(), right.len());
    if left[m - 1].is_symbolic() {
        left[m - 1] = right[n - 2];
    } else if right[n - 2].is_symbolic() {
        right[n - 2] = left[m - 1];
    }
    for i in 3..=m.min(n) {
        let (own, other) = (left[m - i], right[n - i]);
        let one = fluvial_core::Dim::size(1);
        if own != other && own != one && other != one {
            match own.is_symbolic() {
                true => left[m - i] = other,
                false => right[n - i] = own,
            }
        }
    }
    ops::matmul(&fit::assumed(a, &left)?, &fit::assumed(b, &right)?)
}

fn gemm(n: &Node<'_>) -> Result<Var> {
    let (mut a, mut b) = (n.var(0)?, n.var(1)?);
    let own = a.dtype();
    let (alpha, beta) = (n.float("alpha", 1.0), n.float("beta", 1.0));
    if n.flag("transA", false) {
        a = ops::transpose(&a, 0, 1)?;
    }
    // Dense layers are stored as [out, in], which is how `linear` takes them.
    let bias = n.opt(2)?;
    let is_layer = alpha == 1.0
        && beta == 1.0
        && own.is_float()
        && bias.as_ref().is_none_or(|bias| bias.rank() == 1 && bias.dims()[0] == b.dims()[0]);
    if n.flag("transB", false) {
        if is_layer && a.dims().last() == b.dims().last() {
            return ops::linear(&a, &b, bias.as_ref());
        }
        b = ops::transpose(&b, 0, 1)?;
    }
    let scaled = |x: Var, by: f64| match by {
        1.0 => Ok(x),
        by if own.is_float() => (&x * by).check(),
        by => ops::cast(&(&ops::cast(&x, DType::F64)? * by).check()?, own),
    };
    let product = scaled(matmul(&a, &b)?, alpha)?;
    match bias {
        None => Ok(product),
        Some(bias) => ops::add(&product, &scaled(bias, beta)?),
    }
}
