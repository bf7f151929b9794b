//! The loop over the elements of a cell.

use fluvial_tensor::{Result, Tensor};

use crate::lanes::run_tasks;
use crate::lazy::Real;
use crate::scalar::Unary;
use crate::scalar::float::Float;
use crate::simd::{vectorized, with_mul_add};

/// What a cell does with one element of its `N` inputs.
pub(super) trait Step<const N: usize, const M: usize>: Sync {
    /// The `M` results.
    fn step<C: Float, F: Functions<C>>(&self, inputs: [C; N], by: &mut F) -> [C; M];
}

/// The functions of a cell.
pub(super) trait Functions<C> {
    fn sigmoid(&mut self, x: C) -> C;
    fn tanh(&mut self, x: C) -> C;
}

/// Functions without branches, and whether all numbers were usual for them.
struct Fast(bool);

impl<C: Real> Functions<C> for Fast {
    #[inline(always)]
    fn sigmoid(&mut self, x: C) -> C {
        C::fast_one(Unary::Sigmoid, x, &mut self.0)
    }

    #[inline(always)]
    fn tanh(&mut self, x: C) -> C {
        C::fast_one(Unary::Tanh, x, &mut self.0)
    }
}

/// Functions for all numbers.
struct Exact;

impl<C: Real> Functions<C> for Exact {
    #[inline(always)]
    fn sigmoid(&mut self, x: C) -> C {
        C::exact_one(Unary::Sigmoid, x)
    }

    #[inline(always)]
    fn tanh(&mut self, x: C) -> C {
        C::exact_one(Unary::Tanh, x)
    }
}

/// Elements that are computed before they are stored; see [`lazy`](crate::lazy).
const STEP: usize = 128;

/// About how many elements one task computes.
const TASK: usize = 1 << 12;

/// The first element of a gate, and the distance of rows.
#[derive(Clone, Copy)]
struct Gate<C> {
    data: *mut C,
    row: usize,
}

// SAFETY: inputs are only read, and each task writes its own rows of the outputs.
unsafe impl<C> Sync for Gate<C> {}

/// The gates of tensors that have so many each, whose first elements are at `data`.
fn gates<C: Float, const K: usize, const N: usize>(
    tensors: [(*mut C, usize); K],
    hidden: usize,
) -> [Gate<C>; N] {
    let mut all = tensors.into_iter().flat_map(|(data, n)| {
        (0..n).map(move |i| Gate { data: data.wrapping_add(i * hidden), row: n * hidden })
    });
    let none = Gate { data: std::ptr::null_mut(), row: 0 };
    std::array::from_fn(|_| all.next().unwrap_or(none))
}

/// Runs a cell over `rows` of `hidden` elements in each gate. Inputs and outputs are given with their
/// number of gates; the inputs' are `N` in all, the outputs' `M`.
pub(super) fn run<C, S, const I: usize, const O: usize, const N: usize, const M: usize>(
    cell: &S,
    inputs: [(&Tensor, usize); I],
    outputs: [usize; O],
    rows: usize,
    hidden: usize,
) -> Result<[Tensor; O]>
where
    C: Float + Real,
    S: Step<N, M>,
{
    let mut packed = Vec::with_capacity(I);
    for (x, n) in inputs {
        packed.push((x.contiguous()?, n));
    }
    let mut results = Vec::with_capacity(O);
    for n in outputs {
        results.push((Tensor::empty(C::DTYPE, &[rows, n * hidden])?, n));
    }
    let sources: [(*mut C, usize); I] =
        std::array::from_fn(|i| (packed[i].0.data_ptr().cast_mut().cast(), packed[i].1));
    let mut targets: [(*mut C, usize); O] = [(std::ptr::null_mut(), 0); O];
    for (target, (tensor, n)) in targets.iter_mut().zip(&mut results) {
        *target = (tensor.as_mut_slice::<C>()?.as_mut_ptr(), *n);
    }
    let (from, to) = (gates::<C, I, N>(sources, hidden), gates::<C, O, M>(targets, hidden));
    if rows > 0 && hidden > 0 {
        let per_task = (TASK / hidden).max(1);
        run_tasks(rows.div_ceil(per_task), |task| {
            // The whole of them, so that they are shared as such.
            let (from, to) = (&from, &to);
            for row in task * per_task..rows.min((task + 1) * per_task) {
                let from: [*const C; N] =
                    from.map(|gate| gate.data.wrapping_add(row * gate.row).cast_const());
                let to: [*mut C; M] = to.map(|gate| gate.data.wrapping_add(row * gate.row));
                vectorized(
                    #[inline(always)]
                    // SAFETY: the gates have this row, and this row of the outputs is this task's.
                    || unsafe { run_row(cell, from, to, hidden) },
                );
            }
            Ok(())
        })?;
    }
    let mut results = results.into_iter().map(|(tensor, _)| tensor);
    Ok(std::array::from_fn(|_| results.next().unwrap_or_else(|| Tensor::scalar(C::ZERO))))
}

/// # Safety
///
/// Gates have `len` elements, those of the outputs are ours.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn run_row<C: Float + Real, S: Step<N, M>, const N: usize, const M: usize>(
    cell: &S,
    from: [*const C; N],
    to: [*mut C; M],
    len: usize,
) {
    let mut values = [[C::ZERO; STEP]; M];
    for first in (0..len).step_by(STEP) {
        let n = (len - first).min(STEP);
        let mut by = Fast(true);
        for i in 0..n {
            // SAFETY: the inputs have this element.
            let inputs = from.map(|gate| unsafe { *gate.add(first + i) });
            let results = cell.step(inputs, &mut by);
            for k in 0..M {
                values[k][i] = results[k];
            }
        }
        if !by.0 {
            // SAFETY: the inputs have these elements.
            unsafe { again(cell, &from, first, n, &mut values) };
        }
        for k in 0..M {
            // SAFETY: the outputs have these elements, and they are ours.
            let to = unsafe { std::slice::from_raw_parts_mut(to[k].add(first), n) };
            to.copy_from_slice(&values[k][..n]);
        }
    }
}

/// Computes elements of which some need the slow functions.
///
/// # Safety
///
/// Gates have `n` elements from `first` on.
#[cold]
#[inline(never)]
#[allow(clippy::needless_range_loop)]
unsafe fn again<C: Float + Real, S: Step<N, M>, const N: usize, const M: usize>(
    cell: &S,
    from: &[*const C; N],
    first: usize,
    n: usize,
    values: &mut [[C; STEP]; M],
) {
    with_mul_add(
        #[inline(always)]
        || {
            for i in 0..n {
                // SAFETY: by the caller's promise.
                let inputs = from.map(|gate| unsafe { *gate.add(first + i) });
                let results = cell.step(inputs, &mut Exact);
                for k in 0..M {
                    values[k][i] = results[k];
                }
            }
        },
    );
}
