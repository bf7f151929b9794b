//! `trunc`: rounding towards zero.

use crate::prelude::*;

/// The integer part: `x` rounded towards zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = trunc(&Var::scalar(-2.7f64))?;
/// assert_eq!(y.item::<f64>()?, -2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn trunc(x: &Var) -> Result<Var> {
    bind1(&TRUNC, &[x])
}

/// The op behind [`trunc`].
pub static TRUNC: Elementwise = Elementwise::unary_flat("trunc", |x| x.trunc());

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "trunc",
    || (&TRUNC).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].trunc();
        vec![
            Sample::new(&TRUNC, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&TRUNC, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
