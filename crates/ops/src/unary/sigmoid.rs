//! `sigmoid`: the logistic function.

use super::exp::EXP;
use crate::prelude::*;
use crate::reading::{inputs_of, negated, one_call, plus_one};

/// The logistic function `1 / (1 + exp(-x))`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = sigmoid(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sigmoid(x: &Var) -> Result<Var> {
    bind1(&SIGMOID, &[x])
}

/// The op behind [`sigmoid`].
pub static SIGMOID: Elementwise = Elementwise::unary(
    "sigmoid",
    |x| x.sigmoid(),
    Keeps::OUTPUTS,
    |p| grads![p => p.dy() * p.y(0) * (1.0 - p.y(0))],
)
.domain(Domain::Float)
.analytic();

/// `1 / (1 + exp(-x))`.
pub(crate) const FORM: Form = Form { name: "sigmoid", ends: &["div", "reciprocal"], find: spelled };

fn spelled(look: &mut Look<'_>, call: &Call) -> Option<Found> {
    let divisor = match inputs_of(call, DIV.name()) {
        Some(&[one, divisor]) if look.is_number(one, 1.0) => divisor,
        _ => *inputs_of(call, super::reciprocal::RECIPROCAL.name())?.first()?,
    };
    one_call(&SIGMOID, &[below(look, divisor)?])
}

/// `x` of `1 + exp(-x)`.
pub(super) fn below(look: &mut Look<'_>, value: ValueId) -> Option<ValueId> {
    let powers = plus_one(look, value)?;
    let exponent = look.input(powers, EXP.name())?;
    negated(look, exponent)
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "sigmoid",
    || (&SIGMOID).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| 1.0 / (1.0 + (-x[0]).exp());
        vec![
            Sample::new(&SIGMOID, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&SIGMOID, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
