//! `scaled_dot_product_attention`: values by how much their keys fit the queries.

use super::attention::Attend;
use crate::prelude::*;
use crate::random::dropout;
use crate::shape::derived::judged;
use crate::shape::{permute, reshape};
use crate::{dim_size, eq, iota, le, matmul, max, softmax, sqrt, where_};

options! {
    /// How queries attend to keys.
    pub struct AttentionOptions {
        /// Whether query `i` attends to the keys up to `i` only.
        pub causal: bool = false,
        /// The probability that a weight is dropped.
        pub dropout: f64 = 0.0,
        /// What products are multiplied with; one over the root of the width if not given.
        pub scale: Option<f64> = None,
    }
}

/// `softmax(q k^T * scale + mask) v`, where `q` is `[.., heads, len, width]`, `k` is
/// `[.., heads, keys, width]` and `v` is `[.., heads, keys, out]`; the result is `[.., heads, len, out]`.
///
/// `mask` broadcasts against `[.., heads, len, keys]`: bools are true where a query attends, floats are
/// added. With `causal` besides, both hold. A query that may attend to nothing gives zeros, as in PyTorch,
/// and no gradient. `k` and `v` may have fewer heads: neighbouring heads of `q` then share one.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let q = Var::of(&[0.0, 0.0], &[2, 1])?;
/// let v = Var::of(&[1.0, 3.0], &[2, 1])?;
/// let options = AttentionOptions::default().causal(true);
/// let y = scaled_dot_product_attention(&q, &q, &v, None, options)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scaled_dot_product_attention(
    q: &Var,
    k: &Var,
    v: &Var,
    mask: Option<&Var>,
    options: AttentionOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::low();
    let (q, k, v) = (&precision.of(q)?, &precision.of(k)?, &precision.of(v)?);
    let mask = precision.maybe(mask)?;
    let mask = mask.as_ref();
    let inputs: Vec<&Var> = [q, k, v].into_iter().chain(mask).collect();
    judged("scaled_dot_product_attention", &inputs, |ty| {
        fit(&ty[0], &ty[1], &ty[2])?;
        mask_fits(ty.get(3))?;
        super::channel_dropout::is_droppable(&ty[0], options.dropout)?;
        groups(&ty[0], &ty[1])
    })?;
    let op = Attend { causal: options.causal, scale: options.scale, logs: false };
    let types: Vec<Type> = inputs.iter().map(|var| var.ty()).collect();
    match options.dropout == 0.0 && op.infer(&types.iter().collect::<Vec<_>>()).is_ok() {
        true => bind1(op, &inputs),
        false => defined(q, k, v, mask, &options),
    }
}

/// The definition by other ops.
pub(super) fn defined(
    q: &Var,
    k: &Var,
    v: &Var,
    mask: Option<&Var>,
    options: &AttentionOptions,
) -> Result<Var> {
    let Some(groups) = groups(&q.ty(), &k.ty())? else {
        return matmul(&weigh(q, k, mask, options)?, v);
    };
    let mask = mask.map(|mask| grouped_mask(mask, groups)).transpose()?;
    let (own, k, v) = (split_heads(q, groups)?, with_group_axis(k)?, with_group_axis(v)?);
    let y = matmul(&weigh(&own, &k, mask.as_ref(), options)?, &v)?;
    let mut dims = q.dims();
    dims[q.rank() - 1] = y.ty().dim(y.rank() - 1);
    reshape(&y, &dims)
}

/// How much each query attends to each key: the weights that [`scaled_dot_product_attention`] takes the
/// mean of `v` with, after dropout. `q` and `k` have the same heads; the result is `[.., heads, len, keys]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let q = Var::of(&[0.0, 0.0], &[2, 1])?;
/// let options = AttentionOptions::default().causal(true);
/// let weights = attention_weights(&q, &q, None, options)?;
/// assert_eq!(weights.to_vec::<f64>()?, [1.0, 0.0, 0.5, 0.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn attention_weights(
    q: &Var,
    k: &Var,
    mask: Option<&Var>,
    options: AttentionOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let inputs: Vec<&Var> = [q, k].into_iter().chain(mask).collect();
    judged("attention_weights", &inputs, |ty| {
        fit(&ty[0], &ty[1], &ty[1])?;
        mask_fits(ty.get(2))?;
        super::channel_dropout::is_droppable(&ty[0], options.dropout)
    })?;
    weigh(q, k, mask, &options)
}

fn weigh(q: &Var, k: &Var, mask: Option<&Var>, options: &AttentionOptions) -> Result<Var> {
    let scores = scores(q, k, mask, options)?;
    let weights = match mask {
        Some(_) => softmax_or_zeros(&scores)?,
        None => softmax(&scores, -1)?,
    };
    match options.dropout > 0.0 {
        true => dropout(&weights, options.dropout),
        false => Ok(weights),
    }
}

