//! Layers that normalise: by layer, root mean square, group, instance and neighbours.

use fluvial_core::{DType, Error, Result};
use fluvial_ops::norm::{LrnOptions, SpectralNormOptions};
use fluvial_ops::{
    group_norm, instance_norm, layer_norm, local_response_norm, rms_norm, spectral_norm,
};

use crate::init::Initializer;
use crate::nn::stated::{Call, Parts, Statement, Value, layer, times};

/// States a weight of ones and a bias of zeros.
fn affine(parts: &mut Parts, dims: &[usize], weight: bool, bias: bool) {
    if weight {
        parts.parameter("weight", "weight_attr", dims.to_vec(), Initializer::ones());
    }
    if bias {
        parts.parameter("bias", "bias_attr", dims.to_vec(), Initializer::zeros());
    }
}

layer! {
    /// Values with mean 0 and variance 1 over the last axes, times `weight` plus `bias`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = LayerNorm::new("norm", &[2]);
    /// let y = layer.forward(&Var::of(&[1.0f32, 3.0], &[1, 2])?)?.to_vec::<f32>()?;
    /// assert!((y[0] + 1.0).abs() < 1e-4);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.LayerNorm(4)(fl.normal("f32[2, 3, 4]")).shape
    /// (2, 3, 4)
    /// ```
    pub LayerNorm = "LayerNorm";
    LayerNormSpec {
        /// The sizes of these axes.
        shape | normalized_shape: Vec<usize>,
        /// What is added to the variance.
        eps: f64 = 1e-5,
        /// Whether there are `weight` and `bias`.
        affine | elementwise_affine: bool = true,
        /// Whether there is a bias.
        bias: bool = true,
    }
    new(at, shape)
    attrs(weight_attr, bias_attr)
    parts(weight: Option, bias: Option)
    forward(x) -> Tensor
}

impl Statement for LayerNormSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        affine(parts, &self.shape, self.affine, self.affine && self.bias);
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (weight, bias) = (with.optional("weight")?, with.optional("bias")?);
        let n_axes = self.shape.len();
        Ok(layer_norm(with.x()?, n_axes, weight.as_ref(), bias.as_ref(), self.eps)?.into())
    }
}

layer! {
    /// Values with root mean square 1 over the last axes, times `weight`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = RmsNorm::new("norm", &[2]);
    /// let y = layer.forward(&Var::of(&[3.0f32, 3.0], &[1, 2])?)?.to_vec::<f32>()?;
    /// assert!((y[0] - 1.0).abs() < 1e-6);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.RMSNorm(2)(fl.tensor([[3.0, 3.0]])).numpy().round(3).tolist()
    /// [[1.0, 1.0]]
    /// ```
    pub RmsNorm = "RMSNorm";
    RmsNormSpec {
        /// The sizes of these axes.
        shape | normalized_shape: Vec<usize>,
        /// What is added to the mean square; the step of the element type if nothing is said.
        eps: Option<f64> = None,
        /// Whether there is a `weight`.
        affine | elementwise_affine: bool = true,
    }
    new(at, shape)
    attrs(weight_attr)
    parts(weight: Option)
    forward(x) -> Tensor
}

impl Statement for RmsNormSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        affine(parts, &self.shape, self.affine, false);
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (x, weight) = (with.x()?, with.optional("weight")?);
        let step = match x.dtype() {
            DType::F64 => f64::EPSILON,
            DType::F16 => 2f64.powi(-10),
            DType::BF16 => 2f64.powi(-7),
            _ => f64::from(f32::EPSILON),
        };
        let eps = self.eps.unwrap_or(step);
        Ok(rms_norm(x, self.shape.len(), weight.as_ref(), eps)?.into())
    }
}

layer! {
    /// Values of each group of channels (axis 1) of each sample with mean 0 and variance 1.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = GroupNorm::new("norm", 2, 4);
    /// let y = layer.forward(&Var::of(&[0.5f32; 8], &[2, 4])?)?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0; 8]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.GroupNorm(2, 4)(fl.normal("f32[2, 4, 3]")).shape
    /// (2, 4, 3)
    /// ```
    pub GroupNorm = "GroupNorm";
    GroupNormSpec {
        /// The number of groups.
        groups | num_groups: usize,
        /// The number of channels.
        channels | num_channels: usize,
        /// What is added to the variance.
        eps: f64 = 1e-5,
        /// Whether there are `weight` and `bias`.
        affine: bool = true,
    }
    new(at, groups, channels)
    attrs(weight_attr, bias_attr)
    parts(weight: Option, bias: Option)
    forward(x) -> Tensor
}

impl Statement for GroupNormSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        affine(parts, &[self.channels], self.affine, self.affine);
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (weight, bias) = (with.optional("weight")?, with.optional("bias")?);
        Ok(group_norm(with.x()?, self.groups, weight.as_ref(), bias.as_ref(), self.eps)?.into())
    }
}

