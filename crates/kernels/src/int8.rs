//! Products of bytes: activations without sign by weights with one, summed exactly in `i32`.
//!
//! Weights are [packed](pack_int8) once, in one layout for all machines: panels of 16 output channels, and in each
//! of them four bytes of every channel after the other, which is what the instructions for such products take. Behind
//! its rows a panel has the sum of each channel, with which the zero point of the activations is taken off.
//!
//! `dot` has the instructions, `tile` the loops in registers. [`int8_linear`] has lanes of output channels,
//! [`int8_conv`] lanes of pixels. Sums are exact, so they are the same on every level and for any number of threads.

mod conv;
mod dot;
mod linear;
mod pack;
mod quantize;
mod tile;

#[cfg(test)]
mod tests;

use fluvial_tensor::{DType, Error, Result, Tensor};

pub use conv::{conv_integer, int8_conv};
pub use linear::{int8_linear, matmul_integer};
pub use pack::{PANEL, pack_int8, packed_dims, unpack_int8};
pub use quantize::{dynamic_scale, quantize};

use crate::scalar::compute::Compute;

/// The most products in one sum: more might not fit into `i32`.
pub const MAX_PRODUCTS: usize = 1 << 16;

/// How sums become numbers: `sum * scale + bias`, and then the larger of it and 0, each part if it is there.
#[derive(Clone, Copy, Debug)]
pub struct Int8Epilogue<'a> {
    /// The number that one step of the activations stands for.
    pub scale: f32,
    /// The activation that stands for 0.
    pub zero: u8,
    /// The number that one step of each output channel's weights stands for.
    pub weight_scale: &'a [f32],
    /// A summand for each output channel.
    pub bias: Option<&'a [f32]>,
    /// Whether negative results become 0.
    pub relu: bool,
}

/// Where sums go.
#[derive(Clone, Copy)]
enum Sink<'a> {
    /// As they are, without the zero point of the activations.
    Sums { zero: u8 },
    /// As numbers.
    Numbers(Int8Epilogue<'a>),
}

impl Sink<'_> {
    /// What a channel needs: the summand for its sums, by its packed sum; and factor and summand of numbers.
    #[inline(always)]
    fn channel(&self, channel: usize, packed_sum: i32) -> Channel {
        match self {
            Sink::Sums { zero } => Channel {
                offset: packed_sum.wrapping_mul(i32::from(*zero)).wrapping_neg(),
                ..Channel::default()
            },
            Sink::Numbers(then) => Channel {
                offset: packed_sum.wrapping_mul(i32::from(then.zero)).wrapping_neg(),
                scale: then.scale * then.weight_scale[channel],
                bias: then.bias.map(|bias| bias[channel]),
                relu: then.relu,
            },
        }
    }
}

/// How the sums of one channel are written.
#[derive(Clone, Copy, Default)]
struct Channel {
    offset: i32,
    scale: f32,
    bias: Option<f32>,
    relu: bool,
}

impl Channel {
    #[inline(always)]
    fn number(&self, sum: i32) -> f32 {
        let mut number = sum.wrapping_add(self.offset) as f32 * self.scale;
        if let Some(bias) = self.bias {
            number += bias;
        }
        if self.relu { number.larger(0.0) } else { number }
    }
}

/// The elements of a tensor of bytes without gaps.
fn bytes(x: &Tensor) -> Result<&[u8]> {
    let found = x.as_bytes().filter(|_| matches!(x.dtype(), DType::U8 | DType::I8));
    found.ok_or_else(|| Error::internal(format!("expected bytes without gaps, found {}", x.ty())))
}

/// Refuses sums of more products than `i32` surely holds.
fn check_products(k: usize) -> Result<()> {
    match k <= MAX_PRODUCTS {
        true => Ok(()),
        false => Err(Error::argument(format!(
            "sums of {k} products of bytes may not fit into 32 bits; {MAX_PRODUCTS} do"
        ))
        .remedy("compute this one with floats")),
    }
}
