//! `log10`: the logarithm to base ten.

use std::f64::consts::LN_10;

use crate::prelude::*;

/// The logarithm to base 10. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = log10(&Var::scalar(100.0f64))?;
/// assert_eq!(y.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn log10(x: &Var) -> Result<Var> {
    bind1(&LOG10, &[x])
}

/// The op behind [`log10`].
pub static LOG10: Elementwise = Elementwise::unary(
    "log10",
    |x| x.log10(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() / (p.x(0) * LN_10)],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "log10",
    || (&LOG10).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].log10();
        vec![
            Sample::new(&LOG10, [f64s(&[0.1, 0.5, 1.0, 2.5, 7.0, 30.0], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&LOG10, [f64s(&[0.5], &[])]).gives_scalar(reference),
        ]
    },
);
