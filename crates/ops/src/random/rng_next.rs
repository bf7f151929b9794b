//! `rng_next`: the stream after one draw.

use super::generator::stream_type;
use crate::prelude::*;

/// The stream after one draw.
#[track_caller]
pub fn rng_next(stream: &Var) -> Result<Var> {
    bind1(RngNext {}, &[stream])
}

attributes! {
    /// The op behind [`rng_next`].
    pub struct RngNext = "rng_next" {}
}

/// Refuses what is not a stream.
pub(crate) fn is_stream(ty: &Type) -> Result<()> {
    match *ty == stream_type()? {
        true => Ok(()),
        false => Err(Error::dtype(format!("a random stream is i64[2], found {ty}"))),
    }
}

/// Seed and counter of a stream.
pub(crate) fn seed_and_counter(value: &Value) -> Result<(u64, u64)> {
    match value.tensor()?.to_vec::<i64>()?[..] {
        [seed, counter] => Ok((seed as u64, counter as u64)),
        _ => Err(Error::internal("a stream holds two integers")),
    }
}

impl Op for RngNext {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[0])?;
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (seed, counter) = seed_and_counter(inputs[0])?;
        let next = [seed as i64, counter.wrapping_add(1) as i64];
        Ok(smallvec![Tensor::from_slice(&next, &[2])?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a random stream is made of integers")
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let args = [Arg::In(0), Arg::Out(0), Arg::Int(1), Arg::Int(0)];
        Native::new(&super::generator::NEXT, [], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RngNext::NAME, RngNext::build, || {
    vec![
        Sample::new(RngNext {}, [i64s(&[5, 7], &[2])]).gives([i64s(&[5, 8], &[2])]),
        Sample::new(RngNext {}, [f64s(&[5.0, 7.0], &[2])]).refused("a random stream is i64[2]"),
    ]
});
