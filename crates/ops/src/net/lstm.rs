//! `lstm`: a network of long short-term memories.

use super::cells::Cell;
use super::rnn::RnnOptions;
use crate::prelude::*;

/// [`rnn`](super::rnn()) with [`lstm_cell`](super::lstm_cell) as its step: `w_ih` is `[4 hidden, in]` and
/// `w_hh` is `[4 hidden, hidden]`, the gates being input, forget, cell and output. Returns the outputs,
/// the last `h` and the last `c`.
///
/// With `projection`, a fifth weight `w_hr`, `[out, hidden]`, follows those of each layer and direction: outputs
/// and `h` are `out` wide, and `w_hh` is `[4 hidden, out]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2, 1])?;
/// let zero = Var::of(&[0.0; 4], &[4, 1])?;
/// let (h0, c0) = (Var::of(&[0.0], &[1, 1])?, Var::of(&[4.0], &[1, 1])?);
/// let options = RnnOptions::default().bias(false);
/// let (_, _, c) = lstm(&x, Some(&h0), Some(&c0), &[&zero, &zero], None, options)?;
/// assert_eq!(c.to_vec::<f64>()?, [1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lstm(
    x: &Var,
    h0: Option<&Var>,
    c0: Option<&Var>,
    weights: &[&Var],
    lengths: Option<&Var>,
    options: RnnOptions,
) -> Result<(Var, Var, Var)> {
    let _line = at(scope::user_line());
    let precision = autocast::low();
    let x = &precision.of(x)?;
    let h0 = precision.maybe(h0)?;
    let h0 = h0.as_ref();
    let c0 = precision.maybe(c0)?;
    let c0 = c0.as_ref();
    let weights = precision.all(weights)?;
    let weights = &weights.iter().collect::<Vec<_>>()[..];
    let mut found = options.network("lstm", Cell::Lstm, weights, lengths).run(x, &[h0, c0])?;
    let c = found.states.remove(1);
    Ok((found.out, found.states.remove(0), c))
}
