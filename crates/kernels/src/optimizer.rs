//! Steps of optimizers over lists of parameters, in place.
//!
//! The elements of all parameters together are cut into pieces, which the threads take; each piece goes
//! through one loop that reads every array once and writes those that change once. Memory that others see
//! stays as it is: what changes is then written elsewhere.
//!
//! Each operation is rounded to the dtype of the parameters, in the order of the formulas, so a step has the
//! bits of the same step made of single ops.

use std::array::from_fn;
use std::iter::zip;
use std::ops::{Add, Div, Mul, Sub};

use fluvial_tensor::{DType, Element, Error, Result, Tensor, bf16, f16};

use crate::lanes::{Parts, prefetch, prefetch_to_write, run_tasks};
use crate::scalar::float::larger;
use crate::simd::vectorized;
use crate::softmax::elements;

/// The most and the fewest elements that one task updates, and the tasks that an update should have: with few
/// large ones, threads would wait for the last at every parameter of a program.
const PIECE: usize = 1 << 15;
const SMALL_PIECE: usize = 1 << 12;
const TASKS: usize = 64;

/// Elements that are updated together, and how far ahead memory is asked for.
const LANES: usize = 32;
const AHEAD: usize = 1024;

/// Evaluates a fallible expression with a type name bound to the floats of a dtype; an error for others.
macro_rules! numbers {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::BF16 => {
                type $T = bf16;
                $body
            }
            DType::F16 => {
                type $T = f16;
                $body
            }
            dtype => Err(Error::dtype(format!("an optimizer step in {dtype}"))),
        }
    };
}

/// The decay of parameters.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct WeightDecay {
    /// How much.
    pub factor: f64,
    /// Whether the parameter is multiplied by `1 - lr * factor`; else `param * factor` is added to the gradient.
    pub decoupled: bool,
}

/// The settings of Adam.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adam {
    /// How much of the mean of the gradients stays, and of the mean of their squares.
    pub betas: (f64, f64),
    /// Added to the root of the squares.
    pub eps: f64,
    /// Whether the largest mean of squares so far divides.
    pub amsgrad: bool,
    /// The decay.
    pub decay: WeightDecay,
}

/// The settings of gradient descent with momentum.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Momentum {
    /// How much of the velocity stays.
    pub momentum: f64,
    /// Whether the step looks ahead by the momentum.
    pub nesterov: bool,
    /// The decay.
    pub decay: WeightDecay,
}

/// One step of Adam. `changed` are `n` parameters, their means, their means of squares and, with `amsgrad`, the
/// largest of these so far; `given` are `n` gradients and three numbers: the rate `lr`, the correction `c1` of
/// the means, `1 - beta1^t`, and the root `c2` of the correction of the squares.
///
/// `m = m * beta1 + g * (1 - beta1)`, `v = v * beta2 + g * g * (1 - beta2)`,
/// `w = w - lr / c1 * (m / (sqrt(v) / c2 + eps))`.
///
/// Tensors that others see, too, are replaced. If it fails nothing has changed.
///
/// ```
/// use fluvial_kernels::{Adam, WeightDecay, adam};
/// use fluvial_tensor::Tensor;
///
/// let settings =
///     Adam { betas: (0.5, 0.75), eps: 0.0, amsgrad: false, decay: WeightDecay::default() };
/// let of = |x: f32| Tensor::from_slice(&[x, x], &[2]).unwrap();
/// let mut changed = [of(1.0), of(0.0), of(0.0)];
/// let numbers = [0.5, 0.5, 0.5].map(Tensor::scalar::<f32>);
/// adam(&settings, &mut changed, &[&of(3.0), &numbers[0], &numbers[1], &numbers[2]])?;
/// assert_eq!(changed.map(|x| x.to_f64s()[0]), [0.5, 1.5, 2.25]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn adam(settings: &Adam, changed: &mut [Tensor], given: &[&Tensor]) -> Result<()> {
    numbers!(dtype_of(changed), T => {
        let (grads, [lr, c1, c2]) = parted::<T, 3>(given)?;
        let Adam { betas, eps, amsgrad, decay } = *settings;
        let number = |x: f64| T::from_f64(x);
        let rule = AdamStep {
            rate: lr / c1,
            root: c2,
            eps: number(eps),
            stays: [number(betas.0), number(betas.1)],
            news: [number(1.0 - betas.0), number(1.0 - betas.1)],
            decay: Decay::new(decay, lr),
        };
        match amsgrad {
            false => update::<T, 3>(rule, changed, grads),
            true => update::<T, 4>(rule, changed, grads),
        }
    })
}

