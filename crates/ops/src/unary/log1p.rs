//! `log1p`: the logarithm of one more.

use crate::prelude::*;

/// `log(1 + x)`, accurate near zero. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = log1p(&Var::scalar(1e-20f64))?;
/// assert_eq!(y.item::<f64>()?, 1e-20);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn log1p(x: &Var) -> Result<Var> {
    bind1(&LOG1P, &[x])
}

/// The op behind [`log1p`].
pub static LOG1P: Elementwise = Elementwise::unary(
    "log1p",
    |x| x.log1p(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() / (p.x(0) + 1.0)],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "log1p",
    || (&LOG1P).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].ln_1p();
        vec![
            Sample::new(&LOG1P, [f64s(&[-0.9, -0.5, 0.01, 0.3, 2.0, 9.0], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&LOG1P, [f64s(&[-0.5], &[])]).gives_scalar(reference),
        ]
    },
);
