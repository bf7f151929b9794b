//! Normalisations.

use fluvial_core::{Dim, Result, Var};
use fluvial_ops::{self as ops, LrnOptions, SpectralNormOptions};

use super::call::Call;
use super::shape::channels_first;
use super::table::{Entry, Outs};
use super::value::Val;

pub const OPS: &[Entry] = &[
    Entry::many("batch_norm", batch_norm),
    Entry::many("sync_batch_norm", batch_norm),
    Entry::to("group_norm", "Y", |c| {
        channels_first(c, "data_layout", |x| {
            let (scale, bias) = (c.opt("Scale")?, c.opt("Bias")?);
            let eps = c.float("epsilon", 1e-5);
            ops::group_norm(x, c.count("groups", 1)?, scale.as_ref(), bias.as_ref(), eps)
        })
    }),
    Entry::to("instance_norm", "Y", |c| {
        let (scale, bias) = (c.opt("Scale")?, c.opt("Bias")?);
        let eps = c.float("epsilon", 1e-5);
        ops::instance_norm(&c.var("X")?, scale.as_ref(), bias.as_ref(), eps)
    }),
    Entry::many("layer_norm", layer_norm),
    Entry::one("lrn", |c| {
        let size = c.count("n", 5)?;
        // Here the sum of squares is meant, there their mean.
        let options = LrnOptions::default()
            .size(size)
            .alpha(c.float("alpha", 1e-4) * size as f64)
            .beta(c.float("beta", 0.75))
            .k(c.float("k", 2.0));
        ops::local_response_norm(&c.var("X")?, options)
    }),
    Entry::one("norm", |c| {
        let x = c.var("X")?;
        let axis = c.int("axis", -1);
        let squares = ops::sum(&ops::square(&x)?, &[axis], true)?;
        ops::div(&x, &ops::sqrt(&(&squares + c.float("epsilon", 1e-10)).check()?)?)
    }),
    Entry::one("spectral_norm", |c| {
        let options = SpectralNormOptions::default()
            .axis(c.int("dim", 0))
            .iterations(c.count("power_iters", 1)?)
            .eps(c.float("eps", 1e-12));
        let (weight, u, v) = (c.var("Weight")?, c.var("U")?, c.var("V")?);
        Ok(ops::spectral_norm(&weight, &u, &v, options)?.0)
    }),
];

fn batch_norm(c: &Call<'_>) -> Result<Outs> {
    let (scale, bias) = (c.opt("Scale")?, c.opt("Bias")?);
    let (mean, variance) = (c.var("Mean")?, c.var("Variance")?);
    let (eps, momentum) = (c.float("epsilon", 1e-5), c.float("momentum", 0.9));
    let momentum = match c.known("MomentumTensor")? {
        Some(tensor) => tensor.to_f64s().first().copied().unwrap_or(momentum),
        None => momentum,
    };
    let mut new = None;
    let is_used = c.flag("is_test", false) && !c.flag("trainable_statistics", false);
    let y = channels_first(c, "data_layout", |x| {
        let in_use = ops::batch_norm(x, &mean, &variance, scale.as_ref(), bias.as_ref(), eps)?;
        if is_used || c.flag("use_global_stats", false) {
            return Ok(in_use);
        }
        let (y, batch_mean, batch_variance) =
            ops::batch_norm_train(x, scale.as_ref(), bias.as_ref(), eps)?;
        new = Some((batch_mean, batch_variance));
        ops::by_phase(&y, &in_use)
    })?;
    let lengths = c.val("X")?.lengths().to_vec();
    let mut outs: Outs = vec![("Y", vec![Val::Dense(y, lengths)])];
    let Some((batch_mean, batch_variance)) = new else {
        outs.extend([("MeanOut", vec![mean.into()]), ("VarianceOut", vec![variance.into()])]);
        return Ok(outs);
    };
    let moved = |old: &Var, new: &Var| (&(old * momentum) + &(new * (1.0 - momentum))).check();
    let inverse = ops::rsqrt(&(&batch_variance + eps).check()?)?;
    outs.extend([
        ("MeanOut", vec![moved(&mean, &batch_mean)?.into()]),
        ("VarianceOut", vec![moved(&variance, &batch_variance)?.into()]),
        ("SavedMean", vec![batch_mean.into()]),
        ("SavedVariance", vec![inverse.into()]),
    ]);
    Ok(outs)
}

fn layer_norm(c: &Call<'_>) -> Result<Outs> {
    let x = c.var("X")?;
    let axis = c.axis("begin_norm_axis", 1, x.rank())?;
    let (count, eps) = (x.rank() - axis, c.float("epsilon", 1e-5));
    let inner: Vec<Dim> = x.dims()[axis..].to_vec();
    let shaped = |slot: &str| -> Result<Option<Var>> {
        c.opt(slot)?.map(|part| ops::reshape(&part, &inner)).transpose()
    };
    let (scale, bias) = (shaped("Scale")?, shaped("Bias")?);
    let y = ops::layer_norm(&x, count, scale.as_ref(), bias.as_ref(), eps)?;
    let mut outs: Outs = vec![("Y", vec![Val::Dense(y, c.val("X")?.lengths().to_vec())])];
    if c.wants("Mean") || c.wants("Variance") {
        let axes: Vec<i64> = (axis as i64..x.rank() as i64).collect();
        let rows = [crate::fit::count(&x.dims()[..axis])?];
        let mean = ops::reshape(&ops::mean(&x, &axes, false)?, &rows)?;
        let variance = ops::reshape(&ops::var(&x, &axes, false, 0.0)?, &rows)?;
        outs.extend([("Mean", vec![mean.into()]), ("Variance", vec![variance.into()])]);
    }
    Ok(outs)
}
