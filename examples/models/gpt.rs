//! A small GPT: a decoder that learns to continue a text.
//!
//! `cargo run --release -p fluvial --example model_gpt -- --help` tells the options.

pub mod common;

use clap::Parser;
use common::{Options, Report, data};
use fluvial::prelude::*;

/// The sizes of a [`Gpt`].
#[derive(Clone, Copy)]
pub struct Sizes {
    /// How many tokens there are.
    pub vocab: usize,
    /// The width of what is computed for a token.
    pub dim: usize,
    /// The heads of each attention.
    pub heads: usize,
    /// The number of blocks.
    pub layers: usize,
    /// The tokens of a text.
    pub length: usize,
}

fn first() -> Initializer {
    Initializer::normal(0.0, 0.02)
}

fn linear(at: Path, inputs: usize, outputs: usize) -> Linear {
    let [weight, bias] = [first(), Initializer::zeros()].map(|init| ParamAttr::new().init(init));
    Linear::new(at, inputs, outputs).weight_attr(weight).bias_attr(bias)
}

/// Attention to what came before, then a feed-forward network, each added to its input.
struct Block {
    heads: usize,
    norm1: LayerNorm,
    norm2: LayerNorm,
    qkv: Linear,
    out: Linear,
    fc1: Linear,
    fc2: Linear,
}

impl Block {
    fn new(at: Path, dim: usize, heads: usize) -> Block {
        Block {
            heads,
            norm1: LayerNorm::new(at.join("norm1"), &[dim]),
            norm2: LayerNorm::new(at.join("norm2"), &[dim]),
            qkv: linear(at.join("qkv"), dim, 3 * dim),
            out: linear(at.join("out"), dim, dim),
            fc1: linear(at.join("fc1"), dim, 4 * dim),
            fc2: linear(at.join("fc2"), 4 * dim, dim),
        }
    }

    /// From `[batch, length, dim]` to `[batch, heads, length, dim / heads]`.
    fn split(&self, x: &Var) -> Result<Var> {
        let [batch, length, dim] = [0, 1, 2].map(|axis| x.dims()[axis]);
        let width = Dim::size(dim.value().unwrap_or(0) / self.heads);
        transpose(&reshape(x, &[batch, length, Dim::size(self.heads), width])?, 1, 2)
    }

    fn forward(&self, x: &Var) -> Result<Var> {
        let qkv = chunk(&self.qkv.forward(&self.norm1.forward(x)?)?, 3, -1)?;
        let [q, k, v] = [self.split(&qkv[0])?, self.split(&qkv[1])?, self.split(&qkv[2])?];
        let causal = AttentionOptions::default().causal(true);
        let y = scaled_dot_product_attention(&q, &k, &v, None, causal)?;
        let x = x + self.out.forward(&flatten(&transpose(&y, 1, 2)?, 2, -1)?)?;
        let y = gelu(&self.fc1.forward(&self.norm2.forward(&x)?)?, false)?;
        (&x + self.fc2.forward(&y)?).check()
    }
}

/// Learned positions; the head is the table of tokens.
pub struct Gpt {
    at: Path,
    sizes: Sizes,
    tok: Parameter,
    pos: Parameter,
    blocks: LayerList<Block>,
    norm: LayerNorm,
}

impl Gpt {
    /// Of these sizes.
    pub fn new(at: impl Into<Path>, sizes: Sizes) -> Gpt {
        let at = at.into();
        let Sizes { vocab, dim, heads, layers, length } = sizes;
        let table =
            |name: &str, count: usize| at.join(name).parameter("weight", &[count, dim], first());
        Gpt {
            sizes,
            tok: table("tok", vocab),
            pos: table("pos", length),
            blocks: LayerList::new(at.join("blocks"), layers, |at, _| Block::new(at, dim, heads)),
            norm: LayerNorm::new(at.join("norm"), &[dim]),
            at,
        }
    }

    /// What trains it.
    pub fn optimizer(&self) -> AdamW {
        AdamW::new(self.parameters(), 3e-4).betas((0.9, 0.95)).weight_decay(0.1)
    }
}

impl Layer for Gpt {
    fn path(&self) -> &Path {
        &self.at
    }

    fn forward(&self, x: &Var) -> Result<Var> {
        let tok = self.tok.get()?;
        let mut x = embedding(x, &tok, EmbeddingOptions::default())? + self.pos.get()?;
        for block in &self.blocks {
            x = block.forward(&x)?;
        }
        fluvial::ops::linear(&self.norm.forward(&x)?, &tok, None)
    }
}

/// Trains a network on texts.
pub fn train(options: &Options, net: &Gpt, batch: u64) -> Result<Report> {
    let data = data::texts(options, net.sizes.vocab, net.sizes.length, batch)?;
    common::train(options, net, &net.optimizer(), &data)
}

fn main() -> Result<()> {
    let sizes = Sizes { vocab: 96, dim: 384, heads: 6, layers: 6, length: 128 };
    println!("{}", train(&Options::parse(), &Gpt::new("gpt", sizes), 8)?);
    Ok(())
}
