//! `channel_shuffle`: channels dealt out from groups.

use crate::prelude::*;
use crate::shape::{permute, reshape};

/// Takes one channel of each group in turn, as PyTorch's `channel_shuffle`: `x` is
/// `[batch, channels, ..]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[1, 4, 1])?;
/// assert_eq!(channel_shuffle(&x, 2)?.to_vec::<f64>()?, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn channel_shuffle(x: &Var, groups: usize) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let shuffled = || {
        if ty.is_list() || ty.rank() < 3 {
            return Err(Error::shape(format!("the input is {ty}, expected [batch, channels, ..]")));
        }
        if groups == 0 {
            return Err(Error::argument("there are 0 groups").remedy("use at least one"));
        }
        let (channels, count) = (ty.dim(1), Dim::size(groups));
        let each = channels.floor_div(count)?;
        if each.mul(count)? != channels {
            return Err(Error::shape(format!(
                "{channels} channels are not divisible by {groups} groups"
            ))
            .remedy("use a number of groups that divides the channels"));
        }
        let apart: Vec<Dim> = [&[ty.dim(0), count, each], &ty.dims()[2..]].concat();
        let mut axes: Vec<i64> = (0..=ty.rank() as i64).collect();
        axes.swap(1, 2);
        reshape(&permute(&reshape(x, &apart)?, &axes)?, ty.dims())
    };
    shuffled().map_err(|error| error.in_op("channel_shuffle", &[&ty]).at(loc))
}
