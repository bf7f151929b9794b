//! `reduce_parts`: the values of all ranks as one, of which each rank gets its part.

use super::all_reduce::Across;
use super::packed::check_world;
use super::parts::{NO_GRADIENT, copy_part, part_type, unpacked};
use crate::prelude::*;

attributes! {
    /// The values of all ranks as one, of which each rank gets the part that it keeps (`own_part`), by one exchange.
    pub struct ReduceParts = "reduce_parts" {
        /// How they become one.
        pub how: Across,
        /// How many parts there are: one for each rank.
        pub parts: usize,
    }
}

impl Op for ReduceParts {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        for ty in inputs {
            self.how.takes(ty)?;
            if ty.dtype() != inputs[0].dtype() {
                return Err(Error::dtype(
                    "values of several element types are not reduced at once",
                )
                .remedy("reduce those of each type by themselves"));
            }
        }
        inputs.iter().map(|ty| part_type(ty, self.parts)).collect()
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let comm = fluvial_dist::current();
        check_world(Some(self.parts), comm.world())?;
        let lengths: Vec<usize> = outs.iter().map(|ty| ty.numel().unwrap_or(0)).collect();
        let row: usize = lengths.iter().sum();
        let dtype = outs[0].dtype();
        let mut send = Tensor::zeros(dtype, &[self.parts, row])?;
        let mut offset = 0;
        for (value, length) in inputs.iter().zip(&lengths) {
            let x = value.tensor()?.contiguous()?;
            for place in 0..self.parts {
                let at = (place * row + offset) * dtype.size();
                let to = &mut send.as_bytes_mut()?[at..at + length * dtype.size()];
                copy_part(&x, place, self.parts, to)?;
            }
            offset += length;
        }
        let own = comm.reduce_scatter(send, self.how.reduction())?.reshape(&[row])?;
        unpacked(&own, lengths.into_iter())
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], world: usize) -> Option<Traffic> {
        let bytes = bytes_of(inputs.iter().copied());
        Some(match inputs.iter().all(|ty| fluvial_dist::is_added(ty.dtype())) {
            true => Traffic::reduce_scatter(bytes, world),
            false => Traffic::all_gather(bytes, world),
        })
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Exchange)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ReduceParts::NAME, ReduceParts::build, || {
    let of = |how, parts| ReduceParts { how, parts };
    let (x, y) = (|| f64s(&[1.0, 2.0], &[2, 1]), || f64s(&[3.0], &[1]));
    vec![
        Sample::new(of(Across::Sum, 1), [x()]).gives([f64s(&[1.0, 2.0], &[2])]),
        Sample::new(of(Across::Mean, 1), [x(), y()]).gives([f64s(&[1.0, 2.0], &[2]), y()]),
        Sample::new(of(Across::Sum, 1), [x(), i64s(&[1], &[1])]).refused("several element types"),
        Sample::new(of(Across::Mean, 1), [i64s(&[1], &[1])]).refused("not an integer"),
    ]
});
