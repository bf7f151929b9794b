//! `reciprocal`: one over.

use crate::prelude::*;

/// `1 / x`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = reciprocal(&Var::scalar(4.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.25);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn reciprocal(x: &Var) -> Result<Var> {
    bind1(&RECIPROCAL, &[x])
}

/// The op behind [`reciprocal`].
pub static RECIPROCAL: Elementwise = Elementwise::unary(
    "reciprocal",
    |x| x.recip(),
    Keeps::OUTPUTS,
    |p| grads![p => -(p.dy() * p.y(0) * p.y(0))],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "reciprocal",
    || (&RECIPROCAL).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].recip();
        vec![
            Sample::new(&RECIPROCAL, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&RECIPROCAL, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
