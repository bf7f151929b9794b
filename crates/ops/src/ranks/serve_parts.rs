//! `serve_parts`: a parameter server sends its parts to all trainers.

use super::broadcast_from::of_one_type;
use super::parts::{NO_GRADIENT, Sides, packed_flat};
use super::send_to::tag_of;
use crate::prelude::*;

attributes! {
    /// Sends its parts of values, and numbers, to all trainers, which put them together (`pull_parts`).
    pub struct ServeParts = "serve_parts" {
        /// How many trainers there are.
        pub trainers: usize,
        /// How many servers.
        pub servers: usize,
        /// What tells it from others.
        pub tag: usize,
    }
}

impl Op for ServeParts {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        tag_of(self.tag)?;
        of_one_type(inputs).map(|_| smallvec![])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let sides = Sides::server(self.trainers, self.servers)?;
        let flat = inputs.iter().map(|value| {
            let tensor = value.tensor()?;
            Ok(Value::Tensor(tensor.contiguous()?.reshape(&[tensor.numel()])?))
        });
        let flat = flat.collect::<Result<Vec<Value>>>()?;
        let all = packed_flat(&flat.iter().collect::<Vec<_>>())?;
        for trainer in 0..self.trainers {
            sides.comm.send(all.clone(), trainer, tag_of(self.tag)?)?;
        }
        Ok(smallvec![])
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], _: usize) -> Option<Traffic> {
        Some(Traffic::sent(bytes_of(inputs.iter().copied()), self.trainers))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Exchange)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ServeParts::NAME, ServeParts::build, || {
    let of = |tag| ServeParts { trainers: 1, servers: 1, tag };
    vec![Sample::new(of(40_000), [ramp(&[2])]).refused("too large")]
});
