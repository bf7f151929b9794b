//! `round`: rounding to the nearest.

use crate::prelude::*;

/// The nearest integer; halves go to the even one.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = round(&Var::scalar(2.5f64))?;
/// assert_eq!(y.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn round(x: &Var) -> Result<Var> {
    bind1(&ROUND, &[x])
}

/// The op behind [`round`].
pub static ROUND: Elementwise = Elementwise::unary_flat("round", |x| x.round()).complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "round",
    || (&ROUND).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].round_ties_even();
        vec![
            Sample::new(&ROUND, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&ROUND, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
