//! `ne`: inequality.

use crate::prelude::*;

/// Whether `a != b`, element by element, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = ne(&Var::scalar(1.0f64), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<bool>()?, 1.0 != 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ne(a: &Var, b: &Var) -> Result<Var> {
    bind1(&NE, &[a, b])
}

/// The op behind [`ne`].
pub static NE: Elementwise =
    Elementwise::binary_flat("ne", |a, b| a.ne(b)).domain(Domain::Any).gives_bool().complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "ne",
    || (&NE).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.28, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| f64::from(x[0] != x[1]);
        vec![
            Sample::new(&NE, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&NE, [a.clone(), a.clone()]).gives_scalar(reference),
            Sample::new(&NE, [a, ramp(&[4])]).refused("do not broadcast"),
        ]
    },
);
