//! `nce`: noise-contrastive estimation, a loss for many classes.

use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{
    concat, dim_size, expand, gather, iota, log, log1p, minimum, multinomial, randint, reshape,
    sigmoid, sum, uniform,
};

choices! {
    /// How classes that are not the label are drawn.
    pub enum NceSampler {
        /// All alike.
        Uniform = "uniform",
        /// Class `k` with a probability in proportion to `log((k + 2) / (k + 1))`.
        LogUniform = "log_uniform",
        /// By the numbers in `custom_dist`.
        Custom = "custom_dist",
    }
}

options! {
    /// How noise is drawn.
    pub struct NceOptions {
        /// How many classes are drawn for each example.
        pub num_neg_samples: usize = 10,
        /// How they are drawn.
        pub sampler: NceSampler = NceSampler::Uniform,
        /// The probabilities of all classes, for "custom_dist".
        pub custom_dist: Vec<f64> = Vec::new(),
    }
}

/// The loss of noise-contrastive estimation, `[batch, 1]`: how badly the labels are told from classes that were
/// drawn. `x` is `[batch, width]`; `label` is `i64[batch, labels]` (or `[batch]`); `weight` is `[classes, width]`; `bias`, if
/// given, has an element for each class. The probability of a class is the logistic function of its score.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let (x, weight) = (Var::of(&[0.0], &[1, 1])?, Var::of(&[1.0, 2.0], &[2, 1])?);
/// let options = NceOptions::default().num_neg_samples(1usize);
/// let loss = nce(&x, &Var::of(&[1i64], &[1])?, &weight, None, options)?;
/// // Both, with probability 1/2 against noise of 1/2: twice log 2.
/// assert!((loss.to_vec::<f64>()?[0] - 4f64.ln()).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn nce(
    x: &Var,
    label: &Var,
    weight: &Var,
    bias: Option<&Var>,
    options: NceOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let (batch, classes, n_true) = check(x, label, weight, bias, &options)?;
    let label = reshape(label, &[batch, n_true])?;
    let noise = Noise { options: &options, classes, dtype: x.dtype() };
    let drawn = noise.draw(&[batch, Dim::size(options.num_neg_samples)])?;
    let all = concat(&[&label, &drawn], 1)?;
    let rows = gather(weight, &all, 0)?;
    let line = reshape(x, &[batch, Dim::size(1), x.ty().dim(1)])?;
    let mut scores = sum(&mul(&rows, &line)?, &[2], false)?;
    if let Some(bias) = bias {
        scores = add(&scores, &gather(&reshape(bias, &[classes])?, &all, 0)?)?;
    }
    let found = sigmoid(&scores)?;
    let expected = noise.probability(&all)? * options.num_neg_samples as f64;
    let both = log(&add(&found, &expected)?)?;
    let part = |x: &Var, start: Dim, len: Dim| crate::narrow(x, 1, start, len);
    let of_labels =
        sub(&part(&both, Dim::size(0), n_true)?, &log(&part(&found, Dim::size(0), n_true)?)?)?;
    let n_drawn = Dim::size(options.num_neg_samples);
    let of_noise = sub(&part(&both, n_true, n_drawn)?, &log(&part(&expected, n_true, n_drawn)?)?)?;
    add(&sum(&of_labels, &[1], true)?, &sum(&of_noise, &[1], true)?)
}

#[track_caller]
fn check(
    x: &Var,
    label: &Var,
    weight: &Var,
    bias: Option<&Var>,
    options: &NceOptions,
) -> Result<(Dim, Dim, Dim)> {
    let all: Vec<&Var> = [x, label, weight].into_iter().chain(bias).collect();
    judged("nce", &all, |types| {
        let (&[batch, width], &[classes, columns]) = (types[0].dims(), types[2].dims()) else {
            return Err(Error::shape("expected [batch, width] and weights [classes, width]"));
        };
        if columns != width || !types[0].is_float() {
            return Err(Error::shape(format!("the weights {} do not fit {}", types[2], types[0])));
        }
        let n_true = match *types[1].dims() {
            [rows] if rows == batch => Some(Dim::size(1)),
            [rows, n_true] if rows == batch => Some(n_true),
            _ => None,
        };
        let Some(n_true) = n_true.filter(|_| types[1].dtype() == DType::I64) else {
            return Err(Error::shape(format!(
                "expected labels i64[{batch}, labels], found {}",
                types[1]
            )));
        };
        if let Some(bias) = types.get(3)
            && count_of(bias.dims()) != Some(classes)
        {
            return Err(Error::shape(format!("the bias is {bias}, not one number a class")));
        }
        let n_custom = Dim::size(options.custom_dist.len());
        match options.sampler == NceSampler::Custom && n_custom != classes {
            true => Err(Error::argument(format!(
                "{n_custom} probabilities are not those of {classes} classes"
            ))
            .remedy("give `custom_dist` one number for each class")),
            false => Ok((batch, classes, n_true)),
        }
    })
}

struct Noise<'a> {
    options: &'a NceOptions,
    classes: Dim,
    dtype: DType,
}

impl Noise<'_> {
    fn draw(&self, dims: &[Dim; 2]) -> Result<Var> {
        match self.options.sampler {
            NceSampler::Uniform => match self.classes.value() {
                Some(classes) => randint(&Type::new(DType::I64, dims)?, 0, classes.max(1) as i64),
                None => self.scaled(dims, |level, count| Ok(level * count)),
            },
            // The inverse of the distribution: exp(u log(n + 1)) - 1.
            NceSampler::LogUniform => self.scaled(dims, |level, count| {
                Ok(crate::exp(&(level * log(&(count + 1.0))?))? - 1.0)
            }),
            NceSampler::Custom => {
                let classes = self.options.custom_dist.len();
                let weights = Var::of(&self.options.custom_dist, &[1, classes])?;
                let weights = expand(&weights, &[dims[0], Dim::size(classes)])?;
                multinomial(&weights, self.options.num_neg_samples, true)
            }
        }
    }

    /// Whole numbers below the number of classes, from random numbers between 0 and 1 and that number.
    fn scaled(&self, dims: &[Dim], of: impl Fn(Var, Var) -> Result<Var>) -> Result<Var> {
        let level = uniform(&Type::new(DType::F64, dims)?, 0.0, 1.0)?;
        let drawn = of(level, dim_size(self.classes, DType::F64)?)?;
        let last = dim_size(self.classes, DType::I64)? - Var::scalar(1i64);
        minimum(&cast(&drawn, DType::I64)?, &last)
    }

    /// The probability with which each of these classes is drawn.
    fn probability(&self, drawn: &Var) -> Result<Var> {
        let count = dim_size(self.classes, DType::F64)?;
        let of_classes = match self.options.sampler {
            NceSampler::Uniform => {
                expand(&reshape(&(1.0 / count), &[Dim::size(1)])?, &[self.classes])?
            }
            NceSampler::LogUniform => {
                let next = iota(self.classes, DType::F64)? + 1.0;
                log1p(&(1.0 / next))? / log(&(count + 1.0))?
            }
            NceSampler::Custom => {
                let weights = &self.options.custom_dist;
                let total: f64 = weights.iter().sum();
                let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
                Var::of(&shares, &[shares.len()])?
            }
        };
        gather(&cast(&of_classes, self.dtype)?, drawn, 0)
    }
}
