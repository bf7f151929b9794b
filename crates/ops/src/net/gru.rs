//! `gru`: a network of gated recurrent units.

use super::cells::Cell;
use super::rnn::RnnOptions;
use crate::prelude::*;

/// [`rnn`](super::rnn()) with [`gru_cell`](super::gru_cell) as its step: `w_ih` is `[3 hidden, in]` and
/// `w_hh` is `[3 hidden, hidden]`, the gates being reset, update and new. Returns the outputs and the last
/// states.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2, 1])?;
/// let zero = Var::of(&[0.0; 3], &[3, 1])?;
/// let h0 = Var::of(&[4.0], &[1, 1])?;
/// let options = RnnOptions::default().bias(false);
/// let (out, _) = gru(&x, Some(&h0), &[&zero, &zero], None, options)?;
/// assert_eq!(out.to_vec::<f64>()?, [2.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gru(
    x: &Var,
    h0: Option<&Var>,
    weights: &[&Var],
    lengths: Option<&Var>,
    options: RnnOptions,
) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let precision = autocast::low();
    let x = &precision.of(x)?;
    let h0 = precision.maybe(h0)?;
    let h0 = h0.as_ref();
    let weights = precision.all(weights)?;
    let weights = &weights.iter().collect::<Vec<_>>()[..];
    let mut found = options.network("gru", Cell::Gru, weights, lengths).run(x, &[h0])?;
    Ok((found.out, found.states.remove(0)))
}
