//! `digamma`: the derivative of `lgamma`.

use super::polygamma;
use crate::prelude::*;

/// The derivative of [`lgamma`](crate::lgamma); NaN at negative whole numbers. Integers become
/// `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = digamma(&Var::scalar(2.0f64))?;
/// assert!((y.item::<f64>()? - 0.42278433509846713).abs() < 1e-15);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn digamma(x: &Var) -> Result<Var> {
    bind1(&DIGAMMA, &[x])
}

/// The op behind [`digamma`].
pub static DIGAMMA: Elementwise = Elementwise::unary(
    "digamma",
    |x| x.digamma(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() * polygamma(1, &p.x(0))?],
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "digamma",
    || (&DIGAMMA).into(),
    || {
        let x = f64s(&[0.25, 0.75, 1.5, 2.25, 6.5, -1.75], &[2, 3]);
        let want = f64s(
            &[
                -4.2274535333762655,
                -1.0858608797864722,
                0.03648997397857652,
                0.5725464666237345,
                1.792911330399933,
                -2.322691628614361,
            ],
            &[2, 3],
        );
        vec![Sample::new(&DIGAMMA, [x]).gives([want])]
    },
);
