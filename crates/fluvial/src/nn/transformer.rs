//! Blocks of transformers, with the parameters of PyTorch's.

use std::sync::Arc;

use fluvial_core::{Result, Var};
use fluvial_ops::{dropout, relu};

use super::attention::{Masks, MultiHeadAttention};
use super::layer::Layer;
use super::layers::{LayerNorm, Linear};
use super::path::Path;
use super::sequential::LayerList;

/// Builders that the blocks of encoders and decoders share.
macro_rules! block {
    ($layer:ident: $attention:ident $(, $more:ident)*; $($norm:ident),*) => {
        impl $layer {
            /// Drops in training, with this probability; 0.1 without it.
            #[must_use]
            pub fn dropout(mut self, p: f64) -> $layer {
                self.feedforward.dropout = p;
                self.$attention = self.$attention.dropout(p);
                $(self.$more = self.$more.dropout(p);)*
                self
            }

            /// The function between the two linear layers; `relu` without it.
            #[must_use]
            pub fn activation(mut self, f: impl Layer + 'static) -> $layer {
                self.feedforward.activation = Arc::new(f);
                self
            }

            /// Inputs and outputs are `[batch, length, width]` instead of `[length, batch, width]`.
            #[must_use]
            pub fn batch_first(mut self) -> $layer {
                self.$attention = self.$attention.batch_first();
                $(self.$more = self.$more.batch_first();)*
                self
            }

            /// Normalises before each part instead of after it.
            #[must_use]
            pub fn norm_first(mut self) -> $layer {
                self.norm_first = true;
                self
            }

            /// What is added to variances; 1e-5 without it.
            #[must_use]
            pub fn eps(mut self, eps: f64) -> $layer {
                $(self.$norm = self.$norm.eps(eps);)*
                self
            }

            /// Leaves all biases out.
            #[must_use]
            pub fn no_bias(mut self) -> $layer {
                self.$attention = self.$attention.no_bias();
                $(self.$more = self.$more.no_bias();)*
                $(self.$norm = self.$norm.no_bias();)*
                self.feedforward.linear1 = self.feedforward.linear1.no_bias();
                self.feedforward.linear2 = self.feedforward.linear2.no_bias();
                self
            }
        }
    };
}

/// Two linear layers with a function between them.
struct Feedforward {
    linear1: Linear,
    linear2: Linear,
    activation: Arc<dyn Layer>,
    dropout: f64,
}

impl Feedforward {
    fn new(at: &Path, width: usize, inner: usize) -> Feedforward {
        Feedforward {
            linear1: Linear::new(at.join("linear1"), width, inner),
            linear2: Linear::new(at.join("linear2"), inner, width),
            activation: Arc::new(relu),
            dropout: 0.1,
        }
    }

    fn forward(&self, at: &Path, x: &Var) -> Result<Var> {
        let inner = self.activation.forward(&self.linear1.forward(x)?)?;
        let y = self.linear2.forward(&self.dropped(at, inner)?)?;
        self.dropped(at, y)
    }

    fn dropped(&self, at: &Path, x: Var) -> Result<Var> {
        match at.is_training() && self.dropout != 0.0 {
            true => dropout(&x, self.dropout),
            false => Ok(x),
        }
    }
}

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
pub struct TransformerEncoderLayer {
    at: Path,
    self_attn: MultiHeadAttention,
    feedforward: Feedforward,
    norm1: LayerNorm,
    norm2: LayerNorm,
    norm_first: bool,
}

impl TransformerEncoderLayer {
    /// A block for features of this width in so many heads, with `inner` features between the
    /// linear layers.
    pub fn new(
        at: impl Into<Path>,
        width: usize,
        heads: usize,
        inner: usize,
    ) -> TransformerEncoderLayer {
        let at = at.into();
        TransformerEncoderLayer {
            self_attn: MultiHeadAttention::new(at.join("self_attn"), width, heads).dropout(0.1),
            feedforward: Feedforward::new(&at, width, inner),
            norm1: LayerNorm::new(at.join("norm1"), &[width]),
            norm2: LayerNorm::new(at.join("norm2"), &[width]),
            norm_first: false,
            at,
        }
    }

    /// The output for `x`.
    #[track_caller]
    pub fn encode(&self, x: &Var, masks: Masks<'_>) -> Result<Var> {
        let _call = self.at.called();
        let x = residual(&self.norm1, self.norm_first, x, |x| {
            self.feedforward.dropped(&self.at, self.self_attn.attend(x, x, x, masks)?)
        })?;
        let feed = |x: &Var| self.feedforward.forward(&self.at, x);
        residual(&self.norm2, self.norm_first, &x, feed)
    }
}

block!(TransformerEncoderLayer: self_attn; norm1, norm2);

impl Layer for TransformerEncoderLayer {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        self.encode(x, Masks::none())
    }
}

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
pub struct TransformerDecoderLayer {
    at: Path,
    self_attn: MultiHeadAttention,
    multihead_attn: MultiHeadAttention,
    feedforward: Feedforward,
    norm1: LayerNorm,
    norm2: LayerNorm,
    norm3: LayerNorm,
    norm_first: bool,
}

impl TransformerDecoderLayer {
    /// A block for features of this width in so many heads, with `inner` features between the
    /// linear layers.
    pub fn new(
        at: impl Into<Path>,
        width: usize,
        heads: usize,
        inner: usize,
    ) -> TransformerDecoderLayer {
        let at = at.into();
        let attention = |name| MultiHeadAttention::new(at.join(name), width, heads).dropout(0.1);
        TransformerDecoderLayer {
            self_attn: attention("self_attn"),
            multihead_attn: attention("multihead_attn"),
            feedforward: Feedforward::new(&at, width, inner),
            norm1: LayerNorm::new(at.join("norm1"), &[width]),
            norm2: LayerNorm::new(at.join("norm2"), &[width]),
            norm3: LayerNorm::new(at.join("norm3"), &[width]),
            norm_first: false,
            at,
        }
    }

