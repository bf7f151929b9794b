//! `hard_swish`: a swish of straight lines and a parabola.

use super::kink::pass_where;
use crate::prelude::*;
use crate::{gt, lt, where_};

/// `x * clip(x + 3, 0, 6) / 6`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = hard_swish(&Var::scalar(3.0f64))?;
/// assert_eq!(y.item::<f64>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hard_swish(x: &Var) -> Result<Var> {
    bind1(&HARD_SWISH, &[x])
}

/// The op behind [`hard_swish`].
pub static HARD_SWISH: Elementwise = Elementwise::unary(
    "hard_swish",
    |x| x.ge(3.0).select(x, x * (x + 3.0).max(0.0) / 6.0),
    Keeps::INPUTS,
    |p| {
        let x = p.x(0);
        let slope = where_(&lt(&x, &x.literal(3.0))?, &(&x / 3.0 + 0.5), &x.literal(1.0))?;
        grads![p => pass_where(&gt(&x, &x.literal(-3.0))?, &(p.dy() * slope))]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "hard_swish",
    || (&HARD_SWISH).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0] * ((x[0] + 3.0) / 6.0).clamp(0.0, 1.0);
        vec![
            Sample::new(&HARD_SWISH, [f64s(&[-4.5, -2.0, 0.5, 1.5, 2.75, 3.5], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&HARD_SWISH, [f64s(&[-2.0], &[])]).gives_scalar(reference),
        ]
    },
);
