//! Optimizer steps over many parameters at once, in place.
//!
//! All parameters are cut into pieces, which the threads take; each piece goes through one loop that reads
//! and writes every array once. Parameters, gradients and state are `f32` or `f64`, all of one dtype.

use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::lanes::{Parts, run_tasks};
use crate::scalar::float::Float;
use crate::simd::vectorized;

/// Elements that one task updates.
const PIECE: usize = 1 << 15;

/// The settings of a step of Adam.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adam {
    /// The step size.
    pub lr: f64,
    /// How much of the mean of the gradients stays.
    pub beta1: f64,
    /// How much of the mean of their squares stays.
    pub beta2: f64,
    /// Added to the root of the squares.
    pub eps: f64,
    /// The decay of the parameters.
    pub decay: f64,
    /// Whether the decay acts on the parameters themselves (AdamW), not through the gradient.
    pub decoupled: bool,
    /// The number of the step, from 1.
    pub step: u64,
}

/// The settings of gradient descent with momentum.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sgd {
    /// The step size.
    pub lr: f64,
    /// How much of the velocity stays.
    pub momentum: f64,
    /// How much of the gradient does not enter the velocity.
    pub dampening: f64,
    /// The decay of the parameters, through the gradient.
    pub decay: f64,
    /// Whether the step looks ahead by the momentum.
    pub nesterov: bool,
}

/// One step of Adam or AdamW: changes the parameters, and the means of their gradients and squared
/// gradients.
///
/// ```
/// use fluvial_kernels::{Adam, adam};
/// use fluvial_tensor::Tensor;
///
/// let settings =
///     Adam { lr: 0.5, beta1: 0.9, beta2: 0.99, eps: 0.0, decay: 0.0, decoupled: false, step: 1 };
/// let one = |x: f32| [Tensor::from_slice(&[x, x], &[2]).unwrap()];
/// let mut params = one(1.0);
/// adam(&settings, &mut params, &one(3.0), &mut one(0.0), &mut one(0.0))?;
/// assert!((params[0].to_f64s()[0] - 0.5).abs() < 1e-6);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn adam(
    settings: &Adam,
    params: &mut [Tensor],
    grads: &[Tensor],
    means: &mut [Tensor],
    squares: &mut [Tensor],
) -> Result<()> {
    match params.first().map(Tensor::dtype) {
        None => Ok(()),
        Some(DType::F32) => adam_in::<f32>(settings, params, grads, means, squares),
        Some(DType::F64) => adam_in::<f64>(settings, params, grads, means, squares),
        Some(dtype) => Err(Error::dtype(format!("an optimizer step in {dtype}"))),
    }
}

/// One step of gradient descent: changes the parameters and their velocities. In the `first` step the
/// velocity is the gradient.
pub fn sgd(
    settings: &Sgd,
    first: bool,
    params: &mut [Tensor],
    grads: &[Tensor],
    velocities: &mut [Tensor],
) -> Result<()> {
    match params.first().map(Tensor::dtype) {
        None => Ok(()),
        Some(DType::F32) => sgd_in::<f32>(settings, first, params, grads, velocities),
        Some(DType::F64) => sgd_in::<f64>(settings, first, params, grads, velocities),
        Some(dtype) => Err(Error::dtype(format!("an optimizer step in {dtype}"))),
    }
}

/// The elements of each tensor, to be written in parts.
fn writable<C: Float>(tensors: &mut [Tensor]) -> Result<Vec<Parts<'_, C>>> {
    tensors.iter_mut().map(|tensor| Ok(Parts::new(tensor.as_mut_slice::<C>()?))).collect()
}

