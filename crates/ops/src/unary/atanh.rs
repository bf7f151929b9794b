//! `atanh`: the inverse hyperbolic tangent.

use crate::prelude::*;

/// The inverse hyperbolic tangent; NaN outside -1 to 1. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = atanh(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn atanh(x: &Var) -> Result<Var> {
    bind1(&ATANH, &[x])
}

/// The op behind [`atanh`].
pub static ATANH: Elementwise = Elementwise::unary(
    "atanh",
    |x| x.atanh(),
    Keeps::INPUTS,
    |p| {
        let x = p.x(0);
        grads![p => p.dy() / ((1.0 - &x) * (1.0 + &x))]
    },
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "atanh",
    || (&ATANH).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].atanh();
        vec![
            Sample::new(&ATANH, [f64s(&[-0.9, -0.5, 0.01, 0.3, 0.75, 0.95], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&ATANH, [f64s(&[-0.5], &[])]).gives_scalar(reference),
        ]
    },
);
