//! Kernels that work along one axis: each lane, the elements along it, at a time.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fluvial_tensor::{DType, Element, Error, Result, Tensor, interrupt, memory};
use smallvec::SmallVec;

use crate::copy::check_axis;
use crate::simd::{vectorized, with_mul_add};
use crate::strided::View;
use crate::threads;

/// [`vectorized`] for a loop over elements of type `T`. Of integers there are fewer versions.
#[inline(always)]
pub(crate) fn vectorized_for<T: Element, R>(f: impl FnOnce() -> R) -> R {
    match T::DTYPE.is_float() {
        true => vectorized(f),
        false => with_mul_add(f),
    }
}

/// Evaluates a fallible expression with a type name bound to `f32` or `f64`; an error for other types.
macro_rules! floats {
    ($dtype:expr, $C:ident => $body:expr) => {
        match $dtype {
            fluvial_tensor::DType::F32 => {
                type $C = f32;
                $body
            }
            fluvial_tensor::DType::F64 => {
                type $C = f64;
                $body
            }
            dtype => Err($crate::lanes::not_a_float(dtype)),
        }
    };
}

pub(crate) use floats;

#[cold]
pub(crate) fn not_a_float(dtype: DType) -> Error {
    Error::dtype(format!("this is computed in f32 or f64, not in {dtype}"))
}

