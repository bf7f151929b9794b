//! `lp_pool`: the norm of each window, derived from `avg_pool`.

use super::avg_pool::{AvgPoolOptions, avg_pool1d, avg_pool2d, avg_pool3d};
use crate::prelude::*;
use crate::{abs, pow, relu, sign};

options! {
    /// How windows lie in [`lp_pool1d`], [`lp_pool2d`] and [`lp_pool3d`].
    pub struct LpPoolOptions {
        /// The distance between windows; if empty, that of the kernel.
        pub stride: PerAxis = PerAxis::default(),
        /// Whether a last window that is cut off counts. As in PyTorch, its sum is scaled to a whole
        /// window.
        pub ceil_mode: bool = false,
    }
}

/// The `p`-norm of each window on the last axis, `(sum of x^p)^(1/p)`, as PyTorch's `lp_pool1d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[3.0, 4.0, 6.0, 8.0], &[1, 1, 4])?;
/// let y = lp_pool1d(&x, 2.0, 2usize.into(), LpPoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [5.0, 10.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lp_pool1d(x: &Var, p: f64, kernel: PerAxis, options: LpPoolOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    norms(x, p, &kernel, 1, |x| avg_pool1d(x, kernel.clone(), averaged(&options)))
}

/// The `p`-norm of each window on the last two axes, `(sum of x^p)^(1/p)`, as PyTorch's `lp_pool2d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 1.0, 1.0, 1.0], &[1, 1, 2, 2])?;
/// let y = lp_pool2d(&x, 2.0, 2usize.into(), LpPoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lp_pool2d(x: &Var, p: f64, kernel: PerAxis, options: LpPoolOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    norms(x, p, &kernel, 2, |x| avg_pool2d(x, kernel.clone(), averaged(&options)))
}

/// The `p`-norm of each window on the last three axes, `(sum of x^p)^(1/p)`, as PyTorch's
/// `lp_pool3d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 1.0, 1.0, 1.0], &[1, 1, 1, 2, 2])?;
/// let y = lp_pool3d(&x, 2.0, [1, 2, 2].into(), LpPoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lp_pool3d(x: &Var, p: f64, kernel: PerAxis, options: LpPoolOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    norms(x, p, &kernel, 3, |x| avg_pool3d(x, kernel.clone(), averaged(&options)))
}

fn averaged(options: &LpPoolOptions) -> AvgPoolOptions {
    AvgPoolOptions::default().stride(options.stride.clone()).ceil_mode(options.ceil_mode)
}

#[track_caller]
fn norms(
    x: &Var,
    p: f64,
    kernel: &PerAxis,
    n_axes: usize,
    average: impl FnOnce(&Var) -> Result<Var>,
) -> Result<Var> {
    let ty = x.clone().check()?.ty();
    if p == 0.0 || !p.is_finite() {
        return Err(Error::argument(format!("{p} is not a power of a norm"))
            .remedy("use a finite one, or `max_pool` for the greatest element")
            .in_op("lp_pool", &[&ty])
            .at(scope::user_line()));
    }
    super::geometry::is_float(&ty)
        .map_err(|error| error.in_op("lp_pool", &[&ty]).at(scope::user_line()))?;
    let number = |value: f64| cast(&Var::scalar(value), ty.dtype());
    let means = average(&pow(x, &number(p)?)?)?;
    let count = kernel.of(n_axes)?.iter().map(|&size| size as f64).product::<f64>();
    let sums = sign(&means)? * relu(&abs(&means)?)? * count;
    pow(&sums.check()?, &number(1.0 / p)?)
}
