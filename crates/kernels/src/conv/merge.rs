//! Narrow groups, merged: a few groups become one, whose weights are zero between what were different
//! groups.
//!
//! Vectors are channels in the fast ways, and groups of less than 32 channels leave lanes empty. The products
//! with zeros cost less than the empty lanes.

use fluvial_tensor::{Result, Tensor};

use crate::conv::slice;

/// Channels of a merged group.
const CHANNELS: usize = 32;

/// How many groups make one, for `f32` weights of these dims; none if they are wide enough, or depthwise.
pub(super) fn merged(weight: &[usize], groups: usize) -> Option<usize> {
    let (into, out) = (weight[1], weight[0] / groups.max(1));
    if groups < 2 || into * out < 2 || !super::choose::is_wide() || weight.len() > 4 {
        return None;
    }
    let most = CHANNELS / into.max(out);
    (2..=most).rev().find(|&n| groups.is_multiple_of(n))
}

/// The weights of the merged groups.
pub(super) fn spread(weight: &Tensor, groups: usize, n: usize) -> Result<Tensor> {
    let (into, out) = (weight.dims()[1], weight.dims()[0] / groups);
    let mut dims = weight.dims().to_vec();
    dims[1] *= n;
    let mut dense = Tensor::zeros(weight.dtype(), &dims)?;
    let len = into * weight.dims()[2..].iter().product::<usize>();
    let to = dense.as_mut_slice::<f32>()?;
    let rows = to.chunks_exact_mut(n * len).zip(slice::<f32>(weight)?.chunks_exact(len));
    for (channel, (to, from)) in rows.enumerate() {
        to[channel / out % n * len..][..len].copy_from_slice(from);
    }
    Ok(dense)
}

/// What [`spread`] put in, out of weights of merged groups.
pub(super) fn gather(dense: &Tensor, groups: usize, n: usize) -> Result<Tensor> {
    let (into, out) = (dense.dims()[1] / n, dense.dims()[0] / groups);
    let mut dims = dense.dims().to_vec();
    dims[1] = into;
    let mut weight = Tensor::empty(dense.dtype(), &dims)?;
    let len = into * dims[2..].iter().product::<usize>();
    let to = weight.as_mut_slice::<f32>()?;
    let rows = to.chunks_exact_mut(len).zip(slice::<f32>(dense)?.chunks_exact(n * len));
    for (channel, (to, from)) in rows.enumerate() {
        to.copy_from_slice(&from[channel / out % n * len..][..len]);
    }
    Ok(weight)
}
