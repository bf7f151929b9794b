//! `tan`: the tangent.

use crate::prelude::*;

/// The tangent. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = tan(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn tan(x: &Var) -> Result<Var> {
    bind1(&TAN, &[x])
}

/// The op behind [`tan`].
pub static TAN: Elementwise = Elementwise::unary(
    "tan",
    |x| x.tan(),
    Keeps::OUTPUTS,
    |p| grads![p => p.dy() * (p.y(0) * p.y(0) + 1.0)],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "tan",
    || (&TAN).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].tan();
        vec![
            Sample::new(&TAN, [f64s(&[-1.2, -0.5, 0.01, 0.3, 0.75, 1.1], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&TAN, [f64s(&[-0.5], &[])]).gives_scalar(reference),
        ]
    },
);
