//! `sequence_pool`: each sequence as one row.

use super::rows::{Rows, beside, with_row};
use super::sequence_argmax::sequence_argmax;
use crate::prelude::*;
use crate::{gather, index_add, maximum, sqrt, take_along_axis, where_};

choices! {
    /// What becomes of the rows of a sequence.
    pub enum SequencePooling {
        /// Their sum.
        Sum = "sum",
        /// Their mean.
        Average = "average",
        /// Their sum, divided by the square root of their number.
        Sqrt = "sqrt",
        /// The greatest elements.
        Max = "max",
        /// The least elements.
        Min = "min",
        /// The first row.
        First = "first",
        /// The last row.
        Last = "last",
    }
}

options! {
    /// How sequences are pooled.
    pub struct SequencePoolOptions {
        /// What becomes of the rows of a sequence.
        pub pool: SequencePooling = SequencePooling::Sum,
        /// What a sequence without rows gives.
        pub pad_value: Number = Number::Float(0.0),
    }
}

/// One row for each sequence. `x` is `[rows, ..]`, the rows of all sequences one after another; `lengths`,
/// `i64[sequences]`, says how many each has. The gradient of a greatest element goes to the first row that
/// has it.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0], &[3])?;
/// let lengths = Var::of(&[2i64, 0, 1], &[3])?;
/// let options = SequencePoolOptions::default().pool(SequencePooling::Average);
/// assert_eq!(sequence_pool(&x, &lengths, options)?.to_vec::<f64>()?, [2.0, 0.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_pool(x: &Var, lengths: &Var, options: SequencePoolOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    let rows = Rows::of("sequence_pool", x, lengths)?;
    let SequencePoolOptions { pool, pad_value } = options;
    match pool {
        SequencePooling::First => {
            gather(&with_row(x, pad_value)?, &rows.or_behind(&rows.starts)?, 0)
        }
        SequencePooling::Last => {
            let last = &rows.starts + lengths - Var::scalar(1i64);
            gather(&with_row(x, pad_value)?, &rows.or_behind(&last)?, 0)
        }
        SequencePooling::Max | SequencePooling::Min => {
            let index = sequence_argmax(x, lengths, pool == SequencePooling::Min)?;
            take_along_axis(&with_row(x, pad_value)?, &index, 0)
        }
        _ => {
            let sums = index_add(x, &rows.ids, 0, rows.sequences)?;
            let counts = maximum(lengths, &Var::scalar(1i64))?;
            let float = if x.dtype().is_float() { x.dtype() } else { DType::F32 };
            let counts = || beside(&cast(&counts, float)?, x);
            let pooled = match pool {
                SequencePooling::Average => div(&sums, &counts()?)?,
                SequencePooling::Sqrt => div(&sums, &sqrt(&counts()?)?)?,
                _ => sums,
            };
            match pad_value.is_exact() && pad_value.to_f64() == 0.0 {
                true => Ok(pooled),
                false => {
                    let pad = fill(pad_value, &Type::scalar(pooled.dtype()))?;
                    where_(&beside(&rows.is_empty()?, x)?, &pad, &pooled)
                }
            }
        }
    }
}
