//! `log`: the natural logarithm.

use crate::prelude::*;

/// The natural logarithm. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = log(&Var::scalar(1.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn log(x: &Var) -> Result<Var> {
    bind1(&LOG, &[x])
}

/// The op behind [`log`].
pub static LOG: Elementwise =
    Elementwise::unary("log", |x| x.log(), Keeps::INPUTS, |p| grads![p => p.dy() / p.x(0)])
        .domain(Domain::Float)
        .analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "log",
    || (&LOG).into(),
    || {
        let x = f64s(&[0.1, 0.5, 1.0, 2.5, 7.0, 30.0], &[2, 3]);
        vec![Sample::new(&LOG, [x]).gives_scalar(|x| x[0].ln())]
    },
);
