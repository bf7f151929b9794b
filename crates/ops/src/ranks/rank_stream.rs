//! `rank_stream`: a random stream of its own for each rank.

use crate::prelude::*;
use crate::random::rng_next::{is_stream, seed_and_counter};

/// The stream from which this rank draws where all ranks have the same `stream`, so that each
/// drops other values. Rank 0 draws as one process alone does.
#[track_caller]
pub fn rank_stream(stream: &Var) -> Result<Var> {
    bind1(RankStream {}, &[stream])
}

attributes! {
    /// The op behind [`rank_stream`].
    pub struct RankStream = "rank_stream" {}
}

impl Op for RankStream {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[0])?;
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (seed, counter) = seed_and_counter(inputs[0])?;
        let rank = fluvial_dist::current().rank() as u64;
        // Far from the seeds that people choose, and from those of other ranks.
        let own = seed ^ rank.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ok(smallvec![Tensor::from_slice(&[own as i64, counter as i64], &[2])?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a random stream is made of integers")
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Differ)
    }

    // Nobody computes it beforehand: only the run knows the rank.
    fn properties(&self) -> Properties {
        Properties::RANDOM
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RankStream::NAME, RankStream::build, || {
    vec![
        Sample::new(RankStream {}, [i64s(&[5, 7], &[2])]).gives([i64s(&[5, 7], &[2])]),
        Sample::new(RankStream {}, [f64s(&[5.0, 7.0], &[2])]).refused("a random stream is i64[2]"),
    ]
});
