//! A multilayer perceptron reads digits.
//!
//! `cargo run --release -p fluvial --example model_mlp -- --help` tells the options.

pub mod common;

use clap::Parser;
use common::{Options, Report, data};
use fluvial::prelude::*;

/// Linear layers with relu between.
pub struct Mlp {
    at: Path,
    layers: LayerList<Linear>,
}

impl Mlp {
    /// `sizes` are those of the input, of the hidden layers and of the output.
    pub fn new(at: impl Into<Path>, sizes: &[usize]) -> Mlp {
        let at = at.into();
        let layer = |at: Path, i: usize| Linear::new(at, sizes[i], sizes[i + 1]);
        Mlp { layers: LayerList::new(at.join("layers"), sizes.len() - 1, layer), at }
    }

    /// What trains it.
    pub fn optimizer(&self) -> Momentum {
        Momentum::new(self.parameters(), 0.02)
    }
}

impl Layer for Mlp {
    fn path(&self) -> &Path {
        &self.at
    }

    fn forward(&self, x: &Var) -> Result<Var> {
        let mut x = x.clone();
        for (i, layer) in self.layers.iter().enumerate() {
            x = layer.forward(&if i == 0 { x } else { relu(&x)? })?;
        }
        Ok(x)
    }
}

/// Trains a network on digits of `[784]` pixels.
pub fn train(options: &Options, net: &Mlp, batch: u64) -> Result<Report> {
    let data = data::digits(options, &[784], batch)?;
    common::train(options, net, &net.optimizer(), &data)
}

fn main() -> Result<()> {
    let net = Mlp::new("mlp", &[784, 256, 256, 10]);
    println!("{}", train(&Options::parse(), &net, 128)?);
    Ok(())
}
