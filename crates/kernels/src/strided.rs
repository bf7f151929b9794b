//! Reading a tensor of any layout in logical order, converted to the type a kernel computes in.

use std::marker::PhantomData;
use std::mem;
use std::ops::Range;

use fluvial_tensor::{DType, Element, Error, MAX_RANK, Result, Tensor, dispatch};
use smallvec::SmallVec;

/// The elements of a tensor, possibly broadcast to a larger shape, numbered in row-major order.
pub(crate) struct View<'a> {
    data: *const u8,
    dtype: DType,
    numel: usize,
    layout: Layout,
    tensor: PhantomData<&'a Tensor>,
}

// SAFETY: a view only reads, from a tensor that is shared for as long as it lives.
unsafe impl Sync for View<'_> {}

/// How the number of an element leads to its place in memory.
enum Layout {
    /// Elements lie one after the other.
    Flat,
    /// There is one element, repeated.
    Uniform,
    /// Axes that cannot be merged any further.
    Strided(Axes),
}

/// One axis at least, from the innermost to the outermost, none of size 1. More than three are rare, and
/// a small view is cheap to move.
struct Axes(SmallVec<[Axis; 3]>);

/// The size of an axis and the distance of neighbours along it, in elements.
#[derive(Clone, Copy)]
struct Axis {
    dim: usize,
    stride: isize,
}

/// Elements at equal distances in memory: `first` and, if `len` is above 1, those after it are valid to
/// read as long as the run exists.
struct Run<T> {
    first: *const T,
    stride: isize,
    len: usize,
}

impl<'a> View<'a> {
    /// The tensor in its own shape.
    pub(crate) fn new(tensor: &'a Tensor) -> View<'a> {
        let layout =
            if tensor.is_contiguous() { Layout::Flat } else { merge(tensor.dims(), tensor, 0) };
        View::with_layout(tensor, tensor.numel(), layout)
    }

    /// The tensor broadcast to the shape `dims` by numpy's rules.
    pub(crate) fn broadcast(tensor: &'a Tensor, dims: &[usize]) -> Result<View<'a>> {
        if tensor.dims() == dims {
            return Ok(View::new(tensor));
        }
        let Some(extra) = dims.len().checked_sub(tensor.rank()) else {
            return Err(broadcast_error(tensor, dims));
        };
        let fits = |(&from, &to): (&usize, &usize)| from == to || from == 1;
        if !tensor.dims().iter().zip(&dims[extra..]).all(fits) {
            return Err(broadcast_error(tensor, dims));
        }
        let numel = dims.iter().product();
        let layout = if tensor.numel() == 1 { Layout::Uniform } else { merge(dims, tensor, extra) };
        Ok(View::with_layout(tensor, numel, layout))
    }

    fn with_layout(tensor: &'a Tensor, numel: usize, layout: Layout) -> View<'a> {
        let data = tensor.data_ptr();
        View { data, dtype: tensor.dtype(), numel, layout, tensor: PhantomData }
    }

    /// The elements of type `dtype` that lie one after the other from `data` on.
    ///
    /// # Safety
    ///
    /// There are `numel` such elements, and they may be read as long as the view lives.
    pub(crate) unsafe fn flat(data: *const u8, dtype: DType, numel: usize) -> View<'a> {
        View { data, dtype, numel, layout: Layout::Flat, tensor: PhantomData }
    }

    /// Whether all elements are one and the same in memory.
    pub(crate) fn is_uniform(&self) -> bool {
        matches!(self.layout, Layout::Uniform)
    }

    /// The number of elements after which the view jumps in memory, if there are such jumps.
    pub(crate) fn row_len(&self) -> Option<usize> {
        match &self.layout {
            Layout::Flat | Layout::Uniform => None,
            Layout::Strided(axes) => Some(axes.inner().dim),
        }
    }

    /// The elements of `range` as `C`: the tensor's own memory where it already has that form, else
    /// `buffer` filled with them. `buffer` must be at least as long as `range`.
    #[inline]
    pub(crate) fn read<'b, C: Element>(
        &'b self,
        range: Range<usize>,
        buffer: &'b mut [C],
    ) -> &'b [C] {
        assert!(range.start <= range.end && range.end <= self.numel);
        if range.is_empty() {
            return &[];
        }
        if self.dtype == C::DTYPE
            && let Some(first) = self.in_place(&range)
        {
            // SAFETY: `in_place` found that the elements of `range`, which is within the view, lie one
            // after the other from `first`; they are of type `C` and the tensor outlives `'b`.
            return unsafe { std::slice::from_raw_parts(first.cast::<C>(), range.len()) };
        }
        let buffer = &mut buffer[..range.len()];
        self.copy_to(range.start, buffer);
        buffer
    }

