//! Metrics.

use fluvial_core::{DType, Dim, Result};
use fluvial_ops as ops;

use super::call::Call;
use super::index::ids;
use super::table::{Entry, Outs};

pub const OPS: &[Entry] = &[Entry::many("accuracy", accuracy)];

/// The share of rows of which one of the best classes is the label.
fn accuracy(c: &Call<'_>) -> Result<Outs> {
    let (best, label) = (ids(c, "Indices")?, ids(c, "Label")?);
    let rows = best.dims()[0];
    let label = ops::reshape(&label, &[rows, Dim::size(1)])?;
    let hits = ops::any(&ops::eq(&best, &label)?, &[1], false)?;
    let correct = ops::sum(&ops::cast(&hits, DType::I32)?, &[], false)?;
    let total = ops::dim_size(rows, DType::I32)?;
    let share = ops::div(&ops::cast(&correct, DType::F32)?, &ops::cast(&total, DType::F32)?)?;
    let one = |x| ops::reshape(&x, &[Dim::size(1)]);
    Ok(vec![
        ("Accuracy", vec![one(share)?.into()]),
        ("Correct", vec![one(correct)?.into()]),
        ("Total", vec![one(total)?.into()]),
    ])
}
