//! Updates as one kernel, for running line by line: op by op, the memory of a parameter would be read and
//! written as often as the rule has ops. A program gets the same by fusion.

use std::sync::LazyLock;

use fluvial_core::{DType, Error, Result, Tensor, Var};
use fluvial_kernels::{Binary, Body, Given, Inst, Unary};

use super::rule::Update;

/// Several results of some inputs and numbers, element by element, with the operations of the rule in their
/// order, so that the bits are the same.
pub(super) struct AtOnce(Option<Body>);

impl AtOnce {
    /// Runs it over the tensors, which are broadcast to the shape of the first. Nothing where the rule's ops
    /// round on the way: then they have to do it themselves.
    pub(super) fn run(&self, inputs: &[&Var], numbers: &[f64]) -> Result<Option<Vec<Var>>> {
        let (Some(body), dtype) = (&self.0, inputs[0].dtype()) else { return Ok(None) };
        let fits = |input: &&Var| {
            input.dtype() == dtype && (input.rank() == 0 || input.dims() == inputs[0].dims())
        };
        if !matches!(dtype, DType::F32 | DType::F64) || !inputs.iter().all(fits) {
            return Ok(None);
        }
        let tensors: Vec<&Tensor> =
            inputs.iter().map(|input| input.tensor()).collect::<Result<_>>()?;
        let given: Vec<Given<'_>> = tensors.iter().map(|tensor| Given::Tensor(tensor)).collect();
        let mut outs: Vec<Tensor> = Vec::with_capacity(body.results().len());
        for _ in body.results() {
            outs.push(Tensor::empty(dtype, tensors[0].dims())?);
        }
        body.run_many(&given, numbers, dtype, &mut outs)?;
        Ok(Some(outs.into_iter().map(Var::from).collect()))
    }
}

/// The instructions of an update as they are written down.
struct List(Vec<Inst>);

impl List {
    fn new(n_inputs: u8, n_numbers: u8) -> List {
        List((0..n_inputs).map(Inst::Input).chain((0..n_numbers).map(Inst::Param)).collect())
    }

    fn add(&mut self, inst: Inst) -> u16 {
        self.0.push(inst);
        self.0.len() as u16 - 1
    }

    fn of_two(&mut self, op: Binary, a: u16, b: u16) -> u16 {
        self.add(Inst::Binary(op, a, b))
    }
}

/// Adam of parameter, gradient, two moments, rate and two corrections; the numbers are how much of each
/// moment is kept and how much is new, and what keeps the divisor from zero.
static ADAM: LazyLock<AtOnce> = LazyLock::new(|| {
    let mut list = List::new(7, 5);
    let [param, grad, m, v, lr, first, second] = [0, 1, 2, 3, 4, 5, 6];
    let [keep_m, new_m, keep_v, new_v, eps] = [7, 8, 9, 10, 11];
    let kept = list.of_two(Binary::Mul, m, keep_m);
    let new = list.of_two(Binary::Mul, grad, new_m);
    let m = list.of_two(Binary::Add, kept, new);
    let kept = list.of_two(Binary::Mul, v, keep_v);
    let square = list.of_two(Binary::Mul, grad, grad);
    let new = list.of_two(Binary::Mul, square, new_v);
    let v = list.of_two(Binary::Add, kept, new);
    let root = list.add(Inst::Unary(Unary::Sqrt, v));
    let spread = list.of_two(Binary::Div, root, second);
    let spread = list.of_two(Binary::Add, spread, eps);
    let rate = list.of_two(Binary::Div, lr, first);
    let direction = list.of_two(Binary::Div, m, spread);
    let step = list.of_two(Binary::Mul, rate, direction);
    let param = list.of_two(Binary::Sub, param, step);
    AtOnce(Body::from_parts(7, 5, &list.0, &[param, m, v]).ok())
});

/// Adam without the largest moment so far.
pub(super) fn adam(u: &Update, betas: (f64, f64), eps: f64) -> Result<Option<Var>> {
    let (m, v) = (u.slot("m", 0.0)?, u.slot("v", 0.0)?);
    let inputs = [&u.param, &u.grad, &m, &v, &u.lr, u.shared(0)?, u.shared(1)?];
    let numbers = [betas.0, 1.0 - betas.0, betas.1, 1.0 - betas.1, eps];
    let Some(results) = ADAM.run(&inputs, &numbers)? else { return Ok(None) };
    u.put("m", &results[1])?;
    u.put("v", &results[2])?;
    Ok(results.into_iter().next())
}

/// Momentum of parameter, gradient, velocity and rate; the number is how much of the velocity is kept.
static MOMENTUM: LazyLock<AtOnce> = LazyLock::new(|| {
    let mut list = List::new(4, 1);
    let [param, grad, v, lr, momentum] = [0, 1, 2, 3, 4];
    let kept = list.of_two(Binary::Mul, v, momentum);
    let v = list.of_two(Binary::Add, kept, grad);
    let step = list.of_two(Binary::Mul, lr, v);
    let param = list.of_two(Binary::Sub, param, step);
    AtOnce(Body::from_parts(4, 1, &list.0, &[param, v]).ok())
});

/// Momentum without dampening, not looked at one step ahead.
pub(super) fn momentum(u: &Update, momentum: f64) -> Result<Option<Var>> {
    let v = u.slot("v", 0.0)?;
    let inputs = [&u.param, &u.grad, &v, &u.lr];
    let Some(results) = MOMENTUM.run(&inputs, &[momentum])? else { return Ok(None) };
    u.put("v", &results[1])?;
    Ok(results.into_iter().next())
}

/// Gradient descent of parameter, gradient and rate.
static DESCENT: LazyLock<AtOnce> = LazyLock::new(|| {
    let mut list = List::new(3, 0);
    let step = list.of_two(Binary::Mul, 2, 1);
    let param = list.of_two(Binary::Sub, 0, step);
    AtOnce(Body::from_parts(3, 0, &list.0, &[param]).ok())
});

/// Plain gradient descent.
pub(super) fn descent(u: &Update) -> Result<Option<Var>> {
    let results = DESCENT.run(&[&u.param, &u.grad, &u.lr], &[])?;
    Ok(results.and_then(|results| results.into_iter().next()))
}

/// The new values of a rule ("adam", "momentum", "descent") by one kernel, line by line: of the parameter, and
/// of what the rule remembers. For whoever keeps the states, as the Python package does; rules of this crate
/// do it by themselves. Nothing if there is no such rule, or its ops round on the way.
///
/// `inputs` are parameter, gradient, what is remembered, rate, and what parameters share; for the
/// numbers see the rules.
pub fn update_at_once(rule: &str, inputs: &[&Var], numbers: &[f64]) -> Result<Option<Vec<Var>>> {
    let (rule, n_inputs, n_numbers) = match rule {
        "adam" => (&ADAM, 7, 5),
        "momentum" => (&MOMENTUM, 4, 1),
        "descent" => (&DESCENT, 3, 0),
        _ => return Ok(None),
    };
    match inputs.len() == n_inputs && numbers.len() == n_numbers {
        true => rule.run(inputs, numbers),
        false => Err(Error::argument(format!(
            "{} inputs and {} numbers where the rule has {n_inputs} and {n_numbers}",
            inputs.len(),
            numbers.len()
        ))),
    }
}
