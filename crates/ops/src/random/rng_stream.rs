//! `rng_stream`: a stream of its own for a name.

use std::sync::Arc;

use super::rng_next::{is_stream, seed_and_counter};
use crate::prelude::*;

/// The stream that belongs to a name: it depends on the seed of `stream` and the name only.
#[track_caller]
pub fn rng_stream(stream: &Var, name: &str) -> Result<Var> {
    bind1(RngStream { name: name.into() }, &[stream])
}

attributes! {
    /// The op behind [`rng_stream`].
    pub struct RngStream = "rng_stream" {
        /// The name.
        pub name: Arc<str>,
    }
}

impl Op for RngStream {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[0])?;
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (seed, _) = seed_and_counter(inputs[0])?;
        // The upper half of the counters belongs to names; plain draws count up from zero.
        let first = fnv1a(&self.name) | 1 << 63;
        Ok(smallvec![Tensor::from_slice(&[seed as i64, first as i64], &[2])?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a random stream is made of integers")
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let first = fnv1a(&self.name) | 1 << 63;
        let args = [Arg::In(0), Arg::Out(0), Arg::Int(0), Arg::Int(first as i64)];
        Native::new(&super::generator::NEXT, [], args).alone()
    }
}

/// The FNV-1a hash, with room below it for the draws of one initialiser.
fn fnv1a(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step) << 16
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RngStream::NAME, RngStream::build, || {
    let of = |name: &str| RngStream { name: name.into() };
    vec![
        Sample::new(of("fc.w"), [i64s(&[5, 7], &[2])]),
        Sample::new(of(""), [i64s(&[0, 0], &[2])])
            .gives([i64s(&[0, ((0xcbf2_9ce4_8422_2325u64 << 16) | 1 << 63) as i64], &[2])]),
        Sample::new(of("x"), [i64s(&[5], &[1])]).refused("a random stream is i64[2]"),
    ]
});
