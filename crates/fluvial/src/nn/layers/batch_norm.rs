//! Batch normalisation, with running statistics as state.

use fluvial_core::{DType, Dim, Error, Mode, Result, Type, Var, mode, no_grad};
use fluvial_ops::ranks::{Across, all_reduce, all_reduce_all};
use fluvial_ops::{
    batch_norm, batch_norm_train, by_phase, cast, dim_size, div, maximum, reshape, square, sub, sum,
};

use crate::init::Initializer;
use crate::nn::stated::{Call, Part, Parts, Statement, Value, layer};

layer! {
    /// Values of each channel (axis 1) with mean 0 and variance 1 over the batch, times `weight` plus
    /// `bias`. In training the statistics of batches are blended into the buffers `running_mean` and
    /// `running_var`, which count in use, and in a program made for inference.
    ///
    /// ```python
    /// >>> layer = fl.nn.BatchNorm2d(3)
    /// >>> layer(fl.normal("f32[8, 3, 2, 2]")).shape
    /// (8, 3, 2, 2)
    /// >>> sorted(layer.state_dict())
    /// ['bias', 'num_batches_tracked', 'running_mean', 'running_var', 'weight']
    /// ```
    pub BatchNorm(0) = "BatchNorm";
    /// [`BatchNorm`] of features or sequences: `[batch, channels]` or `[batch, channels, length]`.
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
    pub BatchNorm1d(1) = "BatchNorm1d" extends BatchNorm | BatchNorm1D;
    /// [`BatchNorm`] of images, `[batch, channels, height, width]`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = BatchNorm2d::new("norm", 3).momentum(0.01);
    /// assert_eq!(layer.buffers().len(), 3);
    /// ```
    pub BatchNorm2d(2) = "BatchNorm2d" extends BatchNorm | BatchNorm2D;
    /// [`BatchNorm`] of volumes, `[batch, channels, depth, height, width]`.
    pub BatchNorm3d(3) = "BatchNorm3d" extends BatchNorm | BatchNorm3D;
    BatchNormSpec {
        /// The number of channels, the size of axis 1.
        channels | num_features: usize,
        /// What is added to the variance.
        eps: f64 = 1e-5,
        /// The share of a new batch in the running statistics; with nothing, all batches have the
        /// same share.
        momentum: Option<f64> = Some(0.1),
        /// Whether there are `weight` and `bias`.
        affine: bool = true,
        /// Whether running statistics are kept; if not, those of the batch count in use, too.
        track_running_stats: bool = true,
        /// Whether statistics are those of the batches of all ranks (`fl.dist`) together; all of them have to call the layer.
        sync: bool = false,
    }
    new(at, channels)
    attrs(weight_attr, bias_attr)
    parts(weight: Option, bias: Option, running_mean: Buffer, running_var: Buffer,
        num_batches_tracked: Buffer)
    forward(x) -> Tensor
}

impl<const N: usize> Statement for BatchNormSpec<N> {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let dims = [self.channels];
        if self.affine {
            parts.parameter("weight", "weight_attr", dims.to_vec(), Initializer::ones());
            parts.parameter("bias", "bias_attr", dims.to_vec(), Initializer::zeros());
        }
        if self.track_running_stats {
            parts.buffer("running_mean", &dims, None, Initializer::zeros());
            parts.buffer("running_var", &dims, None, Initializer::ones());
            let dtype = Some(DType::I64);
            parts.buffer("num_batches_tracked", &[], dtype, Initializer::zeros());
        }
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let x = with.x()?;
        let ty = x.clone().check()?.ty();
        let ranks: &[usize] = [&[2, 3, 4, 5][..], &[2, 3], &[4], &[5]][N.min(3)];
        if !ranks.contains(&ty.rank()) || ty.dim(1) != Dim::size(self.channels) {
            let axes: Vec<String> = ranks.iter().map(usize::to_string).collect();
            return Err(Error::shape(format!(
                "batch norm takes {} axes with {} channels in axis 1, found {ty}",
                axes.join(" or "),
                self.channels
            )));
        }
        let (weight, bias) = (with.optional("weight")?, with.optional("bias")?);
        let (weight, bias) = (weight.as_ref(), bias.as_ref());
        let trained = || -> Result<Trained> {
            if self.sync {
                return self.of_all_ranks(x, weight, bias);
            }
            let (y, mean, variance) = batch_norm_train(x, weight, bias, self.eps)?;
            Ok(Trained { y, mean, variance, count: None })
        };
        if !self.track_running_stats {
            return Ok(trained()?.y.into());
        }
        let running = Running {
            mean: with.needed("running_mean")?,
            variance: with.needed("running_var")?,
            batches: with.needed("num_batches_tracked")?,
        };
        if !with.training {
            let (mean, variance) = (running.mean.get()?, running.variance.get()?);
            return Ok(batch_norm(x, &mean, &variance, weight, bias, self.eps)?.into());
        }
        let trained = trained()?;
        let (shift, scale) = (running.mean.get()?, running.variance.get()?);
        running.update(self.momentum, &trained, elements(&ty)?)?;
        if mode() == Mode::Imperative {
            return Ok(trained.y.into());
        }
        let shift = cast_to(&shift, trained.mean.dtype())?;
        let scale = cast_to(&scale, trained.variance.dtype())?;
        let used = batch_norm(x, &shift, &scale, weight, bias, self.eps)?;
        Ok(by_phase(&trained.y, &used)?.into())
    }
}

