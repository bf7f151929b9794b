//! Blocks of transformers, with the parameters of PyTorch's.

use fluvial_core::{Result, Var};
use fluvial_ops::dropout;

use super::attention::{AttentionSpec, Masks};
use super::linear::LinearSpec;
use super::norm::LayerNormSpec;
use crate::nn::stated::{Call, Function, Parts, Statement, Value, layer};

layer! {
    /// One block of an encoder: attention to the input itself, then two linear layers, each added to its
    /// input and normalised.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let block = TransformerEncoderLayer::new("block", 8, 2, 16).batch_first().norm_first();
    /// let y = block.encode(&Var::of(&[0.5f32; 48], &[2, 3, 8])?, Masks::causal())?;
    /// assert_eq!(y.ty().to_string(), "f32[2, 3, 8]");
    /// assert_eq!(&*block.parameters()[0].name(), "block.self_attn.in_proj_weight");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.TransformerEncoderLayer(8, 2, 16)(fl.full((5, 3, 8), 0.5)).shape
    /// (5, 3, 8)
    /// ```
    pub TransformerEncoderLayer(0) = "TransformerEncoderLayer";
    /// One block of a decoder: attention to the input itself, to what an encoder made, then two linear
    /// layers, each added to its input and normalised.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let block = TransformerDecoderLayer::new("block", 8, 2, 16).batch_first();
    /// let (x, memory) = (Var::of(&[0.5f32; 48], &[2, 3, 8])?, Var::of(&[0.1f32; 80], &[2, 5, 8])?);
    /// let y = block.decode(&x, &memory, Masks::causal(), Masks::none())?;
    /// assert_eq!(y.ty().to_string(), "f32[2, 3, 8]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> layer = fl.nn.TransformerDecoderLayer(8, 2, 16)
    /// >>> layer(fl.full((4, 3, 8), 0.5), fl.full((5, 3, 8), 0.5), causal=True).shape
    /// (4, 3, 8)
    /// ```
    pub TransformerDecoderLayer(1) = "TransformerDecoderLayer";
    BlockSpec {
        /// The number of features.
        width | d_model: usize,
        /// The number of heads of attention.
        heads | nhead: usize,
        /// The number of features between the linear layers.
        inner | dim_feedforward: usize = 2048,
        /// The probability of dropout, in training.
        dropout: f64 = 0.1,
        /// The function between the linear layers, or its name.
        activation: Function = Function::relu(),
        /// What is added to the variance in norms.
        eps | layer_norm_eps: f64 = 1e-5,
        /// Whether the batch is the first axis, and the sequence the second.
        batch_first: bool = false,
        /// Whether norms stand before the parts, not after.
        norm_first: bool = false,
        /// Whether there are biases.
        bias: bool = true,
    }
    new(at, width, heads, inner)
    layers(
        self_attn: MultiHeadAttention, multihead_attn(1): MultiHeadAttention, linear1: Linear,
        linear2: Linear, norm1: LayerNorm, norm2: LayerNorm, norm3(1): LayerNorm, activation: Function
    )
    forward(
        x | src, attention_mask | src_mask: Option, key_mask | src_key_padding_mask: Option,
        causal | is_causal: Off
    ) -> Tensor,
    1 (
        x | tgt, memory, attention_mask | tgt_mask: Option, memory_mask: Option,
        key_mask | tgt_key_padding_mask: Option,
        memory_key_mask | memory_key_padding_mask: Option, causal | tgt_is_causal: Off,
        memory_causal | memory_is_causal: Off
    ) -> Tensor
}

impl TransformerEncoderLayer {
    /// The output for `x`.
    #[track_caller]
    pub fn encode(&self, x: &Var, masks: Masks<'_>) -> Result<Var> {
        let [attention, keys, causal] = masks.inputs();
        self.call(&[x.into(), attention, keys, causal])?.into_tensor()
    }
}

