//! What recurrent networks share: layers, directions and lengths around one loop over the steps.

use super::cells::Cell;
use super::linear;
use crate::control::scan;
use crate::prelude::*;
use crate::random::dropout;
use crate::shape::{concat, dim_size, narrow, permute, reshape, slice};
use crate::{gather, iota, lt, where_};

/// A recurrent network of several layers and directions.
pub(super) struct Network<'a> {
    pub name: &'static str,
    pub cell: Cell,
    pub layers: usize,
    pub bidirectional: bool,
    pub bias: bool,
    pub batch_first: bool,
    pub dropout: f64,
    pub projection: bool,
    pub weights: &'a [&'a Var],
    pub lengths: Option<&'a Var>,
}

/// The outputs of the last layer, and the last states of all layers and directions.
pub(super) struct Outcome {
    pub out: Var,
    pub states: Vec<Var>,
}

impl Network<'_> {
    /// Runs the network on `x`, from the states `init`, which are zero where not given.
    pub fn run(&self, x: &Var, init: &[Option<&Var>]) -> Result<Outcome> {
        let loc = scope::user_line();
        let ty = x.clone().check()?.ty();
        let widths =
            self.check(&ty, init).map_err(|error| error.in_op(self.name, &[&ty]).at(loc))?;
        let is_single = ty.rank() == 2;
        let mut sequence = match (is_single, self.batch_first) {
            (true, _) => reshape(x, &[ty.dim(0), Dim::size(1), ty.dim(1)])?,
            (false, true) => permute(x, &[1, 0, 2])?,
            (false, false) => x.clone(),
        };
        let batch = sequence.ty().dim(1);
        let mut last: Vec<Vec<Var>> = vec![Vec::new(); self.cell.n_states()];
        for layer in 0..self.layers {
            let mut outs = Vec::new();
            for direction in 0..self.directions() {
                let unit = layer * self.directions() + direction;
                let states = self.first_states(init, unit, batch, &widths, &sequence)?;
                let (out, states) = self.unit(&sequence, unit, direction == 1, &states)?;
                outs.push(out);
                last.iter_mut().zip(states).for_each(|(all, state)| all.push(state));
            }
            sequence = match outs.len() {
                1 => outs.remove(0),
                _ => concat(&outs.iter().collect::<Vec<_>>(), -1)?,
            };
            if self.dropout > 0.0 && layer + 1 < self.layers {
                sequence = dropout(&sequence, self.dropout)?;
            }
        }
        let width = sequence.ty().dim(2);
        let out = match (is_single, self.batch_first) {
            (true, _) => reshape(&sequence, &[ty.dim(0), width])?,
            (false, true) => permute(&sequence, &[1, 0, 2])?,
            (false, false) => sequence,
        };
        let units = Dim::size(self.layers * self.directions());
        let joined = |(states, &width): (Vec<Var>, &Dim)| {
            let all = concat(&states.iter().collect::<Vec<_>>(), 0)?;
            match is_single {
                true => reshape(&all, &[units, width]),
                false => reshape(&all, &[units, batch, width]),
            }
        };
        let states = last.into_iter().zip(&widths).map(joined).collect::<Result<_>>()?;
        Ok(Outcome { out, states })
    }

    fn directions(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }

    /// How many weights a layer and direction has.
    fn n_weights(&self) -> usize {
        (if self.bias { 4 } else { 2 }) + usize::from(self.projection)
    }

    /// The weights of a layer and direction: w_ih, w_hh, b_ih, b_hh.
    fn weights_of(&self, unit: usize) -> [Option<&Var>; 4] {
        let count = if self.bias { 4 } else { 2 };
        let first = unit * self.n_weights();
        let own = |i: usize| self.weights.get(first + i).copied().filter(|_| i < count);
        [own(0), own(1), own(2), own(3)]
    }

    /// The weight by which the state of a layer and direction becomes its output.
    fn projection_of(&self, unit: usize) -> Option<&Var> {
        let last = (unit + 1) * self.n_weights() - 1;
        self.weights.get(last).copied().filter(|_| self.projection)
    }

    /// The states before the first step.
    fn first_states(
        &self,
        init: &[Option<&Var>],
        unit: usize,
        batch: Dim,
        widths: &[Dim],
        sequence: &Var,
    ) -> Result<Vec<Var>> {
        let weight = self.weights.first().map_or(DType::F32, |weight| weight.dtype());
        let dtype = sequence.dtype().promote(weight);
        let state = |(given, &width): (&Option<&Var>, &Dim)| match given {
            Some(all) => {
                let own = narrow(all, 0, Dim::size(unit), Dim::size(1))?;
                let own = reshape(&own, &[batch, width])?;
                if own.dtype() == dtype { Ok(own) } else { cast(&own, dtype) }
            }
            None => fill(0.0, &Type::new(dtype, &[batch, width])?),
        };
        init.iter().zip(widths).map(state).collect()
    }

    /// One layer in one direction: its outputs and its last states.
    fn unit(
        &self,
        sequence: &Var,
        unit: usize,
        backwards: bool,
        states: &[Var],
    ) -> Result<(Var, Vec<Var>)> {
        let [Some(w_ih), Some(w_hh), b_ih, b_hh] = self.weights_of(unit) else {
            return Err(Error::internal("the weights have been counted"));
        };
        // The inputs' share of all steps is one product; only the states' share is in the loop.
        let mut shares = linear(sequence, w_ih, b_ih)?;
        if backwards {
            shares = reversed(&shares)?;
        }
        let mut carried: Vec<&Var> = states.iter().collect();
        let (first, step) = match backwards {
            false => (Var::scalar(0i64), 1),
            true => (dim_size(sequence.ty().dim(0), DType::I64)? - Var::scalar(1i64), -1),
        };
        if self.lengths.is_some() {
            carried.push(&first);
        }
        let (mut last, outs) = scan(&carried, &[&shares], |carried, slices| {
            let n_states = self.cell.n_states();
            let states = &carried[..n_states];
            let mut next = self.cell.step(&slices[0], states, w_hh, b_hh)?;
            if let Some(w_hr) = self.projection_of(unit) {
                next[0] = linear(&next[0], w_hr, None)?;
            }
            let Some(lengths) = self.lengths else {
                return Ok((next.clone(), vec![next[0].clone()]));
            };
            let time = &carried[n_states];
            let is_valid = reshape(&lt(time, lengths)?, &[lengths.ty().dim(0), Dim::size(1)])?;
            let out = where_(&is_valid, &next[0], &zeros_like(&next[0])?)?;
            let pairs = next.iter().zip(states);
            let mut next: Vec<Var> =
                pairs.map(|(new, old)| where_(&is_valid, new, old)).collect::<Result<_>>()?;
            next.push(add(time, &Var::scalar(step as i64))?);
            Ok((next, vec![out]))
        })?;
        last.truncate(self.cell.n_states());
        let Some(out) = outs.into_iter().next() else {
            return Err(Error::internal("a step gives its output"));
        };
        Ok((if backwards { reversed(&out)? } else { out }, last))
    }

    /// Refuses what does not fit together, and says how wide each of the states is.
    fn check(&self, x: &Type, init: &[Option<&Var>]) -> Result<Vec<Dim>> {
        if x.is_list() || !x.is_float() || !matches!(x.rank(), 2 | 3) {
            return Err(Error::shape("a sequence is [steps, batch, width] or [steps, width]")
                .remedy("with `batch_first`, it is [batch, steps, width]"));
        }
        if self.layers == 0 || !(0.0..=1.0).contains(&self.dropout) {
            return Err(Error::argument(format!(
                "{} layers with a dropout of {}",
                self.layers, self.dropout
            ))
            .remedy("there is at least one layer, and dropout is a probability"));
        }
        let units = self.layers * self.directions();
        let wanted = units * self.n_weights();
        if self.weights.len() != wanted {
            return Err(Error::new(
                ErrorKind::Arity,
                format!("{} weights were given, but {wanted} are needed", self.weights.len()),
            )
            .remedy("for each layer and direction: w_ih, w_hh and, with `bias`, b_ih, b_hh"));
        }
        let recurrent = self.weights[1].clone().check()?.ty();
        if recurrent.is_list() || recurrent.rank() != 2 {
            return Err(Error::shape(format!("`w_hh` is {recurrent}, but should be a matrix")));
        }
        let out = recurrent.dim(1);
        let hidden = match self.projection {
            true => recurrent.dim(0).floor_div(Dim::size(self.cell.n_gates()))?,
            false => out,
        };
        for unit in 0..units {
            let width = match unit / self.directions() {
                0 => x.dim(x.rank() - 1),
                _ => out.mul(Dim::size(self.directions()))?,
            };
            let types = self.weights_of(unit).map(|weight| weight.map(Var::ty));
            self.cell.check_weights(&types.each_ref().map(Option::as_ref), width, hidden, out)?;
            let found = self.projection_of(unit).map(Var::ty);
            if let Some(found) = found.filter(|ty| !ty.is_float() || ty.dims() != [out, hidden]) {
                let what = format!("`w_hr` is {found}, but should be [{out}, {hidden}]");
                return Err(Error::shape(what).remedy("`w_hh` is as wide as `w_hr` is long"));
            }
        }
        if self.projection && self.cell != Cell::Lstm {
            return Err(Error::argument("only an LSTM has a projection")
                .remedy("leave it out, or apply a linear layer to the outputs"));
        }
        let widths = [out, hidden][..self.cell.n_states()].to_vec();
        self.check_states(x, init, &widths)?;
        Ok(widths)
    }

    fn check_states(&self, x: &Type, init: &[Option<&Var>], widths: &[Dim]) -> Result<()> {
        let units = Dim::size(self.layers * self.directions());
        let batch = x.dim(if self.batch_first { 0 } else { 1 });
        let batch = if x.rank() == 2 { Dim::size(1) } else { batch };
        for (state, &width) in init.iter().zip(widths) {
            let Some(state) = state else { continue };
            let wanted = match x.rank() {
                2 => vec![units, width],
                _ => vec![units, batch, width],
            };
            let ty = (*state).clone().check()?.ty();
            if !ty.is_float() || ty.dims() != wanted {
                let wanted: Vec<String> = wanted.iter().map(Dim::to_string).collect();
                return Err(Error::shape(format!(
                    "the first state is {ty}, but should be [{}]",
                    wanted.join(", ")
                ))
                .remedy(
                    "its axes are layers times directions, batch, width, also with `batch_first`",
                ));
            }
        }
        match self.lengths.map(Var::ty) {
            Some(ty) if ty.is_list() || ty.dtype() != DType::I64 || ty.dims() != [batch] => {
                Err(Error::shape(format!("the lengths are {ty}, but should be i64[{batch}]")))
            }
            _ => Ok(()),
        }
    }
}

/// The sequence with its last step first.
fn reversed(x: &Var) -> Result<Var> {
    let steps = x.ty().dim(0);
    if steps.value().is_some() {
        return slice(x, 0, None, None, -1);
    }
    let last = dim_size(steps, DType::I64)? - Var::scalar(1i64);
    gather(x, &(last - iota(steps, DType::I64)?), 0)
}
