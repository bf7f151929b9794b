//! Random numbers, and what uses them in training only.

use fluvial_core::{DType, Dim, Result, Type, Var};
use fluvial_ops as ops;

use super::call::Call;
use super::create::like_batch;
use super::table::{Entry, Outs};

pub const OPS: &[Entry] = &[
    Entry::one("bernoulli", |c| {
        let x = c.var("X")?;
        ops::cast(&ops::bernoulli(&x)?, x.dtype())
    })
    .never_folds(),
    Entry::many("dropout", dropout).never_folds(),
    Entry::one("gaussian_random", |c| normal(c, &c.made()?)).never_folds(),
    Entry::one("gaussian_random_batch_size_like", |c| normal(c, &like_batch(c)?)).never_folds(),
    Entry::one("multinomial", |c| {
        let count = c.count("num_samples", 1)?;
        ops::multinomial(&c.var("X")?, count, c.flag("replacement", false))
    })
    .never_folds(),
    Entry::one("randint", |c| {
        let ty = c.made()?;
        let (low, high) = (c.int("low", 0), c.int("high", 0));
        ops::cast(&ops::randint(&ty.with_dtype(DType::I64), low, high)?, ty.dtype())
    })
    .never_folds(),
    Entry::one("randperm", |c| {
        let order = ops::permutation(Dim::size(c.count("n", 0)?))?;
        ops::cast(&order, c.dtype("dtype")?.unwrap_or(DType::I64))
    })
    .never_folds(),
    Entry::one("sampling_id", |c| ops::sampling_id(&c.var("X")?)).never_folds(),
    Entry::one("seed", |c| ops::full(&[Dim::size(1)], c.int("seed", 0) as f64, DType::I32)),
    Entry::one("truncated_gaussian_random", |c| {
        let (mean, std) = (c.float("mean", 0.0), c.float("std", 1.0));
        ops::truncated_normal(&c.made()?, mean, std, mean - 2.0 * std, mean + 2.0 * std)
    })
    .never_folds(),
    Entry::one("uniform_random", |c| uniform(c, &c.made()?)).never_folds(),
    Entry::one("uniform_random_batch_size_like", |c| uniform(c, &like_batch(c)?)).never_folds(),
];

fn normal(c: &Call<'_>, ty: &Type) -> Result<Var> {
    ops::normal(ty, c.float("mean", 0.0), c.float("std", 1.0))
}

fn uniform(c: &Call<'_>, ty: &Type) -> Result<Var> {
    if c.int("diag_num", 0) > 0 {
        return Err(c.refuse("`diag_num`"));
    }
    ops::uniform(ty, c.float("min", -1.0), c.float("max", 1.0))
}

/// Drops elements in training; outside of it gives its input. What is kept is made larger then, or all made smaller
/// outside of training.
fn dropout(c: &Call<'_>) -> Result<Outs> {
    let (x, p) = (c.var("X")?, c.float("dropout_prob", 0.5));
    let grows = c.text("dropout_implementation", "downgrade_in_infer") == "upscale_in_train";
    let kept = match c.flag("is_test", false) || p == 0.0 {
        true => x.clone(),
        false => ops::dropout(&x, p)?,
    };
    let result = if grows { kept } else { (&kept * (1.0 - p)).check()? };
    let lengths = c.val("X")?.lengths().to_vec();
    Ok(vec![("Out", vec![super::value::Val::Dense(result, lengths)])])
}
