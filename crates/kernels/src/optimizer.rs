//! Optimizer steps over many parameters at once, in place.
//!
//! All parameters are cut into pieces, which the threads take; each piece goes through one loop that reads
//! and writes every array once. Parameters, gradients and state are `f32` or `f64`, all of one dtype.

use std::ops::Range;

use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::lanes::{Parts, prefetch, prefetch_to_write, run_tasks};
use crate::scalar::float::{Float, larger};
use crate::simd::vectorized;
use crate::softmax::elements;

/// Elements that one task updates.
const PIECE: usize = 1 << 15;

/// Elements that are updated between requests for those to come, and how far ahead these are.
const STEP: usize = 128;
const AHEAD: usize = 1024;

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
/// The formulas are those of the optimizer `Adam`, operation by operation and rounded alike, so a step
/// has the bits of the same step made of single ops:
/// `m = m * beta1 + g * (1 - beta1)`, `v = v * beta2 + g * g * (1 - beta2)`,
/// `w = w - lr / (1 - beta1^t) * (m / (sqrt(v) / sqrt(1 - beta2^t) + eps))`; before it
/// `g = g + w * decay`, or `w = w * (1 - lr * decay)` if the decay is decoupled.
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
    match dtype_of(params)? {
        DType::F64 => adam_in::<f64>(settings, params, grads, [means, squares, &mut []]),
        _ => adam_in::<f32>(settings, params, grads, [means, squares, &mut []]),
    }
}

/// [`adam`] that divides by the largest mean of squares so far, which it keeps in `maxima`.
pub fn amsgrad(
    settings: &Adam,
    params: &mut [Tensor],
    grads: &[Tensor],
    means: &mut [Tensor],
    squares: &mut [Tensor],
    maxima: &mut [Tensor],
) -> Result<()> {
    if maxima.len() != params.len() {
        return Err(differ());
    }
    match dtype_of(params)? {
        DType::F64 => adam_in::<f64>(settings, params, grads, [means, squares, maxima]),
        _ => adam_in::<f32>(settings, params, grads, [means, squares, maxima]),
    }
}

/// One step of gradient descent: changes the parameters and their velocities. In the `first` step the
/// velocity is the gradient. Without momentum there may be no velocities.
///
/// The formulas are those of the optimizers `Sgd` and `Momentum`, operation by operation:
/// `v = v * momentum + g * (1 - dampening)`, `w = w - lr * v`, or with Nesterov
/// `w = w - lr * (g + v * momentum)`; before it `g = g + w * decay`.
pub fn sgd(
    settings: &Sgd,
    first: bool,
    params: &mut [Tensor],
    grads: &[Tensor],
    velocities: &mut [Tensor],
) -> Result<()> {
    match dtype_of(params)? {
        DType::F64 => sgd_in::<f64>(settings, first, params, grads, velocities),
        _ => sgd_in::<f32>(settings, first, params, grads, velocities),
    }
}

fn dtype_of(params: &[Tensor]) -> Result<DType> {
    match params.first().map_or(DType::F32, Tensor::dtype) {
        dtype @ (DType::F32 | DType::F64) => Ok(dtype),
        dtype => Err(Error::dtype(format!("an optimizer step in {dtype}"))),
    }
}

/// The elements of each tensor, to be written in parts.
fn writable<'a, C: Float>(tensors: &'a mut [Tensor]) -> Result<Vec<Parts<'a, C>>> {
    tensors.iter_mut().map(|tensor| Ok(Parts::new(tensor.as_mut_slice::<C>()?))).collect()
}

fn differ() -> Error {
    Error::shape("parameters, gradients and state differ in number or size")
}

