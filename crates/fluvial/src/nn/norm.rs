//! Layers that normalise: by layer, root mean square, group, instance and neighbours.

use fluvial_core::{DType, Result, Var};
use fluvial_ops::norm::{LrnOptions, SpectralNormOptions};
use fluvial_ops::{
    group_norm, instance_norm, layer_norm, local_response_norm, rms_norm, spectral_norm,
};

use super::attr::ParamAttr;
use super::layer::{Layer, stateless};
use super::parameter::Parameter;
use super::path::Path;
use crate::init::Initializer;

/// Builders and the layer of what has an `eps`, and perhaps a `weight` and a `bias`.
macro_rules! normalisation {
    ($layer:ident, |$self:ident, $x:ident, $weight:ident, $bias:ident| $body:expr) => {
        impl $layer {
            /// What is added to variances.
            #[must_use]
            pub fn eps(mut self, eps: f64) -> $layer {
                self.eps = eps.into();
                self
            }

            /// Leaves the weight and the bias out.
            #[must_use]
            pub fn no_affine(mut self) -> $layer {
                (self.weight, self.bias) = (None, None);
                self
            }

            /// Leaves the bias out.
            #[must_use]
            pub fn no_bias(mut self) -> $layer {
                self.bias = None;
                self
            }

            /// Says something of the weight.
            #[must_use]
            pub fn weight_attr(self, attr: impl Into<ParamAttr>) -> $layer {
                if let Some(weight) = &self.weight {
                    weight.set_attr(attr);
                }
                self
            }

            /// Says something of the bias.
            #[must_use]
            pub fn bias_attr(self, attr: impl Into<ParamAttr>) -> $layer {
                if let Some(bias) = &self.bias {
                    bias.set_attr(attr);
                }
                self
            }
        }

        impl Layer for $layer {
            fn path(&self) -> &Path {
                &self.at
            }

            #[track_caller]
            fn forward(&self, $x: &Var) -> Result<Var> {
                let _call = self.at.called();
                let value = |parameter: &Option<Parameter>| {
                    parameter.as_ref().map(Parameter::get).transpose()
                };
                let ($weight, $bias) = (value(&self.weight)?, value(&self.bias)?);
                let ($self, $weight, $bias) = (self, $weight.as_ref(), $bias.as_ref());
                $body
            }
        }
    };
}

/// Each sample by the mean and variance over its last axes.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = LayerNorm::new("norm", &[2]);
/// let y = layer.forward(&Var::of(&[1.0f32, 3.0], &[1, 2])?)?.to_vec::<f32>()?;
/// assert!((y[0] + 1.0).abs() < 1e-4);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LayerNorm {
    at: Path,
    n_axes: usize,
    eps: f64,
    weight: Option<Parameter>,
    bias: Option<Parameter>,
}

impl LayerNorm {
    /// A layer for inputs whose last sizes are these.
    pub fn new(at: impl Into<Path>, dims: &[usize]) -> LayerNorm {
        let at = at.into();
        LayerNorm {
            n_axes: dims.len(),
            eps: 1e-5,
            weight: Some(at.parameter("weight", dims, Initializer::ones())),
            bias: Some(at.parameter("bias", dims, Initializer::zeros())),
            at,
        }
    }
}

normalisation!(LayerNorm, |layer, x, weight, bias| {
    layer_norm(x, layer.n_axes, weight, bias, layer.eps)
});

/// Each sample divided by the root mean square over its last axes.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = RmsNorm::new("norm", &[2]);
/// let y = layer.forward(&Var::of(&[3.0f32, 3.0], &[1, 2])?)?.to_vec::<f32>()?;
/// assert!((y[0] - 1.0).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RmsNorm {
    at: Path,
    n_axes: usize,
    eps: Option<f64>,
    weight: Option<Parameter>,
    bias: Option<Parameter>,
}

impl RmsNorm {
    /// A layer for inputs whose last sizes are these. What is added is the smallest step of the
    /// element type, unless said otherwise.
    pub fn new(at: impl Into<Path>, dims: &[usize]) -> RmsNorm {
        let at = at.into();
        let weight = Some(at.parameter("weight", dims, Initializer::ones()));
        RmsNorm { n_axes: dims.len(), eps: None, weight, bias: None, at }
    }
}

normalisation!(RmsNorm, |layer, x, weight, _bias| {
    let step = match x.dtype() {
        DType::F64 => f64::EPSILON,
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => f64::from(f32::EPSILON),
    };
    rms_norm(x, layer.n_axes, weight, layer.eps.unwrap_or(step))
});

/// Each group of channels (axis 1) of each sample by its mean and variance.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = GroupNorm::new("norm", 2, 4);
/// let y = layer.forward(&Var::of(&[0.5f32; 8], &[2, 4])?)?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0; 8]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GroupNorm {
    at: Path,
    groups: usize,
    eps: f64,
    weight: Option<Parameter>,
    bias: Option<Parameter>,
}

