//! Convolutions.

use fluvial_core::{Error, PerAxis, Result, Var};
use fluvial_ops::conv::{ConvOptions, ConvTransposeOptions};
use fluvial_ops::{conv_transpose1d, conv_transpose2d, conv_transpose3d, conv1d, conv2d, conv3d};

use super::attr::{bias_of, weight_and_bias};
use super::layer::Layer;
use super::parameter::Parameter;
use super::path::Path;
use crate::init::Initializer;

/// A convolution over so many axes; `$window` gives the sizes of its weight.
macro_rules! convolution {
    ($(#[$doc:meta])* $layer:ident, $function:ident, $n_axes:literal, $options:ident, $window:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $layer {
            at: Path,
            channels: (usize, usize),
            kernel: PerAxis,
            options: $options,
            weight: Parameter,
            bias: Option<Parameter>,
        }

        impl $layer {
            /// A layer from `inputs` to `outputs` channels, with windows of this size.
            pub fn new(
                at: impl Into<Path>,
                inputs: usize,
                outputs: usize,
                kernel: impl Into<PerAxis>,
            ) -> $layer {
                let (at, kernel, channels) = (at.into(), kernel.into(), (inputs, outputs));
                let sizes = $window(channels, 1, &kernel, $n_axes);
                let weight = at.sized_parameter("weight", sizes, Initializer::weight_default());
                let bias = Some(at.parameter("bias", &[outputs], bias_of(&weight)));
                $layer { at, channels, kernel, options: $options::default(), weight, bias }
            }

            /// The distance between windows.
            #[must_use]
            pub fn stride(mut self, stride: impl Into<PerAxis>) -> $layer {
                self.options = self.options.stride(stride);
                self
            }

            /// The zeros around the input.
            #[must_use]
            pub fn padding(mut self, padding: impl Into<PerAxis>) -> $layer {
                self.options = self.options.padding(padding);
                self
            }

            /// The distance between the elements of a window.
            #[must_use]
            pub fn dilation(mut self, dilation: impl Into<PerAxis>) -> $layer {
                self.options = self.options.dilation(dilation);
                self
            }

            /// The number of groups of channels that do not see each other.
            #[must_use]
            pub fn groups(mut self, groups: usize) -> $layer {
                self.weight.resize($window(self.channels, groups, &self.kernel, $n_axes));
                self.options = self.options.groups(groups);
                self
            }
        }

        weight_and_bias!($layer);

        impl Layer for $layer {
            fn path(&self) -> &Path {
                &self.at
            }

            #[track_caller]
            fn forward(&self, x: &Var) -> Result<Var> {
                let _call = self.at.called();
                let bias = self.bias.as_ref().map(Parameter::get).transpose()?;
                $function(x, &self.weight.get()?, bias.as_ref(), self.options.clone())
            }
        }
    };
}

convolution! {
    /// A convolution over the last axis of `[batch, channels, length]`; see [`conv1d`]. `weight` is
    /// `[out, in / groups, kernel]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Conv1d::new("conv", 2, 4, 3).padding(1);
    /// let y = layer.forward(&Var::of(&[0.5f32; 10], &[1, 2, 5])?)?;
    /// assert_eq!(y.ty().to_string(), "f32[1, 4, 5]");
    /// # Ok::<(), Error>(())
    /// ```
    Conv1d, conv1d, 1, ConvOptions, inwards
}

convolution! {
    /// A convolution over the last two axes of `[batch, channels, height, width]`; see [`conv2d`].
    /// `weight` is `[out, in / groups, height, width]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Conv2d::new("conv", 3, 8, 3).stride(2).padding(1);
    /// let y = layer.forward(&Var::of(&[0.5f32; 3 * 64], &[1, 3, 8, 8])?)?;
    /// assert_eq!(y.ty().to_string(), "f32[1, 8, 4, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    Conv2d, conv2d, 2, ConvOptions, inwards
}