impl TransformerDecoderLayer {
    /// The output for `x`, which attends to itself and to `memory`.
    #[track_caller]
    pub fn decode(
        &self,
        x: &Var,
        memory: &Var,
        masks: Masks<'_>,
        memory_masks: Masks<'_>,
    ) -> Result<Var> {
        let [attention, keys, causal] = masks.inputs();
        let [of_memory, memory_keys, memory_causal] = memory_masks.inputs();
        let inputs = [
            x.into(),
            memory.into(),
            attention,
            of_memory,
            keys,
            memory_keys,
            causal,
            memory_causal,
        ];
        self.call(&inputs)?.into_tensor()
    }
}

impl<const N: usize> Statement for BlockSpec<N> {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        for name in ["self_attn", "multihead_attn"].into_iter().take(1 + N) {
            let (width, heads) = (self.width, self.heads);
            let (dropout, bias, batch_first) = (self.dropout, self.bias, self.batch_first);
            let attention =
                AttentionSpec { width, heads, dropout, bias, batch_first, ..Default::default() };
            attention.declare(&mut Parts::default())?;
            parts.layer(name, attention);
        }
        let linear =
            |inputs, outputs| LinearSpec { inputs: Some(inputs), outputs, bias: self.bias };
        parts.layer("linear1", linear(self.width, self.inner));
        parts.layer("linear2", linear(self.inner, self.width));
        for name in ["norm1", "norm2", "norm3"].into_iter().take(2 + N) {
            let (shape, eps, bias) = (vec![self.width], self.eps, self.bias);
            parts.layer(name, LayerNormSpec { shape, eps, bias, ..Default::default() });
        }
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let x = with.x()?;
        if N == 0 {
            let x = self.attended(with, "self_attn", "norm1", x, None, [1, 2, 3])?;
            return self.fed(with, "norm2", &x);
        }
        let x = self.attended(with, "self_attn", "norm1", x, None, [2, 4, 6])?;
        let memory = Some(with.input(1)?);
        let x = self.attended(with, "multihead_attn", "norm2", &x, memory, [3, 5, 7])?;
        self.fed(with, "norm3", &x)
    }
}

impl<const N: usize> BlockSpec<N> {
    /// Attention of `x` to itself or to a memory; its masks are these inputs.
    fn attended(
        &self,
        with: &Call<'_>,
        attention: &str,
        norm: &str,
        x: &Var,
        memory: Option<&Var>,
        masks: [usize; 3],
    ) -> Result<Var> {
        self.added(with, norm, x, |x| {
            let memory = memory.unwrap_or(x);
            let [mask, keys, causal] = masks;
            let named = [
                ("attention_mask", with.given(mask).into()),
                ("key_mask", with.given(keys).into()),
                ("causal", with.flag(causal).into()),
            ];
            let inputs = [x.into(), memory.into(), memory.into()];
            let y = with.layer(attention)?.call(&inputs, &named)?.into_tensor()?;
            self.dropped(with, y)
        })
    }

    /// Two linear layers with a function between them.
    fn fed(&self, with: &Call<'_>, norm: &str, x: &Var) -> Result<Value> {
        let y = self.added(with, norm, x, |x| {
            let inner = with.within("linear1", x)?;
            let function = with.function("activation", &self.activation);
            let inner = function.call(&[inner.into()], &[])?.into_tensor()?;
            let y = with.within("linear2", &self.dropped(with, inner)?)?;
            self.dropped(with, y)
        })?;
        Ok(y.into())
    }

    /// What `f` makes of `x` is added to it; normalised before or after.
    fn added(
        &self,
        with: &Call<'_>,
        norm: &str,
        x: &Var,
        f: impl FnOnce(&Var) -> Result<Var>,
    ) -> Result<Var> {
        match self.norm_first {
            true => (x + f(&with.within(norm, x)?)?).check(),
            false => with.within(norm, &(x + f(x)?).check()?),
        }
    }

    fn dropped(&self, with: &Call<'_>, x: Var) -> Result<Var> {
        match with.training && self.dropout != 0.0 {
            true => dropout(&x, self.dropout),
            false => Ok(x),
        }
    }
}