impl GroupNorm {
    /// A layer for so many channels in so many groups.
    pub fn new(at: impl Into<Path>, groups: usize, channels: usize) -> GroupNorm {
        let at = at.into();
        GroupNorm {
            groups,
            eps: 1e-5,
            weight: Some(at.parameter("weight", &[channels], Initializer::ones())),
            bias: Some(at.parameter("bias", &[channels], Initializer::zeros())),
            at,
        }
    }
}

normalisation!(GroupNorm, |layer, x, weight, bias| {
    group_norm(x, layer.groups, weight, bias, layer.eps)
});

/// Each channel of each sample by its mean and variance, whatever the number of axes after the
/// channels. Has no parameters unless [`affine`](InstanceNorm::affine) adds them.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = InstanceNorm::new("norm", 1).affine();
/// let y = layer.forward(&Var::of(&[1.0f32, 3.0], &[1, 1, 2])?)?.to_vec::<f32>()?;
/// assert!((y[1] - 1.0).abs() < 1e-4);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct InstanceNorm {
    at: Path,
    channels: usize,
    eps: f64,
    weight: Option<Parameter>,
    bias: Option<Parameter>,
}

/// The name of [`InstanceNorm`] for sequences.
pub type InstanceNorm1d = InstanceNorm;
/// The name of [`InstanceNorm`] for images.
pub type InstanceNorm2d = InstanceNorm;
/// The name of [`InstanceNorm`] for volumes.
pub type InstanceNorm3d = InstanceNorm;

impl InstanceNorm {
    /// A layer for so many channels.
    pub fn new(at: impl Into<Path>, channels: usize) -> InstanceNorm {
        InstanceNorm { at: at.into(), channels, eps: 1e-5, weight: None, bias: None }
    }

    /// Adds a weight and a bias per channel.
    #[must_use]
    pub fn affine(mut self) -> InstanceNorm {
        let dims = [self.channels];
        self.weight = Some(self.at.parameter("weight", &dims, Initializer::ones()));
        self.bias = Some(self.at.parameter("bias", &dims, Initializer::zeros()));
        self
    }
}

normalisation!(InstanceNorm, |layer, x, weight, bias| {
    instance_norm(x, weight, bias, layer.eps)
});

/// Each element by the squares of its neighbours in other channels; see [`local_response_norm`].
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = LocalResponseNorm::new(2);
/// let y = layer.forward(&Var::of(&[1.0; 4], &[1, 2, 2])?)?;
/// assert!(y.to_vec::<f64>()?[0] < 1.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LocalResponseNorm(LrnOptions);

impl LocalResponseNorm {
    /// A layer over so many neighbours.
    pub fn new(size: usize) -> LocalResponseNorm {
        LocalResponseNorm(LrnOptions::default().size(size))
    }

    /// The factor of the sum of squares; 1e-4 without it.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> LocalResponseNorm {
        self.0 = self.0.alpha(alpha);
        self
    }

    /// The power; 0.75 without it.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> LocalResponseNorm {
        self.0 = self.0.beta(beta);
        self
    }

    /// What is added; 1 without it.
    #[must_use]
    pub fn k(mut self, k: f64) -> LocalResponseNorm {
        self.0 = self.0.k(k);
        self
    }
}

stateless!(LocalResponseNorm, |layer, x| local_response_norm(x, layer.0.clone()));

/// A weight divided by its largest singular value, which power iteration tracks in the buffers
/// `weight_u` and `weight_v`: its input is the weight of another layer.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = SpectralNorm::new("norm", &[2, 2], SpectralNormOptions::default().iterations(30usize));
/// let y = layer.forward(&Var::of(&[3.0f32, 0.0, 0.0, 1.0], &[2, 2])?)?.to_vec::<f32>()?;
/// assert!((y[0] - 1.0).abs() < 1e-4);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SpectralNorm {
    at: Path,
    options: SpectralNormOptions,
    u: Parameter,
    v: Parameter,
}

impl SpectralNorm {
    /// A layer for weights of these sizes.
    pub fn new(at: impl Into<Path>, dims: &[usize], options: SpectralNormOptions) -> SpectralNorm {
        let at = at.into();
        let from_back = options.axis.rem_euclid(dims.len().max(1) as i64) as usize;
        let rows = dims.get(from_back).copied().unwrap_or(1);
        let columns = dims.iter().product::<usize>() / rows.max(1);
        let unit = |name, size| at.buffer(name, &[size], at.dtype(), Initializer::normal(0.0, 1.0));
        SpectralNorm { options, u: unit("weight_u", rows), v: unit("weight_v", columns), at }
    }
}

impl Layer for SpectralNorm {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        let _call = self.at.called();
        let training = self.at.is_training();
        let steps = if training { self.options.iterations } else { 0 };
        let options = self.options.clone().iterations(steps);
        let (y, u, v) = spectral_norm(x, &self.u.get()?, &self.v.get()?, options)?;
        if training {
            self.u.set(&u)?;
            self.v.set(&v)?;
        }
        Ok(y)
    }
}