/// The pieces of all parameters: the number of the parameter, and the first element.
fn pieces<C: Float>(params: &[Parts<'_, C>]) -> Vec<(usize, usize)> {
    let starts = |(i, param): (usize, &Parts<'_, C>)| {
        (0..param.len()).step_by(PIECE).map(move |start| (i, start))
    };
    params.iter().enumerate().flat_map(starts).collect()
}

fn check<C: Float>(params: &[Parts<'_, C>], others: [&[usize]; 2]) -> Result<()> {
    let sizes = params.iter().map(Parts::len);
    if others.iter().all(|other| sizes.clone().eq(other.iter().copied())) {
        return Ok(());
    }
    Err(Error::shape("parameters, gradients and state differ in number or size"))
}

fn packed(grads: &[Tensor]) -> Result<Vec<Tensor>> {
    grads.iter().map(Tensor::contiguous).collect()
}

fn sizes<C>(parts: &[Parts<'_, C>]) -> Vec<usize> {
    parts.iter().map(Parts::len).collect()
}

fn adam_in<C: Float>(
    settings: &Adam,
    params: &mut [Tensor],
    grads: &[Tensor],
    means: &mut [Tensor],
    squares: &mut [Tensor],
) -> Result<()> {
    let grads = packed(grads)?;
    let grads: Vec<&[C]> =
        grads.iter().map(crate::softmax::elements::<C>).collect::<Result<_>>()?;
    let (params, means, squares) =
        (writable::<C>(params)?, writable::<C>(means)?, writable::<C>(squares)?);
    check(&params, [&sizes(&means), &sizes(&squares)])?;
    check(&params, [&grads.iter().map(|grad| grad.len()).collect::<Vec<_>>(), &sizes(&params)])?;
    let Adam { lr, beta1, beta2, eps, decay, decoupled, step } = *settings;
    let step = i32::try_from(step.max(1)).unwrap_or(i32::MAX);
    let number = |x: f64| C::from_f64(x);
    let (rate, root) = (lr / (1.0 - beta1.powi(step)), 1.0 / (1.0 - beta2.powi(step)).sqrt());
    let keep = number(if decoupled { 1.0 - lr * decay } else { 1.0 });
    let pull = number(if decoupled { 0.0 } else { decay });
    let (rate, root, eps) = (number(rate), number(root), number(eps));
    let (stay1, new1) = (number(beta1), number(1.0 - beta1));
    let (stay2, new2) = (number(beta2), number(1.0 - beta2));
    let pieces = pieces(&params);
    run_tasks(pieces.len(), |task| {
        let (i, start) = pieces[task];
        let range = start..params[i].len().min(start + PIECE);
        let grad = &grads[i][range.clone()];
        // SAFETY: each piece belongs to one task.
        let (param, mean, square) = unsafe {
            (params[i].get(range.clone()), means[i].get(range.clone()), squares[i].get(range))
        };
        vectorized(
            #[inline(always)]
            || {
                let state = mean.iter_mut().zip(square);
                for ((param, &grad), (mean, square)) in param.iter_mut().zip(grad).zip(state) {
                    let grad = grad + *param * pull;
                    let new_mean = *mean * stay1 + grad * new1;
                    let new_square = *square * stay2 + grad * grad * new2;
                    *mean = new_mean;
                    *square = new_square;
                    let size = new_square.sqrt() * root + eps;
                    *param = *param * keep - new_mean * rate / size;
                }
            },
        );
        Ok(())
    })
}

fn sgd_in<C: Float>(
    settings: &Sgd,
    first: bool,
    params: &mut [Tensor],
    grads: &[Tensor],
    velocities: &mut [Tensor],
) -> Result<()> {
    let grads = packed(grads)?;
    let grads: Vec<&[C]> =
        grads.iter().map(crate::softmax::elements::<C>).collect::<Result<_>>()?;
    let (params, velocities) = (writable::<C>(params)?, writable::<C>(velocities)?);
    let grad_sizes: Vec<usize> = grads.iter().map(|grad| grad.len()).collect();
    check(&params, [&sizes(&velocities), &grad_sizes])?;
    let Sgd { lr, momentum, dampening, decay, nesterov } = *settings;
    let [lr, decay, ahead] =
        [lr, decay, if nesterov { momentum } else { 0.0 }].map(|x| C::from_f64(x));
    let stay = C::from_f64(if first { 0.0 } else { momentum });
    let new = C::from_f64(if first { 1.0 } else { 1.0 - dampening });
    let pieces = pieces(&params);
    run_tasks(pieces.len(), |task| {
        let (i, start) = pieces[task];
        let range = start..params[i].len().min(start + PIECE);
        let grad = &grads[i][range.clone()];
        // SAFETY: each piece belongs to one task.
        let (param, velocity) = unsafe { (params[i].get(range.clone()), velocities[i].get(range)) };
        vectorized(
            #[inline(always)]
            || {
                for ((param, &grad), velocity) in param.iter_mut().zip(grad).zip(velocity) {
                    let grad = grad + *param * decay;
                    let speed = *velocity * stay + grad * new;
                    *velocity = speed;
                    let step = if nesterov { grad + speed * ahead } else { speed };
                    *param = *param - step * lr;
                }
            },
        );
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn several_steps_are_those_of_the_formulas() {
        let mut rng = Rng::new(1);
        let sizes = [1, 7, 33, PIECE + 5];
        for (decoupled, nesterov) in [(false, false), (true, true)] {
            let mut draw = || sizes.map(|n| rng.tensor(DType::F64, &[n]));
            let (mut params, grads) = (draw(), draw());
            let zeros = || sizes.map(|n| Tensor::zeros(DType::F64, &[n]).unwrap());
            let (mut means, mut squares, mut velocities) = (zeros(), zeros(), zeros());
            let mut other = params.clone();
            let want: Vec<f64> = params.iter().flat_map(Tensor::to_f64s).collect();
            let g: Vec<f64> = grads.iter().flat_map(Tensor::to_f64s).collect();
            let (mut want, mut sgd_want) = (want.clone(), want);
            let (mut m, mut s, mut v) =
                (vec![0.0; g.len()], vec![0.0; g.len()], vec![0.0; g.len()]);
            for step in 1..4 {
                let settings = Adam {
                    lr: 0.1,
                    beta1: 0.9,
                    beta2: 0.99,
                    eps: 1e-3,
                    decay: 0.2,
                    decoupled,
                    step,
                };
                adam(&settings, &mut params, &grads, &mut means, &mut squares).unwrap();
                let plain = Sgd { lr: 0.1, momentum: 0.9, dampening: 0.3, decay: 0.2, nesterov };
                sgd(&plain, step == 1, &mut other, &grads, &mut velocities).unwrap();
                for i in 0..g.len() {
                    let mut grad = g[i];
                    if decoupled {
                        want[i] *= 1.0 - 0.1 * 0.2;
                    } else {
                        grad += 0.2 * want[i];
                    }
                    m[i] = 0.9 * m[i] + (1.0 - 0.9) * grad;
                    s[i] = 0.99 * s[i] + (1.0 - 0.99) * grad * grad;
                    let mean = m[i] / (1.0 - 0.9f64.powi(step as i32));
                    let root = (s[i] / (1.0 - 0.99f64.powi(step as i32))).sqrt();
                    want[i] -= 0.1 * mean / (root + 1e-3);
                    let grad = g[i] + 0.2 * sgd_want[i];
                    v[i] = if step == 1 { grad } else { 0.9 * v[i] + (1.0 - 0.3) * grad };
                    sgd_want[i] -= 0.1 * if nesterov { grad + 0.9 * v[i] } else { v[i] };
                }
            }
            for (found, want) in [(&params, want), (&other, sgd_want)] {
                let found = found.iter().flat_map(Tensor::to_f64s);
                assert!(found.zip(want).all(|(a, b)| (a - b).abs() < 1e-9));
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads_or_instructions() {
        let mut rng = Rng::new(2);
        let start = [rng.tensor(DType::F32, &[100_003]), rng.tensor(DType::F32, &[17])];
        let settings = Adam {
            lr: 1e-3,
            beta1: 0.9,
            beta2: 0.99,
            eps: 1e-8,
            decay: 0.0,
            decoupled: false,
            step: 3,
        };
        let run = || {
            let (mut params, mut means) = (start.clone(), start.clone());
            let mut squares = start.clone().map(|x| x.expand(x.dims()).unwrap());
            squares.iter_mut().for_each(|x| {
                x.as_mut_slice::<f32>().unwrap().iter_mut().for_each(|x| *x = x.abs());
            });
            adam(&settings, &mut params, &start, &mut means, &mut squares).unwrap();
            params
        };
        let want = run();
        for level in crate::simd::Level::ALL {
            let _forced = crate::simd::force(level);
            for threads in [1, 2, 3, 8] {
                crate::threads::set_count(threads);
                assert!(run().iter().zip(&want).all(|(a, b)| a.bitwise_eq(b)));
            }
        }
    }

    #[test]
    fn faults() {
        let x = || [Tensor::zeros(DType::F32, &[3]).unwrap()];
        let settings = Sgd { lr: 0.1, momentum: 0.0, dampening: 0.0, decay: 0.0, nesterov: false };
        let two = [Tensor::zeros(DType::F32, &[2]).unwrap()];
        assert!(sgd(&settings, true, &mut x(), &two, &mut x()).is_err());
        assert!(sgd(&settings, true, &mut x(), &[], &mut x()).is_err());
        assert!(sgd(&settings, true, &mut [], &[], &mut []).is_ok());
        let whole = || [Tensor::zeros(DType::I64, &[3]).unwrap()];
        assert!(sgd(&settings, true, &mut whole(), &whole(), &mut whole()).is_err());
    }
}
