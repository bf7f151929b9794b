//! `local_response_norm`: each element against neighbouring channels.

use super::family::is_floats;
use crate::pow;
use crate::prelude::*;
use crate::shape::{concat, narrow};

options! {
    /// How far and how much channels inhibit each other.
    pub struct LrnOptions {
        /// The number of neighbouring channels, the own one included.
        pub size: usize = 5,
        /// The factor of their mean square.
        pub alpha: f64 = 1e-4,
        /// The power of the divisor.
        pub beta: f64 = 0.75,
        /// What is added to the divisor.
        pub k: f64 = 1.0,
    }
}

/// `x / (k + alpha * m)^beta`, where `m` is the mean square over `size` neighbouring channels, which are
/// axis 1; channels beyond the ends count as zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[1, 3, 1])?;
/// let options = LrnOptions::default().size(1usize).alpha(1.0).beta(1.0).k(0.0);
/// assert_eq!(local_response_norm(&x, options)?.to_vec::<f64>()?, [1.0, 0.5, 1.0 / 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn local_response_norm(x: &Var, options: LrnOptions) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    check(&ty, options.size).map_err(|error| error.in_op("local_response_norm", &[&ty]).at(loc))?;
    let zeros = |count: usize| {
        let mut dims = x.dims();
        dims[1] = Dim::size(count);
        fill(0.0, &ty.with_dims(&dims)?)
    };
    let (before, after) = (zeros(options.size / 2)?, zeros((options.size - 1) / 2)?);
    let squares = concat(&[&before, &mul(x, x)?, &after], 1)?;
    let window = |start: usize| narrow(&squares, 1, Dim::size(start), ty.dim(1));
    let total = (1..options.size).try_fold(window(0)?, |sum, i| add(&sum, &window(i)?))?;
    let divisor = total * (options.alpha / options.size as f64) + options.k;
    let beta = fill(options.beta, &Type::scalar(ty.dtype()))?;
    div(x, &pow(&divisor, &beta)?)
}

fn check(x: &Type, size: usize) -> Result<()> {
    is_floats(x, 3)?;
    match size {
        0 => Err(Error::argument("no channels are neighbours: the size is 0")),
        _ => Ok(()),
    }
}
