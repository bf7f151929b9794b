//! Attention with several heads.

use fluvial_core::structural::fill;
use fluvial_core::{Dim, Error, Result, Type, Var};
use fluvial_ops::{
    AttentionOptions, attention_weights, linear, matmul, mean, narrow, permute, reshape,
    scaled_dot_product_attention, squeeze, transpose, unsqueeze, where_,
};

use super::linear::LinearSpec;
use crate::init::Initializer;
use crate::nn::stated::{Call, Parts, Statement, Value, layer, times};

layer! {
    /// Attention with several heads, with the parameters of PyTorch's: `in_proj_weight` (queries, keys
    /// and values below each other), `in_proj_bias`, `out_proj.weight` and `out_proj.bias`; with keys or
    /// values of another width, `q_proj_weight`, `k_proj_weight` and `v_proj_weight` instead.
    ///
    /// Inputs are `[sequence, batch, width]`, or `[sequence, width]`. Without keys and values it attends to
    /// its queries. Masks are true where nothing may be looked at, or numbers that are added: `attention_mask`
    /// for queries and keys, or one for each head of each item, `key_mask` for each item and key.
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
    ///
    /// ```python
    /// >>> layer = fl.nn.MultiHeadAttention(8, 2, batch_first=True)
    /// >>> layer(fl.full((3, 5, 8), 0.5), causal=True).shape
    /// (3, 5, 8)
    /// ```
    pub MultiHeadAttention = "MultiHeadAttention";
    AttentionSpec {
        /// The number of features, of inputs and outputs.
        width | embed_dim: usize,
        /// The number of heads, which divides it.
        heads | num_heads: usize,
        /// The probability that a weight of attention is dropped, in training.
        dropout: f64 = 0.0,
        /// Whether there are biases.
        bias: bool = true,
        /// Whether keys and values have trained rows more, which this layer cannot.
        add_bias_kv: bool = false,
        /// Whether keys and values have a row of zeros more, which this layer cannot.
        add_zero_attn: bool = false,
        /// The number of features of keys; that of queries if nothing is said.
        key_width | kdim: Option<usize> = None,
        /// The number of features of values; that of queries if nothing is said.
        value_width | vdim: Option<usize> = None,
        /// Whether the batch is the first axis, and the sequence the second.
        batch_first: bool = false,
    }
    new(at, width, heads)
    attrs(weight_attr, bias_attr)
    parts(
        in_proj_weight: Option, q_proj_weight: Option, k_proj_weight: Option,
        v_proj_weight: Option, in_proj_bias: Option
    )
    layers(out_proj: Linear)
    forward(
        queries | query, keys | key: Option, values | value: Option,
        attention_mask | attn_mask: Option, key_mask | key_padding_mask: Option,
        causal | is_causal: Off, need_weights: Off, average_weights | average_attn_weights: On
    ) -> Any
}

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

    /// As inputs of a layer.
    pub(super) fn inputs(&self) -> [Value; 3] {
        [self.attention.into(), self.keys.into(), self.causal.into()]
    }
}

impl MultiHeadAttention {
    /// Keys and values of other widths than queries.
    #[must_use]
    pub fn key_value_widths(self, keys: usize, values: usize) -> MultiHeadAttention {
        self.key_width(keys).value_width(values)
    }

    /// What queries find among values, by their keys. Inputs have a batch axis, or none has.
    #[track_caller]
    pub fn attend(&self, queries: &Var, keys: &Var, values: &Var, masks: Masks<'_>) -> Result<Var> {
        let [attention, of_keys, causal] = masks.inputs();
        let inputs = [queries.into(), keys.into(), values.into(), attention, of_keys, causal];
        self.call(&inputs)?.into_tensor()
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
        let mut inputs = vec![queries.into(), keys.into(), values.into()];
        inputs.extend(masks.inputs());
        inputs.extend([true.into(), average.into()]);
        self.call(&inputs)?.into_pair()
    }
}

