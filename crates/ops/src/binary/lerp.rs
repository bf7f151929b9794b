//! `lerp`: between two.

use crate::prelude::*;
use crate::{abs, lt, where_};

/// `a + weight * (b - a)`, broadcast: `a` where the weight is 0, and exactly `b` where it is 1.
/// Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = lerp(&Var::scalar(1.0f64), &Var::scalar(3.0f64), &Var::scalar(0.25f64))?;
/// assert_eq!(y.item::<f64>()?, 1.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lerp(a: &Var, b: &Var, weight: &Var) -> Result<Var> {
    if ![a, b, weight].iter().any(|x| x.dtype().is_complex()) {
        return bind1(&LERP, &[a, b, weight]);
    }
    let _line = at(scope::user_line());
    let way = sub(b, a)?;
    let near = lt(&abs(weight)?, &abs(weight)?.literal(0.5))?;
    let rest = sub(&weight.literal(1.0), weight)?;
    where_(&near, &add(a, &mul(weight, &way)?)?, &sub(b, &mul(&way, &rest)?)?)
}

/// The op behind [`lerp`].
pub static LERP: Elementwise = Elementwise::ternary(
    "lerp",
    |a, b, weight| {
        let way = b - a;
        weight.lt(0.5).select(a + weight * way, b - way * (1.0 - weight))
    },
    Keeps::INPUTS,
    |p| {
        grads![p =>
            p.dy() * (1.0 - p.x(2)),
            p.dy() * p.x(2),
            p.dy() * (p.x(1) - p.x(0)),
        ]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "lerp",
    || (&LERP).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0] + x[2] * (x[1] - x[0]);
        let (a, b) = (ramp(&[2, 3]), f64s(&[2.0, -0.25, 1.5], &[3]));
        let weight = f64s(&[0.25, 0.875], &[2, 1]);
        vec![
            Sample::new(&LERP, [a.clone(), b.clone(), weight]).gives_scalar(reference),
            Sample::new(&LERP, [a, b, f64s(&[-0.5], &[])]).gives_scalar(reference),
            Sample::new(&LERP, [ramp(&[3]), ramp(&[2]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
