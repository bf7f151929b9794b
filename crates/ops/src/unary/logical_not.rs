//! `logical_not`: the negation.

use crate::prelude::*;

/// Whether the element is zero, or false.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = logical_not(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<bool>()?, true);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn logical_not(x: &Var) -> Result<Var> {
    bind1(&LOGICAL_NOT, &[x])
}

/// The op behind [`logical_not`].
pub static LOGICAL_NOT: Elementwise =
    Elementwise::unary_flat("logical_not", |x| x.not()).domain(Domain::Any).gives_bool().complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "logical_not",
    || (&LOGICAL_NOT).into(),
    || {
        vec![
            Sample::new(&LOGICAL_NOT, [bools(&[true, false], &[2])])
                .gives([bools(&[false, true], &[2])]),
            Sample::new(&LOGICAL_NOT, [f64s(&[0.0, -3.0], &[2])])
                .gives([bools(&[true, false], &[2])]),
        ]
    },
);
