//! `add`, `sub`, `mul`, `div`, `neg`: what the operators of [`Var`] need.

use fluvial_tensor::{DType, Result, Tensor};

use crate::bind::bind1;
use crate::family::{Domain, Elementwise};
use crate::grad::Keeps;
use crate::grads;
use crate::op::OpRef;
use crate::registry::OpDef;
use crate::sample::Sample;
use crate::var::Var;

/// The sum, broadcast.
#[track_caller]
pub fn add(a: &Var, b: &Var) -> Result<Var> {
    bind1(&ADD, &[a, b])
}

/// The difference, broadcast.
#[track_caller]
pub fn sub(a: &Var, b: &Var) -> Result<Var> {
    bind1(&SUB, &[a, b])
}

/// The product, element by element, broadcast.
#[track_caller]
pub fn mul(a: &Var, b: &Var) -> Result<Var> {
    bind1(&MUL, &[a, b])
}

/// The quotient, broadcast. Integers are divided as floats.
#[track_caller]
pub fn div(a: &Var, b: &Var) -> Result<Var> {
    bind1(&DIV, &[a, b])
}

/// The negative.
#[track_caller]
pub fn neg(x: &Var) -> Result<Var> {
    bind1(&NEG, &[x])
}

/// The op behind [`add`].
pub static ADD: Elementwise =
    Elementwise::binary("add", |a, b| a + b, Keeps::NOTHING, |p| grads![p => p.dy(), p.dy()])
        .analytic();

/// The op behind [`sub`].
pub static SUB: Elementwise =
    Elementwise::binary("sub", |a, b| a - b, Keeps::NOTHING, |p| grads![p => p.dy(), -p.dy()])
        .analytic()
        .identities(&[(1, 0.0)]);

/// The op behind [`mul`].
pub static MUL: Elementwise = Elementwise::binary(
    "mul",
    |a, b| a * b,
    Keeps::OTHERS,
    |p| grads![p => p.dy() * p.x(1), p.dy() * p.x(0)],
)
.analytic()
.identities(&[(0, 1.0), (1, 1.0)]);

/// The op behind [`div`].
pub static DIV: Elementwise = Elementwise::binary(
    "div",
    |a, b| a / b,
    Keeps::inputs(0b10).and_outputs(0b1),
    |p| grads![p => p.dy() / p.x(1), -(p.dy() * p.y(0) / p.x(1))],
)
.domain(Domain::Float)
.analytic()
.identities(&[(1, 1.0)]);

/// The op behind [`neg`].
pub static NEG: Elementwise =
    Elementwise::unary("neg", |x| -x, Keeps::NOTHING, |p| grads![p => -p.dy()]).analytic();

pub(super) const ADD_DEF: OpDef =
    OpDef::fixed("add", || OpRef::Static(&ADD), || binary_samples(&ADD, |x| x[0] + x[1]));
pub(super) const SUB_DEF: OpDef =
    OpDef::fixed("sub", || OpRef::Static(&SUB), || binary_samples(&SUB, |x| x[0] - x[1]));
pub(super) const MUL_DEF: OpDef =
    OpDef::fixed("mul", || OpRef::Static(&MUL), || binary_samples(&MUL, |x| x[0] * x[1]));
pub(super) const DIV_DEF: OpDef =
    OpDef::fixed("div", || OpRef::Static(&DIV), || binary_samples(&DIV, |x| x[0] / x[1]));
pub(super) const NEG_DEF: OpDef = OpDef::fixed(
    "neg",
    || OpRef::Static(&NEG),
    || {
        let x = f64s(&[0.0, -1.5, 2.0, 1e-3], &[2, 2]);
        let bools = Tensor::zeros(DType::Bool, &[2]);
        let mut samples = vec![Sample::new(&NEG, [x]).gives_scalar(|x| -x[0])];
        samples.extend(bools.map(|t| Sample::new(&NEG, [t]).refused("bools are not numbers")));
        samples
    },
);

fn binary_samples(op: &'static Elementwise, reference: fn(&[f64]) -> f64) -> Vec<Sample> {
    let matrix = f64s(&[1.0, -2.0, 0.5, 3.0, 0.25, -1.0], &[2, 3]);
    let row = f64s(&[2.0, -0.5, 1.5], &[3]);
    let column = f64s(&[1.25, -4.0], &[2, 1]);
    let single = f64s(&[0.75], &[]);
    let pairs = [
        (matrix.clone(), matrix.clone()),
        (matrix.clone(), row.clone()),
        (column, row),
        (matrix.clone(), single.clone()),
        (single.clone(), single),
    ];
    let mut samples: Vec<Sample> =
        pairs.into_iter().map(|(a, b)| Sample::new(op, [a, b]).gives_scalar(reference)).collect();
    let short = f64s(&[1.0, 2.0], &[2]);
    samples.push(Sample::new(op, [matrix, short]).refused("do not broadcast"));
    samples
}

/// A tensor for samples, whose sizes are right by construction.
pub(super) fn f64s(elements: &[f64], dims: &[usize]) -> Tensor {
    Tensor::from_slice(elements, dims).expect("a sample's sizes fit its elements")
}