/// One step with momentum. `changed` are `n` parameters and their velocities; `given` are `n` gradients and two
/// numbers: the rate `lr`, and the part of the gradient that enters the velocity.
///
/// `v = v * momentum + g * part`, `w = w - lr * v`, or with Nesterov `w = w - lr * (g + v * momentum)`.
///
/// Tensors that others see, too, are replaced. If it fails nothing has changed.
pub fn momentum(settings: &Momentum, changed: &mut [Tensor], given: &[&Tensor]) -> Result<()> {
    numbers!(dtype_of(changed), T => {
        let (grads, [lr, part]) = parted::<T, 2>(given)?;
        let Momentum { momentum, nesterov, decay } = *settings;
        let stays = T::from_f64(momentum);
        let rule = MomentumStep { lr, part, stays, nesterov, decay: Decay::new(decay, lr) };
        update::<T, 2>(rule, changed, grads)
    })
}

/// One step of gradient descent, `w = w - lr * g`. `changed` are `n` parameters; `given` are `n` gradients and
/// the rate.
///
/// Tensors that others see, too, are replaced. If it fails nothing has changed.
pub fn sgd(decay: WeightDecay, changed: &mut [Tensor], given: &[&Tensor]) -> Result<()> {
    numbers!(dtype_of(changed), T => {
        let (grads, [lr]) = parted::<T, 1>(given)?;
        update::<T, 1>(SgdStep { lr, decay: Decay::new(decay, lr) }, changed, grads)
    })
}

fn dtype_of(changed: &[Tensor]) -> DType {
    changed.first().map_or(DType::F32, Tensor::dtype)
}

/// The gradients, and the `N` numbers behind them.
fn parted<'a, T: Element, const N: usize>(
    given: &'a [&'a Tensor],
) -> Result<(&'a [&'a Tensor], [T; N])> {
    let (grads, numbers) =
        given.split_last_chunk::<N>().ok_or_else(|| Error::argument("too few numbers"))?;
    let mut found = [T::default(); N];
    for (found, number) in zip(&mut found, numbers) {
        *found = number.item()?;
    }
    Ok((grads, found))
}

/// Elements whose arithmetic is rounded after each operation.
trait Number:
    Element + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    fn root(self) -> Self;
    fn or_larger(self, other: Self) -> Self;
}

macro_rules! number {
    ($type:ty, $to:expr, $from:expr) => {
        impl Number for $type {
            #[inline(always)]
            fn root(self) -> Self {
                $from($to(self).sqrt())
            }

            #[inline(always)]
            fn or_larger(self, other: Self) -> Self {
                $from(larger($to(self), $to(other)))
            }
        }
    };
}
number!(f32, |x| x, |x| x);
number!(f64, |x| x, |x| x);
number!(bf16, bf16::to_f32, bf16::from_f32);
number!(f16, f16::to_f32, f16::from_f32);

/// What becomes of one element of a parameter and of what is remembered of it, `K` in all.
trait Rule<T, const K: usize>: Copy + Sync {
    fn next(&self, values: [T; K], grad: T) -> [T; K];
}

/// The decay, as numbers of the type of the elements.
#[derive(Clone, Copy)]
struct Decay<T> {
    coupled: Option<T>,
    keep: T,
}

impl<T: Number> Decay<T> {
    fn new(decay: WeightDecay, lr: T) -> Decay<T> {
        let WeightDecay { factor, decoupled } = decay;
        let one = T::from_f64(1.0);
        Decay {
            coupled: (!decoupled && factor != 0.0).then(|| T::from_f64(factor)),
            keep: match decoupled && factor != 0.0 {
                true => one - lr * T::from_f64(factor),
                false => one,
            },
        }
    }

