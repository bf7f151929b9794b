//! Writing elements, after a copy where the memory is shared.

use super::Tensor;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::storage::Storage;

impl Tensor {
    /// The elements in row-major order, to be written; an error if they do not have the type `T`.
    ///
    /// Copies them first if they are not contiguous, if another tensor sees their memory or if the
    /// memory is borrowed.
    #[inline]
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.check_dtype::<T>()?;
        self.make_writable()?;
        let numel = self.numel();
        // SAFETY: the tensor is contiguous and unique, so `numel` elements from the first on are
        // its own, and they have type `T`.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.data_mut_ptr().cast(), numel) })
    }

    /// The bytes of the elements in row-major order, to be written; copies first like
    /// [`Tensor::as_mut_slice`]. An error for `bool`, which not every byte is.
    #[inline]
    pub fn as_bytes_mut(&mut self) -> Result<&mut [u8]> {
        if self.dtype.is_bool() {
            return Err(Error::dtype("the bytes of bool elements cannot be written")
                .remedy("write the elements as a slice of bool"));
        }
        self.make_writable()?;
        let bytes = self.numel() * self.dtype.size();
        // SAFETY: the tensor is contiguous and unique, so `bytes` bytes from its first element on
        // are its own, and any bytes are elements of a dtype other than `bool`.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.data_mut_ptr(), bytes) })
    }

    /// Makes the tensor contiguous and its memory unique.
    #[inline]
    fn make_writable(&mut self) -> Result<()> {
        if !self.is_contiguous() || !self.is_unique() {
            *self = self.copy()?;
        }
        Ok(())
    }

    /// Where the first element is, for writing.
    #[inline]
    pub(super) fn data_mut_ptr(&mut self) -> *mut u8 {
        match &mut self.storage {
            Storage::Inline(element) => element.0.as_mut_ptr(),
            Storage::Shared(_) => self.data_ptr().cast_mut(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn a_write_is_seen_by_the_writer_only() {
        let base = Tensor::from_slice(&[1, 2, 3, 4], &[2, 2]).unwrap();
        let mut clone = base.clone();
        let mut row = base.index(0, 1).unwrap();
        let mut columns = base.transpose(0, 1).unwrap();
        clone.as_mut_slice::<i32>().unwrap()[0] = 10;
        row.as_mut_slice::<i32>().unwrap()[0] = 30;
        columns.as_mut_slice::<i32>().unwrap()[1] = 20;
        assert_eq!(base.to_vec::<i32>().unwrap(), [1, 2, 3, 4]);
        assert_eq!(clone.to_vec::<i32>().unwrap(), [10, 2, 3, 4]);
        assert_eq!(row.to_vec::<i32>().unwrap(), [30, 4]);
        assert_eq!(columns.to_vec::<i32>().unwrap(), [1, 20, 2, 4]);
        let mut base = base;
        assert!(base.is_unique());
        base.as_mut_slice::<i32>().unwrap()[3] = 40;
        assert_eq!(row.to_vec::<i32>().unwrap(), [30, 4]);
    }

    #[test]
    fn unique_memory_is_written_in_place() {
        let mut x = Tensor::zeros(DType::F32, &[8]).unwrap().slice(0, 2, 4, 1).unwrap();
        let before = x.data_ptr();
        x.as_mut_slice::<f32>().unwrap().fill(1.0);
        assert_eq!(x.data_ptr(), before);
        let shared = x.clone();
        x.as_bytes_mut().unwrap().fill(0);
        assert_ne!(x.data_ptr(), before);
        assert_eq!(shared.to_f64s(), [1.0; 4]);
        let mut scalar = Tensor::scalar(1_i64);
        let copy = scalar.clone();
        scalar.as_mut_slice::<i64>().unwrap()[0] = 2;
        assert_eq!((scalar.item::<i64>().unwrap(), copy.item::<i64>().unwrap()), (2, 1));
    }

    #[test]
    fn a_repeated_element_becomes_many() {
        let mut x = Tensor::scalar(1_u8).expand(&[3]).unwrap();
        x.as_mut_slice::<u8>().unwrap()[1] = 5;
        assert_eq!(x.to_vec::<u8>().unwrap(), [1, 5, 1]);
    }

    #[test]
    fn mistakes_are_errors() {
        let mut x = Tensor::zeros(DType::Bool, &[2]).unwrap();
        assert_eq!(x.as_mut_slice::<u8>().unwrap_err().message(), "the elements are bool, not u8");
        assert!(x.as_bytes_mut().is_err());
        assert_eq!(x.as_mut_slice::<bool>().unwrap(), [false; 2]);
        let mut none = Tensor::zeros(DType::F16, &[0, 3]).unwrap();
        assert_eq!(none.as_bytes_mut().unwrap(), []);
    }

    #[test]
    fn threads_read_what_others_write_a_copy_of() {
        let base = Tensor::zeros(DType::I64, &[1000]).unwrap();
        std::thread::scope(|scope| {
            for k in 1..5_i64 {
                let mut own = base.clone();
                scope.spawn(move || {
                    own.as_mut_slice::<i64>().unwrap().fill(k);
                    assert!(own.to_f64s().iter().all(|&v| v == k as f64));
                });
            }
        });
        assert!(base.is_unique());
        assert!(base.to_f64s().iter().all(|&v| v == 0.0));
    }
}
