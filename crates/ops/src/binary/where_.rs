//! `where`: a choice, element by element.

use crate::prelude::*;

/// `a` where the condition holds, else `b`, broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[-1.0, 2.0], &[2])?;
/// let y = where_(&gt(&x, &Var::scalar(0.0))?, &x, &Var::scalar(0.0))?;
/// assert_eq!(y.to_vec::<f64>()?, [0.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn where_(condition: &Var, a: &Var, b: &Var) -> Result<Var> {
    bind1(&WHERE, &[condition, a, b])
}

/// The op behind [`where_`].
pub static WHERE: Elementwise = Elementwise::ternary(
    "where",
    |c, a, b| c.select(a, b),
    Keeps::inputs(0b1),
    |p| {
        let zero = zeros_like(&p.dy())?;
        grads![p => None, where_(&p.x(0), &p.dy(), &zero), where_(&p.x(0), &zero, &p.dy())]
    },
)
.domain(Domain::Any)
.masks(0b1)
.complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "where",
    || (&WHERE).into(),
    || {
        let condition = bools(&[true, false, true], &[3]);
        vec![
            Sample::new(&WHERE, [condition.clone(), ramp(&[2, 3]), f64s(&[9.0, 8.0], &[2, 1])])
                .gives_scalar(|x| if x[0] != 0.0 { x[1] } else { x[2] }),
            Sample::new(&WHERE, [ramp(&[3]), ramp(&[3]), ramp(&[3])]).refused("must be bool"),
            Sample::new(&WHERE, [condition, ramp(&[2]), ramp(&[3])]).refused("do not broadcast"),
        ]
    },
);
