//! A small convolutional network reads digits.
//!
//! `cargo run --release -p fluvial --example model_lenet -- --help` tells the options.

pub mod common;

use clap::Parser;
use common::{Options, Report, data};
use fluvial::prelude::*;

/// Two convolutions with relu and pooling, then two linear layers.
pub struct LeNet {
    at: Path,
    conv1: Conv2d,
    conv2: Conv2d,
    fc1: Linear,
    fc2: Linear,
}

/// The sizes of a [`LeNet`].
pub struct Sizes {
    /// Height and width of the images, which have one channel.
    pub side: usize,
    /// What the two convolutions give.
    pub channels: [usize; 2],
    /// Height and width of their windows.
    pub kernel: usize,
    /// The width of the hidden layer.
    pub hidden: usize,
    /// The number of classes.
    pub classes: usize,
}

impl LeNet {
    /// For images of a size.
    pub fn new(at: impl Into<Path>, sizes: Sizes) -> LeNet {
        let at = at.into();
        let Sizes { side, channels: [c1, c2], kernel, hidden, classes } = sizes;
        let pooled = |side: usize| (side - (kernel - 1)) / 2;
        let side = pooled(pooled(side));
        LeNet {
            conv1: Conv2d::new(at.join("conv1"), 1, c1, kernel),
            conv2: Conv2d::new(at.join("conv2"), c1, c2, kernel),
            fc1: Linear::new(at.join("fc1"), c2 * side * side, hidden),
            fc2: Linear::new(at.join("fc2"), hidden, classes),
            at,
        }
    }

    /// What trains it.
    pub fn optimizer(&self) -> Adam {
        Adam::new(self.parameters(), 1e-3)
    }
}

impl Layer for LeNet {
    fn path(&self) -> &Path {
        &self.at
    }

    fn forward(&self, x: &Var) -> Result<Var> {
        let pool = |x: &Var| max_pool2d(&relu(x)?, 2.into(), MaxPoolOptions::default());
        let x = pool(&self.conv1.forward(x)?)?;
        let x = pool(&self.conv2.forward(&x)?)?;
        self.fc2.forward(&relu(&self.fc1.forward(&flatten(&x, 1, -1)?)?)?)
    }
}

/// Trains a network on digits of `[1, 28, 28]` pixels.
pub fn train(options: &Options, net: &LeNet, batch: u64) -> Result<Report> {
    let data = data::digits(options, &[1, 28, 28], batch)?;
    common::train(options, net, &net.optimizer(), &data)
}

fn main() -> Result<()> {
    let sizes = Sizes { side: 28, channels: [20, 50], kernel: 5, hidden: 500, classes: 10 };
    println!("{}", train(&Options::parse(), &LeNet::new("lenet", sizes), 64)?);
    Ok(())
}
