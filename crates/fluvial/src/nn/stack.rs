//! Blocks of transformers one after the other.

use fluvial_core::{Result, Var};

use super::layer::Layer;
use super::layers::{LayerNorm, Masks, TransformerDecoderLayer, TransformerEncoderLayer};
use super::path::Path;
use super::sequential::LayerList;

/// Blocks one after the other, `layers.0.…`, and perhaps a last normalisation, `norm`.
pub struct TransformerStack<L> {
    at: Path,
    layers: LayerList<L>,
    norm: Option<LayerNorm>,
}

/// Blocks of an encoder.
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
pub type TransformerEncoder = TransformerStack<TransformerEncoderLayer>;

/// Blocks of a decoder.
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
pub type TransformerDecoder = TransformerStack<TransformerDecoderLayer>;

impl<L> TransformerStack<L> {
    /// So many blocks.
    pub fn new(
        at: impl Into<Path>,
        count: usize,
        block: impl Fn(Path) -> L,
    ) -> TransformerStack<L> {
        let at = at.into();
        let layers = LayerList::new(at.join("layers"), count, |at, _| block(at));
        TransformerStack { at, layers, norm: None }
    }

    /// Adds a normalisation of this width at the end.
    #[must_use]
    pub fn norm(mut self, width: usize) -> TransformerStack<L> {
        self.norm = Some(LayerNorm::new(self.at.join("norm"), &[width]));
        self
    }

    #[track_caller]
    fn run(&self, x: &Var, block: impl Fn(&L, &Var) -> Result<Var>) -> Result<Var> {
        let _call = self.at.called();
        let y = self.layers.iter().try_fold(x.clone(), |x, layer| block(layer, &x))?;
        self.norm.as_ref().map_or(Ok(y.clone()), |norm| norm.forward(&y))
    }
}

impl TransformerEncoder {
    /// The output for `x`.
    #[track_caller]
    pub fn encode(&self, x: &Var, masks: Masks<'_>) -> Result<Var> {
        self.run(x, |layer, x| layer.encode(x, masks))
    }
}

impl TransformerDecoder {
    /// The output for `x`, which attends to itself and to `memory`.
    #[track_caller]
    pub fn decode(
        &self,
        x: &Var,
        memory: &Var,
        masks: Masks<'_>,
        memory_masks: Masks<'_>,
    ) -> Result<Var> {
        self.run(x, |layer, x| layer.decode(x, memory, masks, memory_masks))
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

impl Layer for TransformerDecoder {
    fn path(&self) -> &Path {
        &self.at
    }
}
