//! `expm1`: the exponential minus one.

use crate::prelude::*;

/// `exp(x) - 1`, accurate near zero. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = expm1(&Var::scalar(1e-20f64))?;
/// assert_eq!(y.item::<f64>()?, 1e-20);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn expm1(x: &Var) -> Result<Var> {
    bind1(&EXPM1, &[x])
}

/// The op behind [`expm1`].
pub static EXPM1: Elementwise = Elementwise::unary(
    "expm1",
    |x| x.expm1(),
    Keeps::OUTPUTS,
    |p| grads![p => p.dy() * (p.y(0) + 1.0)],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "expm1",
    || (&EXPM1).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].exp_m1();
        vec![
            Sample::new(&EXPM1, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&EXPM1, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
