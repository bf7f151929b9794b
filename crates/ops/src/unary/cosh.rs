//! `cosh`: the hyperbolic cosine.

use super::sinh;
use crate::prelude::*;

/// The hyperbolic cosine. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = cosh(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cosh(x: &Var) -> Result<Var> {
    bind1(&COSH, &[x])
}

/// The op behind [`cosh`].
pub static COSH: Elementwise = Elementwise::unary(
    "cosh",
    |x| x.cosh(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() * sinh(&p.x(0))?],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "cosh",
    || (&COSH).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].cosh();
        vec![
            Sample::new(&COSH, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&COSH, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
