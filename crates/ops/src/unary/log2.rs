//! `log2`: the logarithm to base two.

use std::f64::consts::LN_2;

use crate::prelude::*;

/// The logarithm to base 2. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = log2(&Var::scalar(8.0f64))?;
/// assert_eq!(y.item::<f64>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn log2(x: &Var) -> Result<Var> {
    bind1(&LOG2, &[x])
}

/// The op behind [`log2`].
pub static LOG2: Elementwise = Elementwise::unary(
    "log2",
    |x| x.log2(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() / (p.x(0) * LN_2)],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "log2",
    || (&LOG2).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].log2();
        vec![
            Sample::new(&LOG2, [f64s(&[0.1, 0.5, 1.0, 2.5, 7.0, 30.0], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&LOG2, [f64s(&[0.5], &[])]).gives_scalar(reference),
        ]
    },
);
