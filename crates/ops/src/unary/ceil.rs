//! `ceil`: rounding up.

use crate::prelude::*;

/// The smallest integer that is not below `x`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = ceil(&Var::scalar(2.2f64))?;
/// assert_eq!(y.item::<f64>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ceil(x: &Var) -> Result<Var> {
    bind1(&CEIL, &[x])
}

/// The op behind [`ceil`].
pub static CEIL: Elementwise = Elementwise::unary_flat("ceil", |x| x.ceil());

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "ceil",
    || (&CEIL).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].ceil();
        vec![
            Sample::new(&CEIL, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&CEIL, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
