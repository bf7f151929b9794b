//! Gradients against finite differences.

use fluvial_core::{GradOptions, Result, Tensor, Value, Var, no_grad, structural, vjp};
use fluvial_ops::{list_pop, sum};

use crate::check::{Check, Context, ensure, flatten, has_gradient, unflatten};
use crate::modes::Modes;
use crate::random::Rng;

/// The distance at which differences are taken.
const STEP: f64 = 1e-4;
/// Up to so many numbers are moved one by one, more of them together in random directions.
const MAX_SINGLE: usize = 10;
const N_DIRECTIONS: usize = 5;

/// Checks the gradient of `f`, on the tape, against differences; panics with both if they differ.
///
/// The inputs must be `f64`, and `f` smooth around them. A value that is not a scalar is judged by
/// its [`energy`].
///
/// ```
/// use fluvial_core::Tensor;
/// use fluvial_testkit::gradcheck;
///
/// gradcheck(|x| fluvial_ops::exp(&x[0]), &[Tensor::scalar(0.5f64)]);
/// ```
#[track_caller]
pub fn gradcheck(f: impl Fn(&[Var]) -> Result<Var>, inputs: &[Tensor]) {
    let modes = Modes::of(|x| Ok(vec![f(x)?])).order(1);
    if let Err(failure) = modes.differences(&values(inputs)) {
        panic!("{failure}");
    }
}

/// Checks the gradient and the gradient of the gradient of `f`, on the tape, against differences;
/// panics with both if they differ.
#[track_caller]
pub fn gradgradcheck(f: impl Fn(&[Var]) -> Result<Var>, inputs: &[Tensor]) {
    let modes = Modes::of(|x| Ok(vec![f(x)?])).order(2);
    if let Err(failure) = modes.differences(&values(inputs)) {
        panic!("{failure}");
    }
}

/// The tensors as values.
pub(crate) fn values(tensors: &[Tensor]) -> Vec<Value> {
    tensors.iter().cloned().map(Value::from).collect()
}

/// The sum of `x * x + x` over all floats of the values: a scalar whose derivative differs from
/// element to element, so that a cotangent that went astray shows. Nothing if there are no floats.
///
/// `like` are concrete values of the same kind; they tell how long lists are.
pub fn energy(vars: &[Var], like: &[Value]) -> Result<Option<Var>> {
    let mut total: Option<Var> = None;
    for (var, like) in vars.iter().zip(like) {
        if !has_gradient(&var.ty()) {
            continue;
        }
        let part = match like {
            // Of a complex number the square of its size, and both parts, of different weights.
            Value::Tensor(_) | Value::Device(_) if var.ty().dtype().is_complex() => {
                let (re, im) = (structural::real(var)?, structural::imag(var)?);
                Some(sum(&(&re * &re + &im * &im + &re - 0.5 * &im), &[], false)?)
            }
            Value::Tensor(_) | Value::Device(_) => Some(sum(&(var * var + var), &[], false)?),
            Value::List(list) => {
                let mut rest = var.clone();
                let mut items = Vec::new();
                for _ in 0..list.len() {
                    let (below, top) = list_pop(&rest)?;
                    rest = below;
                    items.push(top);
                }
                energy(&items, &list.iter().cloned().collect::<Vec<_>>())?
            }
            Value::Channel(_) => None,
        };
        total = match (total, part) {
            (Some(total), Some(part)) => Some((total + part).check()?),
            (total, part) => total.or(part),
        };
    }
    Ok(total)
}

/// The gradients of `loss`, zeros where it does not depend on the values; both modes.
pub fn gradients(loss: Option<&Var>, wrt: &[&Var], options: GradOptions) -> Result<Vec<Var>> {
    let zeros = |var: &&Var| {
        let _untracked = no_grad();
        structural::zeros_like(var)
    };
    match loss {
        Some(loss) if loss.is_symbolic() || loss.is_tracked() => {
            let found = vjp(&[loss], &[None], wrt, options)?;
            found
                .into_iter()
                .zip(wrt)
                .map(|(found, var)| found.map_or_else(|| zeros(var), Ok))
                .collect()
        }
        _ => wrt.iter().map(zeros).collect(),
    }
}

/// Checks `gradients`, one for each float of `at`, against differences of `f`.
pub(crate) fn compare(
    f: &dyn Fn(&[Value]) -> Check<f64>,
    at: &[Value],
    gradients: &[Value],
) -> Check {
    let is_float = |value: &&Value| has_gradient(&value.ty());
    let numbers: Vec<f64> = at.iter().filter(is_float).flat_map(flatten).collect();
    let slopes: Vec<f64> = gradients.iter().flat_map(flatten).collect();
    ensure(numbers.len() == slopes.len(), || {
        format!("a gradient of {} numbers for {}", slopes.len(), numbers.len())
    })?;
    let moved = |direction: &[f64], distance: f64| -> Check<f64> {
        let mut numbers = numbers.iter().zip(direction).map(|(x, d)| x + d * distance);
        let place = |value: &Value| match has_gradient(&value.ty()) {
            true => unflatten(value, &mut numbers),
            false => Ok(value.clone()),
        };
        f(&at.iter().map(place).collect::<Result<Vec<_>>>()?)
    };
    for direction in directions(numbers.len()) {
        let slope: f64 = slopes.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let central = |distance: f64| -> Check<f64> {
            let (up, down) = (moved(&direction, distance)?, moved(&direction, -distance)?);
            Ok((up - down) / (2.0 * distance))
        };
        // Two steps cancel the error of second order.
        let difference = (4.0 * central(STEP / 2.0)? - central(STEP)?) / 3.0;
        let tolerance = 1e-7 * (1.0 + slope.abs()) + 1e-10 * moved(&direction, 0.0)?.abs();
        ensure((difference - slope).abs() <= tolerance, || {
            format!(
                "in the direction {direction:?}\n  differences say {difference}\n  \
                 the gradient says {slope}\n  at {numbers:?}\n  gradient {slopes:?}"
            )
        })
        .context("gradient against differences")?;
    }
    Ok(())
}

fn directions(n: usize) -> Vec<Vec<f64>> {
    let mut rng = Rng::new(n as u64);
    match n <= MAX_SINGLE {
        true => (0..n).map(|i| (0..n).map(|j| f64::from(i == j)).collect()).collect(),
        false => {
            (0..N_DIRECTIONS).map(|_| (0..n).map(|_| rng.between(-1.0, 1.0)).collect()).collect()
        }
    }
}
