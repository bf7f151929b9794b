//! `polygamma`: the derivatives of `digamma`.

use crate::prelude::*;

/// The derivative of order `n` of [`digamma`](crate::digamma), for `n` up to 100. Integers become
/// `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = polygamma(1, &Var::scalar(1.0f64))?;
/// let expected = std::f64::consts::PI.powi(2) / 6.0;
/// assert!((y.item::<f64>()? - expected).abs() < 1e-14);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn polygamma(n: usize, x: &Var) -> Result<Var> {
    bind1(POLYGAMMA.with(&[n as f64]), &[x])
}

/// The op behind [`polygamma`].
pub static POLYGAMMA: Parametric = Parametric::unary(
    "polygamma",
    &["n"],
    |x, p| p[0].polygamma(x),
    Keeps::INPUTS,
    |p| {
        let n = p.op::<ParametricOp>()?.number(0);
        grads![p => p.dy() * bind1(POLYGAMMA.with(&[n + 1.0]), &[&p.x(0)])?]
    },
)
.domain(Domain::Float)
.checked(|numbers, _| match numbers[0].fract() == 0.0 && (0.0..=100.0).contains(&numbers[0]) {
    true => Ok(()),
    false => Err(Error::argument(format!("{} is not an order from 0 to 100", numbers[0]))),
});

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(
    "polygamma",
    |attrs| POLYGAMMA.build(attrs),
    || {
        let x = [0.75, 1.5, 2.25, 6.5];
        let first = f64s(
            &[2.5418796476716063, 0.9348022005446793, 0.5573291545071107, 0.16628453574995825],
            &[4],
        );
        let second = f64s(
            &[-5.3026332163376395, -0.82879664423432, -0.30373993753692036, -0.0275879107068768],
            &[4],
        );
        vec![
            Sample::new(POLYGAMMA.with(&[1.0]), [f64s(&x, &[4])]).gives([first]),
            Sample::new(POLYGAMMA.with(&[2.0]), [f64s(&x, &[4])]).gives([second]),
            Sample::new(POLYGAMMA.with(&[0.5]), [ramp(&[2])]).refused("is not an order"),
        ]
    },
);
