//! `sequence_ranges`: the numbers of rows that lie in ranges, one range after another.

use super::rows::is_lengths;
use crate::prelude::*;

/// For each sequence `i`, the numbers of `lengths[i]` rows from row `starts[i] + offsets[i]` on. The sequence
/// begins at row `starts[i]` and has `limits[i]` rows; a range that leaves it is an error. All are
/// `i64[sequences]`. Returns for each row of the result its sequence, and the number of the row.
///
/// How many there are is known only when the op runs, unless `rows` says it.
#[track_caller]
pub(super) fn sequence_ranges(
    starts: &Var,
    offsets: &Var,
    lengths: &Var,
    limits: &Var,
    rows: Option<Dim>,
) -> Result<(Var, Var)> {
    let mut outputs = bind(SequenceRanges { rows }, &[starts, offsets, lengths, limits])?;
    match (outputs.pop(), outputs.pop()) {
        (Some(index), Some(ids)) => Ok((ids, index)),
        _ => Err(Error::internal("`sequence_ranges` has two outputs")),
    }
}

attributes! {
    /// The numbers of rows in ranges of sequences, and the sequence of each.
    pub struct SequenceRanges = "sequence_ranges" {
        /// The number of rows of all ranges, if it is known before.
        pub rows: Option<Dim>,
    }
}

impl Op for SequenceRanges {
    fn arity(&self) -> Arity {
        Arity::Exactly(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        for ty in inputs {
            is_lengths(ty)?;
            if ty.dims() != inputs[0].dims() {
                return Err(Error::shape(format!(
                    "there is one range for each sequence, but {ty} stands beside {}",
                    inputs[0]
                )));
            }
        }
        let out = inputs[0].with_dims(&[self.rows.unwrap_or(Dim::fresh(0))])?;
        Ok(smallvec![out, out])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let column = |i: usize| inputs[i].tensor()?.to_vec::<i64>();
        let (starts, offsets, lengths, limits) = (column(0)?, column(1)?, column(2)?, column(3)?);
        let (mut ids, mut index) = (Vec::new(), Vec::new());
        for (i, &start) in starts.iter().enumerate() {
            let (offset, length, limit) = (offsets[i], lengths[i], limits[i]);
            let fits = offset >= 0
                && length >= 0
                && offset.checked_add(length).is_some_and(|end| end <= limit);
            if !fits {
                return Err(Error::argument(format!(
                    "sequence {i} has {limit} rows; {length} from row {offset} on are not in it"
                ))
                .remedy("offsets and lengths are zero or more, and end within their sequence"));
            }
            let first = start + offset;
            index.extend(first..first + length);
            ids.resize(index.len(), i as i64);
        }
        if let Some(rows) = outs[0].dim(0).value().filter(|&rows| rows != index.len()) {
            return Err(Error::argument(format!(
                "the lengths add up to {}, but there are {rows} rows",
                index.len()
            )));
        }
        let rows = index.len();
        Ok(smallvec![
            Tensor::from_vec(ids, &[rows])?.into(),
            Tensor::from_vec(index, &[rows])?.into()
        ])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn positions(&self, inputs: &[&Type]) -> Option<(usize, Dim)> {
        Some((0, inputs[0].dim(0)))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("numbers of rows are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(SequenceRanges::NAME, SequenceRanges::build, || {
    let of = |rows: Option<usize>| SequenceRanges { rows: rows.map(Dim::size) };
    let column = |x: &[i64]| i64s(x, &[x.len()]);
    let starts = column(&[0, 3, 3]);
    let limits = column(&[3, 0, 2]);
    let with = |rows, offsets: &[i64], lengths: &[i64]| {
        let inputs = [starts.clone(), column(offsets), column(lengths), limits.clone()];
        Sample::new(of(rows), inputs)
    };
    vec![
        with(None, &[1, 0, 0], &[2, 0, 1]).gives([column(&[0, 0, 2]), column(&[1, 2, 3])]),
        with(Some(1), &[0, 0, 1], &[0, 0, 1]).gives([column(&[2]), column(&[4])]),
        with(None, &[0, 0, 1], &[1, 0, 2]).refused("sequence 2 has 2 rows; 2 from row 1 on"),
        with(None, &[-1, 0, 0], &[1, 0, 2]).refused("3 rows; 1 from row -1 on"),
        with(Some(2), &[0, 0, 0], &[1, 0, 0]).refused("add up to 1, but there are 2 rows"),
        with(None, &[0, 0], &[1, 0, 0]).refused("one range for each sequence"),
    ]
});
