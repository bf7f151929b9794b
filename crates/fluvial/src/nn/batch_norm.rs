//! Batch normalisation, with running statistics as state.

use fluvial_core::scope::user_line;
use fluvial_core::{DType, Dim, Error, Mode, Result, Var, mode, no_grad};
use fluvial_ops::{batch_norm, batch_norm_train, by_phase, cast, dim_size};

use super::attr::ParamAttr;
use super::layer::Layer;
use super::parameter::Parameter;
use super::path::Path;
use crate::init::Initializer;

/// What the layers of all ranks share.
#[derive(Clone, Debug)]
struct BatchNorm {
    at: Path,
    channels: usize,
    eps: f64,
    /// How much the newest batch counts; nothing makes it the mean over all batches.
    momentum: Option<f64>,
    affine: Option<(Parameter, Parameter)>,
    running: Option<Running>,
}

#[derive(Clone, Debug)]
struct Running {
    mean: Parameter,
    variance: Parameter,
    batches: Parameter,
}

impl BatchNorm {
    fn new(at: Path, channels: usize) -> BatchNorm {
        let parameter = |name, init| at.parameter(name, &[channels], init);
        let buffer = |name, init| at.buffer(name, &[channels], at.dtype(), init);
        BatchNorm {
            channels,
            eps: 1e-5,
            momentum: Some(0.1),
            affine: Some((
                parameter("weight", Initializer::ones()),
                parameter("bias", Initializer::zeros()),
            )),
            running: Some(Running {
                mean: buffer("running_mean", Initializer::zeros()),
                variance: buffer("running_var", Initializer::ones()),
                batches: at.buffer("num_batches_tracked", &[], DType::I64, Initializer::zeros()),
            }),
            at,
        }
    }

    fn forward(&self, x: &Var, ranks: &[usize]) -> Result<Var> {
        let ty = x.clone().check()?.ty();
        if !ranks.contains(&ty.rank()) || ty.dim(1) != Dim::size(self.channels) {
            let axes: Vec<String> = ranks.iter().map(usize::to_string).collect();
            return Err(Error::shape(format!(
                "batch norm takes {} axes with {} channels in axis 1, found {ty}",
                axes.join(" or "),
                self.channels
            ))
            .at(user_line()));
        }
        let affine = match &self.affine {
            Some((weight, bias)) => Some((weight.get()?, bias.get()?)),
            None => None,
        };
        let (weight, bias) = affine.as_ref().map(|(weight, bias)| (weight, bias)).unzip();
        match &self.running {
            Some(running) if !self.at.is_training() => {
                let (mean, variance) = (running.mean.get()?, running.variance.get()?);
                batch_norm(x, &mean, &variance, weight, bias, self.eps)
            }
            None => Ok(batch_norm_train(x, weight, bias, self.eps)?.0),
            Some(running) => {
                let (trained, mean, variance) = batch_norm_train(x, weight, bias, self.eps)?;
                let (shift, scale) = (running.mean.get()?, running.variance.get()?);
                let others = ty.dims().iter().enumerate().filter(|&(axis, _)| axis != 1);
                let count = others.map(|(_, dim)| *dim).try_fold(Dim::size(1), Dim::mul)?;
                self.update(running, &mean, &variance, count)?;
                if mode() == Mode::Imperative {
                    return Ok(trained);
                }
                let shift = cast_to(&shift, mean.dtype())?;
                let scale = cast_to(&scale, variance.dtype())?;
                by_phase(&trained, &batch_norm(x, &shift, &scale, weight, bias, self.eps)?)
            }
        }
    }

    /// Takes the statistics of a batch of so many elements per channel into account.
    fn update(&self, running: &Running, mean: &Var, variance: &Var, count: Dim) -> Result<()> {
        let _no_grad = no_grad();
        let batches = (running.batches.get()? + 1.0).check()?;
        running.batches.set(&batches)?;
        let dtype = self.at.dtype();
        let share = match self.momentum {
            Some(momentum) => Var::scalar(momentum),
            None => 1.0 / cast(&batches, DType::F64)?,
        };
        let share = cast(&share, dtype)?;
        let count = dim_size(count, DType::F64)?;
        let unbiased = cast(&(&count / (&count - 1.0)), dtype)?;
        let blend = |state: &Parameter, new: Var| {
            let old = state.get()?;
            state.set(&(&old + (new - &old) * &share))
        };
        blend(&running.mean, cast_to(&mean.detach(), dtype)?)?;
        blend(&running.variance, cast_to(&variance.detach(), dtype)? * unbiased)
    }
}

