//! `gather_parts`: whole values of the parts that ranks keep.

use super::broadcast_from::of_one_type;
use super::parts::{NO_GRADIENT, joined, packed_flat, part_type, place};
use crate::prelude::*;

attributes! {
    /// Whole values of the parts that the last `parts` ranks keep (`own_part`), by one exchange among them.
    pub struct GatherParts = "gather_parts" {
        /// How many parts there are.
        pub parts: usize,
        /// The rank that has the first one.
        pub first: usize,
        /// By value: the sizes of the whole.
        pub dims: Vec<Vec<usize>>,
    }
}

impl Op for GatherParts {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let types = of_one_type(inputs)?;
        if inputs.len() != self.dims.len() {
            return Err(Error::argument("each part needs the sizes of its whole"));
        }
        let wholes = self.dims.iter().map(|dims| Type::of(types[0].dtype(), dims));
        let wholes = wholes.collect::<Result<Types>>()?;
        for (part, whole) in types.iter().zip(&wholes) {
            let expected = part_type(whole, self.parts)?;
            if *part != expected {
                return Err(Error::shape(format!("{part} is not part of {whole}: {expected} is")));
            }
        }
        Ok(wholes)
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        place(self.first, self.parts)?;
        let all = fluvial_dist::gathered_from(self.first, packed_flat(inputs)?)?;
        joined(&all, &self.dims, self.parts)
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], _: usize) -> Option<Traffic> {
        Some(Traffic::all_gather(bytes_of(inputs.iter().copied()), self.parts))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Agree)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(GatherParts::NAME, GatherParts::build, || {
    let of = |dims: &[&[usize]]| GatherParts {
        parts: 1,
        first: 0,
        dims: dims.iter().map(|dims| dims.to_vec()).collect(),
    };
    let (x, y) = (|| f64s(&[1.0, 2.0], &[2]), || f64s(&[3.0], &[1]));
    vec![
        Sample::new(of(&[&[2, 1]]), [x()]).gives([f64s(&[1.0, 2.0], &[2, 1])]),
        Sample::new(of(&[&[1, 2], &[1]]), [x(), y()]).gives([f64s(&[1.0, 2.0], &[1, 2]), y()]),
        Sample::new(of(&[&[3]]), [x()]).refused("is not part of"),
        Sample::new(of(&[]), [x()]).refused("needs the sizes"),
    ]
});
