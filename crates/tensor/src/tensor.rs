//! [`Tensor`]: a dtype, a layout and shared memory.

mod convert;
mod create;
mod equal;
mod print;
mod read;
mod view;
mod write;

#[cfg(feature = "ndarray")]
mod ndarray;

use crate::dtype::DType;
use crate::layout::Layout;
use crate::storage::Storage;
use crate::ty::Type;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// A strided array of up to [`MAX_RANK`](crate::MAX_RANK) axes.
///
/// A clone and a view share memory with the original, and none of them sees a write through
/// another: writing copies first if the memory is shared. A tensor of one element carries it
/// inside, without any memory of its own, so making, cloning and dropping one is cheap.
///
/// ```
/// use fluvial_tensor::Tensor;
/// let base = Tensor::from_slice(&[1, 2, 3, 4], &[4])?;
/// let mut backwards = base.slice(0, 3, 4, -1)?;
/// assert!(backwards.shares_storage(&base));
/// backwards.as_mut_slice::<i32>()?[0] = 9;
/// assert_eq!(backwards.to_vec::<i32>()?, [9, 3, 2, 1]);
/// assert_eq!(base.to_vec::<i32>()?, [1, 2, 3, 4]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    /// Inline if there are no elements, or one, or if every stride is 0.
    storage: Storage,
    /// A tensor without elements or with one is in row-major order at offset 0.
    layout: Layout,
    dtype: DType,
}

impl Tensor {
    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        self.layout.dims()
    }

    /// The distance between neighbours along each axis, in elements; 0 and negative numbers occur.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// The number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.layout.numel()
    }

    /// The type.
    #[inline]
    pub fn ty(&self) -> Type {
        Type::from_padded(self.dtype, self.rank(), self.layout.padded_dims())
    }

    /// Whether the elements lie in row-major order without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Whether both see the same memory. A tensor of one element shares with none.
    #[inline]
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        match (&self.storage, &other.storage) {
            (Storage::Shared(a), Storage::Shared(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// How many tensors see this one's memory, itself included.
    #[inline]
    pub fn storage_refs(&self) -> usize {
        match &self.storage {
            Storage::Inline(_) => 1,
            Storage::Shared(buffer) => Arc::strong_count(buffer),
        }
    }

    /// Whether the memory may be written in place: no other tensor sees it, and it is not borrowed.
    #[inline]
    pub fn is_unique(&self) -> bool {
        match &self.storage {
            Storage::Inline(_) => true,
            Storage::Shared(buffer) if Arc::strong_count(buffer) == 1 => {
                // Pairs with the release of the last other holder, so that its reads are over.
                fence(Ordering::Acquire);
                buffer.is_writable()
            }
            Storage::Shared(_) => false,
        }
    }

    /// Whether the memory is that of an [`Arena`](crate::memory::Arena).
    #[inline]
    pub fn is_placed(&self) -> bool {
        matches!(&self.storage, Storage::Shared(buffer) if buffer.is_placed())
    }

    /// Where the first element is, aligned for the dtype. For a tensor of one element it points
    /// into the tensor itself, and moving the tensor invalidates it.
    #[inline]
    pub fn data_ptr(&self) -> *const u8 {
        match &self.storage {
            Storage::Inline(element) => element.0.as_ptr(),
            Storage::Shared(buffer) => {
                let bytes = self.layout.offset() * self.dtype.size() as isize;
                // SAFETY: a shared buffer holds every element of the layout, so the first is
                // inside it.
                unsafe { buffer.data().offset(bytes) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_move_between_threads_and_stay_small() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Tensor>();
        assert!(size_of::<Tensor>() <= 128);
    }

    #[test]
    fn a_scalar_describes_itself() {
        let scalar = Tensor::scalar(1.5_f32);
        assert_eq!((scalar.rank(), scalar.numel(), scalar.dims().len()), (0, 1, 0));
        assert_eq!(scalar.ty(), Type::scalar(DType::F32));
        assert!(scalar.is_contiguous() && scalar.is_unique());
        assert!(!scalar.shares_storage(&scalar));
    }

    #[test]
    fn many_axes_work_like_few() {
        for rank in 0..=crate::MAX_RANK {
            let dims: Vec<usize> = (0..rank).map(|axis| 1 + axis % 3).collect();
            let tensor = Tensor::zeros(DType::U8, &dims).unwrap();
            assert_eq!((tensor.rank(), tensor.dims()), (rank, &dims[..]));
            assert_eq!(tensor.ty(), Type::of(DType::U8, &dims).unwrap());
            let copy = tensor.clone();
            assert_eq!((copy.strides(), copy.dims()), (tensor.strides(), &dims[..]));
            let axes: Vec<usize> = (0..rank).rev().collect();
            let reversed = tensor.permute(&axes).unwrap();
            assert!(reversed.dims().iter().eq(dims.iter().rev()));
        }
    }

    #[test]
    fn clones_are_counted() {
        let tensor = Tensor::zeros(DType::F32, &[4]).unwrap();
        let clones = [tensor.clone(), tensor.clone()];
        assert_eq!((tensor.storage_refs(), tensor.is_unique()), (3, false));
        assert!(clones.iter().all(|clone| clone.shares_storage(&tensor)));
        drop(clones);
        assert_eq!((tensor.storage_refs(), tensor.is_unique()), (1, true));
    }
}
