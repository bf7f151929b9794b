//! [`Ragged`]: sequences of different lengths, as a struct of values.

use fluvial_core::{Error, Result, Var, at, scope};
use fluvial_ops::{
    SequencePoolOptions, SequencePooling, concat, gather, sequence_concat, sequence_expand_as,
    sequence_lengths, sequence_offsets, sequence_pad, sequence_pool, sequence_reverse,
    sequence_scan, sequence_softmax, sequence_take, sequence_unpad,
};

/// Sequences of different lengths: the rows of all of them, one after another, and how many each has. With
/// several levels a sequence consists of sequences.
///
/// A plain struct of values: functions, blocks, loops, gradients, programs and files know its parts. Lengths are
/// checked where they are used, in both modes.
///
/// ```
/// use fluvial::prelude::*;
///
/// let rows = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let ragged = Ragged::from_lengths(&rows, &[&Var::of(&[2i64, 1], &[2])?])?;
/// assert_eq!(ragged.map(|rows| Ok(rows * 2.0))?.row(0)?.to_vec::<f64>()?, [2.0, 4.0]);
/// assert_eq!(ragged.padded(None)?.to_vec::<f64>()?, [1.0, 2.0, 3.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ragged {
    /// The rows of all sequences, `[rows, ..]`.
    pub data: Var,
    /// For each level, the outermost first, how many parts each sequence has: parts of the next level, or rows.
    pub lengths: Vec<Var>,
}

impl Ragged {
    /// Sequences by the lengths of each level, the outermost first.
    #[track_caller]
    pub fn from_lengths(data: &Var, lengths: &[&Var]) -> Result<Ragged> {
        let loc = scope::user_line();
        if lengths.is_empty() {
            return Err(Error::argument("sequences without lengths")
                .remedy("give the lengths of at least one level")
                .at(loc));
        }
        let lengths = lengths.iter().map(|&level| level.clone().check());
        let (data, lengths) = (data.clone().check()?, lengths.collect::<Result<_>>()?);
        Ok(Ragged { data, lengths })
    }

    /// Sequences by the offsets of each level: where each begins, and where the last one ends.
    #[track_caller]
    pub fn from_offsets(data: &Var, offsets: &[&Var]) -> Result<Ragged> {
        let _line = at(scope::user_line());
        let lengths = offsets.iter().map(|level| sequence_lengths(level));
        let lengths = lengths.collect::<Result<Vec<_>>>()?;
        Ragged::from_lengths(data, &lengths.iter().collect::<Vec<_>>())
    }

    /// Sequences of one level from tensors of their rows.
    #[track_caller]
    pub fn from_rows(rows: &[&Var]) -> Result<Ragged> {
        let _line = at(scope::user_line());
        let size = |row: &&Var| fluvial_ops::dim_size(row.ty().dim(0), fluvial_core::DType::I64);
        if let Some(row) = rows.iter().find(|row| row.ty().rank() == 0) {
            return Err(Error::shape(format!("{} has no rows", row.ty())));
        }
        let lengths = rows.iter().map(size).collect::<Result<Vec<_>>>()?;
        let lengths = fluvial_ops::stack(&lengths.iter().collect::<Vec<_>>(), 0)?;
        Ragged::from_lengths(&concat(rows, 0)?, &[&lengths])
    }

    /// The beginnings of sequences that stand beside each other, `[sequences, steps, ..]`.
    #[track_caller]
    pub fn from_padded(x: &Var, lengths: &Var) -> Result<Ragged> {
        Ragged::from_lengths(&sequence_unpad(x, lengths)?, &[lengths])
    }

    /// The innermost lengths, which count rows.
    fn innermost(&self) -> &Var {
        self.lengths.last().unwrap_or(&self.data)
    }

    /// The same sequences with other rows, equally many.
    #[must_use]
    pub fn with(&self, data: Var) -> Ragged {
        Ragged { data, lengths: self.lengths.clone() }
    }

