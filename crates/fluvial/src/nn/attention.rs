//! Attention with several heads.

use fluvial_core::scope::user_line;
use fluvial_core::structural::fill;
use fluvial_core::{Dim, Error, Result, Type, Var};
use fluvial_ops::{
    AttentionOptions, attention_weights, linear, matmul, mean, narrow, permute, reshape,
    scaled_dot_product_attention, squeeze, transpose, unsqueeze, where_,
};

use super::attr::ParamAttr;
use super::layer::Layer;
use super::layers::Linear;
use super::parameter::Parameter;
use super::path::Path;
use crate::init::Initializer;

/// Which keys a query may attend to; all, unless said otherwise. As in PyTorch, bools are true where
/// it may *not*, and floats are added to scores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Masks<'a> {
    /// For each query and key, `[queries, keys]` or `[batch * heads, queries, keys]`.
    pub attention: Option<&'a Var>,
    /// For each key, `[batch, keys]`: true for padding.
    pub keys: Option<&'a Var>,
    /// Whether a query attends to keys up to its own place only.
    pub causal: bool,
}

impl<'a> Masks<'a> {
    /// All keys.
    pub fn none() -> Masks<'a> {
        Masks::default()
    }

    /// Keys up to the query's own place.
    pub fn causal() -> Masks<'a> {
        Masks { causal: true, ..Masks::default() }
    }

    /// With a mask of queries and keys.
    #[must_use]
    pub fn attention(self, mask: &'a Var) -> Masks<'a> {
        Masks { attention: Some(mask), ..self }
    }

    /// With a mask of keys.
    #[must_use]
    pub fn keys(self, mask: &'a Var) -> Masks<'a> {
        Masks { keys: Some(mask), ..self }
    }

    /// One mask, added to scores `[batch, heads, queries, keys]`.
    fn together(&self, heads: usize, scores: Type) -> Result<Option<Var>> {
        let dtype = Type::scalar(scores.dtype());
        let added = |mask: &Var| match mask.dtype().is_bool() {
            true => where_(mask, &fill(f64::NEG_INFINITY, &dtype)?, &fill(0.0, &dtype)?),
            false => Ok(mask.clone()),
        };
        let attention = self.attention.map(|mask| {
            let mask = added(&mask.clone().check()?)?;
            match mask.dims()[..] {
                [rows, queries, keys] => {
                    let batch = rows.floor_div(Dim::size(heads.max(1)))?;
                    reshape(&mask, &[batch, Dim::size(heads), queries, keys])
                }
                _ => Ok(mask),
            }
        });
        let keys = self.keys.map(|mask| {
            let mask = added(&mask.clone().check()?)?;
            let (one, dims) = (Dim::size(1), mask.dims());
            match dims[..] {
                [batch, keys] => reshape(&mask, &[batch, one, one, keys]),
                _ => Ok(mask),
            }
        });
        Ok(match (attention.transpose()?, keys.transpose()?) {
            (Some(attention), Some(keys)) => Some((attention + keys).check()?),
            (attention, keys) => attention.or(keys),
        })
    }
}

/// Attention with several heads, with the parameters of PyTorch's: `in_proj_weight` (queries, keys
/// and values below each other), `in_proj_bias`, `out_proj.weight` and `out_proj.bias`; with keys or
/// values of another width, `q_proj_weight`, `k_proj_weight` and `v_proj_weight` instead.
///
/// As a [`Layer`], it attends to its input itself.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = MultiHeadAttention::new("attn", 8, 2).batch_first();
/// let (x, memory) = (Var::of(&[0.5f32; 48], &[2, 3, 8])?, Var::of(&[0.1f32; 80], &[2, 5, 8])?);
/// let y = layer.attend(&x, &memory, &memory, Masks::none())?;
/// assert_eq!(y.ty().to_string(), "f32[2, 3, 8]");
/// let (_, weights) = layer.attend_with_weights(&x, &memory, &memory, Masks::none(), true)?;
/// assert_eq!(weights.ty().to_string(), "f32[2, 3, 5]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MultiHeadAttention {
    at: Path,
    width: usize,
    heads: usize,
    has_bias: bool,
    dropout: f64,
    batch_first: bool,
    attrs: [ParamAttr; 2],
    parts: Parts,
}