/// Runs `piece` for each piece of each parameter: the number of the parameter, and the range. There are
/// as many gradients and arrays of state of the same sizes, or no such arrays.
fn each_piece<C: Float>(
    params: &[Parts<'_, C>],
    grads: &[Tensor],
    state: &[&[Parts<'_, C>]],
    piece: impl Fn(usize, Range<usize>) -> Result<()> + Sync,
) -> Result<()> {
    let sizes = params.iter().map(Parts::len);
    let fits = |state: &[Parts<'_, C>]| sizes.clone().eq(state.iter().map(Parts::len));
    let all_fit = state.iter().all(|state| state.is_empty() || fits(state));
    if !all_fit || !sizes.clone().eq(grads.iter().map(Tensor::numel)) {
        return Err(differ());
    }
    let starts = |(i, len): (usize, usize)| (0..len).step_by(PIECE).map(move |start| (i, start));
    let pieces: Vec<(usize, usize)> = sizes.enumerate().flat_map(starts).collect();
    run_tasks(pieces.len(), |task| {
        let (i, start) = pieces[task];
        piece(i, start..params[i].len().min(start + PIECE))
    })
}

/// The numbers of a step of Adam, as the type of the elements.
#[derive(Clone, Copy)]
pub(crate) struct AdamStep<C> {
    pub(crate) rate: C,
    pub(crate) root: C,
    pub(crate) eps: C,
    pub(crate) stays: [C; 2],
    pub(crate) news: [C; 2],
    pub(crate) decay: C,
    pub(crate) coupled: bool,
    pub(crate) keep: C,
}

impl<C: Float> AdamStep<C> {
    #[inline(always)]
    pub(crate) fn moments(&self, param: C, mean: &mut C, square: &mut C, grad: C) {
        let grad = if self.coupled { grad + param * self.decay } else { grad };
        *mean = *mean * self.stays[0] + grad * self.news[0];
        *square = *square * self.stays[1] + grad * grad * self.news[1];
    }

    #[inline(always)]
    pub(crate) fn moved(&self, param: C, mean: C, square: C) -> C {
        let size = square.sqrt() / self.root + self.eps;
        param * self.keep - self.rate * (mean / size)
    }
}

fn adam_in<C: Float>(
    settings: &Adam,
    params: &mut [Tensor],
    grads: &[Tensor],
    [means, squares, maxima]: [&mut [Tensor]; 3],
) -> Result<()> {
    let grads: Vec<Tensor> = grads.iter().map(Tensor::contiguous).collect::<Result<_>>()?;
    let params = writable::<C>(params)?;
    let state = (writable::<C>(means)?, writable::<C>(squares)?, writable::<C>(maxima)?);
    let (means, squares, maxima) = (&state.0, &state.1, &state.2);
    if means.len() != params.len() || squares.len() != params.len() {
        return Err(differ());
    }
    let Adam { lr, beta1, beta2, eps, decay, decoupled, step } = *settings;
    let number = |x: f64| C::from_f64(x);
    let correction = |beta: f64| 1.0 - beta.powf(step.max(1) as f64);
    let (rate, root) = (number(lr) / number(correction(beta1)), number(correction(beta2).sqrt()));
    let is_kept = !decoupled || decay == 0.0;
    let step = AdamStep {
        rate,
        root,
        eps: number(eps),
        stays: [number(beta1), number(beta2)],
        news: [number(1.0 - beta1), number(1.0 - beta2)],
        decay: number(decay),
        coupled: !decoupled && decay != 0.0,
        keep: if is_kept { C::ONE } else { C::ONE - number(lr) * number(decay) },
    };
    each_piece(&params, &grads, &[means, squares, maxima], |i, range| {
        let grad = &elements::<C>(&grads[i])?[range.clone()];
        // SAFETY: each piece belongs to one task.
        let [param, mean, square] =
            unsafe { [&params[i], &means[i], &squares[i]].map(|all| all.get(range.clone())) };
        match maxima.get(i) {
            None => vectorized(
                #[inline(always)]
                || {
                    let state = mean.chunks_mut(STEP).zip(square.chunks_mut(STEP));
                    let params = param.chunks_mut(STEP).zip(grad.chunks(STEP));
                    for ((param, grad), (mean, square)) in params.zip(state) {
                        ask_to_write(param);
                        ask(grad);
                        ask_to_write(mean);
                        ask_to_write(square);
                        let state = mean.iter_mut().zip(square);
                        for ((param, &grad), (mean, square)) in
                            param.iter_mut().zip(grad).zip(state)
                        {
                            step.moments(*param, mean, square, grad);
                            *param = step.moved(*param, *mean, *square);
                        }
                    }
                },
            ),
            Some(maxima) => {
                // SAFETY: each piece belongs to one task.
                let most = unsafe { maxima.get(range) };
                vectorized(
                    #[inline(always)]
                    || {
                        let state = mean.iter_mut().zip(square).zip(most);
                        let params = param.iter_mut().zip(grad);
                        for ((param, &grad), ((mean, square), most)) in params.zip(state) {
                            step.moments(*param, mean, square, grad);
                            *most = larger(*most, *square);
                            *param = step.moved(*param, *mean, *most);
                        }
                    },
                );
            }
        }
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
    let grads: Vec<Tensor> = grads.iter().map(Tensor::contiguous).collect::<Result<_>>()?;
    let (params, velocities) = (writable::<C>(params)?, writable::<C>(velocities)?);
    let Sgd { lr, momentum, dampening, decay, nesterov } = *settings;
    if velocities.len() != params.len() && (momentum != 0.0 || !velocities.is_empty()) {
        return Err(differ());
    }
    let decays = decay != 0.0;
    let [lr, decay, ahead] = [lr, decay, momentum].map(|x| C::from_f64(x));
    let stay = C::from_f64(if first { 0.0 } else { momentum });
    let new = C::from_f64(if first { 1.0 } else { 1.0 - dampening });
    each_piece(&params, &grads, &[&velocities], |i, range| {
        let grad = &elements::<C>(&grads[i])?[range.clone()];
        // SAFETY: each piece belongs to one task.
        let param = unsafe { params[i].get(range.clone()) };
        let Some(velocity) = velocities.get(i) else {
            vectorized(
                #[inline(always)]
                || {
                    for (param, &grad) in param.iter_mut().zip(grad) {
                        let grad = if decays { grad + *param * decay } else { grad };
                        *param = *param - lr * grad;
                    }
                },
            );
            return Ok(());
        };
        // SAFETY: each piece belongs to one task.
        let velocity = unsafe { velocity.get(range) };
        vectorized(
            #[inline(always)]
            || {
                let params = param.chunks_mut(STEP).zip(grad.chunks(STEP));
                for ((param, grad), velocity) in params.zip(velocity.chunks_mut(STEP)) {
                    ask_to_write(param);
                    ask(grad);
                    ask_to_write(velocity);
                    for ((param, &grad), velocity) in param.iter_mut().zip(grad).zip(velocity) {
                        let grad = if decays { grad + *param * decay } else { grad };
                        *velocity = *velocity * stay + grad * new;
                        let step = if nesterov { grad + *velocity * ahead } else { *velocity };
                        *param = *param - lr * step;
                    }
                }
            },
        );
        Ok(())
    })
}

/// Asks for what follows some way after the elements.
#[inline(always)]
fn ask<C>(elements: &[C]) {
    prefetch::<C, STEP>(elements.as_ptr(), AHEAD);
}

/// [`ask`] for elements that are changed.
#[inline(always)]
fn ask_to_write<C>(elements: &[C]) {
    prefetch_to_write::<C, STEP>(elements.as_ptr(), AHEAD);
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

    #[test]
    fn the_largest_squares_and_steps_without_velocity() {
        let mut rng = Rng::new(3);
        let draw = |rng: &mut Rng| [rng.tensor(DType::F64, &[PIECE + 71])];
        let settings = Adam {
            lr: 0.1,
            beta1: 0.9,
            beta2: 0.99,
            eps: 1e-3,
            decay: 0.0,
            decoupled: false,
            step: 2,
        };
        let (params, grads, means) = (draw(&mut rng), draw(&mut rng), draw(&mut rng));
        let zeros = || [Tensor::zeros(DType::F64, &[PIECE + 71]).unwrap()];
        let huge = || [Tensor::full(&[PIECE + 71], 1e30f64).unwrap()];
        let (mut plain, mut largest, mut still) = (params.clone(), params.clone(), params.clone());
        adam(&settings, &mut plain, &grads, &mut means.clone(), &mut zeros()).unwrap();
        let mut maxima = zeros();
        let mut squares = zeros();
        amsgrad(&settings, &mut largest, &grads, &mut means.clone(), &mut squares, &mut maxima)
            .unwrap();
        assert!(plain[0].bitwise_eq(&largest[0]) && maxima[0].bitwise_eq(&squares[0]));
        amsgrad(&settings, &mut still, &grads, &mut means.clone(), &mut zeros(), &mut huge())
            .unwrap();
        let moved = still[0].to_f64s().into_iter().zip(params[0].to_f64s());
        assert!(moved.into_iter().all(|(a, b)| (a - b).abs() < 1e-9));
        assert!(
            amsgrad(&settings, &mut still, &grads, &mut zeros(), &mut zeros(), &mut []).is_err()
        );

        let settings = Sgd { lr: 0.5, momentum: 0.0, dampening: 0.0, decay: 0.1, nesterov: false };
        let (mut with, mut without) = (params.clone(), params.clone());
        sgd(&settings, false, &mut with, &grads, &mut zeros()).unwrap();
        sgd(&settings, false, &mut without, &grads, &mut []).unwrap();
        assert_eq!(with[0].to_f64s(), without[0].to_f64s());
    }
}
