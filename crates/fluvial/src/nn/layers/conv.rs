//! Convolutions.

use fluvial_core::{Error, PerAxis, Result, Var};
use fluvial_ops::conv::{ConvOptions, ConvTransposeOptions};
use fluvial_ops::{conv_transpose1d, conv_transpose2d, conv_transpose3d, conv1d, conv2d, conv3d};

use crate::init::Initializer;
use crate::nn::stated::{Call, Parts, Statement, Value, layer};

layer! {
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
    ///
    /// ```python
    /// >>> fl.nn.Conv1d(2, 4, 3, padding=1)(fl.full((1, 2, 8), 0.5)).shape
    /// (1, 4, 8)
    /// ```
    pub Conv1d(1) = "Conv1d" | Conv1D;
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
    ///
    /// ```python
    /// >>> fl.nn.Conv2d(1, 8, 3, padding=1)(fl.full((2, 1, 5, 5), 0.5)).shape
    /// (2, 8, 5, 5)
    /// ```
    pub Conv2d(2) = "Conv2d" | Conv2D;
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
    ///
    /// ```python
    /// >>> fl.nn.Conv3d(1, 2, 2)(fl.full((1, 1, 3, 3, 3), 0.5)).shape
    /// (1, 2, 2, 2, 2)
    /// ```
    pub Conv3d(3) = "Conv3d" | Conv3D;
    ConvSpec {
        /// The number of channels of the input, or nothing if the first input says it.
        inputs | in_channels: Option<usize>,
        /// The number of channels of the output.
        outputs | out_channels: usize,
        /// The size of the window, one number or one for each axis.
        kernel | kernel_size: PerAxis,
        /// The distance between windows.
        stride: PerAxis = 1.into(),
        /// The zeros around the input.
        padding: PerAxis = 0.into(),
        /// The distance between the elements of a window.
        dilation: PerAxis = 1.into(),
        /// The number of groups of channels that do not see each other.
        groups: usize = 1,
        /// Whether there is a bias.
        bias: bool = true,
        /// Whether the padding is such that, with stride 1, sizes stay as they are.
        same: bool = false,
    }
    new(at, inputs, outputs, kernel)
    attrs(weight_attr, bias_attr)
    parts(weight, bias: Option)
    forward(x) -> Tensor
}

impl<const N: usize> Statement for ConvSpec<N> {
    fn normalise(&mut self) {
        self.kernel = per_axis(&self.kernel, N);
    }

    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let channels = Channels { inputs: self.inputs, outputs: self.outputs, groups: self.groups };
        channels.declare(parts, &self.kernel.of(N)?, self.bias, false)
    }

    fn complete(&self, inputs: &[Value]) -> Result<Option<ConvSpec<N>>> {
        let known = found(self.inputs, inputs)?;
        Ok(known.map(|known| ConvSpec { inputs: Some(known), ..self.clone() }))
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (x, weight, bias) = (with.x()?, with.value("weight")?, with.optional("bias")?);
        let options = ConvOptions::default().stride(self.stride.clone()).groups(self.groups);
        let options = options.padding(self.padding.clone()).dilation(self.dilation.clone());
        let options = options.same(self.same);
        let y = match N {
            1 => conv1d(x, &weight, bias.as_ref(), options),
            2 => conv2d(x, &weight, bias.as_ref(), options),
            _ => conv3d(x, &weight, bias.as_ref(), options),
        };
        Ok(y?.into())
    }
}

layer! {
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
    ///
    /// ```python
    /// >>> fl.nn.ConvTranspose1d(2, 4, 2, stride=2)(fl.full((1, 2, 3), 0.5)).shape
    /// (1, 4, 6)
    /// ```
    pub ConvTranspose1d(1) = "ConvTranspose1d" | Conv1DTranspose;
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
    ///
    /// ```python
    /// >>> fl.nn.ConvTranspose2d(2, 1, 2, stride=2)(fl.full((1, 2, 3, 3), 0.5)).shape
    /// (1, 1, 6, 6)
    /// ```
    pub ConvTranspose2d(2) = "ConvTranspose2d" | Conv2DTranspose;
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
    ///
    /// ```python
    /// >>> fl.nn.ConvTranspose3d(1, 1, 2)(fl.full((1, 1, 2, 2, 2), 0.5)).shape
    /// (1, 1, 3, 3, 3)
    /// ```
    pub ConvTranspose3d(3) = "ConvTranspose3d" | Conv3DTranspose;
    ConvTransposeSpec {
        /// The number of channels of the input, or nothing if the first input says it.
        inputs | in_channels: Option<usize>,
        /// The number of channels of the output.
        outputs | out_channels: usize,
        /// The size of the window, one number or one for each axis.
        kernel | kernel_size: PerAxis,
        /// The distance between windows of the output.
        stride: PerAxis = 1.into(),
        /// What is cut off on each side of the output.
        padding: PerAxis = 0.into(),
        /// How much larger the output is at its end, which a stride leaves open.
        output_padding: PerAxis = 0.into(),
        /// The number of groups of channels that do not see each other.
        groups: usize = 1,
        /// Whether there is a bias.
        bias: bool = true,
        /// The distance between the elements of a window.
        dilation: PerAxis = 1.into(),
    }
    new(at, inputs, outputs, kernel)
    attrs(weight_attr, bias_attr)
    parts(weight, bias: Option)
    forward(x) -> Tensor
}

