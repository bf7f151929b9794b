//! Activations.

use fluvial_core::{Dim, Result, Var};
use fluvial_ops as ops;

use super::node::{Node, front};
use super::table::Entry;
use crate::fit;

pub const OPS: &[Entry] = &[
    Entry::one("Celu", 12, |n| ops::celu(&n.var(0)?, n.float("alpha", 1.0))),
    Entry::one("Elu", 1, |n| ops::elu(&n.var(0)?, n.float("alpha", 1.0))),
    Entry::one("Gelu", 20, |n| ops::gelu(&n.var(0)?, n.string("approximate", "none") == "tanh")),
    Entry::one("HardSigmoid", 1, |n| {
        let x = n.var(0)?;
        let line = (&x * n.float("alpha", 0.2) + n.float("beta", 0.5)).check()?;
        ops::clip(&line, Some(0.0), Some(1.0))
    }),
    Entry::one("HardSwish", 14, |n| ops::hard_swish(&n.var(0)?)),
    Entry::one("Hardmax", 1, |n| along(n, hardmax)),
    Entry::one("LeakyRelu", 1, |n| ops::leaky_relu(&n.var(0)?, n.float("alpha", 0.01))),
    Entry::one("LogSoftmax", 1, |n| along(n, ops::log_softmax)),
    Entry::one("Mish", 18, |n| ops::mish(&n.var(0)?)),
    Entry::one("PRelu", 1, |n| {
        let (x, mut slope) = (n.var(0)?, n.var(1)?);
        if n.opset < 7 && slope.rank() == 1 && slope.dims()[0] != Dim::size(1) {
            // Before op set 7, there is one slope for each channel.
            for _ in 2..x.rank() {
                slope = ops::unsqueeze(&slope, -1)?;
            }
        }
        let fitted = fit::broadcast(&[x, slope])?;
        let (x, slope) = (&fitted[0], &fitted[1]);
        let scaled = ops::mul(x, slope)?;
        ops::where_(&ops::lt(x, &x.literal(0.0))?, &scaled, x)
    }),
    Entry::one("Relu", 1, |n| {
        let x = n.var(0)?;
        match x.dtype().is_float() {
            true => ops::relu(&x),
            false => ops::maximum(&x, &x.literal(0.0)),
        }
    }),
    Entry::one("Selu", 1, |n| match (n.opt_float("alpha"), n.opt_float("gamma")) {
        (None, None) => ops::selu(&n.var(0)?),
        (alpha, gamma) => {
            let line = ops::elu(&n.var(0)?, alpha.unwrap_or(1.673_263_2))?;
            (&line * gamma.unwrap_or(1.050_701)).check()
        }
    }),
    Entry::one("Shrink", 9, shrink),
    Entry::one("Sigmoid", 1, |n| ops::sigmoid(&n.var(0)?)),
    Entry::one("Softmax", 1, |n| along(n, ops::softmax)),
    Entry::one("Softplus", 1, |n| ops::softplus(&n.var(0)?, 1.0, f64::INFINITY)),
    Entry::one("Softsign", 1, |n| ops::softsign(&n.var(0)?)),
    Entry::one("SwiGLU", 28, |n| {
        let gate = n.var(0)?;
        let alpha = n.float("alpha", 1.0);
        ops::mul(&ops::mul(&gate, &ops::sigmoid(&(&gate * alpha).check()?)?)?, &n.var(1)?)
    }),
    Entry::one("Swish", 24, |n| {
        let x = n.var(0)?;
        match n.float("alpha", 1.0) {
            1.0 => ops::silu(&x),
            alpha => ops::mul(&x, &ops::sigmoid(&(&x * alpha).check()?)?),
        }
    }),
    Entry::one("Tanh", 1, |n| ops::tanh(&n.var(0)?)),
    Entry::one("ThresholdedRelu", 10, |n| ops::threshold(&n.var(0)?, n.float("alpha", 1.0), 0.0)),
];

/// Along an axis since op set 13; before, over all axes from one on together.
fn along(n: &Node<'_>, f: fn(&Var, i64) -> Result<Var>) -> Result<Var> {
    let x = n.var(0)?;
    if n.opset >= 13 {
        return f(&x, n.int("axis", -1));
    }
    let dims = x.dims();
    let axis = n.int("axis", 1);
    let axis = if axis == dims.len() as i64 { dims.len() } else { front(axis, dims.len())? };
    let (rows, columns) = (fit::count(&dims[..axis])?, fit::count(&dims[axis..])?);
    ops::reshape(&f(&ops::reshape(&x, &[rows, columns])?, 1)?, &dims)
}

fn hardmax(x: &Var, axis: i64) -> Result<Var> {
    let dims = x.dims();
    let axis = front(axis, dims.len())?;
    let hot = ops::one_hot(&ops::argmax(x, axis as i64, false)?, dims[axis])?;
    ops::cast(&ops::movedim(&hot, &[-1], &[axis as i64])?, x.dtype())
}

fn shrink(n: &Node<'_>) -> Result<Var> {
    let (x, bias, width) = (n.var(0)?, n.float("bias", 0.0), n.float("lambd", 0.5));
    let own = x.dtype();
    let wide = if own.is_float() { x } else { ops::cast(&x, fluvial_core::DType::F32)? };
    let zero = ops::zeros_like(&wide)?;
    let above =
        ops::where_(&ops::gt(&wide, &wide.literal(width))?, &(&wide - bias).check()?, &zero)?;
    let below = ops::lt(&wide, &wide.literal(-width))?;
    ops::cast(&ops::where_(&below, &(&wide + bias).check()?, &above)?, own)
}
