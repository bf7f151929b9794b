//! Pooling layers. They have no parameters and no place of their own.

use fluvial_core::PerAxis;
use fluvial_ops::pool::{AvgPoolOptions, LpPoolOptions, MaxPoolOptions};
use fluvial_ops::{
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d,
    adaptive_max_pool2d, adaptive_max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d, global_avg_pool,
    global_max_pool, lp_pool1d, lp_pool2d, lp_pool3d, max_pool1d, max_pool2d, max_pool3d,
};

use super::layer::stateless;

/// A layer over windows: its function, and builders for its options.
macro_rules! windows {
    ($($(#[$doc:meta])* $layer:ident $function:ident
        ($options:ident: $($(#[$about:meta])* $option:ident: $ty:ty),*);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $layer {
            kernel: PerAxis,
            options: $options,
        }

        impl $layer {
            /// Windows of this size, each beside the last.
            pub fn new(kernel: impl Into<PerAxis>) -> $layer {
                $layer { kernel: kernel.into(), options: $options::default() }
            }
            $(
                $(#[$about])*
                #[must_use]
                pub fn $option(mut self, $option: impl Into<$ty>) -> $layer {
                    self.options = self.options.$option($option);
                    self
                }
            )*
        }

        stateless!($layer, |layer, x| {
            $function(x, layer.kernel.clone(), layer.options.clone())
        });
    )*};
}

/// The three layers of a kind of windows, for one, two and three axes.
macro_rules! max_and_avg {
    ($($max:ident $max_function:ident $avg:ident $avg_function:ident $sizes:literal;)*) => {$(
        windows! {
            #[doc = concat!("The largest element of each window; see [`", stringify!($max_function), "`].")]
            ///
            /// ```
            /// use fluvial::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($max), "::new(2);")]
            #[doc = concat!("let x = Var::of(&[0.5f32; 8], &", $sizes, ")?;")]
            /// assert_eq!(layer.forward(&x)?.to_vec::<f32>()?[0], 0.5);
            /// # Ok::<(), Error>(())
            /// ```
            $max $max_function(MaxPoolOptions:
                /// The distance between windows.
                stride: PerAxis,
                /// How many places lie around the input, which never are the largest.
                padding: PerAxis,
                /// The distance between the elements of a window.
                dilation: PerAxis,
                /// Whether a last window that is not full counts.
                ceil_mode: bool);

            #[doc = concat!("The mean of each window; see [`", stringify!($avg_function), "`].")]
            ///
            /// ```
            /// use fluvial::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($avg), "::new(2);")]
            #[doc = concat!("let x = Var::of(&[0.5f32; 8], &", $sizes, ")?;")]
            /// assert_eq!(layer.forward(&x)?.to_vec::<f32>()?[0], 0.5);
            /// # Ok::<(), Error>(())
            /// ```
            $avg $avg_function(AvgPoolOptions:
                /// The distance between windows.
                stride: PerAxis,
                /// The zeros around the input.
                padding: PerAxis,
                /// Whether a last window that is not full counts.
                ceil_mode: bool,
                /// Whether these zeros count in the mean.
                count_include_pad: bool);
        }
    )*};
}

max_and_avg! {
    MaxPool1d max_pool1d AvgPool1d avg_pool1d "[1, 2, 4]";
    MaxPool2d max_pool2d AvgPool2d avg_pool2d "[1, 2, 2, 2]";
    MaxPool3d max_pool3d AvgPool3d avg_pool3d "[1, 1, 2, 2, 2]";
}

/// The p-norm of windows.
macro_rules! lp {
    ($($layer:ident $function:ident $sizes:literal;)*) => {$(
        #[doc = concat!("The p-norm of each window; see [`", stringify!($function), "`].")]
        ///
        /// ```
        /// use fluvial::prelude::*;
        ///
        #[doc = concat!("let layer = ", stringify!($layer), "::new(1.0, 2);")]
        #[doc = concat!("let x = Var::of(&[0.5f32; 8], &", $sizes, ")?;")]
        /// assert!(layer.forward(&x)?.to_vec::<f32>()?[0] >= 1.0);
        /// # Ok::<(), Error>(())
        /// ```
        #[derive(Clone, Debug)]
        pub struct $layer {
            p: f64,
            kernel: PerAxis,
            options: LpPoolOptions,
        }

        impl $layer {
            /// The norm of power `p` over windows of this size.
            pub fn new(p: f64, kernel: impl Into<PerAxis>) -> $layer {
                $layer { p, kernel: kernel.into(), options: LpPoolOptions::default() }
            }

            /// The distance between windows.
            #[must_use]
            pub fn stride(mut self, stride: impl Into<PerAxis>) -> $layer {
                self.options = self.options.stride(stride);
                self
            }

            /// Whether a last window that is not full counts.
            #[must_use]
            pub fn ceil_mode(mut self, ceil_mode: bool) -> $layer {
                self.options = self.options.ceil_mode(ceil_mode);
                self
            }
        }

        stateless!($layer, |layer, x| {
            $function(x, layer.p, layer.kernel.clone(), layer.options.clone())
        });
    )*};
}

lp! {
    LpPool1d lp_pool1d "[1, 2, 4]";
    LpPool2d lp_pool2d "[1, 2, 2, 2]";
    LpPool3d lp_pool3d "[1, 1, 2, 2, 2]";
}

/// Pooling to outputs of a given size.
macro_rules! adaptive {
    ($($layer:ident $function:ident $what:literal $sizes:literal;)*) => {$(
        #[doc = concat!(
            "The ", $what, " of as many windows as the output has places; see [`",
            stringify!($function), "`]."
        )]
        ///
        /// ```
        /// use fluvial::prelude::*;
        ///
        #[doc = concat!("let layer = ", stringify!($layer), "::new(1);")]
        #[doc = concat!("let x = Var::of(&[0.5f32; 8], &", $sizes, ")?;")]
        /// assert_eq!(layer.forward(&x)?.to_vec::<f32>()?[0], 0.5);
        /// # Ok::<(), Error>(())
        /// ```
        #[derive(Clone, Debug)]
        pub struct $layer(PerAxis);

        impl $layer {
            /// Outputs of these sizes.
            pub fn new(sizes: impl Into<PerAxis>) -> $layer {
                $layer(sizes.into())
            }
        }

        stateless!($layer, |layer, x| $function(x, layer.0.clone()));
    )*};
}

adaptive! {
    AdaptiveAvgPool1d adaptive_avg_pool1d "mean" "[1, 2, 4]";
    AdaptiveAvgPool2d adaptive_avg_pool2d "mean" "[1, 2, 2, 2]";
    AdaptiveAvgPool3d adaptive_avg_pool3d "mean" "[1, 1, 2, 2, 2]";
    AdaptiveMaxPool1d adaptive_max_pool1d "largest element" "[1, 2, 4]";
    AdaptiveMaxPool2d adaptive_max_pool2d "largest element" "[1, 2, 2, 2]";
    AdaptiveMaxPool3d adaptive_max_pool3d "largest element" "[1, 1, 2, 2, 2]";
}

/// The mean over all axes after the channels, which stay with size one.
///
/// ```
/// use fluvial::prelude::*;
///
/// let y = GlobalAvgPool.forward(&Var::of(&[1.0, 3.0, 5.0, 7.0], &[1, 2, 2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [2.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GlobalAvgPool;

stateless!(GlobalAvgPool, |_layer, x| global_avg_pool(x));

/// The largest element over all axes after the channels, which stay with size one.
///
/// ```
/// use fluvial::prelude::*;
///
/// let y = GlobalMaxPool.forward(&Var::of(&[1.0, 3.0, 5.0, 7.0], &[1, 2, 2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [3.0, 7.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GlobalMaxPool;

stateless!(GlobalMaxPool, |_layer, x| global_max_pool(x));
