//! `dynamic_gru` and `gru_unit`: gated recurrent units, along sequences and for one step.

use super::gates::{GateActivation, first_state, part};
use super::sequence_steps::sequence_scan;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{concat, matmul, narrow, reshape};

options! {
    /// The form of a gated recurrent unit over sequences.
    pub struct DynamicGruOptions {
        /// Whether each sequence is gone through from its last row to its first.
        pub reverse: bool = false,
        /// What the gates apply.
        pub gate_activation: GateActivation = GateActivation::Sigmoid,
        /// What is applied to the candidate.
        pub candidate_activation: GateActivation = GateActivation::Tanh,
        /// Whether the update gate says how much of the old state stays, as in the first paper, and not how much
        /// of the candidate comes in.
        pub origin_mode: bool = false,
    }
}

/// A gated recurrent unit along each sequence. `x`, `[rows, 3 width]`, holds the inputs' share of update gate,
/// reset gate and candidate. Of the elements of `weight`, `[width, 3 width]`, the first `2 width * width` are the
/// matrix `[width, 2 width]` of the gates, and the others that of the candidate, `[width, width]`, as in Fluid's files.
/// `bias` has `3 width` elements; `h0`, `[sequences, width]`, is zero if not given. Returns `[rows, width]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[0.0; 6], &[2, 3])?, Var::of(&[2i64], &[1])?);
/// let (weight, h0) = (Var::of(&[0.0; 3], &[1, 3])?, Var::of(&[4.0], &[1, 1])?);
/// let out = dynamic_gru(&x, &lengths, &weight, None, Some(&h0), DynamicGruOptions::default())?;
/// assert_eq!(out.to_vec::<f64>()?, [2.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dynamic_gru(
    x: &Var,
    lengths: &Var,
    weight: &Var,
    bias: Option<&Var>,
    h0: Option<&Var>,
    options: DynamicGruOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let unit = Unit::of("dynamic_gru", x, weight, bias, &options)?;
    let x = unit.with_bias(x, bias)?;
    let dtype = x.dtype().promote(weight.dtype());
    let h0 = first_state("dynamic_gru", h0, lengths.ty().dim(0), unit.width, dtype)?;
    let (_, mut outs) =
        sequence_scan(&[&h0], &[&x], lengths, options.reverse, |carried, slices| {
            let (next, ..) = unit.step(&slices[0], &carried[0])?;
            Ok((vec![next.clone()], vec![next]))
        })?;
    outs.pop().ok_or_else(|| Error::internal("a step gives its output"))
}

/// One step of [`dynamic_gru`], on `x`, `[batch, 3 width]`, and `hidden`, `[batch, width]`. Returns the next
/// state, the state times the reset gate, and the gates with the candidate, `[batch, 3 width]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, hidden) = (Var::of(&[0.0; 3], &[1, 3])?, Var::of(&[4.0], &[1, 1])?);
/// let options = DynamicGruOptions::default();
/// let (next, reset, gates) = gru_unit(&x, &hidden, &Var::of(&[0.0; 3], &[1, 3])?, None, options)?;
/// assert_eq!(next.to_vec::<f64>()?, [2.0]);
/// assert_eq!(reset.to_vec::<f64>()?, [2.0]);
/// assert_eq!(gates.to_vec::<f64>()?, [0.5, 0.5, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gru_unit(
    x: &Var,
    hidden: &Var,
    weight: &Var,
    bias: Option<&Var>,
    options: DynamicGruOptions,
) -> Result<(Var, Var, Var)> {
    let _line = at(scope::user_line());
    let unit = Unit::of("gru_unit", x, weight, bias, &options)?;
    let batch = x.ty().dim(0);
    let hidden = first_state("gru_unit", Some(hidden), batch, unit.width, x.dtype())?;
    unit.step(&unit.with_bias(x, bias)?, &hidden)
}

struct Unit<'a> {
    width: Dim,
    gates: Var,
    candidate: Var,
    options: &'a DynamicGruOptions,
}

impl<'a> Unit<'a> {
    #[track_caller]
    fn of(
        name: &str,
        x: &Var,
        weight: &Var,
        bias: Option<&Var>,
        options: &'a DynamicGruOptions,
    ) -> Result<Unit<'a>> {
        let all: Vec<&Var> = [x, weight].into_iter().chain(bias).collect();
        let width = judged(name, &all, |types| {
            let (x, weight) = (&types[0], &types[1]);
            let &[_, gates] = x.dims() else {
                return Err(Error::shape(format!("expected rows [rows, 3 width], found {x}")));
            };
            let width = gates.floor_div(Dim::size(3))?;
            if width.mul(Dim::size(3))? != gates || weight.dims() != [width, gates] || !x.is_float()
            {
                return Err(Error::shape(format!(
                    "the rows are {x} and the weights {weight}, which should be [rows, 3 width] \
                     and [width, 3 width]"
                )));
            }
            match types.get(2) {
                Some(bias) if count_of(bias.dims()) != Some(gates) => Err(Error::shape(format!(
                    "the bias is {bias}, but should have {gates} elements"
                ))),
                _ => Ok(width),
            }
        })?;
        let square = width.mul(width)?;
        let twice = Dim::size(2).mul(square)?;
        let flat = reshape(weight, &[square.mul(Dim::size(3))?])?;
        let gates =
            reshape(&narrow(&flat, 0, Dim::size(0), twice)?, &[width, width.mul(Dim::size(2))?])?;
        let candidate = reshape(&narrow(&flat, 0, twice, square)?, &[width, width])?;
        Ok(Unit { width, gates, candidate, options })
    }

    #[track_caller]
    fn with_bias(&self, x: &Var, bias: Option<&Var>) -> Result<Var> {
        match bias {
            Some(bias) => add(x, &reshape(bias, &[self.width.mul(Dim::size(3))?])?),
            None => Ok(x.clone()),
        }
    }

    /// The next state, the state that the candidate sees, and the gates with the candidate.
    fn step(&self, x: &Var, h: &Var) -> Result<(Var, Var, Var)> {
        let two = self.width.mul(Dim::size(2))?;
        let sums = add(&narrow(x, -1, Dim::size(0), two)?, &matmul(h, &self.gates)?)?;
        let gates = self.options.gate_activation.of(&sums)?;
        let (update, reset) = (part(&gates, 0, self.width)?, part(&gates, 1, self.width)?);
        let seen = mul(&reset, h)?;
        let sums = add(&part(x, 2, self.width)?, &matmul(&seen, &self.candidate)?)?;
        let candidate = self.options.candidate_activation.of(&sums)?;
        let (new, old) = if self.options.origin_mode { (h, &candidate) } else { (&candidate, h) };
        let next = add(&mul(&update, new)?, &mul(&(1.0 - &update), old)?)?;
        Ok((next, seen, concat(&[&gates, &candidate], -1)?))
    }
}