    /// The output for `x`, which attends to itself and to `memory`.
    #[track_caller]
    pub fn decode(
        &self,
        x: &Var,
        memory: &Var,
        masks: Masks<'_>,
        memory_masks: Masks<'_>,
    ) -> Result<Var> {
        let _call = self.at.called();
        let dropped = |y: Var| self.feedforward.dropped(&self.at, y);
        let x = residual(&self.norm1, self.norm_first, x, |x| {
            dropped(self.self_attn.attend(x, x, x, masks)?)
        })?;
        let x = residual(&self.norm2, self.norm_first, &x, |x| {
            dropped(self.multihead_attn.attend(x, memory, memory, memory_masks)?)
        })?;
        let feed = |x: &Var| self.feedforward.forward(&self.at, x);
        residual(&self.norm3, self.norm_first, &x, feed)
    }
}

block!(TransformerDecoderLayer: self_attn, multihead_attn; norm1, norm2, norm3);

impl Layer for TransformerDecoderLayer {
    fn path(&self) -> &Path {
        &self.at
    }
}

/// What `f` makes of `x` is added to it; normalised before or after.
fn residual(
    norm: &LayerNorm,
    norm_first: bool,
    x: &Var,
    f: impl FnOnce(&Var) -> Result<Var>,
) -> Result<Var> {
    match norm_first {
        true => (x + f(&norm.forward(x)?)?).check(),
        false => norm.forward(&(x + f(x)?)),
    }
}

/// Blocks of an encoder one after the other, `layers.0.…`, and perhaps a last normalisation, `norm`.
///
/// ```
/// use fluvial::prelude::*;
///
/// let block = |at| TransformerEncoderLayer::new(at, 8, 2, 16).batch_first();
/// let encoder = TransformerEncoder::new("encoder", 2, block).norm(8);
/// let y = encoder.forward(&Var::of(&[0.5f32; 48], &[2, 3, 8])?)?;
/// assert_eq!(y.ty().to_string(), "f32[2, 3, 8]");
/// # Ok::<(), Error>(())
/// ```
pub struct TransformerEncoder {
    at: Path,
    layers: LayerList<TransformerEncoderLayer>,
    norm: Option<LayerNorm>,
}

impl TransformerEncoder {
    /// So many blocks.
    pub fn new(
        at: impl Into<Path>,
        count: usize,
        block: impl Fn(Path) -> TransformerEncoderLayer,
    ) -> TransformerEncoder {
        let at = at.into();
        let layers = LayerList::new(at.join("layers"), count, |at, _| block(at));
        TransformerEncoder { at, layers, norm: None }
    }

    /// Adds a normalisation of this width at the end.
    #[must_use]
    pub fn norm(mut self, width: usize) -> TransformerEncoder {
        self.norm = Some(LayerNorm::new(self.at.join("norm"), &[width]));
        self
    }

    /// The output for `x`.
    #[track_caller]
    pub fn encode(&self, x: &Var, masks: Masks<'_>) -> Result<Var> {
        let _call = self.at.called();
        let mut x = x.clone();
        for layer in &self.layers {
            x = layer.encode(&x, masks)?;
        }
        self.norm.as_ref().map_or(Ok(x.clone()), |norm| norm.forward(&x))
    }
}

impl Layer for TransformerEncoder {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        self.encode(x, Masks::none())
    }
}

/// Blocks of a decoder one after the other, `layers.0.…`, and perhaps a last normalisation, `norm`.
///
/// ```
/// use fluvial::prelude::*;
///
/// let decoder = TransformerDecoder::new("decoder", 2, |at| TransformerDecoderLayer::new(at, 8, 2, 16));
/// let (x, memory) = (Var::of(&[0.5f32; 48], &[3, 2, 8])?, Var::of(&[0.1f32; 80], &[5, 2, 8])?);
/// let y = decoder.decode(&x, &memory, Masks::causal(), Masks::none())?;
/// assert_eq!(y.ty().to_string(), "f32[3, 2, 8]");
/// # Ok::<(), Error>(())
/// ```
pub struct TransformerDecoder {
    at: Path,
    layers: LayerList<TransformerDecoderLayer>,
    norm: Option<LayerNorm>,
}

impl TransformerDecoder {
    /// So many blocks.
    pub fn new(
        at: impl Into<Path>,
        count: usize,
        block: impl Fn(Path) -> TransformerDecoderLayer,
    ) -> TransformerDecoder {
        let at = at.into();
        let layers = LayerList::new(at.join("layers"), count, |at, _| block(at));
        TransformerDecoder { at, layers, norm: None }
    }

    /// Adds a normalisation of this width at the end.
    #[must_use]
    pub fn norm(mut self, width: usize) -> TransformerDecoder {
        self.norm = Some(LayerNorm::new(self.at.join("norm"), &[width]));
        self
    }

    /// The output for `x`, which attends to itself and to `memory`.
    #[track_caller]
    pub fn decode(
        &self,
        x: &Var,
        memory: &Var,
        masks: Masks<'_>,
        memory_masks: Masks<'_>,
    ) -> Result<Var> {
        let _call = self.at.called();
        let mut x = x.clone();
        for layer in &self.layers {
            x = layer.decode(&x, memory, masks, memory_masks)?;
        }
        self.norm.as_ref().map_or(Ok(x.clone()), |norm| norm.forward(&x))
    }
}

impl Layer for TransformerDecoder {
    fn path(&self) -> &Path {
        &self.at
    }
}
