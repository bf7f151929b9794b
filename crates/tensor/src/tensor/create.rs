//! Making tensors.

use super::Tensor;
use crate::dispatch;
use crate::dtype::DType;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::storage::{Buffer, Inline, Storage};
use crate::ty::Shape;
use std::any::Any;
use std::ptr::NonNull;

impl Tensor {
    /// A contiguous tensor whose contents are unspecified, to be written before it is read. `bool`
    /// elements are `false`.
    pub fn empty(dtype: DType, dims: &[usize]) -> Result<Tensor> {
        let layout = Layout::contiguous(dims)?;
        if dtype.is_bool() { Tensor::zeroed(dtype, layout) } else { Tensor::uninit(dtype, layout) }
    }

    /// A contiguous tensor of zeros.
    pub fn zeros(dtype: DType, dims: &[usize]) -> Result<Tensor> {
        Tensor::zeroed(dtype, Layout::contiguous(dims)?)
    }

    /// A contiguous tensor with every element `value`.
    pub fn full<T: Element>(dims: &[usize], value: T) -> Result<Tensor> {
        let mut tensor = Tensor::uninit(T::DTYPE, Layout::contiguous(dims)?)?;
        let to = tensor.data_mut_ptr().cast::<T>();
        for i in 0..tensor.numel() {
            // SAFETY: the tensor was just made: it is contiguous, unique and of the dtype of `T`.
            unsafe { to.add(i).write(value) };
        }
        Ok(tensor)
    }

    /// A tensor without axes.
    #[inline]
    pub fn scalar<T: Element>(value: T) -> Tensor {
        Tensor {
            dtype: T::DTYPE,
            layout: Layout::SCALAR,
            storage: Storage::Inline(Inline::of(value)),
        }
    }

