//! `bitwise_and`: the bits that both have.

use crate::prelude::*;

/// The bits that both integers have, broadcast; of bools, whether both are true.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = bitwise_and(&Var::scalar(12i64), &Var::scalar(10i64))?;
/// assert_eq!(y.item::<i64>()?, 8);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn bitwise_and(a: &Var, b: &Var) -> Result<Var> {
    bind1(&BITWISE_AND, &[a, b])
}

/// The op behind [`bitwise_and`].
pub static BITWISE_AND: Elementwise =
    Elementwise::binary_flat("bitwise_and", |a, b| a.bit_and(b)).domain(Domain::Integer);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "bitwise_and",
    || (&BITWISE_AND).into(),
    || {
        let (a, b) = (i64s(&[12, -1, 7, 0, -8, 255], &[2, 3]), i64s(&[10, 6, -3], &[3]));
        let (yes, no) =
            (bools(&[true, true, false, false], &[4]), bools(&[true, false, true, false], &[4]));
        vec![
            Sample::new(&BITWISE_AND, [a, b]).gives([i64s(&[8, 6, 5, 0, 0, 253], &[2, 3])]),
            Sample::new(&BITWISE_AND, [yes, no]).gives([bools(&[true, false, false, false], &[4])]),
            Sample::new(&BITWISE_AND, [ramp(&[3]), ramp(&[3])])
                .refused("expected integers or bools"),
        ]
    },
);