/// What softmax is taken of.
pub(super) fn scores(
    q: &Var,
    k: &Var,
    mask: Option<&Var>,
    options: &AttentionOptions,
) -> Result<Var> {
    let width = q.ty().dim(q.rank() - 1);
    let mut scores = matmul(&scaled(q, width, options.scale)?, &transposed(k)?)?;
    let lowest = fill(f64::NEG_INFINITY, &Type::scalar(scores.dtype()))?;
    if let Some(mask) = mask {
        scores = match mask.dtype() {
            DType::Bool => where_(mask, &scores, &lowest)?,
            _ => add(&scores, mask)?,
        };
    }
    if options.causal {
        let (len, keys) = (q.ty().dim(q.rank() - 2), k.ty().dim(k.rank() - 2));
        let rows = reshape(&iota(len, DType::I64)?, &[len, Dim::size(1)])?;
        scores = where_(&le(&iota(keys, DType::I64)?, &rows)?, &scores, &lowest)?;
    }
    Ok(scores)
}

/// Matrices with rows as columns.
pub(super) fn transposed(x: &Var) -> Result<Var> {
    let mut order: Vec<i64> = (0..x.rank() as i64).collect();
    order.swap(x.rank() - 2, x.rank() - 1);
    permute(x, &order)
}

/// Softmax over the last axis, but zeros for rows of nothing but negative infinity.
fn softmax_or_zeros(scores: &Var) -> Result<Var> {
    if scores.ty().dim(scores.rank() - 1) == Dim::size(0) {
        return Ok(scores.clone());
    }
    let number = |number: f64| fill(number, &Type::scalar(scores.dtype()));
    let (zero, lowest) = (number(0.0)?, number(f64::NEG_INFINITY)?);
    let is_dead = eq(&max(&stop_gradient(scores)?, &[-1], true)?, &lowest)?;
    // Those rows are replaced before, too: the gradient of a softmax that is NaN would be NaN.
    let weights = softmax(&where_(&is_dead, &zero, scores)?, -1)?;
    where_(&is_dead, &zero, &weights)
}

/// Times the scale of queries of this width.
pub(super) fn scaled(x: &Var, width: Dim, scale: Option<f64>) -> Result<Var> {
    match (scale, width.value()) {
        (Some(scale), _) => (x * scale).check(),
        (None, Some(width)) => (x * (1.0 / (width as f64).sqrt())).check(),
        // The same bits as with a width that is known.
        (None, None) => {
            let root = sqrt(&dim_size(width, DType::F64)?)?;
            mul(x, &cast(&div(&Var::scalar(1.0), &root)?, x.dtype())?)
        }
    }
}

/// How many heads of `q` share one of `k`, if that is not one.
pub(super) fn groups(q: &Type, k: &Type) -> Result<Option<(usize, usize)>> {
    if q.rank() < 3 || k.rank() < 3 {
        return Ok(None);
    }
    let (own, shared) = (q.dim(q.rank() - 3), k.dim(k.rank() - 3));
    if own == shared || shared == Dim::size(1) {
        return Ok(None);
    }
    match (own.value(), shared.value()) {
        (Some(own), Some(shared)) if shared > 0 && own % shared == 0 => {
            Ok(Some((shared, own / shared)))
        }
        _ => {
            Err(Error::shape(format!("{own} heads of queries cannot share {shared} heads of keys"))
                .remedy("the number of query heads is a multiple of that of keys and values"))
        }
    }
}

/// `[.., heads, len, width]` as `[.., shared, group, len, width]`.
pub(super) fn split_heads(q: &Var, (shared, group): (usize, usize)) -> Result<Var> {
    let mut dims = q.dims();
    let heads = dims.len() - 3;
    dims[heads] = Dim::size(shared);
    dims.insert(heads + 1, Dim::size(group));
    reshape(q, &dims)
}

/// `[.., heads, keys, width]` as `[.., heads, 1, keys, width]`.
pub(super) fn with_group_axis(k: &Var) -> Result<Var> {
    let mut dims = k.dims();
    dims.insert(k.rank() - 2, Dim::size(1));
    reshape(k, &dims)
}

/// The mask against heads in groups.
pub(super) fn grouped_mask(mask: &Var, groups: (usize, usize)) -> Result<Var> {
    match mask.rank() {
        0..3 => Ok(mask.clone()),
        rank if mask.ty().dim(rank - 3) == Dim::size(1) => with_group_axis(mask),
        _ => split_heads(mask, groups),
    }
}

/// Refuses queries, keys and values that do not fit together.
pub(super) fn fit(q: &Type, k: &Type, v: &Type) -> Result<()> {
    if [q, k, v].iter().any(|ty| ty.rank() < 2 || !ty.is_float()) {
        return Err(Error::shape("queries, keys and values are floats with at least two axes")
            .remedy("the order of axes is [.., heads, length, width]"));
    }
    let last = |ty: &Type, back: usize| ty.dim(ty.rank() - back);
    if last(q, 1) != last(k, 1) {
        let (q, k) = (last(q, 1), last(k, 1));
        return Err(Error::shape(format!("queries have width {q}, but keys have width {k}")));
    }
    if k.dims()[..k.rank() - 1] != v.dims()[..v.rank() - 1] {
        return Err(Error::shape(format!("keys {k} and values {v} differ in more than the width")));
    }
    Ok(())
}

/// Refuses a mask of other than bools and floats.
pub(super) fn mask_fits(mask: Option<&Type>) -> Result<()> {
    match mask {
        Some(mask) if !mask.is_float() && !mask.dtype().is_bool() => {
            Err(Error::dtype(format!("a mask is of bools or floats, found {mask}")))
        }
        _ => Ok(()),
    }
}
