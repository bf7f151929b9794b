//! `global_avg_pool` and `global_max_pool`: one element per channel.

use crate::prelude::*;
use crate::{max, mean};

/// The mean of each channel: over all axes behind the second, which stay with size one.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = global_avg_pool(&Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 2, 2])?)?;
/// assert_eq!(y.dims().as_slice(), [Dim::size(1); 4]);
/// assert_eq!(y.to_vec::<f64>()?, [2.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn global_avg_pool(x: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    mean(x, &spatial_axes("global_avg_pool", x)?, true)
}

/// The greatest element of each channel: over all axes behind the second, which stay with size one.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = global_max_pool(&Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 2, 2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn global_max_pool(x: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    max(x, &spatial_axes("global_max_pool", x)?, true)
}

#[track_caller]
fn spatial_axes(name: &str, x: &Var) -> Result<Vec<i64>> {
    let ty = x.clone().check()?.ty();
    if ty.is_list() || ty.rank() < 3 {
        return Err(Error::shape(format!("the input is {ty}, expected [batch, channels, ..]"))
            .remedy("reshape it to have a batch, channels and spatial axes")
            .in_op(name, &[&ty])
            .at(scope::user_line()));
    }
    Ok((2..ty.rank() as i64).collect())
}
