//! Windows as columns, and back.

use fluvial_core::PerAxis;
use fluvial_ops::image::{FoldOptions, UnfoldOptions};
use fluvial_ops::{fold, unfold};

use crate::nn::stated::layer;

layer! {
    /// The windows of images as columns; see [`unfold`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = Unfold::new(2).forward(&Var::of(&[0.5; 9], &[1, 1, 3, 3])?)?;
    /// assert_eq!(y.ty().to_string(), "f64[1, 4, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.Unfold(2)(fl.full((1, 3, 4, 4), 0.5)).shape
    /// (1, 12, 9)
    /// ```
    pub Unfold = "Unfold";
    UnfoldSpec {
        /// The size of the window, one number or one for each axis.
        kernel | kernel_size: PerAxis,
        /// The distance between the elements of a window.
        dilation: PerAxis = 1.into(),
        /// The zeros around the images.
        padding: PerAxis = 0.into(),
        /// The distance between windows.
        stride: PerAxis = 1.into(),
    }
    new(kernel)
    forward(x) -> Tensor = |spec, with| {
        let options = UnfoldOptions::default().dilation(spec.dilation.clone());
        let options = options.padding(spec.padding.clone()).stride(spec.stride.clone());
        unfold(x, spec.kernel.clone(), options)
    }
}

layer! {
    /// Columns added up to images, each at its window; see [`fold`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = Fold::new([2, 3], 2).forward(&Var::of(&[1.0; 8], &[1, 4, 2])?)?;
    /// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.Fold((4, 4), 2)(fl.full((1, 12, 9), 0.5)).shape
    /// (1, 3, 4, 4)
    /// ```
    pub Fold = "Fold";
    FoldSpec {
        /// The sizes of the images.
        sizes | output_size: PerAxis,
        /// The size of the window, one number or one for each axis.
        kernel | kernel_size: PerAxis,
        /// The distance between the elements of a window.
        dilation: PerAxis = 1.into(),
        /// The zeros around the images.
        padding: PerAxis = 0.into(),
        /// The distance between windows.
        stride: PerAxis = 1.into(),
    }
    new(sizes, kernel)
    forward(x) -> Tensor = |spec, with| {
        let options = FoldOptions::default().dilation(spec.dilation.clone());
        let options = options.padding(spec.padding.clone()).stride(spec.stride.clone());
        fold(x, spec.sizes.clone(), spec.kernel.clone(), options)
    }
}
