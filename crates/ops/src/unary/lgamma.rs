//! `lgamma`: the logarithm of the gamma function.

use super::digamma;
use crate::prelude::*;

/// The logarithm of the absolute value of the gamma function; infinite at zero and at negative
/// whole numbers. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = lgamma(&Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lgamma(x: &Var) -> Result<Var> {
    bind1(&LGAMMA, &[x])
}

/// The op behind [`lgamma`].
pub static LGAMMA: Elementwise = Elementwise::unary(
    "lgamma",
    |x| x.lgamma(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() * digamma(&p.x(0))?],
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "lgamma",
    || (&LGAMMA).into(),
    || {
        let x = f64s(&[0.25, 0.75, 1.5, 2.25, 6.5, -1.75], &[2, 3]);
        let want = f64s(
            &[
                1.2880225246980774,
                0.20328095143129538,
                -0.12078223763524522,
                0.1248717148923966,
                5.662562059857142,
                1.0160888092144358,
            ],
            &[2, 3],
        );
        vec![Sample::new(&LGAMMA, [x]).gives([want])]
    },
);
