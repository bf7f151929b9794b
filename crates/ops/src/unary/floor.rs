//! `floor`: rounding down.

use crate::prelude::*;

/// The largest integer that is not above `x`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = floor(&Var::scalar(2.7f64))?;
/// assert_eq!(y.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn floor(x: &Var) -> Result<Var> {
    bind1(&FLOOR, &[x])
}

/// The op behind [`floor`].
pub static FLOOR: Elementwise = Elementwise::unary_flat("floor", |x| x.floor());

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "floor",
    || (&FLOOR).into(),
    || {
        vec![
            Sample::new(&FLOOR, [ramp(&[2, 3])]).gives_scalar(|x| x[0].floor()),
            Sample::new(&FLOOR, [f64s(&[0.3], &[])]).gives_scalar(|x| x[0].floor()),
        ]
    },
);