    /// A contiguous copy of `values`, one for each element of `dims` in row-major order.
    pub fn from_slice<T: Element>(values: &[T], dims: &[usize]) -> Result<Tensor> {
        let layout = layout_for(values.len(), dims)?;
        let mut tensor = Tensor::uninit(T::DTYPE, layout)?;
        let to = tensor.data_mut_ptr().cast::<T>();
        // SAFETY: the tensor was just made: it is contiguous, unique, of the dtype of `T`, and has
        // as many elements as there are values.
        unsafe { to.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        Ok(tensor)
    }

    /// A contiguous tensor that takes over the memory of `values`, one for each element of `dims`
    /// in row-major order.
    pub fn from_vec<T: Element>(values: Vec<T>, dims: &[usize]) -> Result<Tensor> {
        if values.len() <= 1 {
            return Tensor::from_slice(&values, dims);
        }
        let layout = layout_for(values.len(), dims)?;
        Ok(Tensor { dtype: T::DTYPE, layout, storage: Storage::Shared(Buffer::adopt(values)) })
    }

    /// A contiguous tensor of any dtype; each value is converted by [`Element::from_f64`].
    pub fn from_f64s(dtype: DType, values: &[f64], dims: &[usize]) -> Result<Tensor> {
        let mut tensor = Tensor::uninit(dtype, layout_for(values.len(), dims)?)?;
        let to = tensor.data_mut_ptr();
        dispatch!(dtype, T => for (i, &value) in values.iter().enumerate() {
            // SAFETY: the tensor was just made: it is contiguous, unique, of the dtype of `T`, and
            // has as many elements as there are values.
            unsafe { to.cast::<T>().add(i).write(value.convert()) };
        });
        Ok(tensor)
    }

    /// A tensor over foreign memory, which is only read: a write copies first. `ptr` is the first
    /// element, `strides` are in elements, and `owner` is dropped when no tensor needs the memory.
    ///
    /// It is an error if `ptr` is null or not aligned for the dtype.
    ///
    /// # Safety
    ///
    /// Until `owner` is dropped, the memory must be valid for reads at every element, initialised
    /// (for `bool` with 0 or 1), and not written by anyone.
    pub unsafe fn from_owner(
        dtype: DType,
        dims: &[usize],
        strides: &[isize],
        ptr: *const u8,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Tensor> {
        let layout = Layout::strided(dims, strides)?;
        if layout.numel() == 0 {
            return Tensor::uninit(dtype, layout.packed());
        }
        let Some(data) = NonNull::new(ptr.cast_mut()) else {
            return Err(Error::argument("the memory of a tensor is a null pointer"));
        };
        if !data.addr().get().is_multiple_of(dtype.align()) {
            return Err(Error::argument(format!("the memory is not aligned for {dtype}"))
                .remedy("copy it to aligned memory first"));
        }
        let storage = Storage::Shared(Buffer::borrow(data, owner));
        Ok(Tensor { dtype, layout: Layout::SCALAR, storage }.normalized(layout))
    }

    /// Zeros, at no cost where the memory is fresh.
    fn zeroed(dtype: DType, layout: Layout) -> Result<Tensor> {
        let numel = layout.numel();
        if numel <= 1 {
            return Ok(Tensor { dtype, layout, storage: Storage::Inline(Inline::default()) });
        }
        let (buffer, is_zeroed) = Buffer::allocate(numel * dtype.size())?;
        if !is_zeroed {
            // SAFETY: the buffer was just made for this many bytes, and no one else has it.
            unsafe { buffer.data().write_bytes(0, numel * dtype.size()) };
        }
        Ok(Tensor { dtype, layout, storage: Storage::Shared(buffer) })
    }

    /// A unique tensor with unspecified contents; the layout must be contiguous at offset 0. A
    /// `bool` tensor must be written in full before anyone else sees it.
    pub(super) fn uninit(dtype: DType, layout: Layout) -> Result<Tensor> {
        let numel = layout.numel();
        let storage = if numel <= 1 {
            Storage::Inline(Inline::default())
        } else {
            Storage::Shared(Buffer::allocate(numel * dtype.size())?.0)
        };
        Ok(Tensor { dtype, layout, storage })
    }

    /// This tensor's memory seen through `layout`, all of whose elements must be elements of this
    /// one's. Restores the invariants for views of one element or none.
    pub(super) fn normalized(&self, layout: Layout) -> Tensor {
        let (layout, storage) = match (layout.numel(), &self.storage) {
            (0, _) => (layout.packed(), Storage::Inline(Inline::default())),
            (1, Storage::Shared(buffer)) => {
                let element = dispatch!(self.dtype, T => {
                    let data = buffer.data().cast_const().cast::<T>();
                    // SAFETY: the layout's only element lies in the buffer and has type `T`.
                    Inline::of(unsafe { data.offset(layout.offset()).read() })
                });
                (layout.packed(), Storage::Inline(element))
            }
            (1, inline) => (layout.packed(), inline.clone()),
            (_, storage) => (layout, storage.clone()),
        };
        Tensor { dtype: self.dtype, layout, storage }
    }
}

/// The contiguous layout of `dims`, which must have `n` elements.
fn layout_for(n: usize, dims: &[usize]) -> Result<Layout> {
    let layout = Layout::contiguous(dims)?;
    if layout.numel() != n {
        let (shape, needed) = (Shape(dims), layout.numel());
        return Err(Error::shape(format!("shape {shape} takes {needed} values, not {n}")));
    }
    Ok(layout)
}

impl Inline {
    /// An element as bytes.
    #[inline]
    pub(crate) fn of<T: Element>(value: T) -> Inline {
        let mut element = Inline::default();
        // SAFETY: an element has at most 8 bytes and no stricter alignment.
        unsafe { element.0.as_mut_ptr().cast::<T>().write(value) };
        element
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_dtype_and_small_shape() {
        for dtype in DType::ALL {
            for dims in [&[][..], &[0], &[1, 1], &[3], &[2, 0, 4], &[2, 3]] {
                let zeros = Tensor::zeros(dtype, dims).unwrap();
                let ones = Tensor::from_f64s(dtype, &vec![1.0; zeros.numel()], dims).unwrap();
                let filled = dispatch!(dtype, T => Tensor::full(dims, T::from_i64(1)).unwrap());
                assert!(ones.bitwise_eq(&filled));
                assert_eq!(ones.bitwise_eq(&zeros), zeros.numel() == 0);
                assert_eq!(zeros.to_f64s(), vec![0.0; zeros.numel()]);
                assert_eq!(filled.to_f64s(), vec![1.0; zeros.numel()]);
                let empty = Tensor::empty(dtype, dims).unwrap();
                assert_eq!(empty.ty(), crate::Type::of(dtype, dims).unwrap());
                assert!(empty.is_contiguous() && empty.is_unique());
                assert_eq!(empty.data_ptr().addr() % dtype.align(), 0);
            }
        }
    }

    #[test]
    fn reused_memory_is_cleared_where_promised() {
        for _ in 0..3 {
            let mut used = Tensor::full(&[1000], u8::MAX).unwrap();
            used.as_bytes_mut().unwrap().fill(u8::MAX);
            drop(used);
            assert!(Tensor::zeros(DType::U8, &[1000]).unwrap().to_f64s().iter().all(|&v| v == 0.0));
            drop(Tensor::full(&[1000], u8::MAX).unwrap());
            let flags = Tensor::empty(DType::Bool, &[1000]).unwrap();
            assert!(flags.as_slice::<bool>().unwrap().iter().all(|&flag| !flag));
        }
    }

    #[test]
    fn impossible_tensors_are_errors() {
        let kind = |result: Result<Tensor>| result.unwrap_err().kind();
        assert_eq!(kind(Tensor::zeros(DType::F32, &[1 << 50, 1 << 50])), ErrorKind::Shape);
        assert_eq!(kind(Tensor::zeros(DType::F32, &[usize::MAX])), ErrorKind::Shape);
        assert_eq!(kind(Tensor::empty(DType::F32, &[1 << 59])), ErrorKind::Memory);
        assert_eq!(kind(Tensor::zeros(DType::F32, &[1; 9])), ErrorKind::Shape);
        assert_eq!(
            Tensor::from_slice(&[1, 2, 3], &[2, 2]).unwrap_err().to_string(),
            "shape [2, 2] takes 4 values, not 3"
        );
        assert_eq!(kind(Tensor::from_vec(vec![1.0], &[0])), ErrorKind::Shape);
        assert_eq!(kind(Tensor::from_vec(vec![1.0, 2.0], &[])), ErrorKind::Shape);
    }

    #[test]
    fn a_vector_is_taken_over() {
        let values = vec![1.0_f64, 2.0, 3.0];
        let data = values.as_ptr();
        let mut tensor = Tensor::from_vec(values, &[3]).unwrap();
        assert_eq!(tensor.data_ptr(), data.cast());
        tensor.as_mut_slice::<f64>().unwrap()[1] = 7.0;
        assert_eq!(tensor.data_ptr(), data.cast());
        assert_eq!(tensor.to_f64s(), [1.0, 7.0, 3.0]);
    }

    /// Counts its drops.
    struct Owner(Vec<i32>, Arc<AtomicUsize>);

    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn borrow(dims: &[usize], strides: &[isize], start: usize) -> (Tensor, Arc<AtomicUsize>) {
        let drops = Arc::new(AtomicUsize::new(0));
        let owner = Owner((0..6).collect(), drops.clone());
        let first = owner.0[start..].as_ptr().cast();
        // SAFETY: the callers stay within the six numbers, which the owner keeps.
        let tensor =
            unsafe { Tensor::from_owner(DType::I32, dims, strides, first, Box::new(owner)) };
        (tensor.unwrap(), drops)
    }

    #[test]
    fn foreign_memory_is_read_in_place_and_never_written() {
        let (tensor, drops) = borrow(&[2, 3], &[-3, -1], 5);
        assert_eq!(tensor.to_vec::<i32>().unwrap(), [5, 4, 3, 2, 1, 0]);
        assert!(!tensor.is_unique());
        let row = tensor.index(0, 1).unwrap();
        drop(tensor);
        assert_eq!((row.to_vec::<i32>().unwrap(), row.storage_refs()), (vec![2, 1, 0], 1));
        let (mut contiguous, other_drops) = borrow(&[6], &[1], 0);
        let before = contiguous.data_ptr();
        contiguous.as_mut_slice::<i32>().unwrap()[0] = 9;
        assert_ne!(contiguous.data_ptr(), before);
        assert!(contiguous.is_unique());
        assert_eq!((drops.load(Ordering::Relaxed), other_drops.load(Ordering::Relaxed)), (0, 1));
        drop(row);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn foreign_memory_of_one_element_is_copied() {
        let (tensor, drops) = borrow(&[1, 1], &[9, 9], 4);
        assert_eq!((tensor.item::<i32>().unwrap(), drops.load(Ordering::Relaxed)), (4, 1));
        let (tensor, drops) = borrow(&[0, 3], &[9, 9], 4);
        assert_eq!((tensor.numel(), drops.load(Ordering::Relaxed)), (0, 1));
    }

    #[test]
    fn foreign_memory_is_checked() {
        let bytes = Box::new([0_u64; 2]);
        let odd = bytes.as_ptr().cast::<u8>().wrapping_add(1);
        // SAFETY: the pointer is refused before anything is read.
        let error = unsafe { Tensor::from_owner(DType::F32, &[2], &[1], odd, bytes) }.unwrap_err();
        assert_eq!(error.message(), "the memory is not aligned for f32");
        // SAFETY: likewise.
        let null =
            unsafe { Tensor::from_owner(DType::F32, &[2], &[1], std::ptr::null(), Box::new(())) };
        assert_eq!(null.unwrap_err().kind(), ErrorKind::Argument);
    }
}
