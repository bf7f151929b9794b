//! `left_shift`: bits moved up.

use crate::prelude::*;

/// `a` with its bits moved up by `b` places, broadcast; zero if that is as many as there are bits,
/// or a negative number.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = left_shift(&Var::scalar(3i64), &Var::scalar(4i64))?;
/// assert_eq!(y.item::<i64>()?, 48);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn left_shift(a: &Var, b: &Var) -> Result<Var> {
    bind1(&LEFT_SHIFT, &[a, b])
}

/// The op behind [`left_shift`].
pub static LEFT_SHIFT: Elementwise =
    Elementwise::binary_flat("left_shift", |a, b| a.shl(b)).domain(Domain::Whole);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "left_shift",
    || (&LEFT_SHIFT).into(),
    || {
        let (a, b) = (i64s(&[3, -5, 1, 1, 7, -1], &[6]), i64s(&[4, 1, 63, 64, -1, 100], &[6]));
        let want = i64s(&[48, -10, i64::MIN, 0, 0, 0], &[6]);
        vec![
            Sample::new(&LEFT_SHIFT, [a, b]).gives([want]),
            Sample::new(&LEFT_SHIFT, [ramp(&[3]), ramp(&[3])]).refused("expected integers"),
            Sample::new(&LEFT_SHIFT, [bools(&[true], &[1]), bools(&[true], &[1])])
                .refused("expected integers"),
        ]
    },
);
