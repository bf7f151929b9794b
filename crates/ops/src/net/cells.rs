//! `rnn_cell`, `lstm_cell`, `gru_cell`: one step of a recurrent network.

use super::gru_update::gru_update;
use super::linear;
use super::lstm_update::lstm_update;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{relu, tanh};

choices! {
    /// What a plain recurrent network applies to its sums.
    pub enum Nonlinearity {
        /// The hyperbolic tangent.
        Tanh = "tanh",
        /// `max(x, 0)`.
        Relu = "relu",
    }
}

/// The kinds of recurrent networks. Each turns the gates' share of the input and its states into states.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Cell {
    Rnn(Nonlinearity),
    Lstm,
    Gru,
}

impl Cell {
    /// How many gates there are, whose weights lie one after the other.
    pub fn n_gates(self) -> usize {
        match self {
            Cell::Rnn(_) => 1,
            Cell::Lstm => 4,
            Cell::Gru => 3,
        }
    }

    /// How many states are carried on; the first is the output.
    pub fn n_states(self) -> usize {
        if self == Cell::Lstm { 2 } else { 1 }
    }

    /// The next states. `input` is the gates' share of the input, with its bias.
    pub fn step(
        self,
        input: &Var,
        states: &[Var],
        w_hh: &Var,
        b_hh: Option<&Var>,
    ) -> Result<Vec<Var>> {
        let h = &states[0];
        let recurrent = linear(h, w_hh, b_hh)?;
        match self {
            Cell::Rnn(Nonlinearity::Tanh) => Ok(vec![tanh(&add(input, &recurrent)?)?]),
            Cell::Rnn(Nonlinearity::Relu) => Ok(vec![relu(&add(input, &recurrent)?)?]),
            Cell::Lstm => {
                let (h, c) = lstm_update(&add(input, &recurrent)?, &states[1])?;
                Ok(vec![h, c])
            }
            Cell::Gru => Ok(vec![gru_update(input, &recurrent, h)?]),
        }
    }

    /// Refuses weights of one layer that do not fit an input of width `width`, states of width `hidden` and outputs
    /// of width `out`.
    pub fn check_weights(
        self,
        weights: &[Option<&Type>; 4],
        width: Dim,
        hidden: Dim,
        out: Dim,
    ) -> Result<()> {
        let rows = hidden.mul(Dim::size(self.n_gates()))?;
        let wanted: [(&str, &[Dim]); 4] = [
            ("w_ih", &[rows, width]),
            ("w_hh", &[rows, out]),
            ("b_ih", &[rows]),
            ("b_hh", &[rows]),
        ];
        for ((name, dims), found) in wanted.into_iter().zip(weights) {
            let Some(found) = found else { continue };
            if !found.is_float() || found.dims() != dims {
                let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
                return Err(Error::shape(format!(
                    "`{name}` is {found}, but should be [{}]",
                    dims.join(", ")
                ))
                .remedy("the gates of all outputs are stacked along axis 0, as in PyTorch"));
            }
        }
        Ok(())
    }
}

/// `tanh(w_ih x + b_ih + w_hh h + b_hh)`, or `relu` of it: the next state. `x` is `[.., in]`, `h` is
/// `[.., hidden]`, the weights are `[hidden, in]` and `[hidden, hidden]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, h, w) = (Var::of(&[1.0], &[1])?, Var::of(&[2.0], &[1])?, Var::of(&[1.0], &[1, 1])?);
/// let next = rnn_cell(&x, &h, &w, &w, None, None, Nonlinearity::Relu)?;
/// assert_eq!(next.to_vec::<f64>()?, [3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rnn_cell(
    x: &Var,
    h: &Var,
    w_ih: &Var,
    w_hh: &Var,
    b_ih: Option<&Var>,
    b_hh: Option<&Var>,
    nonlinearity: Nonlinearity,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let cell = Cell::Rnn(nonlinearity);
    Ok(one_step("rnn_cell", cell, x, &[h], w_ih, w_hh, b_ih, b_hh)?.remove(0))
}

/// One step of a long short-term memory: the next `h` and `c`. The gates of the weights, `[4 hidden, in]`
/// and `[4 hidden, hidden]`, are input, forget, cell and output.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, zero) = (Var::of(&[0.0], &[1])?, Var::of(&[0.0; 4], &[4, 1])?);
/// let c = Var::of(&[2.0], &[1])?;
/// let (_, next) = lstm_cell(&x, &x, &c, &zero, &zero, None, None)?;
/// assert_eq!(next.to_vec::<f64>()?, [1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lstm_cell(
    x: &Var,
    h: &Var,
    c: &Var,
    w_ih: &Var,
    w_hh: &Var,
    b_ih: Option<&Var>,
    b_hh: Option<&Var>,
) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let mut states = one_step("lstm_cell", Cell::Lstm, x, &[h, c], w_ih, w_hh, b_ih, b_hh)?;
    let c = states.remove(1);
    Ok((states.remove(0), c))
}

/// One step of a gated recurrent unit: the next `h`. The gates of the weights, `[3 hidden, in]` and
/// `[3 hidden, hidden]`, are reset, update and new.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, zero) = (Var::of(&[0.0], &[1])?, Var::of(&[0.0; 3], &[3, 1])?);
/// let h = Var::of(&[2.0], &[1])?;
/// assert_eq!(gru_cell(&x, &h, &zero, &zero, None, None)?.to_vec::<f64>()?, [1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gru_cell(
    x: &Var,
    h: &Var,
    w_ih: &Var,
    w_hh: &Var,
    b_ih: Option<&Var>,
    b_hh: Option<&Var>,
) -> Result<Var> {
    let _line = at(scope::user_line());
    Ok(one_step("gru_cell", Cell::Gru, x, &[h], w_ih, w_hh, b_ih, b_hh)?.remove(0))
}

#[track_caller]
#[allow(clippy::too_many_arguments)]
fn one_step(
    name: &str,
    cell: Cell,
    x: &Var,
    states: &[&Var],
    w_ih: &Var,
    w_hh: &Var,
    b_ih: Option<&Var>,
    b_hh: Option<&Var>,
) -> Result<Vec<Var>> {
    let all: Vec<&Var> =
        [x].into_iter().chain(states.iter().copied()).chain([w_ih, w_hh]).collect();
    judged(name, &all, |ty| {
        let (x, h) = (ty[0], ty[1]);
        if x.rank() == 0 || ty[1..=states.len()].iter().any(|state| state.rank() != x.rank()) {
            return Err(Error::shape("input and states are [.., width]"));
        }
        let last = x.rank() - 1;
        if let Some(other) = ty[1..=states.len()].iter().find(|state| {
            state.dims()[..last] != x.dims()[..last] || state.dim(last) != h.dim(last)
        }) {
            return Err(Error::shape(format!("the state {other} does not fit the input {x}")));
        }
        let (own, recurrent) = (&ty[states.len() + 1], &ty[states.len() + 2]);
        let biases = [b_ih, b_hh].map(|bias| bias.map(Var::ty));
        let weights = [Some(own), Some(recurrent), biases[0].as_ref(), biases[1].as_ref()];
        cell.check_weights(&weights, x.dim(last), h.dim(last), h.dim(last))
    })?;
    let states: Vec<Var> = states.iter().map(|&state| state.clone()).collect();
    cell.step(&linear(x, w_ih, b_ih)?, &states, w_hh, b_hh)
}
