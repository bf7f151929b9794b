//! `exp2`: powers of two.

use std::f64::consts::LN_2;

use crate::prelude::*;

/// 2 to the power of `x`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = exp2(&Var::scalar(3.0f64))?;
/// assert_eq!(y.item::<f64>()?, 8.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn exp2(x: &Var) -> Result<Var> {
    bind1(&EXP2, &[x])
}

/// The op behind [`exp2`].
pub static EXP2: Elementwise = Elementwise::unary(
    "exp2",
    |x| x.exp2(),
    Keeps::OUTPUTS,
    |p| grads![p => p.dy() * p.y(0) * LN_2],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "exp2",
    || (&EXP2).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].exp2();
        vec![
            Sample::new(&EXP2, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&EXP2, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
