//! `announce`: a trainer tells parameter servers whether it makes another step.

use super::parts::{HEAD, NO_GRADIENT, Sides};
use crate::prelude::*;

attributes! {
    /// Tells all parameter servers whether this trainer makes another step; they wait for it (`steps_left`). The first
    /// ranks are trainers, the last ones servers.
    pub struct Announce = "announce" {
        /// How many trainers there are.
        pub trainers: usize,
        /// How many servers.
        pub servers: usize,
        /// Whether there is another step.
        pub more: bool,
    }
}

impl Op for Announce {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![])
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        let sides = Sides::trainer(self.trainers, self.servers)?;
        for server in sides.servers() {
            let head = Tensor::from_slice(&[i64::from(self.more)], &[1])?;
            sides.comm.send(head, server, HEAD)?;
        }
        Ok(smallvec![])
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, _: &[&Type], _: &[Type], _: usize) -> Option<Traffic> {
        Some(Traffic::sent(DType::I64.size() as u64, self.servers))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Exchange)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Announce::NAME, Announce::build, Vec::new);
