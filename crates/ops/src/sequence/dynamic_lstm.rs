//! `dynamic_lstm` and `dynamic_lstmp`: long short-term memories along sequences.

use super::gates::{GateActivation, first_state, part};
use super::sequence_steps::sequence_scan;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{clip, matmul, reshape};

options! {
    /// The form of a long short-term memory over sequences.
    pub struct DynamicLstmOptions {
        /// Whether the gates see the cell, by further weights behind the biases.
        pub peepholes: bool = true,
        /// Whether each sequence is gone through from its last row to its first.
        pub reverse: bool = false,
        /// What the gates apply.
        pub gate_activation: GateActivation = GateActivation::Sigmoid,
        /// What is applied to the cell.
        pub cell_activation: GateActivation = GateActivation::Tanh,
        /// What is applied to the candidate of the cell.
        pub candidate_activation: GateActivation = GateActivation::Tanh,
        /// What is applied to the projection; for `dynamic_lstmp` only.
        pub proj_activation: GateActivation = GateActivation::Tanh,
        /// The limit of the cell's elements, on both sides of zero.
        pub cell_clip: Option<f64> = None,
        /// The limit of the projection's elements; for `dynamic_lstmp` only.
        pub proj_clip: Option<f64> = None,
    }
}

/// A long short-term memory along each sequence. `x`, `[rows, 4 width]`, holds the inputs' share of the gates,
/// which are candidate, input, forget and output; `weight`, `[width, 4 width]`, makes that of the last output.
/// `bias` has `4 width` elements, and `3 width` more with peepholes: those of the input, forget and output gate.
/// `h0` and `c0`, `[sequences, width]`, are zero if not given. Returns outputs and cells, `[rows, width]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[0.0; 8], &[2, 4])?, Var::of(&[2i64], &[1])?);
/// let (weight, c0) = (Var::of(&[0.0; 4], &[1, 4])?, Var::of(&[4.0], &[1, 1])?);
/// let options = DynamicLstmOptions::default().peepholes(false);
/// let (_, cells) = dynamic_lstm(&x, &lengths, &weight, None, None, Some(&c0), options)?;
/// assert_eq!(cells.to_vec::<f64>()?, [2.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dynamic_lstm(
    x: &Var,
    lengths: &Var,
    weight: &Var,
    bias: Option<&Var>,
    h0: Option<&Var>,
    c0: Option<&Var>,
    options: DynamicLstmOptions,
) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    Memory { name: "dynamic_lstm", x, lengths, weight, projection: None, bias, options }.run(h0, c0)
}

/// [`dynamic_lstm`] whose output is projected: what goes into the next step, and out, is the activation of
/// `h * projection`, with `projection` `[width, narrow]`, `weight` `[narrow, 4 width]` and `h0`
/// `[sequences, narrow]`. Returns projections and cells.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[0.0; 8], &[2, 4])?, Var::of(&[2i64], &[1])?);
/// let (weight, narrow) = (Var::of(&[0.0; 8], &[2, 4])?, Var::of(&[1.0, 2.0], &[1, 2])?);
/// let options = DynamicLstmOptions::default().peepholes(false);
/// let (out, _) = dynamic_lstmp(&x, &lengths, &weight, &narrow, None, None, None, options)?;
/// assert_eq!(out.ty().to_string(), "f64[2, 2]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub fn dynamic_lstmp(
    x: &Var,
    lengths: &Var,
    weight: &Var,
    projection: &Var,
    bias: Option<&Var>,
    h0: Option<&Var>,
    c0: Option<&Var>,
    options: DynamicLstmOptions,
) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let projection = Some(projection);
    Memory { name: "dynamic_lstmp", x, lengths, weight, projection, bias, options }.run(h0, c0)
}

struct Memory<'a> {
    name: &'static str,
    x: &'a Var,
    lengths: &'a Var,
    weight: &'a Var,
    projection: Option<&'a Var>,
    bias: Option<&'a Var>,
    options: DynamicLstmOptions,
}