    /// Copies the elements from `start` on to `target`, converted to `C`.
    pub(crate) fn copy_to<C: Element>(&self, start: usize, target: &mut [C]) {
        assert!(target.len() <= self.numel && start <= self.numel - target.len());
        if !target.is_empty() {
            dispatch!(self.dtype, T => self.load::<T, C>(start, target));
        }
    }

    /// The address of the first element of `range` if its elements lie one after the other.
    #[inline]
    fn in_place(&self, range: &Range<usize>) -> Option<*const u8> {
        let first = match &self.layout {
            Layout::Flat => range.start as isize,
            Layout::Uniform => return None,
            Layout::Strided(axes) => {
                let (offset, left_in_row) = axes.locate(range.start);
                if axes.inner().stride != 1 || range.len() > left_in_row {
                    return None;
                }
                offset
            }
        };
        Some(self.data.wrapping_offset(first * self.dtype.size() as isize))
    }

    /// Copies the elements from `start` on to `buffer`. `T` is the type of the tensor's elements.
    #[inline(never)]
    fn load<T: Element, C: Element>(&self, start: usize, buffer: &mut [C]) {
        let data = self.data.cast::<T>();
        match &self.layout {
            Layout::Flat => {
                let first = data.wrapping_add(start);
                Run { first, stride: 1, len: buffer.len() }.copy_to(buffer);
            }
            Layout::Uniform => {
                Run { first: data, stride: 0, len: buffer.len() }.copy_to(buffer);
            }
            Layout::Strided(axes) => axes.copy_from(data, start, buffer),
        }
    }
}

impl Axes {
    fn inner(&self) -> Axis {
        self.0[0]
    }

    /// The offset of element `number`, and how many elements its row has from there on.
    #[inline]
    fn locate(&self, mut number: usize) -> (isize, usize) {
        let left_in_row = self.inner().dim - number % self.inner().dim;
        let mut offset = 0;
        for axis in &self.0 {
            offset += (number % axis.dim) as isize * axis.stride;
            number /= axis.dim;
        }
        (offset, left_in_row)
    }

    /// Fills `buffer` with the elements from number `start` on, row by row.
    fn copy_from<T: Element, C: Element>(&self, data: *const T, start: usize, buffer: &mut [C]) {
        let inner = self.inner();
        let outer = &self.0[1..];
        let mut index = [0; MAX_RANK];
        let mut number = start / inner.dim;
        for (at, axis) in index.iter_mut().zip(outer) {
            *at = number % axis.dim;
            number /= axis.dim;
        }
        let (mut offset, mut left_in_row) = self.locate(start);
        let mut rest = buffer;
        loop {
            let len = left_in_row.min(rest.len());
            let (row, after) = rest.split_at_mut(len);
            Run { first: data.wrapping_offset(offset), stride: inner.stride, len }.copy_to(row);
            if after.is_empty() {
                return;
            }
            rest = after;
            offset -= (inner.dim - left_in_row) as isize * inner.stride;
            left_in_row = inner.dim;
            for (at, axis) in index.iter_mut().zip(outer) {
                *at += 1;
                offset += axis.stride;
                if *at < axis.dim {
                    break;
                }
                *at = 0;
                offset -= axis.dim as isize * axis.stride;
            }
        }
    }
}

impl<T: Element> Run<T> {
    /// Converts the run to `target`, which has its length.
    #[inline(always)]
    fn copy_to<C: Element>(self, target: &mut [C]) {
        debug_assert_eq!(self.len, target.len());
        if self.len == 0 {
            return;
        }
        match self.stride {
            0 => {
                // SAFETY: the run has an element, and all are at `first`.
                target.fill(convert(unsafe { *self.first }));
            }
            1 => {
                // SAFETY: the run's elements lie one after the other from `first`.
                let source = unsafe { std::slice::from_raw_parts(self.first, self.len) };
                target.iter_mut().zip(source).for_each(|(to, &from)| *to = convert(from));
            }
            stride => {
                for (i, to) in target.iter_mut().enumerate() {
                    // SAFETY: element `i` of the run is at this distance from `first`.
                    *to = convert(unsafe { *self.first.offset(i as isize * stride) });
                }
            }
        }
    }
}

/// `value` as another type by the rules of [`Element`]; bits are kept if the types are the same.
#[inline(always)]
pub(crate) fn convert<A: Element, B: Element>(value: A) -> B {
    if A::DTYPE == B::DTYPE {
        // SAFETY: `Element` is sealed and has one type for each dtype, so `A` and `B` are the same.
        return unsafe { mem::transmute_copy(&value) };
    }
    value.convert()
}

