//! `edit_distance`: how many edits turn one sequence into another.

use super::rows::{is_lengths, lengths_of};
use crate::prelude::*;

/// The least number of insertions, deletions and substitutions that turn each sequence of `hyps` into the one
/// of `refs` with the same number: `f32[sequences, 1]`. With `normalized`, divided by the length of the latter,
/// which must not be zero then. Both are numbers, `i64[rows]`, with lengths of their own.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (a, of_a) = (Var::of(&[1i64, 2, 3], &[3])?, Var::of(&[3i64], &[1])?);
/// let (b, of_b) = (Var::of(&[1i64, 3], &[2])?, Var::of(&[2i64], &[1])?);
/// assert_eq!(edit_distance(&a, &of_a, &b, &of_b, true)?.to_vec::<f32>()?, [0.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn edit_distance(
    hyps: &Var,
    hyp_lengths: &Var,
    refs: &Var,
    ref_lengths: &Var,
    normalized: bool,
) -> Result<Var> {
    bind1(EditDistance { normalized }, &[hyps, hyp_lengths, refs, ref_lengths])
}

attributes! {
    /// The op behind [`edit_distance`].
    pub struct EditDistance = "edit_distance" {
        /// Whether distances are divided by the lengths of the second sequences.
        pub normalized: bool,
    }
}

fn distance(a: &[i64], b: &[i64]) -> usize {
    let mut line: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = line[0];
        line[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = corner + usize::from(x != y);
            corner = line[j + 1];
            line[j + 1] = substituted.min(line[j] + 1).min(corner + 1);
        }
    }
    line[b.len()]
}

impl Op for EditDistance {
    fn arity(&self) -> Arity {
        Arity::Exactly(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        for (rows, lengths) in [(inputs[0], inputs[1]), (inputs[2], inputs[3])] {
            is_lengths(lengths)?;
            if rows.is_list() || rows.rank() != 1 || rows.dtype() != DType::I64 {
                return Err(Error::shape(format!("expected numbers i64[rows], found {rows}"))
                    .remedy("cast them, and reshape to one axis"));
            }
        }
        match inputs[1].dims() == inputs[3].dims() {
            true => Ok(smallvec![Type::new(DType::F32, &[inputs[1].dim(0), Dim::size(1)])?]),
            false => Err(Error::shape(format!(
                "both have equally many sequences, not {} and {}",
                inputs[1].dim(0),
                inputs[3].dim(0)
            ))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let side = |i: usize| -> Result<(Vec<i64>, Vec<usize>)> {
            let numbers = inputs[i].tensor()?.to_vec::<i64>()?;
            let lengths = lengths_of(inputs[i + 1], Some(numbers.len()))?;
            Ok((numbers, lengths))
        };
        let ((hyps, hyp_lengths), (refs, ref_lengths)) = (side(0)?, side(2)?);
        let (mut hyps, mut refs) = (&hyps[..], &refs[..]);
        let mut found = Vec::with_capacity(hyp_lengths.len());
        for (i, (&n_hyp, &n_ref)) in hyp_lengths.iter().zip(&ref_lengths).enumerate() {
            let (hyp, reference);
            (hyp, hyps) = hyps.split_at(n_hyp);
            (reference, refs) = refs.split_at(n_ref);
            if self.normalized && n_ref == 0 {
                return Err(Error::argument(format!(
                    "a distance cannot be divided by the length of sequence {i}, which is 0"
                ))
                .remedy("take distances without `normalized`, or leave empty sequences out"));
            }
            let edits = distance(hyp, reference) as f32;
            found.push(if self.normalized { edits / n_ref as f32 } else { edits });
        }
        Ok(smallvec![Tensor::from_vec(found, &[hyp_lengths.len(), 1])?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("numbers of edits are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(EditDistance::NAME, EditDistance::build, || {
    let column = |x: &[i64]| i64s(x, &[x.len()]);
    let of = |normalized, a: &[i64], of_a: &[i64], b: &[i64], of_b: &[i64]| {
        let inputs = [column(a), column(of_a), column(b), column(of_b)];
        Sample::new(EditDistance { normalized }, inputs)
    };
    let f32s = |x: &[f32]| Tensor::from_slice(x, &[x.len(), 1]).expect("as many as there are");
    vec![
        of(false, &[1, 2, 3, 4], &[3, 0, 1], &[2, 3, 5, 7, 4], &[2, 2, 1])
            .gives([f32s(&[1.0, 2.0, 0.0])]),
        of(true, &[1, 2, 3, 4], &[3, 1], &[9, 3, 4, 4], &[2, 2]).gives([f32s(&[1.0, 0.5])]),
        of(true, &[1], &[1], &[], &[0]).refused("the length of sequence 0"),
        of(false, &[1], &[1], &[1], &[1, 0]).refused("equally many sequences"),
        of(false, &[1], &[2], &[1], &[1]).refused("add up to 2, but there are 1 rows"),
    ]
});
