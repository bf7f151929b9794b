//! Reading elements.

use super::Tensor;
use crate::dispatch;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::layout;
use crate::ty::Shape;

impl Tensor {
    /// The elements in row-major order, if they lie so and have the type `T`.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        if self.dtype != T::DTYPE || !self.is_contiguous() {
            return None;
        }
        // SAFETY: a contiguous tensor of this dtype has `numel` initialised elements of type `T`
        // from `data_ptr` on, which nobody writes while `self` is borrowed.
        Some(unsafe { std::slice::from_raw_parts(self.data_ptr().cast(), self.numel()) })
    }

    /// The bytes of the elements in row-major order, if they lie so.
    #[inline]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if !self.is_contiguous() {
            return None;
        }
        // SAFETY: as in `as_slice`, and any element may be seen as bytes.
        Some(unsafe {
            std::slice::from_raw_parts(self.data_ptr(), self.numel() * self.dtype.size())
        })
    }

    /// A copy of the elements in row-major order; an error if they do not have the type `T`.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check_dtype::<T>()?;
        let (numel, mut values) = (self.numel(), Vec::new());
        values.try_reserve_exact(numel).map_err(|_| {
            Error::memory(format!("there is no memory for a copy of {numel} elements"))
        })?;
        // SAFETY: the elements have the type `T`.
        Ok(unsafe { self.gather_vec(values, |value: T| value) })
    }

    /// A copy of the elements in row-major order, converted by [`Element::to_f64`]. Like any
    /// vector, it aborts the process if there is no memory for it.
    pub fn to_f64s(&self) -> Vec<f64> {
        let values = Vec::with_capacity(self.numel());
        dispatch!(self.dtype, T => {
            // SAFETY: the elements have the type `T`.
            unsafe { self.gather_vec(values, |value: T| value.to_f64()) }
        })
    }

    /// The only element, converted to `T`; an error if there is not exactly one.
    #[inline]
    pub fn item<T: Element>(&self) -> Result<T> {
        if self.numel() != 1 {
            return Err(self.not_one_element());
        }
        Ok(dispatch!(self.dtype, S => {
            // SAFETY: there is one element, of type `S`.
            unsafe { self.data_ptr().cast::<S>().read() }.convert()
        }))
    }

    /// The element at `index`, one number for each axis, converted by [`Element::to_f64`].
    pub fn get_f64(&self, index: &[usize]) -> Result<f64> {
        let offset = self.layout.locate(index)?;
        Ok(dispatch!(self.dtype, T => {
            // SAFETY: `locate` has checked that the index is one of an element.
            unsafe { self.data_ptr().cast::<T>().offset(offset).read() }.to_f64()
        }))
    }

    #[cold]
    fn not_one_element(&self) -> Error {
        let shape = Shape(self.dims());
        Error::shape(format!("a tensor of shape {shape} is not a single number"))
            .remedy("reduce it to one element, or select one")
    }

    /// An error if the elements do not have the type `T`.
    #[inline]
    pub(super) fn check_dtype<T: Element>(&self) -> Result<()> {
        if self.dtype == T::DTYPE {
            return Ok(());
        }
        Err(Error::dtype(format!("the elements are {}, not {}", self.dtype, T::DTYPE))
            .remedy(format!("cast to {} first", T::DTYPE)))
    }

    /// Converted elements in row-major order, in an empty vector with room for them.
    ///
    /// # Safety
    ///
    /// The elements must have the type `S`.
    unsafe fn gather_vec<S: Element, D>(
        &self,
        mut values: Vec<D>,
        convert: impl Fn(S) -> D + Copy,
    ) -> Vec<D> {
        assert!(values.is_empty() && values.capacity() >= self.numel());
        // SAFETY: the caller says that the elements have type `S`; the vector has room for all of
        // them, and afterwards they are written.
        unsafe {
            self.gather_into(values.as_mut_ptr(), convert);
            values.set_len(self.numel());
        }
        values
    }

    /// Writes converted elements in row-major order to consecutive places from `to`.
    ///
    /// # Safety
    ///
    /// The elements must have the type `S`, or one that may be read as `S`; `to` must be valid for
    /// writes of all of them and not be memory of this tensor.
    pub(super) unsafe fn gather_into<S: Copy, D>(
        &self,
        to: *mut D,
        convert: impl Fn(S) -> D + Copy,
    ) {
        // SAFETY: `data_ptr` is the first element, and every element of the layout is in memory.
        unsafe { layout::gather(self.data_ptr().cast::<S>(), &self.layout, to, convert) }
    }

    /// The elements in row-major order; the type must be the dtype's.
    pub(super) fn elements<T: Element>(&self) -> impl Iterator<Item = T> + '_ {
        assert_eq!(self.dtype, T::DTYPE);
        let data = self.data_ptr().cast::<T>();
        self.layout.offsets().map(move |offset| {
            // SAFETY: every element of the layout is in memory, of type `T`, and nobody writes it
            // while the iterator borrows `self`.
            unsafe { data.offset(offset).read() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn one_element_is_read_exactly() {
        let big = (1_i64 << 60) + 1;
        assert_eq!(Tensor::scalar(big).item::<i64>().unwrap(), big);
        assert_eq!(Tensor::scalar(-1.9_f32).item::<i8>().unwrap(), -1);
        assert_eq!(Tensor::scalar(f64::NAN).item::<i32>().unwrap(), 0);
        assert!(Tensor::scalar(f32::NAN).item::<bool>().unwrap());
        assert_eq!(Tensor::full(&[1, 1, 1], 7_u8).unwrap().item::<f64>().unwrap(), 7.0);
        assert_eq!(
            Tensor::zeros(DType::F32, &[2]).unwrap().item::<f32>().unwrap_err().to_string(),
            "a tensor of shape [2] is not a single number\n  \
             remedy: reduce it to one element, or select one"
        );
        assert!(Tensor::zeros(DType::F32, &[0]).unwrap().item::<f32>().is_err());
    }

    #[test]
    fn slices_need_the_type_and_the_order() {
        let x = Tensor::from_slice(&[1_i32, 2, 3, 4], &[2, 2]).unwrap();
        assert_eq!(x.as_slice::<i32>(), Some(&[1, 2, 3, 4][..]));
        assert_eq!(x.as_slice::<f32>(), None);
        assert_eq!(x.as_bytes().map(<[u8]>::len), Some(16));
        let columns = x.transpose(0, 1).unwrap();
        assert_eq!((columns.as_slice::<i32>(), columns.as_bytes()), (None, None));
        assert_eq!(
            columns.to_vec::<f32>().unwrap_err().to_string(),
            "the elements are i32, not f32\n  remedy: cast to f32 first"
        );
        let scalar = Tensor::scalar(true);
        assert_eq!(scalar.as_slice::<bool>(), Some(&[true][..]));
        assert_eq!(scalar.as_bytes(), Some(&[1][..]));
        assert_eq!(Tensor::zeros(DType::F64, &[0]).unwrap().as_bytes(), Some(&[][..]));
    }

    #[test]
    fn elements_are_found_by_index() {
        let x = Tensor::from_slice(&[1_u8, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
        let back = x.slice(1, 2, 3, -1).unwrap();
        assert_eq!(back.get_f64(&[1, 0]).unwrap(), 6.0);
        assert!(back.get_f64(&[2, 0]).is_err());
        assert!(back.get_f64(&[0]).is_err());
        assert_eq!(Tensor::scalar(2.5_f64).get_f64(&[]).unwrap(), 2.5);
    }

    #[test]
    fn a_copy_too_large_for_memory_is_an_error() {
        let endless = Tensor::scalar(0_u8).expand(&[1 << 58]).unwrap();
        assert_eq!(endless.to_vec::<u8>().unwrap_err().kind(), crate::ErrorKind::Memory);
        assert_eq!(endless.contiguous().unwrap_err().kind(), crate::ErrorKind::Memory);
    }
}