layer! {
    /// Values of each channel of each sample with mean 0 and variance 1, whatever the number of axes
    /// after the channels. Has no parameters unless `affine` adds them.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = InstanceNorm::new("norm", 1).affine();
    /// let y = layer.forward(&Var::of(&[1.0f32, 3.0], &[1, 1, 2])?)?.to_vec::<f32>()?;
    /// assert!((y[1] - 1.0).abs() < 1e-4);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.InstanceNorm(4)(fl.normal("f32[2, 4, 3]")).shape
    /// (2, 4, 3)
    /// ```
    pub InstanceNorm = "InstanceNorm" | InstanceNorm1d | InstanceNorm2d | InstanceNorm3d;
    InstanceNormSpec {
        /// The number of channels.
        channels | num_features: usize,
        /// What is added to the variance.
        eps: f64 = 1e-5,
        /// The share of a new batch in running statistics, as PyTorch has it.
        momentum: Option<f64> = Some(0.1),
        /// Whether there are `weight` and `bias`.
        affine: bool = false,
        /// Whether running statistics are kept, which this layer cannot.
        track_running_stats: bool = false,
    }
    new(at, channels)
    attrs(weight_attr, bias_attr)
    parts(weight: Option, bias: Option)
    forward(x) -> Tensor
}

impl Statement for InstanceNormSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        if self.track_running_stats {
            return Err(Error::argument("instance norm keeps no running statistics")
                .remedy("leave `track_running_stats` out, or use batch norm"));
        }
        affine(parts, &[self.channels], self.affine, self.affine);
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (weight, bias) = (with.optional("weight")?, with.optional("bias")?);
        Ok(instance_norm(with.x()?, weight.as_ref(), bias.as_ref(), self.eps)?.into())
    }
}

layer! {
    /// Values divided by a power of the mean square of neighbouring channels; see
    /// [`local_response_norm`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = LocalResponseNorm::new(2);
    /// let y = layer.forward(&Var::of(&[1.0; 4], &[1, 2, 2])?)?;
    /// assert!(y.to_vec::<f64>()?[0] < 1.0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.LocalResponseNorm(2)(fl.full((1, 4, 2, 2), 1.0)).shape
    /// (1, 4, 2, 2)
    /// ```
    pub LocalResponseNorm = "LocalResponseNorm";
    LocalResponseNormSpec {
        /// The number of neighbours.
        size: usize,
        /// The factor of the mean square.
        alpha: f64 = 1e-4,
        /// The power.
        beta: f64 = 0.75,
        /// What is added to the mean square.
        k: f64 = 1.0,
    }
    new(size)
    forward(x) -> Tensor = |spec, with| {
        let options = LrnOptions::default().size(spec.size).alpha(spec.alpha);
        local_response_norm(x, options.beta(spec.beta).k(spec.k))
    }
}

layer! {
    /// A weight divided by its largest singular value, which power iteration tracks in the buffers
    /// `weight_u` and `weight_v`, in training: its input is the weight of another layer.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = SpectralNorm::new("norm", &[2, 2]).iterations(30);
    /// let y = layer.forward(&Var::of(&[3.0f32, 0.0, 0.0, 1.0], &[2, 2])?)?.to_vec::<f32>()?;
    /// assert!((y[0] - 1.0).abs() < 1e-4);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.SpectralNorm((3, 2))(fl.normal("f32[3, 2]")).shape
    /// (3, 2)
    /// ```
    pub SpectralNorm = "SpectralNorm";
    SpectralNormSpec {
        /// The sizes of the weight.
        shape: Vec<usize>,
        /// The axis of the weight's rows.
        axis | dim: i64 = 0,
        /// The number of steps at each call.
        iterations | n_power_iterations | power_iters: usize = 1,
        /// What keeps divisors from zero.
        eps: f64 = 1e-12,
    }
    new(at, shape)
    parts(weight_u: Buffer, weight_v: Buffer)
    forward(weight) -> Tensor
}

impl Statement for SpectralNormSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let rank = self.shape.len() as i64;
        if !(-rank..rank).contains(&self.axis) {
            let what = format!("a weight of {rank} axes has no axis {}", self.axis);
            return Err(Error::index(what));
        }
        let rows = self.shape[self.axis.rem_euclid(rank) as usize];
        let columns = self.shape.iter().try_fold(1, |all, &size| times(size, all))? / rows.max(1);
        for (name, size) in [("weight_u", rows), ("weight_v", columns)] {
            parts.buffer(name, &[size], None, Initializer::normal(0.0, 1.0));
        }
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let steps = if with.training { self.iterations } else { 0 };
        let options = SpectralNormOptions::default().axis(self.axis).iterations(steps);
        let (u, v) = (with.needed("weight_u")?, with.needed("weight_v")?);
        let options = options.eps(self.eps);
        let (y, next_u, next_v) = spectral_norm(with.x()?, &u.get()?, &v.get()?, options)?;
        if with.training {
            u.set(&next_u)?;
            v.set(&next_v)?;
        }
        Ok(y.into())
    }
}