/// The parameters.
#[derive(Clone, Debug)]
struct Parts {
    /// One for all of queries, keys and values, or one for each.
    weights: Vec<Parameter>,
    bias: Option<Parameter>,
    out: Linear,
}

impl MultiHeadAttention {
    /// A layer for features of this width, in so many heads.
    pub fn new(at: impl Into<Path>, width: usize, heads: usize) -> MultiHeadAttention {
        let at = at.into();
        let parts = Parts::new(&at, width, heads, (width, width));
        MultiHeadAttention {
            at,
            width,
            heads,
            has_bias: true,
            dropout: 0.0,
            batch_first: false,
            attrs: Default::default(),
            parts,
        }
    }

    /// Keys and values of other widths than queries.
    #[must_use]
    pub fn key_value_widths(mut self, keys: usize, values: usize) -> MultiHeadAttention {
        let parts = Parts::new(&self.at, self.width, self.heads, (keys, values));
        self.parts = parts.with_attrs(&self.attrs);
        if self.has_bias { self } else { self.no_bias() }
    }

    /// Leaves the biases out.
    #[must_use]
    pub fn no_bias(mut self) -> MultiHeadAttention {
        self.has_bias = false;
        self.parts.bias = None;
        self.parts.out = self.parts.out.no_bias();
        self
    }

    /// Drops weights in training, with this probability.
    #[must_use]
    pub fn dropout(mut self, p: f64) -> MultiHeadAttention {
        self.dropout = p;
        self
    }

    /// Inputs and outputs are `[batch, length, width]` instead of `[length, batch, width]`.
    #[must_use]
    pub fn batch_first(mut self) -> MultiHeadAttention {
        self.batch_first = true;
        self
    }

    /// Says something of all weights. A name would make them one.
    #[must_use]
    pub fn weight_attr(mut self, attr: impl Into<ParamAttr>) -> MultiHeadAttention {
        self.attrs[0] = attr.into();
        self.parts = self.parts.with_attrs(&self.attrs);
        self
    }

    /// Says something of all biases.
    #[must_use]
    pub fn bias_attr(mut self, attr: impl Into<ParamAttr>) -> MultiHeadAttention {
        self.attrs[1] = attr.into();
        self.parts = self.parts.with_attrs(&self.attrs);
        self
    }

    /// What queries find among values, by their keys. Inputs have a batch axis, or none has.
    #[track_caller]
    pub fn attend(&self, queries: &Var, keys: &Var, values: &Var, masks: Masks<'_>) -> Result<Var> {
        let _call = self.at.called();
        let [q, k, v] = self.projected([queries, keys, values])?;
        let mask = masks.together(self.heads, q.ty())?;
        let found =
            scaled_dot_product_attention(&q, &k, &v, mask.as_ref(), self.options(masks.causal))?;
        self.joined(&found, queries.rank())
    }

    /// [`attend`](MultiHeadAttention::attend), with the weights: `[batch, queries, keys]` if they are
    /// averaged over the heads, else `[batch, heads, queries, keys]`.
    #[track_caller]
    pub fn attend_with_weights(
        &self,
        queries: &Var,
        keys: &Var,
        values: &Var,
        masks: Masks<'_>,
        average: bool,
    ) -> Result<(Var, Var)> {
        let _call = self.at.called();
        let [q, k, v] = self.projected([queries, keys, values])?;
        let mask = masks.together(self.heads, q.ty())?;
        let weights = attention_weights(&q, &k, mask.as_ref(), self.options(masks.causal))?;
        let y = self.joined(&matmul(&weights, &v)?, queries.rank())?;
        let weights = if average { mean(&weights, &[1], false)? } else { weights };
        Ok((y, if queries.rank() == 2 { squeeze(&weights, &[0])? } else { weights }))
    }

    fn options(&self, causal: bool) -> AttentionOptions {
        let dropout = if self.at.is_training() { self.dropout } else { 0.0 };
        AttentionOptions::default().causal(causal).dropout(dropout)
    }

