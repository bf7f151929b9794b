//! `bitwise_not`: every bit flipped.

use super::logical_not;
use crate::prelude::*;

/// The integer with every bit flipped; of a bool, the other one.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// assert_eq!(bitwise_not(&Var::scalar(5i64))?.item::<i64>()?, -6);
/// assert!(bitwise_not(&Var::scalar(false))?.item::<bool>()?);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn bitwise_not(x: &Var) -> Result<Var> {
    if x.dtype() == DType::Bool { logical_not(x) } else { bind1(&BITWISE_NOT, &[x]) }
}

/// The op behind [`bitwise_not`], for integers.
pub static BITWISE_NOT: Elementwise =
    Elementwise::unary_flat("bitwise_not", |x| x.bit_not()).domain(Domain::Whole);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "bitwise_not",
    || (&BITWISE_NOT).into(),
    || {
        let x = i64s(&[0, 1, -1, 5, i64::MAX, i64::MIN], &[2, 3]);
        let flipped = i64s(&[-1, -2, 0, -6, i64::MIN, i64::MAX], &[2, 3]);
        vec![
            Sample::new(&BITWISE_NOT, [x]).gives([flipped]),
            Sample::new(&BITWISE_NOT, [bools(&[true], &[1])]).refused("expected integers"),
            Sample::new(&BITWISE_NOT, [ramp(&[2])]).refused("cast to an integer type"),
        ]
    },
);
