//! `silu`: the logistic function times its argument.

use super::sigmoid;
use super::sigmoid::{SIGMOID, below};
use crate::prelude::*;
use crate::reading::{inputs_of, one_call};

/// `x * sigmoid(x)`, also named swish. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = silu(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn silu(x: &Var) -> Result<Var> {
    bind1(&SILU, &[x])
}

/// The op behind [`silu`].
pub static SILU: Elementwise = Elementwise::unary(
    "silu",
    |x| x.silu(),
    Keeps::INPUTS,
    |p| {
        let (x, gate) = (p.x(0), sigmoid(&p.x(0))?);
        grads![p => p.dy() * &gate * (x * (1.0 - &gate) + 1.0)]
    },
)
.domain(Domain::Float)
.analytic();

/// `x * sigmoid(x)`, or `x / (1 + exp(-x))`.
pub(crate) const FORM: Form = Form { name: "silu", ends: &["mul", "div"], find: spelled };

fn spelled(look: &mut Look<'_>, call: &Call) -> Option<Found> {
    if let Some(&[x, divisor]) = inputs_of(call, DIV.name()) {
        return one_call(&SILU, &[below(look, divisor).filter(|&found| found == x)?]);
    }
    let x = look.either(inputs_of(call, MUL.name())?, |look, x, gate| {
        look.input(gate, SIGMOID.name()).filter(|&found| found == x)
    })?;
    one_call(&SILU, &[x])
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "silu",
    || (&SILU).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0] / (1.0 + (-x[0]).exp());
        vec![
            Sample::new(&SILU, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&SILU, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
