//! `sequence_argmax`: the row of the greatest element of each sequence.

use super::rows::{has_rows, is_lengths, lengths_of};
use crate::prelude::*;

/// For each sequence and each element of a row, the number of the first row with the greatest element; with
/// `least`, the least one. NaN counts as both. For a sequence without rows it is the number of all rows.
#[track_caller]
pub(super) fn sequence_argmax(x: &Var, lengths: &Var, least: bool) -> Result<Var> {
    bind1(SequenceArgmax { least }, &[x, lengths])
}

attributes! {
    /// The number of the row of the greatest element, by sequence.
    pub struct SequenceArgmax = "sequence_argmax" {
        /// Whether the least element is looked for.
        pub least: bool,
    }
}

/// The rows of the greatest elements of `[rows, width]`, by an order in which `beats(a, b)` says that `a`
/// takes the place of `b`.
fn greatest<T: Copy>(
    elements: &[T],
    width: usize,
    lengths: &[usize],
    beats: impl Fn(T, T) -> bool,
) -> Vec<i64> {
    let rows = elements.len().checked_div(width).unwrap_or(0);
    let mut found = Vec::with_capacity(lengths.len() * width);
    let mut start = 0;
    for &length in lengths {
        for column in 0..width {
            let at = |row: usize| elements[row * width + column];
            let mut best = if length == 0 { rows } else { start };
            for row in start..start + length {
                if beats(at(row), at(best)) {
                    best = row;
                }
            }
            found.push(best as i64);
        }
        start += length;
    }
    found
}

impl Op for SequenceArgmax {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        has_rows(inputs[0])?;
        is_lengths(inputs[1])?;
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(inputs[0].dims());
        dims[0] = inputs[1].dim(0);
        Ok(smallvec![inputs[1].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let lengths = lengths_of(inputs[1], Some(x.dims()[0]))?;
        let width = x.dims()[1..].iter().product();
        let least = self.least;
        let found = match x.dtype().is_float() {
            true => greatest(&x.to_f64s(), width, &lengths, |a: f64, b: f64| {
                !b.is_nan() && (a.is_nan() || if least { a < b } else { a > b })
            }),
            false => {
                let elements = x.cast(DType::I64)?.to_vec::<i64>()?;
                let beats = |a, b| if least { a < b } else { a > b };
                greatest(&elements, width, &lengths, beats)
            }
        };
        Ok(smallvec![Tensor::from_vec(found, &known_sizes(&outs[0])?)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("numbers of rows are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(SequenceArgmax::NAME, SequenceArgmax::build, || {
    let of = |least| SequenceArgmax { least };
    let x = f64s(&[1.0, 5.0, 3.0, 5.0, 2.0, 4.0], &[3, 2]);
    let lengths = i64s(&[2, 0, 1], &[3]);
    vec![
        Sample::new(of(false), [x.clone(), lengths.clone()])
            .gives([i64s(&[1, 0, 3, 3, 2, 2], &[3, 2])]),
        Sample::new(of(true), [x.clone(), lengths.clone()])
            .gives([i64s(&[0, 0, 3, 3, 2, 2], &[3, 2])]),
        Sample::new(of(false), [i64s(&[7, 9], &[2]), i64s(&[2], &[1])]).gives([i64s(&[1], &[1])]),
        Sample::new(of(false), [ramp(&[2]), lengths]).refused("add up to 3, but there are 2 rows"),
        Sample::new(of(false), [x, ramp(&[3])]).refused("lengths are i64[sequences]"),
        Sample::new(of(false), [ramp(&[]), i64s(&[1], &[1])]).refused("expected the rows"),
    ]
});
