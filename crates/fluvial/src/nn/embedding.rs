//! Rows of a table by number.

use fluvial_core::{Error, Result, Tensor, Var, no_grad};
use fluvial_ops::net::EmbeddingOptions;
use fluvial_ops::{embedding, normal, renormalise_rows};

use super::attr::ParamAttr;
use super::layer::Layer;
use super::parameter::Parameter;
use super::path::Path;
use crate::init::Initializer;

/// The rows of a trained table at the numbers that are its input. `weight` is `[count, width]`.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = Embedding::new("words", 10, 3).padding_idx(0);
/// let rows = layer.forward(&Var::of(&[0i64, 7], &[2])?)?;
/// assert_eq!(rows.to_vec::<f32>()?[..3], [0.0; 3]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Embedding {
    at: Path,
    count: usize,
    options: EmbeddingOptions,
    weight: Parameter,
}

impl Embedding {
    /// A table of `count` rows of this width.
    pub fn new(at: impl Into<Path>, count: usize, width: usize) -> Embedding {
        let at = at.into();
        let weight = at.parameter("weight", &[count, width], Initializer::normal(0.0, 1.0));
        Embedding { at, count, options: EmbeddingOptions::default(), weight }
    }

    /// The number of a row that begins as zeros, unless an attribute says how rows begin, and is
    /// not trained; negative ones count from the back.
    #[must_use]
    pub fn padding_idx(mut self, idx: i64) -> Embedding {
        let mut attr = self.weight.attr();
        if attr.init.is_none() {
            attr.init = Some(zero_row(idx, self.count));
            self.weight.set_attr(attr);
        }
        self.options = self.options.padding_idx(idx);
        self
    }

    /// Shortens rows that are looked up to this norm; the table changes.
    #[must_use]
    pub fn max_norm(mut self, norm: f64) -> Embedding {
        self.options = self.options.max_norm(norm);
        self
    }

    /// The power of that norm; 2 without it.
    #[must_use]
    pub fn norm_type(mut self, p: f64) -> Embedding {
        self.options = self.options.norm_type(p);
        self
    }

    /// Says something of the table.
    #[must_use]
    pub fn weight_attr(self, attr: impl Into<ParamAttr>) -> Embedding {
        self.weight.set_attr(attr);
        self
    }
}

impl Layer for Embedding {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        let _call = self.at.called();
        let options = self.options.clone();
        if let Some(norm) = options.max_norm {
            let shortened = {
                let _no_grad = no_grad();
                renormalise_rows(&self.weight.get()?, x, norm, options.norm_type)?
            };
            self.weight.set(&shortened)?;
        }
        let options = EmbeddingOptions { max_norm: None, ..options };
        embedding(x, &self.weight.get()?, options)
    }
}

/// Normal numbers, but for a row of zeros.
fn zero_row(idx: i64, count: usize) -> Initializer {
    Initializer::custom(move |ty| {
        let row = if idx < 0 { idx + count as i64 } else { idx };
        if !(0..count as i64).contains(&row) {
            return Err(Error::index(format!(
                "the padding's number {idx} is none of {count} rows"
            )));
        }
        let keep: Vec<f64> = (0..count as i64).map(|i| f64::from(i != row)).collect();
        let keep = Tensor::from_f64s(ty.dtype(), &keep, &[count, 1])?;
        (normal(ty, 0.0, 1.0)? * Var::new(keep)).check()
    })
}
