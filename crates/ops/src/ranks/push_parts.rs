//! `push_parts`: a trainer sends gradients to parameter servers.

use super::broadcast_from::of_one_type;
use super::parts::{NO_GRADIENT, Sides, packed_parts};
use super::send_to::tag_of;
use crate::prelude::*;

attributes! {
    /// Sends to each parameter server its parts of the values; numbers as they are.
    pub struct PushParts = "push_parts" {
        /// How many trainers there are.
        pub trainers: usize,
        /// How many servers.
        pub servers: usize,
        /// What tells it from others.
        pub tag: usize,
    }
}

impl Op for PushParts {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        tag_of(self.tag)?;
        of_one_type(inputs).map(|_| smallvec![])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let sides = Sides::trainer(self.trainers, self.servers)?;
        let tensors = inputs.iter().map(|value| value.tensor()?.contiguous());
        let tensors = tensors.collect::<Result<Vec<Tensor>>>()?;
        for (place, server) in sides.servers().enumerate() {
            let parts = packed_parts(&tensors, place, self.servers)?;
            sides.comm.send(parts, server, tag_of(self.tag)?)?;
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
        let own = bytes_of(inputs.iter().copied()).div_ceil(self.servers as u64);
        Some(Traffic::sent(own, self.servers))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Exchange)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(PushParts::NAME, PushParts::build, || {
    let of = |tag| PushParts { trainers: 1, servers: 1, tag };
    vec![
        Sample::new(of(40_000), [ramp(&[2])]).refused("too large"),
        Sample::new(of(0), [ramp(&[2]), i64s(&[1], &[1])]).refused("one element type"),
    ]
});
