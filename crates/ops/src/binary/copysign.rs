//! `copysign`: one's size, another's sign.

use crate::prelude::*;
use crate::sign;

/// The size of `a` with the sign of `b`, broadcast. The gradient goes to `a`; at zero it is zero.
/// Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = copysign(&Var::scalar(3.0f64), &Var::scalar(-0.0f64))?;
/// assert_eq!(y.item::<f64>()?, -3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn copysign(a: &Var, b: &Var) -> Result<Var> {
    bind1(&COPYSIGN, &[a, b])
}

/// The op behind [`copysign`].
pub static COPYSIGN: Elementwise = Elementwise::binary(
    "copysign",
    |a, b| a.copy_sign(b),
    Keeps::inputs(0b1).and_outputs(0b1),
    |p| grads![p => p.dy() * sign(&p.x(0))? * sign(&p.y(0))?, None],
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "copysign",
    || (&COPYSIGN).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| x[0].copysign(x[1]);
        vec![
            Sample::new(&COPYSIGN, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&COPYSIGN, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&COPYSIGN, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