/// What a batch gives in training.
struct Trained {
    y: Var,
    mean: Var,
    variance: Var,
    /// How many elements of each channel there were, if not as many as this rank has.
    count: Option<Var>,
}

/// How many elements a channel has.
fn elements(ty: &Type) -> Result<Dim> {
    let others = ty.dims().iter().enumerate().filter(|&(axis, _)| axis != 1);
    others.map(|(_, dim)| *dim).try_fold(Dim::size(1), Dim::mul)
}

impl<const N: usize> BatchNormSpec<N> {
    /// By the mean and the variance of what all ranks have, however much each of them does.
    fn of_all_ranks(&self, x: &Var, weight: Option<&Var>, bias: Option<&Var>) -> Result<Trained> {
        let ty = x.clone().check()?.ty();
        let narrow = matches!(ty.dtype(), DType::F16 | DType::BF16);
        let wide = if narrow { cast(x, DType::F32)? } else { x.clone() };
        let dtype = wide.dtype();
        let axes: Vec<i64> = (0..ty.rank() as i64).filter(|&axis| axis != 1).collect();
        let own = dim_size(elements(&ty)?, dtype)?;
        let sums = all_reduce_all(&[&sum(&wide, &axes, false)?, &own], Across::Sum)?;
        let mean = div(&sums[0], &sums[1])?;
        let mut sizes = vec![Dim::size(1); ty.rank()];
        sizes[1] = ty.dim(1);
        let centred = sub(&wide, &reshape(&mean, &sizes)?)?;
        let squares = sum(&square(&centred)?, &axes, false)?;
        let variance = div(&all_reduce(&squares, Across::Sum)?, &sums[1])?;
        let y = batch_norm(x, &mean, &variance, weight, bias, self.eps)?;
        Ok(Trained { y, mean, variance, count: Some(cast(&sums[1], DType::F64)?) })
    }
}

/// The running statistics.
struct Running<'a> {
    mean: &'a Part,
    variance: &'a Part,
    batches: &'a Part,
}

impl Running<'_> {
    /// Takes the statistics of a batch into account, of which this rank has so many elements per channel.
    fn update(&self, momentum: Option<f64>, batch: &Trained, own: Dim) -> Result<()> {
        let _no_grad = no_grad();
        let batches = (self.batches.get()? + 1.0).check()?;
        self.batches.set(&batches)?;
        let dtype = self.mean.dtype();
        let share = match momentum {
            Some(momentum) => Var::scalar(momentum),
            None => 1.0 / cast(&batches, DType::F64)?,
        };
        let share = cast(&share, dtype)?;
        let Trained { mean, variance, .. } = batch;
        let unbiased = match &batch.count {
            // All ranks together may have one element, whose variance is zero.
            Some(count) => cast(&div(count, &maximum(&(count - 1.0), &Var::scalar(1.0))?)?, dtype)?,
            None => {
                let count = dim_size(own, DType::F64)?;
                cast(&(&count / (&count - 1.0)), dtype)?
            }
        };
        let blend = |state: &Part, new: Var| {
            let old = state.get()?;
            state.set(&(&old + (new - &old) * &share))
        };
        blend(self.mean, cast_to(&mean.detach(), dtype)?)?;
        blend(self.variance, cast_to(&variance.detach(), dtype)? * unbiased)
    }
}

fn cast_to(x: &Var, dtype: DType) -> Result<Var> {
    if x.dtype() == dtype { Ok(x.clone()) } else { cast(x, dtype) }
}

/// What PyTorch says by options.
macro_rules! named {
    ($($layer:ident),*) => {$(
        impl $layer {
            /// Makes the running statistics the means over all batches.
            #[must_use]
            pub fn cumulative(self) -> $layer {
                self.momentum(None)
            }

            /// Keeps no running statistics: those of the batch count in use, too.
            #[must_use]
            pub fn no_running_statistics(self) -> $layer {
                self.no_track_running_stats()
            }
        }
    )*};
}
named!(BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d);
