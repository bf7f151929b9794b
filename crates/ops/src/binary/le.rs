//! `le`: less than or equal.

use crate::prelude::*;

/// Whether `a <= b`, element by element, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = le(&Var::scalar(1.0f64), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<bool>()?, 1.0 <= 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn le(a: &Var, b: &Var) -> Result<Var> {
    bind1(&LE, &[a, b])
}

/// The op behind [`le`].
pub static LE: Elementwise =
    Elementwise::binary_flat("le", |a, b| a.le(b)).domain(Domain::Any).gives_bool();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "le",
    || (&LE).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.28, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| f64::from(x[0] <= x[1]);
        vec![
            Sample::new(&LE, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&LE, [a.clone(), a.clone()]).gives_scalar(reference),
            Sample::new(&LE, [a, ramp(&[4])]).refused("do not broadcast"),
        ]
    },
);
