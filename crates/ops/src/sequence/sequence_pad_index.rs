//! `sequence_pad_index`: which row stands at each place of padded sequences.

use super::rows::{is_lengths, lengths_of};
use crate::prelude::*;

/// The numbers of rows of sequences at the places `[sequences, steps]` of padded ones. Behind the end of a
/// sequence stands the number `rows`; if `repeat`, that of its last row. Without `steps`, as many as the
/// longest sequence has.
#[track_caller]
pub(super) fn sequence_pad_index(
    lengths: &Var,
    rows: Dim,
    steps: Option<Dim>,
    repeat: bool,
) -> Result<Var> {
    bind1(SequencePadIndex { rows, steps, repeat }, &[lengths])
}

attributes! {
    /// The number of the row at each place of padded sequences.
    pub struct SequencePadIndex = "sequence_pad_index" {
        /// The number of rows of all sequences together.
        pub rows: Dim,
        /// The length to which sequences are padded, if not that of the longest.
        pub steps: Option<Dim>,
        /// Whether the last row is repeated.
        pub repeat: bool,
    }
}

impl Op for SequencePadIndex {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_lengths(inputs[0])?;
        let steps = self.steps.unwrap_or(Dim::fresh(0));
        Ok(smallvec![inputs[0].with_dims(&[inputs[0].dim(0), steps])?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let rows = known_size(self.rows)?;
        let lengths = lengths_of(inputs[0], Some(rows))?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let steps = outs[0].dim(1).value().unwrap_or(longest);
        if let Some(i) = lengths.iter().position(|&length| length > steps) {
            return Err(Error::argument(format!(
                "sequence {i} has {} rows, which do not fit into {steps}",
                lengths[i]
            ))
            .remedy("pad to a greater length, or to that of the longest sequence"));
        }
        let mut index: Vec<i64> = Vec::new();
        let count = lengths.len().checked_mul(steps);
        if count.is_none_or(|count| index.try_reserve_exact(count).is_err()) {
            let n = lengths.len();
            return Err(Error::memory(format!("there is no memory for {n} sequences of {steps}")));
        }
        let mut start = 0;
        for &length in &lengths {
            let end = start + length;
            index.extend(start as i64..end as i64);
            let behind = match self.repeat {
                true => end.saturating_sub(1),
                false => rows,
            };
            index.resize(index.len() + steps - length, behind as i64);
            start = end;
        }
        Ok(smallvec![Tensor::from_vec(index, &[lengths.len(), steps])?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("numbers of rows are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(SequencePadIndex::NAME, SequencePadIndex::build, || {
    let of = |rows, steps: Option<usize>, repeat| SequencePadIndex {
        rows: Dim::size(rows),
        steps: steps.map(Dim::size),
        repeat,
    };
    let lengths = i64s(&[1, 0, 2], &[3]);
    vec![
        Sample::new(of(3, None, false), [lengths.clone()])
            .gives([i64s(&[0, 3, 3, 3, 1, 2], &[3, 2])]),
        Sample::new(of(3, Some(3), true), [lengths.clone()])
            .gives([i64s(&[0, 0, 0, 0, 0, 0, 1, 2, 2], &[3, 3])]),
        Sample::new(of(0, None, false), [i64s(&[], &[0])]).gives([i64s(&[], &[0, 0])]),
        Sample::new(of(3, Some(1), false), [lengths.clone()]).refused("do not fit into 1"),
        Sample::new(of(4, None, false), [lengths]).refused("add up to 3, but there are 4 rows"),
        Sample::new(of(1, None, false), [ramp(&[1])]).refused("lengths are i64[sequences]"),
    ]
});
