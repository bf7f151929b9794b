//! `logical_and`: conjunction.

use crate::prelude::*;

/// Whether both elements are true, or not zero, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = logical_and(&Var::scalar(true), &Var::scalar(false))?;
/// assert!(!y.item::<bool>()?);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn logical_and(a: &Var, b: &Var) -> Result<Var> {
    bind1(&LOGICAL_AND, &[a, b])
}

/// The op behind [`logical_and`].
pub static LOGICAL_AND: Elementwise = Elementwise::binary_flat("logical_and", |a, b| a.and(b))
    .domain(Domain::Any)
    .gives_bool()
    .complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "logical_and",
    || (&LOGICAL_AND).into(),
    || {
        let (a, b) =
            (bools(&[true, true, false, false], &[4]), bools(&[true, false, true, false], &[4]));
        vec![
            Sample::new(&LOGICAL_AND, [a, b]).gives([bools(&[true, false, false, false], &[4])]),
            Sample::new(&LOGICAL_AND, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
