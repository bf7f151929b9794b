//! `floor_div`: division, rounded down.

use crate::prelude::*;

/// `floor(a / b)`, broadcast. An integer divided by zero gives zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = floor_div(&Var::scalar(-7i64), &Var::scalar(2i64))?;
/// assert_eq!(y.item::<i64>()?, -4);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn floor_div(a: &Var, b: &Var) -> Result<Var> {
    bind1(&FLOOR_DIV, &[a, b])
}

/// The op behind [`floor_div`].
pub static FLOOR_DIV: Elementwise = Elementwise::binary_flat("floor_div", |a, b| a.floor_div(b));

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "floor_div",
    || (&FLOOR_DIV).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| (x[0] / x[1]).floor();
        vec![
            Sample::new(&FLOOR_DIV, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&FLOOR_DIV, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&FLOOR_DIV, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
