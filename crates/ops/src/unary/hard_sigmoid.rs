//! `hard_sigmoid`: a logistic function of straight lines.

use super::abs;
use super::kink::pass_where;
use crate::lt;
use crate::prelude::*;

/// `clip(x + 3, 0, 6) / 6`. Integers become `f32`. Its derivative at the kinks is zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = hard_sigmoid(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hard_sigmoid(x: &Var) -> Result<Var> {
    bind1(&HARD_SIGMOID, &[x])
}

/// The op behind [`hard_sigmoid`].
pub static HARD_SIGMOID: Elementwise = Elementwise::unary(
    "hard_sigmoid",
    |x| (x + 3.0).max(0.0).min(6.0) / 6.0,
    Keeps::INPUTS,
    |p| {
        let inside = lt(&abs(&p.x(0))?, &p.x(0).literal(3.0))?;
        grads![p => pass_where(&inside, &(p.dy() / 6.0))]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "hard_sigmoid",
    || (&HARD_SIGMOID).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| ((x[0] + 3.0) / 6.0).clamp(0.0, 1.0);
        vec![
            Sample::new(&HARD_SIGMOID, [f64s(&[-4.5, -2.0, 0.5, 1.5, 2.75, 3.5], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&HARD_SIGMOID, [f64s(&[-2.0], &[])]).gives_scalar(reference),
        ]
    },
);
