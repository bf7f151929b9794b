//! Recurrent networks.

use fluvial_core::{DType, Dim, Error, Result, Var};
use fluvial_ops as ops;

use super::node::Node;
use super::table::Entry;
use super::value::Val;

pub const OPS: &[Entry] = &[
    Entry::many("GRU", 1, |n| run(n, Kind::Gru)),
    Entry::many("LSTM", 1, |n| run(n, Kind::Lstm)),
    Entry::many("RNN", 1, |n| run(n, Kind::Rnn)),
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    fn n_gates(self) -> usize {
        match self {
            Kind::Rnn => 1,
            Kind::Gru => 3,
            Kind::Lstm => 4,
        }
    }

    fn activations(self) -> &'static [&'static str] {
        match self {
            Kind::Rnn => &["Tanh"],
            Kind::Gru => &["Sigmoid", "Tanh"],
            Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// What the steps of one direction have in common.
struct Cell {
    kind: Kind,
    /// `[hidden, gates * hidden]`.
    recurrent: Var,
    /// The part of the bias that is added to what comes from the state.
    bias: Option<Var>,
    peepholes: Option<Vec<Var>>,
    activations: Vec<Activation>,
    clip: Option<f64>,
    linear_before_reset: bool,
    input_forget: bool,
}

#[derive(Clone)]
struct Activation {
    name: String,
    alpha: Option<f64>,
    beta: Option<f64>,
}

impl Activation {
    fn of(&self, x: &Var) -> Result<Var> {
        let (alpha, beta) = (self.alpha, self.beta);
        match self.name.to_ascii_lowercase().as_str() {
            "relu" => ops::relu(x),
            "tanh" => ops::tanh(x),
            "sigmoid" => ops::sigmoid(x),
            "affine" => (x * alpha.unwrap_or(1.0) + beta.unwrap_or(0.0)).check(),
            "leakyrelu" => ops::leaky_relu(x, alpha.unwrap_or(0.01)),
            "thresholdedrelu" => ops::threshold(x, alpha.unwrap_or(1.0), 0.0),
            "scaledtanh" => {
                let inner = ops::tanh(&(x * beta.unwrap_or(1.0)).check()?)?;
                (&inner * alpha.unwrap_or(1.0)).check()
            }
            "hardsigmoid" => {
                let line = (x * alpha.unwrap_or(0.2) + beta.unwrap_or(0.5)).check()?;
                ops::clip(&line, Some(0.0), Some(1.0))
            }
            "elu" => ops::elu(x, alpha.unwrap_or(1.0)),
            "softsign" => ops::softsign(x),
            "softplus" => ops::softplus(x, 1.0, f64::INFINITY),
            _ => Err(Error::argument(format!("`{}` is not an activation", self.name))),
        }
    }
}

impl Cell {
    fn act(&self, i: usize, x: &Var) -> Result<Var> {
        let clipped = match self.clip {
            Some(most) => ops::clip(x, Some(-most), Some(most))?,
            None => x.clone(),
        };
        self.activations[i].of(&clipped)
    }

    /// The parts of all gates, along the last axis.
    fn gates(&self, x: &Var) -> Result<Vec<Var>> {
        ops::chunk(x, self.kind.n_gates(), -1)
    }

    /// The next states.
    fn step(&self, input: &Var, states: &[Var]) -> Result<Vec<Var>> {
        let h = &states[0];
        let from_state = ops::matmul(h, &self.recurrent)?;
        match self.kind {
            Kind::Rnn => {
                let sum = with(&ops::add(input, &from_state)?, self.bias.as_ref())?;
                Ok(vec![self.act(0, &sum)?])
            }
            Kind::Lstm => {
                let sum = with(&ops::add(input, &from_state)?, self.bias.as_ref())?;
                self.lstm(&self.gates(&sum)?, &states[1])
            }
            Kind::Gru => Ok(vec![self.gru(input, &from_state, h)?]),
        }
    }

    fn lstm(&self, gates: &[Var], c: &Var) -> Result<Vec<Var>> {
        let [i, o, f, g] = gates else { return Err(Error::internal("an LSTM has four gates")) };
        let seen = |gate: &Var, c: &Var, p: usize| match &self.peepholes {
            Some(peepholes) => ops::add(gate, &ops::mul(&peepholes[p], c)?),
            None => Ok(gate.clone()),
        };
        let input = self.act(0, &seen(i, c, 0)?)?;
        let forget = match self.input_forget {
            true => (1.0 - &input).check()?,
            false => self.act(0, &seen(f, c, 2)?)?,
        };
        let fresh = self.act(1, g)?;
        let c = ops::add(&ops::mul(&forget, c)?, &ops::mul(&input, &fresh)?)?;
        let output = self.act(0, &seen(o, &c, 1)?)?;
        let h = ops::mul(&output, &self.act(2, &c)?)?;
        Ok(vec![h, c])
    }

    fn gru(&self, input: &Var, from_state: &Var, h: &Var) -> Result<Var> {
        let (inputs, states) = (self.gates(input)?, self.gates(from_state)?);
        let biases = self.bias.as_ref().map(|bias| self.gates(bias)).transpose()?;
        let bias = |i: usize| biases.as_ref().map(|biases| &biases[i]);
        let gate = |i: usize| with(&ops::add(&inputs[i], &states[i])?, bias(i));
        let update = self.act(0, &gate(0)?)?;
        let reset = self.act(0, &gate(1)?)?;
        let hidden = match self.linear_before_reset {
            true => ops::mul(&reset, &with(&states[2], bias(2))?)?,
            false => {
                let weights = ops::chunk(&self.recurrent, 3, -1)?;
                with(&ops::matmul(&ops::mul(&reset, h)?, &weights[2])?, bias(2))?
            }
        };
        let fresh = self.act(1, &ops::add(&inputs[2], &hidden)?)?;
        let rest = (1.0 - &update).check()?;
        ops::add(&ops::mul(&rest, &fresh)?, &ops::mul(&update, h)?)
    }
}

fn with(x: &Var, more: Option<&Var>) -> Result<Var> {
    more.map_or_else(|| Ok(x.clone()), |more| ops::add(x, more))
}

fn run(n: &Node<'_>, kind: Kind) -> Result<Vec<Val>> {
    let is_batch_first = n.flag("layout", false);
    let mut x = n.var(0)?;
    if x.rank() != 3 {
        return Err(n.refuse(format!("{} is not [steps, batch, in]", x.ty())));
    }
    if is_batch_first {
        x = ops::transpose(&x, 0, 1)?;
    }
    let (weights, recurrents, biases) = (n.var(1)?, n.var(2)?, n.opt(3)?);
    let lengths = n.opt(4)?.map(|lengths| ops::cast(&lengths, DType::I64)).transpose()?;
    let direction = n.string("direction", "forward");
    let directions: &[bool] = match direction.as_str() {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(n.refuse(format!("`{other}` is not a direction"))),
    };
    let hidden = recurrents.dims().last().copied().unwrap_or(Dim::size(0));
    let batch = x.dims()[1];
    let states = |i: usize| match n.opt(i)? {
        Some(states) if is_batch_first => ops::transpose(&states, 0, 1),
        Some(states) => Ok(states),
        None => ops::zeros(&[Dim::size(directions.len()), batch, hidden], x.dtype()),
    };
    let mut first = vec![states(5)?];
    if kind == Kind::Lstm {
        first.push(states(6)?);
    }
    let (mut outs, mut lasts) = (Vec::new(), vec![Vec::new(); first.len()]);
    for (d, &is_reverse) in directions.iter().enumerate() {
        let of = |x: &Var| ops::getitem(x, &[(d as i64).into()]);
        let bias = biases.as_ref().map(of).transpose()?;
        let (input_bias, state_bias) = match &bias {
            None => (None, None),
            Some(bias) => {
                let parts = ops::chunk(bias, 2, 0)?;
                (Some(parts[0].clone()), Some(parts[1].clone()))
            }
        };
        let peepholes = match (kind, n.opt(7)?) {
            (Kind::Lstm, Some(all)) => Some(ops::chunk(&of(&all)?, 3, 0)?),
            _ => None,
        };
        let cell = Cell {
            kind,
            recurrent: ops::transpose(&of(&recurrents)?, 0, 1)?,
            bias: state_bias,
            peepholes,
            activations: activations(n, kind, d)?,
            clip: n.opt_float("clip"),
            linear_before_reset: n.flag("linear_before_reset", false),
            input_forget: n.flag("input_forget", false),
        };
        let inputs = ops::linear(&x, &of(&weights)?, input_bias.as_ref())?;
        let init = first.iter().map(of).collect::<Result<Vec<Var>>>()?;
        let (out, last) = direction_of(&cell, &inputs, &init, lengths.as_ref(), is_reverse)?;
        outs.push(out);
        for (all, last) in lasts.iter_mut().zip(last) {
            all.push(last);
        }
    }
    let axis = if is_batch_first { 2 } else { 1 };
    let mut out = ops::stack(&outs.iter().collect::<Vec<_>>(), 1)?;
    if is_batch_first {
        out = ops::permute(&out, &[2, 0, 1, 3])?;
    }
    let mut found = vec![Val::from(out)];
    for last in lasts {
        found.push(ops::stack(&last.iter().collect::<Vec<_>>(), axis - 1)?.into());
    }
    Ok(found)
}

/// The outputs of all steps, `[steps, batch, hidden]`, and the last states.
fn direction_of(
    cell: &Cell,
    inputs: &Var,
    init: &[Var],
    lengths: Option<&Var>,
    is_reverse: bool,
) -> Result<(Var, Vec<Var>)> {
    let steps = inputs.dims()[0];
    let turned = |x: &Var| match (is_reverse, lengths) {
        (false, _) => Ok(x.clone()),
        (true, None) => ops::flip(x, &[0]),
        (true, Some(lengths)) => reversed(x, lengths),
    };
    let inputs = turned(inputs)?;
    let init: Vec<&Var> = init.iter().collect();
    let numbers = ops::iota(steps, DType::I64)?;
    let step = |states: &[Var], now: &[Var]| {
        let next = cell.step(&now[0], states)?;
        let Some(lengths) = lengths else { return Ok((next.clone(), vec![next[0].clone()])) };
        let is_on = ops::unsqueeze(&ops::lt(&now[1], lengths)?, 1)?;
        let kept = next.iter().zip(states).map(|(new, old)| ops::where_(&is_on, new, old));
        let kept = kept.collect::<Result<Vec<Var>>>()?;
        let shown = ops::where_(&is_on, &next[0], &next[0].literal(0.0))?;
        Ok((kept, vec![shown]))
    };
    let (last, outs) = ops::scan(&init, &[&inputs, &numbers], step)?;
    Ok((turned(&outs[0])?, last))
}

/// Each sequence of `[steps, batch, ..]` with its last step first; what is behind it stays.
fn reversed(x: &Var, lengths: &Var) -> Result<Var> {
    let steps = ops::unsqueeze(&ops::iota(x.dims()[0], DType::I64)?, 1)?;
    let mirrored = ops::sub(&(lengths - 1.0).check()?, &steps)?;
    let index = ops::where_(&ops::lt(&steps, lengths)?, &mirrored, &steps)?;
    ops::take_along_axis(x, &ops::unsqueeze(&index, 2)?, 0)
}

fn activations(n: &Node<'_>, kind: Kind, direction: usize) -> Result<Vec<Activation>> {
    let defaults = kind.activations();
    let names: Vec<String> = match n.strings("activations") {
        Some(names) if !names.is_empty() => names,
        _ => defaults.iter().map(|name| name.to_string()).collect(),
    };
    let (alphas, betas) = (n.floats("activation_alpha"), n.floats("activation_beta"));
    let count = defaults.len();
    let first = if names.len() >= count * (direction + 1) { count * direction } else { 0 };
    // Numbers are given in order to those activations that take one.
    let takes = |name: &str, beta: bool| {
        let name = name.to_ascii_lowercase();
        let both = ["affine", "scaledtanh", "hardsigmoid"].contains(&&*name);
        both || !beta && ["leakyrelu", "thresholdedrelu", "elu"].contains(&&*name)
    };
    let number = |all: &Option<Vec<f64>>, i: usize, beta: bool| {
        let all = all.as_ref()?;
        if all.len() == names.len() {
            return all.get(i).copied();
        }
        let before = names[..i].iter().filter(|name| takes(name, beta)).count();
        takes(&names[i], beta).then(|| all.get(before).copied()).flatten()
    };
    let found = (first..first + count).map(|i| {
        let name = names.get(i).cloned().ok_or_else(|| n.refuse("too few `activations`"))?;
        let (alpha, beta) = (number(&alphas, i, false), number(&betas, i, true));
        Ok(Activation { name, alpha, beta })
    });
    found.collect()
}
