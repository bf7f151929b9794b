//! Layers that only change the shape.

use fluvial_core::{Dim, Error, Result, Var};
use fluvial_ops::{channel_shuffle, flatten, pixel_shuffle, pixel_unshuffle, reshape};

use crate::nn::stated::layer;

layer! {
    /// Passes its input on.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// assert_eq!(Identity::new().forward(&Var::scalar(2.0))?.item::<f64>()?, 2.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub Identity = "Identity";
    IdentitySpec {}
    new()
    forward(x) -> Tensor = |_spec, with| x.clone().check()
}

layer! {
    /// Makes one axis of several: of all but the first, unless said otherwise.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = Flatten::new().forward(&Var::of(&[0.5; 12], &[2, 3, 2])?)?;
    /// assert_eq!(y.ty().to_string(), "f64[2, 6]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.Flatten()(fl.full((2, 3, 4), 0.5)).shape
    /// (2, 12)
    /// ```
    pub Flatten = "Flatten";
    FlattenSpec {
        /// The first axis.
        start | start_dim: i64 = 1,
        /// The last axis, which is included.
        end | end_dim: i64 = -1,
    }
    new()
    forward(x) -> Tensor = |spec, with| flatten(x, spec.start, spec.end)
}

layer! {
    /// Makes several axes of one; one of the sizes may be -1, which the others decide.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = Unflatten::new(1, vec![2, -1]).forward(&Var::of(&[0.5; 12], &[2, 6])?)?;
    /// assert_eq!(y.ty().to_string(), "f64[2, 2, 3]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.Unflatten(1, (2, 3))(fl.full((4, 6), 0.5)).shape
    /// (4, 2, 3)
    /// ```
    pub Unflatten = "Unflatten";
    UnflattenSpec {
        /// The axis.
        axis | dim: i64,
        /// The sizes that it becomes.
        sizes | unflattened_size: Vec<i64>,
    }
    new(axis, sizes)
    forward(x) -> Tensor = |spec, with| unflatten(x, spec.axis, &spec.sizes)
}

/// One axis as several.
fn unflatten(x: &Var, axis: i64, sizes: &[i64]) -> Result<Var> {
    let ty = x.clone().check()?.ty();
    let rank = ty.rank() as i64;
    if !(-rank..rank).contains(&axis) {
        return Err(Error::index(format!("axis {axis} of {ty}")));
    }
    let at = axis.rem_euclid(rank) as usize;
    let (mut known, mut open) = (1i64, None);
    let mut dims: Vec<Dim> = Vec::with_capacity(sizes.len());
    for (i, &size) in sizes.iter().enumerate() {
        match size {
            -1 if open.is_none() => open = Some(i),
            0.. => known = known.saturating_mul(size),
            _ => {
                let what = format!("{sizes:?} are not sizes of an axis");
                return Err(Error::argument(what).remedy("at most one of them may be -1"));
            }
        }
        dims.push(Dim::size(size.max(0) as usize));
    }
    if let Some(i) = open {
        dims[i] = ty.dim(at).floor_div(Dim::size(known.max(1) as usize))?;
    }
    let all = [&ty.dims()[..at], &dims, &ty.dims()[at + 1..]].concat();
    reshape(x, &all)
}

layer! {
    /// Channels become pixels; see [`pixel_shuffle`].
    ///
    /// ```python
    /// >>> fl.nn.PixelShuffle(2)(fl.full((1, 4, 1, 1), 0.5)).shape
    /// (1, 1, 2, 2)
    /// ```
    pub PixelShuffle(0) = "PixelShuffle";
    /// Pixels become channels; see [`pixel_unshuffle`].
    pub PixelUnshuffle(1) = "PixelUnshuffle";
    ShuffleSpec {
        /// By how much images grow or shrink.
        factor | upscale_factor | downscale_factor: usize,
    }
    new(factor)
    forward(x) -> Tensor = |spec, with| match N {
        0 => pixel_shuffle(x, spec.factor),
        _ => pixel_unshuffle(x, spec.factor),
    }
}

layer! {
    /// Channels of all groups in turn; see [`channel_shuffle`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = ChannelShuffle::new(2).forward(&Var::of(&[0.5; 4], &[1, 4, 1, 1])?)?;
    /// assert_eq!(y.ty().to_string(), "f64[1, 4, 1, 1]");
    /// # Ok::<(), Error>(())
    /// ```
    pub ChannelShuffle = "ChannelShuffle";
    ChannelShuffleSpec {
        /// The number of groups.
        groups: usize,
    }
    new(groups)
    forward(x) -> Tensor = |spec, with| channel_shuffle(x, spec.groups)
}
