//! `sign`: the sign.

use super::abs;
use crate::prelude::*;
use crate::{eq, where_};

/// The sign: -1, 0 or 1; of a complex number the one of size 1 in its direction.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = sign(&Var::scalar(-2.0f64))?;
/// assert_eq!(y.item::<f64>()?, -1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sign(x: &Var) -> Result<Var> {
    if !x.dtype().is_complex() {
        return bind1(&SIGN, &[x]);
    }
    let _line = at(scope::user_line());
    let size = abs(x)?;
    let is_zero = eq(&size, &size.literal(0.0))?;
    div(x, &where_(&is_zero, &size.literal(1.0), &size)?)
}

/// The op behind [`sign`].
pub static SIGN: Elementwise = Elementwise::unary_flat("sign", |x| x.sign());

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "sign",
    || (&SIGN).into(),
    || {
        vec![
            Sample::new(&SIGN, [ramp(&[2, 3])])
                .gives_scalar(|x| if x[0] == 0.0 { 0.0 } else { x[0].signum() }),
            Sample::new(&SIGN, [f64s(&[0.3], &[])])
                .gives_scalar(|x| if x[0] == 0.0 { 0.0 } else { x[0].signum() }),
        ]
    },
);
