//! `right_shift`: bits moved down.

use crate::prelude::*;

/// `a` with its bits moved down by `b` places and its sign kept, broadcast; zero or -1 if that is
/// as many as there are bits, or a negative number.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = right_shift(&Var::scalar(-48i64), &Var::scalar(4i64))?;
/// assert_eq!(y.item::<i64>()?, -3);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn right_shift(a: &Var, b: &Var) -> Result<Var> {
    bind1(&RIGHT_SHIFT, &[a, b])
}

/// The op behind [`right_shift`].
pub static RIGHT_SHIFT: Elementwise =
    Elementwise::binary_flat("right_shift", |a, b| a.shr(b)).domain(Domain::Whole);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "right_shift",
    || (&RIGHT_SHIFT).into(),
    || {
        let (a, b) =
            (i64s(&[48, -5, i64::MIN, 9, -9, -1], &[6]), i64s(&[4, 1, 63, 64, -1, 100], &[6]));
        let want = i64s(&[3, -3, -1, 0, -1, -1], &[6]);
        vec![
            Sample::new(&RIGHT_SHIFT, [a, b]).gives([want]),
            Sample::new(&RIGHT_SHIFT, [ramp(&[3]), ramp(&[3])]).refused("expected integers"),
        ]
    },
);
