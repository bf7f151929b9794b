//! Images of other sizes.

use fluvial_ops::image::InterpolateOptions;
use fluvial_ops::{Interpolation, interpolate};

use crate::nn::stated::layer;

layer! {
    /// Spatial axes with other sizes, or so many times as long; see [`interpolate`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Upsample::new().scale(vec![2.0]);
    /// let y = layer.forward(&Var::of(&[1.0, 2.0], &[1, 1, 2])?)?;
    /// assert_eq!(y.to_vec::<f64>()?, [1.0, 1.0, 2.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.Upsample(scale_factor=2, mode="bilinear")(fl.full((1, 3, 4, 4), 0.5)).shape
    /// (1, 3, 8, 8)
    /// ```
    pub Upsample = "Upsample";
    UpsampleSpec {
        /// The new sizes, one number for all axes or one for each.
        size: Vec<usize> = Vec::new(),
        /// The factors between old and new sizes, which are rounded down.
        scale | scale_factor: Vec<f64> = Vec::new(),
        /// How new elements are made.
        mode: Interpolation = Interpolation::Nearest,
        /// Whether the first and last new elements are at the middles of the old ones.
        align_corners: bool = false,
    }
    new()
    forward(x) -> Tensor = |spec, with| {
        let options = InterpolateOptions::default().size(spec.size.clone());
        let options = options.scale(spec.scale.clone()).mode(spec.mode);
        interpolate(x, options.align_corners(spec.align_corners))
    }
}

layer! {
    /// Images made larger by repeating pixels; see [`Upsample`].
    ///
    /// ```python
    /// >>> fl.nn.UpsamplingNearest2d(scale_factor=2)(fl.full((1, 3, 4, 4), 0.5)).shape
    /// (1, 3, 8, 8)
    /// ```
    pub UpsamplingNearest2d(0) = "UpsamplingNearest2d";
    /// Images made larger by lines between pixels, whose corners stay; see [`Upsample`].
    pub UpsamplingBilinear2d(1) = "UpsamplingBilinear2d";
    Upsampling2dSpec {
        /// The new sizes, one number for both axes or one for each.
        size: Vec<usize> = Vec::new(),
        /// The factors between old and new sizes, which are rounded down.
        scale | scale_factor: Vec<f64> = Vec::new(),
    }
    new()
    forward(x) -> Tensor = |spec, with| {
        let options = InterpolateOptions::default().size(spec.size.clone());
        let options = options.scale(spec.scale.clone());
        interpolate(x, match N {
            0 => options.mode(Interpolation::Nearest),
            _ => options.mode(Interpolation::Bilinear).align_corners(true),
        })
    }
}
