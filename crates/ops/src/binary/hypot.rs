//! `hypot`: the length of a vector.

use crate::prelude::*;

/// `sqrt(a * a + b * b)`, broadcast, without undue overflow. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = hypot(&Var::scalar(3.0f64), &Var::scalar(4.0f64))?;
/// assert_eq!(y.item::<f64>()?, 5.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hypot(a: &Var, b: &Var) -> Result<Var> {
    bind1(&HYPOT, &[a, b])
}

/// The op behind [`hypot`].
pub static HYPOT: Elementwise = Elementwise::binary(
    "hypot",
    |a, b| a.hypot(b),
    Keeps::ALL,
    |p| grads![p => p.dy() * (p.x(0) / p.y(0)), p.dy() * (p.x(1) / p.y(0))],
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "hypot",
    || (&HYPOT).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| x[0].hypot(x[1]);
        vec![
            Sample::new(&HYPOT, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&HYPOT, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&HYPOT, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