/// Applies `f` to each lane of the inputs along `axis`, converted to `A`; it fills a lane of `len`
/// elements of the result. The inputs differ in size along the axis only.
pub(crate) fn along<A: Element, B: Element, const K: usize>(
    inputs: [&Tensor; K],
    axis: usize,
    len: usize,
    mut f: impl FnMut([&[A]; K], &mut [B]) -> Result<()>,
) -> Result<Tensor> {
    inputs.iter().try_for_each(|input| check_axis(input, axis))?;
    let rank = inputs[0].rank();
    let order: SmallVec<[usize; 8]> = (0..rank).filter(|&i| i != axis).chain([axis]).collect();
    let mut inverse: SmallVec<[usize; 8]> = (0..rank).collect();
    order.iter().enumerate().for_each(|(at, &i)| inverse[i] = at);

    let mut dims: SmallVec<[usize; 8]> = order.iter().map(|&i| inputs[0].dims()[i]).collect();
    dims[rank - 1] = len;
    let mut out = Tensor::empty(B::DTYPE, &dims)?;
    if out.numel() > 0 {
        let permuted: SmallVec<[Tensor; 2]> =
            inputs.iter().map(|input| input.permute(&order)).collect::<Result<_>>()?;
        let views: SmallVec<[View<'_>; 2]> = permuted.iter().map(View::new).collect();
        let mut lanes: SmallVec<[Vec<A>; 2]> =
            inputs.iter().map(|input| room(input.dims()[axis])).collect::<Result<_>>()?;
        let watch = interrupt::Watch::start();
        for (i, out) in out.as_mut_slice::<B>()?.chunks_exact_mut(len).enumerate() {
            watch.leave_if_over();
            let mut rest = lanes.iter_mut().zip(&views);
            let read: [&[A]; K] = std::array::from_fn(|_| {
                rest.next().map_or(&[][..], |(lane, view)| {
                    view.read(i * lane.len()..(i + 1) * lane.len(), lane)
                })
            });
            f(read, out)?;
        }
    }
    out.permute(&inverse)
}

/// Splits `out` into chunks of `len` elements, which threads fill: `f` is given the number of a chunk's
/// first element. Of several errors the one of the first chunk counts.
pub(crate) fn fill_chunks<T: Send>(
    out: &mut [T],
    len: usize,
    f: impl Fn(usize, &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    let parts = Parts::new(out);
    run_tasks(parts.len().div_ceil(len), |i| {
        let range = i * len..parts.len().min((i + 1) * len);
        // SAFETY: the ranges of different tasks do not meet.
        f(range.start, unsafe { parts.get(range) })
    })
}

/// Runs tasks that may fail on the threads. Of several errors the one of the first task counts.
pub(crate) fn run_tasks(n_tasks: usize, task: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    run_erased(n_tasks, &task)
}

/// [`run_tasks`] compiled once, whatever the task.
fn run_erased(n_tasks: usize, task: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    if n_tasks <= 1 {
        return (0..n_tasks).try_for_each(task);
    }
    let fault: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    threads::run(n_tasks, |i| {
        if let Err(error) = task(i) {
            let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
            if fault.as_ref().is_none_or(|&(first, _)| i < first) {
                *fault = Some((i, error));
            }
        }
    });
    let fault = fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    fault.map_or(Ok(()), |(_, error)| Err(error))
}

/// Asks for the cache lines of the `N` elements that begin at a distance of `ahead` from `place`, inside
/// of the memory or not. The hardware fetches ahead within a page only.
#[inline(always)]
pub(crate) fn prefetch<T, const N: usize>(place: *const T, ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..(N * size_of::<T>()).div_ceil(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = place.wrapping_add(ahead).cast::<i8>().wrapping_add(64 * line);
        // SAFETY: every machine of this architecture has the instruction, which never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, ahead);
}

/// [`prefetch`] for elements that are going to be written: their lines come without another request to
/// own them.
#[inline(always)]
pub(crate) fn prefetch_to_write<T, const N: usize>(place: *const T, ahead: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in 0..(N * size_of::<T>()).div_ceil(64) {
        let place = place.wrapping_add(ahead).cast::<i8>().wrapping_add(64 * line);
        // SAFETY: the instruction never faults; a machine that does not have it does nothing instead.
        unsafe {
            std::arch::asm!(
                "prefetchw [{place}]",
                place = in(reg) place.addr(),
                options(nostack, preserves_flags, nomem),
            );
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (place, ahead);
}

/// How many elements ahead [`prefetch`] is best asked for in a loop over memory: one page.
pub(crate) const fn a_page_of<T>() -> usize {
    4096 / size_of::<T>()
}

/// Elements between two requests of [`Ahead`].
pub(crate) const STEP: usize = 128;

/// Where the next tiles of some inputs begin; null for none. A loop over this tile asks for them step
/// by step: the machine can have some sixteen requests open, and all at once would stop the loop until
/// most are answered.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<C>([*const C; 4]);

impl<C> Default for Ahead<C> {
    #[inline(always)]
    fn default() -> Ahead<C> {
        Ahead([std::ptr::null(); 4])
    }
}

impl<C> Ahead<C> {
    /// One more place; of five, the first is forgotten.
    #[inline(always)]
    pub(crate) fn and(self, place: *const C) -> Ahead<C> {
        let [_, b, c, d] = self.0;
        Ahead([b, c, d, place])
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0[3].is_null()
    }

    /// Asks for the elements of a step.
    #[inline(always)]
    pub(crate) fn ask(&self, step: usize) {
        for place in self.0.into_iter().rev().take_while(|place| !place.is_null()) {
            prefetch::<C, STEP>(place, step * STEP);
        }
    }
}

/// Combines what a loop has gathered in independent lanes, by halves. Kept apart: inlined, it makes the
/// compiler cut the loop's vectors into the pieces that it wants here.
#[inline(never)]
pub(crate) fn by_halves<T: Copy, const N: usize>(mut lanes: [T; N], f: impl Fn(T, T) -> T) -> T {
    let mut width = N / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = f(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// Memory of which tasks write parts that do not meet.
pub(crate) struct Parts<'a, T> {
    first: *mut T,
    len: usize,
    memory: PhantomData<&'a mut [T]>,
}

// SAFETY: parts are handed out under the promise that those of different threads do not meet.
unsafe impl<T: Send> Sync for Parts<'_, T> {}

impl<'a, T> Parts<'a, T> {
    pub(crate) fn new(memory: &'a mut [T]) -> Parts<'a, T> {
        Parts { first: memory.as_mut_ptr(), len: memory.len(), memory: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The elements of `range`.
    ///
    /// # Safety
    ///
    /// No other part that is in use meets the range.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub(crate) unsafe fn get(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: the range is inside the memory, and nobody else uses it by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(range.start), range.len()) }
    }
}

/// Room for so many elements; a view may repeat one more often than memory could hold it.
pub(crate) fn room<T: Element>(len: usize) -> Result<Vec<T>> {
    memory::filled(T::default(), len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;
    use fluvial_tensor::DType;

    #[test]
    fn lanes_of_every_axis() {
        let mut rng = Rng::new(21);
        let x = rng.tensor(DType::F32, &[2, 3, 4]);
        for axis in 0..3 {
            let backwards = along([&rng.scramble(&x)], axis, x.dims()[axis], |[lane], out| {
                out.iter_mut().zip(lane.iter().rev()).for_each(|(to, &from): (_, &f64)| *to = from);
                Ok(())
            });
            let n = x.dims()[axis];
            let want = x.slice(axis, n - 1, n, -1).unwrap().to_f64s();
            assert_eq!(backwards.unwrap().to_f64s(), want);
        }
        let none = Tensor::zeros(DType::F32, &[2, 0]).unwrap();
        let copied = along([&none], 1, 0, |_: [&[f64]; 1], _: &mut [f64]| Ok(())).unwrap();
        assert_eq!(copied.dims(), [2, 0]);
        assert!(room::<i64>(usize::MAX / 8).is_err());
        assert!(along([&none], 2, 0, |_: [&[f64]; 1], _: &mut [f64]| Ok(())).is_err());
    }
}