impl<const N: usize> Statement for ConvTransposeSpec<N> {
    fn normalise(&mut self) {
        self.kernel = per_axis(&self.kernel, N);
    }

    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let channels = Channels { inputs: self.inputs, outputs: self.outputs, groups: self.groups };
        channels.declare(parts, &self.kernel.of(N)?, self.bias, true)
    }

    fn complete(&self, inputs: &[Value]) -> Result<Option<ConvTransposeSpec<N>>> {
        let known = found(self.inputs, inputs)?;
        Ok(known.map(|known| ConvTransposeSpec { inputs: Some(known), ..self.clone() }))
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (x, weight, bias) = (with.x()?, with.value("weight")?, with.optional("bias")?);
        let options = ConvTransposeOptions::default().stride(self.stride.clone());
        let options = options.padding(self.padding.clone()).dilation(self.dilation.clone());
        let options = options.groups(self.groups).output_padding(self.output_padding.clone());
        let y = match N {
            1 => conv_transpose1d(x, &weight, bias.as_ref(), options),
            2 => conv_transpose2d(x, &weight, bias.as_ref(), options),
            _ => conv_transpose3d(x, &weight, bias.as_ref(), options),
        };
        Ok(y?.into())
    }
}

/// One size for each axis; what does not fit is left to the check of sizes.
fn per_axis(kernel: &PerAxis, n_axes: usize) -> PerAxis {
    match kernel.as_slice() {
        [] => kernel.clone(),
        _ => kernel.of(n_axes).map_or(kernel.clone(), |sizes| sizes.to_vec().into()),
    }
}

/// The numbers of channels.
struct Channels {
    inputs: Option<usize>,
    outputs: usize,
    groups: usize,
}

impl Channels {
    fn declare(
        &self,
        parts: &mut Parts,
        kernel: &[usize],
        bias: bool,
        transposed: bool,
    ) -> Result<()> {
        let groups = self.groups;
        for channels in self.inputs.iter().chain([&self.outputs]) {
            if groups == 0 || channels % groups != 0 {
                let what = format!("{groups} groups do not divide {channels} channels");
                return Err(Error::argument(what).remedy(
                    "choose numbers of channels that are multiples of the number of groups",
                ));
            }
        }
        let dims = self.inputs.map(|inputs| match transposed {
            true => [&[inputs, self.outputs / groups], kernel].concat(),
            false => [&[self.outputs, inputs / groups], kernel].concat(),
        });
        let fan_in = dims.as_ref().map_or(0, |dims| dims[1..].iter().fold(1, |all: usize, &size| all.saturating_mul(size)));
        parts.parameter("weight", "weight_attr", dims, Initializer::weight_default());
        if bias {
            let init = Initializer::bias_default(fan_in);
            // Its initial value depends on the number of inputs, so it is open as long as that is.
            let dims = self.inputs.map(|_| vec![self.outputs]);
            parts.parameter("bias", "bias_attr", dims, init);
        }
        Ok(())
    }
}

/// The number of channels of the first input, if it is not known yet.
fn found(known: Option<usize>, inputs: &[Value]) -> Result<Option<usize>> {
    if known.is_some() {
        return Ok(None);
    }
    let x = inputs.first().and_then(Value::tensor).map(Var::ty);
    let channels = x.and_then(|ty| ty.dims().get(1).and_then(|dim| dim.value()));
    channels.map(Some).ok_or_else(|| {
        let found = x.map_or("nothing".to_string(), |ty| ty.to_string());
        Error::shape(format!("the number of channels cannot be taken from {found}"))
            .remedy("give an input whose second size is a number")
    })
}
