//! `rng_split`: a stream of its own for each trip of a parallel loop.

use super::rng_next::{is_stream, seed_and_counter};
use crate::prelude::*;

/// The stream that belongs to a number: it depends on `stream` and the number only, and has nothing in common with
/// those of other numbers.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let stream = Var::of(&[3i64, 0], &[2])?;
/// let (a, b) = (rng_split(&stream, &Var::scalar(0i64))?, rng_split(&stream, &Var::scalar(1i64))?);
/// assert_ne!(a.to_vec::<i64>()?, b.to_vec::<i64>()?);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rng_split(stream: &Var, number: &Var) -> Result<Var> {
    bind1(RngSplit {}, &[stream, number])
}

attributes! {
    /// The op behind [`rng_split`].
    pub struct RngSplit = "rng_split" {}
}

impl Op for RngSplit {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[0])?;
        match *inputs[1] == Type::scalar(DType::I64) {
            true => Ok(smallvec![*inputs[0]]),
            false => Err(Error::dtype(format!("a number is i64[], found {}", inputs[1]))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (seed, counter) = seed_and_counter(inputs[0])?;
        let number = inputs[1].tensor()?.item::<i64>()? as u64;
        let own = mixed(mixed(mixed(seed) ^ counter) ^ number);
        Ok(smallvec![Tensor::from_slice(&[own as i64, 0], &[2])?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a random stream is made of integers")
    }
}

/// All bits of the result depend on all bits of the number (the finaliser of SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RngSplit::NAME, RngSplit::build, || {
    let number = |number: i64| i64s(&[number], &[]);
    let own = |number: u64| mixed(mixed(mixed(5) ^ 7) ^ number) as i64;
    vec![
        Sample::new(RngSplit {}, [i64s(&[5, 7], &[2]), number(0)])
            .gives([i64s(&[own(0), 0], &[2])]),
        Sample::new(RngSplit {}, [i64s(&[5, 7], &[2]), number(9)])
            .gives([i64s(&[own(9), 0], &[2])]),
        Sample::new(RngSplit {}, [i64s(&[5], &[1]), number(0)])
            .refused("a random stream is i64[2]"),
        Sample::new(RngSplit {}, [i64s(&[5, 7], &[2]), f64s(&[1.0], &[])])
            .refused("a number is i64[]"),
    ]
});
