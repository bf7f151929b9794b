//! `rnn`: a plain recurrent network.

use super::cells::{Cell, Nonlinearity};
use super::recurrent::Network;
use crate::prelude::*;

options! {
    /// The form of a recurrent network.
    pub struct RnnOptions {
        /// How many layers are stacked.
        pub layers: usize = 1,
        /// Whether each layer also goes through the sequence backwards.
        pub bidirectional: bool = false,
        /// Whether there are biases among the weights.
        pub bias: bool = true,
        /// Whether the batch is the first axis of input and output.
        pub batch_first: bool = false,
        /// What is applied to the sums; for `rnn` only.
        pub nonlinearity: Nonlinearity = Nonlinearity::Tanh,
        /// The probability that an element is dropped between layers.
        pub dropout: f64 = 0.0,
        /// Whether each layer and direction has a last weight `w_hr`, by which its state becomes its output; for
        /// `lstm` only.
        pub projection: bool = false,
    }
}

impl RnnOptions {
    /// The network with these options.
    pub(super) fn network<'a>(
        &self,
        name: &'static str,
        cell: Cell,
        weights: &'a [&'a Var],
        lengths: Option<&'a Var>,
    ) -> Network<'a> {
        Network {
            name,
            cell,
            layers: self.layers,
            bidirectional: self.bidirectional,
            bias: self.bias,
            batch_first: self.batch_first,
            dropout: self.dropout,
            projection: self.projection,
            weights,
            lengths,
        }
    }
}

/// A recurrent network: each state is [`rnn_cell`](super::rnn_cell) of the one before and one step of `x`,
/// which is `[steps, batch, in]`, or `[steps, in]`. Returns the states of the last layer at all steps,
/// `[steps, batch, directions * hidden]`, and the last states, `[layers * directions, batch, hidden]`.
/// The first states `h0` are zero if not given.
///
/// `weights` are, for each layer and in it each direction, w_ih, w_hh, b_ih, b_hh, as in PyTorch. In a
/// program the steps are one loop, also for a symbolic number of them.
///
/// `lengths`, `i64[batch]`, are those of sequences that end earlier: their later steps leave the state
/// unchanged and give zeros, as PyTorch's packed sequences do.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3, 1])?;
/// let w = Var::of(&[1.0], &[1, 1])?;
/// let options = RnnOptions::default().bias(false).nonlinearity(Nonlinearity::Relu);
/// let (out, last) = rnn(&x, None, &[&w, &w], None, options)?;
/// assert_eq!(out.to_vec::<f64>()?, [1.0, 3.0, 6.0]);
/// assert_eq!(last.to_vec::<f64>()?, [6.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rnn(
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
    let cell = Cell::Rnn(options.nonlinearity);
    let mut found = options.network("rnn", cell, weights, lengths).run(x, &[h0])?;
    Ok((found.out, found.states.remove(0)))
}
