//! `atan2`: the angle of a point.

use crate::prelude::*;
use crate::square;

/// The angle of the point (`b`, `a`), between -pi and pi, broadcast. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = atan2(&Var::scalar(0.0f64), &Var::scalar(1.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn atan2(a: &Var, b: &Var) -> Result<Var> {
    bind1(&ATAN2, &[a, b])
}

/// The op behind [`atan2`].
pub static ATAN2: Elementwise = Elementwise::binary(
    "atan2",
    |a, b| a.atan2(b),
    Keeps::INPUTS,
    |p| {
        let (a, b) = (p.x(0), p.x(1));
        let squared = square(&a)? + square(&b)?;
        grads![p => p.dy() * &b / &squared, -(p.dy() * &a / &squared)]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "atan2",
    || (&ATAN2).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| x[0].atan2(x[1]);
        vec![
            Sample::new(&ATAN2, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&ATAN2, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&ATAN2, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