/// Converts `source` to the element type of `dtype` at `target`.
///
/// # Safety
///
/// `target` points to room for as many elements of `dtype`, which nothing else refers to.
pub(crate) unsafe fn store<C: Element>(source: &[C], dtype: DType, target: *mut u8) {
    dispatch!(dtype, T => {
        // SAFETY: by the caller's promise; tensors are aligned for their elements.
        let target = unsafe { std::slice::from_raw_parts_mut(target.cast::<T>(), source.len()) };
        target.iter_mut().zip(source).for_each(|(to, &from)| *to = convert(from));
    })
}

/// The layout of `tensor` under the shape `dims`, of which the first `extra` axes are not its own.
fn merge(dims: &[usize], tensor: &Tensor, extra: usize) -> Layout {
    let mut merged: SmallVec<[Axis; 3]> = SmallVec::new();
    for (axis, &dim) in dims.iter().enumerate().rev().filter(|&(_, &dim)| dim != 1) {
        let own = axis.checked_sub(extra).filter(|&own| tensor.dims()[own] != 1);
        let stride = own.map_or(0, |own| tensor.strides()[own]);
        match merged.last_mut() {
            Some(inner) if stride == inner.stride * inner.dim as isize => inner.dim *= dim,
            _ => merged.push(Axis { dim, stride }),
        }
    }
    match merged.as_slice() {
        [] | [Axis { stride: 1, .. }] => Layout::Flat,
        [Axis { stride: 0, .. }] => Layout::Uniform,
        _ => Layout::Strided(Axes(merged)),
    }
}

#[cold]
fn broadcast_error(tensor: &Tensor, dims: &[usize]) -> Error {
    Error::shape(format!("shape {:?} does not broadcast to {dims:?}", tensor.dims()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// Every element of the view, read in pieces of `step`.
    fn read_all<C: Element>(view: &View, step: usize) -> Vec<C> {
        let mut buffer = vec![C::default(); step];
        let starts = (0..view.numel).step_by(step);
        starts
            .flat_map(|at| view.read(at..view.numel.min(at + step), &mut buffer).to_vec())
            .collect()
    }

    #[test]
    fn any_layout_reads_in_logical_order() {
        let mut rng = Rng::new(3);
        for dims in [&[][..], &[1], &[5], &[0], &[3, 0, 2], &[4, 6], &[2, 3, 4], &[2, 1, 3, 2]] {
            for dtype in DType::ALL {
                let x = rng.tensor(dtype, dims);
                for _ in 0..8 {
                    let scrambled = rng.scramble(&x);
                    for step in [1, 3, 1024] {
                        let got = read_all::<f64>(&View::new(&scrambled), step);
                        assert_eq!(got, x.to_f64s(), "{dims:?} {dtype:?} by {step}");
                    }
                }
            }
        }
    }

    #[test]
    fn broadcasting_repeats_elements() {
        let mut rng = Rng::new(4);
        let dims = [2, 3, 4];
        for from in [&[][..], &[1], &[4], &[3, 1], &[3, 4], &[2, 1, 1], &[2, 1, 4], &[1, 3, 1]] {
            let x = rng.tensor(DType::F32, from);
            let x = rng.scramble(&x);
            let view = View::broadcast(&x, &dims).unwrap();
            let want = x.expand(&dims).unwrap().to_vec::<f32>().unwrap();
            assert_eq!(read_all::<f32>(&view, 5), want, "{from:?}");
            assert_eq!(view.is_uniform(), x.numel() == 1);
        }
        let x = rng.tensor(DType::F32, &[2, 2]);
        for to in [&[2][..], &[], &[2, 3], &[1, 2]] {
            assert!(View::broadcast(&x, to).is_err(), "{to:?}");
        }
    }

    #[test]
    fn memory_of_the_right_form_is_not_copied() {
        let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let mut buffer = [0.0f32; 6];
        assert_eq!(
            View::new(&x).read(1..5, &mut buffer).as_ptr().cast(),
            &raw const x.as_slice::<f32>().unwrap()[1]
        );
        let columns = x.slice(1, 1, 2, 1).unwrap();
        let view = View::new(&columns);
        assert_eq!(view.row_len(), Some(2));
        assert_eq!(
            view.read(2..4, &mut buffer).as_ptr(),
            &raw const x.as_slice::<f32>().unwrap()[4]
        );
        assert_eq!(view.read(1..3, &mut buffer), [3.0, 5.0]);
    }

    #[test]
    fn conversions_keep_the_bits_of_equal_types() {
        let payload = f32::from_bits(0x7fa1_2345);
        assert_eq!(convert::<f32, f32>(payload).to_bits(), payload.to_bits());
        assert_eq!(convert::<i64, i32>(1 << 40), 0);
        assert!(convert::<f32, bool>(0.5));
    }
}
