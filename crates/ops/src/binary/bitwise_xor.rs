//! `bitwise_xor`: the bits that differ.

use crate::prelude::*;

/// The bits that exactly one of two integers has, broadcast; of bools, whether exactly one is true.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = bitwise_xor(&Var::scalar(12i64), &Var::scalar(10i64))?;
/// assert_eq!(y.item::<i64>()?, 6);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn bitwise_xor(a: &Var, b: &Var) -> Result<Var> {
    bind1(&BITWISE_XOR, &[a, b])
}

/// The op behind [`bitwise_xor`].
pub static BITWISE_XOR: Elementwise =
    Elementwise::binary_flat("bitwise_xor", |a, b| a.bit_xor(b)).domain(Domain::Integer);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "bitwise_xor",
    || (&BITWISE_XOR).into(),
    || {
        let (a, b) = (i64s(&[12, -1, 7, 0, -8, 255], &[2, 3]), i64s(&[10, 6, -3], &[3]));
        let (yes, no) =
            (bools(&[true, true, false, false], &[4]), bools(&[true, false, true, false], &[4]));
        vec![
            Sample::new(&BITWISE_XOR, [a, b]).gives([i64s(&[6, -7, -6, 10, -2, -254], &[2, 3])]),
            Sample::new(&BITWISE_XOR, [yes, no]).gives([bools(&[false, true, true, false], &[4])]),
            Sample::new(&BITWISE_XOR, [ramp(&[3]), ramp(&[3])])
                .refused("expected integers or bools"),
        ]
    },
);
