//! `sequence_ids`: to which sequence each row belongs.

use super::rows::{is_lengths, lengths_of};
use crate::prelude::*;

/// The number of its sequence for each of `rows` rows. The rows of all sequences stand one after another;
/// `lengths`, `i64[sequences]`, says how many each has. The sum of the lengths must be `rows`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let ids = sequence_ids(&Var::of(&[2i64, 0, 1], &[3])?, Dim::size(3))?;
/// assert_eq!(ids.to_vec::<i64>()?, [0, 0, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_ids(lengths: &Var, rows: Dim) -> Result<Var> {
    bind1(SequenceIds { rows }, &[lengths])
}

attributes! {
    /// The op behind [`sequence_ids`].
    pub struct SequenceIds = "sequence_ids" {
        /// The number of rows of all sequences together.
        pub rows: Dim,
    }
}

impl Op for SequenceIds {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_lengths(inputs[0])?;
        Ok(smallvec![inputs[0].with_dims(&[self.rows])?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let rows = known_size(outs[0].dim(0))?;
        let lengths = lengths_of(inputs[0], Some(rows))?;
        let mut ids = Vec::with_capacity(rows);
        for (id, &length) in lengths.iter().enumerate() {
            ids.resize(ids.len() + length, id as i64);
        }
        Ok(smallvec![Tensor::from_vec(ids, &[rows])?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn positions(&self, inputs: &[&Type]) -> Option<(usize, Dim)> {
        Some((0, inputs[0].dim(0)))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("numbers of sequences are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(SequenceIds::NAME, SequenceIds::build, || {
    let of = |rows| SequenceIds { rows: Dim::size(rows) };
    vec![
        Sample::new(of(4), [i64s(&[1, 0, 3], &[3])]).gives([i64s(&[0, 2, 2, 2], &[4])]),
        Sample::new(of(0), [i64s(&[], &[0])]).gives([i64s(&[], &[0])]),
        Sample::new(of(3), [i64s(&[1, 1], &[2])]).refused("add up to 2, but there are 3 rows"),
        Sample::new(of(1), [i64s(&[2, -1], &[2])]).refused("sequence 1 has the length -1"),
        Sample::new(of(1), [i64s(&[1], &[])]).refused("lengths are i64[sequences]"),
        Sample::new(of(1), [ramp(&[1])]).refused("lengths are i64[sequences]"),
    ]
});
