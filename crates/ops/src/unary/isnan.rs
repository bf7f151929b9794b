//! `isnan`: not a number.

use crate::prelude::*;

/// Whether the element is NaN.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = isnan(&Var::scalar(f64::NAN))?;
/// assert!(y.item::<bool>()?);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn isnan(x: &Var) -> Result<Var> {
    bind1(&ISNAN, &[x])
}

/// The op behind [`isnan`].
pub static ISNAN: Elementwise =
    Elementwise::unary_flat("isnan", |x| x.is_nan()).domain(Domain::Any).gives_bool().complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "isnan",
    || (&ISNAN).into(),
    || {
        let x = f64s(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.5], &[4]);
        let whole = [false, false];
        vec![
            Sample::new(&ISNAN, [x]).gives([bools(&[true, false, false, false], &[4])]),
            Sample::new(&ISNAN, [i64s(&[0, -7], &[2])]).gives([bools(&whole, &[2])]),
        ]
    },
);
