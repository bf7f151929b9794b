//! `logical_xor`: exclusive disjunction.

use crate::prelude::*;

/// Whether exactly one of two elements is true, or not zero, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = logical_xor(&Var::scalar(true), &Var::scalar(false))?;
/// assert!(y.item::<bool>()?);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn logical_xor(a: &Var, b: &Var) -> Result<Var> {
    bind1(&LOGICAL_XOR, &[a, b])
}

/// The op behind [`logical_xor`].
pub static LOGICAL_XOR: Elementwise = Elementwise::binary_flat("logical_xor", |a, b| a.xor(b))
    .domain(Domain::Any)
    .gives_bool()
    .complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "logical_xor",
    || (&LOGICAL_XOR).into(),
    || {
        let (a, b) =
            (bools(&[true, true, false, false], &[4]), bools(&[true, false, true, false], &[4]));
        vec![
            Sample::new(&LOGICAL_XOR, [a, b]).gives([bools(&[false, true, true, false], &[4])]),
            Sample::new(&LOGICAL_XOR, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