    /// Queries, keys and values as `[batch, heads, length, width of a head]`.
    fn projected(&self, inputs: [&Var; 3]) -> Result<[Var; 3]> {
        let loc = user_line();
        let ranks = inputs.map(|x| x.rank());
        for x in inputs {
            let _ = x.clone().check()?;
        }
        if ![[2; 3], [3; 3]].contains(&ranks) {
            let types = inputs.map(|x| x.ty().to_string());
            return Err(Error::shape(format!(
                "queries, keys and values have three axes, or two without a batch, found {}",
                types.join(", ")
            ))
            .at(loc));
        }
        let [wq, wk, wv] = self.weights()?;
        let bias = self.parts.bias.as_ref().map(Parameter::get).transpose()?;
        let head = |i: usize, x: &Var, weight: &Var| {
            let x = match (x.rank(), self.batch_first) {
                (2, _) => unsqueeze(x, 0)?,
                (_, true) => x.clone(),
                (_, false) => transpose(x, 0, 1)?,
            };
            let bias = bias.as_ref().map(|bias| self.third(bias, i)).transpose()?;
            let x = linear(&x, weight, bias.as_ref())?;
            let [batch, length] = [0, 1].map(|axis| x.ty().dim(axis));
            let (heads, width) = (Dim::size(self.heads), Dim::size(self.width / self.heads));
            permute(&reshape(&x, &[batch, length, heads, width])?, &[0, 2, 1, 3])
        };
        Ok([head(0, inputs[0], &wq)?, head(1, inputs[1], &wk)?, head(2, inputs[2], &wv)?])
    }

    fn weights(&self) -> Result<[Var; 3]> {
        match self.parts.weights.as_slice() {
            [q, k, v] => Ok([q.get()?, k.get()?, v.get()?]),
            joint => {
                let joint = joint.first().ok_or_else(|| Error::internal("no weight"))?.get()?;
                Ok([self.third(&joint, 0)?, self.third(&joint, 1)?, self.third(&joint, 2)?])
            }
        }
    }

    /// The rows for queries, keys or values.
    fn third(&self, all: &Var, i: usize) -> Result<Var> {
        narrow(all, 0, Dim::size(i * self.width), Dim::size(self.width))
    }

    /// The heads side by side, through the last projection, with the axes of the input.
    fn joined(&self, found: &Var, rank: usize) -> Result<Var> {
        let [batch, _, length, _] = [0, 1, 2, 3].map(|axis| found.ty().dim(axis));
        let side_by_side = permute(found, &[0, 2, 1, 3])?;
        let y = reshape(&side_by_side, &[batch, length, Dim::size(self.width)])?;
        let y = self.parts.out.forward(&y)?;
        match (rank, self.batch_first) {
            (2, _) => squeeze(&y, &[0]),
            (_, true) => Ok(y),
            (_, false) => transpose(&y, 0, 1),
        }
    }
}

impl Layer for MultiHeadAttention {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        self.attend(x, x, x, Masks::none())
    }
}

impl Parts {
    fn new(at: &Path, width: usize, heads: usize, (keys, values): (usize, usize)) -> Parts {
        let weight = |name, rows: usize, columns: usize| {
            let sizes = match heads > 0 && width.is_multiple_of(heads) {
                true => Ok(vec![rows, columns]),
                false => {
                    Err(Error::argument(format!("{heads} heads do not divide {width} features"))
                        .remedy("choose a width that is a multiple of the number of heads"))
                }
            };
            at.sized_parameter(name, sizes, Initializer::xavier_uniform(1.0))
        };
        let weights = match (keys, values) == (width, width) {
            true => vec![weight("in_proj_weight", 3 * width, width)],
            false => vec![
                weight("q_proj_weight", width, width),
                weight("k_proj_weight", width, keys),
                weight("v_proj_weight", width, values),
            ],
        };
        let bias = Some(at.parameter("in_proj_bias", &[3 * width], Initializer::zeros()));
        let out = Linear::new(at.join("out_proj"), width, width).bias_attr(Initializer::zeros());
        Parts { weights, bias, out }
    }

    fn with_attrs(self, [of_weights, of_biases]: &[ParamAttr; 2]) -> Parts {
        self.weights.iter().for_each(|weight| weight.set_attr(of_weights.clone()));
        self.bias.iter().for_each(|bias| bias.set_attr(of_biases.clone()));
        let mut of_last = of_biases.clone();
        of_last.init.get_or_insert(Initializer::zeros());
        let out = self.out.weight_attr(of_weights.clone()).bias_attr(of_last);
        Parts { out, ..self }
    }
}
