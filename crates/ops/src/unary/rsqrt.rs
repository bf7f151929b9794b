//! `rsqrt`: one over the square root.

use crate::prelude::*;

/// `1 / sqrt(x)`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = rsqrt(&Var::scalar(4.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rsqrt(x: &Var) -> Result<Var> {
    bind1(&RSQRT, &[x])
}

/// The op behind [`rsqrt`].
pub static RSQRT: Elementwise = Elementwise::unary(
    "rsqrt",
    |x| x.rsqrt(),
    Keeps::OUTPUTS,
    |p| grads![p => p.dy() * p.y(0) * p.y(0) * p.y(0) * -0.5],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "rsqrt",
    || (&RSQRT).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].sqrt().recip();
        vec![
            Sample::new(&RSQRT, [f64s(&[0.1, 0.5, 1.0, 2.5, 7.0, 30.0], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&RSQRT, [f64s(&[0.5], &[])]).gives_scalar(reference),
        ]
    },
);
