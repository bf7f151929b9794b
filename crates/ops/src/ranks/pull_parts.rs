//! `pull_parts`: a trainer gets values from parameter servers.

use super::parts::{NO_GRADIENT, Sides, joined, part_or_number};
use super::send_to::tag_of;
use crate::prelude::*;

attributes! {
    /// Waits for the parts that all parameter servers send (`serve_parts`), and puts them together.
    pub struct PullParts = "pull_parts" {
        /// How many trainers there are.
        pub trainers: usize,
        /// How many servers.
        pub servers: usize,
        /// The types of the values, which are of one element type.
        pub types: Vec<Type>,
        /// What tells it from others.
        pub tag: usize,
    }
}

impl Op for PullParts {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        tag_of(self.tag)?;
        self.types.iter().try_for_each(|ty| part_or_number(ty, self.servers).map(drop))?;
        Ok(self.types.iter().copied().collect())
    }

    fn eval(&self, _: &[&Value], outs: &[Type]) -> Result<Values> {
        let sides = Sides::trainer(self.trainers, self.servers)?;
        let mut length = 0;
        for ty in outs {
            length += part_or_number(ty, self.servers)?.numel().unwrap_or(0);
        }
        let mut all = Vec::new();
        for server in sides.servers() {
            let like = Tensor::zeros(outs[0].dtype(), &[length])?;
            all.push(sides.comm.recv(like, server, tag_of(self.tag)?)?);
        }
        let all = match &all[..] {
            [one] => one.contiguous()?,
            several => kernels::concat(&several.iter().collect::<Vec<_>>(), 0)?,
        };
        let sizes = |ty: &Type| {
            let sizes = ty.sizes().ok_or_else(|| Error::shape("sizes have to be known"))?;
            Ok(sizes.to_vec())
        };
        let dims = outs.iter().map(sizes).collect::<Result<Vec<_>>>()?;
        joined(&all, &dims, self.servers)
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, _: &[&Type], outs: &[Type], _: usize) -> Option<Traffic> {
        let own = bytes_of(outs).div_ceil(self.servers as u64);
        Some(Traffic::received(own, self.servers))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Agree)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(PullParts::NAME, PullParts::build, Vec::new);
