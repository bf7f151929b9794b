//! `sqrt`: the square root.

use crate::prelude::*;

/// The square root. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = sqrt(&Var::scalar(9.0f64))?;
/// assert_eq!(y.item::<f64>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sqrt(x: &Var) -> Result<Var> {
    bind1(&SQRT, &[x])
}

/// The op behind [`sqrt`].
pub static SQRT: Elementwise = Elementwise::unary(
    "sqrt",
    |x| x.sqrt(),
    Keeps::OUTPUTS,
    |p| grads![p => p.dy() / (p.y(0) * 2.0)],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "sqrt",
    || (&SQRT).into(),
    || {
        let x = f64s(&[0.1, 0.5, 1.0, 2.5, 7.0, 30.0], &[2, 3]);
        vec![Sample::new(&SQRT, [x]).gives_scalar(|x| x[0].sqrt())]
    },
);
