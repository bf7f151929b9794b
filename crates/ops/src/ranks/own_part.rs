//! `own_part`: the part of a value that this rank keeps.

use super::parts::{NO_GRADIENT, part, part_type, place};
use crate::prelude::*;

attributes! {
    /// The part of a value that this rank keeps: its elements in order, cut into `parts` of one length, with zeros behind the
    /// last one. The last `parts` ranks have one each.
    pub struct OwnPart = "own_part" {
        /// How many parts there are.
        pub parts: usize,
        /// The rank that has the first one.
        pub first: usize,
    }
}

impl Op for OwnPart {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![part_type(inputs[0], self.parts)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let place = place(self.first, self.parts)?;
        Ok(smallvec![part(inputs[0].tensor()?, place, self.parts)?.into()])
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::State))
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
pub const DEF: OpDef = OpDef::new(OwnPart::NAME, OwnPart::build, || {
    vec![
        Sample::new(OwnPart { parts: 1, first: 0 }, [f64s(&[1.0, 2.0], &[2, 1])])
            .gives([f64s(&[1.0, 2.0], &[2])]),
        Sample::new(OwnPart { parts: 0, first: 0 }, [f64s(&[1.0], &[1])]).refused("no parts"),
    ]
});
