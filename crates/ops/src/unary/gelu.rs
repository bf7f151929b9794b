//! `gelu`: a Gaussian error linear unit, in both forms.

use std::f64::consts::FRAC_1_SQRT_2;

use super::erf::ERF;
use super::tanh::TANH;
use super::{erfc, exp, sigmoid, square};
use crate::prelude::*;
use crate::reading::{inputs_of, one_call, plus_one, product};

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

/// `x * (1 + erf(x / sqrt(2))) / 2` and `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2`, with the
/// factors in any order.
pub(crate) const FORM: Form = Form { name: "gelu", ends: &["mul", "div"], find: spelled };

fn spelled(look: &mut Look<'_>, call: &Call) -> Option<Found> {
    let inputs = &call.inputs[..];
    let factors = |look: &mut Look<'_>, known: &[ValueId]| match inputs_of(call, MUL.name()) {
        Some(_) => {
            let both = [inputs[0], inputs[1]].map(|input| product(look, input, known, 3));
            Some((both[0].0 * both[1].0, [&both[0].1[..], &both[1].1[..]].concat()))
        }
        None => {
            let (number, factors) = product(look, inputs[0], known, 3);
            Some((number / look.number(inputs[1])?, factors))
        }
    };
    let mut all = Vec::new();
    look.attempt(|look| {
        all = factors(look, &[])?.1;
        None::<()>
    });
    let (gate, x, op) = all.into_iter().find_map(|gate| {
        look.attempt(|look| {
            let inner = plus_one(look, gate)?;
            let by_erf = look.attempt(|look| {
                let inner = look.input(inner, ERF.name())?;
                scaled(look, inner, FRAC_1_SQRT_2)
            });
            match by_erf {
                Some(x) => Some((gate, x, &GELU)),
                None => {
                    let inner = look.input(inner, TANH.name())?;
                    let sum = scaled(look, inner, STEEPNESS / 2.0)?;
                    Some((gate, with_cube(look, sum)?, &GELU_TANH))
                }
            }
        })
    })?;
    let (number, found) = factors(look, &[x, gate])?;
    let fits = number == 0.5 && (found[..] == [x, gate] || found[..] == [gate, x]);
    fits.then(|| one_call(op, &[x]))?
}

/// `x` of `x` times this number.
fn scaled(look: &mut Look<'_>, value: ValueId, by: f64) -> Option<ValueId> {
    let (number, factors) = product(look, value, &[], 1);
    match factors[..] {
        [x] if look.is_near(value, number, by) => Some(x),
        _ => None,
    }
}

/// `x` of `x + 0.044715 * x^3`.
fn with_cube(look: &mut Look<'_>, value: ValueId) -> Option<ValueId> {
    let inputs = look.inputs(value, ADD.name())?;
    look.either(&inputs, |look, x, cube| {
        let (number, factors) = product(look, cube, &[x], 4);
        let fits = look.is_near(cube, number, CUBIC) && factors == [x; 3];
        fits.then_some(x)
    })
}

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
