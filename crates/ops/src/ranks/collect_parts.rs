//! `collect_parts`: what all trainers send to a parameter server, as one.

use super::all_reduce::Across;
use super::parts::{NO_GRADIENT, Sides, part_or_number, unpacked_as};
use super::send_to::tag_of;
use crate::prelude::*;

attributes! {
    /// Waits for the values that all trainers send (`push_parts`), and makes one of those of each. A server gets its parts of
    /// them; a program that is not cut yet says `cut = false` and stands for whole values.
    pub struct CollectParts = "collect_parts" {
        /// How many trainers there are.
        pub trainers: usize,
        /// How many servers.
        pub servers: usize,
        /// How values become one.
        pub how: Across,
        /// The types of the whole values.
        pub types: Vec<Type>,
        /// Whether it gives parts.
        pub cut: bool,
        /// What tells it from others.
        pub tag: usize,
    }
}

impl Op for CollectParts {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        tag_of(self.tag)?;
        self.types.iter().try_for_each(|ty| self.how.takes(ty))?;
        match self.cut {
            true => self.types.iter().map(|ty| part_or_number(ty, self.servers)).collect(),
            false => Ok(self.types.iter().copied().collect()),
        }
    }

    fn eval(&self, _: &[&Value], outs: &[Type]) -> Result<Values> {
        let sides = Sides::server(self.trainers, self.servers)?;
        if !self.cut {
            return Err(Error::program("a server has parts only").remedy("transpile the program"));
        }
        let length = outs.iter().map(|ty| ty.numel().unwrap_or(0)).sum();
        let mut all = Vec::new();
        for trainer in 0..self.trainers {
            let like = Tensor::zeros(outs[0].dtype(), &[length])?;
            all.push(sides.comm.recv(like, trainer, tag_of(self.tag)?)?);
        }
        let sum = fluvial_dist::reduced(&all, self.how.reduction())?;
        unpacked_as(&sum, outs)
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, _: &[&Type], outs: &[Type], _: usize) -> Option<Traffic> {
        Some(Traffic::received(bytes_of(outs), self.trainers))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Agree)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(CollectParts::NAME, CollectParts::build, Vec::new);
