//! `eq`: equality.

use crate::prelude::*;

/// Whether `a == b`, element by element, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = eq(&Var::scalar(1.0f64), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<bool>()?, 1.0 == 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn eq(a: &Var, b: &Var) -> Result<Var> {
    bind1(&EQ, &[a, b])
}

/// The op behind [`eq`].
pub static EQ: Elementwise =
    Elementwise::binary_flat("eq", |a, b| a.eq(b)).domain(Domain::Any).gives_bool().complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "eq",
    || (&EQ).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.28, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| f64::from(x[0] == x[1]);
        vec![
            Sample::new(&EQ, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&EQ, [a.clone(), a.clone()]).gives_scalar(reference),
            Sample::new(&EQ, [a, ramp(&[4])]).refused("do not broadcast"),
        ]
    },
);
