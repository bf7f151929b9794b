//! Convolutions.

use fluvial_core::{Attr, Error, PerAxis, Result, Var};
use fluvial_ops::conv::{ConvOptions, ConvTransposeOptions};
use fluvial_ops::{
    PadMode, PadOptions, PaddingMode, conv_transpose1d, conv_transpose2d, conv_transpose3d, conv1d,
    conv2d, conv3d, pad,
};

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
        /// How much is put around the input; or "same", or "valid" for nothing.
        padding: PerAxis = 0.into(),
        /// The distance between the elements of a window.
        dilation: PerAxis = 1.into(),
        /// The number of groups of channels that do not see each other.
        groups: usize = 1,
        /// Whether there is a bias.
        bias: bool = true,
        /// What the padding consists of.
        padding_mode: PaddingMode = PaddingMode::Zeros,
        /// Whether the padding is such that, with stride 1, sizes stay as they are; so says `padding="same"`.
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

    fn reworded(name: &str, attr: &Attr) -> Option<Vec<(&'static str, Attr)>> {
        let said = |padding: Attr, same| vec![("padding", padding), ("same", Attr::Bool(same))];
        match (name, attr) {
            ("padding", Attr::Str(word)) if &**word == "same" => Some(said(Attr::Int(0), true)),
            ("padding", Attr::Str(word)) if &**word == "valid" => Some(said(Attr::Int(0), false)),
            ("padding", Attr::Int(_) | Attr::List(_)) => Some(said(attr.clone(), false)),
            _ => None,
        }
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
        let options = options.dilation(self.dilation.clone());
        let (x, options) = match self.surrounded(x)? {
            Some(surrounded) => (surrounded, options),
            None => (x.clone(), options.padding(self.padding.clone()).same(self.same)),
        };
        let y = match N {
            1 => conv1d(&x, &weight, bias.as_ref(), options),
            2 => conv2d(&x, &weight, bias.as_ref(), options),
            _ => conv3d(&x, &weight, bias.as_ref(), options),
        };
        Ok(y?.into())
    }
}

impl<const N: usize> ConvSpec<N> {
    /// The input with what is put around it, if these are not zeros.
    fn surrounded(&self, x: &Var) -> Result<Option<Var>> {
        let mode = match self.padding_mode {
            PaddingMode::Zeros => return Ok(None),
            PaddingMode::Reflect => PadMode::Reflect,
            PaddingMode::Replicate => PadMode::Replicate,
            PaddingMode::Circular => PadMode::Circular,
        };
        let (mut before, mut after) = (Vec::with_capacity(N), Vec::with_capacity(N));
        let (kernel, dilation) = (self.kernel.of(N)?, self.dilation.of(N)?);
        let (padding, strides) = (self.padding.of(N)?, self.stride.of(N)?);
        if self.same && strides.iter().any(|&stride| stride != 1) {
            return Err(Error::argument("sizes stay as they are with a stride of 1 only")
                .remedy("give numbers for `padding`, or leave `stride` out"));
        }
        for axis in 0..N {
            let whole = dilation[axis].saturating_mul(kernel[axis].saturating_sub(1));
            let (low, high) = match self.same {
                true => (whole / 2, whole - whole / 2),
                false => (padding[axis], padding[axis]),
            };
            before.push(low as i64);
            after.push(high as i64);
        }
        pad(x, &before, &after, PadOptions::default().mode(mode)).map(Some)
    }
}