    #[inline(always)]
    fn apply(&self, param: T, grad: T) -> (T, T) {
        match self.coupled {
            Some(decay) => (param, grad + param * decay),
            None => (param * self.keep, grad),
        }
    }
}

#[derive(Clone, Copy)]
struct AdamStep<T> {
    rate: T,
    root: T,
    eps: T,
    stays: [T; 2],
    news: [T; 2],
    decay: Decay<T>,
}

impl<T: Number, const K: usize> Rule<T, K> for AdamStep<T> {
    #[inline(always)]
    fn next(&self, mut values: [T; K], grad: T) -> [T; K] {
        let (param, grad) = self.decay.apply(values[0], grad);
        let mean = values[1] * self.stays[0] + grad * self.news[0];
        let square = values[2] * self.stays[1] + grad * grad * self.news[1];
        (values[1], values[2]) = (mean, square);
        let divisor = match values.get_mut(3) {
            Some(largest) => {
                *largest = largest.or_larger(square);
                *largest
            }
            None => square,
        };
        values[0] = param - self.rate * (mean / (divisor.root() / self.root + self.eps));
        values
    }
}

#[derive(Clone, Copy)]
struct MomentumStep<T> {
    lr: T,
    part: T,
    stays: T,
    nesterov: bool,
    decay: Decay<T>,
}

impl<T: Number> Rule<T, 2> for MomentumStep<T> {
    #[inline(always)]
    fn next(&self, [param, velocity]: [T; 2], grad: T) -> [T; 2] {
        let (param, grad) = self.decay.apply(param, grad);
        let velocity = velocity * self.stays + grad * self.part;
        let direction = if self.nesterov { grad + velocity * self.stays } else { velocity };
        [param - self.lr * direction, velocity]
    }
}

#[derive(Clone, Copy)]
struct SgdStep<T> {
    lr: T,
    decay: Decay<T>,
}

impl<T: Number> Rule<T, 1> for SgdStep<T> {
    #[inline(always)]
    fn next(&self, [param]: [T; 1], grad: T) -> [T; 1] {
        let (param, grad) = self.decay.apply(param, grad);
        [param - self.lr * grad]
    }
}

/// Follows a rule on lists of tensors: `changed` are `K` lists one after the other, each as long as `grads`.
fn update<T: Number, const K: usize>(
    rule: impl Rule<T, K>,
    changed: &mut [Tensor],
    grads: &[&Tensor],
) -> Result<()> {
    let n = grads.len();
    let fits = |(i, tensor): (usize, &Tensor)| {
        let grad = grads[i % n];
        tensor.dims() == grad.dims() && tensor.dtype() == T::DTYPE && grad.dtype() == T::DTYPE
    };
    if changed.len() != K * n || !changed.iter().enumerate().all(fits) {
        return Err(Error::shape("parameters, gradients and what is remembered differ"));
    }
    let grads: Vec<Tensor> = grads.iter().map(|grad| grad.contiguous()).collect::<Result<_>>()?;
    let sources = elsewhere(changed)?;
    let from: Vec<Option<&[T]>> = sources
        .iter()
        .map(|source| source.as_ref().map(elements::<T>).transpose())
        .collect::<Result<_>>()?;
    let grads: Vec<&[T]> = grads.iter().map(elements::<T>).collect::<Result<_>>()?;
    let to: Vec<Parts<'_, T>> = changed
        .iter_mut()
        .map(|all| Ok(Parts::new(all.as_mut_slice::<T>()?)))
        .collect::<Result<_>>()?;
    let mut total = 0;
    let ends: Vec<usize> = grads
        .iter()
        .map(|grad| {
            total += grad.len();
            total
        })
        .collect();
    let piece_len = (total / TASKS).next_multiple_of(LANES).clamp(SMALL_PIECE, PIECE);
    run_tasks(total.div_ceil(piece_len), |task| {
        let (mut at, end) = (task * piece_len, total.min((task + 1) * piece_len));
        let mut i = ends.partition_point(|&end| end <= at);
        while at < end {
            let until = ends[i].min(end);
            let start = at + grads[i].len() - ends[i];
            let range = start..start + until - at;
            let grad = &grads[i][range.clone()];
            // SAFETY: the ranges of different tasks do not meet.
            let outs: [&mut [T]; K] = from_fn(|k| unsafe { to[k * n + i].get(range.clone()) });
            let outs = outs.map(<[T]>::as_mut_ptr);
            let ins = from_fn(|k| match from[k * n + i] {
                Some(source) => source[range.clone()].as_ptr(),
                None => outs[k].cast_const(),
            });
            // SAFETY: each has the elements of the range, and this task alone has the outputs'.
            vectorized(
                #[inline(always)]
                || unsafe { piece(rule, ins, grad, outs) },
            );
            (at, i) = (until, i + 1);
        }
        Ok(())
    })
}

