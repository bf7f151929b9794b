//! `ctc_greedy_decoder`: labels from scores over time, by the greatest score of each step.

use super::rows::Rows;
use super::sequence_erase::kept;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{argmax, eq, gather, iota, logical_and, logical_or, maximum, ne};

/// For each sequence the classes with the greatest scores, `[rows, classes]`, with repeats merged and then
/// the class `blank` taken out: rows and lengths.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let scores = Var::of(&[0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0], &[4, 2])?;
/// let (labels, lengths) = ctc_greedy_decoder(&scores, &Var::of(&[4i64], &[1])?, 0)?;
/// assert_eq!(labels.to_vec::<i64>()?, [1, 1]);
/// assert_eq!(lengths.to_vec::<i64>()?, [2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ctc_greedy_decoder(x: &Var, lengths: &Var, blank: i64) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let name = "ctc_greedy_decoder";
    judged(name, &[x], |types| match types[0].rank() {
        2 => Ok(()),
        _ => Err(Error::shape(format!("expected scores [rows, classes], found {}", types[0]))),
    })?;
    let rows = Rows::of(name, x, lengths)?;
    let classes = argmax(x, 1, false)?;
    let before = maximum(&(iota(rows.count, DType::I64)? - Var::scalar(1i64)), &Var::scalar(0i64))?;
    let is_first = eq(&rows.positions, &Var::scalar(0i64))?;
    let is_new = logical_or(&is_first, &ne(&classes, &gather(&classes, &before, 0)?)?)?;
    let keep = logical_and(&is_new, &ne(&classes, &Var::scalar(blank))?)?;
    kept(name, &classes, lengths, &keep)
}