impl Statement for AttentionSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let (width, heads) = (self.width, self.heads);
        if heads == 0 || !width.is_multiple_of(heads) {
            return Err(Error::argument(format!("{heads} heads do not divide {width} features"))
                .remedy("choose a width that is a multiple of the number of heads"));
        }
        if self.add_bias_kv || self.add_zero_attn {
            let what = "attention adds no rows of its own to keys and values";
            return Err(Error::argument(what)
                .remedy("leave `add_bias_kv` and `add_zero_attn` out, or concatenate the rows"));
        }
        let (keys, values) = (self.key_width.unwrap_or(width), self.value_width.unwrap_or(width));
        let mut weight = |name: &str, dims| {
            parts.parameter(name, "weight_attr", dims, Initializer::xavier_uniform(1.0));
        };
        match (keys, values) == (width, width) {
            true => weight("in_proj_weight", vec![times(3, width)?, width]),
            false => {
                weight("q_proj_weight", vec![width, width]);
                weight("k_proj_weight", vec![width, keys]);
                weight("v_proj_weight", vec![width, values]);
            }
        }
        if self.bias {
            parts.parameter("in_proj_bias", "bias_attr", vec![times(3, width)?], Initializer::zeros());
        }
        let out = LinearSpec { inputs: Some(width), outputs: width, bias: self.bias };
        parts.layer("out_proj", out).init("bias", Initializer::zeros());
        Ok(())
    }

    fn is_function_of_one(&self) -> bool {
        true
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let queries = with.x()?;
        let keys = with.given(1).unwrap_or(queries);
        let values = with.given(2).unwrap_or(keys);
        let [q, k, v] = self.projected(with, [queries, keys, values])?;
        let mask = self.mask(with, q.ty())?;
        let dropout = if with.training { self.dropout } else { 0.0 };
        let options = AttentionOptions::default().causal(with.flag(5)).dropout(dropout);
        if !with.flag(6) {
            let found = scaled_dot_product_attention(&q, &k, &v, mask.as_ref(), options)?;
            return Ok(self.joined(with, &found, queries.rank())?.into());
        }
        let weights = attention_weights(&q, &k, mask.as_ref(), options)?;
        let y = self.joined(with, &matmul(&weights, &v)?, queries.rank())?;
        let weights = if with.flag(7) { mean(&weights, &[1], false)? } else { weights };
        let weights = if queries.rank() == 2 { squeeze(&weights, &[0])? } else { weights };
        Ok((y, weights).into())
    }
}

impl AttentionSpec {
    /// Queries, keys and values as `[batch, heads, length, width of a head]`.
    fn projected(&self, with: &Call<'_>, inputs: [&Var; 3]) -> Result<[Var; 3]> {
        for x in inputs {
            let _ = x.clone().check()?;
        }
        if ![[2; 3], [3; 3]].contains(&inputs.map(|x| x.rank())) {
            let types = inputs.map(|x| x.ty().to_string());
            return Err(Error::shape(format!(
                "queries, keys and values have three axes, or two without a batch, found {}",
                types.join(", ")
            )));
        }
        let [wq, wk, wv] = self.weights(with)?;
        let bias = with.optional("in_proj_bias")?;
        let head = |i: usize, weight: &Var| {
            let x = inputs[i];
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
        Ok([head(0, &wq)?, head(1, &wk)?, head(2, &wv)?])
    }

    fn weights(&self, with: &Call<'_>) -> Result<[Var; 3]> {
        match with.optional("in_proj_weight")? {
            Some(joint) => {
                Ok([self.third(&joint, 0)?, self.third(&joint, 1)?, self.third(&joint, 2)?])
            }
            None => {
                let [q, k, v] = ["q_proj_weight", "k_proj_weight", "v_proj_weight"];
                Ok([with.value(q)?, with.value(k)?, with.value(v)?])
            }
        }
    }

    /// The rows for queries, keys or values.
    fn third(&self, all: &Var, i: usize) -> Result<Var> {
        narrow(all, 0, Dim::size(i * self.width), Dim::size(self.width))
    }

    /// One mask, added to scores `[batch, heads, queries, keys]`.
    fn mask(&self, with: &Call<'_>, scores: Type) -> Result<Option<Var>> {
        let dtype = Type::scalar(scores.dtype());
        let added = |mask: &Var| match mask.clone().check()?.dtype().is_bool() {
            true => where_(mask, &fill(f64::NEG_INFINITY, &dtype)?, &fill(0.0, &dtype)?),
            false => Ok(mask.clone()),
        };
        let (one, heads) = (Dim::size(1), Dim::size(self.heads));
        let attention = with.given(3).map(|mask| {
            let mask = added(mask)?;
            match mask.dims()[..] {
                [rows, queries, keys] => {
                    reshape(&mask, &[rows.floor_div(heads)?, heads, queries, keys])
                }
                _ => Ok(mask),
            }
        });
        let keys = with.given(4).map(|mask| {
            let mask = added(mask)?;
            match mask.dims()[..] {
                [batch, keys] => reshape(&mask, &[batch, one, one, keys]),
                _ => Ok(mask),
            }
        });
        Ok(match (attention.transpose()?, keys.transpose()?) {
            (Some(attention), Some(keys)) => Some((attention + keys).check()?),
            (attention, keys) => attention.or(keys),
        })
    }

    /// The heads side by side, through the last projection, with the axes of the input.
    fn joined(&self, with: &Call<'_>, found: &Var, rank: usize) -> Result<Var> {
        let [batch, _, length, _] = [0, 1, 2, 3].map(|axis| found.ty().dim(axis));
        let side_by_side = permute(found, &[0, 2, 1, 3])?;
        let y = reshape(&side_by_side, &[batch, length, Dim::size(self.width)])?;
        let y = with.within("out_proj", &y)?;
        match (rank, self.batch_first) {
            (2, _) => squeeze(&y, &[0]),
            (_, true) => Ok(y),
            (_, false) => transpose(&y, 0, 1),
        }
    }
}