impl Memory<'_> {
    fn run(&self, h0: Option<&Var>, c0: Option<&Var>) -> Result<(Var, Var)> {
        let (width, out) = self.check()?;
        let sequences = self.lengths.ty().dim(0);
        let dtype = self.x.dtype().promote(self.weight.dtype());
        let h0 = first_state(self.name, h0, sequences, out, dtype)?;
        let c0 = first_state(self.name, c0, sequences, width, dtype)?;
        let n_bias = Dim::size(if self.options.peepholes { 7 } else { 4 });
        let bias = self.bias.map(|bias| reshape(bias, &[width.mul(n_bias)?])).transpose()?;
        let x = match &bias {
            Some(bias) => add(self.x, &part(bias, 0, width.mul(Dim::size(4))?)?)?,
            None => self.x.clone(),
        };
        let peepholes = match bias.filter(|_| self.options.peepholes) {
            Some(bias) => {
                Some([part(&bias, 4, width)?, part(&bias, 5, width)?, part(&bias, 6, width)?])
            }
            None => None,
        };
        let (_, mut outs) = sequence_scan(
            &[&h0, &c0],
            &[&x],
            self.lengths,
            self.options.reverse,
            |carried, slices| {
                let next = self.step(&slices[0], &carried[0], &carried[1], &peepholes, width)?;
                Ok((next.to_vec(), next.to_vec()))
            },
        )?;
        match (outs.pop(), outs.pop()) {
            (Some(cells), Some(outs)) => Ok((outs, cells)),
            _ => Err(Error::internal("a step gives its output and its cell")),
        }
    }

    fn step(
        &self,
        x: &Var,
        h: &Var,
        c: &Var,
        peepholes: &Option<[Var; 3]>,
        width: Dim,
    ) -> Result<[Var; 2]> {
        let options = &self.options;
        let sums = add(x, &matmul(h, self.weight)?)?;
        let sum = |i: usize| part(&sums, i, width);
        let gate = |i: usize, cell: &Var| {
            let seen = match peepholes {
                Some(weights) => add(&sum(i)?, &mul(cell, &weights[i - 1])?)?,
                None => sum(i)?,
            };
            options.gate_activation.of(&seen)
        };
        let candidate = options.candidate_activation.of(&sum(0)?)?;
        let kept = mul(c, &gate(2, c)?)?;
        let mut cell = add(&mul(&candidate, &gate(1, c)?)?, &kept)?;
        if let Some(limit) = options.cell_clip {
            cell = clip(&cell, Some(-limit), Some(limit))?;
        }
        let mut out = mul(&gate(3, &cell)?, &options.cell_activation.of(&cell)?)?;
        if let Some(projection) = self.projection {
            out = options.proj_activation.of(&matmul(&out, projection)?)?;
            if let Some(limit) = options.proj_clip {
                out = clip(&out, Some(-limit), Some(limit))?;
            }
        }
        Ok([out, cell])
    }

    /// Refuses what does not fit together; says how wide the cell is, and the output.
    #[track_caller]
    fn check(&self) -> Result<(Dim, Dim)> {
        let mut all = vec![self.x, self.weight];
        all.extend(self.projection);
        all.extend(self.bias);
        judged(self.name, &all, |types| {
            let (x, weight) = (&types[0], &types[1]);
            let (&[_, gates], &[out, columns]) = (x.dims(), weight.dims()) else {
                return Err(Error::shape("expected rows [rows, 4 width] and a matrix of weights"));
            };
            let width = gates.floor_div(Dim::size(4))?;
            if width.mul(Dim::size(4))? != gates || columns != gates || !x.is_float() {
                return Err(Error::shape(format!(
                    "the rows are {x} and the weights {weight}, but both have 4 times the width \
                     of the cell on their last axis"
                )));
            }
            if let Some(projection) = self.projection.and(types.get(2))
                && projection.dims() != [width, out]
            {
                return Err(Error::shape(format!(
                    "the projection is {projection}, but should be [{width}, {out}]"
                )));
            }
            if self.projection.is_none() && out != width {
                return Err(Error::shape(format!(
                    "the weights are {weight}, but should be [{width}, {gates}]"
                )));
            }
            let n_bias = if self.options.peepholes { 7 } else { 4 };
            let wanted = width.mul(Dim::size(n_bias))?;
            match self.bias.and(types.last()) {
                Some(bias) if count_of(bias.dims()) != Some(wanted) => Err(Error::shape(format!(
                    "the bias is {bias}, but should have {wanted} elements"
                ))
                .remedy("with peepholes it has 7 times the width, without 4 times")),
                _ => Ok((width, out)),
            }
        })
    }
}
