//! `gt`: greater than.

use crate::prelude::*;

/// Whether `a > b`, element by element, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = gt(&Var::scalar(1.0f64), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<bool>()?, 1.0 > 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gt(a: &Var, b: &Var) -> Result<Var> {
    bind1(&GT, &[a, b])
}

/// The op behind [`gt`].
pub static GT: Elementwise =
    Elementwise::binary_flat("gt", |a, b| a.gt(b)).domain(Domain::Any).gives_bool();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "gt",
    || (&GT).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.28, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| f64::from(x[0] > x[1]);
        vec![
            Sample::new(&GT, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&GT, [a.clone(), a.clone()]).gives_scalar(reference),
            Sample::new(&GT, [a, ramp(&[4])]).refused("do not broadcast"),
        ]
    },
);
