//! Layers that only change the shape.

use fluvial_ops::{channel_shuffle, flatten, pixel_shuffle, pixel_unshuffle};

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