fn cast_to(x: &Var, dtype: DType) -> Result<Var> {
    if x.dtype() == dtype { Ok(x.clone()) } else { cast(x, dtype) }
}

/// Batch norm for inputs of given ranks.
macro_rules! batch_norms {
    ($($(#[$doc:meta])* $layer:ident: $ranks:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $layer(BatchNorm);

        impl $layer {
            /// A layer for so many channels.
            pub fn new(at: impl Into<Path>, channels: usize) -> $layer {
                $layer(BatchNorm::new(at.into(), channels))
            }

            /// What is added to variances; 1e-5 without it.
            #[must_use]
            pub fn eps(mut self, eps: f64) -> $layer {
                self.0.eps = eps;
                self
            }

            /// How much the newest batch counts in the running statistics; 0.1 without it.
            #[must_use]
            pub fn momentum(mut self, momentum: f64) -> $layer {
                self.0.momentum = Some(momentum);
                self
            }

            /// Makes the running statistics the means over all batches.
            #[must_use]
            pub fn cumulative(mut self) -> $layer {
                self.0.momentum = None;
                self
            }

            /// Leaves the weight and the bias out.
            #[must_use]
            pub fn no_affine(mut self) -> $layer {
                self.0.affine = None;
                self
            }

            /// Keeps no running statistics: those of the batch count in use, too.
            #[must_use]
            pub fn no_running_statistics(mut self) -> $layer {
                self.0.running = None;
                self
            }

            /// Says something of the weight.
            #[must_use]
            pub fn weight_attr(self, attr: impl Into<ParamAttr>) -> $layer {
                if let Some((weight, _)) = &self.0.affine {
                    weight.set_attr(attr);
                }
                self
            }

            /// Says something of the bias.
            #[must_use]
            pub fn bias_attr(self, attr: impl Into<ParamAttr>) -> $layer {
                if let Some((_, bias)) = &self.0.affine {
                    bias.set_attr(attr);
                }
                self
            }
        }

        impl Layer for $layer {
            fn path(&self) -> &Path {
                &self.0.at
            }

            #[track_caller]
            fn forward(&self, x: &Var) -> Result<Var> {
                let _call = self.0.at.called();
                self.0.forward(x, &$ranks)
            }
        }
    )*};
}

batch_norms! {
    /// Each channel (axis 1) by the mean and variance over the batch, for `[batch, channels]` and
    /// `[batch, channels, length]`. In training the statistics of batches are blended into the
    /// buffers `running_mean` and `running_var`, which [`eval`](Layer::eval) makes it use, and so
    /// does a program made for inference.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = BatchNorm1d::new("norm", 1);
    /// let x = Var::of(&[1.0f32, 3.0], &[2, 1])?;
    /// let y = layer.forward(&x)?.to_vec::<f32>()?;
    /// assert!((y[0] + 1.0).abs() < 1e-4 && (y[1] - 1.0).abs() < 1e-4);
    /// let mean = layer.state_dict()?.get("running_mean").unwrap().item::<f32>()?;
    /// assert!((mean - 0.2).abs() < 1e-6);
    /// # Ok::<(), Error>(())
    /// ```
    BatchNorm1d: [2, 3];

    /// [`BatchNorm1d`] for images, `[batch, channels, height, width]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = BatchNorm2d::new("norm", 3).momentum(0.01);
    /// assert_eq!(layer.buffers().len(), 3);
    /// ```
    BatchNorm2d: [4];

    /// [`BatchNorm1d`] for volumes, `[batch, channels, depth, height, width]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = BatchNorm3d::new("norm", 3).no_affine();
    /// assert!(layer.parameters().is_empty());
    /// ```
    BatchNorm3d: [5];
}
