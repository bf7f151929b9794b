//! Elementwise functions of one value.

use fluvial_core::{Error, Result, Var};
use fluvial_ops as ops;

use super::call::Call;
use super::table::Entry;

pub const OPS: &[Entry] = &[
    Entry::one("abs", |c| ops::abs(&c.var("X")?)),
    Entry::one("acos", |c| ops::acos(&c.var("X")?)),
    Entry::one("acosh", |c| ops::acosh(&c.var("X")?)),
    Entry::one("asin", |c| ops::asin(&c.var("X")?)),
    Entry::one("asinh", |c| ops::asinh(&c.var("X")?)),
    Entry::one("atan", |c| ops::atan(&c.var("X")?)),
    Entry::one("atanh", |c| ops::atanh(&c.var("X")?)),
    Entry::one("bitwise_not", |c| ops::bitwise_not(&c.var("X")?)),
    Entry::one("brelu", |c| {
        ops::clip(&c.var("X")?, Some(c.float("t_min", 0.0)), Some(c.float("t_max", 24.0)))
    }),
    Entry::one("ceil", |c| ops::ceil(&c.var("X")?)),
    Entry::one("celu", |c| ops::celu(&c.var("X")?, c.float("alpha", 1.0))),
    Entry::one("cos", |c| ops::cos(&c.var("X")?)),
    Entry::one("cosh", |c| ops::cosh(&c.var("X")?)),
    Entry::one("digamma", |c| ops::digamma(&c.var("X")?)),
    Entry::one("elu", |c| ops::elu(&c.var("X")?, c.float("alpha", 1.0))),
    Entry::one("erf", |c| ops::erf(&c.var("X")?)),
    Entry::one("exp", |c| ops::exp(&c.var("X")?)),
    Entry::one("expm1", |c| ops::expm1(&c.var("X")?)),
    Entry::one("floor", |c| ops::floor(&c.var("X")?)),
    Entry::one("gelu", |c| ops::gelu(&c.var("X")?, c.flag("approximate", false))),
    Entry::one("hard_shrink", |c| ops::hard_shrink(&c.var("X")?, c.float("threshold", 0.5))),
    Entry::one("hard_sigmoid", |c| {
        let line = &c.var("X")? * c.float("slope", 0.2) + c.float("offset", 0.5);
        ops::clip(&line.check()?, Some(0.0), Some(1.0))
    }),
    Entry::one("hard_swish", |c| {
        let (x, most) = (c.var("X")?, c.float("threshold", 6.0));
        let line = (&x + c.float("offset", 3.0)).check()?;
        let gate = ops::clip(&line, Some(0.0), Some(most))?;
        (&ops::mul(&x, &gate)? / c.float("scale", 6.0)).check()
    }),
    Entry::one("leaky_relu", |c| ops::leaky_relu(&c.var("X")?, c.float("alpha", 0.02))),
    Entry::one("lgamma", |c| ops::lgamma(&c.var("X")?)),
    Entry::one("log", |c| ops::log(&c.var("X")?)),
    Entry::one("log10", |c| ops::log10(&c.var("X")?)),
    Entry::one("log1p", |c| ops::log1p(&c.var("X")?)),
    Entry::one("log2", |c| ops::log2(&c.var("X")?)),
    Entry::one("log_softmax", |c| ops::log_softmax(&c.var("X")?, c.int("axis", -1))),
    Entry::one("logical_not", |c| ops::logical_not(&c.var("X")?)),
    Entry::one("logit", |c| {
        let eps = c.float("eps", 1e-6);
        let x = ops::clip(&c.var("X")?, Some(eps), Some(1.0 - eps))?;
        ops::log(&ops::div(&x, &(1.0 - &x).check()?)?)
    }),
    Entry::one("logsigmoid", |c| ops::log_sigmoid(&c.var("X")?)),
    Entry::one("maxout", |c| {
        let x = c.var("X")?;
        let (axis, groups) = (c.axis("axis", 1, x.rank())?, c.count("groups", 1)?);
        let group = fluvial_core::Dim::size(groups);
        let mut dims = x.dims().to_vec();
        dims[axis] = dims[axis].floor_div(group)?;
        dims.insert(axis + 1, group);
        ops::max(&ops::reshape(&x, &dims)?, &[axis as i64 + 1], false)
    }),
    Entry::one("mish", |c| ops::mish(&c.var("X")?)),
    Entry::one("prelu", prelu),
    Entry::one("reciprocal", |c| ops::reciprocal(&c.var("X")?)),
    Entry::one("relu", |c| ops::relu(&c.var("X")?)),
    Entry::one("relu6", |c| ops::clip(&c.var("X")?, Some(0.0), Some(c.float("threshold", 6.0)))),
    Entry::one("round", |c| ops::round(&c.var("X")?)),
    Entry::one("rsqrt", |c| ops::rsqrt(&c.var("X")?)),
    Entry::one("selu", |c| {
        let (scale, alpha) = (c.float("scale", 1.050_700_987), c.float("alpha", 1.673_263_242));
        (&ops::elu(&c.var("X")?, alpha)? * scale).check()
    }),
    Entry::one("sigmoid", |c| ops::sigmoid(&c.var("X")?)),
    Entry::one("sign", |c| ops::sign(&c.var("X")?)),
    Entry::one("silu", |c| ops::silu(&c.var("X")?)),
    Entry::one("sin", |c| ops::sin(&c.var("X")?)),
    Entry::one("sinh", |c| ops::sinh(&c.var("X")?)),
    Entry::one("soft_relu", |c| {
        let most = c.float("threshold", 40.0);
        ops::softplus(&ops::clip(&c.var("X")?, Some(-most), Some(most))?, 1.0, f64::INFINITY)
    }),
    Entry::one("softmax", |c| ops::softmax(&c.var("X")?, c.int("axis", -1))),
    Entry::one("softplus", |c| {
        ops::softplus(&c.var("X")?, c.float("beta", 1.0), c.float("threshold", 20.0))
    }),
    Entry::one("softshrink", |c| ops::soft_shrink(&c.var("X")?, c.float("lambda", 0.5))),
    Entry::one("softsign", |c| ops::softsign(&c.var("X")?)),
    Entry::one("sqrt", |c| ops::sqrt(&c.var("X")?)),
    Entry::one("square", |c| ops::square(&c.var("X")?)),
    Entry::one("stanh", |c| {
        let inner = (&c.var("X")? * c.float("scale_a", 0.67)).check()?;
        (&ops::tanh(&inner)? * c.float("scale_b", 1.7159)).check()
    }),
    Entry::one("swish", |c| {
        let x = c.var("X")?;
        match c.float("beta", 1.0) {
            1.0 => ops::silu(&x),
            beta => ops::mul(&x, &ops::sigmoid(&(&x * beta).check()?)?),
        }
    }),
    Entry::one("tan", |c| ops::tan(&c.var("X")?)),
    Entry::one("tanh", |c| ops::tanh(&c.var("X")?)),
    Entry::one("tanh_shrink", |c| ops::tanh_shrink(&c.var("X")?)),
    Entry::one("thresholded_relu", |c| {
        ops::threshold(&c.var("X")?, c.float("threshold", 1.0), 0.0)
    }),
    Entry::one("trunc", |c| ops::trunc(&c.var("X")?)),
];

fn prelu(c: &Call<'_>) -> Result<Var> {
    let (x, alpha) = (c.var("X")?, c.var("Alpha")?);
    let slope = match c.text("mode", "all").as_str() {
        "all" => super::value::scalar(&alpha)?,
        "channel" => {
            let mut dims = vec![fluvial_core::Dim::size(1); x.rank()];
            let axis = if c.text("data_format", "NCHW") == "NHWC" { x.rank() - 1 } else { 1 };
            *dims.get_mut(axis).ok_or_else(|| Error::shape("there is no axis of channels"))? =
                fluvial_core::Dim::REST;
            ops::reshape(&alpha, &dims)?
        }
        "element" => {
            let mut dims = x.dims().to_vec();
            dims[0] = fluvial_core::Dim::size(1);
            ops::reshape(&alpha, &dims)?
        }
        other => return Err(c.refuse(format!("`{other}` is not a mode"))),
    };
    let zero = x.literal(0.0);
    ops::add(&ops::maximum(&x, &zero)?, &ops::mul(&slope, &ops::minimum(&x, &zero)?)?)
}