/// Gives each tensor that cannot be written in place other memory. Returns what it was, by tensor.
fn elsewhere(changed: &mut [Tensor]) -> Result<Vec<Option<Tensor>>> {
    let mut moved = Vec::with_capacity(changed.len());
    for tensor in &*changed {
        moved.push(match tensor.is_unique() && tensor.is_contiguous() {
            true => None,
            false => Some((Tensor::empty(tensor.dtype(), tensor.dims())?, tensor.contiguous()?)),
        });
    }
    let swap = |(tensor, moved): (&mut Tensor, Option<(Tensor, Tensor)>)| {
        let (new, old) = moved?;
        *tensor = new;
        Some(old)
    };
    Ok(zip(changed, moved).map(swap).collect())
}

/// Updates some elements.
///
/// # Safety
///
/// The inputs and outputs have as many as there are gradients, nothing else writes to them meanwhile, and an
/// output is either the input of its number or memory of its own.
#[inline(always)]
unsafe fn piece<T: Number, const K: usize>(
    rule: impl Rule<T, K>,
    ins: [*const T; K],
    grad: &[T],
    outs: [*mut T; K],
) {
    let n = grad.len();
    for at in (0..n).step_by(LANES) {
        prefetch::<T, LANES>(grad.as_ptr().wrapping_add(at), AHEAD);
        for k in 0..K {
            prefetch_to_write::<T, LANES>(outs[k].wrapping_add(at), AHEAD);
            if ins[k] != outs[k].cast_const() {
                prefetch::<T, LANES>(ins[k].wrapping_add(at), AHEAD);
            }
        }
        if n - at >= LANES {
            // SAFETY: by the caller's promise.
            unsafe { block::<T, K, LANES>(rule, at, ins, grad.as_ptr(), outs) };
            continue;
        }
        for at in at..n {
            // SAFETY: by the caller's promise.
            unsafe { block::<T, K, 1>(rule, at, ins, grad.as_ptr(), outs) };
        }
    }
}

/// Updates `N` elements.
///
/// # Safety
///
/// As for [`piece`], which has them.
#[inline(always)]
unsafe fn block<T: Number, const K: usize, const N: usize>(
    rule: impl Rule<T, K>,
    at: usize,
    ins: [*const T; K],
    grad: *const T,
    outs: [*mut T; K],
) {
    // SAFETY: by the caller's promise; all is read before anything is written.
    let read = |from: *const T| unsafe { from.wrapping_add(at).cast::<[T; N]>().read_unaligned() };
    let (mut lanes, grad) = (ins.map(read), read(grad));
    for i in 0..N {
        let next = rule.next(from_fn(|k| lanes[k][i]), grad[i]);
        (0..K).for_each(|k| lanes[k][i] = next[k]);
    }
    for (out, lanes) in zip(outs, lanes) {
        // SAFETY: by the caller's promise.
        unsafe { out.wrapping_add(at).cast::<[T; N]>().write_unaligned(lanes) };
    }
}

#[cfg(test)]
mod tests;
