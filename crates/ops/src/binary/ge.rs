//! `ge`: greater than or equal.

use crate::prelude::*;

/// Whether `a >= b`, element by element, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = ge(&Var::scalar(1.0f64), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<bool>()?, 1.0 >= 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ge(a: &Var, b: &Var) -> Result<Var> {
    bind1(&GE, &[a, b])
}

/// The op behind [`ge`].
pub static GE: Elementwise =
    Elementwise::binary_flat("ge", |a, b| a.ge(b)).domain(Domain::Any).gives_bool();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "ge",
    || (&GE).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.28, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| f64::from(x[0] >= x[1]);
        vec![
            Sample::new(&GE, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&GE, [a.clone(), a.clone()]).gives_scalar(reference),
            Sample::new(&GE, [a, ramp(&[4])]).refused("do not broadcast"),
        ]
    },
);
