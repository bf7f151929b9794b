//! `logical_or`: disjunction.

use crate::prelude::*;

/// Whether one at least of two elements is true, or not zero, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = logical_or(&Var::scalar(true), &Var::scalar(false))?;
/// assert!(y.item::<bool>()?);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn logical_or(a: &Var, b: &Var) -> Result<Var> {
    bind1(&LOGICAL_OR, &[a, b])
}

/// The op behind [`logical_or`].
pub static LOGICAL_OR: Elementwise = Elementwise::binary_flat("logical_or", |a, b| a.or(b))
    .domain(Domain::Any)
    .gives_bool()
    .complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "logical_or",
    || (&LOGICAL_OR).into(),
    || {
        let (a, b) =
            (bools(&[true, true, false, false], &[4]), bools(&[true, false, true, false], &[4]));
        vec![
            Sample::new(&LOGICAL_OR, [a, b]).gives([bools(&[true, true, true, false], &[4])]),
            Sample::new(&LOGICAL_OR, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
