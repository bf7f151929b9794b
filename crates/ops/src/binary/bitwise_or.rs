//! `bitwise_or`: the bits that one has.

use crate::prelude::*;

/// The bits that one at least of two integers has, broadcast; of bools, whether one at least is
/// true.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = bitwise_or(&Var::scalar(12i64), &Var::scalar(10i64))?;
/// assert_eq!(y.item::<i64>()?, 14);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn bitwise_or(a: &Var, b: &Var) -> Result<Var> {
    bind1(&BITWISE_OR, &[a, b])
}

/// The op behind [`bitwise_or`].
pub static BITWISE_OR: Elementwise =
    Elementwise::binary_flat("bitwise_or", |a, b| a.bit_or(b)).domain(Domain::Integer);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "bitwise_or",
    || (&BITWISE_OR).into(),
    || {
        let (a, b) = (i64s(&[12, -1, 7, 0, -8, 255], &[2, 3]), i64s(&[10, 6, -3], &[3]));
        let (yes, no) =
            (bools(&[true, true, false, false], &[4]), bools(&[true, false, true, false], &[4]));
        vec![
            Sample::new(&BITWISE_OR, [a, b]).gives([i64s(&[14, -1, -1, 10, -2, -1], &[2, 3])]),
            Sample::new(&BITWISE_OR, [yes, no]).gives([bools(&[true, true, true, false], &[4])]),
            Sample::new(&BITWISE_OR, [ramp(&[3]), ramp(&[3])])
                .refused("expected integers or bools"),
        ]
    },
);
