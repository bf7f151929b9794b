//! `relu`: the positive part.

use super::kink::pass_where;
use crate::gt;
use crate::prelude::*;

/// The positive part, `max(x, 0)`. Its derivative at zero is zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = relu(&Var::scalar(-1.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn relu(x: &Var) -> Result<Var> {
    bind1(&RELU, &[x])
}

/// The op behind [`relu`].
pub static RELU: Elementwise = Elementwise::unary(
    "relu",
    |x| x.max(0.0),
    Keeps::OUTPUTS,
    |p| grads![p => pass_where(&gt(&p.y(0), &p.y(0).literal(0.0))?, &p.dy())],
);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "relu",
    || (&RELU).into(),
    || {
        vec![
            Sample::new(&RELU, [ramp(&[2, 3])]).gives_scalar(|x| x[0].max(0.0)),
            Sample::new(&RELU, [f64s(&[0.3], &[])]).gives_scalar(|x| x[0].max(0.0)),
        ]
    },
);