    /// The sequences with what a function makes of all their rows.
    #[track_caller]
    pub fn map(&self, function: impl FnOnce(&Var) -> Result<Var>) -> Result<Ragged> {
        let rows = function(&self.data)?.check()?;
        let (old, new) = (self.data.ty(), rows.ty());
        match new.rank() > 0 && new.dim(0) == old.dim(0) {
            true => Ok(self.with(rows)),
            false => Err(Error::shape(format!("the function gave {new} for {old}"))
                .remedy("it has to give one row for each")),
        }
    }

    /// Where each sequence of the outermost level begins, and where the last one ends.
    #[track_caller]
    pub fn offsets(&self) -> Result<Var> {
        sequence_offsets(&self.lengths[0])
    }

    /// The rows of sequence `i`, which may be negative, of the outermost level. Of several levels, the rows of
    /// all its parts.
    #[track_caller]
    pub fn row(&self, i: i64) -> Result<Var> {
        let _line = at(scope::user_line());
        Ok(self.take(&Var::of(&[i], &[1])?)?.data)
    }

    /// The sequences of the outermost level with these numbers, in this order.
    #[track_caller]
    pub fn take(&self, index: &Var) -> Result<Ragged> {
        let _line = at(scope::user_line());
        let mut lengths = vec![gather(&self.lengths[0], index, 0)?];
        let mut group = self.lengths[0].clone();
        for level in &self.lengths[1..] {
            lengths.push(sequence_take(level, &group, index)?.0);
            group = sequence_pool(level, &group, SequencePoolOptions::default())?;
        }
        Ok(Ragged { data: sequence_take(&self.data, &group, index)?.0, lengths })
    }

    /// The sequences of the innermost level beside each other, filled up with `value`, zero if not given.
    #[track_caller]
    pub fn padded(&self, value: Option<&Var>) -> Result<Var> {
        sequence_pad(&self.data, self.innermost(), value, None)
    }

    /// One row for each sequence of the innermost level.
    #[track_caller]
    pub fn pool(&self, pool: SequencePooling) -> Result<Var> {
        let options = SequencePoolOptions::default().pool(pool);
        sequence_pool(&self.data, self.innermost(), options)
    }

    /// The softmax over the rows of each sequence of the innermost level.
    #[track_caller]
    pub fn softmax(&self) -> Result<Ragged> {
        Ok(self.with(sequence_softmax(&self.data, self.innermost())?))
    }

    /// The rows of each sequence of the innermost level in reverse order.
    #[track_caller]
    pub fn reverse(&self) -> Result<Ragged> {
        Ok(self.with(sequence_reverse(&self.data, self.innermost())?))
    }

    /// A value with a row for each sequence of the innermost level, repeated along it.
    #[track_caller]
    pub fn expand(&self, x: &Var) -> Result<Ragged> {
        Ok(self.with(sequence_expand_as(x, &self.data, self.innermost())?))
    }

    /// Sequences of one level with the same number, joined.
    #[track_caller]
    pub fn join(parts: &[&Ragged]) -> Result<Ragged> {
        let _line = at(scope::user_line());
        let data: Vec<&Var> = parts.iter().map(|part| &part.data).collect();
        let lengths: Vec<&Var> = parts.iter().map(|part| part.innermost()).collect();
        let (data, lengths) = sequence_concat(&data, &lengths)?;
        Ragged::from_lengths(&data, &[&lengths])
    }

    /// Goes through the steps of all sequences of the innermost level at once: see
    /// [`sequence_scan`](fluvial_ops::sequence_scan). Returns the last carried values, and the results.
    #[track_caller]
    pub fn scan(
        &self,
        init: &[&Var],
        reverse: bool,
        step: impl Fn(&[Var], &Var) -> Result<(Vec<Var>, Vec<Var>)>,
    ) -> Result<(Vec<Var>, Vec<Ragged>)> {
        let lengths = self.innermost();
        let (last, outs) =
            sequence_scan(init, &[&self.data], lengths, reverse, |carried, rows| {
                step(carried, &rows[0])
            })?;
        Ok((last, outs.into_iter().map(|out| self.with(out)).collect()))
    }
}
