//! `steps_left`: whether trainers make another step, for parameter servers.

use super::parts::{HEAD, Sides};
use crate::prelude::*;

attributes! {
    /// Waits until all trainers have said whether they make another step (`announce`), and says it.
    pub struct StepsLeft = "steps_left" {
        /// How many trainers there are.
        pub trainers: usize,
        /// How many servers.
        pub servers: usize,
    }
}

impl Op for StepsLeft {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![Type::scalar(DType::Bool)])
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        let sides = Sides::server(self.trainers, self.servers)?;
        let mut first = None;
        for trainer in 0..self.trainers {
            let like = Tensor::from_slice(&[0i64], &[1])?;
            let more = sides.comm.recv(like, trainer, HEAD)?.to_vec::<i64>()?[0] != 0;
            if *first.get_or_insert(more) != more {
                return Err(Error::new(
                    ErrorKind::Check,
                    format!("trainer 0 and trainer {trainer} make different numbers of steps"),
                )
                .remedy("give all trainers as many batches"));
            }
        }
        Ok(smallvec![Tensor::scalar(first == Some(true)).into()])
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, _: &[&Type], _: &[Type], _: usize) -> Option<Traffic> {
        Some(Traffic::received(DType::I64.size() as u64, self.trainers))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Agree)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(StepsLeft::NAME, StepsLeft::build, Vec::new);
