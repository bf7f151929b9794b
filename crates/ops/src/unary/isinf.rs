//! `isinf`: infinities.

use crate::prelude::*;

/// Whether the element is an infinity.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = isinf(&Var::scalar(f64::NEG_INFINITY))?;
/// assert!(y.item::<bool>()?);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn isinf(x: &Var) -> Result<Var> {
    bind1(&ISINF, &[x])
}

/// The op behind [`isinf`].
pub static ISINF: Elementwise =
    Elementwise::unary_flat("isinf", |x| x.is_inf()).domain(Domain::Any).gives_bool().complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "isinf",
    || (&ISINF).into(),
    || {
        let x = f64s(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.5], &[4]);
        let whole = [false, false];
        vec![
            Sample::new(&ISINF, [x]).gives([bools(&[false, true, true, false], &[4])]),
            Sample::new(&ISINF, [i64s(&[0, -7], &[2])]).gives([bools(&whole, &[2])]),
        ]
    },
);
