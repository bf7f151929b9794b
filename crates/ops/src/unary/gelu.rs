//! `gelu`: a Gaussian error linear unit, in both forms.

use std::f64::consts::FRAC_1_SQRT_2;

use super::{erfc, exp, sigmoid, square};
use crate::prelude::*;

/// `x` times the chance that a normal number is below `x`: `x * (1 + erf(x / sqrt(2))) / 2`, or with
/// `tanh_form` the approximation `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2`. Integers
/// become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::scalar(1.0f64);
/// assert!((gelu(&x, false)?.item::<f64>()? - 0.8413447460685429).abs() < 1e-15);
/// assert!((gelu(&x, true)?.item::<f64>()? - 0.8411919906082768).abs() < 1e-15);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gelu(x: &Var, tanh_form: bool) -> Result<Var> {
    bind1(if tanh_form { &GELU_TANH } else { &GELU }, &[x])
}

/// The density of the normal distribution at zero.
const DENSITY: f64 = 0.3989422804014327;
/// 2 sqrt(2 / pi)
const STEEPNESS: f64 = 1.5957691216057308;
/// The factor of the cubic term.
const CUBIC: f64 = 0.044715;

/// The op behind [`gelu`].
pub static GELU: Elementwise = Elementwise::unary(
    "gelu",
    |x| x.gelu(),
    Keeps::INPUTS,
    |p| {
        let x = p.x(0);
        let chance = erfc(&(&x * -FRAC_1_SQRT_2))? * 0.5;
        let density = exp(&(square(&x)? * -0.5))? * DENSITY;
        grads![p => p.dy() * (chance + x * density)]
    },
)
.domain(Domain::Float);

/// The op behind the other form of [`gelu`].
pub static GELU_TANH: Elementwise = Elementwise::unary(
    "gelu_tanh",
    |x| x.gelu_tanh(),
    Keeps::INPUTS,
    |p| {
        let (x, squared) = (p.x(0), square(&p.x(0))?);
        let gate = sigmoid(&(&x * (&squared * (STEEPNESS * CUBIC) + STEEPNESS)))?;
        let slope = squared * (3.0 * STEEPNESS * CUBIC) + STEEPNESS;
        grads![p => p.dy() * &gate * (x * (1.0 - &gate) * slope + 1.0)]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "gelu",
    || (&GELU).into(),
    || {
        let x = f64s(&[-2.5, -0.75, 0.125, 1.0, 3.0], &[5]);
        let want = [
            -0.015524163314440337,
            -0.16997051428265114,
            0.06871727810376412,
            0.8413447460685429,
            2.99595030590511,
        ];
        vec![Sample::new(&GELU, [x]).gives([f64s(&want, &[5])])]
    },
);

/// The same of the other form.
pub const TANH_DEF: OpDef = OpDef::fixed(
    "gelu_tanh",
    || (&GELU_TANH).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| {
            let argument = STEEPNESS / 2.0 * (x[0] + CUBIC * x[0].powi(3));
            0.5 * x[0] * (1.0 + argument.tanh())
        };
        vec![
            Sample::new(&GELU_TANH, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&GELU_TANH, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
