//! Pooling layers. They have no parameters and no place of their own.

use fluvial_core::{PerAxis, Result};
use fluvial_ops::pool::{AvgPoolOptions, LpPoolOptions, MaxPoolOptions, MaxUnpoolOptions};
use fluvial_ops::{
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d,
    adaptive_max_pool2d, adaptive_max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d, global_avg_pool,
    global_max_pool, lp_pool1d, lp_pool2d, lp_pool3d, max_pool1d, max_pool1d_with_indices,
    max_pool2d, max_pool2d_with_indices, max_pool3d, max_pool3d_with_indices, max_unpool1d,
    max_unpool2d, max_unpool3d,
};

use crate::nn::stated::{Call, Statement, Value, layer};

layer! {
    /// The largest element of each window of sequences; see [`max_pool1d`].
    ///
    /// ```python
    /// >>> fl.nn.MaxPool1d(2)(fl.tensor([[[1.0, 3.0, 2.0, 4.0]]])).tolist()
    /// [[[3.0, 4.0]]]
    /// ```
    pub MaxPool1d(1) = "MaxPool1d";
    /// The largest element of each window of images; see [`max_pool2d`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = MaxPool2d::new(2).stride(1);
    /// let y = layer.forward(&Var::of(&[0.5f32; 9], &[1, 1, 3, 3])?)?;
    /// assert_eq!(y.ty().to_string(), "f32[1, 1, 2, 2]");
    /// # Ok::<(), Error>(())
    /// ```
    pub MaxPool2d(2) = "MaxPool2d";
    /// The largest element of each window of volumes; see [`max_pool3d`].
    pub MaxPool3d(3) = "MaxPool3d";
    MaxPoolSpec {
        /// The size of the window, one number or one for each axis.
        kernel | kernel_size: PerAxis,
        /// Its step; the window's size if nothing is said.
        stride: PerAxis = PerAxis::default(),
        /// How many places lie around the input, which never are the largest.
        padding: PerAxis = 0.into(),
        /// The distance between the elements of a window.
        dilation: PerAxis = 1.into(),
        /// Whether the output is a pair, with the places of the elements, for `MaxUnpool2d`.
        return_indices: bool = false,
        /// Whether a last window that is not full counts.
        ceil_mode: bool = false,
    }
    new(kernel)
    forward(x) -> Any = |spec, with| {
        let (kernel, stride, padding) = (spec.kernel.clone(), &spec.stride, &spec.padding);
        let options = MaxPoolOptions::default().padding(padding.clone()).stride(stride.clone());
        let options = options.dilation(spec.dilation.clone()).ceil_mode(spec.ceil_mode);
        match (spec.return_indices, N) {
            (false, 1) => max_pool1d(x, kernel, options).map(Value::from),
            (false, 2) => max_pool2d(x, kernel, options).map(Value::from),
            (false, _) => max_pool3d(x, kernel, options).map(Value::from),
            (_, 1) => max_pool1d_with_indices(x, kernel, options).map(Value::from),
            (_, 2) => max_pool2d_with_indices(x, kernel, options).map(Value::from),
            _ => max_pool3d_with_indices(x, kernel, options).map(Value::from),
        }
    }
}

layer! {
    /// Zeros with the elements that [`MaxPool1d`] found at their places; see [`max_unpool1d`]. The sizes of
    /// what was pooled may be given with a call, whole or without batch and channels.
    ///
    /// ```python
    /// >>> y, places = fl.nn.MaxPool1d(2, return_indices=True)(fl.tensor([[[1.0, 3.0, 4.0, 2.0]]]))
    /// >>> fl.nn.MaxUnpool1d(2)(y, places).tolist()
    /// [[[0.0, 3.0, 4.0, 0.0]]]
    /// ```
    pub MaxUnpool1d(1) = "MaxUnpool1d";
    /// Zeros with the elements that [`MaxPool2d`] found at their places; see `MaxUnpool1d`.
    pub MaxUnpool2d(2) = "MaxUnpool2d";
    /// Zeros with the elements that [`MaxPool3d`] found at their places; see `MaxUnpool1d`.
    pub MaxUnpool3d(3) = "MaxUnpool3d";
    MaxUnpoolSpec {
        /// The size of the window, one number or one for each axis.
        kernel | kernel_size: PerAxis,
        /// Its step; the window's size if nothing is said.
        stride: PerAxis = PerAxis::default(),
        /// The padding of the pool.
        padding: PerAxis = 0.into(),
    }
    new(kernel)
    forward(x, indices, sizes | output_size: Sizes) -> Tensor
}

impl<const N: usize> Statement for MaxUnpoolSpec<N> {
    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (x, indices, kernel) = (with.x()?, with.input(1)?, self.kernel.clone());
        let sizes = with.sizes(2);
        let sizes = sizes[sizes.len().saturating_sub(N)..].to_vec();
        let options = MaxUnpoolOptions::default().stride(self.stride.clone());
        let options = options.padding(self.padding.clone()).size(sizes);
        let y = match N {
            1 => max_unpool1d(x, indices, kernel, options),
            2 => max_unpool2d(x, indices, kernel, options),
            _ => max_unpool3d(x, indices, kernel, options),
        };
        Ok(y?.into())
    }
}