layer! {
    /// [`Conv1d`] whose number of channels is that of its first input.
    ///
    /// ```python
    /// >>> layer = fl.nn.LazyConv1d(4, 3)
    /// >>> _ = layer(fl.full((1, 2, 8), 0.5))
    /// >>> layer.weight.shape
    /// (4, 2, 3)
    /// ```
    pub LazyConv1d(1) = "LazyConv1d" extends Conv1d;
    /// [`Conv2d`] whose number of channels is that of its first input.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = LazyConv2d::new("conv", 4, 3);
    /// layer.forward(&Var::of(&[0.5f32; 18], &[1, 2, 3, 3])?)?;
    /// assert_eq!(layer.parameters()[0].ty()?.to_string(), "f32[4, 2, 3, 3]");
    /// # Ok::<(), Error>(())
    /// ```
    pub LazyConv2d(2) = "LazyConv2d" extends Conv2d;
    /// [`Conv3d`] whose number of channels is that of its first input.
    pub LazyConv3d(3) = "LazyConv3d" extends Conv3d;
    LazyConvSpec {
        /// The number of channels of the output.
        outputs | out_channels: usize,
        /// The size of the window, one number or one for each axis.
        kernel | kernel_size: PerAxis,
        /// The distance between windows.
        stride: PerAxis = 1.into(),
        /// How much is put around the input; or "same", or "valid" for nothing.
        padding: PerAxis = 0.into(),
        /// The distance between the elements of a window.
        dilation: PerAxis = 1.into(),
        /// The number of groups of channels that do not see each other.
        groups: usize = 1,
        /// Whether there is a bias.
        bias: bool = true,
        /// What the padding consists of.
        padding_mode: PaddingMode = PaddingMode::Zeros,
        /// Whether the padding is such that, with stride 1, sizes stay as they are; so says `padding="same"`.
        same: bool = false,
        /// The number of channels of the input, once it is known.
        inputs | in_channels: Option<usize> = None,
    }
    new(at, outputs, kernel)
    attrs(weight_attr, bias_attr)
    parts(weight, bias: Option)
    forward(x) -> Tensor
}

impl<const N: usize> LazyConvSpec<N> {
    fn conv(&self) -> ConvSpec<N> {
        ConvSpec {
            inputs: self.inputs,
            outputs: self.outputs,
            kernel: self.kernel.clone(),
            stride: self.stride.clone(),
            padding: self.padding.clone(),
            dilation: self.dilation.clone(),
            groups: self.groups,
            bias: self.bias,
            padding_mode: self.padding_mode,
            same: self.same,
        }
    }
}

impl<const N: usize> Statement for LazyConvSpec<N> {
    fn normalise(&mut self) {
        self.kernel = per_axis(&self.kernel, N);
    }

    fn reworded(name: &str, attr: &Attr) -> Option<Vec<(&'static str, Attr)>> {
        ConvSpec::<N>::reworded(name, attr)
    }

    fn declare(&self, parts: &mut Parts) -> Result<()> {
        self.conv().declare(parts)
    }

    fn complete(&self, inputs: &[Value]) -> Result<Option<LazyConvSpec<N>>> {
        let known = found(self.inputs, inputs)?;
        Ok(known.map(|known| LazyConvSpec { inputs: Some(known), ..self.clone() }))
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        self.conv().call(with)
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

layer! {
    /// [`ConvTranspose1d`] whose number of channels is that of its first input.
    pub LazyConvTranspose1d(1) = "LazyConvTranspose1d" extends ConvTranspose1d;
    /// [`ConvTranspose2d`] whose number of channels is that of its first input.
    ///
    /// ```python
    /// >>> fl.nn.LazyConvTranspose2d(1, 2, stride=2)(fl.full((1, 2, 3, 3), 0.5)).shape
    /// (1, 1, 6, 6)
    /// ```
    pub LazyConvTranspose2d(2) = "LazyConvTranspose2d" extends ConvTranspose2d;
    /// [`ConvTranspose3d`] whose number of channels is that of its first input.
    pub LazyConvTranspose3d(3) = "LazyConvTranspose3d" extends ConvTranspose3d;
    LazyConvTransposeSpec {
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
        /// The number of channels of the input, once it is known.
        inputs | in_channels: Option<usize> = None,
    }
    new(at, outputs, kernel)
    attrs(weight_attr, bias_attr)
    parts(weight, bias: Option)
    forward(x) -> Tensor
}

impl<const N: usize> LazyConvTransposeSpec<N> {
    fn conv(&self) -> ConvTransposeSpec<N> {
        ConvTransposeSpec {
            inputs: self.inputs,
            outputs: self.outputs,
            kernel: self.kernel.clone(),
            stride: self.stride.clone(),
            padding: self.padding.clone(),
            output_padding: self.output_padding.clone(),
            groups: self.groups,
            bias: self.bias,
            dilation: self.dilation.clone(),
        }
    }
}

impl<const N: usize> Statement for LazyConvTransposeSpec<N> {
    fn normalise(&mut self) {
        self.kernel = per_axis(&self.kernel, N);
    }

    fn declare(&self, parts: &mut Parts) -> Result<()> {
        self.conv().declare(parts)
    }

    fn complete(&self, inputs: &[Value]) -> Result<Option<LazyConvTransposeSpec<N>>> {
        let known = found(self.inputs, inputs)?;
        Ok(known.map(|known| LazyConvTransposeSpec { inputs: Some(known), ..self.clone() }))
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        self.conv().call(with)
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
