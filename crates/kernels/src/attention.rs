//! Attention without the matrix of its scores.
//!
//! Queries pass in panels of [`PANEL`](crate::matmul::blocks::PANEL), which are the lanes of all loops: a
//! block of scores is keys x queries, so that the largest score and the sum of powers of a query need no
//! sums across lanes, and keys and values are read where they are. [`forward`] and [`backward`] have the
//! loops, [`problem`] brings tensors into shape, [`scores`] is what happens between the products.

mod backward;
mod forward;
mod problem;
mod scores;

#[cfg(test)]
mod tests;

use fluvial_tensor::{DType, Error, Result, Tensor};

use problem::Problem;

/// How queries attend to keys.
#[derive(Clone, Copy, Default)]
pub struct Attention<'a> {
    /// What broadcasts against the scores `[.., heads, len, keys]`: bools are true where a query attends,
    /// floats are added. A query that may attend to nothing gives zeros.
    pub mask: Option<&'a Tensor>,
    /// Whether query `i` attends to the keys up to `i` only.
    pub causal: bool,
    /// What scores are multiplied with; one over the root of the width if not given.
    pub scale: Option<f64>,
}

/// `softmax(q k^T * scale + mask) v` and, for each query, the logarithm of the sum of the exponentials
/// of its scores, which [`attention_grad`] needs.
///
/// `q` is `[.., heads, len, width]`, `k` is `[.., heads, keys, width]` and `v` is `[.., heads, keys, out]`,
/// floats of one dtype; the axes before the last two broadcast. `k` and `v` may also have fewer heads, by
/// a factor: neighbouring heads of `q` then share one. Half floats are computed in `f32`, and their
/// logarithms are `f32`.
///
/// ```
/// use fluvial_kernels::{Attention, attention};
/// use fluvial_tensor::Tensor;
///
/// let q = Tensor::from_slice(&[0.0f32, 0.0], &[2, 1])?;
/// let v = Tensor::from_slice(&[1.0f32, 3.0], &[2, 1])?;
/// let causal = Attention { causal: true, ..Attention::default() };
/// let (y, logs) = attention(&q, &q, &v, &causal)?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0]);
/// assert_eq!(logs.to_vec::<f32>()?, [0.0, 2f32.ln()]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    options: &Attention<'_>,
) -> Result<(Tensor, Tensor)> {
    let problem = Problem::new(q, k, v, options)?;
    match problem.dtype() {
        DType::F64 => forward::forward::<f64>(&problem),
        _ => forward::forward::<f32>(&problem),
    }
}

/// The gradients of [`attention`] with respect to `q`, `k` and `v`, from the gradient `grad` of its
/// result `y`, and `y` and `logs` themselves. There is none for the mask.
pub fn attention_grad(
    grad: &Tensor,
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    y: &Tensor,
    logs: &Tensor,
    options: &Attention<'_>,
) -> Result<(Tensor, Tensor, Tensor)> {
    let problem = Problem::new(q, k, v, options)?;
    let (y_dims, logs_dims) = (problem.y_dims(), problem.logs_dims());
    if grad.dims() != &*y_dims || y.dims() != &*y_dims || logs.dims() != &*logs_dims {
        let (grad, y, logs) = (grad.dims(), y.dims(), logs.dims());
        return Err(Error::shape(format!(
            "a gradient {grad:?}, a result {y:?} and logarithms {logs:?} where {y_dims:?} and \
             {logs_dims:?} belong"
        )));
    }
    match problem.dtype() {
        DType::F64 => backward::backward::<f64>(&problem, grad, y, logs),
        _ => backward::backward::<f32>(&problem, grad, y, logs),
    }
}
