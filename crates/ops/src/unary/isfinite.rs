//! `isfinite`: finite numbers.

use crate::prelude::*;

/// Whether the element is neither NaN nor an infinity.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = isfinite(&Var::scalar(1.0f64))?;
/// assert!(y.item::<bool>()?);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn isfinite(x: &Var) -> Result<Var> {
    bind1(&ISFINITE, &[x])
}

/// The op behind [`isfinite`].
pub static ISFINITE: Elementwise = Elementwise::unary_flat("isfinite", |x| x.is_finite())
    .domain(Domain::Any)
    .gives_bool()
    .complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "isfinite",
    || (&ISFINITE).into(),
    || {
        let x = f64s(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.5], &[4]);
        let whole = [true, true];
        vec![
            Sample::new(&ISFINITE, [x]).gives([bools(&[false, false, false, true], &[4])]),
            Sample::new(&ISFINITE, [i64s(&[0, -7], &[2])]).gives([bools(&whole, &[2])]),
        ]
    },
);