layer! {
    /// The mean of each window of sequences; see [`avg_pool1d`].
    ///
    /// ```python
    /// >>> fl.nn.AvgPool1d(2)(fl.tensor([[[1.0, 3.0, 2.0, 4.0]]])).tolist()
    /// [[[2.0, 3.0]]]
    /// ```
    pub AvgPool1d(1) = "AvgPool1d";
    /// The mean of each window of images; see [`avg_pool2d`].
    pub AvgPool2d(2) = "AvgPool2d";
    /// The mean of each window of volumes; see [`avg_pool3d`].
    pub AvgPool3d(3) = "AvgPool3d";
    AvgPoolSpec {
        /// The size of the window, one number or one for each axis.
        kernel | kernel_size: PerAxis,
        /// Its step; the window's size if nothing is said.
        stride: PerAxis = PerAxis::default(),
        /// The zeros around the input.
        padding: PerAxis = 0.into(),
        /// Whether a last window that is not full counts.
        ceil_mode: bool = false,
        /// Whether the zeros count in the mean.
        count_include_pad: bool = true,
    }
    new(kernel)
    forward(x) -> Tensor = |spec, with| {
        let (kernel, stride, padding) = (spec.kernel.clone(), &spec.stride, &spec.padding);
        let options = AvgPoolOptions::default().padding(padding.clone()).stride(stride.clone());
        let options = options.ceil_mode(spec.ceil_mode).count_include_pad(spec.count_include_pad);
        match N {
            1 => avg_pool1d(x, kernel, options),
            2 => avg_pool2d(x, kernel, options),
            _ => avg_pool3d(x, kernel, options),
        }
    }
}

layer! {
    /// The p-norm of each window of sequences; see [`lp_pool1d`].
    ///
    /// ```python
    /// >>> fl.nn.LpPool1d(1.0, 2)(fl.tensor([[[1.0, 3.0, 2.0, 4.0]]])).tolist()
    /// [[[4.0, 6.0]]]
    /// ```
    pub LpPool1d(1) = "LpPool1d" | LPPool1d;
    /// The p-norm of each window of images; see [`lp_pool2d`].
    pub LpPool2d(2) = "LpPool2d" | LPPool2d;
    /// The p-norm of each window of volumes; see [`lp_pool3d`].
    pub LpPool3d(3) = "LpPool3d" | LPPool3d;
    LpPoolSpec {
        /// The power of the norm.
        p | norm_type: f64,
        /// The size of the window, one number or one for each axis.
        kernel | kernel_size: PerAxis,
        /// Its step; the window's size if nothing is said.
        stride: PerAxis = PerAxis::default(),
        /// Whether a last window that is not full counts.
        ceil_mode: bool = false,
    }
    new(p, kernel)
    forward(x) -> Tensor = |spec, with| {
        let kernel = spec.kernel.clone();
        let options = LpPoolOptions::default().stride(spec.stride.clone());
        let options = options.ceil_mode(spec.ceil_mode);
        match N {
            1 => lp_pool1d(x, spec.p, kernel, options),
            2 => lp_pool2d(x, spec.p, kernel, options),
            _ => lp_pool3d(x, spec.p, kernel, options),
        }
    }
}

layer! {
    /// The mean of as many windows of sequences as the output has places; see
    /// [`adaptive_avg_pool1d`].
    ///
    /// ```python
    /// >>> fl.nn.AdaptiveAvgPool1d(1)(fl.tensor([[[1.0, 3.0]]])).tolist()
    /// [[[2.0]]]
    /// ```
    pub AdaptiveAvgPool1d(1) = "AdaptiveAvgPool1d";
    /// The mean of as many windows of images as the output has places; see [`adaptive_avg_pool2d`].
    pub AdaptiveAvgPool2d(2) = "AdaptiveAvgPool2d";
    /// The mean of as many windows of volumes as the output has places; see [`adaptive_avg_pool3d`].
    pub AdaptiveAvgPool3d(3) = "AdaptiveAvgPool3d";
    /// The largest element of as many windows of sequences as the output has places; see
    /// [`adaptive_max_pool1d`].
    pub AdaptiveMaxPool1d(4) = "AdaptiveMaxPool1d";
    /// The largest element of as many windows of images as the output has places; see
    /// [`adaptive_max_pool2d`].
    pub AdaptiveMaxPool2d(5) = "AdaptiveMaxPool2d";
    /// The largest element of as many windows of volumes as the output has places; see
    /// [`adaptive_max_pool3d`].
    pub AdaptiveMaxPool3d(6) = "AdaptiveMaxPool3d";
    AdaptivePoolSpec {
        /// The sizes of the output, one number or one for each axis.
        sizes | output_size: PerAxis,
    }
    new(sizes)
    forward(x) -> Tensor = |spec, with| match (N, spec.sizes.clone()) {
        (1, sizes) => adaptive_avg_pool1d(x, sizes),
        (2, sizes) => adaptive_avg_pool2d(x, sizes),
        (3, sizes) => adaptive_avg_pool3d(x, sizes),
        (4, sizes) => adaptive_max_pool1d(x, sizes),
        (5, sizes) => adaptive_max_pool2d(x, sizes),
        (_, sizes) => adaptive_max_pool3d(x, sizes),
    }
}

layer! {
    /// The mean over all axes after the channels, which stay with size one.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = GlobalAvgPool::new().forward(&Var::of(&[1.0, 3.0, 5.0, 7.0], &[1, 2, 2])?)?;
    /// assert_eq!(y.to_vec::<f64>()?, [2.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.GlobalAvgPool()(fl.full((2, 3, 4, 4), 1.0)).shape[:2]
    /// (2, 3)
    /// ```
    pub GlobalAvgPool(0) = "GlobalAvgPool";
    /// The largest element over all axes after the channels, which stay with size one.
    pub GlobalMaxPool(1) = "GlobalMaxPool";
    GlobalPoolSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| match N {
        0 => global_avg_pool(x),
        _ => global_max_pool(x),
    }
}