convolution! {
    /// A convolution over the last three axes; see [`conv3d`]. `weight` is `[out, in / groups, ..]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Conv3d::new("conv", 1, 2, [1, 2, 2]);
    /// let y = layer.forward(&Var::of(&[0.5f32; 8], &[1, 1, 2, 2, 2])?)?;
    /// assert_eq!(y.ty().to_string(), "f32[1, 2, 2, 1, 1]");
    /// # Ok::<(), Error>(())
    /// ```
    Conv3d, conv3d, 3, ConvOptions, inwards
}

convolution! {
    /// The transpose of a convolution over one axis; see [`conv_transpose1d`]. `weight` is
    /// `[in, out / groups, kernel]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = ConvTranspose1d::new("up", 2, 1, 2).stride(2);
    /// let y = layer.forward(&Var::of(&[0.5f32; 6], &[1, 2, 3])?)?;
    /// assert_eq!(y.ty().to_string(), "f32[1, 1, 6]");
    /// # Ok::<(), Error>(())
    /// ```
    ConvTranspose1d, conv_transpose1d, 1, ConvTransposeOptions, outwards
}

convolution! {
    /// The transpose of a convolution over two axes; see [`conv_transpose2d`]. `weight` is
    /// `[in, out / groups, height, width]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = ConvTranspose2d::new("up", 2, 3, 2).stride(2);
    /// let y = layer.forward(&Var::of(&[0.5f32; 8], &[1, 2, 2, 2])?)?;
    /// assert_eq!(y.ty().to_string(), "f32[1, 3, 4, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    ConvTranspose2d, conv_transpose2d, 2, ConvTransposeOptions, outwards
}

convolution! {
    /// The transpose of a convolution over three axes; see [`conv_transpose3d`]. `weight` is
    /// `[in, out / groups, ..]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = ConvTranspose3d::new("up", 1, 1, 2).stride(2);
    /// let y = layer.forward(&Var::of(&[0.5f32; 1], &[1, 1, 1, 1, 1])?)?;
    /// assert_eq!(y.ty().to_string(), "f32[1, 1, 2, 2, 2]");
    /// # Ok::<(), Error>(())
    /// ```
    ConvTranspose3d, conv_transpose3d, 3, ConvTransposeOptions, outwards
}

/// Pads such that the output is as large as the input.
macro_rules! same {
    ($($layer:ident),*) => {$(
        impl $layer {
            /// Pads such that the output is as large as the input, for a stride of one.
            #[must_use]
            pub fn same(mut self) -> $layer {
                self.options = self.options.same(true);
                self
            }
        }
    )*};
}
same!(Conv1d, Conv2d, Conv3d);

/// Enlarges the output.
macro_rules! output_padding {
    ($($layer:ident),*) => {$(
        impl $layer {
            /// How much larger the output is at its end, which a stride leaves open.
            #[must_use]
            pub fn output_padding(mut self, padding: impl Into<PerAxis>) -> $layer {
                self.options = self.options.output_padding(padding);
                self
            }
        }
    )*};
}
output_padding!(ConvTranspose1d, ConvTranspose2d, ConvTranspose3d);

fn inwards(
    (inputs, outputs): (usize, usize),
    groups: usize,
    kernel: &PerAxis,
    n_axes: usize,
) -> Result<Vec<usize>> {
    divides(groups, inputs)?;
    divides(groups, outputs)?;
    Ok([&[outputs, inputs / groups], &*kernel.of(n_axes)?].concat())
}

fn outwards(
    (inputs, outputs): (usize, usize),
    groups: usize,
    kernel: &PerAxis,
    n_axes: usize,
) -> Result<Vec<usize>> {
    divides(groups, inputs)?;
    divides(groups, outputs)?;
    Ok([&[inputs, outputs / groups], &*kernel.of(n_axes)?].concat())
}

fn divides(groups: usize, channels: usize) -> Result<()> {
    match groups > 0 && channels.is_multiple_of(groups) {
        true => Ok(()),
        false => Err(Error::argument(format!("{groups} groups do not divide {channels} channels"))
            .remedy("choose numbers of channels that are multiples of the number of groups")),
    }
}
